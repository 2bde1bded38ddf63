//! What was every model asked, what did it answer, and what did that cost?
//!
//! A call is written down before it is made, and its answer before anything uses it, both safe when
//! the writing returns: a kill at any moment loses the calls under way and no other, and the next
//! run takes what was answered from here instead of paying again. The ledger is a log: every start,
//! answer and failure is a record, and nothing in it is changed or computed anew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::known::{Call, Known, State};
use crate::chat::{Recording, Reply, Usage};
use crate::store::old::{OldAtlas, OldError};
use crate::store::{Log, Store, StoreError};

/// Are answers that are in the ledger already given as if they had just come?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replays {
    /// Yes: they were paid for by whoever asks.
    All,
    /// Only those of this run: the others came with somebody else's atlas, and could say anything.
    OwnOnly,
}

/// The ledger of an atlas, open.
pub struct Ledger {
    store: Arc<dyn Store>,
    replays: Replays,
    known: Mutex<Known>,
}

/// One record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// A call is about to be made. Where many workers share a ledger each call has a number of its own, and
    /// says what it may cost at most: until it has an end, that is what it counts.
    Started {
        key: String,
        model: String,
        endpoint: String,
        purpose: String,
        at: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<f64>,
    },
    /// It was answered.
    Done {
        key: String,
        reply: Reply,
        cost: Option<f64>,
        at: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// It was answered after somebody else had taken the work over: paid for, and not used.
    Surplus { key: String, reply: Reply, cost: Option<f64>, at: i64, call: String },
    /// It failed; it may be made again.
    Failed {
        key: String,
        error: String,
        at: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// Texts were embedded. Their vectors are kept elsewhere.
    Embedded {
        key: String,
        model: String,
        endpoint: String,
        tokens: u64,
        cost: Option<f64>,
        at: i64,
    },
    /// How an endpoint wants to be asked.
    Learned { endpoint: String, model: String, dialect: String },
    /// A batch is about to be submitted.
    Submitting {
        number: i64,
        endpoint: String,
        model: String,
        tag: String,
        keys: Vec<String>,
        at: i64,
    },
    /// The server took it and calls it this.
    Submitted { number: i64, id: String },
    /// Its answers are in, or it came to nothing.
    Closed { number: i64, answered: bool },
}

/// Why the records of another ledger could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// They could not be read.
    #[error(transparent)]
    Old(#[from] OldError),
    /// They could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was spent on one model for one purpose on one day.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Spend {
    /// The day the calls were made (UTC).
    pub day: String,
    /// The model.
    pub model: String,
    /// What for: a page, a choice, an embedding.
    pub purpose: String,
    /// Calls that were answered.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that never came back: killed on the way, or under way now.
    pub unfinished: u64,
    /// Calls of workers whose answers came when somebody else had taken the work over: paid for, and not used.
    pub surplus: u64,
    /// Tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// Dollars, for the calls whose price was known.
    pub cost_usd: f64,
    /// Dollars that unfinished calls of workers may have cost at most: what came of them is unknown.
    pub unknown_usd: f64,
    /// Calls whose price was not.
    pub unpriced: u64,
}

/// A batch under way at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Our number of it.
    pub number: i64,
    /// What we call it there: a digest of what it asks.
    pub tag: String,
    /// The server's name of it; `None` if we died before it was told.
    pub id: Option<String>,
    /// When it was submitted, in milliseconds since 1970.
    pub submitted: i64,
    /// The prompts in it.
    pub keys: Vec<String>,
}

impl Ledger {
    pub(super) fn open(store: Arc<dyn Store>, replays: Replays) -> Result<Self, StoreError> {
        let ledger = Self { store, replays, known: Mutex::default() };
        let mut known = ledger.known()?;
        known.calls.values_mut().for_each(|call| call.is_old = true);
        drop(known);
        Ok(ledger)
    }

    /// How many answers are here that do not count, because they came with somebody else's atlas.
    pub fn withheld(&self) -> Result<usize, StoreError> {
        let known = self.known()?;
        let old = known.calls.values().filter(|call| call.is_old && call.reply.is_some()).count();
        Ok(if self.replays == Replays::OwnOnly { old } else { 0 })
    }

    /// The answer to a prompt, if there is one.
    pub fn reply(&self, key: &str) -> Result<Option<Reply>, StoreError> {
        let known = self.known()?;
        let counts = |call: &&Call| self.replays == Replays::All || !call.is_old;
        Ok(known.calls.get(key).filter(counts).and_then(|call| call.reply.clone()))
    }

