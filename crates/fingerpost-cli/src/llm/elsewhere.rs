//! Prompts that are answered elsewhere: in a file that somebody takes away and brings back, or by a
//! batch service.
//!
//! Each round asks what the ledger cannot answer. Answers that fail their checks are asked for again
//! with the reason, in the next round, as they would be by a server that answers at once.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use fingerpost::atlas::{Batch, Spent};
use fingerpost::chat::{ChatError, Prompt, Reply};
use fingerpost_models::batch::{MAX_PROMPTS, line, read_line};
use fingerpost_models::{BatchClient, BatchState};
use serde::Serialize;
use serde_json::json;

use super::args::{ElsewhereArgs, ModelArgs};
use super::{Model, plan};
use crate::args::Global;
use crate::output::{self, UsageError, plain, plural};

/// Bad lines that are shown one by one.
const SHOWN: usize = 10;

/// Work for a model whose answers may come from elsewhere.
pub(crate) struct Errand<'a, T> {
    pub(crate) model: &'a Model,
    pub(crate) server: &'a ModelArgs,
    pub(crate) how: &'a ElsewhereArgs,
    pub(crate) global: &'a Global,
    /// What is wanted: a "page" or a "request" to be answered, and how many.
    pub(crate) noun: &'static str,
    pub(crate) wanted: usize,
    /// Does the work as far as the ledger has answers.
    pub(crate) pass: &'a dyn Fn() -> anyhow::Result<Pass<T>>,
}

/// Work done with the answers there are.
pub(crate) struct Pass<T> {
    /// What came of it.
    pub(crate) outcome: T,
    /// What the ledger cannot answer, each with its key.
    pub(crate) waiting: Vec<(String, Prompt)>,
    /// How many answers it had.
    pub(crate) known: u64,
}

impl<T> Errand<'_, T> {
    /// Says what would be asked, or writes it to a file, if no more is wanted.
    pub(crate) fn tell_or_emit(&self) -> anyhow::Result<()> {
        match &self.how.emit {
            Some(file) => self.emit(file),
            None => plan::tell(self),
        }
    }

    /// Writes what the ledger cannot answer, one prompt a line.
    fn emit(&self, file: &Path) -> anyhow::Result<()> {
        let Pass { waiting, known, .. } = (self.pass)()?;
        let dialect = self.model.dialect()?;
        let mut lines = String::new();
        for (key, prompt) in &waiting {
            lines.push_str(&line(key, &self.model.name, prompt, dialect));
            lines.push('\n');
        }
        let failed = || format!("cannot write {}", file.display());
        fs::write(file, lines).with_context(failed)?;
        if self.global.json {
            let emitted = waiting.len();
            let file = file.display().to_string();
            return output::print_json(&json!({"emitted": emitted, "known": known, "file": file}));
        }
        let prompts = plural(waiting.len(), "prompt");
        let line = format!(
            "wrote {prompts} to {}; bring the answers back with --ingest ({known} are here already)",
            file.display()
        );
        output::say(self.global, &line);
        Ok(())
    }
}

/// What became of answers from files.
#[derive(Debug, Serialize)]
pub(crate) struct Ingested {
    /// Taken now.
    accepted: usize,
    /// Taken before.
    again: usize,
    /// Asked for, and not in any file yet.
    missing: usize,
    /// Prompts of another round, for answers that failed their checks.
    next: usize,
    rejected: Vec<Rejected>,
}

/// A line that was not taken.
#[derive(Debug, Serialize)]
struct Rejected {
    file: String,
    line: usize,
    why: String,
}

