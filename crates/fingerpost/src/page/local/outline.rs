//! What does a document consist of: sentences, items, formulas, fields?
//!
//! A writer that never invents can only choose, so the document is first laid out as parts that can
//! stand alone. What the author says the skill is *not* for is left out here; the boundary takes it
//! from [`crate::exclusion`].

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::markdown::{Block, BlockKind, GAP, blocks, inline};
use super::plain::words_of;
use crate::exclusion::{Collected, Exclusion, is_excluding, without_exclusions};
use crate::page::audit::is_clean;
use crate::page::readable::has_address;
use crate::skill::Skill;
use crate::text::{Tokenizer, paragraphs, terms, tidy, whole_sentences};

/// A part of a document, as plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) kind: Kind,
    /// Does the author say here when to use the skill?
    pub(super) says_when: bool,
    /// Does it stand in a section beside the work: installation, examples, mistakes, references?
    pub(super) aside: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A sentence of the description.
    Described,
    Heading,
    /// A sentence of a paragraph.
    Prose,
    /// An item of a list, or a sentence of one.
    Item,
    /// A formula on a line of its own.
    Formula,
    /// A request that the author gives as an example.
    Example,
}

/// Characters of a document that are looked at: what matters stands before.
const READ_CHARS: usize = 32_768;

/// A sentence that says when.
static SAYS_WHEN: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"^(?:this skill should be used|(?:you )?(?:can |should |also )?(?:use|apply|invoke|activate|load|call|trigger|choose|reach for))\b.{0,60}?\b(?:when|whenever|if|for|to|on|in)\b",
        r"^(?:when|whenever|if) (?:the |a |an )?(?:user|you|someone|asked|working|dealing|needing)",
        r"^(?:triggers?|trigger (?:on|words|phrases)|keywords?|activates?|use cases?|applies to|applicable|suitable for|ideal for|best for|designed for|helps?)\b",
        r"^(?:适用|用于|适合|当.{1,40}时|触发|何时|使用场景|需要.{1,30}时)",
    ];
    Regex::new(&format!("(?i)(?:{})", forms.join("|"))).expect("a valid pattern")
});

/// A heading of a section that says when to use the skill, and what it says that is used; or one that gives example
/// requests.
static WHEN_SECTION: LazyLock<Regex> = LazyLock::new(|| {
    let verb = r"(?:use|apply|invoke|activate|trigger|call|run|reach for|choose)";
    Regex::new(&format!(r"(?i)^\W*(?:\d+[.)]?\s*)?(?:when (?:to|should (?:you|i|we)|do (?:you|i|we)) {verb}\b|use (?:this|when|cases?\b|it when|for)|(?:activation )?triggers?\b|when\W*$|何时使用|什么时候使?用|适用场景|适用情况|使用场景|触发)(?P<what>.*)$"))
        .expect("a valid pattern")
});

/// Words of a heading that mean the skill.
const ITSELF: [&str; 14] = [
    "this", "the", "it", "skill", "tool", "agent", "workflow", "command", "plugin", "guide",
    "these", "when", "for", "conditions",
];

/// Sections about something beside the work: what stands there is no rule of the skill.
static ASIDE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:install\w*|setup|getting started|quick ?start|prerequisites?|requirements|references?|resources|related|see also|cross-references|licen[sc]e|credits?|changelog|versions?|faq|troubleshooting|examples?|scenarios?|mistakes|pitfalls|anti-?patterns|don['’]ts|limitations|output format|next steps|contributing|support|errors?|overview|introduction|about|features|integrations?|tests?|files?|contents)\b|安装|参考|常见问题|示例|许可|依赖|错误|概述|简介")
        .expect("a valid pattern")
});

static EXAMPLE_SECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:example|sample) (?:requests?|prompts?|queries|questions?|usage)\b|\buser (?:says|asks)\b|示例(?:请求|提问|问题)|用户(?:会)?(?:说|问)").expect("a valid pattern")
});

/// A text that speaks of the skill itself.
static OWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bthis (?:skill|tool)\b|本技能|此技能|该技能").expect("a valid pattern")
});

/// A document laid out.
pub(in crate::page) struct Outline {
    /// Its parts, in order.
    pub(super) parts: Vec<Part>,
    /// What its author says the skill is not for.
    pub(super) exclusions: Vec<Exclusion>,
    /// The fields of a tool's schema, in words: an index takes `due_date` for one word, and people ask in two.
    pub(super) fields: Vec<String>,
    /// All else, as it was written.
    pub(super) text: String,
}

/// Lays out a document.
pub(in crate::page) fn outline(skill: &Skill) -> Outline {
    let content = match skill.content.char_indices().nth(READ_CHARS) {
        Some((end, _)) => &skill.content[..end],
        None => &skill.content,
    };
    let mut outline = Outline {
        parts: Vec::new(),
        exclusions: Vec::new(),
        fields: Vec::new(),
        text: String::new(),
    };
    let mut excluded = Collected::default();
    // "Use when:" opens a list.
    let mut opens = false;
    for paragraph in paragraphs(&skill.description) {
        for Block { text, kind } in blocks(&tidy(paragraph)) {
            let is_item = kind == BlockKind::Item;
            opens &= is_item;
            for sentence in excluded.add(&text, is_item, true) {
                let section = if opens { Section::When } else { Section::Work };
                outline.push(sentence, Kind::Described, section);
            }
            opens |= text.ends_with([':', '：'])
                && whole_sentences(&text).last().is_some_and(|last| SAYS_WHEN.is_match(last));
        }
    }
    match schema(content) {
        Some(schema) => outline.fields(&schema, 0),
        None => outline.prose(skill, content, &mut excluded),
    }
    outline.exclusions = excluded.exclusions;
    outline
        .exclusions
        .retain(|exclusion| is_clean(&exclusion.what) && !exclusion.what.contains(GAP));
    let [described, kept] = [&skill.description, content].map(without_exclusions);
    outline.text = format!("{}\n{described}\n{kept}", skill.name);
    outline
}

