//! How do prompts get answered elsewhere: in a file that somebody takes away and brings back, or by a
//! batch service?
//!
//! Each round asks what the ledger cannot answer. Answers that fail their checks are asked for again
//! with the reason, in the next round, as they would be by a server that answers at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Display};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fingerpost::atlas::{Batch, Budget, Spent};
use fingerpost::chat::{ChatError, Prompt, Reply};
use serde::Serialize;

use super::plan::{self, Plan};
use super::{Campaign, CampaignError, Event, Pass};
use crate::chat::batch::{BatchClient, BatchState, MAX_PROMPTS, counted, line, read_line};

/// Work for a model whose answers may come from elsewhere.
pub struct Errand<'a, T, E: Debug + Display> {
    /// For whom.
    pub campaign: &'a Campaign<'a>,
    /// How often an answer is asked for until it can be used.
    pub attempts: u32,
    /// Does the work as far as the ledger has answers.
    pub pass: &'a dyn Fn() -> Result<Pass<T>, CampaignError<E>>,
}

/// Prompts as lines of a file.
#[derive(Debug)]
pub struct Lines {
    /// One prompt a line, in the form of OpenAI's batches.
    pub text: String,
    /// How many.
    pub prompts: usize,
    /// Answers that are in the ledger already.
    pub known: u64,
}

/// A file of answers.
#[derive(Debug)]
pub struct AnswerFile {
    /// What to call it.
    pub name: String,
    /// Its text: one answer a line, in the form of OpenAI's batches.
    pub text: String,
}

/// What became of answers from files.
#[derive(Debug, Serialize)]
pub struct Ingested {
    /// Taken now.
    pub accepted: usize,
    /// Taken before.
    pub again: usize,
    /// Asked for, and not in any file yet.
    pub missing: usize,
    /// Prompts of another round, for answers that failed their checks.
    pub next: usize,
    /// Lines that were not taken.
    pub rejected: Vec<RejectedLine>,
}

/// A line that was not taken.
#[derive(Debug, Serialize)]
pub struct RejectedLine {
    /// Of which file.
    pub file: String,
    /// Its number, from 1.
    pub line: usize,
    /// Why not.
    pub why: String,
}

impl Ingested {
    /// Was every line an answer that somebody waits for?
    pub fn is_clean(&self) -> bool {
        self.rejected.is_empty()
    }
}

/// What came of answers from files.
#[derive(Debug)]
pub struct Ingest<T> {
    /// The work as far as it could be done.
    pub pass: Pass<T>,
    /// What became of the answers.
    pub ingested: Ingested,
    /// What they cost.
    pub spent: Spent,
}

/// What came of batches.
#[derive(Debug)]
pub struct Batched<T> {
    /// The work as far as it could be done.
    pub pass: Pass<T>,
    /// What it cost.
    pub spent: Spent,
    /// What ended it early.
    pub stopped: Option<ChatError>,
}

/// Prompts by their keys.
type Asked<'p> = BTreeMap<&'p str, &'p Prompt>;

