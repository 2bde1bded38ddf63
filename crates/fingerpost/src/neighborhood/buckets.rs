//! Which skills are worth comparing at all?
//!
//! A bucket is one part of the space, of some 130 skills. Buckets are a speed device: they know
//! nothing of look-alikes and now and then run right between two. See `graph.rs` for the repair.

use super::kmeans::{Kmeans, KmeansConfig, kmeans, members};
use super::products::nearest;
use crate::embedding::Vectors;

/// Skills a bucket holds on average: 200 buckets at 26,262 skills, as in the paper.
const HELD: usize = 131;

/// Linkage inside a bucket takes the square of its size in memory: 64 MB here.
pub(super) const LARGEST: usize = 4_000;

/// Rounds and gain at which k-means stops. Going on until nothing moves takes twice as long on real
/// vectors and gains a thousandth of the cosine: buckets need not be perfect.
const ROUNDS: usize = 30;
const TOLERANCE: f64 = 3e-4;

/// Parts of the space and the skills in each. A skill without a vector is in none.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    pub(super) centers: Vectors,
    pub(super) members: Vec<Vec<u32>>,
    /// Mean cosine of a skill and its bucket's center.
    pub mean_cosine: f64,
    /// Rounds of k-means over all skills.
    pub rounds: usize,
    /// Buckets that were too large for linkage and were cut again.
    pub recut: usize,
}

impl Buckets {
    /// How many buckets a library of this size gets unless the user says otherwise.
    pub fn count_for(skills: usize) -> usize {
        ((skills + HELD / 2) / HELD).max(1)
    }

    /// Spherical k-means over all skills that have a vector.
    pub fn fit(vectors: &Vectors, count: usize, seed: u64) -> Self {
        let rows: Vec<u32> = nonzero(vectors);
        let config = KmeansConfig { centers: count, rounds: ROUNDS, tolerance: TOLERANCE, seed };
        let found = kmeans(vectors, &rows, &config);
        let (mean_cosine, rounds) = (found.mean_cosine, found.rounds);
        let mut parts = Parts::default();
        parts.cut(vectors, &rows, found, &config);
        let centers = match vectors.dimensions() {
            0 => Vectors::default(),
            dimensions => Vectors::new(dimensions, parts.centers),
        };
        Self { centers, members: parts.members, mean_cosine, rounds, recut: parts.recut }
    }

    /// Takes an assignment of every skill from elsewhere, to compare linkage alone.
    pub fn given(vectors: &Vectors, of: &[u32]) -> Self {
        let count = of.iter().max().map_or(0, |&most| most as usize + 1);
        let mut members = members(of, count);
        let present = nonzero(vectors);
        for rows in &mut members {
            rows.retain(|row| present.binary_search(row).is_ok());
        }
        let centers = Vectors::default();
        Self { centers, members, mean_cosine: 0.0, rounds: 0, recut: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Size of the largest.
    pub fn largest(&self) -> usize {
        self.members.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The bucket of each skill; `None` for a skill without a vector.
    pub fn of(&self, skills: usize) -> Vec<Option<u32>> {
        let mut of = vec![None; skills];
        for (bucket, members) in (0..).zip(&self.members) {
            for &row in members {
                of[row as usize] = Some(bucket);
            }
        }
        of
    }

    /// For every skill the buckets it is compared with, in order: its own and those of the next
    /// nearest centers, so many in all.
    pub fn probed(&self, vectors: &Vectors, probes: usize) -> Vec<Vec<u32>> {
        let mut probed: Vec<Vec<u32>> =
            self.of(vectors.len()).into_iter().map(|own| own.into_iter().collect()).collect();
        let probes = probes.min(self.centers.len());
        if probes > 1 {
            let rows = nonzero(vectors);
            let near = nearest(vectors, &rows, &self.centers, probes);
            for (&row, near) in rows.iter().zip(near.chunks_exact(probes)) {
                let probed = &mut probed[row as usize];
                // A skill may be in a bucket that is not nearest: of equals, or after a cut.
                let own = probed[0];
                let others = near.iter().map(|&(bucket, _)| bucket).filter(|&other| other != own);
                probed.extend(others.take(probes - 1));
                probed.sort_unstable();
            }
        }
        probed
    }

    /// For every bucket the skills of others that are compared with it.
    pub(super) fn visitors(&self, vectors: &Vectors, probes: usize) -> Vec<Vec<u32>> {
        let mut visitors = vec![Vec::new(); self.len()];
        if probes < 2 {
            return visitors;
        }
        let of = self.of(vectors.len());
        for (row, probed) in self.probed(vectors, probes).into_iter().enumerate() {
            for bucket in probed.into_iter().filter(|&bucket| of[row] != Some(bucket)) {
                visitors[bucket as usize].push(row as u32);
            }
        }
        visitors
    }
}

#[derive(Default)]
struct Parts {
    centers: Vec<f32>,
    members: Vec<Vec<u32>>,
    recut: usize,
}

impl Parts {
    /// Takes the clusters that are small enough as buckets, and clusters the others again.
    fn cut(&mut self, vectors: &Vectors, rows: &[u32], found: Kmeans, config: &KmeansConfig) {
        let centers = found.centers;
        let clusters = members(&found.of, centers.len());
        drop(found.of);
        for (cluster, positions) in clusters.iter().enumerate() {
            if positions.is_empty() {
                continue;
            }
            let rows: Vec<u32> = positions.iter().map(|&at| rows[at as usize]).collect();
            if rows.len() <= LARGEST {
                self.push(centers.row(cluster), rows);
                continue;
            }
            self.recut += 1;
            let config = KmeansConfig { centers: rows.len().div_ceil(HELD), ..*config };
            let again = kmeans(vectors, &rows, &config);
            if again.of.iter().all(|&of| of == again.of[0]) {
                // Nothing tells these apart; any cut is as good.
                for rows in rows.chunks(LARGEST) {
                    self.push(centers.row(cluster), rows.to_vec());
                }
            } else {
                self.cut(vectors, &rows, again, &config);
            }
        }
    }

    fn push(&mut self, center: &[f32], rows: Vec<u32>) {
        self.centers.extend_from_slice(center);
        self.members.push(rows);
    }
}

/// Rows that hold something.
pub(super) fn nonzero(vectors: &Vectors) -> Vec<u32> {
    let numbered = (0..).zip(vectors.rows());
    numbered.filter(|(_, row)| row.iter().any(|&x| x != 0.0)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_buckets_grows_with_the_library() {
        let counts = [0, 1, 150, 4_000, 16_417, 26_262, 130_000].map(Buckets::count_for);
        assert_eq!(counts, [1, 1, 1, 31, 125, 200, 992]);
    }

    #[test]
    fn what_nothing_tells_apart_is_cut_all_the_same() {
        let vectors = Vectors::new(2, [1.0, 2.0].repeat(2 * LARGEST + 1));
        let buckets = Buckets::fit(&vectors, 3, 1);
        assert_eq!(buckets.members.iter().map(Vec::len).sum::<usize>(), 2 * LARGEST + 1);
        assert!(buckets.largest() <= LARGEST && buckets.recut == 1);
    }

    #[test]
    fn zero_vectors_are_in_no_bucket() {
        let vectors = Vectors::new(2, vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(Buckets::fit(&vectors, 1, 1).of(3), [Some(0), None, Some(0)]);
        assert_eq!(Buckets::given(&vectors, &[1, 1, 0]).of(3), [Some(1), None, Some(0)]);
        assert!(Buckets::fit(&Vectors::default(), 4, 1).is_empty());
    }
}
