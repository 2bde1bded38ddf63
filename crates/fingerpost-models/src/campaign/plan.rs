//! What would be asked, and what would it cost?
//!
//! The prompts are those that the next run would send: what the ledger knows is left out. Answers
//! that fail a check are asked for again, which nobody can foresee.

use fingerpost::chat::{Prompt, Usage};

use crate::chat::ChatConfig;

/// Tokens of an answer as a rule, with its JSON: measured on pages of a strong model; for choices twice what
/// its terse ones take (examples/replies), since most models explain more.
const LIKELY_PAGE: u64 = 330;
const LIKELY_CHOICE: u64 = 120;

/// What a server takes before it begins to answer, and how fast it then writes.
const LATENCY: f64 = 1.0;
const TOKENS_A_SECOND: f64 = 60.0;

/// What would be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Calls to be made.
    pub calls: usize,
    /// Answers that are in the ledger already.
    pub known: u64,
    /// About how many tokens the calls take, if the server caches what prompts have in common.
    pub usage: Usage,
    /// About what they cost in US dollars; `None` if the model has no price.
    pub cost: Option<f64>,
    /// About how long they take, so many at a time.
    pub seconds: f64,
}

/// What prompts will take, if a server keeps what the one before had in common.
pub(super) fn usage(prompts: &[(String, Prompt)]) -> Usage {
    let mut usage = Usage::default();
    let mut before: Option<&Prompt> = None;
    for (_, prompt) in prompts {
        let (shared, all) = prompt.tokens();
        let cached = before.is_some_and(|before| before.shared == prompt.shared);
        usage += Usage {
            input: all as u64,
            cached: if cached { shared as u64 } else { 0 },
            written: 0,
            output: match prompt.purpose() {
                "choice" => LIKELY_CHOICE,
                _ => LIKELY_PAGE * pages(prompt) as u64,
            },
        };
        before = Some(prompt);
    }
    usage
}

/// The most that prompts may take, with nothing cached.
pub(super) fn most(prompts: &[(String, Prompt)]) -> Usage {
    let mut most = usage(prompts);
    most.cached = 0;
    most.output = prompts.iter().map(|(_, prompt)| u64::from(prompt.max_output_tokens)).sum();
    most
}

/// How many pages one answer brings.
fn pages(prompt: &Prompt) -> usize {
    prompt.schema.as_ref().map_or(1, |schema| {
        let ids = schema.schema.pointer("/properties/pages/items/properties/skill/enum");
        ids.and_then(|ids| ids.as_array()).map_or(1, Vec::len)
    })
}

/// As long as the slowest of: the answers, the requests a minute, the tokens a minute.
pub(super) fn seconds(config: &ChatConfig, calls: usize, usage: &Usage, concurrency: usize) -> f64 {
    let calls = calls as f64;
    let answers = calls * LATENCY + usage.output as f64 / TOKENS_A_SECOND;
    let answers = answers / concurrency.max(1) as f64;
    let minutes = |amount: f64, limit: Option<u32>| {
        limit.map_or(0.0, |limit| amount / f64::from(limit.max(1)) * 60.0)
    };
    let requests = minutes(calls, config.requests_per_minute);
    let tokens = usage.input.saturating_add(usage.output);
    answers.max(requests).max(minutes(tokens as f64, config.tokens_per_minute))
}
