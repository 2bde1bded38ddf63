//! How near is near, for this encoder and this library?
//!
//! A cosine of 0.8 is a coincidence for one encoder and a copy for another. Two bars are measured
//! in the library itself, and the higher one counts.
//!
//! **Chance.** Most pairs of a library have nothing to do with each other. Their similarities tell
//! what chance gives: the median, and the spread of the half above it. The bar is set so high that,
//! if unrelated pairs went on above it like a normal distribution of that spread, only one skill in
//! twenty would have anyone above the bar: [`CHANCE`] false neighbors a skill, all `n - 1` others
//! taken together. Up to half a neighborhood of true look-alikes a skill is first left out of the
//! pairs, so that families do not pass for chance in small libraries.
//!
//! **Crowd.** A neighborhood holds at most ten. If more than a quarter of the skills have ten or
//! more others above a bar, that bar marks a topic and not a look-alike.
//!
//! Both are kept between [`FLOOR`], below which vectors are as good as orthogonal, and [`CEILING`],
//! above which skills look alike under every encoder: a library of nothing but near-copies has no
//! unrelated pairs to learn from.

use std::fmt;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::buckets::nonzero;
use super::kmeans::sample;
use super::products::{BLOCK, gather, products};
use crate::embedding::{Vectors, dot};

/// Expected neighbors by chance, a skill.
const CHANCE: f64 = 0.05;
/// Share of skills that may have more look-alikes than a neighborhood holds. At a third, groups of
/// one product's different skills begin to outnumber look-alikes (read on 16,417 real skills).
const CROWDED: f64 = 0.25;
const FLOOR: f64 = 0.15;
const CEILING: f64 = 0.95;

/// Pairs and skills looked at: enough that another seed moves the bar by about 0.01 at most.
const PAIRS: usize = 200_000;
const SKILLS: usize = 1_000;

/// The chosen threshold and the figures behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Calibration {
    /// Skills nearer than this are look-alikes.
    pub max_distance: f64,
    /// What decided it.
    pub because: Because,
    /// The figures, unless it was given.
    pub measured: Option<Measured>,
}

/// What decided the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// The user, or the encoder's profile, set it.
    Given,
    /// Nearer than unrelated skills come by chance.
    Chance,
    /// Near enough that a neighborhood holds all who are.
    Crowd,
    /// The library's similarities are so low that only the least sensible bar is left.
    Floor,
    /// The library's similarities are so high that only the highest sensible bar is left.
    Ceiling,
    /// There are no two skills to compare.
    TooFew,
}

/// What the library's similarities look like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Measured {
    /// Random pairs looked at.
    pub pairs: usize,
    /// Median similarity of unrelated pairs.
    pub median: f64,
    /// Spread of the half above it, as a standard deviation.
    pub spread: f64,
    /// Similarity that chance does not reach.
    pub chance: f64,
    /// Similarity above which a neighborhood holds all; absent in libraries smaller than one.
    pub crowd: Option<f64>,
    /// Median similarity of a skill and its nearest other.
    pub nearest: f64,
    /// Share of the skills that have somebody above the bar.
    pub grouped: f64,
}

/// Measures the library. The same seed gives the same figures.
pub fn calibrate(vectors: &Vectors, max_size: usize, seed: u64) -> Calibration {
    let rows = nonzero(vectors);
    if rows.len() < 2 {
        let max_distance = 1.0 - FLOOR;
        return Calibration { max_distance, because: Because::TooFew, measured: None };
    }
    let mut random = Pcg64::seed_from_u64(seed);
    let others = (rows.len() - 1) as f64;
    let mut similarities = pair_similarities(vectors, &rows, &mut random);
    similarities.sort_unstable_by(f32::total_cmp);
    let related = (max_size.saturating_sub(1) as f64 / 2.0 / others).min(0.5);
    let kept = (similarities.len() as f64 * (1.0 - related)).ceil() as usize;
    let unrelated = &similarities[..kept.clamp(1, similarities.len())];
    let normal = Normal::standard();
    let median = quantile(unrelated, 0.5);
    let spread = (quantile(unrelated, 0.9) - median) / normal.inverse_cdf(0.9);
    let chance = median + spread * normal.inverse_cdf(1.0 - (CHANCE / others).min(0.5));

    let sampled = sample(&rows, SKILLS, &mut random);
    let neighbors = nearest_others(vectors, &rows, &sampled, max_size.max(1));
    let mut first: Vec<f32> = neighbors.iter().map(|list| list[0].1).collect();
    first.sort_unstable_by(f32::total_cmp);
    let mut last: Vec<f32> =
        neighbors.iter().filter_map(|list| Some(list.get(max_size.max(1) - 1)?.1)).collect();
    last.sort_unstable_by(f32::total_cmp);
    let crowd = (!last.is_empty()).then(|| quantile(&last, 1.0 - CROWDED));

    let (bar, because) = match crowd {
        Some(crowd) if crowd > chance => (crowd, Because::Crowd),
        _ => (chance, Because::Chance),
    };
    let (bar, because) = match bar {
        low if low < FLOOR => (FLOOR, Because::Floor),
        high if high > CEILING => (CEILING, Because::Ceiling),
        bar => (bar, because),
    };
    // Three digits: what is printed is what is used.
    let max_distance = ((1.0 - bar) * 1e3).round() / 1e3;
    let near = first.iter().filter(|&&nearest| 1.0 - f64::from(nearest) < max_distance).count();
    let measured = Measured {
        pairs: similarities.len(),
        median,
        spread,
        chance,
        crowd,
        nearest: quantile(&first, 0.5),
        grouped: near as f64 / first.len() as f64,
    };
    Calibration { max_distance, because, measured: Some(measured) }
}

