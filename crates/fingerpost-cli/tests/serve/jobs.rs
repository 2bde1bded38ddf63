//! Compilations that somebody asked for, watched to their end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::FAMILIES;
use crate::chat_server::{Act, Server as Chat};
use crate::folder::Fixture;
use crate::server::Server;

/// The events of a job, to its end.
fn watch(server: &Server, job: &Value) -> Vec<crate::server::Event> {
    let path = format!("/v1/jobs/{}/events", job.as_str().unwrap());
    let events: Vec<_> = server.events(&path, &[]).collect();
    let end = events.last().unwrap();
    assert_eq!(end.name, "end", "{events:?}");
    assert!(events[..events.len() - 1].iter().all(|event| event.name == "progress"));
    events
}

#[test]
fn a_compilation_is_watched_to_its_end() {
    let fixture = Fixture::new(&FAMILIES);
    let server = Server::start(&fixture, &[]);
    let before = server.json("/v1/library")["generation"].as_u64().unwrap();
    let begun = server.order("/v1/compile", &json!({"rebuild": true}));
    assert_eq!(begun.status, 202, "{begun:?}");
    let job = begun.json()["job"].clone();
    let end = watch(&server, &job).pop().unwrap();
    assert_eq!((&end.data["state"], &end.data["calls"]), (&json!("done"), &json!(0)), "{end:?}");
    assert!(server.json("/v1/library")["generation"].as_u64().unwrap() > before);
    let told = server.json(&format!("/v1/jobs/{}", job.as_str().unwrap()));
    assert_eq!(told, end.data);
    assert_eq!(server.json("/v1/jobs")["jobs"], json!([told]));
    let path = format!("/v1/jobs/{}/events", job.as_str().unwrap());
    let resumed: Vec<_> = server.events(&path, &[("last-event-id", &end.id)]).collect();
    assert_eq!((resumed.len(), &resumed[0].data), (1, &told), "whoever comes late hears the end");
    let refused = server.order("/v1/compile", &json!({"writer": "llm"})).problem(422);
    assert!(refused["hint"].as_str().unwrap().contains("--model"), "{refused}");
    server.order("/v1/compile", &json!({"base_url": "http://evil.example"})).problem(422);
}

#[test]
fn a_model_writes_pages_for_money_that_is_told() {
    let fixture = Fixture::new(&FAMILIES);
    let price = "[[model]]\nname = \"fake\"\ninput = 1\ncached = 0.1\noutput = 4\n";
    std::fs::write(fixture.path("prices.toml"), price).unwrap();
    let chat = Chat::start(vec![]);
    let model = ["--model", "fake", "--base-url", &chat.url, "--prices", "prices.toml"];
    let server = Server::start(&fixture, &model);
    assert_eq!(server.json("/v1/library")["model"], "fake");

    let job = server.order("/v1/compile", &json!({"writer": "llm", "dry_run": true})).json();
    let end = watch(&server, &job["job"]).pop().unwrap();
    assert_eq!(end.data["state"], "done", "{end:?}");
    let planned = end.data["plan"]["calls"].as_u64().unwrap();
    assert!(planned > 0 && end.data["plan"]["cost_usd"].as_f64().unwrap() > 0.0, "{end:?}");
    assert_eq!(chat.asked().len(), 0, "nothing was asked");

    let job = server.order("/v1/compile", &json!({"writer": "llm"})).json();
    let end = watch(&server, &job["job"]).pop().unwrap();
    assert_eq!(end.data["state"], "done", "{end:?}");
    let calls = end.data["calls"].as_u64().unwrap();
    assert_eq!(calls, chat.asked().len() as u64);
    assert!(calls >= planned && end.data["cost_usd"].as_f64().unwrap() > 0.0, "{end:?}");
    let ledger = server.json("/v1/ledger?days=2");
    assert_eq!(ledger["calls"], calls);
    assert!(server.json("/v1/library")["writer"].as_str().unwrap().contains("llm fake"));

    let page = server.json("/v1/pages?limit=1")["pages"][0]["skill"].clone();
    let path = format!("/v1/pages/{}/rewrite", page.as_str().unwrap().replace('/', "%2F"));
    let kept = server.order(&path, &json!({})).problem(409);
    assert!(kept["hint"].as_str().unwrap().contains("page forget"), "{kept}");
}

#[test]
fn a_job_is_stopped_and_keeps_what_it_paid_for() {
    let fixture = Fixture::new(&FAMILIES);
    let slow: Vec<Act> = (0..200).map(|_| Act::Slowly(Duration::from_millis(200))).collect();
    let chat = Chat::start(slow);
    let model = ["--model", "fake", "--base-url", &chat.url, "--concurrency", "1"];
    let server = Server::start(&fixture, &model);
    let job = server.order("/v1/compile", &json!({"writer": "llm"})).json()["job"].clone();
    let begun = Instant::now();
    while chat.asked().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no call was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.order("/v1/compile", &json!({})).problem(409);
    assert_eq!(server.json("/v1/library")["compiling"]["job"], job);
    let stopped = server.delete(&format!("/v1/jobs/{}", job.as_str().unwrap()));
    assert_eq!(stopped.status, 202);
    let end = watch(&server, &job).pop().unwrap();
    assert_eq!(end.data["state"], "stopped", "{end:?}");
    let asked = chat.asked().len();
    assert_eq!(server.json("/v1/ledger")["calls"], asked, "each answer is in the ledger");
    assert!(asked < 10, "it went on for {asked} calls");
}

#[test]
fn a_new_state_is_told_as_it_comes() {
    let fixture = Fixture::new(&FAMILIES);
    let server = Server::start(&fixture, &[]);
    let mut events = server.events("/v1/events", &[]);
    let first = events.find(|event| event.name == "generation").unwrap();
    let skills = first.data["skills"].as_u64().unwrap();
    fixture.add("containers");
    let next = events.find(|event| {
        event.name == "generation" && event.data["generation"] != first.data["generation"]
    });
    let next = next.unwrap();
    assert!(next.data["skills"].as_u64().unwrap() > skills, "{next:?}");
}
