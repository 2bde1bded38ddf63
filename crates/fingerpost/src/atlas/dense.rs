//! The dense side of an index view: the vectors of what the view shows of each skill.

use std::path::Path;

use super::{Atlas, AtlasError, Compiled, vectors};
use crate::diagnostic::Warned;
use crate::embedding::{Embedder, Vectors};
use crate::index::coarse::{Coarse, Coarseness};
use crate::index::{DenseIndex, FORMAT_VERSION, embed_view};
use crate::library::{Library, LoadOptions, Root};
use crate::page::write::pages_of;
use crate::view::View;

/// Raised whenever a view's vectors come about in another way.
const VERSION: u32 = 2;

/// Raised whenever the meaning of a skill comes about in another way, by other words' vectors included.
const MEANINGS_VERSION: u32 = 1;

impl Atlas {
    /// The vectors of a view of the compiled library: mapped if they are there and sound, embedded
    /// if not. Says how many texts were embedded.
    pub fn dense(
        &self,
        roots: &[Root],
        options: LoadOptions,
        compiled: &Compiled,
        embedder: &dyn Embedder,
        view: View,
    ) -> Result<(DenseIndex, usize), AtlasError> {
        let pages =
            if view.reads_pages() { super::pages::digest(&compiled.pages) } else { String::new() };
        // The text of a view is a matter of the format, as in the sparse index.
        let made = format!("{FORMAT_VERSION}.{VERSION} {}", embedder.profile().key());
        let key = format!("{made} {} {pages} {view}", compiled.library);
        let key = &blake3::hash(key.as_bytes()).to_hex()[..16];
        let folder = self.path.join("index");
        let file = folder.join(format!("dense-{view}-{key}.vectors"));
        if let Ok(found) = vectors::open(file.clone())
            && found.len() == compiled.skills.len()
        {
            return Ok((self.with_copy(found, &file), 0));
        }
        let Warned { value: library, .. } = Library::load(roots, options)?;
        let pages = pages_of(&compiled.pages, &library);
        let found = embed_view(&library, &pages, view, embedder)?;
        // Without the file the work is done again next time, which is no reason to fail.
        let _ = self.write(&file, &vectors::to_bytes(&found));
        let embedded = found.len();
        Ok((self.with_copy(found, &file), embedded))
    }

    /// What each skill means: mapped if that is there and sound, made if not.
    pub fn meanings(&self, compiled: &Compiled) -> DenseIndex {
        let pages = super::pages::digest(&compiled.pages);
        let key = format!("{MEANINGS_VERSION} {} {pages}", compiled.library);
        let key = &blake3::hash(key.as_bytes()).to_hex()[..16];
        let file = self.path.join("index").join(format!("meanings-{key}.vectors"));
        let kept = vectors::open(file.clone()).ok();
        let found =
            kept.filter(|found| found.len() == compiled.skills.len()).unwrap_or_else(|| {
                let found = compiled.meanings();
                let _ = self.write(&file, &vectors::to_bytes(&found));
                found
            });
        self.with_copy(found, &file)
    }

    /// The vectors of this file with the coarse copy that suits them, from the file beside it if it
    /// is there and sound.
    fn with_copy(&self, vectors: Vectors, file: &Path) -> DenseIndex {
        let coarseness = Coarseness::suiting(vectors.len(), vectors.dimensions());
        let copy = coarseness.map(|coarseness| {
            let beside = file.with_extension("coarse");
            vectors::open_coarse(&beside, coarseness)
                .ok()
                .filter(|copy| copy.is_of(&vectors))
                .unwrap_or_else(|| {
                    let copy = Coarse::of(&vectors, coarseness);
                    let _ = self.write(&beside, &vectors::coarse_to_bytes(&copy));
                    copy
                })
        });
        DenseIndex::with(vectors, copy)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A copy is made once, mapped after that, and made again if its file is damaged or of other
    /// vectors.
    #[test]
    fn a_coarse_copy_is_kept_beside_its_vectors() {
        let folder = tempfile::tempdir().unwrap();
        let atlas = Atlas::at(folder.path());
        let values = |rows: usize| (0..rows * 80).map(|n| (n * 7919 % 1009) as f32 - 500.0);
        let vectors = Vectors::new(80, values(30_000).collect());
        let file = folder.path().join("dense-full-x.vectors");
        let copy = folder.path().join("dense-full-x.coarse");
        let search = |vectors: &Vectors| {
            let index = atlas.with_copy(vectors.clone(), &file);
            assert_eq!(index.coarse().map(Coarse::coarseness), Some(Coarseness::Bytes));
            index.search(vectors.row(77), 20)
        };
        let first = search(&vectors);
        assert_eq!(first, crate::index::nearest(&vectors, vectors.row(77), 20));
        let written = fs::read(&copy).unwrap();
        assert!(vectors::open_coarse(&copy, Coarseness::Bytes).is_ok());
        assert!(vectors::open_coarse(&copy, Coarseness::Signs).is_err());
        assert!(vectors::open(copy.clone()).is_err());

        let mut damaged = written.clone();
        *damaged.last_mut().unwrap() ^= 1;
        for bytes in [&damaged[..], &written[..written.len() - 1], b"FPVECTOR", b""] {
            fs::write(&copy, bytes).unwrap();
            assert_eq!(search(&vectors), first);
            assert!(fs::read(&copy).unwrap() == written);
        }
        let more = Vectors::new(80, values(30_001).collect());
        assert_eq!(search(&more), crate::index::nearest(&more, more.row(77), 20));
    }
}
