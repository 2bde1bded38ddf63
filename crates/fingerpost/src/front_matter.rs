//! What does the YAML head of a SKILL.md say?
//!
//! A strict YAML reading comes first. Where it fails, a second reading by lines takes every
//! `key: value` at the left margin as text: the commonest breakage by far is an unquoted colon
//! (`description: Use when: ...`), and the author's meaning is plain in spite of it.
//!
//! A head beyond [`MAX_HEAD_BYTES`] or [`MAX_HEAD_KEYS`] is no head that an author wrote by hand.
//! Of it only name, description and what reserves the skill are read, by lines. Every reading
//! takes time in proportion to the head.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::MessageFormatter;

use crate::skill::Fields;

/// The largest head that is read in full. The specification's own limits add up to two KiB.
pub(crate) const MAX_HEAD_BYTES: usize = 64 << 10;

/// The most keys at the left margin of a head that is read in full.
pub(crate) const MAX_HEAD_KEYS: usize = 512;

/// The keys by which an author keeps a skill for explicit use: they count in a head of any size.
const RESERVING_KEYS: [&str; 2] = ["disable-model-invocation", "metadata"];

/// A SKILL.md cut into head and content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    /// The YAML between the two `---` lines, if the text starts with one.
    pub(crate) head: Option<&'a str>,
    /// Everything after the closing line.
    pub(crate) content: &'a str,
    /// The text opened a head that no `---` closes; `head` then ends at the first blank line.
    pub(crate) unclosed: bool,
}

/// Cuts `text` at its first two `---` lines.
pub(crate) fn split(text: &str) -> Split<'_> {
    let Some(body) = text
        .strip_prefix("---")
        .and_then(|rest| rest.trim_start_matches([' ', '\t']).strip_prefix('\n'))
    else {
        return Split { head: None, content: text, unclosed: false };
    };
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let content = &body[at + line.len()..];
            return Split { head: Some(&body[..at]), content, unclosed: false };
        }
        at += line.len();
    }
    let end = body.find("\n\n").map_or(body.len(), |at| at + 1);
    Split { head: Some(&body[..end]), content: &body[end..], unclosed: true }
}

/// What the head says, and how it had to be read.
#[derive(Debug, Default)]
pub(crate) struct FrontMatter {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) fields: Fields,
    pub(crate) reading: Reading,
}

/// How a head had to be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As YAML, in full.
    #[default]
    Strict,
    /// By lines: why the strict reading failed, and at which line of the head.
    ByLines { reason: String, line: u64 },
    /// By lines, and only what every skill needs: it is too large.
    InPart { keys: usize, bytes: usize },
}

/// The two fields that must stay text whatever YAML makes of them: `description: yes` means "yes".
#[derive(Deserialize)]
struct Texts {
    name: Option<String>,
    description: Option<String>,
}

pub(crate) fn parse(head: &str) -> FrontMatter {
    let (bytes, keys) = (head.len(), head.lines().filter_map(key_of).count());
    if bytes > MAX_HEAD_BYTES || keys > MAX_HEAD_KEYS {
        let wanted = |key: &str| RESERVING_KEYS.contains(&key);
        return FrontMatter {
            reading: Reading::InPart { keys, bytes },
            ..parse_by_lines(head, wanted)
        };
    }
    let strict = from_yaml::<Texts>(head).and_then(|texts| Ok((texts, from_yaml::<Fields>(head)?)));
    match strict {
        Ok((texts, mut fields)) => {
            fields.remove("name");
            fields.remove("description");
            let text = |field: Option<String>| {
                field.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
            };
            FrontMatter {
                name: text(texts.name),
                description: text(texts.description),
                fields,
                reading: Reading::Strict,
            }
        }
        Err(error) => {
            let (reason, line) = reason(&error);
            let reading = Reading::ByLines { reason, line };
            FrontMatter { reading, ..parse_by_lines(head, |_| true) }
        }
    }
}

/// Reads YAML of a stranger: what its aliases and merges grow to is bounded, too. A kilobyte of
/// them keeps the parser's own limits busy for a second.
pub(crate) fn from_yaml<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_saphyr::Error> {
    let budget = serde_saphyr::budget! {
        max_events: 100_000,
        max_nodes: 20_000,
        max_merge_keys: 100,
    };
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { budget: budget })
}

