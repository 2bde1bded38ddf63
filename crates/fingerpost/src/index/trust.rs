//! How far can each retriever be trusted on this library?
//!
//! Nobody has judged requests for a new library, but every skill holds a known item: one part of
//! its text is the request, the rest is what should be found. A model that does not speak the
//! library's language, or knows none of its words, fails this test and is left out of the fusion.

use serde::{Deserialize, Serialize};

use super::{Hit, Scratch, SparseConfig, SparseIndex, Zeros, nearest};
use crate::embedding::{EmbedError, Embedder, Role};
use crate::library::Library;
use crate::page::Pages;
use crate::skill::Skill;

/// What each retriever counts in a fusion, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// Weight of the sparse ranking.
    pub sparse: f64,
    /// Weight of the dense one.
    pub dense: f64,
    /// Mean reciprocal rank of each in the test.
    pub sparse_found: f64,
    /// See [`Trust::sparse_found`].
    pub dense_found: f64,
    /// Skills tested.
    pub tested: usize,
}

/// Skills tested: enough for a mean, few enough for a slow model.
const TESTED: usize = 400;

/// A retriever that finds less than this share of what the other finds gets no weight.
const USELESS: f64 = 0.4;

impl Trust {
    /// Sparse alone, where there is no dense side or nothing to test.
    pub const SPARSE: Trust =
        Trust { sparse: 1.0, dense: 0.0, sparse_found: 0.0, dense_found: 0.0, tested: 0 };

    fn of(sparse_found: f64, dense_found: f64, tested: usize) -> Self {
        let best = sparse_found.max(dense_found);
        // Squared: a retriever that finds half as much counts a quarter.
        let weight = |found: f64| {
            if best == 0.0 || found < USELESS * best { 0.0 } else { (found / best).powi(2) }
        };
        let (sparse, dense) = (weight(sparse_found), weight(dense_found));
        // A library without a single known item says nothing against words.
        let sparse = if best == 0.0 { 1.0 } else { sparse };
        Trust { sparse, dense, sparse_found, dense_found, tested }
    }
}

/// Tests both sides on the library's own known items.
pub fn trust(library: &Library, embedder: &dyn Embedder) -> Result<Trust, EmbedError> {
    let all = library.skills();
    let step = all.len().div_ceil(TESTED).max(1);
    let items: Vec<(String, Skill)> = all.iter().step_by(step).filter_map(known_item).collect();
    if items.len() < 2 {
        return Ok(Trust::SPARSE);
    }
    let rests = items.iter().map(|(_, rest)| rest.clone()).collect();
    let rests = Library::from_skills(rests).value;
    let index = SparseIndex::build(&rests, &Pages::default(), &SparseConfig::default());
    let texts: Vec<String> = rests.skills().iter().map(crate::view::document).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let documents = embedder.embed(&texts, Role::Document)?;
    let requests: Vec<&str> = items.iter().map(|(request, _)| request.as_str()).collect();
    let vectors = embedder.embed(&requests, Role::Query)?;

    let mut scratch = Scratch::default();
    let (mut sparse, mut dense) = (0.0, 0.0);
    for ((request, rest), vector) in items.iter().zip(vectors.rows()) {
        let own = rests.find(rest.id.as_str());
        let rank = |hits: &[Hit]| {
            let at = hits.iter().position(|hit| Some(hit.skill) == own);
            at.map_or(0.0, |at| 1.0 / (at + 1) as f64)
        };
        let hits = index.search(request, 10, Zeros::Dropped, &mut scratch);
        sparse += rank(&hits.expect("an index just built is sound"));
        dense += rank(&nearest(&documents, vector, 10));
    }
    let n = items.len() as f64;
    Ok(Trust::of(sparse / n, dense / n, items.len()))
}

/// A request and what should be found by it: the description and the rest of the skill; where there
/// is little else, the second half of the description and the first.
fn known_item(skill: &Skill) -> Option<(String, Skill)> {
    const ENOUGH: usize = 80;
    let mut rest = skill.clone();
    if skill.content.chars().count() >= ENOUGH && !skill.description.trim().is_empty() {
        rest.description.clear();
        return Some((skill.description.clone(), rest));
    }
    let half = skill.description.chars().count() / 2;
    let (at, _) = skill
        .description
        .char_indices()
        .skip(half)
        .find(|(_, c)| c.is_whitespace() || !c.is_ascii())?;
    let request = skill.description[at..].trim().to_owned();
    rest.description.truncate(at);
    // The name is what a request would be found by alone.
    rest.name.clear();
    (half >= 15 && !request.is_empty()).then_some((request, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_useless_retriever_gets_no_weight() {
        let trust = Trust::of(0.8, 0.02, 100);
        assert_eq!((trust.sparse, trust.dense), (1.0, 0.0));
        let trust = Trust::of(0.4, 0.8, 100);
        assert_eq!((trust.sparse, trust.dense), (0.25, 1.0));
        assert_eq!(Trust::of(0.0, 0.0, 100).sparse, 1.0);
    }
}
