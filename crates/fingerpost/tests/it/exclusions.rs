//! Does the rule for author-written exclusions find what people marked as such?

use std::collections::BTreeSet;

use fingerpost::exclusion::{exclusions, without_exclusions};
use fingerpost::library::read_unpacked;
use fingerpost::text::{Tokenizer, terms};

use crate::data;

#[derive(serde::Deserialize)]
struct Marked {
    description: Option<String>,
    negative: Vec<String>,
}

/// On descriptions of real skills: the share of the marked text that the rule finds, and of the
/// found text that is marked, counted in terms.
#[test]
fn real_descriptions() {
    let Some(folder) = data::folder("boundaries") else { return };
    let text = read_unpacked(&folder.join("natural.jsonl.zst")).unwrap();
    let (mut marked, mut found, mut both) = (0, 0, 0);
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        let skill: Marked = serde_json::from_str(line).unwrap();
        let description = skill.description.unwrap_or_default();
        let inside: Vec<&String> =
            skill.negative.iter().filter(|text| description.contains(text.trim())).collect();
        if inside.is_empty() {
            continue;
        }
        let set = |text: &str| terms(text, Tokenizer::Auto).into_iter().collect::<BTreeSet<_>>();
        let theirs = set(&inside.iter().map(|text| text.as_str()).collect::<Vec<_>>().join("\n"));
        let said: Vec<String> =
            exclusions(&description).into_iter().map(|found| found.said).collect();
        let ours = set(&said.join("\n"));
        marked += theirs.len();
        found += ours.len();
        both += theirs.intersection(&ours).count();
        assert!(without_exclusions(&description).len() <= description.len());
    }
    let recall = both as f64 / marked as f64;
    let precision = both as f64 / found as f64;
    assert!(recall > 0.9 && precision > 0.95, "recall {recall:.3}, precision {precision:.3}");
}

/// Sentences of many kinds that have the words of an exclusion and exclude nothing.
#[test]
fn what_excludes_nothing() {
    let taken: Vec<&str> = include_str!("exclusions/none.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !exclusions(line).is_empty())
        .collect();
    assert_eq!(taken, [""; 0]);
}
