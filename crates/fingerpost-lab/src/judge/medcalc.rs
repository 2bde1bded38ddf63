//! Is a clinical calculator's value right?
//!
//! The data gives limits with every value: five per cent around what an equation yields, the value itself
//! where a score is counted. Dates are compared as dates; a gestational age as days.

use super::calendar::{dates, span_minutes};
use super::expression::Value;
use super::final_answer::FinalAnswer;
use super::latex::plain;
use super::quantity::{self, Quantity};
use super::{Gold, JudgeError, Verdict};

/// Of a limit: what printing it in five digits may have cut off.
const ROUNDING: f64 = 1e-6;

/// "14 weeks and 1 day", also written as 14 1/7 weeks.
const DAYS_A_WEEK: f64 = 7.0;

const MINUTES_A_DAY: f64 = 24.0 * 60.0;

pub(super) fn verdict(gold: &Gold<'_>, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let expected = gold.text("answer")?;
    match gold.text("output_type")? {
        "decimal" | "integer" => number(gold, expected, answer),
        "date" if expected.contains("week") => age(gold, expected, answer),
        "date" => date(gold, expected, answer),
        other => Err(gold.unknown_kind(other)),
    }
}

fn number(gold: &Gold<'_>, expected: &str, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let limit = |field| -> Result<f64, JudgeError> {
        let text = gold.text(field)?;
        let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| gold.unreadable(text, "a limit"))
    };
    let (lower, upper) = (limit("lower_limit")?, limit("upper_limit")?);
    let counting = if lower == upper { Counting::Score } else { Counting::Equation };
    let Some(found) = answer.value(|reading| value(reading, counting)) else {
        return Ok(Verdict::wrong(format!("no number in \"{}\"", answer.shown())));
    };
    let slack = ROUNDING * lower.abs().max(upper.abs()).max(1.0);
    let within = (lower - slack..=upper + slack).contains(&found.number());
    Ok(Verdict::right_if(within, || match counting {
        Counting::Score => format!("{} is not {expected}", found.number()),
        Counting::Equation => format!("{} is not from {lower} to {upper}", found.number()),
    }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    Score,
    Equation,
}

fn value(reading: &str, counting: Counting) -> Option<Quantity> {
    // A score of "4/10" is four of ten points, not two fifths.
    if counting == Counting::Score
        && let Some((points, most)) = reading.split_once('/')
        && most.trim_start().starts_with(|letter: char| letter.is_ascii_digit())
        && let Some(points) = quantity::read(points)
    {
        return Some(points);
    }
    quantity::read(reading)
}

fn date(gold: &Gold<'_>, expected: &str, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let day =
        dates(expected).first().copied().ok_or_else(|| gold.unreadable(expected, "a date"))?;
    let Some(found) = answer.value(|reading| dates(&plain(reading)).first().copied()) else {
        return Ok(Verdict::wrong(format!("no date in \"{}\"", answer.shown())));
    };
    Ok(Verdict::right_if(found == day, || format!("\"{}\" is not {expected}", answer.shown())))
}

fn age(gold: &Gold<'_>, expected: &str, answer: &FinalAnswer) -> Result<Verdict, JudgeError> {
    let days = age_in_days(expected).ok_or_else(|| gold.unreadable(expected, "weeks and days"))?;
    let Some(found) = answer.value(|reading| age_in_days(plain(reading).trim())) else {
        return Ok(Verdict::wrong(format!("no weeks and days in \"{}\"", answer.shown())));
    };
    Ok(Verdict::right_if(found == days, || format!("{found} days are not {expected}")))
}

/// "('17 weeks', '4 days')", "17 weeks and 4 days", "17w4d", "17 4/7 weeks", "(17, 4)".
fn age_in_days(text: &str) -> Option<i64> {
    let days = |number: f64| {
        let whole = number.round();
        ((number - whole).abs() < 1e-6 && whole.abs() < 1e6).then_some(whole as i64)
    };
    if let Some((weeks, rest)) = text.split_once([' ', '+'])
        && let Ok(weeks) = weeks.trim_start_matches('(').parse::<u32>()
        && let Some(sevenths) = rest.trim().strip_suffix("weeks")
        && let Some(sevenths) = quantity::at_start(sevenths).map(|found| found.value)
    {
        let sevenths = match sevenths {
            Value::Exact { denominator: 7, numerator } => numerator as f64,
            other => other.as_f64(),
        };
        return days(f64::from(weeks) * DAYS_A_WEEK + sevenths);
    }
    if let Some(minutes) = span_minutes(text) {
        return days(minutes / MINUTES_A_DAY);
    }
    let (weeks, rest) = text.trim().strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    let (weeks, rest): (u32, u32) = (weeks.trim().parse().ok()?, rest.trim().parse().ok()?);
    days(f64::from(weeks) * DAYS_A_WEEK + f64::from(rest))
}
