//! Which look-alike requests belong to a neighbor?

use super::outline::{Kind, Part};
use super::plain::{clause, cut};
use super::{Case, Draft, Language, Neighborhood, Page};
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
    draft: Draft,
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
        let request =
            by_author.or_else(|| request_of(neighborhood, member, other, language, draft));
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
        let whole = case.request.chars().count();
        case.request = clause(cut(&case.request, whole.saturating_sub(over))).to_owned();
        // A stump says less than no case; the first is needed, whatever is left of it.
        let left = case.request.chars().count();
        let least = if page.boundary.len() == 1 { *REQUEST_CHARS.start() } else { whole / 2 };
        if left < least.max(*REQUEST_CHARS.start()) {
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

/// How much more the sentence counts that says what the neighbor does, before all details.
const FIRST: f64 = 3.0;

/// What a request for the neighbor looks like: of what its author says it does and is for, that
/// which speaks most for it and least for this skill. Where none sets it apart, what it does, and
/// where that is said of both, the words that differ; in the second draft the next best.
fn request_of(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    other: usize,
    language: Language,
    draft: Draft,
) -> Option<String> {
    let [skill, neighbor] = [member, other].map(|at| neighborhood.members[at]);
    let salience = &neighborhood.salience;
    let own_names = forms(skill, neighbor);
    let parts = || neighborhood.outlines[other].parts.iter();
    let says = |part: &&Part| part.kind == Kind::Described || part.says_when;
    let named = |part: &&Part| !has_any(&part.text, &own_names);
    let mut requests: Vec<(String, f64)> = parts()
        .filter(says)
        .filter(named)
        .enumerate()
        .flat_map(|(at, part)| {
            let prior = if at == 0 { FIRST } else { 1.0 };
            clauses(&part.text).into_iter().map(move |text| (text, prior))
        })
        .map(|(text, prior)| {
            let weight = neighborhood.score(&text, |term| {
                salience.against(other, member, term) - 0.3 * salience.weight(member, term)
            });
            (text, prior * weight)
        })
        .collect();
    let first = requests.first().map(|(text, _)| text.clone());
    requests.retain(|(_, weight)| *weight > 0.0);
    // Stable, so that equal ones stay in the order of the document.
    requests.sort_by(|a, b| b.1.total_cmp(&a.1));
    let place = match draft {
        Draft::First => 0,
        Draft::Second => 1.min(requests.len().saturating_sub(1)),
    };
    let best = requests.into_iter().nth(place).map(|(text, _)| text);
    let tells = |text: &String| {
        let mut terms = salience.terms(text).into_iter();
        terms.any(|term| salience.weight(member, term) == 0.0)
    };
    let words = || separating_words(neighborhood, member, other, language);
    match draft {
        Draft::First => best.or_else(|| first.filter(tells)).or_else(words),
        Draft::Second => best.or_else(words).or_else(|| first.filter(tells)),
    }
}

/// A sentence as a whole if it is short, else its clauses: one of them may set apart better.
fn clauses(text: &str) -> Vec<String> {
    let fits = |text: &str| REQUEST_CHARS.contains(&text.chars().count());
    let mut found: Vec<String> = Vec::new();
    let whole = clause(cut(text, *REQUEST_CHARS.end()));
    if fits(whole) {
        found.push(whole.to_owned());
    }
    let parts = text.split([';', '；', '。', '：']).map(clause);
    found.extend(parts.filter(|part| fits(part) && *part != whole).map(str::to_owned));
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
            if absent && weight > 0.0 && !words.iter().any(|(_, known)| alike(known, word)) {
                words.push((weight, word.to_lowercase()));
            }
        }
    }
    words.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let separator = if language == Language::Chinese { "、" } else { ", " };
    let words: Vec<&str> = words.iter().take(5).map(|(_, word)| word.as_str()).collect();
    (words.len() >= 2).then(|| words.join(separator))
}

/// "Deletion" beside "delete" tells nothing new.
fn alike(one: &str, other: &str) -> bool {
    let start = |word: &str| word.to_lowercase().chars().take(5).collect::<String>();
    start(one) == start(other)
}
