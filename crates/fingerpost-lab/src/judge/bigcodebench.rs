//! Does the code in a model's answer pass the tests of its BigCodeBench case?
//!
//! The code and the tests run as one module in the sandbox, with the libraries of a Python
//! environment (`tools/bigcodebench`). An exit code of 0 proves nothing, because the code could have
//! made it: a verdict needs a report that begins with a word made for this run, which the runner
//! writes after the last test. Code that looks for that word in the runner's memory finds it: this
//! guards against answers that end early or bend the tests, not against an attack on the judge.

mod answer;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Verdict;
use crate::sandbox::{Ended, Finished, Job, Limits, Sandbox, SandboxError};

/// The program that runs the tests.
const RUNNER: &str = include_str!("bigcodebench/run.py");

/// Characters of a reason at most.
const LONGEST_WHY: usize = 600;

/// Where cases are run.
#[derive(Debug, Clone)]
pub struct Bench {
    sandbox: Sandbox,
    /// The interpreter of the environment.
    python: PathBuf,
    /// The environment, and the installation that it was made from.
    shown: Vec<PathBuf>,
    /// How much one case may use.
    pub limits: Limits,
}

/// Why no verdict could be reached.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The Python environment is none.
    #[error(
        "{path} is no Python environment: make one with python3 -m venv, and install tools/bigcodebench/requirements.txt into it"
    )]
    Environment {
        /// The folder.
        path: PathBuf,
        /// Why it could not be read.
        #[source]
        source: io::Error,
    },
    /// The case lacks something.
    #[error("the case has no text in '{field}'")]
    Case {
        /// The field.
        field: &'static str,
    },
    /// There is no randomness to be had.
    #[error("could not make a word for the report")]
    Random(#[source] io::Error),
    /// The environment's Python does not come to load the answer.
    #[error("Python does not run the tests: {message}")]
    Runner {
        /// What it wrote.
        message: String,
    },
    /// The report cannot be read.
    #[error("the runner's report cannot be read")]
    Report(#[source] serde_json::Error),
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// What the runner reports.
#[derive(Debug, Deserialize)]
struct Report {
    tests: usize,
    passed: usize,
    /// What the answer changed that is not its own.
    tampered: Option<String>,
    failures: Vec<Failure>,
}

#[derive(Debug, Deserialize)]
struct Failure {
    test: String,
    message: String,
    /// What this machine lacks, if that is the reason.
    missing: Option<String>,
}

impl Bench {
    /// A bench with a virtual environment of Python, made by `python3 -m venv`.
    pub fn new(sandbox: Sandbox, environment: &Path) -> Result<Self, JudgeError> {
        let failed = |source| JudgeError::Environment { path: environment.to_path_buf(), source };
        let environment = fs::canonicalize(environment).map_err(failed)?;
        let settings = fs::read_to_string(environment.join("pyvenv.cfg")).map_err(failed)?;
        let python = environment.join("bin/python");
        fs::metadata(&python).map_err(failed)?;
        let mut entries = settings.lines().filter_map(|line| line.split_once('='));
        let home = entries.find(|(key, _)| key.trim() == "home").map(|(_, value)| value.trim());
        // A folder of programs, beside that of the standard library.
        let base = home.map(Path::new).and_then(Path::parent);
        let base = base.filter(|base| base.parent().is_some() && !base.starts_with("/usr"));
        let shown = base.map(Path::to_path_buf).into_iter().chain([environment]).collect();
        let limits = Limits {
            wall: Duration::from_secs(120),
            cpu: Duration::from_secs(120),
            memory: 4 << 30,
            processes: 128,
            file: 256 << 20,
            folder: 512 << 20,
            output: 1 << 20,
        };
        Ok(Self { sandbox, python, shown, limits })
    }
}

/// Judges an answer by its case: the data's `test` and `entry_point`.
pub fn judge(eval_data: &Value, answer: &str, bench: &Bench) -> Result<Verdict, JudgeError> {
    let field = |field: &'static str| {
        eval_data.get(field).and_then(Value::as_str).ok_or(JudgeError::Case { field })
    };
    let (test, entry_point) = (field("test")?, field("entry_point")?);
    let word = random_word().map_err(JudgeError::Random)?;
    let mut job = Job::new(&bench.python);
    job.args = ["-s", "-c", RUNNER].map(Into::into).to_vec();
    let code = answer::code(answer, entry_point);
    job.stdin = json!({ "word": word, "answer": code, "test": test }).to_string().into_bytes();
    job.variables = variables();
    job.shown.clone_from(&bench.shown);
    job.limits.clone_from(&bench.limits);
    let finished = bench.sandbox.run(&job)?;
    let text = String::from_utf8_lossy(&finished.stdout);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(&word));
    if lines.next().is_none() {
        let message = bounded(String::from_utf8_lossy(&finished.stderr).trim());
        return Err(JudgeError::Runner { message });
    }
    match lines.next().filter(|_| finished.exit == Some(0)) {
        Some(report) => serde_json::from_str(report).map_err(JudgeError::Report).map(verdict),
        None => Ok(Verdict::Wrong { why: early_end(&finished, &bench.limits) }),
    }
}

/// What keeps libraries from asking for a display, for a home or for all processors.
fn variables() -> Vec<(String, String)> {
    let variables = [
        ("MPLBACKEND", "Agg"),
        ("MPLCONFIGDIR", "/tmp/matplotlib"),
        ("MKL_NUM_THREADS", "1"),
        ("NUMBA_CACHE_DIR", "/tmp/numba"),
        ("OMP_NUM_THREADS", "1"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONHASHSEED", "0"),
    ];
    variables.map(|(name, value)| (name.to_string(), value.to_string())).to_vec()
}

fn verdict(report: Report) -> Verdict {
    if let Some(what) = report.tampered {
        return Verdict::Wrong { why: bounded(&format!("the code replaces {what}")) };
    }
    if let Some(failure) = report.failures.iter().find(|failure| failure.missing.is_none()) {
        return Verdict::Wrong { why: bounded(&format!("{}: {}", failure.test, failure.message)) };
    }
    let lacks = report.failures.first().and_then(|failure| failure.missing.as_ref());
    if let Some(what) = lacks {
        return Verdict::NotRunnable { why: bounded(&format!("this machine lacks {what}")) };
    }
    match (report.passed, report.tests) {
        (_, 0) => Verdict::NotRunnable { why: "the case has no tests".into() },
        (passed, tests) if passed == tests => Verdict::Right,
        (passed, tests) => Verdict::Wrong { why: format!("{passed} of {tests} tests passed") },
    }
}

/// Why there is no report.
fn early_end(finished: &Finished, limits: &Limits) -> String {
    let how = match finished.ended {
        Ended::Exited => format!("with exit code {}", finished.exit.unwrap_or_default()),
        Ended::Killed { signal } => format!("by signal {signal}"),
        Ended::TimedOut => format!("after {} seconds", limits.wall.as_secs()),
        Ended::CpuLimit => format!("after {} seconds of computing", limits.cpu.as_secs()),
        Ended::MemoryLimit => format!("at {} MiB of memory", limits.memory >> 20),
        Ended::OutputLimit => "because it wrote too much".to_string(),
    };
    format!("the run ended {how}, before its tests were through")
}

fn bounded(why: &str) -> String {
    why.chars().take(LONGEST_WHY).collect()
}

/// A word that nobody can guess.
fn random_word() -> io::Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
