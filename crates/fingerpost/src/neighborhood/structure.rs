//! What do the neighborhoods look like as a whole, and how do settings change that?

use rand::SeedableRng;
use rand_pcg::Pcg64;
use serde::Serialize;

use super::buckets::{Buckets, nonzero};
use super::calibrate::nearest_others;
use super::kmeans::sample;
use super::{NeighborhoodConfig, Neighborhoods, Threshold, partition_in};
use crate::embedding::Vectors;
use crate::skill::SkillIdx;

/// Skills whose nearest outsider is looked up: all of a small library.
const SKILLS: usize = 2_000;

/// Figures of a partition, none of which needs a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Structure {
    /// How many neighborhoods, those of one included.
    pub neighborhoods: usize,
    /// How many skills are alone.
    pub singletons: usize,
    /// How many neighborhoods have one member, two, and so on.
    pub sizes: Vec<usize>,
    /// Share of the skills that are not alone.
    pub grouped: f64,
    /// Mean similarity of two skills of one neighborhood, over all such pairs.
    pub within: f64,
    /// Mean similarity of a grouped skill and the nearest skill of another neighborhood (of a
    /// sample in libraries above 2,000).
    pub nearest_outside: f64,
}

/// Describes a partition.
pub fn structure(vectors: &Vectors, neighborhoods: &Neighborhoods, seed: u64) -> Structure {
    let mut sizes = vec![0; neighborhoods.largest()];
    let (mut pairs, mut sum) = (0_u64, 0.0);
    for (_, members) in neighborhoods.iter() {
        sizes[members.len() - 1] += 1;
        for (at, &a) in members.iter().enumerate() {
            for &b in &members[at + 1..] {
                pairs += 1;
                sum += f64::from(vectors.similarity(a, b));
            }
        }
    }
    let singletons = neighborhoods.singletons();
    let grouped = neighborhoods.skills() - singletons;
    Structure {
        neighborhoods: neighborhoods.len(),
        singletons,
        sizes,
        grouped: grouped as f64 / neighborhoods.skills().max(1) as f64,
        within: sum / pairs.max(1) as f64,
        nearest_outside: nearest_outside(vectors, neighborhoods, seed),
    }
}

fn nearest_outside(vectors: &Vectors, neighborhoods: &Neighborhoods, seed: u64) -> f64 {
    let of = |row: u32| neighborhoods.of(SkillIdx(row));
    let rows = nonzero(vectors);
    let mut grouped = rows.clone();
    grouped.retain(|&row| neighborhoods.members(of(row)).len() > 1);
    let sampled = sample(&grouped, SKILLS, &mut Pcg64::seed_from_u64(seed));
    if sampled.is_empty() {
        return 0.0;
    }
    // As many as its neighborhood can fill, and one more.
    let near = nearest_others(vectors, &rows, &sampled, neighborhoods.largest());
    let outside = |(&row, near): (&u32, &Vec<(u32, f32)>)| {
        let outsider = near.iter().find(|(other, _)| of(*other) != of(row));
        outsider.map_or(0.0, |&(_, similarity)| f64::from(similarity))
    };
    sampled.iter().zip(&near).map(outside).sum::<f64>() / sampled.len() as f64
}

/// One line of the table of settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepRow {
    /// Buckets asked for.
    pub buckets: usize,
    /// The threshold.
    pub max_distance: f64,
    /// What came of it.
    pub structure: Structure,
}

/// Every number of buckets with every threshold, in that order; the rest as configured.
pub fn sweep(
    vectors: &Vectors,
    buckets: &[usize],
    distances: &[f64],
    config: &NeighborhoodConfig,
) -> Vec<SweepRow> {
    let mut table = Vec::with_capacity(buckets.len() * distances.len());
    for &count in buckets {
        let fitted = Buckets::fit(vectors, count, config.seed);
        for &max_distance in distances {
            let config =
                NeighborhoodConfig { max_distance: Threshold::Fixed(max_distance), ..*config };
            let (neighborhoods, _) = partition_in(vectors, &fitted, &config);
            let structure = structure(vectors, &neighborhoods, config.seed);
            table.push(SweepRow { buckets: count, max_distance, structure });
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::linkage::tests::at_angles;
    use super::*;

    #[test]
    fn figures_of_a_small_partition() {
        let vectors = at_angles(&[0.0, 0.0, 60.0, 60.0, 150.0]);
        let config = NeighborhoodConfig::default();
        let table = sweep(&vectors, &[1], &[0.15, 0.6], &config);
        let apart = &table[0].structure;
        assert_eq!((apart.neighborhoods, apart.singletons), (3, 1));
        assert_eq!((&apart.sizes[..], apart.grouped), (&[1, 2][..], 0.8));
        assert!((apart.within - 1.0).abs() < 1e-6 && (apart.nearest_outside - 0.5).abs() < 1e-6);
        assert_eq!(table[1].structure.sizes, [1, 0, 0, 1]);
    }
}
