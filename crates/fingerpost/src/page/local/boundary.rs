//! Which look-alike requests belong to a neighbor?

use super::outline::{Kind, Part};
use super::plain::{clause, cut};
use super::{Case, Language, Neighborhood, Page};
use crate::page::check::are_twins;
use crate::page::name::{contains_name, forms, has_any};
use crate::skill::Skill;

/// Neighbors named at most: a boundary is read at a glance.
const CASES: usize = 4;

/// Characters of a request at most, and the least that says something.
const REQUEST_CHARS: std::ops::RangeInclusive<usize> = 12..=130;

/// Cases for the nearest neighbors, in the words of their own documents or of this author's
/// exclusions; for a skill alone, its author's exclusions.
pub(super) fn boundary(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    language: Language,
) -> Vec<Case> {
    let skill = neighborhood.members[member];
    let excluded = &neighborhood.outlines[member].exclusions;
    let mut page = Page { trigger: String::new(), boundary: Vec::new(), body: String::new() };
    if neighborhood.members.len() == 1 {
        for text in excluded.iter().take(CASES) {
            push(&mut page, cut(text, *REQUEST_CHARS.end()), None, neighborhood);
        }
        return page.boundary;
    }
    for other in neighborhood.salience.nearest(member) {
        let neighbor = neighborhood.members[other];
        if page.boundary.len() == CASES || are_twins(skill, neighbor) {
            continue;
        }
        let by_author = excluded
            .iter()
            .find(|text| contains_name(&text.to_lowercase(), &neighbor.name.to_lowercase()))
            .and_then(|text| without_name(text, neighbor));
        let request = by_author.or_else(|| request_of(neighborhood, member, other, language));
        if let Some(request) = request {
            push(&mut page, &request, Some(neighbor), neighborhood);
        }
    }
    page.boundary
}

/// Adds a case, cut to what the whole may hold.
fn push(page: &mut Page, request: &str, to: Option<&Skill>, neighborhood: &Neighborhood<'_>) {
    let request = clause(request).to_owned();
    page.boundary.push(Case { request, skill: to.map(|skill| skill.id.clone()) });
    let show = |page: &Page| {
        let named = page.boundary_text(|id| {
            let skill = neighborhood.members.iter().find(|skill| skill.id == *id);
            skill.map_or_else(|| id.to_string(), |skill| skill.name.clone())
        });
        named.chars().count()
    };
    let over = show(page).saturating_sub(Page::MAX_BOUNDARY);
    if over > 0 {
        let case = page.boundary.last_mut().expect("just pushed");
        let left = case.request.chars().count().saturating_sub(over);
        case.request = clause(cut(&case.request, left)).to_owned();
        if left < *REQUEST_CHARS.start() {
            page.boundary.pop();
        }
    }
}

/// "Not for scans; use pdf-ocr instead" without the pointer: what is left is the request.
fn without_name(text: &str, neighbor: &Skill) -> Option<String> {
    let lower = text.to_lowercase();
    // Lower-casing may change lengths, and then positions do not carry over.
    let at = lower.find(&neighbor.name.to_lowercase()).filter(|_| lower.len() == text.len())?;
    let before = &text[..at];
    let cue =
        ["use", "see", "try", "prefer", "with", "via", "→", "->", "用", "请用", "改用", "(", "（"];
    let lower = before.to_lowercase();
    let end = cue.iter().filter_map(|cue| lower.rfind(cue)).filter(|&end| at - end < 24).min()?;
    let mut request = clause(before[..end].trim_end_matches([' ', '-', '—', '–', ',', ';'])).trim();
    for opening in [
        "Do not use this skill for ",
        "Do not use for ",
        "Don't use for ",
        "Not for ",
        "not for ",
        "Do not use when ",
        "For ",
        "不适用于",
        "不用于",
    ] {
        request = request.strip_prefix(opening).unwrap_or(request);
    }
    let length = request.chars().count();
    (*REQUEST_CHARS.start()..=*REQUEST_CHARS.end()).contains(&length).then(|| request.to_owned())
}

/// What a request for the neighbor looks like: of what its document says it is for, that which
/// speaks most for it and least for this skill.
fn request_of(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    other: usize,
    language: Language,
) -> Option<String> {
    let [skill, neighbor] = [member, other].map(|at| neighborhood.members[at]);
    let salience = &neighborhood.salience;
    let own_names = forms(skill, neighbor);
    let is_candidate = |part: &&Part| {
        (part.kind == Kind::Described || part.says_when || part.kind == Kind::Heading)
            && !has_any(&part.text, &own_names)
    };
    let best = neighborhood.outlines[other]
        .parts
        .iter()
        .filter(is_candidate)
        .flat_map(|part| clauses(&part.text, part.kind))
        .map(|text| {
            let weight = neighborhood.score(&text, |term| {
                salience.against(other, member, term) - 0.3 * salience.weight(member, term)
            });
            (text, weight)
        })
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .filter(|(_, weight)| *weight > 0.0)
        .map(|(text, _)| text);
    best.or_else(|| separating_words(neighborhood, member, other, language))
}

/// A sentence as a whole if it is short, else its clauses: one of them may set apart better.
fn clauses(text: &str, kind: Kind) -> Vec<String> {
    let fits = |text: &str| REQUEST_CHARS.contains(&text.chars().count());
    let mut found: Vec<String> = Vec::new();
    let whole = clause(cut(text, *REQUEST_CHARS.end()));
    if fits(whole) {
        found.push(whole.to_owned());
    }
    if kind != Kind::Heading {
        let parts = text.split([';', '；', '。', '：']).map(clause);
        found.extend(parts.filter(|part| fits(part) && *part != whole).map(str::to_owned));
    }
    found
}

/// Where no sentence sets the neighbor apart, the words that do.
fn separating_words(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    other: usize,
    language: Language,
) -> Option<String> {
    let salience = &neighborhood.salience;
    let mut words: Vec<(f64, String)> = Vec::new();
    for part in &neighborhood.outlines[other].parts {
        for word in part
            .text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.chars().count() > 2)
        {
            let Some(term) = salience.terms(word).first().copied() else { continue };
            let weight = salience.against(other, member, term);
            let absent = salience.weight(member, term) == 0.0;
            if absent
                && weight > 0.0
                && !words.iter().any(|(_, known)| known.eq_ignore_ascii_case(word))
            {
                words.push((weight, word.to_owned()));
            }
        }
    }
    words.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let separator = if language == Language::Chinese { "、" } else { ", " };
    let words: Vec<&str> = words.iter().take(5).map(|(_, word)| word.as_str()).collect();
    (words.len() >= 2).then(|| words.join(separator))
}
