//! `--dry-run`: what would be asked, and what would it cost?
//!
//! The prompts are those that the next run would send: what the ledger knows is left out. Answers
//! that fail a check are asked for again, which nobody can foresee; the plan says so.

use std::io::Write;

use fingerpost::chat::{Prompt, Usage};
use serde::Serialize;

use super::elsewhere::{Errand, Pass};
use crate::output::{self, FAINT, STRONG, plural, thousands};
use crate::progress::time;

/// Tokens of an answer as a rule, with its JSON: measured on pages of a strong model; for choices twice what
/// its terse ones take (examples/replies), since most models explain more.
const LIKELY_PAGE: u64 = 330;
const LIKELY_CHOICE: u64 = 120;

/// What a server takes before it begins to answer, and how fast it then writes.
const LATENCY: f64 = 1.0;
const TOKENS_A_SECOND: f64 = 60.0;

#[derive(Serialize)]
struct Plan<'a> {
    model: &'a str,
    calls: usize,
    known: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<usize>,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    /// `None` if the model has no price.
    cost_usd: Option<f64>,
    seconds: f64,
}

pub(super) fn tell<T>(errand: &Errand<'_, T>) -> anyhow::Result<()> {
    let Pass { waiting, known, .. } = (errand.pass)()?;
    let usage = usage(&waiting);
    let price = errand.model.price.map(|price| match errand.how.batch {
        Some(_) => price.batch,
        None => price.single,
    });
    let wanted = |noun: &str| (errand.noun == noun).then_some(errand.wanted);
    let plan = Plan {
        model: &errand.model.name,
        calls: waiting.len(),
        known,
        pages: wanted("page"),
        requests: wanted("request"),
        input_tokens: usage.input,
        cached_tokens: usage.cached,
        output_tokens: usage.output,
        cost_usd: price.map(|price| price.of(&usage)),
        seconds: seconds(errand, waiting.len() as f64, &usage),
    };
    if errand.global.json {
        return output::print_json(&plan);
    }
    let mut out = anstream::stdout().lock();
    let calls = plural(plan.calls, "call");
    writeln!(
        out,
        "{STRONG}{calls}{STRONG:#} to {} for {}",
        plan.model,
        plural(errand.wanted, errand.noun)
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
        "{FAINT}Answers that fail their checks are asked for again, at most {} times in all; nothing was asked now.{FAINT:#}",
        errand.server.attempts
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
        usage.output += match prompt.purpose() {
            "choice" => LIKELY_CHOICE,
            _ => LIKELY_PAGE * pages(prompt) as u64,
        };
        before = Some(prompt);
    }
    usage
}

/// How many pages one answer brings.
fn pages(prompt: &Prompt) -> usize {
    prompt.schema.as_ref().map_or(1, |schema| {
        let ids = schema.schema.pointer("/properties/pages/items/properties/skill/enum");
        ids.and_then(|ids| ids.as_array()).map_or(1, Vec::len)
    })
}

/// As long as the slowest of: the answers, the requests a minute, the tokens a minute.
fn seconds<T>(errand: &Errand<'_, T>, calls: f64, usage: &Usage) -> f64 {
    let answers = calls * LATENCY + usage.output as f64 / TOKENS_A_SECOND;
    let answers = answers / f64::from(errand.server.concurrency.get());
    let minutes = |amount: f64, limit: Option<u32>| {
        limit.map_or(0.0, |limit| amount / f64::from(limit) * 60.0)
    };
    let requests = minutes(calls, errand.model.config.requests_per_minute);
    let tokens =
        minutes((usage.input + usage.output) as f64, errand.model.config.tokens_per_minute);
    answers.max(requests).max(tokens)
}
