//! Which skills lie in the same part of the space?
//!
//! Spherical k-means: a row belongs to the center it has the largest cosine with, and a center is
//! the direction of its rows' sum. Greedy k-means++ chooses the first centers. Most of the way is
//! walked on a sample, which costs a fraction of a round over all rows; the last rounds see all.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

use super::products::{BLOCK, nearest};
use crate::embedding::{Vectors, dot};

/// Rows a center is seeded from, and walks on, before the rounds over all rows; and the least of
/// such rows in all, because below that a round costs nothing.
const SEED_SAMPLE: usize = 16;
const WALK_SAMPLE: usize = 32;
const LEAST: usize = 2_048;

/// Starts, of which the best goes on. In a large library one start is as good as the next.
const STARTS: usize = 4;

/// What decides the centers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KmeansConfig {
    pub(super) centers: usize,
    /// Rounds over the sample at most, and then over all rows at most.
    pub(super) rounds: usize,
    /// Stop when a round lifts the mean cosine by less than this share of it.
    pub(super) tolerance: f64,
    pub(super) seed: u64,
}

/// Centers, and for each of the given rows which one it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kmeans {
    pub(super) centers: Vectors,
    pub(super) of: Vec<u32>,
    pub(super) mean_cosine: f64,
    /// Rounds over all rows.
    pub(super) rounds: usize,
}

/// Clusters these rows (none of them zero). Fewer centers than rows, or as many as rows.
pub(super) fn kmeans(vectors: &Vectors, rows: &[u32], config: &KmeansConfig) -> Kmeans {
    let count = config.centers.clamp(1, rows.len().max(1));
    if rows.is_empty() {
        return Kmeans { centers: Vectors::default(), of: Vec::new(), mean_cosine: 0.0, rounds: 0 };
    }
    let mut random = Pcg64::seed_from_u64(config.seed);
    let walked = sample(rows, LEAST.max(count * WALK_SAMPLE), &mut random);
    // What goes on over all rows need not be finished on the sample.
    let all = walked.len() == rows.len();
    let first =
        if all { *config } else { KmeansConfig { tolerance: 10.0 * config.tolerance, ..*config } };
    let mut best: Option<Kmeans> = None;
    for _ in 0..if walked.len() > LEAST { 1 } else { STARTS } {
        let seeded = sample(&walked, LEAST.max(count * SEED_SAMPLE), &mut random);
        let centers = seed_centers(vectors, &seeded, count, &mut random);
        let found = walk(vectors, &walked, centers, &first);
        if best.as_ref().is_none_or(|best| found.mean_cosine > best.mean_cosine) {
            best = Some(found);
        }
    }
    let best = best.expect("at least one start");
    if all { best } else { walk(vectors, rows, best.centers, config) }
}

/// Rounds of assignment and new centers, until nothing moves or the gain is not worth it.
fn walk(vectors: &Vectors, rows: &[u32], mut centers: Vectors, config: &KmeansConfig) -> Kmeans {
    let mut best: Option<Kmeans> = None;
    let rounds = config.rounds.max(1);
    for round in 1..=rounds {
        let found = nearest(vectors, rows, &centers, 1);
        let of: Vec<u32> = found.iter().map(|&(center, _)| center).collect();
        // Summed in the order of rows.
        let total: f64 = found.iter().map(|&(_, cosine)| f64::from(cosine)).sum();
        let mean_cosine = total / rows.len() as f64;
        let last = best.as_ref().is_some_and(|best| {
            best.of == of || mean_cosine - best.mean_cosine <= config.tolerance * mean_cosine.abs()
        });
        if last || round == rounds {
            best = Some(Kmeans { centers, of, mean_cosine, rounds: round });
            break;
        }
        let next = move_centers(vectors, rows, &found, &centers);
        best = Some(Kmeans { centers, of, mean_cosine, rounds: round });
        centers = next;
    }
    best.expect("at least one round")
}

