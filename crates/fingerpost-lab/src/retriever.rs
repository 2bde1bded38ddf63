//! Who finds skills in an experiment, and over which text?
//!
//! A retriever has a name that tables print: `bm25` and `tfidf` by words, `fit` by vectors of the library itself,
//! `search` in the order of `route`, and any embedding model by the name under which `fingerpost model pull`
//! knows it. Texts that a model has embedded once are kept, so that an experiment can be taken up again.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use fingerpost::embedding::{EmbedError, Embedder, Profile, Role, Vectors};
use fingerpost::eval::{Query, Run, rank_all, search_all};
use fingerpost::index::{SparseConfig, SparseModel};
use fingerpost::route::Encoder;
use fingerpost::search::{Dense, Reading, Retriever, SearchError};
use fingerpost::snapshot::{Snapshot, SnapshotError};
use fingerpost::view::View;
use fingerpost_models::{Cached, EngineKind, Origin, Store, catalog, open};

use crate::lab::Event;

/// Texts embedded between two savings, and requests asked between two reports.
const BATCH: usize = 256;

/// Who finds skills.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finder {
    /// BM25.
    Bm25,
    /// TF-IDF.
    Tfidf,
    /// Vectors fitted to the library.
    Fit,
    /// `search` without options: the order of `route`.
    Search,
    /// An embedding model.
    Model(String),
}

impl fmt::Display for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Finder::Bm25 => "bm25",
            Finder::Tfidf => "tfidf",
            Finder::Fit => "fit",
            Finder::Search => "search",
            Finder::Model(name) => name,
        })
    }
}

impl FromStr for Finder {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "bm25" => Finder::Bm25,
            "tfidf" => Finder::Tfidf,
            "fit" => Finder::Fit,
            "search" => Finder::Search,
            _ if catalog::find(name).is_some() => Finder::Model(name.to_owned()),
            _ => {
                return Err(format!(
                    "'{name}' is no retriever: use bm25, tfidf, fit, search or a model of `fingerpost model list`"
                ));
            }
        })
    }
}

/// Why skills could not be found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The model is not here and cannot be had, or the library is too large for it.
    #[error("{model} cannot be used: {why}")]
    Model {
        /// Which one.
        model: String,
        /// Why not.
        why: String,
    },
    /// The library cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// Embedding models, each opened once.
pub struct Models {
    /// Skills of a library that a model reads at most; larger libraries are left to the other retrievers.
    pub most: usize,
    vectors: PathBuf,
    tell: Arc<dyn Fn(Event) + Send + Sync>,
    opened: Mutex<BTreeMap<String, Model>>,
}

/// A model that embeds no text twice, shared by all who ask for it.
#[derive(Clone)]
pub struct Model(Arc<Cached<Box<dyn Embedder>>>);

impl Models {
    /// Vectors are kept in a folder; `tell` hears what takes long.
    pub fn new(vectors: PathBuf, tell: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self { most: usize::MAX, vectors, tell: Arc::new(tell), opened: Mutex::default() }
    }

    /// The model of this name, fetched first where it is not here.
    pub fn get(&self, name: &str) -> Result<Model, FindError> {
        let mut opened = self.opened.lock().expect("nothing panics while holding it");
        if let Some(model) = opened.get(name) {
            return Ok(model.clone());
        }
        let failed = |why: String| FindError::Model { model: name.to_owned(), why };
        let store = Store::of_process();
        let folder = match store.find(name) {
            Some(folder) => folder,
            None => {
                let known =
                    catalog::find(name).ok_or_else(|| failed("it is not in the catalog".into()))?;
                let mut told = |said: &str| (self.tell)(Event::Doing(format!("{name}: {said}")));
                let pulled = store.pull(known, &Origin::Packages, &mut told);
                pulled.map_err(|error| failed(error.to_string()))?
            }
        };
        let model =
            open(&folder, EngineKind::of_process()).map_err(|error| failed(error.to_string()))?;
        let model =
            Cached::open(model, &self.vectors).map_err(|error| failed(error.to_string()))?;
        let tell = Arc::clone(&self.tell);
        let model = model
            .batch(BATCH)
            // The requests of one report are one batch: the report is told, not they.
            .progress(move |done, all| {
                if all > BATCH {
                    tell(Event::Progress { noun: "text", done, all });
                }
            });
        let model = Model(Arc::new(model));
        opened.insert(name.to_owned(), model.clone());
        Ok(model)
    }

