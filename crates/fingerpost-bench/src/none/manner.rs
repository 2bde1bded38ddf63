//! What does a request sound like that a skill is for, learned without the fold that is asked about?
//!
//! A linear model over the buckets of `fingerpost::route::none::manner`, trained on requests that people of many
//! trades might type (`examples/none/written.jsonl`) and on the judged requests of the folds. Where a fold is
//! reported, its requests were not trained on; and where a rule is fitted to another fold, that fold's
//! were not either, or it would trust a sign that has seen the answers; nor were those of the fold that a
//! foreign request comes from. So there is a table for each three folds.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use fingerpost::library::read_unpacked;
use fingerpost::route::none::manner::{BUCKETS, Manner, buckets};
use rayon::prelude::*;
use serde::Deserialize;

use crate::folds::{AGAIN, Fold, Opened};

/// Judged requests of a fold at most.
const OF_A_FOLD: usize = 600;

/// What they count together, in written requests.
const FOLD_COUNTS: f64 = 150.0;

/// How much errors count against large weights.
const ERRORS: f64 = 3.0;

/// Passes over all requests; after a dozen little moves.
const PASSES: usize = 40;

/// A request that somebody wrote for this.
#[derive(Debug, Clone, Deserialize)]
struct Written {
    kind: Sort,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sort {
    Skill,
    None,
}

struct Example {
    buckets: Vec<u16>,
    /// 1 for a skill, −1 for none.
    side: f64,
    counts: f64,
}

/// Tables, by the folds that they have not seen, up to three in the order of all; and all of these.
pub(super) struct Manners(BTreeMap<Vec<&'static str>, Manner>, Vec<&'static str>);

impl Manners {
    /// Trains all that are needed.
    pub(super) fn train(written: &Path, opened: &[Opened]) -> anyhow::Result<Self> {
        let written = read(written)?;
        let folds = folds(opened);
        // All sets of up to three folds, each in the order of the folds.
        let mut unseen: Vec<Vec<&'static str>> = vec![Vec::new()];
        for (name, _) in &folds {
            let smaller = unseen.iter().filter(|folds| folds.len() < 3);
            let larger: Vec<_> = smaller.map(|folds| [&folds[..], &[*name]].concat()).collect();
            unseen.extend(larger);
        }
        let table = |unseen: Vec<&'static str>| {
            let judged = folds.iter().filter(|(name, _)| !unseen.contains(name));
            let examples: Vec<&Example> =
                written.iter().chain(judged.flat_map(|(_, examples)| examples)).collect();
            let (bias, weights) = train(&examples);
            (unseen, Manner::new(bias, &weights))
        };
        let names = folds.iter().map(|(name, _)| *name).collect();
        Ok(Self(unseen.into_par_iter().map(table).collect(), names))
    }

    /// The table that has seen none of these.
    pub(super) fn without(&self, folds: [&Fold; 3]) -> &Manner {
        let mut names: Vec<&'static str> = self.1.clone();
        names.retain(|name| folds.iter().any(|fold| fold.name == *name));
        &self.0[&names]
    }

    /// The one that has seen all: that of the program.
    pub(super) fn of_all(&self) -> &Manner {
        &self.0[&Vec::new()]
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<Example>> {
    let text = read_unpacked(file)?;
    let mut written: Vec<Written> = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')).filter(|(_, line)| !line.is_empty()) {
        let one = serde_json::from_str(line);
        written.push(one.with_context(|| format!("{}, line {number}", file.display()))?);
    }
    let (skills, none): (Vec<&Written>, Vec<&Written>) =
        written.iter().partition(|written| written.kind == Sort::Skill);
    // Judged requests are all for skills, so those for none count more, and both sides weigh alike
    // where six folds are seen.
    let example = |written: &&Written, side: f64, counts| Example {
        buckets: buckets(&written.text),
        side,
        counts,
    };
    let for_none = (skills.len() as f64 + 6.0 * FOLD_COUNTS) / none.len().max(1) as f64;
    let skills = skills.iter().map(|written| example(written, 1.0, 1.0));
    Ok(skills.chain(none.iter().map(|written| example(written, -1.0, for_none))).collect())
}

/// The folds with some of their requests, each request once.
fn folds(opened: &[Opened]) -> Vec<(&'static str, Vec<Example>)> {
    let mut folds: Vec<(&'static str, BTreeMap<[u8; 32], &str>)> = Vec::new();
    for opened in opened.iter().filter(|opened| !AGAIN.contains(&opened.judged.name.as_str())) {
        let name = opened.fold.name;
        if folds.last().is_none_or(|(last, _)| *last != name) {
            folds.push((name, BTreeMap::new()));
        }
        let (_, drawn) = folds.last_mut().expect("one was just pushed");
        for query in &opened.judged.queries {
            if opened.judged.is_answerable(query) {
                let hash = blake3::hash(format!("manner:{}", query.text).as_bytes());
                drawn.insert(*hash.as_bytes(), &query.text);
            }
        }
    }
    let some = folds.into_iter().map(|(name, drawn)| {
        let texts: Vec<&str> = drawn.into_values().take(OF_A_FOLD).collect();
        let counts = FOLD_COUNTS / texts.len().max(1) as f64;
        let example = |text: &&str| Example { buckets: buckets(text), side: 1.0, counts };
        (name, texts.iter().map(example).collect())
    });
    some.collect()
}

/// The linear model with the smallest squared hinge loss and weights, by dual coordinate descent.
fn train(examples: &[&Example]) -> (f64, Vec<f64>) {
    let mut weights = vec![0.0; BUCKETS];
    let mut bias = 0.0;
    let mut pulls = vec![0.0; examples.len()];
    // In an order that has nothing to do with theirs, and is always the same.
    let mut order: Vec<usize> = (0..examples.len()).collect();
    order.sort_by_key(|&at| *blake3::hash(&(at as u64).to_le_bytes()).as_bytes());
    for _ in 0..PASSES {
        for &at in &order {
            let Example { buckets, side, counts } = examples[at];
            if buckets.is_empty() {
                continue;
            }
            // All features of a request together have the length 1, and the bias is one more.
            let scale = 1.0 / (buckets.len() as f64).sqrt();
            let sum: f64 = buckets.iter().map(|&bucket| weights[bucket as usize]).sum();
            let slack = 1.0 / (2.0 * ERRORS * counts);
            let gradient = side * (bias + scale * sum) - 1.0 + slack * pulls[at];
            let pull = f64::max(0.0, pulls[at] - gradient / (2.0 + slack));
            let step = side * (pull - pulls[at]);
            pulls[at] = pull;
            if step != 0.0 {
                bias += step;
                buckets.iter().for_each(|&bucket| weights[bucket as usize] += step * scale);
            }
        }
    }
    (bias, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told_apart() {
        let written =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/none/written.jsonl");
        let examples = read(&written).unwrap();
        let (seen, kept): (Vec<_>, Vec<_>) =
            examples.iter().enumerate().partition(|(at, _)| at % 5 != 0);
        let seen: Vec<&Example> = seen.into_iter().map(|(_, example)| example).collect();
        let (bias, weights) = train(&seen);
        let manner = Manner::new(bias, &weights);
        let is_right = |(_, example): &&(usize, &Example)| {
            manner.of_buckets(&example.buckets) * example.side > 0.0
        };
        let right = kept.iter().filter(is_right).count();
        assert!(right * 100 > kept.len() * 80, "{right} of {}", kept.len());
    }
}