impl<T, E: Debug + Display> Errand<'_, T, E> {
    /// What would be asked, so many at a time, or in a batch.
    pub fn plan(&self, concurrency: usize, batch: bool) -> Result<Plan, CampaignError<E>> {
        let Pass { waiting, known, .. } = (self.pass)()?;
        let usage = plan::usage(&waiting);
        let price = self.campaign.price.map(|price| if batch { price.batch } else { price.single });
        let cost = price.map(|price| price.of(&usage));
        let config = &self.campaign.config;
        let seconds = plan::seconds(config, waiting.len(), &usage, concurrency);
        Ok(Plan { calls: waiting.len(), known, usage, cost, seconds })
    }

    /// What the ledger cannot answer, as lines of a file.
    pub fn lines(&self) -> Result<Lines, CampaignError<E>> {
        let Pass { waiting, known, .. } = (self.pass)()?;
        let dialect = self.campaign.dialect()?;
        let mut text = String::new();
        for (key, prompt) in &waiting {
            text.push_str(&line(key, self.campaign.model(), prompt, dialect));
            text.push('\n');
        }
        Ok(Lines { text, prompts: waiting.len(), known })
    }

    /// Takes answers from files, then does what can be done.
    pub fn ingest(&self, files: &[AnswerFile]) -> Result<Ingest<T>, CampaignError<E>> {
        let waiting = (self.pass)()?.waiting;
        let mut wanted: Asked<'_> = waiting.iter().map(|(key, p)| (key.as_str(), p)).collect();
        // In a round before, or in a file before.
        let mut taken = BTreeSet::new();
        let mut again = 0;
        let mut rejected = Vec::new();
        let mut spent = Spent::default();
        for AnswerFile { name, text } in files {
            // Texts contain U+2028 and the like: lines end with \n only.
            for (number, line) in (1..).zip(text.split('\n')) {
                if line.trim().is_empty() {
                    continue;
                }
                let mut reject = |why: String| {
                    rejected.push(RejectedLine { file: name.clone(), line: number, why });
                };
                match read_line(line) {
                    Err(why) => reject(format!("is no answer: {why}")),
                    Ok((key, _)) if taken.contains(&key) => again += 1,
                    Ok((key, reply)) => match (wanted.get(key.as_str()), reply) {
                        (None, _) => match self.campaign.ledger.reply(&key)? {
                            Some(_) => again += 1,
                            None => reject(format!(
                                "nobody asked for {key}; the library, the settings or the model changed since the prompts were written"
                            )),
                        },
                        (Some(_), Err(why)) => {
                            reject(format!("the prompt was not answered: {why}"));
                        }
                        (Some(prompt), Ok(reply)) => {
                            let reply = counted(reply, prompt);
                            self.keep(&key, &reply, prompt.purpose(), &mut spent)?;
                            wanted.remove(key.as_str());
                            taken.insert(key);
                        }
                    },
                }
            }
        }
        let pass = (self.pass)()?;
        spent.known = pass.known.saturating_sub(spent.calls);
        let next = pass.waiting.len().saturating_sub(wanted.len());
        let missing = wanted.len();
        let ingested = Ingested { accepted: taken.len(), again, missing, next, rejected };
        Ok(Ingest { pass, ingested, spent })
    }

    fn keep(
        &self,
        key: &str,
        reply: &Reply,
        purpose: &str,
        spent: &mut Spent,
    ) -> Result<(), CampaignError<E>> {
        let Campaign { ledger, price, .. } = self.campaign;
        let cost = price.map(|price| price.batch.of(&reply.usage));
        ledger.start(key, self.campaign.model(), "batch", purpose)?;
        ledger.finish(key, reply, cost)?;
        spent.calls += 1;
        spent.usage += reply.usage;
        spent.cost += cost.unwrap_or(0.0);
        Ok(())
    }

    /// Submits, waits, fetches, and again for what failed its checks; a batch under way is looked after
    /// once in so much time. Started again after a kill it goes on with the batch that is under way.
    pub fn batch(&self, poll: Duration) -> Result<Batched<T>, CampaignError<E>> {
        let Campaign { config, ledger, cancel, .. } = self.campaign;
        let client = BatchClient::new(config.clone(), Arc::clone(cancel))?;
        let mut spent = Spent::default();
        let mut stopped = None;
        let mut pass = (self.pass)()?;
        // One round an attempt, and one more for what a service leaves unanswered.
        for _ in 0..=self.attempts {
            let asked: Asked<'_> = pass.waiting.iter().map(|(key, p)| (key.as_str(), p)).collect();
            for open in ledger.open_batches(&self.campaign.endpoint(), self.campaign.model())? {
                // The batch of somebody who asked for other things is his to fetch.
                if !open.keys.iter().any(|key| asked.contains_key(key.as_str())) {
                    continue;
                }
                match self.fetch(&client, &open, &asked, poll, &mut spent) {
                    Ok(()) => {}
                    Err(CampaignError::Chat(error)) => stopped = Some(error),
                    Err(error) => return Err(error),
                }
            }
            pass = (self.pass)()?;
            if stopped.is_none() && !pass.waiting.is_empty() {
                stopped = self.afford(&mut pass.waiting, &spent).err();
            }
            if stopped.is_some() || pass.waiting.is_empty() {
                break;
            }
            self.submit(&client, &pass.waiting)?;
        }
        spent.known = pass.known.saturating_sub(spent.calls);
        Ok(Batched { pass, spent, stopped })
    }

    /// Cuts the prompts to what may be spent.
    fn afford(&self, waiting: &mut Vec<(String, Prompt)>, spent: &Spent) -> Result<(), ChatError> {
        let stop = |message: String| Err(ChatError::Budget { message });
        let Budget { max_cost, max_calls } = self.campaign.budget;
        waiting.truncate(MAX_PROMPTS);
        if let Some(max) = max_calls {
            waiting.truncate(max.saturating_sub(spent.calls) as usize);
            if waiting.is_empty() {
                return stop(format!("the limit of {max} calls is reached"));
            }
        }
        if let (Some(max), Some(price)) = (max_cost, self.campaign.price) {
            // A batch cannot be stopped halfway: the most it may cost counts.
            let cost = price.batch.of(&plan::most(waiting));
            if spent.cost + cost > max {
                return stop(format!(
                    "the next batch may cost ${cost:.4}, and ${:.4} of ${max:.4} are spent",
                    spent.cost
                ));
            }
        }
        Ok(())
    }

    fn submit(
        &self,
        client: &BatchClient,
        waiting: &[(String, Prompt)],
    ) -> Result<(), CampaignError<E>> {
        let ledger = &self.campaign.ledger;
        let keys: Vec<String> = waiting.iter().map(|(key, _)| key.clone()).collect();
        let tag = tag(&keys);
        let batch =
            ledger.submitting(&self.campaign.endpoint(), self.campaign.model(), &tag, &keys)?;
        let id = match client.submit(waiting, &tag, self.campaign.dialect()?) {
            Ok(id) => id,
            Err(error) => {
                // A refusal is certain; after any other failure the service may have taken it.
                if matches!(error, ChatError::Refused { .. } | ChatError::Rejected { .. }) {
                    ledger.close(&batch, false)?;
                }
                return Err(error.into());
            }
        };
        ledger.submitted(&batch, &id)?;
        self.campaign.tell(Event::Submitted { batch: &id, prompts: waiting.len() });
        Ok(())
    }

    /// Waits for a batch, and keeps what it answered.
    fn fetch(
        &self,
        client: &BatchClient,
        batch: &Batch,
        asked: &Asked<'_>,
        poll: Duration,
        spent: &mut Spent,
    ) -> Result<(), CampaignError<E>> {
        let ledger = &self.campaign.ledger;
        let id = match &batch.id {
            Some(id) => Some(id.clone()),
            None => client.find(&batch.tag, batch.submitted, batch.keys.len())?,
        };
        let Some(id) = id else {
            // It never arrived, so nothing was paid for.
            return Ok(ledger.close(batch, false)?);
        };
        if batch.id.is_none() {
            ledger.submitted(batch, &id)?;
        }
        let start = Instant::now();
        loop {
            match client.state(&id)? {
                BatchState::Ended => break,
                BatchState::Failed(why) => {
                    ledger.close(batch, false)?;
                    return Err(ChatError::Failed { message: why }.into());
                }
                BatchState::UnderWay { done, all } => {
                    let elapsed = start.elapsed();
                    self.campaign.tell(Event::UnderWay { batch: &id, done, all, elapsed });
                }
            }
            if !crate::retry::sleep(poll, &self.campaign.cancel) {
                return Err(ChatError::Cancelled.into());
            }
        }
        let submitted: BTreeSet<&str> = batch.keys.iter().map(String::as_str).collect();
        // All of a batch was asked for the same.
        let purpose = asked.values().next().map_or("text", |prompt| prompt.purpose());
        let mut unanswered = 0;
        for (key, reply) in client.answers(&id, batch.keys.len())? {
            match reply {
                Ok(reply) if submitted.contains(key.as_str()) => {
                    let reply = match asked.get(key.as_str()) {
                        Some(prompt) => counted(reply, prompt),
                        // Nobody wants it just now, but it is paid for.
                        None => reply,
                    };
                    if ledger.reply(&key)?.is_none() {
                        self.keep(&key, &reply, purpose, spent)?;
                    }
                }
                _ => unanswered += 1,
            }
        }
        ledger.close(batch, true)?;
        self.campaign.tell(Event::Fetched { batch: &id, unanswered });
        Ok(())
    }
}

/// A short name for a set of prompts.
fn tag(keys: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    keys.iter().for_each(|key| {
        hasher.update(key.as_bytes());
    });
    hasher.finalize().to_hex()[..32].to_owned()
}
