//! `pages`: what do the local writer's pages gain, by data set, view and retriever? And how do they read?

mod draw;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use fingerpost::atlas::Atlas;
use fingerpost::index::{Scratch, SparseConfig, SparseModel};
use fingerpost::page::Status;
use fingerpost::page::write::PageRow;
use fingerpost::search::{Reading, Retriever, Searcher};
use fingerpost::snapshot::Snapshot;
use fingerpost::view::View;

use crate::judged::{CLOSED, EXAMPLES, Judged, K, STRONG, compile, figures};
use crate::search::dense;

/// What `pages` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct PagesArgs {
    /// Which libraries; all that are known here if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Folder of the real data.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Leave out vectors fitted to the library, which take most of the time.
    #[arg(long)]
    skip_dense: bool,
    /// Instead print this many pages of real skills, for a person to read.
    #[arg(long, value_name = "N")]
    draw: Option<usize>,
    /// Which skills are drawn.
    #[arg(long, value_name = "N", default_value_t = 7)]
    seed: u64,
    /// Where they are drawn from.
    #[arg(long, value_enum, default_value = "sra")]
    from: draw::From,
    /// Draw from a library of this many skills at most: quicker, with fewer neighbors.
    #[arg(long, value_name = "N")]
    library: Option<usize>,
}

const NAMES: [&str; 9] = [
    EXAMPLES,
    STRONG,
    CLOSED,
    "metatool",
    "bfcl",
    "ultratool-en",
    "ultratool-zh",
    "livemcpbench",
    "sra",
];
const VIEWS: [View; 5] = [View::Raw, View::Doc2query, View::Trigger, View::Body, View::Full];

pub(crate) fn run(arguments: &PagesArgs) -> anyhow::Result<()> {
    if let &PagesArgs { draw: Some(count), seed, from, library, ref data, .. } = arguments {
        return draw::run(&draw::Drawing { from, count, seed, data, library });
    }
    for name in NAMES {
        if !arguments.names.is_empty() && !arguments.names.iter().any(|wanted| wanted == name) {
            continue;
        }
        match crate::judged::open(name, &arguments.data)? {
            Some(set) => measure(&set, arguments)?,
            None => eprintln!("SKIPPED {name}: {} has no such folder", arguments.data.display()),
        }
    }
    Ok(())
}

fn measure(set: &Judged, arguments: &PagesArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let atlas = Atlas::in_memory();
    let ours = compile(&atlas, &set.library)?;
    let seconds = start.elapsed().as_secs_f64();
    let rows = ours.page_rows()?;
    let count = |of: &dyn Fn(&&PageRow) -> bool| rows.iter().filter(of).count();
    println!(
        "\n{}: {} skills, {} queries; compiled in {seconds:.1} s, {} fallbacks, {} flagged",
        set.name,
        set.library.skills().len(),
        set.queries.len(),
        count(&|row| row.status == Status::Fallback),
        count(&|row| row.is_flagged()),
    );
    let mut rules: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for row in rows {
        for finding in &row.findings {
            *rules.entry((row.status == Status::Fallback, finding.rule.as_str())).or_default() += 1;
        }
    }
    for ((fallback, rule), count) in rules {
        let kind = if fallback { "fallback" } else { "flag" };
        println!("{kind:>16} {rule} {count}");
    }
    for view in VIEWS {
        line(&format!("{view}"), set, &ours, view, arguments.skip_dense)?;
    }
    if set.theirs.is_some() {
        set.keep_theirs(&atlas)?;
        let theirs = compile(&atlas, &set.library)?;
        for view in [View::Trigger, View::Body, View::Full] {
            line(&format!("model's {view}"), set, &theirs, view, arguments.skip_dense)?;
        }
    }
    Ok(())
}

fn line(
    name: &str,
    set: &Judged,
    snapshot: &Snapshot,
    view: View,
    skip_dense: bool,
) -> anyhow::Result<()> {
    let mut shown = format!("{name:>16}");
    let mut add = |retriever: &str, searcher: &Searcher| {
        let search = |request: &str, scratch: &mut Scratch| searcher.search(request, K, scratch);
        let [recall, first] = figures(set, search)?;
        shown += &format!("   {retriever} R@{K} {recall:5.2} S@1 {first:5.2}");
        anyhow::Ok(())
    };
    // To the letter: what a request names is found whatever the pages say.
    let by_terms = |retriever, model| {
        let config = SparseConfig { model, view, ..SparseConfig::default() };
        snapshot.searcher(retriever, &config, None, Reading::ToTheLetter)
    };
    let bm25 = by_terms(Retriever::Bm25, SparseModel::default())?;
    add("bm25", &bm25)?;
    add("tfidf", &by_terms(Retriever::Tfidf, SparseModel::Tfidf)?)?;
    if !skip_dense {
        let dense = Some(dense(snapshot, view)?);
        add("fit", &Searcher { retriever: Retriever::Dense, dense, ..bm25 })?;
    }
    println!("{shown}");
    Ok(())
}
