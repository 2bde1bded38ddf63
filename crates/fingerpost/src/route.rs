//! Which one skill does a request get, or none, and why not the others?
//!
//! A search gives candidates; the chooser, local or a model ([`llm`]), reads them beside the request
//! and picks one. Every candidate that was not picked gets a reason: the boundary that gives the request away, or the
//! words that speak for the other. The boundary advises, and nothing filters on it.

pub mod explain;
pub mod llm;
mod local;
pub mod none;
mod router;

use serde::Serialize;

pub use self::local::{ByKind, Evidence, WEIGHTS, weigh, weigh_by};
pub use self::router::Router;
use crate::index::{IndexError, SparseIndex};
use crate::page::{Case, Page};
use crate::request::wanted;
use crate::skill::SkillIdx;
use crate::text::words_of_phrases;
use crate::view::Cards;

/// A skill that comes into question, with all that a chooser may read of it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its row.
    pub skill: SkillIdx,
    /// Its id.
    pub id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// Its page, unless it fell back to its document.
    pub page: Option<&'a Page>,
    /// What its words give it, by BM25, for what the request wants ([`wanted_score`]).
    pub words: f32,
}

impl Candidate<'_> {
    /// Is it one of these names that a request points at?
    fn is_named_by(&self, names: &[&str]) -> bool {
        names.iter().any(|name| *name == self.name || *name == self.id)
    }
}

/// What a skill's words give it for the part of a request that is wanted: what somebody refuses is no
/// evidence for it. `index` is BM25's of the full view.
pub fn wanted_score(
    request: &str,
    index: &SparseIndex,
) -> impl Fn(SkillIdx) -> Result<f32, IndexError> {
    let wanted = index.vector(&wanted(request));
    move |skill| index.score(&wanted, skill)
}

/// How to choose.
#[derive(Debug, Clone, Copy)]
pub struct RouteConfig {
    /// Below this evidence (see [`none`]) the answer is none; 0 to always answer.
    pub none_below: f64,
    /// Skills in the answer at most.
    pub max: usize,
    /// What the reasons may draw on: the local order is the same for all.
    pub cards: Cards,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Route {
    /// Use a skill, or none.
    pub decision: Decision,
    /// The skill's id.
    pub skill: Option<String>,
    /// All skills to use, the first one included, where the request needs several.
    pub skills: Vec<String>,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// Why this one.
    pub reason: String,
    /// Why not the others, in the order in which they came near.
    pub rejected: Vec<Rejected>,
    /// Why the first hit of the search was taken instead of a choice, if it was.
    pub fallback: Option<String>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Use the skill.
    Use,
    /// No skill fits.
    None,
}

/// A candidate that was not chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// Its id.
    pub skill: String,
    /// Why not.
    pub because: String,
}

