//! What does a document consist of: sentences, items, formulas, code lines, fields?
//!
//! A writer that never invents can only choose, so the document is first laid out as parts that can
//! stand alone. What the author says the skill is *not* for is left out here; the boundary takes it
//! from [`crate::exclusion`].

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::plain::{plain, words_of};
use crate::exclusion::{exclusions, without_exclusions};
use crate::page::audit::is_clean;
use crate::skill::Skill;
use crate::text::sentences;

/// A part of a document, as plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) kind: Kind,
    /// Does the author say here when to use the skill?
    pub(super) says_when: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A sentence of the description.
    Described,
    Heading,
    /// A sentence, an item of a list or a row of a table.
    Prose,
    /// A line of code or a formula on a line of its own.
    Code,
    /// A field of a tool's schema with its description.
    Field,
    /// A request that the author gives as an example.
    Example,
}

/// Characters of a document that are looked at: what matters stands before.
const READ_CHARS: usize = 32_768;

/// A sentence that says when.
static SAYS_WHEN: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"^(?:this skill should be used|(?:you )?(?:can |should )?(?:use|apply|invoke|activate|load|call|trigger|choose|reach for))\b.{0,60}?\b(?:when|whenever|if|for|to|on|in)\b",
        r"^(?:when|whenever|if) (?:the |a |an )?(?:user|you|someone|asked|working|dealing|needing)",
        r"^(?:triggers?|trigger (?:on|words|phrases)|keywords?|activates?|use cases?|applies to|applicable|suitable for|ideal for|best for|designed for|helps?)\b",
        r"^(?:适用|用于|适合|当.{1,40}时|触发|何时|使用场景|需要.{1,30}时)",
    ];
    Regex::new(&format!("(?i)(?:{})", forms.join("|"))).expect("a valid pattern")
});

/// A heading of a section that says when, or that gives example requests.
static WHEN_SECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bwhen (?:to|should|you|do)\b|\buse (?:this|when|cases?)\b|\btriggers?\b|\bwhen\s*$|何时|什么时候|适用|使用场景|触发").expect("a valid pattern")
});
static EXAMPLE_SECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:example|sample) (?:requests?|prompts?|queries|questions?|usage)\b|\buser (?:says|asks)\b|示例(?:请求|提问|问题)|用户(?:会)?(?:说|问)").expect("a valid pattern")
});

/// A document laid out.
pub(super) struct Outline {
    /// Its parts, in order.
    pub(super) parts: Vec<Part>,
    /// What its author says the skill is not for.
    pub(super) exclusions: Vec<String>,
    /// Its compound names of fields, functions and the like, in words: an index takes `due_date` for
    /// one word, and people ask in two.
    pub(super) names: Vec<String>,
    /// All else, as it was written.
    pub(super) text: String,
}

/// Lays out a document.
pub(super) fn outline(skill: &Skill) -> Outline {
    let content = match skill.content.char_indices().nth(READ_CHARS) {
        Some((end, _)) => &skill.content[..end],
        None => &skill.content,
    };
    let [described, kept] = [&skill.description, content].map(without_exclusions);
    let mut parts = Vec::new();
    for sentence in described.lines().flat_map(sentences) {
        push(&mut parts, sentence, Kind::Described, false);
    }
    let mut names = Vec::new();
    match schema(&kept) {
        Some(schema) => {
            fields(&schema, &mut parts, &mut names, 0);
        }
        None => {
            prose(&kept, &mut parts);
            NAME.find_iter(&kept).for_each(|name| push_name(&mut names, name.as_str()));
        }
    }
    let excluded = [(&described, skill.description.as_str()), (&kept, content)];
    let excluded = excluded.into_iter().filter(|(kept, _)| matches!(kept, Cow::Owned(_)));
    let exclusions =
        excluded.flat_map(|(_, text)| exclusions(text)).map(plain).filter(|text| is_clean(text));
    let text = format!("{}\n{described}\n{kept}", skill.name);
    Outline { parts, exclusions: exclusions.collect(), names, text }
}

/// A name of several words, as programs write them.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    let forms =
        [r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b", r"\b[A-Za-z]?[a-z]+(?:[A-Z][a-z0-9]+)+\b"];
    Regex::new(&forms.join("|")).expect("a valid pattern")
});

fn push_name(names: &mut Vec<String>, name: &str) {
    if let Some(words) = words_of(name)
        && is_clean(&words)
        && !names.iter().any(|known| known.eq_ignore_ascii_case(&words))
    {
        names.push(words);
    }
}

fn push(parts: &mut Vec<Part>, text: &str, kind: Kind, in_when_section: bool) {
    let text = plain(text);
    // What addresses its reader has no place on a page.
    if text.chars().any(char::is_alphanumeric) && is_clean(&text) {
        // "Use a lock for writing" in the content is a rule of the work, not about the skill.
        let says_when = match kind {
            Kind::Described => SAYS_WHEN.is_match(&text),
            Kind::Prose => in_when_section,
            _ => false,
        };
        parts.push(Part { text, kind, says_when });
    }
}

