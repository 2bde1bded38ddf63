//! Which rule, formula, command or field makes the skill itself?

use super::outline::{Kind, Part};
use super::plain::{cut, sentence};
use super::{Neighborhood, Page};
use crate::page::audit::is_clean;
use crate::page::check::{copies, says_more};
use crate::page::name::mentions;

/// Parts of a document that a body is put together from, at most.
const PARTS: usize = 3;

/// How much of a part may be said already, by the description or by the parts before it.
const MAX_SAID: f64 = 0.6;

/// The parts of the document that best set it apart, each saying something new; in the order of
/// the document, so that they read as it does.
pub(super) fn body(neighborhood: &Neighborhood<'_>, member: usize) -> String {
    let skill = neighborhood.members[member];
    let outline = &neighborhood.outlines[member];
    let is_candidate = |part: &Part| {
        let length = part.text.chars().count();
        part.kind != Kind::Heading
            && (12..=Page::MAX_BODY * 2).contains(&length)
            && is_clean(&part.text)
            && !neighborhood.neighbors(member).any(|other| mentions(&part.text, other, skill))
    };
    let candidates: Vec<(usize, &Part)> =
        outline.iter().enumerate().filter(|(_, part)| is_candidate(part)).collect();
    let mut said = neighborhood.salience.terms(&skill.description);
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = Page::MAX_BODY;
    while chosen.len() < PARTS && left > 40 {
        let best = candidates
            .iter()
            .filter(|(at, part)| {
                !chosen.contains(at)
                    && part.kind != Kind::Described
                    && share(neighborhood, &part.text, &said) <= MAX_SAID
            })
            .map(|&(at, part)| (at, worth(neighborhood, member, part, &said)))
            .filter(|&(at, worth)| {
                worth > 0.0 && (chosen.is_empty() || outline[at].text.chars().count() <= left)
            })
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let Some((at, _)) = best else { break };
        left = left.saturating_sub(outline[at].text.chars().count() + 2);
        said.extend(neighborhood.salience.terms(&outline[at].text));
        chosen.push(at);
    }
    chosen.sort_unstable();
    let mut body = String::new();
    for at in chosen {
        join(&mut body, &outline[at].text);
    }
    // A document that says one thing has no other to say.
    if body.is_empty() || (copies(&body, skill) && !says_more(skill)) {
        body.clear();
        let rest = candidates.iter().map(|(_, part)| part.text.as_str());
        let fallback = rest.max_by_key(|text| text.chars().count()).unwrap_or(&skill.description);
        if is_clean(fallback) {
            join(&mut body, fallback);
        }
    }
    body
}

fn join(body: &mut String, text: &str) {
    let space = usize::from(!body.is_empty());
    let left = Page::MAX_BODY.saturating_sub(body.chars().count() + space + 1);
    if space == 1 {
        body.push(' ');
    }
    body.push_str(&sentence(cut(text, left)));
}

/// How much new a part says that sets the skill apart.
fn worth(neighborhood: &Neighborhood<'_>, member: usize, part: &Part, said: &[u32]) -> f64 {
    let salience = &neighborhood.salience;
    let weight = |term: u32| {
        let new = if said.contains(&term) { 0.3 } else { 1.0 };
        new * salience.separation(member, term)
    };
    let score = neighborhood.score(&part.text, weight);
    // A formula or an assignment is what people recognise a rule by.
    let formula = part.text.contains(" = ") || part.text.contains('≥') || part.text.contains('≤');
    if formula { score * 1.2 } else { score }
}

/// The share of a text's terms that are said already.
fn share(neighborhood: &Neighborhood<'_>, text: &str, said: &[u32]) -> f64 {
    let terms = neighborhood.salience.terms(text);
    let known = terms.iter().filter(|term| said.contains(term)).count();
    known as f64 / terms.len().max(1) as f64
}
