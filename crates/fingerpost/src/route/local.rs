//! How does a request choose among candidates without a model?
//!
//! Retrieval ranks by words over whole documents. Among ten look-alikes that is too coarse: they
//! share those words. The chooser adds what retrieval cannot see: pairs of words ("cube root"), the
//! single sentence of a long request that tells what is wanted, and the fields that say what a skill
//! is for, its name and its trigger. Each kind of evidence is scaled by its largest among the
//! candidates, and the weights are the same for every library. The boundary has no part in the order:
//! of seven ways to use it without a model none passed a paired test (docs/routing.md).

use serde::Serialize;

use super::Candidate;
use crate::index::{IndexError, SparseIndex};
use crate::request::{named, wanted};

/// What each kind of evidence counts.
const WORDS: f64 = 1.0;
const WHOLE: f64 = 0.5;
const SENTENCE: f64 = 0.5;
const NAME: f64 = 0.25;
const TRIGGER: f64 = 0.25;

/// What speaks for a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Which candidate, by its place among those given.
    pub candidate: usize,
    /// The evidence of each kind.
    pub addends: Addends,
    /// All evidence, at most the sum of the weights.
    pub total: f64,
    /// Does the request name it?
    pub named: bool,
}

/// The evidence of each kind, weighted: together they are the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Addends {
    /// Words, by BM25.
    pub words: f64,
    /// The request and the full view.
    pub whole: f64,
    /// The best single sentence of the request and the full view.
    pub sentence: f64,
    /// The request and the name.
    pub name: f64,
    /// The request and the trigger.
    pub trigger: f64,
}

/// The evidence for each candidate, strongest first; of equals, the one that was retrieved first.
pub fn weigh(
    request: &str,
    candidates: &[Candidate<'_>],
    phrases: &SparseIndex,
) -> Result<Vec<Evidence>, IndexError> {
    let wanted = wanted(request);
    let names = named(request);
    let whole = phrases.vector(&wanted);
    let sentences: Vec<Vec<(u32, f32)>> =
        sentences(&wanted).map(|sentence| phrases.vector(sentence)).collect();
    let mut kinds: [Vec<f64>; 5] = Default::default();
    for candidate in candidates {
        let score = |vector: &[(u32, f32)]| phrases.score(vector, candidate.skill);
        let mut nearest = 0.0_f32;
        for sentence in &sentences {
            nearest = nearest.max(score(sentence)?);
        }
        let trigger = candidate.page.map_or("", |page| page.trigger.as_str());
        let values = [
            f64::from(candidate.words),
            f64::from(score(&whole)?),
            f64::from(nearest),
            cosine(&whole, &phrases.vector(candidate.name)),
            cosine(&whole, &phrases.vector(trigger)),
        ];
        kinds.iter_mut().zip(values).for_each(|(kind, value)| kind.push(value));
    }
    let weights = [WORDS, WHOLE, SENTENCE, NAME, TRIGGER];
    let mut evidence: Vec<Evidence> = candidates
        .iter()
        .enumerate()
        .map(|(at, candidate)| {
            let mut parts = [0.0; 5];
            for (part, (kind, weight)) in parts.iter_mut().zip(kinds.iter().zip(weights)) {
                let largest = kind.iter().copied().fold(0.0, f64::max);
                *part = if largest > 0.0 { weight * kind[at] / largest } else { 0.0 };
            }
            let [words, whole, sentence, name, trigger] = parts;
            Evidence {
                candidate: at,
                addends: Addends { words, whole, sentence, name, trigger },
                total: parts.iter().sum(),
                named: candidate.is_named_by(&names),
            }
        })
        .collect();
    evidence.sort_by(|a, b| {
        b.named.cmp(&a.named).then(b.total.total_cmp(&a.total)).then(a.candidate.cmp(&b.candidate))
    });
    Ok(evidence)
}

/// Inner product of two sparse vectors in the order of their terms.
fn cosine(a: &[(u32, f32)], b: &[(u32, f32)]) -> f64 {
    let (mut at, mut sum) = (0, 0.0);
    for &(term, weight) in a {
        while b.get(at).is_some_and(|&(other, _)| other < term) {
            at += 1;
        }
        if let Some(&(other, other_weight)) = b.get(at)
            && other == term
        {
            sum += f64::from(weight) * f64::from(other_weight);
        }
    }
    sum
}

/// The sentences and lines of a request.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '.', '!', '?', ';', '。', '！', '？', '；'])
        .filter(|sentence| sentence.chars().any(char::is_alphanumeric))
}

/// How sure the first place is, by its lead over the second: fitted once on half of the judged
/// requests of six libraries, which count alike.
pub(super) fn confidence(evidence: &[Evidence]) -> f64 {
    let total = |at: usize| evidence.get(at).map_or(0.0, |evidence| evidence.total);
    1.0 / (1.0 + (0.9 - 2.15 * (total(0) - total(1))).exp())
}

/// How many of the strongest a request needs, of at most `max`. Evidence alone does not tell: two
/// skills are close where the choice is unsure, not where both are needed. So the next one must also
/// explain words of the request that those before it do not.
pub(super) fn set_size(
    evidence: &[Evidence],
    candidates: &[Candidate<'_>],
    request: &str,
    phrases: &SparseIndex,
    max: usize,
) -> usize {
    const CLOSE: f64 = 0.7;
    const NEW: f64 = 0.1;
    let Some(best) = evidence.first().filter(|_| max > 1) else { return evidence.len().min(1) };
    let words: Vec<(u32, f64)> = phrases
        .vector(&wanted(request))
        .into_iter()
        .filter(|&(term, _)| !phrases.term(term).contains(' '))
        .map(|(term, _)| (term, phrases.idf(phrases.term(term)).powi(2)))
        .collect();
    let explained: Vec<Vec<bool>> = evidence
        .iter()
        .map(|evidence| {
            let Candidate { name, description, page, .. } = &candidates[evidence.candidate];
            let trigger = page.map_or("", |page| page.trigger.as_str());
            let told = phrases.vector(&format!("{name}\n{description}\n{trigger}"));
            let tells = |term: u32| told.binary_search_by_key(&term, |&(term, _)| term).is_ok();
            words.iter().map(|&(term, _)| tells(term)).collect()
        })
        .collect();
    let weight = |of: &dyn Fn(usize) -> bool| -> f64 {
        (0..words.len()).filter(|&at| of(at)).map(|at| words[at].1).sum()
    };
    let all = weight(&|at| explained.iter().any(|explains| explains[at]));
    let mut taken = 1;
    while taken < max.min(evidence.len()) {
        let next = &explained[taken];
        let new = weight(&|at| next[at] && !explained[..taken].iter().any(|before| before[at]));
        if evidence[taken].total < CLOSE * best.total || new < NEW * all || all == 0.0 {
            break;
        }
        taken += 1;
    }
    taken
}
