//! On which libraries with judged requests is anything measured?
//!
//! `examples` is the project's own; others are looked for in the folder of the real data, or are folders of the
//! user's own. `sra-177` is the part of `sra` that a strong model wrote pages for, asked as many requests of
//! each data set; names that end in `-strong` have the pages that one wrote for the whole library.
//! `examples-unseen` asks the examples what was written later.

mod pages;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fingerpost::atlas::{Atlas, AtlasError};
use fingerpost::eval::{
    Gold, JudgedError as RequestsError, JudgedRequests, Qrels, Query, judged_requests, name_by_id,
};
use fingerpost::kept::{KeptPage, Origin};
use fingerpost::library::{Library, LoadError, LoadOptions, Root, read_unpacked};
use fingerpost::page::Pages;
use fingerpost::protocol::Protocol;
use fingerpost::skill::{Skill, SkillIdx};
use fingerpost::snapshot::Snapshot;

/// The closed library of a strong model's pages.
pub const CLOSED: &str = "sra-177";

/// The project's own library.
pub const EXAMPLES: &str = "examples";

/// The same with the pages of a strong model.
pub const STRONG: &str = "examples-strong";

/// The project's own library, asked requests that were written later.
pub const UNSEEN: &str = "examples-unseen";

/// The same with the pages of a strong model.
pub const UNSEEN_STRONG: &str = "examples-unseen-strong";

/// `toollens` with the pages of a strong model.
pub const TOOLLENS_STRONG: &str = "toollens-strong";

/// `ultratool-zh` with the pages of a strong model.
pub const CHINESE_STRONG: &str = "ultratool-zh-strong";

/// Who wrote the pages of libraries that are called strong.
const STRONG_WRITER: &str = "strong model";

/// Questions about tables, a graph and notes of the project's own, in the form of ToolQA.
pub const TOOLS: &str = "examples-toolqa";

/// Requests of each data set that the closed library is asked.
const ASKED: usize = 220;

/// Where things are looked for.
#[derive(Debug, Clone)]
pub struct Places {
    /// The real data.
    pub data: PathBuf,
    /// The project's folder, with `examples` and `experiments`.
    pub project: PathBuf,
}

/// A library with judged requests, and pages that somebody else wrote for it.
pub struct Judged {
    /// What it is called.
    pub name: String,
    /// The library whose requests and judgements it has: itself, or the one that it is a variant of.
    pub asks: String,
    /// The skills.
    pub library: Library,
    /// The requests that are asked.
    pub queries: Vec<Query>,
    /// What all its requests ask, also those that are not asked here.
    pub texts: BTreeMap<String, String>,
    /// The data sets of all its requests, also of those that are not asked.
    pub data_sets: BTreeMap<String, String>,
    /// The judgements of all its requests.
    pub qrels: Qrels,
    /// What an answer to a request is judged by, where that is known.
    pub answers: BTreeMap<String, serde_json::Value>,
    /// Pages that somebody else wrote, where these are what counts.
    pub theirs: Option<Pages>,
    /// Who wrote the pages, in words.
    pub writer: &'static str,
}

