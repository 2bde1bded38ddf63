//! Are the bytes of a mapped file the ones that were written?
//!
//! ```text
//! header     magic, version, byte order, length of the file, checksum of the two tables
//! sections   (offset, length) of each
//! checksums  of every block of what follows
//! ...        the sections, each aligned to 64 bytes
//! ```
//!
//! Header and tables are checked when a file is opened. All else is checked block by block when it
//! is first used, so that opening costs the same for ten skills and ten million. A block that does
//! not fit its checksum reads as nothing and is remembered: whoever answers from a file asks it
//! afterwards whether it is sound, and no damaged byte reaches an answer.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::store::Blob;

const BYTE_ORDER: u32 = 0x0102_0304;
const ALIGNMENT: usize = 64;

/// Small enough that a word here and a word there do not cost the reading of the file.
const BLOCK: usize = 1 << 14;

/// Why bytes are not a file we can use. The way out of each is to make it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Some other file.
    #[error("is no {kind}")]
    Other {
        /// What was looked for.
        kind: &'static str,
    },
    /// Written by another version, or on a machine of the other byte order.
    #[error("has format {found}, this program reads format {known}")]
    OtherFormat {
        /// The version found.
        found: u32,
        /// The one we know.
        known: u32,
    },
    /// Cut short, or longer than it says.
    #[error("is {actual} bytes long and should be {expected}")]
    Length {
        /// What the header says.
        expected: u64,
        /// What the file has.
        actual: u64,
    },
    /// A checksum does not fit, or what is in it contradicts itself.
    #[error("is damaged: {what}")]
    Damaged {
        /// What shows it.
        what: &'static str,
    },
}

/// What a file is, for those who open it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    /// In words.
    pub(crate) kind: &'static str,
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    byte_order: u32,
    length: u64,
    sections: u64,
    tables_checksum: u64,
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Section {
    offset: u64,
    length: u64,
}

impl Section {
    fn range(&self) -> Range<usize> {
        self.offset as usize..(self.offset + self.length) as usize
    }
}

/// Where the tables end and the sections begin, for so many sections and bytes.
fn tables(sections: usize, length: usize) -> (Range<usize>, usize) {
    let start = size_of::<Header>() + sections * size_of::<Section>();
    let end = start + length.div_ceil(BLOCK) * 8;
    (start..end, end.next_multiple_of(ALIGNMENT))
}

/// A file of sections.
#[derive(Debug)]
pub(crate) struct Sections {
    blob: Blob,
    table: Vec<Section>,
    checksums: Range<usize>,
    /// Blocks that are known to be sound, a bit each; none where the bytes were made here.
    checked: Option<Vec<AtomicU64>>,
    broken: AtomicBool,
}

