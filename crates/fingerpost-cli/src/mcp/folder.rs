//! Which files of a skill may be read?
//!
//! Those in the folder of its SKILL.md, and nothing else. The path of a skill is a text in an atlas that
//! may be a stranger's, so it counts only inside a library that the user named or has: below one of its
//! roots, in a folder that does hold a SKILL.md. Links that lead out of the folder lead nowhere, and names
//! that begin with a dot are private.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use fingerpost::skill::SkillIdx;

use super::uri::DOCUMENT;
use crate::live::Open;

/// Files of a skill at most, as skills over MCP have it.
const MAX_FILES: usize = 512;

/// How deep they may lie, and how many entries are looked at.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 8192;

/// Bytes of one file at most; also of all files of a skill together, as skills over MCP have it.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// Bytes by which a text is told from what is none.
const SNIFFED: u64 = 4096;

/// Folders that are no part of a skill.
const SKIPPED: [&str; 1] = ["node_modules"];

/// The folder of a skill, open for reading.
pub(crate) struct Folder {
    /// With every link resolved.
    real: PathBuf,
    /// The file name of the document, as it is written there.
    document: String,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Below the folder, with slashes.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) is_text: bool,
}

/// The files of a skill, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: Vec<File>,
    /// Are there more than are listed?
    pub(crate) cut: bool,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("'{0}' is no path inside a skill's folder")]
    Outside(String),
    #[error("the skill has no file '{0}'")]
    Missing(String),
    #[error("'{path}' has {bytes} bytes, and at most {MAX_BYTES} are read")]
    TooLarge { path: String, bytes: u64 },
}

impl Folder {
    /// The folder of a skill, if it has one of its own and the library is at hand.
    pub(crate) fn of(open: &Open, skill: SkillIdx) -> Option<Self> {
        let row = open.reading.snapshot.row(skill);
        let roots = open.reading.source.roots.iter().map(|root| root.path.as_path());
        Self::at(Path::new(row.path), roots).filter(|_| row.line.is_none())
    }

    fn at<'a>(document: &Path, mut roots: impl Iterator<Item = &'a Path>) -> Option<Self> {
        let name = document.file_name()?.to_str()?;
        let plain = document.components().all(|part| {
            matches!(part, Component::Normal(_) | Component::RootDir | Component::Prefix(_))
        });
        if !plain || !name.eq_ignore_ascii_case(DOCUMENT) {
            return None;
        }
        roots.find(|root| document.starts_with(root))?;
        let folder =
            Self { real: document.parent()?.canonicalize().ok()?, document: name.to_owned() };
        // A stranger's atlas may name any folder: one without a document is no skill's.
        let document = folder.resolve(name).ok()?;
        fs::symlink_metadata(document).ok()?.is_file().then_some(folder)
    }

    /// All files that may be read.
    pub(crate) fn files(&self) -> Listing {
        let mut listing = Listing::default();
        let mut left = MAX_ENTRIES;
        self.list("", MAX_DEPTH, &mut left, &mut listing);
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        // Of all files together, as many as go into the limit.
        let mut bytes = 0;
        let fits = listing.files.iter().take_while(|file| {
            bytes += file.bytes;
            bytes <= MAX_BYTES
        });
        let fits = fits.count().min(MAX_FILES);
        listing.cut |= fits < listing.files.len();
        listing.files.truncate(fits);
        listing
    }

    fn list(&self, below: &str, depth: usize, left: &mut usize, listing: &mut Listing) {
        let Ok(entries) = fs::read_dir(self.real.join(below)) else { return };
        for entry in entries.flatten() {
            if *left == 0 {
                listing.cut = true;
                return;
            }
            *left -= 1;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            if !is_open(&name) {
                continue;
            }
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            // Not through links: a folder that is one is not walked.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                match depth {
                    0 => listing.cut = true,
                    depth => self.list(&path, depth - 1, left, listing),
                }
            } else if let Some(file) = self.file(&path) {
                listing.files.push(file);
            }
        }
    }

    fn file(&self, path: &str) -> Option<File> {
        let (file, bytes) = self.open(path).ok()?;
        let mut start = Vec::new();
        file.take(SNIFFED).read_to_end(&mut start).ok()?;
        let path = if path == self.document { DOCUMENT } else { path };
        Some(File { path: path.to_owned(), bytes, is_text: is_text(&start) })
    }

    /// The bytes of one file.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let missing = |_| FileError::Missing(path.to_owned());
        let name = if path == DOCUMENT { &self.document } else { path };
        let (file, _) = self.open(name)?;
        let mut bytes = Vec::new();
        // It may have grown since it was looked at.
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(missing)?;
        match bytes.len() as u64 {
            read if read > MAX_BYTES => {
                Err(FileError::TooLarge { path: path.to_owned(), bytes: read })
            }
            _ => Ok(bytes),
        }
    }

    fn open(&self, path: &str) -> Result<(fs::File, u64), FileError> {
        let missing = |_: io::Error| FileError::Missing(path.to_owned());
        let real = self.resolve(path)?;
        // Looked at before it is opened: to open a pipe may wait for ever.
        let kind = fs::symlink_metadata(&real).map_err(missing)?;
        if !kind.is_file() {
            return Err(FileError::Missing(path.to_owned()));
        }
        if kind.len() > MAX_BYTES {
            return Err(FileError::TooLarge { path: path.to_owned(), bytes: kind.len() });
        }
        Ok((fs::File::open(real).map_err(missing)?, kind.len()))
    }

    /// The real path of a file, which is inside.
    fn resolve(&self, path: &str) -> Result<PathBuf, FileError> {
        let outside = || FileError::Outside(path.to_owned());
        let is_plain =
            |part| matches!(part, Component::Normal(name) if name.to_str().is_some_and(is_open));
        if path.is_empty()
            || path.contains(['\\', '\0'])
            || !Path::new(path).components().all(is_plain)
        {
            return Err(outside());
        }
        let real = self.real.join(path).canonicalize();
        let real = real.map_err(|_| FileError::Missing(path.to_owned()))?;
        if real.starts_with(&self.real) { Ok(real) } else { Err(outside()) }
    }
}

