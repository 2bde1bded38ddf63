//! What did a model settle on, at the end of what it wrote?
//!
//! A model says it in one of a few ways: "The answer is …", "Final answer: …", a heading with the answer
//! below it, `\boxed{…}`, or a JSON object with the key `answer`. The last such mention counts, because
//! models correct themselves; without any, the last line does. How much of the text after a mention
//! belongs to the answer depends on what is asked for, so there are several *readings* of it, best first.

mod mention;

use std::sync::LazyLock;

use regex::Regex;

use self::mention::Mention;

/// Bytes of an answer that are looked at: its end.
const MAX_ANSWER: usize = 32 * 1024;

/// Bytes of one reading.
const MAX_READING: usize = 8 * 1024;

/// A first line longer than this is reasoning, not an answer that is explained afterwards.
const MAX_FIRST_LINE: usize = 80;

static NOT_THIS_BUT_THAT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?is)^not\s.{1,100}?,?\s+but\s+(?:rather\s+|instead\s+)?(?P<that>.+)$")
        .expect("a valid pattern")
});

static THIS_AND_NOT_THAT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?is)^(?P<this>.+?)(?:(?:[,;]|\s\(|\s[—–-])\s*(?:and\s+|but\s+)?not|\s+(?:rather than|instead of))\s.*$",
    )
    .expect("a valid pattern")
});

static COPULA: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = "is|are|was|were|be|equals|equal to|becomes|yields|gives|get|obtain|has|have|choose|converges to|tends to";
    Regex::new(&format!(r"(?i)\b(?:{verbs})\b[\s:]*")).expect("a valid pattern")
});

/// A sentence ends with a stop that something follows; a stop inside a number ends none.
static SENTENCE_END: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[.!?](?:\s|$)|\n").expect("a valid pattern"));

/// What a model settled on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinalAnswer {
    /// As a statement: the whole line first, then what is said in it.
    statements: Vec<String>,
    /// As a value: what is said last first.
    values: Vec<String>,
}

impl FinalAnswer {
    pub(crate) fn of(text: &str) -> Self {
        let text = without_marks(without_thoughts(end_of(text)));
        match mention::last(&text) {
            Some(mention) => Self::mentioned(&mention),
            None => Self::unmarked(&text),
        }
    }

    /// Readings for who looks for a statement, best first. There is at least one.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().map(String::as_str)
    }

    /// The first reading that is a value of some kind.
    pub(crate) fn value<T>(&self, read: impl FnMut(&str) -> Option<T>) -> Option<T> {
        self.values.iter().map(String::as_str).find_map(read)
    }

    /// The first reading that is a statement of some kind.
    pub(crate) fn statement<T>(&self, read: impl FnMut(&str) -> Option<T>) -> Option<T> {
        self.statements().find_map(read)
    }

    /// What a verdict repeats of it.
    pub(crate) fn shown(&self) -> String {
        super::words::quoted(self.statements.first().map_or("", String::as_str))
    }

    fn mentioned(mention: &Mention) -> Self {
        let line = mention.line.as_str();
        let sentence = first_sentence(line);
        let (first, last) = after_copulas(sentence);
        let statements = [Some(line), Some(sentence), first, last, Some(mention.block.as_str())];
        let values = [Some(line), Some(sentence), last, first, mention.fallback.as_deref()];
        Self { statements: readings(statements), values: readings(values) }
    }

    fn unmarked(text: &str) -> Self {
        let mut lines =
            text.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric));
        let first_line = lines.next().unwrap_or(text.trim());
        let line = lines.next_back().unwrap_or(first_line);
        let first_line = (first_line.len() <= MAX_FIRST_LINE).then_some(first_line);
        let (first, last) = after_copulas(line);
        Self {
            statements: readings([Some(line), first, last, first_line]),
            values: readings([last, Some(line), first, first_line]),
        }
    }
}

/// Each reading with its corrections followed, then as it stands; without repetitions.
fn readings<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Vec<String> {
    let mut readings: Vec<String> = Vec::new();
    for text in texts.into_iter().flatten() {
        let text = trimmed(&text[..floor_boundary(text, MAX_READING)]);
        for reading in [settled(text), text] {
            if !readings.iter().any(|known| known == reading) {
                readings.push(reading.to_owned());
            }
        }
    }
    readings
}

