//! How is a model asked so that no answer is paid for twice, and no more than allowed?
//!
//! [`Recorded`] stands before a model: it answers from the ledger what the ledger knows, keeps the
//! user's limits, and writes down everything else. [`Outbox`] stands in for a model that is asked
//! elsewhere, in a batch or by hand: it answers from the ledger too, and gathers what is missing.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::ledger::Ledger;
use crate::chat::{Chat, ChatError, Doubt, Leave, Price, Prompt, Reply, Usage, public_address};
use crate::store::StoreError;

/// What may be spent in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Budget {
    /// US dollars.
    pub max_cost: Option<f64>,
    /// Requests that are sent, those included that come to nothing.
    pub max_calls: Option<u64>,
}

impl Budget {
    /// Limits that can be kept.
    pub fn new(max_cost: Option<f64>, max_calls: Option<u64>) -> Result<Self, ChatError> {
        match max_cost {
            Some(cost) if !cost.is_finite() || cost < 0.0 => {
                let message = format!("{cost} is no limit on cost: it is zero or more US dollars");
                Err(ChatError::Budget { message })
            }
            _ => Ok(Self { max_cost, max_calls }),
        }
    }
}

/// What was spent in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Calls made and answered.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Requests sent: a call that meets trouble takes several.
    pub requests: u64,
    /// Requests whose answers were lost on the way, so that they may have to be paid for.
    pub lost: u64,
    /// The most that these may have cost, in US dollars.
    pub at_risk: f64,
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
    /// Calls under way by the key of their prompt.
    flights: Mutex<BTreeMap<String, Arc<Flight>>>,
}

#[derive(Default)]
struct State {
    spent: Spent,
    /// Calls under way, and the most they may cost.
    under_way: u64,
    reserved: f64,
}

impl<'a> Recorded<'a> {
    /// The same model, written down. A limit on cost needs a price to keep it. Of the endpoint's address
    /// only what is public is kept.
    pub fn new(
        chat: &'a dyn Chat,
        ledger: &'a Ledger,
        endpoint: impl Into<String>,
        price: Option<Price>,
        budget: Budget,
    ) -> Self {
        let endpoint = public_address(&endpoint.into());
        let (state, flights) = Default::default();
        Self { chat, ledger, endpoint, price, budget, state, flights }
    }

    /// What was spent so far.
    pub fn spent(&self) -> Spent {
        lock(&self.state).spent
    }

    /// Asks what the ledger does not know.
    fn ask(&self, key: &str, prompt: &Prompt) -> Result<Reply, ChatError> {
        if let Some(reply) = self.ledger.reply(key).map_err(unwritten)? {
            lock(&self.state).spent.known += 1;
            return Ok(reply);
        }
        let call = Call::begin(self, prompt)?;
        let result = self
            .ledger
            .start(key, self.id(), &self.endpoint, prompt.purpose())
            .map_err(unwritten)
            .and_then(|()| self.chat.complete_within(prompt, &call))
            .map(|reply| Reply { usage: reply.usage.bounded(), ..reply });
        let cost = match (&result, self.price) {
            (Ok(reply), Some(price)) => Some(price.of(&reply.usage)),
            _ => None,
        };
        let written = match &result {
            Ok(reply) => self.ledger.finish(key, reply, cost),
            Err(error) => self.ledger.fail(key, &error.to_string()),
        };
        call.end(&result, cost);
        written.map_err(unwritten)?;
        result
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while holding it")
}

fn unwritten(error: StoreError) -> ChatError {
    ChatError::Ledger { message: error.to_string() }
}

/// A call within the limits. The most that a request may cost is set aside before it is sent, so that
/// calls side by side keep the limit too.
struct Call<'a> {
    recorded: &'a Recorded<'a>,
    /// The most that one request may cost.
    most: f64,
    /// A request was sent.
    sent: Cell<bool>,
    /// The answer to the last one was lost.
    lost: Cell<bool>,
    /// What is set aside for the request under way.
    reserved: Cell<f64>,
}

impl<'a> Call<'a> {
    fn begin(recorded: &'a Recorded<'a>, prompt: &Prompt) -> Result<Self, ChatError> {
        let most = recorded.price.map_or(0.0, |price| super::most(price, prompt));
        let [sent, lost] = [false, false].map(Cell::new);
        let call = Self { recorded, most, sent, lost, reserved: Cell::new(0.0) };
        let mut state = lock(&recorded.state);
        call.reserve(&mut state)?;
        state.under_way += 1;
        drop(state);
        Ok(call)
    }

    /// Counts one request more, if that is allowed.
    fn reserve(&self, state: &mut State) -> Result<(), ChatError> {
        let stop = |message: String| Err(ChatError::Budget { message });
        let Budget { max_cost, max_calls } = self.recorded.budget;
        if let Some(max) = max_calls
            && state.spent.requests >= max
        {
            return stop(format!("the limit of {max} calls is reached, failed tries counted"));
        }
        if let Some(max) = max_cost {
            if self.recorded.price.is_none() {
                return stop("a limit on cost cannot be kept without a price".into());
            }
            let Spent { cost, at_risk, .. } = state.spent;
            let (spent, most) = (cost + at_risk, self.most);
            let needed = spent + state.reserved + most;
            if max.is_nan() || needed > max {
                return stop(format!(
                    "${spent:.4} of ${max:.4} are spent, and the next call may cost ${most:.4}"
                ));
            }
        }
        state.spent.requests += 1;
        state.reserved += self.most;
        self.reserved.set(self.most);
        Ok(())
    }

