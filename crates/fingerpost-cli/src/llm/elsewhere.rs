//! Prompts that are answered elsewhere: in a file that somebody takes away and brings back, or by a
//! batch service.
//!
//! Each round asks what the ledger cannot answer. Pages that fail their checks are asked for again
//! with the reason, in the next round, as they would be by a server that answers at once.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use fingerpost::atlas::{Batch, Spent};
use fingerpost::chat::{ChatError, Price, Prompt, Reply};
use fingerpost_models::batch::{MAX_PROMPTS, line, read_line};
use fingerpost_models::{BatchClient, BatchState};
use serde::Serialize;
use serde_json::json;

use super::{Finished, Job, plan};
use crate::output::{self, Exit, UsageError, plain, plural};

/// Bad lines that are shown one by one.
const SHOWN: usize = 10;

/// Writes what the ledger cannot answer, one prompt a line.
pub(super) fn emit(job: &Job<'_>, file: &Path) -> anyhow::Result<()> {
    let (outcome, waiting, known) = job.outbox();
    if let Some(error) = outcome.stopped {
        return Err(error.into());
    }
    let dialect = job.model.dialect()?;
    let mut lines = String::new();
    for (key, prompt) in &waiting {
        lines.push_str(&line(key, &job.model.name, prompt, dialect));
        lines.push('\n');
    }
    let failed = || format!("cannot write {}", file.display());
    fs::write(file, lines).with_context(failed)?;
    if job.global.json {
        let emitted = waiting.len();
        let file = file.display().to_string();
        return output::print_json(&json!({"emitted": emitted, "known": known, "file": file}));
    }
    let prompts = plural(waiting.len(), "prompt");
    let line = format!(
        "wrote {prompts} to {}; bring the answers back with --ingest ({known} are here already)",
        file.display()
    );
    output::say(job.global, &line);
    Ok(())
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
    /// Prompts of another round: pages that failed their checks.
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

/// Takes answers from files, then writes the pages that can be written.
pub(super) fn ingest(job: &Job<'_>) -> anyhow::Result<Finished> {
    let (_, waiting, _) = job.outbox();
    let mut wanted: BTreeSet<String> = waiting.into_iter().map(|(key, _)| key).collect();
    // In a round before, or in a file before.
    let mut taken = BTreeSet::new();
    let mut again = 0;
    let mut rejected = Vec::new();
    let mut spent = Spent::default();
    let price = job.model.price.map(|price| price.batch);
    for file in &job.args.ingest {
        let text = fs::read_to_string(file)
            .map_err(|error| UsageError::new(format!("cannot read {}: {error}", file.display())))?;
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
                Ok((key, _)) if !wanted.contains(&key) => match job.model.ledger.reply(&key)? {
                    Some(_) => again += 1,
                    None => reject(format!(
                        "nobody asked for {key}; the library, the settings or the model changed since the prompts were written"
                    )),
                },
                Ok((_, Err(why))) => reject(format!("the prompt was not answered: {why}")),
                Ok((key, Ok(reply))) => {
                    keep(job, &key, &reply, price, &mut spent)?;
                    wanted.remove(&key);
                    taken.insert(key);
                }
            }
        }
    }
    let (outcome, waiting, known) = job.outbox();
    spent.known = known.saturating_sub(spent.calls);
    let next = waiting.len() - wanted.len();
    let (mut summary, mut exit) = job.summary(&outcome, spent, price);
    if !rejected.is_empty() {
        exit = Exit::Findings;
    }
    let missing = wanted.len();
    let ingested = Ingested { accepted: taken.len(), again, missing, next, rejected };
    ingested.tell(job);
    summary.tell(job.global);
    summary.ingest = Some(ingested);
    Ok(Finished { outcome, summary, exit })
}

impl Ingested {
    fn tell(&self, job: &Job<'_>) {
        let say = |line: &str| output::say(job.global, line);
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
            let pages = plural(*next, "page");
            say(&format!(
                "{pages} failed their checks: --emit writes the prompts of another round"
            ));
        }
    }
}

fn keep(
    job: &Job<'_>,
    key: &str,
    reply: &Reply,
    price: Option<Price>,
    spent: &mut Spent,
) -> anyhow::Result<()> {
    let cost = price.map(|price| price.of(&reply.usage));
    job.model.ledger.start(key, &job.model.name, "batch", "page")?;
    job.model.ledger.finish(key, reply, cost)?;
    spent.calls += 1;
    spent.usage += reply.usage;
    spent.cost += cost.unwrap_or(0.0);
    Ok(())
}

