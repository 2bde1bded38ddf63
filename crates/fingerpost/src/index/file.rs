//! What do the bytes of an index mean?
//!
//! A file of [`Sections`]: terms by their hashes, and the skills that have each. In memory and on disk
//! it is the same bytes.

use serde::{Deserialize, Serialize};

use super::SparseConfig;
use super::dictionary::{Terms, place};
use super::postings::{Keeping, List, Postings, SEGMENT, rows_of};
pub use crate::sections::FileError as IndexError;
use crate::sections::{Format, Sections};
use crate::store::Blob;

/// Version of the format, raised as well when a view shows other text; a file of another one is
/// rebuilt.
pub const FORMAT_VERSION: u32 = 6;

pub(super) const FORMAT: Format =
    Format { magic: *b"FPSPARSE", version: FORMAT_VERSION, kind: "sparse index" };

/// What the index says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) config: SparseConfig,
    /// Digest of the library, and of the pages where the view reads them.
    pub(super) made_from: String,
    pub(super) skills: usize,
    pub(super) terms: usize,
    /// Of the hashes.
    pub(super) seed: u64,
}

/// The parts of the file, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Meta,
    /// The first term of each bucket, and the end of the last.
    Buckets,
    Tags,
    /// What each term's list is, segment by segment.
    Codes,
    /// Where the lists of each bucket begin, segment by segment.
    ListStarts,
    Lists,
    /// What a skill's length makes of its levels; empty where weights are kept.
    Norms,
}

pub(super) const PARTS: usize = Part::Norms as usize + 1;

/// An open index file.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) meta: Meta,
    pub(super) sections: Sections,
}

impl Layout {
    pub(super) fn open(blob: Blob) -> Result<Self, IndexError> {
        Self::of(Sections::open(blob, &FORMAT, PARTS)?)
    }

    pub(super) fn of(sections: Sections) -> Result<Self, IndexError> {
        let damaged = |what| IndexError::Damaged { what };
        let length = sections.len::<u8>(Part::Meta as usize);
        let meta: Meta = serde_json::from_slice(sections.slice(Part::Meta as usize, 0..length))
            .map_err(|_| damaged("its description"))?;
        let starts = sections.len::<u8>(Part::Buckets as usize);
        let buckets = (starts / size_of::<u32>()).saturating_sub(1);
        let segments = meta.skills.div_ceil(SEGMENT);
        let norms = if meta.config.model.keeping() == Keeping::Levels { meta.skills } else { 0 };
        let expected = [
            (Part::Buckets, (buckets + 1).checked_mul(4)),
            (Part::Tags, meta.terms.checked_mul(4)),
            (Part::Codes, segments.checked_mul(meta.terms)),
            (Part::ListStarts, segments.checked_mul(buckets).and_then(|n| n.checked_mul(8))),
            (Part::Norms, norms.checked_mul(4)),
        ];
        let fits =
            |&(part, size): &(Part, Option<usize>)| size == Some(sections.len::<u8>(part as usize));
        if buckets == 0 || !expected.iter().all(fits) {
            return Err(damaged("its table of sections"));
        }
        Ok(Self { meta, sections })
    }

    /// Every term, and the tables to find it by.
    pub(super) fn terms(&self) -> Terms<'_> {
        let (starts, tags) = (Part::Buckets as usize, Part::Tags as usize);
        Terms { sections: &self.sections, starts, tags, seed: self.meta.seed }
    }

    /// What a skill's length makes of its levels, of a segment; `None` where weights are kept.
    pub(super) fn norms(&self, segment: usize) -> Option<&[f32]> {
        (self.keeping() == Keeping::Levels).then(|| {
            let start = segment * SEGMENT;
            let rows = start..start + rows_of(segment, self.meta.skills);
            self.sections.slice(Part::Norms as usize, rows)
        })
    }

    /// How many skills have a term. Where that is damaged, nobody: the file is remembered to be.
    pub(super) fn document_frequency(&self, term: u32) -> u32 {
        let segments = 0..self.meta.skills.div_ceil(SEGMENT);
        let count = |segment| match self.list(segment, term) {
            Ok((list, _)) => list.count,
            Err(_) => {
                self.sections.distrust();
                0
            }
        };
        segments.map(count).sum()
    }

    /// How rare a term is, under the index's model.
    pub(super) fn idf(&self, term: u32) -> f32 {
        let worth = if self.terms().counts_half(term) { 0.5 } else { 1.0 };
        let df = self.document_frequency(term);
        (self.meta.config.model.idf(self.meta.skills, df) * worth) as f32
    }

    /// The postings of a term in a segment.
    pub(super) fn postings(&self, segment: usize, term: u32) -> Result<Postings<'_>, IndexError> {
        let (list, at) = self.list(segment, term)?;
        let rows = rows_of(segment, self.meta.skills);
        let bytes = at..at + list.size(rows, self.keeping());
        let bytes = self.sections.slice(Part::Lists as usize, bytes);
        // A stranger's file may say anything.
        let postings = list.postings(bytes, rows, self.keeping());
        postings.ok_or(IndexError::Damaged { what: "its postings are not where they should be" })
    }

    /// A term's list in a segment, and where it begins: after those before it in its bucket.
    fn list(&self, segment: usize, term: u32) -> Result<(List, usize), IndexError> {
        let Self { sections, meta } = self;
        let (bucket, position) = place(term);
        let first = segment * meta.terms + self.terms().first(bucket);
        let codes: &[u8] = sections.slice(Part::Codes as usize, first..first + position + 1);
        let damaged = || IndexError::Damaged { what: "its table of postings" };
        let (&code, before) = codes.split_last().ok_or_else(damaged)?;
        let start = segment * self.terms().buckets() + bucket;
        let mut at = sections.get::<u64>(Part::ListStarts as usize, start) as usize;
        let read = |code: u8, at: usize| match List::read(code, &[]) {
            Some(list) => Some(list),
            None => List::read(code, sections.slice(Part::Lists as usize, at..at.checked_add(8)?)),
        };
        let rows = rows_of(segment, meta.skills);
        for &code in before {
            at += read(code, at).ok_or_else(damaged)?.size(rows, self.keeping());
        }
        Ok((read(code, at).ok_or_else(damaged)?, at))
    }

    fn keeping(&self) -> Keeping {
        self.meta.config.model.keeping()
    }
}
