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

use serde::{Deserialize, Serialize};

pub use self::language::Language;
use crate::skill::{SkillId, SkillIdx};

/// Trigger, boundary and body of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The request, in words.
    pub request: String,
    /// Whose it is; `None` where the library has no such skill and the case is the author's word or
    /// a model's guess.
    pub skill: Option<SkillId>,
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
        let cases = self.boundary.iter().map(|Case { request, skill }| {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
        let case = |request: &str, skill: Option<&str>| Case {
            request: request.into(),
            skill: skill.map(SkillId::new),
        };
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
}
