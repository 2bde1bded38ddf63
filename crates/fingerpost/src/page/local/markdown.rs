//! What does a Markdown text say, block by block?
//!
//! A parser tells a sentence from what only looks like one: badges, pictures, tables, code and HTML are none. Of a
//! link the text stays. What was taken out of a sentence leaves a mark, because half a sentence is none either.

use pulldown_cmark::{
    CodeBlockKind, Event, HeadingLevel, MetadataBlockKind, Options, Parser, Tag, TagEnd,
};

use crate::page::language::is_han;
use crate::page::readable::{has_address, is_formula};
use crate::text::paragraphs;

/// Stands where something was taken out.
pub(super) const GAP: char = '\u{fffc}';

/// A block of plain text in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) text: String,
    pub(super) kind: BlockKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// With its depth, from 1; a paragraph that is bold as a whole is the deepest, 7.
    Heading(u8),
    Paragraph,
    /// An item of a list.
    Item,
    /// A line of a code block that is a formula.
    Formula,
}

/// The blocks of a document, in order.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let text = without_frames(text);
    let mut reader = Reader::default();
    Parser::new_ext(&text, options).for_each(|event| reader.read(event));
    reader.flush();
    reader.blocks
}

/// One line of text without markup.
pub(super) fn inline(text: &str) -> String {
    let blocks = blocks(text);
    blocks.into_iter().map(|block| block.text).collect::<Vec<_>>().join(" ")
}

/// Documents for models are framed by tags of their own (`<objective>` on a line by itself). To Markdown that is HTML,
/// with all that follows up to an empty line.
fn without_frames(text: &str) -> String {
    let is_frame = |line: &str| {
        let line = line.trim();
        let name = line.strip_prefix('<').and_then(|line| line.strip_suffix('>'));
        let name = name.map(|name| name.trim_start_matches('/')).unwrap_or_default();
        let word = name.split([' ', '=']).next().unwrap_or_default();
        let is_name = !word.is_empty()
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        is_name && !name.contains(['<', '>']) && !HTML.contains(&word.to_lowercase().as_str())
    };
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        kept.push_str(if is_frame(line) { "\n" } else { line });
    }
    kept
}

const HTML: [&str; 24] = [
    "a", "b", "br", "center", "code", "details", "div", "h1", "h2", "h3", "h4", "hr", "i", "img",
    "li", "ol", "p", "picture", "pre", "span", "summary", "table", "td", "ul",
];

