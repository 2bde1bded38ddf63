//! Which one skill does a request get, or none, and why not the others?
//!
//! A search gives candidates; the chooser, local or a model ([`llm`]), reads them beside the request
//! and picks one. Every candidate that was not picked gets a reason: the boundary that gives the request away, or the
//! words that speak for the other. The boundary advises, and nothing filters on it.

pub mod explain;
pub mod llm;
mod local;
pub mod none;
mod reasons;
mod router;

use serde::Serialize;

pub use self::local::{ByKind, Evidence, WEIGHTS, weigh, weigh_by};
use self::reasons::Reasons;
pub use self::router::Router;
use crate::index::{IndexError, SparseIndex};
use crate::page::Page;
use crate::request::Request;
use crate::skill::SkillIdx;
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
    /// What its words give it, by BM25, for what the request wants.
    pub words: f32,
    /// How near its meaning is to that of what the request wants: a cosine.
    pub meaning: f32,
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
    request: &Request<'_>,
    candidates: &[Candidate<'_>],
    fit: f64,
    phrases: &SparseIndex,
    config: &RouteConfig,
) -> Result<Route, IndexError> {
    let evidence = weigh(request, candidates, fit, phrases)?;
    let Some(best) = evidence.first() else {
        return Ok(nothing());
    };
    let chosen = &candidates[best.candidate];
    // Who names a skill leaves no doubt, whatever the others have.
    let confidence = if best.named { 1.0 } else { local::confidence(&evidence) };
    let answered = best.named || fit >= config.none_below;
    let taken = match answered {
        true => local::set_size(&evidence, candidates, request, phrases, config.max),
        false => 0,
    };
    let skills: Vec<String> = evidence[..taken]
        .iter()
        .map(|evidence| candidates[evidence.candidate].id.to_owned())
        .collect();
    let reasons = Reasons::new(request.text, Some(chosen), phrases)?;
    let rejected = evidence[taken..]
        .iter()
        .map(|rival| {
            let candidate = &candidates[rival.candidate];
            let because = match answered {
                true => reasons.against(candidate, config.cards),
                false => reasons.little(candidate),
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
            reason: reasons.why(best),
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

/// The answer where the search found nothing.
fn nothing() -> Route {
    Route {
        decision: Decision::None,
        skill: None,
        skills: vec![],
        confidence: 1.0,
        reason: "no skill is anything like the request".into(),
        rejected: vec![],
        fallback: None,
    }
}
