//! On which libraries with judged requests are pages and choosers measured?
//!
//! `examples` is the project's own and always there; the others are looked for in the folder of the
//! real data. `sra-177` is the part of `sra` that a strong model wrote pages for, asked as many
//! requests of each data set; `examples-strong` has the pages that one wrote for the examples. `examples-unseen`
//! asks the examples what no weight was ever fitted to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use fingerpost::atlas::Compiled;
use fingerpost::compile::{CompileConfig, Vectorizer, compile, none_below};
use fingerpost::embedding::FitConfig;
use fingerpost::eval::{Qrels, Query, read_qrels, read_queries};
use fingerpost::index::{DenseIndex, SparseConfig, SparseIndex};
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};
use fingerpost::neighborhood::NeighborhoodConfig;
use fingerpost::page::local::LocalConfig;
use fingerpost::page::write::{Again, Writer, pages_of};
use fingerpost::page::{Case, Page, Pages};
use fingerpost::route::{RouteConfig, Router};
use fingerpost::search::tuning::Trust;
use fingerpost::search::{Reading, Retriever, Searcher};
use fingerpost::skill::SkillId;
use fingerpost::view::{Cards, View};
use serde::Deserialize;

/// The closed library of a strong model's pages.
pub(crate) const CLOSED: &str = "sra-177";

/// The project's own library.
pub(crate) const EXAMPLES: &str = "examples";

/// The same with the pages of a strong model.
pub(crate) const STRONG: &str = "examples-strong";

/// The project's own library, asked requests that were written later and that no weight is fitted to; with
/// either pages.
pub(crate) const UNSEEN: &str = "examples-unseen";
pub(crate) const UNSEEN_STRONG: &str = "examples-unseen-strong";

/// Requests of each data set that the closed library is asked.
const ASKED: usize = 220;

/// A library with judged requests, and pages that somebody else wrote for it.
pub(crate) struct Judged {
    pub(crate) name: String,
    pub(crate) library: Library,
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Qrels,
    pub(crate) theirs: Option<Pages>,
}

impl Judged {
    /// The set of this name, or `None` where its folder is not there.
    pub(crate) fn open(name: &str, data: &Path) -> anyhow::Result<Option<Self>> {
        let folder = match name {
            EXAMPLES | STRONG | UNSEEN | UNSEEN_STRONG => {
                Path::new("examples/library").to_path_buf()
            }
            _ => data.join(name),
        };
        if !folder.is_dir() {
            return Ok(None);
        }
        let judged = match name {
            CLOSED => closed(&folder, data),
            STRONG => open(name, &folder, &folder).and_then(strong),
            UNSEEN => open(name, &folder, Path::new("examples/unseen")),
            UNSEEN_STRONG => open(name, &folder, Path::new("examples/unseen")).and_then(strong),
            _ => open(name, &folder, &folder),
        };
        judged.map(Some).with_context(|| format!("cannot load {}", folder.display()))
    }

    /// The library with its pages: the local writer's, or those that somebody else wrote.
    pub(crate) fn compile(&self) -> anyhow::Result<Compiled> {
        let mut compiled = compile_library(&self.library)?;
        if let Some(theirs) = &self.theirs {
            for row in &mut compiled.pages {
                let skill = self.library.find(row.skill.as_str());
                row.page = skill.and_then(|skill| theirs.get(skill)).cloned();
            }
            compiled.none_below = none_below(&self.library, &compiled);
        }
        Ok(compiled)
    }

    /// What answers its requests, with so many skills and candidates.
    pub(crate) fn router(&self, max: usize, pool: usize) -> anyhow::Result<Router> {
        Ok(router(&self.library, self.compile()?, max, pool))
    }

    /// Has the request an answer?
    pub(crate) fn is_answerable(&self, query: &Query) -> bool {
        self.qrels.get(&query.id).is_some_and(|grades| grades.values().any(|&grade| grade > 0))
    }

    /// Is this skill a right answer?
    pub(crate) fn is_right(&self, query: &Query, skill: &str) -> bool {
        let grade = self.qrels.get(&query.id).and_then(|grades| grades.get(skill));
        grade.is_some_and(|&grade| grade > 0)
    }
}

/// What the local writer makes of a library, with vectors fitted to it.
pub(crate) fn compile_library(library: &Library) -> anyhow::Result<Compiled> {
    let config = CompileConfig {
        neighborhood: NeighborhoodConfig::default(),
        rebuild: false,
        writer: Writer::Local(LocalConfig::default()),
        again: Again::Nothing,
    };
    let vectorizer = Vectorizer::Fit(FitConfig::default());
    Ok(compile(library, String::new(), None, &vectorizer, &config, &|_| {})?.0)
}

