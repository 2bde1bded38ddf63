//! Writing pages with a model, as a user meets it: what is asked, kept, paid for, and what a kill
//! leaves behind.

#[path = "../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
mod folder;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use chat_server::{Act, Server};
use folder::err;
use serde_json::{Value, json};

/// Two families of the example library, with an atlas beside them.
struct Fixture {
    shared: folder::Fixture,
}

const FAMILIES: [&str; 2] = ["qt-correction", "loans"];

impl Fixture {
    fn new() -> Self {
        let shared = folder::Fixture::with_atlas(&FAMILIES);
        let price =
            "[[model]]\nname = \"fake\"\ninput = 1\ncached = 0.1\noutput = 4\nbatch = 0.5\n";
        fs::write(shared.path("prices.toml"), price).unwrap();
        Self { shared }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.shared.path(name)
    }

    fn fingerpost(&self, arguments: &[&str]) -> Command {
        self.shared.command(arguments)
    }

    fn compile(&self, server: &Server, arguments: &[&str]) -> Command {
        let mut command = self.fingerpost(&["compile", "library", "--writer", "llm"]);
        command.args(["--model", "fake", "--base-url", &server.url, "--json"]);
        command.args(["--prices", "prices.toml"]).args(arguments);
        command
    }

    fn run(&self, server: &Server, arguments: &[&str]) -> (Value, Output) {
        let output = self.compile(server, arguments).output().unwrap();
        let answer = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (answer, output)
    }