    /// What is set aside is free again, or gone with an answer that was lost.
    fn release(&self, state: &mut State) {
        state.reserved -= self.reserved.take();
        if self.lost.take() {
            state.spent.lost += 1;
            state.spent.at_risk += self.most;
        }
    }

    fn end(self, result: &Result<Reply, ChatError>, cost: Option<f64>) {
        let mut state = lock(&self.recorded.state);
        self.release(&mut state);
        state.under_way -= 1;
        if state.under_way == 0 {
            // Sums of fractions leave a rest.
            state.reserved = 0.0;
        }
        let spent = &mut state.spent;
        if !self.sent.get() {
            spent.requests -= 1;
        }
        match result {
            Ok(reply) => {
                spent.calls += 1;
                spent.usage += reply.usage;
                spent.cost += cost.unwrap_or(0.0);
            }
            Err(_) => spent.failed += 1,
        }
    }
}

impl Leave for Call<'_> {
    fn to_send(&self) -> Result<(), ChatError> {
        // The first request was counted when the call began.
        if self.sent.replace(true) {
            let mut state = lock(&self.recorded.state);
            self.release(&mut state);
            self.reserve(&mut state)?;
        }
        Ok(())
    }

    fn lost(&self) {
        self.lost.set(true);
    }
}

/// A call that others wait for who ask the same.
#[derive(Default)]
struct Flight {
    result: Mutex<Option<Result<Reply, ChatError>>>,
    landed: Condvar,
}

/// Whoever asked first; the others hear what came of it even if this one panics.
struct Pilot<'a> {
    recorded: &'a Recorded<'a>,
    key: &'a str,
    flight: Arc<Flight>,
}

impl<'a> Pilot<'a> {
    /// The pilot of a prompt that nobody is asking, or else what the one who does is answered.
    fn of(recorded: &'a Recorded<'a>, key: &'a str) -> Result<Self, Result<Reply, ChatError>> {
        let flight = {
            let mut flights = lock(&recorded.flights);
            match flights.get(key) {
                Some(flight) => Arc::clone(flight),
                None => {
                    let flight = Arc::<Flight>::default();
                    flights.insert(key.to_owned(), Arc::clone(&flight));
                    return Ok(Self { recorded, key, flight });
                }
            }
        };
        let mut result = lock(&flight.result);
        while result.is_none() {
            result = flight.landed.wait(result).expect("nothing panics while holding it");
        }
        Err(result.clone().expect("it has landed"))
    }

    fn land(self, result: &Result<Reply, ChatError>) {
        *lock(&self.flight.result) = Some(result.clone());
    }
}

impl Drop for Pilot<'_> {
    fn drop(&mut self) {
        // Whoever asks from now on finds the answer in the ledger.
        lock(&self.recorded.flights).remove(self.key);
        let broken = || Err(ChatError::Failed { message: "the call broke off".into() });
        lock(&self.flight.result).get_or_insert_with(broken);
        self.flight.landed.notify_all();
    }
}

impl Chat for Recorded<'_> {
    fn id(&self) -> &str {
        self.chat.id()
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        let key = prompt.key(self.id());
        match Pilot::of(self, &key) {
            Ok(pilot) => {
                let result = self.ask(&key, prompt);
                pilot.land(&result);
                result
            }
            Err(result) => {
                if result.is_ok() {
                    lock(&self.state).spent.known += 1;
                }
                result
            }
        }
    }

    fn doubt(&self) -> Option<Doubt> {
        self.chat.doubt()
    }
}

/// A model that is asked elsewhere.
pub struct Outbox<'a> {
    model: String,
    ledger: &'a Ledger,
    gathered: Mutex<Gathered>,
}

#[derive(Default)]
struct Gathered {
    waiting: Vec<(String, Prompt)>,
    /// Requests may repeat; a prompt is asked once.
    keys: BTreeSet<String>,
    known: u64,
}

impl<'a> Outbox<'a> {
    /// Answers what the ledger knows of this model, and gathers the rest.
    pub fn new(model: impl Into<String>, ledger: &'a Ledger) -> Self {
        Self { model: model.into(), ledger, gathered: Mutex::default() }
    }

    /// What the ledger does not know, each prompt once with its key, in the order it was asked for.
    pub fn into_waiting(self) -> Vec<(String, Prompt)> {
        self.gathered.into_inner().expect("nothing panics while holding it").waiting
    }

    /// How many answers the ledger knew.
    pub fn known(&self) -> u64 {
        lock(&self.gathered).known
    }
}

