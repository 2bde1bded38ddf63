//! Which files make up a generation, and what else does it know?
//!
//! The head is small, whole and never changed: a commit puts another in its place. It names its
//! files by what they were made from, and nothing in it is ever opened, called or believed beyond
//! that: an atlas may come from a stranger, so the roots of its library are words here, and no
//! server or variable has a place in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::embedding::Profile;
use crate::neighborhood::Calibration;
use crate::page::Status;
use crate::page::write::PageRow;
use crate::protocol::Protocol;
use crate::search::tuning::Tuning;

/// The format of an atlas. Formats 1 to 6 were SQLite's.
pub const FORMAT: u32 = 7;

/// What a generation knows beside its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The format of the atlas.
    pub format: u32,
    /// Counts the states of an atlas, from one.
    pub generation: u64,
    /// The library it is of.
    pub library: LibraryMark,
    /// What the kept pages looked like from outside when they were read.
    pub kept: String,
    /// Every setting that changes a result.
    pub protocol: Protocol,
    /// What made the vectors.
    pub profile: Profile,
    /// The threshold of the last full partition, and why.
    pub calibration: Calibration,
    /// How the library is searched where nobody says otherwise.
    pub tuning: Tuning,
    /// Skills placed one by one since the last full partition.
    pub placed: usize,
    /// Figures of the neighborhoods.
    pub neighborhoods: Groups,
    /// How many skills have what kind of page.
    pub pages: Counts,
    /// Digest of all pages.
    pub pages_digest: String,
    /// Who wrote the pages: each writer, and how many it wrote.
    pub writers: BTreeMap<String, usize>,
    /// The files, by their part.
    pub files: BTreeMap<String, String>,
}

/// A library as an atlas remembers it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryMark {
    /// Where it was loaded from: for people, and to tell one library from another.
    pub roots: Vec<String>,
    /// How many skills it has.
    pub skills: usize,
    /// Digest of every id and document.
    pub digest: String,
    /// What its files looked like from outside; empty where that is not known.
    pub stamp: String,
    /// How many findings loading had.
    pub findings: usize,
}

/// Figures of the neighborhoods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// How many there are, neighborhoods of one included.
    pub count: usize,
    /// How many skills are alone.
    pub singletons: usize,
    /// Size of the largest.
    pub largest: usize,
}

/// How many skills have what kind of page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Skills with a page.
    pub pages: usize,
    /// Skills that are served by their documents.
    pub fallback: usize,
    /// Pages that a person should look at.
    pub flagged: usize,
    /// Pages that a person wrote or approved.
    pub pinned: usize,
    /// Pages that a person or a model wrote before their documents changed.
    #[serde(default)]
    pub stale: usize,
}

impl Counts {
    /// Counts rows.
    pub fn of(rows: &[PageRow]) -> Self {
        let count = |of: &dyn Fn(&PageRow) -> bool| rows.iter().filter(|row| of(row)).count();
        Self {
            pages: count(&|row| row.page.is_some()),
            fallback: count(&|row| row.page.is_none()),
            flagged: count(&PageRow::is_flagged),
            pinned: count(&|row| row.status == Status::Pinned),
            stale: count(&PageRow::is_stale),
        }
    }
}

/// Why a head cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Not the bytes that were written.
    #[error("is damaged")]
    Damaged,
    /// Made by a later version.
    #[error("has format {found}, this program knows formats up to {FORMAT}")]
    Newer {
        /// Its format.
        found: u32,
    },
}

impl Head {
    /// Who wrote most pages; of equals, the one whose name comes first.
    pub fn main_writer(&self) -> &str {
        let most = self.writers.values().max();
        let mut writers = self.writers.iter();
        writers.find(|(_, count)| Some(*count) == most).map_or("", |(writer, _)| writer)
    }

    /// As it is kept: the checksum, then the rest.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let body = serde_json::to_vec_pretty(self).expect("plain data");
        let mut bytes = format!("{}\n", blake3::hash(&body).to_hex()).into_bytes();
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Reads what [`Head::to_bytes`] gave.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, HeadError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let (checksum, body) = bytes.split_at_checked(65).ok_or(HeadError::Damaged)?;
        if blake3::hash(body).to_hex().as_bytes() != &checksum[..64] {
            return Err(HeadError::Damaged);
        }
        let Format { format } = serde_json::from_slice(body).map_err(|_| HeadError::Damaged)?;
        if format > FORMAT {
            return Err(HeadError::Newer { found: format });
        }
        serde_json::from_slice(body).map_err(|_| HeadError::Damaged)
    }
}
