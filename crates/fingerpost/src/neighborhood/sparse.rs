//! Which skills belong together, when most are too far apart to matter?
//!
//! Average linkage needs no matrix of all distances if it stops at a threshold. Two clusters can
//! only merge below the threshold if some pair of theirs is below it, and after a merge the mean
//! distance to a third lies between those of the two parts. So the clusters below the threshold
//! from a merged one are among those of its parts, and a list of neighbors a cluster, united at
//! every merge, misses none. Where only one part had the third on its list, the other's mean
//! distance is computed from the sums of their vectors: the mean cosine of two clusters is the
//! product of their mean vectors.
//!
//! Given all pairs below the threshold this is the partition of `linkage.rs` over all skills at
//! once, in memory that grows with the pairs.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::graph::{Graph, Neighbor};
use super::linkage::Merges;
use crate::embedding::{Vectors, dot};

/// Average linkage of one connected piece of the graph. Leaves are numbered as in `rows`.
pub(super) fn linkage_along(
    vectors: &Vectors,
    graph: &Graph,
    rows: &[u32],
    max_distance: f64,
) -> Merges {
    let mut clusters = Clusters::new(vectors, graph, rows);
    let mut queue = clusters.queue();
    let mut pairs = Vec::new();
    while let Some(candidate) = queue.pop() {
        if clusters.is_merged(candidate.a) || clusters.is_merged(candidate.b) {
            continue;
        }
        pairs.push((candidate.a, candidate.b));
        clusters.merge(candidate.a, candidate.b, max_distance, &mut queue);
    }
    Merges { leaves: rows.len(), pairs }
}

/// Two clusters that may merge. Neither changes while it lives: a merge makes a new one.
#[derive(Debug, PartialEq)]
struct Candidate {
    distance: f64,
    a: u32,
    b: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// Greatest is what merges first: the nearest, then the oldest clusters.
    fn cmp(&self, other: &Self) -> Ordering {
        let nearest = other.distance.total_cmp(&self.distance);
        nearest.then(other.a.cmp(&self.a)).then(other.b.cmp(&self.b))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Clusters<'a> {
    vectors: &'a Vectors,
    rows: &'a [u32],
    /// By label; empty for what has been merged, or has no neighbor left.
    neighbors: Vec<Vec<Neighbor>>,
    sizes: Vec<u32>,
    /// Sums of the vectors of the clusters that merges made, empty once merged further.
    sums: Vec<Vec<f32>>,
}

impl<'a> Clusters<'a> {
    fn new(vectors: &'a Vectors, graph: &Graph, rows: &'a [u32]) -> Self {
        let leaf = |row: u32| rows.binary_search(&row).expect("a piece is closed") as u32;
        let list = |&row: &u32| {
            let neighbors = graph.neighbors[row as usize].iter();
            neighbors.map(|neighbor| Neighbor { row: leaf(neighbor.row), ..*neighbor }).collect()
        };
        let neighbors = rows.iter().map(list).collect();
        Self { vectors, rows, neighbors, sizes: vec![1; rows.len()], sums: Vec::new() }
    }

    fn queue(&self) -> BinaryHeap<Candidate> {
        let of = |(a, list): (u32, &Vec<Neighbor>)| {
            let after = list.iter().filter(move |neighbor| neighbor.row > a);
            after
                .map(move |to| Candidate { distance: to.distance, a, b: to.row })
                .collect::<Vec<_>>()
        };
        (0..).zip(&self.neighbors).flat_map(of).collect()
    }

    fn is_merged(&self, label: u32) -> bool {
        self.sizes[label as usize] == 0
    }

