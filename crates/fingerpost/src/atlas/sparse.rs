//! The sparse indexes of an atlas: opened if they are there and sound, built if not.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::{Atlas, AtlasError, Remembered};
use crate::diagnostic::{Diagnostic, Warned};
use crate::index::{FORMAT_VERSION, IndexError, SparseConfig, SparseIndex, SparseModel};
use crate::library::{Library, LoadOptions, Root};
use crate::page::Pages;
use crate::page::write::pages_of;

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

impl Atlas {
    /// An index of the library at `roots`: the one on disk if it is there and sound and nothing
    /// changed, else a new one. The diagnostics are those of loading, if loading was needed. A view
    /// of pages needs a library that is compiled.
    pub fn sparse_index(
        &self,
        roots: &[Root],
        options: LoadOptions,
        config: &SparseConfig,
    ) -> Result<Warned<Opened>, AtlasError> {
        let stamp = self.stamp(roots, options);
        let pages = match (config.view.reads_pages(), &stamp) {
            (false, _) => None,
            (true, Some(stamp)) => self.pages_digest(stamp)?,
            (true, None) => None,
        };
        if config.view.reads_pages() && pages.is_none() {
            return Err(AtlasError::NotCompiled { path: self.path.clone() });
        }
        let mut refused = None;
        if let Some(remembered) = self.remembered()
            && Some(&remembered.stamp) == stamp.as_ref()
        {
            match self.open(&self.index_file(&remembered.library, pages.as_deref(), config)) {
                Ok(Some(opened)) => return Ok(Warned { value: opened, diagnostics: Vec::new() }),
                Ok(None) => {}
                Err(reason) => refused = Some(reason),
            }
        }
        let Warned { value: library, mut diagnostics } = Library::load(roots, options)?;
        let digest = library.digest().to_hex().to_string();
        let file = self.index_file(&digest, pages.as_deref(), config);
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
                let pages = if config.view.reads_pages() {
                    pages_of(&self.pages()?, &library)
                } else {
                    Pages::default()
                };
                let index = SparseIndex::build(&library, &pages, config);
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

    /// The file's name says what it was made from.
    fn index_file(&self, library: &str, pages: Option<&str>, config: &SparseConfig) -> PathBuf {
        let settings = serde_json::to_string(config).expect("plain data");
        let made_from = format!("{library} {}", pages.unwrap_or_default());
        let key = blake3::hash(format!("{FORMAT_VERSION} {made_from} {settings}").as_bytes());
        let model = match config.model {
            SparseModel::Bm25(_) => "bm25",
            SparseModel::Tfidf => "tfidf",
            SparseModel::Cosine => "cosine",
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
}
