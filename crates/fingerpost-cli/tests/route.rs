//! Routing as a user meets it: one skill, or none, and why not the others.

mod folder;

use std::path::PathBuf;
use std::process::{Command, Output};

use folder::examples;
use serde_json::Value;

/// The example library, with an atlas of the test's own.
struct Fixture(folder::Fixture);

impl Fixture {
    fn new() -> Self {
        Self(folder::Fixture::with_atlas(&[]))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.0.command(arguments).arg("--library").arg(examples()).output().unwrap()
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
    assert!(
        (10..=30).contains(&hits.len()),
        "ten by words, up to ten more by phrases and by meaning"
    );
    assert_eq!(rejected.len(), hits.len() - 1, "every other candidate has its reason");
    assert!(rejected.iter().all(|rejected| !rejected["because"].as_str().unwrap().is_empty()));
    assert_eq!(hits[0]["rank"], 1);
    // A second process answers the same, byte for byte.
    assert_eq!(fixture.json(&["route", request]), answer);
}

#[test]
fn without_an_atlas_one_is_made_and_said_to_be() {
    let fixture = Fixture::new();
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let first = fixture.run(&["route", "corrected QT with the cube root of RR"]);
    assert!(said(&first).contains("Compiled 146 skills into "), "{}", said(&first));
    let second = fixture.run(&["route", "corrected QT with the cube root of RR"]);
    assert_eq!(said(&second), "", "nothing was to be done");
    assert_eq!(first.stdout, second.stdout);
}

#[test]
fn a_named_skill_wins_whatever_the_words() {
    let fixture = Fixture::new();
    let request = "use pdf-redact to correct the QT interval with Bazett's square root";
    let answer = fixture.json(&["route", request]);
    assert_eq!(answer["skill"], "pdf-tools/pdf-redact");
    assert_eq!(answer["confidence"], 1.0, "{answer}");
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
    let decision = |options: &[&str]| {
        let request = ["route", "sing me a lullaby about purple dragons"];
        fixture.json(&[&request, options].concat())["decision"].clone()
    };
    assert_eq!(decision(&["--always"]), "use");
    assert_eq!(decision(&["--allow-none"]), "none");
    assert_eq!(decision(&["--always", "--allow-none"]), "none", "the last one counts");
    assert_eq!(decision(&["--allow-none", "--always"]), "use");
}

/// The README's example.
#[test]
fn what_a_request_refuses_is_not_chosen() {
    let fixture = Fixture::new();
    let request = "QT 380 at 110 bpm with the cube root instead of Bazett";
    let by_words = fixture.json(&["search", request, "--retriever", "bm25", "--view", "raw"]);
    assert_eq!(by_words["hits"][0]["skill"], "qt-correction/qtc-bazett");
    assert_eq!(fixture.json(&["route", request])["skill"], "qt-correction/qtc-fridericia");
}

#[test]
fn an_answer_that_is_not_sure_enough_is_none() {
    let fixture = Fixture::new();
    let request = ["route", "correct the QT interval for the heart rate"];
    let answer = |options: &[&str]| fixture.json(&[&request, options].concat());
    let sure = answer(&[])["confidence"].as_f64().unwrap();
    assert!(sure < 0.9, "{sure}");
    assert_eq!(answer(&["--min-confidence", "0.1"])["decision"], "use");
    let none = answer(&["--min-confidence", "0.9"]);
    assert_eq!((&none["decision"], &none["skill"]), (&"none".into(), &Value::Null));
    for wrong in ["1.5", "-1", "NaN", "much"] {
        let option = format!("--min-confidence={wrong}");
        let output = fixture.run(&[request[0], request[1], &option]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn an_empty_request_is_refused() {
    let fixture = Fixture::new();
    for command in ["route", "explain", "search"] {
        let output = fixture.run(&[command, " \n"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("it is empty; say what is wanted"), "{command}: {said}");
    }
}

#[test]
fn a_skill_can_be_found_by_its_meaning_alone() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("skills.jsonl");
    let skills = [
        ("convert-currency", "Converts an amount from one currency to another."),
        ("paint-fence", "Paints a fence, 20 boards at a time."),
        ("weigh-parcel", "Weighs a parcel for the post."),
    ];
    let line = |(name, description): (&str, &str)| {
        let skill = serde_json::json!({"name": name, "description": description, "content": ""});
        format!("{skill}\n")
    };
    std::fs::write(&library, skills.map(line).concat()).unwrap();
    let route = |arguments: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fingerpost"));
        command.args(["route", "how many yen are 20 dollars", "--json", "--library"]).arg(&library);
        let output = command
            .args(arguments)
            .env("HOME", folder.path())
            .env_remove("XDG_CACHE_HOME")
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let answer = route(&["--always", "--pool", "1"]);
    let hits: Vec<&str> =
        answer["hits"].as_array().unwrap().iter().filter_map(|hit| hit["skill"].as_str()).collect();
    assert_eq!(hits, ["paint-fence", "convert-currency"], "one by words, one by meaning");
    assert_eq!(answer["skill"], "convert-currency", "{answer}");
    assert_eq!(answer["reason"], "convert-currency is nearest in meaning");
    // A file has no folder for an atlas of its own: it is in the user's cache, and nowhere else.
    assert!(!folder.path().join(".fingerpost").exists());
    let cache = folder.path().join(".cache/fingerpost");
    let places: Vec<PathBuf> =
        std::fs::read_dir(&cache).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(places.len(), 1, "{places:?}");
    // The vectors are kept beside the indexes; damaged, they are made again.
    let files =
        std::fs::read_dir(places[0].join("blobs")).unwrap().map(|file| file.unwrap().path());
    let kept: Vec<PathBuf> = files
        .filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("meanings-"))
        .collect();
    assert_eq!(kept.len(), 1, "{}", places[0].display());
    std::fs::write(&kept[0], "damaged").unwrap();
    assert_eq!(route(&["--always", "--pool", "1"]), answer);
    assert_ne!(std::fs::read(&kept[0]).unwrap(), b"damaged");
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
    assert!(answered >= 0.97, "{answered} of the answerable requests were answered");
    // Those that none fits name the very things a skill is about: few can be told without a reader.
    assert!(none["recall"].as_f64().unwrap() > 0.0, "{none}");
    assert_eq!(fixture.run(&["eval", "--pool", "5"]).status.code(), Some(2), "whose pool?");
}

#[test]
fn every_retriever_and_view_answers() {
    let fixture = Fixture::new();
    for retriever in ["bm25", "tfidf", "phrases", "dense", "hybrid", "round-robin"] {
        for view in ["raw", "full", "doc2query"] {
            let request = "corrected QT with the cube root of RR";
            let answer =
                fixture.json(&["search", request, "--retriever", retriever, "--view", view]);
            let first = answer["hits"][0]["skill"].as_str().unwrap();
            assert!(first.starts_with("qt-correction/"), "{retriever} {view}: {first}");
        }
    }
}

#[test]
fn the_arms_of_the_local_chooser_differ_in_reasons_alone() {
    let fixture = Fixture::new();
    let request = "correct this QT for heart rate: square root of RR";
    let [base, boundary, ids] = ["base", "boundary", "ids"]
        .map(|arm| fixture.json(&["route", request, "--chooser", "local", "--cards", arm]));
    let reasons = |answer: &Value| answer["rejected"].to_string();
    assert!(!reasons(&base).contains("its boundary:"), "{base}");
    assert!(reasons(&boundary).contains("use qtc-bazett"), "{boundary}");
    assert!(reasons(&ids).contains("use qt-correction/qtc-bazett"), "{ids}");
    for other in [&boundary, &ids] {
        assert_eq!((&base["skill"], &base["hits"]), (&other["skill"], &other["hits"]));
        assert_eq!(base["confidence"], other["confidence"]);
    }
}

#[test]
fn explain_takes_every_candidate_apart() {
    let fixture = Fixture::new();
    let request = "correct this QT for heart rate: square root of RR";
    let answer = fixture.json(&["explain", request, "--retriever", "bm25"]);
    let route = fixture.json(&["route", request, "--retriever", "bm25"]);
    assert_eq!((&answer["skill"], &answer["reason"]), (&route["skill"], &route["reason"]));
    let candidates = answer["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), route["hits"].as_array().unwrap().len());
    assert_eq!(candidates[0]["skill"], route["skill"]);
    for (place, candidate) in (1..).zip(candidates) {
        assert_eq!(
            (candidate["place"].as_u64(), &candidate["in_pool"]),
            (Some(place), &true.into())
        );
        let kinds = ["words", "phrases", "trigger", "meaning"];
        let sum: f64 = kinds.iter().map(|kind| candidate["evidence"][kind].as_f64().unwrap()).sum();
        assert!((sum - candidate["total"].as_f64().unwrap()).abs() < 1e-9, "{candidate}");
    }
    let terms = candidates[0]["shared"].to_string();
    assert!(terms.contains("square root"), "{terms}");
    let ruled_out = candidates.iter().filter(|candidate| candidate["boundary"].is_object());
    assert!(ruled_out.clone().count() > 0);
    assert!(ruled_out.into_iter().all(|c| c["boundary"]["skill"] == route["skill"]));

    // Ranks are those of a search over the documents, and over documents and pages.
    for (view, rank) in [("raw", "raw_rank"), ("full", "page_rank")] {
        let search = ["search", request, "-k", "146", "--view", view, "--retriever", "bm25"];
        let found = fixture.json(&search);
        let found = found["hits"].as_array().unwrap();
        for candidate in candidates {
            let hit = found.iter().find(|hit| hit["skill"] == candidate["skill"]);
            assert_eq!(candidate[rank], hit.map_or(Value::Null, |hit| hit["rank"].clone()));
        }
    }
}

#[test]
fn explain_tells_about_a_skill_that_was_no_candidate() {
    let fixture = Fixture::new();
    let request = "correct this QT for heart rate: square root of RR";
    let arguments = ["explain", request, "--pool", "3", "--skill", "loan-payment"];
    let answer = fixture.json(&arguments);
    let candidates = answer["candidates"].as_array().unwrap();
    let (asked, pool) = candidates.split_last().unwrap();
    assert_eq!((&asked["in_pool"], &asked["name"]), (&false.into(), &"loan-payment".into()));
    assert!(asked["page_rank"].as_u64().is_none_or(|rank| rank > 3), "{asked}");
    // The pool is explained as if nobody had asked.
    let alone = fixture.json(&["explain", request, "--pool", "3"]);
    assert_eq!(alone["candidates"].as_array().unwrap()[..], *pool);
    let shown = fixture.run(&arguments);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(") loan-payment") && shown.contains("  shares "), "{shown}");
    assert_eq!(fixture.run(&["explain", request, "--skill", "nobody"]).status.code(), Some(2));
}
