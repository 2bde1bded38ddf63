//! Files of records that are larger than they look. None of them is ever held whole, so each of
//! these tests takes some megabytes; without the limits it takes what the file unpacks to.

use std::io::Write;

use expect_test::{Expect, expect};
use fingerpost::library::read_unpacked;

use super::{Fixture, zstandard};

/// Loads a file of this name and content.
fn check(name: &str, content: impl AsRef<[u8]>, expect: Expect) {
    Fixture::new().file(name, content).check(name, expect);
}

/// A record of so many bytes.
fn record_of(id: &str, length: usize) -> Vec<u8> {
    let (open, close) = (format!("{{\"id\":\"{id}\",\"content\":\""), "\"}");
    let filler = length - open.len() - close.len();
    [open.into_bytes(), vec![b'x'; filler], close.as_bytes().to_vec()].concat()
}

/// 8 MiB to the byte is read, one more is not; the next record loads in either case.
#[test]
fn over_long_records() {
    const LIMIT: usize = 8 << 20;
    let records = [
        ("longest", LIMIT),
        ("next", 100),
        ("longer", LIMIT + 1),
        ("long", 3 * LIMIT),
        ("last", 100),
    ]
    .map(|(id, length)| record_of(id, length));
    check(
        "long.jsonl",
        records.join(&b"\n"[..]),
        expect![[r#"
            last ["last", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            longest ["longest", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            next ["next", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            $ROOT/long.jsonl:3: error[too-large]: a record of more than 8 MiB, not read; no agent could read it; one record per line: is the file really JSON Lines?
            $ROOT/long.jsonl:4: error[too-large]: a record of more than 8 MiB, not read; no agent could read it; one record per line: is the file really JSON Lines?
        "#]],
    );
    check(
        "long.json.zst",
        zstandard(&[b"[\n", &*records.join(&b",\n"[..]), b"\n]"].concat()),
        expect![[r#"
            last ["last", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            longest ["longest", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            next ["next", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            $ROOT/long.json.zst:4: error[too-large]: a record of more than 8 MiB, not read; no agent could read it; one record per line: is the file really JSON Lines?
            $ROOT/long.json.zst:5: error[too-large]: a record of more than 8 MiB, not read; no agent could read it; one record per line: is the file really JSON Lines?
        "#]],
    );
}

/// Packs so many records of 4 MiB each without ever holding them all.
fn bomb(records: usize) -> Vec<u8> {
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for at in 0..records {
        packed.write_all(&record_of(&format!("{at:03}"), 4 << 20)).unwrap();
        packed.write_all(b"\n").unwrap();
    }
    packed.finish().unwrap()
}

/// Some ten kilobytes that unpack to 400 MiB: what is taken of it is bounded, and the rest is told.
#[test]
fn a_file_that_unpacks_to_a_thousand_times_its_size() {
    let zst = bomb(100);
    assert!(zst.len() < 64 << 10, "{}", zst.len());
    let fixture = Fixture::new().file("bomb.jsonl.zst", &zst);
    let loaded = fixture.load("bomb.jsonl.zst");
    assert_eq!(loaded.value.skills().len(), 15);
    let [finding] = &loaded.diagnostics[..] else { panic!("{:?}", loaded.diagnostics) };
    expect!["$ROOT/bomb.jsonl.zst:16: error[unreadable]: reading stopped here: the file unpacks to more than 64 MiB, over 1000 times its size, as no text does; the 15 skills before this line were kept; look what the file holds, and split it if all of it is skills"].assert_eq(&fixture.without_folder(&finding.to_string()));
    let error = read_unpacked(&fixture.path("bomb.jsonl.zst")).unwrap_err();
    expect!["the file unpacks to more than 64 MiB, over 1000 times its size, as no text does"]
        .assert_eq(&error.to_string());
}

/// An array is held as a whole, so a bomb must not get that far.
#[test]
fn an_array_that_unpacks_to_a_thousand_times_its_size() {
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packed.write_all(b"[").unwrap();
    for at in 0..100 {
        packed.write_all(&record_of(&format!("{at:03}"), 4 << 20)).unwrap();
        packed.write_all(b",").unwrap();
    }
    packed.write_all(b"{}]").unwrap();
    check(
        "bomb.json",
        packed.finish().unwrap(),
        expect![[r#"
            000 ["000", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            001 ["001", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            002 ["002", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            003 ["003", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            004 ["004", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            005 ["005", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            006 ["006", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            007 ["007", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            008 ["008", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            009 ["009", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            010 ["010", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            011 ["011", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            012 ["012", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            013 ["013", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            014 ["014", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
            $ROOT/bomb.json:1: error[unreadable]: reading stopped here: the file unpacks to more than 64 MiB, over 1000 times its size, as no text does; the 15 skills before this line were kept; look what the file holds, and split it if all of it is skills
        "#]],
    );
}

/// A single line, gigabytes long, is neither held nor read to its end.
#[test]
fn a_line_without_end() {
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packed.write_all(b"{\"id\":\"a\",\"text\":\"t\"}\n{\"id\":\"b\",\"text\":\"").unwrap();
    for _ in 0..400 {
        packed.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    check(
        "line.jsonl",
        packed.finish().unwrap(),
        expect![[r#"
            a ["a", "", "t"]
            $ROOT/line.jsonl:2: error[unreadable]: reading stopped here: the file unpacks to more than 64 MiB, over 1000 times its size, as no text does; the 1 skills before this line were kept; look what the file holds, and split it if all of it is skills
        "#]],
    );
}

/// Zstandard may ask its reader for gigabytes of memory before the first byte.
#[test]
fn a_window_of_gigabytes() {
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packed.window_log(31).unwrap();
    packed.write_all(b"{\"id\":\"a\",\"text\":\"t\"}\n").unwrap();
    check(
        "window.jsonl.zst",
        packed.finish().unwrap(),
        expect![[r#"
            $ROOT/window.jsonl.zst: warning[no-skills]: no skill found here; a library is a folder of SKILL.md folders, a .json or .jsonl file of records, or the folder of a benchmark (BEIR, SRA-Bench)
            $ROOT/window.jsonl.zst:1: error[unreadable]: reading stopped here: Frame requires too much memory for decoding; the 0 skills before this line were kept; the file is damaged or cut short: fetch it again
        "#]],
    );
}

#[test]
fn ids_and_names_of_a_megabyte() {
    let long = "i".repeat(1 << 20);
    let text = format!(
        r#"{{"id":"{long}a","name":"{long}","description":"d"}}
{{"id":"{long}b","description":"d"}}
{{"name":"{long}c","description":"d"}}
{{"id":"{}","name":"{}","description":"as long as may be"}}
"#,
        "i".repeat(512),
        "n".repeat(256),
    );
    let loaded = Fixture::new().file("odd.jsonl", text).load("odd.jsonl");
    assert_eq!(loaded.value.skills().len(), 4);
    for skill in loaded.value.skills() {
        assert!(skill.id.as_str().len() <= 512, "{}", skill.id.as_str().len());
        assert!(skill.name.chars().count() <= 256, "{}", skill.name.len());
    }
    let found = |rule| {
        let of_rule = loaded.diagnostics.iter().filter(|finding| finding.rule == rule);
        of_rule.map(|finding| finding.line.unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(found("long-id"), [1, 2, 3]);
    assert_eq!(found("long-name"), [1, 3]);
    assert!(loaded.diagnostics.iter().all(|finding| finding.to_string().len() < 2000));
}
