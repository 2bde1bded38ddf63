//! Who is within the threshold of whom, whatever the buckets say?
//!
//! Each skill is compared with its own bucket and with those of the next nearest centers, so that
//! two look-alikes on either side of a border still meet. A skill keeps its nearest
//! [`MOST`] neighbors below the threshold: where there are more, they are closer to each other
//! than any neighborhood has room for.

use rayon::prelude::*;

use super::buckets::Buckets;
use super::linkage::distance;
use super::products::{BLOCK, MARGIN, gather, products};
use crate::embedding::Vectors;

/// Neighbors that a skill keeps at most.
pub(super) const MOST: usize = 32;

/// For every skill its neighbors below the threshold, in the order of rows; a neighbor of one is
/// a neighbor of the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Graph {
    pub(super) neighbors: Vec<Vec<Neighbor>>,
    /// Skills that had more than [`MOST`].
    pub(super) crowded: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Neighbor {
    pub(super) row: u32,
    pub(super) distance: f64,
}

/// Compares every skill with the buckets nearest to it, its own among them.
pub(super) fn graph(
    vectors: &Vectors,
    buckets: &Buckets,
    probes: usize,
    max_distance: f64,
) -> Graph {
    let visitors = buckets.visitors(vectors, probes);
    let found: Vec<Vec<(u32, Neighbor)>> = buckets
        .members
        .par_iter()
        .zip(&visitors)
        .map(|(members, visitors)| within(vectors, members, visitors, max_distance))
        .collect();
    let mut neighbors = vec![Vec::new(); vectors.len()];
    for (row, neighbor) in found.into_iter().flatten() {
        neighbors[row as usize].push(neighbor);
    }
    let crowded = neighbors.par_iter_mut().map(|list| usize::from(keep_nearest(list))).sum();
    both_ways(&mut neighbors);
    Graph { neighbors, crowded }
}

/// The members of a bucket that are neighbors of its members and visitors.
fn within(
    vectors: &Vectors,
    members: &[u32],
    visitors: &[u32],
    max_distance: f64,
) -> Vec<(u32, Neighbor)> {
    let dimensions = vectors.dimensions();
    let bar = (1.0 - max_distance) as f32 - MARGIN;
    let (mut columns, mut block, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    gather(vectors, members, &mut columns);
    let mut found = Vec::new();
    let mut list = Vec::new();
    for rows in members.chunks(BLOCK).chain(visitors.chunks(BLOCK)) {
        gather(vectors, rows, &mut block);
        scores.resize(rows.len() * members.len(), 0.0);
        products(&block, &columns, dimensions, &mut scores);
        for (&row, scores) in rows.iter().zip(scores.chunks_exact(members.len())) {
            list.clear();
            for (&other, &score) in members.iter().zip(scores) {
                if score > bar && other != row {
                    let distance = distance(vectors, row, other);
                    if distance < max_distance {
                        list.push(Neighbor { row: other, distance });
                    }
                }
            }
            // One more than it may keep, so that the crowded are counted.
            shorten(&mut list, MOST + 1);
            found.extend(list.iter().map(|&neighbor| (row, neighbor)));
        }
    }
    found
}

/// Nearest first, equal distances in the order of rows.
fn shorten(list: &mut Vec<Neighbor>, most: usize) {
    if list.len() > most {
        list.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.row.cmp(&b.row)));
        list.truncate(most);
    }
}

/// Buckets do not overlap, so no neighbor comes twice. True if some had to go.
fn keep_nearest(list: &mut Vec<Neighbor>) -> bool {
    let crowded = list.len() > MOST;
    shorten(list, MOST);
    list.sort_unstable_by_key(|neighbor| neighbor.row);
    list.shrink_to_fit();
    crowded
}

fn both_ways(neighbors: &mut [Vec<Neighbor>]) {
    let mut missing = Vec::new();
    for (row, list) in (0..).zip(&*neighbors) {
        for neighbor in list {
            let back = &neighbors[neighbor.row as usize];
            if back.binary_search_by_key(&row, |other| other.row).is_err() {
                missing.push((neighbor.row, Neighbor { row, distance: neighbor.distance }));
            }
        }
    }
    for (row, neighbor) in missing {
        neighbors[row as usize].push(neighbor);
    }
    neighbors.par_iter_mut().for_each(|list| list.sort_unstable_by_key(|neighbor| neighbor.row));
}

impl Graph {
    /// The connected pieces of two skills and more, each in the order of rows.
    pub(super) fn pieces(&self) -> Vec<Vec<u32>> {
        let mut seen = vec![false; self.neighbors.len()];
        let mut pieces = Vec::new();
        for start in 0..self.neighbors.len() {
            if seen[start] || self.neighbors[start].is_empty() {
                continue;
            }
            seen[start] = true;
            let mut piece = vec![start as u32];
            let mut next = 0;
            while let Some(&row) = piece.get(next) {
                next += 1;
                for neighbor in &self.neighbors[row as usize] {
                    if !std::mem::replace(&mut seen[neighbor.row as usize], true) {
                        piece.push(neighbor.row);
                    }
                }
            }
            piece.sort_unstable();
            pieces.push(piece);
        }
        pieces
    }
}
