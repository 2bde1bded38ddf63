//! What tells a skill from its neighbors?
//!
//! A page stands beside the author's document. Its trigger says which requests should select the
//! skill, its boundary which look-alike requests belong to a named neighbor, its body the one rule
//! that makes the skill itself. It is written by comparing the skill with its neighborhood, and it
//! depends on nothing else: the digest of all that went into it is its key.

pub mod audit;
pub mod check;
mod faults;
pub mod language;
pub mod llm;
pub mod local;
pub mod name;
pub mod prompt;
pub(crate) mod readable;
pub mod reply;
pub mod round_trip;
pub mod shorten;
pub mod write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::language::Language;
use crate::skill::{SkillId, SkillIdx};

/// Trigger, boundary and body of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// Requests that should select the skill, in at most [`Page::MAX_TRIGGER`] characters; empty where the description
    /// says it all.
    pub trigger: String,
    /// Look-alike requests that belong elsewhere; rendered, at most [`Page::MAX_BOUNDARY`]
    /// characters.
    pub boundary: Vec<Case>,
    /// The rule, formula or fingerprint of the skill, in at most [`Page::MAX_BODY`] characters; empty where the document
    /// has none.
    pub body: String,
}

/// One kind of request that a skill gives away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// The request, in words.
    pub request: String,
    /// Whose it is; `None` where the library has no such skill and the case is the author's word or
    /// a model's guess.
    pub skill: Option<SkillId>,
    /// What it rests on. For people and checks: a card says the same of either.
    #[serde(default, skip_serializing_if = "Ground::is_document")]
    pub ground: Ground,
}

/// What a case rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// A document: a neighbor's, or what its author says of the skill itself.
    #[default]
    Document,
    /// Nothing but a model's idea of what could be mistaken for the skill. It names no skill.
    Imagined,
}

impl Ground {
    fn is_document(&self) -> bool {
        *self == Ground::Document
    }
}

impl Case {
    /// A case that a document gives ground for.
    pub fn new(request: impl Into<String>, skill: Option<SkillId>) -> Self {
        Self { request: request.into(), skill, ground: Ground::Document }
    }
}

impl Page {
    /// Characters of a trigger.
    pub const MAX_TRIGGER: usize = 400;
    /// Characters of a boundary, names and all.
    pub const MAX_BOUNDARY: usize = 400;
    /// Characters of a body.
    pub const MAX_BODY: usize = 600;

    /// What selects the skill: the trigger, or the description where that says it all.
    pub fn selects<'a>(&'a self, description: &'a str) -> &'a str {
        if self.trigger.is_empty() { description } else { &self.trigger }
    }

    /// The neighbors that the boundary names, each once, in order.
    pub fn references(&self) -> Vec<&SkillId> {
        let mut references: Vec<&SkillId> = Vec::new();
        for skill in self.boundary.iter().filter_map(|case| case.skill.as_ref()) {
            if !references.contains(&skill) {
                references.push(skill);
            }
        }
        references
    }

    /// The boundary as text, each reference shown as `show` has it.
    pub fn boundary_text(&self, show: impl Fn(&SkillId) -> String) -> String {
        let cases = self.boundary.iter().map(|Case { request, skill, .. }| {
            let chinese = Language::of(request) == Language::Chinese;
            match skill {
                Some(skill) if chinese => format!("{request}：用 {}。", show(skill)),
                Some(skill) => format!("{request}: use {}.", show(skill)),
                None if chinese => format!("{request}。"),
                None => format!("{request}."),
            }
        });
        cases.collect::<Vec<_>>().join(" ")
    }
}

/// What became of a skill's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// A writer wrote it, and it passed the checks.
    Written,
    /// No page passed: the skill is served by its document.
    Fallback,
    /// A person wrote or approved it; no writer changes it.
    Pinned,
}

/// The pages of a library, by row; a skill without one is served by its document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pages {
    rows: Vec<Option<Page>>,
}

impl Pages {
    /// One entry a skill, in the order of the rows.
    pub fn new(rows: Vec<Option<Page>>) -> Self {
        Self { rows }
    }

    /// The page of a skill.
    pub fn get(&self, skill: SkillIdx) -> Option<&Page> {
        self.rows.get(skill.row())?.as_ref()
    }

    /// How many skills have a page.
    pub fn written(&self) -> usize {
        self.rows.iter().flatten().count()
    }

    /// A digest of all pages: what is built from them is built anew when it changes.
    pub fn digest(&self) -> blake3::Hash {
        let json = serde_json::to_vec(&self.rows).expect("plain data");
        blake3::hash(&json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_names_its_neighbors() {
        let case = |request: &str, skill: Option<&str>| Case::new(request, skill.map(SkillId::new));
        let page = Page {
            trigger: "Square root".into(),
            boundary: vec![
                case("A cube root", Some("qt/fridericia")),
                case("Reading an ECG", None),
                case("The cube root of RR", Some("qt/fridericia")),
            ],
            body: "QT / sqrt(RR)".into(),
        };
        assert_eq!(page.references(), [&SkillId::new("qt/fridericia")]);
        assert_eq!(
            page.boundary_text(|id| id.as_str().rsplit('/').next().unwrap().into()),
            "A cube root: use fridericia. Reading an ECG. The cube root of RR: use fridericia."
        );
    }

    #[test]
    fn a_case_says_that_it_is_imagined_and_nothing_where_it_is_not() {
        let read = Case::new("A cube root", None);
        let before = r#"{"request":"A cube root","skill":null}"#;
        assert_eq!(serde_json::to_string(&read).unwrap(), before);
        assert_eq!(serde_json::from_str::<Case>(before).unwrap(), read);
        let imagined = Case { ground: Ground::Imagined, ..read };
        let text = serde_json::to_string(&imagined).unwrap();
        assert!(text.ends_with(r#""ground":"imagined"}"#), "{text}");
        assert_eq!(serde_json::from_str::<Case>(&text).unwrap(), imagined);
    }
}
