//! `fingerpost compile --writer llm`: pages by a language model, on somebody's money.
//!
//! Whatever way the answers come (a server, a batch service, a file, a recording), the same writer
//! reads them, and every one is in the ledger before it does.

mod args;
mod elsewhere;
mod plan;
mod progress;

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use fingerpost::atlas::{Atlas, Budget, Ledger, Outbox, Recorded, Spent};
use fingerpost::chat::{Chat, ChatError, Price, Prompt, Replay};
use fingerpost::page::llm::{
    LlmConfig, LlmWriter, Neighborhood, Outcome, Tally, Wanted, Written, check,
};
use fingerpost::page::prompt::LanguageChoice;
use fingerpost_models::{Api, ChatConfig, Dialect, HttpChat, Prices, RetryConfig};
use serde::Serialize;

pub(crate) use self::args::LlmArgs;
use self::progress::Progress;
use crate::args::Global;
use crate::output::{self, Exit, UsageError, plural};
use crate::source;

/// What a run with a model did.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// Pages written.
    pub(crate) pages: usize,
    /// Skills that keep their documents.
    pub(crate) fallback: usize,
    /// Skills whose pages are still to come.
    pub(crate) pending: usize,
    /// Calls made.
    pub(crate) calls: u64,
    /// Answers that were in the ledger already.
    pub(crate) known: u64,
    pub(crate) input_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) output_tokens: u64,
    /// `None` if the model has no price.
    pub(crate) cost_usd: Option<f64>,
    /// What the answers were like.
    pub(crate) answers: Tally,
    /// What became of answers from files.
    #[serde(skip_serializing_if = "Option::is_none")]
    ingest: Option<elsewhere::Ingested>,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<String>,
}

/// What came of it all.
pub(crate) struct Finished {
    /// Pages, for each neighborhood and member.
    pub(crate) outcome: Outcome,
    pub(crate) summary: Summary,
    pub(crate) exit: Exit,
}

/// Everything a run needs to know, decided once.
struct Job<'a> {
    args: &'a LlmArgs,
    global: &'a Global,
    model: String,
    chat: ChatConfig,
    config: LlmConfig,
    price: Option<fingerpost_models::KnownPrice>,
    ledger: Ledger,
    work: &'a [Neighborhood<'a>],
    cancel: Arc<AtomicBool>,
}

