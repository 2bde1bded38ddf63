//! Which requests should select the skill, in its author's words?

use super::outline::{Kind, Part};
use super::plain::{capital, clause, cut, sentence};
use super::{Language, Neighborhood, Page};
use crate::page::check::copies;
use crate::page::readable::{begins_small, has_markup, is_cut, leans};

/// Items taken from a section on when to use the skill, and from its example requests.
const ITEMS: usize = 3;

/// When its author wants the skill used, beyond what the description says: a trigger that says the description
/// again tells nobody anything, so there is none then.
pub(super) fn trigger(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    language: Language,
) -> String {
    let skill = neighborhood.members[member];
    let parts = neighborhood.parts(member);
    let mut trigger = Text::default();
    for part in says_when(neighborhood, member, &parts, language) {
        trigger.add(&part.text);
    }
    if copies(&trigger.text, skill) { String::new() } else { trigger.text }
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
    /// Adds a sentence as far as there is room, unless it is said already, too little of it would be left, or nobody
    /// could read it.
    fn add(&mut self, text: &str) {
        let text = text.strip_prefix("Also ").unwrap_or(text);
        let room = Page::MAX_TRIGGER.saturating_sub(self.text.chars().count() + 2);
        let kept = clause(cut(text, room));
        let length = kept.chars().count();
        let stub = length < 20 && kept.len() < clause(text).len();
        let kept = capital(kept);
        let unreadable = is_cut(&kept)
            || has_markup(&kept)
            || kept.contains(['→', '{', '['])
            || leans(&kept)
            || begins_small(&kept);
        if length < 2 || stub || unreadable || self.text.contains(&*kept) {
            return;
        }
        if !self.text.is_empty() && !self.text.ends_with(['。', '！', '？']) {
            self.text.push(' ');
        }
        self.text.push_str(&sentence(&kept));
    }
}
