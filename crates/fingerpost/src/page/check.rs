//! Is a page what a page must be?
//!
//! Rules that need no model. A page that breaks one is not used: a model gets the message and may
//! try again, and in the end the skill is served by its document. The rules are measured on pages
//! written by a strong model: nearly all of those pass.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::faults;
use super::language::Language;
use super::local::salience::is_common;
use super::name::mentions;
use super::write::STALE;
use super::{Ground, Page};
use crate::protocol::Alone;
use crate::skill::{Skill, SkillId};
use crate::text::{Tokenizer, for_each_term};
use crate::view::document;

/// A rule that a page breaks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The rule's name, in kebab case.
    pub rule: String,
    /// What is wrong and how to mend it, in words that can be sent to a model.
    pub message: String,
}

impl Failure {
    pub(super) fn new(rule: &str, message: impl Into<String>) -> Self {
        Self { rule: rule.into(), message: message.into() }
    }

    /// Does it keep a page from being used? What the round trip finds, and what reads badly, is for a person to look
    /// at.
    pub fn breaks(&self) -> bool {
        let of_round_trip = ["trigger-strays", "case-strays", "not-taken", "twin", STALE];
        let rule = self.rule.as_str();
        !of_round_trip.contains(&rule) && !faults::RULES.contains(&rule)
    }
}

/// Whose page it is, and beside whom it was written.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// The other members of its neighborhood.
    pub neighbors: &'a [&'a Skill],
    /// The language that was asked for.
    pub language: Language,
    /// What its boundary is made of, where it has no neighbors.
    pub alone: Alone,
}

/// Everything wrong with a page, in the order of the rules; empty if it is good.
pub fn check(page: &Page, subject: &Subject<'_>) -> Vec<Failure> {
    let mut failures = Vec::new();
    let boundary = page.boundary_text(|id| name_of(id, subject));
    check_lengths(page, &boundary, &mut failures);
    check_form(page, &mut failures);
    check_references(page, subject, &mut failures);
    check_imagined(page, subject, &mut failures);
    check_body(page, subject, &mut failures);
    check_support(page, subject, &mut failures);
    check_language(page, subject.language, &mut failures);
    failures
}

fn name_of(id: &SkillId, subject: &Subject<'_>) -> String {
    let named = subject.neighbors.iter().find(|skill| skill.id == *id);
    let name = named.map_or_else(|| id.to_string(), |skill| skill.name.clone());
    // A neighbor's endless name is not this page's fault.
    name.chars().take(LONGEST_NAME).collect()
}

/// Characters of a neighbor's name that count in a boundary's length.
const LONGEST_NAME: usize = 64;

fn check_lengths(page: &Page, boundary: &str, failures: &mut Vec<Failure>) {
    let fields = [
        ("trigger", page.trigger.as_str(), Page::MAX_TRIGGER),
        ("boundary", boundary, Page::MAX_BOUNDARY),
        ("body", page.body.as_str(), Page::MAX_BODY),
    ];
    for (field, text, most) in fields {
        let length = text.chars().count();
        if length > most {
            let message =
                format!("the {field} has {length} characters; shorten it to at most {most}");
            failures.push(Failure::new("too-long", message));
        }
        // Whether a boundary may be empty depends on the neighbors.
        if field != "boundary" && text.trim().is_empty() {
            failures.push(Failure::new("empty", format!("the {field} is empty; write it")));
        }
    }
    if page.boundary.iter().any(|case| case.request.trim().is_empty()) {
        failures.push(Failure::new(
            "empty",
            "a case of the boundary has no request; say which request it is",
        ));
    }
}

/// Headings, lists and fences.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s{0,3}#{1,6}\s|^\s*(?:[-*+•]|\d{1,2}[.)])\s.*\n\s*(?:[-*+•]|\d{1,2}[.)])\s|```|~~~|\*\*\S")
        .expect("a valid pattern")
});

