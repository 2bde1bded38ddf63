//! What does the YAML head of a SKILL.md say?
//!
//! A strict YAML reading comes first. Where it fails, a second reading by lines takes every
//! `key: value` at the left margin as text: the commonest breakage by far is an unquoted colon
//! (`description: Use when: ...`), and the author's meaning is plain in spite of it.

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::MessageFormatter;

use crate::skill::Fields;

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
    /// Why the strict reading failed, and at which line of the head, if it did.
    pub(crate) broken: Option<(String, u64)>,
}

/// The two fields that must stay text whatever YAML makes of them: `description: yes` means "yes".
#[derive(Deserialize)]
struct Texts {
    name: Option<String>,
    description: Option<String>,
}

pub(crate) fn parse(head: &str) -> FrontMatter {
    let strict = serde_saphyr::from_str::<Texts>(head)
        .and_then(|texts| Ok((texts, serde_saphyr::from_str::<Fields>(head)?)));
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
                broken: None,
            }
        }
        Err(error) => FrontMatter { broken: Some(reason(&error)), ..parse_by_lines(head) },
    }
}

/// Why a YAML text was refused, in a sentence without the place, and the line.
pub(crate) fn reason(error: &serde_saphyr::Error) -> (String, u64) {
    let mut sentence = serde_saphyr::UserMessageFormatter.format_message(error).into_owned();
    // What follows is a value of the parser's, spelled as in its source.
    sentence.truncate(sentence.find(": limits breached").unwrap_or(sentence.len()));
    (sentence, error.location().map_or(1, |at| at.line()))
}

/// The line of the file on which the head sets `key`.
pub(crate) fn line_of(head: &str, key: &str) -> Option<u64> {
    let at = head.lines().position(|line| key_of(line) == Some(key))?;
    // The opening '---' is line 1 of the file and no line of the head.
    Some(at as u64 + 2)
}

/// The lenient reading: keys at the left margin, everything up to the next key is the value.
/// Each field is read as YAML by itself, so that one that is broken costs no other its meaning.
fn parse_by_lines(head: &str) -> FrontMatter {
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
        let as_text = || match serde_saphyr::from_str::<Texts>(field) {
            Ok(texts) => texts.name.or(texts.description).map(|text| text.trim().to_owned()),
            Err(_) => Some(text()),
        };
        match key {
            // The first one wins, as in every YAML reader that tolerates duplicates.
            "name" => matter.name = matter.name.or_else(as_text),
            "description" => matter.description = matter.description.or_else(as_text),
            _ => {
                let value = serde_saphyr::from_str::<Fields>(field).ok();
                let value = value.and_then(|mut fields| fields.remove(key));
                let value = value.unwrap_or_else(|| Value::String(text()));
                matter.fields.entry(key.to_owned()).or_insert(value);
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
        if let Some((reason, line)) = &matter.broken {
            shown += &format!("broken at {line}: {reason}\n");
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
        assert!(matter.broken.is_some_and(|(reason, _)| reason.contains("too complex")));
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
