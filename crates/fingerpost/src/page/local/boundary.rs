//! Which look-alike requests belong to a neighbor?

use std::sync::LazyLock;

use regex::Regex;

use super::contrast::Contrast;
use super::outline::{Kind, Part};
use super::plain::{capital, clause, cut};
use super::{Case, Draft, Neighborhood, Page};
use crate::exclusion::Exclusion;
use crate::page::language::Language;
use crate::page::name::{forms, has_any};
use crate::page::readable::{begins_small, has_address, has_markup, is_cut, leans};
use crate::skill::{Skill, SkillId};

/// Cases at most: a boundary is read at a glance.
const CASES: usize = 4;

/// Cases at most that name no neighbor, where there are neighbors to name.
const UNNAMED: usize = 2;

/// Characters of a request at most, and the least that says something.
const REQUEST_CHARS: std::ops::RangeInclusive<usize> = 12..=180;

/// What the author excludes, then cases for the nearest neighbors in the words of their own authors.
pub(super) fn boundary(neighborhood: &Neighborhood<'_>, member: usize, draft: Draft) -> Vec<Case> {
    let others = neighborhood.salience.nearest(member);
    let neighbors: Vec<&Skill> = others.iter().map(|&other| neighborhood.members[other]).collect();
    let mut page = Page { trigger: String::new(), boundary: Vec::new(), body: String::new() };
    let most = if neighbors.is_empty() { CASES } else { UNNAMED };
    for excluded in &neighborhood.outlines[member].exclusions {
        let to = excluded.instead.as_deref().and_then(|name| called(name, &neighbors));
        let unnamed = page.boundary.iter().filter(|case| case.skill.is_none()).count();
        if page.boundary.len() < CASES && (to.is_some() || unnamed < most) {
            let request = excluded_request(excluded, to.is_some());
            let said = |request: &String| page.boundary.iter().any(|case| case.request == *request);
            if let Some(request) = request.filter(|request| !said(request)) {
                push(&mut page, request, to, neighborhood);
            }
        }
    }
    for &other in &others {
        let neighbor = neighborhood.members[other];
        let references = page.references();
        let is_called = |id: &&SkillId| {
            neighborhood.members.iter().any(|skill| skill.id == **id && skill.name == neighbor.name)
        };
        let named = references.iter().any(is_called);
        if page.boundary.len() == CASES || named {
            continue;
        }
        let said = |request: &String| page.boundary.iter().any(|case| case.request == *request);
        if let Some(request) =
            request_of(neighborhood, member, other, draft).filter(|request| !said(request))
        {
            push(&mut page, request, Some(neighbor), neighborhood);
        }
    }
    page.boundary
}

/// Which of the neighbors an author means by a name: `admin/report-design` and `report-design` are one.
fn called<'a>(name: &str, neighbors: &[&'a Skill]) -> Option<&'a Skill> {
    let last = |name: &str| name.rsplit(['/', ':']).next().unwrap_or_default().to_lowercase();
    let wanted = last(name);
    neighbors
        .iter()
        .copied()
        .find(|skill| last(&skill.name) == wanted || last(skill.id.as_str()) == wanted)
}

/// An exclusion as a request, with the name that its author gives where the library has it not beside this skill.
fn excluded_request(excluded: &Exclusion, is_named: bool) -> Option<String> {
    let whole = clause(&excluded.what);
    let what = shortened(whole);
    let request = match &excluded.instead {
        Some(name) if !is_named && what == whole => capital(&format!("{what} (use {name})")),
        _ => capital(what),
    };
    readable(request)
}

/// The request, if a person can read it.
fn readable(request: String) -> Option<String> {
    let good = request.chars().count() >= *REQUEST_CHARS.start()
        || !request.is_ascii() && request.chars().count() >= 4;
    let bad = is_cut(&request)
        || has_markup(&request)
        || has_address(&request)
        || begins_small(&request)
        || leans(&request);
    // What an author's tool cut off: "'t forget", "a system that".
    let mut words = request.split_whitespace();
    let first = words.next().unwrap_or_default();
    let broken = first.len() == 1 && first.starts_with(|c: char| c.is_alphabetic() && c != 'A');
    let last = words.next_back().unwrap_or_default();
    let hangs =
        ["at", "by", "for", "from", "is", "of", "that", "to", "with", "which"].contains(&last);
    (good && !(bad || broken || hangs) && !USE_WHEN.is_match(&request)).then_some(request)
}

/// What is no request: the author speaks of when to use the skill.
static USE_WHEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:also )?(?:use|apply|invoke|activate|activates)\b.{0,30}\b(?:when|whenever|if|on)\b|^(?:triggers?|keywords?|activates?|auto-activating|part of|asked to|explicit commands?)\b|→|\bthis (?:skill|tool|implementation|plugin|agent|command)\b|auto-activating|^触发|\binstead\W*$|\bPROACTIVELY\b|\bdeprecated\b|[\[{]|\buse when\b|^(?:an? |as an? )?(?:world-class |top |elite )?(?:expert|senior)\b|\bskill (?:for|that|to|specialis)|\bskill:|^can be invoked\b|^(?:you are|act as|use as)\b|^(?:the )?(?:users? )?(?:mentions?|says?|types?)\b|\b(?:you must|must always)\b|^你是|使用时|相关功能")
        .expect("a valid pattern")
});

