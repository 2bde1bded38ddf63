//! Which model is asked, for how much, and what stops it?

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use fingerpost::atlas::{Budget, Ledger};
use fingerpost::chat::Replay;
use fingerpost_models::campaign::{Campaign, CampaignError};
use fingerpost_models::{Api, ChatConfig, KnownPrice, Prices, RetryConfig};

use super::args::ModelArgs;
use super::teller::Teller;
use crate::args::Global;
use crate::follow::Follower;
use crate::output::{Exit, UsageError};
use crate::source;

/// A model as the arguments name it, and who tells what happens.
pub(crate) struct Model {
    pub(crate) campaign: Campaign<'static>,
    pub(crate) teller: Arc<Teller>,
}

/// What a model is asked for: it is "writing" a "page", say.
pub(crate) struct Work<'a> {
    /// Doing what.
    pub(crate) doing: &'static str,
    /// To what.
    pub(crate) noun: &'static str,
    /// Does a server have to be reached? A key is needed only then.
    pub(crate) asks: bool,
    /// Who follows it, where that is nobody at a terminal.
    pub(crate) follower: Option<&'a Arc<Follower>>,
}

impl Model {
    /// Decides everything; nothing is sent.
    pub(crate) fn open(
        args: &ModelArgs,
        api: Api,
        work: &Work<'_>,
        ledger: Ledger,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let name = args.name()?.to_owned();
        let at_owner = args.base_url.is_none() && args.replay.is_none() && work.asks;
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
        let cancel = match work.follower {
            Some(follower) => Arc::clone(&follower.cancel),
            None => interrupted(global)?,
        };
        let teller = Arc::new(Teller::new(global, work, price.is_some()));
        let hears = Arc::clone(&teller);
        let on_event = move |event: fingerpost_models::campaign::Event<'_>| hears.hear(event);
        let campaign = Campaign::new(config, price, budget, ledger, cancel, on_event)?;
        let campaign = match replay(args, &name)? {
            Some(replay) => campaign.replaying(replay),
            None => campaign,
        };
        Ok(Self { campaign, teller })
    }
}

/// The recording to be replayed, if one is named.
fn replay(args: &ModelArgs, model: &str) -> anyhow::Result<Option<Replay>> {
    let Some(file) = &args.replay else { return Ok(None) };
    let replay = Replay::from_lines(model, &source::text(file)?);
    Ok(Some(replay.map_err(|error| UsageError::new(format!("{}: {error}", file.display())))?))
}

/// The price of a model at a server, from the user's table and ours.
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
    Ok(Prices::at(url, model, mine))
}

/// What went wrong, without what it went wrong in.
pub(crate) fn told<E>(error: CampaignError<E>) -> anyhow::Error
where
    E: std::fmt::Debug + std::fmt::Display + Into<anyhow::Error>,
{
    match error {
        CampaignError::Chat(error) => error.into(),
        CampaignError::Ledger(error) => error.into(),
        CampaignError::Work(error) => error.into(),
    }
}

/// Set by the first Ctrl-C; the second ends the process. Every answer is on disk by then.
fn interrupted(global: &Global) -> anyhow::Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = FLAG.get() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::clone(FLAG.get_or_init(Arc::default));
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
