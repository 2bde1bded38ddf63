//! Several roots, missing roots, and the order and digest of what was loaded.

use expect_test::expect;
use fingerpost::library::{Library, LoadError, LoadOptions, Surroundings, discover};
use proptest::prelude::*;

use super::{Fixture, ids};

#[test]
fn the_earlier_root_wins() {
    let fixture = Fixture::new()
        .file("near/a/SKILL.md", "---\nname: a\ndescription: The near one.\n---\n")
        .skill("near/copy")
        .skill("far/a")
        .skill("far/copy")
        .skill("far/b");
    fixture.check_roots(&[fixture.root("near"), fixture.root("far")], expect![[r#"
        a ["a", "The near one.", ""]
        b ["b", "About b.", "Body."]
        copy ["copy", "About copy.", "Body."]
        $ROOT/far/a/SKILL.md: error[shadowed]: skill 'a' is hidden by $ROOT/near/a/SKILL.md; rename or remove one of the two; until then the other one is used
        $ROOT/far/copy/SKILL.md: note[shadowed]: skill 'copy' is hidden by $ROOT/near/copy/SKILL.md, an identical copy; rename or remove one of the two; until then the other one is used
    "#]]);
}

#[test]
fn a_missing_root_is_an_error_that_names_it() {
    let fixture = Fixture::new().skill("good");
    let roots = [fixture.root("good"), fixture.root("nowhere")];
    let error = Library::load(&roots, LoadOptions::default()).unwrap_err();
    expect!["cannot read library $ROOT/nowhere"]
        .assert_eq(&fixture.without_folder(&error.to_string()));
    // The reason is its source, so that whoever prints the chain prints it once.
    let reason = std::error::Error::source(&error).unwrap();
    expect!["No such file or directory (os error 2)"].assert_eq(&reason.to_string());
}

#[test]
fn nothing_found_says_what_a_library_is() {
    let fixture = Fixture::new().skill("good").file("empty/notes.txt", "").file("none.jsonl", "");
    let roots = ["empty", "none.jsonl", "good"].map(|root| fixture.root(root));
    fixture.check_roots(&roots, expect![[r#"
        good ["good", "About good.", "Body."]
        $ROOT/empty: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/none.jsonl: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
    "#]]);
}

/// What is no library must not pass for an empty one.
#[test]
fn a_file_of_something_else_is_an_error() {
    let lines = "Buy milk.\nCall {name}.\n";
    let fixture = Fixture::new()
        .skill("good")
        .file("notes.txt", lines)
        .file("notes.txt.gz", super::gzip(lines.as_bytes()))
        .file("empty.txt", "")
        .file("notes.jsonl", lines)
        .file("notes.json.zst", super::zstandard(b"[1, 2, \"three\"]"))
        .file("log.txt", "{\"level\":\"info\"}\n")
        .file("folder/corpus.jsonl", lines)
        .file(
            "utf-16.jsonl",
            "\u{feff}{\"id\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
        )
        .file("zeros.jsonl", [0; 5000]);
    let mut shown = String::new();
    let names = [
        "notes.txt",
        "notes.txt.gz",
        "empty.txt",
        "notes.jsonl",
        "notes.json.zst",
        "log.txt",
        "folder",
        "utf-16.jsonl",
        "zeros.jsonl",
    ];
    for name in names {
        let roots = [fixture.root("good"), fixture.root(name)];
        let error = Library::load(&roots, LoadOptions::default()).unwrap_err();
        shown += &format!("{error}\n");
    }
    expect![[r#"
        $ROOT/notes.txt holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/notes.txt.gz holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/empty.txt holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/notes.jsonl holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/notes.json.zst holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/log.txt holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/folder/corpus.jsonl holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/utf-16.jsonl holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/zeros.jsonl holds no skills: a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
    "#]]
    .assert_eq(&fixture.without_folder(&shown));
}

/// A root inside another one adds nothing, and is not without skills.
#[test]
fn roots_may_overlap() {
    let fixture = Fixture::new().skill("near/deep/a").skill("near/b");
    fixture.check_roots(
        &["near/deep", "near", "near/b/SKILL.md"].map(|root| fixture.root(root)),
        expect![[r#"
            a ["a", "About a.", "Body."]
            b ["b", "About b.", "Body."]
            $ROOT/near/b/SKILL.md: note[read-once]: lies in several of the libraries named; it is one skill; name each folder once, without those inside it
            $ROOT/near/deep/a/SKILL.md: note[read-once]: lies in several of the libraries named; it is one skill; name each folder once, without those inside it
        "#]],
    );
}

/// A file with a million broken lines is told in a thousand, and counted.
#[test]
fn findings_are_bounded() {
    let mut text = "broken\n".repeat(1500);
    text += r#"{"id":"good","name":"good","description":"Good."}"#;
    let loaded = Fixture::new().file("many.jsonl", text).load("many.jsonl");
    assert_eq!(ids(&loaded.value), ["good"]);
    assert_eq!(loaded.diagnostics.len(), 1001);
    let last = loaded.diagnostics.last().unwrap();
    expect!["and 500 more findings of this rule"].assert_eq(&last.message);
}

/// Neither the disk's order nor the threads' shows.
#[test]
fn the_same_files_are_the_same_library() {
    let names: Vec<String> = (0..200).map(|at| format!("group-{}/skill-{at}", at % 7)).collect();
    let forward = names.iter().fold(Fixture::new(), |made, name| made.skill(name));
    let backward = names.iter().rev().fold(Fixture::new(), |made, name| made.skill(name));
    let [first, again, other] = [&forward, &forward, &backward].map(|made| made.load("").value);
    assert_eq!(first.skills().len(), 200);
    assert!(ids(&first).is_sorted());
    assert_eq!(ids(&first), ids(&again));
    assert_eq!(ids(&first), ids(&other));
    assert_eq!(first.digest(), again.digest());
    assert_eq!(first.digest(), other.digest());
}

#[test]
fn the_digest_follows_every_field() {
    let records = [
        r#"{"id":"a","name":"bc","description":"de","content":"fg"}"#,
        r#"{"id":"b","name":"bc","description":"de","content":"fg"}"#,
        r#"{"id":"a","name":"b","description":"de","content":"fg"}"#,
        r#"{"id":"a","name":"bc","description":"d","content":"fg"}"#,
        r#"{"id":"a","name":"bc","description":"de","content":"f"}"#,
        // The same letters, cut elsewhere.
        r#"{"id":"ab","name":"c","description":"de","content":"fg"}"#,
        r#"{"id":"a","name":"b","description":"cde","content":"fg"}"#,
        r#"{"id":"a","name":"bc","description":"def","content":"g"}"#,
        r#"{"id":"a","name":"bc","description":"defg","content":""}"#,
    ];
    let digest = |record: &str| {
        Fixture::new().file("one.jsonl", record).load("one.jsonl").value.digest().to_hex()
    };
    let digests = records.map(digest);
    for (at, one) in digests.iter().enumerate() {
        assert_eq!(*one, digest(records[at]));
        assert!(!digests[..at].contains(one), "{} changed nothing", records[at]);
    }
}

/// Bytes with the shape of the real thing come deeper into the readers than plain noise.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..20),
        proptest::sample::select(vec![
            "---\n",
            "name: a\n",
            "description: b\n",
            "description: |\n ",
            "metadata:\n  - x\n",
            "{\"id\":",
            "\"a\"",
            "\"name\":\"b\"",
            ",",
            ":",
            "}",
            "{",
            "[",
            "]",
            "\n",
            "\r\n",
            "{\"id\":\"a\",\"name\":\"b\"}\n",
            "\u{feff}",
            "\\ud800",
            "*a",
            "&a ",
            "skills",
            "\u{1f}\u{8b}",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn no_bytes_make_loading_panic(bytes in noise()) {
        let packed = super::zstandard(&bytes);
        let fixture = Fixture::new()
            .skill("tree/good")
            .file("tree/odd/SKILL.md", &bytes)
            .file("tree/odd/agents/openai.yaml", &bytes)
            .file("records.jsonl", &bytes)
            .file("records.json", &bytes)
            .file("packed.json.zst", &packed[..packed.len() - packed.len() / 3])
            .file("project/.claude-plugin/marketplace.json", &bytes);
        prop_assert!(fixture.load("tree").value.find("good").is_some());
        for name in ["records.jsonl", "records.json", "packed.json.zst"] {
            let roots = [fixture.root("tree"), fixture.root(name)];
            match Library::load(&roots, LoadOptions::default()) {
                Ok(loaded) => prop_assert!(loaded.value.find("good").is_some()),
                Err(LoadError::NotALibrary { path }) => prop_assert_eq!(path, fixture.path(name)),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
        discover(&Surroundings {
            working_folder: fixture.path("project"),
            home: None,
            claude_config: None,
            codex_home: None,
        });
    }
}
