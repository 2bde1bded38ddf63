//! The command as a user or a script meets it: what it prints, and how it exits.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use expect_test::expect;
use serde_json::Value;
use tempfile::TempDir;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/library")
}

/// `fingerpost` with an atlas of its own, and no trace of the user's home.
fn fingerpost(atlas: &TempDir) -> Command {
    let mut command = Command::cargo_bin("fingerpost").unwrap();
    command.env("FINGERPOST_ATLAS", atlas.path().join("atlas"));
    command.env("HOME", atlas.path()).env_remove("CLAUDE_CONFIG_DIR").env_remove("CODEX_HOME");
    command.current_dir(atlas.path());
    command
}

struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{}{}", self.out, self.err))
    }
}

fn run(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn write_skill(library: &Path, name: &str, description: &str) {
    let folder = library.join(name);
    fs::create_dir_all(&folder).unwrap();
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nThe rule.\n");
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

#[test]
fn search_answers_and_says_once_what_it_built() {
    let atlas = folder();
    let search = || {
        let mut command = fingerpost(&atlas);
        command.args(["search", "QT by Bazett's square root", "-k", "2", "--library"]);
        run(command.arg(examples()))
    };
    let first = search();
    assert_eq!(first.code, 0);
    let built: Vec<&str> = first.err.lines().map(|line| &line[..15.min(line.len())]).collect();
    assert_eq!(built, ["Compiled 146 sk"], "{}", first.err);
    let lines: Vec<&str> = first.out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].contains("qt-correction/qtc-bazett") && lines[0].contains("Correct a measured QT")
    );
    let second = search();
    assert_eq!((second.out, second.err.as_str()), (first.out, ""));
}

