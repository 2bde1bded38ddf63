//! Which rule, formula or decision makes the skill itself?

use std::sync::LazyLock;

use regex::Regex;

use super::outline::{Kind, Part};
use super::plain::{capital, cut, sentence, words_of};
use super::{Language, Neighborhood, Page};
use crate::page::check::{copies, says_more, stems};
use crate::page::language::is_han;
use crate::page::name::has_any;
use crate::page::readable::{
    begins_small, commands, has_auxiliary, has_markup, is_cut, is_formula, is_sentence, leans,
};
use crate::skill::Skill;

/// Characters of a rule: less says too little to stand alone, more is a paragraph.
const CHARS: std::ops::RangeInclusive<usize> = 36..=320;

/// How much of a part may be said by the description already.
const MAX_SAID: f64 = 0.9;

/// How much more a part counts that speaks of what the description speaks of: of two that set the
/// skill apart equally well, the one nearer to its subject is the rule, and the other a detail.
const CENTRAL: f64 = 4.0;

/// How much more a formula or a decision counts: it is what people recognise a rule by.
const FORMULA: f64 = 1.2;
const RULE: f64 = 1.3;

/// And one that its author sets on a line of its own.
const SET_APART: f64 = 3.0;

/// Words that decide.
static DECIDES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:must|never|always|only|unless|at least|at most|no more than|before|until|rather than|instead of|prefer|required?|exactly|otherwise|if|when)\b|必须|不得|只能|仅|至少|至多|如果|优先|始终|不要")
        .expect("a valid pattern")
});

/// Sentences about the document, its making, its author, or a thing that is shown elsewhere.
static ABOUT: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"^(?:this|these|the following|below|here|see|refer|read|note|tip|example|examples|input|output|result|author|version|licen[sc]e|copyright|source|credits?|updated|status|todo|extracted|generated|created|maintained|contributed|based on|part of|powered by|learn more|for more|for details|for example|for instance|question|answer|q|user|assistant|human|contains|includes|supports|lower|hit|exception|not|no)\b",
        r"^this (?:skill|tool|guide|document|file|page|section) (?:provides|covers|describes|is|helps|enables|gives|contains|includes|activates|allows|automates|should)\b",
        r"\b(?:above|below|following|as follows|see also|appendix|upstream|readme|changelog|table of contents|this (?:document|guide|file|page|section|readme|repo|repository)|in this skill)\b",
        r"\b(?:production-ready|best practices|step-by-step guidance|industry standards?)\b",
        r"\b(?:extracted|this skill|this tool|once finished|you can also)\b",
        r"^(?:context|request|response|goal|background|problem|solution|prerequisites?|objective|purpose|overview|summary|description|usage|symptoms?|cause|fix|why|action|trigger|name|title|role|requirements?|features?)\s*[:：—–]",
        r"^(?:need|needs|basic|advanced|simple|default|once|you|your|we|i|our|let['’]?s)\b",
        r"^(?:scenario|step|phase|part|section|chapter|option|figure|table|q\d|day|week|task) ?\d",
        r"[?？]\s*$|,\s*see\b|\(see\b|^[\x22“'‘]",
        r"本技能|本Skill|你是|本文|以下|如下|见下|参考|请先阅读|示例|例如",
    ];
    Regex::new(&format!("(?i)(?:{})", forms.join("|"))).expect("a valid pattern")
});

