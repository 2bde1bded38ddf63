//! On which libraries with judged requests are pages and choosers measured?
//!
//! `examples` is the project's own and always there; the others are looked for in the folder of the
//! real data. `sra-177` is the part of `sra` that a strong model wrote pages for, asked as many
//! requests of each data set; `examples-strong` and `toollens-strong` have the pages that one wrote for
//! them. `examples-unseen` asks the examples what was written later. Which belong together is told in
//! `folds.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use fingerpost::atlas::Atlas;
use fingerpost::eval::{Measure, Qrels, Query, Run, Scored, evaluate, read_qrels, read_queries};
use fingerpost::index::{Hit, Scratch};
use fingerpost::kept::{KeptPage, Origin};
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};
use fingerpost::page::{Case, Page, Pages};
use fingerpost::protocol::Protocol;
use fingerpost::search::SearchError;
use fingerpost::skill::{Skill, SkillId, SkillIdx};
use fingerpost::snapshot::Snapshot;
use rayon::prelude::*;
use serde::Deserialize;

/// The closed library of a strong model's pages.
pub(crate) const CLOSED: &str = "sra-177";

/// The project's own library.
pub(crate) const EXAMPLES: &str = "examples";

/// The same with the pages of a strong model.
pub(crate) const STRONG: &str = "examples-strong";

/// The project's own library, asked requests that were written later; with either pages.
pub(crate) const UNSEEN: &str = "examples-unseen";
pub(crate) const UNSEEN_STRONG: &str = "examples-unseen-strong";

/// `toollens` with the pages of a strong model.
pub(crate) const TOOLLENS_STRONG: &str = "toollens-strong";

/// The pages that a strong model wrote for the examples.
const STRONG_PAGES: &str = "examples/pages/strong-model.jsonl";

/// Hits that a search is asked for.
pub(crate) const K: usize = 10;

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
            TOOLLENS_STRONG => data.join("toollens"),
            _ => data.join(name),
        };
        if !folder.is_dir() {
            return Ok(None);
        }
        let judged = match name {
            CLOSED => closed(&folder, data),
            STRONG => open(name, &folder, &folder)
                .and_then(|judged| strong(judged, Path::new(STRONG_PAGES))),
            UNSEEN => open(name, &folder, Path::new("examples/unseen")),
            UNSEEN_STRONG => open(name, &folder, Path::new("examples/unseen"))
                .and_then(|judged| strong(judged, Path::new(STRONG_PAGES))),
            TOOLLENS_STRONG => open(name, &folder, &folder)
                .and_then(|judged| strong(judged, &folder.join("pages.jsonl.zst"))),
            _ => open(name, &folder, &folder),
        };
        judged.map(Some).with_context(|| format!("cannot load {}", folder.display()))
    }

    /// The library with its pages: the local writer's, or those that somebody else wrote.
    pub(crate) fn compile(&self) -> anyhow::Result<Snapshot> {
        let atlas = Atlas::in_memory();
        self.keep_theirs(&atlas)?;
        compile(&atlas, &self.library)
    }

    /// Has an atlas keep the pages that somebody else wrote; from its next compilation on they count, and
    /// a skill that they have none for has none.
    pub(crate) fn keep_theirs(&self, atlas: &Atlas) -> anyhow::Result<()> {
        let Some(theirs) = &self.theirs else { return Ok(()) };
        let kept = |(skill, at): (&Skill, SkillIdx)| {
            let page = theirs.get(at).cloned();
            KeptPage {
                at: 0,
                skill: skill.id.clone(),
                root: String::new(),
                document: skill.digest().to_hex().to_string(),
                origin: if page.is_some() { Origin::Import } else { Origin::Model },
                writer: "a strong model".into(),
                key: String::new(),
                pinned: page.is_some(),
                page,
                findings: Vec::new(),
            }
        };
        let rows = (0..).map(SkillIdx);
        let kept: Vec<KeptPage> = self.library.skills().iter().zip(rows).map(kept).collect();
        Ok(atlas.keep(&kept)?)
    }

    /// What a search is worth on its requests: recall among the first [`K`] and the share of first
    /// places, in percent, means over data sets.
    pub(crate) fn figures(
        &self,
        search: impl Fn(&str, &mut Scratch) -> Result<Vec<Hit>, SearchError> + Sync,
    ) -> anyhow::Result<[f64; 2]> {
        let scored = |hit: &Hit| Scored {
            skill: self.library.skills()[hit.skill.row()].id.to_string(),
            score: f64::from(hit.score),
        };
        let found: Vec<Vec<Scored>> = self
            .queries
            .par_iter()
            .map_init(Scratch::default, |scratch, query| {
                Ok(search(&query.text, scratch)?.iter().map(scored).collect())
            })
            .collect::<Result<_, SearchError>>()?;
        let mut run = Run::default();
        for (query, hits) in self.queries.iter().zip(found) {
            run.insert(query.id.as_str(), hits);
        }
        self.means(&run)
    }

    /// What a run is worth, as [`Self::figures`] says it.
    pub(crate) fn means(&self, run: &Run) -> anyhow::Result<[f64; 2]> {
        let measures: [Measure; 2] = [format!("R@{K}").parse()?, "Success@1".parse()?];
        let means = evaluate(run, &self.qrels, Some(&self.queries), &measures).macro_mean;
        let mut percents =
            means.values().map(|value| value.as_f64().map_or(0.0, |share| share * 100.0));
        let mut next = || percents.next().context("a mean for each measure");
        Ok([next()?, next()?])
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

/// A library as the program compiles it where nobody says otherwise.
pub(crate) fn compile(atlas: &Atlas, library: &Library) -> anyhow::Result<Snapshot> {
    Ok(atlas.compile(library, &Protocol::ours())?.0)
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

fn strong(judged: Judged, file: &Path) -> anyhow::Result<Judged> {
    let text = read_unpacked(file)?;
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
        cases.push(Case::new(request, Some(SkillId::new(id.as_str()))));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_somebody_else_are_the_only_ones() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/library");
        let library = Library::load(&[Root::new(root)], LoadOptions::default()).unwrap().value;
        let library = Library::from_skills(library.skills()[..12].to_vec()).value;
        let page = |skill: &Skill| Page {
            trigger: format!("Whatever is said of {}.", skill.name),
            boundary: Vec::new(),
            body: String::new(),
        };
        let theirs = library.skills().iter().zip(0..);
        let theirs = theirs.map(|(skill, at)| (at != 3).then(|| page(skill)));
        let theirs = Pages::new(theirs.collect());
        let judged = Judged {
            name: String::new(),
            library,
            queries: Vec::new(),
            qrels: Qrels::default(),
            theirs: Some(theirs.clone()),
        };
        let in_order = |pages: &Pages| -> Vec<Option<Page>> {
            (0..12).map(|row| pages.get(SkillIdx(row)).cloned()).collect()
        };
        let kept = judged.compile().unwrap().pages().unwrap();
        assert_eq!(in_order(&kept), in_order(&theirs));

        // And where the local writer has written before.
        let atlas = Atlas::in_memory();
        let ours = compile(&atlas, &judged.library).unwrap().pages().unwrap();
        assert!(ours.get(SkillIdx(3)).is_some());
        judged.keep_theirs(&atlas).unwrap();
        let kept = compile(&atlas, &judged.library).unwrap().pages().unwrap();
        assert_eq!(in_order(&kept), in_order(&theirs));
    }
}
