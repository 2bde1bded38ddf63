//! Which way of searching suits this library?
//!
//! Nobody has judged requests for a new library, but every skill holds a known item: the first
//! sentence of its description is a request, and the skill without that sentence is what should be
//! found. This tells whether endings of words matter here, what a name is worth beside the text,
//! and how far vectors can be trusted: a model that does not speak the library's language, or knows
//! none of its words, fails the test and is left out of the fusion.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{FUSED_DEPTH, Retriever};
use crate::embedding::{EmbedError, Embedder, Role};
use crate::index::fusion::reciprocal_ranks;
use crate::index::{Hit, Scratch, SparseConfig, SparseIndex, Zeros, nearest};
use crate::library::Library;
use crate::numbers::tuning::{BETTER, COST, DENSE, DEPTH, ENOUGH, ITEMS, SEARCHED, USELESS};
use crate::page::Pages;
use crate::skill::Skill;
use crate::text::{Tokenizer, first_sentence};
use crate::view::{FieldWeights, View, clustering_text, document};

/// How a library is searched where nobody says otherwise, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// BM25, or that and vectors.
    pub retriever: Retriever,
    /// Words as they are, or without their endings.
    pub tokenizer: Tokenizer,
    /// What each field counts.
    pub fields: FieldWeights,
    /// What each side counts in a fusion.
    pub trust: Trust,
    /// What was tried, in order.
    pub trials: Vec<Trial>,
}

/// What each retriever counts in a fusion, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// Weight of the sparse ranking.
    pub sparse: f64,
    /// Weight of the dense one.
    pub dense: f64,
    /// Mean reciprocal rank of each in the test.
    pub sparse_found: f64,
    /// See [`Trust::sparse_found`].
    pub dense_found: f64,
    /// Skills tested.
    pub tested: usize,
}

/// One way of searching that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What was changed.
    pub change: String,
    /// Mean reciprocal rank of the known items with it, ...
    pub found: f64,
    /// ... and without.
    pub before: f64,
    /// Is it the way the library is searched now?
    pub taken: bool,
}

impl Default for Tuning {
    /// Words as they are: what holds where nothing was tested.
    fn default() -> Self {
        Self {
            retriever: Retriever::Bm25,
            tokenizer: Tokenizer::Auto,
            fields: FieldWeights::default(),
            trust: Trust::SPARSE,
            trials: Vec::new(),
        }
    }
}

impl Trust {
    /// Sparse alone, where there is no dense side or nothing to test.
    pub const SPARSE: Trust =
        Trust { sparse: 1.0, dense: 0.0, sparse_found: 0.0, dense_found: 0.0, tested: 0 };

    fn of(sparse_found: f64, dense_found: f64, tested: usize) -> Self {
        let best = sparse_found.max(dense_found);
        // Squared: a retriever that finds half as much counts a quarter.
        let weight = |found: f64| {
            if best == 0.0 || found < USELESS * best { 0.0 } else { (found / best).powi(2) }
        };
        let (sparse, dense) = (weight(sparse_found), DENSE * weight(dense_found));
        // A library without a single known item says nothing against words.
        let sparse = if best == 0.0 { 1.0 } else { sparse };
        Trust { sparse, dense, sparse_found, dense_found, tested }
    }
}

/// A way of searching by terms that may be better than the one before it.
struct Change {
    name: &'static str,
    make: fn(&mut Tuning),
}

/// Tried one after the other, each on top of those taken.
const CHANGES: [Change; 3] = [
    Change {
        name: "words without their endings",
        make: |tuning| tuning.tokenizer = Tokenizer::Stems,
    },
    Change { name: "the name four times", make: |tuning| tuning.fields.name = 4 },
    Change { name: "the description twice", make: |tuning| tuning.fields.description = 2 },
];

