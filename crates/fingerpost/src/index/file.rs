//! What do the bytes of an index mean, and are they the ones that were written?
//!
//! ```text
//! header     magic, version, byte order, length of the file, checksum of the next part
//! sections   SECTIONS x (offset, length, checksum)
//! ...        the sections, each aligned to 64 bytes
//! ```
//!
//! Everything but the postings is checked when the file is opened. The postings, nearly all of the
//! file, are checked block by block when first used: opening stays a matter of milliseconds, and
//! still no damaged weight ever reaches a score.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::SparseConfig;
use super::vocabulary::Terms;

/// Version of the format, raised as well when a view shows other text; a file of another one is
/// rebuilt.
pub const FORMAT_VERSION: u32 = 4;

const MAGIC: [u8; 8] = *b"FPSPARSE";
const BYTE_ORDER: u32 = 0x0102_0304;
const ALIGNMENT: usize = 64;
const BLOCK: usize = 1 << 16;

/// Why bytes are not an index we can use. The way out of each is to build it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Some other file.
    #[error("is no sparse index")]
    NotAnIndex,
    /// Written by another version, or on a machine of the other byte order.
    #[error("has format {found}, this program reads format {FORMAT_VERSION}")]
    OtherFormat {
        /// The version found.
        found: u32,
    },
    /// Cut short, or longer than it says.
    #[error("is {actual} bytes long and should be {expected}")]
    Length {
        /// What the header says.
        expected: u64,
        /// What the file has.
        actual: u64,
    },
    /// The checksum of a part does not fit.
    #[error("is damaged: the checksum of its {part} does not fit")]
    Damaged {
        /// Which part.
        part: &'static str,
    },
}

/// What the index says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) config: SparseConfig,
    pub(super) library: String,
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

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    byte_order: u32,
    length: u64,
    sections_checksum: u64,
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Section {
    offset: u64,
    length: u64,
    checksum: u64,
}

/// The parts of the file, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Meta,
    /// Three strings a skill: id, name, start of the description.
    StringOffsets,
    Strings,
    TermSlots,
    TermOffsets,
    Terms,
    DocumentFrequency,
    Idf,
    /// The largest weight of each term, without its sign.
    Largest,
    /// Where the postings of each term start, segment by segment, and the end of the last.
    PostingStarts,
    /// Checksums of the postings' blocks.
    BlockChecksums,
    Postings,
}

const PARTS: [(Part, &str); 12] = [
    (Part::Meta, "description"),
    (Part::StringOffsets, "table of names"),
    (Part::Strings, "names"),
    (Part::TermSlots, "table of terms"),
    (Part::TermOffsets, "term offsets"),
    (Part::Terms, "terms"),
    (Part::DocumentFrequency, "document frequencies"),
    (Part::Idf, "term weights"),
    (Part::Largest, "largest weights"),
    (Part::PostingStarts, "table of postings"),
    (Part::BlockChecksums, "block checksums"),
    (Part::Postings, "postings"),
];

/// The bytes, in memory or in a mapped file.
#[derive(Debug)]
pub(super) enum Storage {
    Owned(memmap2::MmapMut),
    Mapped(memmap2::Mmap),
}

impl Storage {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Storage::Owned(bytes) => bytes,
            Storage::Mapped(map) => map,
        }
    }
}

/// Lays out a file whose sections have these sizes, and lets `fill` write into each.
pub(super) struct Draft {
    bytes: memmap2::MmapMut,
    sections: [Section; PARTS.len()],
}

impl Draft {
    pub(super) fn new(sizes: [(Part, usize); PARTS.len()]) -> Self {
        let mut at = size_of::<Header>() + size_of::<Section>() * PARTS.len();
        let sections = sizes.map(|(_, length)| {
            at = at.next_multiple_of(ALIGNMENT);
            let section = Section { offset: at as u64, length: length as u64, checksum: 0 };
            at += length;
            section
        });
        let bytes = memmap2::MmapMut::map_anon(at.next_multiple_of(8));
        let bytes = bytes.expect("as much memory as the index takes");
        // A search reads short lists from all over it, and each of them on a page of its own would
        // cost a look into the page table. No harm if the system has no large pages.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        Self { bytes, sections }
    }