    /// A call is about to be made.
    pub fn start(
        &self,
        key: &str,
        model: &str,
        endpoint: &str,
        purpose: &str,
    ) -> Result<(), StoreError> {
        let [key, model, endpoint, purpose] = [key, model, endpoint, purpose].map(str::to_owned);
        let (call, most) = (None, None);
        self.append(Entry::Started { key, model, endpoint, purpose, at: now(), call, most })
    }

    /// A call was answered. What is answered stays: a second answer to the same prompt is not kept.
    pub fn finish(&self, key: &str, reply: &Reply, cost: Option<f64>) -> Result<(), StoreError> {
        let (key, reply) = (key.to_owned(), reply.clone());
        self.append(Entry::Done { key, reply, cost, at: now(), call: None })
    }

    /// A call failed; it may be made again.
    pub fn fail(&self, key: &str, error: &str) -> Result<(), StoreError> {
        let (key, error) = (key.to_owned(), error.to_owned());
        self.append(Entry::Failed { key, error, at: now(), call: None })
    }

    /// Texts were embedded. Their vectors are kept elsewhere, by what they are vectors of; a request
    /// that was made twice was paid twice.
    pub fn embedded(
        &self,
        key: &str,
        model: &str,
        endpoint: &str,
        tokens: u64,
        cost: Option<f64>,
    ) -> Result<(), StoreError> {
        let [key, model, endpoint] = [key, model, endpoint].map(str::to_owned);
        self.append(Entry::Embedded { key, model, endpoint, tokens, cost, at: now() })
    }

    /// All answers of a model, in the order of their keys: what a replay needs.
    pub fn recordings(&self, model: &str) -> Result<Vec<Recording>, StoreError> {
        let known = self.known()?;
        let calls = known.calls.iter().filter(|(_, call)| call.model == model);
        let recording = |(key, call): (&String, &Call)| {
            Some(Recording { key: key.clone(), reply: call.reply.clone()? })
        };
        Ok(calls.filter_map(recording).collect())
    }

    /// What was spent, by day, model and purpose, in order.
    pub fn spend(&self) -> Result<Vec<Spend>, StoreError> {
        let known = self.known()?;
        let mut all: BTreeMap<(String, &str, &str), Spend> = BTreeMap::new();
        for call in known.calls.values() {
            let spend = of_day(&mut all, day(call.started), &call.model, &call.purpose);
            match call.state {
                State::Started => spend.unfinished += 1,
                State::Failed => spend.failed += 1,
                State::Done => spend.calls += 1,
            }
            spend.unpriced += u64::from(call.state == State::Done && call.cost.is_none());
            spend.usage += call.usage;
            spend.cost_usd += call.cost.unwrap_or(0.0);
        }
        for call in known.open.values() {
            let spend = of_day(&mut all, day(call.started), &call.model, &call.purpose);
            spend.unfinished += 1;
            spend.unknown_usd += call.most.unwrap_or(0.0);
        }
        for ((day, model, purpose), others) in &known.others {
            let spend = of_day(&mut all, day.clone(), model, purpose);
            spend.failed += others.failed;
            spend.surplus += others.surplus;
            spend.unpriced += others.unpriced;
            spend.usage += others.usage;
            spend.cost_usd += others.cost;
        }
        Ok(all.into_values().collect())
    }

    /// What was learned of how an endpoint wants to be asked.
    pub fn dialect(&self, endpoint: &str, model: &str) -> Result<Option<String>, StoreError> {
        Ok(self.known()?.dialects.get(&(endpoint.to_owned(), model.to_owned())).cloned())
    }

    /// Remembers it.
    pub fn learn(&self, endpoint: &str, model: &str, dialect: &str) -> Result<(), StoreError> {
        let [endpoint, model, dialect] = [endpoint, model, dialect].map(str::to_owned);
        self.append(Entry::Learned { endpoint, model, dialect })
    }

    /// A batch is about to be submitted.
    pub fn submitting(
        &self,
        endpoint: &str,
        model: &str,
        tag: &str,
        keys: &[String],
    ) -> Result<Batch, StoreError> {
        let number = self.known()?.last_batch + 1;
        let [endpoint, model, tag] = [endpoint, model, tag].map(str::to_owned);
        let (keys, at) = (keys.to_vec(), now());
        let batch = Batch { number, tag: tag.clone(), id: None, submitted: at, keys: keys.clone() };
        self.append(Entry::Submitting { number, endpoint, model, tag, keys, at })?;
        Ok(batch)
    }

    /// The server took it and calls it this.
    pub fn submitted(&self, batch: &Batch, id: &str) -> Result<(), StoreError> {
        self.append(Entry::Submitted { number: batch.number, id: id.to_owned() })
    }

