//! Which model is asked, for how much, and what stops it?

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use fingerpost::atlas::{Atlas, Budget, Ledger, Recorded, Spent};
use fingerpost::chat::{Chat, Replay};
use fingerpost_models::{Api, ChatConfig, Dialect, HttpChat, KnownPrice, Prices, RetryConfig};

use super::args::ModelArgs;
use crate::args::Global;
use crate::output::{Exit, UsageError};
use crate::source;

/// A model as the arguments name it, and the ledger of what it is asked.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(super) config: ChatConfig,
    pub(crate) price: Option<KnownPrice>,
    pub(crate) ledger: Ledger,
    /// Set by Ctrl-C.
    pub(crate) cancel: Arc<AtomicBool>,
    budget: Budget,
    replay: Option<PathBuf>,
}

impl Model {
    /// Decides everything; nothing is sent. A key is needed only if the model `asks` over the network.
    pub(crate) fn open(
        args: &ModelArgs,
        api: Api,
        asks: bool,
        atlas: &Atlas,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let name = args.name()?.to_owned();
        let at_owner = args.base_url.is_none() && args.replay.is_none() && asks;
        let owners_key = || at_owner.then(|| api.default_key_variable().to_owned());
        let config = ChatConfig {
            base_url: args.base_url.clone().unwrap_or_else(|| api.default_url().into()),
            key_variable: args.key_env.clone().or_else(owners_key),
            requests_per_minute: args.rpm.map(NonZeroU32::get),
            tokens_per_minute: args.tpm.map(NonZeroU32::get),
            timeout: Duration::from_secs(args.timeout.max(1)),
            retry: RetryConfig {
                attempts: args.tries.get(),
                seed: global.seed,
                ..RetryConfig::default()
            },
            ..ChatConfig::new(api, name.clone())
        };
        let price = price(args.prices.as_deref(), &config.base_url, &name)?;
        if args.max_cost.is_some() && price.is_none() {
            let message = format!(
                "no price is known for {name}, so --max-cost cannot be kept; give its price in a file with --prices, or use --max-calls"
            );
            return Err(UsageError::new(message).into());
        }
        let budget = Budget { max_cost: args.max_cost, max_calls: args.max_calls };
        let replay = args.replay.clone();
        let (ledger, cancel) = (atlas.ledger()?, interrupted(global)?);
        Ok(Self { name, config, price, ledger, cancel, budget, replay })
    }

    /// Works with the model, or with a recording of it; the second argument says what was spent so
    /// far. Every answer is in the ledger before it is used, and within the limits.
    pub(crate) fn with_chat<T>(
        &self,
        work: impl FnOnce(&dyn Chat, &(dyn Fn() -> Spent + Sync)) -> T,
    ) -> anyhow::Result<T> {
        if let Some(replay) = self.replay()? {
            // On disk already, and paid for by somebody else: nothing for the ledger.
            return Ok(work(&replay, &Spent::default));
        }
        let chat = self.chat()?;
        let price = self.price.map(|price| price.single);
        let endpoint = self.config.base_url.clone();
        let recorded = Recorded::new(&chat, &self.ledger, endpoint, price, self.budget);
        Ok(work(&recorded, &|| recorded.spent()))
    }

    /// The recording to be replayed, if one is named.
    fn replay(&self) -> anyhow::Result<Option<Replay>> {
        let Some(file) = &self.replay else { return Ok(None) };
        let replay = Replay::from_lines(&self.name, &source::text(file)?);
        Ok(Some(replay.map_err(|error| UsageError::new(format!("{}: {error}", file.display())))?))
    }

    /// The model itself.
    fn chat(&self) -> anyhow::Result<HttpChat<'_>> {
        let chat = HttpChat::new(self.config.clone(), Arc::clone(&self.cancel))?;
        Ok(chat.remembering(self.dialect()?, |dialect| {
            let text = serde_json::to_string(&dialect).expect("plain data");
            // What cannot be remembered is learned again next time.
            let _ = self.ledger.learn(&self.config.base_url, &self.name, &text);
        }))
    }

    /// How the server is known to want its requests.
    pub(super) fn dialect(&self) -> anyhow::Result<Dialect> {
        let known = self.ledger.dialect(&self.config.base_url, &self.name)?;
        Ok(known.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }
}

/// The price of a model at a server, from the user's table and ours. A server on this machine costs
/// nothing that ours knows of.
pub(crate) fn price(
    table: Option<&Path>,
    url: &str,
    model: &str,
) -> anyhow::Result<Option<KnownPrice>> {
    let mine = match table {
        None => None,
        Some(file) => {
            let parsed = Prices::parse(&source::text(file)?);
            Some(parsed.map_err(|error| {
                UsageError::new(format!("{} is no table of prices: {error}", file.display()))
            })?)
        }
    };
    let host = url.split("://").nth(1).unwrap_or_default();
    let local = ["localhost", "127.", "[::1]"].iter().any(|name| host.starts_with(name));
    let prices = match (mine, local) {
        (Some(mine), true) => mine,
        (None, true) => return Ok(None),
        (Some(mine), false) => mine.before(Prices::built_in()),
        (None, false) => Prices::built_in(),
    };
    Ok(prices.of(model))
}

/// Set by the first Ctrl-C; the second ends the process. Every answer is on disk by then.
fn interrupted(global: &Global) -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let (set, quiet) = (Arc::clone(&flag), global.quiet);
    ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
        if !quiet {
            let line = "finishing the calls under way; Ctrl-C again stops at once";
            let _ =
                std::io::Write::write_all(&mut std::io::stderr(), format!("\n{line}\n").as_bytes());
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(flag)
}
