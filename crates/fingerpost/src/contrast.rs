//! Which terms set two skills apart, and which do they share?
//!
//! A term's weight in a skill is its BM25 weight without the length: how often, saturated, times how
//! rare. What two skills share is what makes them look alike; what separates them is what a request
//! must be read for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::index::SparseIndex;
use crate::skill::Skill;
use crate::text::{Tokenizer, for_each_term};
use crate::view::document;

/// A term and how much it counts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WeightedTerm {
    /// The term.
    pub term: String,
    /// Its weight.
    pub weight: f64,
}

/// What two skills have in common, and what only one of them has.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Contrast {
    /// Terms of both, heaviest first.
    pub shared: Vec<WeightedTerm>,
    /// Terms that speak for the first and not for the second, by how much.
    pub first: Vec<WeightedTerm>,
    /// Terms that speak for the second.
    pub second: Vec<WeightedTerm>,
}

/// How quickly repetition of a term stops to count.
const SATURATION: f64 = 1.5;

/// Compares two skills of the library that `index` was built from.
pub fn contrast(first: &Skill, second: &Skill, index: &SparseIndex) -> Contrast {
    let (a, b) = (weights(first, index), weights(second, index));
    let mut contrast = Contrast { shared: vec![], first: vec![], second: vec![] };
    let terms: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for term in terms {
        let (in_a, in_b) = (a.get(term).copied(), b.get(term).copied());
        let weighted = |weight| WeightedTerm { term: term.clone(), weight };
        if let (Some(in_a), Some(in_b)) = (in_a, in_b) {
            contrast.shared.push(weighted(in_a.min(in_b)));
        }
        let more = in_a.unwrap_or(0.0) - in_b.unwrap_or(0.0);
        if more > 0.0 {
            contrast.first.push(weighted(more));
        } else if more < 0.0 {
            contrast.second.push(weighted(-more));
        }
    }
    for list in [&mut contrast.shared, &mut contrast.first, &mut contrast.second] {
        list.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
    }
    contrast
}

fn weights(skill: &Skill, index: &SparseIndex) -> BTreeMap<String, f64> {
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for_each_term(&document(skill), Tokenizer::Auto, |term| {
        *counts.entry(term.to_owned()).or_default() += 1.0;
    });
    let n = index.len() as f64;
    for (term, weight) in &mut counts {
        let df = f64::from(index.skills_with(term));
        let idf = ((n - df + 0.5) / (df + 0.5)).ln_1p();
        *weight = *weight * (SATURATION + 1.0) / (*weight + SATURATION) * idf;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::SparseConfig;
    use crate::library::{Library, LoadOptions, Root};
    use crate::page::Pages;

    #[test]
    fn bazett_and_fridericia_differ_by_their_root() {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library");
        let library = Library::load(&[Root::new(examples)], LoadOptions::default()).unwrap().value;
        let index = SparseIndex::build(&library, &Pages::default(), &SparseConfig::default());
        let skill = |name: &str| &library.skills()[library.find(name).unwrap().row()];
        let contrast = contrast(skill("qtc-bazett"), skill("qtc-fridericia"), &index);
        let top = |list: &[WeightedTerm]| -> Vec<String> {
            list.iter().take(12).map(|term| term.term.clone()).collect()
        };
        assert!(top(&contrast.shared).contains(&"qt".to_owned()), "{:?}", top(&contrast.shared));
        assert!(top(&contrast.first).contains(&"bazett".to_owned()), "{:?}", top(&contrast.first));
        let second = top(&contrast.second);
        assert!(
            second.contains(&"fridericia".to_owned()) && second.contains(&"cube".to_owned()),
            "{second:?}"
        );
    }
}
