//! What can a model do with data that it cannot see?
//!
//! A folder in the form of ToolQA: CSV tables, JSON lists of edges, and text files, at most one folder deep. Files
//! are found by listing the folder once; a name that is not on the list does not exist, so no path leaves it. All
//! is read only, and what is shown is bounded.

mod graph;
mod table;
mod text;

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::judge::calculate;
use crate::sandbox::{Ended, Job, Limits, Sandbox};

/// Rows of a table that are shown.
pub const ROWS: usize = 20;

/// Characters that are shown of anything.
pub const SHOWN: usize = 4_000;

/// Files of a folder that are listed.
const FILES: usize = 500;

/// Bytes of a file that is read.
const LARGEST: u64 = 64 << 20;

/// Bytes of all files that a program is given.
const GIVEN: u64 = 8 << 20;

/// What a model may do in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Look at a table.
    Table,
    /// Look at a graph.
    Graph,
    /// Search paragraphs.
    Text,
    /// Compute a formula.
    Calculate,
    /// Run a program.
    Code,
    /// Answer.
    Finish,
}

impl Action {
    /// All of them, as a model names them.
    pub const NAMES: [&str; 6] = ["table", "graph", "text", "calculate", "code", "finish"];
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

/// A folder of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolData {
    files: Vec<File>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    /// What a model calls it: without its ending.
    name: String,
    /// Below the folder.
    path: PathBuf,
    whole: PathBuf,
    bytes: u64,
}

/// What a model works with.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    /// The data, if there is any.
    pub data: Option<ToolData>,
    /// Where programs run; without one, none does.
    pub sandbox: Option<Sandbox>,
}

impl ToolData {
    /// Lists a folder. Links are left out: they could lead anywhere.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![(folder.to_path_buf(), PathBuf::new())];
        while let Some((folder, below)) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let (kind, path) = (entry.file_type()?, below.join(entry.file_name()));
                if kind.is_dir() && below.as_os_str().is_empty() {
                    folders.push((entry.path(), path));
                } else if kind.is_file() {
                    let name = path.file_stem().unwrap_or_default().display().to_string();
                    let bytes = entry.metadata()?.len();
                    files.push(File { name, path, whole: entry.path(), bytes });
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.truncate(FILES);
        Ok(Self { files })
    }

    fn ending(&self, ending: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.extension().is_some_and(|e| e == ending))
    }

    /// The file of this name and ending, or what there is instead.
    fn find(&self, name: &str, ending: &str) -> Result<&File, String> {
        let bare = name.strip_suffix(&format!(".{ending}")).unwrap_or(name);
        let mut named = self.ending(ending).filter(|file| file.name.eq_ignore_ascii_case(bare));
        named.next().ok_or_else(|| {
            let names: Vec<&str> = self.ending(ending).map(|file| file.name.as_str()).collect();
            format!("there is no '{name}' here: the names are {}", names.join(", "))
        })
    }
}

impl File {
    fn read(&self) -> Result<String, String> {
        let mut text = String::new();
        let file = fs::File::open(&self.whole).map_err(|error| error.to_string())?;
        // The size may have changed since the folder was listed.
        file.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
        match text.len() as u64 > LARGEST {
            true => Err(format!("{} is too large to be read", self.name)),
            false => Ok(text),
        }
    }
}

impl Tools {
    /// What an action gives, or why it gives nothing.
    pub fn act(&self, action: Action, input: &str) -> Result<String, String> {
        let data = || self.data.as_ref().ok_or_else(|| "there is no data here".to_owned());
        let input = input.trim();
        let shown = match action {
            Action::Table => table::look(data()?, input),
            Action::Graph => graph::look(data()?, input),
            Action::Text => text::search(data()?, input),
            Action::Calculate => calculate(input)
                .map(|value| value.to_string())
                .ok_or_else(|| "that is no formula of numbers".to_owned()),
            Action::Code => self.run(input),
            Action::Finish => Ok(String::new()),
        };
        shown.map(bounded).map_err(bounded)
    }

