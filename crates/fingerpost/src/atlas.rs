//! Where is the compiled library kept, and is it still the one on disk?
//!
//! An atlas is one directory. Its index files are named by a digest of everything they were made
//! from, written under a temporary name and renamed, so that a reader sees a whole file or none and
//! a kill leaves nothing but a temporary file behind. `library.json` remembers which library the
//! files on disk were when last looked at, so that an unchanged library is not read again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, Warned};
use crate::index::{FORMAT_VERSION, IndexError, SparseConfig, SparseIndex};
use crate::library::{Library, LoadError, LoadOptions, Root, stamp};

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
    #[error("{} {source}; delete it and run the command again to rebuild it", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: IndexError,
    },
}

/// How an index came to hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// It was there, and the library has not changed.
    Opened,
    /// There was none for this library and these settings.
    Built,
    /// There was one that could not be used; the reason is given.
    Rebuilt(String),
}

/// An index ready for use.
#[derive(Debug)]
pub struct Opened {
    /// The index.
    pub index: SparseIndex,
    /// Its file; `None` if it could not be written and lives in memory only.
    pub file: Option<PathBuf>,
    /// How it came to hand.
    pub provenance: Provenance,
}

/// What is remembered of the library between two runs.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    stamp: String,
    library: String,
    findings: usize,
}

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

    /// An index of the library at `roots`: the one on disk if it is there and sound and nothing
    /// changed, else a new one. The diagnostics are those of loading, if loading was needed.
    pub fn sparse_index(
        &self,
        roots: &[Root],
        options: LoadOptions,
        config: &SparseConfig,
    ) -> Result<Warned<Opened>, AtlasError> {
        let stamp = self.stamp(roots, options);
        let mut refused = None;
        if let Some(remembered) = self.remembered()
            && Some(&remembered.stamp) == stamp.as_ref()
        {
            match self.open(&self.index_file(&remembered.library, config)) {
                Ok(Some(opened)) => return Ok(Warned { value: opened, diagnostics: Vec::new() }),
                Ok(None) => {}
                Err(reason) => refused = Some(reason),
            }
        }
        let Warned { value: library, mut diagnostics } = Library::load(roots, options)?;
        let digest = library.digest().to_hex().to_string();
        let file = self.index_file(&digest, config);
        let opened = match self.open(&file) {
            Ok(Some(opened)) => opened,
            other => {
                if let Err(reason) = other {
                    refused = Some(reason);
                }
                if let Some(reason) = &refused {
                    let finding = Diagnostic::warning("unusable-index", &file, reason.clone())
                        .hint("it was built again; nothing is lost");
                    diagnostics.push(finding);
                }
                let index = SparseIndex::build(&library, config);
                let provenance = refused.map_or(Provenance::Built, Provenance::Rebuilt);
                // A library in a folder we may not write to can still be searched.
                let written = self.write(&file, index.bytes());
                let file =
                    written.map(|()| file).map_err(|finding| diagnostics.push(*finding)).ok();
                Opened { index, file, provenance }
            }
        };
        if let Some(stamp) = stamp
            && opened.file.is_some()
        {
            let remembered = Remembered { stamp, library: digest, findings: diagnostics.len() };
            let json = serde_json::to_vec_pretty(&remembered).expect("plain data");
            if let Err(finding) = self.write(&self.path.join("library.json"), &json) {
                diagnostics.push(*finding);
            }
        }
        Ok(Warned { value: opened, diagnostics })
    }

    /// Names the file in an error met while searching it.
    pub fn damaged(opened: &Opened, source: IndexError) -> AtlasError {
        AtlasError::Index { path: opened.file.clone().unwrap_or_default(), source }
    }

    /// How many findings the last loading had, if the library is remembered.
    pub fn remembered_findings(&self) -> usize {
        self.remembered().map_or(0, |remembered| remembered.findings)
    }

    fn remembered(&self) -> Option<Remembered> {
        serde_json::from_slice(&fs::read(self.path.join("library.json")).ok()?).ok()
    }

    /// `None` where the files change under our eyes: then nothing is remembered.
    fn stamp(&self, roots: &[Root], options: LoadOptions) -> Option<String> {
        let files = stamp(roots).ok()?;
        let settings = format!("{} {}", options.include_manual, env!("CARGO_PKG_VERSION"));
        let mut hasher = blake3::Hasher::new();
        hasher.update(files.as_bytes()).update(settings.as_bytes());
        Some(hasher.finalize().to_hex().to_string())
    }

    /// The file's name says what it was made from.
    fn index_file(&self, library: &str, config: &SparseConfig) -> PathBuf {
        let settings = serde_json::to_string(config).expect("plain data");
        let key = blake3::hash(format!("{FORMAT_VERSION} {library} {settings}").as_bytes());
        let model = match config.model {
            crate::index::SparseModel::Bm25(_) => "bm25",
            crate::index::SparseModel::Tfidf => "tfidf",
        };
        let key = &key.to_hex()[..16];
        self.path.join("index").join(format!("{model}-{}-{key}.sparse", config.view))
    }

    /// `Ok(None)` if there is no such file, `Err` with a sentence if there is one we cannot use.
    fn open(&self, path: &Path) -> Result<Option<Opened>, String> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(format!("cannot be opened: {error}")),
        };
        // SAFETY: an index file is never changed after it got its name: it is written under
        // another one and renamed, and a new version gets a new file.
        let map = unsafe { memmap2::Mmap::map(&file) };
        let map = map.map_err(|error| format!("cannot be mapped: {error}"))?;
        let index = SparseIndex::open(map).map_err(|error| error.to_string())?;
        Ok(Some(Opened { index, file: Some(path.to_path_buf()), provenance: Provenance::Opened }))
    }

    /// Writes beside the target, flushes to the disk, renames.
    fn write(&self, target: &Path, bytes: &[u8]) -> Result<(), Box<Diagnostic>> {
        let folder = target.parent().unwrap_or(&self.path);
        let process = std::process::id();
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{process}.tmp"));
        let written = fs::create_dir_all(folder)
            .and_then(|()| File::create(&temporary))
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, target));
        written.map_err(|error| {
            // What could not be finished is of no use to anyone.
            let _ = fs::remove_file(&temporary);
            let message = format!("cannot be written: {error}");
            let finding = Diagnostic::warning("atlas-not-written", target, message)
                .hint("the work is done again next time; name a folder for it with --atlas");
            Box::new(finding)
        })
    }
}
