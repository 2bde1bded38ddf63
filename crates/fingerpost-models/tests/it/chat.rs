//! Does the HTTP chat bear what servers do?

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use fingerpost::chat::{Chat, ChatError, Finish, Message, Prompt, Reply, Schema, Speaker, Usage};
use fingerpost_models::{
    Api, BatchClient, BatchState, ChatConfig, Dialect, Format, HttpChat, RetryConfig,
};
use serde_json::{Value, json};

use crate::chat_server::{Act, Server};

const DOCUMENTS: &str = "Each document stands between <skill-x> and </skill-x>.\n\n<skill-x>\nid: \"a\"\nname: a\ndescription: Adds\n\nSums numbers.\n</skill-x>";

pub(crate) fn prompt() -> Prompt {
    let schema =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let text = "Write the page of the skill \"a\".".to_owned();
    Prompt {
        system: "rules".into(),
        shared: DOCUMENTS.into(),
        messages: vec![Message { role: Speaker::User, text }],
        schema: Some(Schema { name: "page".into(), schema }),
        max_output_tokens: 100,
        temperature: 0.5,
        seed: 1,
        attempt: 0,
    }
}

pub(crate) fn config(server: &Server, api: Api) -> ChatConfig {
    ChatConfig {
        base_url: server.url.clone(),
        timeout: Duration::from_millis(400),
        retry: RetryConfig {
            attempts: 3,
            first_wait: Duration::from_millis(5),
            longest_wait: Duration::from_secs(4),
            seed: 7,
        },
        ..ChatConfig::new(api, "fake")
    }
}

pub(crate) fn chat(server: &Server) -> HttpChat<'static> {
    HttpChat::new(config(server, Api::OpenAi), Arc::default()).unwrap()
}

pub(crate) fn status(status: u16, headers: &str, body: &str) -> Act {
    Act::Status(status, headers.into(), body.into())
}

/// After these acts the page comes, in so many requests.
fn recovers(script: Vec<Act>, requests: usize) -> Reply {
    let server = Server::start(script.clone());
    let reply = chat(&server).complete(&prompt());
    let reply = reply.unwrap_or_else(|error| panic!("{script:?}: {error}"));
    assert!(reply.text.contains("\"trigger\":\"Adds\""), "{script:?}: {}", reply.text);
    assert_eq!(server.asked().len(), requests, "{script:?}");
    reply
}

/// These acts end in an error that says this, after so many requests.
fn fails(script: Vec<Act>, requests: usize, says: &[&str]) -> ChatError {
    let server = Server::start(script.clone());
    let error = chat(&server).complete(&prompt()).unwrap_err();
    for words in says {
        assert!(error.to_string().contains(words), "{script:?}: {error}");
    }
    assert_eq!(server.asked().len(), requests, "{script:?}");
    error
}

