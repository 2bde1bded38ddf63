//! Which one skill does a request get, or none, and why not the others?
//!
//! A search gives candidates; the chooser, local or a model ([`llm`]), reads them beside the request
//! and picks one. Every candidate that was not picked gets a reason, which opens with what sets it apart. The
//! boundary advises, and nothing filters on it.

mod apart;
mod confidence;
mod encoder;
pub mod explain;
pub mod llm;
mod local;
pub mod none;
mod reasons;
mod router;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::encoder::Encoder;
pub use self::local::{ByKind, ENCODED, Evidence, WEIGHTS, weigh, weigh_by};
use self::none::Signs;
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
    /// How near an encoder finds it to the request, where there is one.
    pub encoder: f32,
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
    /// Where the signs that a skill fits ([`Signs::fits`](none::Signs::fits)) are below this, the answer is
    /// none; 0 to always answer.
    pub none_below: f64,
    /// Where the answer would be less sure than this, it is none.
    pub min_confidence: f64,
    /// Skills in the answer at most.
    pub max: usize,
    /// What the reasons may draw on: the local order is the same for all.
    pub cards: Cards,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Route {
    /// Use a skill, or none.
    pub decision: Decision,
    /// The skill's id.
    pub skill: Option<String>,
    /// All skills to use, the first one included, where the request needs several.
    pub skills: Vec<String>,
    /// How sure that this answer is right, 0 to 1; that none is, where the answer is none.
    pub confidence: f64,
    /// Why this one.
    pub reason: String,
    /// Why not the others, in the order in which they came near.
    pub rejected: Vec<Rejected>,
    /// Why the first hit of the search was taken instead of a choice, if it was.
    pub fallback: Option<String>,
}

impl Route {
    /// The same if it is so sure, else none. The local chooser does this by itself.
    pub fn at_least(self, sure: f64) -> Self {
        match self.skill {
            Some(nearest) if self.confidence < sure => Self {
                decision: Decision::None,
                skill: None,
                skills: vec![],
                confidence: 1.0 - self.confidence,
                reason: unsure(&nearest, self.confidence, sure),
                ..self
            },
            _ => self,
        }
    }
}

fn unsure(nearest: &str, sure: f64, asked: f64) -> String {
    let [sure, asked] = [sure, asked].map(|share| share * 100.0);
    format!("{nearest} comes nearest and is {sure:.0} % sure, where {asked:.0} % is asked for")
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Use the skill.
    Use,
    /// No skill fits.
    None,
}

/// A candidate that was not chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rejected {
    /// Its id.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// Why not: what sets it apart, then what the request says of it.
    pub because: String,
}

/// Chooses without a model. `signs` are those of the request itself, `phrases` is the index of words and
/// pairs over the full view.
pub fn route(
    request: &Request<'_>,
    candidates: &[Candidate<'_>],
    signs: Signs,
    phrases: &SparseIndex,
    config: &RouteConfig,
) -> Result<Route, IndexError> {
    let evidence = weigh(request, candidates, signs.fit(), phrases)?;
    let Some(best) = evidence.first() else {
        return Ok(nothing());
    };
    let chosen = &candidates[best.candidate];
    let signs = signs.among(request, candidates, &evidence);
    let sure = confidence::of_use(&evidence, &signs);
    // Who names a skill wants it, whatever the signs are.
    let fits = best.named || signs.fits() >= config.none_below;
    let answered = fits && sure >= config.min_confidence;
    let taken = match answered {
        true => local::set_size(&evidence, candidates, request, phrases, config.max),
        false => 0,
    };
    let skills: Vec<String> = evidence[..taken]
        .iter()
        .map(|evidence| candidates[evidence.candidate].id.to_owned())
        .collect();
    let rivals = evidence[taken..].iter().map(|rival| &candidates[rival.candidate]).collect();
    let reasons = Reasons::new(request.text, answered.then_some(chosen), rivals, phrases)?;
    let rejected = reasons.rejected(config.cards);
    Ok(if answered {
        Route {
            decision: Decision::Use,
            skill: Some(chosen.id.to_owned()),
            skills,
            confidence: sure,
            reason: reasons.why(best),
            rejected,
            fallback: None,
        }
    } else {
        Route {
            decision: Decision::None,
            skill: None,
            skills,
            confidence: confidence::of_none(&signs),
            reason: match fits {
                true => unsure(chosen.name, sure, config.min_confidence),
                false if signs.is_needless() => {
                    format!(
                        "the request reads like one that needs no skill; {} comes nearest",
                        chosen.name
                    )
                }
                false => {
                    format!(
                        "no skill explains enough of the request; {} comes nearest",
                        chosen.name
                    )
                }
            },
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
