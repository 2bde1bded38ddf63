//! Which look-alike requests belong to a neighbor?

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::outline::{Kind, Part};
use super::plain::{capital, clause, cut};
use super::salience::worth;
use super::{Case, Draft, Neighborhood, Page};
use crate::exclusion::Exclusion;
use crate::page::check::{stem, stems};
use crate::page::language::Language;
use crate::page::name::{forms, has_any};
use crate::page::readable::{begins_small, has_address, has_markup, is_cut, leans};
use crate::skill::{Skill, SkillId};
use crate::text::{Tokenizer, for_each_term, terms};

/// Cases at most: a boundary is read at a glance.
const CASES: usize = 4;

/// Cases at most that name no neighbor, where there are neighbors to name.
const UNNAMED: usize = 2;

/// Characters of a request at most, and the least that says something.
const REQUEST_CHARS: std::ops::RangeInclusive<usize> = 12..=180;

/// How much of a request for a neighbor must be unknown to this skill's name and description. Below that it may be a request for
/// this skill in other words, and a boundary that gives it away does harm.
const FOREIGN: f64 = 0.5;

/// And how much of it its whole document has no word for: what the document speaks of all through is its own.
const UNSAID: f64 = 0.25;

/// What the author excludes, then cases for the nearest neighbors in the words of their own authors.
pub(super) fn boundary(neighborhood: &Neighborhood<'_>, member: usize, draft: Draft) -> Vec<Case> {
    let skill = neighborhood.members[member];
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
        if page.boundary.len() == CASES
            || named
            || are_namesakes(skill, neighbor)
            || neighborhood.twins(member).contains(&other)
            || speaks_of(neighborhood, member, neighbor)
        {
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
    Regex::new(r"(?i)^(?:also )?(?:use|apply|invoke|activate|activates)\b.{0,30}\b(?:when|whenever|if|on)\b|^(?:triggers?|keywords?|activates?|auto-activating|part of|asked to|explicit commands?)\b|→|\bthis (?:skill|tool|implementation|plugin|agent|command)\b|auto-activating|^触发|使用时|\binstead\W*$|\bPROACTIVELY\b|\bdeprecated\b|[\[{]|^mention\b")
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
            let prior = if at == 0 { FIRST } else { 1.0 };
            let weight = neighborhood.score(&text, |term| {
                salience.against(other, member, term) - 0.3 * salience.weight(member, term)
            });
            Some((text, prior * weight))
        })
        .filter(|(text, weight)| {
            *weight > 0.0
                && foreign(neighborhood, member, other, text) >= FOREIGN
                && unsaid(neighborhood, member, text) >= UNSAID
        })
        .filter(|(text, _)| !names_subject(text, skill, neighbor) && !WHOLE_FIELD.is_match(text))
        .collect();
    // Stable, so that equal ones stay in the order of the document.
    requests.sort_by(|a, b| b.1.total_cmp(&a.1));
    let place = match draft {
        Draft::First => 0,
        Draft::Second => 1.min(requests.len().saturating_sub(1)),
    };
    requests.into_iter().nth(place).map(|(text, _)| text)
}

/// The share of a request's weight, as the neighbor has it, that this skill's name and description have no word for.
fn foreign(neighborhood: &Neighborhood<'_>, member: usize, other: usize, request: &str) -> f64 {
    let salience = &neighborhood.salience;
    let skill = neighborhood.members[member];
    let own = stems(&format!("{}\n{}", skill.name, skill.description));
    let (mut all, mut new) = (0.0, 0.0);
    for_each_term(request, Tokenizer::Auto, |term| {
        let Some(&number) = salience.terms(term).first() else { return };
        let weight = salience.weight(other, number);
        all += weight;
        new += if own.contains(&stem(term)) { 0.0 } else { weight };
    });
    if all > 0.0 { new / all } else { 0.0 }
}

/// The share of a request's telling words that this skill's document does not have.
fn unsaid(neighborhood: &Neighborhood<'_>, member: usize, request: &str) -> f64 {
    let said = neighborhood.said(member);
    let mut words = terms(request, Tokenizer::Stems);
    words.retain(|word| worth(word) >= TELLING);
    words.sort_unstable();
    words.dedup();
    let new = words.iter().filter(|word| !said.contains(*word)).count();
    new as f64 / words.len().max(1) as f64
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

/// Does a request speak of what this skill is named for and the neighbor is not? Then it is no other's.
fn names_subject(request: &str, skill: &Skill, neighbor: &Skill) -> bool {
    let words = |text: &str| terms(text, Tokenizer::Stems);
    let (request, theirs) = (words(request), words(&neighbor.name));
    let start = |word: &String| word.chars().take(STEM).collect::<String>();
    let tells = |word: &String| worth(word) >= TELLING && !theirs.contains(word);
    let mut own = words(&skill.name).into_iter().filter(tells);
    own.any(|word| request.iter().any(|said| start(said) == start(&word)))
}

/// "Any PHP development": the whole of a field is nobody's to give away.
static WHOLE_FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:any|all|every|everything|anything|general|generic)\b")
        .expect("a valid pattern")
});

/// Letters by which two forms of a word are known for one: "transcribe" and "transcription".
const STEM: usize = 6;

/// Are two skills named for the same thing? Then whatever one is for may be asked of the other.
fn are_namesakes(skill: &Skill, neighbor: &Skill) -> bool {
    let words = |skill: &Skill| -> BTreeSet<String> {
        terms(&skill.name.replace('_', " "), Tokenizer::Stems).into_iter().collect()
    };
    let (own, theirs) = (words(skill), words(neighbor));
    let both = own.intersection(&theirs).count();
    let either = own.len() + theirs.len() - both;
    both > 0 && (both == own.len() || both as f64 >= NAMESAKES * either as f64)
}

/// Does a skill's own document speak of all that the neighbor is named for? Then the neighbor's requests may be its own
/// too: `blog` beside a skill for marketing that writes blog posts, `glab` beside `glab-deploy-key`.
fn speaks_of(neighborhood: &Neighborhood<'_>, member: usize, neighbor: &Skill) -> bool {
    let said = neighborhood.said(member);
    let subject = terms(&neighbor.name.replace('_', " "), Tokenizer::Stems);
    let mut subject = subject.iter().filter(|word| worth(word) >= TELLING);
    subject.all(|word| said.contains(word))
}

/// Share of the words of two names that both have, above which they are names of one thing.
const NAMESAKES: f64 = 0.6;

/// What a word of a name is worth at least, to tell a subject.
const TELLING: f64 = 0.7;

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
