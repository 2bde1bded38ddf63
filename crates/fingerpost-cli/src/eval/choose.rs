//! The requests of an evaluation, each answered by a chooser.
//!
//! With a model this takes hours and money, so it may end at any time: what was answered is in the
//! ledger, and the same command goes on from there. Nothing is measured before all is answered,
//! because a request that a server failed to answer is not one that the chooser got wrong.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fingerpost::atlas::{Outbox, Spent};
use fingerpost::chat::{Chat, ChatError};
use fingerpost::eval::{Query, Run, Scored};
use fingerpost::index::Scratch;
use fingerpost::reply::Tally;
use fingerpost::route::llm::{ChooseError, ChooserConfig};
use fingerpost::route::{Decision, Route, Router};
use fingerpost::view::Cards;
use rayon::prelude::*;
use serde::Serialize;

use crate::args::{Eval, Global};
use crate::llm::{Errand, Ingested, Model, Pass, Progress};
use crate::output::{self, Exit, plain, plural};
use crate::route::llm::{Asked, config, open};
use crate::route::router;

/// Requests in a row that a server fails in spite of all patience; then it is down.
const MAX_FAILURES: usize = 3;

/// What the model took, beside the figures.
#[derive(Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    asked: Asked,
    cards: Cards,
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
pub(super) fn locally(eval: &Eval, queries: &[Query], global: &Global) -> anyhow::Result<Run> {
    let router = router(&eval.library, eval.retriever.retriever, &eval.choosing, global)?;
    let routes = queries
        .par_iter()
        .map_init(Scratch::default, |scratch, query| Ok(router.route(&query.text, scratch)?.0))
        .collect::<anyhow::Result<Vec<Route>>>()?;
    Ok(run(queries, routes))
}

/// By a language model.
pub(super) fn by_model(eval: &Eval, queries: &[Query], global: &Global) -> anyhow::Result<ByModel> {
    let elsewhere = &eval.elsewhere;
    let model = open(&eval.server, &eval.choosing, Some(elsewhere), &eval.library, global)?;
    let router = router(&eval.library, eval.retriever.retriever, &eval.choosing, global)?;
    let config = config(&eval.choosing, &eval.server, global);
    let job = Job { router: &router, model: &model, config: &config, queries };
    let pass = || job.pass();
    let errand = Errand {
        model: &model,
        server: &eval.server,
        how: elsewhere,
        global,
        noun: "request",
        wanted: queries.len(),
        pass: &pass,
    };
    if elsewhere.only_tells() {
        errand.tell_or_emit()?;
        return Ok(ByModel::Unmeasured(Exit::Done));
    }
    let mut ingest = None;
    let (answered, spent) = if !elsewhere.ingest.is_empty() {
        let (pass, ingested, spent) = errand.ingest()?;
        ingest = Some(ingested);
        (pass.outcome, spent)
    } else if elsewhere.batch.is_some() {
        let (Pass { mut outcome, .. }, spent, stopped) = errand.batch()?;
        outcome.stopped = stopped.or(outcome.stopped);
        (outcome, spent)
    } else {
        let priced = model.price.is_some();
        let progress = Progress::new(global, "choosing", "request", queries.len(), priced);
        let threads = eval.server.concurrency.get() as usize;
        let (answered, spent) = model.with_chat(|chat, spent| {
            let answered = job.answer_all(chat, threads, &|| progress.step(&spent()));
            (answered, spent())
        })?;
        progress.finish();
        (answered?, spent)
    };
    let Answered { routes, tally, stopped } = answered;
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
    Ok(ByModel::Done(run(queries, routes), Box::new(summary)))
}

/// Everything that answers requests.
struct Job<'a> {
    router: &'a Router,
    model: &'a Model,
    config: &'a ChooserConfig,
    queries: &'a [Query],
}

/// What the threads have done so far.
struct Answered {
    /// In the order of the requests.
    routes: Vec<Option<Route>>,
    tally: Tally,
    /// The last trouble with the model; the one that ended the work, if one did.
    stopped: Option<ChatError>,
}

