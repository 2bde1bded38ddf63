//! Why this candidate, and why not that one?
//!
//! A reason opens with what sets its candidate apart from the others: what it is for, without the words that
//! they begin with too. After it comes what the request says: the boundary that gives it away, or a word of it
//! that the candidate does not have. A word that no candidate has but the chosen one is said once, of that one.
//! A request may have a thousand words and its candidates are twenty: what it says is read once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::apart::openings;
use super::{Candidate, Evidence, Rejected};
use crate::index::{Asked, IndexError, SparseIndex};
use crate::page::Case;
use crate::page::local::as_request;
use crate::text::words_of_phrases;
use crate::view::Cards;

/// Words shown in a reason.
const SHOWN: usize = 4;

/// Words shown of those that a candidate does not have: the heaviest tell.
const MISSED: usize = 2;

/// Of what a word gives the chosen one, the share that another has at least who has it too.
const HAS: f32 = 0.25;

/// The share of the others that lack a word which is the chosen one's own.
const OWN: f64 = 0.67;

/// A request as reasons are given for it.
pub(super) struct Reasons<'a> {
    request: &'a str,
    /// The terms of the request, with their weights.
    terms: Vec<(u32, f32)>,
    asked: Asked<'a>,
    /// Each as the request has it; `None` for a pair with an idle word, which says nothing to a person.
    words: Vec<Option<String>>,
    /// The one that was chosen, and what each term gives it.
    chosen: Option<(&'a Candidate<'a>, Vec<f32>)>,
    /// Those that were not, in the order in which they are told, and what each term gives them.
    rivals: Vec<(&'a Candidate<'a>, Vec<f32>)>,
    /// Words of the request that the chosen one has, and hardly another: those that most others lack first.
    own: Vec<Said>,
    /// Those that others have too, heaviest first.
    shared: Vec<Said>,
}

/// A word of the request as it is shown, or a pair or run of them.
struct Said {
    text: String,
    /// The terms that it is made of.
    terms: Vec<usize>,
}

impl<'a> Reasons<'a> {
    /// Reads the request, for the chosen one and those that were not.
    pub(super) fn new(
        request: &'a str,
        chosen: Option<&'a Candidate<'a>>,
        rivals: Vec<&'a Candidate<'a>>,
        phrases: &'a SparseIndex,
    ) -> Result<Self, IndexError> {
        let terms = phrases.vector(request);
        let words = words_of_phrases(request).into_iter();
        let mut words: BTreeMap<u32, String> =
            words.filter_map(|(phrase, words)| Some((phrases.number(&phrase)?, words))).collect();
        let words = terms.iter().map(|(term, _)| words.remove(term)).collect();
        let asked = phrases.ask(&terms)?;
        let (own, shared) = Default::default();
        let mut reasons =
            Self { request, terms, asked, words, chosen: None, rivals: Vec::new(), own, shared };
        reasons.chosen = chosen.map(|chosen| (chosen, reasons.given(chosen)));
        reasons.rivals = rivals.into_iter().map(|rival| (rival, reasons.given(rival))).collect();
        (reasons.own, reasons.shared) = reasons.said();
        Ok(reasons)
    }

    /// What each term of the request gives to a candidate.
    fn given(&self, candidate: &Candidate<'_>) -> Vec<f32> {
        let counts = self.asked.weights(candidate.skill);
        self.terms.iter().zip(counts).map(|((_, weight), counts)| weight * counts).collect()
    }

    /// Why the chosen one: first the words that hardly another has.
    pub(super) fn why(&self, best: &Evidence) -> String {
        let Some((chosen, _)) = &self.chosen else { return String::new() };
        if best.named {
            return format!("the request names {}", chosen.name);
        }
        let own = &self.own[..self.own.len().min(SHOWN - 1)];
        let shared = &self.shared[..self.shared.len().min(SHOWN - own.len())];
        let mut rivals = self.rivals.iter();
        let alone = rivals.all(|(_, theirs)| own.iter().all(|word| !self.has(theirs, word)));
        let others = if alone { "which no other has" } else { "which few others have" };
        let list = |said: &[Said]| list(said.iter().map(|said| said.text.as_str()));
        match (own.is_empty(), shared.is_empty()) {
            (true, true) => format!("{} is nearest in meaning", chosen.name),
            (true, false) => format!("the request says {}", list(shared)),
            (false, _) if self.rivals.is_empty() => format!("the request says {}", list(own)),
            (false, true) => format!("the request says {}, {others}", list(own)),
            (false, false) => {
                format!("the request says {}, {others}, and {}", list(own), list(shared))
            }
        }
    }

