//! Folders as benchmarks are published. Their skills load as they are, and nothing else is taken for one.

use expect_test::expect;
use fingerpost::library::stamp;

use super::{Fixture, ids, zstandard};

/// The corpus of SRA-Bench, in small.
const CORPUS: &str = r#"[
  {"skill_id": "champ_012", "name": "Recursion", "description": "Set up a recursion.", "content": "Find f(n).", "tools": [{"name": "f"}]},
  {"skill_id": "web_7", "name": "Counting", "description": "Count twice.", "content": "Compare both counts."}
]
"#;

#[test]
fn a_corpus_beside_instances_or_below_them() {
    let below =
        Fixture::new().file("corpus/corpus.json", CORPUS).file("instances/champ.json", "[]");
    below.check(
        "",
        expect![[r#"
            champ_012 ["Recursion", "Set up a recursion.", "Find f(n)."]
            web_7 ["Counting", "Count twice.", "Compare both counts."]
        "#]],
    );
    let plain = Fixture::new().file("corpus.json", CORPUS).load("");
    let packed = Fixture::new()
        .file("corpus/corpus.json.zst", zstandard(CORPUS.as_bytes()))
        .file("instances/champ.json", "[]")
        .load("");
    assert_eq!(plain.value.digest(), below.load("").value.digest());
    assert_eq!(packed.value.digest(), below.load("").value.digest());

    let before = stamp(&[below.root("")]).unwrap();
    let changed = below.file("corpus/corpus.json", CORPUS.replace("twice", "thrice"));
    assert_ne!(stamp(&[changed.root("")]).unwrap(), before);
}

/// A skill may be about a corpus.
#[test]
fn a_tree_with_a_folder_named_corpus_is_a_tree() {
    let fixture = Fixture::new().skill("corpus").skill("other").file("corpus/corpus.json", CORPUS);
    assert_eq!(ids(&fixture.load("").value), ["corpus", "other"]);
}

#[test]
fn records_keyed_by_their_ids() {
    let lines = "{\n  \"champ_012\": {\"name\": \"Recursion\", \"description\": \"d\", \"content\": \"c\"},\n  \"name\": {\"name\": \"Names\", \"description\": \"d\"},\n  \"key\": {\"skill_id\": \"own\", \"name\": \"Own\", \"description\": \"d\"}\n}\n";
    let expect = expect![[r#"
        champ_012 ["Recursion", "d", "c"]
        name ["Names", "d", ""]
        own ["Own", "d", ""]
    "#]];
    let fixture = Fixture::new().file("corpus.json", lines);
    fixture.check("", expect);
    // In one line it must not be taken for JSON Lines.
    let one = Fixture::new().file("corpus.json", lines.replace('\n', " "));
    assert_eq!(one.load("").value.digest(), fixture.load("").value.digest());
    assert!(one.load("").diagnostics.is_empty());
    // And JSON Lines whose first line is a head must not be taken for it.
    let head =
        "{\"about\": {\"name\": \"A collection\"}}\n{\"id\": \"a\", \"description\": \"d\"}\n";
    assert_eq!(ids(&Fixture::new().file("lines.json", head).load("lines.json").value), ["a"]);
}

#[test]
fn broken_records_among_keyed_ones() {
    let text = r#"{
  "a": {"name": "alpha", "description": "d"},
  "version": 2,
  "b": {"name": ["beta"], "description": "d"},
  "c": {"skill_id": "a", "name": "gamma", "description": "Another text."},
  "d": {"tools": []}
}
"#;
    Fixture::new().file("corpus.json", text).check("", expect![[r#"
        a ["alpha", "d", ""]
        d ["d", "", ""]
        $ROOT/corpus.json:3: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
        $ROOT/corpus.json:4: error[broken-record]: not a record: invalid type: sequence, expected a text or a number (column 10); a record is one JSON object with id, name, description and content; this one was skipped
        $ROOT/corpus.json:5: error[duplicate-id]: skill 'a' repeats the id of $ROOT/corpus.json:2; rename or remove one of the two; until then the other one is used
        $ROOT/corpus.json:6: warning[no-text]: neither description nor content; only its name can be found; add a description
    "#]]);
    // What comes before the damage is kept.
    let (kept, _) = text.split_once("  \"b\"").unwrap();
    Fixture::new().file("corpus.json", format!("{kept}  \"b\": {{")).check("", expect![[r#"
        a ["alpha", "d", ""]
        $ROOT/corpus.json:3: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
        $ROOT/corpus.json:4: error[broken-json]: the array is broken: EOF while parsing an object; the records before this line were kept; mend the file, or write one record per line as JSON Lines
    "#]]);
}

/// Many a tool keeps its settings in an object of objects.
#[test]
fn an_object_of_other_objects_holds_no_records() {
    let fixture = Fixture::new()
        .file("lines.json", "{\n\"compilerOptions\": {\"strict\": true},\n\"paths\": {}\n}\n")
        .file("line.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    for name in ["lines.json", "line.json"] {
        assert!(fixture.load(name).value.skills().is_empty(), "{name}");
    }
}

#[test]
fn a_file_of_skills_where_there_is_no_document() {
    let record = "{\"id\": \"a\", \"name\": \"alpha\", \"description\": \"d\"}\n";
    let fixture = Fixture::new()
        .file("set/skills.jsonl", record)
        .file(
            "set/queries.jsonl",
            "{\"query_id\": \"q\", \"query\": \"x\", \"source_skill\": \"a\"}\n",
        )
        .file("packed/skills.jsonl.zst", zstandard(record.as_bytes()))
        .skill("tree/b")
        .file("tree/skills.jsonl", record);
    assert_eq!(ids(&fixture.load("set").value), ["a"]);
    assert_eq!(ids(&fixture.load("packed").value), ["a"]);
    assert_eq!(ids(&fixture.load("tree").value), ["b"], "documents come first");
    // Agents keep lists of their own in the folders they read.
    let mut found = fixture.root("set");
    found.discovered = true;
    assert!(super::load(&[found]).value.skills().is_empty());
}

#[test]
fn rows_that_carry_a_whole_document() {
    let rows = concat!(
        r#"{"slug": "pdf-merge", "metadata": {"stars": 3}, "raw_skill_md": "---\r\nname: pdf-merge\r\ndescription: Merges PDF files.\r\n---\r\n\r\n# Merge\r\n", "ssl_record": {"skill": {}}}"#,
        "\n",
        r#"{"slug": "bare", "raw_skill_md": "Just text."}"#,
        "\n",
        r#"{"id": "named", "name": "Named", "description": "Its own.", "body": "Body.", "skill_md": "---\nname: other\ndescription: Other.\n---\nOther."}"#,
        "\n",
        r#"{"slug": "empty", "raw_skill_md": null}"#,
        "\n",
    );
    Fixture::new().file("corpus.jsonl", rows).check("", expect![[r##"
        bare ["bare", "", "Just text."]
        empty ["empty", "", ""]
        named ["Named", "Its own.", "Body."]
        pdf-merge ["pdf-merge", "Merges PDF files.", "# Merge"]
        $ROOT/corpus.jsonl:4: warning[no-text]: neither description nor content; only its name can be found; add a description
    "##]]);
}

#[test]
fn a_corpus_that_was_not_unpacked_is_named() {
    let fixture =
        Fixture::new().file("corpus/corpus.json.zip", "PK").file("instances/a.json", "[]");
    fixture.check("", expect![[r#"
        $ROOT/: warning[no-skills]: no skill found here; unpack $ROOT/corpus/corpus.json.zip where it lies
    "#]]);
}
