//! What is a skill?
//!
//! The author's document (name, description, content) under a durable id, with a digest of its
//! text and the few front-matter fields that decide whether an agent may pick it by itself.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The durable id of a skill: the folder's path below its root, or the id a record carries.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SkillId(Box<str>);

impl SkillId {
    /// Takes the text as it is.
    pub fn new(id: impl Into<Box<str>>) -> Self {
        Self(id.into())
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A skill's row in one library: dense, and in the order of the ids, so that a tie between two
/// rows is broken by id without looking at either id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillIdx(pub u32);

impl SkillIdx {
    /// The row as an array index.
    pub fn row(self) -> usize {
        self.0 as usize
    }
}

/// The row of an id among so many, which are in the order of their ids.
pub(crate) fn find_id<'a>(
    count: usize,
    id_of: impl Fn(SkillIdx) -> &'a str,
    id: &str,
) -> Option<SkillIdx> {
    let at = SkillIdx(first_not(count, |row| id_of(SkillIdx(row as u32)) < id) as u32);
    (at.row() < count && id_of(at) == id).then_some(at)
}

/// The first of so many places that does not come before what is sought.
pub(crate) fn first_not(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The one skill of a name; none where several have it.
pub(crate) fn only(mut named: impl Iterator<Item = SkillIdx>) -> Option<SkillIdx> {
    let first = named.next();
    first.filter(|_| named.next().is_none())
}

/// May an agent choose this skill by itself?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Invocation {
    /// Whenever it fits.
    #[default]
    Automatic,
    /// Only when a person names it: the author set `disable-model-invocation`,
    /// `policy.allow_implicit_invocation: false` or `metadata.internal`.
    Manual,
}

/// Where a skill was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file that holds it.
    pub file: PathBuf,
    /// Its line there, for files that hold many.
    pub line: Option<u64>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// One skill of a library.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Durable id, unique in its library.
    pub id: SkillId,
    /// The author's name for it.
    pub name: String,
    /// The author's summary: what most agents see.
    pub description: String,
    /// The text after the front matter.
    pub content: String,
    /// The other front-matter fields, as they were read.
    pub fields: Fields,
    /// May an agent choose it by itself?
    pub invocation: Invocation,
    /// Where it was read.
    pub origin: Origin,
}

impl Skill {
    /// Digest of the document: name, description and content, each with its length, so that text
    /// cannot move from one to the next unnoticed.
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.name, &self.description, &self.content] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize()
    }
}

/// Front-matter fields beside name and description, kept for those who serve or lint skills.
/// Values keep the author's YAML structure as JSON.
pub type Fields = std::collections::BTreeMap<String, serde_json::Value>;
