//! How does a worker ask a model for a unit, within the limits of all workers?
//!
//! Stands before the model, as [`fingerpost::atlas::Recorded`] does where one process asks. An answer is booked
//! together with what comes of it: before the next request, or with the end of the unit.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fingerpost::atlas::{Booking, Ledger, Spent, most};
use fingerpost::chat::{Chat, ChatError, Doubt, Leave, Price, Prompt, Reply};
use fingerpost::store::StoreError;

use super::lease::Lease;
use super::units::{Beginning, Begun, End, Finish};
use crate::store::token;

/// What an answer takes as a rule, in tokens.
const LIKELY_OUTPUT: usize = 350;

/// A longer wait looks up this often.
const GLANCE: Duration = Duration::from_millis(50);

/// The model as it is asked for one unit.
pub(super) struct Desk<'a> {
    pub(super) chat: &'a dyn Chat,
    pub(super) ledger: &'a Ledger,
    pub(super) endpoint: &'a str,
    pub(super) price: Option<Price>,
    pub(super) lease: &'a Lease,
    pub(super) cancel: &'a AtomicBool,
    pub(super) state: Mutex<State>,
}

/// What came of the unit so far.
#[derive(Default)]
pub(super) struct State {
    /// An answer that is not booked yet.
    held: Option<(String, End)>,
    /// Is the unit somebody else's by now?
    pub(super) lost: bool,
    pub(super) spent: Spent,
    /// The last trouble with the model.
    pub(super) trouble: Option<ChatError>,
}

impl Desk<'_> {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Books what is not booked yet, with the end of the unit if it is done. Says whether the unit is still ours.
    pub(super) fn settle(&self, finish: Option<Finish>) -> Result<bool, StoreError> {
        let held = self.state().held.take();
        if held.is_none() && finish.is_none() {
            return Ok(!self.state().lost);
        }
        let is_ours = self.lease.end(held, finish)?;
        self.state().lost |= !is_ours;
        Ok(is_ours)
    }

    fn ask(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        if !self.settle(None).map_err(unwritten)? {
            return Err(ChatError::Deferred);
        }
        let key = prompt.key(self.id());
        if let Some(reply) = self.ledger.reply(&key).map_err(unwritten)? {
            self.state().spent.known += 1;
            return Ok(reply);
        }
        let call =
            Request { desk: self, prompt, key, sent: RefCell::default(), lost: Cell::new(false) };
        let result = self.chat.complete_within(prompt, &call);
        call.end(result)
    }

    /// Waits for a turn; false if somebody wants an end.
    fn wait(&self, seconds: f64) -> bool {
        let end = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0));
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            if self.cancel.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(left.min(GLANCE));
        }
    }
}

fn unwritten(error: StoreError) -> ChatError {
    let why = std::error::Error::source(&error).map_or_else(String::new, |why| format!(": {why}"));
    ChatError::Ledger { message: format!("{error}{why}") }
}

/// A call: each request that it sends is booked by itself. One whose answer was lost stays open in the
/// ledger, at its most.
struct Request<'a> {
    desk: &'a Desk<'a>,
    prompt: &'a Prompt,
    key: String,
    sent: RefCell<Option<Booking>>,
    lost: Cell<bool>,
}

impl Request<'_> {
    /// The request before this one came to nothing, and it is known that it costs nothing.
    fn fail(&self, why: &str) -> Result<(), StoreError> {
        let sent = self.sent.borrow_mut().take();
        let Some(sent) = sent else { return Ok(()) };
        let mut state = self.desk.state();
        if self.lost.take() {
            state.spent.lost += 1;
            state.spent.at_risk += sent.most.unwrap_or(0.0);
            return Ok(());
        }
        state.spent.failed += 1;
        drop(state);
        let end = End::Failed(sent.failed(why));
        let is_ours = self.desk.lease.end(Some((sent.call, end)), None)?;
        self.desk.state().lost |= !is_ours;
        Ok(())
    }

    fn end(&self, result: Result<Reply, ChatError>) -> Result<Reply, ChatError> {
        let reply = match result {
            Ok(reply) => reply,
            Err(error) => {
                self.fail(&error.to_string()).map_err(unwritten)?;
                self.desk.state().trouble = Some(error.clone());
                return Err(error);
            }
        };
        let reply = Reply { usage: reply.usage.bounded(), ..reply };
        // A model that sends nothing needs no booking.
        let Some(sent) = self.sent.borrow_mut().take() else { return Ok(reply) };
        let cost = self.desk.price.map(|price| price.of(&reply.usage));
        let end = End::Answered {
            done: sent.done(&reply, cost),
            surplus: sent.surplus(&reply, cost),
            usage: reply.usage,
            cost: cost.unwrap_or(0.0),
        };
        let mut state = self.desk.state();
        state.spent.calls += 1;
        state.spent.usage += reply.usage;
        state.spent.cost += cost.unwrap_or(0.0);
        state.held = Some((sent.call, end));
        Ok(reply)
    }
}

impl Leave for Request<'_> {
    fn to_send(&self) -> Result<(), ChatError> {
        let desk = self.desk;
        self.fail("it is made again").map_err(unwritten)?;
        let call = token().map_err(unwritten)?;
        let call: String = call.iter().map(|byte| format!("{byte:02x}")).collect();
        let most = desk.price.map(|price| most(price, self.prompt));
        let booking = Booking { call, key: self.key.clone(), most };
        let (_, input) = self.prompt.tokens();
        let output = LIKELY_OUTPUT.min(self.prompt.max_output_tokens as usize);
        let beginning = Beginning {
            call: booking.call.clone(),
            most: most.unwrap_or(0.0),
            tokens: i64::try_from(input + output).unwrap_or(i64::MAX),
            record: booking.started(desk.chat.id(), desk.endpoint, self.prompt.purpose()),
        };
        match desk.lease.begin(&beginning).map_err(unwritten)? {
            Begun::After(seconds) => {
                *self.sent.borrow_mut() = Some(booking);
                desk.state().spent.requests += 1;
                if desk.wait(seconds) { Ok(()) } else { Err(ChatError::Cancelled) }
            }
            Begun::Over(message) => Err(ChatError::Budget { message }),
            Begun::Lost => {
                desk.state().lost = true;
                Err(ChatError::Deferred)
            }
        }
    }

    fn lost(&self) {
        self.lost.set(true);
    }
}

impl Chat for Desk<'_> {
    fn id(&self) -> &str {
        self.chat.id()
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        self.ask(prompt)
    }

    fn doubt(&self) -> Option<Doubt> {
        self.chat.doubt()
    }
}
