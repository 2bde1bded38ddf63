//! What can be typed about a model that writes pages or chooses.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fingerpost::atlas::Budget;
use fingerpost::page::llm::{LlmConfig, Unit};
use fingerpost::page::prompt::{LanguageChoice, PromptConfig};
use fingerpost::protocol::{Against, Writing};
use fingerpost_models::Api;
use fingerpost_postgres::work::Limits;

use super::prompts::templates;
use crate::args::Global;
use crate::output::UsageError;

/// How a model is asked where nobody says otherwise.
const CONTEXT: usize = 16_000;
const PAGE_TOKENS: u32 = 2000;
const TEMPERATURE: f64 = 0.2;
const POLL: f64 = 30.0;

/// Which model, at which server, and how much of it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The model (--writer llm, --chooser llm)")]
pub(crate) struct ModelArgs {
    /// The model's name, as its server knows it.
    #[arg(long, value_name = "NAME", env = "FINGERPOST_MODEL")]
    pub(crate) model: Option<String>,
    /// The server's address up to and with /v1 [default: that of the API's owner].
    #[arg(long, value_name = "URL", env = "FINGERPOST_BASE_URL")]
    pub(crate) base_url: Option<String>,
    /// The protocol: openai is spoken by most servers.
    #[arg(long, default_value = "openai")]
    pub(crate) api: ApiName,
    /// The environment variable that holds the key [default: OPENAI_API_KEY or ANTHROPIC_API_KEY at
    /// their owners' addresses, none elsewhere].
    #[arg(long, value_name = "VAR")]
    pub(crate) key_env: Option<String>,
    /// Neighborhoods or requests under way at a time.
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) concurrency: NonZeroU32,
    /// Most requests a minute.
    #[arg(long, value_name = "N")]
    pub(crate) rpm: Option<NonZeroU32>,
    /// Most tokens a minute.
    #[arg(long, value_name = "N")]
    pub(crate) tpm: Option<NonZeroU32>,
    /// Stop before more than this is spent.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(crate) max_cost: Option<f64>,
    /// Stop after so many calls; a try that fails is one too.
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u64>,
    /// How often an answer is asked for until it can be used; then it is done without [default: 3].
    #[arg(long, value_name = "N")]
    pub(crate) attempts: Option<NonZeroU32>,
    /// A folder with prompts of your own: each file (system.md, choose.md, …) takes the place of ours of that
    /// name.
    #[arg(long, value_name = "DIR")]
    pub(crate) prompts: Option<PathBuf>,
    /// How long to wait for an answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) timeout: u64,
    /// How often a failing request is made in all.
    #[arg(long, value_name = "N", default_value = "6")]
    pub(crate) tries: NonZeroU32,
    /// Take all answers from a recording (`fingerpost ledger --export`).
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// A table of prices that comes before the built-in one.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}

/// How a model is asked for pages.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Writing with a model (--writer llm)")]
pub(crate) struct LlmArgs {
    /// What one call asks for: the page of one skill, or those of its whole neighborhood.
    #[arg(long, default_value = "focal")]
    pub(crate) unit: UnitName,
    /// Tokens of a prompt that the documents in it may take.
    #[arg(long, value_name = "N", default_value_t = CONTEXT)]
    pub(crate) context: usize,
    /// Tokens of an answer, a page: more for models that think aloud.
    #[arg(long, value_name = "N", default_value_t = PAGE_TOKENS)]
    pub(crate) page_tokens: u32,
    /// How freely the model draws.
    #[arg(long, value_name = "X", default_value_t = TEMPERATURE)]
    pub(crate) temperature: f64,
    #[command(flatten)]
    pub(crate) elsewhere: ElsewhereArgs,
    #[command(flatten)]
    pub(crate) server: ModelArgs,
}

