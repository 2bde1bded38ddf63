//! `fingerpost lab verify`: somebody else's program computes the headline figures again, from the stored runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use fingerpost_lab::files::Done;
use fingerpost_lab::verify::{Check, checks};
use serde::Deserialize;
use serde_json::json;

use super::VerifyArgs;
use crate::args::Global;
use crate::output::{self, CAUTION, Exit, UsageError, plain, plural};

/// How far two programs may be apart, in points: both round nothing.
const TOLERANCE: f64 = 0.001;

/// The reference, pinned.
const PACKAGE: &str = "ir-measures==0.3.7";

/// What the reference found.
#[derive(Deserialize)]
struct Found {
    figure: String,
    value: f64,
}

pub(super) fn run(args: &VerifyArgs, global: &Global) -> anyhow::Result<Exit> {
    let mut done = Done::read_all(&args.places.out)?;
    if !args.names.is_empty() {
        done.retain(|done| args.names.contains(&done.name));
    }
    let lab = args.places.open(global);
    let mut wanted: BTreeMap<String, Check> = BTreeMap::new();
    for done in &done {
        for missing in checks(done, &lab, &mut wanted)? {
            output::say(global, &format!("{CAUTION}left out:{CAUTION:#} {}", plain(&missing)));
        }
    }
    if wanted.is_empty() {
        let message = format!(
            "no figure in {} can be computed again: its runs are made by `fingerpost lab run retrieval`",
            args.places.out.display()
        );
        return Err(UsageError::new(message).into());
    }
    let python = match &args.python {
        Some(python) => python.clone(),
        None => environment(&args.places.out.join("python"), global)?,
    };
    let found = compute(&python, &wanted)?;
    let mut differ = Vec::new();
    for (figure, check) in &wanted {
        let theirs = found.get(figure).map(|value| 100.0 * value);
        if theirs.is_none_or(|theirs| (theirs - check.value).abs() > TOLERANCE) {
            differ.push(json!({"figure": figure, "ours": check.value, "theirs": theirs}));
        }
    }
    if global.json {
        output::print_json(&json!({"checked": wanted.len(), "differ": differ}))?;
    } else {
        let mut out = anstream::stdout().lock();
        for figure in &differ {
            let (ours, theirs) = (&figure["ours"], &figure["theirs"]);
            let name = figure["figure"].as_str().unwrap_or_default();
            writeln!(
                out,
                "{CAUTION}{}{CAUTION:#}: ours {ours}, ir_measures {theirs}",
                plain(name)
            )?;
        }
        let checked = plural(wanted.len(), "figure");
        writeln!(out, "{checked} computed again by ir_measures, {} differ", differ.len())?;
    }
    Ok(if differ.is_empty() { Exit::Done } else { Exit::Findings })
}

/// A Python environment with the reference.
fn environment(folder: &Path, global: &Global) -> anyhow::Result<PathBuf> {
    let python = folder.join("bin/python");
    if !python.is_file() {
        output::say(global, &format!("installing {PACKAGE}"));
        run_quietly(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    run_quietly(Command::new(&python).args(install))?;
    Ok(python)
}

fn run_quietly(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().context("cannot start Python: is python3 installed?")?;
    if !output.status.success() {
        bail!("{PACKAGE} cannot be installed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Has the reference compute all figures, each as the mean over data sets of the mean over requests.
fn compute(
    python: &Path,
    wanted: &BTreeMap<String, Check>,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut child = Command::new(python)
        .args(["-c", include_str!("verify.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", python.display()))?;
    let mut stdin = child.stdin.take().context("a pipe to Python")?;
    let lines: Vec<String> = wanted
        .iter()
        .map(|(figure, check)| {
            let Check { measure, run, qrels, sets, .. } = check;
            json!({"figure": figure, "measure": measure, "run": run, "qrels": qrels, "sets": sets})
                .to_string()
        })
        .collect();
    let writer = std::thread::spawn(move || stdin.write_all(lines.join("\n").as_bytes()));
    let output = child.wait_with_output()?;
    let written = writer.join().map_err(|_| anyhow::anyhow!("the writer to Python failed"))?;
    if !output.status.success() {
        bail!("ir_measures ended with {}", output.status);
    }
    written.context("Python did not read what it was given")?;
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Found { figure, value } = serde_json::from_str(line)?;
        found.insert(figure, value);
    }
    Ok(found)
}
