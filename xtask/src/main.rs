//! The project's chores, as commands: `cargo xtask ci`, `tidy`, `reference`, `golden`, `verify`, `bench`, `model`, `pages`, `postgres`.

#![expect(clippy::print_stderr, reason = "a chore talks to whoever runs it")]

mod doors;
mod links;
mod model;
mod postgres;
mod reference;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};

use crate::reference::Mode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must be green: formatting, lints, tidy, all tests, documentation.
    Ci {
        #[command(subcommand)]
        part: Option<Part>,
    },
    /// File headers, file sizes, and the invariants that a tool can check.
    Tidy,
    /// Write the reference and the outputs in the guide anew, from the program; or check that they are fresh.
    Reference {
        /// Change nothing, and fail where something would change.
        #[arg(long)]
        check: bool,
    },
    /// Make the golden files again with the reference packages, and show what changed.
    Golden,
    /// Compute the figures of docs/lab again, from their runs, by the Python package ir_measures.
    Verify,
    /// Kills, damage and readers beside compilers, for minutes; FINGERPOST_TORTURE_ROUNDS says how many.
    Torture,
    /// Fetch a real language model and its server, for the tests that use one.
    Model {
        /// smollm2-135m, qwen2.5-coder-0.5b or qwen2.5-coder-1.5b.
        #[arg(default_value = "smollm2-135m")]
        name: String,
    },
    /// Have a real model write the pages of the example library, and keep what it answered.
    Pages {
        /// As for `model`.
        #[arg(default_value = "qwen2.5-coder-0.5b")]
        name: String,
    },
    /// A real PostgreSQL with pgvector, on loopback, for tests and trials.
    #[command(subcommand)]
    Postgres(Postgres),
    /// Time us and our peers on the same work.
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
}

#[derive(Subcommand)]
enum Part {
    /// The doors, with clients and test suites of others, which come from the registries of packages.
    Doors {
        /// Only steps with one of these words in their names.
        words: Vec<String>,
    },
}