impl Sections {
    /// Checks what the bytes claim to be.
    pub(crate) fn open(blob: Blob, format: &Format, count: usize) -> Result<Self, FileError> {
        let other = FileError::Other { kind: format.kind };
        let head = blob.get(..size_of::<Header>()).ok_or(other.clone())?;
        let header: Header = bytemuck::pod_read_unaligned(head);
        if header.magic != format.magic {
            return Err(other);
        }
        if header.version != format.version || header.byte_order != BYTE_ORDER {
            let (found, known) = (header.version, format.version);
            return Err(FileError::OtherFormat { found, known });
        }
        if header.length != blob.len() as u64 {
            let (expected, actual) = (header.length, blob.len() as u64);
            return Err(FileError::Length { expected, actual });
        }
        let damaged = |what| FileError::Damaged { what };
        if header.sections != count as u64 {
            return Err(damaged("its number of sections"));
        }
        let (checksums, body) = tables(count, blob.len());
        let both = blob.get(size_of::<Header>()..checksums.end).ok_or(damaged("its tables"))?;
        if xxh3_64(both) != header.tables_checksum {
            return Err(damaged("the checksum of its tables does not fit"));
        }
        let table: Vec<Section> = (0..count)
            .map(|at| {
                bytemuck::pod_read_unaligned(
                    &both[at * size_of::<Section>()..][..size_of::<Section>()],
                )
            })
            .collect();
        let fits = |section: &Section| {
            let end = section.offset.checked_add(section.length);
            section.offset as usize >= body && end.is_some_and(|end| end <= header.length)
        };
        if !table.iter().all(fits) {
            return Err(damaged("its table of sections"));
        }
        let blocks = blob.len().div_ceil(BLOCK);
        let checked = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { blob, table, checksums, checked: Some(checked), broken: AtomicBool::new(false) })
    }

    /// The bytes to keep.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.blob
    }

    /// How many elements a section has.
    pub(crate) fn len<T>(&self, section: usize) -> usize {
        self.table[section].length as usize / size_of::<T>()
    }

    /// All of a section, unchecked: for loops that [`check`](Self::check) what they read.
    pub(crate) fn raw<T: Pod>(&self, section: usize) -> &[T] {
        bytemuck::cast_slice(&self.blob[self.table[section].range()])
    }

    /// Some elements of a section; none if they are damaged or not there.
    pub(crate) fn slice<T: Pod>(&self, section: usize, range: Range<usize>) -> &[T] {
        let size = size_of::<T>();
        match range.start <= range.end
            && range.end <= self.len::<T>(section)
            && self.check(section, range.start * size..range.end * size)
        {
            true => &self.raw(section)[range],
            false => self.nothing(),
        }
    }

    /// One element; zero if it is damaged or not there.
    pub(crate) fn get<T: Pod>(&self, section: usize, at: usize) -> T {
        self.slice(section, at..at + 1).first().copied().unwrap_or_else(T::zeroed)
    }

    /// A part of a section of text.
    pub(crate) fn text(&self, section: usize, range: Range<usize>) -> &str {
        let bytes = self.slice(section, range);
        std::str::from_utf8(bytes).unwrap_or_else(|_| {
            self.distrust();
            ""
        })
    }

    fn nothing<T>(&self) -> &[T] {
        self.distrust();
        &[]
    }

    /// Remembers that what is in it contradicts itself.
    pub(crate) fn distrust(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// Are these bytes of a section the ones that were written?
    pub(crate) fn check(&self, section: usize, bytes: Range<usize>) -> bool {
        let Some(checked) = &self.checked else { return true };
        if bytes.is_empty() {
            return true;
        }
        let offset = self.table[section].offset as usize;
        let (first, last) = ((offset + bytes.start) / BLOCK, (offset + bytes.end - 1) / BLOCK);
        (first..=last).all(|block| {
            let (word, bit) = (&checked[block / 64], 1_u64 << (block % 64));
            // Two threads may both do the check; both come to the same answer.
            word.load(Ordering::Relaxed) & bit != 0 || self.check_block(block, word, bit)
        })
    }

    #[cold]
    fn check_block(&self, block: usize, word: &AtomicU64, bit: u64) -> bool {
        let checksum = &self.blob[self.checksums.clone()][block * 8..][..8];
        let checksum = u64::from_ne_bytes(checksum.try_into().expect("eight bytes"));
        if checksum != checksum_of(&self.blob, block, self.checksums.end) {
            self.broken.store(true, Ordering::Relaxed);
            return false;
        }
        word.fetch_or(bit, Ordering::Relaxed);
        true
    }

    /// Was everything sound that was read so far?
    pub(crate) fn sound(&self) -> Result<(), FileError> {
        match self.broken.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(FileError::Damaged { what: "a checksum does not fit" }),
        }
    }

    /// Is all of it sound?
    pub(crate) fn check_all(&self) -> Result<(), FileError> {
        (0..self.table.len()).into_par_iter().for_each(|section| {
            self.check(section, 0..self.table[section].length as usize);
        });
        self.sound()
    }
}

/// The checksum of a block, but for what lies before the end of the tables, which are covered
/// already and hold the checksum itself.
fn checksum_of(bytes: &[u8], block: usize, tables_end: usize) -> u64 {
    let range = (block * BLOCK).max(tables_end)..((block + 1) * BLOCK).min(bytes.len());
    if range.start < range.end { xxh3_64(&bytes[range]) } else { 0 }
}

/// A file of sections while it is being made.
pub(crate) struct Draft {
    bytes: memmap2::MmapMut,
    table: Vec<Section>,
}

impl Draft {
    /// Lays out sections of these sizes, all zeros.
    ///
    /// # Panics
    /// If there is not as much memory.
    pub(crate) fn new(sizes: &[usize]) -> Self {
        // The tables grow with the file, which grows with them: an upper bound is enough.
        let body: usize = sizes.iter().map(|size| size.next_multiple_of(ALIGNMENT)).sum();
        let mut length = body;
        loop {
            let total = tables(sizes.len(), length).1 + body;
            if total <= length {
                break;
            }
            length = total;
        }
        let mut at = tables(sizes.len(), length).1;
        let place = |&size: &usize| {
            let section = Section { offset: at as u64, length: size as u64 };
            at = (at + size).next_multiple_of(ALIGNMENT);
            section
        };
        let table = sizes.iter().map(place).collect();
        let bytes = memmap2::MmapMut::map_anon(length.max(size_of::<Header>()));
        let bytes = bytes.expect("as much memory as the file takes");
        // A search reads short lists from all over it, and each of them on a page of its own would
        // cost a look into the page table. No harm if the system has no large pages.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        Self { bytes, table }
    }

