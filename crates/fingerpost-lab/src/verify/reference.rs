//! How does the Python package `ir_measures` compute figures again?

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde::Deserialize;
use serde_json::json;

use super::Check;

/// The package, pinned.
pub const PACKAGE: &str = include_str!("requirements.txt").trim_ascii();

/// How far two programs may be apart, in points: both round nothing.
const TOLERANCE: f64 = 0.001;

/// A Python that has the package.
#[derive(Debug, Clone)]
pub struct Reference {
    python: PathBuf,
}

/// A figure that is another by the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Differs {
    /// Which one.
    pub figure: String,
    /// What we say, in percent.
    pub ours: f64,
    /// What the reference says; `None` if it says nothing.
    pub theirs: Option<f64>,
}

/// Why the reference says nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// There is no Python to make an environment with.
    #[error("cannot start Python: is python3 installed?")]
    NoPython(#[source] io::Error),
    /// The package is not to be had.
    #[error(
        "{PACKAGE} cannot be installed, so no figure was computed again: name a Python that has it with --python. {said}"
    )]
    NotInstalled {
        /// What Python said.
        said: String,
    },
    /// Python could not be talked to.
    #[error("{python}: {source}")]
    Talk {
        /// Which one.
        python: String,
        /// What went wrong.
        source: io::Error,
    },
    /// It gave up.
    #[error("ir_measures ended with {0}")]
    Ended(ExitStatus),
    /// Its answer is none.
    #[error("what ir_measures answers cannot be read")]
    Unreadable(#[from] serde_json::Error),
}

impl Reference {
    /// A Python that is said to have the package.
    pub fn of(python: impl Into<PathBuf>) -> Self {
        Self { python: python.into() }
    }

    /// The environment in a folder, made and filled by pip where that has not been done.
    pub fn install(folder: &Path) -> Result<Self, ReferenceError> {
        let reference = Self::of(folder.join("bin/python"));
        if !reference.python.is_file() {
            quietly(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        }
        if !reference.is_usable() {
            let install =
                ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
            quietly(Command::new(&reference.python).args(install))?;
        }
        Ok(reference)
    }

    /// Has it the package?
    pub fn is_usable(&self) -> bool {
        let tried = Command::new(&self.python).args(["-c", "import ir_measures"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    }

    /// The figures that it finds to be others.
    pub fn differing(
        &self,
        wanted: &BTreeMap<String, Check>,
    ) -> Result<Vec<Differs>, ReferenceError> {
        let found = self.compute(wanted)?;
        let differs = |(figure, check): (&String, &Check)| {
            let theirs = found.get(figure).map(|value| 100.0 * value);
            let is_same = theirs.is_some_and(|theirs| (theirs - check.value).abs() <= TOLERANCE);
            let differs = || Differs { figure: figure.clone(), ours: check.value, theirs };
            (!is_same).then(differs)
        };
        Ok(wanted.iter().filter_map(differs).collect())
    }

    /// All figures, each as the mean over data sets of the mean over requests.
    fn compute(
        &self,
        wanted: &BTreeMap<String, Check>,
    ) -> Result<BTreeMap<String, f64>, ReferenceError> {
        #[derive(Deserialize)]
        struct Found {
            figure: String,
            value: f64,
        }
        let talk =
            |source| ReferenceError::Talk { python: self.python.display().to_string(), source };
        let mut child = Command::new(&self.python)
            .args(["-c", include_str!("reference.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(talk)?;
        let mut stdin = child.stdin.take().expect("a pipe was asked for");
        let line = |(figure, check): (&String, &Check)| {
            let Check { measure, run, qrels, sets, .. } = check;
            json!({"figure": figure, "measure": measure, "run": run, "qrels": qrels, "sets": sets})
                .to_string()
        };
        let lines: Vec<String> = wanted.iter().map(line).collect();
        // Beside reading: Python answers before it has read everything, and either pipe is short.
        let writer = std::thread::spawn(move || stdin.write_all(lines.join("\n").as_bytes()));
        let output = child.wait_with_output().map_err(talk)?;
        let written = writer.join().expect("writing does not panic");
        if !output.status.success() {
            return Err(ReferenceError::Ended(output.status));
        }
        written.map_err(talk)?;
        let mut found = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Found { figure, value } = serde_json::from_str(line)?;
            found.insert(figure, value);
        }
        Ok(found)
    }
}

fn quietly(command: &mut Command) -> Result<(), ReferenceError> {
    let output = command.output().map_err(ReferenceError::NoPython)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ReferenceError::NotInstalled { said })
}
