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