    fn run(&self, code: &str) -> Result<String, String> {
        let sandbox = self.sandbox.as_ref().ok_or("there is no sandbox here to run programs in")?;
        let mut job = Job::new("python3");
        job.args = ["-s", "-"].map(Into::into).to_vec();
        job.stdin = code.as_bytes().to_vec();
        job.limits = Limits {
            wall: Duration::from_secs(10),
            cpu: Duration::from_secs(10),
            output: 64 << 10,
            ..Limits::default()
        };
        let files = self.data.iter().flat_map(|data| &data.files);
        let mut room = GIVEN;
        for file in files {
            if let Some(left) = room.checked_sub(file.bytes) {
                room = left;
                let bytes = fs::read(&file.whole).map_err(|error| error.to_string())?;
                job.files.push((Path::new("data").join(&file.path), bytes));
            }
        }
        let finished = sandbox.run(&job).map_err(|error| error.to_string())?;
        let mut text = String::from_utf8_lossy(&finished.stdout).into_owned();
        if finished.ended != Ended::Exited || finished.exit != Some(0) {
            let trouble = String::from_utf8_lossy(&finished.stderr);
            // The last lines of a traceback say what happened.
            let from = trouble.char_indices().rev().nth(800).map_or(0, |(at, _)| at);
            // How it ended comes first: what follows may be cut.
            text = format!("it ended: {:?}\n{}\n{text}", finished.ended, &trouble[from..]);
        }
        Ok(text)
    }
}

fn bounded(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}\n[…] cut after {SHOWN} characters", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/toolqa/data");
        Tools { data: Some(ToolData::open(&folder).unwrap()), sandbox: None }
    }

    #[track_caller]
    fn check(action: Action, input: &str, expected: &str) {
        let given = tools().act(action, input);
        let given = given.unwrap_or_else(|why| format!("no: {why}"));
        assert!(given.contains(expected), "{input}: {given}");
    }

    #[test]
    fn tables_graphs_and_texts_answer() {
        check(Action::Table, "", "agenda: Person, Event, Date");
        check(Action::Table, "flights", "60 rows");
        check(Action::Table, "flights where Origin = LIS select count", "10");
        check(Action::Table, "flights WHERE Carrier = QS select mean DelayMinutes", "23.5");
        check(
            Action::Table,
            "flights where Flight = NB195 and Date = 2024-03-06 select Departure",
            "14:35",
        );
        check(Action::Table, "flights where Gate = 3", "no: there is no column 'Gate'");
        check(Action::Table, "agenda where Event contains piano and Start < 10:00", "Lena");
        check(Action::Graph, "coauthors neighbors omar vance", "7 neighbors");
        check(Action::Graph, "coauthors edge Tariq Bell | Grete Moss", "\"papers\":8");
        check(Action::Graph, "coauthors edge Tariq Bell | Nobody", "no: ");
        check(Action::Text, "lighthouse electric light", "1931");
        check(Action::Calculate, "(14*60 + 35) / 5", "175");
        check(Action::Calculate, "import os", "no: ");
    }

    #[test]
    fn no_path_leaves_the_folder() {
        for name in ["../answers", "../../library/queries", "/etc/passwd", "notes/../../answers"] {
            check(Action::Table, name, "no: there is no");
            check(Action::Graph, &format!("{name} neighbors x"), "no: there is no");
        }
        #[cfg(unix)]
        {
            let folder = tempfile::tempdir().unwrap();
            let (outside, data) = (folder.path().join("secret.csv"), folder.path().join("data"));
            fs::write(&outside, "a\n1\n").unwrap();
            fs::create_dir(&data).unwrap();
            std::os::unix::fs::symlink(&outside, data.join("link.csv")).unwrap();
            std::os::unix::fs::symlink(folder.path(), data.join("up")).unwrap();
            assert!(ToolData::open(&data).unwrap().files.is_empty());
        }
    }
}