/// May a file or folder of this name be read?
fn is_open(name: &str) -> bool {
    !name.starts_with('.') && !SKIPPED.contains(&name)
}

/// Does a file that begins like this hold text? A character may be cut at the end.
pub(crate) fn is_text(start: &[u8]) -> bool {
    let sound = match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    sound && !start.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, file: &str, bytes: &[u8]) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn open(folder: &Path) -> Option<Folder> {
        let root = folder.parent().unwrap();
        Folder::at(&folder.join("SKILL.md"), std::iter::once(root))
    }

    #[test]
    fn the_files_of_a_skill_are_those_in_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let skill = root.path().join("skill");
        write(&skill, "SKILL.md", b"# Skill");
        write(&skill, "scripts/run.py", b"print()");
        write(&skill, "assets/logo.png", b"\x89PNG\0");
        write(&skill, ".env", b"KEY=secret");
        write(&skill, ".git/config", b"x");
        write(&skill, "node_modules/x/index.js", b"x");
        let folder = open(&skill).unwrap();
        let listing = folder.files();
        let files: Vec<_> =
            listing.files.iter().map(|file| (file.path.as_str(), file.is_text)).collect();
        assert_eq!(
            files,
            [("SKILL.md", true), ("assets/logo.png", false), ("scripts/run.py", true)]
        );
        assert!(!listing.cut);
        assert_eq!(folder.read("scripts/run.py").unwrap(), b"print()");
        let closed = [".env", ".git/config", "node_modules/x/index.js", "scripts/.x"];
        for path in closed {
            assert!(matches!(folder.read(path), Err(FileError::Outside(_))), "{path}");
        }
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "secret.txt", b"secret");
        let skill = root.path().join("skill");
        write(&skill, "SKILL.md", b"# Skill");
        write(&skill, "scripts/run.py", b"print()");
        let folder = open(&skill).unwrap();
        let out = root.path().join("secret.txt").display().to_string();
        for path in [
            "",
            ".",
            "..",
            "../secret.txt",
            "scripts/../../secret.txt",
            "/etc/passwd",
            &out,
            "a\\b",
            "a\0",
        ] {
            assert!(matches!(folder.read(path), Err(FileError::Outside(_))), "{path:?}");
        }
        assert!(matches!(folder.read("scripts"), Err(FileError::Missing(_))), "no file");
        assert!(matches!(folder.read("nothing"), Err(FileError::Missing(_))));
    }

    #[cfg(unix)]
    #[test]
    fn links_count_as_far_as_they_stay_inside() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "secret/key", b"secret");
        let skill = root.path().join("skill");
        write(&skill, "SKILL.md", b"# Skill");
        write(&skill, "a.md", b"a");
        symlink("a.md", skill.join("b.md")).unwrap();
        symlink(root.path().join("secret/key"), skill.join("key")).unwrap();
        symlink(root.path().join("secret"), skill.join("folder")).unwrap();
        symlink("/dev/zero", skill.join("zero")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(skill.join("pipe")).status();
        let folder = open(&skill).unwrap();
        let files: Vec<_> = folder.files().files.into_iter().map(|file| file.path).collect();
        assert_eq!(files, ["SKILL.md", "a.md", "b.md"]);
        assert_eq!(folder.read("b.md").unwrap(), b"a");
        for path in ["key", "folder/key", "zero"] {
            assert!(matches!(folder.read(path), Err(FileError::Outside(_))), "{path}");
        }
        if pipe.is_ok_and(|made| made.success()) {
            assert!(matches!(folder.read("pipe"), Err(FileError::Missing(_))));
        }
    }

    #[test]
    fn a_folder_counts_below_a_root_and_with_a_document_only() {
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join("library");
        write(&library, "skill/SKILL.md", b"# Skill");
        write(root.path(), "private/id_rsa", b"secret");
        write(root.path(), "other/SKILL.md", b"# Other");
        let at = |document: &Path| Folder::at(document, std::iter::once(library.as_path()));
        assert!(at(&library.join("skill/SKILL.md")).is_some());
        let foreign = [
            root.path().join("other/SKILL.md"),
            root.path().join("private/SKILL.md"),
            library.join("skill/../../other/SKILL.md"),
            library.join("skill/scripts/SKILL.md"),
            library.join("skill/run.py"),
            PathBuf::from("SKILL.md"),
        ];
        for document in foreign {
            assert!(at(&document).is_none(), "{}", document.display());
        }
        assert!(Folder::at(&library.join("skill/SKILL.md"), std::iter::empty()).is_none());
    }

    #[test]
    fn what_is_cut_in_a_character_is_text() {
        assert!(is_text("年終".as_bytes()) && is_text(&"年終".as_bytes()[..4]) && is_text(b""));
        assert!(!is_text(b"\xff\xfe") && !is_text(b"a\0b"));
    }
}
