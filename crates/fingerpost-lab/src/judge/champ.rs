//! Is the answer to a competition problem right?
//!
//! A gold answer makes one claim, or names equivalent ones: a formula, a set of solutions, an interval, yes
//! or no, that there is nothing, or a few words. The claim decides how the answer is read. Formulas have to
//! be the same function; a decimal number is taken for an irrational or fractional one if it is that number
//! rounded to three digits or more.

mod claim;
mod solution;

use std::sync::LazyLock;

use regex::Regex;

use self::claim::{Alternatives, Claim, elided};
use self::solution::{Scalar, Solution, scalar, solutions};
use super::expression::{Expression, Names, Sameness};
use super::final_answer::FinalAnswer;
use super::latex::plain;
use super::quantity;
use super::words::{has_negation, normalized, truth};
use super::{Gold, JudgeError, Verdict};

static NOTHING: LazyLock<Regex> = LazyLock::new(|| {
    let things = r"(?:solutions?|values?|numbers?|integers?|primes?|pairs?|roots?|zeros?|sequences?|limit|way|such|one)";
    let forms = [
        format!(r"\bno\s+(?:[\w-]+\s+){{0,4}}{things}\b"),
        format!(
            r"\b(?:zero|0)\s+(?:(?:such|integer|real|positive|prime|possible)[\w-]*\s+){{0,3}}{things}\b"
        ),
        r"^(?:none|nothing|never)\b".to_owned(),
        r"\bnone (?:of|exists?)\b".to_owned(),
        r"\b(?:does not|doesn't|do not|don't|cannot|can't) (?:[\w-]+ ){0,2}exist\b".to_owned(),
        r"\b(?:diverges|divergent|impossible|not possible)\b".to_owned(),
        r"∅|\bempty set\b|\{\s*\}".to_owned(),
    ];
    Regex::new(&format!("(?i)(?:{})", forms.join("|"))).expect("a valid pattern")
});

static EXCEPTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:except|other than|besides|unless|but)\b").expect("a valid pattern")
});

static ALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^all(?:\s+(?:of\s+(?:them|the\s+\w+)|values?|the\s+\w+))?$")
        .expect("a valid pattern")
});

pub(super) fn verdict(gold: &Gold<'_>, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let text = gold.text("answer")?;
    let expected = Alternatives::read(text).ok_or_else(|| gold.unreadable(text, "a claim"))?;
    if expected.covers_all && answer.statements().any(|reading| ALL.is_match(reading)) {
        return Ok(Verdict::Right);
    }
    let mut undecided = None;
    for claim in &expected.claims {
        match meets(claim, &expected, answer) {
            Met::Yes => return Ok(Verdict::Right),
            Met::Unclear(why) => undecided = Some(why),
            Met::No => {}
        }
    }
    Ok(match undecided {
        Some(why) => Verdict::NotRunnable { why: format!("{why} in \"{}\"", answer.shown()) },
        None => Verdict::wrong(format!("\"{}\" is not \"{}\"", answer.shown(), text.trim())),
    })
}

