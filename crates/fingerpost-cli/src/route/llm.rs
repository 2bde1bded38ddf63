//! `--chooser llm`: a language model picks among the cards, on somebody's money.

use fingerpost::atlas::Spent;
use fingerpost::chat::{Chat, ChatError};
use fingerpost::index::Hit;
use fingerpost::reply::Tally;
use fingerpost::route::Route;
use fingerpost::route::llm::{Answering, ChooseError, ChooserConfig, LlmChooser};
use fingerpost::skill::SkillId;
use serde::Serialize;

use super::{ChoosingArgs, RouteArgs, Router};
use crate::args::{Global, LibraryArgs};
use crate::llm::{Model, ModelArgs};
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

/// The model that the arguments name, if they fit together.
pub(crate) fn open(
    server: &ModelArgs,
    choosing: &ChoosingArgs,
    library: &LibraryArgs,
    global: &Global,
) -> anyhow::Result<Model> {
    if choosing.max > 1 {
        let message = "a model picks one skill: --max is for --chooser local";
        return Err(UsageError::new(message).into());
    }
    Model::open(server, server.api.into(), true, &source::atlas(library, global), global)
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

impl Router {
    /// The model's answer, and what its answers were like.
    pub(crate) fn choose(
        &self,
        request: &str,
        hits: &[Hit],
        chat: &dyn Chat,
        config: &ChooserConfig,
    ) -> Result<(Route, Tally), ChooseError> {
        let name_of = |id: &SkillId| self.name_of(id);
        let chooser = LlmChooser { chat, config, name_of: &name_of };
        chooser.choose(request, &self.candidates(request, hits)?, &self.phrases)
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
    let name_of = |id: &SkillId| router.name_of(id);
    let candidates = router.candidates(&args.request, hits)?;
    let spinner = output::spinner(global, format!("asking {}", output::plain(&model.name)));
    let asked = model.with_chat(|chat, spent| {
        let chooser = LlmChooser { chat, config: &config, name_of: &name_of };
        let chosen = chooser.choose(&args.request, &candidates, &router.phrases);
        let chosen = match chosen {
            Err(ChooseError::Chat(
                error @ (ChatError::Failed { .. } | ChatError::Limited { .. }),
            )) => chooser
                .fall_back(&args.request, &candidates, &router.phrases, &error.to_string())
                .map(|route| (route, Tally::default()))?,
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