    fn ledger(&self) -> Value {
        let output = self.fingerpost(&["ledger", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn pages(&self) -> String {
        let output = self.fingerpost(&["export", "--library", "library"]).output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn pages_are_written_kept_and_not_written_again() {
    let (fixture, server) = (Fixture::new(), Server::start(vec![]));
    let (answer, output) = fixture.run(&server, &[]);
    assert!(output.status.success(), "{}", err(&output));
    let skills = answer["skills"].as_u64().unwrap();
    let written = answer["llm"]["pages"].as_u64().unwrap();
    assert!(written * 10 >= skills * 8, "most of the server's pages pass: {answer}");
    assert_eq!(written + answer["llm"]["fallback"].as_u64().unwrap(), skills);
    let calls = server.asked().len();
    assert_eq!(answer["calls"], calls);
    // 400 tokens read, 600 from the cache, 100 written: 0.00086 dollars.
    let cost = answer["cost_usd"].as_f64().unwrap();
    assert!((cost - 0.00086 * calls as f64).abs() < 1e-9, "{cost}");
    assert!(fixture.pages().contains("llm fake"), "the row says who wrote it");

    let (again, output) = fixture.run(&server, &[]);
    assert!(err(&output).contains("no call was made"), "{}", err(&output));
    assert_eq!((&again["calls"], &again["pages"]), (&json!(0), &answer["pages"]));
    assert_eq!(server.asked().len(), calls);

    let ledger = fixture.ledger();
    assert_eq!(ledger["calls"], calls);
    assert!((ledger["cost_usd"].as_f64().unwrap() - cost).abs() < 1e-9);
    assert_eq!(ledger["spend"][0]["model"], "fake");

    // One document changes: only its neighborhood is asked for.
    let file = fixture.path("library/loans/loan-payment/SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\nRound the payment to cents.\n")).unwrap();
    let (third, _) = fixture.run(&server, &[]);
    let asked = third["calls"].as_u64().unwrap();
    assert!(asked > 0 && asked <= 30 && asked < calls as u64, "{third}");
    let qt = server.asked()[calls..].iter().any(|asked| {
        let text = asked.body["messages"][1]["content"].as_str().unwrap();
        text.contains("id: \"qt-correction/qtc-bazett\"")
    });
    assert!(!qt, "the other family was not asked for");
}

#[test]
fn one_answer_can_hold_the_pages_of_a_neighborhood() {
    let (focal, together) = (Fixture::new(), Fixture::new());
    let (server, other) = (Server::start(vec![]), Server::start(vec![]));
    let (each, output) = focal.run(&server, &[]);
    assert!(output.status.success(), "{}", err(&output));
    let (all, output) = together.run(&other, &["--unit", "neighborhood"]);
    assert!(output.status.success(), "{}", err(&output));
    // The same server writes the same pages, in fewer calls.
    assert_eq!(all["llm"]["pages"], each["llm"]["pages"]);
    assert!(all["calls"].as_u64().unwrap() < each["calls"].as_u64().unwrap(), "{all} {each}");
    let wish = |asked: &chat_server::Asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap().contains("Write the pages of all ")
    };
    assert!(other.asked().iter().any(wish) && !server.asked().iter().any(wish));
    let pages = |fixture: &Fixture| -> Vec<(Value, Value)> {
        let lines = fixture.pages();
        let page = |line: &str| {
            let page: Value = serde_json::from_str(line).unwrap();
            (page["skill"].clone(), page["trigger"].clone())
        };
        lines.lines().map(page).collect()
    };
    assert_eq!(pages(&together), pages(&focal));
    assert!(together.pages().contains("neighborhood"), "the row says how it was written");
    let (again, _) = together.run(&other, &["--unit", "neighborhood"]);
    assert_eq!(again["calls"], 0);
}

#[test]
fn prompts_of_a_neighborhood_share_their_beginning() {
    let (fixture, server) = (Fixture::new(), Server::start(vec![]));
    fixture.run(&server, &["--concurrency", "1"]);
    let prompts: Vec<String> = server
        .asked()
        .iter()
        .map(|asked| asked.body["messages"][1]["content"].as_str().unwrap().to_owned())
        .collect();
    let shared = |text: &str| text.rsplit_once("Write the page").unwrap().0.to_owned();
    let repeats = prompts.windows(2).filter(|pair| shared(&pair[0]) == shared(&pair[1])).count();
    let firsts: std::collections::BTreeSet<String> = prompts.iter().map(|p| shared(p)).collect();
    assert_eq!(repeats + firsts.len(), prompts.len(), "each neighborhood comes in one go");
    assert!(firsts.len() < prompts.len());
}

/// Kills the process in the middle of a run, for good, and starts it again.
#[test]
fn a_kill_loses_only_the_calls_under_way() {
    let fixture = Fixture::new();
    let slow = vec![Act::Slowly(Duration::from_millis(60)); 400];
    let server = Server::start(slow);
    // The neighborhoods first, so that the kill falls among the calls.
    assert!(fixture.fingerpost(&["compile", "library"]).output().unwrap().status.success());
    let mut kills = 0;
    let mut most_lost = 0;
    for step in 0..4 {
        let mut compiler = fixture
            .compile(&server, &["--concurrency", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let before = server.asked().len();
        let deadline = Instant::now() + Duration::from_secs(20);
        while server.asked().len() < before + 3 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(step * 17));
        if compiler.try_wait().unwrap().is_none() {
            compiler.kill().unwrap();
            kills += 1;
        }
        compiler.wait().unwrap();
        let ledger = fixture.ledger();
        let lost = ledger["spend"][0]["unfinished"].as_u64().unwrap();
        most_lost = most_lost.max(lost);
        let done = ledger["calls"].as_u64().unwrap();
        let asked = server.asked().len() as u64;
        // What was asked is answered and written down, or was under way at one of the kills.
        assert!(done + 2 * kills >= asked, "{done} of {asked} kept after {kills} kills");
    }
    assert!(kills >= 3 && most_lost <= 2, "{kills} kills, {most_lost} lost");
    let before = server.asked().len() as u64;
    let (answer, output) = fixture.run(&server, &[]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(answer["llm"]["pending"], 0);
    // Pages that were written before a kill are kept: they are not even read from the ledger again.
    assert!(answer["llm"]["pages"].as_u64() < answer["skills"].as_u64(), "{answer}");
    let asked = server.asked().len() as u64 - before;
    assert_eq!(answer["calls"], asked);

    // All in all, the same pages as in one go, for at most the calls that were under way.
    let whole = Fixture::new();
    let quick = Server::start(vec![]);
    let (at_once, _) = whole.run(&quick, &[]);
    assert_eq!(whole.pages(), fixture.pages());
    let extra = server.asked().len() as u64 - at_once["calls"].as_u64().unwrap();
    assert!(extra <= 2 * kills, "{extra} calls were paid for twice after {kills} kills");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let pages = ["1", "7"].map(|threads| {
        let fixture = Fixture::new();
        let server = Server::start(vec![]);
        fixture.run(&server, &["--concurrency", threads]);
        fixture.pages()
    });
    assert_eq!(pages[0], pages[1]);
}

#[test]
fn limits_stop_the_run_and_keep_what_is_done() {
    let (fixture, server) = (Fixture::new(), Server::start(vec![]));
    let (answer, output) = fixture.run(&server, &["--max-calls", "5"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert_eq!((answer["calls"].as_u64(), server.asked().len()), (Some(5), 5));
    assert!(answer["llm"]["pending"].as_u64().unwrap() > 0);
    assert!(err(&output).contains("limit of 5 calls"), "{}", err(&output));
    // Less than the next call may cost at most, though more than it would.
    let (answer, output) = fixture.run(&server, &["--max-cost", "0.001"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert_eq!((&answer["calls"], &answer["cost_usd"]), (&json!(0), &json!(0.0)));
    assert!(err(&output).contains("the next call may cost"), "{}", err(&output));
    let (answer, output) = fixture.run(&server, &[]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(answer["llm"]["pending"], 0);
    let mut unknown = fixture.fingerpost(&["compile", "library", "--writer", "llm", "--json"]);
    unknown.args(["--model", "mystery", "--base-url", &server.url, "--max-cost", "1"]);
    let output = unknown.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("no price is known for mystery"), "{}", err(&output));
}

#[test]
fn a_try_that_fails_is_a_call_too() {
    let broken = Act::Status(500, String::new(), "broken".into());
    let (fixture, server) = (Fixture::new(), Server::start(vec![broken; 100]));
    let (answer, output) = fixture.run(&server, &["--max-calls", "5"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert_eq!((server.asked().len(), &answer["llm"]["sent"]), (5, &json!(5)));
    assert!(err(&output).contains("limit of 5 calls"), "{}", err(&output));
    assert!(err(&output).contains("no answer from 127.0.0.1"), "{}", err(&output));
    for wrong in ["NaN", "inf", "-1", "much"] {
        let (_, output) = fixture.run(&server, &["--max-cost", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(err(&output).contains("US dollars"), "{}", err(&output));
    }
    assert_eq!(server.asked().len(), 5);
}

fn rejection() -> Act {
    let body = r#"{"error":{"message":"add funds to go on"}}"#;
    Act::Status(400, String::new(), body.into())
}

#[test]
fn a_server_that_rejects_everything_costs_no_page() {
    let (fixture, server) = (Fixture::new(), Server::start(vec![rejection(); 100]));
    for threads in ["1", "4"] {
        let before = server.asked().len() as u64;
        let (answer, output) = fixture.run(&server, &["--concurrency", threads]);
        assert_eq!(output.status.code(), Some(3), "{}", err(&output));
        assert!(err(&output).contains("add funds to go on"), "{}", err(&output));
        assert!(!err(&output).contains("every page is written"), "{}", err(&output));
        let (fallback, pending) = (&answer["llm"]["fallback"], &answer["llm"]["pending"]);
        assert_eq!((fallback, pending), (&json!(0), &answer["skills"]));
        let asked = server.asked().len() as u64 - before;
        assert!(asked > 2 && asked < answer["skills"].as_u64().unwrap(), "{asked}");
    }
    assert!(!fixture.pages().contains("llm fake"), "the pages of before are there");
    // Where others are answered, it is the prompt.
    let (fixture, server) = (Fixture::new(), Server::start(vec![rejection()]));
    let (answer, output) = fixture.run(&server, &["--concurrency", "1"]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(answer["llm"]["fallback"].as_u64() >= Some(1) && answer["llm"]["pending"] == 0);
    assert!(fixture.pages().contains("llm fake"));
}

#[test]
fn a_key_in_the_address_is_written_nowhere() {
    let secret = "sk-4711-very-secret";
    let busy = Act::Status(503, String::new(), format!("{secret} is too busy"));
    let (fixture, mut server) = (Fixture::new(), Server::start(vec![busy.clone()]));
    server.url = format!("{}?key={secret}", server.url);
    let (_, output) = fixture.run(&server, &["--max-calls", "4"]);
    assert!(server.asked()[0].path.contains(secret));
    assert!(err(&output).contains("trying again"), "{}", err(&output));
    let mut told = [output.stdout, output.stderr].concat();
    for entry in fs::read_dir(fixture.path("atlas")).unwrap().flatten() {
        told.extend(fs::read(entry.path()).unwrap_or_default());
    }
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("127.0.0.1") && !told.contains(secret));
}

#[test]
fn a_refused_key_stops_at_once_and_says_what_to_do() {
    let refused = Act::Status(402, String::new(), r#"{"error":{"message":"no credit"}}"#.into());
    let (fixture, server) = (Fixture::new(), Server::start(vec![refused; 20]));
    let output = fixture.compile(&server, &["--concurrency", "4"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(err(&output).contains("no credit"), "{}", err(&output));
    assert!(server.asked().len() <= 4, "{}", server.asked().len());
    let mut keyless = fixture.fingerpost(&["compile", "library", "--writer", "llm"]);
    let output = keyless.args(["--model", "gpt-4o-mini"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(err(&output).contains("OPENAI_API_KEY"), "{}", err(&output));
}

#[test]
fn a_plan_asks_nothing_and_foresees_the_calls() {
    let (fixture, server) = (Fixture::new(), Server::start(vec![]));
    let (plan, output) = fixture.run(&server, &["--dry-run"]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(server.requests().len(), 0);
    assert_eq!((&plan["calls"], &plan["known"]), (&plan["pages"], &json!(0)));
    assert!(plan["cached_tokens"].as_u64() > Some(0) && plan["cost_usd"].as_f64() > Some(0.0));
    fixture.run(&server, &["--max-calls", "4"]);
    let (rest, _) = fixture.run(&server, &["--dry-run"]);
    assert!(rest["calls"].as_u64() < plan["calls"].as_u64(), "{rest}");
    let text = fixture.compile(&server, &["--dry-run"]).output().unwrap();
    assert!(serde_json::from_slice::<Value>(&text.stdout).is_ok());
}

#[test]
fn prompts_can_be_answered_elsewhere() {
    let (fixture, server) = (Fixture::new(), Server::start(vec![]));
    let (emitted, output) = fixture.run(&server, &["--emit", "requests.jsonl"]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(server.requests().len(), 0);
    let requests = fs::read_to_string(fixture.path("requests.jsonl")).unwrap();
    let lines: Vec<Value> =
        requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(emitted["emitted"], lines.len());
    let answer = |line: &Value| {
        let text = chat_server::page_for(&line["body"]);
        let body = json!({"model": "elsewhere", "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}});
        json!({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": null}).to_string()
    };
    let mut replies: Vec<String> = lines.iter().map(answer).collect();
    let late = replies.split_off(replies.len() - 2);
    replies.push("{\"custom_id\": \"stranger\", \"response\": {\"status_code\": 200, \"body\": {\"choices\": []}}}".into());
    replies.push("no json".into());
    fs::write(fixture.path("replies.jsonl"), replies.join("\n")).unwrap();
    let (answer, output) = fixture.run(&server, &["--ingest", "replies.jsonl"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let report = &answer["llm"]["ingest"];
    assert_eq!(report["accepted"], lines.len() - 2);
    assert_eq!((&report["missing"], &report["again"]), (&json!(2), &json!(0)));
    assert_eq!(report["rejected"].as_array().unwrap().len(), 2);
    assert!(report["rejected"][0]["why"].as_str().unwrap().contains("nobody asked"), "{report}");
    // Half the price in a batch: 0.0007 each.
    let cost = answer["cost_usd"].as_f64().unwrap();
    assert!((cost - 0.0007 * (lines.len() - 2) as f64).abs() < 1e-9, "{cost}");

    // The same file again changes nothing; the late answers complete it.
    let (answer, _) = fixture.run(&server, &["--ingest", "replies.jsonl"]);
    let report = &answer["llm"]["ingest"];
    assert_eq!((&report["accepted"], &report["again"]), (&json!(0), &json!(lines.len() - 2)));
    fs::write(fixture.path("late.jsonl"), late.join("\n")).unwrap();
    let (answer, _) = fixture.run(&server, &["--ingest", "late.jsonl"]);
    let report = &answer["llm"]["ingest"];
    assert_eq!((&report["accepted"], &report["missing"]), (&json!(2), &json!(0)), "{answer}");
    assert_eq!(server.requests().len(), 0, "nobody was asked here");
}

#[test]
fn batches_are_submitted_and_resumed() {
    for service in ["openai", "anthropic"] {
        let (fixture, server) = (Fixture::new(), Server::start(vec![]));
        // Killed while it waits: a poll of an hour.
        let mut waiting = fixture
            .compile(&server, &["--batch", service, "--poll", "3600"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let polled = || server.requests().iter().any(|asked| asked.path.contains("/batch-0"));
        while !polled() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        waiting.kill().unwrap();
        waiting.wait().unwrap();
        let (answer, output) = fixture.run(&server, &["--batch", service, "--poll", "0.05"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(&output));
        assert!(answer["llm"]["pages"].as_u64().unwrap() > 5, "{answer}");
        let submissions = server.requests();
        let first =
            |asked: &&chat_server::Asked| asked.path.ends_with("/batches") && !asked.body.is_null();
        let submissions = submissions.iter().filter(first).count();
        let rounds = 1 + answer["llm"]["answers"]["unchecked"].as_u64().unwrap().min(3) as usize;
        assert!(submissions <= rounds, "{service}: {submissions} submissions, {answer}");
        assert_eq!(server.asked().len(), 0, "no single call was made");
    }
}

#[test]
fn a_recording_replays_and_a_missing_one_is_loud() {
    let (fixture, server) = (Fixture::new(), Server::start(vec![]));
    fixture.run(&server, &[]);
    let exported = fixture.fingerpost(&["ledger", "--export", "replies.jsonl"]).output().unwrap();
    assert!(exported.status.success(), "{}", err(&exported));
    let pages = fixture.pages();
    let other = Fixture::new();
    fs::copy(fixture.path("replies.jsonl"), other.path("replies.jsonl")).unwrap();
    let asked = server.requests().len();
    let (_, output) = other.run(&server, &["--replay", "replies.jsonl"]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(other.pages(), pages, "byte for byte");
    assert_eq!(server.requests().len(), asked);
    let third = Fixture::new();
    let lines = fs::read_to_string(fixture.path("replies.jsonl")).unwrap();
    let some: Vec<&str> = lines.lines().skip(3).collect();
    fs::write(third.path("replies.jsonl"), some.join("\n")).unwrap();
    let (_, output) = third.run(&server, &["--replay", "replies.jsonl"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(err(&output).contains("record again"), "{}", err(&output));
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_what_is_under_way() {
    let fixture = Fixture::new();
    let server = Server::start(vec![Act::Slowly(Duration::from_millis(200)); 100]);
    let compiler = fixture
        .compile(&server, &["--concurrency", "2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.asked().len() < 3 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = compiler.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = compiler.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["calls"], server.asked().len(), "every call under way was kept");
    assert_eq!(fixture.ledger()["spend"][0]["unfinished"], 0);
    assert!(answer["llm"]["pending"].as_u64().unwrap() > 0);
}
