//! `pages`: what do the local writer's pages gain, by data set, view and retriever?

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use fingerpost::compile::fit_of;
use fingerpost::embedding::{Embedder, Fit, Role};
use fingerpost::eval::{Measure, Query, Run, Scored, evaluate};
use fingerpost::index::{
    DenseIndex, Hit, Scratch, SparseConfig, SparseIndex, SparseModel, Zeros, embed_view,
};
use fingerpost::page::write::{PageRow, pages_of};
use fingerpost::page::{Pages, Status};
use fingerpost::view::View;
use rayon::prelude::*;

use crate::judged::{CLOSED, EXAMPLES, Judged, STRONG, compile_library};

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
    for name in NAMES {
        if !arguments.names.is_empty() && !arguments.names.iter().any(|wanted| wanted == name) {
            continue;
        }
        match Judged::open(name, &arguments.data)? {
            Some(set) => measure(&set, arguments)?,
            None => eprintln!("SKIPPED {name}: {} has no such folder", arguments.data.display()),
        }
    }
    Ok(())
}

fn measure(set: &Judged, arguments: &PagesArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let compiled = compile_library(&set.library)?;
    let seconds = start.elapsed().as_secs_f64();
    let count = |of: &dyn Fn(&&PageRow) -> bool| compiled.pages.iter().filter(of).count();
    println!(
        "\n{}: {} skills, {} queries; compiled in {seconds:.1} s, {} fallbacks, {} flagged",
        set.name,
        set.library.skills().len(),
        set.queries.len(),
        count(&|row| row.status == Status::Fallback),
        count(&|row| row.is_flagged()),
    );
    let mut rules: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for row in &compiled.pages {
        for finding in &row.findings {
            *rules.entry((row.status == Status::Fallback, finding.rule.as_str())).or_default() += 1;
        }
    }
    for ((fallback, rule), count) in rules {
        let kind = if fallback { "fallback" } else { "flag" };
        println!("{kind:>16} {rule} {count}");
    }
    let ours = pages_of(&compiled.pages, &set.library);
    let fit = if arguments.skip_dense { None } else { Some(fit_of(&compiled)?) };
    let fit = fit.as_ref();
    for view in VIEWS {
        line(&format!("{view}"), set, &ours, view, fit)?;
    }
    if let Some(theirs) = &set.theirs {
        for view in [View::Trigger, View::Body, View::Full] {
            line(&format!("model's {view}"), set, theirs, view, fit)?;
        }
    }
    Ok(())
}

fn line(
    name: &str,
    set: &Judged,
    pages: &Pages,
    view: View,
    fit: Option<&Fit>,
) -> anyhow::Result<()> {
    let model = |model| SparseConfig { model, view, ..SparseConfig::default() };
    let mut runs = vec![
        ("bm25", sparse(set, pages, &model(SparseModel::default()))),
        ("tfidf", sparse(set, pages, &model(SparseModel::Tfidf))),
    ];
    if let Some(fit) = fit {
        runs.push(("fit", dense(set, pages, view, fit)?));
    }
    let measures: [Measure; 2] = ["R@10".parse()?, "Success@1".parse()?];
    let mut shown = format!("{name:>16}");
    for (retriever, run) in runs {
        let judged = evaluate(&run, &set.qrels, Some(&set.queries), &measures);
        let figures: Vec<f64> =
            judged.macro_mean.values().map(|value| value.as_f64().unwrap_or(0.0) * 100.0).collect();
        shown += &format!("   {retriever} R@10 {:5.2} S@1 {:5.2}", figures[0], figures[1]);
    }
    println!("{shown}");
    Ok(())
}

fn sparse(set: &Judged, pages: &Pages, config: &SparseConfig) -> Run {
    let index = SparseIndex::build(&set.library, pages, config);
    let search = |scratch: &mut Scratch, query: &Query| -> Vec<Scored> {
        let hits = index.search(&query.text, 10, Zeros::Dropped, scratch);
        let hits = hits.expect("an index in memory is sound");
        let scored = |hit: &Hit| Scored {
            skill: index.id(hit.skill).to_owned(),
            score: f64::from(hit.score),
        };
        hits.iter().map(scored).collect()
    };
    let hits: Vec<Vec<Scored>> =
        set.queries.par_iter().map_init(Scratch::default, search).collect();
    run_of(set, hits)
}

fn run_of(set: &Judged, hits: Vec<Vec<Scored>>) -> Run {
    let mut run = Run::default();
    for (query, hits) in set.queries.iter().zip(hits) {
        run.insert(query.id.as_str(), hits);
    }
    run
}

/// Vectors of the library itself, as an atlas has them.
fn dense(set: &Judged, pages: &Pages, view: View, fit: &Fit) -> anyhow::Result<Run> {
    let index = DenseIndex::new(embed_view(&set.library, pages, view, fit)?);
    let requests: Vec<&str> = set.queries.iter().map(|query| query.text.as_str()).collect();
    let asked = fit.embed(&requests, Role::Query)?;
    let nearest = |row: usize| -> Vec<Scored> {
        let hits = index.search(asked.row(row), 10);
        let scored = |hit: &Hit| Scored {
            skill: set.library.skills()[hit.skill.row()].id.to_string(),
            score: f64::from(hit.score),
        };
        hits.iter().map(scored).collect()
    };
    Ok(run_of(set, (0..set.queries.len()).into_par_iter().map(nearest).collect()))
}
