//! Vectors from a server, as a user meets them: paid for once, written down, and safe from kills.

#[path = "../../fingerpost-models/tests/it/server.rs"]
#[allow(dead_code, reason = "the server can do more than is asked of it here")]
mod server;

mod folder;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use server::{Act, Server};
use tempfile::TempDir;

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library");

/// Texts a call; the library needs more than ten.
const BATCH: usize = 8;

fn fingerpost(home: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
    command.args(arguments).env("FINGERPOST_ATLAS", home.path().join("atlas"));
    command.env("HOME", home.path()).current_dir(home.path());
    command
}

fn compile(home: &TempDir, server: &Server) -> Command {
    let mut command = fingerpost(home, &["compile", LIBRARY, "--json", "--embedder", &server.url]);
    command.args(["--embedder-model", "fake", "--embedder-dimensions", "3"]);
    command.args(["--embedder-batch", &BATCH.to_string()]);
    command
}

fn json(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn texts(server: &Server) -> Vec<String> {
    let inputs = server.asked().into_iter().map(|asked| asked.body["input"].clone());
    inputs.flat_map(|input| serde_json::from_value::<Vec<String>>(input).unwrap()).collect()
}

#[test]
fn every_call_is_in_the_ledger_and_none_is_made_twice() {
    let (home, server) = (tempfile::tempdir().unwrap(), Server::start(vec![]));
    json(&mut compile(&home, &server));
    let asked = server.asked().len();
    let all = texts(&server);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no text was sent twice");
    let spend = json(&mut fingerpost(&home, &["ledger", "--json"]));
    let row = &spend["spend"][0];
    assert_eq!((&row["model"], &row["calls"]), (&"fake".into(), &asked.into()), "{spend}");
    assert!(row["input"].as_u64().unwrap() > 0, "{spend}");

    json(&mut compile(&home, &server));
    assert_eq!(server.asked().len(), asked, "an unchanged library asks for nothing");
    let search = |request: &str| {
        let arguments = ["search", request, "--library", LIBRARY, "--retriever", "dense", "--json"];
        let mut command = fingerpost(&home, &arguments);
        // The server is named again: an atlas is never believed about it.
        command.args(["--embedder", &server.url, "--embedder-model", "fake"]);
        json(command.args(["--embedder-dimensions", "3"]));
        server.asked().len()
    };
    // The first search also embeds what it searches, where that is not what was compared.
    let first = search("a window function");
    assert_eq!(search("the cube root of RR"), first + 1, "another request is one text");
    assert_eq!(search("the cube root of RR"), first + 1, "the same request is none");
}

/// An encoder reads what each skill is for once, and each request once.
#[test]
fn a_served_encoder_has_a_part_in_every_answer() {
    let (home, server) = (tempfile::tempdir().unwrap(), Server::start(vec![]));
    json(&mut compile(&home, &server));
    let compiled = texts(&server).len();
    let explain = |request: &str, with: &[&str]| {
        let arguments = ["explain", request, "--library", LIBRARY, "--json"];
        let output = fingerpost(&home, &[&arguments, with].concat()).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let candidates = answer["candidates"].as_array().unwrap().clone();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let counts = |candidate: &Value| candidate["evidence"]["encoder"].as_f64().unwrap() > 0.0;
        (candidates.iter().any(counts), said, texts(&server).len() - compiled)
    };
    let served = ["--embedder", &server.url, "--embedder-model", "fake"];
    let served = [&served[..], &["--embedder-dimensions", "3"]].concat();
    let request = "correct the QT interval with the cube root";
    let (counts, said, first) = explain(request, &served);
    assert!(counts && said.contains("Encoded"), "{said}");
    let (_, said, again) = explain(request, &served);
    assert_eq!(again, first, "nothing is asked twice");
    assert!(!said.contains("Encoded"), "{said}");
    assert_eq!(explain("monthly payment of a loan", &served).2, first + 1, "one request, one text");
    // Nobody names the server: it is not asked, and the answer comes without it.
    assert_eq!((explain(request, &[]).0, texts(&server).len()), (false, compiled + first + 1));
}

/// What nobody asked for by name is no reason to fail.
#[test]
fn a_fetched_model_that_is_broken_is_told_of_and_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let model = home.path().join("models/minilm");
    std::fs::create_dir_all(&model).unwrap();
    let settings = "name = \"minilm\"\ndimensions = 384\nmax_tokens = 256\npooling = \"mean\"\n";
    std::fs::write(model.join("fingerpost-model.toml"), settings).unwrap();
    let route = |with: &[&str]| {
        let arguments = ["route", "monthly payment of a loan", "--library", LIBRARY, "--json"];
        let mut command = fingerpost(&home, &[&arguments, with].concat());
        let output = command.env("FINGERPOST_MODELS", home.path().join("models")).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = route(&[]);
    assert!(code == Some(0) && said.contains("minilm cannot be used"), "{code:?} {said}");
    let (code, said) = route(&["--embedder", "fit"]);
    assert!(code == Some(0) && !said.contains("minilm"), "{code:?} {said}");
    let (code, said) = route(&["--embedder", "minilm"]);
    assert!(code != Some(0) && said.contains("minilm"), "{code:?} {said}");
}

/// The model that is fetched by name, where this machine has it.
#[test]
fn a_fetched_model_has_a_part_in_every_answer() {
    let store = fingerpost_models::Store::of_process();
    let Some(models) = store.find("minilm").and_then(|folder| Some(folder.parent()?.to_owned()))
    else {
        let line = "SKIPPED: no model 'minilm' (`fingerpost model pull minilm` fetches it)\n";
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let explain = |with: &[&str]| {
        // Not a word of it is in the document.
        let request = "wire transfer to Tokyo: what does my money come to over there?";
        let arguments = ["explain", request, "--library", LIBRARY, "--json"];
        let mut command = fingerpost(&home, &[&arguments, with].concat());
        let output = command.env("FINGERPOST_MODELS", &models).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["candidates"][0]["evidence"]["encoder"].as_f64().unwrap()
    };
    assert!(explain(&[]) > 0.1);
    assert_eq!(explain(&["--embedder", "fit"]), 0.0);
}

/// An atlas that came with a repository was made with some server and some key: nothing of that is
/// used, whatever is asked of it, and what needs no vectors is answered without.
#[test]
fn a_strangers_atlas_reaches_no_server_and_takes_no_key() {
    let (home, server) = (tempfile::tempdir().unwrap(), Server::start(vec![]));
    let library = home.path().join("clone");
    folder::copy(&Path::new(LIBRARY).join("loans"), &library.join("loans"));
    folder::copy(&Path::new(LIBRARY).join("qt-correction"), &library.join("qt-correction"));
    let library = library.display().to_string();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
        command.args(arguments).env("HOME", home.path()).current_dir(home.path());
        command.env("GITHUB_TOKEN", "a secret").output().unwrap()
    };
    let made = run(&[
        "compile",
        &library,
        "--embedder",
        &server.url,
        "--embedder-model",
        "fake",
        "--embedder-dimensions",
        "3",
        "--embedder-key-env",
        "GITHUB_TOKEN",
    ]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let asked = server.asked().len();
    assert!(asked > 0);
    // Whatever the old format said of servers, the new one has no place for it.
    let head = std::fs::read_to_string(Path::new(&library).join(".fingerpost/head")).unwrap();
    assert!(!head.contains("GITHUB_TOKEN"), "{head}");
    let request = "monthly payment of a loan";
    let routed = run(&["route", request, "--library", &library, "--json"]);
    assert!(routed.status.success(), "{}", String::from_utf8_lossy(&routed.stderr));
    let dense = run(&["search", request, "--library", &library, "--retriever", "dense"]);
    assert_eq!(dense.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&dense.stderr).contains("give --embedder again"));
    // Changed, it is not compiled again behind one's back: the last state answers.
    let file = Path::new(&library).join("loans/loan-payment/SKILL.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\nOne more line.\n")).unwrap();
    let stale = run(&["route", request, "--library", &library, "--json"]);
    let answer: Value = serde_json::from_slice(&stale.stdout).unwrap();
    assert_eq!((&answer["stale"], &answer["skill"]), (&true.into(), &"loans/loan-payment".into()));
    assert!(String::from_utf8_lossy(&stale.stderr).contains("only you can name"));
    assert_eq!(server.asked().len(), asked, "nobody was asked anything");
}

