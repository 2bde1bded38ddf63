//! How many requests and tokens may leave in a minute?
//!
//! Both are spaced evenly. What a request will take is estimated before it leaves, and corrected
//! when the server has counted.

use std::sync::atomic::AtomicBool;

use fingerpost::chat::{Prompt, Usage};

use crate::retry::RateLimit;

/// What a page's answer takes as a rule.
const LIKELY_OUTPUT: usize = 350;

pub(super) struct Limits {
    requests: RateLimit,
    tokens: RateLimit,
}

impl Limits {
    pub(super) fn new(requests_per_minute: Option<u32>, tokens_per_minute: Option<u32>) -> Self {
        let [requests, tokens] = [requests_per_minute, tokens_per_minute].map(RateLimit::new);
        Self { requests, tokens }
    }

    /// Waits for a prompt's turn, and says how many tokens were set aside; `None` if stopped.
    pub(super) fn wait(&self, prompt: &Prompt, stop: &AtomicBool) -> Option<u32> {
        let (_, input) = prompt.tokens();
        let output = LIKELY_OUTPUT.min(prompt.max_output_tokens as usize);
        let tokens = u32::try_from(input + output).unwrap_or(u32::MAX);
        let turn = self.requests.wait_for(1, stop) && self.tokens.wait_for(tokens, stop);
        turn.then_some(tokens)
    }

    /// The server has counted.
    pub(super) fn settle(&self, taken: u32, usage: &Usage) {
        let real = u32::try_from(usage.input.saturating_add(usage.output)).unwrap_or(u32::MAX);
        self.tokens.correct(taken, real);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use fingerpost::chat::{Message, Schema, Speaker};
    use serde_json::json;

    use super::*;

    pub(crate) fn prompt() -> Prompt {
        let message = |role, text: &str| Message { role, text: text.into() };
        Prompt {
            system: "rules".into(),
            shared: "documents".into(),
            messages: vec![
                message(Speaker::User, "whose page"),
                message(Speaker::Assistant, "a bad one"),
                message(Speaker::User, "again"),
            ],
            schema: Some(Schema { name: "page".into(), schema: json!({"type": "object"}) }),
            max_output_tokens: 100,
            temperature: 0.2,
            seed: 42,
            attempt: 2,
        }
    }

    #[test]
    fn a_request_takes_its_tokens_and_gives_back_what_it_did_not_use() {
        let limits = Limits::new(None, Some(60_000));
        let stop = AtomicBool::new(false);
        let taken = limits.wait(&prompt(), &stop).unwrap();
        assert!((105..130).contains(&taken), "{taken}");
        limits.settle(taken, &Usage { input: 10, output: 10, ..Usage::default() });
        let start = std::time::Instant::now();
        limits.wait(&prompt(), &stop).unwrap();
        // Twenty tokens are twenty milliseconds; what was set aside would have been a hundred.
        let waited = start.elapsed().as_millis();
        assert!((10..90).contains(&waited), "{waited} ms");
    }
}