/// What suits a library, by its own known items. `embedder` makes what embeds a library of these
/// texts: vectors fitted to a text with the request in it would know the answer.
pub fn tune<E: Embedder>(
    library: &Library,
    embedder: impl FnOnce(&[String]) -> E,
) -> Result<Tuning, EmbedError> {
    let test = Test::of(library);
    let mut tuning = Tuning::default();
    if test.items.len() < 2 {
        return Ok(tuning);
    }
    let mut best = test.by_terms(tuning.config(View::Raw));
    for change in CHANGES {
        let mut changed = tuning.clone();
        (change.make)(&mut changed);
        let found = test.by_terms(changed.config(View::Raw));
        let trial = Trial::of(change.name, &found, &best);
        if trial.taken {
            (tuning, best) = (changed, found);
        }
        tuning.trials.push(trial);
    }
    let texts: Vec<String> = test.library.skills().iter().map(clustering_text).collect();
    test.fuse(&mut tuning, &embedder(&texts))?;
    Ok(tuning)
}

impl Tuning {
    /// The index of terms that suits the library.
    pub fn config(&self, view: View) -> SparseConfig {
        let Tuning { tokenizer, fields, .. } = *self;
        SparseConfig { tokenizer, fields, view, ..SparseConfig::default() }
    }
}

impl Trial {
    fn of(change: &str, found: &[f64], before: &[f64]) -> Self {
        let n = found.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
        let differences: Vec<f64> = found.iter().zip(before).map(|(a, b)| a - b).collect();
        let gain = mean(&differences);
        let squares: f64 = differences.iter().map(|difference| (difference - gain).powi(2)).sum();
        let error = (squares / (n - 1.0) / n).sqrt();
        Self {
            change: change.to_owned(),
            found: mean(found),
            before: mean(before),
            taken: gain > BETTER * error,
        }
    }
}

/// Skills, some of them without the sentence that asks for them.
struct Test {
    library: Library,
    items: Vec<Item>,
}

struct Item {
    request: String,
    skill: Skill,
}

impl Test {
    fn of(library: &Library) -> Self {
        let all = library.skills();
        let searched: Vec<&Skill> =
            all.iter().step_by(all.len().div_ceil(SEARCHED).max(1)).collect();
        let step = searched.len().div_ceil(ITEMS).max(1);
        let mut items = Vec::new();
        let mut skills = Vec::with_capacity(searched.len());
        for (at, skill) in searched.into_iter().enumerate() {
            match known_item(skill).filter(|_| at % step == 0) {
                Some(item) => {
                    skills.push(item.skill.clone());
                    items.push(item);
                }
                None => skills.push(skill.clone()),
            }
        }
        Self { library: Library::from_skills(skills).value, items }
    }

    /// The reciprocal rank of each item among all skills, by terms.
    fn by_terms(&self, config: SparseConfig) -> Vec<f64> {
        let index = SparseIndex::build(&self.library, &Pages::default(), &config);
        self.items
            .par_iter()
            .map_init(Scratch::default, |scratch, item| {
                let hits = index.search(&item.request, DEPTH, Zeros::Dropped, scratch);
                rank(&hits.expect("an index just built is sound"), &self.library, item)
            })
            .collect()
    }

    /// What vectors are worth beside the terms, among the items alone: models can be slow.
    fn fuse(&self, tuning: &mut Tuning, embedder: &dyn Embedder) -> Result<(), EmbedError> {
        let items = self.items.iter().map(|item| item.skill.clone()).collect();
        let library = Library::from_skills(items).value;
        let index = SparseIndex::build(&library, &Pages::default(), &tuning.config(View::Raw));
        let texts: Vec<String> = library.skills().iter().map(document).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let documents = embedder.embed(&texts, Role::Document)?;
        let requests: Vec<&str> = self.items.iter().map(|item| item.request.as_str()).collect();
        let vectors = embedder.embed(&requests, Role::Query)?;
        let mut scratch = Scratch::default();
        let mut ranks: [Vec<f64>; 2] = Default::default();
        let mut lists = Vec::with_capacity(self.items.len());
        for (item, vector) in self.items.iter().zip(vectors.rows()) {
            let sparse = index.search(&item.request, FUSED_DEPTH, Zeros::Dropped, &mut scratch);
            let sparse = sparse.expect("an index just built is sound");
            let dense = nearest(&documents, vector, FUSED_DEPTH);
            for (ranks, hits) in ranks.iter_mut().zip([&sparse, &dense]) {
                ranks.push(rank(&hits[..hits.len().min(DEPTH)], &library, item));
            }
            lists.push((item, sparse, dense));
        }
        let [sparse, dense] = ranks;
        let mean = |ranks: &[f64]| ranks.iter().sum::<f64>() / ranks.len() as f64;
        tuning.trust = Trust::of(mean(&sparse), mean(&dense), self.items.len());
        let Trust { sparse: words, dense: beside, .. } = tuning.trust;
        let fused = lists.iter().map(|(item, sparse, dense)| {
            let hits = reciprocal_ranks(&[(words, sparse), (beside, dense)], DEPTH);
            rank(&hits, &library, item)
        });
        let fused: Vec<f64> = fused.collect();
        let mut trial = Trial::of("vectors beside the words", &fused, &sparse);
        trial.taken = tuning.trust.dense > 0.0 && trial.found > trial.before - COST;
        if trial.taken {
            tuning.retriever = Retriever::Hybrid;
        }
        tuning.trials.push(trial);
        Ok(())
    }
}