/// Submits, waits, fetches, and again for what failed its checks. Started again after a kill it
/// goes on with the batch that is under way.
pub(super) fn batch(job: &Job<'_>) -> anyhow::Result<Finished> {
    let client = BatchClient::new(job.model.config.clone(), job.model.cancel.clone())?;
    let price = job.model.price.map(|price| price.batch);
    let mut spent = Spent::default();
    let mut stopped = None;
    // One round an attempt, and one more for what a service leaves unanswered.
    for _ in 0..=job.config.attempts {
        for open in job.model.ledger.open_batches(&job.model.config.base_url, &job.model.name)? {
            match fetch(job, &client, &open, price, &mut spent) {
                Ok(()) => {}
                Err(error) => match error.downcast::<ChatError>() {
                    Ok(error) => stopped = Some(error),
                    Err(error) => return Err(error),
                },
            }
        }
        let (mut outcome, mut waiting, known) = job.outbox();
        if stopped.is_none() && !waiting.is_empty() {
            stopped = afford(job, &mut waiting, price, &spent).err();
        }
        if stopped.is_some() || waiting.is_empty() {
            outcome.stopped = stopped.or(outcome.stopped);
            spent.known = known.saturating_sub(spent.calls);
            return Ok(job.done(outcome, spent, price));
        }
        submit(job, &client, &waiting)?;
    }
    let (outcome, _, known) = job.outbox();
    spent.known = known.saturating_sub(spent.calls);
    Ok(job.done(outcome, spent, price))
}

/// Cuts the prompts to what may be spent.
fn afford(
    job: &Job<'_>,
    waiting: &mut Vec<(String, Prompt)>,
    price: Option<Price>,
    spent: &Spent,
) -> Result<(), ChatError> {
    let stop = |message: String| Err(ChatError::Budget { message });
    waiting.truncate(MAX_PROMPTS);
    if let Some(max) = job.args.server.max_calls {
        waiting.truncate(max.saturating_sub(spent.calls) as usize);
        if waiting.is_empty() {
            return stop(format!("the limit of {max} calls is reached"));
        }
    }
    if let (Some(max), Some(price)) = (job.args.server.max_cost, price) {
        let mut most = plan::usage(waiting);
        // A batch cannot be stopped halfway: the most it may cost counts, with nothing cached.
        most.cached = 0;
        most.output = waiting.iter().map(|(_, prompt)| u64::from(prompt.max_output_tokens)).sum();
        let cost = price.of(&most);
        if spent.cost + cost > max {
            return stop(format!(
                "the next batch may cost ${cost:.4}, and ${:.4} of ${max:.4} are spent",
                spent.cost
            ));
        }
    }
    Ok(())
}

fn submit(job: &Job<'_>, client: &BatchClient, waiting: &[(String, Prompt)]) -> anyhow::Result<()> {
    let keys: Vec<String> = waiting.iter().map(|(key, _)| key.clone()).collect();
    let tag = blake3_of(&keys);
    let batch =
        job.model.ledger.submitting(&job.model.config.base_url, &job.model.name, &tag, &keys)?;
    let id = match client.submit(waiting, &tag, job.model.dialect()?) {
        Ok(id) => id,
        Err(error) => {
            // A refusal is certain; after any other failure the service may have taken it.
            if matches!(error, ChatError::Refused { .. } | ChatError::Rejected { .. }) {
                job.model.ledger.close(&batch, false)?;
            }
            return Err(error.into());
        }
    };
    job.model.ledger.submitted(&batch, &id)?;
    let prompts = plural(waiting.len(), "prompt");
    output::say(job.global, &format!("submitted {prompts} as {}", plain(&id)));
    Ok(())
}

/// Waits for a batch, and keeps what it answered.
fn fetch(
    job: &Job<'_>,
    client: &BatchClient,
    batch: &Batch,
    price: Option<Price>,
    spent: &mut Spent,
) -> anyhow::Result<()> {
    let id = match &batch.id {
        Some(id) => Some(id.clone()),
        None => client.find(&batch.tag, batch.submitted, batch.keys.len())?,
    };
    let Some(id) = id else {
        // It never arrived, so nothing was paid for.
        return Ok(job.model.ledger.close(batch, false)?);
    };
    if batch.id.is_none() {
        job.model.ledger.submitted(batch, &id)?;
    }
    let spinner = output::spinner(job.global, format!("waiting for {id}"));
    let start = Instant::now();
    loop {
        match client.state(&id)? {
            BatchState::Ended => break,
            BatchState::Failed(why) => {
                job.model.ledger.close(batch, false)?;
                return Err(ChatError::Failed { message: why }.into());
            }
            BatchState::UnderWay { done, all } => {
                let minutes = start.elapsed().as_secs() / 60;
                spinner.set_message(format!("{id}: {done} of {all} answered, {minutes} min"));
            }
        }
        let look = Instant::now() + Duration::from_secs_f64(job.args.poll.clamp(0.05, 3600.0));
        while Instant::now() < look {
            if job.model.cancel.load(Ordering::Relaxed) {
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
                if job.model.ledger.reply(&key)?.is_none() {
                    keep(job, &key, &reply, price, spent)?;
                }
            }
            _ => unanswered += 1,
        }
    }
    job.model.ledger.close(batch, true)?;
    spinner.finish_and_clear();
    if unanswered > 0 {
        output::say(
            job.global,
            &format!("{} of {id} came back without an answer", plural(unanswered, "prompt")),
        );
    }
    Ok(())
}

/// A short name for a set of prompts.
fn blake3_of(keys: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    keys.iter().for_each(|key| {
        hasher.update(key.as_bytes());
    });
    hasher.finalize().to_hex()[..32].to_owned()
}