    /// Asks part after part of the requests, telling how far it is.
    fn ask(
        &self,
        queries: &[Query],
        find: impl Fn(&[Query]) -> Result<Run, SearchError>,
    ) -> Result<Run, FindError> {
        let (mut run, mut done) = (Run::default(), 0);
        for part in queries.chunks(BATCH) {
            let found = find(part)?;
            found.iter().for_each(|(query, hits)| run.insert(query, hits.to_vec()));
            done += part.len();
            (self.tell)(Event::Progress { noun: "request", done, all: queries.len() });
        }
        Ok(run)
    }
}

impl Model {
    /// What tells a router how near the skills of a library are.
    pub fn encoder(&self, snapshot: &Snapshot) -> Result<Arc<Encoder>, SnapshotError> {
        Ok(Arc::new(Encoder::new(Box::new(self.clone()), snapshot.encode(self)?)))
    }
}

impl Embedder for Model {
    fn profile(&self) -> &Profile {
        self.0.profile()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        self.0.embed(texts, role)
    }
}

impl Finder {
    /// The best `depth` skills of every request over a view.
    pub fn find(
        &self,
        snapshot: &Snapshot,
        view: View,
        queries: &[Query],
        depth: usize,
        models: &Models,
    ) -> Result<Run, FindError> {
        if *self == Finder::Search {
            let router = snapshot.router(snapshot.route_config(), depth.max(10));
            return models.ask(queries, |part| rank_all(&router, part, depth));
        }
        let model =
            if *self == Finder::Tfidf { SparseModel::Tfidf } else { SparseModel::default() };
        let extent = snapshot.head().extent(view);
        let sparse = SparseConfig { view, model, extent, ..SparseConfig::default() };
        let dense = |embedder: Box<dyn Embedder>| -> Result<Dense, FindError> {
            let (index, _) = snapshot.dense(view, embedder.as_ref())?;
            Ok(Dense { index, embedder })
        };
        let (retriever, dense) = match self {
            Finder::Bm25 | Finder::Search => (Retriever::Bm25, None),
            Finder::Tfidf => (Retriever::Tfidf, None),
            Finder::Fit => {
                let fit = snapshot.fit()?.ok_or_else(|| FindError::Model {
                    model: "fit".into(),
                    why: "the library was compiled with other vectors".into(),
                })?;
                (Retriever::Dense, Some(dense(Box::new(fit))?))
            }
            Finder::Model(name) if snapshot.len() > models.most => {
                let (skills, most) = (snapshot.len(), models.most);
                let why = format!("{skills} skills are more than the {most} that it is to read");
                return Err(FindError::Model { model: name.clone(), why });
            }
            Finder::Model(name) => (Retriever::Dense, Some(dense(Box::new(models.get(name)?))?)),
        };
        let searcher = snapshot.searcher(retriever, &sparse, dense, Reading::ToTheLetter)?;
        models.ask(queries, |part| search_all(&searcher, part, depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judged::tests::here;
    use crate::judged::{EXAMPLES, Judged};

    #[test]
    fn requests_are_counted_while_they_are_asked_and_the_run_is_that_of_all_at_once() {
        let judged = Judged::open(EXAMPLES, &here()).unwrap();
        let snapshot = judged.compile().unwrap();
        let all = judged.queries.len();
        let told: Arc<Mutex<Vec<Event>>> = Arc::default();
        let tell = Arc::clone(&told);
        let folder = tempfile::tempdir().unwrap();
        let models =
            Models::new(folder.path().into(), move |event| tell.lock().unwrap().push(event));
        let run = Finder::Search.find(&snapshot, View::Full, &judged.queries, 10, &models).unwrap();
        let router = snapshot.router(snapshot.route_config(), 10);
        assert_eq!(run, rank_all(&router, &judged.queries, 10).unwrap());
        assert!(all > 2 * BATCH, "{all} requests are no test of parts");
        let steps = (BATCH..all).step_by(BATCH).chain([all]);
        let steps: Vec<Event> =
            steps.map(|done| Event::Progress { noun: "request", done, all }).collect();
        assert_eq!(*told.lock().unwrap(), steps);
    }
}
