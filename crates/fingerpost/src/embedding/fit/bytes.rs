//! How is a fit kept?
//!
//! ```text
//! header     magic, version, byte order, length of the description, numbers of terms and columns
//! profile    JSON
//! ends       where each term ends in the text of all, u32
//! idf        weight of each term, f32
//! steps      size of each vector's step, f32
//! values     the vectors, i8
//! terms      their text
//! checksum   of all before it, u64
//! ```

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use super::terms::Terms;
use super::{Fit, Profile, Table};

const MAGIC: [u8; 8] = *b"FPFIT\0\0\0";
const VERSION: u32 = 1;
const BYTE_ORDER: u32 = 0x0102_0304;

/// Why bytes are not a fit that we can use. The way out of each is to fit again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// Some other file.
    #[error("holds no fitted vectors")]
    NotAFit,
    /// Written by another version, or on a machine of the other byte order.
    #[error("has format {found}, this program reads format {VERSION}")]
    OtherFormat {
        /// The version found.
        found: u32,
    },
    /// Not the bytes that were written.
    #[error("is damaged: its checksum does not fit")]
    Damaged,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    byte_order: u32,
    profile: u64,
    terms: u64,
    width: u64,
}

impl Fit {
    /// The bytes to keep on disk.
    pub fn to_bytes(&self) -> Vec<u8> {
        let profile = serde_json::to_vec(&self.profile).expect("plain data");
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER,
            profile: profile.len() as u64,
            terms: self.terms.idf.len() as u64,
            width: self.table.width as u64,
        };
        let ends: Vec<u32> = self.terms.vocabulary.offsets().skip(1).collect();
        let mut bytes = bytemuck::bytes_of(&header).to_vec();
        bytes.extend_from_slice(&profile);
        bytes.extend_from_slice(bytemuck::cast_slice(&ends));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.terms.idf));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.table.steps));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.table.values));
        bytes.extend_from_slice(self.terms.vocabulary.text().as_bytes());
        bytes.extend_from_slice(&xxh3_64(&bytes).to_ne_bytes());
        bytes
    }

    /// Takes bytes that [`Fit::to_bytes`] gave, checking that they are these.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FitError> {
        let head = bytes.get(..size_of::<Header>()).ok_or(FitError::NotAFit)?;
        let header: Header = bytemuck::pod_read_unaligned(head);
        if header.magic != MAGIC {
            return Err(FitError::NotAFit);
        }
        if header.version != VERSION || header.byte_order != BYTE_ORDER {
            return Err(FitError::OtherFormat { found: header.version });
        }
        let (body, checksum) = bytes.split_last_chunk().ok_or(FitError::Damaged)?;
        if xxh3_64(body) != u64::from_ne_bytes(*checksum) {
            return Err(FitError::Damaged);
        }
        let rest = &body[size_of::<Header>()..];
        parse(&header, rest).ok_or(FitError::Damaged)
    }
}

/// `None` where the numbers of the header do not fit what follows it.
fn parse(header: &Header, mut rest: &[u8]) -> Option<Fit> {
    let (count, width) = (usize::try_from(header.terms).ok()?, usize::try_from(header.width).ok()?);
    let mut take = |length: usize| {
        let (part, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(part)
    };
    let profile: Profile =
        serde_json::from_slice(take(usize::try_from(header.profile).ok()?)?).ok()?;
    let numbers = count.checked_mul(4)?;
    let ends: Vec<u32> = copied(take(numbers)?);
    let idf: Vec<f32> = copied(take(numbers)?);
    let steps: Vec<f32> = copied(take(numbers)?);
    let values: Vec<i8> = copied(take(count.checked_mul(width)?)?);
    let text = std::str::from_utf8(rest).ok()?;
    let mut terms = Terms { idf, ..Terms::default() };
    let mut start = 0;
    for (number, &end) in ends.iter().enumerate() {
        // Two terms alike would share a number.
        if terms.vocabulary.number(text.get(start..end as usize)?) as usize != number {
            return None;
        }
        start = end as usize;
    }
    (start == text.len() && width > 0 && width == profile.dimensions).then_some(Fit {
        profile,
        terms,
        table: Table { width, steps, values },
    })
}

/// Elements from bytes of any alignment.
fn copied<T: Pod>(bytes: &[u8]) -> Vec<T> {
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    elements
}

#[cfg(test)]
mod tests {
    use super::super::FitConfig;
    use super::*;
    use crate::embedding::{Embedder, Role};

    #[test]
    fn bytes_come_back() {
        for texts in [&["merge two files", "合并文件", ""][..], &[]] {
            let (fit, _) = Fit::train(texts, &FitConfig::default());
            let bytes = fit.to_bytes();
            let back = Fit::from_bytes(&bytes).unwrap();
            assert_eq!(back.profile(), fit.profile());
            assert_eq!(back.to_bytes(), bytes);
            let embed = |fit: &Fit| fit.embed(&["merge 文件", "?"], Role::Query).unwrap();
            assert_eq!(embed(&back), embed(&fit));
        }
    }

    #[test]
    fn damage_is_found() {
        let (fit, _) = Fit::train(&["merge two files", "split one file"], &FitConfig::default());
        let bytes = fit.to_bytes();
        let error = |bytes: &[u8]| Fit::from_bytes(bytes).unwrap_err();
        assert_eq!(error(b"short"), FitError::NotAFit);
        for length in size_of::<Header>()..bytes.len() {
            assert_eq!(error(&bytes[..length]), FitError::Damaged, "cut to {length}");
        }
        for at in 16..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x40;
            assert_eq!(error(&wrong), FitError::Damaged, "byte {at}");
        }
        let mut other = bytes;
        other[8] = 9;
        assert_eq!(error(&other), FitError::OtherFormat { found: 9 });
    }
}