#[test]
fn passing_trouble_passes() {
    let reply = recovers(vec![], 1);
    assert_eq!(reply.usage, Usage { input: 1000, cached: 600, written: 0, output: 100 });
    assert_eq!((reply.finish, reply.model.as_str()), (Finish::Stop, "fake-1"));
    recovers(vec![status(500, "", "oops"), status(503, "", "")], 3);
    recovers(vec![status(529, "", r#"{"error":{"message":"overloaded"}}"#)], 2);
    recovers(vec![Act::Drop], 2);
    recovers(vec![Act::BreakOff], 2);
    recovers(vec![Act::BadBytes, Act::HalfPair], 3);
    recovers(vec![Act::Hang], 2);
    recovers(vec![status(200, "", r#"{"error":{"message":"upstream"}}"#)], 2);
}

#[test]
fn lasting_trouble_is_told_by_kind() {
    let busy = status(429, "", r#"{"error":{"message":"slow down"}}"#);
    let error = fails(vec![busy; 9], 3, &["429", "slow down", "after 3 attempts"]);
    assert!(matches!(error, ChatError::Limited { after: None, .. }), "{error:?}");
    let error = fails(vec![Act::Hang; 9], 3, &["timeout"]);
    assert!(matches!(error, ChatError::Failed { .. }), "{error:?}");
    let error = fails(vec![status(404, "", "no such model")], 1, &["no such model", "/v1"]);
    assert!(matches!(error, ChatError::Refused { .. }), "{error:?}");
    let error = fails(vec![status(413, "", "too long")], 1, &["too long"]);
    assert!(matches!(error, ChatError::Rejected { .. }) && !error.ends_run());
    let error = fails(vec![status(429, "retry-after: 900\r\n", "")], 1, &["900 s"]);
    let after = Some(Duration::from_secs(900));
    assert!(matches!(&error, ChatError::Limited { after: wait, .. } if *wait == after));
}

#[test]
fn answers_that_are_wanting_are_answers() {
    // They were paid for: the ledger keeps them, and the writer asks again.
    let server = Server::start(vec![Act::Says(String::new()), Act::Cut("{\"trig".into())]);
    let chat = chat(&server);
    let blank = chat.complete(&prompt()).unwrap();
    assert_eq!((blank.text.as_str(), blank.usage.output), ("", 100));
    assert_eq!(chat.complete(&prompt()).unwrap().finish, Finish::Length);
}

#[test]
fn the_servers_time_is_waited_for_in_seconds_and_as_a_date() {
    // A date has whole seconds: three ahead are more than two.
    let waits: [fn() -> String; 2] = [|| "1".into(), || httpdate_in(3)];
    for wait in waits {
        let header = format!("retry-after: {}\r\n", wait());
        let server = Server::start(vec![status(429, &header, "")]);
        let start = Instant::now();
        chat(&server).complete(&prompt()).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(900), "{header}");
    }
}

fn httpdate_in(seconds: u64) -> String {
    httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(seconds))
}

#[test]
fn a_refusal_stops_everything() {
    for refusal in [401, 402, 403] {
        let body = r#"{"error":{"message":"insufficient balance"}}"#;
        let server = Server::start(vec![status(refusal, "", body)]);
        let chat = chat(&server);
        for _ in 0..5 {
            let error = chat.complete(&prompt()).unwrap_err();
            assert!(matches!(&error, ChatError::Refused { .. }), "{error:?}");
            assert!(error.to_string().contains("insufficient balance"), "{error}");
        }
        assert_eq!(server.asked().len(), 1, "the circuit is broken");
    }
}

#[test]
fn what_a_server_refuses_is_learned_once() {
    let refused = [
        ("\"json_schema\"", "response_format type json_schema is unavailable"),
        ("\"temperature\"", "'temperature' is not supported with this model"),
        ("\"max_tokens\"", "use 'max_completion_tokens' instead"),
    ];
    let server = Server::start(vec![]).refusing(&refused);
    let learned = Mutex::new(Vec::new());
    let chat = HttpChat::new(config(&server, Api::OpenAi), Arc::default())
        .unwrap()
        .remembering(Dialect::default(), |dialect| learned.lock().unwrap().push(dialect));
    chat.complete(&prompt()).unwrap();
    assert_eq!(server.asked().len(), 4);
    chat.complete(&prompt()).unwrap();
    assert_eq!(server.asked().len(), 5, "it is not tried again");
    let dialect =
        Dialect { format: Format::Object, temperature: false, seed: true, new_limit: true };
    assert_eq!(*learned.lock().unwrap(), [dialect]);
    let last = server.asked().pop().unwrap().body;
    assert_eq!(last["response_format"], json!({"type": "json_object"}));
    // Whoever remembers asks rightly at once.
    let again = HttpChat::new(config(&server, Api::OpenAi), Arc::default()).unwrap();
    again.remembering(dialect, |_| ()).complete(&prompt()).unwrap();
    assert_eq!(server.asked().len(), 6);
}

#[test]
fn a_server_that_knows_no_format_is_asked_in_words() {
    let server =
        Server::start(vec![]).refusing(&[("response_format", "unknown field response_format")]);
    let chat = chat(&server);
    chat.complete(&prompt()).unwrap();
    assert_eq!(chat.dialect().format, Format::Plain);
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn what_is_not_about_the_dialect_teaches_nothing() {
    let server = Server::start(vec![]).refusing(&[("rules", "maximum context length exceeded")]);
    let chat = chat(&server);
    assert!(matches!(chat.complete(&prompt()), Err(ChatError::Rejected { .. })));
    assert_eq!((server.asked().len(), chat.dialect()), (1, Dialect::default()));
}

#[test]
fn a_server_that_does_not_count_is_counted_for() {
    let server = Server::start(vec![Act::Uncounted]);
    let usage = chat(&server).complete(&prompt()).unwrap().usage;
    assert!(usage.input > 20 && usage.output > 10, "{usage:?}");
}

#[test]
fn the_key_is_sent_and_never_told() {
    // PATH is the one variable that surely exists; its value stands in for a key.
    let key = std::env::var("PATH").unwrap();
    let echo = json!({"error": {"message": format!("bad key {}", key.trim())}}).to_string();
    let server = Server::start(vec![Act::Page, status(401, "", &echo)]);
    let config = ChatConfig { key_variable: Some("PATH".into()), ..config(&server, Api::OpenAi) };
    let chat = HttpChat::new(config.clone(), Arc::default()).unwrap();
    chat.complete(&prompt()).unwrap();
    let sent = format!("Bearer {}", key.trim());
    assert_eq!(server.asked()[0].header("authorization"), Some(sent.as_str()));
    let error = chat.complete(&prompt()).unwrap_err().to_string();
    assert!(error.contains("bad key [key]") && error.contains("PATH"), "{error}");
    assert!(!error.contains(key.trim()) && !format!("{config:?}").contains(&key));
    let without = ChatConfig { key_variable: Some("FINGERPOST_NO_SUCH".into()), ..config };
    let error = HttpChat::new(without, Arc::default()).err().unwrap().to_string();
    assert!(error.contains("FINGERPOST_NO_SUCH"), "{error}");
}

#[test]
fn anthropic_is_asked_its_own_way() {
    let server = Server::start(vec![status(529, "", "overloaded")]);
    let config =
        ChatConfig { key_variable: Some("PATH".into()), ..config(&server, Api::Anthropic) };
    let reply = HttpChat::new(config, Arc::default()).unwrap().complete(&prompt()).unwrap();
    assert!(reply.text.contains("\"trigger\":\"Adds\""), "{}", reply.text);
    assert_eq!(reply.usage, Usage { input: 1000, cached: 600, written: 300, output: 100 });
    let asked = server.asked().pop().unwrap();
    assert!(asked.path.ends_with("/v1/messages"));
    assert!(asked.header("x-api-key").is_some() && asked.header("authorization").is_none());
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.body["tool_choice"]["type"], "tool");
}

#[test]
fn requests_keep_to_the_minute() {
    let server = Server::start(vec![]);
    let slow = ChatConfig { requests_per_minute: Some(300), ..config(&server, Api::OpenAi) };
    let chat = HttpChat::new(slow, Arc::default()).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| chat.complete(&prompt()).unwrap())));
    });
    assert!(start.elapsed() >= Duration::from_millis(600), "{:?}", start.elapsed());
    // A call is 1100 tokens here, as the server counts.
    let thrifty = ChatConfig { tokens_per_minute: Some(220_000), ..config(&server, Api::OpenAi) };
    let chat = HttpChat::new(thrifty, Arc::default()).unwrap();
    let start = Instant::now();
    (0..3).for_each(|_| drop(chat.complete(&prompt()).unwrap()));
    let elapsed = start.elapsed().as_millis();
    assert!((550..3000).contains(&elapsed), "{elapsed} ms");
}