/// What answers the requests of a compiled library.
pub(crate) fn router(library: &Library, compiled: Compiled, max: usize, pool: usize) -> Router {
    let pages = pages_of(&compiled.pages, library);
    let index = |config: &SparseConfig| SparseIndex::build(library, &pages, config);
    let searcher = Searcher {
        retriever: Retriever::Bm25,
        sparse: index(&compiled.tuning.config(View::Full)),
        dense: None,
        trust: Trust::SPARSE,
        reading: Reading::Careful,
    };
    let phrases = index(&SparseConfig::phrases(View::Full));
    let config = RouteConfig { none_below: compiled.none_below, max, cards: Cards::Boundary };
    let meanings = DenseIndex::new(compiled.meanings());
    Router { compiled, searcher, phrases, meanings, suiting: None, config, pool }
}

/// A library, and the requests of a folder.
fn open(name: &str, folder: &Path, requests: &Path) -> anyhow::Result<Judged> {
    let library = Library::load(&[Root::new(folder)], LoadOptions::default())?.value;
    let text = |name: &str| {
        let files = ["", ".zst", ".gz"].map(|end| requests.join(format!("{name}{end}")));
        let file =
            files.iter().find(|file| file.is_file()).with_context(|| format!("no {name}"))?;
        anyhow::Ok(read_unpacked(file)?)
    };
    let queries = read_queries(&text("queries.jsonl")?, "queries.jsonl", "dataset")?;
    let qrels = read_qrels(&text("qrels.tsv")?, "qrels.tsv")?;
    Ok(Judged { name: name.to_owned(), library, queries, qrels, theirs: None })
}

/// A page as it lies in the closed library's file; the boundary is free text that names its
/// references in order.
#[derive(Deserialize)]
struct Record {
    id: String,
    trigger: String,
    boundary: String,
    references: Vec<String>,
    body: String,
}

fn closed(folder: &Path, data: &Path) -> anyhow::Result<Judged> {
    let text = read_unpacked(&folder.join("pages.jsonl"))?;
    let records: Vec<Record> = text
        .split('\n')
        .filter(|line| !line.is_empty())
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let inside: BTreeSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let Judged { library, queries, qrels, .. } =
        open(CLOSED, &data.join("sra"), &data.join("sra"))?;
    let skills = library.skills().iter().filter(|skill| inside.contains(skill.id.as_str()));
    let library = Library::from_skills(skills.cloned().collect()).value;
    let page = |record: &Record| Page {
        trigger: record.trigger.clone(),
        boundary: cases(record, &library),
        body: record.body.clone(),
    };
    let pages: BTreeMap<&str, Page> =
        records.iter().map(|record| (record.id.as_str(), page(record))).collect();
    let theirs = library.skills().iter().map(|skill| pages.get(skill.id.as_str()).cloned());
    let theirs = Some(Pages::new(theirs.collect()));
    let mut by_set: BTreeMap<String, Vec<Query>> = BTreeMap::new();
    for query in queries {
        let answered = qrels.get(&query.id).is_some_and(|grades| {
            grades.iter().all(|(skill, &grade)| grade <= 0 || inside.contains(skill.as_str()))
        });
        if answered {
            by_set.entry(query.dataset.clone().unwrap_or_default()).or_default().push(query);
        }
    }
    let queries = by_set.into_values().flat_map(|queries| spread(queries, ASKED)).collect();
    Ok(Judged { name: CLOSED.to_owned(), library, queries, qrels, theirs })
}

/// A page as `fingerpost export` writes it.
#[derive(Deserialize)]
struct Exported {
    skill: SkillId,
    #[serde(flatten)]
    page: Page,
}

fn strong(judged: Judged) -> anyhow::Result<Judged> {
    let text = read_unpacked(Path::new("examples/pages/strong-model.jsonl"))?;
    let mut pages: BTreeMap<SkillId, Page> = BTreeMap::new();
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        let Exported { skill, page } = serde_json::from_str(line)?;
        pages.insert(skill, page);
    }
    let theirs = judged.library.skills().iter().map(|skill| pages.remove(&skill.id)).collect();
    Ok(Judged { theirs: Some(Pages::new(theirs)), ..judged })
}

/// Their boundary, cut into cases where each neighbor is named.
fn cases(record: &Record, library: &Library) -> Vec<Case> {
    let mut rest = record.boundary.as_str();
    let mut cases = Vec::new();
    for id in &record.references {
        let named = library.find(id).map(|skill| library.skills()[skill.row()].name.as_str());
        let Some((name, at)) = named.and_then(|name| Some((name, rest.find(name)?))) else {
            continue;
        };
        let marks = [' ', '.', ',', ';', ':', '\'', '…'];
        let request = rest[..at].trim_matches(marks).to_owned();
        cases.push(Case { request, skill: Some(SkillId::new(id.as_str())) });
        rest = rest[at + name.len()..].trim_start_matches(marks);
    }
    cases
}

/// So many of the requests, evenly spaced, so that every kind has its part.
pub(crate) fn spread(queries: Vec<Query>, most: usize) -> Vec<Query> {
    let count = queries.len();
    let taken: BTreeSet<usize> = (0..most).map(|at| at * count / most).collect();
    let queries = queries.into_iter().enumerate();
    queries.filter(|(at, _)| count <= most || taken.contains(at)).map(|(_, query)| query).collect()
}