/// Paths, options and calls: a line of a program in a sentence's clothes.
static PROGRAM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\s)--?[a-z][\w-]*[= ]|[\w.]+\([^)]*\)\s*[;{]|[{};]\s*$|\$\{?[A-Z_a-z]+|=>|::|&&|\|\||\\n|(?:^|\s)/[\w.-]+/[\w./-]+|[\w.-]+/[\w.-]+/[\w./-]+|</?\w+|\[|\{|\b[\w-]+\.(?:py|js|ts|tsx|sh|md|json|ya?ml|toml|rs|go|rb|txt|csv|html|css)\b")
        .expect("a valid pattern")
});

/// The part of the document that best sets it apart, if one of them is a rule. One rule says more than three: longer
/// bodies, measured, find fewer skills.
pub(super) fn body(neighborhood: &Neighborhood<'_>, member: usize, language: Language) -> String {
    let skill = neighborhood.members[member];
    let fields = &neighborhood.outlines[member].fields;
    if !fields.is_empty() {
        let body = takes(skill, fields, &neighborhood.names[member], language);
        return if copies(&body, skill) { String::new() } else { body };
    }
    if !says_more(skill) {
        return String::new();
    }
    let described = neighborhood.salience.terms(&skill.description);
    let parts = neighborhood.parts(member).into_iter();
    let best = parts
        .filter(|part| {
            is_rule(part) && !(part.says_when || part.aside) && Language::of(&part.text) == language
        })
        .filter(|part| !copies(&part.text, skill))
        .filter(|part| share(neighborhood, &part.text, &described) <= MAX_SAID)
        .filter(|part| is_central(skill, &part.text))
        .map(|part| (part, worth(neighborhood, member, part, &described)))
        .filter(|(_, worth)| *worth > 0.0)
        .reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map_or(String::new(), |(part, _)| sentence(&capital(&part.text)))
}

/// Can it stand alone as the rule of a skill: a whole sentence that decides something, or a formula?
fn is_rule(part: &Part) -> bool {
    let text = part.text.as_str();
    // A sentence that tells something and decides nothing is a detail as often as it is the rule.
    let is_kind = match part.kind {
        Kind::Formula => return is_formula(text),
        _ if !(DECIDES.is_match(text) || is_formula(text)) => false,
        Kind::Prose => text.ends_with(['.', '。', '！', ')', '"', '”']),
        // An item without a verb at its start or an auxiliary in it is a keyword.
        Kind::Item => commands(text) || has_auxiliary(text) || text.contains(is_han),
        Kind::Described | Kind::Heading | Kind::Example => false,
    };
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let mostly_words = letters * 10 >= text.chars().filter(|c| !c.is_whitespace()).count() * 7;
    is_kind
        && (CHARS.contains(&text.chars().count())
            || text.contains(is_han) && text.chars().count() >= 12)
        && (is_sentence(text) || is_formula(text))
        && (mostly_words || is_formula(text))
        && text.starts_with(char::is_alphanumeric)
        && !(ABOUT.is_match(text) || PROGRAM.is_match(text) || text.contains("##"))
        && !(is_cut(text) || leans(text) || has_markup(text) || begins_small(&capital(text)))
}

/// Telling words of the name and description that a rule must have: else it may be any step of the work.
const SUBJECT: usize = 2;

/// Does it speak of what the skill is about?
fn is_central(skill: &Skill, text: &str) -> bool {
    let subject = stems(&format!("{}\n{}", skill.name, skill.description));
    stems(text).intersection(&subject).count() >= SUBJECT
}

/// What a tool takes, in words: where a document is a schema, that is its rule. An index reads `due_date` as one word,
/// and the tool's own name too.
fn takes(skill: &Skill, fields: &[String], others: &[String], language: Language) -> String {
    let fields = fields.iter().filter(|field| !has_any(field, others)).take(FIELDS);
    let fields: Vec<&str> = fields.map(String::as_str).collect();
    if fields.is_empty() {
        return String::new();
    }
    let name =
        words_of(&skill.name).filter(|name| !has_any(name, others)).map(|name| capital(&name));
    let text = match (language, name) {
        (Language::English, Some(name)) => format!("{name} takes {}", fields.join(", ")),
        (Language::English, None) => format!("Takes {}", fields.join(", ")),
        (Language::Chinese, Some(name)) => format!("{name} 调用时需要提供：{}", fields.join("、")),
        (Language::Chinese, None) => format!("调用时需要提供：{}", fields.join("、")),
    };
    let text = sentence(cut(&text, Page::MAX_BODY - 1));
    if is_cut(&text) || has_any(&text, others) { String::new() } else { text }
}

/// Fields that are named at most.
const FIELDS: usize = 12;

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
    let formula = match part.kind {
        Kind::Formula => SET_APART,
        _ if is_formula(text) => FORMULA,
        _ => 1.0,
    };
    let rule = if DECIDES.is_match(text) { RULE } else { 1.0 };
    score * (1.0 + CENTRAL * central) * formula * rule
}

/// The share of a text's terms that are said already.
fn share(neighborhood: &Neighborhood<'_>, text: &str, said: &[u32]) -> f64 {
    let terms = neighborhood.salience.terms(text);
    let known = terms.iter().filter(|term| said.contains(term)).count();
    known as f64 / terms.len().max(1) as f64
}
