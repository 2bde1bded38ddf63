//! `--chooser llm`: a language model picks among the cards, on somebody's money.

use std::num::NonZeroU32;

use fingerpost::atlas::Spent;
use fingerpost::chat::ChatError;
use fingerpost::index::{Hit, Scratch};
use fingerpost::protocol::Choosing;
use fingerpost::reply::Tally;
use fingerpost::route::llm::{ChooseError, ChooserConfig};
use fingerpost::route::{Route, Router};
use fingerpost::snapshot::Snapshot;
use serde::Serialize;

use super::{ChoosingArgs, RouteArgs};
use crate::args::Global;
use crate::llm::{ElsewhereArgs, Model, ModelArgs, Work, templates, told};
use crate::output::{self, UsageError};
use crate::source::Source;

/// What a model took to choose.
#[derive(Debug, Serialize)]
pub(crate) struct Asked {
    pub(crate) model: String,
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
}

impl Asked {
    pub(crate) fn new(model: &Model, spent: &Spent, answers: Tally) -> Self {
        Self {
            model: model.campaign.model().to_owned(),
            calls: spent.calls,
            sent: spent.requests,
            known: spent.known,
            input_tokens: spent.usage.input,
            cached_tokens: spent.usage.cached,
            output_tokens: spent.usage.output,
            cost_usd: model.campaign.price().map(|_| spent.cost),
            answers,
        }
    }
}

/// The model that the arguments name, if they fit together. `elsewhere` where its answers need not come
/// from a server at once.
pub(crate) fn open(
    server: &ModelArgs,
    choosing: &ChoosingArgs,
    elsewhere: Option<&ElsewhereArgs>,
    source: &Source,
    global: &Global,
) -> anyhow::Result<Model> {
    if choosing.max > 1 {
        let message = "a model picks one skill: --max is for --chooser local";
        return Err(UsageError::new(message).into());
    }
    let api = elsewhere.and_then(|elsewhere| elsewhere.batch).unwrap_or(server.api);
    let asks = elsewhere.is_none_or(ElsewhereArgs::asks);
    let work = Work { doing: "choosing", noun: "request", asks, follower: None };
    Model::open(server, api.into(), &work, source.ledger(global)?, global)
}

/// How the model is asked: as the atlas has it, and as the arguments say.
pub(crate) fn config(
    snapshot: &Snapshot,
    choosing: &ChoosingArgs,
    server: &ModelArgs,
    global: &Global,
) -> anyhow::Result<ChooserConfig> {
    let kept = snapshot.head().protocol.choosing;
    let Choosing { cards, named, answering, rotate, attempts, temperature, .. } =
        choosing.over(kept);
    Ok(ChooserConfig {
        cards,
        named,
        answering,
        rotate,
        attempts: server.attempts.map_or(attempts, NonZeroU32::get),
        answer_tokens: choosing.answer_tokens,
        temperature,
        seed: global.seed,
        templates: templates(server.prompts.as_deref())?,
    })
}

/// Has the model answer one request. A server that is down, or will not take the prompt, is no reason to
/// answer nothing: then the local chooser does.
pub(super) fn ask(
    router: &Router<'_>,
    model: &Model,
    args: &RouteArgs,
    hits: &[Hit],
    global: &Global,
) -> anyhow::Result<(Route, Asked)> {
    let config = config(router.snapshot, &args.choosing, &args.server, global)?;
    let request = args.request.as_str();
    model.teller.waiting(format!("asking {}", output::plain(model.campaign.model())));
    let asked = model.campaign.with_chat(|chat, spent| {
        let chosen = router.choose(request, hits, chat, &config);
        (chosen, spent())
    });
    model.teller.finish();
    let (chosen, spent) = asked.map_err(told)?;
    let (route, answers) = match chosen {
        Ok(chosen) => chosen,
        Err(
            error @ (ChooseError::Rejected { .. }
            | ChooseError::Chat(ChatError::Failed { .. } | ChatError::Limited { .. })),
        ) => {
            let (route, _) = router.route(request, &mut Scratch::default())?;
            let fallback = Some(format!("the model did not choose: {error}"));
            (Route { fallback, ..route }, Tally::default())
        }
        Err(ChooseError::Chat(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    };
    Ok((route, Asked::new(model, &spent, answers)))
}
