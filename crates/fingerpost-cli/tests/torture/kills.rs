//! Kills at any moment, and at chosen system calls, of every verb that writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::chat_server::Server;
use super::folder::{Fixture, copy, err, files};
use super::{Dice, REQUESTS, kept, parsed, rounds, size, told, whole};

const SKILLS: [&str; 4] = [
    "loans/loan-payment",
    "loans/apr-from-fees",
    "qt-correction/qtc-bazett",
    "loans/compound-savings",
];

/// A skill that comes and goes.
const GUEST: &str = "qt-correction/qtc-hodges";

/// The atlas by itself.
struct Seen {
    generation: u64,
    library: String,
    pages: String,
    answers: Vec<Value>,
}

fn look(fixture: &Fixture, why: &str) -> Seen {
    let alone = |arguments: &[&str]| {
        let output = fixture.run(arguments);
        whole(&output, &format!("{arguments:?} after {why}"));
        output.stdout
    };
    let parse = |bytes: Vec<u8>| -> Value { serde_json::from_slice(&bytes).unwrap() };
    let stats = parse(alone(&["atlas", "stats", "--json"]));
    let answers = REQUESTS.map(|request| parse(alone(&["route", request, "--json"])));
    for answer in &answers {
        assert_eq!(answer["generation"], stats["generation"], "after {why}");
    }
    Seen {
        generation: stats["generation"].as_u64().unwrap(),
        library: stats["library"]["digest"].as_str().unwrap().to_owned(),
        pages: String::from_utf8(alone(&["export"])).unwrap(),
        answers: answers.iter().map(told).collect(),
    }
}

/// Answers of an atlas that nobody disturbed, of the same library with the same pages.
fn replay(guest: bool, pages: &str) -> Vec<Value> {
    let quiet = Fixture::with_atlas(&["loans", "qt-correction"]);
    if !guest {
        fs::remove_dir_all(quiet.library().join(GUEST)).unwrap();
    }
    fs::write(quiet.path("pages.jsonl"), pages).unwrap();
    let import = quiet.run(&["import", "pages.jsonl", "--force", "--library", "library"]);
    whole(&import, "replay");
    without_place(&quiet, &look(&quiet, "nothing").answers)
}

/// Answers without the folder that the skills' paths begin with.
fn without_place(fixture: &Fixture, answers: &[Value]) -> Vec<Value> {
    let root = fixture.folder.path().canonicalize().unwrap();
    let text = serde_json::to_string(answers).unwrap();
    serde_json::from_str(&text.replace(root.to_str().unwrap(), "")).unwrap()
}

fn has_strace() -> bool {
    let found =
        Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        eprintln!("== SKIPPED: strace is not installed: no kills at chosen system calls");
    }
    found
}

/// Where a kill strikes.
enum Strike {
    After(Duration),
    AtCall(usize),
    Never,
}

