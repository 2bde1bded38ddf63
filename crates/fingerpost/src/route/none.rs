//! When does no skill fit?
//!
//! There are two ways. The request needs no skill at all: it reads like talk, like a question that any model
//! answers, like a sum (`none/manner.rs`, `none/talk.rs`), and the candidates explain little of it. Or it
//! is meant for another library: then only the candidates can tell, by how much of it they explain by words, over the
//! request's own weight, so that long and short ones are comparable, by phrases, and by meaning. Each way has a
//! rule that adds up signs with weights that are the same for every library; where either comes below zero, none
//! is the answer. One rule for both would trust a sign the less the better it tells one of them. What a library
//! says of itself did not help: thresholds read from its own sentences refused a sixth of the answerable
//! requests of libraries that nobody had tuned them on.

pub mod manner;
mod talk;

use serde::Serialize;

use self::manner::Manner;
use super::{Candidate, Evidence};
use crate::index::SparseIndex;
use crate::numbers::none::{ENCODED, UNAIDED};
use crate::request::Request;
use crate::text::{is_idle, terms};

/// How well the best hit, with this score, explains the request; `index` is BM25's.
pub fn evidence(request: &str, best: f32, index: &SparseIndex) -> f64 {
    let weight = weight(request, index);
    if weight > 0.0 { f64::from(best) / weight.sqrt().sqrt() } else { 0.0 }
}

/// What there is to explain: the rarer the words of a request, the more.
fn weight(request: &str, index: &SparseIndex) -> f64 {
    distinct(request, index).iter().map(|term| index.idf(term).powi(2)).sum()
}

fn distinct(text: &str, index: &SparseIndex) -> Vec<String> {
    let mut terms = terms(text, index.config().tokenizer);
    // The index hardly counts them in a request either.
    terms.retain(|term| !is_idle(term));
    terms.sort();
    terms.dedup();
    terms
}

/// What tells whether any skill fits a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Signs {
    /// The square root of what words explain ([`evidence`]).
    pub words: f64,
    /// The largest cosine of the request and a candidate, words and pairs.
    pub phrases: f64,
    /// The largest cosine of the meanings.
    pub meaning: f64,
    /// The logarithm of what there is to explain: to rare words something is always near.
    pub weight: f64,
    /// How near the nearest candidate is by an encoder, where there is one.
    pub encoder: Option<f64>,
    /// Phrases of talk for ten words, without those that the first candidate is about.
    pub talk: f64,
    /// Whether it reads like a request for a skill ([`manner`]).
    pub manner: f64,
}

/// What each sign counts for a skill, and what is added to them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// In the order of [`Signs::to_array`].
    pub weights: [f64; Signs::COUNT],
    /// So that few answerable requests are below zero.
    pub bias: f64,
}

/// What a request must pass: below zero by either, no skill fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Against requests that need no skill.
    pub needless: Rule,
    /// Against those meant for another library.
    pub foreign: Rule,
}

impl Rule {
    /// All signs, weighted.
    pub fn balance(&self, signs: &[f64; Signs::COUNT]) -> f64 {
        self.bias + signs.iter().zip(self.weights).map(|(sign, weight)| sign * weight).sum::<f64>()
    }
}

impl Rules {
    /// By the rule that says less for a skill.
    pub fn balance(&self, signs: &[f64; Signs::COUNT]) -> f64 {
        self.needless.balance(signs).min(self.foreign.balance(signs))
    }
}

impl Signs {
    /// How many there are.
    pub const COUNT: usize = 7;

    /// Where [`Signs::talk`] and [`Signs::manner`] stand among them: what the request is by itself.
    pub const OF_ITSELF: [usize; 2] = [5, 6];

    /// The signs of the request itself. `fit` is its evidence that any skill fits, `index` is BM25's of the
    /// full view.
    pub fn of(request: &str, fit: f64, index: &SparseIndex) -> Self {
        Self {
            words: fit.sqrt(),
            weight: weight(request, index).ln_1p(),
            manner: Manner::shipped().of(request),
            ..Self::default()
        }
    }

    /// With those of its candidates, whose evidence is the strongest first.
    pub fn among(
        self,
        request: &Request<'_>,
        candidates: &[Candidate<'_>],
        evidence: &[Evidence],
    ) -> Self {
        let meanings = candidates.iter().map(|candidate| f64::from(candidate.meaning));
        let phrases = evidence.iter().map(|evidence| evidence.likeness);
        let first = evidence.first().map(|first| &candidates[first.candidate]);
        let told = first.map(|first| format!("{}\n{}", first.name, first.description));
        Self {
            meaning: meanings.fold(0.0, f64::max),
            phrases: phrases.fold(0.0, f64::max),
            talk: talk::talk(request.text, &told.unwrap_or_default()),
            encoder: request.is_encoded_by_model().then(|| {
                let near = candidates.iter().map(|candidate| f64::from(candidate.encoder));
                near.fold(0.0, f64::max)
            }),
            ..self
        }
    }

    /// The evidence of words that it was made of.
    pub fn fit(&self) -> f64 {
        self.words.powi(2)
    }

    /// Without an encoder, 0 in its place.
    pub fn to_array(self) -> [f64; Self::COUNT] {
        let encoder = self.encoder.unwrap_or(0.0);
        [self.words, self.phrases, self.meaning, self.weight, encoder, self.talk, self.manner]
    }

    fn rules(&self) -> &'static Rules {
        if self.encoder.is_some() { &ENCODED } else { &UNAIDED }
    }

    /// Above zero a skill fits, below zero none does.
    pub fn balance(&self) -> f64 {
        self.rules().balance(&self.to_array())
    }

    /// The same between 0 and 1; one half is in the middle.
    pub fn fits(&self) -> f64 {
        1.0 / (1.0 + (-self.balance()).exp())
    }

    /// Does it need no skill, rather than one of another library?
    pub(super) fn is_needless(&self) -> bool {
        let (Rules { needless, foreign }, signs) = (self.rules(), self.to_array());
        needless.balance(&signs) < foreign.balance(&signs)
    }
}
