//! Which text of a skill may an index see, which does the chooser see, and which is compared for
//! likeness?
//!
//! This is the only place where the fields of skills and pages become text to be searched, embedded
//! or chosen by. The boundary says what a skill is *not* for, in the words of those requests: in an
//! index it would attract them. It enters one only through [`View::FullBoundary`].

mod card;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::card::{Cards, card};
use crate::chat::within_tokens;
use crate::exclusion::without_exclusions;
use crate::library::Library;
use crate::numbers::index::TOLD;
use crate::page::local::requests;
use crate::page::{Page, Pages};
use crate::skill::{Skill, SkillIdx};
use crate::text::{Tokenizer, first_words, for_each_term, sentences};

/// The text an index sees of a skill. What a skill has no page for is left out of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// The author's document: name, description and content, joined by newlines.
    #[default]
    Raw,
    /// The document and the trigger.
    Trigger,
    /// The document and the body.
    Body,
    /// The document, the body and the trigger.
    Full,
    /// Ablation only: the full view and the boundary, which pulls the neighbors' requests here.
    FullBoundary,
    /// Baseline: the document and requests that it leads to expect by itself, without neighbors.
    Doc2query,
}

impl View {
    /// Every view, in the order they are listed.
    pub const ALL: [View; 6] =
        [View::Raw, View::Trigger, View::Body, View::Full, View::FullBoundary, View::Doc2query];

    /// Does the text under this view depend on pages?
    pub fn reads_pages(self) -> bool {
        !matches!(self, View::Raw | View::Doc2query)
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            View::Raw => "raw",
            View::Trigger => "trigger",
            View::Body => "body",
            View::Full => "full",
            View::FullBoundary => "full-boundary",
            View::Doc2query => "doc2query",
        })
    }
}

impl FromStr for View {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        View::ALL.into_iter().find(|view| view.to_string() == name).ok_or_else(|| {
            let views = View::ALL.map(|view| view.to_string()).join(", ");
            format!("'{name}' is no view: use one of {views}")
        })
    }
}

/// How much of a document and its page an index sees, under the views that read pages. The others are the
/// reference's, and have all of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// The first words of a description, and of a body what the document does not say in the same words.
    #[default]
    New,
    /// All of both, document first, each up to so many tokens, which are estimated: the same text for every
    /// retriever.
    Whole {
        /// Tokens of the document.
        document: usize,
        /// Tokens of what the page adds.
        page: usize,
    },
}

impl Extent {
    /// The paper's.
    pub const PAPER: Self = Self::Whole { document: 4096, page: 4096 };

    /// What a file that does not say means.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::New => f.write_str("new"),
            Extent::Whole { document, page } if *self != Extent::PAPER => {
                write!(f, "whole ({document} + {page} tokens)")
            }
            Extent::Whole { .. } => f.write_str("whole"),
        }
    }
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "new" => Ok(Extent::New),
            "whole" => Ok(Extent::PAPER),
            _ => Err(format!("'{name}' is no extent of index text: use new or whole")),
        }
    }
}

/// What an index sees of a skill, in two parts: an encoder that reads less than both shortens the
/// head and never the tail, where a page is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexText {
    /// The document.
    pub head: String,
    /// What the page adds.
    pub tail: String,
}

impl IndexText {
    /// Head and tail as one text.
    pub fn joined(mut self) -> String {
        if !self.tail.is_empty() {
            self.head.push('\n');
            self.head.push_str(&self.tail);
        }
        self.head
    }

    /// The tail before the head, for an encoder whose window cuts off what comes last.
    pub fn page_first(self) -> String {
        if self.tail.is_empty() { self.head } else { format!("{}\n{}", self.tail, self.head) }
    }
}

/// The text of a skill under `view`.
pub fn index_text(
    library: &Library,
    pages: &Pages,
    skill: SkillIdx,
    view: View,
    extent: Extent,
) -> IndexText {
    let own = &library.skills()[skill.row()];
    let head = match (view.reads_pages(), extent) {
        (true, Extent::New) => joined(&own.name, described(&own.description), &own.content),
        (true, Extent::Whole { document: most, .. }) => cut_to(document(own), most),
        (false, _) => document(own),
    };
    if view == View::Doc2query {
        let tail = requests(own).join("\n");
        return IndexText { head, tail };
    }
    let tail = pages.get(skill).map_or(String::new(), |page| {
        let trigger = &page.trigger;
        let body = || match extent {
            Extent::New => beyond(&head, &page.body),
            Extent::Whole { .. } => page.body.clone(),
        };
        let tail = match view {
            View::Raw | View::Doc2query => String::new(),
            View::Trigger => trigger.clone(),
            View::Body => body(),
            View::Full => format!("{}\n{trigger}", body()),
            View::FullBoundary => {
                let boundary = page.boundary_text(|id| library.name_of(id));
                format!("{}\n{trigger}\n{boundary}", body())
            }
        };
        match extent {
            Extent::New => tail,
            Extent::Whole { page: most, .. } => cut_to(tail, most),
        }
    });
    IndexText { head, tail }
}

