//! Which number does an answer give?
//!
//! The number stands at the start of a reading, after words like "approximately" or a chain of equations;
//! its unit and whatever explains it follow. Two numbers are no number.

use std::sync::LazyLock;

use regex::Regex;

use super::expression::{Names, Value, parse_prefix};
use super::latex::plain;
use super::words::{has_negation, number_word};

/// Relative difference of two forms of one number.
const SAME: f64 = 0.01;

/// Words before the number that are taken off, one after the other.
const MAX_FILLERS: usize = 8;

static FILLER: LazyLock<Regex> = LazyLock::new(|| {
    let words = [
        "approximately",
        "approx",
        "about",
        "roughly",
        "around",
        "nearly",
        "exactly",
        "precisely",
        "only",
        "just",
        "equal to",
        "equals",
        "simply",
        "therefore",
        "thus",
        "hence",
        "the value",
        "value",
        "a total of",
        "total",
        "always",
        "at least",
        "at most",
        "up to",
        "the",
        "of",
        "is",
        "it is",
        "be",
        "there are",
        "usd",
        "us",
        "all",
    ];
    Regex::new(&format!(r"(?i)^(?:(?:{})\b\.?:?|[:~≈€£$])\s*", words.join("|")))
        .expect("a valid pattern")
});

/// What may not follow a number that stands for itself: another one, or a part of a time.
static CONTINUES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^\s*(?:(?:[,;]|,?\s*\b(?:and|or|to)\b|–|\.\.\.)\s*[-+(\[]?[\d.]*\d|:\d|\d|/\s*\d)",
    )
    .expect("a valid pattern")
});

static OR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^\s*,?\s*or\s+").expect("a valid pattern"));

static NUMERAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?:/\d+)?").expect("a valid pattern")
});

static MAGNITUDE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?P<word>thousand|million|billion|trillion)\b").expect("a valid pattern")
});

/// A number with what was written after it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) value: Value,
    pub(crate) share: Share,
    /// What follows: a unit, or prose.
    pub(crate) rest: String,
}

/// Was the number given in hundredths?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    Plain,
    Percent,
}

impl Quantity {
    pub(crate) fn number(&self) -> f64 {
        self.value.as_f64()
    }
}

/// The number that a reading gives.
pub(crate) fn read(reading: &str) -> Option<Quantity> {
    let text = plain(reading);
    let text = last_side(&text)?;
    if let Some(found) = leading(text) {
        return found.single();
    }
    only_numeral(text)
}

/// The number at the start, with fillers taken off.
pub(crate) fn at_start(reading: &str) -> Option<Quantity> {
    leading(&plain(reading))?.single()
}

/// A number at the start of a text, and whether it stands alone.
struct Leading {
    quantity: Quantity,
    continues: bool,
}

impl Leading {
    fn single(self) -> Option<Quantity> {
        (!self.continues).then_some(self.quantity)
    }
}

fn leading(text: &str) -> Option<Leading> {
    let text = without_fillers(text);
    let first_word = text.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or("");
    let (value, rest) = match number_word(first_word) {
        Some(number) => (Value::integer(i128::from(number)), &text[first_word.len()..]),
        None => {
            let (expression, rest) = parse_prefix(text, &Names::none())?;
            (expression.value()?, rest)
        }
    };
    let continues = CONTINUES.is_match(rest) && !repeats(&value, rest);
    let (value, rest) = match MAGNITUDE.captures(rest) {
        Some(found) => {
            let factor = match found["word"].to_ascii_lowercase().as_str() {
                "thousand" => 1e3,
                "million" => 1e6,
                "billion" => 1e9,
                _ => 1e12,
            };
            (Value::float(value.as_f64() * factor)?, &rest[found[0].len()..])
        }
        None => (value, rest),
    };
    let unit = rest.trim_start();
    let is_percent = unit.starts_with('%') || unit.to_ascii_lowercase().starts_with("percent");
    let share = if is_percent { Share::Percent } else { Share::Plain };
    Some(Leading { quantity: Quantity { value, share, rest: rest.to_owned() }, continues })
}

/// "1/3, or 0.333" gives one number in two forms.
fn repeats(value: &Value, rest: &str) -> bool {
    let Some(found) = OR.find(rest) else { return false };
    let Some((other, after)) = parse_prefix(&rest[found.end()..], &Names::none()) else {
        return false;
    };
    let number = value.as_f64();
    let same =
        other.value().is_some_and(|other| (other.as_f64() - number).abs() <= SAME * number.abs());
    same && !CONTINUES.is_match(after)
}

