//! Does loading keep every good skill, and say of every bad one where it is and what to do?

mod benchmarks;
mod discover;
mod document;
mod limits;
mod records;
mod roots;
mod stamp;
mod tree;

use std::fmt::Write;
use std::path::PathBuf;

use expect_test::Expect;
use fingerpost::diagnostic::Warned;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::skill::Skill;
use tempfile::TempDir;

/// Files made for one test.
pub(crate) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let file = self.path(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
        self
    }

    /// A sound skill in the folder `path`.
    pub(crate) fn skill(self, path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nBody.\n");
        self.file(&format!("{path}/SKILL.md"), text)
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn root(&self, below: &str) -> Root {
        Root::new(self.path(below))
    }

    fn load(&self, below: &str) -> Warned<Library> {
        load(&[self.root(below)])
    }

    /// Loads what lies at `below` and compares the skills and findings.
    fn check(&self, below: &str, expect: Expect) {
        self.check_roots(&[self.root(below)], expect);
    }

    fn check_roots(&self, roots: &[Root], expect: Expect) {
        expect.assert_eq(&self.shown(&load(roots)));
    }

    /// One line a skill (id, then name, description and content), one a finding.
    fn shown(&self, loaded: &Warned<Library>) -> String {
        let mut shown = String::new();
        for skill in loaded.value.skills() {
            writeln!(shown, "{}", shown_skill(skill)).unwrap();
        }
        for skill in loaded.value.withheld() {
            writeln!(shown, "withheld {}", shown_skill(skill)).unwrap();
        }
        for finding in &loaded.diagnostics {
            writeln!(shown, "{finding}").unwrap();
        }
        self.without_folder(&shown)
    }

    fn without_folder(&self, text: &str) -> String {
        text.replace(self.folder.path().to_str().unwrap(), "$ROOT")
    }
}

fn load(roots: &[Root]) -> Warned<Library> {
    Library::load(roots, LoadOptions::default()).unwrap()
}

fn shown_skill(skill: &Skill) -> String {
    let short = |text: &String| text.chars().take(40).collect::<String>();
    format!("{} {:?}", skill.id, [&skill.name, &skill.description, &skill.content].map(short))
}

fn ids(library: &Library) -> Vec<&str> {
    library.skills().iter().map(|skill| skill.id.as_str()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

#[cfg(unix)]
fn link(target: impl AsRef<std::path::Path>, at: PathBuf) {
    std::os::unix::fs::symlink(target, at).unwrap();
}
