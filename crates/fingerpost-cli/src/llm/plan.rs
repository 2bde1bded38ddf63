//! `--dry-run`: what would be asked, and what would it cost?
//!
//! The prompts are those that the next run would send: what the ledger knows is left out. Answers
//! that fail a check are asked for again, which nobody can foresee; the plan says so.

use std::io::Write;

use fingerpost::chat::{Prompt, Usage};
use serde::Serialize;

use super::Job;
use super::progress::time;
use crate::output::{self, FAINT, STRONG, plural, thousands};

/// Tokens of a page's answer as a rule: measured on pages of a strong model, with their JSON.
const LIKELY_OUTPUT: u64 = 330;

/// What a server takes before it begins to answer, and how fast it then writes.
const LATENCY: f64 = 1.0;
const TOKENS_A_SECOND: f64 = 60.0;

#[derive(Serialize)]
struct Plan<'a> {
    model: &'a str,
    calls: usize,
    known: u64,
    pages: usize,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    /// `None` if the model has no price.
    cost_usd: Option<f64>,
    seconds: f64,
}

pub(super) fn tell(job: &Job<'_>) -> anyhow::Result<()> {
    let (outcome, waiting, known) = job.outbox();
    if let Some(error) = outcome.stopped {
        return Err(error.into());
    }
    let usage = usage(&waiting);
    let price = match job.args.batch {
        Some(_) => job.model.price.map(|price| price.batch),
        None => job.model.price.map(|price| price.single),
    };
    let plan = Plan {
        model: &job.model.name,
        calls: waiting.len(),
        known,
        pages: job.pages(),
        input_tokens: usage.input,
        cached_tokens: usage.cached,
        output_tokens: usage.output,
        cost_usd: price.map(|price| price.of(&usage)),
        seconds: seconds(job, waiting.len() as f64, &usage),
    };
    if job.global.json {
        return output::print_json(&plan);
    }
    let mut out = anstream::stdout().lock();
    let calls = plural(plan.calls, "call");
    writeln!(
        out,
        "{STRONG}{calls}{STRONG:#} to {} for {}",
        plan.model,
        plural(plan.pages, "page")
    )?;
    if known > 0 {
        writeln!(out, "  known   {} answers are in the ledger already", thousands(known as usize))?;
    }
    let [input, cached, written] =
        [usage.input, usage.cached, usage.output].map(|tokens| thousands(tokens as usize));
    writeln!(
        out,
        "  input   about {input} tokens, {cached} of them from the server's cache, if it has one"
    )?;
    writeln!(out, "  output  about {written} tokens")?;
    match plan.cost_usd {
        Some(cost) => writeln!(out, "  price   about ${cost:.4}")?,
        None => writeln!(out, "  price   not known; --prices names a file that knows it")?,
    }
    writeln!(out, "  time    about {}", time(plan.seconds))?;
    writeln!(
        out,
        "{FAINT}Pages that fail their checks are asked for again, at most {} times in all; nothing was asked now.{FAINT:#}",
        job.config.attempts
    )?;
    Ok(())
}

/// What prompts will take, if a server keeps what the one before had in common.
pub(super) fn usage(prompts: &[(String, Prompt)]) -> Usage {
    let mut usage = Usage::default();
    let mut before: Option<&Prompt> = None;
    for (_, prompt) in prompts {
        let (shared, all) = prompt.tokens();
        usage.input += all as u64;
        if before.is_some_and(|before| before.shared == prompt.shared) {
            usage.cached += shared as u64;
        }
        let pages = prompt.schema.as_ref().map_or(1, |schema| {
            let ids = schema.schema.pointer("/properties/pages/items/properties/skill/enum");
            ids.and_then(|ids| ids.as_array()).map_or(1, Vec::len)
        });
        usage.output += LIKELY_OUTPUT * pages as u64;
        before = Some(prompt);
    }
    usage
}

/// As long as the slowest of: the answers, the requests a minute, the tokens a minute.
fn seconds(job: &Job<'_>, calls: f64, usage: &Usage) -> f64 {
    let answers = calls * LATENCY + usage.output as f64 / TOKENS_A_SECOND;
    let answers = answers / job.config.concurrency as f64;
    let minutes = |amount: f64, limit: Option<u32>| {
        limit.map_or(0.0, |limit| amount / f64::from(limit) * 60.0)
    };
    let requests = minutes(calls, job.model.config.requests_per_minute);
    let tokens = minutes((usage.input + usage.output) as f64, job.model.config.tokens_per_minute);
    answers.max(requests).max(tokens)
}