fn check_form(page: &Page, failures: &mut Vec<Failure>) {
    let requests = page.boundary.iter().map(|case| ("boundary", case.request.as_str()));
    for (field, text) in [("trigger", page.trigger.as_str()), ("body", page.body.as_str())]
        .into_iter()
        .chain(requests)
    {
        if let Some(found) = MARKUP.find(text) {
            let message = format!(
                "the {field} has markup ('{}'); write plain sentences",
                found.as_str().trim()
            );
            failures.push(Failure::new("markup", message));
        }
    }
}

fn check_references(page: &Page, subject: &Subject<'_>, failures: &mut Vec<Failure>) {
    let known = |id: &&SkillId| subject.neighbors.iter().any(|skill| skill.id == **id);
    for id in page.references().into_iter().filter(|id| !known(id)) {
        let failure = if *id == subject.skill.id {
            Failure::new(
                "self-reference",
                "the boundary sends requests to the skill itself; name a neighbor",
            )
        } else {
            Failure::new(
                "unknown-reference",
                format!("the boundary names '{id}', which is no neighbor; name one of those given"),
            )
        };
        failures.push(failure);
    }
    // Between documents that say the same a boundary would be invented.
    let distinct = subject.neighbors.iter().any(|neighbor| !are_twins(subject.skill, neighbor));
    if distinct && page.references().iter().all(|id| !known(id)) {
        failures.push(Failure::new("no-neighbor", "the boundary names no neighbor; say which look-alike requests belong to which of those given"));
    }
}

/// A model may imagine what a skill could be mistaken for, and then must, where that is wanted and the library
/// has nothing to compare it with.
fn check_imagined(page: &Page, subject: &Subject<'_>, failures: &mut Vec<Failure>) {
    let is_wanted = subject.alone == Alone::Imagined && subject.neighbors.is_empty();
    let mut imagined = page.boundary.iter().filter(|case| case.ground == Ground::Imagined);
    if let Some(case) = imagined.find(|case| !is_wanted || case.skill.is_some()) {
        let message = format!(
            "the case '{}' of the boundary is imagined; leave it out, or say what a document says",
            case.request
        );
        failures.push(Failure::new("imagined", message));
    }
    if is_wanted && page.boundary.is_empty() {
        failures.push(Failure::new(
            "no-case",
            "the boundary is empty; imagine at least one kind of request that could be mistaken for this skill's, and say what sets it apart",
        ));
    }
}

fn check_body(page: &Page, subject: &Subject<'_>, failures: &mut Vec<Failure>) {
    for neighbor in
        subject.neighbors.iter().filter(|neighbor| mentions(&page.body, neighbor, subject.skill))
    {
        let message =
            format!("the body names the neighbor '{}'; it is about this skill only", neighbor.name);
        failures.push(Failure::new("body-names-neighbor", message));
    }
    if copies(&page.body, subject.skill) && says_more(subject.skill) {
        failures.push(Failure::new(
            "copy",
            "the body repeats the description; give the rule that makes the skill itself",
        ));
    }
}

/// Of a trigger's terms, the share that the document must have, where it has enough of its own.
const SUPPORT: f64 = 0.15;

/// Distinct terms from which on a document can be expected to share them.
const AMPLE_TERMS: usize = 40;

fn check_support(page: &Page, subject: &Subject<'_>, failures: &mut Vec<Failure>) {
    let document = stems(&document(subject.skill));
    let trigger = stems(&page.trigger);
    if trigger.is_empty() {
        return;
    }
    let found = trigger.intersection(&document).count();
    let share = found as f64 / trigger.len() as f64;
    let supported = if document.len() >= AMPLE_TERMS { share >= SUPPORT } else { found > 0 };
    if !supported {
        let message = format!(
            "only {found} of the trigger's {} terms are in the document; say what the document says",
            trigger.len()
        );
        failures.push(Failure::new("unsupported", message));
    }
}

fn check_language(page: &Page, language: Language, failures: &mut Vec<Failure>) {
    let asked = match language {
        Language::English => "English",
        Language::Chinese => "Chinese",
    };
    // A body may be a formula or code, which is in no language.
    if !page.trigger.is_empty() && Language::of(&page.trigger) != language {
        failures.push(Failure::new(
            "language",
            format!("the trigger is not in {asked}; write it in {asked}"),
        ));
    }
}

