//! `--chooser llm`: a language model picks among the cards, on somebody's money.

use fingerpost::atlas::Spent;
use fingerpost::chat::ChatError;
use fingerpost::index::Hit;
use fingerpost::reply::Tally;
use fingerpost::route::llm::{Answering, ChooseError, ChooserConfig};
use fingerpost::route::{Route, Router};
use serde::Serialize;

use super::{ChoosingArgs, RouteArgs};
use crate::args::{Global, LibraryArgs};
use crate::llm::{ElsewhereArgs, Model, ModelArgs};
use crate::output::{self, UsageError};
use crate::source;

/// What a model took to choose.
#[derive(Debug, Serialize)]
pub(crate) struct Asked {
    pub(crate) model: String,
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
}

impl Asked {
    pub(crate) fn new(model: &Model, spent: &Spent, answers: Tally) -> Self {
        Self {
            model: model.name.clone(),
            calls: spent.calls,
            known: spent.known,
            input_tokens: spent.usage.input,
            cached_tokens: spent.usage.cached,
            output_tokens: spent.usage.output,
            cost_usd: model.price.map(|_| spent.cost),
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
    library: &LibraryArgs,
    global: &Global,
) -> anyhow::Result<Model> {
    if choosing.max > 1 {
        let message = "a model picks one skill: --max is for --chooser local";
        return Err(UsageError::new(message).into());
    }
    let api = elsewhere.and_then(|elsewhere| elsewhere.batch).unwrap_or(server.api);
    let asks = elsewhere.is_none_or(ElsewhereArgs::asks);
    Model::open(server, api.into(), asks, &source::atlas(library, global), global)
}

/// How the model is asked.
pub(crate) fn config(
    choosing: &ChoosingArgs,
    server: &ModelArgs,
    global: &Global,
) -> ChooserConfig {
    ChooserConfig {
        cards: choosing.cards,
        answering: if choosing.always { Answering::Always } else { Answering::OrNone },
        rotate: choosing.rotate.get(),
        attempts: server.attempts.get(),
        answer_tokens: choosing.answer_tokens,
        seed: global.seed,
    }
}

/// Has the model answer one request. A server that is down is no reason to answer nothing.
pub(super) fn ask(
    router: &Router,
    model: &Model,
    args: &RouteArgs,
    hits: &[Hit],
    global: &Global,
) -> anyhow::Result<(Route, Asked)> {
    let config = config(&args.choosing, &args.server, global);
    let request = args.request.as_str();
    let spinner = output::spinner(global, format!("asking {}", output::plain(&model.name)));
    let asked = model.with_chat(|chat, spent| {
        let chosen = match router.choose(request, hits, chat, &config) {
            Err(ChooseError::Chat(
                error @ (ChatError::Failed { .. } | ChatError::Limited { .. }),
            )) => {
                let why = error.to_string();
                (router.fall_back(request, hits, chat, &config, &why)?, Tally::default())
            }
            chosen => chosen.map_err(|error| match error {
                ChooseError::Chat(error) => anyhow::Error::from(error),
                error => error.into(),
            })?,
        };
        anyhow::Ok((chosen, spent()))
    })?;
    spinner.finish_and_clear();
    let ((route, answers), spent) = asked?;
    Ok((route, Asked::new(model, &spent, answers)))
}
