//! `dense`: how long does the search of a library's vectors take, beside faiss?
//!
//! One request at a time, one thread, everything in memory; the request's own embedding is not in
//! it. What is asserted: a copy in bytes finds what the full scan finds, and faiss finds it too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use comfy_table::{Table, presets};
use fingerpost::embedding::Vectors;
use fingerpost::index::coarse::{Coarse, Coarseness};
use fingerpost::index::{DenseIndex, Hit};
use serde::Deserialize;

use crate::ours;
use crate::planted::{Shape, plant};

/// What `dense` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct DenseArgs {
    /// Skills.
    #[arg(long, value_name = "N", default_value_t = 33_441)]
    rows: usize,
    /// Numbers of a vector.
    #[arg(long, value_name = "N", default_value_t = 384)]
    dimensions: usize,
    /// Requests.
    #[arg(long, value_name = "N", default_value_t = 400)]
    requests: usize,
    /// Python with faiss.
    #[arg(long, value_name = "PATH", default_value = "target/golden-venv/bin/python")]
    python: PathBuf,
}

const K: usize = 10;

#[derive(Deserialize)]
struct PeerReport {
    seconds: f64,
    rows: Vec<Vec<u32>>,
}

pub(crate) fn run(arguments: &DenseArgs) -> anyhow::Result<()> {
    let &DenseArgs { rows, dimensions, requests, .. } = arguments;
    ensure!(rows > K && requests > 0, "too few rows or requests");
    // Requests are of the same kind as the skills, and none of them.
    let all = plant(Shape { rows: rows + requests, dimensions }, 1);
    let (asked, vectors): (Vec<_>, Vec<_>) =
        all.rows().enumerate().partition(|(row, _)| row % (rows / requests + 1) == 0);
    let of = |rows: &[(usize, &[f32])]| -> Vectors {
        let values = rows.iter().flat_map(|(_, row)| row.iter().copied()).collect();
        Vectors::of_unit_rows(dimensions, values)
    };
    let (vectors, asked) = (of(&vectors), of(&asked));
    let kinds = [
        ("every row as it is", None),
        ("bytes, then exactly", Some(Coarseness::Bytes)),
        ("signs, then exactly", Some(Coarseness::Signs)),
    ];
    let pool = ours::pool(1)?;
    let mut figures: Vec<(&str, f64, f64)> = Vec::new();
    let mut exact: Vec<Vec<Hit>> = Vec::new();
    for (name, coarseness) in kinds {
        eprintln!("ours: {name}");
        let coarse = coarseness.map(|coarseness| Coarse::of(&vectors, coarseness));
        let index = DenseIndex::with(vectors.clone(), coarse);
        let (seconds, hits) = pool.install(|| timed(&asked, |row| index.search(row, K)));
        if coarseness.is_none() {
            exact = hits.clone();
        }
        ensure!(coarseness != Some(Coarseness::Bytes) || hits == exact, "bytes lost a hit");
        figures.push((
            name,
            seconds,
            shared(&exact, |request, row| hits[request].iter().any(|hit| hit.skill.0 == row)),
        ));
    }
    eprintln!("faiss");
    let peer = peer(arguments, &vectors, &asked)?;
    let same = shared(&exact, |request, row| peer.rows[request].contains(&row));
    ensure!(same > 0.999, "faiss found {:.2} % of our hits", same * 100.0);
    figures.push(("faiss IndexFlatIP", peer.seconds, same));
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["", "ms a request", "faiss's time by it", "nearest ten found"]);
    for (name, seconds, found) in figures {
        table.add_row([
            name.to_owned(),
            format!("{:.2}", seconds * 1e3),
            format!("{:.1}", peer.seconds / seconds),
            format!("{:.2} %", found * 100.0),
        ]);
    }
    println!(
        "{} x {dimensions}, best {K} of {} requests, one thread, medians\n{table}",
        vectors.len(),
        asked.len()
    );
    Ok(())
}

/// The median time of a search, and what was found.
fn timed(asked: &Vectors, search: impl Fn(&[f32]) -> Vec<Hit>) -> (f64, Vec<Vec<Hit>>) {
    let (mut seconds, hits): (Vec<f64>, Vec<Vec<Hit>>) = asked
        .rows()
        .map(|row| {
            let start = Instant::now();
            let hits = search(row);
            (start.elapsed().as_secs_f64(), hits)
        })
        .unzip();
    seconds.sort_by(f64::total_cmp);
    (seconds[seconds.len() / 2], hits)
}

/// The share of these hits that somebody else has too.
fn shared(exact: &[Vec<Hit>], has: impl Fn(usize, u32) -> bool) -> f64 {
    let hits = exact
        .iter()
        .enumerate()
        .flat_map(|(request, hits)| hits.iter().map(move |hit| (request, hit.skill.0)));
    let (mut both, mut all) = (0_u32, 0_u32);
    for (request, row) in hits {
        both += u32::from(has(request, row));
        all += 1;
    }
    f64::from(both) / f64::from(all.max(1))
}

fn peer(arguments: &DenseArgs, vectors: &Vectors, asked: &Vectors) -> anyhow::Result<PeerReport> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, rows: &Vectors| {
        let path = folder.path().join(name);
        let bytes: Vec<u8> = rows.values().iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(&path, bytes).map(|()| path)
    };
    let files = [file("vectors.f32", vectors)?, file("requests.f32", asked)?];
    let run = Command::new(&arguments.python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/bench/dense_peer.py"))
        .args(files)
        .args([arguments.dimensions.to_string(), K.to_string()])
        .output()
        .with_context(|| format!("cannot start {}", arguments.python.display()))?;
    ensure!(run.status.success(), "the peer failed: {}", String::from_utf8_lossy(&run.stderr));
    Ok(serde_json::from_slice(&run.stdout)?)
}