    /// The words of the request that the chosen one has: those that hardly another has, and the others.
    fn said(&self) -> (Vec<Said>, Vec<Said>) {
        let Some((chosen, given)) = &self.chosen else { return Default::default() };
        // A number is a value as a rule, and no reason, but for those that a skill is about.
        let about = format!("{} {}", chosen.name, chosen.description);
        let tells = |words: &String| {
            words.split(' ').all(|word| word.contains(char::is_alphabetic) || about.contains(word))
        };
        let words = self.strongest(given, SHOWN * 2).into_iter().filter(tells);
        let said = words.map(|text| Said { terms: self.terms_of(&text), text });
        let lacking =
            |word: &Said| self.rivals.iter().filter(|(_, theirs)| !self.has(theirs, word)).count();
        let (mut own, shared): (Vec<_>, Vec<_>) =
            said.partition(|word| lacking(word) as f64 >= OWN * self.rivals.len() as f64);
        // Stable: of words that as many lack, the heavier ones come first.
        own.sort_by_key(|word| Reverse(lacking(word)));
        (own, shared)
    }

    /// The terms that a text of the request is made of: a pair and its words, a run and its characters.
    fn terms_of(&self, text: &str) -> Vec<usize> {
        let is_part = |word: &str| match text.is_ascii() {
            true => word == text || text.split(' ').any(|part| part == word),
            false => text.contains(word),
        };
        let parts = self.words.iter().enumerate();
        parts.filter(|(_, word)| word.as_deref().is_some_and(is_part)).map(|(at, _)| at).collect()
    }

    /// Does a candidate have a word that the chosen one has, or a good part of it?
    fn has(&self, theirs: &[f32], word: &Said) -> bool {
        let Some((_, ours)) = &self.chosen else { return false };
        let sum = |given: &[f32]| word.terms.iter().map(|&at| given[at]).sum::<f32>();
        let theirs = sum(theirs);
        theirs > 0.0 && theirs >= HAS * sum(ours)
    }

