//! What does an experiment work with?
//!
//! A lab opens each judged library once, however many experiments ask for it, keeps every run that was made,
//! and takes it from its file the next time: an experiment that was interrupted goes on where it was.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fingerpost::embedding::EmbedError;
use fingerpost::eval::{
    FormatError, Measure, Qrels, Query, Run, evaluate, read_run, write_run_trec,
};
use fingerpost::library::read_unpacked;
use fingerpost::numbers;
use fingerpost::protocol::{Protocol, ProtocolName};
use fingerpost::search::SearchError;
use fingerpost::snapshot::{Snapshot, SnapshotError};
use fingerpost::view::View;

use crate::experiment::{Experiment, ExperimentError};
use crate::judged::{Judged, JudgedError, Places};
use crate::outcome::{Outcome, Proof};
use crate::record::RecordError;
use crate::retriever::{FindError, Finder, Models};

/// Why an experiment came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// There is no such experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// A library cannot be opened.
    #[error(transparent)]
    Judged(#[from] JudgedError),
    /// Skills cannot be found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A library cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A search failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A text cannot be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A stored run cannot be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// What is recorded cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file cannot be read or written.
    #[error("{file}: {source}")]
    File {
        /// Which one.
        file: String,
        /// What the disk said.
        source: std::io::Error,
    },
    /// The experiment says what cannot be.
    #[error("{experiment}: {why}")]
    Setting {
        /// Which one.
        experiment: String,
        /// What cannot be.
        why: String,
    },
    /// A model could not be asked.
    #[error("{0}")]
    Model(String),
}

/// What is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A step has begun.
    Doing(String),
    /// Of the step, so many of so many things are done.
    Progress {
        /// What one of them is called.
        noun: &'static str,
        /// So many are done.
        done: usize,
        /// In all.
        all: usize,
    },
    /// Something is left out, and why.
    LeftOut(String),
}

/// All that experiments work with.
pub struct Lab {
    /// Where data is looked for.
    pub places: Places,
    /// Where results go.
    pub out: PathBuf,
    /// Embedding models.
    pub models: Models,
    /// A Python environment in which programs that solve a request are tried.
    pub environment: Option<PathBuf>,
    on_event: Box<dyn Fn(Event) + Send + Sync>,
    opened: Mutex<BTreeMap<(String, usize, String), Arc<Opened>>>,
}

/// A judged library, compiled.
pub struct Opened {
    /// The library.
    pub judged: Judged,
    /// Its atlas.
    pub snapshot: Snapshot,
}

