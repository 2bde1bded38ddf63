//! Where does an interrupted compilation go on?
//!
//! What takes long is put aside under a digest of all that it was made from, and is gone with the
//! next commit. It can be done without: a store that cannot be written costs time and nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Job;
use super::group::Embedded;
use crate::embedding::{EmbedError, Profile};
use crate::index::DenseIndex;
use crate::page::write::{Company, PageRow, WriteConfig, Written};
use crate::search::tuning::Tuning;
use crate::skill::SkillId;
use crate::store::Store;

/// How the names of what is put aside begin.
pub(super) const PREFIX: &str = "work-";

/// What a compilation has put aside.
pub(super) struct Work<'a> {
    store: &'a dyn Store,
}

/// What made the vectors, beside them.
#[derive(Serialize, Deserialize)]
struct Made {
    profile: Profile,
    tuning: Tuning,
}

#[derive(Serialize, Deserialize)]
struct Piece {
    rows: Vec<PageRow>,
    fresh: usize,
}

impl<'a> Work<'a> {
    pub(super) fn new(store: &'a dyn Store) -> Self {
        Self { store }
    }

    /// Vectors of the whole library.
    pub(super) fn embedded(
        &self,
        job: &Job<'_>,
        make: impl FnOnce() -> Result<Embedded, EmbedError>,
    ) -> Result<Embedded, EmbedError> {
        let embedder = match job.embedder {
            None => serde_json::to_string(&job.protocol.fit()).expect("plain data"),
            Some(embedder) => embedder.profile().key(),
        };
        let version = env!("CARGO_PKG_VERSION");
        let compared = job.protocol.clustering.to_string();
        let key = digest(&[version, &job.library.digest().to_hex(), &embedder, &compared]);
        let names = ["made", "vectors", "model"].map(|part| format!("{PREFIX}{part}-{key}"));
        if let Some(known) = self.known(&names) {
            return Ok(known);
        }
        let embedded = make()?;
        let Embedded { profile, vectors, model, tuning } = &embedded;
        let made = Made { profile: profile.clone(), tuning: tuning.clone() };
        let vectors = DenseIndex::with(vectors.clone(), None).to_bytes();
        let model = model.clone().unwrap_or_default();
        // The description comes last: with it, the others are there.
        self.put(&names[1], &vectors);
        self.put(&names[2], &sealed(&model));
        self.put(&names[0], &sealed(&serde_json::to_vec(&made).expect("plain data")));
        Ok(embedded)
    }

    fn known(&self, [made, vectors, model]: &[String; 3]) -> Option<Embedded> {
        let blob = |name: &String| self.store.get(name).ok().flatten();
        let made: Made = serde_json::from_slice(opened(&blob(made)?)?).ok()?;
        let vectors = DenseIndex::open(blob(vectors)?).ok()?.vectors().clone();
        let model = opened(&blob(model)?)?.to_vec();
        let Made { profile, tuning } = made;
        let model = (!model.is_empty()).then_some(model);
        Some(Embedded { profile, vectors, model, tuning })
    }

    /// The pages of some neighborhoods.
    pub(super) fn pages(
        &self,
        neighborhoods: &[Company<'_>],
        kept: &BTreeMap<SkillId, PageRow>,
        config: &WriteConfig,
        make: impl FnOnce() -> Written,
    ) -> Written {
        let mut hasher = blake3::Hasher::new();
        let settings = (config.local.identity(), config.min_contrast, config.alone);
        hasher.update(&serde_json::to_vec(&settings).expect("plain data"));
        for skill in neighborhoods.iter().flat_map(|company| &company.members) {
            hasher.update(skill.digest().as_bytes()).update(skill.id.as_str().as_bytes());
            if let Some(row) = kept.get(&skill.id) {
                hasher.update(&serde_json::to_vec(row).expect("plain data"));
            }
        }
        for company in neighborhoods {
            hasher.update(&(company.members.len() as u64).to_le_bytes());
        }
        let name = format!("{PREFIX}pages-{}", &hasher.finalize().to_hex()[..32]);
        let known = self.store.get(&name).ok().flatten();
        let known = known.and_then(|blob| serde_json::from_slice::<Piece>(opened(&blob)?).ok());
        if let Some(Piece { rows, fresh }) = known {
            return Written { rows, fresh };
        }
        let Written { rows, fresh } = make();
        let piece = Piece { rows, fresh };
        self.put(&name, &sealed(&serde_json::to_vec(&piece).expect("plain data")));
        let Piece { rows, fresh } = piece;
        Written { rows, fresh }
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        // The work is done again next time, which is no reason to fail.
        let _ = self.store.put(name, bytes);
    }
}

fn digest(parts: &[&str]) -> String {
    blake3::hash(parts.join("\n").as_bytes()).to_hex()[..32].to_owned()
}

/// Bytes behind their digest.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = blake3::hash(bytes).as_bytes().to_vec();
    sealed.extend_from_slice(bytes);
    sealed
}

/// The bytes, if they are the ones that were sealed.
fn opened(sealed: &[u8]) -> Option<&[u8]> {
    let (digest, bytes) = sealed.split_at_checked(32)?;
    (blake3::hash(bytes).as_bytes() == digest).then_some(bytes)
}
