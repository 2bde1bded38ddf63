//! The vectors of an atlas: one file, mapped, checked when opened.

use std::fs::File;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use super::{Atlas, AtlasError};
use crate::embedding::{Profile, Vectors};

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
    /// Fills the header up to a cache line, so that the rows are aligned.
    _unused: [u64; 3],
}

impl Header {
    fn of(vectors: &Vectors) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER,
            rows: vectors.len() as u64,
            dimensions: vectors.dimensions() as u64,
            checksum: xxh3_64(bytemuck::cast_slice(vectors.values())),
            _unused: [0; 3],
        }
    }
}

impl Atlas {
    /// Keeps vectors; the file's name says of which texts and profile they are.
    pub(super) fn keep_vectors(
        &self,
        vectors: &Vectors,
        profile: &Profile,
        library: &str,
    ) -> Result<String, AtlasError> {
        let header = Header::of(vectors);
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
    [bytemuck::bytes_of(&Header::of(vectors)), bytemuck::cast_slice(vectors.values())].concat()
}

/// Maps a vectors file and checks it.
pub(super) fn open(path: PathBuf) -> Result<Vectors, AtlasError> {
    let failed = |source| AtlasError::File { action: "read", path: path.clone(), source };
    let file = File::open(&path).map_err(failed)?;
    // SAFETY: a vectors file is never changed after it got its name.
    let map = unsafe { memmap2::Mmap::map(&file) }.map_err(failed)?;
    check(&path, &map)?;
    let header: Header = bytemuck::pod_read_unaligned(&map[..size_of::<Header>()]);
    Ok(Vectors::mapped(header.dimensions as usize, map, size_of::<Header>()))
}

fn check(path: &Path, bytes: &[u8]) -> Result<(), AtlasError> {
    let damaged = |message: &str| {
        Err(AtlasError::Damaged { path: PathBuf::from(path), message: message.to_owned() })
    };
    let Some(head) = bytes.get(..size_of::<Header>()) else { return damaged("too short") };
    let header: Header = bytemuck::pod_read_unaligned(head);
    if header.magic != MAGIC {
        return damaged("no vectors file");
    }
    if header.version != VERSION || header.byte_order != BYTE_ORDER {
        return damaged("written by another version, or on another kind of machine");
    }
    let values = &bytes[size_of::<Header>()..];
    let expected = header.rows.checked_mul(header.dimensions).and_then(|n| n.checked_mul(4));
    if expected != Some(values.len() as u64) || header.dimensions == 0 {
        return damaged("cut short");
    }
    if xxh3_64(values) != header.checksum {
        return damaged("its checksum does not fit");
    }
    Ok(())
}