    fn merge(&mut self, a: u32, b: u32, max_distance: f64, queue: &mut BinaryHeap<Candidate>) {
        let new = self.sizes.len() as u32;
        let lists = [a, b].map(|label| std::mem::take(&mut self.neighbors[label as usize]));
        let (size_a, size_b) = (self.sizes[a as usize], self.sizes[b as usize]);
        let mut list = Vec::with_capacity(lists[0].len().max(lists[1].len()));
        for (third, to_a, to_b) in united(&lists[0], &lists[1]) {
            if third == a || third == b {
                continue;
            }
            let to_a = to_a.unwrap_or_else(|| self.mean_distance(a, third));
            let to_b = to_b.unwrap_or_else(|| self.mean_distance(b, third));
            let (weight_a, weight_b) = (f64::from(size_a), f64::from(size_b));
            let distance = (weight_a * to_a + weight_b * to_b) / (weight_a + weight_b);
            let thirds = &mut self.neighbors[third as usize];
            thirds.retain(|neighbor| neighbor.row != a && neighbor.row != b);
            if distance < max_distance {
                // The new label is the largest so far: both lists stay in order.
                thirds.push(Neighbor { row: new, distance });
                list.push(Neighbor { row: third, distance });
                queue.push(Candidate { distance, a: third, b: new });
            }
        }
        let mut sum = self.take_sum(a);
        let other = self.take_sum(b);
        sum.iter_mut().zip(&other).for_each(|(x, y)| *x += y);
        // Nobody will ask for the sum of a cluster that has no neighbor: most are such in the end.
        self.sums.push(if list.is_empty() { Vec::new() } else { sum });
        self.neighbors.push(list);
        self.sizes.push(size_a + size_b);
        self.sizes[a as usize] = 0;
        self.sizes[b as usize] = 0;
    }

    fn mean_distance(&self, a: u32, b: u32) -> f64 {
        let pairs = f64::from(self.sizes[a as usize]) * f64::from(self.sizes[b as usize]);
        (1.0 - f64::from(dot(self.sum(a), self.sum(b))) / pairs).max(0.0)
    }

    fn sum(&self, label: u32) -> &[f32] {
        match (label as usize).checked_sub(self.rows.len()) {
            None => self.vectors.row(self.rows[label as usize] as usize),
            Some(made) => &self.sums[made],
        }
    }

    fn take_sum(&mut self, label: u32) -> Vec<f32> {
        match (label as usize).checked_sub(self.rows.len()) {
            None => self.sum(label).to_vec(),
            Some(made) => std::mem::take(&mut self.sums[made]),
        }
    }
}

/// Everyone on either list with the distance each list has, in order.
fn united<'l>(
    a: &'l [Neighbor],
    b: &'l [Neighbor],
) -> impl Iterator<Item = (u32, Option<f64>, Option<f64>)> + 'l {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    std::iter::from_fn(move || {
        let first = match (a.peek(), b.peek()) {
            (Some(a), Some(b)) => a.row.min(b.row),
            (Some(one), None) | (None, Some(one)) => one.row,
            (None, None) => return None,
        };
        let from_a = a.next_if(|neighbor| neighbor.row == first).map(|neighbor| neighbor.distance);
        let from_b = b.next_if(|neighbor| neighbor.row == first).map(|neighbor| neighbor.distance);
        Some((first, from_a, from_b))
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::super::buckets::Buckets;
    use super::super::graph::graph;
    use super::super::linkage::average_linkage;
    use super::*;

    /// The clusters at the cut, in order.
    fn clusters(merges: &Merges, rows: &[u32]) -> Vec<Vec<u32>> {
        let roots = merges.roots();
        let mut clusters = std::collections::BTreeMap::<u32, Vec<u32>>::new();
        for (leaf, &row) in rows.iter().enumerate() {
            clusters.entry(roots[leaf]).or_default().push(row);
        }
        let mut clusters: Vec<_> = clusters.into_values().collect();
        clusters.sort();
        clusters
    }

    #[test]
    fn it_is_the_linkage_of_all_distances() {
        for seed in 0..20 {
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let count = 30;
            let values = (0..count * 4).map(|_| random.random::<f32>() - 0.3).collect();
            let vectors = Vectors::new(4, values);
            let rows: Vec<u32> = (0..count as u32).collect();
            for max_distance in [0.02, 0.1, 0.3] {
                let dense = clusters(&average_linkage(&vectors, &rows, max_distance), &rows);
                let graph = graph(&vectors, &Buckets::fit(&vectors, 1, 0), 1, max_distance);
                let mut sparse: Vec<Vec<u32>> = Vec::new();
                for piece in graph.pieces() {
                    let merges = linkage_along(&vectors, &graph, &piece, max_distance);
                    sparse.extend(clusters(&merges, &piece));
                }
                let alone = |row: &u32| graph.neighbors[*row as usize].is_empty();
                sparse.extend(rows.iter().copied().filter(alone).map(|row| vec![row]));
                sparse.sort();
                assert_eq!(sparse, dense, "seed {seed}, {max_distance}");
            }
        }
    }
}
