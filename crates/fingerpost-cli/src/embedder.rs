//! Which embedder makes the vectors, and how is it opened again?

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use fingerpost::atlas::Ledger;
use fingerpost::chat::{Usage, public_address};
use fingerpost::embedding::{EmbedError, Embedder};
use fingerpost::protocol::{EmbedderKind, Protocol};
use fingerpost::snapshot::Snapshot;
use fingerpost_models::catalog::{self, Known, Runs};
use fingerpost_models::{Cached, EngineKind, HttpConfig, HttpEmbedder, Store, open};

use crate::args::Global;
use crate::encoder::Requests;
use crate::llm;
use crate::output::UsageError;
use crate::progress::Progress;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Vectors")]
pub(crate) struct EmbedderArgs {
    /// What makes the vectors: `fit` (the library itself), a model of `fingerpost model list`, a
    /// model's folder, or a server's address up to /v1 [default: that of the atlas, or fit]. A model also tells
    /// how near skills are to a request; without one, minilm does where it was fetched (not with `fit`).
    #[arg(long, value_name = "fit|NAME|DIR|URL", env = "FINGERPOST_EMBEDDER")]
    embedder: Option<String>,
    /// The model's name on that server.
    #[arg(long, value_name = "NAME", env = "FINGERPOST_EMBEDDER_MODEL", requires = "embedder")]
    embedder_model: Option<String>,
    /// The environment variable that holds the server's key.
    #[arg(long, value_name = "VAR", env = "FINGERPOST_EMBEDDER_KEY_ENV", requires = "embedder")]
    embedder_key_env: Option<String>,
    /// Length of the server's vectors, for a model that is not known by name.
    #[arg(long, value_name = "N", env = "FINGERPOST_EMBEDDER_DIMENSIONS", requires = "embedder")]
    embedder_dimensions: Option<usize>,
    /// Texts a request to the server at most.
    #[arg(long, value_name = "N", requires = "embedder")]
    embedder_batch: Option<usize>,
    /// Requests to the server a minute at most.
    #[arg(long, value_name = "N", requires = "embedder")]
    embedder_rpm: Option<u32>,
}

/// An embedder as the user names it. None of this is ever read from an atlas, which may be a
/// stranger's: it could name any server and any variable.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// The embedder of a library, and what an atlas may say of it.
pub(crate) struct Opened {
    kind: EmbedderKind,
    model: Option<Box<dyn Embedder>>,
}

/// The model that tells how near skills are, wherever it has been fetched: the numbers are fitted with it.
const USUAL: &str = "minilm";

impl EmbedderArgs {
    /// Did somebody say which?
    pub(crate) fn is_named(&self) -> bool {
        self.embedder.is_some()
    }

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

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Fit => f.write_str("fit"),
            Source::Model { name } => f.write_str(name),
            Source::Folder { path } => path.display().fmt(f),
            Source::Server { url, model, .. } => write!(f, "{model} at {}", public_address(url)),
        }
    }
}

impl Source {
    /// Opens it, with what it embedded before.
    fn open(
        &self,
        vectors: &Path,
        ledger: impl FnOnce() -> anyhow::Result<Ledger>,
        global: &Global,
    ) -> anyhow::Result<Opened> {
        if *self == Source::Fit {
            return Ok(Opened { kind: EmbedderKind::Fit, model: None });
        }
        let embedder = self.bare(ledger)?;
        let kind = match self {
            Source::Model { name } => EmbedderKind::Model { name: name.clone() },
            _ => EmbedderKind::Elsewhere { profile: embedder.profile().to_string() },
        };
        Ok(Opened { kind, model: Some(Box::new(self.remembering(embedder, vectors, global)?)) })
    }

    /// The model itself.
    fn bare(
        &self,
        ledger: impl FnOnce() -> anyhow::Result<Ledger>,
    ) -> anyhow::Result<Box<dyn Embedder>> {
        Ok(match self {
            Source::Fit => unreachable!("the library has no model before it is compiled"),
            Source::Model { name } => open(&folder_of(name)?, EngineKind::of_process())?,
            Source::Folder { path } => open(path, EngineKind::of_process())?,
            Source::Server { .. } => Box::new(self.server(ledger()?)?),
        })
    }

