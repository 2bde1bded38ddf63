//! `/chat/completions`, as OpenAI defined it and nearly every server speaks it.

use fingerpost::chat::{Finish, Prompt, Reply, Speaker, Usage};
use serde_json::{Value, json};

use super::usage::count;
use super::{Dialect, Format};
use crate::window::first_characters;

/// The request. The shared part opens the first message: servers that cache prefixes find it by
/// themselves, and chat templates that want turns to alternate are not upset.
pub(super) fn body(model: &str, prompt: &Prompt, dialect: Dialect) -> Value {
    let mut messages = vec![json!({"role": "system", "content": prompt.system})];
    for (at, message) in prompt.messages.iter().enumerate() {
        let role = match message.role {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        let content = match at {
            0 if !prompt.shared.is_empty() => format!("{}\n\n{}", prompt.shared, message.text),
            _ => message.text.clone(),
        };
        messages.push(json!({"role": role, "content": content}));
    }
    let mut body = json!({"model": model, "messages": messages});
    let limit = if dialect.new_limit { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(prompt.max_output_tokens);
    if dialect.temperature {
        body["temperature"] = json!(prompt.temperature);
    }
    if dialect.seed {
        body["seed"] = json!(prompt.seed.wrapping_add(prompt.attempt.into()) & 0x7fff_ffff);
    }
    let format = match (&prompt.schema, dialect.format) {
        (None, _) | (_, Format::Plain) => return body,
        (Some(schema), Format::Schema) => json!({
            "type": "json_schema",
            "json_schema": {"name": schema.name, "strict": true, "schema": schema.schema},
        }),
        (Some(_), Format::Object) => json!({"type": "json_object"}),
    };
    body["response_format"] = format;
    body
}

/// The answer; the error says why there is none, and that it may be worth another try.
pub(super) fn read(bytes: &[u8]) -> Result<Reply, String> {
    let completion: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("the answer is not what was asked for: {error}"))?;
    let Some(choice) = completion.pointer("/choices/0") else {
        // Some gateways report failures of those behind them as a success.
        let why = completion.get("error").map_or("nothing".into(), |error| error.to_string());
        return Err(format!("the answer holds {}", first_characters(&why, 500)));
    };
    let Some(said) = choice.get("message").filter(|said| said.is_object()) else {
        return Err("the answer is not what was asked for: there is no message in it".into());
    };
    let refusal = said.get("refusal").is_some_and(|refusal| !refusal.is_null());
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("content_filter") => Finish::Withheld,
        _ if refusal => Finish::Withheld,
        Some("length") => Finish::Length,
        _ => Finish::Stop,
    };
    // Reasoning comes in another field, which is not read.
    let text = match said.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
        }
        _ => String::new(),
    };
    let tokens = |place: &str| count(completion.pointer(&format!("/usage/{place}")));
    let usage = Usage {
        input: tokens("prompt_tokens").unwrap_or(0),
        // The latter is DeepSeek's word for cached tokens.
        cached: tokens("prompt_tokens_details/cached_tokens")
            .or_else(|| tokens("prompt_cache_hit_tokens"))
            .unwrap_or(0),
        written: 0,
        output: tokens("completion_tokens").unwrap_or(0),
    };
    let model = completion.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Reply { text, usage: usage.bounded(), finish, model })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::limits::tests::prompt;

    #[test]
    fn the_shared_part_opens_the_first_message() {
        let body = body("m", &prompt(), Dialect::default());
        let roles: Vec<&str> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["role"].as_str().unwrap())
            .collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"]);
        assert_eq!(body["messages"][1]["content"], "documents\n\nwhose page");
        assert_eq!(body["response_format"]["json_schema"]["strict"], true);
        assert_eq!(body["seed"], 44, "another attempt draws anew");
    }

    #[test]
    fn a_poorer_dialect_says_less() {
        let dialect =
            Dialect { format: Format::Object, temperature: false, seed: false, new_limit: true };
        let poor = body("m", &prompt(), dialect);
        assert_eq!(poor["response_format"], json!({"type": "json_object"}));
        assert_eq!(poor["max_completion_tokens"], 100);
        for absent in ["temperature", "seed", "max_tokens"] {
            assert!(poor.get(absent).is_none(), "{absent}");
        }
        let plain = body("m", &prompt(), Dialect { format: Format::Plain, ..dialect });
        assert!(plain.get("response_format").is_none());
    }

    #[test]
    fn usage_is_read_in_every_dialect() {
        let read = |usage: Value| {
            let choice = json!({"message": {"content": "x"}, "finish_reason": "stop"});
            let body = json!({"choices": [choice], "usage": usage, "model": "m-1"});
            read(body.to_string().as_bytes()).unwrap().usage
        };
        let openai = json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}});
        assert_eq!(read(openai), Usage { input: 9, cached: 4, written: 0, output: 2 });
        let deepseek =
            json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 8});
        assert_eq!(read(deepseek), Usage { input: 9, cached: 8, written: 0, output: 2 });
        assert_eq!(read(Value::Null), Usage::default());
        // An answer that was paid for is not thrown away for a number.
        let odd = json!({"prompt_tokens": "9", "completion_tokens": -2, "prompt_tokens_details": {"cached_tokens": 4.0}});
        assert_eq!(read(odd), Usage { input: 9, cached: 4, written: 0, output: 0 });
        let huge = json!({"prompt_tokens": u64::MAX, "completion_tokens": 1e30});
        assert_eq!(read(huge), Usage { input: 1 << 40, cached: 0, written: 0, output: 1 << 40 });
        assert_eq!(read(json!("many")), Usage::default());
    }

    #[test]
    fn ends_are_told_apart() {
        let read = |message: Value, finish: &str| {
            let body = json!({"choices": [{"message": message, "finish_reason": finish}]});
            let reply = read(body.to_string().as_bytes()).unwrap();
            (reply.text, reply.finish)
        };
        assert_eq!(read(json!({"content": "x"}), "length"), ("x".into(), Finish::Length));
        assert_eq!(read(json!({"content": null}), "stop"), (String::new(), Finish::Stop));
        assert_eq!(read(json!({"content": null, "refusal": "no"}), "stop").1, Finish::Withheld);
        assert_eq!(read(json!({"content": ""}), "content_filter").1, Finish::Withheld);
        let reasoned = json!({"content": "{}", "reasoning_content": "because"});
        assert_eq!(read(reasoned, "stop").0, "{}");
    }
}
