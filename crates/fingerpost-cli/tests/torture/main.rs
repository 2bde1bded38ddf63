//! What no test that must be quick can show: kills at any moment of every verb that writes, damage to
//! any file, and readers beside a library that does not keep still. Run by `cargo xtask torture`.
//!
//! After a kill everything is looked at by reading only: the atlas by itself, without its library,
//! so that nobody could make it good again, and the files of what is kept as they lie there.

#![expect(clippy::print_stderr, reason = "whoever runs it wants to hear what it did")]

#[path = "../../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
mod damage;
#[path = "../folder/mod.rs"]
mod folder;
mod kills;
mod readers;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

use folder::{err, files};
use serde_json::{Value, json};

fn rounds() -> usize {
    let given = std::env::var("FINGERPOST_TORTURE_ROUNDS").ok();
    given.map_or(300, |given| given.parse().expect("FINGERPOST_TORTURE_ROUNDS is a number"))
}

/// Numbers that look random, the same after the same seed.
struct Dice(u64);

impl Dice {
    fn new(part: &str) -> Self {
        let given = std::env::var("FINGERPOST_TORTURE_SEED").ok();
        let seed = given.map_or_else(
            || {
                SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
                    % 1_000_000_007
            },
            |given| given.parse().expect("FINGERPOST_TORTURE_SEED is a number"),
        );
        eprintln!("{part}: FINGERPOST_TORTURE_SEED={seed}");
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

const REQUESTS: [&str; 4] = [
    "monthly payment of a loan",
    "QT 380 at 72 bpm, correct it with the square root",
    "what does the loan cost a year with all fees",
    "add 1.75 ms per beat above 60",
];

/// Records of what is kept, each with its number, as they lie in either copy: lines that are whole.
fn kept(folder: &Path, log: &str) -> BTreeSet<(u64, String)> {
    let mut records = BTreeSet::new();
    for end in ["log", "copy"] {
        let text = fs::read(folder.join(format!("{log}.{end}"))).unwrap_or_default();
        for line in text.split(|&byte| byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let mut parts = line.splitn(3, ' ').skip(1);
            let number = parts.next().and_then(|number| number.parse().ok());
            let is_whole = |json: &&str| serde_json::from_str::<Value>(json).is_ok();
            let record = parts.next().filter(is_whole).map(str::to_owned);
            records.extend(number.zip(record));
        }
    }
    records
}

fn parsed(record: &str) -> Value {
    serde_json::from_str(record).unwrap()
}

fn whole(output: &Output, what: &str) {
    let said = err(output);
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {:?} {said}", output.status);
}

/// What an answer says, without of which state it is.
fn told(answer: &Value) -> Value {
    json!([answer["decision"], answer["skill"], answer["hits"]])
}

fn size(folder: &Path) -> usize {
    files(folder).values().map(Vec::len).sum()
}
