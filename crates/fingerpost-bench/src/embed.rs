//! How fast are texts embedded, beside Python's onnxruntime with the same model and threads?
//!
//! Contestants take turns, loading left out. onnxruntime may choose its batch size: one text at a
//! time or sorted batches, whichever is faster; the ratio is to its best. Processor time is shown
//! beside the clock's: it still means something on a machine that others use too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::Args;
use comfy_table::Table;
use fingerpost::embedding::{Embedder, Role, Vectors, dot};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost_models::{EngineKind, LocalModel, ModelSettings, Store};
use serde::Deserialize;

/// What `embed` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct Embed {
    /// A model that was pulled; may be given several times.
    #[arg(long = "model", value_name = "NAME", default_values = ["minilm", "gte-small"])]
    models: Vec<String>,
    /// Whose skills are embedded.
    #[arg(long, value_name = "LIBRARY", default_value = "examples/library")]
    library: PathBuf,
    /// How many of them, evenly chosen.
    #[arg(long, value_name = "N", default_value_t = 96)]
    texts: usize,
    /// Tokens read of each.
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: usize,
    /// Threads for everybody.
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// How often everything is timed; the fastest of each counts, as others share the machine.
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: usize,
    /// Python with onnxruntime and tokenizers.
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
}

/// Batch sizes that onnxruntime may choose from.
const PEER_BATCHES: [usize; 3] = [1, 8, 32];

#[derive(Deserialize)]
struct PeerReport {
    seconds: f64,
    cpu_seconds: f64,
    tokens: usize,
    version: String,
}

struct Contestant {
    name: String,
    seconds: f64,
    cpu_seconds: f64,
}

impl Contestant {
    fn keep_best(&mut self, seconds: f64, cpu_seconds: f64) {
        self.seconds = self.seconds.min(seconds);
        self.cpu_seconds = self.cpu_seconds.min(cpu_seconds);
    }
}

pub(crate) fn run(arguments: &Embed) -> anyhow::Result<()> {
    let texts = texts(arguments)?;
    for name in &arguments.models {
        let folder = Store::of_process().find(name);
        let folder =
            folder.with_context(|| format!("pull it first: fingerpost model pull {name}"))?;
        contest(name, &folder, &texts, arguments)?;
    }
    Ok(())
}

fn texts(arguments: &Embed) -> anyhow::Result<Vec<String>> {
    let library = Library::load(&[Root::new(&arguments.library)], LoadOptions::default())?.value;
    let all = library.skills();
    ensure!(!all.is_empty() && arguments.texts > 0, "there is nothing to embed");
    let wanted = arguments.texts.min(all.len());
    let chosen = (0..wanted).map(|n| &all[n * all.len() / wanted]);
    Ok(chosen.map(fingerpost::view::document).collect())
}

fn contest(name: &str, folder: &Path, texts: &[String], arguments: &Embed) -> anyhow::Result<()> {
    let engines = [
        EngineKind::Rten,
        #[cfg(feature = "ort")]
        EngineKind::Ort,
    ];
    let settings =
        ModelSettings { max_tokens: arguments.max_tokens, ..ModelSettings::read(folder)? };
    let ours: Vec<LocalModel> = engines
        .iter()
        .map(|&engine| {
            LocalModel::with_workers(folder, settings.clone(), engine, arguments.threads)
        })
        .collect::<Result<_, _>>()?;
    let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("texts.json");
    fs::write(&file, serde_json::to_vec(texts)?)?;

    let label = |batch: &usize| format!("onnxruntime, batches of {batch}");
    let mut contestants: Vec<Contestant> = ours
        .iter()
        .map(|model| model.profile().engine.clone())
        .chain(PEER_BATCHES.iter().map(label))
        .map(|name| Contestant { name, seconds: f64::INFINITY, cpu_seconds: f64::INFINITY })
        .collect();
    let mut vectors = Vec::new();
    let mut report = None;
    for _ in 0..arguments.repeats {
        vectors.clear();
        for (model, contestant) in ours.iter().zip(&mut contestants) {
            let (start, cpu) = (Instant::now(), cpu_seconds());
            vectors.push(model.embed(&refs, Role::Document)?);
            contestant.keep_best(start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        }
        for (batch, contestant) in PEER_BATCHES.iter().zip(&mut contestants[ours.len()..]) {
            let found = peer(folder, &file, *batch, arguments)?;
            contestant.keep_best(found.seconds, found.cpu_seconds);
            report = Some(found);
        }
    }
    let report = report.context("at least one repeat is needed")?;
    let best = |time: fn(&Contestant) -> f64| {
        contestants[ours.len()..].iter().map(time).fold(f64::INFINITY, f64::min)
    };
    let (best, cpu_best) = (best(|peer| peer.seconds), best(|peer| peer.cpu_seconds));
    let mut table = Table::new();
    table.set_header([
        "",
        "texts/s",
        "of onnxruntime's best",
        "texts/CPU s",
        "of its best",
        "worst cosine",
    ]);
    for (at, contestant) in contestants.iter().enumerate() {
        let cosine = match vectors.get(at) {
            Some(found) => format!("{:.4}", worst_cosine(found, &scratch.path().join("1.json"))?),
            None => String::new(),
        };
        table.add_row([
            contestant.name.clone(),
            format!("{:.1}", texts.len() as f64 / contestant.seconds),
            format!("{:.2}", best / contestant.seconds),
            format!("{:.1}", texts.len() as f64 / contestant.cpu_seconds),
            format!("{:.2}", cpu_best / contestant.cpu_seconds),
            cosine,
        ]);
    }
    println!(
        "{name}: {} texts of {} tokens on average (at most {}), {} threads, onnxruntime {}",
        texts.len(),
        report.tokens / texts.len(),
        arguments.max_tokens,
        arguments.threads,
        report.version
    );
    println!("{table}\n");
    Ok(())
}

fn peer(folder: &Path, file: &Path, batch: usize, arguments: &Embed) -> anyhow::Result<PeerReport> {
    let vectors = file.with_file_name(format!("{batch}.json"));
    let run = Command::new(&arguments.python)
        .arg("tools/bench/embed_peer.py")
        .args([folder, file])
        .args(["--threads", &arguments.threads.to_string(), "--batch", &batch.to_string()])
        .args(["--max-tokens", &arguments.max_tokens.to_string()])
        .arg("--vectors")
        .arg(vectors)
        .output()
        .with_context(|| format!("cannot start {}", arguments.python.display()))?;
    if !run.status.success() {
        bail!("the peer failed: {}", String::from_utf8_lossy(&run.stderr));
    }
    Ok(serde_json::from_slice(&run.stdout)?)
}

/// Processor time of this process so far, all threads; zero where the system does not tell.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

fn worst_cosine(ours: &Vectors, theirs: &Path) -> anyhow::Result<f32> {
    let rows: Vec<Vec<f32>> = serde_json::from_slice(&fs::read(theirs)?)?;
    let cosines = ours.rows().zip(&rows).map(|(a, b)| dot(a, b));
    Ok(cosines.fold(1.0, f32::min))
}
