//! Is a fact that was looked up in a table the one that stands there?
//!
//! The gold answer shows what kind of fact it is, and the answer is read as that kind: a time, a date, a
//! number, yes or no, a list, or a name. Names are compared as words, lists in any order and without
//! repetitions (the data repeats the items of some lists many times). Whole numbers have to be exact; others
//! may differ by what rounding to the gold's decimals hides.

mod schedule;

use std::sync::LazyLock;

use regex::Regex;

use super::calendar::{dates, span_minutes, times};
use super::final_answer::FinalAnswer;
use super::latex::plain;
use super::quantity::{self, Quantity, Share};
use super::words::{normalized, truth};
use super::{Gold, JudgeError, Verdict};

/// Relative difference that is allowed to numbers with decimals, however many these are.
const TOLERANCE: f64 = 1e-5;

/// Items of a gold list that are looked for.
const MAX_ITEMS: usize = 500;

static CLOCK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^\d{1,2}:\d{2}(?:\s*[ap]m)?$").expect("a valid pattern"));

static SPAN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\d{1,2}:\d{2}:\d{2}$").expect("a valid pattern"));

static DATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\d{1,2}/\d{1,2}/\d{4}$|^\d{4}-\d{2}-\d{2}$").expect("a valid pattern")
});

/// A number with its currency, unit or magnitude. A code such as "08083" is no number.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\$?\s*(?P<digits>-?(?:0|[1-9][\d,]*)(?:\.\d+)?)\s*(?P<unit>%|USD|minutes|[kKmM])?$",
    )
    .expect("a valid pattern")
});

static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^-?\d+(?:\.\d+)?(?:,\s*-?\d+(?:\.\d+)?)+$").expect("a valid pattern")
});

static COMMA: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[,;]\s*(?:and\s+)?|\s+and\s+").expect("a valid pattern"));

static ABSENT: LazyLock<Regex> = LazyLock::new(|| {
    let forms = "nan|none|null|unknown|n/?a|empty|not (?:available|known|found|given|specified)|no (?:data|value|information|record|review)s?\\b.*";
    Regex::new(&format!("(?i)^(?:{forms})?$")).expect("a valid pattern")
});

static DECREASE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:decreas\w*|dropp?\w*|fell|fall|declin\w*|down|loss|lost)\b")
        .expect("a valid pattern")
});

/// What opens an item of a list.
static BULLET: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:[-*•]|\d{1,2}[.)])\s+").expect("a valid pattern"));

/// Where an explanation of a name begins.
static EXPLANATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\s*(?:\(|—|–|,\s*(?:who|which|because|since|as|with|located)\b|\s(?:because|since)\b).*$").expect("a valid pattern")
});

pub(super) fn verdict(gold: &Gold<'_>, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let expected = gold.text("answer")?.trim();
    let right = match Fact::of(expected) {
        Fact::Clock => {
            let expected =
                only_time(expected).ok_or_else(|| gold.unreadable(expected, "a time"))?;
            answer.value(|text| only_time(&plain(text))) == Some(expected)
        }
        Fact::Span => {
            let expected =
                clock_span(expected).ok_or_else(|| gold.unreadable(expected, "a span of time"))?;
            let found =
                answer.value(|text| span_minutes(&plain(text)).or_else(|| clock_span(text)));
            found.is_some_and(|found| (found - expected).abs() < 0.5)
        }
        Fact::Date => {
            let date = |text: &str| dates(text).first().copied();
            let expected = date(expected).ok_or_else(|| gold.unreadable(expected, "a date"))?;
            answer.value(|text| date(&plain(text))) == Some(expected)
        }
        Fact::Ranges => answer.statement(schedule::ranges) == schedule::ranges(expected),
        Fact::Hours => answer.statement(schedule::hours) == schedule::hours(expected),
        Fact::Truth(expected) => answer.statement(truth) == Some(expected),
        Fact::Number(expected) => {
            answer.value(quantity_in_table).is_some_and(|found| expected.meets(&found))
        }
        Fact::Numbers(expected) => {
            answer.value(|text| numbers_meet(&expected, text)).unwrap_or(false)
        }
        Fact::Absent => answer.statements().any(|text| ABSENT.is_match(text.trim())),
        Fact::Text => answer.statements().any(|text| same_text(expected, text)),
    };
    Ok(Verdict::right_if(right || is_same_spelling(expected, answer), || {
        format!("\"{}\" is not \"{}\"", answer.shown(), super::words::quoted(expected))
    }))
}

/// What kind of fact a gold answer is.
enum Fact {
    Clock,
    Span,
    Date,
    /// Times from and to, several of them.
    Ranges,
    /// Times from and to, by day of the week.
    Hours,
    Truth(bool),
    Number(Expected),
    Numbers(Vec<Expected>),
    /// The table holds nothing.
    Absent,
    Text,
}

impl Fact {
    fn of(gold: &str) -> Self {
        if CLOCK.is_match(gold) {
            Self::Clock
        } else if SPAN.is_match(gold) {
            Self::Span
        } else if DATE.is_match(gold) {
            Self::Date
        } else if schedule::hours(gold).is_some() {
            Self::Hours
        } else if schedule::is_ranges(gold) {
            Self::Ranges
        } else if matches!(gold, "Yes" | "No") {
            Self::Truth(gold == "Yes")
        } else if matches!(gold, "" | "nan") {
            Self::Absent
        } else if let Some(number) = Expected::read(gold) {
            Self::Number(number)
        } else if NUMBERS.is_match(gold) {
            gold.split(',')
                .map(|item| Expected::read(item.trim()))
                .collect::<Option<_>>()
                .map_or(Self::Text, Self::Numbers)
        } else {
            Self::Text
        }
    }
}

