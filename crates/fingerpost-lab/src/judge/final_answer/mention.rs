//! Where does a text name its answer for the last time?

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Opening braces at which a JSON object is looked for, from the end.
const MAX_OBJECTS: usize = 64;

/// Depth of braces inside `\boxed`.
const MAX_BRACES: usize = 64;

/// Boxes that are one answer when nothing but "and" is between them.
const MAX_BOXES: usize = 32;

static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    let of_what = r"['\x22]?(?:\s*\([^)\n]{0,60}\)|\s+(?:to|of|for)\b[^.:=\n]{0,120}?)?";
    let verb = r"(?:\s+(?:is|are|equals|would be|should be|must be|will be)\b|\s*[:：=])";
    let filler = r"(?:\s*,?\s*\b(?:therefore|thus|hence|then|clearly|simply|indeed|as follows|given by)\b,?)?";
    Regex::new(&format!(
        r"(?i)\b(?P<final>final\s+)?answers?\b{of_what}{verb}{filler}\s*[:：]?[ \t]*"
    ))
    .expect("a valid pattern")
});

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?im)^[#>\s_-]*(?:the\s+)?(?:final\s+)?answer[ \t_]*[:：]?[ \t_]*$")
        .expect("a valid pattern")
});

/// A model that takes back what it said, and says it anew in the same line.
static CORRECTION: LazyLock<Regex> = LazyLock::new(|| {
    let opening = r"\b(?:wait|hold on|correction|scratch that|on second thought)\b[,.:!;—–-]";
    Regex::new(&format!(
        r"(?i){opening}[^\n]{{0,160}}\b(?:is|it's|should be|must be)\s+(?:actually\s+)?"
    ))
    .expect("a valid pattern")
});

static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?is)<answer>(?P<content>.*?)</answer>").expect("a valid pattern")
});

static BETWEEN_BOXES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\s$,;]*(?:and|or)?[\s$]*$").expect("a valid pattern"));

/// A place where an answer is named.
#[derive(Debug)]
pub(super) struct Mention {
    /// What follows it in its line, or in the next that says something.
    pub(super) line: String,
    /// What follows it up to an empty line.
    pub(super) block: String,
    /// The last line, where the mention may have opened the reasoning ("Answer: Let me think").
    pub(super) fallback: Option<String>,
}

impl Mention {
    fn whole(text: String) -> Self {
        Self { line: text.clone(), block: text, fallback: None }
    }
}

/// The last mention of an answer.
pub(super) fn last(text: &str) -> Option<Mention> {
    let object = last_object(text).or_else(|| last_tag(text));
    let boxed = last_box(text);
    let object_span = object.as_ref().map(|(span, _)| span.clone()).unwrap_or(0..0);
    let outside = |at: usize| !object_span.contains(&at);
    let phrase = last_phrase(text, outside);
    let places = [
        object.as_ref().map(|(span, _)| span.start),
        boxed.as_ref().map(|(span, _)| span.start).filter(|at| outside(*at)),
        phrase.as_ref().map(|phrase| phrase.at),
    ];
    let latest = places.into_iter().flatten().max()?;
    if let Some((span, value)) = object
        && span.start == latest
    {
        // A sentence inside of the object says where in it the answer is.
        let inner = last_box(&value).map(|(_, content)| content);
        let phrase = last_phrase(&value, |_| true).map(|phrase| phrase.mention(&value).line);
        return Some(Mention::whole(inner.or(phrase).unwrap_or(value)));
    }
    if let Some((span, content)) = boxed
        && span.start == latest
    {
        return Some(Mention::whole(content));
    }
    phrase.map(|phrase| phrase.mention(text))
}

/// Words that announce an answer.
struct Phrase {
    at: usize,
    end: usize,
    /// "Final answer" opens no reasoning.
    is_final: bool,
}

