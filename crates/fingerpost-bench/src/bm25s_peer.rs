//! How fast does bm25s index the same texts and answer the same requests?
//!
//! It runs in Python, in a process of its own for each measurement (`tools/bench/bm25s_peer.py`),
//! with numba, its fastest backend; reading the files and compiling are outside its times.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;

use crate::contest::{BM25S, Task, Timings};
use crate::sparse::K;

/// A Python that has bm25s.
pub(crate) struct Peer<'a> {
    python: &'a Path,
    corpus: PathBuf,
    queries: PathBuf,
}

/// What the script prints, as far as we use it.
#[derive(Debug, Deserialize)]
pub(crate) struct Figures {
    pub(crate) version: String,
    docs: usize,
    queries: usize,
    tokenize_s: f64,
    index_s: f64,
    tokenize_queries_s: f64,
    search_s: f64,
}

impl<'a> Peer<'a> {
    /// The peer, or the reason why it cannot take part and what to do about it.
    pub(crate) fn new(python: &'a Path, corpus: PathBuf, queries: PathBuf) -> Result<Self, String> {
        let imports = "import bm25s, numba, zstandard";
        let check = Command::new(python).args(["-c", imports]).stdin(Stdio::null()).output();
        let problem = match check {
            Ok(output) if output.status.success() => return Ok(Self { python, corpus, queries }),
            Ok(output) => {
                let talk = String::from_utf8_lossy(&output.stderr);
                let last = talk.lines().last().unwrap_or("it says nothing").to_owned();
                format!("{} cannot `{imports}`: {last}", python.display())
            }
            Err(error) => format!("cannot run {}: {error}", python.display()),
        };
        Err(format!(
            "{problem}\n  hint: `cargo xtask bench` makes this Python; by hand:\n    \
             python3.11 -m venv target/golden-venv\n    \
             target/golden-venv/bin/pip install -r tools/golden/requirements.txt\n  \
             hint: or name another one with --python, or leave bm25s out with --skip-bm25s"
        ))
    }

    /// Runs the script once and records its times; `run` is where to write its ranking.
    pub(crate) fn measure(
        &self,
        threads: usize,
        run: Option<&Path>,
        timings: &mut Timings,
    ) -> anyhow::Result<Figures> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/bench/bm25s_peer.py");
        let mut command = Command::new(self.python);
        command.arg(&script).arg("--corpus").arg(&self.corpus).arg("--queries").arg(&self.queries);
        command.args(["--backend", "numba", "--repeats", "1"]);
        command.args(["--threads", &threads.to_string(), "--k", &K.to_string()]);
        if let Some(run) = run {
            command.arg("--run").arg(run);
        }
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot run {}", self.python.display()))?;
        anyhow::ensure!(output.status.success(), "{} failed: {}", script.display(), output.status);
        let figures: Figures = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} printed no figures", script.display()))?;

        // Only the search is threaded: the rest is measured anew with each thread count.
        timings.record(Task::Tokenize, BM25S, 1, figures.tokenize_s);
        timings.record(Task::Index, BM25S, 1, figures.index_s);
        timings.record(Task::Build, BM25S, 1, figures.tokenize_s + figures.index_s);
        timings.record(Task::SearchTokenized, BM25S, threads, figures.search_s);
        let search_s = figures.tokenize_queries_s + figures.search_s;
        timings.record(Task::Search, BM25S, threads, search_s);
        Ok(figures)
    }
}

impl Figures {
    /// Did it read what we read?
    pub(crate) fn check_size(&self, skills: usize, queries: usize) -> anyhow::Result<()> {
        anyhow::ensure!(
            (self.docs, self.queries) == (skills, queries),
            "bm25s read {} skills and {} requests, we read {skills} and {queries}",
            self.docs,
            self.queries
        );
        Ok(())
    }
}
