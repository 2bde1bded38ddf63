//! Where is the compiled library kept, and is it still the one on disk?
//!
//! An atlas is one directory. What is large (indexes, vectors) lies in files named by a digest of
//! everything they were made from, written under a temporary name and renamed, so that a reader
//! sees a whole file or none. What says which of them count (skills, neighborhoods, settings) lies
//! in one SQLite file and changes in one transaction. A kill at any moment leaves the last whole
//! state and at most a temporary file. One process writes at a time; any number read.

mod catalog;
mod dense;
mod ledger;
mod pages;
mod recorded;
mod sparse;
mod vectors;

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

pub use self::catalog::{Catalog, Compiled, SkillRow};
pub use self::ledger::{Batch, Ledger, Spend};
pub use self::recorded::{Budget, Outbox, Recorded, Spent};
pub use self::sparse::{Opened, Provenance};
use crate::diagnostic::Diagnostic;
use crate::embedding::EmbedError;
use crate::index::IndexError;
use crate::library::{LoadError, LoadOptions, Root, stamp};

/// The directory of an atlas.
#[derive(Debug, Clone)]
pub struct Atlas {
    path: PathBuf,
}

/// Why the atlas could not be used.
#[derive(Debug, thiserror::Error)]
pub enum AtlasError {
    /// The library could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An index file turned out damaged while it was in use.
    #[error("cannot use {}; delete it and run the command again to rebuild it", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: IndexError,
    },
    /// A file or folder of the atlas could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The catalog could not be read or written.
    #[error("cannot use {}; move it away to compile anew, or name another --atlas", path.display())]
    Catalog {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The atlas was made by a later version.
    #[error("{} has format {found}, this program knows formats up to {known}; use a newer fingerpost, or another --atlas", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The latest we know.
        known: i64,
    },
    /// A view of pages was asked for, and the pages are not those of the library on disk.
    #[error("{} has no pages of this library as it is now; run `fingerpost compile` first", path.display())]
    NotCompiled {
        /// The atlas.
        path: PathBuf,
    },
    /// Texts could not be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// Another process is writing.
    #[error("{} is being written by another fingerpost{}; wait for it, or use another --atlas", path.display(), writer.map_or(String::new(), |pid| format!(" (process {pid})")))]
    Locked {
        /// The atlas.
        path: PathBuf,
        /// The process, if it left its number.
        writer: Option<u32>,
    },
    /// What was written cannot be read back.
    #[error("{} is damaged ({message}); run `fingerpost compile --rebuild`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

/// What is remembered of the library between two runs.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    stamp: String,
    library: String,
    findings: usize,
}

/// The right to write to an atlas, held until dropped.
#[derive(Debug)]
pub struct WriteLock {
    _file: File,
}

/// Files of one kind that are kept: those of the last few versions of the library.
const KEPT_FILES: usize = 8;

impl Atlas {
    /// The atlas in this directory, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where a library's atlas is by default: `.fingerpost` in its folder, or beside its file.
    pub fn default_path(root: &Path) -> PathBuf {
        let folder = if root.is_file() { root.parent().unwrap_or(Path::new("")) } else { root };
        folder.join(".fingerpost")
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the right to write, or says who has it. The system gives it back when the process
    /// ends, however it ends.
    pub fn lock(&self) -> Result<WriteLock, AtlasError> {
        let path = self.path.join("lock");
        let failed = |source| AtlasError::File { action: "write", path: path.clone(), source };
        fs::create_dir_all(&self.path).map_err(failed)?;
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let writer = fs::read_to_string(&path).ok().and_then(|pid| pid.trim().parse().ok());
                return Err(AtlasError::Locked { path: self.path.clone(), writer });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(WriteLock { _file: file })
    }

    /// How many findings the last loading had, if the library is remembered.
    pub fn remembered_findings(&self) -> usize {
        self.remembered().map_or(0, |remembered| remembered.findings)
    }

    /// Is the library on disk still the one that was compiled last?
    pub fn is_current(&self, roots: &[Root], options: LoadOptions, compiled: &Compiled) -> bool {
        self.stamp(roots, options).is_some_and(|stamp| stamp == compiled.stamp)
    }

    fn remembered(&self) -> Option<Remembered> {
        serde_json::from_slice(&fs::read(self.path.join("library.json")).ok()?).ok()
    }

    /// What the library's files look like from outside; `None` where they change under our eyes:
    /// then nothing is remembered.
    pub fn stamp(&self, roots: &[Root], options: LoadOptions) -> Option<String> {
        let files = stamp(roots).ok()?;
        let settings = format!("{} {}", options.include_manual, env!("CARGO_PKG_VERSION"));
        let mut hasher = blake3::Hasher::new();
        hasher.update(files.as_bytes()).update(settings.as_bytes());
        Some(hasher.finalize().to_hex().to_string())
    }

    /// Writes a file that can be done without: a failure is a finding.
    fn write(&self, target: &Path, bytes: &[u8]) -> Result<(), Box<Diagnostic>> {
        self.replace(target, bytes).map_err(|error| {
            let message = format!("cannot be written: {error}");
            let finding = Diagnostic::warning("atlas-not-written", target, message)
                .hint("the work is done again next time; name a folder for it with --atlas");
            Box::new(finding)
        })
    }

    /// Writes a file that cannot.
    fn write_or_fail(&self, target: &Path, bytes: &[u8]) -> Result<(), AtlasError> {
        self.replace(target, bytes).map_err(|source| AtlasError::File {
            action: "write",
            path: target.to_path_buf(),
            source,
        })
    }

    /// Writes beside the target, flushes to the disk, renames.
    fn replace(&self, target: &Path, bytes: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = target.parent().unwrap_or(&self.path);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{process}.{count}.tmp"));
        let written = fs::create_dir_all(folder)
            .and_then(|()| File::create(&temporary))
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, target));
        if written.is_err() {
            // What could not be finished is of no use to anyone.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Forgets the oldest files of a folder; whoever has one open keeps it until done.
    fn prune(&self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut files: Vec<(std::time::SystemTime, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let surplus = files.len().saturating_sub(KEPT_FILES);
        for (_, file) in &files[..surplus] {
            // Another process may have been quicker.
            let _ = fs::remove_file(file);
        }
    }
}
