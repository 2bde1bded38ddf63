//! How many tokens does a server say a call took?
//!
//! An answer was paid for whatever its server says it took, so nothing here is an error: numbers may be
//! fractions or text, what is below nothing is nothing, and what is not told is estimated.

use fingerpost::chat::{Prompt, Reply, Usage, estimate_tokens};
use serde_json::Value;

/// A number of tokens, if one is told.
pub(crate) fn count(value: Option<&Value>) -> Option<u64> {
    let number = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // Conversion cuts what is below zero or too much, and makes nothing of what is no number.
    Some((number.round() as u64).min(Usage::MOST))
}

/// Servers that do not count get an estimate, so that limits and prices hold there too. A prompt is
/// never empty, and an answer only if there is no text.
pub(crate) fn with_estimates(mut reply: Reply, prompt: &Prompt) -> Reply {
    if reply.usage.input == 0 {
        reply.usage.input = prompt.tokens().1 as u64;
    }
    if reply.usage.output == 0 {
        reply.usage.output = estimate_tokens(&reply.text) as u64;
    }
    reply.usage = reply.usage.bounded();
    reply
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_is_said_is_a_number_or_nothing() {
        let check = |value: Value, expected| assert_eq!(count(Some(&value)), expected, "{value}");
        check(json!(12), Some(12));
        check(json!(12.4), Some(12));
        check(json!("12"), Some(12));
        check(json!("1e3"), Some(1000));
        check(json!(-5), Some(0));
        check(json!(u64::MAX), Some(Usage::MOST));
        check(json!(1e300), Some(Usage::MOST));
        check(json!("NaN"), Some(0));
        check(json!("many"), None);
        check(json!([1]), None);
        check(Value::Null, None);
        assert_eq!(count(None), None);
    }
}
