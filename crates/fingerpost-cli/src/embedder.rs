//! Which embedder makes the vectors, and how is it opened again?

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use fingerpost::atlas::{Atlas, Compiled};
use fingerpost::chat::Usage;
use fingerpost::compile::{Vectorizer, fit_of};
use fingerpost::embedding::{EmbedError, Embedder, FitConfig, Profile};
use fingerpost_models::catalog::{self, Known, Runs};
use fingerpost_models::{Cached, EngineKind, HttpConfig, HttpEmbedder, Store, open};
use serde::{Deserialize, Serialize};

use crate::args::Global;
use crate::llm;
use crate::output::UsageError;
use crate::progress::Progress;

#[derive(Debug, Clone, Args)]
pub(crate) struct EmbedderArgs {
    /// What makes the vectors: `fit` (the library itself), a model of `fingerpost model list`, a
    /// model's folder, or a server's address up to /v1 [default: that of the atlas, or fit].
    #[arg(long, value_name = "fit|NAME|DIR|URL")]
    embedder: Option<String>,
    /// The model's name on that server.
    #[arg(long, value_name = "NAME", requires = "embedder")]
    embedder_model: Option<String>,
    /// The environment variable that holds the server's key.
    #[arg(long, value_name = "VAR", requires = "embedder")]
    embedder_key_env: Option<String>,
    /// Length of the server's vectors, for a model that is not known by name.
    #[arg(long, value_name = "N", requires = "embedder")]
    embedder_dimensions: Option<usize>,
    /// Texts a request to the server at most.
    #[arg(long, value_name = "N", requires = "embedder")]
    embedder_batch: Option<usize>,
    /// Requests to the server a minute at most.
    #[arg(long, value_name = "N", requires = "embedder")]
    embedder_rpm: Option<u32>,
}

/// What has to be known to open an embedder again; kept in the atlas. Never a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Source {
    /// The library itself.
    Fit,
    /// A model by name.
    Model { name: String },
    /// A model's folder.
    Folder { path: PathBuf },
    /// A server.
    Server {
        url: String,
        model: String,
        dimensions: Option<usize>,
        key_variable: Option<String>,
        batch: Option<usize>,
        rpm: Option<u32>,
    },
}

/// The embedder of a library.
pub(crate) enum Opened {
    Fit,
    Model(Box<dyn Embedder>),
}

impl EmbedderArgs {
    /// What was asked for, if anything was.
    pub(crate) fn source(&self) -> anyhow::Result<Option<Source>> {
        let Some(given) = &self.embedder else { return Ok(None) };
        if given.contains("://") {
            let model = self.embedder_model.clone().ok_or_else(|| {
                UsageError::new("a server may have many models: name one with --embedder-model")
            })?;
            return Ok(Some(Source::Server {
                url: given.clone(),
                model,
                dimensions: self.embedder_dimensions,
                key_variable: self.embedder_key_env.clone(),
                batch: self.embedder_batch,
                rpm: self.embedder_rpm,
            }));
        }
        let for_servers = [
            ("--embedder-model", self.embedder_model.is_some()),
            ("--embedder-key-env", self.embedder_key_env.is_some()),
            ("--embedder-dimensions", self.embedder_dimensions.is_some()),
            ("--embedder-batch", self.embedder_batch.is_some()),
            ("--embedder-rpm", self.embedder_rpm.is_some()),
        ];
        if let Some((flag, _)) = for_servers.iter().find(|(_, given)| *given) {
            let message = format!("{flag} is for a server, and '{given}' is none");
            return Err(UsageError::new(message).into());
        }
        let path = Path::new(given);
        Ok(Some(if given == "fit" {
            Source::Fit
        } else if path.is_dir() {
            let path = path.canonicalize().with_context(|| format!("cannot read {given}"))?;
            Source::Folder { path }
        } else {
            Source::Model { name: given.clone() }
        }))
    }
}

impl Source {
    /// As it is kept in the atlas.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }

    /// What an atlas kept.
    pub(crate) fn from_text(text: &str) -> anyhow::Result<Self> {
        serde_json::from_str(text).with_context(|| {
            format!("the atlas was made with an embedder unknown here ({text}); compile it again")
        })
    }

    /// Opens it, with what it embedded before.
    pub(crate) fn open(&self, atlas: &Atlas, global: &Global) -> anyhow::Result<Opened> {
        let embedder: Box<dyn Embedder> = match self {
            Source::Fit => return Ok(Opened::Fit),
            Source::Model { name } => open(&folder_of(name)?, EngineKind::of_process())?,
            Source::Folder { path } => open(path, EngineKind::of_process())?,
            Source::Server { .. } => Box::new(self.server(atlas)?),
        };
        let mut cached = Cached::open(embedder, &atlas.path().join("embedded"))?;
        if let Source::Server { batch, .. } = self {
            // What was paid for is saved before more is asked for.
            cached = cached.batch(batch.unwrap_or(HttpConfig::BATCH) * HttpConfig::CONNECTIONS);
        }
        let progress = Progress::new(global, "embedding", "text");
        Ok(Opened::Model(Box::new(cached.progress(move |done, all| progress.at(done, all)))))
    }

