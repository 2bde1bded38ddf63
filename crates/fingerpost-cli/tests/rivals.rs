//! Pages against rivals, as a user meets them: who they are, what is asked of a model, what one more skill
//! costs.

#[path = "../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
mod folder;

use std::fs;
use std::process::Output;

use folder::{Fixture, err};
use serde_json::{Value, json};

const FAMILIES: [&str; 2] = ["qt-correction", "loans"];

fn run(fixture: &Fixture, arguments: &[&str]) -> (Value, Output) {
    let output = fixture.command(arguments).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), output)
}

fn by_model(fixture: &Fixture, arguments: &[&str]) -> (Value, Output) {
    let start = ["compile", "library", "--writer", "llm", "--model", "fake", "--json"];
    run(fixture, &[&start, arguments].concat())
}

/// What a reader elsewhere answers to prompts.
fn answers(prompts: &str) -> String {
    let answer = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = chat_server::page_for(&line["body"]);
        let body = json!({"model": "elsewhere", "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}});
        json!({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": null}).to_string()
    };
    prompts.lines().map(answer).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_model_is_asked_once_a_skill() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let against = ["--against", "rivals"];
    let (emitted, output) =
        by_model(&fixture, &[&against[..], &["--emit", "prompts.jsonl"]].concat());
    assert!(output.status.success(), "{}", err(&output));
    let prompts = fs::read_to_string(fixture.path("prompts.jsonl")).unwrap();
    let (stats, _) = run(&fixture, &["atlas", "stats", "--library", "library", "--json"]);
    assert_eq!(emitted["emitted"], stats["skills"]);
    assert_eq!(emitted["emitted"], prompts.lines().count());
    assert!(prompts.lines().all(|prompt| prompt.contains("Its rivals, and the only ids")));

    fs::write(fixture.path("replies.jsonl"), answers(&prompts)).unwrap();
    let (written, output) =
        by_model(&fixture, &[&against[..], &["--ingest", "replies.jsonl"]].concat());
    assert_eq!(written["llm"]["ingest"]["accepted"], emitted["emitted"], "{}", err(&output));
    let pages = written["llm"]["pages"].as_u64().unwrap();
    assert!(pages * 10 >= stats["skills"].as_u64().unwrap() * 8, "most pass: {written}");
    let (page, _) =
        run(&fixture, &["page", "show", "qtc-bazett", "--library", "library", "--json"]);
    assert!(page["provenance"]["writer"].as_str().unwrap().contains("rivals"), "{page}");

    // Nothing is left to ask but what failed its checks.
    let (plan, _) = by_model(&fixture, &[&against[..], &["--dry-run"]].concat());
    let left = stats["skills"].as_u64().unwrap() - pages;
    assert!(plan["pages"].as_u64().unwrap() <= left, "{plan}");
}

#[test]
fn one_more_skill_says_whose_pages_it_costs() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let aside = fixture.path("aside");
    fs::rename(fixture.path("library/loans/loan-payment"), &aside).unwrap();
    let against = ["--against", "rivals"];
    by_model(&fixture, &[&against[..], &["--emit", "prompts.jsonl"]].concat());
    let prompts = fs::read_to_string(fixture.path("prompts.jsonl")).unwrap();
    fs::write(fixture.path("replies.jsonl"), answers(&prompts)).unwrap();
    by_model(&fixture, &[&against[..], &["--ingest", "replies.jsonl"]].concat());
    let (before, _) = by_model(&fixture, &[&against[..], &["--dry-run"]].concat());
    let waiting = before["skills"].as_array().map_or(0, Vec::len);

    fs::rename(&aside, fixture.path("library/loans/loan-payment")).unwrap();
    let (plan, output) = by_model(&fixture, &[&against[..], &["--dry-run"]].concat());
    let skills: Vec<&str> =
        plan["skills"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert!(skills.contains(&"loans/loan-payment"), "{plan} {}", err(&output));
    assert!(skills.len() <= waiting + 10, "{plan}");
    assert_eq!(plan["pages"], skills.len());
    assert!(plan["input_tokens"].as_u64().unwrap() > 0, "{plan}");
}

#[test]
fn neighbors_and_diff_speak_of_rivals() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let (_, output) = run(&fixture, &["compile", "library", "--against", "rivals", "--json"]);
    assert!(output.status.success(), "{}", err(&output));
    let ask = |arguments: &[&str]| run(&fixture, &[arguments, &["--library", "library"]].concat());
    let (answer, _) = ask(&["neighbors", "qtc-bazett", "--json"]);
    assert_eq!(answer["against"], "rivals");
    let rivals = answer["rivals"].as_array().unwrap();
    assert!(
        (1..=9).contains(&rivals.len()) && rivals[0]["weight"].as_f64() > Some(0.0),
        "{answer}"
    );
    assert!(answer["neighborhood"].is_u64() && !answer["neighbors"].as_array().unwrap().is_empty());
    let text = String::from_utf8(ask(&["neighbors", "qtc-bazett"]).1.stdout).unwrap();
    assert!(text.contains("its page is written against"), "{text}");
    let nearest = rivals[0]["skill"].as_str().unwrap();
    assert_eq!(ask(&["diff", "qtc-bazett", nearest, "--json"]).0["rivals"], true);
    let text = String::from_utf8(ask(&["diff", "qtc-bazett", nearest]).1.stdout).unwrap();
    assert!(text.contains(", rivals"), "{text}");
    let text = String::from_utf8(ask(&["page", "show", "qtc-bazett"]).1.stdout).unwrap();
    assert!(text.contains("against ") && text.contains(" rivals"), "{text}");

    // What was compiled stays as it was asked for, whoever asks next.
    let (again, _) = ask(&["search", "cube root", "--json"]);
    assert!(again["hits"].is_array());
    assert_eq!(ask(&["neighbors", "qtc-bazett", "--json"]).0["against"], "rivals");

    let (_, output) = run(&fixture, &["compile", "library", "--against", "friends"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    let unit = ["--against", "rivals", "--unit", "neighborhood", "--emit", "x"];
    let (_, output) = by_model(&fixture, &unit);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
}
