//! Compiling as a user meets it: what is kept, what is touched, and what a kill leaves behind.

mod folder;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use folder::{Fixture, copy, examples};
use serde_json::Value;

const FAMILIES: [&str; 6] =
    ["qt-correction", "pdf-tools", "flights", "inference-rules", "gongwen", "loans"];

fn compile(fixture: &Fixture) -> Value {
    fixture.json(&["compile", "library"])
}

#[test]
fn an_unchanged_library_is_not_compiled_again() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let first = compile(&fixture);
    assert_eq!(first["skills"], 35);
    assert_eq!(first["added"], 35);
    assert!(first["largest"].as_u64().unwrap() <= 10);
    let again = compile(&fixture);
    assert_eq!(again["neighborhoods"], first["neighborhoods"]);
    assert!(again.get("embedded").is_none(), "no work was done: {again}");
    let said = fixture.command(&["compile", "library"]).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("nothing has changed"));
}

#[test]
fn one_more_skill_touches_one_neighborhood() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let skill = fixture.library().join("qt-correction/qtc-hodges");
    let aside = fixture.folder.path().join("aside");
    fs::rename(&skill, &aside).unwrap();
    compile(&fixture);
    let members = |fixture: &Fixture, skill: &str| -> Vec<String> {
        let answer = fixture.json(&["neighbors", skill, "--library", "library", "-k", "40"]);
        let neighbors = answer["neighbors"].as_array().unwrap().clone();
        let together = neighbors.iter().filter(|neighbor| neighbor["together"] == true);
        together.map(|neighbor| neighbor["skill"].as_str().unwrap().to_owned()).collect()
    };
    let loans = members(&fixture, "loan-payment");
    fs::rename(&aside, &skill).unwrap();
    let report = compile(&fixture);
    assert_eq!((&report["added"], &report["embedded"]), (&Value::from(1), &Value::from(1)));
    assert!(report["touched"].as_u64().unwrap() <= 2, "{report}");
    assert!(report["partition"].is_null(), "{report}");
    assert_eq!(members(&fixture, "loan-payment"), loans);
    let mut hodges = members(&fixture, "qtc-hodges");
    hodges.retain(|id| !id.starts_with("qt-correction/"));
    assert_eq!(hodges, [""; 0], "its neighbors are its family");

    let rebuilt = fixture.json(&["compile", "library", "--rebuild"]);
    assert_eq!(rebuilt["embedded"], 35);
    assert!(rebuilt["partition"]["calibration"]["max_distance"].is_number());
}