/// What a section is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// When to use the skill.
    When,
    /// The work itself.
    Work,
    /// Something beside it.
    Aside,
}

/// Is a section with this heading about when to use the skill itself? "When to use a subagent" is not.
fn says_when(heading: &str, skill: &Skill) -> bool {
    let Some(found) = WHEN_SECTION.captures(heading) else { return false };
    let own = terms(&format!("{}\n{}", skill.name, skill.description), Tokenizer::Auto);
    terms(&found["what"], Tokenizer::Auto)
        .iter()
        .all(|word| ITSELF.contains(&word.as_str()) || own.contains(word) || !word.is_ascii())
}

impl Outline {
    fn push(&mut self, text: &str, kind: Kind, section: Section) {
        let text = text.trim().trim_start_matches(MARKS).trim();
        // What addresses its reader has no place on a page.
        let reads =
            text.chars().any(char::is_alphanumeric) && !text.contains(GAP) && !has_address(text);
        // What ends in a colon says nothing without what follows.
        let opens = kind != Kind::Heading && text.ends_with([':', '：']);
        if !reads || opens || !is_clean(text) {
            return;
        }
        // "Use a lock for writing" in the content is a rule of the work, not about the skill.
        let says_when = match kind {
            Kind::Described => section == Section::When || SAYS_WHEN.is_match(text),
            Kind::Item => section == Section::When,
            // Beside its items such a section has remarks.
            Kind::Prose => section == Section::When && SAYS_WHEN.is_match(text),
            _ => false,
        };
        let aside = section == Section::Aside;
        self.parts.push(Part { text: text.to_owned(), kind, says_when, aside });
    }

    fn prose(&mut self, skill: &Skill, content: &str, excluded: &mut Collected) {
        let (mut section, mut gives_examples) = (Section::Work, false);
        // The depth of the section that says what the skill is not for.
        let mut excluding: Option<u8> = None;
        // Before the first section a document speaks of itself.
        let mut introduces = true;
        for Block { text, kind } in blocks(content) {
            let part = match kind {
                _ if gives_examples => Kind::Example,
                BlockKind::Item => Kind::Item,
                _ => Kind::Prose,
            };
            match kind {
                BlockKind::Heading(depth) => {
                    if excluding.is_none_or(|of| depth <= of) {
                        excluding = is_excluding(&text).then_some(depth);
                    }
                    introduces &= depth == 1;
                    section = match excluding {
                        None if says_when(&text, skill) => Section::When,
                        _ if ASIDE.is_match(&text) => Section::Aside,
                        _ => Section::Work,
                    };
                    gives_examples = EXAMPLE_SECTION.is_match(&text);
                    self.push(&text, Kind::Heading, Section::Work);
                }
                _ if excluding.is_some() => excluded.add_section(&text, kind == BlockKind::Item),
                BlockKind::Formula => self.push(&text, Kind::Formula, section),
                BlockKind::Item | BlockKind::Paragraph => {
                    // Elsewhere "not for" is said of a step, an option or another skill.
                    let is_own = introduces || section == Section::When || OWN.is_match(&text);
                    let said = match is_own {
                        true => excluded.add(&text, kind == BlockKind::Item, false),
                        false => whole_sentences(&text),
                    };
                    for sentence in said {
                        self.push(sentence, part, section);
                    }
                }
            }
        }
    }

    fn fields(&mut self, value: &Value, depth: usize) {
        let Value::Object(map) = value else { return };
        if depth > MAX_DEPTH {
            return;
        }
        for (name, value) in map {
            match value {
                // "server_description" beside the fields; a field's own comes with its name.
                Value::String(text) if name.ends_with("_description") => {
                    for text in whole_sentences(&inline(&tidy(text))) {
                        self.push(text, Kind::Prose, Section::Work);
                    }
                }
                Value::Object(field)
                    if field.contains_key("type") || field.contains_key("description") =>
                {
                    let words = words_of(name).unwrap_or_else(|| name.clone());
                    let known = self.fields.iter().any(|known| known.eq_ignore_ascii_case(&words));
                    if !known && is_clean(&words) {
                        self.fields.push(words);
                    }
                }
                _ => {}
            }
            self.fields(value, depth + 1);
        }
    }
}

/// Marks that stand before a text and say nothing.
const MARKS: [char; 12] = ['•', '·', '▪', '◦', '✅', '❌', '✓', '✗', '⚠', '\u{fe0f}', '→', '-'];

/// Tools are often given as a JSON schema; then that is the content.
fn schema(content: &str) -> Option<Value> {
    let content = content.trim();
    let looks = content.starts_with('{') && content.ends_with('}');
    looks.then(|| serde_json::from_str(content).ok()).flatten()
}

/// A schema nests as deep as its author likes; what tells skills apart lies near the top.
const MAX_DEPTH: usize = 8;

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
                Heading When to use
                Item! A form must be filled
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
            "#]],
        );
    }
}
