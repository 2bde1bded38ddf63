//! How does a request choose among candidates without a model?
//!
//! Retrieval ranks by words over whole documents. Among ten look-alikes that is too coarse: they
//! share those words. The chooser adds what retrieval cannot see: pairs of words ("cube root"), the
//! single sentence of a long request that tells what is wanted, the trigger, which says what a skill is
//! for, and words that mean nearly the same. The less of a request words explain, the more its meaning
//! decides. The weights are the same for every library. The boundary has no part in the order: of seven
//! ways to use it without a model none passed a paired test (docs/decisions/boundary-in-the-local-order.md).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::Candidate;
use crate::index::{IndexError, SparseIndex};
use crate::numbers::chooser::{CLOSE, LONG, NEW, ORDINARY};
pub use crate::numbers::chooser::{ENCODED, WEIGHTS};
use crate::request::Request;
use crate::text::{Stop, Tokenizer, for_each_term, parts};
use crate::view::purpose;

/// What speaks for a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Which candidate, by its place among those given.
    pub candidate: usize,
    /// The evidence of each kind, weighted: together they are the total.
    pub addends: ByKind,
    /// All evidence.
    pub total: f64,
    /// Cosine of the request and the full view, words and pairs, unweighted.
    pub likeness: f64,
    /// Does the request name it?
    pub named: bool,
}

/// A number for each kind of evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct ByKind {
    /// Words of the request in the full view, by BM25; 1 for the candidate that has most.
    pub words: f64,
    /// Likeness of the request and the full view, words and pairs; of a long request, that of its best
    /// single sentence; 1 for the likest.
    pub phrases: f64,
    /// How much of the trigger the request has.
    pub trigger: f64,
    /// Likeness of the meaning of the request and of what the skill says it is for.
    pub meaning: f64,
    /// The same by an encoder, where the user has one.
    pub encoder: f64,
}

impl ByKind {
    /// How many kinds there are.
    pub const COUNT: usize = 5;

    /// In the order of the fields.
    pub fn to_array(self) -> [f64; Self::COUNT] {
        [self.words, self.phrases, self.trigger, self.meaning, self.encoder]
    }

    /// As [`to_array`](Self::to_array) gives them.
    pub fn from_array(kinds: [f64; Self::COUNT]) -> Self {
        let [words, phrases, trigger, meaning, encoder] = kinds;
        Self { words, phrases, trigger, meaning, encoder }
    }
}

