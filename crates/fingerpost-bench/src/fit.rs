//! `fit`: how fast are vectors of the library itself made, beside scikit-learn, and what are they
//! worth?

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use comfy_table::{Table, presets};
use fingerpost::embedding::{Embedder, Fit, FitConfig, Role};
use fingerpost::eval::{Measure, Run, Scored, evaluate};
use fingerpost::index::nearest;
use fingerpost::view::document;
use serde::Deserialize;

use crate::judged::Judged;
use crate::ours;

/// What `fit` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Folder of the real data, with `sra` in it.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Threads for everybody.
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// How often everyone runs; medians are reported.
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: usize,
    /// Python with scikit-learn and zstandard.
    #[arg(long, value_name = "PATH", default_value = "target/golden-venv/bin/python")]
    python: PathBuf,
}

#[derive(Deserialize)]
struct PeerReport {
    seconds: f64,
    skills: usize,
    ranking: Vec<Vec<String>>,
}

const LIBRARY: &str = "sra";
const K: usize = 10;

pub(crate) fn run(arguments: &FitArgs) -> anyhow::Result<()> {
    ensure!(arguments.repeats > 0, "at least one repeat is needed");
    let set = crate::judged::open(LIBRARY, &arguments.data)?;
    let set = set.with_context(|| format!("{} has no {LIBRARY}", arguments.data.display()))?;
    let texts: Vec<String> = set.library.skills().iter().map(document).collect();
    let pool = ours::pool(arguments.threads)?;
    let (mut our_s, mut their_s) = (Vec::new(), Vec::new());
    let mut rankings = None;
    for repeat in 1..=arguments.repeats {
        eprintln!("repeat {repeat} of {}: ours", arguments.repeats);
        let start = Instant::now();
        let (fit, vectors) = pool.install(|| Fit::train(&texts, &FitConfig::default()));
        our_s.push(start.elapsed().as_secs_f64());
        eprintln!("repeat {repeat} of {}: scikit-learn", arguments.repeats);
        let report = peer(arguments)?;
        ensure!(report.skills == texts.len(), "the peer read {} skills", report.skills);
        their_s.push(report.seconds);
        if rankings.is_none() {
            let requests: Vec<&str> = set.queries.iter().map(|query| query.text.as_str()).collect();
            let asked = fit.embed(&requests, Role::Query)?;
            let ids = |row: &[f32]| -> Vec<String> {
                let hits = nearest(&vectors, row, K);
                hits.iter()
                    .map(|hit| set.library.skills()[hit.skill.row()].id.to_string())
                    .collect()
            };
            rankings = Some((asked.rows().map(ids).collect::<Vec<_>>(), report.ranking));
        }
    }
    let (ours, theirs) = rankings.context("at least one repeat was made")?;
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["", "s", "ours is", "R@10"]);
    let (our_s, their_s) = (median(our_s), median(their_s));
    let row = |name: &str, seconds: f64, ranking| {
        anyhow::Ok([
            name.to_owned(),
            format!("{seconds:.2}"),
            format!("{:.1} x faster", seconds / our_s),
            format!("{:.1}", recall(&set, ranking)?),
        ])
    };
    table.add_row(row("fit", our_s, ours)?);
    table.add_row(row("scikit-learn, the plain way", their_s, theirs)?);
    println!(
        "{LIBRARY}: {} skills to vectors, {} threads\n{table}",
        texts.len(),
        arguments.threads
    );
    Ok(())
}

fn peer(arguments: &FitArgs) -> anyhow::Result<PeerReport> {
    let file = |name: &str| arguments.data.join(LIBRARY).join(name);
    let run = Command::new(&arguments.python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/bench/fit_peer.py"))
        .args([file("corpus.jsonl.zst"), file("queries.jsonl.zst")])
        .arg(arguments.threads.to_string())
        .output()
        .with_context(|| format!("cannot start {}", arguments.python.display()))?;
    ensure!(run.status.success(), "the peer failed: {}", String::from_utf8_lossy(&run.stderr));
    Ok(serde_json::from_slice(&run.stdout)?)
}

fn recall(set: &Judged, ranking: Vec<Vec<String>>) -> anyhow::Result<f64> {
    let mut run = Run::default();
    for (query, skills) in set.queries.iter().zip(ranking) {
        let scored = (0..).zip(skills).map(|(at, skill)| Scored { skill, score: -f64::from(at) });
        run.insert(query.id.as_str(), scored.collect());
    }
    let measures: [Measure; 1] = ["R@10".parse()?];
    let judged = evaluate(&run, &set.qrels, Some(&set.queries), &measures);
    let recall = judged.macro_mean.values().next().and_then(|value| value.as_f64());
    Ok(recall.context("a run has a recall")? * 100.0)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_unstable_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
