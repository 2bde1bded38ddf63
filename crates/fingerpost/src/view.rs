//! Which text of a skill may an index see, and which is compared for likeness?
//!
//! This is the only place where a skill's fields become text to be searched or embedded.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::exclusion::without_exclusions;
use crate::skill::Skill;

/// The text an index sees of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum View {
    /// The author's document: name, description and content, joined by newlines.
    #[default]
    Raw,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            View::Raw => "raw",
        })
    }
}

impl FromStr for View {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "raw" => Ok(View::Raw),
            _ => Err(format!("'{name}' is no view: use raw")),
        }
    }
}

/// The text of `skill` under `view`.
pub fn index_text(skill: &Skill, view: View) -> String {
    match view {
        View::Raw => {
            let Skill { name, description, content, .. } = skill;
            let mut text =
                String::with_capacity(name.len() + description.len() + content.len() + 2);
            text.push_str(name);
            text.push('\n');
            text.push_str(description);
            text.push('\n');
            text.push_str(content);
            text
        }
    }
}

/// The text by which skills are compared for likeness: the document without what its author says
/// it is *not* for, which names the neighbors and would pull them near. Pages never enter it.
pub fn clustering_text(skill: &Skill) -> String {
    let parts = [&skill.name, &skill.description, &skill.content];
    parts.map(|part| without_exclusions(part)).join("\n")
}
