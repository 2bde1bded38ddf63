//! `fingerpost compile --writer llm`: pages by a language model, on somebody's money.
//!
//! Whatever way the answers come (a server, a batch service, a file, a recording), the same writer
//! reads them, and every one is in the ledger before it does.

mod args;
mod elsewhere;
mod model;
mod plan;
mod progress;

use fingerpost::atlas::{Atlas, Outbox, Spent};
use fingerpost::chat::{Chat, ChatError};
use fingerpost::page::llm::{LlmConfig, LlmWriter, Neighborhood, Outcome, Wanted, Written, check};
use fingerpost::page::prompt::LanguageChoice;
use fingerpost::reply::Tally;
use serde::Serialize;

pub(crate) use self::args::{ElsewhereArgs, LlmArgs, ModelArgs};
pub(crate) use self::elsewhere::{Errand, Ingested, Pass};
pub(crate) use self::model::{Model, price};
pub(crate) use self::progress::Progress;
use crate::args::Global;
use crate::output::{self, Exit, UsageError, plural};

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
    ingest: Option<Ingested>,
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
    global: &'a Global,
    model: Model,
    config: LlmConfig,
    work: &'a [Neighborhood<'a>],
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
    let pass = || job.pass();
    let errand = Errand {
        model: &job.model,
        server: &args.server,
        how: &args.elsewhere,
        global,
        noun: "page",
        wanted: job.pages(),
        pass: &pass,
    };
    if args.elsewhere.only_tells() {
        errand.tell_or_emit()?;
        return Ok(None);
    }
    if !args.elsewhere.ingest.is_empty() {
        let (pass, ingested, spent) = errand.ingest()?;
        let mut finished = job.done(pass.outcome, spent);
        if !ingested.is_clean() {
            finished.exit = Exit::Findings;
        }
        finished.summary.ingest = Some(ingested);
        return Ok(Some(finished));
    }
    if args.elsewhere.batch.is_some() {
        let (Pass { mut outcome, .. }, spent, stopped) = errand.batch()?;
        outcome.stopped = stopped.or(outcome.stopped);
        return Ok(Some(job.done(outcome, spent)));
    }
    let (outcome, spent) = job.model.with_chat(|chat, spent| {
        let outcome = job.run(chat, job.config.concurrency, spent);
        (outcome, spent())
    })?;
    Ok(Some(job.done(outcome, spent)))
}

impl<'a> Job<'a> {
    fn new(
        args: &LlmArgs,
        lang: &LanguageChoice,
        atlas: &Atlas,
        work: &'a [Neighborhood<'a>],
        global: &'a Global,
    ) -> anyhow::Result<Self> {
        if !(0.0..=2.0).contains(&args.temperature) {
            return Err(UsageError::new("--temperature lies between 0 and 2").into());
        }
        let api = args.elsewhere.batch.unwrap_or(args.server.api);
        let model = Model::open(&args.server, api.into(), args.elsewhere.asks(), atlas, global)?;
        let config = args.config(lang, global);
        Ok(Self { global, model, config, work })
    }

    fn run(
        &self,
        chat: &dyn Chat,
        concurrency: usize,
        spent: &(dyn Fn() -> Spent + Sync),
    ) -> Outcome {
        let priced = self.model.price.is_some();
        let progress = Progress::new(self.global, "writing", "page", self.pages(), priced);
        let config = LlmConfig { concurrency, ..self.config.clone() };
        let writer = LlmWriter { chat, config: &config, check: &check, cancel: &self.model.cancel };
        let outcome = writer.write(self.work, &|_, written| {
            if *written != Written::Pending {
                progress.step(&spent());
            }
        });
        progress.finish();
        outcome
    }

    /// How many pages are wanted.
    fn pages(&self) -> usize {
        let wanted = self.work.iter().flat_map(|neighborhood| &neighborhood.wanted);
        wanted.filter(|wanted| !matches!(wanted, Wanted::Nothing(_))).count()
    }

    /// The pages that the ledger's answers give, and what it cannot answer.
    fn pass(&self) -> anyhow::Result<Pass<Outcome>> {
        let outbox = Outbox::new(&self.model.name, &self.model.ledger);
        let config = LlmConfig { concurrency: 1, ..self.config.clone() };
        let writer =
            LlmWriter { chat: &outbox, config: &config, check: &check, cancel: &self.model.cancel };
        let outcome = writer.write(self.work, &|_, _| ());
        match outcome.stopped {
            None | Some(ChatError::Cancelled) => {
                let known = outbox.known();
                Ok(Pass { outcome, waiting: outbox.into_waiting(), known })
            }
            Some(error) => Err(error.into()),
        }
    }

    fn done(&self, outcome: Outcome, spent: Spent) -> Finished {
        let (summary, exit) = self.summary(&outcome, spent);
        summary.tell(self.global);
        Finished { outcome, summary, exit }
    }

    fn summary(&self, outcome: &Outcome, spent: Spent) -> (Summary, Exit) {
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
            cost_usd: self.model.price.map(|_| spent.cost),
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
