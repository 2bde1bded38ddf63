//! Are the answers those of a folder, hit for hit?

use std::fs;

use serde_json::Value;

use crate::folder::{Fixture, err, examples};
use crate::machine::{FAMILIES, Machine, atlas};

/// Requests of the example library.
fn requests(count: usize) -> Vec<String> {
    let text = fs::read_to_string(examples().join("queries.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let step = (lines.len() / count).max(1);
    let texts = lines.iter().step_by(step).map(|line| line["text"].as_str().unwrap().to_owned());
    texts.collect()
}

/// The whole example library: one machine compiles into a folder and into the database, another one answers from the
/// database alone.
#[test]
fn the_example_library_answers_as_from_a_folder() {
    let Some(url) = atlas() else { return };
    let here = Machine::new(&url, &[]);
    let library = examples();
    let library = library.to_str().unwrap();
    let folder = here.fixture.path("atlas");
    let folder = folder.to_str().unwrap();
    here.done(&["compile", library, "--atlas", folder, "--quiet"]);
    here.done(&["compile", library, "--quiet"]);
    let there = Machine::new(&url, &[]);
    let requests = requests(6);
    let mut asked: Vec<Vec<&str>> = Vec::new();
    for request in &requests {
        asked.push(vec!["route", request]);
        asked.push(vec!["search", request, "-k", "20"]);
    }
    let some = requests.first().unwrap();
    for retriever in ["bm25", "tfidf", "dense", "hybrid"] {
        asked.push(vec!["search", some, "--retriever", retriever]);
    }
    asked.push(vec!["search", some, "--retriever", "bm25", "--view", "raw"]);
    asked.push(vec!["explain", some]);
    for skill in ["qtc-bazett", "loan-payment", "compound-savings"] {
        asked.push(vec!["neighbors", skill]);
        asked.push(vec!["page", "show", skill]);
    }
    asked.push(vec!["diff", "qtc-bazett", "qtc-hodges"]);
    asked.push(vec!["atlas", "stats"]);
    for question in asked {
        let folder = here.json(&[&question[..], &["--atlas", folder]].concat());
        let database = there.json(&question);
        assert_eq!(comparable(folder), comparable(database), "{question:?}");
    }
    let pages = here.done(&["export", "--atlas", folder]);
    assert_eq!(there.done(&["export"]), pages);
    let measured = |machine: &Machine, atlas: &[&str]| {
        machine.json(&[&["eval", "--library", library, "--measure", "R@10"], atlas].concat())["macro"].clone()
    };
    assert_eq!(measured(&there, &[]), measured(&here, &["--atlas", folder]));
}

/// Without what tells when and where it was compiled.
fn comparable(mut answer: Value) -> Value {
    if let Some(library) = answer.get_mut("library").and_then(Value::as_object_mut) {
        library.remove("stamp");
    }
    answer
}

#[test]
fn what_one_machine_keeps_all_see() {
    let Some(url) = atlas() else { return };
    let (one, two) = (Machine::new(&url, &FAMILIES), Machine::new(&url, &FAMILIES));
    one.compile();
    let pages = one.done(&["export"]);
    let line = pages.lines().find(|line| line.contains("qtc-bazett")).unwrap();
    let changed = line.replacen("\"trigger\":\"", "\"trigger\":\"Once and again. ", 1);
    fs::write(two.fixture.path("page.jsonl"), changed).unwrap();
    two.done(&["import", "page.jsonl", "--library", "library", "--force"]);
    let shown = one.json(&["page", "show", "qtc-bazett"]);
    assert!(shown["trigger"].as_str().unwrap().starts_with("Once and again. "), "{shown}");
    // Equal skills on two machines are one library, whatever their files look like: nothing is compiled again.
    let before = one.json(&["atlas", "stats"])["generation"].clone();
    for machine in [&one, &two, &one] {
        let stats = machine.json(&["atlas", "stats", "--library", "library"]);
        assert_eq!((&stats["generation"], &stats["stale"]), (&before, &Value::Bool(false)));
    }
    two.fixture.change("loans/loan-payment");
    let after = two.json(&["atlas", "stats", "--library", "library"])["generation"].clone();
    assert!(after.as_u64() > before.as_u64());
    assert_eq!(one.json(&["atlas", "stats"])["generation"], after);
    assert_eq!(one.json(&["ledger"])["calls"], 0);
}

#[test]
fn pages_of_a_folder_are_taken_over() {
    let Some(url) = atlas() else { return };
    let machine = Machine::new(&url, &FAMILIES);
    let folder = machine.fixture.path("atlas");
    let folder = folder.to_str().unwrap();
    machine.done(&["compile", "library", "--atlas", folder]);
    machine.done(&["page", "pin", "qtc-bazett", "--library", "library", "--atlas", folder]);
    let nothing = machine.run(&["atlas", "adopt", "--library", "library"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", err(&nothing));
    machine.done(&["atlas", "adopt", folder, "--library", "library"]);
    let shown = machine.json(&["page", "show", "qtc-bazett", "--library", "library"]);
    assert_eq!(shown["status"], "pinned");
}

#[test]
fn an_empty_database_says_how_it_is_filled() {
    let Some(url) = atlas() else { return };
    let machine = Machine::new(&url, &FAMILIES);
    // Skills of this machine are not what others expect there.
    fs::create_dir_all(machine.fixture.path(".claude/skills/mine")).unwrap();
    fs::write(
        machine.fixture.path(".claude/skills/mine/SKILL.md"),
        "---\nname: mine\ndescription: Mine.\n---\nMine.\n",
    )
    .unwrap();
    let output = machine.run(&["route", "anything"]);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("holds no compiled library"), "{}", err(&output));
    assert!(err(&output).contains("fingerpost compile LIBRARY"), "{}", err(&output));
}

/// Nowhere: not in errors, not in talk, not in help, not in settings of agents.
#[test]
fn a_password_is_printed_nowhere() {
    let fixture = Fixture::new(&FAMILIES);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let wrong = [
        format!("postgres://me:sesame@127.0.0.1:{free}/x"),
        format!("postgresql://me:sesame@127.0.0.1:{free}/x?atlas=y&sslmode=verify-full"),
        "postgres://me:sesame@/x".to_owned(),
        "postgres://me:sesame@host:sesame/x".to_owned(),
        "postgres://me:sesame@host/x?unknown=sesame".to_owned(),
        "postgres://me:sesame@host/x?sslmode=sesame".to_owned(),
    ];
    for url in &wrong {
        for arguments in [
            &["route", "anything"][..],
            &["compile", "library"],
            &["--help"],
            &["ledger", "--json"],
            &["install", "claude", "--yes"],
            &["serve", "--port", "0"],
        ] {
            let output = fixture.command(arguments).env("FINGERPOST_ATLAS", url).output().unwrap();
            let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), err(&output));
            assert!(!said.contains("sesame"), "{url} {arguments:?}: {said}");
            let expected = arguments == ["--help"];
            assert_eq!(output.status.success(), expected, "{url} {arguments:?}: {said}");
        }
    }
    let files = crate::folder::files(fixture.folder.path());
    let with = files.iter().find(|(_, bytes)| String::from_utf8_lossy(bytes).contains("sesame"));
    assert!(with.is_none(), "{with:?}");
}

/// What an agent starts later means the same database, and gets no password.
#[test]
fn an_agent_is_told_of_the_database() {
    let fixture = Fixture::new(&FAMILIES);
    let url = "postgres://me@db.example.org/skills?atlas=two";
    let mut command = fixture.command(&["install", "claude", "--yes", "--library", "library"]);
    let output = command.env("FINGERPOST_ATLAS", url).output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    let files = crate::folder::files(fixture.folder.path());
    let entry = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&format!("\"{url}\""));
    assert!(files.values().any(|bytes| entry(bytes)), "{:?}", files.keys());
    let mut refused = fixture.command(&["install", "claude", "--yes", "--library", "library"]);
    refused.env("FINGERPOST_ATLAS", "postgres://me:sesame@db.example.org/skills");
    let refused = refused.output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("no place for a password"), "{}", err(&refused));
}
