//! How is this library searched, and how far can vectors be trusted beside words?
//!
//! Words are read the same way in every library: as they are, each field once. Nobody has judged requests
//! for a new library, but every skill holds a known item: the first sentence of its description is a
//! request, and the skill without that sentence is what should be found. This tells a model that does not
//! speak the library's language, or knows none of its words, from one that does: it is left out of the
//! fusion. It does not tell more. What known items said about endings of words, and about what a name or a
//! description is worth, agreed with judged requests no oftener than chance would (docs/decisions/words-as-they-are.md).

use serde::{Deserialize, Serialize};

use super::{FUSED_DEPTH, Retriever};
use crate::embedding::{EmbedError, Embedder, Role};
use crate::index::fusion::reciprocal_ranks;
use crate::index::{Hit, Scratch, SparseConfig, SparseIndex, Zeros, nearest};
use crate::library::Library;
use crate::numbers::tuning::{DENSE, DEPTH, ENOUGH, ITEMS, SEARCHED, USELESS};
use crate::page::Pages;
use crate::skill::Skill;
use crate::text::{Tokenizer, first_sentence};
use crate::view::{ClusteringText, FieldWeights, View, clustering_text, document};

/// How a library is searched where nobody says otherwise, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// BM25, or that and vectors.
    pub retriever: Retriever,
    /// Words as they are; libraries compiled by earlier versions may have others.
    pub tokenizer: Tokenizer,
    /// What each field counts: once.
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
    /// Words alone: what holds where nothing was tested.
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
        let is_useless = |found: f64| found < USELESS * best;
        let sparse = if is_useless(sparse_found) { 0.0 } else { 1.0 };
        // Who finds nothing where nothing is found has not shown that it is of use.
        let dense = if is_useless(dense_found) || dense_found == 0.0 { 0.0 } else { DENSE };
        Trust { sparse, dense, sparse_found, dense_found, tested }
    }
}

/// What suits a library, by its own known items. `embedder` makes what embeds a library of these
/// texts: vectors fitted to a text with the request in it would know the answer.
pub fn tune<E: Embedder>(
    library: &Library,
    clustering: ClusteringText,
    embedder: impl FnOnce(&[String]) -> E,
) -> Result<Tuning, EmbedError> {
    let test = Test::of(library);
    let mut tuning = Tuning::default();
    if test.items.len() < 2 {
        return Ok(tuning);
    }
    let skills = test.library.skills().iter();
    let texts: Vec<String> = skills.map(|skill| clustering_text(skill, clustering)).collect();
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
        let trial = Trial {
            change: "vectors beside the words".to_owned(),
            found: mean(&fused),
            before: mean(&sparse),
            taken: beside > 0.0,
        };
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
    use crate::embedding::{Pooling, Profile, Vectors};
    use crate::page::name::tests::skill;

    #[test]
    fn a_useless_retriever_gets_no_weight() {
        let weights = |sparse, dense| {
            let trust = Trust::of(sparse, dense, 100);
            (trust.sparse, trust.dense)
        };
        assert_eq!(weights(0.8, 0.02), (1.0, 0.0));
        assert_eq!(weights(0.8, 0.8), (1.0, 0.5));
        assert_eq!(weights(0.8, 0.4), (1.0, 0.5));
        assert_eq!(weights(0.02, 0.8), (0.0, 0.5));
        // A library without a single known item says nothing against words, and nothing for vectors.
        assert_eq!(weights(0.0, 0.0), (1.0, 0.0));
    }

    /// Embeds the letters of a text, or nothing of it.
    struct Letters {
        profile: Profile,
        reads: bool,
    }

    impl Embedder for Letters {
        fn profile(&self) -> &Profile {
            &self.profile
        }

        fn embed(&self, texts: &[&str], _: Role) -> Result<Vectors, EmbedError> {
            let count = |text: &str| -> Vec<f32> {
                let letter = |letter: u8| text.bytes().filter(|&b| b == letter).count() as f32;
                (b'a'..=b'z').map(|at| if self.reads { letter(at) } else { 1.0 }).collect()
            };
            Ok(Vectors::new(26, texts.iter().flat_map(|text| count(text)).collect()))
        }
    }

    #[test]
    fn vectors_count_where_they_find_the_library_and_words_are_as_they_are() {
        let skills = (b'a'..=b'z').map(|letter| {
            let word = String::from_utf8(vec![letter; 6]).unwrap();
            let description = format!("{word} {word}.");
            let content = format!("{word} {}", "-".repeat(80));
            skill(&word, "x", &description, &content)
        });
        let library = Library::from_skills(skills.collect()).value;
        let tuned = |reads: bool| {
            let profile = Profile {
                name: "letters".into(),
                engine: String::new(),
                weights: String::new(),
                dimensions: 26,
                max_tokens: 100,
                pooling: Pooling::Mean,
                query_prefix: String::new(),
                document_prefix: String::new(),
            };
            tune(&library, ClusteringText::default(), |_| Letters { profile, reads }).unwrap()
        };
        let [reads, does_not] = [true, false].map(tuned);
        assert_eq!((reads.retriever, reads.trust.dense), (Retriever::Hybrid, DENSE));
        assert_eq!((does_not.retriever, does_not.trust.dense), (Retriever::Bm25, 0.0));
        assert!(reads.trials[0].taken && !does_not.trials[0].taken);
        for tuning in [reads, does_not] {
            let plain = SparseConfig { view: View::Full, ..SparseConfig::default() };
            assert_eq!(tuning.config(View::Full), plain);
        }
    }
}
