//! Protocols and prompts, as a user meets them: what is compiled, what is shown, in which words a model is
//! asked.

#[path = "../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
mod folder;

use std::fs;
use std::process::Output;

use chat_server::Server;
use folder::{Fixture, err};
use serde_json::{Value, json};

const FAMILIES: [&str; 2] = ["qt-correction", "loans"];

fn run(fixture: &Fixture, arguments: &[&str]) -> (Value, Output) {
    let output = fixture.command(arguments).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), output)
}

fn compile(fixture: &Fixture, arguments: &[&str]) -> (Value, Output) {
    run(fixture, &[&["compile", "library", "--json"], arguments].concat())
}

fn stats(fixture: &Fixture) -> (Value, String) {
    let arguments = ["atlas", "stats", "--library", "library"];
    let (answer, _) = run(fixture, &[&arguments[..], &["--json"]].concat());
    let (_, output) = run(fixture, &arguments);
    (answer, String::from_utf8(output.stdout).unwrap())
}

/// A folder of prompts.
fn prompts(fixture: &Fixture, files: &[(&str, &str)]) {
    let folder = fixture.path("prompts");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

#[test]
fn a_protocol_is_compiled_shown_and_kept() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let (_, output) = compile(&fixture, &["--protocol", "paper"]);
    assert!(output.status.success(), "{}", err(&output));
    let (answer, text) = stats(&fixture);
    assert_eq!(answer["protocol_name"], "paper");
    assert_eq!(answer["protocol"]["neighborhood"]["probing"], "plain");
    assert_eq!(answer["settings"]["contrast"], "from 3 members on");
    assert!(text.contains("\nprotocol: paper\n"), "{text}");

    // A library that changes is compiled by the protocol of its atlas.
    fixture.add("pdf-tools");
    let (found, _) = run(&fixture, &["search", "merge", "--library", "library", "--json"]);
    assert!(found["hits"][0]["skill"].as_str().unwrap().starts_with("pdf-tools/"), "{found}");
    let (again, _) = stats(&fixture);
    assert!(again["skills"].as_u64() > answer["skills"].as_u64());
    assert_eq!(again["protocol"], answer["protocol"]);

    let single = ["--protocol", "paper", "--contrast", "2", "--across", "--index-text", "new"];
    compile(&fixture, &single);
    let (_, text) = stats(&fixture);
    let shown = "protocol: paper, but for\n  linking: across the 4 nearest buckets\n  contrast: from 2 members on\n  index text: document, then what body and trigger add\n";
    assert!(text.contains(shown), "{text}");
    compile(&fixture, &[]);
    assert_eq!(stats(&fixture).0["protocol_name"], "ours");
    let (_, output) = compile(&fixture, &["--protocol", "theirs"]);
    assert!(err(&output).contains("use ours or paper"), "{}", err(&output));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_model_is_asked_in_a_users_words_and_its_pages_are_other_pages() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let server = Server::start(vec![]);
    let start = ["--writer", "llm", "--model", "fake", "--base-url", &server.url];
    let (ours, output) = compile(&fixture, &start);
    assert!(output.status.success(), "{}", err(&output));
    let calls = ours["calls"].as_u64().unwrap();
    assert!(calls > 0);
    let in_words = [&start[..], &["--prompts", "prompts"]].concat();

    // Of our own words a copy is ours.
    prompts(&fixture, &[("README.md", "About {{ nothing }}."), ("notes.txt", "{% if")]);
    let (same, output) = compile(&fixture, &in_words);
    assert_eq!(same["calls"], 0, "{}", err(&output));

    let words = "Write the page of the skill {{ id }}.\n\nBe terse. Ids: {{ ids | join(\", \") }}.";
    prompts(&fixture, &[("focal.md", words)]);
    let (theirs, _) = compile(&fixture, &in_words);
    assert!(theirs["calls"].as_u64().unwrap() > 0, "{theirs}");
    let asked: Vec<String> =
        server.asked()[calls as usize..].iter().map(|asked| asked.body.to_string()).collect();
    assert!(asked.iter().any(|body| body.contains("Be terse. Ids:")));
    assert!(asked.iter().all(|body| !body.contains("Its neighbors, and the only ids")));
    let (again, _) = compile(&fixture, &in_words);
    assert_eq!(again["calls"], 0, "the words are part of the key");
}

