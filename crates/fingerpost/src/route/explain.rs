//! How did each candidate come to its place?
//!
//! For a person who wonders: where the document alone would have ranked, where its page took it, what
//! the local chooser added up, which words of the request it shares, and which clause of its boundary
//! gives the request away.

use schemars::JsonSchema;
use serde::Serialize;

use super::reasons::{Reasons, given_away};
use super::{ByKind, Candidate, weigh};
use crate::index::{IndexError, SparseIndex};
use crate::request::Request;
use crate::skill::SkillId;

/// Terms that are shown of a candidate.
const SHOWN: usize = 6;

/// Where a search placed a skill, from 1; `None` if it shares nothing with the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ranks {
    /// By its document alone.
    #[serde(rename = "raw_rank")]
    pub raw: Option<usize>,
    /// With its page.
    #[serde(rename = "page_rank")]
    pub page: Option<usize>,
}

/// One candidate, taken apart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// Its id.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// The chooser's place, from 1. Of one that was not in the pool: the place it would have there.
    pub place: usize,
    /// Did the search put it before the chooser?
    pub in_pool: bool,
    /// Where the search placed it.
    #[serde(flatten)]
    pub ranks: Ranks,
    /// Does the request name it?
    pub named: bool,
    /// What speaks for it, by kind.
    pub evidence: ByKind,
    /// All of it.
    pub total: f64,
    /// The heaviest words and pairs of words that it shares with the request, heaviest first.
    pub shared: Vec<Shared>,
    /// The clause of its boundary that gives requests to the first one.
    pub boundary: Option<Clause>,
}

/// A term of the request that a candidate has.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Shared {
    /// As the request has it.
    pub term: String,
    /// Its part of the cosine.
    pub weight: f32,
}

/// A clause of a boundary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Clause {
    /// Which requests are given away.
    pub request: String,
    /// To whom.
    pub skill: SkillId,
}

/// Takes apart the candidates of a pool, the chooser's first one first; then those of `others` that
/// somebody wants to know about though they were not in it. `ranks` says where the search placed a
/// candidate.
pub fn explain<'a>(
    request: &Request<'_>,
    pool: &[Candidate<'a>],
    others: &[Candidate<'a>],
    fit: f64,
    phrases: &SparseIndex,
    ranks: impl Fn(&Candidate<'_>) -> Ranks,
) -> Result<Vec<Explained>, IndexError> {
    let evidence = weigh(request, pool, fit, phrases)?;
    let first = evidence.first().map(|first| &pool[first.candidate]);
    let reasons = Reasons::new(request.text, first, Vec::new(), phrases)?;
    let explained = |candidates: &[Candidate<'a>], at: usize, in_pool: bool| {
        let evidence = weigh(request, candidates, fit, phrases)?;
        let place = evidence.iter().position(|evidence| evidence.candidate == at);
        let place = place.expect("each has evidence");
        let (candidate, found) = (&candidates[at], &evidence[place]);
        let shared = reasons.shared(candidate, SHOWN).into_iter();
        let clause = first.and_then(|first| given_away(candidate, first));
        Ok(Explained {
            skill: candidate.id.to_owned(),
            name: candidate.name.to_owned(),
            place: place + 1,
            in_pool,
            ranks: ranks(candidate),
            named: found.named,
            evidence: found.addends,
            total: found.total,
            shared: shared.map(|(term, weight)| Shared { term, weight }).collect(),
            boundary: clause.and_then(|case| {
                Some(Clause { request: case.request.clone(), skill: case.skill.clone()? })
            }),
        })
    };
    let mut all = Vec::with_capacity(pool.len() + others.len());
    for found in &evidence {
        all.push(explained(pool, found.candidate, true)?);
    }
    for other in others {
        let with_it: Vec<Candidate<'a>> = pool.iter().copied().chain([*other]).collect();
        all.push(explained(&with_it, pool.len(), false)?);
    }
    Ok(all)
}
