//! Which requests should select the skill, in its author's words?

use super::outline::{Kind, Part};
use super::plain::{clause, cut, sentence, words_of};
use super::salience::is_usual;
use super::{Draft, Language, Neighborhood, Page};
use crate::text::{Tokenizer, for_each_term, terms};

/// Characters for what the skill does; the rest is for when to use it, and for cues.
const WHAT_CHARS: usize = 240;

/// Items taken from a section on when to use the skill.
const ITEMS: usize = 3;

/// Cues at most, and the characters kept free for them.
const CUES: usize = 6;
const CUE_CHARS: usize = 50;

/// What the skill does, and when its author wants it used; in the second draft also the terms its
/// neighbors lack. In an index such terms find fewer skills than they lose, so they are for triggers
/// that are too near to another without them.
pub(super) fn trigger(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    language: Language,
    draft: Draft,
) -> String {
    let skill = neighborhood.members[member];
    let most = Page::MAX_TRIGGER;
    let parts = neighborhood.parts(member);
    let mut trigger = Text::default();
    let name = words_of(&skill.name).unwrap_or_else(|| skill.name.replace('-', " "));
    if !says_all(&[&skill.description, &skill.content], &name) {
        trigger.add(&name, WHAT_CHARS / 2);
    }
    let what = parts.iter().filter(|part| part.kind == Kind::Described && !part.says_when);
    for (at, part) in what.enumerate() {
        let left = WHAT_CHARS.saturating_sub(trigger.characters());
        // The first sentence may be cut; of the next half a one says nothing.
        if at == 0 || part.text.chars().count() <= left {
            trigger.add(&part.text, left);
        }
    }
    let kept_free = match draft {
        Draft::First => 0,
        Draft::Second => CUE_CHARS,
    };
    for part in says_when(neighborhood, member, &parts, language) {
        trigger.add(&part.text, most.saturating_sub(trigger.characters() + kept_free));
    }
    if trigger.characters() < 20 {
        let first = parts.iter().find(|part| part.kind != Kind::Code);
        trigger.add(first.map_or(&skill.name, |part| &part.text), WHAT_CHARS);
    }
    let cues = match draft {
        Draft::First => Vec::new(),
        Draft::Second => cues(neighborhood, member, &parts, &trigger.text),
    };
    if !cues.is_empty() {
        let text = match language {
            Language::English => format!("Cues: {}", cues.join(", ")),
            Language::Chinese => format!("线索：{}", cues.join("、")),
        };
        trigger.add(&text, most.saturating_sub(trigger.characters()));
    }
    trigger.text
}

/// Has one of the texts every word of the name? Then the name is no news to an index, and a reader
/// has it before the trigger.
fn says_all(texts: &[&str], name: &str) -> bool {
    let mut missing = terms(name, Tokenizer::Auto);
    missing.sort();
    missing.dedup();
    texts.iter().any(|text| {
        let mut missing = missing.clone();
        for_each_term(text, Tokenizer::Auto, |term| missing.retain(|word| word != term));
        missing.is_empty()
    })
}

/// The author's own "use when" first, then the section on it, the most telling item first.
fn says_when<'a>(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    parts: &[&'a Part],
    language: Language,
) -> Vec<&'a Part> {
    let (mut said, mut section): (Vec<&Part>, Vec<&Part>) = parts
        .iter()
        .filter(|part| part.says_when || part.kind == Kind::Example)
        .filter(|part| Language::of(&part.text) == language)
        .partition(|part| part.kind == Kind::Described);
    let separation = |term| neighborhood.salience.separation(member, term);
    let score = |part: &Part| neighborhood.score(&part.text, separation);
    // Stable, so that equal ones stay in the order of the document.
    section.sort_by(|a, b| score(b).total_cmp(&score(a)));
    said.extend(section.into_iter().take(ITEMS));
    said
}

#[derive(Default)]
struct Text {
    text: String,
}

impl Text {
    fn characters(&self) -> usize {
        self.text.chars().count()
    }

    /// Adds a sentence in at most so many characters, unless it is said already or too little of
    /// it would be left.
    fn add(&mut self, text: &str, most: usize) {
        let kept = clause(cut(text, most.saturating_sub(2)));
        let length = kept.chars().count();
        let stub = length < 20 && kept.len() < clause(text).len();
        if length < 2 || stub || self.text.contains(kept) {
            return;
        }
        if !self.text.is_empty() && !self.text.ends_with(['。', '！', '？']) {
            self.text.push(' ');
        }
        self.text.push_str(&sentence(kept));
    }
}

/// Words that this document has and its neighbors' do not, which the text at hand lacks; the
/// heaviest first.
fn cues(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    parts: &[&Part],
    text: &str,
) -> Vec<String> {
    let salience = &neighborhood.salience;
    let said = salience.terms(text);
    let mut cues: Vec<(f64, String)> = Vec::new();
    for part in parts {
        for_each_term(&part.text, Tokenizer::Auto, |term| {
            let readable = term.len() > 2 && term.bytes().all(|byte| byte.is_ascii_alphabetic());
            let known = |term: &str| cues.iter().any(|(_, cue)| cue == term);
            if !readable || is_usual(term) || known(term) {
                return;
            }
            let Some(number) = salience.number(term).filter(|number| !said.contains(number)) else {
                return;
            };
            cues.push((salience.separation(member, number), term.to_owned()));
        });
    }
    cues.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    cues.into_iter().filter(|(weight, _)| *weight > 0.0).take(CUES).map(|(_, cue)| cue).collect()
}
