//! Which skills come into question for a request?
//!
//! A searcher holds what the atlas has of one view: terms, vectors, or both. A skill that the
//! request names comes first whatever its score. What a request says it does not want is the
//! chooser's matter: such words still bring the right neighborhood.

pub mod tuning;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::tuning::Trust;
use crate::embedding::{EmbedError, Embedder, Role, Vectors};
use crate::index::fusion::{reciprocal_ranks, round_robin};
use crate::index::{DenseIndex, Hit, IndexError, Scratch, SparseIndex, Zeros};
use crate::request::named;
use crate::snapshot::Snapshot;

/// How skills are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retriever {
    /// By shared terms, BM25.
    #[default]
    Bm25,
    /// By shared terms, TF-IDF.
    Tfidf,
    /// By shared words and pairs of words, whatever their endings.
    Phrases,
    /// By vectors.
    Dense,
    /// Both, fused by rank, each with as much weight as it earned on the library.
    Hybrid,
    /// Both, taking turns, as the reference toolkit does.
    RoundRobin,
}

impl Retriever {
    /// Every retriever, in the order they are listed.
    pub const ALL: [Retriever; 6] = [
        Retriever::Bm25,
        Retriever::Tfidf,
        Retriever::Phrases,
        Retriever::Dense,
        Retriever::Hybrid,
        Retriever::RoundRobin,
    ];

    /// Does it need vectors?
    pub fn is_dense(self) -> bool {
        matches!(self, Retriever::Dense | Retriever::Hybrid | Retriever::RoundRobin)
    }
}

impl fmt::Display for Retriever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Retriever::Bm25 => "bm25",
            Retriever::Tfidf => "tfidf",
            Retriever::Phrases => "phrases",
            Retriever::Dense => "dense",
            Retriever::Hybrid => "hybrid",
            Retriever::RoundRobin => "round-robin",
        })
    }
}

impl FromStr for Retriever {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Retriever::ALL.into_iter().find(|retriever| retriever.to_string() == name).ok_or_else(
            || {
                let all = Retriever::ALL.map(|retriever| retriever.to_string()).join(", ");
                format!("'{name}' is no retriever: use one of {all}")
            },
        )
    }
}

/// Does the searcher read requests, or take them to the letter?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// Named skills first.
    #[default]
    Careful,
    /// Every word counts, as in the reference toolkit.
    ToTheLetter,
}

/// What can be searched of one view.
pub struct Searcher<'a> {
    /// The library, which knows the names that a request may say.
    pub snapshot: &'a Snapshot,
    /// How skills are scored.
    pub retriever: Retriever,
    /// The terms.
    pub sparse: Arc<SparseIndex>,
    /// The vectors, where the retriever needs them.
    pub dense: Option<Dense>,
    /// What each side counts in a fusion.
    pub trust: Trust,
    /// How requests are read.
    pub reading: Reading,
}

/// The vectors of a view, and what embeds requests like them.
pub struct Dense {
    /// One row a skill.
    pub index: DenseIndex,
    /// The embedder that made them.
    pub embedder: Box<dyn Embedder>,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The index is damaged.
    #[error("the index {0}")]
    Index(#[from] IndexError),
    /// The request could not be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// Hits that each side gives to a fusion: enough that a skill on both lists is seen on both.
const FUSED_DEPTH: usize = 100;

/// Above the score of any other hit.
const NAMED_SCORE: f32 = 1e6;

impl Searcher<'_> {
    /// The best `k` skills, best first; equal scores in the order of ids.
    pub fn search(
        &self,
        request: &str,
        k: usize,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SearchError> {
        let vectors = self.embed(&[request])?;
        self.search_embedded(request, vectors.as_ref().map(|vectors| vectors.row(0)), k, scratch)
    }

    /// The vectors of many requests at once, which is what servers and models are good at; none if the
    /// retriever does not look at them.
    pub fn embed(&self, requests: &[&str]) -> Result<Option<Vectors>, EmbedError> {
        let dense = self.dense.as_ref().filter(|_| self.retriever.is_dense());
        dense.map(|dense| dense.embedder.embed(requests, Role::Query)).transpose()
    }

    /// [`search`](Self::search) for a request whose vector is known, see [`embed`](Self::embed).
    pub fn search_embedded(
        &self,
        request: &str,
        vector: Option<&[f32]>,
        k: usize,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SearchError> {
        let mut hits = self.rank(request, vector, k, scratch)?;
        if self.reading == Reading::ToTheLetter {
            return Ok(hits);
        }
        for name in named(request).into_iter().rev() {
            if let Some(skill) = self.snapshot.find(name) {
                hits.retain(|hit| hit.skill != skill);
                hits.insert(0, Hit { skill, score: NAMED_SCORE });
            }
        }
        hits.truncate(k);
        Ok(hits)
    }

    fn rank(
        &self,
        text: &str,
        vector: Option<&[f32]>,
        k: usize,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, SearchError> {
        let mut by_terms = |k: usize| {
            Ok::<_, SearchError>(self.sparse.search(text, k, Zeros::Dropped, scratch)?)
        };
        let (Some(dense), Some(vector)) = (&self.dense, vector) else { return by_terms(k) };
        let by_vectors = |k: usize| dense.index.search(vector, k);
        let depth = k.max(FUSED_DEPTH);
        Ok(match self.retriever {
            Retriever::Dense => by_vectors(k),
            Retriever::RoundRobin => round_robin(&[&by_terms(k)?, &by_vectors(k)], k),
            _ => reciprocal_ranks(
                &[(self.trust.sparse, &by_terms(depth)?), (self.trust.dense, &by_vectors(depth))],
                k,
            ),
        })
    }
}