/// Inline tags that only change how the text looks.
const LOOKS: [&str; 12] =
    ["b", "i", "em", "strong", "u", "sub", "sup", "kbd", "code", "span", "mark", "small"];

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    text: String,
    /// How much of `text` stands in bold.
    bold: usize,
    in_bold: bool,
    heading: Option<u8>,
    items: usize,
    /// Inside what nothing is read of: pictures, tables, metadata, footnotes.
    skipped: usize,
    /// Inside a code block whose lines may be formulas.
    code: Option<bool>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            _ if self.skipped > 0 => {}
            Event::Text(text) => match self.code {
                Some(true) => self.formulas(&text),
                Some(false) => {}
                None => self.push(&text),
            },
            Event::Code(text) | Event::InlineMath(text) => self.push(&text),
            Event::DisplayMath(text) => {
                self.flush();
                self.formulas(&text);
            }
            Event::SoftBreak => self.text.push('\n'),
            Event::HardBreak => self.flush_keeping(),
            Event::InlineHtml(tag) => {
                let name =
                    tag.trim_matches(['<', '>', '/']).split([' ', '/']).next().unwrap_or_default();
                match name.to_lowercase().as_str() {
                    "br" => self.flush_keeping(),
                    name if LOOKS.contains(&name) => {}
                    _ => self.text.push(GAP),
                }
            }
            Event::Html(_)
            | Event::Rule
            | Event::TaskListMarker(_)
            | Event::FootnoteReference(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Image { .. } => {
                self.text.push(GAP);
                self.skipped += 1;
            }
            Tag::Table(_)
            | Tag::MetadataBlock(MetadataBlockKind::YamlStyle | MetadataBlockKind::PlusesStyle)
            | Tag::FootnoteDefinition(_) => {
                self.flush();
                self.skipped += 1;
            }
            _ if self.skipped > 0 => {}
            Tag::Heading { level, .. } => {
                self.flush();
                self.heading = Some(depth(*level));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.code = Some(match kind {
                    CodeBlockKind::Indented => true,
                    CodeBlockKind::Fenced(language) => {
                        matches!(&**language, "" | "text" | "txt" | "math" | "latex" | "tex")
                    }
                });
            }
            Tag::Item => {
                self.flush();
                self.items += 1;
            }
            Tag::Strong => self.in_bold = true,
            Tag::Paragraph | Tag::List(_) | Tag::BlockQuote(_) | Tag::HtmlBlock => self.flush(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Image
            | TagEnd::Table
            | TagEnd::MetadataBlock(_)
            | TagEnd::FootnoteDefinition => {
                self.skipped = self.skipped.saturating_sub(1);
            }
            _ if self.skipped > 0 => {}
            TagEnd::Heading(_) => {
                self.flush();
                self.heading = None;
            }
            TagEnd::CodeBlock => self.code = None,
            TagEnd::Item => {
                self.flush();
                self.items = self.items.saturating_sub(1);
            }
            TagEnd::Strong => self.in_bold = false,
            TagEnd::Paragraph | TagEnd::List(_) | TagEnd::BlockQuote(_) | TagEnd::HtmlBlock => {
                self.flush();
            }
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if self.in_bold {
            self.bold += text.len();
        }
        self.text.push_str(text);
    }

    /// A line break that the author asked for ends what stands before it, inside its block.
    fn flush_keeping(&mut self) {
        let bold = std::mem::take(&mut self.in_bold);
        self.flush();
        self.in_bold = bold;
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let bold = std::mem::take(&mut self.bold);
        let whole = text.trim();
        if whole.is_empty() {
            return;
        }
        let is_bold = bold > 0 && whole.trim_end_matches([':', '：']).len() <= bold;
        let kind = match self.heading {
            Some(depth) => BlockKind::Heading(depth),
            None if self.items > 0 => BlockKind::Item,
            None if is_bold && !whole.contains('\n') => BlockKind::Heading(7),
            None => BlockKind::Paragraph,
        };
        for paragraph in paragraphs(whole) {
            let text = one_line(paragraph);
            if text.chars().any(char::is_alphanumeric) {
                self.blocks.push(Block { text, kind });
            }
        }
    }

    fn formulas(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            // A program computes; a formula states.
            let is_program = line.contains(['{', '}', ';', '"', '\'', '#', '$', '`', '['])
                || line.contains("==")
                || line.contains("//");
            let computes = line.contains([
                '/', '*', '+', '-', '−', '×', '÷', '^', '√', '≤', '≥', '→', '²', '³', '∑', '∫',
                '\\', '%', '<', '>',
            ]);
            let calls = line.contains("()") || line.contains("->");
            if is_formula(line)
                && computes
                && !(is_program || calls || has_address(line))
                && line.chars().count() <= 160
            {
                self.blocks.push(Block { text: one_line(line), kind: BlockKind::Formula });
            }
        }
    }
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

/// Lines joined by a space, Chinese ones by nothing; characters that nobody sees go.
fn one_line(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let word: String = word
            .chars()
            .filter(|c| *c == GAP || !(c.is_control() || crate::text::is_hidden(*c)))
            .collect();
        let (Some(last), Some(first)) = (joined.chars().next_back(), word.chars().next()) else {
            joined.push_str(&word);
            continue;
        };
        let chinese = |c: char| is_han(c) || "，。；：、！？".contains(c);
        if !(chinese(last) && chinese(first)) {
            joined.push(' ');
        }
        joined.push_str(&word);
    }
    joined
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expect: Expect) {
        let lines: Vec<String> =
            blocks(text).iter().map(|Block { text, kind }| format!("{kind:?} {text}\n")).collect();
        expect.assert_eq(&lines.concat());
    }

    #[test]
    fn sentences_stay_and_what_looks_like_one_goes() {
        check(
            "# Forms\n\n[![Build](https://x/b.svg)](https://x)\n\nReads the *fields* of a form with the\n`pdf` tool, see [the guide](https://x/y).\n\n| a | b |\n|---|---|\n| c | d |\n\n```python\nx = y / 2\n```\n\n    QTc = QT / sqrt(RR)\n\n<div>\nHTML\n</div>\n\n**When to use:**\n\n- [ ] One thing\n  that goes on\n- Other\n\n  More of it\n",
            expect![[r#"
                Heading(1) Forms
                Paragraph Reads the fields of a form with the pdf tool, see the guide.
                Formula QTc = QT / sqrt(RR)
                Heading(7) When to use:
                Item One thing that goes on
                Item Other
                Item More of it
            "#]],
        );
    }

    #[test]
    fn frames_of_prompts_hide_nothing_and_placeholders_leave_a_mark() {
        check(
            "<objective>\nMerges files in order.\n</objective>\nRun it with <file> now.\n\n按月计算工资薪金所得应当预扣预缴的个人所得税，\n适用于居民个人。",
            expect![[r#"
                Paragraph Merges files in order.
                Paragraph Run it with ￼ now.
                Paragraph 按月计算工资薪金所得应当预扣预缴的个人所得税，适用于居民个人。
            "#]],
        );
    }
}