/// Chooses without a model. `fit` is the request's evidence that any skill fits, `phrases` the index
/// of words and pairs over the full view.
pub fn route(
    request: &str,
    candidates: &[Candidate<'_>],
    fit: f64,
    phrases: &SparseIndex,
    config: &RouteConfig,
) -> Result<Route, IndexError> {
    let evidence = weigh(request, candidates, phrases)?;
    let Some(best) = evidence.first() else {
        return Ok(nothing());
    };
    let chosen = &candidates[best.candidate];
    let confidence = local::confidence(&evidence);
    let answered = best.named || fit >= config.none_below;
    let taken = match answered {
        true => local::set_size(&evidence, candidates, request, phrases, config.max),
        false => 0,
    };
    let skills: Vec<String> = evidence[..taken]
        .iter()
        .map(|evidence| candidates[evidence.candidate].id.to_owned())
        .collect();
    let rejected = evidence[taken..]
        .iter()
        .map(|rival| {
            let candidate = &candidates[rival.candidate];
            let because = match answered {
                true => ruled_out(candidate, chosen, request, phrases, config.cards)?,
                false => shares(candidate, request, phrases)?,
            };
            Ok(Rejected { skill: candidate.id.to_owned(), because })
        })
        .collect::<Result<_, IndexError>>()?;
    Ok(if answered {
        Route {
            decision: Decision::Use,
            skill: Some(chosen.id.to_owned()),
            skills,
            confidence,
            reason: why(best, chosen, request, phrases)?,
            rejected,
            fallback: None,
        }
    } else {
        Route {
            decision: Decision::None,
            skill: None,
            skills,
            confidence: 1.0 - fit / config.none_below,
            reason: format!(
                "no skill explains enough of the request ({fit:.2} where {:.2} is needed); {} comes nearest",
                config.none_below, chosen.name
            ),
            rejected,
            fallback: None,
        }
    })
}

/// Words shown in a reason.
const SHOWN: usize = 4;

fn why(
    best: &Evidence,
    chosen: &Candidate<'_>,
    request: &str,
    phrases: &SparseIndex,
) -> Result<String, IndexError> {
    if best.named {
        return Ok(format!("the request names {}", chosen.name));
    }
    let shared = strongest(request, &phrases.contributions(request, chosen.skill)?);
    Ok(match shared.is_empty() {
        true => format!("{} is the nearest", chosen.name),
        false => format!("the request speaks of {}", list(&shared)),
    })
}

/// The answer where the search found nothing.
fn nothing() -> Route {
    Route {
        decision: Decision::None,
        skill: None,
        skills: vec![],
        confidence: 1.0,
        reason: "no skill shares a word with the request".into(),
        rejected: vec![],
        fallback: None,
    }
}

/// The case of a rival's boundary that gives requests to the chosen one.
fn given_away<'a>(rival: &Candidate<'a>, chosen: &Candidate<'_>) -> Option<&'a Case> {
    let cases = rival.page.into_iter().flat_map(|page| &page.boundary);
    let is_chosen = |case: &&Case| case.skill.as_ref().is_some_and(|id| id.as_str() == chosen.id);
    cases.into_iter().find(is_chosen)
}

/// The boundary that gives the request away, if the cards show it; else the words that speak for
/// the chosen one.
fn ruled_out(
    rival: &Candidate<'_>,
    chosen: &Candidate<'_>,
    request: &str,
    phrases: &SparseIndex,
    cards: Cards,
) -> Result<String, IndexError> {
    if let Some(case) = given_away(rival, chosen).filter(|_| cards != Cards::Base) {
        let request = case.request.trim_end_matches(['.', '。']);
        let instead = if cards == Cards::Ids { chosen.id } else { chosen.name };
        return Ok(format!("its boundary: {request}: use {instead}"));
    }
    let (ours, theirs) = (
        phrases.contributions(request, chosen.skill)?,
        phrases.contributions(request, rival.skill)?,
    );
    let missing: Vec<(String, f32)> = ours
        .into_iter()
        .map(|(term, weight)| {
            let rivals = theirs.iter().find(|(other, _)| *other == term);
            (term, weight - rivals.map_or(0.0, |(_, weight)| *weight))
        })
        .collect();
    let missing = strongest(request, &missing);
    Ok(match missing.is_empty() {
        true => format!("{} is nearer to the request", chosen.name),
        false => {
            let speak = if missing.len() == 1 { "speaks" } else { "speak" };
            format!("{} {speak} for {}", list(&missing), chosen.name)
        }
    })
}

/// What little a candidate has of a request that none fits.
fn shares(
    candidate: &Candidate<'_>,
    request: &str,
    phrases: &SparseIndex,
) -> Result<String, IndexError> {
    let shared = strongest(request, &phrases.contributions(request, candidate.skill)?);
    Ok(match shared.is_empty() {
        true => "shares no word that counts".into(),
        false => format!("shares {} and too little else", list(&shared)),
    })
}

fn strongest(request: &str, weighted: &[(String, f32)]) -> Vec<String> {
    heaviest(request, weighted, SHOWN).into_iter().map(|(term, _)| term).collect()
}

/// The heaviest terms as the request has them, a word left out that is part of a pair.
fn heaviest(request: &str, weighted: &[(String, f32)], most: usize) -> Vec<(String, f32)> {
    let words = words_of_phrases(request);
    let mut weighted: Vec<(&String, f32)> = weighted
        .iter()
        .filter(|(_, weight)| *weight > 0.0)
        .filter_map(|(term, weight)| Some((words.get(term)?, *weight)))
        .collect();
    weighted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let mut shown: Vec<(String, f32)> = Vec::new();
    for (term, weight) in weighted {
        let part_of = |a: &str, b: &str| a.split(' ').any(|word| word == b);
        let is_told = shown.iter().any(|(s, _)| part_of(s, term) || part_of(term, s));
        if shown.len() < most && !is_told {
            shown.push((term.clone(), weight));
        }
    }
    shown
}

fn list(terms: &[String]) -> String {
    terms.iter().map(|term| format!("“{term}”")).collect::<Vec<_>>().join(", ")
}
