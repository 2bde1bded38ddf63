//! Which one skill does a request get, or none, and why not the others?
//!
//! A search gives candidates; the chooser reads them beside the request and picks one. Every
//! candidate that was not picked gets a reason: the boundary that gives the request away, or the
//! words that speak for the other. The boundary advises, and nothing filters on it.

mod local;
pub mod none;

use serde::Serialize;

pub use self::local::{Addends, Evidence, weigh};
use crate::index::{IndexError, SparseIndex};
use crate::page::Page;
use crate::skill::SkillIdx;
use crate::text::words_of_phrases;

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
    /// What the search gave it.
    pub score: f32,
}

impl Candidate<'_> {
    /// Is it one of these names that a request points at?
    fn is_named_by(&self, names: &[&str]) -> bool {
        names.iter().any(|name| *name == self.name || *name == self.id)
    }
}

/// How to choose.
#[derive(Debug, Clone, Copy)]
pub struct RouteConfig {
    /// Below this evidence (see [`none`]) the answer is none; 0 to always answer.
    pub none_below: f64,
    /// Skills in the answer at most.
    pub max: usize,
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
        return Ok(Route {
            decision: Decision::None,
            skill: None,
            skills: vec![],
            confidence: 1.0,
            reason: "no skill shares a word with the request".into(),
            rejected: vec![],
        });
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
                true => why_not(candidate, chosen, request, phrases)?,
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

/// The boundary that gives the request away, if one of the two pages has it; else the words that
/// speak for the chosen one.
fn why_not(
    rival: &Candidate<'_>,
    chosen: &Candidate<'_>,
    request: &str,
    phrases: &SparseIndex,
) -> Result<String, IndexError> {
    let given_away = rival
        .page
        .into_iter()
        .flat_map(|page| &page.boundary)
        .find(|case| case.skill.as_ref().is_some_and(|skill| skill.as_str() == chosen.id));
    if let Some(case) = given_away {
        let request = case.request.trim_end_matches(['.', '。']);
        return Ok(format!("its boundary: {request}: use {}", chosen.name));
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
        false => format!("{} speak for {}", list(&missing), chosen.name),
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

/// The heaviest terms as the request has them, a word left out that is part of a pair.
fn strongest(request: &str, weighted: &[(String, f32)]) -> Vec<String> {
    let words = words_of_phrases(request);
    let mut weighted: Vec<(&String, f32)> = weighted
        .iter()
        .filter(|(_, weight)| *weight > 0.0)
        .filter_map(|(term, weight)| Some((words.get(term)?, *weight)))
        .collect();
    weighted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let mut shown: Vec<String> = Vec::new();
    for (term, _) in weighted {
        let part_of = |a: &str, b: &str| a.split(' ').any(|word| word == b);
        if shown.len() < SHOWN && !shown.iter().any(|s| part_of(s, term) || part_of(term, s)) {
            shown.push(term.clone());
        }
    }
    shown
}

fn list(terms: &[String]) -> String {
    terms.iter().map(|term| format!("“{term}”")).collect::<Vec<_>>().join(", ")
}