/// Why a judged library could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum JudgedError {
    /// It is not here.
    #[error("{name} is not here: put {file} into {folder} ({from})")]
    Missing {
        /// Which library.
        name: String,
        /// Which file.
        file: String,
        /// Where it belongs.
        folder: String,
        /// Where it comes from.
        from: &'static str,
    },
    /// The skills cannot be loaded.
    #[error("{name}: {source}")]
    Library {
        /// Which library.
        name: String,
        /// Why.
        source: LoadError,
    },
    /// A file cannot be read.
    #[error("cannot read {file}: {why}")]
    File {
        /// Which one.
        file: String,
        /// Why.
        why: String,
    },
    /// Its requests cannot be used.
    #[error(transparent)]
    Requests(#[from] RequestsError),
    /// It cannot be compiled.
    #[error(transparent)]
    Atlas(#[from] AtlasError),
}

impl Places {
    /// The folder of tables, graphs and texts that the questions of a library are about, if there is one.
    pub fn tool_data(&self, name: &str) -> Option<PathBuf> {
        let folder = match name {
            TOOLS => self.project.join("examples/toolqa"),
            _ if Path::new(name).is_dir() => PathBuf::from(name),
            _ => self.data.join(name),
        };
        Some(folder.join("data")).filter(|folder| folder.is_dir())
    }
}

impl Judged {
    /// The library of this name, or of this folder.
    pub fn open(name: &str, places: &Places) -> Result<Self, JudgedError> {
        let Places { data, project } = places;
        let examples = project.join("examples/library");
        let unseen = project.join("examples/unseen");
        let strong_examples = project.join("examples/pages/strong-model.jsonl");
        match name {
            EXAMPLES => open(name, &examples, &examples),
            UNSEEN => open(name, &examples, &unseen),
            STRONG => open(name, &examples, &examples)?.with_pages(&strong_examples),
            UNSEEN_STRONG => open(name, &examples, &unseen)?.with_pages(&strong_examples),
            TOOLS => {
                let folder = project.join("examples/toolqa");
                open(name, &folder, &folder)
            }
            CLOSED => pages::closed(data),
            TOOLLENS_STRONG => {
                let folder = data.join("toollens");
                open(name, &folder, &folder)?.with_pages(&folder.join("pages.jsonl.zst"))
            }
            CHINESE_STRONG => {
                let folder = data.join("ultratool-zh");
                let pages = project.join("experiments/pages/ultratool-zh.jsonl.zst");
                open(name, &folder, &folder)?.with_pages(&pages)
            }
            _ if Path::new(name).is_dir() => open(name, Path::new(name), Path::new(name)),
            _ => open(name, &data.join(name), &data.join(name)),
        }
    }

    /// With so many requests at most, evenly spaced.
    #[must_use]
    pub fn with_requests(mut self, most: usize) -> Self {
        self.queries = spread(std::mem::take(&mut self.queries), most);
        self
    }

    /// The same requests of other skills, with these pages.
    #[must_use]
    pub fn variant(&self, suffix: &str, skills: Vec<Skill>, pages: Pages) -> Self {
        Self {
            name: format!("{}-{suffix}", self.name),
            asks: self.asks.clone(),
            library: Library::from_skills(skills).value,
            queries: self.queries.clone(),
            texts: self.texts.clone(),
            data_sets: self.data_sets.clone(),
            qrels: self.qrels.clone(),
            answers: self.answers.clone(),
            theirs: Some(pages),
            writer: self.writer,
        }
    }

    fn with_pages(self, file: &Path) -> Result<Self, JudgedError> {
        let theirs = pages::exported(&self.library, file, &self.name)?;
        Ok(Self { theirs: Some(theirs), writer: STRONG_WRITER, ..self })
    }

    /// The library with its pages: the local writer's, or those that somebody else wrote.
    pub fn compile(&self) -> Result<Snapshot, JudgedError> {
        self.compile_as(&Protocol::ours())
    }

    /// The same as a protocol says.
    pub fn compile_as(&self, protocol: &Protocol) -> Result<Snapshot, JudgedError> {
        let atlas = Atlas::in_memory();
        self.keep_theirs(&atlas)?;
        Ok(atlas.compile(&self.library, protocol)?.0)
    }

    /// The same with the pages of the local writer in any case.
    pub fn compile_locally(&self, protocol: &Protocol) -> Result<Snapshot, JudgedError> {
        Ok(Atlas::in_memory().compile(&self.library, protocol)?.0)
    }

    /// Has an atlas keep the pages that somebody else wrote; from its next compilation on they count, and
    /// a skill that they have none for has none.
    pub fn keep_theirs(&self, atlas: &Atlas) -> Result<(), JudgedError> {
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
        Ok(atlas.keep(&kept).map_err(AtlasError::from)?)
    }

    /// Has the request an answer?
    pub fn is_answerable(&self, query: &Query) -> bool {
        self.qrels.get(&query.id).is_some_and(|grades| grades.values().any(|&grade| grade > 0))
    }

    /// Is this skill a right answer?
    pub fn is_right(&self, query: &Query, skill: &str) -> bool {
        let grade = self.qrels.get(&query.id).and_then(|grades| grades.get(skill));
        grade.is_some_and(|&grade| grade > 0)
    }
}

/// A library, and the requests of a folder.
fn open(name: &str, folder: &Path, requests: &Path) -> Result<Judged, JudgedError> {
    let missing = |file: &str, folder: &Path| JudgedError::Missing {
        name: name.to_owned(),
        file: file.to_owned(),
        folder: folder.display().to_string(),
        from: origin(name),
    };
    if !folder.is_dir() {
        return Err(missing("corpus.jsonl, queries.jsonl and qrels.tsv", folder));
    }
    let loaded = Library::load(&[Root::new(folder)], LoadOptions::default());
    let library =
        loaded.map_err(|source| JudgedError::Library { name: name.to_owned(), source })?.value;
    let found = judged_requests(requests, "dataset")?;
    let found = found.ok_or_else(|| missing("queries.jsonl and qrels.tsv", requests))?;
    let JudgedRequests { queries, qrels, answers, gold, .. } = found;
    let ids = library.skills().iter().map(|skill| skill.id.as_str());
    let qrels = if gold == Gold::Requests { name_by_id(&qrels, ids) } else { qrels };
    let data_sets =
        queries.iter().filter_map(|query| Some((query.id.clone(), query.dataset.clone()?)));
    let data_sets = data_sets.collect();
    let texts = queries.iter().map(|query| (query.id.clone(), query.text.clone())).collect();
    Ok(Judged {
        name: name.to_owned(),
        asks: name.to_owned(),
        library,
        queries,
        texts,
        data_sets,
        qrels,
        answers,
        theirs: None,
        writer: "local",
    })
}

fn read(file: &Path) -> Result<String, JudgedError> {
    read_unpacked(file).map_err(|error| JudgedError::File {
        file: file.display().to_string(),
        why: error.to_string(),
    })
}

/// Where a library comes from, for those who do not have it.
fn origin(name: &str) -> &'static str {
    match name {
        _ if name.starts_with("examples") => "part of the project",
        _ if name.starts_with("sra") => {
            "SRA-Bench: the questions and gold ids of SR-Agents, with texts of skills"
        }
        _ if name.starts_with("ultratool") => "the tools and requests of UltraTool",
        _ if name.starts_with("toollens") => "the tools and requests of ToolLens",
        "metatool" => "the tools and requests of MetaTool",
        "bfcl" => "the functions and requests of the Berkeley Function-Calling Leaderboard",
        "livemcpbench" => "the tools and tasks of LiveMCPBench",
        "apibench" => "the models and requests of Gorilla's APIBench",
        "sealtools" => "the tools and requests of Seal-Tools",
        _ => "a folder with skills, queries.jsonl and qrels.tsv",
    }
}

