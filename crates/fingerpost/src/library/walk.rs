//! Which documents lie below a folder?
//!
//! Level by level, each folder in the order of names, links followed. A folder that several paths
//! lead to is read on the first of them only: the shortest, of these the first in order. Thirty
//! links in a row of folders would otherwise be a billion paths.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Findings, Layout, Root};
use crate::diagnostic::Diagnostic;

/// How deep a tree is searched: agents stop at six; a collection of repositories goes deeper.
const MAX_DEPTH: usize = 16;

/// How many files and folders below a root are looked at: several times those of the largest
/// collections.
const MAX_ENTRIES: usize = 1_000_000;

/// Folders that never hold skills of the library they lie in.
const SKIPPED_FOLDERS: [&str; 3] = [".git", "node_modules", ".fingerpost"];

/// What was found, by its real path (links resolved), and the path that led to it first. It is
/// only looked up, so its order does not matter.
pub(super) type FirstPaths = hashbrown::HashMap<OsString, PathBuf, std::hash::RandomState>;

/// The documents below the folder of a root, in the order of their paths, and how many others are
/// left out because they are in `seen` already; fails only if that folder cannot be read.
pub(super) fn documents(
    root: &Root,
    seen: &mut FirstPaths,
    found: &mut Findings,
) -> io::Result<(Vec<PathBuf>, usize)> {
    below(root, MAX_ENTRIES, seen, found)
}

/// Is this a folder of version control, of packages or of build output?
pub(super) fn is_skipped(folder: &Path, name: &OsStr) -> bool {
    // A build folder says so; another one of that name may be a skill.
    let is_build_folder = || folder.join(name).join("CACHEDIR.TAG").exists();
    SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped)
        || (name == "target" && is_build_folder())
}

fn below(
    root: &Root,
    max_entries: usize,
    seen: &mut FirstPaths,
    found: &mut Findings,
) -> io::Result<(Vec<PathBuf>, usize)> {
    let top = Folder { path: root.path.clone(), real: root.path.canonicalize()? };
    // Whether the root can be read decides about all; a folder further down only about itself.
    fs::read_dir(&root.path)?;
    let mut walk = Walk {
        root,
        found,
        entries_left: max_entries,
        folders: FirstPaths::default(),
        repeated_folders: Vec::new(),
        seen,
        documents: Vec::new(),
        repeated: 0,
    };
    walk.folders.insert(top.real.clone().into_os_string(), top.path.clone());
    let mut level = vec![top];
    'levels: for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for folder in &level {
            let Some(entries) = walk.entries(folder) else {
                walk.found.push(too_many(&root.path, &folder.path, max_entries));
                break 'levels;
            };
            for entry in entries {
                next.extend(walk.take(folder, entry));
            }
        }
        level = next;
    }
    let Walk { mut documents, repeated, repeated_folders, found, .. } = walk;
    documents.sort();
    for (path, first) in repeated_folders {
        // Only where a skill would have been read a second time is there something to tell.
        let from = documents.partition_point(|document| *document < first);
        if documents.get(from).is_some_and(|document| document.starts_with(&first)) {
            found.push(repeats(&path, &first));
        }
    }
    Ok((documents, repeated))
}

/// A walk under way.
struct Walk<'a> {
    root: &'a Root,
    found: &'a mut Findings,
    entries_left: usize,
    /// Every folder that is read.
    folders: FirstPaths,
    /// Folders that another path led to first, with that path.
    repeated_folders: Vec<(PathBuf, PathBuf)>,
    /// Every document, also of the roots before.
    seen: &'a mut FirstPaths,
    /// Those of this root that were not seen before.
    documents: Vec<PathBuf>,
    /// How many were.
    repeated: usize,
}

struct Folder {
    path: PathBuf,
    real: PathBuf,
}

/// What may be a folder or a document.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: OsString,
    kind: Kind,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Folder,
    Document,
    Link,
}

