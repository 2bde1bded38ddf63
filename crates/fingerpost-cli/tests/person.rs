//! What a person sees who types a command: reasons, names, a tour, help, and lines that fit.

mod folder;

use std::fs;

use expect_test::{Expect, expect};
use folder::{Fixture, err, examples};
use serde_json::{Value, json};

/// The example library, and an atlas of the test's own.
fn fixture() -> Fixture {
    Fixture::with_atlas(&[])
}

/// What a command prints about the example library.
fn shown(fixture: &Fixture, arguments: &[&str]) -> String {
    let mut command = fixture.command(arguments);
    let output = command.env("COLUMNS", "80").arg("--library").arg(examples()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {}", err(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn width(line: &str) -> usize {
    console_width(line)
}

/// Columns of a line: what is not Latin, Greek or a mark of punctuation takes two here.
fn console_width(line: &str) -> usize {
    line.chars().map(|c| if ('\u{2e80}'..='\u{ffef}').contains(&c) { 2 } else { 1 }).sum()
}

fn check(arguments: &[&str], expected: Expect) {
    let shown = shown(&fixture(), arguments);
    let trimmed: Vec<&str> = shown.lines().map(str::trim_end).collect();
    expected.assert_eq(&(trimmed.join("\n") + "\n"));
}

#[test]
fn reasons_open_with_what_sets_a_candidate_apart() {
    check(
        &["route", "QT 380 at 72 bpm, correct it with the square root"],
        expect![[r#"
            qt-correction/qtc-bazett  94 % sure
              Correct a measured QT interval for heart rate with Bazett's square-root…
              because the request says “square root”, “qt”, which few others have, and
              “correct”

            not
              qtc-fridericia           Compute QTcF, the cube-root (Fridericia) rate…
              qtc-hodges               Hodges method (QTcH): add 1.75 ms per beat/min above…
              qtc-rautaharju           Rautaharju's formula, QTc = QT × (120 + HR) / 180;…
              qtc-framingham           Framingham linear equation, which adds 154 ms for…
              convert-mass             mass and weight units - kilograms, grams, milligrams…
              iso-week-number          calendar date to its ISO 8601 week (for example 2026…
              chi-square-independence  Pearson chi-square test of independence on a…
              dockerfile-write         Write or improve a Dockerfile that builds one image…
              convert-data-size        amounts of digital data: bits, bytes, decimal…
              and 8 farther away (--json has all)
        "#]],
    );
}

#[test]
fn where_none_fits_the_nearest_are_told() {
    check(
        &["route", "thanks, that worked!"],
        expect![[r#"
        none  99 % sure
          because the request reads like one that needs no skill; email-follow-up comes
          nearest

        nearest
          email-follow-up       polite nudge when the user's own e-mail got no answer,…
          constructive-dilemma  Constructive dilemma: two conditionals and a…
          review-respond        Work through the comments reviewers left on your own…
          qtc-bazett            Correct a measured QT interval for heart rate with…
          git-revert-commit     Undo a commit or merge that is already pushed and…
          and 16 farther away (--json has all)
    "#]],
    );
}

/// The reasons beside the names in the lines below `not` or `nearest`.
fn reasons(shown: &str) -> Vec<String> {
    let rows = shown.lines().skip_while(|line| !matches!(*line, "not" | "nearest")).skip(1);
    let rows = rows.filter(|row| !row.contains("farther away"));
    rows.map(|row| row.trim().split_once("  ").unwrap().1.trim().to_lowercase()).collect()
}

#[test]
fn no_two_reasons_open_alike_and_each_fits_its_line() {
    let fixture = fixture();
    let requests = fs::read_to_string(examples().join("queries.jsonl")).unwrap();
    let requests: Vec<Value> =
        requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut rows = 0;
    for request in requests.iter().step_by(23) {
        let request = request["text"].as_str().unwrap();
        let shown = shown(&fixture, &["route", request]);
        for line in shown.lines() {
            assert!(width(line) <= 80, "{}: {line}\n{shown}", width(line));
        }
        let opening = |reason: &String| -> String {
            reason.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
        };
        let reasons = reasons(&shown);
        let mut openings: Vec<String> = reasons.iter().map(opening).collect();
        rows += openings.len();
        assert!(openings.iter().all(|opening| opening.chars().any(char::is_alphanumeric)));
        openings.sort();
        let all = openings.len();
        openings.dedup();
        assert_eq!(openings.len(), all, "{request}\n{shown}");
    }
    assert!(rows > 200, "{rows}");
}

/// Records whose ids say nothing.
fn opaque() -> Fixture {
    let fixture = Fixture::with_atlas(&[]);
    let records = [
        ("a7f3", "PDF merge", "Combine several PDF files into one."),
        ("b210", "PDF split", "Cut one PDF file into several."),
        ("c999", "PDF redact", "Black out what nobody may read in a PDF file."),
    ];
    let line = |(id, name, description): (&str, &str, &str)| {
        json!({"id": id, "name": name, "description": description, "content": ""}).to_string()
    };
    let lines: Vec<String> = records.map(line).to_vec();
    fs::write(fixture.path("skills.jsonl"), lines.join("\n") + "\n").unwrap();
    fixture
}

#[test]
fn a_name_stands_beside_an_id_that_says_nothing() {
    let fixture = opaque();
    let shown = |arguments: &[&str]| {
        let mut command = fixture.command(arguments);
        let output = command.args(["--library", "skills.jsonl"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let request = "combine these PDF files";
    let route = shown(&["route", request]);
    assert!(route.starts_with("a7f3 · PDF merge  "), "{route}");
    assert!(route.contains("b210 · PDF split"));
    for arguments in
        [&["search", request][..], &["explain", request], &["neighbors", "a7f3", "-k", "2"]]
    {
        let shown = shown(arguments);
        assert!(shown.contains("b210 · PDF split"), "{arguments:?}: {shown}");
    }
    let answer = fixture.json(&["route", request, "--library", "skills.jsonl"]);
    assert_eq!((&answer["skill"], &answer["name"]), (&"a7f3".into(), &"PDF merge".into()));
    let rejected = answer["rejected"].as_array().unwrap();
    assert!(rejected.iter().any(|r| r["skill"] == "b210" && r["name"] == "PDF split"), "{answer}");
}

#[test]
fn explain_fits_the_terminal() {
    let fixture = fixture();
    let requests = [
        "what is my monthly payment on a 20 year loan",
        "QT 380 at 110 bpm with the cube root instead of Bazett",
        "年终奖怎么计税",
    ];
    for request in requests {
        for columns in ["60", "80", "120"] {
            let mut command = fixture.command(&["explain", request, "--library"]);
            let output = command.arg(examples()).env("COLUMNS", columns).output().unwrap();
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(shown.contains("total"), "{}", err(&output));
            for line in shown.lines() {
                let columns: usize = columns.parse().unwrap();
                assert!(width(line) <= columns, "{columns}, {}: {line}\n{shown}", width(line));
            }
            // Eighty columns have room for all that was added up.
            assert_eq!(shown.contains("meaning"), columns != "60", "{columns}: {shown}");
        }
    }
}

#[test]
fn a_note_is_said_once_a_run() {
    let fixture = Fixture::new(&["pdf-tools"]);
    // An atlas of an earlier version is told of by whatever reads the library, and damage has it read twice.
    fs::create_dir_all(fixture.library().join(".fingerpost")).unwrap();
    let run = || fixture.run(&["route", "merge two PDF files", "--library", "library"]);
    assert!(run().status.success());
    fs::write(fixture.library().join(".fingerpost/atlas.sqlite"), "old").unwrap();
    let blobs = fixture.library().join(".fingerpost/blobs");
    for blob in fs::read_dir(blobs).unwrap() {
        let blob = blob.unwrap().path();
        let mut bytes = fs::read(&blob).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(&blob, bytes).unwrap();
    }
    let said = err(&run());
    assert!(said.contains("is made again"), "{said}");
    assert_eq!(said.matches("atlas of an earlier version").count(), 1, "{said}");
}

#[test]
fn quiet_route_prints_the_path_and_nothing_else() {
    let fixture = fixture();
    let path = examples().join("pdf-tools/pdf-merge/SKILL.md").canonicalize().unwrap();
    let found = shown(&fixture, &["route", "-q", "merge two PDF files"]);
    assert_eq!(fs::canonicalize(found.trim_end()).unwrap(), path);
    assert_eq!(found.lines().count(), 1);
    let mut none = fixture.command(&["route", "--quiet", "sing me a lullaby about dragons"]);
    let none = none.arg("--library").arg(examples()).output().unwrap();
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0));
    assert_eq!(err(&none), "");
    // Asked for JSON, it is JSON.
    let json = shown(&fixture, &["route", "-q", "--json", "merge two PDF files"]);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["name"], "pdf-merge");
}

#[test]
fn the_name_alone_shows_a_tour() {
    let fixture = Fixture::new(&[]);
    folder::copy(&examples().join("pdf-tools"), &fixture.path(".claude/skills"));
    let output = fixture.run(&[]);
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8(output.stdout).unwrap();
    let shown = shown.replace(&fixture.folder.path().display().to_string(), "~");
    let kept = shown.lines().nth(1).unwrap().rsplit('/').next().unwrap().to_owned();
    expect![[r#"
        7 skills in ~/.claude/skills
        not compiled yet: the first request compiles it; kept in ~/.cache/fingerpost/ATLAS

        Try this, which names pdf-extract-tables:
          fingerpost route "use pdf-extract-tables"

        Then, in your own words:
          fingerpost route "..."  one skill for what you want, or none
          fingerpost doctor       what loaded, and what is wrong with it
          fingerpost page review  the pages to look at first
    "#]]
    .assert_eq(&shown.replace(&kept, "ATLAS"));
    assert!(!fixture.path(".cache").exists(), "a tour writes nothing");
    // The request that it offers works.
    let tour = fixture.json(&[]);
    let request = tour["example"]["request"].as_str().unwrap();
    assert_eq!(fixture.json(&["route", request])["skill"], tour["example"]["skill"]);
    assert_eq!((&tour["skills"], &tour["compiled"]), (&7.into(), &false.into()));
    assert_eq!(fixture.json(&[])["compiled"], true, "the request compiled it");
}

#[test]
fn where_there_is_no_skill_the_tour_says_how_to_begin() {
    let fixture = Fixture::new(&[]);
    let output = fixture.run(&[]);
    assert_eq!(output.status.code(), Some(0));
    expect![[r#"
        No skills found where agents look: .claude/skills, .agents/skills and
        their like, in this folder, above it and in your home.

        Say where yours are:
          fingerpost route "..." --library DIR      a folder of SKILL.md folders
          fingerpost route "..." --library F.jsonl  or a file of records
          fingerpost help route                     all that can be said to it
    "#]]
    .assert_eq(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(fixture.json(&[]), Value::Null);
}

/// The verbs below one, as its help lists them.
fn verbs(help: &str) -> Vec<String> {
    let after = help.split_once("\nCommands:\n").map_or("", |(_, after)| after);
    let lines = after.lines().take_while(|line| line.starts_with(' '));
    let begins = lines.filter(|line| !line.starts_with("   "));
    let verbs = begins.filter_map(|line| line.split_whitespace().next());
    verbs.filter(|verb| *verb != "help").map(str::to_owned).collect()
}

#[test]
fn the_help_of_every_verb_ends_with_an_example() {
    let fixture = Fixture::new(&[]);
    let mut left: Vec<Vec<String>> = vec![vec![]];
    let mut seen = 0;
    while let Some(path) = left.pop() {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = String::from_utf8(fixture.run(&arguments).stdout).unwrap();
        let examples = help.split_once("\nExamples:\n").map_or("", |(_, examples)| examples);
        assert!(examples.contains("fingerpost"), "{path:?}:\n{help}");
        for verb in verbs(&help) {
            left.push([path.clone(), vec![verb]].concat());
        }
        seen += 1;
    }
    assert!(seen > 30, "{seen} verbs");
}

#[test]
fn five_shells_can_complete() {
    let fixture = Fixture::new(&[]);
    for (shell, mark) in [
        ("bash", "complete -F _fingerpost"),
        ("zsh", "#compdef fingerpost"),
        ("fish", "complete -c fingerpost"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[fingerpost]"),
    ] {
        let output = fixture.run(&["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains(mark) && script.contains("neighbors"), "{shell}: {script}");
    }
    assert_eq!(fixture.run(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn every_verb_has_a_page_of_the_manual() {
    let fixture = Fixture::new(&[]);
    let output = fixture.run(&["man", "--out", "man"]);
    assert!(output.status.success(), "{}", err(&output));
    for page in ["fingerpost", "fingerpost-route", "fingerpost-page-show"] {
        let text = fs::read_to_string(fixture.path(&format!("man/{page}.1"))).unwrap();
        assert!(text.contains(".SH SYNOPSIS") && text.contains("Examples"), "{page}: {text}");
    }
    assert!(!fixture.path("man/fingerpost-help.1").exists());
    let first = fixture.run(&["man"]);
    assert!(String::from_utf8(first.stdout).unwrap().contains(".TH fingerpost 1"));
}

#[test]
fn the_version_says_commit_and_format() {
    let output = Fixture::new(&[]).run(&["--version"]);
    let version = String::from_utf8(output.stdout).unwrap();
    let (name, rest) = version.trim_end().split_once(" (").unwrap();
    assert_eq!(name, concat!("fingerpost ", env!("CARGO_PKG_VERSION")));
    assert!(rest.ends_with(')') && rest.contains("atlas format "), "{version}");
}

#[test]
fn an_answer_has_the_fields_of_its_schema() {
    let fixture = Fixture::with_atlas(&["pdf-tools"]);
    let answers = [
        (vec!["route"], vec!["merge two PDF files"]),
        (vec!["search"], vec!["merge two PDF files"]),
        (vec!["explain"], vec!["merge two PDF files"]),
        (vec!["neighbors"], vec!["pdf-merge"]),
        (vec!["diff"], vec!["pdf-merge", "pdf-split"]),
        (vec!["page", "show"], vec!["pdf-merge"]),
        (vec!["page", "review"], vec![]),
        (vec!["compile"], vec![]),
    ];
    for (verb, rest) in answers {
        let asked = [&verb[..], &rest, &["--library", "library"]].concat();
        let answer = fixture.json(&asked);
        let schema = fixture.json(&[&["schema"], &verb[..]].concat());
        let required = schema["required"].as_array().unwrap();
        for field in required {
            assert!(answer.get(field.as_str().unwrap()).is_some(), "{verb:?}: no {field}");
        }
        let known = schema["properties"].as_object().unwrap();
        // What a compilation cost is the command line's to add.
        let others = if verb == ["compile"] { &["calls", "cost_usd", "seconds"][..] } else { &[] };
        for field in answer.as_object().unwrap().keys().filter(|f| !others.contains(&f.as_str())) {
            assert!(known.contains_key(field), "{verb:?}: {field} is not in the schema");
        }
    }
}
