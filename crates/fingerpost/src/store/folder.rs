//! An atlas in a folder: mapped files for what can be made again, logs for what is kept.
//!
//! ```text
//! made/head            which blobs count; replaced by renaming
//! made/blobs/NAME      never changed after they got their names
//! made/claims/WORK     locked by whoever does the work; the system gives it back if they die
//! kept/pages.log       and .copy, ledger.log and .copy: see `log.rs`
//! ```
//!
//! The two may be one folder, or the user's cache and data folders. Nothing is made before the
//! first write, and reading needs no right to write.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::log::{Files, clear_unfinished, replace};
use super::{Blob, Claim, Log, Record, Records, Store, StoreError, Version};

/// A store in a folder.
#[derive(Debug)]
pub struct Folder {
    made: PathBuf,
    kept: PathBuf,
    pages: Files,
    ledger: Files,
}

/// A head above this size is none of ours.
const MAX_HEAD: u64 = 64 << 20;

impl Folder {
    /// Everything in one folder, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let made = path.into();
        let kept = made.join("kept");
        Self::in_two(made, kept)
    }

    /// What can be made again in one folder, what is kept in another.
    pub fn in_two(made: impl Into<PathBuf>, kept: impl Into<PathBuf>) -> Self {
        let (made, kept) = (made.into(), kept.into());
        let pages = Files::new(&kept, Log::Pages.name());
        let ledger = Files::new(&kept, Log::Ledger.name());
        Self { made, kept, pages, ledger }
    }

    /// The folder of what can be made again.
    pub fn made(&self) -> &Path {
        &self.made
    }

    /// The folder of what is kept.
    pub fn kept(&self) -> &Path {
        &self.kept
    }

    fn files(&self, log: Log) -> &Files {
        match log {
            Log::Pages => &self.pages,
            Log::Ledger => &self.ledger,
        }
    }

    fn blob(&self, name: &str) -> PathBuf {
        debug_assert!(is_plain(name), "blobs have names, not paths: {name}");
        self.made.join("blobs").join(name)
    }

    /// A folder of ours, made if it is not there. An atlas in somebody's repository is nothing to
    /// commit by accident.
    fn folder(&self, folder: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::failed("make", folder.display(), source);
        if folder != self.made && folder != self.kept {
            no_link(folder)?;
        }
        if folder.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(folder).map_err(failed)?;
        for top in [&self.made, &self.kept] {
            let ignore = top.join(".gitignore");
            if folder.starts_with(top) && !ignore.exists() {
                fs::write(&ignore, "*\n").map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Waits for its turn to write something short.
    fn turn(&self, folder: &Path, name: &str) -> Result<File, StoreError> {
        self.folder(folder)?;
        let path = folder.join(name);
        no_link(&path)?;
        let failed = |source| StoreError::failed("lock", path.display(), source);
        let file = open_lock(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }
}

/// No name of ours leads out of the folder, whoever wrote the head that has it.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 200 && !name.starts_with('.') && name.chars().all(plain)
}

impl Store for Folder {
    fn name(&self) -> String {
        self.made.display().to_string()
    }

    fn head(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.made.join("head");
        let failed = |source| StoreError::failed("read", path.display(), source);
        let mut bytes = Vec::new();
        match File::open(&path) {
            Ok(file) => file.take(MAX_HEAD).read_to_end(&mut bytes).map_err(failed)?,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        Ok(Some(bytes))
    }

    fn commit(&self, before: Version, head: &[u8]) -> Result<(), StoreError> {
        let _turn = self.turn(&self.made, "lock")?;
        if Version::of(self.head()?.as_deref()) != before {
            return Err(StoreError::Overtaken { store: self.name() });
        }
        let path = self.made.join("head");
        clear_unfinished(&path);
        replace(&path, head).map_err(|source| StoreError::failed("write", path.display(), source))
    }

    fn get(&self, blob: &str) -> Result<Option<Blob>, StoreError> {
        if !is_plain(blob) {
            return Ok(None);
        }
        let path = self.blob(blob);
        let failed = |source| StoreError::failed("read", path.display(), source);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if file.metadata().map_err(failed)?.len() == 0 {
            // Cut to nothing: nothing that could be mapped, and nothing that was written.
            return Ok(None);
        }
        // SAFETY: a blob is never changed after it got its name: it is written under another one
        // and renamed, and another content has another name.
        unsafe { Blob::map(&file) }.map(Some).map_err(failed)
    }

    fn put(&self, blob: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.blob(blob);
        self.folder(&self.made.join("blobs"))?;
        replace(&path, bytes).map_err(|source| StoreError::failed("write", path.display(), source))
    }

    fn blobs(&self) -> Result<Vec<String>, StoreError> {
        let folder = self.made.join("blobs");
        let failed = |source| StoreError::failed("list", folder.display(), source);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry.map_err(failed)?.file_name().to_str().map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    fn remove(&self, blob: &str) -> Result<(), StoreError> {
        let path = self.made.join("blobs").join(blob);
        match fs::remove_file(&path) {
            Err(error) if !is_absent(&error) => {
                Err(StoreError::failed("remove", path.display(), error))
            }
            _ => Ok(()),
        }
    }

    /// The system's own lock, which ends with its holder: no lease is needed.
    fn claim(&self, work: &str, _lease: Duration) -> Result<Claim, StoreError> {
        let folder = self.made.join("claims");
        self.folder(&folder)?;
        let path = folder.join(work);
        no_link(&path)?;
        let failed = |source| StoreError::failed("claim", path.display(), source);
        let mut file = open_lock(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let by = fs::read_to_string(&path).ok();
                let by = by.and_then(|number| number.trim().parse::<u32>().ok());
                return Err(StoreError::Claimed {
                    work: work.to_owned(),
                    store: self.name(),
                    by: by.map(|number| format!("process {number}")),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Who it is helps a person who waits, and nothing depends on it.
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = write!(file, "{}", std::process::id());
        Ok(Claim::new(file))
    }

    fn append(&self, log: Log, records: &[Vec<u8>]) -> Result<(), StoreError> {
        let _turn = self.turn(&self.kept, "lock")?;
        self.files(log).append(records)
    }

    fn records(&self, log: Log, from: u64) -> Result<Records, StoreError> {
        self.files(log).read(from)
    }

    fn rewrite(
        &self,
        log: Log,
        keep: &mut dyn FnMut(&Record) -> bool,
    ) -> Result<usize, StoreError> {
        let _turn = self.turn(&self.kept, "lock")?;
        self.files(log).rewrite(keep)
    }

    fn mark(&self, log: Log) -> Result<u64, StoreError> {
        Ok(self.files(log).mark())
    }
}

/// A file that is there to be locked.
fn open_lock(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).read(true).write(true).open(path)
}

/// An atlas may come with a stranger's repository, and a link in it could lead anywhere: what is
/// written is written here. (A head and a blob are renamed into place, which replaces a link.)
pub(super) fn no_link(path: &Path) -> Result<(), StoreError> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => {
            let why = "it is a link, and an atlas has none: remove it";
            Err(StoreError::failed("write", path.display(), io::Error::other(why)))
        }
        _ => Ok(()),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
