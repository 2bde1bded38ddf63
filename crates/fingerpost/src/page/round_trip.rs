//! Do the pages of a neighborhood, or of a skill and its rivals, send requests where they say?
//!
//! With no model: a trigger, searched for, must find its own skill first among its neighbors; a
//! case of a boundary must find the neighbor it names before the skill that gives it away; and that
//! neighbor's trigger must take it. What does not is for a person to look at, or for a writer to
//! write again.

use super::check::{Failure, are_twins};
use super::{Page, Pages};
use crate::index::{Scratch, SparseConfig, SparseIndex, Zeros};
use crate::library::Library;
use crate::skill::{Skill, SkillIdx};
use crate::view::View;

/// How the round trip went for one page.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundTrip {
    /// The share of its tests that went well, 0 to 1: worse pages come first in a review.
    pub score: f64,
    /// What did not go well.
    pub findings: Vec<Failure>,
}

/// Tests every page of a neighborhood against the others; members and pages in one order.
pub fn round_trip(members: &[&Skill], pages: &[Option<Page>]) -> Vec<RoundTrip> {
    if members.len() == 1 {
        return vec![RoundTrip { score: 1.0, findings: Vec::new() }];
    }
    let full = Search::over(members, pages, View::Full);
    // What a neighbor's trigger takes is judged by the triggers, without the documents.
    let triggers = Triggers::of(members, pages);
    let test = |at: usize| match &pages[at] {
        Some(page) => test(at, page, members, &full, &triggers, &[]),
        None => RoundTrip { score: 1.0, findings: Vec::new() },
    };
    (0..members.len()).map(test).collect()
}

/// Tests the page of one of them against the others, its rivals. Its copies are no rivals; that it has some
/// is found all the same.
pub fn round_trip_of(
    at: usize,
    members: &[&Skill],
    pages: &[Option<Page>],
    copies: &[&Skill],
) -> RoundTrip {
    let page = pages[at].as_ref().filter(|_| members.len() + copies.len() > 1);
    let Some(page) = page else { return RoundTrip { score: 1.0, findings: Vec::new() } };
    let full = Search::over(members, pages, View::Full);
    test(at, page, members, &full, &Triggers::of(members, pages), copies)
}

fn test(
    at: usize,
    page: &Page,
    members: &[&Skill],
    full: &Search,
    triggers: &Triggers,
    copies: &[&Skill],
) -> RoundTrip {
    let (mut tests, mut passed) = (0_u32, 0_u32);
    let mut findings = Vec::new();
    let mut record = |good: bool, rule: &str, message: String| {
        tests += 1;
        passed += u32::from(good);
        if !good {
            findings.push(Failure::new(rule, message));
        }
    };
    if !page.trigger.is_empty() {
        let first = full.best(&page.trigger);
        let own = first.is_none_or(|first| first == at || are_twins(members[first], members[at]));
        let winner = first.map_or("", |first| members[first].name.as_str());
        record(own, "trigger-strays", format!("searched for, the trigger finds '{winner}' first"));
    }
    for case in &page.boundary {
        let Some(id) = &case.skill else { continue };
        let Some(other) = members.iter().position(|skill| skill.id == *id) else { continue };
        let name = &members[other].name;
        let scores = full.scores(&case.request);
        record(
            scores[other] > scores[at],
            "case-strays",
            format!("the request given to '{name}' ('{}') finds this skill first", case.request),
        );
        record(
            triggers.score(other, &case.request) >= triggers.score(at, &case.request),
            "not-taken",
            format!(
                "the trigger of '{name}' does not take the request given to it ('{}')",
                case.request
            ),
        );
    }
    let twins: Vec<&str> = (0..members.len())
        .filter(|&other| other != at && are_twins(members[at], members[other]))
        .map(|other| members[other].id.as_str())
        .chain(copies.iter().map(|copy| copy.id.as_str()))
        .collect();
    if !twins.is_empty() {
        let message = format!(
            "its document says the same as that of {}: no page can tell them apart; merge them, or write what differs",
            twins.join(", ")
        );
        record(false, "twin", message);
    }
    let score = if tests == 0 { 1.0 } else { f64::from(passed) / f64::from(tests) };
    RoundTrip { score, findings }
}

/// BM25 over a view of the members.
struct Search {
    index: SparseIndex,
    /// The member of each row of the index.
    member: Vec<usize>,
}

impl Search {
    fn over(members: &[&Skill], pages: &[Option<Page>], view: View) -> Self {
        let skills = members.iter().map(|&skill| skill.clone()).collect();
        let library = Library::from_skills(skills).value;
        let of_row = |skill: &Skill| {
            members.iter().position(|member| member.id == skill.id).expect("a member")
        };
        let member: Vec<usize> = library.skills().iter().map(of_row).collect();
        let pages = Pages::new(member.iter().map(|&at| pages[at].clone()).collect());
        let index =
            SparseIndex::build(&library, &pages, &SparseConfig { view, ..SparseConfig::default() });
        Self { index, member }
    }

    fn scores(&self, request: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.member.len()];
        let hits =
            self.index.search(request, self.member.len(), Zeros::Dropped, &mut Scratch::default());
        for hit in hits.expect("an index in memory is sound") {
            scores[self.member[hit.skill.row()]] = hit.score;
        }
        scores
    }

    fn best(&self, request: &str) -> Option<usize> {
        let hits = self.index.search(request, 1, Zeros::Dropped, &mut Scratch::default());
        let hits = hits.expect("an index in memory is sound");
        hits.first().map(|hit| self.member[SkillIdx::row(hit.skill)])
    }
}

/// The terms of each description and trigger.
struct Triggers {
    terms: Vec<Vec<String>>,
}

impl Triggers {
    fn of(members: &[&Skill], pages: &[Option<Page>]) -> Self {
        let terms = |at: usize| {
            // A trigger that leaves out what the description says leaves it to the description.
            let told = |page: &Page| format!("{}\n{}", members[at].description, page.trigger);
            pages[at].as_ref().map_or_else(Vec::new, |page| telling_terms(&told(page)))
        };
        Self { terms: (0..members.len()).map(terms).collect() }
    }

    /// How many of a request's telling terms a trigger has.
    fn score(&self, member: usize, request: &str) -> usize {
        let request = telling_terms(request);
        request.iter().filter(|term| self.terms[member].contains(term)).count()
    }
}

fn telling_terms(text: &str) -> Vec<String> {
    let mut terms = crate::text::terms(text, crate::text::Tokenizer::Auto);
    terms.retain(|term| !super::local::salience::is_common(term));
    terms.sort();
    terms.dedup();
    terms
}
