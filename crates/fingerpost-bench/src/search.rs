//! `search`: what is each way of searching worth on judged requests?
//!
//! Words can be read with or without their endings, and name and description can count more than once. Which
//! way is best is asked of eight folds of libraries, and answered on the ninth. Beside it stand vectors, and
//! both fused. The tables are Markdown, as they stand in docs/lab/search.md and docs/decisions/words-as-they-are.md.

mod priors;
mod way;

use anyhow::Context;
use clap::Args;
use fingerpost::index::SparseConfig;
use fingerpost::search::{Dense, Reading, Retriever, Searcher};
use fingerpost::snapshot::Snapshot;
use fingerpost::view::View;

use self::priors::Tried;
use self::way::Way;
use crate::folds::{FoldArgs, Opened};
use crate::judged::{Judged, K, figures};
use crate::none::tables::{header, row};

/// What `search` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    folds: FoldArgs,
    /// Words as the program reads them only, and no other way.
    #[arg(long)]
    shipped: bool,
}

pub(crate) fn run(arguments: &SearchArgs) -> anyhow::Result<()> {
    let ways = if arguments.shipped { vec![Way::SHIPPED] } else { Way::all() };
    let mut tried = Vec::new();
    let mut rows = Vec::new();
    for opened in arguments.folds.open()? {
        let Opened { fold, judged } = opened?;
        eprintln!("{}: {} skills", judged.name, judged.library.skills().len());
        let snapshot = judged.compile()?;
        rows.push(retrievers(&judged, &snapshot)?);
        let worth = ways.iter().map(|way| way.worth(&judged, &snapshot));
        let worth = worth.collect::<anyhow::Result<_>>()?;
        tried.push(Tried { fold, library: judged.name, worth });
    }
    println!("R@{K} and Success@1, full view, means over data sets\n");
    header(&["library", "vectors are", "`bm25`", "vectors", "`hybrid`", "without options"]);
    rows.iter().for_each(|cells| row(cells));
    priors::print(&ways, &tried);
    Ok(())
}

/// Words, vectors, both, and the order of the chooser, on one library.
fn retrievers(judged: &Judged, snapshot: &Snapshot) -> anyhow::Result<Vec<String>> {
    let tuning = &snapshot.head().tuning;
    let verdict = if tuning.retriever.is_dense() { "of use" } else { "left out" };
    let mut cells = vec![format!("`{}`", judged.name), verdict.to_owned()];
    let mut add = |[recall, first]: [f64; 2]| cells.push(format!("{recall:.1}, {first:.1}"));
    for retriever in [Retriever::Bm25, Retriever::Dense, Retriever::Hybrid] {
        let searcher = searcher(snapshot, retriever, &tuning.config(View::Full))?;
        add(figures(judged, |request, scratch| searcher.search(request, K, scratch))?);
    }
    // `search` without options: the order of the chooser, whose pool is never below the hits asked for.
    let router = snapshot.router(snapshot.route_config(), K);
    add(figures(judged, |request, scratch| router.rank(request, K, scratch))?);
    Ok(cells)
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
