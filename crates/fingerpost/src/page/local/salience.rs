//! Which terms of a skill count, and which set it apart from its neighbors?
//!
//! All figures are of one neighborhood: a page may depend on nothing else, or a change elsewhere
//! would have to rewrite it. How rare a term is in general is not known here; words that every text
//! has are listed, and beyond that its shape must do.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::index::vocabulary::Vocabulary;
use crate::page::language::is_han;
use crate::text::{Tokenizer, for_each_term};

/// How quickly repetition stops to count.
const SATURATION: f64 = 1.2;

/// The terms of a neighborhood, with their weights in each member.
pub(super) struct Salience {
    vocabulary: Vocabulary,
    /// By member and term.
    weights: Vec<Vec<f64>>,
    /// How many members have a term.
    holders: Vec<u32>,
}

impl Salience {
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut weights: Vec<Vec<f64>> = Vec::new();
        for text in texts {
            let mut counts: Vec<f64> = vec![0.0; vocabulary.len()];
            for_each_term(text, Tokenizer::Auto, |term| {
                let number = vocabulary.number(term) as usize;
                if number >= counts.len() {
                    counts.resize(number + 1, 0.0);
                }
                counts[number] += 1.0;
            });
            weights.push(counts);
        }
        let worth: Vec<f64> = vocabulary.iter().map(worth).collect();
        let mut holders = vec![0; vocabulary.len()];
        for weights in &mut weights {
            weights.resize(vocabulary.len(), 0.0);
            for (term, weight) in weights.iter_mut().enumerate() {
                holders[term] += u32::from(*weight > 0.0);
                *weight = *weight / (*weight + SATURATION) * worth[term];
            }
        }
        Self { vocabulary, weights, holders }
    }

    /// The distinct terms of a text that the neighborhood knows, in order.
    pub(super) fn terms(&self, text: &str) -> Vec<u32> {
        let mut terms = Vec::new();
        for_each_term(text, Tokenizer::Auto, |term| {
            if let Some(term) = self.vocabulary.get(term)
                && !terms.contains(&term)
            {
                terms.push(term);
            }
        });
        terms
    }

    /// How much a term speaks for this member rather than for the others.
    pub(super) fn separation(&self, member: usize, term: u32) -> f64 {
        self.weights[member][term as usize] * self.rarity(term as usize)
    }

    /// 1 for a term of one member, near 0 for one of all.
    fn rarity(&self, term: usize) -> f64 {
        let members = self.weights.len() as f64;
        let holders = f64::from(self.holders[term].max(1));
        if members > 1.0 {
            (((members + 0.5) / holders).ln() / (members + 0.5).ln()).max(0.0)
        } else {
            1.0
        }
    }

    /// How much a term speaks for `member` rather than for `other`.
    pub(super) fn against(&self, member: usize, other: usize, term: u32) -> f64 {
        (self.weights[member][term as usize] - self.weights[other][term as usize]).max(0.0)
    }

    /// How much a term counts in a member.
    pub(super) fn weight(&self, member: usize, term: u32) -> f64 {
        self.weights[member][term as usize]
    }

    /// Cosine of two members' weights. What all members say, the lines of a template say, sets none of them nearer.
    pub(super) fn similarity(&self, a: usize, b: usize) -> f64 {
        let counts = |term: usize| if self.weights.len() > 2 { self.rarity(term) } else { 1.0 };
        let dot = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).enumerate().map(|(term, (a, b))| a * b * counts(term)).sum::<f64>()
        };
        let (a, b) = (&self.weights[a], &self.weights[b]);
        let norm = (dot(a, a) * dot(b, b)).sqrt();
        if norm > 0.0 { dot(a, b) / norm } else { 0.0 }
    }

    /// The others, nearest first.
    pub(super) fn nearest(&self, member: usize) -> Vec<usize> {
        let mut others: Vec<(usize, f64)> = (0..self.weights.len())
            .filter(|&other| other != member)
            .map(|other| (other, self.similarity(member, other)))
            .collect();
        others.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        others.into_iter().map(|(other, _)| other).collect()
    }
}

/// What a term is worth in any library: common words nothing, usual ones, numbers and single letters
/// little, a long word more than a short one.
pub(crate) fn worth(term: &str) -> f64 {
    let length = term.chars().count();
    let first = term.chars().next().unwrap_or(' ');
    let shape = if is_han(first) {
        if length == 1 { 0.2 } else { 1.0 }
    } else if term.chars().all(char::is_numeric) {
        0.2
    } else if length == 1 {
        0.1
    } else {
        0.6 + 0.08 * length.min(10) as f64
    };
    match USUAL.get(term) {
        Some(Usual::Every) => 0.0,
        Some(Usual::Many) => 0.4 * shape,
        None => shape,
    }
}

/// Does every text have this word?
pub(crate) fn is_common(term: &str) -> bool {
    matches!(USUAL.get(term), Some(Usual::Every))
}

/// How many texts have a word, whatever they are about.
#[derive(Clone, Copy)]
enum Usual {
    Every,
    Many,
}

static USUAL: LazyLock<BTreeMap<&str, Usual>> = LazyLock::new(|| {
    let mut usual = BTreeMap::new();
    let (mut every, mut many) = (Vec::new(), Vec::new());
    let mut words = &mut every;
    for line in include_str!("usual.txt").lines().filter(|line| !line.starts_with('#')) {
        match line {
            "every" => {}
            "many" => words = &mut many,
            line => words.extend(line.split(' ')),
        }
    }
    usual.extend(many.into_iter().map(|word| (word, Usual::Many)));
    usual.extend(every.into_iter().map(|word| (word, Usual::Every)));
    usual
});
