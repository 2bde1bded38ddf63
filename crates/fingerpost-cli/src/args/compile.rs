//! What can be typed about compiling, and which protocol that makes.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use fingerpost::neighborhood::{NeighborhoodConfig, Probing, Threshold};
use fingerpost::page::Language;
use fingerpost::page::prompt::LanguageChoice;
use fingerpost::protocol::{Against, Alone, Protocol, ProtocolName, Writing};
use fingerpost::view::{ClusteringText, Extent};

use super::{FirstLibraryArgs, Global};
use crate::llm::LlmArgs;
use crate::output::UsageError;

#[derive(Debug, Args)]
pub(crate) struct Compile {
    #[command(flatten)]
    pub(crate) library: FirstLibraryArgs,
    /// Compute everything anew, instead of placing what changed; known pages stay.
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Who writes pages: `local` chooses from the documents, without a model; `llm` is a model.
    #[arg(long, value_name = "WRITER", default_value = "local")]
    pub(crate) writer: WriterName,
    /// Language of the pages: auto follows the documents.
    #[arg(long, value_name = "LANG", default_value_t)]
    pub(crate) lang: LanguageChoice,
    /// Write those pages again that are flagged or missing; what is pinned stays.
    #[arg(long)]
    pub(crate) fix_flagged: bool,
    #[command(flatten)]
    protocol: ProtocolArgs,
    #[command(flatten)]
    pub(crate) llm: LlmArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriterName {
    Local,
    Llm,
}

/// Which settings: those of a protocol, each of which can be changed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The protocol")]
struct ProtocolArgs {
    /// The settings to start from: ours, or those of the paper. The options below change single ones, and so
    /// does --attempts.
    #[arg(long, value_name = "ours|paper", default_value_t)]
    protocol: ProtocolName,
    /// The text by which skills are compared for likeness: document, or without-exclusions, which leaves out
    /// what an author says that a skill is not for.
    #[arg(long, value_name = "TEXT")]
    clustering_text: Option<ClusteringText>,
    /// Cosine distance below which skills are look-alikes [default: measured in the library].
    #[arg(long, value_name = "X")]
    max_distance: Option<f64>,
    /// K-means buckets [default: as many as hold about 130 skills each].
    #[arg(long, value_name = "N")]
    buckets: Option<NonZeroUsize>,
    /// Members of a neighborhood at most [default: 10].
    #[arg(long, value_name = "N")]
    max_size: Option<NonZeroUsize>,
    /// Link inside buckets only, as the paper does; look-alikes in different buckets are lost.
    #[arg(long, overrides_with = "across")]
    plain: bool,
    /// Link across the borders of buckets too; of this and --plain the last one counts.
    #[arg(long, overrides_with = "plain")]
    across: bool,
    /// Members from which on skills are contrasted; those of smaller neighborhoods are treated as if alone
    /// [default: 2; the paper's: 3].
    #[arg(long, value_name = "N")]
    contrast: Option<NonZeroUsize>,
    /// What a page is written against: the neighborhood of its skill, or the skill's own rivals, which are
    /// those that would win requests meant for it [default: neighborhood].
    #[arg(long, value_name = "neighborhood|rivals")]
    against: Option<Against>,
    /// Where a model takes the boundary of a skill from that is alone: from its document, if that gives ground
    /// for one, or imagined, and then never empty [default: document; the paper's: imagined].
    #[arg(long, value_name = "document|imagined")]
    alone: Option<Alone>,
    /// What an index sees of documents and pages: what is new, or the whole of both [default: new; the
    /// paper's: whole].
    #[arg(long, value_name = "new|whole")]
    index_text: Option<Extent>,
}

impl Compile {
    /// Every setting, as the protocol named and the options beside it have them.
    pub(crate) fn protocol(&self, global: &Global) -> anyhow::Result<Protocol> {
        let args = &self.protocol;
        let named = args.protocol.protocol();
        let attempts = self.llm.server.attempts;
        Ok(Protocol {
            neighborhood: args.neighborhood(named.neighborhood, global)?,
            language: self.language()?,
            against: args.against.unwrap_or(named.against),
            clustering: args.clustering_text.unwrap_or(named.clustering),
            indexed: args.index_text.unwrap_or(named.indexed),
            writing: Writing {
                alone: args.alone.unwrap_or(named.writing.alone),
                attempts: attempts.map_or(named.writing.attempts, std::num::NonZeroU32::get),
            },
            ..named
        })
    }

    /// The language of what is written without a model: also of what a model has not written yet.
    fn language(&self) -> anyhow::Result<Option<Language>> {
        let code = match &self.lang {
            LanguageChoice::Auto => None,
            LanguageChoice::Named(code) => Some(code.as_str()),
        };
        match (code, self.writer) {
            (None, _) => Ok(None),
            (Some("en"), _) => Ok(Some(Language::English)),
            (Some("zh"), _) => Ok(Some(Language::Chinese)),
            (Some(_), WriterName::Llm) => Ok(None),
            (Some(code), WriterName::Local) => {
                let message = format!("the local writer knows en and zh, not '{code}'; use auto");
                Err(UsageError::new(message).into())
            }
        }
    }
}

impl ProtocolArgs {
    fn neighborhood(
        &self,
        named: NeighborhoodConfig,
        global: &Global,
    ) -> anyhow::Result<NeighborhoodConfig> {
        let max_distance = match self.max_distance {
            None => named.max_distance,
            Some(distance) if (0.0..=2.0).contains(&distance) => Threshold::Fixed(distance),
            Some(distance) => {
                let message =
                    format!("--max-distance is {distance}: a cosine distance lies between 0 and 2");
                return Err(UsageError::new(message).into());
            }
        };
        let probing = match (self.plain, self.across) {
            (true, _) => Probing::Plain,
            (_, true) => Probing::default(),
            _ => named.probing,
        };
        Ok(NeighborhoodConfig {
            buckets: self.buckets.map(NonZeroUsize::get).or(named.buckets),
            max_distance,
            max_size: self.max_size.map_or(named.max_size, NonZeroUsize::get),
            min_contrast: self.contrast.map_or(named.min_contrast, NonZeroUsize::get),
            seed: global.seed,
            probing,
        })
    }
}
