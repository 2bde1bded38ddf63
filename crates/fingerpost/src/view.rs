//! Which text of a skill may an index see, which does the chooser see, and which is compared for
//! likeness?
//!
//! This is the only place where the fields of skills and pages become text to be searched, embedded
//! or chosen by. The boundary says what a skill is *not* for, in the words of those requests: in an
//! index it would attract them. It enters one only through [`View::FullBoundary`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::exclusion::without_exclusions;
use crate::library::Library;
use crate::numbers::index::TOLD;
use crate::page::local::requests;
use crate::page::{Page, Pages};
use crate::skill::{Skill, SkillId, SkillIdx};
use crate::text::{Tokenizer, first_words, for_each_term, sentences, tidy};

/// The text an index sees of a skill. What a skill has no page for is left out of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
pub fn index_text(library: &Library, pages: &Pages, skill: SkillIdx, view: View) -> IndexText {
    let own = &library.skills()[skill.row()];
    let head = match view.reads_pages() {
        true => joined(&own.name, described(&own.description), &own.content),
        false => document(own),
    };
    if view == View::Doc2query {
        let tail = requests(own).join("\n");
        return IndexText { head, tail };
    }
    let tail = pages.get(skill).map_or(String::new(), |page| {
        let trigger = &page.trigger;
        let body = || beyond(&head, &page.body);
        match view {
            View::Raw | View::Doc2query => String::new(),
            View::Trigger => trigger.clone(),
            View::Body => body(),
            View::Full => format!("{}\n{trigger}", body()),
            View::FullBoundary => {
                let boundary = page.boundary_text(|id| library.name_of(id));
                format!("{}\n{trigger}\n{boundary}", body())
            }
        }
    });
    IndexText { head, tail }
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
    fields: FieldWeights,
) -> String {
    let mut text = index_text(library, pages, skill, view).joined();
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
/// says all words of all requests would be found by them (docs/routing.md). Views without a page are the
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

/// What the chooser sees of a candidate beside its name and description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cards {
    /// Nothing.
    Base,
    /// The boundary, with the neighbors' names.
    #[default]
    Boundary,
    /// Ablation only: the boundary with the neighbors' ids, which a reader cannot resolve.
    Ids,
}

impl Cards {
    /// Every arm, in the order they are listed.
    pub const ALL: [Cards; 3] = [Cards::Base, Cards::Boundary, Cards::Ids];
}

impl fmt::Display for Cards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cards::Base => "base",
            Cards::Boundary => "boundary",
            Cards::Ids => "ids",
        })
    }
}

impl FromStr for Cards {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Cards::ALL.into_iter().find(|arm| arm.to_string() == name).ok_or_else(|| {
            let arms = Cards::ALL.map(|arm| arm.to_string()).join(", ");
            format!("'{name}' is no kind of card: use one of {arms}")
        })
    }
}

/// The card of a candidate: the same text for every reader, a person or a model, one line or two
/// whatever the author wrote. `name_of` gives the name of a skill by its id.
pub fn card(
    name: &str,
    description: &str,
    page: Option<&Page>,
    cards: Cards,
    name_of: impl Fn(&SkillId) -> String,
) -> String {
    let boundary = match (cards, page) {
        (Cards::Base, _) | (_, None) => String::new(),
        (Cards::Boundary, Some(page)) => page.boundary_text(name_of),
        (Cards::Ids, Some(page)) => page.boundary_text(SkillId::to_string),
    };
    let mut card = format!("{}: {}", cut(tidy(name)), cut(tidy(description)));
    if !boundary.is_empty() {
        card.push_str("\n  Not for: ");
        card.push_str(&cut(tidy(&boundary)));
    }
    card
}

/// Characters of a card's parts: the format allows 1,024 for a description, and a boundary has 400.
const LONGEST: usize = 1200;

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    text
}

/// The text by which skills are compared for likeness: the document without what its author says
/// it is *not* for, which names the neighbors and would pull them near. Pages never enter it.
pub fn clustering_text(skill: &Skill) -> String {
    let parts = [&skill.name, &skill.description, &skill.content];
    parts.map(|part| without_exclusions(part)).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Case;
    use crate::page::name::tests::skill;

    #[test]
    fn cards_differ_by_their_boundary_alone() {
        let page = Page {
            trigger: "Divide by the square root.".into(),
            boundary: vec![Case {
                request: "A cube root".into(),
                skill: Some(SkillId::new("qt/fridericia")),
            }],
            body: "QT / √RR".into(),
        };
        let card =
            |cards| card("bazett", "Corrects\n  QT.", Some(&page), cards, |_| "fridericia".into());
        assert_eq!(card(Cards::Base), "bazett: Corrects QT.");
        assert_eq!(
            card(Cards::Boundary),
            "bazett: Corrects QT.\n  Not for: A cube root: use fridericia."
        );
        assert_eq!(
            card(Cards::Ids),
            "bazett: Corrects QT.\n  Not for: A cube root: use qt/fridericia."
        );
    }

    #[test]
    fn a_card_is_short_and_of_visible_characters_whatever_its_author_wrote() {
        let long = "年".repeat(5000);
        let shown = card("a\u{200b}\n\nb\u{1b}[2J", &long, None, Cards::Base, |_| String::new());
        assert_eq!(shown.lines().count(), 1);
        assert!(shown.starts_with("a b[2J: 年") && shown.ends_with("年…"), "{shown}");
        assert_eq!(shown.chars().filter(|c| *c == '年').count(), LONGEST);
    }

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
            boundary: vec![Case { request: "a cube root".into(), skill: None }],
            body: "QT by the root".into(),
        };
        let pages = Pages::new(vec![Some(page)]);
        for view in View::ALL {
            assert_eq!(view.to_string().parse::<View>(), Ok(view));
            let text = index_text(&library, &pages, SkillIdx(0), view).joined();
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
            let text = index_text(&library, &Pages::default(), SkillIdx(0), view).head;
            assert!(text.starts_with("merge\nJoins. word") && text.ends_with("\nText."), "{view}");
            assert_eq!(text.contains("last"), !view.reads_pages(), "{view}");
        }
    }

    #[test]
    fn a_field_counts_as_often_as_it_is_told_to() {
        let library = Library::from_skills(vec![skill("a", "merge", "Joins.", "Text.")]).value;
        let text = |name, description| {
            let fields = FieldWeights { name, description };
            weighted_text(&library, &Pages::default(), SkillIdx(0), View::Raw, fields)
        };
        assert_eq!(text(1, 1), "merge\nJoins.\nText.");
        assert_eq!(text(3, 2), "merge\nJoins.\nText.\nmerge\nmerge\nJoins.");
    }
}
