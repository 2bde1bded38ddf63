//! How fast are neighborhoods, beside scikit-learn and faiss?
//!
//! Every contestant clusters the same file of vectors in a process of its own, taking turns.
//! scikit-learn does k-means and average linkage in each bucket; faiss has k-means only. The mean
//! cosine of a skill and its bucket's center says whether the buckets are equally good; faiss takes
//! part twice, with one start and with as many as it needs for buckets as good as ours.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use comfy_table::{Table, presets};
use fingerpost::embedding::Vectors;
use fingerpost::neighborhood::{Buckets, NeighborhoodConfig, Probing, Threshold, partition_in};
use serde::{Deserialize, Serialize};

use crate::neighborhood_quality;
use crate::planted::{Shape, plant};

/// What `neighborhoods` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct Neighborhoods {
    /// Rows and dimensions to race on.
    #[arg(long, value_name = "NxD", default_values = ["16384x384", "26262x1024"])]
    shapes: Vec<Shape>,
    /// Rows of 384 dimensions to see our growth on; the last are copies of fewer, perturbed.
    #[arg(long, value_name = "N", default_values_t = [4_096, 16_384, 32_768, 131_072])]
    growth: Vec<usize>,
    /// How often everyone runs; medians are reported.
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: usize,
    /// Python with scikit-learn and faiss-cpu.
    #[arg(long, value_name = "PATH", default_value = "target/golden-venv/bin/python")]
    python: PathBuf,
    /// Real vectors (32-bit floats) to measure lost pairs and single additions on, instead of all
    /// the rest.
    #[arg(long, value_name = "FILE", requires = "dimensions")]
    quality: Option<PathBuf>,
    /// Their dimensions.
    #[arg(long, value_name = "D")]
    dimensions: Option<usize>,
    /// Write the neighborhoods of those vectors here, as lists of rows.
    #[arg(long, value_name = "FILE", requires = "quality")]
    groups: Option<PathBuf>,
    /// Also write every figure here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run once on these vectors and print the figures: how the benchmark calls itself.
    #[arg(long, value_name = "FILE", requires = "dimensions", hide = true)]
    once: Option<PathBuf>,
    /// The threshold of the race.
    #[arg(long, value_name = "DISTANCE", default_value_t = 0.15)]
    max_distance: f64,
}

/// faiss, until its buckets are as good as ours.
const EQUAL: &str = "faiss, equal buckets";

/// Buckets are as good if their mean cosine is at most this share lower.
const AS_GOOD: f64 = 0.005;

/// What one run of one contestant reports.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Figures {
    /// Seconds of k-means.
    buckets_s: f64,
    /// Seconds of linkage inside the buckets, as in the paper.
    plain_s: Option<f64>,
    /// Seconds of linkage across buckets.
    repaired_s: Option<f64>,
    mean_cosine: f64,
    groups: Option<usize>,
    /// How often k-means was begun anew.
    #[serde(default)]
    starts: Option<usize>,
    /// Peak memory over the size of the vectors.
    memory: Option<f64>,
}

pub(crate) fn run(args: &Neighborhoods) -> anyhow::Result<()> {
    if let (Some(file), Some(dimensions)) = (&args.once, args.dimensions) {
        let figures = once(file, dimensions, args.max_distance)?;
        println!("{}", serde_json::to_string(&figures)?);
        return Ok(());
    }
    if let (Some(file), Some(dimensions)) = (&args.quality, args.dimensions) {
        let vectors = read(file, dimensions)?;
        return neighborhood_quality::run(&vectors, args.groups.as_deref());
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("vectors.f32");
    let mut all = Vec::new();
    for &shape in &args.shapes {
        write(&file, &plant(shape, 1))?;
        let figures = race(args, &file, shape)?;
        show_race(shape, &figures);
        all.push(serde_json::json!({ "shape": shape.to_string(), "contestants": figures }));
    }
    let mut growth = Vec::new();
    for &rows in &args.growth {
        let shape = Shape { rows, dimensions: 384 };
        write(&file, &plant(shape, if rows > 100_000 { 4 } else { 1 }))?;
        eprintln!("growth: {shape}");
        growth.push((shape.to_string(), ours(args, &file, 384)?));
    }
    show_growth(&growth);
    if let Some(out) = &args.json {
        let json = serde_json::json!({ "races": all, "growth": growth });
        std::fs::write(out, serde_json::to_string_pretty(&json)?)?;
    }
    Ok(())
}

/// Everyone in turn, as often as asked.
fn race(
    args: &Neighborhoods,
    file: &Path,
    shape: Shape,
) -> anyhow::Result<Vec<(&'static str, Vec<Figures>)>> {
    let names = ["ours", "faiss", EQUAL, "scikit-learn"];
    let mut figures = names.map(|name| (name, Vec::<Figures>::new()));
    let mut cosine = f64::NAN;
    for repeat in 1..=args.repeats {
        for (name, runs) in &mut figures {
            eprintln!("{shape}: {name}, {repeat} of {}", args.repeats);
            runs.push(match *name {
                "ours" => ours(args, file, shape.dimensions)?,
                EQUAL => theirs(args, file, shape, "faiss", Some(cosine * (1.0 - AS_GOOD)))?,
                peer => theirs(args, file, shape, peer, None)?,
            });
            if *name == "ours" {
                cosine = runs[0].mean_cosine;
            }
        }
    }
    Ok(figures.into())
}

fn ours(args: &Neighborhoods, file: &Path, dimensions: usize) -> anyhow::Result<Figures> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("neighborhoods").arg("--once").arg(file);
    command.args(["--dimensions", &dimensions.to_string()]);
    command.args(["--max-distance", &args.max_distance.to_string()]);
    ask(&mut command)
}