#[test]
fn a_kill_loses_the_calls_under_way_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    // Two rounds of two calls are answered; the third round never is.
    let script = [vec![Act::Embed; 4], vec![Act::Hang; 2]].concat();
    let server = Server::start(script);
    let mut compiler =
        compile(&home, &server).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while server.asked().len() < 6 {
        assert!(start.elapsed() < Duration::from_secs(60), "{} calls", server.asked().len());
        std::thread::sleep(Duration::from_millis(5));
    }
    compiler.kill().unwrap();
    compiler.wait().unwrap();

    let before = texts(&server);
    json(&mut compile(&home, &server));
    let after: BTreeSet<String> = texts(&server)[before.len()..].iter().cloned().collect();
    // A round is complete before the next begins, so the first four calls are the answered ones.
    for text in &before[..4 * BATCH] {
        assert!(!after.contains(text), "asked for again: {text}");
    }
    for text in &before[4 * BATCH..] {
        assert!(after.contains(text), "never answered, and not asked for again: {text}");
    }
}

#[test]
fn a_wrong_profile_file_is_the_users_to_mend() {
    let home = tempfile::tempdir().unwrap();
    let model = home.path().join("model");
    std::fs::create_dir(&model).unwrap();
    let folder = model.display().to_string();
    let output = fingerpost(&home, &["compile", LIBRARY, "--embedder", &folder]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&folder) && Path::new(&folder).is_dir(), "{said}");
}
