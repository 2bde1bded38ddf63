//! Folders for tests: a library, the command that is run on it, and a home of its own.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Copies a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The example library.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/library")
}

/// All files below a folder, by their paths.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.extend(fs::read(&path).ok().map(|bytes| (path, bytes)));
        }
    }
    files
}

/// What a command said on standard error.
pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A copy of some families of the example library in `library`, in a folder that is the home too.
pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    atlas: Option<PathBuf>,
}

impl Fixture {
    /// The atlas is where it is by default.
    pub(crate) fn new(families: &[&str]) -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap(), atlas: None };
        families.iter().for_each(|family| fixture.add(family));
        fixture
    }

    /// The atlas is beside the library, in `atlas`.
    pub(crate) fn with_atlas(families: &[&str]) -> Self {
        let fixture = Self::new(families);
        Self { atlas: Some(fixture.path("atlas")), ..fixture }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.path("library")
    }

    /// One more family, or skill, of the example library.
    pub(crate) fn add(&self, path: &str) {
        copy(&examples().join(path), &self.library().join(path));
    }

    /// Adds a line to a skill's document.
    pub(crate) fn change(&self, skill: &str) {
        let file = self.library().join(skill).join("SKILL.md");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}\nOne more line.\n")).unwrap();
    }

    /// The command, which knows nothing of who runs the tests.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
        self.settle(&mut command);
        command.args(arguments);
        command
    }

    /// The folder, home and environment of a command.
    pub(crate) fn settle(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            let is_theirs = ["FINGERPOST_", "XDG_", "CLAUDE_", "CODEX_"];
            if is_theirs.iter().any(|start| name.starts_with(start)) || name.ends_with("_API_KEY") {
                command.env_remove(name.as_ref());
            }
        }
        command.env("HOME", self.folder.path()).current_dir(self.folder.path());
        command.envs(self.atlas.as_ref().map(|atlas| ("FINGERPOST_ATLAS", atlas)));
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What the command answers; a route may be none, anything else must be well.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        let expected = if arguments.first() == Some(&"route") { 1 } else { 0 };
        let code = output.status.code().unwrap_or(-1);
        assert!((0..=expected).contains(&code), "{arguments:?}: {code}, {}", err(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// A page of the library, as it is served.
    pub(crate) fn show(&self, skill: &str) -> Value {
        self.json(&["page", "show", skill, "--library", "library"])
    }
}