/// Runs a verb until it ends or is killed; its exit code if it came to one.
fn run_struck(fixture: &Fixture, arguments: &[&str], strike: &Strike) -> Option<i32> {
    let mut command = match strike {
        Strike::AtCall(number) => {
            let calls = "?rename,?renameat,?renameat2,?fsync,?fdatasync,?write,?unlink,?unlinkat,?ftruncate,?mkdir";
            let mut command = Command::new("strace");
            fixture.settle(&mut command);
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
            command.args(["-e", &format!("inject={calls}:signal=SIGKILL:when={number}")]);
            command.arg(env!("CARGO_BIN_EXE_fingerpost")).args(arguments);
            command
        }
        _ => fixture.command(arguments),
    };
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if let Strike::After(wait) = strike {
        std::thread::sleep(*wait);
        let _ = child.kill();
    }
    let output = child.wait_with_output().unwrap();
    assert!(!err(&output).contains("panicked"), "{arguments:?}: {}", err(&output));
    output.status.code()
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn kills_at_any_moment_lose_nothing() {
    let mut dice = Dice::new("kills");
    let strace = has_strace();
    let fixture = Fixture::with_atlas(&["loans", "qt-correction"]);
    let server = Server::start(vec![]);
    let (atlas, aside) = (fixture.path("atlas"), fixture.path("aside"));
    let kept_in = atlas.join("kept");
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../fingerpost/tests/old/format-6/atlas"),
        &fixture.path("old"),
    );
    fixture.json(&["compile", "library"]);
    fs::write(fixture.path("pages.jsonl"), look(&fixture, "nothing").pages).unwrap();
    // Which libraries there are, and whether the guest is in them.
    let mut libraries: BTreeMap<String, bool> = BTreeMap::new();
    for guest in [false, true] {
        let (here, there) = (fixture.library().join(GUEST), &aside);
        if guest { fs::rename(there, here) } else { fs::rename(here, there) }.unwrap();
        fixture.json(&["compile", "library"]);
        libraries.insert(look(&fixture, "nothing").library, guest);
    }
    let mut by_generation: BTreeMap<u64, (String, String, Vec<Value>)> = BTreeMap::new();
    let mut by_content: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    let mut ends = BTreeMap::<String, [usize; 3]>::new();
    for round in 0..rounds() {
        let skill = *dice.one_of(&SKILLS);
        let trigger = format!("Round {round} of what I say.");
        let model = format!("fake-{}", dice.below(4));
        let library = ["--library", "library"];
        let of_llm =
            ["--writer", "llm", "--tries", "1", "--base-url", &server.url, "--model", &model];
        let choice = dice.below(10);
        let arguments: Vec<&str> = match choice {
            0 | 1 => vec!["compile", "library"],
            2 => vec!["compile", "library", "--rebuild"],
            3 | 4 => vec!["page", "edit", skill, "--trigger", &trigger],
            5 => vec!["page", "pin", skill],
            6 => vec!["page", "unpin", skill],
            7 => match dice.below(2) {
                0 => vec!["page", "forget", skill, "--yes"],
                _ => vec!["import", "pages.jsonl", "--force"],
            },
            8 => [&["compile", "library"], &of_llm[..]].concat(),
            _ => vec!["atlas", "adopt", "old"],
        };
        let arguments =
            if arguments[0] == "compile" { arguments } else { [&arguments[..], &library].concat() };
        // Something to compile, and something to take in, before the verb is through.
        if dice.below(3) == 0 {
            let here = fixture.library().join(GUEST);
            if here.exists() { fs::rename(&here, &aside) } else { fs::rename(&aside, &here) }
                .unwrap();
        }
        let strike = match dice.below(10) {
            0 => Strike::Never,
            at if at % 2 == 0 && strace => Strike::AtCall(1 + dice.below(40)),
            _ => Strike::After(Duration::from_millis(dice.below(80) as u64)),
        };
        let before = ["pages", "ledger"].map(|log| kept(&kept_in, log));
        let code = run_struck(&fixture, &arguments, &strike);
        let acknowledged = code == Some(0);
        let why = format!("round {round}, {arguments:?}, exit code {code:?}");
        let name = arguments[..3.min(arguments.len())].join(" ").replace(skill, "");
        let [killed, refused, done] = ends.entry(name).or_insert([0; 3]);
        *match code {
            None => killed,
            Some(0) => done,
            // Nothing is pinned, nothing is kept of it.
            Some(1 | 2) => refused,
            Some(_) => panic!("{why}"),
        } += 1;

        let after = ["pages", "ledger"].map(|log| kept(&kept_in, log));
        let is_forget = arguments[..2] == ["page", "forget"];
        for (_, record) in before.iter().zip(&after).flat_map(|(before, after)| before - after) {
            let may_go = is_forget && parsed(&record)["skill"] == skill;
            assert!(may_go, "lost by {why}: {record}");
        }
        let pages: Vec<Value> = after[0].iter().map(|(_, record)| parsed(record)).collect();
        if acknowledged && arguments[..2] == ["page", "edit"] {
            let is_there = pages.iter().any(|record| record["page"]["trigger"] == *trigger);
            assert!(is_there, "said to be done and is not there: {why}");
        }
        if acknowledged && is_forget {
            assert!(pages.iter().all(|record| record["skill"] != skill), "{why}");
        }
        if acknowledged && choice == 9 {
            assert!(after[1].iter().any(|(_, record)| record.contains("some-model")), "{why}");
        }

        let seen = look(&fixture, &why);
        assert!(libraries.contains_key(&seen.library), "a library that never was: {why}");
        let now = (seen.library.clone(), seen.pages.clone(), seen.answers.clone());
        let first = by_generation.entry(seen.generation).or_insert_with(|| now.clone());
        assert_eq!(first, &now, "generation {} has changed: {why}", seen.generation);
        let answers = by_content
            .entry((seen.library.clone(), seen.pages.clone()))
            .or_insert_with(|| replay(libraries[&seen.library], &seen.pages));
        assert_eq!(&without_place(&fixture, &seen.answers), answers, "a wrong answer: {why}");
    }
    eprintln!("kills: of {} rounds, killed, refused and done: {ends:?}", rounds());
    eprintln!("kills: {} generations, {} states replayed", by_generation.len(), by_content.len());
    fixture.json(&["compile", "library"]);
    let left: BTreeSet<PathBuf> = files(&atlas).into_keys().collect();
    let unfinished = left.iter().filter(|file| file.to_string_lossy().ends_with(".unfinished"));
    let unfinished = unfinished.count();
    eprintln!("kills: {unfinished} unfinished files left of {}", left.len());
    assert!(size(&atlas.join("blobs")) < 3_000_000, "{} bytes", size(&atlas.join("blobs")));
    assert!(unfinished <= 2, "what was not finished is cleared away: {left:?}");
}
