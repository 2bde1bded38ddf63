//! From when to when: ranges of times, and opening hours by day of the week.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::judge::calendar::times;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Times that are read from one text.
const MAX_TIMES: usize = 64;

static DAY: LazyLock<Regex> = LazyLock::new(|| {
    let days = r"mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?";
    let every = r"(?P<every>daily|every ?day)";
    Regex::new(&format!(r"(?i)\b(?:(?P<from>{days})s?\b\.?(?:\s*(?:-|–|—|to|through)\s*(?P<to>{days})s?\b\.?)?|{every})"))
        .expect("a valid pattern")
});

/// "9:00 AM-1:00 PM", one or more, and nothing else.
static RANGES: LazyLock<Regex> = LazyLock::new(|| {
    let time = r"\d{1,2}:\d{2} [AP]M";
    Regex::new(&format!(r"^{time}-{time}(?:, {time}-{time})*$")).expect("a valid pattern")
});

pub(super) type Range = (u32, u32);

pub(super) fn is_ranges(gold: &str) -> bool {
    RANGES.is_match(gold)
}

/// The ranges of times in a text, sorted; `None` if there are none or one end is missing.
pub(super) fn ranges(text: &str) -> Option<Vec<Range>> {
    let found: Vec<u32> =
        times(text).into_iter().take(MAX_TIMES).map(|time| time.minutes).collect();
    if found.is_empty() || found.len() % 2 == 1 {
        return None;
    }
    let mut ranges: Vec<Range> = found.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    ranges.sort_unstable();
    ranges.dedup();
    Some(ranges)
}

/// The hours of each day that a text names; a range of days has the hours that follow it. `None` if no
/// day has hours.
pub(super) fn hours(text: &str) -> Option<BTreeMap<usize, Vec<Range>>> {
    let mentions: Vec<_> = DAY.captures_iter(text).take(MAX_TIMES).collect();
    let mut hours = BTreeMap::new();
    let mut waiting: Vec<usize> = Vec::new();
    for (at, mention) in mentions.iter().enumerate() {
        waiting.extend(days(mention));
        let start = mention.get(0)?.end();
        let end = mentions
            .get(at + 1)
            .and_then(|next| next.get(0))
            .map_or(text.len(), |next| next.start());
        // "Saturday and Sunday: 9:00-12:00" gives hours to both.
        if let Some(ranges) = ranges(&text[start..end]) {
            hours.extend(waiting.drain(..).map(|day| (day, ranges.clone())));
        }
    }
    (!hours.is_empty()).then_some(hours)
}

fn days(mention: &regex::Captures<'_>) -> Vec<usize> {
    let day = |name: &str| {
        let name = mention.name(name)?.as_str().to_ascii_lowercase();
        DAYS.iter().position(|start| name.starts_with(start))
    };
    match (day("from"), day("to")) {
        (Some(from), Some(to)) if from <= to => (from..=to).collect(),
        (Some(from), Some(to)) => (from..DAYS.len()).chain(0..=to).collect(),
        (Some(from), None) => vec![from],
        _ => (0..DAYS.len()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_in_several_spellings() {
        let gold = hours("Thursday: 16:0-19:0, Friday: 9:0-23:0");
        assert!(gold.is_some());
        assert_eq!(hours("Thursday 4:00 PM – 7:00 PM; Friday 9 AM to 11 PM"), gold);
        assert_eq!(hours("Mon-Wed: 9:00-17:00").map(|hours| hours.len()), Some(3));
        assert_eq!(hours("Daily 9:00-17:00").map(|hours| hours.len()), Some(7));
        assert_eq!(hours("Thursday"), None);
    }
}