/// Writes what is wanted of these neighborhoods, as the arguments say; `None` if they want a plan or
/// the prompts only. The caller holds the lock of the atlas, so that nobody pays for the same pages
/// beside us.
pub(crate) fn write(
    args: &LlmArgs,
    lang: &LanguageChoice,
    atlas: &Atlas,
    work: &[Neighborhood<'_>],
    global: &Global,
) -> anyhow::Result<Option<Finished>> {
    let job = Job::new(args, lang, atlas, work, global)?;
    if args.dry_run {
        plan::tell(&job)?;
        return Ok(None);
    }
    if let Some(file) = &args.emit {
        elsewhere::emit(&job, file)?;
        return Ok(None);
    }
    if !args.ingest.is_empty() {
        return elsewhere::ingest(&job).map(Some);
    }
    if args.batch.is_some() {
        return elsewhere::batch(&job).map(Some);
    }
    let chat = job.chat()?;
    let price = job.price.map(|price| price.single);
    if args.replay.is_some() {
        // On disk already, and paid for by somebody else: nothing for the ledger.
        let outcome = job.run(&*chat, job.config.concurrency, &Spent::default);
        return Ok(Some(job.done(outcome, Spent::default(), price)));
    }
    let budget = Budget { max_cost: args.max_cost, max_calls: args.max_calls };
    let recorded = Recorded::new(&*chat, &job.ledger, job.chat.base_url.clone(), price, budget);
    let spent = || recorded.spent();
    let outcome = job.run(&recorded, job.config.concurrency, &spent);
    Ok(Some(job.done(outcome, recorded.spent(), price)))
}

impl<'a> Job<'a> {
    fn new(
        args: &'a LlmArgs,
        lang: &LanguageChoice,
        atlas: &Atlas,
        work: &'a [Neighborhood<'a>],
        global: &'a Global,
    ) -> anyhow::Result<Self> {
        let model = args.model()?.to_owned();
        if !(0.0..=2.0).contains(&args.temperature) {
            return Err(UsageError::new("--temperature lies between 0 and 2").into());
        }
        let api: Api = args.batch.unwrap_or(args.api).into();
        let owner = args.base_url.is_none();
        let asks = args.replay.is_none() && !args.dry_run && args.ingest.is_empty();
        let asks = asks && (args.emit.is_none() || args.batch.is_some());
        let owners_key = || (owner && asks).then(|| api.default_key_variable().to_owned());
        let chat = ChatConfig {
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
            ..ChatConfig::new(api, model.clone())
        };
        let price = price(args.prices.as_deref(), &chat.base_url, &chat.model)?;
        if args.max_cost.is_some() && price.is_none() {
            let message = format!(
                "no price is known for {model}, so --max-cost cannot be kept; give its price in a file with --prices, or use --max-calls"
            );
            return Err(UsageError::new(message).into());
        }
        let config = args.config(lang, global);
        let ledger = atlas.ledger()?;
        let cancel = interrupted(global)?;
        Ok(Self { args, global, model, chat, config, price, ledger, work, cancel })
    }

    /// The model, or a recording of it.
    fn chat(&self) -> anyhow::Result<Box<dyn Chat + '_>> {
        if let Some(file) = &self.args.replay {
            let replay = Replay::from_lines(&self.model, &source::text(file)?)
                .map_err(|error| UsageError::new(format!("{}: {error}", file.display())))?;
            return Ok(Box::new(replay));
        }
        let chat = HttpChat::new(self.chat.clone(), Arc::clone(&self.cancel))?;
        Ok(Box::new(chat.remembering(self.dialect()?, |dialect| {
            let text = serde_json::to_string(&dialect).expect("plain data");
            // What cannot be remembered is learned again next time.
            let _ = self.ledger.learn(&self.chat.base_url, &self.model, &text);
        })))
    }

    /// How the server is known to want its requests.
    fn dialect(&self) -> anyhow::Result<Dialect> {
        let known = self.ledger.dialect(&self.chat.base_url, &self.model)?;
        Ok(known.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    fn run(
        &self,
        chat: &dyn Chat,
        concurrency: usize,
        spent: &(dyn Fn() -> Spent + Sync),
    ) -> Outcome {
        let progress = Progress::new(self.global, self.pages(), self.price.is_some());
        let config = LlmConfig { concurrency, ..self.config.clone() };
        let writer = LlmWriter { chat, config: &config, check: &check, cancel: &self.cancel };
        let outcome = writer.write(self.work, &|_, written| progress.step(written, &spent()));
        progress.finish();
        outcome
    }

    /// How many pages are wanted.
    fn pages(&self) -> usize {
        let wanted = self.work.iter().flat_map(|neighborhood| &neighborhood.wanted);
        wanted.filter(|wanted| !matches!(wanted, Wanted::Nothing(_))).count()
    }

    /// What the ledger can answer, and what it cannot.
    fn outbox(&self) -> (Outcome, Vec<(String, Prompt)>, u64) {
        let outbox = Outbox::new(&self.model, &self.ledger);
        let config = LlmConfig { concurrency: 1, ..self.config.clone() };
        let writer =
            LlmWriter { chat: &outbox, config: &config, check: &check, cancel: &self.cancel };
        let outcome = writer.write(self.work, &|_, _| ());
        let known = outbox.known();
        (outcome, outbox.into_waiting(), known)
    }

    fn done(&self, outcome: Outcome, spent: Spent, price: Option<Price>) -> Finished {
        let (summary, exit) = self.summary(&outcome, spent, price);
        summary.tell(self.global);
        Finished { outcome, summary, exit }
    }

    fn summary(&self, outcome: &Outcome, spent: Spent, price: Option<Price>) -> (Summary, Exit) {
        let count = |kind: fn(&Written) -> bool| {
            outcome.written.iter().flatten().filter(|written| kind(written)).count()
        };
        let pending = count(|written| matches!(written, Written::Pending));
        let exit = match &outcome.stopped {
            Some(ChatError::Cancelled) => Exit::Interrupted,
            Some(ChatError::Budget { .. }) => Exit::Findings,
            Some(_) => Exit::Outside,
            None if pending > 0 => Exit::Findings,
            None => Exit::Done,
        };
        let summary = Summary {
            pages: count(|written| matches!(written, Written::Page(..))),
            fallback: count(|written| matches!(written, Written::Fallback(_))),
            pending,
            calls: spent.calls,
            known: spent.known,
            input_tokens: spent.usage.input,
            cached_tokens: spent.usage.cached,
            output_tokens: spent.usage.output,
            cost_usd: price.map(|_| spent.cost),
            answers: outcome.tally,
            ingest: None,
            stopped: outcome.stopped.as_ref().map(ToString::to_string),
        };
        (summary, exit)
    }
}

impl Summary {
    fn tell(&self, global: &Global) {
        let Self { pages, fallback, pending, calls, known, .. } = self;
        let mut line = format!("{} written", plural(*pages, "page"));
        if *fallback > 0 {
            line += &format!(", {fallback} kept their documents");
        }
        if *pending > 0 {
            line += &format!(", {pending} still to come");
        }
        line += &format!("; {}", plural(*calls as usize, "call"));
        if *known > 0 {
            line += &format!(", {known} answers from the ledger");
        }
        if let Some(cost) = self.cost_usd {
            line += &format!(", ${cost:.4}");
        }
        output::say(global, &line);
        if let Some(stopped) = &self.stopped {
            let line = format!(
                "stopped: {}; what is written is kept, and the same command goes on from here",
                output::plain(stopped)
            );
            output::say(global, &line);
        }
    }
}

/// The price of a model at a server, from the user's table and ours. A server on this machine costs
/// nothing that ours knows of.
pub(crate) fn price(
    table: Option<&Path>,
    url: &str,
    model: &str,
) -> anyhow::Result<Option<fingerpost_models::KnownPrice>> {
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