/// All pairs of a small library, random ones of a large one.
fn pair_similarities(vectors: &Vectors, rows: &[u32], random: &mut Pcg64) -> Vec<f32> {
    let count = rows.len() * (rows.len() - 1) / 2;
    let mut pairs = Vec::with_capacity(count.min(PAIRS));
    if count <= PAIRS {
        for (at, &a) in rows.iter().enumerate() {
            pairs.extend(rows[at + 1..].iter().map(|&b| (a, b)));
        }
    } else {
        while pairs.len() < PAIRS {
            let [a, b] = [(); 2].map(|()| rows[random.random_range(0..rows.len())]);
            if a != b {
                pairs.push((a, b));
            }
        }
    }
    let similarity = |&(a, b): &(u32, u32)| dot(vectors.row(a as usize), vectors.row(b as usize));
    pairs.par_iter().map(similarity).collect()
}

/// For each sampled row the nearest `count` of the others, best first, equal ones in the order of
/// rows.
pub(super) fn nearest_others(
    vectors: &Vectors,
    rows: &[u32],
    sampled: &[u32],
    count: usize,
) -> Vec<Vec<(u32, f32)>> {
    let mut columns = Vec::new();
    gather(vectors, sampled, &mut columns);
    let sort = |list: &mut Vec<(u32, f32)>| {
        list.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        list.truncate(count);
    };
    // A few large parts, so that their lists stay small beside the vectors.
    let parts: Vec<Vec<Vec<(u32, f32)>>> = rows
        .par_chunks(16 * BLOCK)
        .map(|rows| {
            let (mut block, mut scores) = (Vec::new(), Vec::new());
            let mut lists = vec![Vec::with_capacity(2 * count + BLOCK); sampled.len()];
            for rows in rows.chunks(BLOCK) {
                gather(vectors, rows, &mut block);
                scores.resize(rows.len() * sampled.len(), 0.0);
                products(&block, &columns, vectors.dimensions(), &mut scores);
                for (at, list) in lists.iter_mut().enumerate() {
                    let bar =
                        list.get(count - 1).map_or(f32::NEG_INFINITY, |last: &(u32, f32)| last.1);
                    for (line, &row) in rows.iter().enumerate() {
                        let score = scores[line * sampled.len() + at];
                        if score > bar && row != sampled[at] {
                            list.push((row, score));
                        }
                    }
                    sort(list);
                }
            }
            lists.iter_mut().for_each(Vec::shrink_to_fit);
            lists
        })
        .collect();
    let mut lists = vec![Vec::new(); sampled.len()];
    for part in parts {
        lists.iter_mut().zip(part).for_each(|(list, part)| list.extend(part));
    }
    lists.iter_mut().for_each(sort);
    for (&row, list) in sampled.iter().zip(&mut lists) {
        let row = vectors.row(row as usize);
        list.iter_mut().for_each(|(other, score)| *score = dot(row, vectors.row(*other as usize)));
    }
    lists.iter_mut().for_each(sort);
    lists
}

/// Of sorted values, between two by interpolation.
fn quantile(sorted: &[f32], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (f64::from(sorted[at as usize]), f64::from(sorted[at.ceil() as usize]));
    low + (high - low) * at.fract()
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cosine distance below {:.3}", self.max_distance)?;
        let Some(measured) = &self.measured else {
            return match self.because {
                Because::TooFew => f.write_str(", with nothing to compare"),
                _ => f.write_str(", as set"),
            };
        };
        let why = match self.because {
            Because::Crowd => {
                "at most a quarter of the skills have more look-alikes than a neighborhood holds"
            }
            Because::Floor => "less is no likeness",
            Because::Ceiling => "nearly all skills of this library are alike",
            _ => "unrelated skills do not come as near",
        };
        write!(
            f,
            ": {why} (similarity of unrelated pairs {:.2} ± {:.2}, of a skill and its nearest {:.2}; \
             {:.0} % have a look-alike)",
            measured.median,
            measured.spread,
            measured.nearest,
            100.0 * measured.grouped
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::linkage::tests::at_angles;
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[1.0], 0.9), 1.0);
    }

    #[test]
    fn the_nearest_others_are_those_of_a_full_scan() {
        let vectors = at_angles(&[0.0, 3.0, 50.0, 52.0, 90.0]);
        let rows = [0, 1, 2, 3, 4];
        let found = nearest_others(&vectors, &rows, &[1, 4], 2);
        let names = |at: usize| found[at].iter().map(|&(row, _)| row).collect::<Vec<_>>();
        assert_eq!((names(0), names(1)), (vec![0, 2], vec![3, 2]));
    }

    #[test]
    fn the_reason_is_told() {
        let told = |vectors: &Vectors| calibrate(vectors, 10, 1).to_string();
        assert_eq!(
            told(&Vectors::default()),
            "cosine distance below 0.850, with nothing to compare"
        );
        let alike = told(&Vectors::new(2, [1.0, 2.0].repeat(30)));
        assert!(alike.starts_with("cosine distance below 0.050: nearly all"), "{alike}");
        assert!(alike.ends_with("100 % have a look-alike)"), "{alike}");
    }
}
