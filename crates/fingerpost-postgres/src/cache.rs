//! Where does a node keep the blobs that it fetched?
//!
//! In files named by the digest of what is in them, so that several atlases and processes share them. Each is
//! written under another name, checked, and renamed; from then on it never changes, and is mapped. What was
//! not used for longest goes when there is more than the cache may hold; whoever has it open keeps it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use fingerpost::store::Blob;
use tempfile::NamedTempFile;

/// How the names of unfinished files begin.
const UNFINISHED: &str = "unfinished-";

/// An unfinished file that nobody has touched for this long was left by somebody who died.
const ABANDONED: std::time::Duration = std::time::Duration::from_secs(3600);

/// A folder of blobs.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    /// Bytes at most.
    bound: u64,
    /// Look at all of a file before it is used: something was found damaged.
    doubts: AtomicBool,
}

/// A file that is being fetched.
pub(crate) struct Unfinished {
    file: NamedTempFile,
    hasher: Box<blake3::Hasher>,
}

impl Unfinished {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes)
    }
}

impl Cache {
    pub(crate) fn new(folder: PathBuf, bound: u64) -> Self {
        Self { folder, bound, doubts: AtomicBool::new(false) }
    }

    /// From now on, nothing is believed without having been read.
    pub(crate) fn doubt(&self) {
        self.doubts.store(true, Ordering::Relaxed);
    }

    fn path(&self, digest: &[u8; 32]) -> PathBuf {
        self.folder.join(blake3::Hash::from_bytes(*digest).to_hex().as_str())
    }

    /// The blob with this digest, if it is here.
    pub(crate) fn get(&self, digest: &[u8; 32], length: u64) -> Option<Blob> {
        if length == 0 {
            return Some(Blob::of(&[]));
        }
        let path = self.path(digest);
        let file = File::open(&path).ok()?;
        let blob = map(&file, length)?;
        if self.doubts.load(Ordering::Relaxed) && blake3::hash(&blob).as_bytes() != digest {
            let _ = fs::remove_file(&path);
            return None;
        }
        // When it was used last. Where that cannot be written, it goes a little early.
        let _ = file.set_modified(SystemTime::now());
        Some(blob)
    }

    /// The turn to fetch a blob: one process of a node fetches it, and the others wait for that. `None` where no
    /// file can be made.
    pub(crate) fn turn(&self, digest: &[u8; 32]) -> Option<File> {
        let locks = self.folder.join("locks");
        fs::create_dir_all(&locks).ok()?;
        let options = File::options().create(true).truncate(false).write(true).to_owned();
        let file = options.open(locks.join(format!("{:02x}", digest[0]))).ok()?;
        file.lock().ok()?;
        Some(file)
    }

    /// A new file.
    pub(crate) fn begin(&self) -> io::Result<Unfinished> {
        fs::create_dir_all(&self.folder)?;
        let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        Ok(Unfinished { file, hasher: Box::default() })
    }

    /// The file is whole: it gets its name, if it is what it should be; `None` if not.
    pub(crate) fn finish(
        &self,
        unfinished: Unfinished,
        digest: &[u8; 32],
        length: u64,
    ) -> io::Result<Option<Blob>> {
        let Unfinished { file, hasher } = unfinished;
        if hasher.finalize().as_bytes() != digest {
            return Ok(None);
        }
        let path = self.path(digest);
        let file = file.persist(&path).map_err(|error| error.error)?;
        let blob = map(&file, length);
        self.shrink(&path);
        Ok(blob)
    }

    /// Keeps bytes that are known here already: they need not be fetched.
    pub(crate) fn keep(&self, bytes: &[u8], digest: &[u8; 32]) -> io::Result<()> {
        let length = bytes.len() as u64;
        if self.get(digest, length).is_some_and(|blob| *blob == *bytes) {
            return Ok(());
        }
        let mut unfinished = self.begin()?;
        unfinished.write(bytes)?;
        self.finish(unfinished, digest, length).map(drop)
    }

    /// Takes a blob out.
    pub(crate) fn remove(&self, digest: &[u8; 32]) {
        // What cannot go now goes when there is too much.
        let _ = fs::remove_file(self.path(digest));
    }

    /// Makes room; the file that came last stays.
    fn shrink(&self, last: &Path) {
        let mut files: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let (Ok(about), path) = (entry.metadata(), entry.path()) else { continue };
            let Ok(used) = about.modified() else { continue };
            if !about.is_file() {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                if used.elapsed().is_ok_and(|since| since > ABANDONED) {
                    let _ = fs::remove_file(&path);
                }
                continue;
            }
            files.push((used, path, about.len()));
        }
        files.sort();
        let mut all: u64 = files.iter().map(|(.., length)| length).sum();
        for (_, path, length) in files {
            if all <= self.bound {
                break;
            }
            if path != last && fs::remove_file(&path).is_ok() {
                all -= length;
            }
        }
    }
}

/// A file of this length, mapped.
fn map(file: &File, length: u64) -> Option<Blob> {
    if length == 0 {
        return Some(Blob::of(&[]));
    }
    if file.metadata().ok()?.len() != length {
        return None;
    }
    // SAFETY: a file of the cache is never changed after it got its name: it is written under another one and
    // renamed, and other bytes have another digest.
    unsafe { Blob::map(file) }.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8]) -> [u8; 32] {
        *blake3::hash(bytes).as_bytes()
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("blobs"), 250);
        let blobs: Vec<Vec<u8>> = (0..4_u8).map(|n| vec![n; 100]).collect();
        for blob in &blobs[..2] {
            cache.keep(blob, &digest(blob)).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let open = cache.get(&digest(&blobs[1]), 100).unwrap();
        let first = cache.get(&digest(&blobs[0]), 100).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        cache.keep(&blobs[2], &digest(&blobs[2])).unwrap();
        let is_here = |blob: &Vec<u8>| cache.get(&digest(blob), 100).is_some();
        assert_eq!(blobs.iter().map(is_here).collect::<Vec<_>>(), [true, false, true, false]);
        assert_eq!(
            (&open[..], &first[..]),
            (&blobs[1][..], &blobs[0][..]),
            "whoever has it open keeps it"
        );
    }

    #[test]
    fn bytes_that_are_not_what_they_should_be_get_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_path_buf(), 1000);
        let mut unfinished = cache.begin().unwrap();
        unfinished.write(b"other").unwrap();
        assert!(cache.finish(unfinished, &digest(b"right"), 5).unwrap().is_none());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_file_is_noticed_where_there_is_doubt_and_by_its_length_always() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_path_buf(), 1000);
        let of = digest(b"right");
        cache.keep(b"right", &of).unwrap();
        fs::write(cache.path(&of), "wrong").unwrap();
        assert_eq!(&cache.get(&of, 5).unwrap()[..], b"wrong", "not read, and so not noticed");
        cache.doubt();
        assert!(cache.get(&of, 5).is_none());
        cache.keep(b"right", &of).unwrap();
        fs::write(cache.path(&of), "right and more").unwrap();
        assert!(cache.get(&of, 5).is_none());
    }
}
