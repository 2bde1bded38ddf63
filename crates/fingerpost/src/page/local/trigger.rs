//! Which requests should select the skill, in its author's words?

use super::outline::{Kind, Part};
use super::plain::{clause, cut, sentence, words_of};
use super::{Language, Neighborhood, Page};
use crate::page::audit::is_clean;
use crate::page::name::mentions;
use crate::text::{Tokenizer, for_each_term};

/// Characters for what the skill does; the rest is for when, and for cues.
const WHAT_CHARS: usize = 230;

/// Cues at most.
const CUES: usize = 8;

/// What the skill does, when its author wants it used, and the terms its neighbors lack.
pub(super) fn trigger(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    language: Language,
) -> String {
    let skill = neighborhood.members[member];
    let usable = |part: &&Part| {
        is_clean(&part.text)
            && !neighborhood.neighbors(member).any(|other| mentions(&part.text, other, skill))
    };
    let parts: Vec<&Part> = neighborhood.outlines[member].iter().filter(usable).collect();
    let mut trigger = Draft::default();
    if let Some(words) = words_of(&skill.name) {
        trigger.add(&words, WHAT_CHARS / 2);
    }
    let what = parts.iter().filter(|part| part.kind == Kind::Described && !part.says_when);
    for part in what {
        trigger.add(&part.text, WHAT_CHARS.saturating_sub(trigger.characters()));
    }
    // The author's own "use when" first, then the section on it, the most telling item first.
    let says_when = parts.iter().filter(|part| part.says_when && part.kind == Kind::Described);
    let mut section: Vec<(&Part, f64)> = parts
        .iter()
        .filter(|part| {
            (part.says_when || part.kind == Kind::Example) && part.kind != Kind::Described
        })
        .map(|part| {
            (
                *part,
                neighborhood
                    .score(&part.text, |term| neighborhood.salience.separation(member, term)),
            )
        })
        .collect();
    section.sort_by(|a, b| b.1.total_cmp(&a.1));
    let reserve = 90;
    for part in says_when.copied().chain(section.iter().map(|(part, _)| *part).take(3)) {
        trigger.add(&part.text, Page::MAX_TRIGGER.saturating_sub(trigger.characters() + reserve));
    }
    if trigger.text.is_empty() {
        let first = parts
            .iter()
            .find(|part| matches!(part.kind, Kind::Prose | Kind::Heading | Kind::Field));
        trigger.add(first.map_or(skill.name.as_str(), |part| part.text.as_str()), WHAT_CHARS);
    }
    let cues = cues(neighborhood, member, &trigger.text);
    if !cues.is_empty() {
        let text = match language {
            Language::English => format!("Cues: {}", cues.join(", ")),
            Language::Chinese => format!("线索：{}", cues.join("、")),
        };
        trigger.add(&text, Page::MAX_TRIGGER.saturating_sub(trigger.characters() + 1));
    }
    trigger.text
}

#[derive(Default)]
struct Draft {
    text: String,
}

impl Draft {
    fn characters(&self) -> usize {
        self.text.chars().count()
    }

    /// Adds a sentence in at most so many characters, unless it is said already or too little of
    /// it would be left.
    fn add(&mut self, text: &str, most: usize) {
        let kept = clause(cut(text, most.saturating_sub(2)));
        let length = kept.chars().count();
        if length < 3
            || (length < 20 && kept.len() < clause(text).len())
            || self.text.contains(kept)
        {
            return;
        }
        if !self.text.is_empty() && !self.text.ends_with(['。', '！', '？']) {
            self.text.push(' ');
        }
        self.text.push_str(&sentence(kept));
    }
}

/// Terms that this document has and its neighbors' do not, which the text at hand lacks; the
/// heaviest first.
fn cues(neighborhood: &Neighborhood<'_>, member: usize, text: &str) -> Vec<String> {
    let salience = &neighborhood.salience;
    let said = salience.terms(text);
    let mut best: Vec<(f64, String)> = Vec::new();
    for part in &neighborhood.outlines[member] {
        let mut here = Vec::new();
        for_each_term(&part.text, Tokenizer::Auto, |term| here.push(term.to_owned()));
        for term in here {
            let readable = term.chars().all(|c| c.is_ascii_alphabetic()) && term.len() > 2;
            let Some(number) = salience.terms(&term).first().copied().filter(|_| readable) else {
                continue;
            };
            if said.contains(&number) || best.iter().any(|(_, known)| *known == term) {
                continue;
            }
            best.push((salience.separation(member, number), term));
        }
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    best.into_iter().filter(|(weight, _)| *weight > 0.0).take(CUES).map(|(_, term)| term).collect()
}
