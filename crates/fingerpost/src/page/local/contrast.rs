//! What shows that a request is a neighbor's, and not this skill's as well?
//!
//! No document says all that its skill does, so that only the neighbor speaks of something shows nothing: silence is no
//! exclusion. What authors name their skills for is the best they have to tell them apart. So a request is given away
//! if it is about the same work as this skill and, before all details, about what the neighbor is named for, of which
//! this document has no word; and if the neighbor has no word either for something that this skill is named for, or the
//! two are of one family: Bazett's formula here, Fridericia's there. It need not say the name where the two are siblings,
//! `pdf-split` and `pdf-merge`, of which neither speaks of anything that the other is named for. Without such evidence
//! there is no case: an empty boundary misleads nobody.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Neighborhood;
use super::salience::worth;
use crate::page::check::{stem, stems};
use crate::skill::Skill;
use crate::text::{Tokenizer, for_each_term, terms};

/// How much of a request for a neighbor must be unknown to this skill's name and description. Below that it may be a request for
/// this skill in other words, and a boundary that gives it away does harm.
const FOREIGN: f64 = 0.5;

/// How much of it its whole document must have no word for: what the document speaks of all through is its own.
const UNSAID: f64 = 0.25;

/// And how much where the request does not name what the neighbor is named for.
const UNSAID_OF_SIBLING: f64 = 0.5;

/// What the words are worth together that a look-alike request shares with this skill's name and description: one telling
/// word with a usual one, or two.
const ALIKE: f64 = 1.3;

/// Telling words of a request beside the name of its skill: "Create chart helper operations" says the name again.
const BESIDE_NAME: usize = 2;

/// What a word is worth at least, to tell a subject.
const TELLING: f64 = 0.7;

/// Letters by which two forms of a word are known for one: "transcribe" and "transcription".
const STEM: usize = 6;

/// Share of the words of two names that both have, above which they are names of one thing.
const NAMESAKES: f64 = 0.6;

/// "Any PHP development": the whole of a field is nobody's to give away.
static WHOLE_FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:an? )?(?:all|every|general|generic|comprehensive|complete|full)\b|\b(?:any|anything|everything|all-in-one|(?:full|entire|whole) (?:spectrum|range)|wide range)\b|任何|任意|一站式|全方位")
        .expect("a valid pattern")
});

/// A skill that says of itself that it takes whatever there is: what a neighbor takes is among it.
static TAKES_ALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:any|every|all) (?:\w+ )?(?:apps?|databases?|documents?|files?|formats?|frameworks?|kinds?|languages?|models?|platforms?|providers?|services?|sites?|sorts?|sources?|types?|websites?)\b|任何|任意|各种|各类|所有")
        .expect("a valid pattern")
});

/// Words of names that say what kind of thing a skill is, and not what it is for.
const KINDS: [&str; 42] = [
    "advanced",
    "advisor",
    "architect",
    "assistant",
    "automation",
    "basics",
    "builder",
    "calculator",
    "collection",
    "core",
    "creator",
    "developer",
    "engineer",
    "enhanced",
    "expert",
    "finder",
    "framework",
    "generator",
    "guide",
    "helper",
    "library",
    "maker",
    "manager",
    "master",
    "orchestrator",
    "partner",
    "patterns",
    "pipeline",
    "platform",
    "plugin",
    "practices",
    "professional",
    "publisher",
    "score",
    "server",
    "smart",
    "specialist",
    "suite",
    "system",
    "toolkit",
    "utils",
    "writer",
];

/// What sets a neighbor apart from a skill, as far as their documents show it.
pub(super) struct Contrast<'a> {
    neighborhood: &'a Neighborhood<'a>,
    member: usize,
    other: usize,
    /// What the neighbor is named for and this document has no word for.
    theirs: Vec<String>,
    /// Named against each other, and neither speaks of anything that the other is named for.
    are_siblings: bool,
    /// Named for one thing, and this one besides for something of which the neighbor has no word.
    are_pair: bool,
}

impl<'a> Contrast<'a> {
    /// `None` where whatever the neighbor is for may be asked of this skill too.
    pub(super) fn between(
        neighborhood: &'a Neighborhood<'a>,
        member: usize,
        other: usize,
    ) -> Option<Self> {
        let [skill, neighbor] = [member, other].map(|at| neighborhood.members[at]);
        let mut theirs = subject(neighbor);
        let (own_name, own) = (name_words(skill), terms(&skill.description, Tokenizer::Stems));
        // `blog-calendar` beside a skill that plans calendars: the same work, seen more closely.
        let overlap = theirs.iter().any(|word| has(&own, word) && !has(&own_name, word));
        if overlap
            || are_namesakes(skill, neighbor)
            || neighborhood.twins(member).contains(&other)
            || TAKES_ALL.is_match(&skill.description)
        {
            return None;
        }
        let all = theirs.len();
        let apart = theirs.iter().filter(|word| !has(&own_name, word)).count();
        theirs.retain(|word| !speaks_of(neighborhood, member, word));
        let (mut ours, their_name) = (subject(skill), name_words(neighbor));
        ours.retain(|word| !has(&their_name, word));
        let unheard = |word: &String| !speaks_of(neighborhood, other, word);
        let head = own_name.first().filter(|head| their_name.first() == Some(*head));
        let is_apart = !ours.is_empty() && ours.iter().all(unheard);
        let are_siblings = is_apart && head.is_some() && theirs.len() == apart;
        let are_pair = is_apart && apart < all;
        // Of one family with a name of its own (`qtc`), one may well mention the other.
        let is_family = head.is_some_and(|head| worth(head) >= TELLING);
        let is_contrast = !theirs.is_empty() && (is_family || ours.iter().any(unheard));
        is_contrast.then_some(Self { neighborhood, member, other, theirs, are_siblings, are_pair })
    }

