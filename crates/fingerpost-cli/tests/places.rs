//! Where an atlas lives, whose it is, and what happens where nothing may be written.

#[path = "../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
mod folder;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chat_server::Server;
use folder::{Fixture, copy, err, files};
use serde_json::{Value, json};

const MINE: &str = "What I say about the payment of a loan.";
const REQUEST: &str = "monthly payment of a loan";

fn ours(fixture: &Fixture, base: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture.path(base)).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

const CACHE: &str = ".cache/fingerpost";
const DATA: &str = ".local/share/fingerpost";

/// Skills where agents look for them: in a project, which is the working folder.
fn discovered() -> Fixture {
    let fixture = Fixture::new(&["loans", "qt-correction"]);
    copy(&fixture.library(), &fixture.path("project/.claude/skills"));
    fixture
}

fn run_in(fixture: &Fixture, folder: &str, arguments: &[&str]) -> Output {
    fixture.command(arguments).current_dir(fixture.path(folder)).output().unwrap()
}

fn json_in(fixture: &Fixture, folder: &str, arguments: &[&str]) -> Value {
    let output = run_in(fixture, folder, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_named_folder_keeps_its_atlas_and_git_does_not_see_it() {
    let fixture = Fixture::new(&["loans"]);
    fixture.json(&["compile", "library"]);
    let atlas = fixture.library().join(".fingerpost");
    assert!(atlas.join("head").is_file());
    assert_eq!(fs::read_to_string(atlas.join(".gitignore")).unwrap(), "*\n");
    for elsewhere in [CACHE, ".fingerpost"] {
        assert!(!fixture.path(elsewhere).exists(), "{elsewhere}");
    }
    assert_eq!(files(&fixture.path(DATA)).len(), 0, "nothing is kept yet");
}

#[test]
fn what_is_not_one_named_folder_lives_in_the_users_folders() {
    let fixture = discovered();
    let skill = json!({"id": "pay", "name": "pay", "description": "Pays.", "content": "Pays."});
    fs::write(fixture.path("one.jsonl"), format!("{skill}\n")).unwrap();
    copy(&fixture.library().join("loans"), &fixture.path("other"));
    let before = files(fixture.folder.path());
    let ways: [(&str, &[&str]); 3] = [
        ("project", &[]),
        (".", &["--library", "one.jsonl"]),
        (".", &["--library", "library", "--library", "other"]),
    ];
    for (at, (folder, library)) in ways.into_iter().enumerate() {
        json_in(&fixture, folder, &[&["atlas", "stats"], library].concat());
        assert_eq!(ours(&fixture, CACHE).len(), at + 1);
        let skill = if at == 1 { "pay" } else { "qtc-bazett" };
        let edit = ["page", "edit", skill, "--trigger", MINE];
        json_in(&fixture, folder, &[&edit, library].concat());
        assert_eq!(ours(&fixture, DATA).len(), at + 1, "{:?}", ours(&fixture, DATA));
    }
    for file in files(fixture.folder.path()).into_keys() {
        let is_ours = [CACHE, DATA].iter().any(|base| file.starts_with(fixture.path(base)));
        assert!(is_ours || before.contains_key(&file), "{}", file.display());
    }
    // The variables say where, and relative ones do not count.
    let mut command = fixture.command(&["atlas", "stats", "--library", "one.jsonl"]);
    command.env("XDG_CACHE_HOME", fixture.path("cache")).env("XDG_DATA_HOME", "data");
    assert!(command.output().unwrap().status.success());
    assert!(fixture.path("cache/fingerpost").is_dir() && !fixture.path("data").exists());
}

#[test]
fn reading_what_is_current_writes_nothing() {
    let fixture = Fixture::new(&["loans"]);
    fixture.json(&["compile", "library"]);
    let stamps = || -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
        let files = files(fixture.folder.path()).into_iter();
        let stamp = |file: &Path| file.metadata().unwrap().modified().unwrap();
        files.map(|(file, bytes)| (file.clone(), bytes, stamp(&file))).collect()
    };
    let before = stamps();
    let library = ["--library", "library"];
    let verbs: [&[&str]; 6] = [
        &["route", REQUEST],
        &["search", REQUEST],
        &["neighbors", "loan-payment"],
        &["atlas", "stats"],
        &["page", "show", "loan-payment"],
        &["page", "review"],
    ];
    for verb in verbs {
        fixture.json(&[verb, &library].concat());
        assert!(stamps() == before, "{verb:?}");
    }
}

/// Runs as somebody who may not write here; as the one who runs the tests if that is not root.
#[cfg(unix)]
fn as_nobody(fixture: &Fixture, command: &mut Command) -> Output {
    use std::os::unix::process::CommandExt;
    let is_root = {
        let probe = Command::new("id").arg("-u").output().unwrap();
        probe.stdout.starts_with(b"0\n")
    };
    if is_root {
        // A binary of their own: the build's folder may be closed to others.
        command.uid(65534).gid(65534);
    }
    command.env("HOME", fixture.path("nobody")).output().unwrap()
}

#[cfg(unix)]
fn allow(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A library that one may not write to, compiled by somebody else or not, with a home or without.
#[cfg(unix)]
#[test]
fn where_nothing_may_be_written_answers_come_all_the_same() {
    let fixture = Fixture::new(&["loans"]);
    let binary = fixture.path("fingerpost");
    fs::copy(env!("CARGO_BIN_EXE_fingerpost"), &binary).unwrap();
    allow(fixture.folder.path(), 0o755);
    fs::create_dir(fixture.path("nobody")).unwrap();
    allow(&fixture.path("nobody"), 0o555);
    let run = |arguments: &[&str]| -> (Value, String) {
        let mut command = Command::new(&binary);
        fixture.settle(&mut command);
        command.args(arguments).args(["--library", "library", "--json"]);
        let output = as_nobody(&fixture, &mut command);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
        (serde_json::from_slice(&output.stdout).unwrap(), err(&output))
    };
    let close = |mode: u32| {
        for path in [fixture.library(), fixture.library().join(".fingerpost")] {
            if path.exists() {
                allow(&path, mode);
            }
        }
    };
    // Nothing compiled, and nowhere to put it: for this once.
    close(0o555);
    let (answer, said) = run(&["route", REQUEST]);
    assert_eq!(answer["skill"], "loans/loan-payment");
    assert!(said.contains("nothing is kept"), "{said}");
    // A home that may be written to.
    let open = fixture.path("nobody");
    allow(&open, 0o777);
    let (_, said) = run(&["route", REQUEST]);
    assert!(said.contains("Compiled 5 skills") && said.contains("nobody/.cache"), "{said}");
    assert_eq!(run(&["route", REQUEST]).1, "");
    fs::remove_dir_all(open.join(".cache")).unwrap();
    allow(&open, 0o555);
    // Compiled by somebody else: read as it is.
    close(0o755);
    let compiled = fixture.json(&["compile", "library"]);
    close(0o555);
    let (answer, said) = run(&["route", REQUEST]);
    let told = (&answer["skill"], &answer["stale"]);
    assert_eq!(told, (&json!("loans/loan-payment"), &json!(false)), "{said}");
    assert_eq!(said, "");
    assert_eq!(answer["generation"], compiled["generation"]);
    // And changed since.
    close(0o755);
    fixture.change("loans/apr-from-fees");
    close(0o555);
    let (answer, said) = run(&["route", REQUEST]);
    assert_eq!((&answer["stale"], &answer["skill"]), (&json!(true), &json!("loans/loan-payment")));
    assert!(said.contains("the last state answers"), "{said}");
    // An atlas that was named.
    close(0o755);
    fixture.json(&["compile", "library", "--atlas", "atlas"]);
    allow(&fixture.path("atlas"), 0o555);
    close(0o555);
    let (answer, said) = run(&["route", REQUEST, "--atlas", "atlas"]);
    assert_eq!((&answer["stale"], said.as_str()), (&json!(false), ""));
    close(0o755);
}

/// A disk without room: the last state answers.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_last_state() {
    let fixture = Fixture::new(&["loans"]);
    fixture.json(&["compile", "library"]);
    let before = fixture.json(&["route", REQUEST, "--library", "library"]);
    fixture.change("loans/apr-from-fees");
    // Files may not grow beyond some hundred bytes; the signal is ignored, as a full disk sends none.
    let mut command = Command::new("sh");
    fixture.settle(&mut command);
    command.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_fingerpost"));
    command.args(["route", REQUEST, "--library", "library", "--json"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["skill"], &answer["stale"]), (&before["skill"], &json!(true)));
    let after = fixture.json(&["route", REQUEST, "--library", "library"]);
    assert_eq!(after["stale"], false);
    let left = files(&fixture.library().join(".fingerpost")).into_keys();
    let left: Vec<_> = left.filter(|file| file.to_string_lossy().contains("unfinished")).collect();
    assert_eq!(left, [""; 0].map(PathBuf::from), "nothing half done stays");
}

#[test]
fn named_and_discovered_views_of_one_folder_share_what_is_kept() {
    let fixture = discovered();
    let skills = ["--library", ".claude/skills"];
    let show = |library: &[&str], skill: &str| {
        json_in(&fixture, "project", &[&["page", "show", skill], library].concat())
    };
    let edit = |library: &[&str], skill: &str, trigger: &str| {
        let edit = ["page", "edit", skill, "--trigger", trigger];
        json_in(&fixture, "project", &[&edit, library].concat());
    };
    edit(&[], "loan-payment", MINE);
    assert_eq!(show(&skills, "loan-payment")["trigger"], MINE, "found where agents look");
    edit(&skills, "qtc-bazett", "By name.");
    assert_eq!(show(&[], "qtc-bazett")["trigger"], "By name.");
    // Of the two, the later word counts, whichever way it came.
    edit(&skills, "loan-payment", "On second thought.");
    assert_eq!(show(&[], "loan-payment")["trigger"], "On second thought.");
    edit(&[], "loan-payment", MINE);
    assert_eq!(show(&skills, "loan-payment")["trigger"], MINE);
}

#[test]
fn a_moved_project_takes_its_pins_along() {
    let fixture = discovered();
    json_in(&fixture, "project", &["page", "edit", "loan-payment", "--trigger", MINE]);
    fs::rename(fixture.path("project"), fixture.path("moved")).unwrap();
    let page = json_in(&fixture, "moved", &["page", "show", "loan-payment"]);
    assert_eq!((&page["status"], &page["trigger"]), (&json!("pinned"), &json!(MINE)));
    // One with its own atlas has it inside.
    fixture.json(&["page", "edit", "loan-payment", "--trigger", MINE, "--library", "library"]);
    fs::rename(fixture.library(), fixture.path("elsewhere")).unwrap();
    let page = fixture.json(&["page", "show", "loan-payment", "--library", "elsewhere"]);
    assert_eq!(page["trigger"], MINE);
}

#[test]
fn an_atlas_is_whole_without_its_library() {
    let fixture = Fixture::new(&["loans", "qt-correction"]);
    let verbs: [&[&str]; 6] = [
        &["search", REQUEST],
        &["route", REQUEST],
        &["page", "show", "loan-payment"],
        &["neighbors", "loan-payment"],
        &["atlas", "stats"],
        &["explain", REQUEST],
    ];
    let export = |library: &[&str]| {
        let output = fixture.run(&[&["export", "--atlas", "atlas"], library].concat());
        assert!(output.status.success(), "{}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let of_library = ["--library", "library", "--atlas", "atlas"];
    let before: Vec<Value> =
        verbs.iter().map(|verb| fixture.json(&[verb, &of_library[..]].concat())).collect();
    let exported = export(&["--library", "library"]);
    assert_eq!(exported.lines().count(), 10);
    fs::remove_dir_all(fixture.library()).unwrap();
    for (verb, before) in verbs.iter().zip(before) {
        assert_eq!(fixture.json(&[verb, &["--atlas", "atlas"][..]].concat()), before, "{verb:?}");
    }
    assert_eq!(export(&[]), exported);
    let edit = ["page", "edit", "loan-payment", "--trigger", MINE, "--atlas", "atlas"];
    assert_eq!(fixture.json(&edit)["trigger"], MINE, "a person's word counts there too");
}

#[test]
fn a_library_and_an_atlas_that_do_not_belong_together_are_refused() {
    let fixture = Fixture::new(&["loans"]);
    fixture.json(&["compile", "library", "--atlas", "atlas"]);
    copy(&folder::examples().join("pdf-tools"), &fixture.path("others"));
    fs::write(fixture.path("pages.jsonl"), "").unwrap();
    let all = || {
        let mut files = files(&fixture.path("atlas"));
        // Says who compiled last, or tried to.
        files.remove(&fixture.path("atlas/claims/compile"));
        files
    };
    let before = all();
    fs::write(fixture.path("q.jsonl"), "{\"id\": \"q\", \"text\": \"redact\"}\n").unwrap();
    fs::write(fixture.path("qrels.tsv"), "q\tpdf-redact\t1\n").unwrap();
    let verbs: [&[&str]; 22] = [
        &["compile"],
        &["eval", "--queries", "q.jsonl", "--qrels", "qrels.tsv"],
        &["ledger"],
        &["ledger", "prune", "--before", "2999-01-01", "--yes"],
        &["atlas", "adopt", "elsewhere"],
        &["page", "unpin", "pdf-redact"],
        &["compile", "--rebuild"],
        &["route", REQUEST],
        &["search", REQUEST],
        &["explain", REQUEST],
        &["neighbors", "pdf-redact"],
        &["diff", "pdf-redact", "pdf-merge"],
        &["atlas", "stats"],
        &["atlas", "map", "--out", "map.svg"],
        &["atlas", "sweep"],
        &["page", "show", "pdf-redact"],
        &["page", "edit", "pdf-redact", "--trigger", "Mine."],
        &["page", "pin", "pdf-redact"],
        &["page", "review"],
        &["page", "forget", "pdf-redact", "--yes"],
        &["export"],
        &["import", "pages.jsonl"],
    ];
    for verb in verbs {
        let output = fixture.run(&[verb, &["--library", "others", "--atlas", "atlas"]].concat());
        let said = err(&output);
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {said}");
        assert!(said.contains("library") && said.contains("others"), "{verb:?} names both: {said}");
    }
    assert!(all() == before, "nothing was touched");
}

/// A ledger that came with a repository is shown, and its answers are not taken for paid ones.
#[test]
fn a_strangers_ledger_is_not_replayed_unasked() {
    let (theirs, server) = (Fixture::new(&["loans"]), Server::start(vec![]));
    let ask = ["compile", "library", "--writer", "llm", "--model", "fake", "--base-url"];
    let ask: Vec<&str> = ask.into_iter().chain([server.url.as_str()]).collect();
    theirs.json(&ask);
    let calls = server.asked().len();
    let ours = Fixture::new(&[]);
    copy(&theirs.library(), &ours.library());
    // The pages are theirs too; what is at stake here is what was answered.
    for name in ["pages.log", "pages.copy"] {
        fs::remove_file(ours.library().join(".fingerpost/kept").join(name)).unwrap();
    }
    let trusting = Fixture::new(&[]);
    copy(&ours.library(), &trusting.library());
    let output = ours.run(&ask);
    assert!(output.status.success(), "{}", err(&output));
    assert!(err(&output).contains("--trust-ledger"), "{}", err(&output));
    assert_eq!(server.asked().len(), 2 * calls, "all were asked again");
    let output = trusting.run(&[&ask[..], &["--trust-ledger"]].concat());
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(server.asked().len(), 2 * calls, "none was");
}

fn old() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fingerpost/tests/old/format-6")
}

const PINNED: &str = "The fixed monthly payment of an amortising loan, as we say it here.";

/// An atlas of the earlier format in the library's folder: its pages and its ledger count once that is
/// asked for, and the file stays.
#[test]
fn an_atlas_of_the_earlier_format_is_taken_over_when_asked() {
    let fixture = Fixture::new(&[]);
    copy(&old().join("library"), &fixture.library());
    let atlas = fixture.library().join(".fingerpost");
    copy(&old().join("atlas"), &atlas);
    let sound = fs::read(atlas.join("atlas.sqlite")).unwrap();
    let route = fixture.run(&["route", REQUEST, "--library", "library"]);
    assert_eq!(route.status.code(), Some(0), "{}", err(&route));
    assert!(err(&route).contains("atlas adopt"), "{}", err(&route));
    assert_eq!(fixture.show("loan-payment")["status"], "written");
    assert_eq!(fixture.json(&["ledger", "--library", "library"])["calls"], 0);
    let adopted = fixture.json(&["atlas", "adopt", "--library", "library"]);
    assert!(adopted["ledger"].as_u64().unwrap() >= 4, "{adopted}");
    let page = fixture.run(&["page", "show", "loan-payment", "--library", "library", "--json"]);
    assert!(!err(&page).contains("atlas adopt"), "{}", err(&page));
    let page = fixture.show("loan-payment");
    assert_eq!((&page["status"], &page["trigger"]), (&json!("pinned"), &json!(PINNED)));
    let writers = fixture.json(&["atlas", "stats", "--library", "library"])["writers"].clone();
    let paid = writers.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("llm some"));
    assert_eq!(paid.map(|(_, count)| count.as_u64().unwrap()).sum::<u64>(), 3, "{writers}");
    let ledger = fixture.json(&["ledger", "--library", "library"]);
    assert_eq!((&ledger["calls"], &ledger["spend"][0]["model"]), (&json!(4), &json!("some-model")));
    assert_eq!(fixture.show("loan-payment")["trigger"], PINNED);
    assert!(fs::read(atlas.join("atlas.sqlite")).unwrap() == sound, "it stays as it is");
    // Adopted twice is adopted once.
    fixture.json(&["atlas", "adopt", "--library", "library"]);
    assert_eq!(fixture.json(&["ledger", "--library", "library"])["calls"], 4);
}

/// In the working folder it is nobody's to take over unasked.
#[test]
fn an_old_atlas_in_the_working_folder_is_hinted_at_and_not_touched() {
    let fixture = discovered();
    copy(&old().join("atlas"), &fixture.path("project/.fingerpost"));
    let before = files(&fixture.path("project"));
    let route = run_in(&fixture, "project", &["route", REQUEST]);
    assert_eq!(route.status.code(), Some(0), "{}", err(&route));
    assert!(err(&route).contains("atlas adopt ./.fingerpost"), "{}", err(&route));
    assert!(files(&fixture.path("project")) == before);
    assert_eq!(
        json_in(&fixture, "project", &["page", "show", "loan-payment"])["status"],
        "written"
    );
    json_in(&fixture, "project", &["atlas", "adopt", "./.fingerpost"]);
    let page = json_in(&fixture, "project", &["page", "show", "loan-payment"]);
    assert_eq!((&page["status"], &page["trigger"]), (&json!("pinned"), &json!(PINNED)));
    assert_eq!(json_in(&fixture, "project", &["ledger"])["calls"], 4);
    assert!(files(&fixture.path("project")) == before);
}

/// A file of a format that never was, one without rows, and one that is none at all.
#[test]
fn a_broken_old_atlas_is_told_of_and_left_alone() {
    let sound = fs::read(old().join("atlas/atlas.sqlite")).unwrap();
    let mut negative = sound.clone();
    negative[60..64].copy_from_slice(&(-1_i32).to_be_bytes());
    let mut torn = sound.clone();
    torn[4096..].fill(0);
    let emptied = fs::read(old().join("emptied.sqlite")).unwrap();
    let cases = [
        (negative, Some("format -1")),
        (torn, Some("")),
        (b"no".to_vec(), Some("")),
        (emptied, None),
    ];
    for (number, (bytes, told)) in cases.into_iter().enumerate() {
        let fixture = Fixture::new(&[]);
        copy(&old().join("library"), &fixture.library());
        let file = fixture.library().join(".fingerpost/atlas.sqlite");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &bytes).unwrap();
        let route = fixture.run(&["route", REQUEST, "--library", "library"]);
        assert_eq!(route.status.code(), Some(0), "{number}: {}", err(&route));
        let adopt = fixture.run(&["atlas", "adopt", "--library", "library"]);
        assert!(!err(&adopt).contains("panicked"), "{number}: {}", err(&adopt));
        match told {
            Some(words) => {
                let said = err(&adopt);
                let named = said.contains("atlas.sqlite") && said.contains(words);
                assert!(named, "{number}: {said}");
                assert!(matches!(adopt.status.code(), Some(2 | 3)), "{number}");
            }
            None => assert_eq!(adopt.status.code(), Some(0), "{number}: {}", err(&adopt)),
        }
        assert!(fs::read(&file).unwrap() == bytes, "{number}: it stays as it is");
    }
}
