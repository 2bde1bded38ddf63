//! Which words speak for one candidate, and not for another?
//!
//! A request may have a thousand words and its candidates are twenty: what it says is read once.

use std::collections::BTreeMap;

use super::{Candidate, Evidence};
use crate::index::{Asked, IndexError, SparseIndex};
use crate::page::Case;
use crate::text::words_of_phrases;
use crate::view::Cards;

/// Words shown in a reason.
const SHOWN: usize = 4;

/// A request as reasons are given for it.
pub(super) struct Reasons<'a> {
    /// The terms of the request, with their weights.
    terms: Vec<(u32, f32)>,
    asked: Asked<'a>,
    /// Each as the request has it; `None` for a pair with an idle word, which says nothing to a person.
    words: Vec<Option<String>>,
    /// The one that was chosen, and what each term gives it.
    chosen: Option<(&'a Candidate<'a>, Vec<f32>)>,
}

impl<'a> Reasons<'a> {
    /// Reads the request.
    pub(super) fn new(
        request: &str,
        chosen: Option<&'a Candidate<'a>>,
        phrases: &'a SparseIndex,
    ) -> Result<Self, IndexError> {
        let terms = phrases.vector(request);
        let words = words_of_phrases(request).into_iter();
        let mut words: BTreeMap<u32, String> =
            words.filter_map(|(phrase, words)| Some((phrases.number(&phrase)?, words))).collect();
        let words = terms.iter().map(|(term, _)| words.remove(term)).collect();
        let asked = phrases.ask(&terms)?;
        let mut reasons = Self { terms, asked, words, chosen: None };
        reasons.chosen = chosen.map(|chosen| (chosen, reasons.given(chosen)));
        Ok(reasons)
    }

    /// What each term of the request gives to a candidate.
    fn given(&self, candidate: &Candidate<'_>) -> Vec<f32> {
        let counts = self.asked.weights(candidate.skill);
        self.terms.iter().zip(counts).map(|((_, weight), counts)| weight * counts).collect()
    }

    /// Why the chosen one.
    pub(super) fn why(&self, best: &Evidence) -> String {
        let Some((chosen, given)) = &self.chosen else { return String::new() };
        if best.named {
            return format!("the request names {}", chosen.name);
        }
        let shared = self.strongest(given);
        match shared.is_empty() {
            true => format!("{} is nearest in meaning", chosen.name),
            false => format!("the request speaks of {}", list(&shared)),
        }
    }

    /// Why not this one: the boundary that gives the request away, if the cards show it; else the words
    /// that speak for the chosen one. What little it shares, if none was chosen.
    pub(super) fn against(&self, rival: &Candidate<'_>, cards: Cards) -> String {
        let Some((chosen, ours)) = &self.chosen else { return self.little(rival) };
        if let Some(case) = given_away(rival, chosen).filter(|_| cards != Cards::Base) {
            let request = case.request.trim_end_matches(['.', '。']);
            let instead = if cards == Cards::Ids { chosen.id } else { chosen.name };
            return format!("its boundary: {request}: use {instead}");
        }
        let theirs = self.given(rival);
        let ahead: Vec<f32> =
            ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs).collect();
        let missing = self.strongest(&ahead);
        match missing.is_empty() {
            true => format!("{} is nearer to the request", chosen.name),
            false => {
                let speak = if missing.len() == 1 { "speaks" } else { "speak" };
                format!("{} {speak} for {}", list(&missing), chosen.name)
            }
        }
    }

    /// What little a candidate has of a request that none fits.
    pub(super) fn little(&self, candidate: &Candidate<'_>) -> String {
        let shared = self.strongest(&self.given(candidate));
        match shared.is_empty() {
            true => "shares no word that counts".into(),
            false => format!("shares {} and too little else", list(&shared)),
        }
    }

    /// The heaviest terms that a candidate shares with the request.
    pub(super) fn shared(&self, candidate: &Candidate<'_>, most: usize) -> Vec<(&str, f32)> {
        self.heaviest(&self.given(candidate), most)
    }

    fn strongest(&self, weights: &[f32]) -> Vec<&str> {
        self.heaviest(weights, SHOWN).into_iter().map(|(term, _)| term).collect()
    }

    /// The heaviest terms as the request has them, a word left out that is part of a pair.
    fn heaviest(&self, weights: &[f32], most: usize) -> Vec<(&str, f32)> {
        let mut weighted: Vec<(&str, f32)> = self
            .words
            .iter()
            .zip(weights)
            .filter(|(_, weight)| **weight > 0.0)
            .filter_map(|(words, weight)| Some((words.as_deref()?, *weight)))
            .collect();
        weighted.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let mut shown: Vec<(&str, f32)> = Vec::new();
        for (term, weight) in weighted {
            let part_of = |a: &str, b: &str| a.split(' ').any(|word| word == b);
            let is_told = shown.iter().any(|(s, _)| part_of(s, term) || part_of(term, s));
            if shown.len() < most && !is_told {
                shown.push((term, weight));
            }
        }
        shown
    }
}

/// The case of a rival's boundary that gives requests to the chosen one.
pub(super) fn given_away<'a>(rival: &Candidate<'a>, chosen: &Candidate<'_>) -> Option<&'a Case> {
    let cases = rival.page.into_iter().flat_map(|page| &page.boundary);
    let is_chosen = |case: &&Case| case.skill.as_ref().is_some_and(|id| id.as_str() == chosen.id);
    cases.into_iter().find(is_chosen)
}

fn list(terms: &[&str]) -> String {
    terms.iter().map(|term| format!("“{term}”")).collect::<Vec<_>>().join(", ")
}
