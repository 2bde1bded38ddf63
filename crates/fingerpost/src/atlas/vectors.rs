//! The vectors of an atlas, and coarse copies of them: a file each, mapped, checked when opened.

use std::fs::File;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use super::{Atlas, AtlasError};
use crate::embedding::{Profile, Vectors};
use crate::index::coarse::{Coarse, Coarseness};

const MAGIC: [u8; 8] = *b"FPVECTOR";
const VERSION: u32 = 1;
const BYTE_ORDER: u32 = 0x0102_0304;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    byte_order: u32,
    rows: u64,
    dimensions: u64,
    checksum: u64,
    /// What the rows keep of each number: zero for all of it.
    coarseness: u64,
    /// Fills the header up to a cache line, so that the rows are aligned.
    _unused: [u64; 2],
}

impl Header {
    fn of(rows: usize, dimensions: usize, coarseness: Option<Coarseness>, bytes: &[u8]) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER,
            rows: rows as u64,
            dimensions: dimensions as u64,
            checksum: xxh3_64(bytes),
            coarseness: number(coarseness),
            _unused: [0; 2],
        }
    }

    fn of_vectors(vectors: &Vectors) -> Self {
        let bytes = bytemuck::cast_slice(vectors.values());
        Self::of(vectors.len(), vectors.dimensions(), None, bytes)
    }

    /// Bytes that its rows have, unless the header is nonsense.
    fn size(&self) -> Option<u64> {
        let dimensions = usize::try_from(self.dimensions).ok().filter(|&n| n > 0 && n < 1 << 20)?;
        let row = match KINDS.get(usize::try_from(self.coarseness).ok()?)? {
            None => dimensions * size_of::<f32>(),
            Some(coarseness) => coarseness.row_size(dimensions),
        };
        self.rows.checked_mul(row as u64)
    }
}

/// What a file may hold; the place of each is what a header calls it.
const KINDS: [Option<Coarseness>; 3] = [None, Some(Coarseness::Bytes), Some(Coarseness::Signs)];

fn number(coarseness: Option<Coarseness>) -> u64 {
    KINDS.iter().position(|kind| *kind == coarseness).expect("all kinds are there") as u64
}

impl Atlas {
    /// Keeps vectors; the file's name says of which texts and profile they are.
    pub(super) fn keep_vectors(
        &self,
        vectors: &Vectors,
        profile: &Profile,
        library: &str,
    ) -> Result<String, AtlasError> {
        let header = Header::of_vectors(vectors);
        // The same library and profile can have other vectors after an incremental change: `fit`
        // is not trained anew for one skill. So the values are part of the name.
        let made_from = format!("{} {library} {:x}", profile.key(), header.checksum);
        let key = blake3::hash(made_from.as_bytes()).to_hex();
        let name =
            format!("{}-{}.vectors", profile.name.replace(['/', '\\', ' '], "_"), &key[..16]);
        let folder = self.path.join("vectors");
        let file = folder.join(&name);
        if !file.exists() {
            self.write_or_fail(&file, &to_bytes(vectors))?;
            self.prune(&folder);
        }
        Ok(name)
    }

    /// Keeps the bytes of a fitted model beside the vectors.
    pub(super) fn keep_model(&self, bytes: &[u8]) -> Result<String, AtlasError> {
        let name = format!("fit-{}.model", &blake3::hash(bytes).to_hex()[..16]);
        let folder = self.path.join("models");
        let file = folder.join(&name);
        if !file.exists() {
            self.write_or_fail(&file, bytes)?;
            self.prune(&folder);
        }
        Ok(name)
    }

    /// The bytes of a fitted model.
    pub fn model_bytes(&self, name: &str) -> Result<Vec<u8>, AtlasError> {
        let path = self.path.join("models").join(name);
        std::fs::read(&path).map_err(|source| AtlasError::File { action: "read", path, source })
    }

    /// Maps vectors kept before.
    pub fn open_vectors(&self, name: &str) -> Result<Vectors, AtlasError> {
        open(self.path.join("vectors").join(name))
    }
}

/// The bytes of a vectors file.
pub(super) fn to_bytes(vectors: &Vectors) -> Vec<u8> {
    let header = Header::of_vectors(vectors);
    [bytemuck::bytes_of(&header), bytemuck::cast_slice(vectors.values())].concat()
}

/// The bytes of a file with a coarse copy.
pub(super) fn coarse_to_bytes(coarse: &Coarse) -> Vec<u8> {
    let (rows, dimensions, bytes) = (coarse.len(), coarse.dimensions(), coarse.bytes());
    let header = Header::of(rows, dimensions, Some(coarse.coarseness()), bytes);
    [bytemuck::bytes_of(&header), bytes].concat()
}

/// Maps a vectors file and checks it.
pub(super) fn open(path: PathBuf) -> Result<Vectors, AtlasError> {
    let (header, map) = open_rows(&path, None)?;
    Ok(Vectors::mapped(header.dimensions as usize, map, size_of::<Header>()))
}

/// Maps a file with a coarse copy and checks it.
pub(super) fn open_coarse(path: &Path, coarseness: Coarseness) -> Result<Coarse, AtlasError> {
    let (header, map) = open_rows(path, Some(coarseness))?;
    Ok(Coarse::mapped(coarseness, header.dimensions as usize, map, size_of::<Header>()))
}

fn open_rows(
    path: &Path,
    coarseness: Option<Coarseness>,
) -> Result<(Header, memmap2::Mmap), AtlasError> {
    let failed = |source| AtlasError::File { action: "read", path: PathBuf::from(path), source };
    let file = File::open(path).map_err(failed)?;
    // SAFETY: a vectors file is never changed after it got its name.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
    let header = check(&map, coarseness).map_err(|message| AtlasError::Damaged {
        path: PathBuf::from(path),
        message: message.to_owned(),
    })?;
    Ok((header, map))
}

fn check(bytes: &[u8], coarseness: Option<Coarseness>) -> Result<Header, &'static str> {
    let head = bytes.get(..size_of::<Header>()).ok_or("too short")?;
    let header: Header = bytemuck::pod_read_unaligned(head);
    if header.magic != MAGIC || header.coarseness != number(coarseness) {
        return Err("no vectors file");
    }
    if header.version != VERSION || header.byte_order != BYTE_ORDER {
        return Err("written by another version, or on another kind of machine");
    }
    let rows = &bytes[size_of::<Header>()..];
    if header.size() != Some(rows.len() as u64) {
        return Err("cut short");
    }
    if xxh3_64(rows) != header.checksum {
        return Err("its checksum does not fit");
    }
    Ok(header)
}
