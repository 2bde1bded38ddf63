//! Is the answer to a theorem question right?
//!
//! Numbers that are not whole may differ by four per cent, as in the benchmark's own evaluation: golds are
//! printed in two to four digits and computed with constants as coarse as g = 10. Golds that are printed
//! in more digits were computed with more, and may differ by one per cent. A whole gold is met by what rounds
//! to it. Lists are compared element by element, in order.

use std::sync::LazyLock;

use regex::Regex;

use super::final_answer::FinalAnswer;
use super::latex::plain;
use super::quantity::{self, Quantity, Share};
use super::words::truth;
use super::{Gold, JudgeError, Verdict};

/// Relative difference that is allowed to a gold of few digits.
const COARSE: f64 = 0.04;

/// The same for a gold of many digits.
const FINE: f64 = 0.01;

/// A gold of more significant digits than this is one of many.
const FEW_DIGITS: usize = 4;

/// What counts as zero, of which nothing is a share.
const ZERO: f64 = 1e-4;

/// Elements of a list.
const MAX_ITEMS: usize = 100;

static LETTER_IN_PARENTHESES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:^|[^a-z0-9])\(\s*([a-h])\s*\)").expect("a valid pattern"));

static LETTER_NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:option|choice)\s*\(?([a-h])\b").expect("a valid pattern")
});

/// A letter alone, or before its text: "c", "C.", "c) it doubles". "a constant" is no option.
static LETTER_ALONE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^([a-h])(?:$|[).:,])").expect("a valid pattern"));

pub(super) fn verdict(gold: &Gold<'_>, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let expected = gold.text("answer")?.trim();
    match gold.text("answer_type")? {
        "bool" => boolean(gold, expected, answer),
        "option" => option(gold, expected, answer),
        "integer" | "float" => number(gold, expected, answer),
        "list of integer" | "list of float" => list(gold, expected, answer),
        other => Err(gold.unknown_kind(other)),
    }
}

fn boolean(gold: &Gold<'_>, expected: &str, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let expected_truth =
        truth(expected).ok_or_else(|| gold.unreadable(expected, "true or false"))?;
    let Some(found) = answer.statement(|reading| truth(&plain(reading))) else {
        return Ok(Verdict::wrong(format!("neither true nor false in \"{}\"", answer.shown())));
    };
    Ok(Verdict::right_if(found == expected_truth, || {
        format!("\"{}\" is not {expected}", answer.shown())
    }))
}

fn option(gold: &Gold<'_>, expected: &str, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let expected_letter = letter(expected).ok_or_else(|| gold.unreadable(expected, "an option"))?;
    let Some(found) = answer.statement(letter) else {
        return Ok(Verdict::wrong(format!("no single option in \"{}\"", answer.shown())));
    };
    Ok(Verdict::right_if(found == expected_letter, || format!("({found}) is not {expected}")))
}

/// The one option that a text names.
fn letter(text: &str) -> Option<char> {
    let text = plain(text);
    let text = text.trim();
    let lower = |letter: &str| letter.chars().next().map(|letter| letter.to_ascii_lowercase());
    if let Some(found) = LETTER_ALONE.captures(text) {
        return lower(&found[1]);
    }
    for pattern in [&LETTER_IN_PARENTHESES, &LETTER_NAMED] {
        let mut named = pattern.captures_iter(text).filter_map(|found| lower(&found[1]));
        if let Some(first) = named.next() {
            let opens = pattern.find(text).is_some_and(|found| found.start() == 0);
            return (opens || named.all(|other| other == first)).then_some(first);
        }
    }
    None
}

/// A number of the gold answer, with what may differ from it.
struct Expected<'a> {
    text: &'a str,
    number: f64,
}

impl<'a> Expected<'a> {
    fn read(gold: &Gold<'_>, text: &'a str) -> Result<Self, JudgeError> {
        let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
        let number = number.ok_or_else(|| gold.unreadable(text, "a number"))?;
        Ok(Self { text: text.trim(), number })
    }