impl Walk<'_> {
    /// What a folder holds, in the order of names; `None` if it holds more than may still be
    /// looked at. Then none of it counts, because the disk has no order.
    fn entries(&mut self, folder: &Folder) -> Option<Vec<Entry>> {
        let mut entries = Vec::new();
        let listing = match fs::read_dir(&folder.path) {
            Ok(listing) => listing,
            Err(error) => {
                self.found.push(unreadable(&folder.path, &error));
                return Some(entries);
            }
        };
        for entry in listing {
            self.entries_left = self.entries_left.checked_sub(1)?;
            let entry = entry.and_then(|entry| Ok((entry.file_type()?, entry.file_name())));
            let (kind, name) = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.found.push(unreadable(&folder.path, &error));
                    continue;
                }
            };
            let kind = if kind.is_dir() {
                Kind::Folder
            } else if kind.is_symlink() {
                Kind::Link
            } else if kind.is_file() && self.is_document(&name) {
                Kind::Document
            } else {
                continue;
            };
            if !self.is_passed_over(&folder.path, &name) {
                entries.push(Entry { name, kind });
            }
        }
        entries.sort();
        Some(entries)
    }

    fn is_document(&self, name: &OsStr) -> bool {
        let name = name.to_str().unwrap_or_default();
        match self.root.layout {
            Layout::Detect => name == "SKILL.md" || name == "skill.md",
            Layout::Commands => name.ends_with(".md"),
        }
    }

    /// Agents pass over hidden folders, or read them as roots of their own; a collection that the
    /// user names may well keep skills in them.
    fn is_passed_over(&self, folder: &Path, name: &OsStr) -> bool {
        let is_hidden = self.root.discovered && name.as_encoded_bytes().starts_with(b".");
        is_hidden || is_skipped(folder, name)
    }

    /// Takes in a document, or returns the folder to read on the next level.
    fn take(&mut self, folder: &Folder, entry: Entry) -> Option<Folder> {
        let path = folder.path.join(&entry.name);
        let (is_folder, real) = match entry.kind {
            Kind::Folder => (true, folder.real.join(&entry.name)),
            Kind::Document => (false, folder.real.join(&entry.name)),
            Kind::Link => {
                let target = fs::metadata(&path).map(|target| target.file_type());
                let is_folder = match target {
                    Ok(kind) if kind.is_dir() => true,
                    Ok(kind) if kind.is_file() && self.is_document(&entry.name) => false,
                    Ok(_) => return None,
                    Err(error) => return self.lost(&path, &error),
                };
                match path.canonicalize() {
                    Ok(real) => (is_folder, real),
                    Err(error) => return self.lost(&path, &error),
                }
            }
        };
        if !is_folder {
            if let Some(first) = self.seen.get(real.as_os_str()) {
                self.found.push(repeats(&path, first));
                self.repeated += 1;
            } else {
                self.seen.insert(real.into_os_string(), path.clone());
                self.documents.push(path);
            }
            return None;
        }
        let Some(first) = self.folders.get(real.as_os_str()) else {
            self.folders.insert(real.clone().into_os_string(), path.clone());
            return Some(Folder { path, real });
        };
        if entry.kind == Kind::Link && path.starts_with(first) {
            self.found.push(leads_back(&path, first));
        } else {
            self.repeated_folders.push((path, first.clone()));
        }
        None
    }

    fn lost(&mut self, path: &Path, error: &io::Error) -> Option<Folder> {
        self.found.push(unreadable(path, error));
        None
    }
}

/// A note that this folder or document was read before, on that path.
pub(super) fn repeats(path: &Path, first: &Path) -> Diagnostic {
    if path == first {
        return Diagnostic::note("read-once", path, "lies in several of the libraries named")
            .hint("it is one skill; name each folder once, without those inside it");
    }
    let message = format!("is the same as {}, which was read already", first.display());
    Diagnostic::note("read-once", path, message)
        .hint("it is one skill, on the path read first; remove the link to be rid of this note")
}

fn leads_back(link: &Path, ancestor: &Path) -> Diagnostic {
    let message = format!("this link leads back to {}", ancestor.display());
    Diagnostic::note("symlink-loop", link, message)
        .hint("the link is not followed; remove it, or point it elsewhere")
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::warning("unreadable", path, format!("cannot be read: {error}"))
        .hint("check its permissions, or whether the link has a target")
}

fn too_many(root: &Path, from: &Path, max_entries: usize) -> Diagnostic {
    let message = format!(
        "holds more than {max_entries} files and folders; {} and what would have come after it was not searched",
        from.display()
    );
    Diagnostic::warning("too-many-files", root, message)
        .hint("name the folder that holds the skills, not one far above it")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect;
    use tempfile::TempDir;

    use super::*;

    /// What a walk through a tree of these documents finds, looking at so many entries.
    fn walked(documents: &[&str], max_entries: usize) -> String {
        let folder = TempDir::new().unwrap();
        for document in documents {
            let file = folder.path().join(document);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let (mut seen, mut found) = (FirstPaths::default(), Findings::default());
        let root = Root::new(folder.path());
        let (documents, _) = below(&root, max_entries, &mut seen, &mut found).unwrap();
        let mut shown = String::new();
        for document in documents {
            writeln!(shown, "{}", document.display()).unwrap();
        }
        for finding in found.into_sorted() {
            writeln!(shown, "{finding}").unwrap();
        }
        shown.replace(folder.path().to_str().unwrap(), "$ROOT")
    }

    /// The folders nearest to the root are read first, so these are what a cut leaves.
    #[test]
    fn the_number_of_entries_is_bounded() {
        let mut shown = String::new();
        let tree = ["b/SKILL.md", "b/c/d/SKILL.md", "b/notes.txt", "a/e/f/SKILL.md", "a/SKILL.md"];
        for max_entries in [11, 10, 6, 1] {
            shown += &format!("{max_entries}\n{}", walked(&tree, max_entries));
        }
        expect![[r#"
            11
            $ROOT/a/SKILL.md
            $ROOT/a/e/f/SKILL.md
            $ROOT/b/SKILL.md
            $ROOT/b/c/d/SKILL.md
            10
            $ROOT/a/SKILL.md
            $ROOT/a/e/f/SKILL.md
            $ROOT/b/SKILL.md
            $ROOT: warning[too-many-files]: holds more than 10 files and folders; $ROOT/b/c/d and what would have come after it was not searched; name the folder that holds the skills, not one far above it
            6
            $ROOT/a/SKILL.md
            $ROOT: warning[too-many-files]: holds more than 6 files and folders; $ROOT/b and what would have come after it was not searched; name the folder that holds the skills, not one far above it
            1
            $ROOT: warning[too-many-files]: holds more than 1 files and folders; $ROOT and what would have come after it was not searched; name the folder that holds the skills, not one far above it
        "#]].assert_eq(&shown);
    }
}