/// Why a YAML text was refused, in a sentence without the place, and the line.
pub(crate) fn reason(error: &serde_saphyr::Error) -> (String, u64) {
    let mut sentence = serde_saphyr::UserMessageFormatter.format_message(error).into_owned();
    // What follows is a value of the parser's, spelled as in its source.
    sentence.truncate(sentence.find(": limits breached").unwrap_or(sentence.len()));
    // It may quote a key of any length.
    if let Some((end, _)) = sentence.char_indices().nth(MAX_REASON_CHARS) {
        sentence.truncate(end);
        sentence.push('…');
    }
    (sentence, error.location().map_or(1, |at| at.line()))
}

const MAX_REASON_CHARS: usize = 200;

/// The line of the file on which the head sets each key first. One pass for all keys: a look for
/// each of them would take time in the square of the head.
pub(crate) fn lines_of_keys(head: &str) -> BTreeMap<&str, u64> {
    let mut lines = BTreeMap::new();
    // The opening '---' is line 1 of the file and no line of the head.
    for (number, line) in (2..).zip(head.lines()) {
        if let Some(key) = key_of(line) {
            lines.entry(key).or_insert(number);
        }
    }
    lines
}

/// The lenient reading: keys at the left margin, everything up to the next key is the value.
/// Each field is read as YAML by itself, so that one that is broken costs no other its meaning.
/// Name, description and the fields `wanted` are kept.
fn parse_by_lines(head: &str, wanted: impl Fn(&str) -> bool) -> FrontMatter {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in head.split_inclusive('\n') {
        starts.extend(key_of(line).map(|key| (key, at)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|&(_, start)| start).chain([head.len()]);
    let mut matter = FrontMatter::default();
    for (&(key, start), end) in starts.iter().zip(ends) {
        let field = &head[start..end];
        let text = || scalar(&field[key.len() + 1..]);
        let as_text = || match from_yaml::<Texts>(field) {
            Ok(texts) => texts.name.or(texts.description).map(|text| text.trim().to_owned()),
            Err(_) => Some(text()),
        };
        match key {
            // The first one wins, as in every YAML reader that tolerates duplicates.
            "name" => matter.name = matter.name.or_else(as_text),
            "description" => matter.description = matter.description.or_else(as_text),
            key if !wanted(key) || matter.fields.contains_key(key) => {}
            _ => {
                let value = from_yaml::<Fields>(field).ok();
                let value = value.and_then(|mut fields| fields.remove(key));
                let value = value.unwrap_or_else(|| Value::String(text()));
                matter.fields.insert(key.to_owned(), value);
            }
        }
    }
    matter.name = matter.name.filter(|name| !name.is_empty());
    matter.description = matter.description.filter(|description| !description.is_empty());
    matter
}

/// The key that a line at the left margin sets.
fn key_of(line: &str) -> Option<&str> {
    line.split_once(':').map(|(key, _)| key).filter(|key| is_key(key))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Joins the lines of one value: block markers dropped, quotes around the whole taken off.
fn scalar(value: &str) -> String {
    let mut lines: Vec<&str> = value.lines().map(str::trim).collect();
    if matches!(lines.first(), Some(&("|" | ">" | "|-" | ">-" | "|+" | ">+"))) {
        lines.remove(0);
    }
    lines.retain(|line| !line.is_empty());
    let joined = lines.join(" ");
    for quote in ['"', '\''] {
        if let Some(inner) = joined.strip_prefix(quote).and_then(|s| s.strip_suffix(quote)) {
            return inner.trim().to_owned();
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(head: &str, expect: Expect) {
        let matter = parse(head);
        let mut shown = format!("name {:?}\ndescription {:?}\n", matter.name, matter.description);
        for (key, value) in &matter.fields {
            shown += &format!("{key} {value}\n");
        }
        match &matter.reading {
            Reading::Strict => {}
            Reading::ByLines { reason, line } => shown += &format!("broken at {line}: {reason}\n"),
            Reading::InPart { keys, bytes } => {
                shown += &format!("in part: {keys} keys, {bytes} bytes\n");
            }
        }
        expect.assert_eq(&shown);
    }

    #[test]
    fn plain_and_typed_values() {
        check(
            "name: pdf-forms\ndescription: yes\nmetadata:\n  internal: true\nallowed-tools: Read Write\n",
            expect![[r#"
                name Some("pdf-forms")
                description Some("yes")
                allowed-tools "Read Write"
                metadata {"internal":true}
            "#]],
        );
    }

    #[test]
    fn unquoted_colon_is_read_by_lines() {
        check(
            "name: pdf-forms\ndescription: Use when: a form\n  must be filled in\ndisable-model-invocation: true\n",
            expect![[r#"
                name Some("pdf-forms")
                description Some("Use when: a form must be filled in")
                disable-model-invocation true
                broken at 2: mapping values are not allowed in this context
            "#]],
        );
    }

    #[test]
    fn block_scalars_quotes_and_duplicates_survive_the_lenient_reading() {
        check(
            "name: 'a'\nname: b\ndescription: >-\n  one: two\n\n  three\nbroken: [\n",
            expect![[r#"
                name Some("a")
                description Some("one: two\nthree")
                broken "["
                broken at 2: duplicate mapping key: name not allowed here
            "#]],
        );
    }

    #[test]
    fn an_alias_bomb_costs_nothing_and_keeps_its_name() {
        let mut head = String::from("name: bomb\ndescription: boom\na: &a [x,x,x,x,x,x,x,x,x]\n");
        for (this, last) in "bcdefghijk".chars().zip("abcdefghij".chars()) {
            let aliases = vec![format!("*{last}"); 9].join(",");
            head += &format!("{this}: &{this} [{aliases}]\n");
        }
        let matter = parse(&head);
        assert_eq!(matter.name.as_deref(), Some("bomb"));
        let Reading::ByLines { reason, .. } = matter.reading else { panic!("it was believed") };
        assert!(reason.contains("too complex"), "{reason}");
    }

    /// Each map takes in the last one twice: the limits of the parser itself let a million events
    /// pass before they end this, in every such file of a library.
    #[test]
    fn maps_that_merge_one_another_are_bounded() {
        let mut head = String::from("name: bomb\ndescription: boom\na0: &a0 {x: 1}\n");
        for at in 1..40 {
            let last = at - 1;
            head += &format!("a{at}: &a{at} {{<<: [*a{last}, *a{last}], y{at}: 1}}\n");
        }
        let error = from_yaml::<Fields>(&head).unwrap_err();
        let (reason, line) = reason(&error);
        assert!(reason.contains("too complex"), "{reason}");
        assert!(line < 14, "read up to line {line}");
    }

    #[test]
    fn a_head_with_more_keys_than_anyone_writes_is_read_in_part() {
        let head = |keys: usize| {
            let more: String = (0..keys - 4).map(|at| format!("k{at}: v\n")).collect();
            format!(
                "{more}name: a\ndescription: |\n  One.\n  Two.\nmetadata:\n  internal: true\ndisable-model-invocation: yes\n"
            )
        };
        assert_eq!(parse(&head(MAX_HEAD_KEYS)).reading, Reading::Strict);
        assert_eq!(parse(&head(MAX_HEAD_KEYS)).fields.len(), MAX_HEAD_KEYS - 2);
        check(
            &head(MAX_HEAD_KEYS + 1),
            expect![[r#"
                name Some("a")
                description Some("One.\nTwo.")
                disable-model-invocation true
                metadata {"internal":true}
                in part: 513 keys, 4056 bytes
            "#]],
        );
    }

    #[test]
    fn a_head_larger_than_anyone_writes_is_read_in_part() {
        let text = "x".repeat(MAX_HEAD_BYTES - "name: a\nlicense: ".len());
        assert_eq!(parse(&format!("name: a\nlicense: {text}")).reading, Reading::Strict);
        let matter = parse(&format!("name: a\nlicense: {text}x"));
        let (keys, bytes) = (2, MAX_HEAD_BYTES + 1);
        assert_eq!(matter.reading, Reading::InPart { keys, bytes });
        assert_eq!(matter.name.as_deref(), Some("a"));
        assert!(matter.fields.is_empty());
    }

    #[test]
    fn a_reason_quotes_no_key_of_any_length() {
        let key = "k".repeat(10_000);
        let Reading::ByLines { reason, .. } = parse(&format!("{key}: 1\n{key}: 2\n")).reading
        else {
            panic!("two equal keys were believed")
        };
        assert!(reason.chars().count() <= MAX_REASON_CHARS + 1, "{} characters", reason.len());
    }

    #[test]
    fn splitting() {
        let split_at = |text| {
            let split = split(text);
            (split.head, split.content, split.unclosed)
        };
        assert_eq!(split_at("---\na: 1\n---\nbody\n---\n"), (Some("a: 1\n"), "body\n---\n", false));
        assert_eq!(split_at("--- \n---\n"), (Some(""), "", false));
        assert_eq!(split_at("no head\n---\n"), (None, "no head\n---\n", false));
        assert_eq!(split_at("---\na: 1\n\nbody"), (Some("a: 1\n"), "\nbody", true));
    }
}