    /// Is there evidence that a request for the neighbor is no request for this skill?
    pub(super) fn is_theirs(&self, request: &str) -> bool {
        let is_alike = self.alike(request) >= ALIKE;
        if !is_alike || self.names_own_subject(request) || WHOLE_FIELD.is_match(request) {
            return false;
        }
        let head = telling(head(request));
        let is_named = self.theirs.iter().any(|word| has(&head, word));
        // "QTc Hodges Calculator" beside "QTc Bazett Calculator": that all else is shared is what makes them a pair.
        if is_named && self.are_pair {
            return true;
        }
        let unsaid = match (is_named, self.are_siblings) {
            (true, _) => UNSAID,
            (false, true) => UNSAID_OF_SIBLING,
            (false, false) => return false,
        };
        let (words, name) = (telling(request), name_words(self.neighbor()));
        let beside = words.iter().filter(|word| !has(&name, word)).count();
        beside >= BESIDE_NAME && self.foreign(request) >= FOREIGN && self.unsaid(&words) >= unsaid
    }

    fn skill(&self) -> &'a Skill {
        self.neighborhood.members[self.member]
    }

    fn neighbor(&self) -> &'a Skill {
        self.neighborhood.members[self.other]
    }

    /// The share of a request's weight, as the neighbor has it, that this skill's name and description have no word for.
    fn foreign(&self, request: &str) -> f64 {
        let salience = &self.neighborhood.salience;
        let own = described(self.skill());
        let (mut all, mut new) = (0.0, 0.0);
        for_each_term(request, Tokenizer::Auto, |term| {
            let Some(&number) = salience.terms(term).first() else { return };
            let weight = salience.weight(self.other, number);
            all += weight;
            new += if own.contains(&stem(term)) { 0.0 } else { weight };
        });
        if all > 0.0 { new / all } else { 0.0 }
    }

    /// What the words of a request are worth that this skill's name and description have too.
    fn alike(&self, request: &str) -> f64 {
        let own = described(self.skill());
        let mut shared = BTreeSet::new();
        let mut sum = 0.0;
        for_each_term(request, Tokenizer::Auto, |term| {
            if own.contains(&stem(term)) && shared.insert(stem(term)) {
                sum += worth(term);
            }
        });
        sum
    }

    /// The share of a request's telling words that this skill's document does not have.
    fn unsaid(&self, words: &[String]) -> f64 {
        let said = self.neighborhood.said(self.member);
        let new = words.iter().filter(|word| !said.contains(*word)).count();
        new as f64 / words.len().max(1) as f64
    }

    /// Does a request speak of what this skill is named for and the neighbor is not? Then it is no other's.
    fn names_own_subject(&self, request: &str) -> bool {
        let (request, theirs) = (terms(request, Tokenizer::Stems), name_words(self.neighbor()));
        let mut own = name_words(self.skill()).into_iter();
        own.any(|word| worth(&word) >= TELLING && !theirs.contains(&word) && has(&request, &word))
    }
}

fn described(skill: &Skill) -> BTreeSet<String> {
    stems(&format!("{}\n{}", skill.name, skill.description))
}

/// The words of a skill's name, without their endings.
fn name_words(skill: &Skill) -> Vec<String> {
    terms(&skill.name.replace('_', " "), Tokenizer::Stems)
}

/// The first half of a request: what it is about stands before the details.
fn head(request: &str) -> &str {
    let half = request.chars().count().div_ceil(2);
    request.char_indices().nth(half).map_or(request, |(end, _)| &request[..end])
}

/// The words that tell what a skill is named for. "Exploiting" in front of it is what is done, as others do too.
fn subject(skill: &Skill) -> Vec<String> {
    let kinds: Vec<String> = KINDS.iter().flat_map(|kind| terms(kind, Tokenizer::Stems)).collect();
    let mut words = name_words(skill);
    let first = skill.name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    if first.ends_with("ing") && words.len() > 1 {
        words.remove(0);
    }
    words.retain(|word| worth(word) >= TELLING && !kinds.contains(word));
    words.sort_unstable();
    words.dedup();
    words
}

/// The telling words of a text, each once.
fn telling(text: &str) -> Vec<String> {
    let mut words = terms(text, Tokenizer::Stems);
    words.retain(|word| worth(word) >= TELLING);
    words.sort_unstable();
    words.dedup();
    words
}

/// Is a word among these, in some form?
fn has(words: &[String], word: &str) -> bool {
    words.iter().any(|other| is_form(other, word))
}

fn is_form(a: &str, b: &str) -> bool {
    a.chars().take(STEM).eq(b.chars().take(STEM))
}

/// Has a member's document a form of this word?
fn speaks_of(neighborhood: &Neighborhood<'_>, member: usize, word: &str) -> bool {
    neighborhood.said(member).iter().any(|said| is_form(said, word))
}

/// Are two skills named for the same thing? Then whatever one is for may be asked of the other.
fn are_namesakes(skill: &Skill, neighbor: &Skill) -> bool {
    let words = |skill: &Skill| name_words(skill).into_iter().collect::<BTreeSet<String>>();
    let (own, theirs) = (words(skill), words(neighbor));
    let both = own.intersection(&theirs).count();
    let either = own.len() + theirs.len() - both;
    both > 0 && (both == own.len() || both as f64 >= NAMESAKES * either as f64)
}
