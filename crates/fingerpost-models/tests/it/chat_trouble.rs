//! Does a server that lies, wastes or refuses cost more than it must?

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fingerpost::chat::{Chat, ChatError, Leave, Prompt};
use fingerpost_models::{Api, ChatConfig, HttpChat, Retry};
use serde_json::json;

use crate::chat::{chat, config, prompt, status};
use crate::chat_server::{Act, Server};

/// A prompt about these documents.
fn about(documents: usize) -> Prompt {
    Prompt { shared: format!("documents {documents}"), ..prompt() }
}

fn rejection() -> Act {
    status(400, "", r#"{"error":{"message":"please add funds"}}"#)
}

#[test]
fn a_server_that_rejects_everybody_refuses_us() {
    let server = Server::start(vec![rejection(); 20]);
    let chat = chat(&server);
    for number in 0..2 {
        let error = chat.complete(&about(number)).unwrap_err();
        assert!(matches!(error, ChatError::Rejected { .. }), "{error:?}");
    }
    for number in 2..9 {
        let error = chat.complete(&about(number)).unwrap_err();
        assert!(matches!(&error, ChatError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("please add funds"), "{error}");
    }
    assert_eq!(server.asked().len(), 3, "the circuit is broken");
    let doubt = chat.doubt().unwrap();
    let keys: Vec<String> = (0..3).map(|number| about(number).key("fake")).collect();
    assert_eq!(doubt.keys, keys.into_iter().collect());
}

#[test]
fn a_prompt_is_rejected_by_whoever_answers_others() {
    let server = Server::start(vec![rejection(), rejection(), Act::Page, rejection()]);
    let chat = chat(&server);
    let good: Vec<bool> = (0..6).map(|number| chat.complete(&about(number)).is_ok()).collect();
    assert_eq!(good, [false, false, true, false, true, true]);
    assert_eq!(chat.doubt(), None);
}

#[test]
fn no_credit_ends_it_at_once() {
    let quota =
        r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    let server = Server::start(vec![status(429, "", quota); 9]);
    let error = chat(&server).complete(&prompt()).unwrap_err();
    assert!(matches!(&error, ChatError::Refused { .. }), "{error:?}");
    assert_eq!(server.asked().len(), 1, "waiting brings no credit");
}

/// Allows so many requests.
struct Few {
    left: Cell<u32>,
    lost: Cell<u32>,
}

impl Leave for Few {
    fn to_send(&self) -> Result<(), ChatError> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or(ChatError::Budget { message: "no more".into() })?);
        Ok(())
    }

    fn lost(&self) {
        self.lost.set(self.lost.get() + 1);
    }
}

#[test]
fn leave_is_asked_for_every_request() {
    let few = |left| Few { left: Cell::new(left), lost: Cell::new(0) };
    let server = Server::start(vec![status(500, "", ""), Act::BreakOff, status(500, "", "")]);
    let leave = few(2);
    let error = chat(&server).complete_within(&prompt(), &leave).unwrap_err();
    assert_eq!(error, ChatError::Budget { message: "no more".into() });
    assert_eq!((server.asked().len(), leave.lost.get()), (2, 1), "one answer broke off");
    // A poorer dialect is another request.
    let server = Server::start(vec![]).refusing(&[("\"temperature\"", "no temperature, please")]);
    let error = chat(&server).complete_within(&prompt(), &few(1)).unwrap_err();
    assert!(matches!(error, ChatError::Budget { .. }) && server.asked().len() == 1);
}

#[test]
fn an_answer_is_kept_whatever_its_server_counts() {
    let odd = [
        json!({"prompt_tokens": -7, "completion_tokens": "12"}),
        json!({"prompt_tokens": 3.5, "completion_tokens": null}),
        json!({"prompt_tokens": u64::MAX, "completion_tokens": 1e99}),
        json!("plenty"),
    ];
    for usage in odd {
        let server = Server::start(vec![Act::Counts(usage.clone())]);
        let reply = chat(&server).complete(&prompt()).unwrap();
        assert_eq!(server.asked().len(), 1, "{usage}");
        let counted = reply.usage;
        assert!(counted.input > 0 && counted.input <= 1 << 40, "{usage}: {counted:?}");
        assert!(counted.output > 0 && counted.output <= 1 << 40, "{usage}: {counted:?}");
    }
}

