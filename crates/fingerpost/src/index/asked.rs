//! What does a request give to one skill and to another?
//!
//! Whoever compares a few skills asks for the same terms again and again: where their lists are is
//! found once.

use super::postings::{Keeping, Postings, SEGMENT};
use super::{IndexError, SparseIndex};
use crate::skill::SkillIdx;

/// The terms of a request, to be asked about skills.
#[derive(Debug)]
pub struct Asked<'a> {
    terms: Vec<Term<'a>>,
    /// What a skill's length makes of its levels, segment by segment.
    norms: Vec<Option<&'a [f32]>>,
}

#[derive(Debug)]
struct Term<'a> {
    /// What it counts in the request.
    weight: f32,
    /// What its values are multiplied with: its rarity, where weights do not have it in them.
    factor: f32,
    /// Segment by segment.
    postings: Vec<Postings<'a>>,
}

impl SparseIndex {
    /// Looks up the terms of a [`vector`](SparseIndex::vector).
    pub fn ask(&self, vector: &[(u32, f32)]) -> Result<Asked<'_>, IndexError> {
        let segments = 0..self.len().div_ceil(SEGMENT);
        let norms: Vec<_> = segments.clone().map(|segment| self.layout.norms(segment)).collect();
        let term = |&(term, weight): &(u32, f32)| {
            let postings = segments.clone().map(|segment| self.layout.postings(segment, term));
            let factor = match self.config().model.keeping() {
                Keeping::Weights => 1.0,
                Keeping::Levels => self.layout.idf(term),
            };
            Ok(Term { weight, factor, postings: postings.collect::<Result<_, _>>()? })
        };
        let terms = vector.iter().map(term).collect::<Result<_, IndexError>>()?;
        Ok(Asked { terms, norms })
    }
}

impl Asked<'_> {
    /// What the request gives to a skill.
    pub fn score(&self, skill: SkillIdx) -> f32 {
        self.terms.iter().zip(self.weights(skill)).map(|(term, counts)| term.weight * counts).sum()
    }

    /// What each term counts in a skill, in their order; 0 for one that it does not have.
    pub fn weights(&self, skill: SkillIdx) -> impl Iterator<Item = f32> {
        let (segment, at) = (skill.row() / SEGMENT, skill.row() % SEGMENT);
        let norm = match self.norms.get(segment) {
            Some(Some(norms)) => norms.get(at).copied().unwrap_or_default(),
            _ => 1.0,
        };
        self.terms.iter().map(move |term| {
            let value = match term.postings[segment] {
                Postings::Rare { rows, values } => {
                    rows.binary_search(&(at as u16)).map_or(0.0, |at| values.get(at))
                }
                Postings::Common { values, .. } => values.get(at),
            };
            value * term.factor * norm
        })
    }
}