/// A number of the gold answer.
struct Expected {
    number: f64,
    decimals: usize,
    share: Share,
}

impl Expected {
    fn read(gold: &str) -> Option<Self> {
        let found = NUMBER.captures(gold)?;
        let digits = found["digits"].replace(',', "");
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let unit = found.name("unit").map_or("", |unit| unit.as_str());
        let share = if unit == "%" { Share::Percent } else { Share::Plain };
        let factor = magnitude(unit);
        // "22M" is known to the million.
        let decimals = if factor == 1.0 { decimals } else { 0 };
        Some(Self { number: digits.parse::<f64>().ok()? * factor, decimals, share })
    }

    fn meets(&self, found: &Quantity) -> bool {
        let number = found.number();
        match (self.share, found.share) {
            // Nearly every percentage is near zero when taken for a share.
            (Share::Plain, Share::Percent) => {
                self.is_near(number) || (self.number != 0.0 && self.is_near(number / 100.0))
            }
            (Share::Percent, Share::Plain) => self.is_near(number) || self.is_near(number * 100.0),
            _ => self.is_near(number),
        }
    }

    fn is_near(&self, found: f64) -> bool {
        let half = 0.5 * 10f64.powi(-i32::try_from(self.decimals.min(30)).unwrap_or(30));
        let tolerance = match self.decimals {
            0 => 1e-9 * self.number.abs().max(1.0),
            _ => (half * 1.000_001).max(TOLERANCE * self.number.abs()),
        };
        (found - self.number).abs() <= tolerance
    }
}

fn magnitude(unit: &str) -> f64 {
    match unit {
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        _ => 1.0,
    }
}

/// A number, with "220k" and "a decrease of 5" read as tables mean them.
fn quantity_in_table(text: &str) -> Option<Quantity> {
    // The date "7/4/2019" is no fraction.
    if text.split_whitespace().next().is_some_and(|first| !dates(first).is_empty()) {
        return None;
    }
    let mut found = quantity::read(text)?;
    let mut unit = found.rest.chars();
    let letter = unit.next().filter(|_| unit.next().is_none_or(|next| !next.is_alphanumeric()));
    let mut number =
        found.number() * letter.map_or(1.0, |letter| magnitude(letter.encode_utf8(&mut [0; 4])));
    if number > 0.0 && DECREASE.is_match(text) {
        number = -number;
    }
    found.value = super::expression::Value::float(number)?;
    Some(found)
}

/// The same numbers: whole ones in any order, coordinates in theirs. `None` if the text lists none.
fn numbers_meet(expected: &[Expected], text: &str) -> Option<bool> {
    let inner = text.trim_matches(['[', ']', '(', ')', '{', '}', ' ']);
    let parts = COMMA.split(inner).take(MAX_ITEMS).filter(|part| !part.trim().is_empty());
    let found = parts.map(quantity::read).collect::<Option<Vec<_>>>()?;
    if expected.iter().any(|number| number.decimals > 0) {
        let same = expected.iter().zip(&found).all(|(expected, found)| expected.meets(found));
        return Some(expected.len() == found.len() && same);
    }
    let has_all = expected.iter().all(|number| found.iter().any(|found| number.meets(found)));
    let no_other = found.iter().all(|found| expected.iter().any(|number| number.meets(found)));
    Some(has_all && no_other)
}

/// The one time of day that a text names.
fn only_time(text: &str) -> Option<u32> {
    let mut found = times(text).into_iter().map(|time| time.minutes);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// "3:00:00" as minutes; "3:00" too, where a span is asked for.
fn clock_span(text: &str) -> Option<f64> {
    only_time(text).map(f64::from)
}

/// The same words, or the same items of a list in any order.
fn same_text(expected: &str, text: &str) -> bool {
    let gold = normalized(expected);
    let text = if text.contains('\\') { &plain(text) } else { text };
    let text = &BULLET.replace_all(text, "");
    let squeezed = |text: &str| text.replace(' ', "");
    let explained = EXPLANATION.replace(text, "");
    let same = |text: &str| squeezed(&normalized(text)) == squeezed(&gold);
    if same(text) || same(&explained) {
        return true;
    }
    expected.contains([',', ';']) && same_items(expected, text)
}

/// Every item is there, and nothing else is. Items may hold commas and "and" themselves, so they are looked
/// for in the text, longest first, and taken out of it.
fn same_items(expected: &str, text: &str) -> bool {
    let mut items: Vec<String> =
        expected.split([',', ';']).take(MAX_ITEMS).map(normalized).collect();
    items.retain(|item| !item.is_empty());
    items.sort_by(|first, second| second.len().cmp(&first.len()).then(first.cmp(second)));
    items.dedup();
    // A bar ends each word, so that an item is never found inside of a word.
    let barred = |text: &str| format!("|{}|", text.replace(' ', "|"));
    let mut left = barred(&normalized(text));
    for item in &items {
        let item = barred(item);
        if !left.contains(&item) {
            return false;
        }
        // Twice, since neighbors share a bar.
        left = left.replace(&item, "||");
        left = left.replace(&item, "||");
    }
    left.split('|').all(|word| matches!(word, "" | "and"))
}

/// Written exactly like the gold answer, whatever kind of fact it is.
fn is_same_spelling(expected: &str, answer: &FinalAnswer) -> bool {
    answer.statements().any(|text| text.trim().eq_ignore_ascii_case(expected))
}
