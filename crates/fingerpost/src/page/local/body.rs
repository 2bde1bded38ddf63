//! Which rule, formula, command or field makes the skill itself?

use super::outline::{Kind, Part};
use super::plain::{cut, sentence};
use super::{Language, Neighborhood, Page};
use crate::page::check::{copies, says_more};
use crate::page::name::has_any;

/// Characters below which a part says too little to stand alone.
const LEAST: usize = 12;

/// How much of a part may be said by the description already.
const MAX_SAID: f64 = 0.9;

/// How much more a part counts that speaks of what the description speaks of: of two that set the
/// skill apart equally well, the one nearer to its subject is the rule, and the other a detail.
const CENTRAL: f64 = 4.0;

/// How much more a formula counts: it is what people recognise a rule by.
const FORMULA: f64 = 1.2;

/// And how much less a line of a program, which few read.
const PROGRAM: f64 = 0.4;

/// The part of the document that best sets it apart. One rule says more than three: longer bodies,
/// measured, find fewer skills.
pub(super) fn body(neighborhood: &Neighborhood<'_>, member: usize, language: Language) -> String {
    let skill = neighborhood.members[member];
    let more = says_more(skill);
    let is_candidate = |part: &&Part| {
        part.kind != Kind::Heading
            && part.text.chars().count() >= LEAST
            && !(more && copies(&part.text, skill))
    };
    let parts: Vec<&Part> = neighborhood.parts(member).into_iter().filter(is_candidate).collect();
    let described = neighborhood.salience.terms(&skill.description);
    let is_new = |part: &&&Part| {
        part.kind != Kind::Described && share(neighborhood, &part.text, &described) <= MAX_SAID
    };
    let best = parts
        .iter()
        .filter(is_new)
        .map(|part| (part.text.as_str(), worth(neighborhood, member, part, &described)))
        .filter(|(_, worth)| *worth > 0.0)
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(text, _)| text);
    // A document that says one thing has no other to say.
    let longest = || parts.iter().map(|part| part.text.as_str()).max_by_key(|text| text.len());
    let text = best.or_else(longest).or(Some(skill.description.as_str()).filter(|_| !more));
    let mut body = text.map_or(String::new(), |text| sentence(cut(text, Page::MAX_BODY - 1)));
    if language == Language::English && !body.is_empty() {
        add_names(&mut body, neighborhood, member);
    }
    body
}

/// Characters for names.
const NAMES_CHARS: usize = 200;

/// The names that the document gives to things, as far as there is room.
fn add_names(body: &mut String, neighborhood: &Neighborhood<'_>, member: usize) {
    let others = &neighborhood.names[member];
    let mut left = NAMES_CHARS.min(Page::MAX_BODY.saturating_sub(body.chars().count() + 10));
    let names: Vec<&str> = neighborhood.outlines[member]
        .names
        .iter()
        .map(String::as_str)
        .filter(|name| !has_any(name, others) && !body.contains(*name))
        .take_while(|name| {
            let length = name.chars().count() + 2;
            let fits = length <= left;
            left = left.saturating_sub(length);
            fits
        })
        .collect();
    if !names.is_empty() {
        body.push_str(&format!(" Names: {}.", names.join(", ")));
    }
}

/// How much a part sets the skill apart, and speaks of its subject.
fn worth(neighborhood: &Neighborhood<'_>, member: usize, part: &Part, described: &[u32]) -> f64 {
    let text = part.text.as_str();
    let salience = &neighborhood.salience;
    let score = neighborhood.score(text, |term| salience.separation(member, term));
    let weight = |terms: &mut dyn Iterator<Item = &u32>| -> f64 {
        terms.map(|&term| salience.weight(member, term)).sum()
    };
    let shared = weight(&mut salience.terms(text).iter().filter(|term| described.contains(term)));
    let central = shared / weight(&mut described.iter()).max(0.1);
    let kind = match part.kind {
        // A formula or a command may stand alone on its line; a line of a program says little.
        Kind::Code if text.contains(['"', '\'', '{', '[', '#']) => PROGRAM,
        _ if text.contains(" = ") || text.contains(['≥', '≤']) => FORMULA,
        _ => 1.0,
    };
    score * (1.0 + CENTRAL * central) * kind
}

/// The share of a text's terms that are said already.
fn share(neighborhood: &Neighborhood<'_>, text: &str, said: &[u32]) -> f64 {
    let terms = neighborhood.salience.terms(text);
    let known = terms.iter().filter(|term| said.contains(term)).count();
    known as f64 / terms.len().max(1) as f64
}