impl Phrase {
    fn mention(&self, text: &str) -> Mention {
        let rest = &text[self.end..];
        let says = |line: &&str| line.contains(char::is_alphanumeric);
        let here = rest.lines().next().unwrap_or("");
        let line =
            if here.trim().is_empty() { rest.lines().find(says).unwrap_or("") } else { here };
        let block = rest.trim_start();
        let block = block.split("\n\n").next().unwrap_or(block);
        let last_line = rest.lines().rev().find(says).filter(|last| *last != line);
        Mention {
            line: line.to_owned(),
            block: block.to_owned(),
            fallback: last_line.filter(|_| !self.is_final).map(str::to_owned),
        }
    }
}

fn last_phrase(text: &str, allowed: impl Fn(usize) -> bool) -> Option<Phrase> {
    let announced = PHRASE.captures_iter(text).filter_map(|found| {
        let all = found.get(0)?;
        let is_final = found.name("final").is_some();
        Some(Phrase { at: all.start(), end: all.end(), is_final })
    });
    let headed = HEADING.find_iter(text).map(|all| Phrase {
        at: all.start(),
        end: all.end(),
        is_final: true,
    });
    let mut latest: Option<Phrase> = None;
    for phrase in announced.chain(headed).filter(|phrase| allowed(phrase.at)) {
        if latest.as_ref().is_none_or(|known| known.end < phrase.end) {
            latest = Some(phrase);
        }
    }
    let latest = latest?;
    let corrected = CORRECTION.find_at(text, latest.at).filter(|found| allowed(found.start()));
    match corrected {
        Some(found) if found.end() > latest.end => {
            Some(Phrase { at: found.start(), end: found.end(), is_final: true })
        }
        _ => Some(latest),
    }
}

/// The last `\boxed{…}`, joined with those before it that belong to the same answer.
fn last_box(text: &str) -> Option<(Range<usize>, String)> {
    let mut boxes: Vec<(Range<usize>, &str)> = Vec::new();
    for (at, command) in text.rmatch_indices("\\boxed{").take(MAX_BOXES) {
        let open = at + command.len();
        let Some(length) = braced(&text[open..]) else { continue };
        let (span, content) = (at..open + length + 1, &text[open..open + length]);
        if let Some((later, _)) = boxes.last() {
            // A box around this one, or one that is not of the same answer, ends the search.
            let between = text.get(span.end..later.start);
            if !between.is_some_and(|between| BETWEEN_BOXES.is_match(between)) {
                break;
            }
        }
        boxes.push((span, content));
    }
    boxes.reverse();
    let start = boxes.first()?.0.start;
    let end = boxes.last()?.0.end;
    let contents: Vec<&str> = boxes.iter().map(|(_, content)| *content).collect();
    Some((start..end, contents.join(" and ")))
}

/// Bytes up to the brace that closes one opened just before `text`.
fn braced(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        if depth > MAX_BRACES {
            return None;
        }
    }
    None
}

/// The last answer between tags.
fn last_tag(text: &str) -> Option<(Range<usize>, String)> {
    let found = TAG.captures_iter(text).last()?;
    Some((found.get(0)?.range(), found["content"].trim().to_owned()))
}

/// The last JSON object that has an answer, and that answer as text.
fn last_object(text: &str) -> Option<(Range<usize>, String)> {
    let mut found: Option<(Range<usize>, String)> = None;
    for (at, _) in text.rmatch_indices('{').take(MAX_OBJECTS) {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let Some(Ok(Value::Object(object))) = values.next() else { continue };
        let span = at..at + values.byte_offset();
        let names = |key: &str| {
            let letters = key.chars().filter(char::is_ascii_alphabetic);
            let key: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
            matches!(key.as_str(), "answer" | "finalanswer")
        };
        let Some((_, value)) = object.iter().find(|(key, _)| names(key)) else { continue };
        // The outermost object that ends last.
        if found.as_ref().is_none_or(|(known, _)| span.end >= known.end) {
            found = Some((span, shown(value)));
        }
    }
    found
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