    /// A model that embeds no text twice, and shows how far it is.
    fn remembering<E: Embedder>(
        &self,
        model: E,
        vectors: &Path,
        global: &Global,
    ) -> anyhow::Result<Cached<E>> {
        let mut cached = Cached::open(model, vectors)?;
        if let Source::Server { batch, .. } = self {
            // What was paid for is saved before more is asked for.
            cached = cached.batch(batch.unwrap_or(HttpConfig::BATCH) * HttpConfig::CONNECTIONS);
        }
        let progress = Progress::new(global, "embedding", "text");
        Ok(cached.progress(move |done, all| progress.at(done, all)))
    }

    /// What reads requests. Those of a server are paid for, and so remembered in any case.
    pub(crate) fn model(
        &self,
        source: &crate::source::Source,
        requests: Requests,
        global: &Global,
    ) -> anyhow::Result<Box<dyn Embedder>> {
        let bare = self.bare(|| source.ledger(global))?;
        let is_paid = matches!(self, Source::Server { .. });
        Ok(match requests {
            Requests::Forgotten if !is_paid => bare,
            _ => Box::new(self.remembering(bare, &embedded(source), global)?),
        })
    }

    /// What reads skills: a change of the library costs what changed.
    pub(crate) fn cached<'a>(
        &self,
        model: &'a dyn Embedder,
        source: &crate::source::Source,
        global: &Global,
    ) -> anyhow::Result<Cached<&'a dyn Embedder>> {
        self.remembering(model, &embedded(source), global)
    }

    /// A server's embedder, every call of which goes into the ledger.
    fn server(&self, ledger: Ledger) -> anyhow::Result<HttpEmbedder> {
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
        let (endpoint, price) = (public_address(url), llm::price(None, url, model)?);
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

/// The embedder that was asked for, or the one that the atlas was made with.
pub(crate) fn open_for(
    args: &EmbedderArgs,
    kept: Option<&Protocol>,
    source: &crate::source::Source,
    global: &Global,
) -> anyhow::Result<Opened> {
    let wanted = match (args.source()?, kept.map(|protocol| &protocol.embedder)) {
        (Some(wanted), _) => wanted,
        (None, None | Some(EmbedderKind::Fit)) => Source::Fit,
        (None, Some(EmbedderKind::Model { name })) => Source::Model { name: name.clone() },
        (None, Some(EmbedderKind::Elsewhere { profile })) => {
            let message = format!(
                "its vectors are of {profile}, which only you can name: give --embedder again, or set FINGERPOST_EMBEDDER"
            );
            return Err(UsageError::new(message).into());
        }
    };
    wanted.open(&embedded(source), || source.ledger(global), global)
}

/// Where the vectors of texts are remembered.
fn embedded(source: &crate::source::Source) -> PathBuf {
    source.home.made().join("embedded")
}

/// What also tells how near skills are: the embedder, if it is a model that we can open; else the usual
/// one, if it is here.
pub(crate) fn encoder_of(args: &EmbedderArgs, kept: &Protocol) -> anyhow::Result<Option<Source>> {
    let of_name = |name: &str| Source::Model { name: name.to_owned() };
    Ok(match (args.source()?, &kept.embedder) {
        (Some(Source::Fit), _) | (None, EmbedderKind::Elsewhere { .. }) => None,
        (Some(named), _) => Some(named),
        (None, EmbedderKind::Model { name }) => Some(of_name(name)),
        (None, EmbedderKind::Fit) => Store::of_process().find(USUAL).map(|_| of_name(USUAL)),
    })
}

impl Opened {
    /// What an atlas may say of it.
    pub(crate) fn kind(&self) -> EmbedderKind {
        self.kind.clone()
    }

    /// What embeds; `None` for vectors fitted to the library itself.
    pub(crate) fn model(&self) -> Option<&dyn Embedder> {
        self.model.as_deref()
    }

    /// What embeds requests like the library's vectors.
    pub(crate) fn for_requests(self, snapshot: &Snapshot) -> anyhow::Result<Box<dyn Embedder>> {
        let profile = &snapshot.head().profile;
        match self.model {
            Some(model) if model.profile() == profile => Ok(model),
            Some(model) => Err(EmbedError::OtherProfile {
                found: profile.to_string(),
                wanted: model.profile().to_string(),
            }
            .into()),
            None => {
                let message = "the atlas lacks its fitted model; compile it again";
                let fit = snapshot.fit()?.ok_or_else(|| UsageError::new(message))?;
                Ok(Box::new(fit))
            }
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
}
