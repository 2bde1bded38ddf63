//! `/messages`, as Anthropic defined it.
//!
//! Its caches want to be told where the stable part ends, and its form of an answer is the input of
//! a tool that the model is made to use.

use fingerpost::chat::{Finish, Prompt, Reply, Speaker, Usage};
use serde_json::{Value, json};

use super::usage::count;
use super::{Dialect, Format};

/// The request, with a mark after the rules and one after the shared documents: the first is read
/// from the cache by every call of a run, the second by every call of a neighborhood.
pub(super) fn body(model: &str, prompt: &Prompt, dialect: Dialect) -> Value {
    let text = |text: &str| json!({"type": "text", "text": text});
    let stable =
        |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let mut messages = Vec::new();
    for (at, message) in prompt.messages.iter().enumerate() {
        let role = match message.role {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        let mut content = vec![text(&message.text)];
        if at == 0 && !prompt.shared.is_empty() {
            content.insert(0, stable(&prompt.shared));
        }
        messages.push(json!({"role": role, "content": content}));
    }
    let mut body = json!({
        "model": model,
        "max_tokens": prompt.max_output_tokens,
        "system": [stable(&prompt.system)],
        "messages": messages,
    });
    if dialect.temperature {
        body["temperature"] = json!(prompt.temperature);
    }
    if let (Some(schema), Format::Schema) = (&prompt.schema, dialect.format) {
        let about = "Takes the answer.";
        let tool =
            json!({"name": schema.name, "description": about, "input_schema": schema.schema});
        body["tools"] = json!([tool]);
        body["tool_choice"] = json!({"type": "tool", "name": schema.name});
    }
    body
}

/// The answer; the error says why there is none, and that it may be worth another try.
pub(super) fn read(bytes: &[u8]) -> Result<Reply, String> {
    let answer: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("the answer is not what was asked for: {error}"))?;
    let Some(blocks) = answer.get("content").and_then(Value::as_array) else {
        return Err("the answer is not what was asked for: it has no content".into());
    };
    let mut text = String::new();
    let mut input = None;
    for block in blocks {
        // Others are reasoning, and whatever else there will be.
        match block.get("type").and_then(Value::as_str) {
            Some("text") => text += block.get("text").and_then(Value::as_str).unwrap_or_default(),
            Some("tool_use") => input = block.get("input").map(Value::to_string),
            _ => {}
        }
    }
    let finish = match answer.get("stop_reason").and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::Withheld,
        _ => Finish::Stop,
    };
    let tokens =
        |name: &str| count(answer.get("usage").and_then(|usage| usage.get(name))).unwrap_or(0);
    let cached = tokens("cache_read_input_tokens");
    let written = tokens("cache_creation_input_tokens");
    // Anthropic counts these apart.
    let all = tokens("input_tokens") + cached + written;
    let usage = Usage { input: all, cached, written, output: tokens("output_tokens") };
    let model = answer.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Reply { text: input.unwrap_or(text), usage: usage.bounded(), finish, model })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::limits::tests::prompt;

    #[test]
    fn the_stable_parts_are_marked_for_the_cache() {
        let body = body("m", &prompt(), Dialect::default());
        assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
        let first = &body["messages"][0]["content"];
        assert_eq!(first[0]["text"], "documents");
        assert_eq!(first[0]["cache_control"]["type"], "ephemeral");
        assert_eq!(first[1]["text"], "whose page");
        assert!(first[1].get("cache_control").is_none());
        assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "page"}));
        assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
        let plain = Dialect { format: Format::Object, temperature: false, ..Dialect::default() };
        let plain = super::body("m", &prompt(), plain);
        assert!(plain.get("tools").is_none() && plain.get("temperature").is_none());
    }

    #[test]
    fn the_tools_input_is_the_answer() {
        let answer = json!({
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "Here you are."},
                {"type": "tool_use", "id": "t", "name": "page", "input": {"trigger": "a"}},
            ],
            "stop_reason": "tool_use",
            "model": "claude",
            "usage": {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70, "output_tokens": 9},
        });
        let reply = read(answer.to_string().as_bytes()).unwrap();
        assert_eq!(reply.text, r#"{"trigger":"a"}"#);
        assert_eq!(reply.usage, Usage { input: 95, cached: 70, written: 20, output: 9 });
        let text =
            json!({"content": [{"type": "text", "text": "{}"}], "stop_reason": "max_tokens"});
        let reply = read(text.to_string().as_bytes()).unwrap();
        assert_eq!((reply.text.as_str(), reply.finish), ("{}", Finish::Length));
    }
}
