//! Every gold answer of the real data, judged by itself and by another one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use fingerpost_lab::judge::{Judge, Verdict, judge};
use serde_json::Value;

/// Other records of the same kind that each gold is compared with.
const OTHERS: usize = 40;

/// Share of pairs that a judge has to tell apart.
const TOLD_APART: f64 = 0.95;

#[test]
fn golds_are_right_and_others_are_wrong() {
    let Some(folder) = folder() else { return };
    let datasets: BTreeMap<String, String> = lines(&folder.join("queries.jsonl.zst"))
        .into_iter()
        .map(|query| (text(&query, "id"), text(&query, "dataset")))
        .collect();
    let mut kinds: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for record in lines(&folder.join("answers.jsonl.zst")) {
        let dataset = &datasets[&text(&record, "id")];
        if Judge::of(dataset) != Some(Judge::BigCodeBench) {
            let gold = &record["eval_data"];
            let kind = ["answer_type", "task_type", "output_type"]
                .iter()
                .find_map(|field| gold[*field].as_str());
            let kind = (dataset.clone(), kind.unwrap_or("any").to_owned());
            kinds.entry(kind).or_default().push(gold.clone());
        }
    }
    let mut table = String::new();
    let mut failed = Vec::new();
    for ((dataset, kind), golds) in &kinds {
        let by = Judge::of(dataset).expect("a known data set");
        let own = golds.iter().filter(|gold| {
            let verdict = verdict(by, gold, gold);
            let right = verdict == Verdict::Right;
            if !right {
                failed.push(format!(
                    "{dataset}: {} is not judged right: {verdict:?}",
                    gold["answer"]
                ));
            }
            right
        });
        let own = own.count();
        let (mut pairs, mut wrong) = (0usize, 0usize);
        for (at, gold) in golds.iter().enumerate() {
            // Spread over all records, since neighbors are often of one subject.
            for step in 1..=OTHERS.min(golds.len() - 1) {
                let other = &golds[(at + step * step + step) % golds.len()];
                if says(other) != says(gold) {
                    pairs += 1;
                    wrong += usize::from(verdict(by, gold, other) != Verdict::Right);
                }
            }
        }
        let share = wrong as f64 / pairs.max(1) as f64;
        table.push_str(&format!(
            "{dataset} {kind}: {own} of {} right, {wrong} of {pairs} pairs wrong\n",
            golds.len()
        ));
        if share < TOLD_APART {
            failed.push(format!("{dataset} {kind}: only {wrong} of {pairs} pairs are told apart"));
        }
    }
    say(&table);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(kinds.values().map(Vec::len).sum::<usize>(), 4260);
}

/// What the judge of `gold` says of another gold, told as a model would.
fn verdict(by: Judge, gold: &Value, other: &Value) -> Verdict {
    let answer = format!("The answer is {}.", text(other, "answer"));
    judge(by, gold, &answer).unwrap_or_else(|error| panic!("{gold}: {error}"))
}

/// A gold without the words around its number or its "no": "0", "0 roots" and "0 is the only possible value"
/// do not differ, nor do "No" and "No integer solutions".
fn says(gold: &Value) -> String {
    let answer = text(gold, "answer");
    let first = answer.split_whitespace().next().unwrap_or("");
    let is_number = !first.is_empty()
        && first.trim_start_matches('-').chars().all(|letter| letter.is_ascii_digit());
    if is_number || first == "No" { first.to_owned() } else { answer }
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("no text {field} in {value}")).to_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    let mut decoder = zstd::Decoder::new(file).expect("a compressed file");
    decoder.read_to_string(&mut text).expect("readable text");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

/// The real data, or `None` after saying that the test is skipped.
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("FINGERPOST_DATA").map_or_else(beside, PathBuf::from).join("sra");
    if folder.is_dir() {
        return Some(folder);
    }
    say("SKIPPED: no real data 'sra' (set FINGERPOST_DATA to its folder)\n");
    None
}

/// Written past the test runner's capture: a skipped test must not look like a passed one.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
