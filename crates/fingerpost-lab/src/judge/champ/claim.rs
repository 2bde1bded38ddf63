//! What does a gold answer claim?

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::solution::{Solution, solutions};
use crate::judge::expression::{Expression, Names, parse_prefix};
use crate::judge::latex::plain;
use crate::judge::words::{normalized, truth};

/// What the author adds in parentheses.
static REMARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)\s+\((?P<remark>(?:i\.e\.|none\b).*)\)$").expect("a valid pattern")
});

static ALTERNATIVE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r",?\s+or\s+(?:equivalently|approximately|an equivalent form such as)\s+")
        .expect("a valid pattern")
});

static ONLY_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?P<value>\S+) is the only possible value$").expect("a valid pattern")
});

static LIMIT: LazyLock<Regex> = LazyLock::new(|| {
    let forms = "the limit exists and is equal to|the only possible value for the limit is";
    Regex::new(&format!("(?i)^(?:{forms})\\s+(?P<value>.+)$")).expect("a valid pattern")
});

/// "98 values", "At least 1 number".
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:at (?:least|most) )?(?P<value>\d+)(?: [a-z-]+){1,3}$")
        .expect("a valid pattern")
});

static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^no .*(?:solutions|values)$|does not exist$|not possible$|^there are no ")
        .expect("a valid pattern")
});

static INTERVAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[(?P<lower>[^\[\],]{1,60}),(?P<upper>[^\[\],]{1,60})\]").expect("a valid pattern")
});

static INEQUALITY: LazyLock<Regex> = LazyLock::new(|| {
    let at_most = r"\s*(?:≤|<=)\s*";
    Regex::new(&format!(
        r"(?P<lower>[-+\d./]{{1,30}}){at_most}[a-z]{at_most}(?P<upper>[-+\d./]{{1,30}})|\|[a-z]\|{at_most}(?P<both>[\d./]{{1,30}})"
    ))
    .expect("a valid pattern")
});

static GREATER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:larger|more|bigger|higher)\s+than\b|\b(?:exceeds?|above)\b|>")
        .expect("a valid pattern")
});

pub(super) static OPPOSITE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:decreas\w*|less|smaller|lower|below|sometimes)\b|<")
        .expect("a valid pattern")
});

/// What a gold answer says in one way or another.
#[derive(Debug)]
pub(super) struct Alternatives {
    pub(super) claims: Vec<Claim>,
    /// Letters that stand for something in it.
    pub(super) letters: BTreeSet<String>,
    /// "i.e., all values".
    pub(super) covers_all: bool,
    /// The value itself is meant, not how many there are.
    pub(super) is_only_value: bool,
}

/// One thing that is claimed.
#[derive(Debug)]
pub(super) enum Claim {
    Truth(bool),
    /// There is no such thing.
    Nothing,
    Values(Vec<Solution>),
    /// With both its ends.
    Interval {
        lower: Expression,
        upper: Expression,
    },
    Words(Vec<String>),
    /// A product with an ellipsis in it.
    Product {
        head: String,
        tail: String,
    },
    /// Yes, and a sequence that begins with these.
    Progression(Vec<Expression>),
}

impl Alternatives {
    pub(super) fn read(gold: &str) -> Option<Self> {
        let gold = gold.trim();
        let remark = REMARK.captures(gold);
        let text = remark.as_ref().map_or(gold, |found| &gold[..gold.len() - found[0].len()]);
        let covers_all = remark.is_some_and(|found| {
            found["remark"].starts_with("i.e., all") && !found["remark"].contains("except")
        });
        let letters = letters(&plain(text));
        let names = Names::with(letters.iter().cloned());
        let claims: Vec<Claim> =
            ALTERNATIVE.split(text).filter_map(|part| claim(part, &names)).collect();
        let is_only_value = ONLY_VALUE.is_match(text);
        (!claims.is_empty()).then_some(Self { claims, letters, covers_all, is_only_value })
    }
}

fn claim(text: &str, names: &Names) -> Option<Claim> {
    if let Some(found) = text.strip_prefix("Yes, and the sequence is ") {
        let terms = solutions(found.trim_end_matches(['.', ',', ' ']), names)?;
        let terms = terms.into_iter().map(Solution::into_single).collect::<Option<Vec<_>>>()?;
        return Some(Claim::Progression(terms));
    }
    if matches!(text, "Yes" | "No") {
        return truth(text).map(Claim::Truth);
    }
    if NOTHING.is_match(text) {
        return Some(Claim::Nothing);
    }
    if let Some((lower, upper)) = closed_interval(text).filter(|_| text.starts_with('[')) {
        return Some(Claim::Interval { lower, upper });
    }
    if let Some((head, tail)) = elided(text) {
        return Some(Claim::Product { head, tail });
    }
    let stated = [&ONLY_VALUE, &LIMIT, &COUNT].into_iter().find_map(|form| form.captures(text));
    let value = stated.as_ref().map_or(text, |found| &found["value"]);
    if let Some(found) = solutions(value, names).filter(|_| stated.is_some() || !is_prose(text)) {
        return Some(Claim::Values(found));
    }
    let told = normalized(&with_synonyms(text));
    let without = ["always", "monotonically", "strictly", "it", "is"];
    let words: Vec<String> =
        told.split(' ').filter(|word| !without.contains(word)).map(str::to_owned).collect();
    (words.iter().any(|word| !word.is_empty())).then_some(Claim::Words(words))
}

/// Letters that stand alone are variables.
fn letters(text: &str) -> BTreeSet<String> {
    let runs = text.split(|letter: char| !letter.is_ascii_alphabetic());
    runs.filter(|run| run.len() == 1).map(str::to_owned).collect()
}

/// Does it open with a word?
fn is_prose(text: &str) -> bool {
    let word = text.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or("");
    word.len() > 2 && !matches!(word, "sum" | "sqrt" | "floor" | "prod")
}

/// The ends of `[a, b]`, `a ≤ x ≤ b` or `|x| ≤ b`.
pub(super) fn closed_interval(reading: &str) -> Option<(Expression, Expression)> {
    let text = plain(reading);
    let end = |text: &str| {
        let (expression, rest) = parse_prefix(text.trim(), &Names::none())?;
        rest.trim().is_empty().then_some(expression)
    };
    if let Some(found) = INTERVAL.captures(&text) {
        return Some((end(&found["lower"])?, end(&found["upper"])?));
    }
    let found = INEQUALITY.captures(&text)?;
    match found.name("both") {
        Some(both) => Some((end(&format!("-({})", both.as_str()))?, end(both.as_str())?)),
        None => Some((end(&found["lower"])?, end(&found["upper"])?)),
    }
}

/// What is written before and after an ellipsis, without spaces and signs of multiplication.
pub(super) fn elided(text: &str) -> Option<(String, String)> {
    let text: String = plain(text).chars().filter(|letter| !matches!(letter, ' ' | '*')).collect();
    let (head, tail) = text.split_once("...")?;
    let head = head.rsplit('=').next().unwrap_or(head);
    (!tail.is_empty() && !head.contains(',')).then(|| (head.to_owned(), tail.to_owned()))
}

/// One word for each way to say that something is greater.
pub(super) fn with_synonyms(text: &str) -> String {
    GREATER.replace_all(text, " greater than ").into_owned()
}
