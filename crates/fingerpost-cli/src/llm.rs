//! `fingerpost compile --writer llm`: pages by a language model, on somebody's money.
//!
//! Whatever way the answers come (a server, a batch service, a file, a recording), the same writer
//! reads them, and every one is in the ledger before it does.

mod args;
mod elsewhere;
mod model;
mod prompts;
mod shared;
mod teller;

use std::sync::Arc;

use fingerpost::atlas::{Ledger, Spent};
use fingerpost::chat::ChatError;
use fingerpost::page::llm::{LlmConfig, Neighborhood, Outcome, Wanted, Written};
use fingerpost::reply::Tally;
use fingerpost::skill::SkillId;
use fingerpost_models::campaign::{Batched, Errand, Ingest, Ingested, PageWork};
use serde::Serialize;

pub(crate) use self::args::{ElsewhereArgs, LlmArgs, ModelArgs};
pub(crate) use self::elsewhere::Elsewhere;
pub(crate) use self::model::{Model, Work, price, told};
pub(crate) use self::prompts::templates;
pub(crate) use self::shared::{Sharing, put_up, worked};
use crate::args::Global;
use crate::follow::Follower;
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
    /// Requests sent, tries that failed included.
    pub(crate) sent: u64,
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
    pub(crate) summary: Summary,
    pub(crate) exit: Exit,
}

/// How a model is asked.
pub(crate) struct Asking<'a> {
    pub(crate) args: &'a LlmArgs,
    pub(crate) config: LlmConfig,
    /// Who follows the work, where that is nobody at a terminal.
    pub(crate) follower: Option<&'a Arc<Follower>>,
}

/// Writes what is wanted of these neighborhoods, as the arguments say; `None` if they want a plan or
/// the prompts only. The caller holds the lock of the atlas, so that nobody pays for the same pages
/// beside us.
pub(crate) fn write(
    asking: Asking<'_>,
    ledger: Ledger,
    work: &[Neighborhood<'_>],
    on_page: &(dyn Fn(&SkillId, &Written) + Sync),
    global: &Global,
) -> anyhow::Result<Option<Finished>> {
    let Asking { args, config, follower } = asking;
    if !(0.0..=2.0).contains(&args.temperature) {
        return Err(UsageError::new("--temperature lies between 0 and 2").into());
    }
    let api = args.elsewhere.batch.unwrap_or(args.server.api);
    let wish = Work { doing: "writing", noun: "page", asks: args.elsewhere.asks(), follower };
    let model = Model::open(&args.server, api.into(), &wish, ledger, global)?;
    let attempts = config.attempts;
    // Who only wants to know what would be asked wants nothing to be kept.
    let on_page =
        if args.elsewhere.only_tells() { &|_: &SkillId, _: &Written| () } else { on_page };
    let pages = PageWork { campaign: &model.campaign, config, neighborhoods: work, on_page };
    let pass = || pages.pass();
    let elsewhere = Elsewhere {
        errand: Errand { campaign: &model.campaign, attempts, pass: &pass },
        model: &model,
        server: &args.server,
        how: &args.elsewhere,
        follower,
        global,
        noun: wish.noun,
        wanted: pages.wanted(),
        whose: whose(work),
    };
    let finish = |outcome, spent| Finished::new(&model, &outcome, spent, global);
    if args.elsewhere.only_tells() {
        elsewhere.tell_or_emit()?;
        return Ok(None);
    }
    if !args.elsewhere.ingest.is_empty() {
        let Ingest { pass, ingested, spent } = elsewhere.ingest()?;
        let mut finished = finish(pass.outcome, spent);
        if !ingested.is_clean() {
            finished.exit = Exit::Findings;
        }
        finished.summary.ingest = Some(ingested);
        return Ok(Some(finished));
    }
    if args.elsewhere.batch.is_some() {
        let Batched { pass, spent, stopped } = elsewhere.batch()?;
        let mut outcome = pass.outcome;
        outcome.stopped = stopped.or(outcome.stopped);
        return Ok(Some(finish(outcome, spent)));
    }
    let ran = pages.run();
    model.teller.finish();
    let (outcome, spent) = ran.map_err(told)?;
    Ok(Some(finish(outcome, spent)))
}

/// The skills whose pages are wanted, in their order.
fn whose<'a>(work: &[Neighborhood<'a>]) -> Vec<&'a str> {
    let skills = work.iter().flat_map(|company| company.members.iter().zip(&company.wanted));
    let wanted = skills.filter(|(_, wanted)| !matches!(wanted, Wanted::Nothing(_)));
    let mut ids: Vec<&str> = wanted.map(|(skill, _)| skill.id.as_str()).collect();
    ids.sort_unstable();
    ids
}

impl Finished {
    /// Says what came of it, and how the command ends.
    fn new(model: &Model, outcome: &Outcome, spent: Spent, global: &Global) -> Self {
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
            sent: spent.requests,
            known: spent.known,
            input_tokens: spent.usage.input,
            cached_tokens: spent.usage.cached,
            output_tokens: spent.usage.output,
            cost_usd: model.campaign.price().map(|_| spent.cost),
            answers: outcome.tally,
            ingest: None,
            stopped: outcome.stopped.as_ref().map(ToString::to_string),
        };
        summary.tell(global);
        Self { summary, exit }
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