    /// A server's embedder, every call of which goes into the ledger.
    fn server(&self, atlas: &Atlas) -> anyhow::Result<HttpEmbedder> {
        let Source::Server { url, model, dimensions, key_variable, batch, rpm } = self else {
            unreachable!("asked of servers only");
        };
        let known = by_served_name(model);
        let mut config = match (known, dimensions) {
            (Some(known), _) => HttpConfig::known(url, model, known),
            (None, Some(dimensions)) => HttpConfig::new(url, model, *dimensions),
            (None, None) => {
                let message = format!(
                    "'{model}' is not known here: say how long its vectors are with --embedder-dimensions"
                );
                return Err(UsageError::new(message).into());
            }
        };
        if let Some(dimensions) = dimensions {
            config.ask_dimensions = known.is_some_and(|known| known.dimensions != *dimensions);
            config.dimensions = *dimensions;
        }
        config.key_variable.clone_from(key_variable);
        config.requests_per_minute = *rpm;
        config.batch_texts = batch.unwrap_or(config.batch_texts);
        let ledger = atlas.ledger()?;
        let (endpoint, price) = (url.clone(), llm::price(None, url, model)?);
        Ok(HttpEmbedder::new(config)?.on_call(move |call| {
            // A server that counts nothing is believed to have read about what we would.
            let tokens = call.tokens.unwrap_or(call.characters as u64 / 4);
            let usage = Usage { input: tokens, ..Usage::default() };
            let cost = price.as_ref().map(|price| price.single.of(&usage));
            ledger
                .embedded(&call.key, &call.model, &endpoint, tokens, cost)
                .map_err(|error| error.to_string())
        }))
    }
}

/// The embedder of a compiled library, to embed requests with.
pub(crate) fn of(
    compiled: &Compiled,
    atlas: &Atlas,
    global: &Global,
) -> anyhow::Result<Box<dyn Embedder>> {
    let opened = Source::from_text(&compiled.embedder)?.open(atlas, global)?;
    opened.must_match(&compiled.profile)?;
    Ok(match opened {
        Opened::Fit => Box::new(fit_of(compiled)?),
        Opened::Model(embedder) => embedder,
    })
}

impl Opened {
    /// What decides its vectors; unknown before a fit is made.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        match self {
            Opened::Fit => None,
            Opened::Model(embedder) => Some(embedder.profile()),
        }
    }

    pub(crate) fn vectorizer(&self, seed: u64) -> Vectorizer<'_> {
        match self {
            Opened::Fit => Vectorizer::Fit(FitConfig { seed, ..FitConfig::default() }),
            Opened::Model(embedder) => Vectorizer::Model(embedder.as_ref()),
        }
    }

    /// Vectors of this profile are not to be mixed with those of another.
    pub(crate) fn must_match(&self, profile: &Profile) -> Result<(), EmbedError> {
        match self.profile() {
            Some(wanted) if wanted != profile => Err(EmbedError::OtherProfile {
                found: profile.to_string(),
                wanted: wanted.to_string(),
            }),
            _ => Ok(()),
        }
    }
}

/// Where the files of a model are.
fn folder_of(name: &str) -> anyhow::Result<PathBuf> {
    if let Some(folder) = Store::of_process().find(name) {
        return Ok(folder);
    }
    let message = match catalog::find(name).map(|known| known.runs) {
        Some(Runs::Onnx | Runs::Static) => {
            format!("{name} is not on this machine; `fingerpost model pull {name}` fetches it")
        }
        Some(Runs::Served(how)) => {
            format!("{name} is run by a server ({how}); give its address with --embedder")
        }
        Some(Runs::Yours) => format!(
            "{name} cannot be fetched here; give a folder with its files, or a server's address"
        ),
        None => {
            format!("'{name}' is neither a known model nor a folder; see `fingerpost model list`")
        }
    };
    Err(UsageError::new(message).into())
}

/// A known model under the name that servers give it: "Qwen/Qwen3-Embedding-8B", "bge-m3:latest".
fn by_served_name(served: &str) -> Option<&'static Known> {
    let name = served.to_lowercase();
    let name = name.split(':').next().unwrap_or(&name);
    catalog::KNOWN.iter().find(|known| {
        let hub = known.hub.to_lowercase();
        name == known.name || name == hub || hub.rsplit('/').next() == name.rsplit('/').next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_call_known_models_by_many_names() {
        let name = |served| by_served_name(served).map(|known| known.name);
        assert_eq!(name("Qwen/Qwen3-Embedding-0.6B"), Some("qwen3-embedding-0.6b"));
        assert_eq!(name("qwen3-embedding-0.6b"), Some("qwen3-embedding-0.6b"));
        assert_eq!(name("bge-m3:latest"), Some("bge-m3"));
        assert_eq!(name("text-embedding-3-small"), None);
    }

    #[test]
    fn what_the_atlas_keeps_opens_the_same_embedder() {
        let server = Source::Server {
            url: "https://host/v1".into(),
            model: "m".into(),
            dimensions: Some(8),
            key_variable: Some("KEY".into()),
            batch: None,
            rpm: Some(60),
        };
        for source in [Source::Fit, Source::Model { name: "gte-small".into() }, server] {
            assert_eq!(Source::from_text(&source.to_text()).unwrap(), source);
        }
        assert!(Source::from_text("{\"kind\":\"later\"}").is_err());
    }
}