fn rank(hits: &[Hit], library: &Library, item: &Item) -> f64 {
    let own = library.find(item.skill.id.as_str());
    let at = hits.iter().position(|hit| Some(hit.skill) == own);
    at.map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

/// A request and the skill that should be found by it: the first sentence of its description, and
/// the skill without it; where there is little else, the second half of the description and the
/// first.
fn known_item(skill: &Skill) -> Option<Item> {
    let first = first_sentence(&skill.description);
    let after = &skill.description[first.len()..];
    let mut rest = skill.clone();
    if !first.trim().is_empty() && after.len() + skill.content.len() >= ENOUGH {
        rest.description = after.to_owned();
        return Some(Item { request: first.to_owned(), skill: rest });
    }
    let half = skill.description.chars().count() / 2;
    let (at, _) = skill
        .description
        .char_indices()
        .skip(half)
        .find(|(_, c)| c.is_whitespace() || !c.is_ascii())?;
    let request = skill.description[at..].trim().to_owned();
    rest.description.truncate(at);
    // The name is what a request would be found by alone.
    rest.name.clear();
    (half >= 15 && !request.is_empty()).then_some(Item { request, skill: rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::name::tests::skill;

    #[test]
    fn a_useless_retriever_gets_no_weight() {
        let weights = |sparse, dense| {
            let trust = Trust::of(sparse, dense, 100);
            (trust.sparse, trust.dense)
        };
        assert_eq!(weights(0.8, 0.02), (1.0, 0.0));
        assert_eq!(weights(0.8, 0.8), (1.0, 0.5));
        assert_eq!(weights(0.4, 0.8), (0.25, 0.5));
        assert_eq!(weights(0.02, 0.8), (0.0, 0.5));
        assert_eq!(Trust::of(0.0, 0.0, 100).sparse, 1.0);
    }

    #[test]
    fn what_chance_could_have_done_is_not_taken() {
        let trial = |found: &[f64]| Trial::of("x", found, &[0.5; 6]).taken;
        assert!(trial(&[0.6; 6]));
        assert!(!trial(&[0.5; 6]));
        assert!(!trial(&[1.0, 0.1, 0.5, 0.5, 0.5, 0.5]));
        assert!(!trial(&[0.4; 6]));
    }

    #[test]
    fn words_without_endings_find_what_has_others() {
        let stems = [
            "convert", "count", "sort", "group", "print", "sign", "scann", "format", "install",
            "redact", "export", "import",
        ];
        let skills = stems.iter().enumerate().map(|(n, stem)| {
            let description = format!("{stem}ing for the team.");
            let content = format!("The team has it {stem}ed as asked. {}", "-".repeat(80));
            skill(&format!("s{n:02}"), "x", &description, &content)
        });
        let library = Library::from_skills(skills.collect()).value;
        let test = Test::of(&library);
        let stemmed = Tuning { tokenizer: Tokenizer::Stems, ..Tuning::default() };
        let found = |tuning: &Tuning| test.by_terms(tuning.config(View::Raw)).iter().sum::<f64>();
        assert_eq!(found(&stemmed), 12.0);
        assert!(found(&Tuning::default()) < 6.0);
    }
}