#[derive(Subcommand)]
enum Postgres {
    /// Start one that stays, and say where it is.
    Start,
    /// End the one that `start` started; all that it holds goes.
    Stop,
    /// Twenty rounds of workers that are killed, paused and cut off; FINGERPOST_TORTURE_ROUNDS says how many.
    Torture,
    /// Run a command with FINGERPOST_TEST_POSTGRES set to one that is gone afterwards.
    Run {
        /// The command.
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
}

#[derive(Subcommand)]
enum Bench {
    /// BM25 build and search beside bm25s and tantivy.
    Sparse {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Embedding in process beside Python's onnxruntime.
    Embed {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Vectors fitted to a library beside scikit-learn's.
    Fit {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Buckets and linkage beside scikit-learn and faiss.
    Neighborhoods {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Vectors searched beside faiss.
    Dense {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What one request costs in a running process, at 33,441 skills.
    Route {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What one command costs from process start, at several sizes; `--old PATH` sets another binary
    /// beside it.
    Start {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// How many requests the server answers, beside plain Python servers: docs/lab/serve.md.
    Serve {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What each way of searching is worth: the first table of docs/lab/search.md.
    Search {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// The chooser without a model beside the first hit: the tables of docs/lab/choosing.md.
    Choose {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What a skill wins that stuffs its description: the table of
    /// docs/decisions/first-hundred-words.md.
    Stuffed {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Whether pages are written against the skills that win their requests: the table of
    /// docs/decisions/rivals-or-neighborhoods.md.
    Contention {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Which requests are refused, and how sure an answer is: the tables of docs/lab/none.md.
    None {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What the local writer's pages gain: the tables of docs/lab/local-pages.md.
    Pages {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What our search is worth beside its peers, on every judged library: the tables of
    /// docs/lab/peers.md.
    Peers {
        /// Options of the benchmark itself, after `--`.
        #[arg(last = true)]
        options: Vec<String>,
    },
}

fn main() -> ExitCode {
    let chore = Arguments::parse().chore;
    let done = std::env::set_current_dir(root()).map_err(Into::into).and_then(|()| match chore {
        Chore::Ci { part: None } => ci(),
        Chore::Ci { part: Some(Part::Doors { words }) } => doors::run(&words),
        Chore::Tidy => tidy::run(&root()),
        Chore::Reference { check: false } => reference::run(&root(), Mode::Write),
        Chore::Reference { check: true } => reference::run(&root(), Mode::Check),
        Chore::Golden => golden(),
        Chore::Model { name } => model::fetch(&name).map(|_| ()),
        Chore::Pages { name } => model::pages(&name),
        Chore::Torture => torture(),
        Chore::Postgres(Postgres::Start) => postgres::start(),
        Chore::Postgres(Postgres::Stop) => postgres::stop(),
        Chore::Postgres(Postgres::Torture) => postgres::torture(),
        Chore::Postgres(Postgres::Run { command }) => postgres::run(&command),
        Chore::Verify => verify(),
        Chore::Bench { what: Bench::Sparse { options } } => bench("sparse", &options),
        Chore::Bench { what: Bench::Embed { options } } => bench("embed", &options),
        Chore::Bench { what: Bench::Fit { options } } => bench("fit", &options),
        Chore::Bench { what: Bench::Neighborhoods { options } } => bench("neighborhoods", &options),
        Chore::Bench { what: Bench::Dense { options } } => bench("dense", &options),
        Chore::Bench { what: Bench::Contention { options } } => {
            measure("contention", &["--release"], &options)
        }
        Chore::Bench { what: Bench::Route { options } } => {
            measure("route", &["--release"], &options)
        }
        Chore::Bench { what: Bench::Start { options } } => {
            cargo(&["build", "--release", "--locked", "--package", "fingerpost-cli"])
                .and_then(|()| measure("start", &["--release"], &options))
        }
        Chore::Bench { what: Bench::Serve { options } } => {
            cargo(&["build", "--release", "--locked", "--package", "fingerpost-cli"])
                .and_then(|()| serve(&options))
        }
        Chore::Bench { what: Bench::Search { options } } => measure("search", &[], &options),
        Chore::Bench { what: Bench::Choose { options } } => measure("choose", &[], &options),
        Chore::Bench { what: Bench::Stuffed { options } } => measure("stuffed", &[], &options),
        Chore::Bench { what: Bench::None { options } } => measure("none", &[], &options),
        Chore::Bench { what: Bench::Pages { options } } => measure("pages", &[], &options),
        Chore::Bench { what: Bench::Peers { options } } => {
            // Without Python its arms are left out, and the others still say something.
            if let Err(error) = python() {
                eprintln!("going on without Python's packages: {error:#}");
            }
            measure("peers", &["--release"], &options)
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_path_buf()
}

fn ci() -> anyhow::Result<()> {
    let start = Instant::now();
    step("tidy", || tidy::run(&root()))?;
    if has("fmt") {
        step("formatting", || cargo(&["fmt", "--all", "--check"]))?;
    }
    if has("clippy") {
        // The benchmark too: what is not compiled rots.
        let lints =
            ["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"];
        step("lints", || cargo(&lints))?;
    }
    step("reference and guide", || reference::run(&root(), Mode::Check))?;
    eprintln!("\n== a real model for the tests");
    if let Err(error) = model::fetch(model::SMALLEST) {
        eprintln!("== SKIPPED: no real model can be had: {error:#}");
    }
    eprintln!("\n== ir_measures for the tests");
    if let Err(error) = ir_measures() {
        eprintln!("== SKIPPED: no figure of docs/lab is computed again: {error:#}");
    }
    step("tests", tests)?;
    step("documentation", || {
        let documented = Command::new("cargo")
            // The command has the library's name, so their pages would overwrite each other.
            .args(["doc", "--locked", "--no-deps", "--package", "fingerpost", "--package", "xtask"])
            .args(["--package", "fingerpost-postgres"])
            .env("RUSTDOCFLAGS", "--deny warnings")
            .status()?;
        if documented.success() { Ok(()) } else { bail!("cargo doc failed") }
    })?;
    step("licences, bans and sources", deny)?;
    eprintln!("\nall green after {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// All tests, with a real PostgreSQL where one can be had.
fn tests() -> anyhow::Result<()> {
    let mut tests = Command::new("cargo");
    tests.args(["test", "--locked"]);
    let server = postgres::Running::start();
    match &server {
        Ok(server) => drop(tests.env(postgres::VARIABLE, &server.url)),
        Err(error) => {
            eprintln!(
                "== SKIPPED: nothing is tested with PostgreSQL, which cannot be had: {error:#}"
            );
        }
    }
    let status = tests.status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("`cargo test --locked` failed") }
}

/// What we build on, by deny.toml. The tool comes as a crate where the machine has none; its database of
/// advisories lies elsewhere, so that check is for those who have it (`cargo deny check`).
fn deny() -> anyhow::Result<()> {
    let tools = root().join("target/tools");
    let installed = tools.join("bin/cargo-deny");
    let program = if Command::new("cargo-deny").arg("--version").output().is_ok() {
        PathBuf::from("cargo-deny")
    } else {
        if !installed.exists() {
            let root = tools.display().to_string();
            let install = ["install", "--quiet", "--locked", "--root", &root, DENY];
            if let Err(error) = cargo(&install) {
                eprintln!("== SKIPPED: {DENY} cannot be installed: {error:#}");
                return Ok(());
            }
        }
        installed
    };
    let check = ["check", "bans", "licenses", "sources"];
    run(&program.display().to_string(), &check)
}

/// Pinned, so that a new version of it breaks nothing unasked.
const DENY: &str = "cargo-deny@0.20.2";

fn step(name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    eprintln!("\n== {name}");
    work().with_context(|| format!("{name} failed"))
}

/// A cargo subcommand that some machines lack is left out, and said to be.
fn has(subcommand: &str) -> bool {
    let found = Command::new("cargo").args([subcommand, "--version"]).output();
    let found = found.is_ok_and(|found| found.status.success());
    if !found {
        eprintln!("\n== SKIPPED: cargo {subcommand} is not installed");
    }
    found
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    run("cargo", arguments)
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program)
        .args(arguments)
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("`{program} {}` failed", arguments.join(" "));
    }
    Ok(())
}

/// The slow tests, in the profile that people use; the rounds by FINGERPOST_TORTURE_ROUNDS.
fn torture() -> anyhow::Result<()> {
    let tests = ["test", "--release", "--locked", "-p", "fingerpost-cli", "--test", "torture"];
    cargo(&[&tests[..], &["--", "--ignored", "--nocapture", "--test-threads", "1"]].concat())
}

/// The headline figures, by somebody else's program. Data that is not here is left out, saying so.
fn verify() -> anyhow::Result<()> {
    let python = ir_measures()?;
    let program = ["run", "--locked", "--package", "fingerpost-cli", "--"];
    let verify = ["lab", "verify", "--out", "docs/lab", "--python", &python];
    cargo(&[&program[..], &verify].concat())
}

/// A Python environment with ir_measures, where the tests of `fingerpost-lab` look for it.
fn ir_measures() -> anyhow::Result<String> {
    environment("target/lab-python", "crates/fingerpost-lab/src/verify/requirements.txt")
}

/// A Python environment with the reference packages, in the target folder.
fn python() -> anyhow::Result<String> {
    environment("target/golden-venv", "tools/golden/requirements.txt")
}

/// A Python environment with packages of PyPI.
fn environment(folder: &str, requirements: &str) -> anyhow::Result<String> {
    let folder = root().join(folder);
    let python = folder.join("bin/python").display().to_string();
    if !folder.exists() {
        run("python3", &["-m", "venv", &folder.display().to_string()])?;
    }
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(&python, &[&quiet[..], &["--requirement", requirements]].concat())?;
    Ok(python)
}

fn golden() -> anyhow::Result<()> {
    let python = python()?;
    let files = "crates/fingerpost/tests/golden";
    let measures = format!("{files}/measures.json");
    let sparse = format!("{files}/sparse.json");
    run(&python, &["tools/golden/measures.py", &measures])?;
    run(&python, &["tools/golden/sparse.py", "examples/library", &sparse])?;
    let neighborhoods = format!("{files}/neighborhoods.json");
    run(&python, &["tools/golden/neighborhoods.py", &neighborhoods])?;
    run("git", &["--no-pager", "diff", "--stat", "--", files])
}

/// Speed, beside peers that live in Python.
fn bench(verb: &str, options: &[String]) -> anyhow::Result<()> {
    let python = python()?;
    let mut arguments = vec!["run", "--release", "--locked", "--package", "fingerpost-bench", "--"];
    arguments.extend([verb, "--python", &python]);
    arguments.extend(options.iter().map(String::as_str));
    cargo(&arguments)
}

/// The server beside servers in Python, which have an environment of their own.
fn serve(options: &[String]) -> anyhow::Result<()> {
    let folder = root().join("target/serve-venv");
    let python = folder.join("bin/python").display().to_string();
    if !folder.exists() {
        run("python3", &["-m", "venv", &folder.display().to_string()])?;
    }
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let requirements = ["--requirement", "tools/bench/serve_requirements.txt"];
    if let Err(error) = run(&python, &[&quiet[..], &requirements].concat()) {
        // The report then says that the peers could not take part.
        eprintln!("going on without Python's packages: {error:#}");
    }
    let options = [&["--python".to_owned(), python][..], options].concat();
    measure("serve", &["--release"], &options)
}

/// What needs no peer. Quality is the same in any profile: the one that tests have built will do.
fn measure(verb: &str, profile: &[&str], options: &[String]) -> anyhow::Result<()> {
    let mut arguments = vec!["run", "--locked", "--package", "fingerpost-bench"];
    arguments.extend(profile);
    arguments.extend(["--", verb]);
    arguments.extend(options.iter().map(String::as_str));
    cargo(&arguments)
}
