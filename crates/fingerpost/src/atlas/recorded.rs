//! How is a model asked so that no answer is paid for twice, and no more than allowed?
//!
//! [`Recorded`] stands before a model: it answers from the ledger what the ledger knows, keeps the
//! user's limits, and writes down everything else. [`Outbox`] stands in for a model that is asked
//! elsewhere, in a batch or by hand: it answers from the ledger too, and gathers what is missing.

use std::sync::Mutex;

use super::AtlasError;
use super::ledger::Ledger;
use crate::chat::{Chat, ChatError, Price, Prompt, Reply, Usage};

/// What may be spent in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// US dollars.
    pub max_cost: Option<f64>,
    /// Calls.
    pub max_calls: Option<u64>,
}

/// What was spent in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Calls made and answered.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Answers taken from the ledger, for nothing.
    pub known: u64,
    /// Tokens of the calls made.
    pub usage: Usage,
    /// Their cost in US dollars, as far as prices are known.
    pub cost: f64,
}

/// A model whose every answer is on disk before it is used.
pub struct Recorded<'a> {
    chat: &'a dyn Chat,
    ledger: &'a Ledger,
    endpoint: String,
    price: Option<Price>,
    budget: Budget,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spent: Spent,
    /// Calls under way, and the most they may cost.
    under_way: u64,
    reserved: f64,
}

impl<'a> Recorded<'a> {
    /// The same model, written down. A limit on cost needs a price to keep it.
    pub fn new(
        chat: &'a dyn Chat,
        ledger: &'a Ledger,
        endpoint: impl Into<String>,
        price: Option<Price>,
        budget: Budget,
    ) -> Self {
        let state = Mutex::default();
        Self { chat, ledger, endpoint: endpoint.into(), price, budget, state }
    }

    /// What was spent so far.
    pub fn spent(&self) -> Spent {
        self.state().spent
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding it")
    }

    /// Sets aside the most that a call may cost, so that calls side by side keep the limit too.
    fn reserve(&self, prompt: &Prompt) -> Result<f64, ChatError> {
        let (_, input) = prompt.tokens();
        let most = Usage {
            input: input as u64,
            written: input as u64,
            output: prompt.max_output_tokens.into(),
            cached: 0,
        };
        let most = self.price.map_or(0.0, |price| price.of(&most).max(0.0));
        let mut state = self.state();
        let stop = |message: String| Err(ChatError::Budget { message });
        if let Some(max) = self.budget.max_calls
            && state.spent.calls + state.spent.failed + state.under_way >= max
        {
            return stop(format!("the limit of {max} calls is reached"));
        }
        if let Some(max) = self.budget.max_cost {
            if self.price.is_none() {
                return stop("a limit on cost cannot be kept without a price".into());
            }
            let spent = state.spent.cost;
            if spent + state.reserved + most > max {
                return stop(format!(
                    "${spent:.4} of ${max:.4} are spent, and the next call may cost ${most:.4}"
                ));
            }
        }
        state.under_way += 1;
        state.reserved += most;
        Ok(most)
    }
}

fn unwritten(error: AtlasError) -> ChatError {
    ChatError::Ledger { message: error.to_string() }
}

impl Chat for Recorded<'_> {
    fn id(&self) -> &str {
        self.chat.id()
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        let key = prompt.key(self.id());
        if let Some(reply) = self.ledger.reply(&key).map_err(unwritten)? {
            self.state().spent.known += 1;
            return Ok(reply);
        }
        let reserved = self.reserve(prompt)?;
        let result = self
            .ledger
            .start(&key, self.id(), &self.endpoint, prompt.purpose())
            .map_err(unwritten)
            .and_then(|()| self.chat.complete(prompt));
        let cost = match (&result, self.price) {
            (Ok(reply), Some(price)) => Some(price.of(&reply.usage)),
            _ => None,
        };
        let written = match &result {
            Ok(reply) => self.ledger.finish(&key, reply, cost),
            Err(error) => self.ledger.fail(&key, &error.to_string()),
        };
        let mut state = self.state();
        state.under_way -= 1;
        state.reserved -= reserved;
        match &result {
            Ok(reply) => {
                state.spent.calls += 1;
                state.spent.usage += reply.usage;
                state.spent.cost += cost.unwrap_or(0.0);
            }
            Err(_) => state.spent.failed += 1,
        }
        drop(state);
        written.map_err(unwritten)?;
        result
    }
}

/// A model that is asked elsewhere.
pub struct Outbox<'a> {
    model: String,
    ledger: &'a Ledger,
    waiting: Mutex<Vec<(String, Prompt)>>,
    known: Mutex<u64>,
}

impl<'a> Outbox<'a> {
    /// Answers what the ledger knows of this model, and gathers the rest.
    pub fn new(model: impl Into<String>, ledger: &'a Ledger) -> Self {
        let (waiting, known) = Default::default();
        Self { model: model.into(), ledger, waiting, known }
    }

    /// What the ledger does not know, each with its key, in the order it was asked for.
    pub fn into_waiting(self) -> Vec<(String, Prompt)> {
        self.waiting.into_inner().expect("nothing panics while holding it")
    }

    /// How many answers the ledger knew.
    pub fn known(&self) -> u64 {
        *self.known.lock().expect("nothing panics while holding it")
    }
}

impl Chat for Outbox<'_> {
    fn id(&self) -> &str {
        &self.model
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        let key = prompt.key(&self.model);
        if let Some(reply) = self.ledger.reply(&key).map_err(unwritten)? {
            *self.known.lock().expect("nothing panics while holding it") += 1;
            return Ok(reply);
        }
        let mut waiting = self.waiting.lock().expect("nothing panics while holding it");
        waiting.push((key, prompt.clone()));
        Err(ChatError::Deferred)
    }
}