/// Adds a case if the whole may hold it.
fn push(page: &mut Page, request: String, to: Option<&Skill>, neighborhood: &Neighborhood<'_>) {
    page.boundary.push(Case::new(request, to.map(|skill| skill.id.clone())));
    let shown = page.boundary_text(|id| {
        let skill = neighborhood.members.iter().find(|skill| skill.id == *id);
        skill.map_or_else(|| id.to_string(), |skill| skill.name.clone())
    });
    let over = shown.chars().count().saturating_sub(Page::MAX_BOUNDARY);
    let Some(case) = page.boundary.last_mut().filter(|_| over > 0) else { return };
    let whole = case.request.chars().count();
    let shorter = clause(cut(&case.request, whole.saturating_sub(over))).to_owned();
    // A stump says less than no case, and so does half a clause.
    let rest = case.request[shorter.len()..].trim_start();
    let ends = rest.starts_with([',', ';', ':', '(', '-', '—', '–', '，', '；', '：', '、', '（']);
    match readable(shorter).filter(|_| ends).filter(|shorter| shorter.chars().count() * 2 > whole) {
        Some(shorter) => case.request = shorter,
        None => {
            page.boundary.pop();
        }
    }
}

/// How much more the sentence counts that says what the neighbor does, before all details.
const FIRST: f64 = 3.0;

/// What a request for the neighbor looks like: of what its author says it does and is for, that
/// which speaks most for it and least for this skill; in the second draft the next best. `None` where every sentence
/// may be about this skill too.
fn request_of(
    neighborhood: &Neighborhood<'_>,
    member: usize,
    other: usize,
    draft: Draft,
) -> Option<String> {
    let [skill, neighbor] = [member, other].map(|at| neighborhood.members[at]);
    let salience = &neighborhood.salience;
    let contrast = Contrast::between(neighborhood, member, other)?;
    let own_names = forms(skill, neighbor);
    let language = Language::of_skill(skill);
    let says = |part: &&Part| part.kind == Kind::Described || part.says_when;
    let shared = |part: &&Part| !neighborhood.is_shared(other, part);
    let named = |part: &&Part| !has_any(&part.text, &own_names);
    let mut requests: Vec<(String, f64)> = neighborhood.outlines[other]
        .parts
        .iter()
        .filter(says)
        .filter(named)
        .filter(shared)
        .enumerate()
        .filter_map(|(at, part)| {
            let text = readable(capital(as_request(shortened(&part.text))))?;
            // What comes after what it does and when is detail; and a reader of this page need not read another language.
            if at > 0 && !part.says_when || Language::of(&text) != language {
                return None;
            }
            // Phrases in quotation marks are for a machine to look for.
            if text.starts_with(['"', '“', '\'', '‘', '「']) {
                return None;
            }
            let prior = if at == 0 { FIRST } else { 1.0 };
            let weight = neighborhood.score(&text, |term| {
                salience.against(other, member, term) - 0.3 * salience.weight(member, term)
            });
            Some((text, prior * weight))
        })
        .filter(|(text, weight)| *weight > 0.0 && contrast.is_theirs(text))
        .collect();
    // Stable, so that equal ones stay in the order of the document.
    requests.sort_by(|a, b| b.1.total_cmp(&a.1));
    let place = match draft {
        Draft::First => 0,
        Draft::Second => 1.min(requests.len().saturating_sub(1)),
    };
    requests.into_iter().nth(place).map(|(text, _)| text)
}

/// A sentence as a request: whole if it is short, else up to a mark that ends its first statement, else up to a comma.
fn shortened(text: &str) -> &str {
    let most = *REQUEST_CHARS.end();
    let whole = clause(text);
    if whole.chars().count() <= most {
        return whole;
    }
    let marks = [" - ", " — ", " – ", ": ", "; ", "：", "；"];
    let statement =
        marks.iter().filter_map(|mark| whole.find(mark)).map(|end| clause(&whole[..end]));
    let fits = |text: &&str| (STATEMENT..=most).contains(&text.chars().count());
    statement.filter(fits).max_by_key(|text| text.len()).unwrap_or_else(|| clause(cut(whole, most)))
}

/// Characters from which on the beginning of a sentence may stand for it.
const STATEMENT: usize = 40;

/// "Use when the user wants to merge files" as the request in it.
pub(crate) fn as_request(text: &str) -> &str {
    match OPENING.find(text) {
        Some(opening) => &text[opening.end()..],
        None => text,
    }
}

static OPENING: LazyLock<Regex> = LazyLock::new(|| {
    let user = r"(?:(?:the )?(?:user|users|you|someone|people|developers?) (?:wants?|needs?|asks?|is asking|are asking|would like|requests?)(?: (?:you|for help|help|about|to|for))*\s+)?";
    Regex::new(&format!(
        r"(?i)^(?:this skill should be used|(?:you )?(?:can |should )?(?:also )?(?:use|apply|invoke|activate|load|call|trigger|choose|reach for)(?: (?:this|it)(?: skill| tool)?)?) (?:when|whenever|if|for|to)(?:ever)?:? {user}|^(?:when|whenever|if) (?:the )?(?:user|you) (?:wants?|needs?|asks?)(?: (?:to|for|about))? |^when(?:ever)? |^(?:适用于|用于)|^this (?:skill|tool|plugin) (?:helps|is used|can be used|is designed|allows|lets|enables)(?: (?:you|users|the agent))? (?:to|for|with) "
    ))
    .expect("a valid pattern")
});