    /// The elements of a section.
    pub(crate) fn part<T: Pod>(&mut self, section: usize) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.bytes[self.table[section].range()])
    }

    /// Fills a section.
    ///
    /// # Panics
    /// If there are fewer values than it has room for.
    pub(crate) fn fill<T: Pod>(&mut self, section: usize, values: impl IntoIterator<Item = T>) {
        let slots = self.part::<T>(section);
        let mut filled = 0;
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = value;
            filled += 1;
        }
        assert_eq!(filled, slots.len(), "section {section} was given fewer values than announced");
    }

    /// Writes checksums and header.
    pub(crate) fn finish(mut self, format: &Format) -> Sections {
        let (checksums, _) = tables(self.table.len(), self.bytes.len());
        let blocks = self.bytes.len().div_ceil(BLOCK);
        let sums: Vec<u64> = (0..blocks)
            .into_par_iter()
            .map(|block| checksum_of(&self.bytes, block, checksums.end))
            .collect();
        self.bytes[size_of::<Header>()..checksums.start]
            .copy_from_slice(bytemuck::cast_slice(&self.table));
        self.bytes[checksums.clone()].copy_from_slice(bytemuck::cast_slice(&sums));
        let header = Header {
            magic: format.magic,
            version: format.version,
            byte_order: BYTE_ORDER,
            length: self.bytes.len() as u64,
            sections: self.table.len() as u64,
            tables_checksum: xxh3_64(&self.bytes[size_of::<Header>()..checksums.end]),
        };
        self.bytes[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
        let blob = Blob::from_memory(self.bytes);
        Sections {
            blob,
            table: self.table,
            checksums,
            checked: None,
            broken: AtomicBool::new(false),
        }
    }
}

/// Texts one after another: where each ends, and all of them.
pub(crate) struct Texts {
    pub(crate) ends: Vec<u64>,
    pub(crate) text: Vec<u8>,
}

impl Texts {
    pub(crate) fn of<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut all = Self { ends: Vec::new(), text: Vec::new() };
        for text in texts {
            all.text.extend_from_slice(text.as_ref());
            all.ends.push(all.text.len() as u64);
        }
        all
    }
}

impl Sections {
    /// The bytes of one of many texts, by the section of their ends and that of the texts.
    pub(crate) fn one_of(&self, ends: usize, texts: usize, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.get::<u64>(ends, at - 1) };
        self.slice(texts, start as usize..self.get::<u64>(ends, at) as usize)
    }

    /// The same, as text.
    pub(crate) fn text_of(&self, ends: usize, texts: usize, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.get::<u64>(ends, at - 1) };
        self.text(texts, start as usize..self.get::<u64>(ends, at) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { magic: *b"FPTESTED", version: 3, kind: "test" };

    fn file() -> Sections {
        let mut draft = Draft::new(&[40_000, 0, 12]);
        draft.fill(0, (0..10_000_u32).map(|n| n * 7));
        draft.fill(2, *b"text of ours");
        draft.finish(&FORMAT)
    }

    #[test]
    fn what_is_written_is_read() {
        let made = file();
        let opened = Sections::open(Blob::of(made.bytes()), &FORMAT, 3).unwrap();
        for file in [&made, &opened] {
            assert_eq!(file.get::<u32>(0, 9_999), 69_993);
            assert!(file.slice::<u8>(1, 0..0).is_empty());
            assert_eq!(file.text(2, 5..7), "of");
            assert_eq!(file.sound(), Ok(()));
        }
        // What is not there is not there, and does not panic.
        assert_eq!(opened.get::<u32>(0, 10_000), 0);
        assert!(opened.sound().is_err());
    }

    /// Wherever a bit flips or the file is cut, it shows before the damaged value is used.
    #[test]
    fn damage_shows_wherever_it_is() {
        let sound = file().bytes().to_vec();
        for at in (0..sound.len()).step_by(61) {
            let mut damaged = sound.clone();
            damaged[at] ^= 1 << (at % 8);
            let shown = match Sections::open(Blob::of(&damaged), &FORMAT, 3) {
                Err(_) => true,
                Ok(file) => {
                    let values = file.slice::<u32>(0, 0..10_000).to_vec();
                    let text = file.text(2, 0..12).to_owned();
                    let right = values.iter().zip(0..).all(|(value, n)| *value == n * 7);
                    file.sound().is_err()
                        || (right && values.len() == 10_000 && text == "text of ours")
                }
            };
            assert!(shown, "a flipped bit at {at}");
            assert!(Sections::open(Blob::of(&sound[..at]), &FORMAT, 3).is_err(), "cut at {at}");
        }
    }
}
