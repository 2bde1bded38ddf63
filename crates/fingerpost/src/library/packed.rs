//! How is a file opened, and how much may come out of it?
//!
//! A hundred kilobytes can unpack to gigabytes, and a file without blocks on the disk can be of any
//! length. So every reading has an end: what a file unpacks to is bounded in all and beside its
//! packed size, and what is read whole is bounded by itself.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The most text that is read from one file, packed or not.
const MAX_TEXT_BYTES: u64 = 4 << 30;

/// The most text that is held at once: an array of records, queries, judgements, runs.
pub(super) const MAX_WHOLE_BYTES: u64 = 1 << 30;

/// What a packed file may always unpack to.
const HARMLESS_BYTES: u64 = 64 << 20;

/// Beyond that, a file may unpack to so many times its size: skills pack to a tenth, and a file of
/// a single byte, repeated, to a ten thousandth.
const MAX_RATIO: u64 = 1000;

/// Zstandard keeps a window of the text in memory, as large as the packed file says: at most 128
/// MiB, which `zstd --long` asks for.
const MAX_WINDOW_LOG: u32 = 27;

/// Why the reading of a file was ended by us.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(super) enum TooMuch {
    /// It unpacks to too many times its size.
    #[error(
        "the file unpacks to more than {} MiB, over {MAX_RATIO} times its size, as no text does",
        limit >> 20
    )]
    Ratio { limit: u64 },
    /// It is too long.
    #[error("the file holds more than {} MiB", limit >> 20)]
    Length { limit: u64 },
}

impl TooMuch {
    /// Is this what ended a reading?
    pub(super) fn is_reason_of(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<TooMuch>())
    }
}

impl From<TooMuch> for io::Error {
    fn from(reason: TooMuch) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, reason)
    }
}

/// Opens a file for reading, unpacking gzip and Zstandard by what its first bytes say.
pub(super) fn open(file: &Path) -> io::Result<impl BufRead + use<>> {
    let file = File::open(file)?;
    let size = file.metadata()?.len();
    let mut raw = BufReader::with_capacity(1 << 16, file);
    let head = raw.fill_buf()?;
    let (inner, reason): (Box<dyn BufRead>, _) = if head.starts_with(&[0x1f, 0x8b]) {
        let unpacked = flate2::bufread::MultiGzDecoder::new(raw);
        (Box::new(BufReader::with_capacity(1 << 16, unpacked)), limit_of_packed(size))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut unpacked = zstd::Decoder::with_buffer(raw)?;
        unpacked.window_log_max(MAX_WINDOW_LOG)?;
        (Box::new(BufReader::with_capacity(1 << 16, unpacked)), limit_of_packed(size))
    } else {
        (Box::new(raw), TooMuch::Length { limit: MAX_TEXT_BYTES })
    };
    Ok(Bounded::new(inner, reason))
}

fn limit_of_packed(size: u64) -> TooMuch {
    let limit = size.saturating_mul(MAX_RATIO).max(HARMLESS_BYTES);
    if limit < MAX_TEXT_BYTES {
        TooMuch::Ratio { limit }
    } else {
        TooMuch::Length { limit: MAX_TEXT_BYTES }
    }
}

/// A reader that fails where its limit is passed.
struct Bounded<R> {
    inner: R,
    left: u64,
    reason: TooMuch,
}

impl<R: BufRead> Bounded<R> {
    fn new(inner: R, reason: TooMuch) -> Self {
        let (TooMuch::Ratio { limit: left } | TooMuch::Length { limit: left }) = reason;
        Self { inner, left, reason }
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let filled = self.inner.fill_buf()?;
        if self.left == 0 && !filled.is_empty() {
            return Err(self.reason.into());
        }
        Ok(&filled[..filled.len().min(usize::try_from(self.left).unwrap_or(usize::MAX))])
    }

    fn consume(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount as u64);
        self.inner.consume(amount);
    }
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

/// Reads everything into `bytes`, up to the most that is held at once. What was read before an
/// error stays.
pub(super) fn read_whole(reader: impl BufRead, bytes: &mut Vec<u8>) -> io::Result<()> {
    let reason = TooMuch::Length { limit: MAX_WHOLE_BYTES };
    Bounded::new(reader, reason).read_to_end(bytes).map(drop)
}

/// Reads a whole text file, unpacking it if it is packed: queries, judgements and runs come this way.
///
/// Fails for a file of more than a gigabyte, packed or not, and for one that unpacks to more than a
/// thousand times its size.
pub fn read_unpacked(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    read_whole(open(file)?, &mut bytes)?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8"))
    })
}

/// Reads at most `limit` bytes of a file; `None` if it holds more.
pub(super) fn read_capped(file: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_reader_gives_what_is_allowed_and_then_fails() {
        let text = |limit| {
            let mut bytes = Vec::new();
            let reason = TooMuch::Length { limit };
            let read = Bounded::new(&b"0123456789"[..], reason).read_to_end(&mut bytes);
            (read.map_err(|error| TooMuch::is_reason_of(&error)), String::from_utf8(bytes).unwrap())
        };
        assert_eq!(text(11), (Ok(10), "0123456789".to_owned()));
        assert_eq!(text(10), (Ok(10), "0123456789".to_owned()));
        assert_eq!(text(9), (Err(true), "012345678".to_owned()));
        assert_eq!(text(0), (Err(true), String::new()));
    }

    #[test]
    fn what_a_packed_file_may_hold_depends_on_its_size() {
        let limit = |size| match limit_of_packed(size) {
            TooMuch::Ratio { limit } => (true, limit),
            TooMuch::Length { limit } => (false, limit),
        };
        assert_eq!(limit(0), (true, 64 << 20));
        assert_eq!(limit(60_000), (true, 64 << 20));
        assert_eq!(limit(101_000), (true, 101_000_000));
        assert_eq!(limit(23_226_055), (false, 4 << 30));
        assert_eq!(limit(u64::MAX), (false, 4 << 30));
    }
}