fn prose(content: &str, parts: &mut Vec<Part>) {
    let (mut in_code, mut says_when, mut gives_examples) = (false, false, false);
    let mut blank_before = true;
    // A paragraph may run over several lines; it is cut into sentences as a whole.
    let mut paragraph = String::new();
    let kind_of = |gives_examples| if gives_examples { Kind::Example } else { Kind::Prose };
    for line in content.lines().chain([""]) {
        let trimmed = line.trim();
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let heading = heading(trimmed).filter(|_| !in_code);
        let rule = !in_code && !trimmed.is_empty() && !trimmed.chars().any(char::is_alphanumeric);
        let indented =
            !in_code && blank_before && (line.starts_with("    ") || line.starts_with('\t'));
        let starts_item = trimmed.starts_with(['-', '*', '+', '•', '|', '>'])
            || trimmed
                .split_once(['.', ')'])
                .is_some_and(|(number, _)| number.len() <= 3 && number.parse::<u16>().is_ok());
        if fence
            || heading.is_some()
            || rule
            || indented
            || starts_item
            || trimmed.is_empty()
            || in_code
        {
            for sentence in sentences(&std::mem::take(&mut paragraph)) {
                push(parts, sentence, kind_of(gives_examples), says_when);
            }
        }
        if fence {
            in_code = !in_code;
        } else if let Some(heading) = heading {
            says_when = WHEN_SECTION.is_match(heading);
            gives_examples = EXAMPLE_SECTION.is_match(heading);
            push(parts, heading, Kind::Heading, false);
        } else if in_code || (indented && !trimmed.starts_with(['-', '*'])) {
            push(parts, trimmed, Kind::Code, false);
        } else if trimmed.starts_with('|') {
            let cells: Vec<&str> =
                trimmed.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
            push(parts, &cells.join(": "), kind_of(gives_examples), says_when);
        } else if !rule {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(trimmed);
        }
        // Lines of an indented block follow each other.
        blank_before = trimmed.is_empty() || indented;
    }
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    ((1..=6).contains(&depth) && text.starts_with(' ')).then(|| text.trim())
}

/// Tools are often given as a JSON schema; then that is the content.
fn schema(content: &str) -> Option<Value> {
    let content = content.trim();
    let looks = content.starts_with('{') && content.ends_with('}');
    looks.then(|| serde_json::from_str(content).ok()).flatten()
}

/// A schema nests as deep as its author likes; what tells skills apart lies near the top.
const MAX_DEPTH: usize = 8;

fn fields(value: &Value, parts: &mut Vec<Part>, names: &mut Vec<String>, depth: usize) {
    let Value::Object(map) = value else { return };
    if depth > MAX_DEPTH {
        return;
    }
    for (name, value) in map {
        match value {
            // "server_description" beside the fields; a field's own comes with its name.
            Value::String(text) if name.ends_with("_description") => {
                sentences(text).into_iter().for_each(|text| push(parts, text, Kind::Prose, false));
            }
            Value::Object(field)
                if field.contains_key("type") || field.contains_key("description") =>
            {
                push_name(names, name);
                if let Some(Value::String(description)) = field.get("description") {
                    let name = words_of(name).unwrap_or_else(|| name.clone());
                    let first = sentences(description.trim()).first().copied().unwrap_or_default();
                    push(parts, &format!("{name}: {first}"), Kind::Field, false);
                }
            }
            _ => {}
        }
        fields(value, parts, names, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::skill::{Invocation, Origin, SkillId};

    fn check(description: &str, content: &str, expect: Expect) {
        let skill = Skill {
            id: SkillId::new("x"),
            name: "x".into(),
            description: description.into(),
            content: content.into(),
            fields: Default::default(),
            invocation: Invocation::Automatic,
            origin: Origin { file: "x".into(), line: None },
        };
        let lines: Vec<String> = outline(&skill)
            .parts
            .iter()
            .map(|part| {
                format!("{:?}{} {}\n", part.kind, if part.says_when { "!" } else { "" }, part.text)
            })
            .collect();
        expect.assert_eq(&lines.concat());
    }

    #[test]
    fn a_document_in_markdown() {
        check(
            "Fill in PDF forms, e.g. tax forms. Use when a form has fields. Not for scans.",
            "# Forms\n\nReads the fields\nof a form. Then fills them.\n\n    value = field.get()\n\n## When to use\n- A form must be filled\n\n| field | type |\n|---|---|\n| name | text |\n\n```sh\npdf fill a.pdf\n```\n",
            expect![[r#"
                Described Fill in PDF forms, e.g. tax forms.
                Described! Use when a form has fields.
                Heading Forms
                Prose Reads the fields of a form.
                Prose Then fills them.
                Code value = field.get()
                Heading When to use
                Prose! A form must be filled
                Prose! field: type
                Prose! name: text
                Code pdf fill a.pdf
            "#]],
        );
    }

    #[test]
    fn a_document_in_chinese_and_a_schema() {
        check(
            "起草报告：汇报工作。不适用于请示。",
            r#"{"arguments": {"properties": {"account_id": {"type": "integer", "description": "账号ID"}}}}"#,
            expect![[r#"
                Described 起草报告：汇报工作。
                Field account id: 账号ID
            "#]],
        );
    }
}
