//! How is much text of many skills kept in little room, and read one skill at a time?
//!
//! A line of JSON a skill, some lines packed together: enough of them that packing pays, few enough
//! that one is unpacked quickly.

use std::cell::RefCell;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zstd::bulk::Decompressor;

use crate::sections::{Draft, FileError, Sections, Texts};

/// A chunk that claims more than this is none of ours: one document has 8 MiB at most.
const MAX_CHUNK: usize = 64 << 20;

/// How hard the packer tries: six is quick, and twelve gains little.
const LEVEL: i32 = 6;

thread_local! {
    /// What it works with is made once: it takes longer to make than to unpack a page.
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
}

/// Where something packed is.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Place {
    chunk: u32,
    /// Where it begins in the chunk.
    start: u32,
}

/// The sections of something packed.
#[derive(Clone, Copy)]
pub(super) struct PackedParts {
    pub(super) places: usize,
    pub(super) ends: usize,
    pub(super) chunks: usize,
}

impl PackedParts {
    /// Writes what was packed.
    pub(super) fn fill(self, draft: &mut Draft, packed: Packed) {
        draft.fill(self.places, packed.places);
        draft.fill(self.ends, packed.chunks.ends);
        draft.part::<u8>(self.chunks).copy_from_slice(&packed.chunks.text);
    }

    /// What is packed of one row.
    pub(super) fn one<P: DeserializeOwned>(
        self,
        file: &Sections,
        row: usize,
    ) -> Result<P, FileError> {
        let place: Place = file.get(self.places, row);
        parse(&self.chunk(file, place.chunk)?, place)
    }

    /// What is packed of every row, in their order.
    pub(super) fn all<P: DeserializeOwned + Send>(
        self,
        file: &Sections,
    ) -> Result<Vec<P>, FileError> {
        let chunks = file.len::<u64>(self.ends) as u32;
        let chunks = (0..chunks).into_par_iter().map(|at| self.chunk(file, at));
        let chunks: Vec<Vec<u8>> = chunks.collect::<Result<_, _>>()?;
        let rows = (0..file.len::<Place>(self.places)).into_par_iter();
        rows.map(|row| {
            let place: Place = file.get(self.places, row);
            parse(chunks.get(place.chunk as usize).ok_or(UNREADABLE)?, place)
        })
        .collect()
    }

    /// What is packed together, one a line.
    fn chunk(self, file: &Sections, chunk: u32) -> Result<Vec<u8>, FileError> {
        let packed = file.one_of(self.ends, self.chunks, chunk as usize);
        let size = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten();
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size = size.filter(|&size| size <= MAX_CHUNK).ok_or(UNREADABLE)?;
        UNPACKER.with_borrow_mut(|unpacker| match unpacker {
            Some(unpacker) => unpacker.decompress(packed, size).map_err(|_| UNREADABLE),
            None => Err(UNREADABLE),
        })
    }
}

/// Something of each skill, packed.
pub(super) struct Packed {
    pub(super) chunks: Texts,
    places: Vec<Place>,
}

impl Packed {
    /// Packs what is written of each, so many bytes together.
    pub(super) fn of<T: Sync, P: Serialize>(
        all: &[T],
        bytes: usize,
        of: impl Fn(&T) -> P + Sync,
    ) -> Self {
        let line = |one: &T| {
            let mut line = serde_json::to_vec(&of(one)).expect("plain data");
            line.push(b'\n');
            line
        };
        let lines: Vec<Vec<u8>> = all.par_iter().map(line).collect();
        let mut groups: Vec<Range<usize>> = Vec::new();
        let (mut places, mut start) = (Vec::with_capacity(all.len()), 0);
        for (at, line) in lines.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if start + line.len() <= bytes => group.end = at + 1,
                _ => {
                    groups.push(at..at + 1);
                    start = 0;
                }
            }
            places.push(Place { chunk: groups.len() as u32 - 1, start: start as u32 });
            start += line.len();
        }
        let pack = |group: Range<usize>| {
            let text = lines[group].concat();
            zstd::bulk::compress(&text, LEVEL).expect("memory is all it takes")
        };
        let chunks: Vec<Vec<u8>> = groups.into_par_iter().map(pack).collect();
        Self { chunks: Texts::of(chunks), places }
    }
}

const UNREADABLE: FileError = FileError::Damaged { what: "a document or page that cannot be read" };

fn parse<P: DeserializeOwned>(chunk: &[u8], place: Place) -> Result<P, FileError> {
    let rest = chunk.get(place.start as usize..).ok_or(UNREADABLE)?;
    let end = memchr::memchr(b'\n', rest).ok_or(UNREADABLE)?;
    serde_json::from_slice(&rest[..end]).map_err(|_| UNREADABLE)
}
