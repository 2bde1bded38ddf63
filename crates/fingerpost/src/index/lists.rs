//! How are the weights of a request's terms added up?

use super::file::{Postings, SEGMENT};
use super::prefetch::prefetch;

/// Lists that are on their way while one is added: a short one is over before the next arrives.
const AHEAD: usize = 4;

/// What the terms of a request give to the skills of one segment.
#[derive(Debug, Default)]
pub(super) struct Lists<'a> {
    /// Rows, weights and the request's own weight.
    rare: Vec<(&'a [u16], &'a [f32], f32)>,
    common: Vec<(&'a [f32], f32)>,
    /// The most that the common terms can give to a skill.
    pub(super) most_from_common: f32,
}

impl<'a> Lists<'a> {
    /// Takes the postings of a term that counts `weight` in the request, and in a skill `largest`
    /// at most.
    pub(super) fn push(&mut self, postings: Postings<'a>, weight: f32, largest: f32) {
        match postings {
            Postings::Rare { rows, weights } => self.rare.push((rows, weights, weight)),
            Postings::Common { weights } => {
                self.common.push((weights, weight));
                self.most_from_common += weight.abs() * largest;
            }
        }
    }

    /// Adds what the rare terms give to the skills that have them.
    pub(super) fn add_rare(&self, scores: &mut [f32; SEGMENT]) {
        for (at, &(rows, weights, weight)) in self.rare.iter().enumerate() {
            if let Some((rows, weights, _)) = self.rare.get(at + AHEAD) {
                prefetch(rows);
                prefetch(weights);
            }
            add(scores, rows, weights, weight);
        }
    }

    /// Adds what the common terms give to every row.
    pub(super) fn add_common(&self, scores: &mut [f32]) {
        for &(weights, weight) in &self.common {
            for (score, &counts) in scores.iter_mut().zip(weights) {
                *score += weight * counts;
            }
        }
    }
}

/// The scores of some rows, ascending, with what the common terms of their segments add.
pub(super) fn total(lists: &[Lists<'_>], scores: &[f32], rows: &[u32], totals: &mut Vec<f32>) {
    totals.clear();
    totals.extend(rows.iter().map(|&row| scores[row as usize]));
    let mut start = 0;
    for (segment, lists) in lists.iter().enumerate() {
        let end = rows.partition_point(|&row| (row as usize) < (segment + 1) * SEGMENT);
        for &(weights, weight) in &lists.common {
            for (total, &row) in totals[start..end].iter_mut().zip(&rows[start..end]) {
                *total += weight * weights[row as usize % SEGMENT];
            }
        }
        start = end;
    }
}

/// Nearly all the time of a search is spent here; on its own, the loop keeps everything in
/// registers.
#[inline(never)]
fn add(scores: &mut [f32; SEGMENT], rows: &[u16], weights: &[f32], weight: f32) {
    for (&row, &counts) in rows.iter().zip(weights) {
        scores[usize::from(row)] += weight * counts;
    }
}
