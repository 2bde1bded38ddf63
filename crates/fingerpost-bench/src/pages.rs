//! `pages`: what do the local writer's pages gain, by data set, view and retriever?

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use fingerpost::embedding::{Embedder, Fit, FitConfig, Role, dot};
use fingerpost::eval::{Measure, Query, Run, Scored, evaluate};
use fingerpost::index::{Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::page::write::{PageRow, pages_of};
use fingerpost::page::{Pages, Status};
use fingerpost::skill::SkillIdx;
use fingerpost::view::{View, document, index_text};
use rayon::prelude::*;

use crate::judged::{CLOSED, EXAMPLES, Judged};

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

const NAMES: [&str; 8] =
    [EXAMPLES, CLOSED, "metatool", "bfcl", "ultratool-en", "ultratool-zh", "livemcpbench", "sra"];
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
    let compiled = set.compile()?;
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
    for view in VIEWS {
        line(&format!("{view}"), set, &ours, view, arguments)?;
    }
    if let Some(theirs) = &set.theirs {
        for view in [View::Trigger, View::Body, View::Full] {
            line(&format!("model's {view}"), set, theirs, view, arguments)?;
        }
    }
    Ok(())
}

fn line(
    name: &str,
    set: &Judged,
    pages: &Pages,
    view: View,
    arguments: &PagesArgs,
) -> anyhow::Result<()> {
    let model = |model| SparseConfig { model, view, ..SparseConfig::default() };
    let mut runs = vec![
        ("bm25", sparse(set, pages, &model(SparseModel::default()))),
        ("tfidf", sparse(set, pages, &model(SparseModel::Tfidf))),
    ];
    if !arguments.skip_dense {
        runs.push(("fit to view", dense(set, pages, view, Fitted::ToView)));
        runs.push(("fit to documents", dense(set, pages, view, Fitted::ToDocuments)));
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
        let scored = |hit: &fingerpost::index::Hit| Scored {
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

/// What the vectors of terms are fitted to.
enum Fitted {
    /// What this view shows of the library: rarity is counted with the pages.
    ToView,
    /// The documents, once for every view.
    ToDocuments,
}

/// Vectors of the library itself.
fn dense(set: &Judged, pages: &Pages, view: View, fitted: Fitted) -> Run {
    let rows = (0..set.library.skills().len() as u32).map(SkillIdx);
    let texts: Vec<String> =
        rows.map(|skill| index_text(&set.library, pages, skill, view).joined()).collect();
    let (fit, vectors) = match fitted {
        Fitted::ToView => Fit::train(&texts, &FitConfig::default()),
        Fitted::ToDocuments => {
            let documents: Vec<String> = set.library.skills().iter().map(document).collect();
            let (fit, _) = Fit::train(&documents, &FitConfig::default());
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vectors = fit.embed(&texts, Role::Document).expect("a fit embeds any text");
            (fit, vectors)
        }
    };
    let queries: Vec<&str> = set.queries.iter().map(|query| query.text.as_str()).collect();
    let asked = fit.embed(&queries, Role::Query).expect("a fit embeds any text");
    let nearest = |row: usize| -> Vec<Scored> {
        let request = asked.row(row);
        let mut scores: Vec<(f32, usize)> =
            vectors.rows().map(|vector| dot(request, vector)).zip(0..).collect();
        scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let scored = |&(score, skill): &(f32, usize)| Scored {
            skill: set.library.skills()[skill].id.to_string(),
            score: f64::from(score),
        };
        scores.iter().take(10).map(scored).collect()
    };
    let hits: Vec<Vec<Scored>> = (0..set.queries.len()).into_par_iter().map(nearest).collect();
    run_of(set, hits)
}
