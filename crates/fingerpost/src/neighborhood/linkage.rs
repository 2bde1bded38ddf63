//! Which skills of a bucket belong together?
//!
//! Average linkage: again and again the two clusters with the smallest mean distance become one,
//! until no mean distance is below the threshold. The distance of two skills is one minus their
//! cosine. This file does it with all distances in memory; `sparse.rs` does it along a graph.

use rayon::prelude::*;

use crate::embedding::{Vectors, dot};

/// Merges below the threshold, in order. Leaf `i` has label `i`; merge `i` makes the label
/// `leaves + i`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Merges {
    pub(super) leaves: usize,
    pub(super) pairs: Vec<(u32, u32)>,
}

/// Average linkage of these rows, cut strictly below the distance.
pub(super) fn average_linkage(vectors: &Vectors, rows: &[u32], max_distance: f64) -> Merges {
    let leaves = rows.len();
    if leaves < 2 {
        return Merges { leaves, pairs: Vec::new() };
    }
    let mut distances = condensed(vectors, rows);
    let tree = kodama::linkage(&mut distances, leaves, kodama::Method::Average);
    let below = tree.steps().iter().take_while(|step| step.dissimilarity < max_distance);
    let pairs = below.map(|step| (step.cluster1 as u32, step.cluster2 as u32)).collect();
    Merges { leaves, pairs }
}

/// One minus the cosine, in the full precision of the product.
pub(super) fn distance(vectors: &Vectors, a: u32, b: u32) -> f64 {
    let cosine = dot(vectors.row(a as usize), vectors.row(b as usize));
    // Rounding takes the cosine of a vector with itself a little above one.
    (1.0 - f64::from(cosine)).max(0.0)
}

/// Mean distance between the skills of two clusters.
pub(super) fn mean_distance(vectors: &Vectors, a: &[u32], b: &[u32]) -> f64 {
    let pairs = a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b)));
    let sum: f64 = pairs.map(|(a, b)| distance(vectors, a, b)).sum();
    sum / (a.len() * b.len()) as f64
}

/// The distances of each row from those after it, as kodama wants them.
fn condensed(vectors: &Vectors, rows: &[u32]) -> Vec<f64> {
    let mut distances = vec![0.0; rows.len() * (rows.len() - 1) / 2];
    let mut rest = &mut distances[..];
    let mut lines = Vec::with_capacity(rows.len() - 1);
    for at in 0..rows.len() - 1 {
        let (line, after) = rest.split_at_mut(rows.len() - 1 - at);
        lines.push(line);
        rest = after;
    }
    let fill = |(at, line): (usize, &mut [f64])| {
        for (slot, &other) in line.iter_mut().zip(&rows[at + 1..]) {
            *slot = distance(vectors, rows[at], other);
        }
    };
    lines.into_par_iter().enumerate().for_each(fill);
    distances
}

impl Merges {
    /// How many leaves each label has.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![1; self.leaves];
        for &(a, b) in &self.pairs {
            sizes.push(sizes[a as usize] + sizes[b as usize]);
        }
        sizes
    }

    /// The cluster of each label at the cut, named by its last label.
    pub(super) fn roots(&self) -> Vec<u32> {
        let labels = self.leaves + self.pairs.len();
        let mut roots: Vec<u32> = (0..labels as u32).collect();
        for (at, &(a, b)) in self.pairs.iter().enumerate().rev() {
            let root = roots[self.leaves + at];
            roots[a as usize] = root;
            roots[b as usize] = root;
        }
        roots
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Vectors in the plane, at these angles in degrees.
    pub(in crate::neighborhood) fn at_angles(degrees: &[f64]) -> Vectors {
        let point =
            |angle: &f64| [angle.to_radians().cos() as f32, angle.to_radians().sin() as f32];
        Vectors::new(2, degrees.iter().flat_map(point).collect())
    }

    #[test]
    fn the_cut_is_strict() {
        // Orthogonal vectors have a distance of exactly one.
        let vectors = Vectors::new(2, vec![1.0, 0.0, 0.0, 1.0]);
        assert_eq!(average_linkage(&vectors, &[0, 1], 1.0).pairs, []);
        assert_eq!(average_linkage(&vectors, &[0, 1], 1.0 + 1e-12).pairs, [(0, 1)]);
    }

    #[test]
    fn clusters_merge_by_their_mean_distance() {
        let vectors = at_angles(&[0.0, 10.0, 30.0, 90.0]);
        let merges = average_linkage(&vectors, &[0, 1, 2, 3], 0.15);
        // The third is 0.060 from the second, but 0.097 from the first two on average.
        assert_eq!(merges.pairs, [(0, 1), (2, 4)]);
        assert_eq!(average_linkage(&vectors, &[0, 1, 2, 3], 0.09).pairs, [(0, 1)]);
        assert_eq!(merges.sizes(), [1, 1, 1, 1, 2, 3]);
        assert_eq!(merges.roots(), [5, 5, 5, 3, 5, 5]);
    }
}