/// The evidence for each candidate, strongest first; of equals, the one that was retrieved first. `fit` is
/// the request's evidence that any skill fits ([`super::none`]).
pub fn weigh(
    request: &Request<'_>,
    candidates: &[Candidate<'_>],
    fit: f64,
    phrases: &SparseIndex,
) -> Result<Vec<Evidence>, IndexError> {
    let weights = if request.encoded.is_some() { &ENCODED } else { &WEIGHTS };
    weigh_by(request, candidates, fit, phrases, weights)
}

/// [`weigh`] with other weights.
pub fn weigh_by(
    request: &Request<'_>,
    candidates: &[Candidate<'_>],
    fit: f64,
    phrases: &SparseIndex,
    weights: &ByKind,
) -> Result<Vec<Evidence>, IndexError> {
    let (mut found, likeness): (Vec<_>, Vec<f64>) =
        found(&request.wanted, candidates, phrases)?.into_iter().unzip();
    for kind in 0..RELATIVE {
        let largest = found.iter().map(|found| found[kind]).fold(0.0, f64::max);
        if largest > 0.0 {
            found.iter_mut().for_each(|found| found[kind] /= largest);
        }
    }
    let told = (fit / ORDINARY).sqrt();
    for found in &mut found {
        found[..OF_WORDS].iter_mut().for_each(|found| *found *= told);
    }
    let weights = weights.to_array();
    let mut evidence: Vec<Evidence> = (0..)
        .zip(candidates.iter().zip(found))
        .map(|(at, (candidate, mut addends))| {
            addends.iter_mut().zip(weights).for_each(|(addend, weight)| *addend *= weight);
            Evidence {
                candidate: at,
                addends: ByKind::from_array(addends),
                total: addends.iter().sum(),
                likeness: likeness[at],
                named: candidate.is_named_by(&request.named),
            }
        })
        .collect();
    evidence.sort_by(|a, b| {
        b.named.cmp(&a.named).then(b.total.total_cmp(&a.total)).then(a.candidate.cmp(&b.candidate))
    });
    Ok(evidence)
}

/// The first kinds have no scale of their own: the candidate with most of it counts 1.
const RELATIVE: usize = 2;

/// The first kinds are of words that the request shares, all but the last two.
const OF_WORDS: usize = 3;

/// What each candidate has, by kind, as it is; and its likeness with the request as a whole.
fn found(
    wanted: &str,
    candidates: &[Candidate<'_>],
    phrases: &SparseIndex,
) -> Result<Vec<([f64; ByKind::COUNT], f64)>, IndexError> {
    let whole = phrases.vector(wanted);
    // Their terms are among those of the whole, so each is looked up once a candidate.
    let place = |term: u32| whole.binary_search_by_key(&term, |&(term, _)| term).ok();
    let sentences: Vec<Vec<(usize, f32)>> = told(wanted)
        .map(|sentence| phrases.vector(sentence).into_iter())
        .map(|terms| terms.filter_map(|(term, weight)| Some((place(term)?, weight))).collect())
        .collect();
    let asked = phrases.ask(&whole)?;
    let found = |candidate: &Candidate<'_>| {
        let counts: Vec<f32> = asked.weights(candidate.skill).collect();
        let likeness = |terms: &mut dyn Iterator<Item = (usize, f32)>| -> f32 {
            terms.fold(0.0, |sum, (at, weight)| sum + weight * counts[at])
        };
        let all = likeness(&mut whole.iter().map(|&(_, weight)| weight).enumerate());
        let nearest = match sentences.len() {
            ..LONG => all,
            _ => {
                let nearest = sentences.iter().map(|terms| likeness(&mut terms.iter().copied()));
                nearest.fold(0.0, f32::max)
            }
        };
        let trigger = candidate.page.map_or("", |page| page.trigger.as_str());
        let kinds = ByKind {
            words: f64::from(candidate.words),
            phrases: f64::from(nearest),
            trigger: covered(&phrases.vector(trigger), &whole),
            meaning: f64::from(candidate.meaning.max(0.0)),
            encoder: f64::from(candidate.encoder.max(0.0)),
        };
        (kinds.to_array(), f64::from(all))
    };
    Ok(candidates.iter().map(found).collect())
}

/// How much of a text another one has, by the weights of its words.
fn covered(text: &[(u32, f32)], by: &[(u32, f32)]) -> f64 {
    let weight = |terms: &mut dyn Iterator<Item = &(u32, f32)>| -> f64 {
        terms.fold(0.0, |sum, &(_, weight)| sum + f64::from(weight))
    };
    let all = weight(&mut text.iter());
    let is_shared =
        |&&(term, _): &&(u32, f32)| by.binary_search_by_key(&term, |&(term, _)| term).is_ok();
    if all > 0.0 { weight(&mut text.iter().filter(is_shared)) / all } else { 0.0 }
}

/// The sentences and lines of a request.
fn told(request: &str) -> impl Iterator<Item = &str> {
    parts(request, Stop::Part).filter(|part| part.chars().any(char::is_alphanumeric))
}

/// How far the first is ahead of the second.
pub(super) fn lead(evidence: &[Evidence]) -> f64 {
    let total = |at: usize| evidence.get(at).map_or(0.0, |evidence| evidence.total);
    total(0) - total(1)
}

/// How many of the strongest a request needs, of at most `max`. Evidence alone does not tell: two
/// skills are close where the choice is unsure, not where both are needed. So the next one must also
/// explain words of the request that those before it do not.
pub(super) fn set_size(
    evidence: &[Evidence],
    candidates: &[Candidate<'_>],
    request: &Request<'_>,
    phrases: &SparseIndex,
    max: usize,
) -> usize {
    let Some(best) = evidence.first().filter(|_| max > 1) else { return evidence.len().min(1) };
    let mut words: BTreeMap<u32, f64> = BTreeMap::new();
    for_each_term(&request.wanted, Tokenizer::Phrases, |term| {
        if let Some(number) = phrases.number(term).filter(|_| !term.contains(' ')) {
            words.entry(number).or_insert_with(|| phrases.idf(term).powi(2));
        }
    });
    let words: Vec<(u32, f64)> = words.into_iter().collect();
    let explained: Vec<Vec<bool>> = evidence
        .iter()
        .map(|evidence| {
            let Candidate { name, description, page, .. } = &candidates[evidence.candidate];
            let told = phrases.vector(&purpose(name, description, *page));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{Lexicon, dot};
    use crate::index::SparseConfig;
    use crate::library::Library;
    use crate::page::{Page, Pages};
    use crate::skill::{Invocation, Origin, Skill, SkillId, SkillIdx};
    use crate::view::View;

    const SKILLS: [(&str, &str); 3] = [
        ("convert-currency", "Converts an amount from one currency to another."),
        ("schedule-flight", "Schedules a flight. Says how many hours it takes."),
        ("weigh-parcel", "Weighs a parcel for the post."),
    ];

    /// The evidence for three skills, of which the last has this trigger; in the order of their ids.
    fn unweighted(request: &str, trigger: &str) -> (Vec<ByKind>, SparseIndex) {
        unweighted_at(request, trigger, ORDINARY)
    }

    fn unweighted_at(request: &str, trigger: &str, fit: f64) -> (Vec<ByKind>, SparseIndex) {
        let skill = |(id, description): (&str, &str)| Skill {
            id: SkillId::new(id),
            name: id.into(),
            description: description.into(),
            content: String::new(),
            fields: Default::default(),
            invocation: Invocation::Automatic,
            origin: Origin { file: "SKILL.md".into(), line: None },
        };
        let library = Library::from_skills(SKILLS.map(skill).into()).value;
        let page = Page { trigger: trigger.into(), boundary: vec![], body: String::new() };
        let pages = Pages::new(vec![None, None, Some(page.clone())]);
        let config = SparseConfig::phrases(View::Full);
        let phrases = SparseIndex::build(&library, &pages, &config);
        let lexicon = Lexicon::get();
        let request = &Request::read(request);
        let candidates: Vec<Candidate<'_>> = (0..)
            .zip(library.skills())
            .map(|(row, skill)| Candidate {
                skill: SkillIdx(row),
                id: skill.id.as_str(),
                name: &skill.name,
                description: &skill.description,
                page: (row == 2).then_some(&page),
                words: 0.0,
                meaning: dot(&request.meaning, &lexicon.meaning(&skill.description)),
                encoder: 0.0,
            })
            .collect();
        let ones = ByKind::from_array([1.0; ByKind::COUNT]);
        let mut evidence = weigh_by(request, &candidates, fit, &phrases, &ones).unwrap();
        evidence.sort_by_key(|evidence| evidence.candidate);
        (evidence.into_iter().map(|evidence| evidence.addends).collect(), phrases)
    }

    #[test]
    fn meaning_speaks_where_no_word_is_shared() {
        let (evidence, _) = unweighted("what are 20 dollars in yen", "");
        assert!(evidence.iter().all(|evidence| evidence.phrases == 0.0), "{evidence:?}");
        let [currency, flight, parcel] = [0, 1, 2].map(|at: usize| evidence[at].meaning);
        assert!(currency > flight.max(parcel) + 0.1, "{evidence:?}");
        let (chinese, _) = unweighted("二十美元是多少日元", "");
        assert!(chinese.iter().all(|evidence| evidence.meaning == 0.0), "{chinese:?}");
    }

    #[test]
    fn a_trigger_counts_as_far_as_the_request_has_it() {
        let trigger =
            |request: &str| unweighted(request, "Postage for a heavy parcel").0[2].trigger;
        assert_eq!(trigger("nothing of it"), 0.0);
        assert_eq!(trigger("postage for a heavy parcel, please"), 1.0);
        let half = trigger("a heavy suitcase");
        assert!(half > 0.1 && half < 0.9, "{half}");
    }

    fn score(phrases: &SparseIndex, text: &str, row: u32) -> f32 {
        phrases.ask(&phrases.vector(text)).unwrap().score(SkillIdx(row))
    }

    #[test]
    fn the_best_sentence_is_scored_as_if_it_were_alone() {
        let story = "I sold a car. It was old. It was blue. We drove it far.";
        let request =
            &format!("{story} Which currency gives one amount? Weigh the parcel for me, post it!");
        let (evidence, phrases) = unweighted(request, "");
        let alone = |row: u32| -> f64 {
            f64::from(told(request).map(|told| score(&phrases, told, row)).fold(0.0, f32::max))
        };
        let alone = [0, 1, 2].map(alone);
        let largest = alone.iter().copied().fold(0.0, f64::max);
        for (evidence, alone) in evidence.iter().zip(alone) {
            assert!((evidence.phrases - alone / largest).abs() < 1e-6, "{evidence:?} {alone}");
        }
        assert!(alone[1] < alone[0] && alone[1] < alone[2], "{alone:?}");
        // Both sentences of a short one speak, each for another candidate.
        let request = "Which currency gives one amount? Weigh it!";
        let (short, phrases) = unweighted(request, "");
        let whole = |row: u32| score(&phrases, request, row);
        let expected = f64::from(whole(2) / whole(0));
        assert!(expected > 0.0 && expected < 1.0, "{expected}");
        assert!((short[2].phrases - expected).abs() < 1e-6, "{short:?}");
    }

    #[test]
    fn meaning_decides_where_words_explain_little() {
        let request = "which dollars does the flight have in yen";
        let best = |fit: f64| {
            let (evidence, _) = unweighted_at(request, "", fit);
            let total = |at: usize| evidence[at].to_array().iter().sum::<f64>();
            (0..3).max_by(|&a, &b| total(a).total_cmp(&total(b))).unwrap()
        };
        assert_eq!((best(0.1), best(ORDINARY)), (0, 1));
        let (evidence, _) = unweighted_at(request, "", 0.0);
        assert!(evidence.iter().all(|evidence| evidence.phrases == 0.0), "{evidence:?}");
    }
}