#[test]
fn a_changed_and_a_removed_skill_are_noticed() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    compile(&fixture);
    let file = fixture.library().join("loans/loan-payment/SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\nOne more line.\n")).unwrap();
    fs::remove_dir_all(fixture.library().join("pdf-tools/pdf-redact")).unwrap();
    let report = compile(&fixture);
    assert_eq!((&report["changed"], &report["removed"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(report["skills"], 34);
}

#[test]
fn reading_verbs_keep_the_settings_of_the_atlas() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    fixture.json(&["compile", "library", "--max-distance", "0.05"]);
    let stats = fixture.json(&["atlas", "stats", "--library", "library"]);
    assert_eq!(stats["calibration"]["max_distance"], 0.05);
    assert_eq!(stats["calibration"]["because"], "given");
    for field in ["skills", "neighborhoods", "singletons", "largest", "pages", "embedder", "format"]
    {
        assert!(!stats[field].is_null(), "{field}");
    }
}

#[test]
fn duplicates_are_reported_with_the_error_they_cost() {
    let fixture = Fixture::with_atlas(&["qt-correction", "loans"]);
    let copy_of = fixture.library().join("qt-correction/qtc-bazett-copy");
    copy(&fixture.library().join("qt-correction/qtc-bazett"), &copy_of);
    let judged = "q1\tqt-correction/qtc-bazett\t1\nq2\tloans/loan-payment\t1\n";
    fs::write(fixture.library().join("qrels.tsv"), judged).unwrap();
    let stats = fixture.json(&["atlas", "stats", "--library", "library"]);
    let pair = &stats["duplicates"][0];
    assert_eq!(pair["identical"], true);
    let names = ["qt-correction/qtc-bazett", "qt-correction/qtc-bazett-copy"];
    assert_eq!(pair["skills"], serde_json::json!(names));
    // One of two requests belongs to one of the pair alone: half of a half.
    assert_eq!(pair["unavoidable_error"], 0.25);
}

#[test]
fn diff_tells_two_skills_apart() {
    let atlas = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
    command.args(["diff", "qtc-bazett", "qtc-fridericia", "--json", "--library"]).arg(examples());
    let output = command.env("FINGERPOST_ATLAS", atlas.path()).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let terms = |list: &str| {
        answer[list].as_array().unwrap().iter().map(|t| t["term"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(answer["first_skill"], "qt-correction/qtc-bazett");
    assert_eq!(answer["second_skill"], "qt-correction/qtc-fridericia");
    assert!(terms("second").contains(&"\"cube\"".to_owned()));
    assert!(terms("shared").contains(&"\"qt\"".to_owned()));
    assert!(answer["similarity"].as_f64().unwrap() > 0.2);
    let requests = answer["requests"].as_array().unwrap();
    assert!(requests.len() >= 8);
    assert!(requests.iter().any(|request| request["wins"] == request["belongs_to"]));
}

#[test]
fn the_map_shows_every_skill_once_and_no_markup_of_theirs() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let evil = fixture.library().join("loans/evil");
    fs::create_dir_all(&evil).unwrap();
    fs::write(
        evil.join("SKILL.md"),
        "---\nname: \"<script>alert(1)</script>\"\ndescription: x\n---\n",
    )
    .unwrap();
    fixture.json(&["atlas", "map", "--library", "library", "--out", "map.svg"]);
    let svg = fs::read_to_string(fixture.folder.path().join("map.svg")).unwrap();
    assert_eq!(svg.matches("<title>").count(), 36);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(!svg.contains("<script"));
}

/// Kills the compiler at many moments; each time the atlas, read without its library, so that nobody
/// could make it good again, holds one of the two whole states.
#[test]
fn a_kill_at_any_moment_leaves_a_whole_atlas() {
    let fixture = Fixture::with_atlas(&FAMILIES);
    let alone = || -> Value {
        let answer = fixture.json(&["route", "monthly payment of a loan"]);
        let stats = fixture.json(&["atlas", "stats"]);
        assert_eq!(answer["generation"], stats["generation"]);
        serde_json::json!([stats["skills"], answer["skill"], answer["hits"]])
    };
    let mut states = Vec::new();
    compile(&fixture);
    states.push(alone());
    fixture.add("weather");
    compile(&fixture);
    states.push(alone());
    assert_ne!(states[0], states[1]);
    let mut seen = [0, 0];
    for step in 0..24_u64 {
        // The library changes back and forth, so that there is always something to write.
        if step % 2 == 0 {
            fs::remove_dir_all(fixture.library().join("weather")).unwrap();
        } else {
            fixture.add("weather");
        }
        let mut compiler = fixture
            .command(&["compile", "library", "--rebuild"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(step * step));
        let _ = compiler.kill();
        compiler.wait().unwrap();
        let state = alone();
        let at = states.iter().position(|whole| *whole == state);
        let at = at.unwrap_or_else(|| panic!("a state that never was, after {step}: {state}"));
        seen[at] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "both states were met: {seen:?}");
    fs::remove_dir_all(fixture.library().join("weather")).unwrap();
    compile(&fixture);
    assert_eq!(alone(), states[0]);
}

/// While somebody compiles, readers get the last whole state and are told so; another compiler waits.
#[test]
fn readers_are_not_kept_out_by_a_compiler() {
    let fixture = Fixture::with_atlas(&["loans"]);
    compile(&fixture);
    let claims = fixture.folder.path().join("atlas/claims/compile");
    let held = fs::File::options().write(true).open(&claims).unwrap();
    held.lock().unwrap();
    fs::write(&claims, "4711").unwrap();
    let before = fixture.json(&["atlas", "stats", "--library", "library"]);
    assert_eq!(before["stale"], false, "nothing has changed");
    fixture.add("qt-correction");
    let output = fixture
        .command(&["route", "monthly payment of a loan", "--library", "library", "--json"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("process 4711") && said.contains("the last state answers"), "{said}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["stale"], &answer["generation"]), (&true.into(), &before["generation"]));
    assert_eq!(answer["skill"], "loans/loan-payment");
    let mut compiler = fixture
        .command(&["compile", "library"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(compiler.try_wait().unwrap().is_none(), "it waits for its turn");
    held.unlock().unwrap();
    assert!(compiler.wait().unwrap().success());
    let after = fixture.json(&["route", "monthly payment of a loan", "--library", "library"]);
    assert_eq!(after["stale"], false);
    assert!(after["generation"].as_u64() > before["generation"].as_u64());
}

/// Processes read while another writes: each answer is of one whole state, and says of which.
#[test]
fn readers_see_whole_states_while_one_writes() {
    let fixture = Fixture::with_atlas(&["loans", "qt-correction"]);
    compile(&fixture);
    let settled = |mut stats: Value| {
        stats.as_object_mut().unwrap().remove("generation");
        stats
    };
    let sizes = ["--max-size=10", "--max-size=2"];
    let states: Vec<Value> = sizes
        .iter()
        .map(|size| {
            fixture.json(&["compile", "library", "--rebuild", size]);
            settled(fixture.json(&["atlas", "stats"]))
        })
        .collect();
    assert_ne!(states[0], states[1], "the two states can be told apart");
    let writing = std::sync::atomic::AtomicBool::new(true);
    let going = || writing.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        let read = || {
            let mut seen = 0;
            while going() || seen == 0 {
                let state = settled(fixture.json(&["atlas", "stats"]));
                assert!(states.contains(&state), "a state that never was: {state}");
                seen += 1;
            }
            seen
        };
        let readers = [scope.spawn(read), scope.spawn(read)];
        for round in 0..6 {
            fixture.json(&["compile", "library", "--rebuild", sizes[round % 2]]);
        }
        writing.store(false, std::sync::atomic::Ordering::Relaxed);
        let seen: usize = readers.map(|reader| reader.join().unwrap()).iter().sum();
        assert!(seen > 4, "the readers read {seen} times");
    });
}
