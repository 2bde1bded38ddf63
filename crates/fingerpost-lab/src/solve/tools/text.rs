//! Which paragraphs speak of some words?
//!
//! A paragraph scores by the words of the search that it has, rare ones more; of equals the shorter one is first.

use std::collections::BTreeSet;

use super::ToolData;

/// Paragraphs that are shown.
const PARAGRAPHS: usize = 3;

pub(super) fn search(data: &ToolData, input: &str) -> Result<String, String> {
    let wanted = words(input);
    if wanted.is_empty() {
        return Err("name some words to look for".to_owned());
    }
    let mut paragraphs = Vec::new();
    for file in data.ending("txt") {
        let text = file.read()?;
        let some = text.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
        paragraphs.extend(some.map(|text| (file.name.clone(), text.to_owned(), words(text))));
    }
    let all = paragraphs.len() as f64;
    let weight = |word: &String| {
        let having = paragraphs.iter().filter(|(.., words)| words.contains(word)).count();
        (1.0 + all / (1.0 + having as f64)).ln()
    };
    let weights: Vec<(&String, f64)> = wanted.iter().map(|word| (word, weight(word))).collect();
    let score = |words: &BTreeSet<String>| -> f64 {
        weights.iter().filter(|(word, _)| words.contains(*word)).map(|(_, weight)| weight).sum()
    };
    let mut found: Vec<(f64, &String, &String)> = paragraphs
        .iter()
        .map(|(name, text, words)| (score(words), name, text))
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    found.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then(a.2.len().cmp(&b.2.len()))
            .then_with(|| (a.1, a.2).cmp(&(b.1, b.2)))
    });
    if found.is_empty() {
        return Err("no paragraph has any of these words".to_owned());
    }
    let shown = found.iter().take(PARAGRAPHS).map(|(_, name, text)| format!("[{name}] {text}"));
    Ok(shown.collect::<Vec<_>>().join("\n\n"))
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 1);
    words.map(str::to_lowercase).collect()
}
