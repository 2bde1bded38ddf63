//! How is a call booked that many workers could make?
//!
//! Each has a number of its own and says, before it is sent, what it may cost at most. Until the ledger knows
//! its end it counts that much: whoever dies on the way, or is never heard of again, leaves no call behind
//! that a bill has and the ledger has not.

use super::ledger::{Entry, now};
use crate::chat::{Price, Prompt, Reply, Usage};

/// The most that a request may cost, in US dollars.
pub fn most(price: Price, prompt: &Prompt) -> f64 {
    let (_, input) = prompt.tokens();
    let input = input as u64;
    let most = Usage { input, written: input, output: prompt.max_output_tokens.into(), cached: 0 };
    // What is read costs the plain price where the server has no other for writing its cache.
    price.of(&most).max(price.of(&Usage { written: 0, ..most })).max(0.0)
}

/// One request, from before it is sent until its end is known. What it gives are records of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Booking {
    /// Its number, which no other has.
    pub call: String,
    /// The prompt.
    pub key: String,
    /// The most that it may cost, where prices are known.
    pub most: Option<f64>,
}

impl Booking {
    /// It is about to be sent to this model, at an endpoint as it may be written down.
    pub fn started(&self, model: &str, endpoint: &str, purpose: &str) -> Vec<u8> {
        let [model, endpoint, purpose] = [model, endpoint, purpose].map(str::to_owned);
        let (key, call) = (self.key.clone(), Some(self.call.clone()));
        let (at, most) = (now(), self.most);
        record(&Entry::Started { key, model, endpoint, purpose, at, call, most })
    }

    /// It was answered.
    pub fn done(&self, reply: &Reply, cost: Option<f64>) -> Vec<u8> {
        let (key, call) = (self.key.clone(), Some(self.call.clone()));
        record(&Entry::Done { key, reply: reply.clone(), cost, at: now(), call })
    }

    /// It was answered after somebody else had taken the work over.
    pub fn surplus(&self, reply: &Reply, cost: Option<f64>) -> Vec<u8> {
        let (key, call) = (self.key.clone(), self.call.clone());
        record(&Entry::Surplus { key, reply: reply.clone(), cost, at: now(), call })
    }

    /// It failed, and costs nothing.
    pub fn failed(&self, error: &str) -> Vec<u8> {
        let (key, call) = (self.key.clone(), Some(self.call.clone()));
        record(&Entry::Failed { key, error: error.to_owned(), at: now(), call })
    }
}

fn record(entry: &Entry) -> Vec<u8> {
    serde_json::to_vec(entry).expect("plain data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atlas::{Atlas, Replays, Spend};
    use crate::chat::Finish;
    use crate::store::{Log, Memory, Store};

    fn booking(call: &str, key: &str) -> Booking {
        Booking { call: call.into(), key: key.into(), most: Some(0.5) }
    }

    fn reply(text: &str) -> Reply {
        let usage = Usage { input: 10, output: 1, ..Usage::default() };
        Reply { text: text.into(), usage, finish: Finish::Stop, model: "m-1".into() }
    }

    fn spend(records: &[Vec<u8>]) -> (Spend, Option<String>) {
        let store = Memory::new();
        store.append(Log::Ledger, records).unwrap();
        let ledger = Atlas::new(store).ledger(Replays::All).unwrap();
        let answer = ledger.reply("k").unwrap().map(|reply| reply.text);
        (ledger.spend().unwrap().remove(0), answer)
    }

    #[test]
    fn a_call_counts_at_its_most_until_its_end_is_known() {
        let (one, two) = (booking("1", "k"), booking("2", "k"));
        let start = |booking: &Booking| booking.started("m", "here", "page");
        let (begun, none) = spend(&[start(&one), start(&two)]);
        assert_eq!((begun.unfinished, begun.unknown_usd, none), (2, 1.0, None));
        // The second worker is answered; of the first nothing is known.
        let answered = [start(&one), start(&two), two.done(&reply("two"), Some(0.1))];
        let (spent, answer) = spend(&answered);
        assert_eq!((spent.calls, spent.unfinished, spent.cost_usd), (1, 1, 0.1));
        assert_eq!((spent.unknown_usd, answer.as_deref()), (0.5, Some("two")));
        // It comes back late: it was paid for, and another answer counts.
        let late = one.surplus(&reply("one"), Some(0.2));
        let (spent, answer) = spend(&[&answered[..], &[late.clone(), late]].concat());
        assert_eq!((spent.calls, spent.surplus, spent.unfinished), (1, 1, 0));
        assert!((spent.cost_usd - 0.3).abs() < 1e-12 && spent.unknown_usd == 0.0, "{spent:?}");
        assert_eq!((spent.usage.input, answer.as_deref()), (20, Some("two")));
    }

    #[test]
    fn a_second_answer_is_paid_for_and_not_taken() {
        let (one, two) = (booking("1", "k"), booking("2", "k"));
        let start = |booking: &Booking| booking.started("m", "here", "page");
        let done = [one.done(&reply("one"), Some(0.1)), two.done(&reply("two"), Some(0.1))];
        let (spent, answer) = spend(&[&[start(&one), start(&two)][..], &done].concat());
        assert_eq!((spent.calls, spent.surplus, answer.as_deref()), (1, 1, Some("one")));
        let (spent, _) = spend(&[start(&one), one.failed("busy")]);
        assert_eq!((spent.failed, spent.unfinished, spent.unknown_usd), (1, 0, 0.0));
    }
}