/// Ways to answers other than a server that answers at once.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The model (--writer llm, --chooser llm)")]
pub(crate) struct ElsewhereArgs {
    /// Say what would be asked and what it would cost, and ask nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Have the prompts answered by a batch service: slower, and often for half the price.
    #[arg(long, value_name = "SERVICE", conflicts_with_all = ["dry_run", "emit", "ingest", "replay"])]
    pub(crate) batch: Option<ApiName>,
    /// How often to look after a batch.
    #[arg(long, value_name = "SECONDS", default_value_t = POLL, hide = true)]
    pub(crate) poll: f64,
    /// Write the prompts to a file, in the form of OpenAI's batches, and ask nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "ingest", "replay"])]
    pub(crate) emit: Option<PathBuf>,
    /// Take answers to such prompts from a file; may be given several times.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "replay"])]
    pub(crate) ingest: Vec<PathBuf>,
}

/// A sum that can be a limit.
fn dollars(text: &str) -> Result<f64, String> {
    let sum: f64 =
        text.parse().map_err(|_| "it is a sum of US dollars, such as 2.50".to_owned())?;
    Budget::new(Some(sum), None).map(|_| sum).map_err(|error| error.to_string())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiName {
    Openai,
    Anthropic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitName {
    Focal,
    Neighborhood,
}

impl From<ApiName> for Api {
    fn from(name: ApiName) -> Self {
        match name {
            ApiName::Openai => Api::OpenAi,
            ApiName::Anthropic => Api::Anthropic,
        }
    }
}

impl ModelArgs {
    /// What all who share the work may take together.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_cost: self.max_cost,
            max_requests: self.max_calls,
            requests_per_minute: self.rpm.map(NonZeroU32::get),
            tokens_per_minute: self.tpm.map(NonZeroU32::get),
        }
    }

    pub(super) fn name(&self) -> anyhow::Result<&str> {
        let missing = || UsageError::new("name the model with --model");
        Ok(self.model.as_deref().ok_or_else(missing)?)
    }
}

impl ElsewhereArgs {
    /// Is nothing to be had from a model now?
    pub(crate) fn only_tells(&self) -> bool {
        self.dry_run || self.emit.is_some()
    }

    /// Does a server have to be reached?
    pub(crate) fn asks(&self) -> bool {
        !self.only_tells() && self.ingest.is_empty()
    }
}

impl LlmArgs {
    /// Is a server asked that answers at once?
    pub(crate) fn asks_at_once(&self) -> bool {
        let is_recorded = self.server.replay.is_some();
        self.elsewhere.asks() && self.elsewhere.batch.is_none() && !is_recorded
    }

    /// This model, asked as usual.
    pub(crate) fn usual(server: ModelArgs) -> Self {
        let elsewhere = ElsewhereArgs {
            dry_run: false,
            batch: None,
            poll: POLL,
            emit: None,
            ingest: Vec::new(),
        };
        Self {
            unit: UnitName::Focal,
            context: CONTEXT,
            page_tokens: PAGE_TOKENS,
            temperature: TEMPERATURE,
            elsewhere,
            server,
        }
    }

    /// How the model is asked, in words that were checked.
    pub(crate) fn config(
        &self,
        lang: &LanguageChoice,
        writing: Writing,
        global: &Global,
    ) -> anyhow::Result<LlmConfig> {
        Ok(LlmConfig {
            unit: match self.unit {
                UnitName::Focal => Unit::Focal,
                UnitName::Neighborhood => Unit::Neighborhood,
            },
            prompt: PromptConfig {
                language: lang.clone(),
                context_tokens: self.context,
                page_tokens: self.page_tokens,
                temperature: self.temperature,
                seed: global.seed,
                alone: writing.alone,
                templates: templates(self.server.prompts.as_deref())?,
            },
            attempts: writing.attempts,
            concurrency: self.server.concurrency.get() as usize,
        })
    }

    /// Everything but the documents that decides the pages.
    pub(crate) fn identity(&self, config: &LlmConfig, against: Against) -> anyhow::Result<String> {
        if self.unit == UnitName::Neighborhood && against == Against::Rivals {
            let message = "--unit neighborhood asks for the pages of a neighborhood at once; pages against rivals are asked for one by one";
            return Err(UsageError::new(message).into());
        }
        Ok(config.identity(self.server.name()?, against))
    }
}
