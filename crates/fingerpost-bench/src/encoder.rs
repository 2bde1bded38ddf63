//! With which encoder beside the program's own word vectors?

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use fingerpost::embedding::{EmbedError, Embedder, Profile, Role, Vectors};
use fingerpost::route::Encoder;
use fingerpost::snapshot::Snapshot;
use fingerpost_models::catalog;
use fingerpost_models::{Cached, EngineKind, Origin, Store, open};

/// Texts embedded between two savings.
const BATCH: usize = 256;

/// Which encoder takes part.
#[derive(Debug, Args)]
pub(crate) struct EncoderArgs {
    /// A model that also tells how near skills are, as `fingerpost model pull` fetches it; none by default.
    #[arg(long, value_name = "NAME")]
    encoder: Option<String>,
    /// Where its vectors are kept for the next run.
    #[arg(long, value_name = "DIR", default_value = "target/peers-vectors")]
    vectors: PathBuf,
}

/// A model that embeds no text twice, shared by the routers of all libraries.
#[derive(Clone)]
pub(crate) struct EncoderModel(Arc<Cached<Box<dyn Embedder>>>);

impl EncoderArgs {
    /// The model, if one was named.
    pub(crate) fn open(&self) -> anyhow::Result<Option<EncoderModel>> {
        let name = self.encoder.as_deref();
        name.map(|name| EncoderModel::open(name, &self.vectors)).transpose()
    }
}

impl EncoderModel {
    /// Opens a model, and fetches it first where it is not here; its vectors are kept in a folder.
    pub(crate) fn open(name: &str, vectors: &std::path::Path) -> anyhow::Result<Self> {
        let store = Store::of_process();
        let folder = match store.find(name) {
            Some(folder) => folder,
            None => {
                let known = catalog::find(name).context("it is not in the catalog")?;
                store.pull(known, &Origin::Packages, &mut |said| eprintln!("{name}: {said}"))?
            }
        };
        let model = Cached::open(open(&folder, EngineKind::of_process())?, vectors)?;
        let name = name.to_owned();
        let model = model.batch(BATCH).progress(move |done, all| {
            if done == all || done % (16 * BATCH) == 0 {
                eprintln!("  {name}: {done} of {all} texts");
            }
        });
        Ok(Self(Arc::new(model)))
    }

    /// The encoder of a library.
    pub(crate) fn of(&self, snapshot: &Snapshot) -> anyhow::Result<Encoder> {
        Ok(Encoder::new(Box::new(self.clone()), snapshot.encode(self)?))
    }
}

impl Embedder for EncoderModel {
    fn profile(&self) -> &Profile {
        self.0.profile()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        self.0.embed(texts, role)
    }
}