/// The beginning of a text, in so many tokens at most.
fn cut_to(mut text: String, tokens: usize) -> String {
    text.truncate(within_tokens(&text, tokens).len());
    text
}

/// How often each field of a document counts; what stands there twice counts twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldWeights {
    /// The name.
    pub name: u8,
    /// The description.
    pub description: u8,
}

impl Default for FieldWeights {
    fn default() -> Self {
        Self { name: 1, description: 1 }
    }
}

/// The text of a skill under `view`, with the fields as often as they count.
pub fn weighted_text(
    library: &Library,
    pages: &Pages,
    skill: SkillIdx,
    view: View,
    extent: Extent,
    fields: FieldWeights,
) -> String {
    let mut text = index_text(library, pages, skill, view, extent).joined();
    let Skill { name, description, .. } = &library.skills()[skill.row()];
    for (field, times) in [(name, fields.name), (description, fields.description)] {
        for _ in 1..times {
            text.push('\n');
            text.push_str(field);
        }
    }
    text
}

/// What a body says that the document does not say in the same words, by sentences and their halves
/// around a colon. A reader wants the rule by itself; an index has it already, and to count one
/// sentence twice costs Recall@10 on nearly every library.
fn beyond(document: &str, body: &str) -> String {
    let document = words(document);
    let halves = sentences(body).into_iter().flat_map(|sentence| sentence.split([':', '：']));
    let new = halves.map(str::trim).filter(|half| !document.contains(&words(half)));
    new.collect::<Vec<_>>().join(" ")
}

/// The words of a text, whatever stands between them.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    for_each_term(text, Tokenizer::Reference, |word| {
        words.push_str(word);
        words.push(' ');
    });
    words
}

/// The author's document as one text: name, description and content, joined by newlines.
pub fn document(skill: &Skill) -> String {
    joined(&skill.name, &skill.description, &skill.content)
}

/// A description as far as it counts: nobody checks what an author says of his skill, and one that
/// says all words of all requests would be found by them (docs/decisions/first-hundred-words.md). Views without a page are the
/// reference's, and have all of it.
fn described(description: &str) -> &str {
    first_words(description, TOLD)
}

fn joined(name: &str, description: &str, content: &str) -> String {
    let mut text = String::with_capacity(name.len() + description.len() + content.len() + 2);
    text.push_str(name);
    text.push('\n');
    text.push_str(description);
    text.push('\n');
    text.push_str(content);
    text
}

/// What a skill says it is for: name, description and, where it has a page, its trigger.
pub fn purpose(name: &str, description: &str, page: Option<&Page>) -> String {
    let trigger = page.map_or("", |page| page.trigger.as_str());
    format!("{name}\n{}\n{trigger}", described(description))
}

/// What of a document counts where skills are compared for likeness. Pages never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusteringText {
    /// All but what its author says it is *not* for, which names the neighbors and would pull them near.
    #[default]
    WithoutExclusions,
    /// All of it, as in the paper.
    Document,
}

impl fmt::Display for ClusteringText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClusteringText::WithoutExclusions => "without-exclusions",
            ClusteringText::Document => "document",
        })
    }
}

impl FromStr for ClusteringText {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "without-exclusions" => Ok(ClusteringText::WithoutExclusions),
            "document" => Ok(ClusteringText::Document),
            _ => Err(format!("'{name}' is no clustering text: use without-exclusions or document")),
        }
    }
}

