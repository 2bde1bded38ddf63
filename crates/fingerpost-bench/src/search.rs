//! `search`: does what a library says about itself make it easier to search?
//!
//! Each library is compiled, which tests ways of searching on its own known items; then its judged
//! requests tell whether the test was right. The table is Markdown, as it stands in docs/routing.md.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use fingerpost::index::SparseConfig;
use fingerpost::search::{Dense, Reading, Retriever, Searcher};
use fingerpost::snapshot::Snapshot;
use fingerpost::view::View;

use crate::judged::{CLOSED, EXAMPLES, Judged, K, spread};

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
        "| library | its own test took | `bm25` R@10, Success@1 | words as they suit | vectors | `hybrid` | without options |"
    );
    println!("|---|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

fn row(judged: &Judged) -> anyhow::Result<String> {
    let snapshot = judged.compile()?;
    let tuning = &snapshot.head().tuning;
    for trial in &tuning.trials {
        let verdict = if trial.taken { "taken" } else { "left" };
        eprintln!("  {:<28} {:.3} → {:.3} {verdict}", trial.change, trial.before, trial.found);
    }
    let taken = tuning.trials.iter().filter(|trial| trial.taken);
    let taken: Vec<&str> = taken.map(|trial| trial.change.as_str()).collect();
    let plain = SparseConfig { view: View::Full, ..SparseConfig::default() };
    let tuned = tuning.config(View::Full);
    let mut cells = vec![format!("`{}`", judged.name), taken.join(", ")];
    let mut add = |[recall, first]: [f64; 2]| cells.push(format!("{recall:.1}, {first:.1}"));
    for (retriever, config) in [
        (Retriever::Bm25, plain),
        (Retriever::Bm25, tuned),
        (Retriever::Dense, tuned),
        (Retriever::Hybrid, tuned),
    ] {
        let searcher = searcher(&snapshot, retriever, &config)?;
        add(judged.figures(|request, scratch| searcher.search(request, K, scratch))?);
    }
    // `search` without options: the order of the chooser, whose pool is never below the hits asked for.
    let router = snapshot.router(snapshot.route_config(), K);
    add(judged.figures(|request, scratch| router.rank(request, K, scratch))?);
    Ok(format!("| {} |", cells.join(" | ")))
}

/// What searches a library in one way, with the vectors that were fitted to it where these are needed.
pub(crate) fn searcher<'a>(
    snapshot: &'a Snapshot,
    retriever: Retriever,
    config: &SparseConfig,
) -> anyhow::Result<Searcher<'a>> {
    let dense = retriever.is_dense().then(|| dense(snapshot, config.view)).transpose()?;
    Ok(snapshot.searcher(retriever, config, dense, Reading::Careful)?)
}

/// The vectors of a view by what was fitted to the library.
pub(crate) fn dense(snapshot: &Snapshot, view: View) -> anyhow::Result<Dense> {
    let fit = snapshot.fit()?.context("vectors are fitted to the library")?;
    let (index, _) = snapshot.dense(view, &fit)?;
    Ok(Dense { index, embedder: Box::new(fit) })
}
