//! The experiments through the command: a first look at all of them, on what the project has itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lab(arguments: &[&str], out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
    command.current_dir(repository()).arg("lab").args(arguments).arg("--out").arg(out);
    command.env("FINGERPOST_DATA", "no-such-folder").output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_first_look_at_every_experiment_leaves_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("lab");
    let output = lab(&["run", "--all", "--quick", "--json"], &out);
    assert!(output.status.success(), "{}", told(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let experiments = answer["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 14);
    for experiment in experiments {
        let name = experiment["name"].as_str().unwrap();
        let outcome = &experiment["outcome"];
        let tables = outcome["tables"].as_array().unwrap();
        let rows = tables.iter().filter_map(|table| table["rows"].as_array()).flatten();
        assert!(rows.count() > 0, "{name} shows nothing");
        let of = out.join(name);
        let readme = std::fs::read_to_string(of.join("README.md")).unwrap();
        assert!(readme.contains("Made by `fingerpost lab run --all --quick"), "{readme}");
        for table in tables {
            assert!(
                of.join(format!("{}.csv", table["name"].as_str().unwrap())).is_file(),
                "{name}"
            );
        }
        for plot in outcome["plots"].as_array().unwrap() {
            let file = of.join(format!("{}.svg", plot["name"].as_str().unwrap()));
            assert!(std::fs::read_to_string(file).unwrap().starts_with("<svg"), "{name}");
        }
    }
    let done = lab(&["list", "--json"], &out);
    let done: Value = serde_json::from_slice(&done.stdout).unwrap();
    let listed = done["experiments"].as_array().unwrap();
    assert!(listed.iter().all(|experiment| experiment["done"]["date"].is_string()), "{done}");

    // What was found once is taken from its file, and is the same.
    let again = lab(&["run", "retrieval", "--quick", "--json"], &out);
    assert!(!told(&again).contains("bm25 over"), "{}", told(&again));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    let first = experiments.iter().find(|experiment| experiment["name"] == "retrieval").unwrap();
    assert_eq!(again["experiments"][0]["outcome"], first["outcome"]);
}

#[test]
fn a_library_of_ones_own_is_measured_too() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("mine");
    std::fs::create_dir_all(&library).unwrap();
    let skills = [
        ("merge", "Merges PDF files."),
        ("split", "Splits PDF files."),
        ("post", "Weighs parcels."),
    ];
    let corpus = skills.map(|(id, description)| {
        format!(
            r#"{{"id": "{id}", "name": "{id}", "description": "{description}", "content": ""}}"#
        )
    });
    std::fs::write(library.join("corpus.jsonl"), corpus.join("\n")).unwrap();
    let queries = r#"{"id": "1", "text": "merges two files"}
{"id": "2", "text": "weighs my parcels"}"#;
    std::fs::write(library.join("queries.jsonl"), queries).unwrap();
    std::fs::write(library.join("qrels.tsv"), "1\tmerge\t1\n2\tpost\t1\n").unwrap();
    let library = library.display().to_string();
    let out = folder.path().join("lab");
    let output =
        lab(&["run", "retrieval", "--data", &library, "--retriever", "bm25", "--json"], &out);
    assert!(output.status.success(), "{}", told(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figures = &answer["experiments"][0]["outcome"]["figures"];
    assert_eq!(figures[format!("{library} bm25 raw R@10")], 100.0, "{figures}");

    // The paper's settings are one switch away, and are told.
    let mine = ["--data", &library, "--retriever", "bm25", "--protocol", "paper", "--json"];
    let output = lab(&[&["run", "retrieval"], &mine[..]].concat(), &out);
    assert!(output.status.success(), "{}", told(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = answer["experiments"][0]["outcome"]["notes"].to_string();
    assert!(notes.contains("Protocol: paper."), "{notes}");
    assert!(out.join("runs/mine.paper.bm25.full.run.zst").is_file());
}

#[test]
fn what_is_missing_is_said_and_what_is_unknown_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(
        &["run", "boundary", "--retriever", "bm25", "--data", "toollens-strong"],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(1), "nothing was measured: {}", told(&output));
    assert!(told(&output).contains("toollens-strong is not here"), "{}", told(&output));
    let output = lab(&["run", "nothing"], folder.path());
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("no experiment 'nothing'"), "{}", told(&output));
    let output = lab(
        &["run", "routing", "--model", "m", "--emit", "x", "--data", "examples"],
        folder.path(),
    );
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("one arm"), "{}", told(&output));
}