    fn meets(&self, found: f64) -> bool {
        if !self.text.contains(['.', 'e']) {
            return (found - self.number).abs() <= 0.5 && found.round() == self.number;
        }
        if self.number == 0.0 {
            return found.abs() <= ZERO;
        }
        let mantissa = self.text.split('e').next().unwrap_or(self.text);
        let digits =
            mantissa.chars().filter(char::is_ascii_digit).skip_while(|digit| *digit == '0').count();
        let share = if digits > FEW_DIGITS && !mantissa.ends_with(".0") { FINE } else { COARSE };
        (found - self.number).abs() <= share * self.number.abs()
    }

    /// A percentage may be meant as it stands, or as a share of one: the question decides, and we do not
    /// know it.
    fn meets_quantity(&self, found: &Quantity) -> bool {
        let number = found.number();
        self.meets(number) || (found.share == Share::Percent && self.meets(number / 100.0))
    }

    /// Some questions ask for 1 and 0 and are answered with yes and no.
    fn meets_truth(&self, found: bool) -> bool {
        self.number == f64::from(u8::from(found))
    }
}

fn number(gold: &Gold<'_>, text: &str, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let expected = Expected::read(gold, text)?;
    if let Some(found) = answer.value(quantity::read) {
        let right = expected.meets_quantity(&found);
        return Ok(Verdict::right_if(right, || format!("{} is not {text}", found.number())));
    }
    Ok(match answer.statement(|reading| truth(&plain(reading))) {
        Some(found) => Verdict::right_if(expected.meets_truth(found), || {
            format!("\"{}\" is not {text}", answer.shown())
        }),
        None => Verdict::wrong(format!("no number in \"{}\"", answer.shown())),
    })
}

fn list(gold: &Gold<'_>, text: &str, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inner = inner.ok_or_else(|| gold.unreadable(text, "a list"))?;
    let expected =
        inner.split(',').map(|item| Expected::read(gold, item)).collect::<Result<Vec<_>, _>>()?;
    let Some(found) = answer.value(|reading| items(reading, expected.len())) else {
        return Ok(Verdict::wrong(format!("no list in \"{}\"", answer.shown())));
    };
    if found.len() != expected.len() {
        return Ok(Verdict::wrong(format!(
            "{} elements instead of {}",
            found.len(),
            expected.len()
        )));
    }
    let differing = expected.iter().zip(&found).position(|(expected, found)| match found {
        Item::Number(found) => !expected.meets_quantity(found),
        Item::Truth(found) => !expected.meets_truth(*found),
    });
    Ok(match differing {
        None => Verdict::Right,
        Some(at) => Verdict::wrong(format!("element {} is not {}", at + 1, expected[at].text)),
    })
}

enum Item {
    Number(Quantity),
    Truth(bool),
}

/// The elements of the list that a reading gives.
fn items(reading: &str, expected: usize) -> Option<Vec<Item>> {
    let text = plain(reading);
    let inner = last_group(&text).unwrap_or(&text);
    let item = |text: &str| {
        let side = text.rsplit(['=', '≈']).next().unwrap_or(text);
        quantity::read(side).map(Item::Number).or_else(|| truth(side).map(Item::Truth))
    };
    let read = |separators: &Regex| -> Option<Vec<Item>> {
        let parts = separators.split(inner).take(MAX_ITEMS).map(str::trim);
        parts.filter(|part| !part.is_empty()).map(item).collect()
    };
    static COMMA: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[,;]|(?i:\band\b)").expect("a valid pattern"));
    // Where thousands are separated, elements have a space after the comma.
    static COMMA_AND_SPACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[,;]\s+|(?i:\band\b)").expect("a valid pattern"));
    let found = read(&COMMA);
    match &found {
        Some(items) if items.len() == expected => found,
        _ => read(&COMMA_AND_SPACE).filter(|items| items.len() == expected).or(found),
    }
    .filter(|items| !items.is_empty())
}

/// The content of the last outermost brackets that hold digits.
fn last_group(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    let mut start = 0;
    let mut last = None;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => {
                if depth == 0 {
                    start = at + 1;
                }
                depth += 1;
            }
            ')' | ']' | '}' | '>' if depth > 0 => {
                depth -= 1;
                let inner = &text[start..at];
                // A list has a comma or a bracket of its own; "(1/3)" is a part of a formula.
                let is_list = inner.contains(',') || letter != ')';
                if depth == 0 && is_list {
                    last = Some(inner);
                }
            }
            _ => {}
        }
    }
    last
}