impl Lab {
    /// A lab that tells what it does.
    pub fn new(
        places: Places,
        out: PathBuf,
        models: Models,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Self {
        let (on_event, opened) = (Box::new(on_event), Mutex::default());
        Self { places, out, models, environment: None, on_event, opened }
    }

    pub(crate) fn doing(&self, what: impl Into<String>) {
        (self.on_event)(Event::Doing(what.into()));
    }

    /// Says that something is left out, also in the outcome.
    pub(crate) fn left_out(&self, outcome: &mut Outcome, why: impl Into<String>) {
        let why = why.into();
        (self.on_event)(Event::LeftOut(why.clone()));
        outcome.note(format!("Left out: {why}."));
    }

    /// A library with at most so many requests, compiled by a protocol.
    pub fn open(
        &self,
        name: &str,
        requests: usize,
        protocol: ProtocolName,
    ) -> Result<Arc<Opened>, LabError> {
        let key = (name.to_owned(), requests, protocol.to_string());
        if let Some(opened) = self.opened.lock().expect("nothing panics while holding it").get(&key)
        {
            return Ok(Arc::clone(opened));
        }
        let judged = Judged::open(name, &self.places)?.with_requests(requests);
        let (skills, asked) = (judged.library.skills().len(), judged.queries.len());
        self.doing(format!("{name}: compiling {skills} skills, asked {asked} requests"));
        let snapshot = judged.compile_as(&protocol.protocol())?;
        let opened = Arc::new(Opened { judged, snapshot });
        let mut known = self.opened.lock().expect("nothing panics while holding it");
        Ok(Arc::clone(known.entry(key).or_insert(opened)))
    }

    /// The libraries of an experiment; those that are not here are left out, saying so.
    pub(crate) fn data(
        &self,
        experiment: &Experiment,
        outcome: &mut Outcome,
    ) -> Result<Vec<Arc<Opened>>, LabError> {
        if experiment.protocol != ProtocolName::Ours {
            outcome.note(format!("Protocol: {}.", experiment.protocol));
        }
        let mut all = Vec::new();
        for name in &experiment.data {
            match self.open(name, experiment.requests, experiment.protocol) {
                Ok(opened) => all.push(opened),
                Err(LabError::Judged(missing @ JudgedError::Missing { .. })) => {
                    self.left_out(outcome, missing.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// What a retriever finds over a view, from its file if it was found before.
    pub(crate) fn run(
        &self,
        opened: &Opened,
        finder: &Finder,
        view: View,
        depth: usize,
    ) -> Result<Run, LabError> {
        let Opened { judged, snapshot } = opened;
        let file = self.run_file(opened, finder, view);
        let stamp = stamp(judged, snapshot, &format!("{finder} {view}"));
        // The last word of each line says what it was made from, and how deep it is.
        let deep_enough = |text: &String| {
            let tag = text.lines().next().and_then(|line| line.rsplit(' ').next());
            let made = tag.and_then(|tag| tag.rsplit_once('-'));
            let of_this = made.filter(|(of, _)| *of == stamp);
            of_this.and_then(|(_, deep)| deep.parse().ok()).is_some_and(|deep: usize| deep >= depth)
        };
        if let Some(text) = read_unpacked(&file).ok().filter(deep_enough) {
            let stored = read_run(&text, &file.display().to_string())?;
            let mut run = Run::default();
            for (query, hits) in stored.iter() {
                run.insert(query, hits.iter().take(depth).cloned().collect());
            }
            return Ok(run);
        }
        self.doing(format!("{}: {finder} over {view}", judged.name));
        let run = finder.find(snapshot, view, &judged.queries, depth, &self.models)?;
        let mut text = Vec::new();
        let written = write_run_trec(&run, &format!("{stamp}-{depth}"), &mut text)
            .and_then(|_| packed(&text));
        written.and_then(|packed| put(&file, &packed)).map_err(|source| failed(&file, source))?;
        Ok(run)
    }

    fn run_file(&self, opened: &Opened, finder: &Finder, view: View) -> PathBuf {
        let name = file_name(&opened.judged.name);
        let is_ours = opened.snapshot.head().protocol.clustering == Protocol::ours().clustering;
        let protocol = if is_ours { "" } else { ".paper" };
        self.out.join("runs").join(format!("{name}{protocol}.{finder}.{view}.run.zst"))
    }

    /// Measures a run, and adds each figure with how it can be computed again.
    pub(crate) fn measure(
        &self,
        opened: &Opened,
        finder: &Finder,
        view: View,
        measures: &[Measure],
        outcome: &mut Outcome,
    ) -> Result<Vec<f64>, LabError> {
        let judged = &opened.judged;
        let depth = measures.iter().filter_map(Measure::cutoff).max().unwrap_or(10).max(10);
        let run = self.run(opened, finder, view, depth)?;
        let means = macro_means(&run, &judged.qrels, &judged.queries, measures);
        let file = self.run_file(opened, finder, view);
        let file = file.file_name().unwrap_or_default().display().to_string();
        for (measure, mean) in measures.iter().zip(&means) {
            let name = format!("{} {finder} {view} {measure}", judged.name);
            outcome.figure(&name, 100.0 * mean);
            let proof = Proof {
                run: file.clone(),
                data: judged.asks.clone(),
                requests: judged.queries.len(),
                measure: measure.to_string(),
            };
            outcome.proofs.insert(name, proof);
        }
        Ok(means)
    }
}

/// Means over data sets, one a measure.
pub(crate) fn macro_means(
    run: &Run,
    qrels: &Qrels,
    queries: &[Query],
    measures: &[Measure],
) -> Vec<f64> {
    let means = evaluate(run, qrels, Some(queries), measures).macro_mean;
    means.values().map(|mean| mean.as_f64().unwrap_or(0.0)).collect()
}

/// Says what a stored result was made from: library, pages, requests, numbers of the program.
fn stamp(judged: &Judged, snapshot: &Snapshot, what: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    let head = snapshot.head();
    let protocol = serde_json::to_string(&head.protocol).expect("plain data");
    let numbers = numbers::VERSION.to_string();
    let parts = [&head.library.digest, &head.pages_digest, &protocol, what, &numbers];
    for part in parts {
        hasher.update(part.as_bytes()).update(&[0]);
    }
    for query in &judged.queries {
        hasher.update(query.id.as_bytes()).update(&[0]).update(query.text.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A name as part of a file's name: a folder's path has separators.
pub(crate) fn file_name(name: &str) -> String {
    let name = name.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(name);
    if name.is_empty() || name == "." { "library".to_owned() } else { name.to_owned() }
}

/// Good enough for text that is read once, and quick.
const LEVEL: i32 = 12;

pub(crate) fn packed(text: &[u8]) -> std::io::Result<Vec<u8>> {
    zstd::encode_all(text, LEVEL)
}

/// Writes a file whole or not at all, with its folder.
pub(crate) fn put(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut unfinished = tempfile::NamedTempFile::new_in(folder)?;
    unfinished.write_all(bytes)?;
    unfinished.as_file().sync_all()?;
    let written = unfinished.persist(file)?;
    // Others may read what an experiment found.
    #[cfg(unix)]
    written.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    drop(written);
    Ok(())
}

pub(crate) fn failed(file: &Path, source: std::io::Error) -> LabError {
    LabError::File { file: file.display().to_string(), source }
}