/// So many of the requests, evenly spaced, so that every kind has its part.
pub fn spread<T>(queries: Vec<T>, most: usize) -> Vec<T> {
    let count = queries.len();
    if count <= most {
        return queries;
    }
    let mut taken: Vec<bool> = vec![false; count];
    (0..most).for_each(|at| taken[at * count / most] = true);
    queries.into_iter().zip(taken).filter_map(|(query, taken)| taken.then_some(query)).collect()
}

/// Requests by their data sets, in the order of names.
pub(crate) fn by_data_set(queries: Vec<Query>) -> BTreeMap<String, Vec<Query>> {
    let mut sets: BTreeMap<String, Vec<Query>> = BTreeMap::new();
    for query in queries {
        sets.entry(query.dataset.clone().unwrap_or_default()).or_default().push(query);
    }
    sets
}

#[cfg(test)]
pub(crate) mod tests {
    use fingerpost::page::Page;

    use super::*;

    /// The project's own folder, and no real data.
    pub(crate) fn here() -> Places {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Places { data: project.join("no-such-folder"), project }
    }

    #[test]
    fn the_pages_of_somebody_else_are_the_only_ones() {
        let judged = Judged::open(EXAMPLES, &here()).unwrap();
        let library = Library::from_skills(judged.library.skills()[..12].to_vec()).value;
        let page = |skill: &Skill| Page {
            trigger: format!("Whatever is said of {}.", skill.name),
            boundary: Vec::new(),
            body: String::new(),
        };
        let theirs = library.skills().iter().zip(0..);
        let theirs = theirs.map(|(skill, at)| (at != 3).then(|| page(skill)));
        let theirs = Pages::new(theirs.collect());
        let judged = Judged { library, theirs: Some(theirs.clone()), ..judged };
        let in_order = |pages: &Pages| -> Vec<Option<Page>> {
            (0..12).map(|row| pages.get(SkillIdx(row)).cloned()).collect()
        };
        let kept = judged.compile().unwrap().pages().unwrap();
        assert_eq!(in_order(&kept), in_order(&theirs));

        // And where the local writer has written before.
        let atlas = Atlas::in_memory();
        let ours = atlas.compile(&judged.library, &Protocol::ours()).unwrap().0.pages().unwrap();
        assert!(ours.get(SkillIdx(3)).is_some());
        judged.keep_theirs(&atlas).unwrap();
        let kept = atlas.compile(&judged.library, &Protocol::ours()).unwrap().0.pages().unwrap();
        assert_eq!(in_order(&kept), in_order(&theirs));
    }

    #[test]
    fn what_is_missing_is_told_in_one_sentence() {
        let error = Judged::open("sra", &here()).err().unwrap().to_string();
        for part in ["sra is not here", "corpus.jsonl", "no-such-folder", "SRA-Bench"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn requests_are_taken_from_everywhere() {
        let query = |n: usize| Query { id: n.to_string(), text: String::new(), dataset: None };
        let ids = |most: usize| -> Vec<String> {
            spread((0..10).map(query).collect(), most).into_iter().map(|query| query.id).collect()
        };
        assert_eq!(ids(4), ["0", "2", "5", "7"]);
        assert_eq!(ids(11).len(), 10);
    }
}
