//! What is an experiment made of?
//!
//! A small TOML file: the question, the data, what is varied, what is measured, and the figures that are
//! expected with how far they may be off. Those that belong to the paper are part of the program; a folder of
//! a user's own can be named instead.

use std::path::Path;

use fingerpost::eval::Measure;
use fingerpost::protocol::ProtocolName;
use fingerpost::view::{Cards, View};
use serde::Deserialize;

/// An experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// Its name: that of its file.
    #[serde(skip)]
    pub name: String,
    /// Its place in the list.
    pub number: u32,
    /// A few words.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// How it is answered.
    pub kind: Kind,
    /// Which table or figure of the paper it repeats.
    #[serde(default)]
    pub paper: Option<String>,
    /// What differs from the paper's benchmark, where a number could be mistaken for one of the paper's.
    #[serde(default)]
    pub differs: Option<String>,
    /// Judged libraries, by name or by folder.
    pub data: Vec<String>,
    /// By which settings libraries are compiled and searched: `ours`, or those of the `paper`.
    #[serde(default, deserialize_with = "named")]
    pub protocol: ProtocolName,
    /// What finds skills.
    #[serde(default)]
    pub retrievers: Vec<String>,
    /// What an index sees.
    #[serde(default, deserialize_with = "parsed")]
    pub views: Vec<View>,
    /// What a reader sees of a candidate.
    #[serde(default, deserialize_with = "parsed")]
    pub cards: Vec<Cards>,
    /// Readers whose choices are recorded; a model that is named on the way is one more.
    #[serde(default)]
    pub readers: Vec<String>,
    /// What is measured.
    #[serde(default, deserialize_with = "parsed")]
    pub measures: Vec<Measure>,
    /// Requests of a library at most, evenly spaced.
    #[serde(default = "all")]
    pub requests: usize,
    /// Data sets whose requests a reader is asked about; all where none is named.
    #[serde(default)]
    pub datasets: Vec<String>,
    /// Rounds, where answers are drawn.
    #[serde(default = "one")]
    pub rounds: usize,
    /// Of each data set, requests on which two arms differ that are solved, at most.
    #[serde(default = "differ")]
    pub differ: usize,
    /// Of each data set, requests on which they agree that are solved, at most.
    #[serde(default = "agree")]
    pub agree: usize,
    /// How freely answers are drawn.
    #[serde(default)]
    pub temperature: f64,
    /// Numbers of buckets that are tried.
    #[serde(default)]
    pub buckets: Vec<usize>,
    /// Cosine distances that are tried.
    #[serde(default)]
    pub distances: Vec<f64>,
    /// Seed of everything that is drawn.
    #[serde(default = "seed")]
    pub seed: u64,
    /// The figures that say most, first.
    #[serde(default)]
    pub headline: Vec<String>,
    /// What is other for a first look.
    #[serde(default)]
    pub quick: Quick,
    /// What is expected to come out.
    #[serde(default)]
    pub expected: Vec<Expected>,
}

/// How an experiment is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Where failed requests are lost.
    Failures,
    /// Retrievers over documents and over pages.
    Retrieval,
    /// The boundary in an index.
    Boundary,
    /// Requests written from single documents, against pages.
    Doc2query,
    /// Pages field by field.
    Fields,
    /// What becomes of first places.
    Preservation,
    /// Being among ten against being first.
    Pool,
    /// Readers that choose among cards.
    Routing,
    /// Answers to whole tasks.
    Solving,
    /// Another language.
    Transfer,
    /// Settings of the neighborhoods.
    Sweep,
    /// Documents that nobody can tell apart.
    Bound,
    /// What a page is written against.
    Contrast,
    /// What compiling takes.
    Cost,
}

/// What is other for a first look: less of everything.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quick {
    /// Other libraries.
    pub data: Option<Vec<String>>,
    /// Other retrievers.
    pub retrievers: Option<Vec<String>>,
    /// Fewer requests.
    pub requests: Option<usize>,
}

/// A figure that is expected.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its name, as the outcome has it.
    pub figure: String,
    /// Its value.
    pub value: f64,
    /// How far it may be off.
    pub tolerance: f64,
}

fn all() -> usize {
    usize::MAX
}

fn one() -> usize {
    1
}

fn differ() -> usize {
    40
}

fn agree() -> usize {
    20
}

fn seed() -> u64 {
    42
}

/// A protocol by its name.
fn named<'de, D: serde::Deserializer<'de>>(name: D) -> Result<ProtocolName, D::Error> {
    String::deserialize(name)?.parse().map_err(serde::de::Error::custom)
}

/// Values that are written as words.
fn parsed<'de, D, T>(words: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let words = Vec::<String>::deserialize(words)?;
    words.iter().map(|word| word.parse().map_err(serde::de::Error::custom)).collect()
}

