//! Damage to any file of an atlas, what is kept included, one file at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::chat_server::Server;
use super::folder::{Fixture, copy, err, files};
use super::{Dice, REQUESTS, kept, rounds};

/// One damage to one file; says which.
fn damage(dice: &mut Dice, file: &Path) -> &'static str {
    let mut bytes = fs::read(file).unwrap();
    // A new file: whoever has the old one open keeps it.
    fs::remove_file(file).unwrap();
    let length = bytes.len().max(1);
    let kind = *dice.one_of(&["flip", "cut", "zero", "append", "delete"]);
    let at = dice.below(length).min(bytes.len());
    match kind {
        "flip" if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        "cut" => bytes.truncate(at),
        "zero" => {
            let page = at / 4096 * 4096;
            let end = (page + 4096).min(bytes.len());
            bytes[page..end].fill(0);
        }
        "append" => bytes.extend((0..1 + dice.below(300)).map(|n| (n * 7) as u8)),
        _ => return "delete",
    }
    fs::write(file, bytes).unwrap();
    kind
}

#[test]
#[ignore = "slow: cargo xtask torture"]
fn damage_anywhere_is_healed_and_costs_nothing_kept() {
    let mut dice = Dice::new("damage");
    let fixture = Fixture::new(&["loans", "qt-correction"]);
    let server = Server::start(vec![]);
    let ask =
        ["compile", "library", "--writer", "llm", "--model", "fake", "--base-url", &server.url];
    fixture.json(&ask);
    let edit = ["page", "edit", "loan-payment", "--trigger", "Mine.", "--library", "library"];
    fixture.json(&edit);
    let (atlas, sound) = (fixture.library().join(".fingerpost"), fixture.path("sound"));
    copy(&atlas, &sound);
    let verbs: [&[&str]; 8] = [
        &["route", REQUESTS[0], "--json"],
        &["route", REQUESTS[1], "--json"],
        &["search", REQUESTS[2], "--json"],
        &["page", "show", "loan-payment", "--json"],
        &["neighbors", "qtc-bazett", "--json"],
        &["atlas", "stats", "--json"],
        &["export"],
        &["ledger", "--json"],
    ];
    let answer = |verb: &[&str], of: &[&str]| -> (Option<i32>, Value, String) {
        let output = fixture.run(&[verb, of].concat());
        assert!(!err(&output).contains("panicked"), "{verb:?}: {}", err(&output));
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        if let Some(fields) = value.as_object_mut() {
            // A head that is lost takes the count of generations with it.
            fields.remove("generation");
        }
        (output.status.code(), value, err(&output))
    };
    let library = ["--library", "library"];
    let alone = ["--atlas", "library/.fingerpost"];
    let expected: Vec<Value> = verbs.iter().map(|verb| answer(verb, &library).1).collect();
    let records = ["pages", "ledger"].map(|log| kept(&atlas.join("kept"), log));
    assert!(records.iter().all(|records| !records.is_empty()));
    let names: Vec<PathBuf> = files(&sound).into_keys().collect();
    let mut seen = BTreeMap::<String, usize>::new();
    for round in 0..rounds() {
        fs::remove_dir_all(&atlas).unwrap();
        copy(&sound, &atlas);
        let name = dice.one_of(&names).strip_prefix(&sound).unwrap();
        let kind = damage(&mut dice, &atlas.join(name));
        *seen.entry(format!("{kind} {}", name.display())).or_default() += 1;
        let why = format!("round {round}: {kind} {}", name.display());
        let at = dice.below(verbs.len());
        // By itself it cannot be made again: the right answer, or none.
        let (code, told, said) = answer(verbs[at], &alone);
        match code {
            Some(0) => assert_eq!(told, expected[at], "alone, {why}, {:?}", verbs[at]),
            _ => assert!(matches!(code, Some(2 | 3)), "alone, {why}: {code:?} {said}"),
        }
        let (code, told, said) = answer(verbs[at], &library);
        assert_eq!(code, Some(0), "{why}, {:?}: {said}", verbs[at]);
        assert_eq!(told, expected[at], "{why}, {:?}: {said}", verbs[at]);
        let compiled = fixture.run(&["compile", "library"]);
        assert_eq!(compiled.status.code(), Some(0), "{why}: {}", err(&compiled));
        for (verb, expected) in verbs.iter().zip(&expected) {
            let (code, told, said) = answer(verb, &library);
            assert_eq!((code, &told), (Some(0), expected), "{why}, {verb:?}: {said}");
        }
        let (code, _, said) = answer(verbs[0], &library);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{why}: it is healed");
        let now = ["pages", "ledger"].map(|log| kept(&atlas.join("kept"), log));
        let is_there = |(records, now): (&BTreeSet<_>, &BTreeSet<_>)| records.is_subset(now);
        assert!(records.iter().zip(&now).all(is_there), "{why}: what was kept is lost");
    }
    let kinds: Vec<usize> = seen.values().copied().collect();
    eprintln!("damage: {} of {} kinds and files", kinds.len(), names.len() * 5);
}
