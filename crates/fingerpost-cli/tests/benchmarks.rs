//! `fingerpost eval` on folders as benchmarks are published, without a word about their files.

mod folder;

use std::fs;
use std::path::Path;

use folder::{Fixture, err};

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// SRA-Bench in small: three skills and two data sets.
fn sra_bench(fixture: &Fixture) {
    let corpus = r#"[
  {"skill_id": "web_1", "name": "Merge PDF", "description": "Merges PDF files into one.", "content": "Append the pages."},
  {"skill_id": "web_2", "name": "Tides", "description": "Tells high tide and low tide.", "content": "Add fifty minutes a day."},
  {"skill_id": "champ_0", "name": "Pigeonhole", "description": "The pigeonhole principle.", "content": "More pigeons than holes."}
]"#;
    let champ = r#"[
  {"instance_id": "champ_1", "dataset": "champ", "question": "Which principle tells of pigeons and holes?", "skill_annotations": ["champ_0"], "eval_data": {"answer": "yes"}}
]"#;
    let daily = r#"[
  {"instance_id": "daily_1", "question": "Merge these PDF files", "skill_annotations": ["web_1"], "eval_data": {}},
  {"instance_id": "daily_2", "question": "When is low tide?", "skill_annotations": ["web_1", "web_2"], "eval_data": {}}
]"#;
    write(&fixture.path("bench/corpus/corpus.json"), corpus);
    write(&fixture.path("bench/instances/champ.json"), champ);
    write(&fixture.path("bench/instances/daily.json"), daily);
}

#[test]
fn instances_of_several_data_sets() {
    let fixture = Fixture::with_atlas(&[]);
    sra_bench(&fixture);
    let eval = ["eval", "--library", "bench", "--retriever", "bm25", "--measure", "R@1"];
    let figures = fixture.json(&eval);
    assert_eq!((&figures["queries"], &figures["missing"]), (&3.into(), &0.into()));
    let recall = |set: &str| figures["datasets"][set]["R@1"].as_f64().unwrap();
    assert_eq!((recall("champ"), recall("daily")), (1.0, 0.75));
    assert_eq!(figures["macro"]["R@1"], 0.875);

    // One file of them alone, which names its skills itself.
    let named = ["--queries", "bench/instances/daily.json"];
    let figures = fixture.json(&[&eval[..], &named].concat());
    assert_eq!((&figures["queries"], &figures["macro"]["R@1"]), (&2.into(), &0.75.into()));

    // Other judgements of the same requests.
    write(&fixture.path("other.tsv"), "daily_1\tweb_2\t1\ndaily_2\tweb_2\t1\n");
    let figures = fixture.json(&[&eval[..], &["--qrels", "other.tsv"]].concat());
    assert_eq!((&figures["queries"], &figures["macro"]["R@1"]), (&2.into(), &0.5.into()));
}

#[test]
fn intents_beside_folders_of_skills() {
    let fixture = Fixture::with_atlas(&[]);
    for (name, description) in [("pdf-merge", "Merges PDF files."), ("tides", "Tells the tides.")] {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nThe rule.\n");
        write(&fixture.path(&format!("set/skills/{name}/SKILL.md")), &text);
    }
    let queries = concat!(
        r#"{"query_id": "q1", "query": "merges my files", "source_skill": "pdf-merge"}"#,
        "\n",
        r#"{"query_id": "q2", "query": "tells me the tides", "source_skill": "tides"}"#,
        "\n",
    );
    write(&fixture.path("set/queries.jsonl"), queries);
    let eval = ["eval", "--library", "set", "--retriever", "bm25", "--measure", "RR@50"];
    let figures = fixture.json(&eval);
    assert_eq!((&figures["queries"], &figures["macro"]["RR@50"]), (&2.into(), &1.0.into()));

    write(&fixture.path("set/queries.jsonl"), &queries.replace("source_skill", "about"));
    let output = fixture.run(&eval);
    assert_eq!(output.status.code(), Some(2));
    let said = err(&output);
    assert!(said.contains("queries.jsonl names no skills") && said.contains("--qrels"), "{said}");
}

#[test]
fn a_broken_instance_is_named_with_file_and_index() {
    let fixture = Fixture::with_atlas(&[]);
    sra_bench(&fixture);
    write(
        &fixture.path("bench/instances/late.json"),
        "[\n{\"instance_id\": \"x\", \"question\": \"t\", \"skill_id\": \"web_1\"},\n{\"instance_id\": \"y\"}\n]",
    );
    let output = fixture.run(&["eval", "--library", "bench"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "bench/instances/late.json:3: request 'y' (entry [1]) has no text";
    assert!(err(&output).contains(expected), "{}", err(&output));
    assert!(output.stdout.is_empty());

    fs::remove_dir_all(fixture.path("bench/instances")).unwrap();
    write(&fixture.path("bench/instances/README.md"), "");
    let output = fixture.run(&["eval", "--library", "bench"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("--queries and --qrels"), "{}", err(&output));
}
