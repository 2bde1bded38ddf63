//! `search`: does what a library says about itself make it easier to search?
//!
//! Each library is compiled, which tests ways of searching on its own known items; then its judged
//! requests tell whether the test was right. The table is Markdown, as it stands in docs/routing.md.

use std::path::PathBuf;

use clap::Args;
use fingerpost::atlas::Compiled;
use fingerpost::compile::fit_of;
use fingerpost::eval::{Measure, Run, Scored, evaluate};
use fingerpost::index::{DenseIndex, Scratch, SparseConfig, SparseIndex, embed_view};
use fingerpost::page::Pages;
use fingerpost::page::write::pages_of;
use fingerpost::search::{Dense, Reading, Retriever, Searcher};
use fingerpost::view::View;
use rayon::prelude::*;

use crate::judged::{CLOSED, EXAMPLES, Judged, spread};

/// What `search` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Which libraries; all that are known here if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Folder of the real data.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Requests asked of a library at most, evenly spaced.
    #[arg(long, value_name = "N", default_value_t = 6000)]
    requests: usize,
}

const NAMES: [&str; 8] =
    [EXAMPLES, CLOSED, "sra", "metatool", "bfcl", "ultratool-en", "ultratool-zh", "livemcpbench"];

pub(crate) fn run(arguments: &SearchArgs) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for name in NAMES {
        if !arguments.names.is_empty() && !arguments.names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let Some(mut judged) = Judged::open(name, &arguments.data)? else {
            eprintln!("SKIPPED {name}: {} has no such folder", arguments.data.display());
            continue;
        };
        judged.queries = spread(std::mem::take(&mut judged.queries), arguments.requests);
        eprintln!(
            "{name}: {} skills, {} requests",
            judged.library.skills().len(),
            judged.queries.len()
        );
        rows.push(row(&judged)?);
    }
    println!(
        "| library | its own test took | `bm25` R@10, Success@1 | words as they suit | vectors | `hybrid` |"
    );
    println!("|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

fn row(judged: &Judged) -> anyhow::Result<String> {
    let compiled = judged.compile()?;
    for trial in &compiled.tuning.trials {
        let verdict = if trial.taken { "taken" } else { "left" };
        eprintln!("  {:<28} {:.3} → {:.3} {verdict}", trial.change, trial.before, trial.found);
    }
    let pages = pages_of(&compiled.pages, &judged.library);
    let taken: Vec<&str> = compiled
        .tuning
        .trials
        .iter()
        .filter(|trial| trial.taken)
        .map(|trial| trial.change.as_str())
        .collect();
    let plain = SparseConfig { view: View::Full, ..SparseConfig::default() };
    let suiting = compiled.tuning.config(View::Full);
    let mut cells = vec![format!("`{}`", judged.name), taken.join(", ")];
    for (retriever, config) in [
        (Retriever::Bm25, plain),
        (Retriever::Bm25, suiting),
        (Retriever::Dense, suiting),
        (Retriever::Hybrid, suiting),
    ] {
        let searcher = searcher(judged, &pages, &compiled, retriever, &config)?;
        cells.push(figures(judged, &searcher)?);
    }
    Ok(format!("| {} |", cells.join(" | ")))
}

pub(crate) fn searcher(
    judged: &Judged,
    pages: &Pages,
    compiled: &Compiled,
    retriever: Retriever,
    config: &SparseConfig,
) -> anyhow::Result<Searcher> {
    let dense = if retriever.is_dense() {
        let fit = fit_of(compiled)?;
        let vectors = embed_view(&judged.library, pages, config.view, &fit)?;
        let index = DenseIndex::new(vectors);
        Some(Dense { index, embedder: Box::new(fit) })
    } else {
        None
    };
    Ok(Searcher {
        retriever,
        sparse: SparseIndex::build(&judged.library, pages, config),
        dense,
        trust: compiled.tuning.trust,
        reading: Reading::Careful,
    })
}

/// Recall among ten and the share of first places, means over data sets.
fn figures(judged: &Judged, searcher: &Searcher) -> anyhow::Result<String> {
    let found: Vec<Vec<Scored>> = judged
        .queries
        .par_iter()
        .map_init(Scratch::default, |scratch, query| {
            let hits = searcher.search(&query.text, 10, scratch)?;
            let scored = hits.iter().map(|hit| Scored {
                skill: searcher.sparse.id(hit.skill).to_owned(),
                score: f64::from(hit.score),
            });
            anyhow::Ok(scored.collect())
        })
        .collect::<anyhow::Result<_>>()?;
    let mut run = Run::default();
    for (query, hits) in judged.queries.iter().zip(found) {
        run.insert(query.id.as_str(), hits);
    }
    let measures: [Measure; 2] = ["R@10".parse()?, "Success@1".parse()?];
    let scores = evaluate(&run, &judged.qrels, Some(&judged.queries), &measures);
    let percent =
        |value: &serde_json::Value| format!("{:.1}", value.as_f64().unwrap_or(0.0) * 100.0);
    Ok(scores.macro_mean.values().map(percent).collect::<Vec<_>>().join(", "))
}
