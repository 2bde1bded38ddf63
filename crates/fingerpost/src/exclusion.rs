//! Which parts of a document say what the skill is *not* for?
//!
//! Authors write "Not for X, use Y" by hand. Such a sentence names the neighbor and its subject, so
//! it pulls the two together wherever text is compared for likeness; for neighborhoods it is left
//! out ([`without_exclusions`]): whatever looks like one, since a sentence less costs little there. A boundary
//! takes only what is one without doubt ([`exclusions`]). Two forms are found: a section under a heading such as
//! "When not to use", and a sentence such as "Do not use for …". Both rules are measured on real skills in
//! `tests/it/exclusions.rs`.

mod read;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

pub use self::read::Exclusion;
pub(crate) use self::read::{Said, item, pointer, read};
use crate::text::{Stop, paragraphs, parts, tidy, whole_sentences};

/// Headings whose whole section is an exclusion.
static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"when (?:you (?:should )?)?not to (?:use|apply|invoke|reach)",
        r"when (?:you )?should(?:n't| not) (?:use|apply)",
        r"(?:do not|don'?t|never) (?:use|apply|invoke|trigger|activate)",
        r"not (?:for|suitable for|intended for|appropriate)\b",
        r"out[ -]of[ -]scope",
        r"(?:what|this skill) (?:this skill )?(?:does|is) not",
        r"anti-?triggers?",
        r"不适用|不适合|何时不|什么时候不|不要使用|不应使用|不该使用|禁止使用|请勿使用|不在范围|超出范围",
    ];
    Regex::new(&format!(r"(?i)^(?:\W|\d)*(?:{})", forms.join("|"))).expect("a valid pattern")
});

/// Sentences that exclude.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        // "Not for X", at the start of a sentence or a clause.
        r"(?:^|[,;:(—–-]\s*|\band |\bbut )not (?:for|to be used)\b",
        r"\b(?:do not|don'?t|never|should not|shouldn'?t|must not|cannot|can'?t) (?:be )?(?:use|used|invoke|invoked|trigger|triggered|activate|apply|load)\b(?: (?:this|the|it)(?: skill| tool)?)? (?:for|when|if|to|on|with|in|as|where|unless|outside)\b",
        r"\b(?:do not|don'?t|never) (?:use|invoke|trigger|activate|apply|load) (?:this|it|the skill)\b",
        r"\bnot (?:intended|meant|suitable|designed|appropriate|applicable|recommended|a good fit|the right (?:skill|tool)) (?:for|to|when|if)\b",
        r"\bis(?:n'?t| not) for\b",
        r"\b(?:skip|avoid)(?: using)? (?:this|it)\b",
        r"\b(?:out of|outside(?: the| of)?) scope\b",
        r"\buse (?:the )?[`*'\x22]?[\w/:.-]+[`*'\x22]?(?: skill| tool)? instead\b",
        r"\binstead,? (?:use|see|try)\b",
        r"^(?:use|see) (?:the )?[`*'\x22]?[\w/:.]+(?:-[\w/:.]+)+[`*'\x22]? (?:there|then|for (?:that|those|these|it))\b",
        r"\b(?:for|when) [^.]{3,80}, (?:use|see|prefer) (?:the )?(?:`[^`]+`|[\w/]+(?:-[\w/]+)+)",
        r"不适用于|不适用[:：]|不适合用?于?|不要用于|不得用于|请勿用于|勿用于|不可用于|不用于|不应用于|不应使用|不要使用(?:本|此|该)|请勿使用(?:本|此|该)",
        r"(?:请|应|改)(?:改)?用[^。]{1,30}(?:代替|替代|技能)|而(?:应|要)(?:使用|改用)",
    ];
    Regex::new(&format!("(?i)(?:{})", forms.join("|"))).expect("a valid pattern")
});

/// `text` without its exclusions; borrowed if it has none.
pub fn without_exclusions(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut found = false;
    each_part(text, |part, is_exclusion| {
        if is_exclusion {
            found = true;
        } else {
            kept.push_str(part);
        }
    });
    if found { Cow::Owned(kept) } else { Cow::Borrowed(text) }
}

/// What a description without doubt excludes, in order.
pub fn exclusions(description: &str) -> Vec<Exclusion> {
    let mut collected = Collected::default();
    for paragraph in paragraphs(description) {
        let is_item = paragraph.trim_start().starts_with(BULLET);
        let text = tidy(paragraph.trim_start_matches(BULLET));
        if text.is_empty() {
            continue;
        }
        collected.add(&text, is_item, true);
    }
    collected.exclusions
}

/// Is a section with this heading about what the skill is not for?
pub(crate) fn is_excluding(heading: &str) -> bool {
    HEADING.is_match(heading)
}

/// Exclusions as they are read, block by block.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) exclusions: Vec<Exclusion>,
    /// Are the items that follow excluded?
    open: bool,
}

