//! The requests of an evaluation, each answered by a chooser.
//!
//! With a model this takes hours and money, so it may end at any time: what was answered is in the
//! ledger, and the same command goes on from there. Nothing is measured before all is answered,
//! because a request that a server failed to answer is not one that the chooser got wrong.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fingerpost::atlas::Spent;
use fingerpost::chat::{Chat, ChatError};
use fingerpost::eval::{Query, Run, Scored};
use fingerpost::index::Scratch;
use fingerpost::reply::Tally;
use fingerpost::route::llm::{ChooseError, ChooserConfig};
use fingerpost::route::{Decision, Route};
use fingerpost::view::Cards;
use rayon::prelude::*;
use serde::Serialize;

use crate::args::{Eval, Global};
use crate::llm::{Model, Progress};
use crate::output::{self, Exit, plain, plural};
use crate::route::Router;
use crate::route::llm::{Asked, config, open};

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
}

/// What came of asking a model.
pub(super) enum ByModel {
    Done(Run, Summary),
    /// Not all was answered; how the command ends.
    Stopped(Exit),
}

/// By the local chooser.
pub(super) fn locally(eval: &Eval, queries: &[Query], global: &Global) -> anyhow::Result<Run> {
    let router = Router::open(&eval.library, eval.retriever.retriever, &eval.choosing, global)?;
    let routes = queries
        .par_iter()
        .map_init(Scratch::default, |scratch, query| Ok(router.route(&query.text, scratch)?.0))
        .collect::<anyhow::Result<Vec<Route>>>()?;
    Ok(run(queries, routes))
}

/// By a language model.
pub(super) fn by_model(eval: &Eval, queries: &[Query], global: &Global) -> anyhow::Result<ByModel> {
    let model = open(&eval.server, &eval.choosing, &eval.library, global)?;
    let router = Router::open(&eval.library, eval.retriever.retriever, &eval.choosing, global)?;
    let config = config(&eval.choosing, &eval.server, global);
    let progress = Progress::new(global, "requests", queries.len(), model.price.is_some());
    let threads = eval.server.concurrency.get() as usize;
    let (answered, spent) = model.with_chat(|chat, spent| {
        let job = Job { router: &router, model: &model, config: &config, chat, queries };
        let answered = job.answer_all(threads, &|| progress.step(&spent()));
        (answered, spent())
    })?;
    progress.finish();
    let Answered { routes, tally, stopped, broken } = answered;
    if let Some(error) = broken {
        return Err(error);
    }
    let asked = Asked::new(&model, &spent, tally);
    let left = routes.iter().filter(|route| route.is_none()).count();
    if left > 0 {
        return Ok(ByModel::Stopped(tell_stopped(left, stopped, &asked, global)?));
    }
    let routes: Vec<Route> = routes.into_iter().flatten().collect();
    let fallback = routes.iter().filter(|route| route.fallback.is_some()).count();
    let summary = Summary { asked, cards: config.cards, rotate: config.rotate, fallback };
    summary.tell(&spent, global);
    Ok(ByModel::Done(run(queries, routes), summary))
}

/// Everything that answers requests.
struct Job<'a> {
    router: &'a Router,
    model: &'a Model,
    config: &'a ChooserConfig,
    chat: &'a dyn Chat,
    queries: &'a [Query],
}

/// What the threads have done so far.
struct Answered {
    /// In the order of the requests.
    routes: Vec<Option<Route>>,
    tally: Tally,
    /// The last trouble with the model; the one that ended the work, if one did.
    stopped: Option<ChatError>,
    /// A damaged index.
    broken: Option<anyhow::Error>,
}

impl Job<'_> {
    /// What comes out depends on the answers alone, not on the number of threads.
    fn answer_all(&self, threads: usize, on_answer: &(dyn Fn() + Sync)) -> Answered {
        let routes = vec![None; self.queries.len()];
        let answered = Answered { routes, tally: Tally::default(), stopped: None, broken: None };
        let answered = Mutex::new(answered);
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
                let chosen = self.answer(query, scratch);
                let mut answered = answered.lock().expect("nothing panics while holding it");
                match chosen {
                    Ok(Ok((route, tally))) => {
                        failures.store(0, Ordering::Relaxed);
                        answered.routes[at] = Some(route);
                        answered.tally += tally;
                        drop(answered);
                        on_answer();
                    }
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
                        answered.broken = Some(error);
                        end();
                    }
                }
            }
        };
        let threads = threads.clamp(1, self.queries.len().max(1));
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let mut answered = answered.into_inner().expect("no thread panicked");
        if self.model.cancel.load(Ordering::Relaxed) {
            answered.stopped = Some(ChatError::Cancelled);
        }
        answered
    }

    fn answer(
        &self,
        query: &Query,
        scratch: &mut Scratch,
    ) -> anyhow::Result<Result<(Route, Tally), ChatError>> {
        let hits = self.router.hits(&query.text, scratch)?;
        match self.router.choose(&query.text, &hits, self.chat, self.config) {
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
    global: &Global,
) -> anyhow::Result<Exit> {
    let why = stopped.as_ref().map_or_else(String::new, ToString::to_string);
    let line = format!(
        "stopped with {} left: {}; what is answered is kept, and the same command goes on from here",
        plural(left, "request"),
        plain(&why)
    );
    output::say(global, &line);
    if global.json {
        output::print_json(&serde_json::json!({"stopped": why, "left": left, "llm": asked}))?;
    }
    Ok(match stopped {
        Some(ChatError::Cancelled) => Exit::Interrupted,
        Some(ChatError::Budget { .. }) => Exit::Findings,
        _ => Exit::Outside,
    })
}
