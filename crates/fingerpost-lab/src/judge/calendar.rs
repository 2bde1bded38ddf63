//! Which dates, times of day and spans of time does a text name?

use std::sync::LazyLock;

use regex::{Captures, Regex};

const MONTHS: &str = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";

static DATE: LazyLock<Regex> = LazyLock::new(|| {
    let year_first = r"(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})";
    let month_first = r"(?P<m2>\d{1,2})[-/.](?P<d2>\d{1,2})[-/.](?P<y2>\d{4})";
    let month_name =
        format!(r"(?P<m3>{MONTHS})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})");
    let day_first = format!(
        r"(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m4>{MONTHS})\.?,?\s+(?P<y4>\d{{4}})"
    );
    Regex::new(&format!(r"(?i)\b(?:{year_first}|{month_first}|{month_name}|{day_first})\b"))
        .expect("a valid pattern")
});

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let half = r"(?P<half>a\.?m\b\.?|p\.?m\b\.?)";
    let with_minutes =
        format!(r"\b(?P<h1>\d{{1,2}}):(?P<m>\d{{1,2}})(?::(?P<s>\d{{2}}))?\b(?:\s*{half})?");
    let hour_alone = r"\b(?P<h2>\d{1,2})\s*(?P<half2>a\.?m\b\.?|p\.?m\b\.?)";
    Regex::new(&format!(r"(?i){with_minutes}|{hour_alone}|\b(?P<name>noon|midnight)\b"))
        .expect("a valid pattern")
});

static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    let units = "weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s";
    Regex::new(&format!(r"(?i)(?P<count>\d+(?:\.\d+)?)[\s'\x22-]*(?P<unit>{units})(?:\b|\d)"))
        .expect("a valid pattern")
});

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    year: u32,
    month: u32,
    day: u32,
}

/// The dates of a text, in its order. Of two numbers the month is the first, as in the data, unless it
/// cannot be one.
pub(crate) fn dates(text: &str) -> Vec<Date> {
    DATE.captures_iter(text).filter_map(|found| date(&found)).collect()
}

fn date(found: &Captures<'_>) -> Option<Date> {
    let number = |name: &str| found.name(name)?.as_str().parse::<u32>().ok();
    let any = |names: [&str; 4]| names.into_iter().find_map(number);
    let year = any(["y1", "y2", "y3", "y4"])?;
    let mut day = any(["d1", "d2", "d3", "d4"])?;
    let named = found.name("m3").or(found.name("m4")).and_then(|name| month(name.as_str()));
    let mut month = named.or_else(|| any(["m1", "m2", "m1", "m2"]))?;
    if found.name("m2").is_some() && month > 12 {
        (month, day) = (day, month);
    }
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then_some(Date { year, month, day })
}

fn month(name: &str) -> Option<u32> {
    const STARTS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = name.to_ascii_lowercase();
    let at = STARTS.iter().position(|start| name.starts_with(start))?;
    u32::try_from(at + 1).ok()
}

/// A time of day, and where it stands in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Time {
    /// Minutes since midnight.
    pub(crate) minutes: u32,
    pub(crate) span: std::ops::Range<usize>,
}

/// The times of day of a text, in its order. Without "AM" or "PM" the hours are those of 24.
pub(crate) fn times(text: &str) -> Vec<Time> {
    TIME.captures_iter(text)
        .filter_map(|found| {
            let span = found.get(0)?.range();
            time(&found).map(|minutes| Time { minutes, span })
        })
        .collect()
}

fn time(found: &Captures<'_>) -> Option<u32> {
    if let Some(name) = found.name("name") {
        return Some(if name.as_str().eq_ignore_ascii_case("noon") { 12 * 60 } else { 0 });
    }
    let number = |name: &str| found.name(name)?.as_str().parse::<u32>().ok();
    let hour = number("h1").or_else(|| number("h2"))?;
    let minute = number("m").unwrap_or(0);
    let half =
        found.name("half").or(found.name("half2")).and_then(|half| half.as_str().chars().next());
    let hour = match half.map(|letter| letter.to_ascii_lowercase()) {
        Some('p') if hour < 12 => hour + 12,
        Some('a') if hour == 12 => 0,
        _ => hour,
    };
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// A span of time in minutes: "1 hour 30 minutes", "1.5 hours", "17 weeks, 4 days".
pub(crate) fn span_minutes(text: &str) -> Option<f64> {
    let mut total = None;
    for found in SPAN.captures_iter(text) {
        let count: f64 = found["count"].parse().ok()?;
        let minutes = match found["unit"].to_ascii_lowercase().chars().next()? {
            'w' => 7.0 * 24.0 * 60.0,
            'd' => 24.0 * 60.0,
            'h' => 60.0,
            'm' => 1.0,
            _ => 1.0 / 60.0,
        };
        total = Some(total.unwrap_or(0.0) + count * minutes);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_several_spellings() {
        let expected = Date { year: 2014, month: 9, day: 11 };
        for text in [
            "09/11/2014",
            "9/11/2014",
            "2014-09-11",
            "September 11, 2014",
            "Sept. 11th, 2014",
            "11 September 2014",
            "the 11th of September, 2014",
            "09-11-2014",
        ] {
            assert_eq!(dates(text), [expected], "{text}");
        }
        assert_eq!(dates("02/30/2014, 13/13/2013, 1/2"), []);
        assert_eq!(dates("31/08/2023"), [Date { year: 2023, month: 8, day: 31 }]);
    }

    #[test]
    fn times_in_several_spellings() {
        for (text, minutes) in [
            ("8:00 PM", 1200),
            ("20:00", 1200),
            ("8 pm", 1200),
            ("8 p.m.", 1200),
            ("12:00 AM", 0),
            ("noon", 720),
            ("7:0", 420),
            ("07:51", 471),
        ] {
            let found: Vec<u32> = times(text).into_iter().map(|time| time.minutes).collect();
            assert_eq!(found, [minutes], "{text}");
        }
        assert!(times("25:00, 8:61, 8").is_empty());
    }

    #[test]
    fn spans() {
        assert_eq!(span_minutes("1 hour and 30 minutes"), Some(90.0));
        assert_eq!(span_minutes("1.5 hours"), Some(90.0));
        assert_eq!(span_minutes("('2 weeks', '3 days')"), Some(17.0 * 1440.0));
        assert_eq!(span_minutes("soon"), None);
    }
}