/// The direction of each center's rows. A center without rows moves to a row that its own center
/// fits worst.
fn move_centers(
    vectors: &Vectors,
    rows: &[u32],
    found: &[(u32, f32)],
    centers: &Vectors,
) -> Vectors {
    let dimensions = vectors.dimensions();
    let of: Vec<u32> = found.iter().map(|&(center, _)| center).collect();
    let members = members(&of, centers.len());
    let mut values = vec![0_f32; centers.len() * dimensions];
    values.par_chunks_mut(dimensions).zip(&members).for_each_init(
        || vec![0_f64; dimensions],
        |sums, (center, members)| {
            sums.fill(0.0);
            for &at in members {
                let row = vectors.row(rows[at as usize] as usize);
                sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
            }
            let norm = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > 0.0 {
                center.iter_mut().zip(sums).for_each(|(x, sum)| *x = (*sum / norm) as f32);
            }
        },
    );
    let empty: Vec<usize> = (0..members.len()).filter(|&at| members[at].is_empty()).collect();
    if !empty.is_empty() {
        let mut worst: Vec<u32> = (0..rows.len() as u32).collect();
        let cosine = |at: u32| found[at as usize].1;
        worst.sort_unstable_by(|&a, &b| cosine(a).total_cmp(&cosine(b)).then(a.cmp(&b)));
        // Rows that lie on their center gain nothing from another: identical rows stay together.
        worst.retain(|&at| cosine(at) < 1.0 - 1e-6);
        for (center, &at) in empty.into_iter().zip(&worst) {
            let row = vectors.row(rows[at as usize] as usize);
            values[center * dimensions..][..dimensions].copy_from_slice(row);
        }
    }
    Vectors::new(dimensions, values)
}

/// Positions that belong to each center, in order.
pub(super) fn members(of: &[u32], centers: usize) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); centers];
    for (at, &center) in (0..).zip(of) {
        members[center as usize].push(at);
    }
    members
}

/// Greedy k-means++: each next center is, of a few drawn in proportion to their distance from the
/// centers so far, the one that brings all rows nearest. (Drawing one is 1 % worse in the end.)
fn seed_centers(vectors: &Vectors, rows: &[u32], count: usize, random: &mut Pcg64) -> Vectors {
    let dimensions = vectors.dimensions();
    let draws = 2 + (count as f64).ln() as usize;
    let first = rows[random.random_range(0..rows.len())];
    let mut values = vectors.row(first as usize).to_vec();
    let mut distances = vec![f32::INFINITY; rows.len()];
    let mut chosen = nearer(vectors, rows, &distances, &[first]).swap_remove(0);
    while {
        distances = chosen.1;
        values.len() < count * dimensions
    } {
        let drawn = draw(&distances, chosen.0, draws, random);
        let drawn: Vec<u32> = drawn.into_iter().map(|at| rows[at]).collect();
        let tried = nearer(vectors, rows, &distances, &drawn);
        let best =
            (0..tried.len()).min_by(|&a, &b| tried[a].0.total_cmp(&tried[b].0).then(a.cmp(&b)));
        let best = best.expect("at least two draws");
        values.extend_from_slice(vectors.row(drawn[best] as usize));
        chosen = tried.into_iter().nth(best).expect("one of them");
    }
    Vectors::new(dimensions, values)
}

/// For each candidate: every row's distance from the nearest center if it were one, and their sum.
fn nearer(
    vectors: &Vectors,
    rows: &[u32],
    distances: &[f32],
    candidates: &[u32],
) -> Vec<(f64, Vec<f32>)> {
    // A block's rows are read once for all candidates: reading them is what takes the time.
    let blocks: Vec<Vec<f32>> = rows
        .par_chunks(BLOCK / 4)
        .zip(distances.par_chunks(BLOCK / 4))
        .map(|(rows, distances)| {
            let mut block = vec![0.0; rows.len() * candidates.len()];
            for (at, (&row, &distance)) in rows.iter().zip(distances).enumerate() {
                let row = vectors.row(row as usize);
                for (candidate, &center) in candidates.iter().enumerate() {
                    let new = (1.0 - dot(row, vectors.row(center as usize))).max(0.0);
                    block[candidate * rows.len() + at] = new.min(distance);
                }
            }
            block
        })
        .collect();
    let of = |candidate: usize| {
        let parts = blocks.iter().flat_map(|block| {
            let len = block.len() / candidates.len();
            &block[candidate * len..(candidate + 1) * len]
        });
        let all: Vec<f32> = parts.copied().collect();
        (all.iter().map(|&x| f64::from(x)).sum(), all)
    };
    (0..candidates.len()).map(of).collect()
}

