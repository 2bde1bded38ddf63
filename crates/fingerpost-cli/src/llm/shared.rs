//! How does a model write on many machines at once? The work lies in the database; each machine takes of it.

use std::sync::Arc;
use std::time::Duration;

use fingerpost::atlas::{Atlas, Ledger};
use fingerpost::chat::ChatError;
use fingerpost::compile::Left;
use fingerpost::page::llm::LlmConfig;
use fingerpost_models::campaign::Event;
use fingerpost_postgres::Postgres;
use fingerpost_postgres::work::{Done, Hand, Order, Work as Open, WorkStatus, cards};

use super::{Finished, LlmArgs, Model, Summary, Work, told};
use crate::args::Global;
use crate::follow::Follower;
use crate::output::{Exit, UsageError};

/// A machine that shares the work.
pub(crate) struct Sharing<'a> {
    pub(crate) postgres: &'a Postgres,
    pub(crate) atlas: &'a Atlas,
    pub(crate) args: &'a LlmArgs,
    pub(crate) config: LlmConfig,
    pub(crate) follower: Option<&'a Arc<Follower>>,
    /// What others know it by.
    pub(crate) name: &'a str,
    /// For how long a unit is its own without a sign of life.
    pub(crate) lease: Duration,
}

/// Puts the work up that is left in the snapshot, takes part in it, and says what all did; with the number of
/// the work if it is to be closed once its pages are committed.
pub(crate) fn put_up(
    sharing: &Sharing<'_>,
    order: &Order,
    ledger: Ledger,
    global: &Global,
) -> anyhow::Result<(Finished, Option<i64>)> {
    let postgres = sharing.postgres;
    let left = Left::of(sharing.atlas.snapshot()?)?;
    let open = postgres.put_up(order, &cards(&left, order))?;
    drop(left);
    let before = postgres.work_status()?;
    let (done, priced) = sharing.work(&open, ledger, global)?;
    let after = postgres.work_status()?;
    let exit = worked(&done);
    let is_over = done.all || matches!(done.stopped, Some(ChatError::Budget { .. }));
    let summary = summary(&done, before.as_ref(), after.as_ref(), priced);
    summary.tell(global);
    Ok((Finished { summary, exit }, is_over.then_some(open.number)))
}

/// How a command ends that did this.
pub(crate) fn worked(done: &Done) -> Exit {
    match &done.stopped {
        Some(ChatError::Cancelled) => Exit::Interrupted,
        Some(ChatError::Budget { .. }) => Exit::Findings,
        Some(_) => Exit::Outside,
        None if done.all => Exit::Done,
        None => Exit::Findings,
    }
}

impl Sharing<'_> {
    /// Works until nothing is left to be taken. Also says whether the model has a price.
    pub(crate) fn work(
        &self,
        open: &Open,
        ledger: Ledger,
        global: &Global,
    ) -> anyhow::Result<(Done, bool)> {
        let wish = Work { doing: "writing", noun: "page", asks: true, follower: self.follower };
        // Limits are those of all workers, and lie in the database.
        let mut server = self.args.server.clone();
        (server.max_cost, server.max_calls, server.rpm, server.tpm) = (None, None, None, None);
        let model = Model::open(&server, server.api.into(), &wish, ledger, global)?;
        let price = model.campaign.price().map(|price| price.single);
        if open.order.limits.max_cost.is_some() && price.is_none() {
            let message = format!(
                "no price is known for {}, so the limit on cost cannot be kept; give its price in a file with --prices",
                model.campaign.model(),
            );
            return Err(UsageError::new(message).into());
        }
        let all = self.postgres.work_status()?;
        let all = all.map_or(0, |all| usize::try_from(all.units - all.done).unwrap_or_default());
        let endpoint = model.campaign.endpoint();
        let asked = model.campaign.with_model(|chat, ledger| {
            let on_news = |news: fingerpost_postgres::work::News| {
                let done = news.units.min(all);
                model.teller.hear(Event::Progress { done, all, spent: news.spent });
            };
            let hand = Hand {
                postgres: self.postgres,
                atlas: self.atlas,
                name: self.name,
                lease: self.lease,
                chat,
                endpoint: &endpoint,
                price,
                ledger,
                config: &self.config,
                cancel: model.campaign.cancel(),
                on_news: &on_news,
            };
            hand.work(open)
        });
        model.teller.finish();
        Ok((asked.map_err(told)??, price.is_some()))
    }
}

/// What all workers did between two looks at the work.
fn summary(
    done: &Done,
    before: Option<&WorkStatus>,
    after: Option<&WorkStatus>,
    priced: bool,
) -> Summary {
    let since = |what: fn(&WorkStatus) -> i64| {
        let [before, after] = [before, after].map(|status| status.map_or(0, what));
        u64::try_from(after - before).unwrap_or_default()
    };
    let cost = |status: Option<&WorkStatus>| status.map_or(0.0, |status| status.cost_usd);
    let left = after.map_or(0, |after| after.units - after.done);
    Summary {
        pages: since(|status| status.pages) as usize,
        fallback: since(|status| status.fallback) as usize,
        pending: usize::try_from(left).unwrap_or_default(),
        calls: since(|status| status.answered + status.surplus),
        sent: since(|status| status.requests),
        known: done.spent.known,
        input_tokens: since(|status| status.input_tokens),
        cached_tokens: since(|status| status.cached_tokens),
        output_tokens: since(|status| status.output_tokens),
        cost_usd: priced.then(|| cost(after) - cost(before)),
        answers: done.tally,
        ingest: None,
        stopped: done.stopped.as_ref().map(ToString::to_string),
    }
}