    /// The bytes of a part, as elements of its type.
    pub(super) fn part<T: Pod>(&mut self, part: Part) -> &mut [T] {
        let range = range(&self.sections[part as usize]);
        bytemuck::cast_slice_mut(&mut self.bytes[range])
    }

    pub(super) fn fill<T: Pod>(&mut self, part: Part, values: impl IntoIterator<Item = T>) {
        let slots = self.part::<T>(part);
        let mut filled = 0;
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = value;
            filled += 1;
        }
        assert_eq!(filled, slots.len(), "{part:?} was given fewer values than announced");
    }

    /// Writes checksums and header.
    pub(super) fn finish(mut self) -> Storage {
        use rayon::prelude::*;
        let postings: &[u8] = self.part(Part::Postings);
        let blocks: Vec<u64> = postings.par_chunks(BLOCK).map(xxh3_64).collect();
        self.fill(Part::BlockChecksums, blocks);
        let mut sections = self.sections;
        for (section, (part, _)) in sections.iter_mut().zip(PARTS) {
            // The postings are covered by their blocks.
            section.checksum =
                if part == Part::Postings { 0 } else { xxh3_64(self.part::<u8>(part)) };
        }
        let header = Header {
            magic: MAGIC,
            version: FORMAT_VERSION,
            byte_order: BYTE_ORDER,
            length: self.bytes.len() as u64,
            sections_checksum: xxh3_64(bytemuck::cast_slice(&sections)),
        };
        let (head, rest) = self.bytes.split_at_mut(size_of::<Header>());
        head.copy_from_slice(bytemuck::bytes_of(&header));
        rest[..size_of_val(&sections)].copy_from_slice(bytemuck::cast_slice(&sections));
        Storage::Owned(self.bytes)
    }
}

/// How many checksum blocks so many bytes of postings have.
pub(super) fn block_count(bytes: usize) -> usize {
    bytes.div_ceil(BLOCK)
}

/// Where everything is in the bytes, and which blocks are known to be sound.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) meta: Meta,
    sections: [Section; PARTS.len()],
    sound: Vec<AtomicU64>,
}