impl Collected {
    /// Reads a block of plain text; gives back what of it excludes nothing.
    pub(crate) fn add<'a>(&mut self, text: &'a str, is_item: bool, points: bool) -> Vec<&'a str> {
        if is_item && self.open {
            self.exclusions.extend(item(text));
            return Vec::new();
        }
        self.open = false;
        let mut kept = Vec::new();
        let mut after = false;
        for sentence in whole_sentences(text).into_iter().flat_map(halves) {
            match read(sentence, points) {
                Said::Exclusions(found) => {
                    self.exclusions.extend(found);
                    after = true;
                }
                Said::Opening => self.open = true,
                Said::Nothing => match (after, pointer(sentence)) {
                    (true, Some(name)) => {
                        if let Some(last) = self.exclusions.last_mut() {
                            last.instead.get_or_insert(name);
                        }
                    }
                    _ => {
                        kept.push(sentence);
                        after = false;
                    }
                },
            }
        }
        kept
    }

    /// Takes every item and sentence of a section that is about nothing else.
    pub(crate) fn add_section(&mut self, text: &str, is_item: bool) {
        if is_item {
            self.exclusions.extend(item(text));
        } else {
            self.add(text, false, true);
        }
    }
}

/// A sentence, cut where an exclusion begins after a semicolon.
fn halves(sentence: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = sentence;
    while let Some(at) = rest.find(['；', ';']) {
        let after = at + rest[at..].chars().next().map_or(1, char::len_utf8);
        let (first, second) = (&rest[..after], rest[after..].trim_start());
        let excludes = |text| read(text, false) != Said::Nothing || pointer(text).is_some();
        if !excludes(first) && !excludes(second) {
            break;
        }
        found.push(first.trim());
        rest = second;
    }
    found.push(rest);
    found.retain(|half| !half.is_empty());
    found
}

/// Cuts `text` into sentences, and says of each whether it excludes. The parts, joined, are `text`.
fn each_part<'a>(text: &'a str, mut each: impl FnMut(&'a str, bool)) {
    // The depth of the heading whose section is being left out.
    let mut section: Option<usize> = None;
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            in_code = !in_code;
        }
        if let (Some((depth, heading)), false) = (heading(trimmed), in_code) {
            let ends = section.is_some_and(|of| depth <= of);
            if section.is_none() || ends {
                section = HEADING.is_match(heading).then_some(depth);
            }
            each(line, section.is_some());
        } else if section.is_some() || in_code || trimmed.is_empty() {
            each(line, section.is_some());
        } else {
            for sentence in parts(line, Stop::Part) {
                each(sentence, SENTENCE.is_match(sentence.trim_start_matches(BULLET)));
            }
        }
    }
}

const BULLET: [char; 7] = ['-', '*', '•', ' ', '\t', '❌', '>'];

/// A Markdown heading with its depth; a line that is bold as a whole counts as the deepest.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    if (1..=6).contains(&depth) && text.starts_with(' ') {
        return Some((depth, text.trim_matches(['*', ' ', ':', '：'])));
    }
    let bold = line.strip_prefix("**")?;
    let inner = bold.strip_suffix("**").or_else(|| bold.strip_suffix("**:"))?;
    (!inner.contains("**")).then(|| (7, inner.trim_matches([' ', ':', '：'])))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expect: Expect) {
        let found: Vec<String> = exclusions(text)
            .into_iter()
            .map(|found| match found.instead {
                Some(name) => format!("{} -> {name}", found.what),
                None => found.what,
            })
            .collect();
        expect.assert_eq(&format!("kept: {}\nexclusions: {found:?}\n", without_exclusions(text)));
    }

    #[test]
    fn sentences_that_exclude() {
        check(
            "Fill in PDF forms. Not for scanned pages; use pdf-ocr instead. Works offline.",
            expect![[r#"
                kept: Fill in PDF forms. Works offline.
                exclusions: ["scanned pages -> pdf-ocr"]
            "#]],
        );
        check(
            "适用于工资薪金。不适用于劳务报酬。按月计算。",
            expect![[r#"
                kept: 适用于工资薪金。按月计算。
                exclusions: ["劳务报酬"]
            "#]],
        );
    }

    #[test]
    fn each_request_goes_to_whom_its_author_names() {
        check(
            "NOT for generic callouts from Apex (use apex__http-callouts), NOT for CRUD on standard\nobjects, NOT for bots. For form fields, see form-cro. Do NOT use for improving an existing skill — use optimize-skill instead.",
            expect![[r#"
                kept: 
                exclusions: ["generic callouts from Apex -> apex__http-callouts", "CRUD on standard objects", "form fields -> form-cro", "improving an existing skill -> optimize-skill"]
            "#]],
        );
    }

    #[test]
    fn one_sentence_may_exclude_several() {
        check(
            "Do not use for testing panels in production, for protocol analysis (use wire-read), or for web pages, for example intranets. Do not use as a whole defence without others, for networks of old devices.",
            expect![[r#"
                kept: 
                exclusions: ["testing panels in production", "protocol analysis -> wire-read", "web pages, for example intranets", "networks of old devices"]
            "#]],
        );
    }

    #[test]
    fn sections_that_exclude_end_with_their_depth() {
        let text = "# Merge\nJoins files.\n## When NOT to use\n- To split a file\n### Details\nmore\n## Steps\nOpen both.\n";
        assert_eq!(without_exclusions(text), "# Merge\nJoins files.\n## Steps\nOpen both.\n");
    }

    #[test]
    fn ordinary_prose_and_code_stay() {
        for text in [
            "Use when the user asks for a forecast, not a climate normal.",
            "Values from other corrections are not interchangeable. Do not round early.",
            "```sh\n# do not use for x\nnot for you\n```\n",
            "It is not fast. The tool can't find the file.",
        ] {
            assert_eq!(without_exclusions(text), text);
        }
    }
}