fn theirs(
    args: &Neighborhoods,
    file: &Path,
    shape: Shape,
    peer: &str,
    cosine: Option<f64>,
) -> anyhow::Result<Figures> {
    let mut command = Command::new(&args.python);
    command.arg("tools/bench/neighborhoods_peer.py").arg(peer).arg(file);
    command.args([shape.dimensions, Buckets::count_for(shape.rows)].map(|n| n.to_string()));
    command.arg(args.max_distance.to_string()).args(cosine.map(|cosine| cosine.to_string()));
    ask(&mut command)
}

fn ask(command: &mut Command) -> anyhow::Result<Figures> {
    let answer = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !answer.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&answer.stderr));
    }
    Ok(serde_json::from_slice(&answer.stdout)?)
}

fn once(file: &Path, dimensions: usize, max_distance: f64) -> anyhow::Result<Figures> {
    let vectors = read(file, dimensions)?;
    let start = Instant::now();
    let buckets = Buckets::fit(&vectors, Buckets::count_for(vectors.len()), 42);
    let buckets_s = start.elapsed().as_secs_f64();
    let max_distance = Threshold::Fixed(max_distance);
    let config = NeighborhoodConfig { max_distance, ..NeighborhoodConfig::default() };
    let start = Instant::now();
    let (repaired, _) = partition_in(&vectors, &buckets, &config);
    let repaired_s = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let plain = NeighborhoodConfig { probing: Probing::Plain, ..config };
    partition_in(&vectors, &buckets, &plain);
    let plain_s = start.elapsed().as_secs_f64();
    let bytes = size_of_val(vectors.values());
    Ok(Figures {
        buckets_s,
        plain_s: Some(plain_s),
        repaired_s: Some(repaired_s),
        mean_cosine: buckets.mean_cosine,
        groups: Some(repaired.len() - repaired.singletons()),
        starts: None,
        memory: peak_memory().map(|peak| peak as f64 / bytes as f64),
    })
}

/// Most bytes this process ever held, where the system says so.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

fn read(file: &Path, dimensions: usize) -> anyhow::Result<Vectors> {
    use std::io::Read;
    let mut reader = std::io::BufReader::new(std::fs::File::open(file)?);
    let count = file.metadata()?.len() as usize / size_of::<f32>();
    let mut values = Vec::with_capacity(count);
    let mut bytes = [0; size_of::<f32>()];
    for _ in 0..count {
        reader.read_exact(&mut bytes)?;
        values.push(f32::from_le_bytes(bytes));
    }
    Ok(Vectors::new(dimensions, values))
}

fn write(file: &Path, vectors: &Vectors) -> anyhow::Result<()> {
    let bytes: Vec<u8> = vectors.values().iter().flat_map(|x| x.to_le_bytes()).collect();
    Ok(std::fs::write(file, bytes)?)
}

fn median(runs: &[Figures], of: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = runs.iter().filter_map(of).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn show_race(shape: Shape, figures: &[(&str, Vec<Figures>)]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "",
        "k-means s",
        "linkage s",
        "repair s",
        "whole s",
        "ours is",
        "mean cosine",
        "memory",
    ]);
    let whole = |runs: &[Figures]| {
        median(runs, |run| Some(run.buckets_s + run.repaired_s.or(run.plain_s).unwrap_or(0.0)))
    };
    let ours = whole(&figures[0].1).unwrap_or(f64::NAN);
    let ours_buckets = median(&figures[0].1, |run| Some(run.buckets_s)).unwrap_or(f64::NAN);
    let show =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    for (name, runs) in figures {
        let buckets = median(runs, |run| Some(run.buckets_s));
        let plain = median(runs, |run| run.plain_s);
        // What only clusters is compared with our clustering, what also links with the whole.
        let ratio = match plain {
            Some(_) => whole(runs).map(|theirs| theirs / ours),
            None => buckets.map(|theirs| theirs / ours_buckets),
        };
        let starts = runs[0].starts.filter(|&starts| starts > 1);
        table.add_row([
            starts.map_or((*name).to_owned(), |starts| format!("{name} ({starts} starts)")),
            show(buckets),
            show(plain),
            show(median(runs, |run| run.repaired_s)),
            show(whole(runs)),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.1} x faster")),
            format!("{:.5}", runs[0].mean_cosine),
            median(runs, |run| run.memory).map_or_else(|| "-".to_owned(), |x| format!("{x:.2} x")),
        ]);
    }
    println!("{shape}, {} buckets\n{table}", Buckets::count_for(shape.rows));
}

fn show_growth(growth: &[(String, Figures)]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["ours", "k-means s", "linkage s", "repair s", "neighborhoods", "memory"]);
    for (shape, run) in growth {
        table.add_row([
            shape.clone(),
            format!("{:.2}", run.buckets_s),
            format!("{:.2}", run.plain_s.unwrap_or(f64::NAN)),
            format!("{:.2}", run.repaired_s.unwrap_or(f64::NAN)),
            run.groups.unwrap_or(0).to_string(),
            format!("{:.2} x", run.memory.unwrap_or(f64::NAN)),
        ]);
    }
    println!("growth\n{table}");
}
