//! Which files make up a root?

use std::io;
use std::path::{Path, PathBuf};

use super::folder::find_file;
use super::walk::{self, FirstPaths};
use super::{Findings, Layout, Root};

/// What a root holds.
pub(super) enum Files {
    /// One file of records.
    Records(PathBuf),
    /// Markdown documents.
    Documents {
        /// In the order of their paths.
        paths: Vec<PathBuf>,
        /// How many others are left out because another path led to them first.
        repeated: usize,
    },
}

/// Finds the files of a root; fails only if the root itself cannot be read. A document that several
/// roots or links lead to is one document: `seen` holds those of the roots before.
pub(super) fn files(root: &Root, seen: &mut FirstPaths, found: &mut Findings) -> io::Result<Files> {
    if std::fs::metadata(&root.path)?.is_file() {
        let file = root.path.clone();
        if file.extension().is_none_or(|ending| ending != "md") {
            return Ok(Files::Records(file));
        }
        let real = file.canonicalize()?.into_os_string();
        if let Some(first) = seen.get(&real) {
            found.push(walk::repeats(&file, first));
            return Ok(Files::Documents { paths: Vec::new(), repeated: 1 });
        }
        seen.insert(real, file.clone());
        return Ok(Files::Documents { paths: vec![file], repeated: 0 });
    }
    if root.layout == Layout::Detect
        && let Some(corpus) = corpus_file(&root.path)
    {
        return Ok(Files::Records(corpus));
    }
    let (paths, repeated) = walk::documents(root, seen, found)?;
    // A tree may well hold a list of its own skills, so documents come before `skills.jsonl`.
    let is_named = root.layout == Layout::Detect && !root.discovered;
    if paths.is_empty()
        && repeated == 0
        && is_named
        && let Some(skills) = find_file(&root.path, &["skills.jsonl", "skills.json"])
    {
        return Ok(Files::Records(skills));
    }
    Ok(Files::Documents { paths, repeated })
}

/// The corpus of a BEIR folder, or of SRA-Bench, whose toolkit keeps it in a folder of its own beside
/// the instances.
fn corpus_file(folder: &Path) -> Option<PathBuf> {
    let beside_instances = || {
        let names = ["corpus/corpus.jsonl", "corpus/corpus.json"];
        find_file(folder, &names).filter(|_| folder.join("instances").is_dir())
    };
    find_file(folder, &["corpus.jsonl", "corpus.json"]).or_else(beside_instances)
}

/// A corpus that is published as a zip archive and has not been unpacked.
pub(super) fn zipped_corpus(folder: &Path) -> Option<PathBuf> {
    let names = ["corpus.json.zip", "corpus.jsonl.zip"];
    let places =
        names.iter().flat_map(|name| [folder.join(name), folder.join("corpus").join(name)]);
    places.into_iter().find(|file| file.is_file())
}
