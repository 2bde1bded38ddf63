//! The requests of an evaluation, each answered by a chooser.
//!
//! With a model this takes hours and money, so it may end at any time: what was answered is in the
//! ledger, and the same command goes on from there. Nothing is measured before all is answered,
//! because a request that a server failed to answer is not one that the chooser got wrong.

use fingerpost::atlas::Spent;
use fingerpost::chat::{Chat, ChatError};
use fingerpost::eval::{Query, Run, choose_all, run_of_routes};
use fingerpost::index::Scratch;
use fingerpost::reply::Tally;
use fingerpost::route::llm::{ChooseError, ChooserConfig};
use fingerpost::route::{Route, Router};
use fingerpost::view::Cards;
use fingerpost_models::campaign::{Answered, Batched, Choices, Choosing, Errand, Ingest, Ingested};
use serde::Serialize;

use crate::args::{Eval, Global};
use crate::encoder::{self, Requests};
use crate::llm::{Elsewhere, told};
use crate::output::{self, Exit, plain, plural};
use crate::route::llm::{Asked, config, open};
use crate::route::router;
use crate::source::Reading;

/// What the model took, beside the figures.
#[derive(Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    asked: Asked,
    pub(super) cards: Cards,
    rotate: usize,
    /// Requests for which the first hit was taken, because no answer could be used.
    fallback: usize,
    /// What became of answers from files.
    #[serde(skip_serializing_if = "Option::is_none")]
    ingest: Option<Ingested>,
}

/// What came of asking a model.
pub(super) enum ByModel {
    Done(Run, Box<Summary>),
    /// Not all was answered, or nothing was to be; how the command ends.
    Unmeasured(Exit),
}

/// By the local chooser.
pub(super) fn locally(
    reading: &Reading,
    eval: &Eval,
    queries: &[Query],
    global: &Global,
) -> anyhow::Result<Run> {
    let by = eval.retriever.retriever;
    let mut router = router(reading, &eval.library, by, &eval.choosing, global)?;
    router.set_encoder(encoder::of(reading, &eval.library, Requests::Remembered, global)?);
    Ok(run_of_routes(queries, choose_all(&router, queries)?))
}

/// By a language model.
pub(super) fn by_model(
    reading: &Reading,
    eval: &Eval,
    queries: &[Query],
    global: &Global,
) -> anyhow::Result<ByModel> {
    let how = Some(&eval.elsewhere);
    let model = open(&eval.server, &eval.choosing, how, &reading.source, global)?;
    let by = eval.retriever.retriever;
    let router = router(reading, &eval.library, by, &eval.choosing, global)?;
    let config = config(&reading.snapshot, &eval.choosing, &eval.server, global)?;
    let choices = Choices {
        campaign: &model.campaign,
        choosing: &Routing { router: &router, config: &config },
        requests: queries.iter().map(|query| query.text.as_str()).collect(),
    };
    let pass = || choices.pass();
    let elsewhere = Elsewhere {
        follower: None,
        errand: Errand { campaign: &model.campaign, attempts: config.attempts, pass: &pass },
        model: &model,
        server: &eval.server,
        how: &eval.elsewhere,
        global,
        noun: "request",
        wanted: queries.len(),
        whose: Vec::new(),
    };
    if eval.elsewhere.only_tells() {
        elsewhere.tell_or_emit()?;
        return Ok(ByModel::Unmeasured(Exit::Done));
    }
    let mut ingest = None;
    let (answered, spent) = if !eval.elsewhere.ingest.is_empty() {
        let Ingest { pass, ingested, spent } = elsewhere.ingest()?;
        ingest = Some(ingested);
        (pass.outcome, spent)
    } else if eval.elsewhere.batch.is_some() {
        let Batched { pass, spent, stopped } = elsewhere.batch()?;
        let mut outcome = pass.outcome;
        outcome.stopped = stopped.or(outcome.stopped);
        (outcome, spent)
    } else {
        let ran = choices.run(eval.server.concurrency.get() as usize);
        model.teller.finish();
        ran.map_err(told)?
    };
    let Answered { answers: routes, tally, stopped } = answered;
    let asked = Asked::new(&model, &spent, tally);
    let left = routes.iter().filter(|route| route.is_none()).count();
    if left > 0 {
        let exit = tell_stopped(left, stopped, &asked, ingest.as_ref(), global)?;
        return Ok(ByModel::Unmeasured(exit));
    }
    let routes: Vec<Route> = routes.into_iter().flatten().collect();
    let fallback = routes.iter().filter(|route| route.fallback.is_some()).count();
    let summary = Summary { asked, cards: config.cards, rotate: config.rotate, fallback, ingest };
    summary.tell(&spent, global);
    Ok(ByModel::Done(run_of_routes(queries, routes), Box::new(summary)))
}

/// Candidates by search, chosen among as `route` does.
struct Routing<'a> {
    router: &'a Router<'a>,
    config: &'a ChooserConfig,
}

impl Choosing for Routing<'_> {
    type State = Scratch;
    type Answer = Route;
    type Error = anyhow::Error;

    fn choose(
        &self,
        request: &str,
        chat: &dyn Chat,
        scratch: &mut Scratch,
    ) -> anyhow::Result<Result<(Route, Tally), ChooseError>> {
        let hits = self.router.hits(request, scratch)?;
        Ok(self.router.choose(request, &hits, chat, self.config))
    }

    fn without(
        &self,
        request: &str,
        chat: &dyn Chat,
        why: &str,
        scratch: &mut Scratch,
    ) -> anyhow::Result<Route> {
        let hits = self.router.hits(request, scratch)?;
        Ok(self.router.fall_back(request, &hits, chat, self.config, why)?)
    }
}

impl Summary {
    fn tell(&self, spent: &Spent, global: &Global) {
        let mut line = plural(spent.calls as usize, "call");
        if spent.known > 0 {
            line += &format!(", {} from the ledger", plural(spent.known as usize, "answer"));
        }
        if let Some(cost) = self.asked.cost_usd {
            line += &format!(", ${cost:.4}");
        }
        if self.fallback > 0 {
            let requests = plural(self.fallback, "request");
            line += &format!("; {requests} without a usable answer got the first hit");
        }
        output::say(global, &line);
    }
}

/// Says how far it came, and how to go on.
fn tell_stopped(
    left: usize,
    stopped: Option<ChatError>,
    asked: &Asked,
    ingest: Option<&Ingested>,
    global: &Global,
) -> anyhow::Result<Exit> {
    let why = stopped.as_ref().map_or_else(String::new, ToString::to_string);
    let requests = plural(left, "request");
    let line = match ingest {
        Some(_) => format!(
            "{requests} without an answer yet, so nothing is measured: --emit writes the prompts that are left"
        ),
        None => format!(
            "stopped with {requests} left: {}; what is answered is kept, and the same command goes on from here",
            plain(&why)
        ),
    };
    output::say(global, &line);
    if global.json {
        let mut answer = serde_json::json!({"stopped": why, "left": left, "llm": asked});
        if let Some(ingest) = ingest {
            answer["ingest"] = serde_json::to_value(ingest)?;
        }
        output::print_json(&answer)?;
    }
    Ok(match stopped {
        Some(ChatError::Cancelled) => Exit::Interrupted,
        Some(ChatError::Budget { .. }) => Exit::Findings,
        None if ingest.is_some() => Exit::Findings,
        _ => Exit::Outside,
    })
}