impl<T> Errand<'_, T> {
    /// Takes answers from files, then does what can be done.
    pub(crate) fn ingest(&self) -> anyhow::Result<(Pass<T>, Ingested, Spent)> {
        let waiting = (self.pass)()?.waiting;
        let mut wanted: BTreeSet<String> = waiting.into_iter().map(|(key, _)| key).collect();
        // In a round before, or in a file before.
        let mut taken = BTreeSet::new();
        let mut again = 0;
        let mut rejected = Vec::new();
        let mut spent = Spent::default();
        for file in &self.how.ingest {
            let text = fs::read_to_string(file).map_err(|error| {
                UsageError::new(format!("cannot read {}: {error}", file.display()))
            })?;
            // Texts contain U+2028 and the like: lines end with \n only.
            for (number, line) in (1..).zip(text.split('\n')) {
                if line.trim().is_empty() {
                    continue;
                }
                let mut reject = |why: String| {
                    let file = file.display().to_string();
                    rejected.push(Rejected { file, line: number, why });
                };
                match read_line(line) {
                    Err(why) => reject(format!("is no answer: {why}")),
                    Ok((key, _)) if taken.contains(&key) => again += 1,
                    Ok((key, _)) if !wanted.contains(&key) => {
                        match self.model.ledger.reply(&key)? {
                            Some(_) => again += 1,
                            None => reject(format!(
                                "nobody asked for {key}; the library, the settings or the model changed since the prompts were written"
                            )),
                        }
                    }
                    Ok((_, Err(why))) => reject(format!("the prompt was not answered: {why}")),
                    Ok((key, Ok(reply))) => {
                        self.keep(&key, &reply, &mut spent)?;
                        wanted.remove(&key);
                        taken.insert(key);
                    }
                }
            }
        }
        let pass = (self.pass)()?;
        spent.known = pass.known.saturating_sub(spent.calls);
        let next = pass.waiting.len().saturating_sub(wanted.len());
        let missing = wanted.len();
        let ingested = Ingested { accepted: taken.len(), again, missing, next, rejected };
        ingested.tell(self.global);
        Ok((pass, ingested, spent))
    }

    fn keep(&self, key: &str, reply: &Reply, spent: &mut Spent) -> anyhow::Result<()> {
        let cost = self.model.price.map(|price| price.batch.of(&reply.usage));
        // As the prompts themselves say it.
        let purpose = if self.noun == "page" { "page" } else { "choice" };
        self.model.ledger.start(key, &self.model.name, "batch", purpose)?;
        self.model.ledger.finish(key, reply, cost)?;
        spent.calls += 1;
        spent.usage += reply.usage;
        spent.cost += cost.unwrap_or(0.0);
        Ok(())
    }
}

impl Ingested {
    /// Was every line an answer that somebody waits for?
    pub(crate) fn is_clean(&self) -> bool {
        self.rejected.is_empty()
    }

    fn tell(&self, global: &Global) {
        let say = |line: &str| output::say(global, line);
        let Self { accepted, again, missing, next, rejected } = self;
        say(&format!("{} taken, {again} were here already", plural(*accepted, "answer")));
        for Rejected { file, line, why } in rejected.iter().take(SHOWN) {
            say(&format!("  {file}:{line} was not taken: {}", plain(why)));
        }
        if rejected.len() > SHOWN {
            say(&format!("  and {} more", rejected.len() - SHOWN));
        }
        if *missing > 0 {
            say(&format!("{} still missing", plural(*missing, "answer")));
        }
        if *next > 0 {
            let answers = plural(*next, "answer");
            say(&format!(
                "{answers} failed the checks: --emit writes the prompts of another round"
            ));
        }
    }
}