    /// Why not each of the others, in their order.
    pub(super) fn rejected(&self, cards: Cards) -> Vec<Rejected> {
        let chosen = self.chosen.as_ref().map(|(chosen, _)| *chosen);
        let rivals = || self.rivals.iter().map(|(rival, _)| *rival);
        let told: Vec<String> = chosen
            .into_iter()
            .map(|chosen| purpose(chosen, None, cards))
            .chain(rivals().map(|rival| purpose(rival, chosen, cards)))
            .collect();
        let beside = chosen.map_or_else(String::new, |chosen| {
            let trigger = chosen.page.map_or("", |page| &page.trigger);
            format!("{} {} {trigger}", chosen.name, chosen.description)
        });
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let mut leads = openings(&told, &beside);
        let first = chosen.map(|chosen| (leads.remove(0), chosen));
        // Of several that say the same, the ones after the first are said to.
        let mut said: Vec<(&str, &Candidate<'_>)> = Vec::new();
        said.extend(first.as_ref().map(|(lead, chosen)| (lead.as_str(), *chosen)));
        let mut rejected = Vec::new();
        for ((rival, theirs), lead) in self.rivals.iter().zip(&leads) {
            let same = said.iter().find(|(before, _)| before == lead);
            let opening = match same {
                Some((_, before)) => format!("the same words as {}", before.name),
                None => lead.clone(),
            };
            said.push((lead, rival));
            let because = match self.of_the_request(rival, theirs, cards) {
                Some(request) => format!("{opening}; {request}"),
                None => opening,
            };
            let (skill, name) = (rival.id.to_owned(), rival.name.to_owned());
            rejected.push(Rejected { skill, name, because });
        }
        rejected
    }

    /// What the request says against a candidate: its boundary gives the request away, or it has no word of
    /// what is asked. Where none was chosen, what little it shares.
    fn of_the_request(
        &self,
        rival: &Candidate<'_>,
        theirs: &[f32],
        cards: Cards,
    ) -> Option<String> {
        let Some((chosen, _)) = &self.chosen else {
            let shared = self.strongest(theirs, MISSED);
            let shared = shared.iter().map(String::as_str);
            return (shared.len() > 0).then(|| format!("shares {}", list(shared)));
        };
        if cards != Cards::Base && given_away(rival, chosen).is_some() {
            let instead = if cards == Cards::Ids { chosen.id } else { chosen.name };
            return Some(format!("its boundary: use {instead}"));
        }
        // What hardly one of them has is said of the chosen one, once.
        let missed = self.shared.iter().filter(|word| !self.has(theirs, word)).take(MISSED);
        let missed: Vec<&str> = missed.map(|word| word.text.as_str()).collect();
        (!missed.is_empty()).then(|| format!("no word of {}", list(missed.into_iter())))
    }

    /// The heaviest terms that a candidate shares with the request.
    pub(super) fn shared(&self, candidate: &Candidate<'_>, most: usize) -> Vec<(String, f32)> {
        self.heaviest(&self.given(candidate), most)
    }

    fn strongest(&self, weights: &[f32], most: usize) -> Vec<String> {
        self.heaviest(weights, most).into_iter().map(|(term, _)| term).collect()
    }

    /// The heaviest terms as the request has them, a word left out that is part of a pair; characters and pairs of
    /// a script without spaces as the runs that they make in the request.
    fn heaviest(&self, weights: &[f32], most: usize) -> Vec<(String, f32)> {
        let weighted = self
            .words
            .iter()
            .zip(weights)
            .filter(|(_, weight)| **weight > 0.0)
            .filter_map(|(words, weight)| Some((words.as_deref()?, *weight)));
        let (spaced, unspaced): (Vec<_>, Vec<_>) =
            weighted.partition(|(words, _)| words.is_ascii() || words.chars().count() > 2);
        let mut weighted: Vec<(String, f32)> =
            spaced.into_iter().map(|(words, weight)| (words.to_owned(), weight)).collect();
        weighted.extend(runs(self.request, &unspaced));
        weighted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut shown: Vec<(String, f32)> = Vec::new();
        for (term, weight) in weighted {
            let part_of = |a: &str, b: &str| a.split(' ').any(|word| word == b);
            let is_told = shown.iter().any(|(s, _)| part_of(s, &term) || part_of(&term, s));
            if shown.len() < most && !is_told {
                shown.push((term, weight));
            }
        }
        shown
    }
}

/// What a candidate is for, as a line beside the others: what the boundary of the chosen one says of it, which was
/// written to tell the two apart; else its own author's words.
fn purpose(candidate: &Candidate<'_>, chosen: Option<&Candidate<'_>>, cards: Cards) -> String {
    let shown = chosen.filter(|_| cards != Cards::Base);
    if let Some(case) = shown.and_then(|chosen| given_away(chosen, candidate)) {
        return case.request.clone();
    }
    let described = as_request(candidate.description.trim());
    let page = candidate.page;
    let texts =
        [described, page.map_or("", |page| &page.trigger), page.map_or("", |page| &page.body)];
    let says = |text: &&str| text.chars().any(char::is_alphanumeric);
    texts.into_iter().find(says).unwrap_or(candidate.name).to_owned()
}

/// The case of a candidate's boundary that gives requests to another one.
pub(super) fn given_away<'a>(from: &Candidate<'a>, to: &Candidate<'_>) -> Option<&'a Case> {
    let cases = from.page.into_iter().flat_map(|page| &page.boundary);
    let is_theirs = |case: &&Case| case.skill.as_ref().is_some_and(|id| id.as_str() == to.id);
    cases.into_iter().find(is_theirs)
}

/// The runs of a request that these characters and pairs of characters cover, with the sum of what they count.
/// A character that says nothing is no end of a run, and a single one is no run where there are longer ones.
fn runs(request: &str, terms: &[(&str, f32)]) -> Vec<(String, f32)> {
    if terms.is_empty() {
        return Vec::new();
    }
    let mut covered = vec![false; request.len()];
    for (term, _) in terms {
        for (at, found) in request.match_indices(term) {
            covered[at..at + found.len()].fill(true);
        }
    }
    let is_covered = |&(at, _): &(usize, char)| covered[at];
    let characters: Vec<(usize, char)> = request.char_indices().collect();
    let mut runs: Vec<String> = characters
        .chunk_by(|a, b| is_covered(a) == is_covered(b))
        .filter(|run| is_covered(&run[0]))
        .map(|run| run.iter().map(|(_, c)| *c).collect::<String>())
        .map(|run| run.trim_matches(|c| EMPTY.contains(c)).to_owned())
        .filter(|run| !run.is_empty())
        .collect();
    runs.sort();
    runs.dedup();
    let is_long = |run: &String| run.chars().count() > 1;
    if runs.iter().any(is_long) {
        runs.retain(is_long);
    }
    let weight = |run: &String| -> f32 {
        terms.iter().filter(|(term, _)| run.contains(term)).map(|(_, weight)| weight).sum()
    };
    runs.into_iter().map(|run| (weight(&run), run)).map(|(weight, run)| (run, weight)).collect()
}

/// Characters of asking and of grammar, which stand in the requests for everything.
const EMPTY: &str = "的了到把在和与是我你帮请给一个这那下查要想吗呢就也都为从用有";

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.map(|text| format!("“{text}”")).collect::<Vec<_>>().join(", ")
}