/// Positions drawn in proportion to their distance; any at all if every distance is zero.
fn draw(distances: &[f32], total: f64, count: usize, random: &mut Pcg64) -> Vec<usize> {
    if total <= 0.0 {
        return (0..count).map(|_| random.random_range(0..distances.len())).collect();
    }
    let mut sums = Vec::with_capacity(distances.len());
    let mut sum = 0.0;
    for &distance in distances {
        sum += f64::from(distance);
        sums.push(sum);
    }
    let mut one = || {
        let mark = random.random::<f64>() * sum;
        sums.partition_point(|&upto| upto <= mark).min(distances.len() - 1)
    };
    (0..count).map(|_| one()).collect()
}

/// So many of the rows, each at most once, in their order.
pub(super) fn sample(rows: &[u32], count: usize, random: &mut Pcg64) -> Vec<u32> {
    if count >= rows.len() {
        return rows.to_vec();
    }
    let mut rows = rows.to_vec();
    for at in 0..count {
        let other = random.random_range(at..rows.len());
        rows.swap(at, other);
    }
    rows.truncate(count);
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(centers: usize) -> KmeansConfig {
        KmeansConfig { centers, rounds: 20, tolerance: 1e-4, seed: 7 }
    }

    /// Rows around `families` axes, in turn.
    fn around_axes(families: usize, rows: usize) -> Vectors {
        let mut values = vec![0.05_f32; families * rows];
        for row in 0..rows {
            values[row * families + row % families] = 1.0 + 0.01 * (row / families) as f32;
        }
        Vectors::new(families, values)
    }

    #[test]
    fn rows_around_axes_share_a_center() {
        let vectors = around_axes(6, 120);
        let rows: Vec<u32> = (0..120).collect();
        let found = kmeans(&vectors, &rows, &config(6));
        for row in 0..120 {
            assert_eq!(found.of[row], found.of[row % 6]);
        }
        assert!(found.mean_cosine > 0.999, "{}", found.mean_cosine);
        assert!(members(&found.of, 6).iter().all(|members| members.len() == 20));
    }

    #[test]
    fn identical_rows_and_too_many_centers_come_to_an_end() {
        let vectors = Vectors::new(2, [3.0, 4.0].repeat(50));
        let rows: Vec<u32> = (0..50).collect();
        let found = kmeans(&vectors, &rows, &config(8));
        assert!(found.of.iter().all(|&center| center == found.of[0]));
        let few = kmeans(&vectors, &rows[..3], &config(8));
        assert_eq!((few.of.len(), few.centers.len()), (3, 3));
        assert!(kmeans(&vectors, &[], &config(8)).of.is_empty());
    }

    #[test]
    fn a_center_without_rows_takes_the_worst_fitting_row() {
        let vectors = Vectors::new(2, vec![1.0, 0.0, 1.0, 0.1, 0.0, 1.0]);
        let centers = Vectors::new(2, vec![1.0, 0.0, -1.0, 0.0]);
        let found = nearest(&vectors, &[0, 1, 2], &centers, 1);
        let moved = move_centers(&vectors, &[0, 1, 2], &found, &centers);
        assert_eq!(moved.row(1), [0.0, 1.0]);
    }

    #[test]
    fn a_sample_has_each_row_at_most_once() {
        let rows: Vec<u32> = (10..60).collect();
        let drawn = sample(&rows, 20, &mut Pcg64::seed_from_u64(1));
        assert_eq!(drawn.len(), 20);
        assert!(drawn.is_sorted_by(|a, b| a < b) && drawn.iter().all(|row| rows.contains(row)));
    }
}