impl<T> Errand<'_, T> {
    /// Submits, waits, fetches, and again for what failed its checks. Started again after a kill it
    /// goes on with the batch that is under way. Also says what stopped it, if something did.
    pub(crate) fn batch(&self) -> anyhow::Result<(Pass<T>, Spent, Option<ChatError>)> {
        let client = BatchClient::new(self.model.config.clone(), self.model.cancel.clone())?;
        let mut spent = Spent::default();
        let mut stopped = None;
        let mut pass = (self.pass)()?;
        // One round an attempt, and one more for what a service leaves unanswered.
        for _ in 0..=self.server.attempts.get() {
            let asked: BTreeSet<&str> = pass.waiting.iter().map(|(key, _)| key.as_str()).collect();
            let (url, name) = (&self.model.config.base_url, &self.model.name);
            for open in self.model.ledger.open_batches(url, name)? {
                // The batch of somebody who asked for other things is his to fetch.
                if !open.keys.iter().any(|key| asked.contains(key.as_str())) {
                    continue;
                }
                match self.fetch(&client, &open, &mut spent) {
                    Ok(()) => {}
                    Err(error) => match error.downcast::<ChatError>() {
                        Ok(error) => stopped = Some(error),
                        Err(error) => return Err(error),
                    },
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
        Ok((pass, spent, stopped))
    }

    /// Cuts the prompts to what may be spent.
    fn afford(&self, waiting: &mut Vec<(String, Prompt)>, spent: &Spent) -> Result<(), ChatError> {
        let stop = |message: String| Err(ChatError::Budget { message });
        waiting.truncate(MAX_PROMPTS);
        if let Some(max) = self.server.max_calls {
            waiting.truncate(max.saturating_sub(spent.calls) as usize);
            if waiting.is_empty() {
                return stop(format!("the limit of {max} calls is reached"));
            }
        }
        if let (Some(max), Some(price)) = (self.server.max_cost, self.model.price) {
            let mut most = plan::usage(waiting);
            // A batch cannot be stopped halfway: the most it may cost counts, with nothing cached.
            most.cached = 0;
            most.output =
                waiting.iter().map(|(_, prompt)| u64::from(prompt.max_output_tokens)).sum();
            let cost = price.batch.of(&most);
            if spent.cost + cost > max {
                return stop(format!(
                    "the next batch may cost ${cost:.4}, and ${:.4} of ${max:.4} are spent",
                    spent.cost
                ));
            }
        }
        Ok(())
    }

    fn submit(&self, client: &BatchClient, waiting: &[(String, Prompt)]) -> anyhow::Result<()> {
        let Model { ledger, config, name, .. } = self.model;
        let keys: Vec<String> = waiting.iter().map(|(key, _)| key.clone()).collect();
        let tag = blake3_of(&keys);
        let batch = ledger.submitting(&config.base_url, name, &tag, &keys)?;
        let id = match client.submit(waiting, &tag, self.model.dialect()?) {
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
        let prompts = plural(waiting.len(), "prompt");
        output::say(self.global, &format!("submitted {prompts} as {}", plain(&id)));
        Ok(())
    }

    /// Waits for a batch, and keeps what it answered.
    fn fetch(&self, client: &BatchClient, batch: &Batch, spent: &mut Spent) -> anyhow::Result<()> {
        let ledger = &self.model.ledger;
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
        let spinner = output::spinner(self.global, format!("waiting for {id}"));
        let start = Instant::now();
        loop {
            match client.state(&id)? {
                BatchState::Ended => break,
                BatchState::Failed(why) => {
                    ledger.close(batch, false)?;
                    return Err(ChatError::Failed { message: why }.into());
                }
                BatchState::UnderWay { done, all } => {
                    let minutes = start.elapsed().as_secs() / 60;
                    spinner.set_message(format!("{id}: {done} of {all} answered, {minutes} min"));
                }
            }
            let look = Instant::now() + Duration::from_secs_f64(self.how.poll.clamp(0.05, 3600.0));
            while Instant::now() < look {
                if self.model.cancel.load(Ordering::Relaxed) {
                    return Err(ChatError::Cancelled.into());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        let asked: BTreeSet<&str> = batch.keys.iter().map(String::as_str).collect();
        let mut unanswered = 0;
        for (key, reply) in client.answers(&id)? {
            match reply {
                Ok(reply) if asked.contains(key.as_str()) => {
                    if ledger.reply(&key)?.is_none() {
                        self.keep(&key, &reply, spent)?;
                    }
                }
                _ => unanswered += 1,
            }
        }
        ledger.close(batch, true)?;
        spinner.finish_and_clear();
        if unanswered > 0 {
            let prompts = plural(unanswered, "prompt");
            output::say(self.global, &format!("{prompts} of {id} came back without an answer"));
        }
        Ok(())
    }
}

/// A short name for a set of prompts.
fn blake3_of(keys: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    keys.iter().for_each(|key| {
        hasher.update(key.as_bytes());
    });
    hasher.finalize().to_hex()[..32].to_owned()
}
