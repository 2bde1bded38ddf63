//! What a person or money made, as they meet it again: after skills went and came back, after files
//! were damaged, beside a compiler, and only gone when somebody said so.

#[path = "../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
mod folder;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, SystemTime};

use chat_server::Server;
use folder::{Fixture, err, files};
use serde_json::{Value, json};

const FAMILIES: [&str; 2] = ["qt-correction", "loans"];
const SKILL: &str = "loans/loan-payment";
const MINE: &str = "What I say about the payment of a loan.";

/// A compiled library with one page that a person wrote.
fn pinned() -> Fixture {
    let fixture = Fixture::new(&FAMILIES);
    edit(&fixture, SKILL, MINE);
    fixture
}

fn edit(fixture: &Fixture, skill: &str, trigger: &str) {
    let page = fixture.json(&["page", "edit", skill, "--trigger", trigger, "--library", "library"]);
    assert_eq!((&page["status"], &page["trigger"]), (&json!("pinned"), &json!(trigger)));
}

fn route(fixture: &Fixture) -> Output {
    let output = fixture.run(&["route", "-q", "monthly payment of a loan", "--library", "library"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(&output));
    output
}

fn assert_pinned(fixture: &Fixture, skill: &str, why: &str) -> Value {
    let page = fixture.show(skill);
    assert_eq!((&page["status"], &page["trigger"]), (&json!("pinned"), &json!(MINE)), "{why}");
    page
}

/// Is it said to be of another document?
fn is_stale(page: &Value) -> bool {
    page["checks"].as_array().unwrap().iter().any(|check| check["rule"] == "stale")
}

#[test]
fn a_skill_that_comes_back_gets_its_page_back() {
    let fixture = pinned();
    let (here, aside) = (fixture.library().join(SKILL), fixture.path("aside"));
    fs::rename(&here, &aside).unwrap();
    route(&fixture);
    let gone = fixture.run(&["page", "show", SKILL, "--library", "library"]);
    assert_eq!(gone.status.code(), Some(2), "it is not there: {}", err(&gone));
    fs::rename(&aside, &here).unwrap();
    route(&fixture);
    assert_pinned(&fixture, SKILL, "after it was moved away and back");

    // A typo in the front matter, for one run.
    let file = here.join("SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("name:", "nmae", 1)).unwrap();
    route(&fixture);
    fs::write(&file, &text).unwrap();
    route(&fixture);
    assert!(!is_stale(&assert_pinned(&fixture, SKILL, "after a typo")));

    // With another document it is served, and said to be of the one before.
    fixture.change(SKILL);
    let page = assert_pinned(&fixture, SKILL, "after its document changed");
    assert!(is_stale(&page), "{page}");
}

/// A page names a skill that is gone: its other parts can be changed all the same.
#[test]
fn a_page_that_names_a_skill_that_is_gone_can_be_edited() {
    let fixture = Fixture::new(&FAMILIES);
    let case = "The whole cost a year -> apr-from-fees";
    let edit_case = ["page", "edit", SKILL, "--boundary", case, "--library", "library"];
    fixture.json(&edit_case);
    fs::remove_dir_all(fixture.library().join("loans/apr-from-fees")).unwrap();
    edit(&fixture, SKILL, MINE);
    let page = assert_pinned(&fixture, SKILL, "its boundary names a skill that is gone");
    assert_eq!(page["references"], json!(["loans/apr-from-fees"]), "{page}");
    let unknown = ["page", "edit", SKILL, "--boundary", "A typo -> lon", "--library", "library"];
    assert_eq!(fixture.run(&unknown).status.code(), Some(2));
}

#[test]
fn a_renamed_skill_is_found_by_its_document() {
    let fixture = pinned();
    let to = fixture.library().join("lending/loan-payment");
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(fixture.library().join(SKILL), &to).unwrap();
    assert_pinned(&fixture, "lending/loan-payment", "its id is another, its document the same");
}

#[test]
fn libraries_side_by_side_do_not_touch_each_other() {
    let fixture = Fixture::new(&[]);
    let skill = |name: &str, about: &str| {
        json!({"id": name, "name": name, "description": about, "content": about}).to_string()
    };
    let loans = skill("pay", "The monthly payment of a loan from rate and term.");
    fs::write(fixture.path("one.jsonl"), format!("{loans}\n")).unwrap();
    let scores = skill("egfr", "Kidney function from creatinine, age and sex.");
    fs::write(fixture.path("two.jsonl"), format!("{scores}\n")).unwrap();
    let edit = ["page", "edit", "pay", "--trigger", MINE, "--library", "one.jsonl"];
    fixture.json(&edit);
    fixture.json(&["route", "creatinine", "--library", "two.jsonl"]);
    let page = fixture.json(&["page", "show", "pay", "--library", "one.jsonl"]);
    assert_eq!((&page["status"], &page["trigger"]), (&json!("pinned"), &json!(MINE)));
    assert!(!fixture.path(".fingerpost").exists(), "the working folder is no library");
}

/// A file that is no library is refused, and what was compiled is as it was.
#[test]
fn what_is_no_library_empties_nothing() {
    let fixture = pinned();
    let home = fixture.path(".claude/skills");
    folder::copy(&fixture.library().join("loans"), &home);
    fixture.json(&["compile"]);
    fs::write(fixture.path("notes.txt"), "buy milk\n").unwrap();
    let before = files(fixture.folder.path());
    let output = fixture.run(&["compile", "notes.txt"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("notes.txt"), "{}", err(&output));
    let after = files(fixture.folder.path());
    assert!(before == after, "all is as it was, and nothing is left behind");
    assert_eq!(fixture.json(&["atlas", "stats"])["skills"], 5);
}

/// Every file of the atlas is flipped, cut and removed, and each time any verb answers as before,
/// exit code 0, the file named though nobody wants talk, and the file is sound after.
#[test]
fn damage_heals_at_the_next_command_and_is_named() {
    let fixture = pinned();
    let atlas = fixture.library().join(".fingerpost");
    let mut damageable: Vec<PathBuf> = files(&atlas.join("blobs")).into_keys().collect();
    assert_eq!(damageable.len(), 6, "{damageable:?}");
    damageable.push(atlas.join("head"));
    let answer = || -> (Value, String) {
        let route = ["route", "-q", "--json", "monthly payment of a loan", "--library", "library"];
        let output = fixture.run(&route);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (json!([answer["skill"], answer["hits"]]), err(&output))
    };
    let (expected, said) = answer();
    assert_eq!(said, "");
    for file in &damageable {
        let name = file.file_name().unwrap().to_str().unwrap();
        let sound = fs::read(file).unwrap();
        let mut flips: Vec<Option<Vec<u8>>> = (1..8)
            .map(|part| {
                let mut bytes = sound.clone();
                bytes[sound.len() * part / 8] ^= 0x10;
                Some(bytes)
            })
            .collect();
        flips.extend([Some(sound[..sound.len() / 2].to_vec()), None]);
        for (number, damage) in flips.into_iter().enumerate() {
            fs::remove_file(file).unwrap();
            let removed = damage.is_none();
            if let Some(bytes) = damage {
                fs::write(file, bytes).unwrap();
            }
            let (answered, mut said) = answer();
            assert_eq!(answered, expected, "{name}, damage {number}");
            // Not every answer needs every file; a compilation looks at all of them.
            let compiled = fixture.run(&["compile", "-q", "library"]);
            assert_eq!(compiled.status.code(), Some(0), "{name}: {}", err(&compiled));
            said.push_str(&err(&compiled));
            assert!(removed || said.contains(name), "{name}, damage {number}: {said}");
            assert_eq!(answer(), (expected.clone(), String::new()), "{name}, damage {number}");
            if name != "head" {
                assert!(fs::read(file).unwrap() == sound, "{name} is as it was");
            }
        }
        assert_pinned(&fixture, SKILL, name);
    }
}

/// Files with times of the day after tomorrow, and many changes: what is in use stays.
#[test]
fn what_is_in_use_stays_whatever_the_clock_says() {
    let fixture = pinned();
    let atlas = fixture.library().join(".fingerpost");
    let later = SystemTime::now() + Duration::from_secs(2 * 86_400);
    for change in 0..10 {
        for number in 0..3 {
            let name = format!("vectors-{change}{number}");
            fs::write(atlas.join("blobs").join(name), "somebody's").unwrap();
        }
        for file in files(&atlas).into_keys() {
            fs::File::options().write(true).open(file).unwrap().set_modified(later).unwrap();
        }
        fixture.change(["loans/apr-from-fees", "qt-correction/qtc-hodges"][change % 2]);
        route(&fixture);
        fixture.json(&["atlas", "stats", "--library", "library"]);
    }
    assert_pinned(&fixture, SKILL, "after ten changes");
    assert_eq!(files(&atlas.join("blobs")).len(), 6, "and what is not in use is gone");
}

/// Pages that were paid for are not given up for local drafts because a document changed.
#[test]
fn paid_pages_stay_and_are_flagged() {
    let (fixture, server) = (Fixture::new(&["gongwen"]), Server::start(vec![]));
    let ask = ["compile", "library", "--lang", "zh", "--writer", "llm", "--model", "fake"];
    fixture.json(&[&ask[..], &["--base-url", &server.url]].concat());
    let pages = || -> Vec<Value> {
        let output = fixture.run(&["export", "--library", "library"]);
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let is_paid = |page: &&Value| page["writer"].as_str().unwrap().starts_with("llm fake");
    let before = pages();
    let paid: Vec<&Value> = before.iter().filter(is_paid).collect();
    assert!(paid.len() >= 2, "{before:?}");
    let skill = paid[0]["skill"].as_str().unwrap().to_owned();
    let calls = server.asked().len();
    fixture.change(&skill);
    route(&fixture);
    let after = pages();
    assert_eq!(after.iter().filter(is_paid).collect::<Vec<_>>(), paid);
    let stats = fixture.json(&["atlas", "stats", "--library", "library"]);
    assert_eq!(stats["stale_pages"], 1, "{stats}");
    assert!(is_stale(&fixture.show(&skill)));
    assert_eq!(server.asked().len(), calls, "nobody was asked");
}

/// An edit, an import and an unpin beside a compiler: all of them count in the end.
#[test]
fn nothing_vanishes_beside_a_compiler() {
    let fixture = pinned();
    edit(&fixture, "loans/apr-from-fees", "A page to be given back.");
    let exported = fixture.run(&["export", "--library", "library"]).stdout;
    let exported = String::from_utf8(exported).unwrap();
    let line = exported
        .lines()
        .find(|line| line.starts_with("{\"skill\":\"qt-correction/qtc-hodges\""))
        .unwrap();
    let mut line: Value = serde_json::from_str(line).unwrap();
    (line["writer"], line["status"]) = (json!("llm brought"), json!("written"));
    fs::write(fixture.path("pages.jsonl"), format!("{line}\n")).unwrap();
    for (round, wait) in [0, 30, 80].into_iter().enumerate() {
        let mine = format!("Round {round} of what I say.");
        let start = |arguments: &[&str]| {
            let mut command = fixture.command(arguments);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let compiler = start(&["compile", "library", "--rebuild"]);
        std::thread::sleep(Duration::from_millis(wait));
        let mut all = vec![compiler];
        let edit = ["page", "edit", "qtc-bazett", "--trigger", &mine, "--library", "library"];
        all.push(start(&edit));
        all.push(start(&["import", "pages.jsonl", "--force", "--library", "library"]));
        if round == 1 {
            all.push(start(&["page", "unpin", "apr-from-fees", "--library", "library"]));
        }
        for child in all {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        }
        assert_eq!(fixture.show("qtc-bazett")["trigger"], mine.as_str());
        let pages = fixture.run(&["export", "--library", "library"]).stdout;
        assert!(contains(&pages, "llm brought"), "round {round}");
        let given_back = fixture.show("apr-from-fees")["status"] != "pinned";
        assert_eq!(given_back, round >= 1, "round {round}");
        assert_pinned(&fixture, SKILL, "all the while");
    }
}

#[test]
fn a_pin_is_given_and_taken_back() {
    let fixture = Fixture::new(&FAMILIES);
    let local = fixture.show(SKILL);
    assert_eq!(local["status"], "written");
    let pinned = fixture.json(&["page", "pin", SKILL, "--library", "library"]);
    assert_eq!((&pinned["status"], &pinned["trigger"]), (&json!("pinned"), &local["trigger"]));
    edit(&fixture, SKILL, MINE);
    let released = fixture.json(&["page", "unpin", SKILL, "--library", "library"]);
    assert_eq!((&released["status"], &released["trigger"]), (&local["status"], &local["trigger"]));
    let again = fixture.run(&["page", "unpin", SKILL, "--library", "library"]);
    assert_eq!(again.status.code(), Some(2), "it is not pinned: {}", err(&again));
}

#[test]
fn only_forget_deletes_and_it_must_be_meant() {
    let fixture = pinned();
    let forget = ["page", "forget", SKILL, "--library", "library"];
    let output = fixture.command(&forget).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("--yes"), "{}", err(&output));
    assert_pinned(&fixture, SKILL, "nobody said yes");
    fixture.json(&["page", "unpin", SKILL, "--library", "library"]);
    let told = fixture.json(&[&forget[..], &["--yes"]].concat());
    assert_eq!(told["forgotten"], 2, "the page and that it was given back: {told}");
    let kept = files(&fixture.library().join(".fingerpost/kept"));
    assert!(kept.values().all(|bytes| !contains(bytes, MINE)), "for good");
    assert_eq!(fixture.show(SKILL)["status"], "written");
    let again = fixture.run(&[&forget[..], &["--yes"]].concat());
    assert_eq!(again.status.code(), Some(1), "nothing is kept: {}", err(&again));
}

#[test]
fn the_ledger_is_pruned_by_day() {
    let (fixture, server) = (Fixture::new(&["loans"]), Server::start(vec![]));
    let ask = ["compile", "library", "--writer", "llm", "--model", "fake"];
    fixture.json(&[&ask[..], &["--base-url", &server.url]].concat());
    let ledger = || fixture.json(&["ledger", "--library", "library"])["calls"].clone();
    let calls = ledger();
    assert_eq!(calls, server.asked().len());
    let prune = |day: &str, more: &[&str]| {
        let prune = ["ledger", "prune", "--before", day, "--library", "library"];
        fixture.command(&[&prune[..], more].concat()).stdin(Stdio::null()).output().unwrap()
    };
    assert_eq!(prune("2999-01-01", &[]).status.code(), Some(2), "nobody said yes");
    assert_eq!(prune("yesterday", &["--yes"]).status.code(), Some(2));
    assert_eq!(prune("2020-01-01", &["--yes"]).status.code(), Some(0));
    assert_eq!(ledger(), calls, "nothing is as old");
    let output = prune("2999-01-01", &["--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(ledger(), 0);
    let paid = fixture.run(&["export", "--library", "library"]).stdout;
    assert!(contains(&paid, "llm fake"), "the pages are another matter");
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Both copies of what is kept are damaged in turn: the other one has it, and the file is named.
#[test]
fn what_is_kept_outlives_the_loss_of_one_of_its_files() {
    let fixture = pinned();
    let kept = fixture.library().join(".fingerpost/kept");
    for name in ["pages.log", "pages.copy"] {
        let file: &Path = &kept.join(name);
        let sound = fs::read(file).unwrap();
        let mut flipped = sound.clone();
        flipped[sound.len() / 2] ^= 1;
        let cut = sound[..sound.len() / 2].to_vec();
        for damage in [Some(flipped), Some(cut), Some(Vec::new()), None] {
            let removed = damage.as_ref().is_none_or(Vec::is_empty);
            fs::remove_file(file).unwrap();
            if let Some(bytes) = damage {
                fs::write(file, bytes).unwrap();
            }
            let compiled = fixture.run(&["compile", "-q", "library"]);
            assert_eq!(compiled.status.code(), Some(0), "{}", err(&compiled));
            assert!(removed || err(&compiled).contains(name), "{name}: {}", err(&compiled));
            assert_pinned(&fixture, SKILL, name);
            // The next writer mends it.
            edit(&fixture, "qt-correction/qtc-bazett", "Another page.");
            assert_eq!(
                fs::read(kept.join("pages.log")).unwrap(),
                fs::read(kept.join("pages.copy")).unwrap()
            );
        }
    }
}
