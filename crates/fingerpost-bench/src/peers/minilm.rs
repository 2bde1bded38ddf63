//! What does a small encoder find, by the cosine of request and document?
//!
//! all-MiniLM-L6-v2 in 8 bits, as `fingerpost model pull minilm` fetches it, run by our own engine. It
//! reads the first 256 tokens of a document, its own window.

use std::path::Path;
use std::sync::Arc;

use fingerpost::embedding::{Embedder, Role};
use fingerpost::index::DenseIndex;
use fingerpost::route::Encoder;
use fingerpost::snapshot::Snapshot;

use super::arms::{DEPTH, Ranking};
use crate::encoder::{self, EncoderModel};

const NAME: &str = "minilm";

/// The model, which embeds no text twice.
pub(crate) struct MiniLm {
    model: EncoderModel,
}

impl MiniLm {
    /// Opens the model, and fetches it first where it is not here; its vectors are kept in a folder.
    pub(crate) fn open(vectors: &Path) -> anyhow::Result<Self> {
        Ok(Self { model: encoder::open(NAME, vectors)? })
    }

    /// Its name and what runs it.
    pub(crate) fn version(&self) -> String {
        self.model.profile().to_string()
    }

    /// The same model as our own encoder.
    pub(crate) fn encoder(&self, snapshot: &Snapshot) -> anyhow::Result<Arc<Encoder>> {
        Ok(self.model.encoder(snapshot)?)
    }

    /// The hits of each request, in their order.
    pub(crate) fn rank(
        &self,
        documents: &[&str],
        requests: &[&str],
    ) -> anyhow::Result<Vec<Ranking>> {
        let index = DenseIndex::with(self.model.embed(documents, Role::Document)?, None);
        let requests = self.model.embed(requests, Role::Query)?;
        let rank = |request: &[f32]| {
            let hits = index.search(request, DEPTH);
            hits.iter().map(|hit| (hit.skill, f64::from(hit.score))).collect()
        };
        Ok(requests.rows().map(rank).collect())
    }
}