/// Triggers of one neighborhood that can hardly be told apart: for each such trigger the failure,
/// with its place in the list. Documents that say the same are excused.
pub fn check_exclusive(members: &[&Skill], triggers: &[Option<&str>]) -> Vec<(usize, Failure)> {
    let terms: Vec<Option<BTreeSet<String>>> =
        triggers.iter().map(|trigger| trigger.map(stems)).collect();
    let mut failures = Vec::new();
    for (at, mine) in terms.iter().enumerate() {
        // Where there is no trigger the description stands for it, which no writer can change.
        let Some(mine) = mine.as_ref().filter(|mine| !mine.is_empty()) else { continue };
        let alike = (0..members.len()).find(|&other| {
            let close = terms[other].as_ref().is_some_and(|theirs| jaccard(mine, theirs) > NEAR);
            other != at && close && !are_twins(members[at], members[other])
        });
        if let Some(other) = alike {
            let message = format!(
                "the trigger is nearly that of '{}'; say what only this skill is for",
                members[other].name
            );
            failures.push((at, Failure::new("not-exclusive", message)));
        }
    }
    failures
}

/// Share of common terms above which two triggers are one.
const NEAR: f64 = 0.9;

/// Share of common terms above which two documents say the same.
const TWIN: f64 = 0.9;

/// Do two documents say the same, so that nothing sets the skills apart?
pub fn are_twins(a: &Skill, b: &Skill) -> bool {
    let same = |a: &str, b: &str| {
        let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
        // Lengths and descriptions are compared first: nearly all pairs differ there already.
        a == b
            || (short as f64 >= 0.8 * long as f64
                && jaccard(&exact_terms(a), &exact_terms(b)) >= TWIN)
    };
    let same = same(&a.description, &b.description) && same(&a.content, &b.content);
    same && !(has_own_subject(a, b) && has_own_subject(b, a))
}

/// Is a skill named for something that it speaks of and the other does not? Documents made from one template differ in
/// nothing else, and that is what they are about.
fn has_own_subject(skill: &Skill, other: &Skill) -> bool {
    let [own, others] = [skill, other].map(|skill| exact_terms(&document(skill)));
    let said = exact_terms(&format!("{}\n{}", skill.description, skill.content));
    let mut name = exact_terms(&skill.name);
    name.retain(|word| own.contains(word) && said.contains(word) && !is_common(word));
    name.iter().any(|word| !others.contains(word))
}

/// Does a text say what the description says, and no more?
pub(super) fn copies(text: &str, skill: &Skill) -> bool {
    let (text, description) = (stems(text), stems(&skill.description));
    let new = text.difference(&description).count();
    !text.is_empty() && (new as f64) < 0.2 * text.len() as f64 && text.len() * 2 > description.len()
}

/// Has the document anything to say beyond its name and description?
pub(super) fn says_more(skill: &Skill) -> bool {
    let said = stems(&format!("{}\n{}", skill.name, skill.description));
    stems(&skill.content).difference(&said).count() >= 8
}

fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let both = a.intersection(b).count();
    let either = a.len() + b.len() - both;
    if either == 0 { 1.0 } else { both as f64 / either as f64 }
}

fn exact_terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for_each_term(text, Tokenizer::Auto, |term| {
        terms.insert(term.to_owned());
    });
    terms
}

/// The telling terms of a text, each cut to its first letters: a trigger may say "divides" where
/// the document says "divisible".
pub(super) fn stems(text: &str) -> BTreeSet<String> {
    let mut stems = BTreeSet::new();
    for_each_term(text, Tokenizer::Auto, |term| {
        if !is_common(term) {
            stems.insert(stem(term));
        }
    });
    stems
}

/// The first letters of a term.
pub(super) fn stem(term: &str) -> String {
    term.chars().take(4).collect()
}