/// Does an answer make a claim?
enum Met {
    Yes,
    No,
    /// It may, in a form that cannot be compared.
    Unclear(&'static str),
}

impl Met {
    fn when(met: bool) -> Self {
        if met { Self::Yes } else { Self::No }
    }
}

fn meets(claim: &Claim, expected: &Alternatives, answer: &FinalAnswer) -> Met {
    match claim {
        Claim::Truth(expected) => {
            let said = answer.statement(|reading| {
                truth(&plain(reading)).or_else(|| says_nothing(reading).then_some(false))
            });
            Met::when(said == Some(*expected))
        }
        Claim::Nothing => {
            let nothing = answer.statement(|reading| {
                let denied = truth(&plain(reading)) == Some(false) && !EXCEPTION.is_match(reading);
                (denied || says_nothing(reading)).then_some(())
            });
            Met::when(nothing.is_some())
        }
        Claim::Interval { lower, upper } => {
            let found = answer.value(claim::closed_interval);
            let same = |(first, second): &(Expression, Expression)| {
                is_same(first, lower) && is_same(second, upper)
            };
            Met::when(found.is_some_and(|found| same(&found)))
        }
        Claim::Values(golds) => meets_values(golds, expected, answer),
        Claim::Words(words) => Met::when(answer.statements().any(|reading| says(reading, words))),
        Claim::Product { head, tail } => {
            let same = |reading: &str| {
                elided(reading).is_some_and(|(found_head, found_tail)| {
                    let heads = found_head.starts_with(head.as_str())
                        || head.starts_with(found_head.as_str());
                    heads && found_head.len() > 1 && found_tail == *tail
                })
            };
            match answer.statements().any(same) {
                true => Met::Yes,
                false => unclear(answer).unwrap_or(Met::No),
            }
        }
        Claim::Progression(terms) => meets_progression(terms, answer),
    }
}

fn meets_values(golds: &[Solution], expected: &Alternatives, answer: &FinalAnswer) -> Met {
    let names = Names::only(expected.letters.iter().cloned());
    if let [only] = golds
        && let [gold] = only.values.as_slice()
        && let Some(found) = answer.value(|reading| scalar(reading, &names))
    {
        let is_factored =
            gold.factors_that_are_sums().is_none_or(|count| found.expression.factors() >= count);
        return match equals(gold, &found) {
            Sameness::Same => Met::when(is_factored),
            Sameness::Different => Met::No,
            Sameness::Undecided => Met::Unclear("a formula that is defined at too few points"),
        };
    }
    if let Some(found) = answer.value(|reading| solutions(reading, &names)) {
        let is_in = |one: &Solution, all: &[Solution]| all.iter().any(|other| one.same_as(other));
        let same = golds.iter().all(|gold| is_in(gold, &found))
            && found.iter().all(|one| is_in(one, golds));
        return Met::when(same);
    }
    // A sentence that holds only one number gives that number.
    if let [only] = golds
        && let Some(gold) = only.as_number()
        && let Some(found) = answer.value(quantity::read)
    {
        return Met::when(gold.same_as(&found.value));
    }
    let is_zero =
        |solution: &Solution| solution.as_number().is_some_and(|number| number.as_f64() == 0.0);
    let counts_none = matches!(golds, [only] if is_zero(only)) && !expected.is_only_value;
    if counts_none && answer.statements().any(says_nothing) {
        return Met::Yes;
    }
    unclear(answer).unwrap_or(Met::No)
}

fn meets_progression(terms: &[Expression], answer: &FinalAnswer) -> Met {
    if answer.statement(truth) != Some(true) {
        return Met::No;
    }
    let list = |reading: &str| {
        let start = reading.find(|letter: char| letter.is_ascii_digit() || letter == '\\')?;
        let found = solutions(reading[start..].split("...").next()?, &Names::none())?;
        (found.len() >= terms.len()).then_some(found)
    };
    match answer.value(list) {
        Some(found) => {
            Met::when(terms.iter().zip(&found).all(|(term, one)| match one.values.as_slice() {
                [value] => is_same(term, value),
                _ => false,
            }))
        }
        None => Met::Unclear("a sequence that is not listed"),
    }
}

/// A formula that we do not evaluate.
fn unclear(answer: &FinalAnswer) -> Option<Met> {
    answer.statement(|reading| {
        let text = plain(reading);
        let has = |mark: &str| text.contains(mark);
        if has("cases") {
            Some(Met::Unclear("a distinction of cases"))
        } else if has("...") {
            Some(Met::Unclear("an ellipsis"))
        } else if has("prod") {
            Some(Met::Unclear("a product over an index"))
        } else {
            None
        }
    })
}

/// The same formula, or a number rounded to three digits or more.
fn equals(gold: &Expression, found: &Scalar) -> Sameness {
    let sameness = gold.compare(&found.expression);
    if let (Some(decimals), Some(expected), Some(value)) =
        (found.decimals, gold.value(), found.expression.value())
        && decimals >= 3
        && expected.as_integer().is_none()
    {
        let half = 0.5 * 10f64.powi(-i32::try_from(decimals.min(30)).unwrap_or(30));
        if (expected.as_f64() - value.as_f64()).abs() <= half * 1.000_001 {
            return Sameness::Same;
        }
    }
    sameness
}

fn is_same(first: &Expression, second: &Expression) -> bool {
    first.compare(second) == Sameness::Same
}

fn says_nothing(reading: &str) -> bool {
    NOTHING.is_match(plain(reading).trim()) && !EXCEPTION.is_match(reading)
}

/// Does a text say these words, in this order, and not their opposite?
fn says(reading: &str, words: &[String]) -> bool {
    let text = claim::with_synonyms(reading);
    if has_negation(&text) || claim::OPPOSITE.is_match(&text) {
        return false;
    }
    let text = normalized(&text);
    let mut found = text.split(' ');
    words.iter().all(|word| found.any(|other| other == word))
}
