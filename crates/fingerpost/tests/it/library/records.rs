//! Files of records. Beside each broken record lie sound ones, which must load in spite of it.

use expect_test::{Expect, expect};
use fingerpost::library::read_unpacked;

use super::{Fixture, gzip, ids, zstandard};

/// Loads a file of this name and content.
fn check(name: &str, content: impl AsRef<[u8]>, expect: Expect) {
    Fixture::new().file(name, content).check(name, expect);
}

/// Three lines of sound records.
const GOOD: &str = r#"{"id":"a","name":"alpha","description":"First.","content":"Body a."}
{"id":"b","name":"beta","description":"Second.","content":"Body b."}
{"id":"c","name":"gamma","description":"Third.","content":"Body c."}
"#;

#[test]
fn lines() {
    check(
        "good.jsonl",
        GOOD,
        expect![[r#"
            a ["alpha", "First.", "Body a."]
            b ["beta", "Second.", "Body b."]
            c ["gamma", "Third.", "Body c."]
        "#]],
    );
}

/// The line numbers must count the blank lines.
#[test]
fn broken_and_blank_lines() {
    let text =
        GOOD.replacen('\n', "\n\n  \n{\"id\":\"x\", name}\n{\"id\":\"y\",\n[1]\n\"text\"\n", 1);
    check(
        "odd.jsonl",
        text,
        expect![[r#"
            a ["alpha", "First.", "Body a."]
            b ["beta", "Second.", "Body b."]
            c ["gamma", "Third.", "Body c."]
            $ROOT/odd.jsonl:4: error[broken-record]: not a record: key must be a string (column 12); a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/odd.jsonl:5: error[broken-record]: not a record: EOF while parsing a value (column 10); a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/odd.jsonl:6: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/odd.jsonl:7: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
        "#]],
    );
}

#[test]
fn only_line_feeds_end_a_line() {
    let text = "{\"id\":\"a\",\"description\":\"one\u{2028}two\u{85}three\"}\nbroken\n";
    check(
        "odd.jsonl",
        text,
        expect![[r#"
            a ["a", "one\u{2028}two\u{85}three", ""]
            $ROOT/odd.jsonl:2: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
        "#]],
    );
}

#[test]
fn carriage_returns_byte_order_mark_and_no_last_line_feed() {
    let text = format!("\u{feff}{}", GOOD.trim_end().replace('\n', "\r\n"));
    let loaded = Fixture::new().file("odd.jsonl", text).load("odd.jsonl");
    assert!(loaded.diagnostics.is_empty());
    let plain = Fixture::new().file("good.jsonl", GOOD).load("good.jsonl");
    assert_eq!(loaded.value.digest(), plain.value.digest());
}

#[test]
fn ids_and_names() {
    check(
        "odd.jsonl",
        r#"{"name":"no id","description":"d"}
{"description":"neither"}
{"id":7,"name":"a number","description":"d"}
{"skill_id":"sr-agents","name":"n","description":"d"}
{"_id":"beir","title":"t","text":"body"}
{"id":"","name":"","title":""}
{"id":"only"}
{"id":null,"name":null,"_id":-1.5,"text":null}
{"id":["a"],"name":"list","description":"d"}
{"id":"unknown","name":"u","description":"d","tools":{"deep":[{}]}}
"#,
        expect![[r#"
            -1.5 ["-1.5", "", ""]
            7 ["a number", "d", ""]
            beir ["t", "", "body"]
            no id ["no id", "d", ""]
            only ["only", "", ""]
            sr-agents ["n", "d", ""]
            unknown ["u", "d", ""]
            $ROOT/odd.jsonl:1: warning[no-id]: no id; the name is used; give each record an id that stays when the name changes
            $ROOT/odd.jsonl:2: error[no-id]: neither id nor name; skipped; add  "id"  (or  "skill_id",  "_id") to the record
            $ROOT/odd.jsonl:6: error[no-id]: neither id nor name; skipped; add  "id"  (or  "skill_id",  "_id") to the record
            $ROOT/odd.jsonl:7: warning[no-text]: neither description nor content; only its name can be found; add a description
            $ROOT/odd.jsonl:8: warning[no-text]: neither description nor content; only its name can be found; add a description
            $ROOT/odd.jsonl:9: error[broken-record]: not a record: invalid type: sequence, expected a text or a number (column 7); a record is one JSON object with id, name, description and content; this one was skipped
        "#]],
    );
}

#[test]
fn duplicates() {
    let text = r#"{"id":"a","name":"alpha","description":"First.","content":"Body a."}
{"id":"a","name":"other","description":"Another text."}
{"id":"d","name":"alpha","description":"Another id."}
"#;
    check(
        "odd.jsonl",
        format!("{GOOD}{text}"),
        expect![[r#"
            a ["alpha", "First.", "Body a."]
            b ["beta", "Second.", "Body b."]
            c ["gamma", "Third.", "Body c."]
            d ["alpha", "Another id.", ""]
            $ROOT/odd.jsonl:4: note[duplicate-id]: skill 'a' repeats the id of $ROOT/odd.jsonl:1, an identical copy; rename or remove one of the two; until then the other one is used
            $ROOT/odd.jsonl:5: error[duplicate-id]: skill 'a' repeats the id of $ROOT/odd.jsonl:1; rename or remove one of the two; until then the other one is used
            $ROOT/odd.jsonl:6: warning[duplicate-name]: skill 'd' has the name 'alpha' of skill 'a'; give each skill a name of its own: agents and people ask for skills by name
        "#]],
    );
}

#[test]
fn not_utf8() {
    let mut text = GOOD.as_bytes().to_vec();
    text.extend(b"{\"id\":\"d\",\"description\":\"caf\xe9\"}\n{\"id\":\xff}\n{\"id\":\"e\",\"text\":\"t\"}\n");
    check(
        "odd.jsonl",
        text,
        expect![[r#"
            a ["alpha", "First.", "Body a."]
            b ["beta", "Second.", "Body b."]
            c ["gamma", "Third.", "Body c."]
            d ["d", "caf�", ""]
            e ["e", "", "t"]
            $ROOT/odd.jsonl:4: warning[not-utf8]: holds bytes that are not UTF-8; save the file as UTF-8; each stray byte was read as U+FFFD
            $ROOT/odd.jsonl:5: error[broken-record]: not a record: expected value (column 7); a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/odd.jsonl:5: warning[not-utf8]: holds bytes that are not UTF-8; save the file as UTF-8; each stray byte was read as U+FFFD
        "#]],
    );
    check(
        "odd.json",
        b"[\n{\"id\":\"a\",\"text\":\"t\"},\n{\"id\":\"d\",\"text\":\"caf\xe9\"}]",
        expect![[r#"
            a ["a", "", "t"]
            d ["d", "", "caf�"]
            $ROOT/odd.json:3: warning[not-utf8]: holds bytes that are not UTF-8; save the file as UTF-8; each stray byte was read as U+FFFD
        "#]],
    );
}

/// What a file is packed with is seen in its bytes, not in its name.
#[test]
fn packed_files_are_the_same_library() {
    let array = format!("[{}]", GOOD.trim().replace('\n', ",\n"));
    let object = format!("{{\"version\": 1,\n \"skills\": {array}}}");
    let (head, tail) = GOOD.as_bytes().split_at(80);
    let fixture = Fixture::new()
        .file("good.jsonl", GOOD)
        .file("good.jsonl.gz", gzip(GOOD.as_bytes()))
        .file("good.jsonl.zst", zstandard(GOOD.as_bytes()))
        .file("members.gz", [gzip(head), gzip(tail)].concat())
        .file("frames.zst", [zstandard(head), zstandard(tail)].concat())
        .file("misnamed", gzip(GOOD.as_bytes()))
        .file("lines.json", GOOD)
        .file("array.json", &array)
        .file("array.json.gz", gzip(array.as_bytes()))
        .file("array.json.zst", zstandard(array.as_bytes()))
        .file("object.json", &object)
        .file("object.json.gz", gzip(object.as_bytes()))
        .file("line.json", object.replace('\n', ""));
    let digest = fixture.load("good.jsonl").value.digest();
    for file in std::fs::read_dir(fixture.path("")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let loaded = fixture.load(&name);
        assert_eq!(loaded.value.digest(), digest, "{name}");
        assert!(loaded.diagnostics.is_empty(), "{name}");
    }
}

/// Texts that pack badly, so that a cut falls between records and not before the first.
fn long_lines() -> Vec<String> {
    let noise = |seed: u64| {
        let hash = |at: u64| blake3::hash(&(seed * 1000 + at).to_le_bytes()).to_hex().to_string();
        (0..200).map(hash).collect::<String>()
    };
    (0..40).map(|at| format!("{{\"id\":\"{at:02}\",\"text\":\"{}\"}}", noise(at))).collect()
}

#[test]
fn a_file_cut_short_keeps_what_was_read() {
    let lines = long_lines().join("\n");
    let array = format!("[\n{}\n]", long_lines().join(",\n"));
    for (name, packed) in [
        ("lines.jsonl.gz", gzip(lines.as_bytes())),
        ("lines.jsonl.zst", zstandard(lines.as_bytes())),
        ("array.json.gz", gzip(array.as_bytes())),
        ("array.json.zst", zstandard(array.as_bytes())),
    ] {
        let fixture = Fixture::new().file(name, &packed[..packed.len() / 2]);
        let loaded = fixture.load(name);
        let kept = loaded.value.skills().len();
        assert!((5..40).contains(&kept), "{name}: {kept}");
        assert_eq!(*ids(&loaded.value).last().unwrap(), format!("{:02}", kept - 1));
        let [finding] = &loaded.diagnostics[..] else { panic!("{:?}", loaded.diagnostics) };
        let first = if name.starts_with("array") { 2 } else { 1 };
        assert_eq!(finding.rule, "unreadable");
        assert_eq!(finding.line, Some(kept as u64 + first), "{name}");
        assert!(finding.hint.starts_with(&format!("the {kept} skills")), "{}", finding.hint);
    }
}

#[test]
fn a_file_cut_in_its_first_bytes_is_no_reason_to_fail() {
    let fixture = Fixture::new()
        .file("good.jsonl", GOOD)
        .file("cut.gz", &gzip(GOOD.as_bytes())[..5])
        .file("cut.zst", &zstandard(GOOD.as_bytes())[..5]);
    let roots = ["cut.gz", "cut.zst", "good.jsonl"].map(|name| fixture.root(name));
    fixture.check_roots(&roots, expect![[r#"
        a ["alpha", "First.", "Body a."]
        b ["beta", "Second.", "Body b."]
        c ["gamma", "Third.", "Body c."]
        $ROOT/cut.gz: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/cut.gz:1: error[unreadable]: reading stopped here: unexpected end of file; the 0 skills before this line were kept; the file is damaged or cut short: fetch it again
        $ROOT/cut.zst: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        $ROOT/cut.zst:1: error[unreadable]: reading stopped here: incomplete frame; the 0 skills before this line were kept; the file is damaged or cut short: fetch it again
    "#]]);
}

#[test]
fn arrays() {
    check(
        "one-line.json",
        r#"[{"id":"a","text":"t"},{"id":"b","text":"t"}]"#,
        expect![[r#"
            a ["a", "", "t"]
            b ["b", "", "t"]
        "#]],
    );
    check(
        "empty.json",
        " [ ]\n",
        expect![[r#"
            $ROOT/empty.json: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
        "#]],
    );
}

/// The line numbers are those of the file, also inside a record.
#[test]
fn elements_of_a_pretty_array() {
    let text = r#"[
  {
    "id": "a",
    "text": "t"
  },
  7,
  {
    "id": "b",
    "name": ["no", "text"]
  },
  ["i", "s", "_", "n", "t", "d", "c", "x"],
  {
    "id": "a",
    "text": "again"
  },
  null,
  { "id": "c", "text": "t" }
]
"#;
    check(
        "pretty.json",
        text,
        expect![[r#"
            a ["a", "", "t"]
            c ["c", "", "t"]
            $ROOT/pretty.json:6: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/pretty.json:9: error[broken-record]: not a record: invalid type: sequence, expected a text or a number (column 13); a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/pretty.json:11: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/pretty.json:12: error[duplicate-id]: skill 'a' repeats the id of $ROOT/pretty.json:2; rename or remove one of the two; until then the other one is used
            $ROOT/pretty.json:16: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
        "#]],
    );
}

#[test]
fn an_array_broken_in_the_middle() {
    let text =
        "[\n{\"id\":\"a\",\"text\":\"t\"},\n{\"id\":\"b\" \"text\":\"t\"},\n{\"id\":\"c\"}\n]\n";
    check(
        "odd.json",
        text,
        expect![[r#"
            a ["a", "", "t"]
            $ROOT/odd.json:3: error[broken-json]: the array is broken: expected `,` or `}`; the records before this line were kept; mend the file, or write one record per line as JSON Lines
        "#]],
    );
    // The cut goes through a character of three bytes.
    check(
        "cut.json",
        b"[\n{\"id\":\"a\",\"text\":\"t\"},\n{\"id\":\"\xe5\x90",
        expect![[r#"
            a ["a", "", "t"]
            $ROOT/cut.json:3: error[broken-json]: the array is broken: EOF while parsing a string; the records before this line were kept; mend the file, or write one record per line as JSON Lines
        "#]],
    );
}

/// Two arrays in one file: the second must not vanish without a word.
#[test]
fn text_after_the_array() {
    let text = "[{\"id\":\"a\",\"text\":\"t\"}]\n[{\"id\":\"b\",\"text\":\"t\"}]\n";
    check(
        "odd.json",
        text,
        expect![[r#"
            a ["a", "", "t"]
            $ROOT/odd.json:2: error[broken-json]: the array is broken: trailing characters; the records before this line were kept; mend the file, or write one record per line as JSON Lines
        "#]],
    );
}

#[test]
fn objects() {
    let list = "{\n  \"version\": 2,\n  \"skills\": [\n    {\"id\": \"a\", \"text\": \"t\"},\n    3\n  ]\n}\n";
    check(
        "list.json",
        list,
        expect![[r#"
            a ["a", "", "t"]
            $ROOT/list.json:5: error[broken-record]: not a record: not an object; a record is one JSON object with id, name, description and content; this one was skipped
        "#]],
    );
    check(
        "one.json",
        "{\n  \"id\": \"a\",\n  \"description\": \"One record.\"\n}\n",
        expect![[r#"
            a ["a", "One record.", ""]
        "#]],
    );
    check(
        "other.json",
        "{\n  \"version\": 2,\n  \"items\": []\n}\n",
        expect![[r#"
            $ROOT/other.json: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
            $ROOT/other.json:1: error[broken-json]: an object that neither is a record nor holds any, as  "skills"  or by their ids; write an array of records, or one record per line as JSON Lines
        "#]],
    );
    check(
        "wrong.json",
        "{\n  \"skills\": {\"a\": 1}\n}\n",
        expect![[r#"
            $ROOT/wrong.json: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
            $ROOT/wrong.json:2: error[broken-json]: the array is broken: invalid type: map, expected an array of records; the records before this line were kept; mend the file, or write one record per line as JSON Lines
        "#]],
    );
    // A first line that is broken in itself still leaves the others.
    check(
        "lines.json",
        format!("{{\"id\": x}}\n{GOOD}"),
        expect![[r#"
            a ["alpha", "First.", "Body a."]
            b ["beta", "Second.", "Body b."]
            c ["gamma", "Third.", "Body c."]
            $ROOT/lines.json:1: error[broken-record]: not a record: expected value (column 8); a record is one JSON object with id, name, description and content; this one was skipped
        "#]],
    );
}

#[test]
fn benchmark_folders() {
    let fixture = Fixture::new()
        .file("beir/corpus.jsonl", "{\"_id\":\"d1\",\"title\":\"One\",\"text\":\"First.\",\"metadata\":{}}\n")
        .file("beir/queries.jsonl", "{\"_id\":\"q1\",\"text\":\"no skill\"}\n")
        .file("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n")
        .file("sr-agents/corpus.json", "[\n {\"skill_id\":\"s1\",\"name\":\"One\",\"description\":\"First.\",\"content\":\"Body.\",\"tools\":[]}\n]\n")
        .file("packed/corpus.jsonl.zst", zstandard(b"{\"_id\":\"d2\",\"text\":\"Packed.\"}\n"));
    let roots = ["beir", "sr-agents", "packed"].map(|name| fixture.root(name));
    fixture.check_roots(&roots, expect![[r#"
        d1 ["One", "", "First."]
        d2 ["d2", "", "Packed."]
        s1 ["One", "First.", "Body."]
        $ROOT/sr-agents/corpus.json:2: warning[duplicate-name]: skill 's1' has the name 'One' of skill 'd1'; give each skill a name of its own: agents and people ask for skills by name
    "#]]);
}

/// JSON wants control characters escaped. A record with a raw one is told and skipped; escaped
/// ones are text like any other.
#[test]
fn control_characters() {
    let text = "{\"id\":\"raw-nul\",\"text\":\"a\0b\"}
{\"id\":\"raw-tab\",\"text\":\"a\tb\"}
{\"id\":\"raw-escape\",\"text\":\"\u{1b}[31m\"}
{\"id\":\"delete\",\"text\":\"a\u{7f}\u{9b}b\"}
{\"id\":\"escaped\",\"name\":\"a\\u0000b\",\"text\":\"a\\u0000\\u001b\\r\\nb\"}
{\"id\":\"half\",\"text\":\"\\ud83d\"}
{\"id\":\"whole\",\"text\":\"\\ud83d\\ude00\"}
";
    check(
        "odd.jsonl",
        text,
        expect![[r#"
            delete ["delete", "", "a\u{7f}\u{9b}b"]
            escaped ["a\0b", "", "a\0\u{1b}\r\nb"]
            whole ["whole", "", "😀"]
            $ROOT/odd.jsonl:1: error[broken-record]: not a record: control character (\u0000-\u001F) found while parsing a string (column 26); a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/odd.jsonl:2: error[broken-record]: not a record: control character (\u0000-\u001F) found while parsing a string (column 26); a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/odd.jsonl:3: error[broken-record]: not a record: control character (\u0000-\u001F) found while parsing a string (column 28); a record is one JSON object with id, name, description and content; this one was skipped
            $ROOT/odd.jsonl:6: error[broken-record]: not a record: unexpected end of hex escape (column 28); a record is one JSON object with id, name, description and content; this one was skipped
        "#]],
    );
    check(
        "odd.json",
        "[\n{\"id\":\"a\",\"text\":\"t\"},\n{\"id\":\"b\",\"text\":\"a\0b\"},\n{\"id\":\"c\",\"text\":\"t\"}]",
        expect![[r#"
            a ["a", "", "t"]
            $ROOT/odd.json:3: error[broken-json]: the array is broken: control character (\u0000-\u001F) found while parsing a string; the records before this line were kept; mend the file, or write one record per line as JSON Lines
        "#]],
    );
}

#[test]
fn arrays_from_windows() {
    let array = format!("\u{feff}[\r\n{}\r\n]\r\n", GOOD.trim().replace('\n', ",\r\n"));
    let plain = Fixture::new().file("good.jsonl", GOOD).load("good.jsonl");
    for (name, bytes) in
        [("a.json", array.clone().into_bytes()), ("a.json.gz", gzip(array.as_bytes()))]
    {
        let loaded = Fixture::new().file(name, bytes).load(name);
        assert!(loaded.diagnostics.is_empty(), "{name}: {:?}", loaded.diagnostics);
        assert_eq!(loaded.value.digest(), plain.value.digest(), "{name}");
    }
}

#[test]
fn texts_are_unpacked_and_checked() {
    let fixture = Fixture::new()
        .file("plain.tsv", "q\td\t1\n")
        .file("packed.tsv.gz", gzip(b"q\td\t1\n"))
        .file("packed.tsv.zst", zstandard(b"q\td\t1\n"))
        .file("odd.tsv", b"q\td\t1\ncaf\xe9\td\t1\n");
    for name in ["plain.tsv", "packed.tsv.gz", "packed.tsv.zst"] {
        assert_eq!(read_unpacked(&fixture.path(name)).unwrap(), "q\td\t1\n");
    }
    let error = read_unpacked(&fixture.path("odd.tsv")).unwrap_err();
    assert_eq!(error.to_string(), "line 2 is not UTF-8");
}
