//! What do the records of a ledger come to, read in their order?

use std::collections::BTreeMap;

use super::ledger::{Batch, Entry, day};
use crate::chat::{Reply, Usage};

/// What is known of the log so far.
#[derive(Default)]
pub(super) struct Known {
    pub(super) calls: BTreeMap<String, Call>,
    /// Calls with numbers of their own that have no end yet.
    pub(super) open: BTreeMap<String, OpenCall>,
    /// What came of such calls but accepted answers, by day, model and purpose.
    pub(super) others: BTreeMap<(String, String, String), Others>,
    pub(super) dialects: BTreeMap<(String, String), String>,
    pub(super) batches: BTreeMap<i64, OpenBatch>,
    pub(super) last_batch: i64,
    /// The number of the first record that was not read yet.
    pub(super) next: u64,
    pub(super) mark: Option<u64>,
}

/// All that happened to one prompt.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) model: String,
    pub(super) purpose: String,
    pub(super) started: i64,
    pub(super) state: State,
    pub(super) usage: Usage,
    pub(super) cost: Option<f64>,
    pub(super) reply: Option<Reply>,
    /// Was the answer here before this run began?
    pub(super) is_old: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    Started,
    Done,
    Failed,
}

/// A call that may be under way, or will never be heard of again.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) model: String,
    pub(super) purpose: String,
    pub(super) started: i64,
    pub(super) most: Option<f64>,
}

/// Calls that brought nothing that is used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Others {
    pub(super) failed: u64,
    pub(super) surplus: u64,
    pub(super) unpriced: u64,
    pub(super) usage: Usage,
    pub(super) cost: f64,
}

#[derive(Debug, Clone)]
pub(super) struct OpenBatch {
    pub(super) endpoint: String,
    pub(super) model: String,
    pub(super) batch: Batch,
}

impl Known {
    /// A call has an end that brings nothing to be used. One that had its end already is not counted twice.
    fn end(&mut self, call: &str, add: impl FnOnce(&mut Others)) {
        if let Some(open) = self.open.remove(call) {
            let key = (day(open.started), open.model, open.purpose);
            add(self.others.entry(key).or_default());
        }
    }

    fn surplus(&mut self, call: &str, usage: Usage, cost: Option<f64>) {
        self.end(call, |others| {
            others.surplus += 1;
            others.unpriced += u64::from(cost.is_none());
            others.usage += usage;
            others.cost += cost.unwrap_or(0.0);
        });
    }

    pub(super) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Started { model, purpose, at, call: Some(call), most, .. } => {
                self.open.insert(call, OpenCall { model, purpose, started: at, most });
            }
            Entry::Started { key, model, purpose, at, .. } => {
                let call = self.calls.entry(key).or_default();
                if call.state != State::Done {
                    call.state = State::Started;
                    (call.model, call.purpose, call.started) = (model, purpose, at);
                }
            }
            Entry::Surplus { reply, cost, call, .. } => self.surplus(&call, reply.usage, cost),
            Entry::Done { key, reply, cost, call: number, .. } => {
                let is_done = self.calls.get(&key).is_some_and(|call| call.state == State::Done);
                let number = number.as_deref().unwrap_or_default();
                if is_done {
                    // What is answered stays; a call that was paid for is not forgotten for that.
                    return self.surplus(number, reply.usage, cost);
                }
                let open = self.open.remove(number);
                let call = self.calls.entry(key).or_default();
                if let Some(OpenCall { model, purpose, started, .. }) = open {
                    (call.model, call.purpose, call.started) = (model, purpose, started);
                }
                (call.state, call.usage, call.cost) = (State::Done, reply.usage, cost);
                (call.reply, call.is_old) = (Some(reply), false);
            }
            Entry::Failed { call: Some(call), .. } => self.end(&call, |others| others.failed += 1),
            Entry::Failed { key, .. } => {
                let call = self.calls.entry(key).or_default();
                if call.state != State::Done {
                    call.state = State::Failed;
                }
            }
            Entry::Embedded { key, model, tokens, cost, at, .. } => {
                let call = self.calls.entry(key).or_default();
                (call.model, call.purpose) = (model, "embedding".into());
                call.started = if call.state == State::Done { call.started } else { at };
                call.state = State::Done;
                call.usage += Usage { input: tokens, ..Usage::default() };
                call.cost = match (call.cost, cost) {
                    (Some(before), Some(now)) => Some(before + now),
                    (before, now) => now.or(before),
                };
            }
            Entry::Learned { endpoint, model, dialect } => {
                self.dialects.insert((endpoint, model), dialect);
            }
            Entry::Submitting { number, endpoint, model, tag, keys, at } => {
                let batch = Batch { number, tag, id: None, submitted: at, keys };
                self.last_batch = self.last_batch.max(number);
                self.batches.insert(number, OpenBatch { endpoint, model, batch });
            }
            Entry::Submitted { number, id } => {
                if let Some(open) = self.batches.get_mut(&number) {
                    open.batch.id = Some(id);
                }
            }
            Entry::Closed { number, .. } => drop(self.batches.remove(&number)),
        }
    }
}