/// "not 5 but 7" and "7, not 5" settle on 7.
fn settled(text: &str) -> &str {
    let captured = NOT_THIS_BUT_THAT
        .captures(text)
        .and_then(|found| found.name("that"))
        .or_else(|| THIS_AND_NOT_THAT.captures(text).and_then(|found| found.name("this")));
    captured.map_or(text, |part| trimmed(part.as_str()))
}

/// What follows the first and the last "is" of a text.
fn after_copulas(text: &str) -> (Option<&str>, Option<&str>) {
    let after = |found: regex::Match<'_>| text.get(found.end()..);
    (COPULA.find(text).and_then(after), COPULA.find_iter(text).last().and_then(after))
}

fn first_sentence(text: &str) -> &str {
    SENTENCE_END.find(text).map_or(text, |end| &text[..end.start()])
}

/// Without what typography puts around an answer.
fn trimmed(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '*', '#', '>', ':', '"', '“', '”']);
    text.trim_end_matches([' ', '\t', '\n', '\r', '*', '"', '“', '”', '.', '。', ';', ',', ':'])
}

/// The end of a long text; answers stand there.
fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(MAX_ANSWER);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

fn floor_boundary(text: &str, at_most: usize) -> usize {
    let mut end = at_most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Without reasoning that a server leaves in the answer. If it never ends, there is no answer.
fn without_thoughts(text: &str) -> &str {
    let mut rest = text;
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        if let Some((_, after)) = rest.rsplit_once(close) {
            rest = after;
        } else if rest.trim_start().starts_with(open) {
            return "";
        }
    }
    rest
}

/// Without Markdown's bold and code. Two stars between operands are a power.
fn without_marks(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**") {
            let before = plain.chars().next_back();
            let follows = after.chars().next();
            let is_power = before.is_some_and(|before| before.is_alphanumeric() || before == ')')
                && follows
                    .is_some_and(|next| next.is_alphanumeric() || matches!(next, '(' | '-' | '{'));
            if is_power {
                plain.push('^');
            }
            rest = after;
        } else {
            if letter != '`' {
                plain.push(letter);
            }
            rest = &rest[letter.len_utf8()..];
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, statement: &str, value: &str) {
        let found = FinalAnswer::of(text);
        assert_eq!(found.statements[0], statement, "statement of {text:?}");
        assert_eq!(found.values[0], value, "value of {text:?}");
    }

    #[test]
    fn the_last_mention_counts() {
        for (text, expected) in [
            ("The answer is 5. Let me check. No: the answer is 7.", "7"),
            ("First \\boxed{5}, then \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
            ("**Final Answer:** **42**", "42"),
            ("## Final Answer\n\n42\n", "42"),
            ("Reasoning.\n\n**Answer**\n\nJoseph", "Joseph"),
            ("```json\n{\"steps\": \"the answer is 3\", \"answer\": \"4\"}\n```", "4"),
            ("{\"answer\": [1, 2]}", "[1, 2]"),
            ("{\"final_answer\": 2.5}", "2.5"),
            ("The answer is not 5 but 7.", "7"),
            ("The final answer is 7, not 5.", "7"),
            ("The answer is 5. Wait, that is wrong. It should be 7.", "7"),
            ("Answer: $\\boxed{376}$ and $\\boxed{625}$", "376 and 625"),
            ("<think>The answer is 3.</think>The answer is 4.", "4"),
            ("The answer to the question is: n**2", "n^2"),
            ("the answer is: **n**", "n"),
            ("<answer>7</answer>", "7"),
            ("I tried 5.\n<answer>\n7 kg\n</answer>", "7 kg"),
            ("Final answer (in kg): 7", "7"),
            ("The answer is .", ""),
            ("", ""),
        ] {
            check(text, expected, expected);
        }
    }

    #[test]
    fn without_a_mention_the_last_line_counts() {
        check("We add.\nSo the total is 12 apples.", "So the total is 12 apples", "12 apples");
        check("42", "42", "42");
        check("<think>The answer is 3.", "", "");
    }

    #[test]
    fn a_reading_keeps_what_follows_for_who_needs_it() {
        let found = FinalAnswer::of("The answer is St. Louis.");
        assert!(found.statements().any(|reading| reading == "St. Louis"));
        let found = FinalAnswer::of("The answer is Joseph. He was there.");
        assert!(found.statements().any(|reading| reading == "Joseph"));
        let found = FinalAnswer::of("Answer:\n- Ann\n- Bea\n");
        assert!(found.statements().any(|reading| reading.contains("Ann\n- Bea")));
    }
}
