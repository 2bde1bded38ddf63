//! What do the bytes of an index mean?
//!
//! A file of [`Sections`]: names, a hash table of terms, weights of terms, and postings. In memory
//! and on disk it is the same bytes.

use serde::{Deserialize, Serialize};

use super::SparseConfig;
use super::vocabulary::Terms;
pub use crate::sections::FileError as IndexError;
use crate::sections::{Format, Sections};
use crate::store::Blob;

/// Version of the format, raised as well when a view shows other text; a file of another one is
/// rebuilt.
pub const FORMAT_VERSION: u32 = 5;

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
}

/// Rows of one segment: so many that a row of it fits in two bytes. Short postings are read
/// quicker, and an index of two bytes into as many scores needs no check.
pub(super) const SEGMENT: usize = 1 << 16;

/// The skills of one segment that have a term, and what the term counts in each.
#[derive(Debug, Clone, Copy)]
pub(super) enum Postings<'a> {
    /// Few have it: the rows that do, ascending, and the weight of each. In the file the rows come
    /// first, then, aligned, the weights.
    Rare { rows: &'a [u16], weights: &'a [f32] },
    /// Many have it: the weight of every row, zero for those that do not. That takes up to
    /// three times the space, and the weight of any row is at hand.
    Common { weights: &'a [f32] },
}

impl Postings<'_> {
    /// Do so many of a segment's rows make a common term?
    pub(super) fn is_common(count: usize, rows: usize) -> bool {
        count * 5 > rows
    }

    /// Bytes of so many in a segment of so many rows.
    pub(super) fn size(count: usize, rows: usize) -> usize {
        match Self::is_common(count, rows) {
            true => rows * size_of::<f32>(),
            false => Self::weights_at(count) + count * size_of::<f32>(),
        }
    }

    /// Where, of so many of a rare term, the weights begin.
    pub(super) fn weights_at(count: usize) -> usize {
        (count * size_of::<u16>()).next_multiple_of(size_of::<f32>())
    }
}

/// Rows of a segment; all but the last are full.
pub(super) fn rows_of(segment: usize, skills: usize) -> usize {
    (skills - segment * SEGMENT).min(SEGMENT)
}

/// The parts of the file, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Meta,
    /// Three strings a skill: id, name, start of the description.
    StringEnds,
    Strings,
    /// Hashes of the names, ascending, and the row of each: a long request can name dozens of
    /// things, and each may be a skill.
    NameHashes,
    NameRows,
    TermSlots,
    TermOffsets,
    Terms,
    DocumentFrequency,
    Idf,
    /// The largest weight of each term, without its sign.
    Largest,
    /// Where the postings of each term start, segment by segment, and the end of the last.
    PostingStarts,
    Postings,
}

pub(super) const PARTS: usize = Part::Postings as usize + 1;

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
        let expected = [
            (Part::StringEnds, meta.skills * 3 * 8),
            (Part::NameHashes, meta.skills * 8),
            (Part::NameRows, meta.skills * 4),
            (Part::TermOffsets, (meta.terms + 1) * 4),
            (Part::DocumentFrequency, meta.terms * 4),
            (Part::Idf, meta.terms * 4),
            (Part::Largest, meta.terms * 4),
            (Part::PostingStarts, (meta.skills.div_ceil(SEGMENT) * meta.terms + 1) * 8),
        ];
        let fits = |&(part, size): &(Part, usize)| sections.len::<u8>(part as usize) == size;
        let slots = sections.len::<u64>(Part::TermSlots as usize);
        if !expected.iter().all(fits) || !slots.is_power_of_two() {
            return Err(damaged("its table of sections"));
        }
        Ok(Self { meta, sections })
    }

    /// The postings of a term in a segment.
    pub(super) fn postings(&self, segment: usize, term: u32) -> Result<Postings<'_>, IndexError> {
        let sections = &self.sections;
        let at = segment * self.meta.terms + term as usize;
        let &[start, end] = sections.slice::<u64>(Part::PostingStarts as usize, at..at + 2) else {
            return Err(IndexError::Damaged { what: "its table of postings" });
        };
        let bytes: &[u8] = sections.slice(Part::Postings as usize, start as usize..end as usize);
        if bytes.len() as u64 != end.wrapping_sub(start) {
            return Err(IndexError::Damaged { what: "the checksum of its postings does not fit" });
        }
        // A stranger's file may say anything; ours are aligned.
        let strange = |_| IndexError::Damaged { what: "its postings are not where they should be" };
        // No rare term's postings are that long.
        if bytes.len() == rows_of(segment, self.meta.skills) * size_of::<f32>() {
            let weights = bytemuck::try_cast_slice(bytes).map_err(strange)?;
            return Ok(Postings::Common { weights });
        }
        let count = bytes.len() / (size_of::<u16>() + size_of::<f32>());
        let (rows, weights) = bytes.split_at(Postings::weights_at(count));
        let rows = &bytemuck::try_cast_slice(rows).map_err(strange)?[..count];
        Ok(Postings::Rare { rows, weights: bytemuck::try_cast_slice(weights).map_err(strange)? })
    }

    /// Every term, and the table to find it by.
    pub(super) fn terms(&self) -> Terms<'_> {
        Terms {
            sections: &self.sections,
            slots: Part::TermSlots as usize,
            offsets: Part::TermOffsets as usize,
            text: Part::Terms as usize,
        }
    }

    pub(super) fn term(&self, number: u32) -> &str {
        std::str::from_utf8(self.terms().term(number)).unwrap_or_default()
    }

    pub(super) fn string(&self, number: usize) -> &str {
        self.sections.text_of(Part::StringEnds as usize, Part::Strings as usize, number)
    }

    pub(super) fn idf(&self, term: u32) -> f32 {
        self.sections.get(Part::Idf as usize, term as usize)
    }

    /// The weights of all terms, of which those of `used` are checked.
    pub(super) fn idfs(&self, used: &[u32]) -> &[f32] {
        for &term in used {
            self.idf(term);
        }
        self.sections.raw(Part::Idf as usize)
    }

    pub(super) fn largest(&self, term: u32) -> f32 {
        self.sections.get(Part::Largest as usize, term as usize)
    }

    pub(super) fn document_frequency(&self, term: u32) -> u32 {
        self.sections.get(Part::DocumentFrequency as usize, term as usize)
    }

    /// The rows of the skills whose names have this hash.
    pub(super) fn named(&self, hash: u64) -> impl Iterator<Item = u32> {
        let (hashes, rows) = (Part::NameHashes as usize, Part::NameRows as usize);
        let at = |at: usize| self.sections.get::<u64>(hashes, at);
        let (mut low, mut high) = (0, self.meta.skills);
        while low < high {
            let middle = usize::midpoint(low, high);
            if at(middle) < hash { low = middle + 1 } else { high = middle }
        }
        (low..self.meta.skills)
            .take_while(move |&place| self.sections.get::<u64>(hashes, place) == hash)
            .map(move |place| self.sections.get(rows, place))
            .filter(|&row: &u32| (row as usize) < self.meta.skills)
    }
}