#[test]
fn a_wait_ends_when_somebody_wants_an_end() {
    let server = Server::start(vec![status(429, "retry-after: 60\r\n", "")]);
    let cancel = Arc::new(AtomicBool::new(false));
    let retry = RetryConfig { longest_wait: Duration::from_secs(90), ..RetryConfig::default() };
    let patient = ChatConfig { retry, ..config(&server, Api::OpenAi) };
    let chat = HttpChat::new(patient, Arc::clone(&cancel)).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| chat.complete(&prompt()));
        std::thread::sleep(Duration::from_millis(200));
        cancel.store(true, Ordering::Relaxed);
        assert_eq!(asking.join().unwrap(), Err(ChatError::Cancelled));
    });
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn batches_are_submitted_looked_after_and_fetched() {
    for api in [Api::OpenAi, Api::Anthropic] {
        let server = Server::start(vec![]);
        let client = BatchClient::new(config(&server, api), Arc::default()).unwrap();
        let prompts = [("k1".to_owned(), prompt()), ("k2".to_owned(), prompt())];
        let id = client.submit(&prompts, "the-tag", Dialect::default()).unwrap();
        assert_eq!(client.find("the-tag", 0, 2).unwrap().as_deref(), Some(id.as_str()));
        assert_eq!(client.find("another", 0, 3).unwrap(), None);
        assert_eq!(client.state(&id).unwrap(), BatchState::UnderWay { done: 0, all: 2 });
        assert_eq!(client.state(&id).unwrap(), BatchState::Ended);
        let answers = client.answers(&id, 2).unwrap();
        let keys: Vec<&str> = answers.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["k1", "k2"]);
        for (_, reply) in answers {
            let page: Value = serde_json::from_str(&reply.unwrap().text).unwrap();
            assert_eq!(page["trigger"], "Adds", "{api:?}");
        }
    }
}