pub(crate) fn without_fillers(text: &str) -> &str {
    let mut text = text.trim();
    for _ in 0..MAX_FILLERS {
        match FILLER.find(text) {
            Some(filler) => text = &text[filler.end()..],
            None => break,
        }
    }
    text
}

/// What a chain of equations ends with; nothing where several things are set.
fn last_side(text: &str) -> Option<&str> {
    let sides = sides(text);
    // "x = 5, y = 3" sets two.
    let sets_another = |side: &&str| {
        let name = side.rsplit([',', ';']).next().filter(|name| name.len() < side.len());
        name.is_some_and(|name| name.trim().starts_with(char::is_alphabetic))
    };
    let between = sides.get(1..sides.len() - 1).unwrap_or_default();
    if between.iter().any(sets_another) { None } else { sides.last().copied() }
}

/// The sides of a chain of equations; a sign inside of brackets, as in `sum_(k=1)`, makes none.
pub(crate) fn sides(text: &str) -> Vec<&str> {
    let mut sides = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '=' | '≈' | '≡' if depth == 0 => {
                sides.push(&text[start..at]);
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    sides.push(&text[start..]);
    sides
}

/// The number of a sentence that holds only one, and denies nothing.
fn only_numeral(text: &str) -> Option<Quantity> {
    if has_negation(text) {
        return None;
    }
    let mut only: Option<Quantity> = None;
    for found in NUMERAL.find_iter(text) {
        let before = text[..found.start()].chars().next_back();
        // The 2 of "CHA2DS2", the 65 of "CURB-65".
        if before.is_some_and(|letter| {
            letter.is_alphanumeric() || matches!(letter, '_' | '-' | '^' | '.')
        }) {
            continue;
        }
        let quantity = leading(&text[found.start()..])?.single()?;
        if only.as_ref().is_some_and(|known| !known.value.same_as(&quantity.value)) {
            return None;
        }
        only = Some(quantity);
    }
    only
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reading: &str, expected: Option<f64>) {
        let found = read(reading).map(|found| found.number());
        let close = match (found, expected) {
            (Some(found), Some(expected)) => {
                (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
            }
            (found, expected) => found == expected,
        };
        assert!(close, "{reading:?} was read as {found:?}, not {expected:?}");
    }

    #[test]
    fn numbers_in_many_forms() {
        for (reading, number) in [
            ("5", 5.0),
            ("-3.5 m/s", -3.5),
            ("−3", -3.0),
            ("1,234,567", 1_234_567.0),
            (r"1{,}234", 1234.0),
            (r"3 \times 10^{-3}", 0.003),
            ("3e-4", 0.0003),
            ("3 x 10^5 Pa", 300_000.0),
            (r"\frac{3}{4}", 0.75),
            ("pi/4", std::f64::consts::FRAC_PI_4),
            (r"2\pi", std::f64::consts::TAU),
            ("e^2", std::f64::consts::E * std::f64::consts::E),
            ("sqrt(2)", std::f64::consts::SQRT_2),
            ("√2", std::f64::consts::SQRT_2),
            ("about 25.2 kg/m²", 25.2),
            ("45.2 mL/min/1.73 m²", 45.2),
            ("12%", 12.0),
            ("$1,250.50", 1250.5),
            ("x = 2*3 = 6", 6.0),
            ("BMI = 80/1.75^2 ≈ 26.12 kg/m^2", 26.12),
            ("seven", 7.0),
            ("2.5 million", 2_500_000.0),
            ("a score of 4 points", 4.0),
            ("the CURB-65 score comes to 3", 3.0),
            ("5!", 120.0),
            ("5, since 7 was excluded", 5.0),
            ("1/2 (0.5)", 0.5),
            ("1/2 or 0.5", 0.5),
            ("0.333, or 1/3", 0.333),
            ("2(3)", 6.0),
        ] {
            check(reading, Some(number));
        }
    }

    #[test]
    fn what_is_no_single_number() {
        for reading in [
            "",
            "unknown",
            "5, 7",
            "5 or 7",
            "between 5 and 7",
            "5–7",
            "not 5",
            "1:30",
            "x = 5, y = 3, z = 4",
        ] {
            check(reading, None);
        }
    }
}