impl Job<'_> {
    /// The routes that the ledger's answers give, and what it cannot answer.
    fn pass(&self) -> anyhow::Result<Pass<Answered>> {
        let outbox = Outbox::new(&self.model.name, &self.model.ledger);
        let outcome = self.answer_all(&outbox, 1, &|| ())?;
        let known = outbox.known();
        match outcome.stopped {
            None | Some(ChatError::Cancelled) => {
                Ok(Pass { outcome, waiting: outbox.into_waiting(), known })
            }
            Some(error) => Err(error.into()),
        }
    }

    /// What comes out depends on the answers alone, not on the number of threads. Only a damaged index
    /// is an error.
    fn answer_all(
        &self,
        chat: &dyn Chat,
        threads: usize,
        on_answer: &(dyn Fn() + Sync),
    ) -> anyhow::Result<Answered> {
        let routes = vec![None; self.queries.len()];
        let answered = Mutex::new(Answered { routes, tally: Tally::default(), stopped: None });
        let broken = Mutex::new(None);
        let (next, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // No more requests are taken after this one.
        let end = || next.store(self.queries.len(), Ordering::Relaxed);
        let work = || {
            let scratch = &mut Scratch::default();
            loop {
                if self.model.cancel.load(Ordering::Relaxed) {
                    end();
                }
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(query) = self.queries.get(at) else { break };
                let chosen = self.answer(query, chat, scratch);
                let mut answered = answered.lock().expect("nothing panics while holding it");
                match chosen {
                    Ok(Ok((route, tally))) => {
                        failures.store(0, Ordering::Relaxed);
                        answered.routes[at] = Some(route);
                        answered.tally += tally;
                        drop(answered);
                        on_answer();
                    }
                    // Asked for elsewhere: others may be answered already.
                    Ok(Err(ChatError::Deferred)) => {}
                    Ok(Err(error)) => {
                        let ends = error.ends_run();
                        let in_a_row = failures.fetch_add(1, Ordering::Relaxed) + 1;
                        if !answered.stopped.as_ref().is_some_and(ChatError::ends_run) {
                            answered.stopped = Some(error);
                        }
                        if ends || in_a_row >= MAX_FAILURES {
                            end();
                        }
                    }
                    Err(error) => {
                        *broken.lock().expect("nothing panics while holding it") = Some(error);
                        end();
                    }
                }
            }
        };
        let threads = threads.clamp(1, self.queries.len().max(1));
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        if let Some(error) = broken.into_inner().expect("no thread panicked") {
            return Err(error);
        }
        let mut answered = answered.into_inner().expect("no thread panicked");
        if self.model.cancel.load(Ordering::Relaxed) {
            answered.stopped = Some(ChatError::Cancelled);
        }
        Ok(answered)
    }

    fn answer(
        &self,
        query: &Query,
        chat: &dyn Chat,
        scratch: &mut Scratch,
    ) -> anyhow::Result<Result<(Route, Tally), ChatError>> {
        let hits = self.router.hits(&query.text, scratch)?;
        match self.router.choose(&query.text, &hits, chat, self.config) {
            Ok(chosen) => Ok(Ok(chosen)),
            Err(ChooseError::Chat(error)) => Ok(Err(error)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The chosen skill first, then the others in the order in which they came near; nothing where the
/// answer is none.
fn run(queries: &[Query], routes: Vec<Route>) -> Run {
    let mut run = Run::default();
    for (query, route) in queries.iter().zip(routes) {
        let others = route.rejected.into_iter().map(|rejected| rejected.skill);
        let ranked: Vec<String> = match route.decision {
            Decision::None => vec![],
            Decision::Use => route.skills.into_iter().chain(others).collect(),
        };
        let scored = (1..).zip(ranked);
        let scored = scored.map(|(rank, skill)| Scored { skill, score: 1.0 / f64::from(rank) });
        run.insert(query.id.as_str(), scored.collect());
    }
    run
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
