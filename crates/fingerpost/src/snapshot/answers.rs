//! What can a snapshot be asked?
//!
//! Indexes and vectors that are not the generation's own are looked for beside it, and made in memory
//! where nobody has kept them: from the documents that the snapshot has, so without the library.

use std::sync::Arc;

use super::{EXTRA, SkillRow, Snapshot, SnapshotError};
use crate::embedding::{Embedder, Role};
use crate::index::{DenseIndex, FORMAT_VERSION, SparseConfig, SparseIndex, embed_view};
use crate::numbers;
use crate::page::Pages;
use crate::route::llm::{Answering, NamedSkill};
use crate::route::{RouteConfig, Router};
use crate::search::tuning::Trust;
use crate::search::{Dense, Reading, Retriever, Searcher};
use crate::store::StoreError;
use crate::view::{View, purpose};

impl Snapshot {
    /// What routes requests, as configured.
    pub fn router(&self, config: RouteConfig, pool: usize) -> Router<'_> {
        let encoder = self.own_encoder();
        Router { snapshot: self, finder: self.finder(), config, pool, encoder }
    }

    /// BM25 over words, cut or whole as the library's own test found better: what finds the candidates of a route.
    fn finder(&self) -> Searcher<'_> {
        Searcher {
            snapshot: self,
            retriever: Retriever::Bm25,
            sparse: Arc::clone(&self.terms),
            dense: None,
            trust: Trust::SPARSE,
            reading: self.reading(),
        }
    }

    /// How requests are read where nobody says otherwise: to the letter, where a model is asked about a skill
    /// that the request names.
    pub fn reading(&self) -> Reading {
        match self.head.protocol.choosing.named {
            NamedSkill::Taken => Reading::Careful,
            NamedSkill::Asked => Reading::ToTheLetter,
        }
    }

    /// The configuration of routes where nobody says otherwise.
    pub fn route_config(&self) -> RouteConfig {
        let choosing = &self.head.protocol.choosing;
        let none_below = match choosing.answering {
            Answering::OrNone => numbers::none::BELOW,
            Answering::Always => 0.0,
        };
        RouteConfig { none_below, min_confidence: 0.0, max: 1, cards: choosing.cards }
    }

    /// An index of terms over a view: one of the generation's, one that was kept for it, or one
    /// made now, in memory.
    pub fn index(&self, config: &SparseConfig) -> Result<Arc<SparseIndex>, SnapshotError> {
        if let Some(index) = self.index_at_hand(config)? {
            return Ok(index);
        }
        let pages = if config.view.reads_pages() { self.pages()? } else { Pages::default() };
        Ok(Arc::new(SparseIndex::build(&self.library()?, &pages, config)))
    }

    /// The same, if nothing has to be made for it.
    pub fn index_at_hand(
        &self,
        config: &SparseConfig,
    ) -> Result<Option<Arc<SparseIndex>>, SnapshotError> {
        for index in [&self.terms, &self.phrases] {
            if index.config() == config {
                return Ok(Some(Arc::clone(index)));
            }
        }
        let blob = self.store.get(&self.extra(&sparse_name(config), config.view))?;
        let index = blob.and_then(|blob| SparseIndex::open(blob).ok());
        let of_this = |index: &SparseIndex| {
            index.config() == config
                && index.len() == self.len()
                && index.made_from() == self.head.made_from(config.view)
        };
        Ok(index.filter(of_this).map(Arc::new))
    }

    /// Keeps an index for later: it can be made again, so a failure is no loss.
    pub fn keep_index(&self, index: &SparseIndex) -> Result<(), StoreError> {
        let config = index.config();
        self.store.put(&self.extra(&sparse_name(config), config.view), index.bytes())
    }

    /// The vectors of a view, made by this embedder: kept ones, or new ones. Says how many texts
    /// were embedded.
    pub fn dense(
        &self,
        view: View,
        embedder: &dyn Embedder,
    ) -> Result<(DenseIndex, usize), SnapshotError> {
        let name = self.dense_name(view, embedder);
        let kept = self.store.get(&name)?.and_then(|blob| DenseIndex::open(blob).ok());
        if let Some(index) = kept.filter(|index| index.len() == self.len()) {
            return Ok((index, 0));
        }
        let pages = if view.reads_pages() { self.pages()? } else { Pages::default() };
        let extent = self.head.extent(view);
        let vectors = embed_view(&self.library()?, &pages, view, extent, embedder)?;
        let embedded = vectors.len();
        Ok((DenseIndex::new(vectors), embedded))
    }

    /// Keeps the vectors of a view for later.
    pub fn keep_dense(
        &self,
        index: &DenseIndex,
        view: View,
        embedder: &dyn Embedder,
    ) -> Result<(), StoreError> {
        self.store.put(&self.dense_name(view, embedder), &index.to_bytes())
    }

    /// What an encoder makes of what each skill says it is for.
    pub fn encode(&self, encoder: &dyn Embedder) -> Result<DenseIndex, SnapshotError> {
        let rows = self.rows().zip(self.page_rows()?);
        let texts: Vec<String> = rows
            .map(|(row, page)| {
                let SkillRow { name, description, .. } = self.row(row);
                purpose(name, description, page.page.as_ref())
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        Ok(DenseIndex::rounded(encoder.embed(&texts, Role::Document)?.rounded()))
    }

    /// The same, if it was kept.
    pub fn encoded_at_hand(
        &self,
        encoder: &dyn Embedder,
    ) -> Result<Option<DenseIndex>, SnapshotError> {
        let kept = self.store.get(&self.encoded_name(encoder))?;
        let sound = kept.and_then(|blob| {
            let index = DenseIndex::open(blob).ok()?;
            (index.len() == self.len() && index.check().is_ok()).then_some(index)
        });
        Ok(sound)
    }

    /// Keeps what an encoder made for later.
    pub fn keep_encoded(
        &self,
        index: &DenseIndex,
        encoder: &dyn Embedder,
    ) -> Result<(), StoreError> {
        self.store.put(&self.encoded_name(encoder), &index.to_bytes())
    }

    fn encoded_name(&self, encoder: &dyn Embedder) -> String {
        self.extra(&format!("encoded {DENSE_VERSION} {}", encoder.profile().key()), View::Full)
    }

    fn dense_name(&self, view: View, embedder: &dyn Embedder) -> String {
        let mut what = format!("{DENSE_VERSION} {}", embedder.profile().key());
        let extent = self.head.extent(view);
        if !extent.is_usual() {
            what.push_str(&serde_json::to_string(&extent).expect("plain data"));
        }
        self.extra(&what, view)
    }

    /// Everything a retriever needs, over an index of terms; `embedder` where it needs vectors.
    pub fn searcher(
        &self,
        retriever: Retriever,
        config: &SparseConfig,
        dense: Option<Dense>,
        reading: Reading,
    ) -> Result<Searcher<'_>, SnapshotError> {
        let trust = if dense.is_some() { self.head.tuning.trust } else { Trust::SPARSE };
        let sparse = self.index(config)?;
        Ok(Searcher { snapshot: self, retriever, sparse, dense, trust, reading })
    }

    /// The name of a file beside the generation's own: what it is, and of which texts.
    fn extra(&self, what: &str, view: View) -> String {
        extra_name(&self.head.made_from(view), what, view)
    }
}

/// Raised whenever a view's vectors come about in another way.
const DENSE_VERSION: u32 = 5;

fn sparse_name(config: &SparseConfig) -> String {
    let settings = serde_json::to_string(config).expect("plain data");
    format!("{FORMAT_VERSION} {} {settings}", numbers::VERSION)
}

fn extra_name(made_from: &str, what: &str, view: View) -> String {
    let of = blake3::hash(made_from.as_bytes()).to_hex();
    let what = blake3::hash(what.as_bytes()).to_hex();
    format!("{EXTRA}{}-{view}-{}", &of[..24], &what[..24])
}