#[test]
fn a_prompt_that_cannot_be_used_is_refused_by_file_and_line() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let refused = |name: &str, text: &str| {
        prompts(&fixture, &[(name, text)]);
        let model = ["--writer", "llm", "--model", "fake", "--prompts", "prompts", "--dry-run"];
        let (_, output) = compile(&fixture, &model);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        err(&output)
    };
    let told = refused("focal.md", "Write {{ id }}.\n\nIn {{ style }} style.");
    assert!(told.contains("prompts/focal.md:3: there is no 'style'"), "{told}");
    let told = refused("singleton.md", "Write\n{{ id");
    assert!(told.contains("prompts/singleton.md:2: "), "{told}");
    let bare = "{% for member in members %}\n{{ member.content }}\n{% endfor %}";
    let told = refused("neighborhood.md", bare);
    assert!(told.contains("prompts/neighborhood.md:2: a stranger's text stands outside"), "{told}");
    let told = refused("sytem.md", "x");
    assert!(
        told.contains("prompts/sytem.md: there is no prompt 'sytem'; there are system"),
        "{told}"
    );
    let told = refused("system.md", &"x".repeat(70_000));
    assert!(told.contains("prompts/system.md: a prompt has at most 65536 bytes"), "{told}");
    fs::remove_dir_all(fixture.path("prompts")).unwrap();
    let model = ["--writer", "llm", "--model", "fake", "--prompts", "prompts", "--dry-run"];
    let (_, output) = compile(&fixture, &model);
    assert!(err(&output).contains("cannot read prompts"), "{}", err(&output));
}

#[test]
fn a_chooser_follows_the_atlas_and_the_users_words() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let server = Server::start(vec![]);
    let request = "use loans/loan-payment: monthly payment on a loan of 9,000";
    let route = |arguments: &[&str]| {
        let start = ["route", request, "--library", "library", "--json", "--chooser", "llm"];
        let model = ["--model", "fake", "--base-url", &server.url];
        run(&fixture, &[&start[..], &model, arguments].concat())
    };
    compile(&fixture, &[]);
    let (answer, output) = route(&[]);
    assert_eq!(answer["reason"], "the request names loan-payment", "{}", err(&output));
    assert_eq!(server.asked().len(), 0);

    compile(&fixture, &["--protocol", "paper"]);
    let (answer, output) = route(&[]);
    assert_eq!(answer["llm"]["calls"], 1, "{}", err(&output));
    let body = server.asked()[0].body.to_string();
    assert!(body.contains("One of them must be chosen") && body.contains("You choose the skill"));
    route(&["--allow-none", "--pool", "3"]);
    let body = server.asked()[1].body.to_string();
    assert!(
        body.contains("The 3 candidates") && body.contains("the choice is \\\"none\\\""),
        "{body}"
    );

    prompts(&fixture, &[("choose-system.md", "Pick a card."), ("system.md", "Unused.")]);
    let (_, output) = route(&["--prompts", "prompts"]);
    let asked = server.asked();
    let body = asked.last().unwrap().body.to_string();
    assert!(body.contains("Pick a card.\\n"), "{}", err(&output));
    prompts(&fixture, &[("choose.md", "{{ request }}\n")]);
    let (_, output) = route(&["--prompts", "prompts"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("prompts/choose.md:1: "), "{}", err(&output));
}

/// A page with a case that a model imagined: for a skill that is alone, and only by the paper's protocol.
#[test]
fn what_is_imagined_is_shown_as_such() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let skill = "loans/loan-payment";
    let page_line = || {
        let (_, output) = run(&fixture, &["export", "--library", "library"]);
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut line = lines.find(|line| line["skill"] == skill).unwrap();
        let request = "Comparing two offers by their annual rate";
        line["boundary"] = json!([{"request": request, "skill": null, "ground": "imagined"}]);
        line["writer"] = json!("a friend");
        line.to_string()
    };
    compile(&fixture, &["--contrast", "100"]);
    fs::write(fixture.path("page.jsonl"), page_line()).unwrap();
    let import = ["import", "page.jsonl", "--library", "library"];
    let (_, output) = run(&fixture, &import);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("is imagined") && output.status.code() == Some(1), "{told}");

    compile(&fixture, &["--protocol", "paper", "--contrast", "100"]);
    let (_, output) = run(&fixture, &import);
    assert!(output.status.success(), "{}", err(&output));
    let (_, output) = run(&fixture, &["page", "show", skill, "--library", "library"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("annual rate (imagined)") && shown.contains("alone"), "{shown}");
    let (page, _) = run(&fixture, &["page", "show", skill, "--library", "library", "--json"]);
    assert!(page.to_string().contains("\"ground\":\"imagined\""), "{page}");

    // By ours it is flagged.
    compile(&fixture, &["--contrast", "100"]);
    let (_, output) = run(&fixture, &["page", "show", skill, "--library", "library"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("[imagined]"), "{shown}");
}