impl Layout {
    pub(super) fn of(storage: &Storage) -> Result<Self, IndexError> {
        let bytes = storage.bytes();
        let head = bytes.get(..size_of::<Header>()).ok_or(IndexError::NotAnIndex)?;
        let header: Header = bytemuck::pod_read_unaligned(head);
        if header.magic != MAGIC {
            return Err(IndexError::NotAnIndex);
        }
        if header.version != FORMAT_VERSION || header.byte_order != BYTE_ORDER {
            return Err(IndexError::OtherFormat { found: header.version });
        }
        if header.length != bytes.len() as u64 {
            return Err(IndexError::Length { expected: header.length, actual: bytes.len() as u64 });
        }
        let damaged = |part| IndexError::Damaged { part };
        let table = size_of::<Header>()..size_of::<Header>() + size_of::<Section>() * PARTS.len();
        let table = bytes.get(table).ok_or(damaged("section table"))?;
        if xxh3_64(table) != header.sections_checksum {
            return Err(damaged("section table"));
        }
        let sections: [Section; PARTS.len()] = bytemuck::pod_read_unaligned(table);
        let fits = |s: &Section| s.offset.checked_add(s.length).is_some_and(|e| e <= header.length);
        if !sections.iter().all(fits) {
            return Err(damaged("section table"));
        }
        let meta: Meta = serde_json::from_slice(&bytes[range(&sections[Part::Meta as usize])])
            .map_err(|_| damaged("description"))?;
        let blocks = block_count(sections[Part::Postings as usize].length as usize);
        let sound = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { meta, sections, sound })
    }

    pub(super) fn verify_all_but_postings(&self, storage: &Storage) -> Result<(), IndexError> {
        for (part, name) in PARTS {
            let section = &self.sections[part as usize];
            if part != Part::Postings
                && xxh3_64(&storage.bytes()[range(section)]) != section.checksum
            {
                return Err(IndexError::Damaged { part: name });
            }
        }
        Ok(())
    }

    /// The postings of a term in a segment, after a check of the blocks they lie in.
    pub(super) fn postings<'a>(
        &self,
        storage: &'a Storage,
        segment: usize,
        term: u32,
    ) -> Result<Postings<'a>, IndexError> {
        let starts = self.part::<u64>(storage, Part::PostingStarts);
        let at = segment * self.meta.terms + term as usize;
        let (start, end) = (starts[at] as usize, starts[at + 1] as usize);
        if matches!(storage, Storage::Mapped(_)) && start < end {
            self.verify_blocks(storage, start..end)?;
        }
        let bytes = &self.part::<u8>(storage, Part::Postings)[start..end];
        // No rare term's postings are that long.
        if bytes.len() == rows_of(segment, self.meta.skills) * size_of::<f32>() {
            return Ok(Postings::Common { weights: bytemuck::cast_slice(bytes) });
        }
        let count = bytes.len() / (size_of::<u16>() + size_of::<f32>());
        let (rows, weights) = bytes.split_at(Postings::weights_at(count));
        let rows = &bytemuck::cast_slice(rows)[..count];
        Ok(Postings::Rare { rows, weights: bytemuck::cast_slice(weights) })
    }

    fn verify_blocks(&self, storage: &Storage, bytes: Range<usize>) -> Result<(), IndexError> {
        let all = self.part::<u8>(storage, Part::Postings);
        let checksums = self.part::<u64>(storage, Part::BlockChecksums);
        for block in bytes.start / BLOCK..=(bytes.end - 1) / BLOCK {
            let (word, bit) = (&self.sound[block / 64], 1_u64 << (block % 64));
            // Two threads may both do the check; both come to the same answer.
            if word.load(Ordering::Relaxed) & bit != 0 {
                continue;
            }
            let block_bytes = &all[block * BLOCK..((block + 1) * BLOCK).min(all.len())];
            if xxh3_64(block_bytes) != checksums[block] {
                return Err(IndexError::Damaged { part: "postings" });
            }
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Every term, and the table to find it by.
    pub(super) fn terms<'a>(&self, storage: &'a Storage) -> Terms<'a> {
        Terms {
            slots: self.part(storage, Part::TermSlots),
            offsets: self.part(storage, Part::TermOffsets),
            text: self.part(storage, Part::Terms),
        }
    }

    pub(super) fn term<'a>(&self, storage: &'a Storage, number: u32) -> &'a str {
        self.slice(storage, Part::TermOffsets, Part::Terms, number as usize)
    }

    pub(super) fn string<'a>(&self, storage: &'a Storage, number: usize) -> &'a str {
        self.slice(storage, Part::StringOffsets, Part::Strings, number)
    }

    pub(super) fn idf<'a>(&self, storage: &'a Storage) -> &'a [f32] {
        self.part(storage, Part::Idf)
    }

    pub(super) fn largest<'a>(&self, storage: &'a Storage) -> &'a [f32] {
        self.part(storage, Part::Largest)
    }

    pub(super) fn document_frequency<'a>(&self, storage: &'a Storage) -> &'a [u32] {
        self.part(storage, Part::DocumentFrequency)
    }

    fn slice<'a>(&self, storage: &'a Storage, offsets: Part, text: Part, n: usize) -> &'a str {
        let offsets = self.part::<u32>(storage, offsets);
        let bytes = &self.part::<u8>(storage, text)[offsets[n] as usize..offsets[n + 1] as usize];
        // The part's checksum has been compared, and only whole strings are ever written.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    fn part<'a, T: Pod>(&self, storage: &'a Storage, part: Part) -> &'a [T] {
        bytemuck::cast_slice(&storage.bytes()[range(&self.sections[part as usize])])
    }
}

fn range(section: &Section) -> Range<usize> {
    section.offset as usize..(section.offset + section.length) as usize
}
