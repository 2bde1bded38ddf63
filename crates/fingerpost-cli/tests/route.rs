//! Routing as a user meets it: one skill, or none, and why not the others.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/library")
}

/// The example library, with an atlas of the test's own.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
        command.args(arguments).arg("--library").arg(examples());
        command.env("FINGERPOST_ATLAS", self.folder.path().join("atlas"));
        command.env("HOME", self.folder.path()).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        let code = output.status.code();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(code, Some(0 | 1)), "{arguments:?}: {err}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn an_answer_says_what_why_and_why_not() {
    let fixture = Fixture::new();
    let request = "correct this qt for rate: 402 ms, 58/min. divide by sqrt(RR), not the cube root";
    let answer = fixture.json(&["route", request]);
    assert_eq!(answer["decision"], "use");
    assert_eq!(answer["skill"], "qt-correction/qtc-bazett");
    assert_eq!(answer["skills"].as_array().unwrap().len(), 1);
    let confidence = answer["confidence"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&confidence));
    assert!(answer["reason"].as_str().unwrap().contains("sqrt"), "{answer}");
    let rejected = answer["rejected"].as_array().unwrap();
    let hits = answer["hits"].as_array().unwrap();
    assert!((10..=20).contains(&hits.len()), "ten by words, and up to ten more by phrases");
    assert_eq!(rejected.len(), hits.len() - 1, "every other candidate has its reason");
    assert!(rejected.iter().all(|rejected| !rejected["because"].as_str().unwrap().is_empty()));
    assert_eq!(hits[0]["rank"], 1);
    // A second process answers the same, byte for byte.
    assert_eq!(fixture.json(&["route", request]), answer);
}

#[test]
fn a_named_skill_wins_whatever_the_words() {
    let fixture = Fixture::new();
    let request = "use pdf-redact to correct the QT interval with Bazett's square root";
    assert_eq!(fixture.json(&["route", request])["skill"], "pdf-tools/pdf-redact");
    assert_eq!(fixture.json(&["search", request])["hits"][0]["name"], "pdf-redact");
    let refused = "don't use pdf-redact: correct the QT interval with Bazett's square root";
    assert_eq!(fixture.json(&["route", refused])["skill"], "qt-correction/qtc-bazett");
}

#[test]
fn a_request_that_nothing_fits_gets_none_and_exit_code_1() {
    let fixture = Fixture::new();
    let output = fixture.run(&["route", "sing me a lullaby about purple dragons"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("none"));
    let answer = fixture.json(&["route", "sing me a lullaby about purple dragons"]);
    assert_eq!((&answer["decision"], &answer["skill"]), (&"none".into(), &Value::Null));
    let answer = fixture.json(&["route", "sing me a lullaby about purple dragons", "--always"]);
    assert_eq!(answer["decision"], "use");
}

#[test]
fn the_chooser_beats_rank_1_and_answers_what_can_be_answered() {
    let fixture = Fixture::new();
    let success = |arguments: &[&str]| {
        let answer = fixture.json(&[&["eval", "--measure", "Success@1"], arguments].concat());
        answer["micro"]["Success@1"].as_f64().unwrap()
    };
    let rank_1 = success(&["--retriever", "bm25", "--view", "full"]);
    let chooser = success(&["--chooser", "local", "--always"]);
    assert!(chooser > rank_1 + 0.01, "{chooser} against {rank_1}");
    let answer = fixture.json(&["eval", "--chooser", "local"]);
    let none = &answer["none"];
    let wrongly =
        none["answered_none"].as_f64().unwrap() * (1.0 - none["precision"].as_f64().unwrap());
    let answered = 1.0 - wrongly / answer["queries"].as_f64().unwrap();
    assert!(answered >= 0.95, "{answered} of the answerable requests were answered");
    assert!(none["recall"].as_f64().unwrap() > 0.2, "{none}");
}

#[test]
fn every_retriever_and_view_answers() {
    let fixture = Fixture::new();
    for retriever in ["bm25", "tfidf", "phrases", "dense", "hybrid", "round-robin"] {
        for view in ["raw", "full"] {
            let request = "corrected QT with the cube root of RR";
            let answer =
                fixture.json(&["search", request, "--retriever", retriever, "--view", view]);
            let first = answer["hits"][0]["skill"].as_str().unwrap();
            assert!(first.starts_with("qt-correction/"), "{retriever} {view}: {first}");
        }
    }
}
