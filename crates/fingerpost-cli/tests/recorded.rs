//! What a real, small model wrote about the whole example library (`cargo xtask pages`), replayed:
//! no model, no network, the same pages every time.

mod folder;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use folder::copy;
use serde_json::Value;

const MODEL: &str = "qwen2.5-coder-0.5b";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
    command.args(arguments).env("FINGERPOST_ATLAS", folder.join("atlas")).env("HOME", folder);
    command.current_dir(folder).output().unwrap()
}

fn compile(folder: &Path, threads: &str) -> (Value, String) {
    copy(&repository().join("examples/library"), &folder.join("library"));
    let replies = repository().join(format!("examples/replies/{MODEL}.jsonl"));
    let replies = replies.display().to_string();
    // The answers are bound to the words in which they were asked for, so these are kept beside them.
    let prompts = repository().join("examples/replies/prompts").display().to_string();
    let mut arguments = vec!["compile", "library", "--writer", "llm", "--model", MODEL];
    // As it was recorded: xtask/src/model.rs.
    arguments.extend(["--context", "5000", "--page-tokens", "800", "--attempts", "2"]);
    arguments.extend(["--prompts", &prompts, "--replay", &replies]);
    arguments.extend(["--threads", threads, "--json"]);
    let output = run(folder, &arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let answer = serde_json::from_slice(&output.stdout).unwrap();
    let pages = run(folder, &["export", "--library", "library"]);
    (answer, String::from_utf8(pages.stdout).unwrap())
}

#[test]
fn the_example_library_as_a_small_model_wrote_it() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (answer, pages) = compile(folders[0].path(), "1");
    let count = |of: &Value| of.as_u64().unwrap();
    let (written, fallback) = (count(&answer["llm"]["pages"]), count(&answer["llm"]["fallback"]));
    assert_eq!((count(&answer["skills"]), written + fallback), (146, 146), "{answer}");
    assert!(written >= 50, "{answer}");
    assert_eq!(pages.lines().filter(|line| line.contains(MODEL)).count() as u64, written);
    let (_, again) = compile(folders[1].path(), "2");
    assert!(again == pages, "two replays differ");

    // A model's pages serve as any others do; a skill without one is served by its document.
    let route = ["route", "QTc by the cube root of RR", "--library", "library", "--json"];
    let route = run(folders[0].path(), &route);
    let route: Value = serde_json::from_slice(&route.stdout).unwrap();
    assert_eq!(route["skill"], "qt-correction/qtc-fridericia", "{route}");
}

/// What a strong model chose for every fifth request, with its own pages: `examples/replies`. Other cards,
/// or cards in another order, are other prompts: who changes the search asks again (docs/routing.md).
#[test]
fn a_strong_model_is_right_wherever_the_right_card_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let examples = repository().join("examples");
    copy(&examples.join("library"), &folder.path().join("library"));
    let file = |name: &str| examples.join(name).display().to_string();
    let json = |arguments: &[&str]| -> Value {
        let library = ["--library", "library", "--json"];
        let output = run(folder.path(), &[arguments, &library].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    run(folder.path(), &["compile", "library"]);
    json(&["import", &file("pages/strong-model.jsonl")]);
    for cards in ["base", "boundary"] {
        let asked = file("replies/strong-model.requests.jsonl");
        let replies = file("replies/strong-model.jsonl");
        let answer = json(&[
            "eval",
            "--queries",
            &asked,
            "--chooser",
            "llm",
            "--model",
            "strong-model",
            "--cards",
            cards,
            "--replay",
            &replies,
            "--measure",
            "Success@1",
        ]);
        assert_eq!((&answer["queries"], &answer["llm"]["fallback"]), (&163.into(), &0.into()));
        let success = answer["micro"]["Success@1"].as_f64().unwrap();
        // The other seven were not among the ten cards.
        assert!((success - 156.0 / 163.0).abs() < 1e-4, "{cards}: {success}");
        assert_eq!(answer["none"]["recall"], 1.0, "{cards}");
    }
}
