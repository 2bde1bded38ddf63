//! What does an experiment leave behind?
//!
//! A folder of its own: `result.json` with everything, a page of Markdown, a CSV file a table, an SVG file a plot;
//! and beside all experiments the runs that they share. Each says by which command, at which commit, on
//! which machine and when it was made.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use fingerpost::atlas::day;
use serde::{Deserialize, Serialize};

use crate::experiment::{Expected, Experiment};
use crate::lab::{LabError, failed, put};
use crate::markdown;
use crate::outcome::{Outcome, Plot};
use crate::plot::{self, PlotError};

/// Where a result comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// What was typed.
    pub command: String,
    /// The commit of the project, with a mark if it was changed since.
    pub commit: String,
    /// The machine: system, processor, cores.
    pub machine: String,
    /// The day.
    pub date: String,
    /// How long it took; less if runs were taken from their files.
    pub seconds: f64,
    /// The program's version.
    pub version: String,
}

/// An experiment that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Its name.
    pub name: String,
    /// Its place in the list.
    pub number: u32,
    /// A few words.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// What of the paper it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// What differs from the paper's benchmark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// The figures that say most, first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headline: Vec<String>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Figures that are not as expected, in words.
    pub unexpected: Vec<String>,
    /// What was found.
    pub outcome: Outcome,
}

impl Done {
    /// An experiment with what came of it.
    pub fn new(experiment: &Experiment, mut outcome: Outcome, provenance: Provenance) -> Self {
        // Where all data is missing there is nothing to be seen.
        let is_drawn = |drawn: &Plot| !matches!(plot::svg(drawn), Err(PlotError::Empty { .. }));
        outcome.plots.retain(is_drawn);
        let unexpected =
            experiment.expected.iter().filter_map(|expected| against(expected, &outcome));
        let unexpected = unexpected.collect();
        Self {
            name: experiment.name.clone(),
            number: experiment.number,
            title: experiment.title.clone(),
            question: experiment.question.clone(),
            paper: experiment.paper.clone(),
            differs: experiment.differs.clone(),
            headline: experiment.headline.clone(),
            provenance,
            unexpected,
            outcome,
        }
    }

    /// Was nothing measured?
    pub fn is_empty(&self) -> bool {
        self.outcome.tables.iter().all(|table| table.rows.is_empty())
    }

    /// Writes all files into the experiment's folder, and gives it.
    pub fn write(&self, out: &Path) -> Result<PathBuf, LabError> {
        let folder = out.join(&self.name);
        let write = |name: &str, text: String| {
            let file = folder.join(name);
            put(&file, text.as_bytes()).map_err(|source| failed(&file, source))
        };
        let json = serde_json::to_string_pretty(self).expect("plain data");
        write("result.json", json + "\n")?;
        write("README.md", self.markdown())?;
        for table in &self.outcome.tables {
            write(&format!("{}.csv", table.name), markdown::csv(table))?;
        }
        for drawn in &self.outcome.plots {
            let svg = plot::svg(drawn).map_err(|error| LabError::Setting {
                experiment: self.name.clone(),
                why: error.to_string(),
            })?;
            write(&format!("{}.svg", drawn.name()), svg)?;
        }
        Ok(folder)
    }

    /// What was done before, in the order of numbers.
    pub fn read_all(out: &Path) -> Result<Vec<Self>, LabError> {
        let mut all = Vec::new();
        let Ok(entries) = std::fs::read_dir(out) else { return Ok(all) };
        for entry in entries {
            let file = entry.map_err(|source| failed(out, source))?.path().join("result.json");
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let unreadable = |error: serde_json::Error| failed(&file, error.into());
            all.push(serde_json::from_str(&text).map_err(unreadable)?);
        }
        all.sort_by(|a: &Self, b| a.number.cmp(&b.number).then_with(|| a.name.cmp(&b.name)));
        Ok(all)
    }

    fn markdown(&self) -> String {
        let Provenance { command, commit, machine, date, seconds, version } = &self.provenance;
        let mut text = format!("# {}. {}\n\n{}\n", self.number, self.title, self.question);
        if let Some(paper) = &self.paper {
            text += &format!("\nRepeats of the paper: {paper}.\n");
        }
        if let Some(differs) = &self.differs {
            text += &format!("\n> **Not the paper's benchmark.** {differs}\n");
        }
        for unexpected in &self.unexpected {
            text += &format!("\n> **Not as expected:** {unexpected}\n");
        }
        for table in &self.outcome.tables {
            text += &format!("\n## {}\n\n{}", table.title, markdown::table(table));
        }
        for drawn in &self.outcome.plots {
            text += &format!("\n![{}]({}.svg)\n", drawn.title(), drawn.name());
        }
        if !self.outcome.notes.is_empty() {
            text.push('\n');
            self.outcome.notes.iter().for_each(|note| text += &format!("- {note}\n"));
        }
        text += &format!(
            "\nMade by `{command}` at {commit} (version {version}) on {date}, {machine}, in {seconds:.0} s.\n"
        );
        text
    }
}

fn against(Expected { figure, value, tolerance }: &Expected, outcome: &Outcome) -> Option<String> {
    match outcome.figures.get(figure) {
        None => Some(format!("{figure} was expected to be {value} and was not measured")),
        Some(found) if (found - value).abs() <= *tolerance => None,
        Some(found) => {
            Some(format!("{figure} is {found:.2}, and {value} was expected (within {tolerance})"))
        }
    }
}

impl Provenance {
    /// Of this process, begun so many seconds ago, in this project.
    pub fn now(command: String, project: &Path, seconds: f64) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            command,
            commit: commit(project),
            machine: format!(
                "{} {}, {threads} cores",
                std::env::consts::OS,
                std::env::consts::ARCH
            ),
            date: today(),
            seconds,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The commit of a checkout; a project without one has none.
fn commit(project: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(project).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "no commit".into() };
    // Results themselves are no change of the program.
    let changed =
        git(&["status", "--porcelain", "--", "crates", "experiments/*.toml", "Cargo.lock"]);
    let mark =
        if changed.is_some_and(|changed| !changed.is_empty()) { ", changed since" } else { "" };
    format!("{commit}{mark}")
}

fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    day(since.as_millis() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_as_expected_is_told() {
        let mut outcome = Outcome::default();
        outcome.figure("a", 47.9);
        let told = |figure: &str, value: f64| {
            against(&Expected { figure: figure.into(), value, tolerance: 0.1 }, &outcome)
        };
        assert_eq!(told("a", 47.96), None);
        assert!(told("a", 48.2).unwrap().contains("47.90"));
        assert!(told("b", 1.0).unwrap().contains("not measured"));
    }
}