/// Why there is no such experiment.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file does not say what an experiment is.
    #[error("{file} is no experiment: {why}")]
    Unreadable {
        /// Which file.
        file: String,
        /// What is wrong, and where.
        why: String,
    },
    /// Nobody knows it.
    #[error("there is no experiment '{name}': the names are {names}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What could have been.
        names: String,
    },
    /// The folder cannot be read.
    #[error("cannot read {folder}: {source}")]
    Folder {
        /// Which one.
        folder: String,
        /// What the disk said.
        source: std::io::Error,
    },
}

impl Experiment {
    /// Reads the text of a file.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let unreadable =
            |why: String| ExperimentError::Unreadable { file: format!("{name}.toml"), why };
        let experiment: Self =
            toml::from_str(text).map_err(|error| unreadable(error.to_string()))?;
        if experiment.data.is_empty() {
            return Err(unreadable("it names no data".to_owned()));
        }
        Ok(Self { name: name.to_owned(), ..experiment })
    }

    /// The same for a first look.
    #[must_use]
    pub fn quick(mut self) -> Self {
        let Quick { data, retrievers, requests } = std::mem::take(&mut self.quick);
        self.data = data.unwrap_or(self.data);
        self.retrievers = retrievers.unwrap_or(self.retrievers);
        self.requests = requests.unwrap_or(self.requests);
        // What is expected is expected of the whole.
        self.expected.clear();
        self
    }
}

/// Those that are part of the program, in their order.
pub fn shipped() -> Vec<Experiment> {
    let texts = [
        ("failures", include_str!("../../../experiments/failures.toml")),
        ("retrieval", include_str!("../../../experiments/retrieval.toml")),
        ("boundary", include_str!("../../../experiments/boundary.toml")),
        ("doc2query", include_str!("../../../experiments/doc2query.toml")),
        ("fields", include_str!("../../../experiments/fields.toml")),
        ("preservation", include_str!("../../../experiments/preservation.toml")),
        ("pool", include_str!("../../../experiments/pool.toml")),
        ("routing", include_str!("../../../experiments/routing.toml")),
        ("solving", include_str!("../../../experiments/solving.toml")),
        ("transfer", include_str!("../../../experiments/transfer.toml")),
        ("sweep", include_str!("../../../experiments/sweep.toml")),
        ("bound", include_str!("../../../experiments/bound.toml")),
        ("contrast", include_str!("../../../experiments/contrast.toml")),
        ("cost", include_str!("../../../experiments/cost.toml")),
    ];
    let parse = |(name, text)| Experiment::parse(name, text).expect("a test reads them all");
    in_order(texts.map(parse).into())
}

/// Those of a folder, in their order.
pub fn of_folder(folder: &Path) -> Result<Vec<Experiment>, ExperimentError> {
    let failed = |source| ExperimentError::Folder { folder: folder.display().to_string(), source };
    let mut experiments = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let name = file.file_stem().and_then(|name| name.to_str());
        if let (Some(name), Some("toml")) = (name, file.extension().and_then(|end| end.to_str())) {
            let text = std::fs::read_to_string(&file).map_err(failed)?;
            experiments.push(Experiment::parse(name, &text)?);
        }
    }
    Ok(in_order(experiments))
}

fn in_order(mut experiments: Vec<Experiment>) -> Vec<Experiment> {
    experiments.sort_by(|a, b| a.number.cmp(&b.number).then_with(|| a.name.cmp(&b.name)));
    experiments
}

/// The one of this name.
pub fn find(experiments: &[Experiment], name: &str) -> Result<Experiment, ExperimentError> {
    let found = experiments.iter().find(|experiment| experiment.name == name);
    found.cloned().ok_or_else(|| {
        let names: Vec<&str> = experiments.iter().map(|known| known.name.as_str()).collect();
        ExperimentError::Unknown { name: name.to_owned(), names: names.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_shipped_can_be_read_and_are_numbered_once() {
        let shipped = shipped();
        let numbers: Vec<u32> = shipped.iter().map(|experiment| experiment.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        for experiment in shipped {
            let quick = experiment.clone().quick();
            assert!(quick.expected.is_empty() && !quick.data.is_empty(), "{}", experiment.name);
        }
    }

    #[test]
    fn a_bad_file_is_told_by_its_name_and_line() {
        let error = Experiment::parse("mine", "number = 1\ntitle = 3\n").unwrap_err().to_string();
        assert!(error.contains("mine.toml") && error.contains("line 2"), "{error}");
        let text =
            "number = 1\ntitle = ''\nquestion = ''\nkind = 'pool'\ndata = ['a']\nviews = ['ful']";
        let error = Experiment::parse("mine", text).unwrap_err().to_string();
        assert!(error.contains("'ful' is no view"), "{error}");
        assert!(find(&[], "x").unwrap_err().to_string().contains("'x'"));
    }
}
