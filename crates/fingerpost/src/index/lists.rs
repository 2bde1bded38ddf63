//! How are the weights of a request's terms added up?

use super::postings::{Postings, ROOTS, SEGMENT, Values};
use super::prefetch::prefetch;

/// Lists that are on their way while one is added: a short one is over before the next arrives.
const AHEAD: usize = 4;

/// What the terms of a request give to the skills of one segment.
#[derive(Debug, Default)]
pub(super) struct Lists<'a> {
    /// Rows, values and the request's own weight.
    rare: Vec<(&'a [u16], Values<'a>, f32)>,
    common: Vec<(Values<'a>, f32)>,
    /// The most that the common terms can give to a skill.
    pub(super) most_from_common: f32,
    /// What a row's sum is multiplied with, where weights do not have it in them.
    norms: Option<&'a [f32]>,
}

impl<'a> Lists<'a> {
    pub(super) fn new(norms: Option<&'a [f32]>) -> Self {
        Self { norms, ..Self::default() }
    }

    /// Takes the postings of a term that counts `weight` in the request.
    pub(super) fn push(&mut self, postings: Postings<'a>, weight: f32) {
        match postings {
            Postings::Rare { rows, values } => self.rare.push((rows, values, weight)),
            Postings::Common { values, largest } => {
                self.common.push((values, weight));
                self.most_from_common += weight.abs() * largest;
            }
        }
    }

    /// Adds what the rare terms give to the skills that have them.
    pub(super) fn add_rare(&self, scores: &mut [f32; SEGMENT]) {
        for (at, &(rows, values, weight)) in self.rare.iter().enumerate() {
            if let Some((rows, values, _)) = self.rare.get(at + AHEAD) {
                prefetch(rows);
                match values {
                    Values::Weights(weights) => prefetch(weights),
                    Values::Levels(levels) => prefetch(levels),
                    Values::Once => {}
                }
            }
            match values {
                Values::Weights(weights) => add(scores, rows, weights, weight),
                Values::Levels(levels) => add_levels(scores, rows, levels, weight),
                Values::Once => rows.iter().for_each(|&row| scores[usize::from(row)] += weight),
            }
        }
        if let Some(norms) = self.norms {
            scores.iter_mut().zip(norms).for_each(|(score, norm)| *score *= norm);
        }
    }

    /// Adds what the common terms give to every row.
    pub(super) fn add_common(&self, scores: &mut [f32]) {
        for &(values, weight) in &self.common {
            match (values, self.norms) {
                (Values::Weights(weights), _) => {
                    let rows = scores.iter_mut().zip(weights);
                    rows.for_each(|(score, &counts)| *score += weight * counts);
                }
                (_, norms) => {
                    for (at, score) in scores.iter_mut().enumerate() {
                        *score += weight * values.get(at) * norm_of(norms, at);
                    }
                }
            }
        }
    }
}

fn norm_of(norms: Option<&[f32]>, row: usize) -> f32 {
    norms.map_or(1.0, |norms| norms[row])
}

/// The scores of some rows, ascending, with what the common terms of their segments add.
pub(super) fn total(lists: &[Lists<'_>], scores: &[f32], rows: &[u32], totals: &mut Vec<f32>) {
    totals.clear();
    totals.extend(rows.iter().map(|&row| scores[row as usize]));
    let mut start = 0;
    for (segment, lists) in lists.iter().enumerate() {
        let end = rows.partition_point(|&row| (row as usize) < (segment + 1) * SEGMENT);
        let rows = rows[start..end].iter().map(|&row| row as usize % SEGMENT);
        for &(values, weight) in &lists.common {
            let totals = totals[start..end].iter_mut().zip(rows.clone());
            match values {
                Values::Weights(weights) => {
                    totals.for_each(|(total, row)| *total += weight * weights[row]);
                }
                _ => totals.for_each(|(total, row)| {
                    *total += weight * values.get(row) * norm_of(lists.norms, row);
                }),
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

/// The same for levels, two of which are read at a time.
#[inline(never)]
fn add_levels(scores: &mut [f32; SEGMENT], rows: &[u16], levels: &[u8], weight: f32) {
    let gives = ROOTS.map(|root| weight * root);
    let (pairs, last) = rows.as_chunks::<2>();
    for (&[first, second], &levels) in pairs.iter().zip(levels) {
        scores[usize::from(first)] += gives[usize::from(levels & 15)];
        scores[usize::from(second)] += gives[usize::from(levels >> 4)];
    }
    if let (&[row], Some(&levels)) = (last, levels.get(pairs.len())) {
        scores[usize::from(row)] += gives[usize::from(levels & 15)];
    }
}