    /// Its answers are in, or it came to nothing.
    pub fn close(&self, batch: &Batch, answered: bool) -> Result<(), StoreError> {
        self.append(Entry::Closed { number: batch.number, answered })
    }

    /// The batches of a model that are still under way at an endpoint, oldest first.
    pub fn open_batches(&self, endpoint: &str, model: &str) -> Result<Vec<Batch>, StoreError> {
        let known = self.known()?;
        let open = known.batches.values();
        let open =
            open.filter(|open| (open.endpoint.as_str(), open.model.as_str()) == (endpoint, model));
        Ok(open.map(|open| open.batch.clone()).collect())
    }

    /// Takes over the records of another ledger; says how many.
    pub fn adopt(&self, old: &OldAtlas) -> Result<usize, AdoptError> {
        let entries = old.entries()?;
        let records: Vec<Vec<u8>> =
            entries.iter().map(|entry| serde_json::to_vec(entry).expect("plain data")).collect();
        self.store.append(Log::Ledger, &records)?;
        Ok(records.len())
    }

    /// Deletes all records of calls made before a moment, answers and costs; says how many went.
    pub fn prune(&self, before: i64) -> Result<usize, StoreError> {
        let gone = self.store.rewrite(Log::Ledger, &mut |record| {
            let entry = serde_json::from_slice::<Entry>(&record.bytes);
            !matches!(entry, Ok(Entry::Done { at, .. } | Entry::Started { at, .. }
                | Entry::Surplus { at, .. } | Entry::Failed { at, .. } | Entry::Embedded { at, .. }) if at < before)
        })?;
        *self.known.lock().expect("nothing panics while holding it") = Known::default();
        Ok(gone)
    }

    fn append(&self, entry: Entry) -> Result<(), StoreError> {
        let record = serde_json::to_vec(&entry).expect("plain data");
        self.store.append(Log::Ledger, &[record])
    }

    /// What the log holds, read as far as it is new: others may write to it too.
    fn known(&self) -> Result<MutexGuard<'_, Known>, StoreError> {
        let mut known = self.known.lock().expect("nothing panics while holding it");
        let mark = self.store.mark(Log::Ledger)?;
        if known.mark != Some(mark) {
            let read = self.store.records(Log::Ledger, known.next)?;
            for record in read.records {
                known.next = record.number + 1;
                // A later version may write more than this one understands; it stays in the log.
                if let Ok(entry) = serde_json::from_slice(&record.bytes) {
                    known.take(entry);
                }
            }
            known.mark = Some(mark);
        }
        Ok(known)
    }
}

/// The line of a day, a model and a purpose.
fn of_day<'s, 'k>(
    all: &'s mut BTreeMap<(String, &'k str, &'k str), Spend>,
    day: String,
    model: &'k str,
    purpose: &'k str,
) -> &'s mut Spend {
    all.entry((day.clone(), model, purpose)).or_insert_with(|| {
        let (model, purpose) = (model.to_owned(), purpose.to_owned());
        let (calls, failed, unfinished, surplus, unpriced) = Default::default();
        let (usage, cost_usd, unknown_usd) = Default::default();
        Spend {
            day,
            model,
            purpose,
            calls,
            failed,
            unfinished,
            surplus,
            usage,
            cost_usd,
            unknown_usd,
            unpriced,
        }
    })
}

/// The day of a moment in milliseconds since 1970, as people write it (UTC).
pub fn day(at: i64) -> String {
    // Civil from days, as in the proleptic Gregorian calendar.
    let days = at.div_euclid(86_400_000) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The first moment of a day written like `2026-01-31` (UTC), in milliseconds since 1970.
pub fn start_of_day(text: &str) -> Option<i64> {
    let plain = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let year: i64 = text.get(..4).filter(|_| plain)?.parse().ok()?;
    // Days are few: the one that is written so is found between its neighbors.
    let about = (year - 1970) * 365 + (year - 1970) / 4;
    let days = (about - 400..about + 400).map(|days| days * 86_400_000);
    days.into_iter().find(|&at| day(at) == text)
}

/// Milliseconds since 1970. Times are for people: nothing that is computed depends on them.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (at, expected) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_709_164_800_000, "2024-02-29"),
            (1_735_689_599_999, "2024-12-31"),
            (1_763_424_000_000, "2025-11-18"),
            (-1, "1969-12-31"),
        ] {
            assert_eq!(day(at), expected);
            assert_eq!(start_of_day(expected), Some(at.div_euclid(86_400_000) * 86_400_000));
        }
        assert_eq!([start_of_day("2026-02-30"), start_of_day("yesterday")], [None, None]);
    }
}
