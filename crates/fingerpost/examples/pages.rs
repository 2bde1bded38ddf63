//! What do the local writer's pages gain, by data set, view and retriever?
//!
//! ```text
//! cargo run --release --example pages -- DATA [NAME…]
//! ```
//!
//! `DATA` is a folder of data sets (`corpus.jsonl`, `queries.jsonl`, `qrels.tsv` each, also packed);
//! without names all that are known here are measured. `closed` is the library of the skills that
//! `sra-177/pages.jsonl` has pages for, which are measured beside ours.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fingerpost::compile::{CompileConfig, Vectorizer, compile};
use fingerpost::embedding::{Embedder, Fit, FitConfig, Role, dot};
use fingerpost::eval::{Measure, Qrels, Query, Run, Scored, evaluate, read_qrels, read_queries};
use fingerpost::index::{Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};
use fingerpost::neighborhood::NeighborhoodConfig;
use fingerpost::page::local::LocalConfig;
use fingerpost::page::write::{Again, PageRow, Writer, pages_of};
use fingerpost::page::{Page, Pages, Status};
use fingerpost::skill::SkillIdx;
use fingerpost::view::{View, document, index_text};
use rayon::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const NAMES: [&str; 6] = ["closed", "metatool", "bfcl", "ultratool-en", "ultratool-zh", "sra"];
const VIEWS: [View; 4] = [View::Raw, View::Trigger, View::Body, View::Full];

/// Queries of a data set that the closed library is asked.
const ASKED: usize = 220;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let data = PathBuf::from(arguments.next().ok_or("name the folder of the data sets")?);
    let names: Vec<String> = arguments.collect();
    let named = |name: &&str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    for name in NAMES.into_iter().filter(named) {
        let set = if name == "closed" { closed(&data)? } else { open(&data.join(name))? };
        measure(name, &set)?;
    }
    Ok(())
}

/// A library with judged queries, and pages that somebody else wrote for it.
struct Set {
    library: Library,
    queries: Vec<Query>,
    qrels: Qrels,
    theirs: Option<Pages>,
}

fn open(folder: &Path) -> Result<Set> {
    let library = Library::load(&[Root::new(folder)], LoadOptions::default())?.value;
    let text = |name: &str| {
        let files = ["", ".zst", ".gz"].map(|end| folder.join(format!("{name}{end}")));
        let file = files.iter().find(|file| file.is_file()).ok_or(format!("no {name}"))?;
        Ok::<_, Box<dyn std::error::Error>>(read_unpacked(file)?)
    };
    let queries = read_queries(&text("queries.jsonl")?, "queries.jsonl", "dataset")?;
    let qrels = read_qrels(&text("qrels.tsv")?, "qrels.tsv")?;
    Ok(Set { library, queries, qrels, theirs: None })
}

/// The skills of `sra` that a strong model wrote pages for, and the queries that they answer.
fn closed(data: &Path) -> Result<Set> {
    let mut pages: BTreeMap<String, Page> = BTreeMap::new();
    let text = read_unpacked(&data.join("sra-177/pages.jsonl"))?;
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        let record: serde_json::Value = serde_json::from_str(line)?;
        let field = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let page = Page { trigger: field("trigger"), boundary: vec![], body: field("body") };
        pages.insert(field("id"), page);
    }
    let Set { library, queries, qrels, .. } = open(&data.join("sra"))?;
    let skills = library.skills().iter().filter(|skill| pages.contains_key(skill.id.as_str()));
    let library = Library::from_skills(skills.cloned().collect()).value;
    let theirs = library.skills().iter().map(|skill| pages.get(skill.id.as_str()).cloned());
    let theirs = Some(Pages::new(theirs.collect()));
    let mut by_set: BTreeMap<String, Vec<Query>> = BTreeMap::new();
    for query in queries {
        let inside = qrels.get(&query.id).is_some_and(|grades| {
            grades.iter().all(|(skill, &grade)| grade <= 0 || pages.contains_key(skill))
        });
        if inside {
            by_set.entry(query.dataset.clone().unwrap_or_default()).or_default().push(query);
        }
    }
    // Evenly spaced, so that every kind of question has its part.
    let asked = by_set.into_values().flat_map(|queries| {
        let count = queries.len();
        let taken: BTreeSet<usize> = (0..ASKED).map(|at| at * count / ASKED).collect();
        queries
            .into_iter()
            .enumerate()
            .filter(move |(at, _)| taken.contains(at))
            .map(|(_, query)| query)
    });
    Ok(Set { library, queries: asked.collect(), qrels, theirs })
}

fn measure(name: &str, set: &Set) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let config = CompileConfig {
        neighborhood: NeighborhoodConfig::default(),
        rebuild: false,
        writer: Writer::Local(LocalConfig::default()),
        again: Again::Nothing,
    };
    let vectorizer = Vectorizer::Fit(FitConfig::default());
    let start = Instant::now();
    let (compiled, _) = compile(&set.library, String::new(), None, &vectorizer, &config, &|_| {})?;
    let seconds = start.elapsed().as_secs_f64();
    let count = |of: &dyn Fn(&&PageRow) -> bool| compiled.pages.iter().filter(of).count();
    writeln!(
        out,
        "\n{name}: {} skills, {} queries; compiled in {seconds:.1} s, {} fallbacks, {} flagged",
        set.library.skills().len(),
        set.queries.len(),
        count(&|row| row.status == Status::Fallback),
        count(&|row| row.is_flagged()),
    )?;
    let mut rules: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for row in &compiled.pages {
        for finding in &row.findings {
            *rules.entry((row.status == Status::Fallback, finding.rule.as_str())).or_default() += 1;
        }
    }
    for ((fallback, rule), count) in rules {
        let kind = if fallback { "fallback" } else { "flag" };
        writeln!(out, "{:>16} {rule} {count}", kind)?;
    }
    let ours = pages_of(&compiled.pages, &set.library);
    for view in VIEWS {
        line(&mut out, &format!("{view}"), set, &ours, view)?;
    }
    if let Some(theirs) = &set.theirs {
        for view in [View::Trigger, View::Body, View::Full] {
            line(&mut out, &format!("model's {view}"), set, theirs, view)?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, name: &str, set: &Set, pages: &Pages, view: View) -> Result<()> {
    let model = |model| SparseConfig { model, view, ..SparseConfig::default() };
    let sparse =
        [SparseModel::default(), SparseModel::Tfidf].map(|m| sparse(set, pages, &model(m)));
    let dense = [Fitted::ToView, Fitted::ToDocuments].map(|fitted| dense(set, pages, view, fitted));
    let runs = sparse.into_iter().chain(dense);
    let measures: [Measure; 2] = ["R@10".parse()?, "Success@1".parse()?];
    write!(out, "{name:>16}")?;
    for (retriever, run) in ["bm25", "tfidf", "fit to view", "fit to documents"].iter().zip(runs) {
        let judged = evaluate(&run, &set.qrels, Some(&set.queries), &measures);
        let figures: Vec<f64> =
            judged.macro_mean.values().map(|value| value.as_f64().unwrap_or(0.0) * 100.0).collect();
        write!(out, "   {retriever} R@10 {:5.2} S@1 {:5.2}", figures[0], figures[1])?;
    }
    writeln!(out)?;
    Ok(())
}

fn sparse(set: &Set, pages: &Pages, config: &SparseConfig) -> Run {
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

fn run_of(set: &Set, hits: Vec<Vec<Scored>>) -> Run {
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
fn dense(set: &Set, pages: &Pages, view: View, fitted: Fitted) -> Run {
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