impl Chat for Outbox<'_> {
    fn id(&self) -> &str {
        &self.model
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        let key = prompt.key(&self.model);
        if let Some(reply) = self.ledger.reply(&key).map_err(unwritten)? {
            lock(&self.gathered).known += 1;
            return Ok(reply);
        }
        let mut gathered = lock(&self.gathered);
        if gathered.keys.insert(key.clone()) {
            gathered.waiting.push((key, prompt.clone()));
        }
        Err(ChatError::Deferred)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::atlas::{Atlas, Replays};
    use crate::chat::{Finish, Message, Speaker};
    use crate::store::Folder;

    /// Sends so many requests a call, of which all but the last are lost; takes its time.
    struct Transport {
        requests: u64,
        sent: AtomicU64,
    }

    impl Chat for Transport {
        fn id(&self) -> &str {
            "m"
        }

        fn complete(&self, _: &Prompt) -> Result<Reply, ChatError> {
            unreachable!("within limits only")
        }

        fn complete_within(&self, _: &Prompt, leave: &dyn Leave) -> Result<Reply, ChatError> {
            for request in 1..=self.requests {
                leave.to_send()?;
                self.sent.fetch_add(1, Ordering::SeqCst);
                if request < self.requests {
                    leave.lost();
                }
            }
            std::thread::sleep(Duration::from_millis(50));
            let usage = Usage { input: u64::MAX, cached: 1, written: u64::MAX, output: 10 };
            Ok(Reply { text: "x".into(), usage, finish: Finish::Stop, model: "m-1".into() })
        }
    }

    fn prompt(text: &str) -> Prompt {
        Prompt {
            system: String::new(),
            shared: String::new(),
            messages: vec![Message { role: Speaker::User, text: text.into() }],
            schema: None,
            max_output_tokens: 1_000_000,
            temperature: 0.0,
            seed: 1,
            attempt: 0,
        }
    }

    fn with(requests: u64, budget: Budget, work: impl FnOnce(&Recorded<'_>, &Transport)) {
        let folder = tempfile::tempdir().unwrap();
        let ledger =
            Atlas::new(Folder::at(folder.path().join("atlas"))).ledger(Replays::All).unwrap();
        let transport = Transport { requests, sent: AtomicU64::new(0) };
        // A request may cost a dollar.
        let price = Some(Price { input: 0.0, cached: 0.0, written: 0.0, output: 1.0 });
        let recorded = Recorded::new(&transport, &ledger, "http://h/v1?key=s", price, budget);
        work(&recorded, &transport);
        assert_eq!(ledger.spend().unwrap()[0].model, "m", "the ledger can still be read");
    }

    #[test]
    fn every_request_counts_and_not_every_call() {
        let budget = Budget { max_calls: Some(7), max_cost: None };
        with(3, budget, |recorded, transport| {
            let ask = |text| recorded.complete(&prompt(text));
            assert!(ask("a").is_ok() && ask("b").is_ok());
            assert!(matches!(ask("c"), Err(ChatError::Budget { .. })), "six, and one of three");
            assert_eq!((transport.sent.load(Ordering::SeqCst), recorded.spent().requests), (7, 7));
            assert!(matches!(ask("d"), Err(ChatError::Budget { .. })));
            assert_eq!(recorded.spent().requests, 7, "what is not sent does not count");
        });
    }

    #[test]
    fn an_answer_that_is_lost_may_have_to_be_paid() {
        let budget = Budget { max_cost: Some(3.5), max_calls: None };
        with(2, budget, |recorded, transport| {
            assert!(recorded.complete(&prompt("a")).is_ok());
            let spent = recorded.spent();
            assert_eq!((spent.lost, spent.at_risk), (1, 1.0));
            // Two more may cost two: the second of these is lost, and then there is no room.
            assert!(recorded.complete(&prompt("b")).is_ok());
            assert!(matches!(recorded.complete(&prompt("c")), Err(ChatError::Budget { .. })));
            assert_eq!(transport.sent.load(Ordering::SeqCst), 5);
            assert!(spent.cost.is_finite() && lock(&recorded.state).reserved == 0.0);
        });
    }

    #[test]
    fn a_limit_is_a_sum_of_money() {
        for cost in [f64::NAN, f64::INFINITY, -1.0] {
            let error = Budget::new(Some(cost), None).unwrap_err().to_string();
            assert!(error.contains("zero or more"), "{error}");
        }
        assert!(Budget::new(Some(0.0), Some(0)).is_ok());
        let never = Budget { max_cost: Some(f64::NAN), max_calls: None };
        with(1, never, |recorded, transport| {
            assert!(recorded.complete(&prompt("a")).is_err());
            assert_eq!(transport.sent.load(Ordering::SeqCst), 0);
            recorded.ledger.start("k", "m", "here", "page").unwrap();
        });
    }

    #[test]
    fn who_asks_the_same_at_the_same_time_is_answered_once() {
        with(1, Budget::default(), |recorded, transport| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| recorded.complete(&prompt("a")).unwrap());
                }
            });
            let spent = recorded.spent();
            assert_eq!((spent.calls, spent.known), (1, 3));
            assert_eq!(transport.sent.load(Ordering::SeqCst), 1);
        });
    }
}