/// The text by which skills are compared for likeness.
pub fn clustering_text(skill: &Skill, which: ClusteringText) -> String {
    let parts = [&skill.name, &skill.description, &skill.content];
    match which {
        ClusteringText::WithoutExclusions => parts.map(|part| without_exclusions(part)).join("\n"),
        ClusteringText::Document => document(skill),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Case;
    use crate::page::name::tests::skill;

    #[test]
    fn a_body_counts_as_far_as_it_is_new() {
        let document =
            "# Bazett\n\nDivide QT by the **square root** of RR,\nin seconds. 按月计税。";
        let beyond = |body| beyond(document, body);
        assert_eq!(beyond("Divide QT by the square root of RR, in seconds."), "");
        assert_eq!(beyond("heart rate: Divide QT. The square root of RR."), "heart rate");
        assert_eq!(
            beyond("The square root of RR in milliseconds."),
            "The square root of RR in milliseconds."
        );
        assert_eq!(beyond("按月计税。按年计税。"), "按年计税。");
        assert_eq!(beyond(""), "");
    }

    #[test]
    fn the_boundary_enters_one_view_only() {
        let skill = skill("qt/bazett", "bazett", "Corrects QT. Use when the rate is normal.", "");
        let library = Library::from_skills(vec![skill]).value;
        let page = Page {
            trigger: "square root wanted".into(),
            boundary: vec![Case::new("a cube root", None)],
            body: "QT by the root".into(),
        };
        let pages = Pages::new(vec![Some(page)]);
        for view in View::ALL {
            assert_eq!(view.to_string().parse::<View>(), Ok(view));
            let text = index_text(&library, &pages, SkillIdx(0), view, Extent::New).joined();
            let has = |part: &str| text.contains(part);
            assert_eq!(has("cube"), view == View::FullBoundary, "{view}");
            let wants = matches!(view, View::Trigger | View::Full | View::FullBoundary);
            assert_eq!(has("square"), wants, "{view}");
            let wants = matches!(view, View::Body | View::Full | View::FullBoundary);
            assert_eq!(has("by the root"), wants, "{view}");
            let asked = "Corrects QT. Use when the rate is normal.\n\nUse when the rate is normal";
            assert_eq!(text.contains(asked), view == View::Doc2query, "{view}: {text}");
        }
    }

    #[test]
    fn a_description_counts_as_far_as_one_is_read_where_pages_do() {
        let long = format!("Joins. {} last", "word ".repeat(TOLD));
        let library = Library::from_skills(vec![skill("a", "merge", &long, "Text.")]).value;
        for view in View::ALL {
            let pages = Pages::default();
            let text = index_text(&library, &pages, SkillIdx(0), view, Extent::New).head;
            assert!(text.starts_with("merge\nJoins. word") && text.ends_with("\nText."), "{view}");
            assert_eq!(text.contains("last"), !view.reads_pages(), "{view}");
        }
    }

    #[test]
    fn the_papers_view_leaves_nothing_out_and_is_cut_at_its_tokens() {
        let description = format!("Corrects QT. {} last", "word ".repeat(TOLD));
        let content = "QT by the root of RR.";
        let library = Library::from_skills(vec![skill("a", "bazett", &description, content)]).value;
        let page = |body: String| {
            let trigger = "square root wanted".into();
            Pages::new(vec![Some(Page { trigger, boundary: vec![], body })])
        };
        let text =
            |pages: &Pages, view, extent| index_text(&library, pages, SkillIdx(0), view, extent);
        let pages = page(content.into());
        let whole = text(&pages, View::Full, Extent::PAPER);
        assert_eq!(whole.head, format!("bazett\n{description}\n{content}"));
        assert_eq!(whole.tail, format!("{content}\nsquare root wanted"), "what ours leaves out");
        assert_eq!(text(&pages, View::Full, Extent::New).tail, "\nsquare root wanted");

        let pages = page("rule ".repeat(10_000));
        let cut = text(&pages, View::Full, Extent::Whole { document: 20, page: 30 });
        // Seven ASCII characters are two tokens.
        assert_eq!((cut.head.len(), cut.tail.len()), (70, 105));
        assert!(cut.head.starts_with("bazett\nCorrects") && cut.tail.starts_with("rule rule"));
        let cut = text(&pages, View::Full, Extent::PAPER);
        assert_eq!(cut.tail.len(), 4096 * 7 / 2);
        assert!(!cut.tail.contains("wanted"), "the trigger comes after the body");
        let raw = text(&pages, View::Raw, Extent::Whole { document: 20, page: 30 });
        assert!(raw.head.ends_with(content), "raw is the reference's");
    }

    #[test]
    fn exclusions_count_where_the_document_is_compared() {
        let skill = skill("a", "merge", "Joins files. Not for forms, use form-fill.", "Text.");
        let text = |which| clustering_text(&skill, which);
        assert!(!text(ClusteringText::WithoutExclusions).contains("form-fill"));
        assert_eq!(text(ClusteringText::Document), document(&skill));
        for which in [ClusteringText::WithoutExclusions, ClusteringText::Document] {
            assert_eq!(which.to_string().parse(), Ok(which));
        }
        for extent in [Extent::New, Extent::PAPER] {
            assert_eq!(extent.to_string().parse(), Ok(extent));
        }
    }

    #[test]
    fn a_field_counts_as_often_as_it_is_told_to() {
        let library = Library::from_skills(vec![skill("a", "merge", "Joins.", "Text.")]).value;
        let text = |name, description| {
            let fields = FieldWeights { name, description };
            let (view, extent) = (View::Raw, Extent::New);
            weighted_text(&library, &Pages::default(), SkillIdx(0), view, extent, fields)
        };
        assert_eq!(text(1, 1), "merge\nJoins.\nText.");
        assert_eq!(text(3, 2), "merge\nJoins.\nText.\nmerge\nmerge\nJoins.");
    }
}