#[test]
fn search_json_keeps_its_contract() {
    let atlas = folder();
    for retriever in ["bm25", "tfidf"] {
        let mut command = fingerpost(&atlas);
        command.args(["search", "merge three pdf files", "--json", "--explain", "-k", "3"]);
        let said = run(command.args(["--retriever", retriever, "--library"]).arg(examples()));
        let answer = said.json();
        assert_eq!(answer["query"], "merge three pdf files");
        let hits = answer["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 3);
        assert_eq!(hits[0]["skill"], "pdf-tools/pdf-merge");
        assert_eq!(hits[0]["name"], "pdf-merge");
        assert_eq!(hits[2]["rank"], 3);
        let score = |hit: &Value| hit["score"].as_f64().unwrap();
        assert!(score(&hits[0]) >= score(&hits[1]));
        let terms = hits[0]["explanation"]["terms"].as_array().unwrap();
        let shares: f64 = terms.iter().map(|term| term["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-3);
    }
}

#[test]
fn nothing_found_is_said_and_exits_with_one() {
    let atlas = folder();
    let mut command = fingerpost(&atlas);
    command.args(["search", "xyzzyplugh", "--json", "--retriever", "bm25", "--library"]);
    let said = run(command.arg(examples()));
    assert_eq!(said.code, 1);
    assert_eq!(said.json()["hits"], serde_json::json!([]));
    assert!(said.err.contains("No skill shares a term"), "{}", said.err);
}

#[test]
fn a_library_that_is_not_there_is_not_made() {
    let atlas = folder();
    let gone = atlas.path().join("gone");
    for verb in [&["search", "x", "--library"][..], &["route", "x", "--library"], &["compile"]] {
        let mut command = fingerpost(&atlas);
        let missing = run(command.env_remove("FINGERPOST_ATLAS").args(verb).arg(&gone));
        assert_eq!(missing.code, 2, "{verb:?}");
        assert!(missing.err.contains("cannot read library"), "{verb:?}: {}", missing.err);
        assert!(!gone.exists(), "{verb:?}");
    }
}

#[test]
fn wrong_input_exits_with_two_and_names_the_subject() {
    let atlas = folder();
    let mut command = fingerpost(&atlas);
    let missing = run(command.args(["search", "x", "--library", "no/such/folder"]));
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("cannot read library no/such/folder"), "{}", missing.err);

    let mut command = fingerpost(&atlas);
    let nowhere = run(command.args(["search", "x"]));
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.err.contains("--library"), "{}", nowhere.err);

    let mut command = fingerpost(&atlas);
    let bad_b = run(command.args(["search", "x", "--b", "2", "--library"]).arg(examples()));
    assert_eq!(bad_b.code, 2);
    assert!(bad_b.err.contains("b is 2: it must lie between 0 and 1"), "{}", bad_b.err);

    let mut command = fingerpost(&atlas);
    let measure = run(command.args(["eval", "--measure", "F1@3", "--library"]).arg(examples()));
    assert_eq!(measure.code, 2);
    assert!(measure.err.contains("'F1@3' is no measure"), "{}", measure.err);

    let broken = atlas.path().join("broken.tsv");
    fs::write(&broken, "q1\tskill\t1\nq2\tskill\tmany\n").unwrap();
    let mut command = fingerpost(&atlas);
    let command = command.args(["eval", "--library"]).arg(examples());
    let format = run(command.arg("--qrels").arg(&broken));
    assert_eq!(format.code, 2);
    assert!(format.err.contains("broken.tsv:2: the grade 'many'"), "{}", format.err);
}

#[test]
fn skills_cannot_write_to_the_terminal() {
    let atlas = folder();
    let library = atlas.path().join("library");
    write_skill(&library, "evil", "\"Fill forms \\e[2J\\e]0;owned\\a now\"");
    write_skill(&library, "good", "Fill forms too");
    let mut command = fingerpost(&atlas);
    let said = run(command.args(["search", "fill forms", "--library"]).arg(&library));
    assert_eq!(said.out.lines().count(), 2, "{}", said.out);
    assert!(!said.out.contains('\x1b') && !said.out.contains('\x07'), "{:?}", said.out);
}

#[test]
fn json_holds_nothing_that_acts_on_a_terminal() {
    let atlas = folder();
    let library = atlas.path().join("library");
    let described = "Fill forms \u{9b}2J\u{61c} now\u{202e} or\u{200b} never. Not for forms\u{9b} on\u{202e} paper.";
    write_skill(&library, "evil", &format!("\"{described}\""));
    let mut command = fingerpost(&atlas);
    let said = run(command.args(["page", "show", "evil", "--json", "--library"]).arg(&library));
    let seen = |c: char| c.is_ascii() && !c.is_ascii_control() || c == '\n';
    assert!(said.out.chars().all(seen), "{:?}", said.out);
    assert!(said.json()["boundary"].as_str().unwrap().contains("orms"), "{}", said.out);
    let request = "fill forms \u{9b}\u{61c}";
    let mut command = fingerpost(&atlas);
    let said = run(command.args(["search", request, "--json", "--library"]).arg(&library));
    assert!(said.out.chars().all(seen), "{:?}", said.out);
    assert_eq!(said.json()["query"], request);
    let mut command = fingerpost(&atlas);
    let said = run(command.args(["search", "fill forms", "--library"]).arg(&library));
    let hidden = ['\u{9b}', '\u{61c}', '\u{202e}', '\u{200b}'];
    assert!(said.out.contains("Fill forms") && !said.out.contains(hidden), "{:?}", said.out);
}

#[test]
fn discovery_finds_the_skills_of_the_folder() {
    let atlas = folder();
    write_skill(&atlas.path().join(".claude/skills"), "pdf-merge", "Merge PDF files");
    write_skill(&atlas.path().join(".agents/skills"), "pdf-merge", "Merge PDF files, older");
    let said = run(fingerpost(&atlas).args(["doctor", "--json"]));
    assert_eq!(said.code, 1, "a shadowed skill is a finding");
    let report = said.json();
    assert_eq!(report["skills"], 1);
    assert_eq!(report["findings"][0]["rule"], "shadowed");
    assert!(report["findings"][0]["hint"].as_str().unwrap().contains("rename"));
    let said = run(fingerpost(&atlas).args(["search", "merge pdf", "--json"]));
    assert_eq!(said.json()["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn doctor_names_file_line_and_way_out() {
    let atlas = folder();
    let library = atlas.path().join("library");
    write_skill(&library, "colon", "Use when: a form must be filled in");
    write_skill(&library, "good", "Merges files");
    fs::create_dir_all(library.join("empty")).unwrap();
    fs::write(library.join("empty/SKILL.md"), "").unwrap();
    let said = run(fingerpost(&atlas).args(["doctor", "--library", "library"]));
    assert_eq!(said.code, 1);
    expect![[r#"
        library/colon/SKILL.md:3
          warning the front matter is not valid YAML (mapping values are not allowed in this context) and was read line by line [broken-yaml]
          → quote the value, as in  description: "Use when: ..."
        library/empty/SKILL.md
          error the file is empty [empty-file]
          → write front matter with name and description, or remove it

        2 skills from 1 root; 1 error, 1 warning, 0 notes
    "#]]
    .assert_eq(&said.out);
}

#[test]
fn eval_json_keeps_its_contract() {
    let atlas = folder();
    let run_file = atlas.path().join("bm25.run");
    let mut command = fingerpost(&atlas);
    command.args(["eval", "--json", "--measure", "R@10", "--measure", "nDCG@10", "--library"]);
    let said = run(command.arg(examples()).arg("--run-out").arg(&run_file));
    let figures = said.json();
    assert_eq!((figures["queries"].as_u64(), figures["missing"].as_u64()), (Some(805), Some(0)));
    assert_eq!(figures["none"]["queries"], 130);
    let recall = figures["macro"]["R@10"].as_f64().unwrap();
    assert!((0.5..1.0).contains(&recall));
    let sets = figures["datasets"].as_object().unwrap();
    let mean: f64 =
        sets.values().map(|set| set["R@10"].as_f64().unwrap()).sum::<f64>() / sets.len() as f64;
    assert!((mean - recall).abs() < 1e-12);
    assert!(figures["micro"]["nDCG@10"].is_number());

    // The run it kept, judged again, gives the same figures.
    let mut command = fingerpost(&atlas);
    command.args(["eval", "--json", "--measure", "R@10", "--measure", "nDCG@10", "--run"]);
    command.arg(&run_file).arg("--qrels").arg(examples().join("qrels.tsv"));
    let again = run(command.arg("--queries").arg(examples().join("queries.jsonl"))).json();
    assert_eq!(again["macro"], figures["macro"]);
}

#[test]
fn compare_tests_runs_against_the_first() {
    let atlas = folder();
    for retriever in ["bm25", "tfidf"] {
        let mut command = fingerpost(&atlas);
        command.args(["eval", "--retriever", retriever, "--library"]).arg(examples());
        assert_eq!(run(command.args(["--run-out", &format!("{retriever}.run")])).code, 0);
    }
    let compare = |json: bool| {
        let mut command = fingerpost(&atlas);
        command.args(["eval", "compare", "bm25.run", "tfidf.run", "--measure", "Success@1"]);
        command.args(["--resamples", "2000", "--qrels"]).arg(examples().join("qrels.tsv"));
        command.arg("--queries").arg(examples().join("queries.jsonl"));
        run(command.args(json.then_some("--json")))
    };
    let answer = compare(true).json();
    let test = &answer["comparisons"][0]["measures"][0];
    let count = |name: &str| test[name].as_u64().unwrap();
    assert_eq!(count("wins") + count("losses") + count("ties"), count("queries"));
    let [low, high] = [0, 1].map(|at| test["interval"][at].as_f64().unwrap());
    let difference = test["difference"].as_f64().unwrap();
    assert!(low <= difference && difference <= high);
    assert!((0.0..=1.0).contains(&test["p_randomization"].as_f64().unwrap()));
    let hits = &answer["comparisons"][0]["hits"];
    assert_eq!(hits["net"].as_i64().unwrap(), count("wins") as i64 - count("losses") as i64);
    assert_eq!(compare(true).json(), answer, "the same seed gives the same answer");
    let shown = compare(false);
    assert!(shown.out.contains("tfidf.run against bm25.run") && shown.out.contains("first places"));
}

/// A library of two skills whose ids hold spaces, with queries and these judgements beside it.
fn spaced_library(folder: &TempDir, qrels: &str) -> PathBuf {
    let library = folder.path().join("spaced");
    fs::create_dir_all(&library).unwrap();
    let skills = concat!(
        "{\"id\":\"merge pdf\",\"name\":\"merge\",\"description\":\"Merges PDF files.\"}\n",
        "{\"id\":\"fill pdf\",\"name\":\"fill\",\"description\":\"Fills in PDF forms.\"}\n",
    );
    fs::write(library.join("skills.jsonl"), skills).unwrap();
    fs::write(library.join("queries.jsonl"), "q1\tmerges files\nq2\tfills forms\n").unwrap();
    fs::write(library.join("qrels.tsv"), qrels).unwrap();
    library.join("skills.jsonl")
}

#[test]
fn figures_are_printed_whatever_becomes_of_the_files() {
    let atlas = folder();
    let library = spaced_library(&atlas, "q1\tmerge pdf\t1\nq2\tfill pdf\t1\n");
    let eval = |file: &str| {
        let mut command = fingerpost(&atlas);
        command.args(["eval", "--json", "--measure", "Success@1", "--retriever", "bm25"]);
        run(command.args(["--run-out", file, "--library"]).arg(&library))
    };
    let said = eval("spaced.run");
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(said.json()["macro"]["Success@1"], 1.0);
    assert!(
        said.err.contains("2 ids with white space") && said.err.contains("spaced.run"),
        "{}",
        said.err
    );
    let written = fs::read_to_string(atlas.path().join("spaced.run")).unwrap();
    assert!(written.starts_with("q1 Q0 merge%20pdf 1 "), "{written}");

    let mut command = fingerpost(&atlas);
    command.args(["eval", "--json", "--measure", "Success@1", "--run", "spaced.run", "--qrels"]);
    let again = run(command.arg(library.with_file_name("qrels.tsv")));
    assert_eq!(again.json()["macro"]["Success@1"], 1.0, "{}", again.out);

    let said = eval("no/such/folder/spaced.run");
    assert_eq!(said.code, 3);
    assert_eq!(said.json()["macro"]["Success@1"], 1.0);
    assert!(said.err.contains("cannot write no/such/folder/spaced.run"), "{}", said.err);
}

#[test]
fn judgements_of_another_library_are_refused() {
    let atlas = folder();
    let eval = |qrels: &str, chooser: &[&str]| {
        let library = spaced_library(&atlas, qrels);
        let mut command = fingerpost(&atlas);
        run(command.args(["eval", "--json", "--library"]).arg(library).args(chooser))
    };
    for chooser in [&[][..], &["--chooser", "local"]] {
        let said = eval("q1\tqtc-bazett\t1\nq2\tqtc-hodges\t1\n", chooser);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
        assert!(said.err.contains("none of the 2 skills that"), "{}", said.err);
        assert!(
            said.err.contains("qrels.tsv") && said.err.contains("skills.jsonl"),
            "{}",
            said.err
        );
        let said = eval("q1\tmerge pdf\t1\nq2\tqtc-hodges\t1\n", chooser);
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(said.err.contains("1 of the 2 skills that"), "{}", said.err);
        let said = eval("q1\tmerge pdf\t1\nq2\tfill pdf\t1\n", chooser);
        assert!(!said.err.contains("skills that"), "{}", said.err);
    }
}

#[test]
fn a_query_that_is_there_twice_is_named() {
    let atlas = folder();
    let library = spaced_library(&atlas, "q1\tmerge pdf\t1\n");
    fs::write(library.with_file_name("queries.jsonl"), "q1\tone\nq1\ttwo\n").unwrap();
    let said = run(fingerpost(&atlas).args(["eval", "--library"]).arg(&library));
    assert_eq!(said.code, 2);
    assert!(said.err.contains("queries.jsonl:2: query 'q1' is in line 1 already"), "{}", said.err);
}

#[test]
fn help_lists_every_verb() {
    let atlas = folder();
    let said = run(fingerpost(&atlas).arg("--help"));
    for verb in ["search", "route", "explain", "eval", "doctor"] {
        assert!(said.out.contains(verb), "{}", said.out);
    }
    assert_eq!(run(fingerpost(&atlas).args(["eval", "compare", "--help"])).code, 0);
}