#[test]
fn a_key_in_the_address_is_sent_and_never_told() {
    let secret = "sk-4711-very-secret";
    let echo = json!({"error": {"message": format!("bad key {secret}")}}).to_string();
    let server = Server::start(vec![Act::Page, status(401, "", &echo), Act::Drop, Act::Drop]);
    let base_url = format!("{}?key={secret}", server.url);
    let with_key = ChatConfig { base_url, ..config(&server, Api::OpenAi) };
    assert!(!format!("{with_key:?}").contains(secret) && !with_key.endpoint().contains(secret));
    let told = Mutex::new(Vec::new());
    let chat = || {
        let chat = HttpChat::new(with_key.clone(), Arc::default()).unwrap();
        chat.on_retry(|retry: &Retry| told.lock().unwrap().push(format!("{retry:?}")))
    };
    chat().complete(&prompt()).unwrap();
    assert!(server.asked()[0].path.ends_with(&format!("/chat/completions?key={secret}")));
    let error = chat().complete(&prompt()).unwrap_err().to_string();
    assert!(error.contains("bad key [key]") && !error.contains(secret), "{error}");
    chat().complete(&prompt()).unwrap();
    let told = told.into_inner().unwrap();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|told| !told.contains(secret)), "{told:?}");
    let nobody = ChatConfig { base_url: format!("nowhere?key={secret}"), ..with_key };
    let error = HttpChat::new(nobody, Arc::default()).err().unwrap().to_string();
    assert!(!error.contains(secret), "{error}");
}

#[test]
fn an_endless_answer_is_not_read_to_its_end() {
    let server = Server::start(vec![Act::Endless; 3]);
    let patient = ChatConfig { timeout: Duration::from_secs(60), ..config(&server, Api::OpenAi) };
    let start = Instant::now();
    let error = HttpChat::new(patient, Arc::default()).unwrap().complete(&prompt()).unwrap_err();
    assert!(matches!(&error, ChatError::Failed { .. }), "{error:?}");
    assert!(error.to_string().contains("does not end within 4.0 MiB"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30), "not by its timeout");
    assert_eq!(server.asked().len(), 1, "nor is it asked for again");
    // One that trickles ends by the time there is for an answer.
    let server = Server::start(vec![Act::Drips]);
    let reply = chat(&server).complete(&prompt());
    assert!(reply.is_ok() && server.asked().len() == 2, "{reply:?}");
}

#[test]
fn a_key_goes_nowhere_else() {
    let other = Server::start(vec![]);
    let elsewhere = format!("location: {}/chat/completions\r\n", other.url);
    for moved in [302, 307, 308] {
        let server = Server::start(vec![status(moved, &elsewhere, "")]);
        let error = chat(&server).complete(&prompt()).unwrap_err();
        assert!(matches!(&error, ChatError::Refused { .. }), "{error:?}");
    }
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn attempts_that_follow_are_told() {
    let server = Server::start(vec![status(503, "", "busy"), Act::Drop]);
    let told = Mutex::new(Vec::new());
    let chat = HttpChat::new(config(&server, Api::OpenAi), Arc::default()).unwrap();
    let chat = chat.on_retry(|retry: &Retry| told.lock().unwrap().push(retry.clone()));
    chat.complete(&prompt()).unwrap();
    drop(chat);
    let told = told.into_inner().unwrap();
    let numbers: Vec<(u32, u32)> = told.iter().map(|told| (told.attempt, told.attempts)).collect();
    assert_eq!(numbers, [(2, 3), (3, 3)]);
    assert!(told[0].why.contains("busy") && server.url.contains(&told[0].host), "{told:?}");
}
