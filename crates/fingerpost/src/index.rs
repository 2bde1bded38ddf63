//! Which skills share the request's terms, and how much does each count?
//!
//! BM25 and TF-IDF are one structure here. The weight of a term in a skill does not depend on the
//! request, so it is computed once, when the index is built; a search adds up, term by term, the
//! weights of the request's terms and keeps the best `k`. The index in memory and the file on disk
//! are the same bytes (`index/file.rs`), so opening one costs no rebuild.

mod asked;
mod build;
pub mod coarse;
mod dense;
mod dictionary;
mod file;
pub mod fusion;
mod lists;
mod model;
mod postings;
mod prefetch;
mod top_k;
pub(crate) mod vocabulary;

use std::collections::BTreeMap;
use std::fmt;

pub use asked::Asked;
pub use dense::{DenseIndex, embed_view, nearest};
pub use file::{FORMAT_VERSION, IndexError};
pub use model::{Bm25, Idf, SparseModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::dictionary::Lookup;
use self::file::Layout;
use self::lists::Lists;
use self::postings::{Keeping, SEGMENT};
use self::top_k::TopK;
use crate::library::Library;
use crate::numbers::index::MOST_IDLE;
use crate::page::Pages;
use crate::skill::SkillIdx;
use crate::store::Blob;
use crate::text::{Tokenizer, for_each_term, is_idle};
use crate::view::{Extent, FieldWeights, View};

/// Everything that decides what an index of a given library holds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SparseConfig {
    /// The weighting.
    pub model: SparseModel,
    /// How text becomes terms.
    pub tokenizer: Tokenizer,
    /// Which text of each skill is indexed.
    pub view: View,
    /// How much of document and page the view shows; indexes that do not say hold what is new.
    #[serde(default, skip_serializing_if = "Extent::is_usual")]
    pub extent: Extent,
    /// How often each field counts.
    #[serde(default)]
    pub fields: FieldWeights,
}

impl SparseConfig {
    /// Words and pairs of words, whatever their endings: what the local chooser reads.
    pub fn phrases(view: View) -> Self {
        let (model, tokenizer) = (SparseModel::Cosine, Tokenizer::Phrases);
        Self { model, tokenizer, view, ..Self::default() }
    }
}

impl fmt::Display for SparseConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, view {}, tokenizer {}", self.model, self.view, self.tokenizer)?;
        if !self.extent.is_usual() {
            write!(f, ", text {}", self.extent)?;
        }
        match self.fields {
            FieldWeights { name: 1, description: 1 } => Ok(()),
            FieldWeights { name, description } => {
                write!(f, ", name × {name}, description × {description}")
            }
        }
    }
}

/// A skill that matched, and how well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The skill's row.
    pub skill: SkillIdx,
    /// Its score; larger is better.
    pub score: f32,
}

/// May skills that share no term with the request fill up the list?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zeros {
    /// No: an empty list says that nothing matched.
    #[default]
    Dropped,
    /// Yes, in the order of their ids, with score zero.
    Kept,
}

/// An immutable index of one view of one library.
#[derive(Debug)]
pub struct SparseIndex {
    layout: Layout,
}

/// Working memory of a search, to be used again for the next one.
#[derive(Debug, Default)]
pub struct Scratch {
    scores: Vec<[f32; SEGMENT]>,
    lookup: Lookup,
    top: TopK,
}

impl SparseIndex {
    /// Indexes every skill of the library; the bytes are the same for any number of threads.
    pub fn build(library: &Library, pages: &Pages, config: &SparseConfig) -> Self {
        let sections = build::build(library, pages, config);
        Self { layout: Layout::of(sections).expect("an index just built has a valid layout") }
    }

    /// Takes bytes that an earlier build wrote, checking what they claim to be.
    pub fn open(blob: Blob) -> Result<Self, IndexError> {
        Ok(Self { layout: Layout::open(blob)? })
    }

    /// The bytes to keep on disk.
    pub fn bytes(&self) -> &[u8] {
        self.layout.sections.bytes()
    }

    /// Was everything sound that was read so far? What is damaged counts nothing, so whoever
    /// answers by an index asks this before the answer is given.
    pub fn sound(&self) -> Result<(), IndexError> {
        self.layout.sections.sound()
    }

    /// Is all of it sound?
    pub fn check(&self) -> Result<(), IndexError> {
        self.layout.sections.check_all()
    }

    /// What was asked for when it was built.
    pub fn config(&self) -> &SparseConfig {
        &self.layout.meta.config
    }

    /// What it was made from: digests of the library, and of the pages where its view reads them.
    pub fn made_from(&self) -> &str {
        &self.layout.meta.made_from
    }

    /// How many skills it holds.
    pub fn len(&self) -> usize {
        self.layout.meta.skills
    }

    /// True if it holds no skill.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many distinct terms it knows.
    pub fn vocabulary_size(&self) -> usize {
        self.layout.meta.terms
    }

    /// How many skills have a term.
    pub fn skills_with(&self, term: &str) -> u32 {
        self.number(term).map_or(0, |number| self.layout.document_frequency(number))
    }

    /// The best `k` skills for a request, best first; equal scores in the order of ids.
    pub fn search(
        &self,
        query: &str,
        k: usize,
        zeros: Zeros,
        scratch: &mut Scratch,
    ) -> Result<Vec<Hit>, IndexError> {
        let weighted = self.weigh(query, &mut scratch.lookup);
        let Scratch { scores, top, .. } = scratch;
        scores.resize(self.len().div_ceil(SEGMENT), [0.0; SEGMENT]);
        scores.as_flattened_mut()[..self.len()].fill(0.0);

        let lists: Vec<Lists<'_>> =
            (0..scores.len()).map(|at| self.lists(at, &weighted)).collect::<Result<_, _>>()?;
        for (scores, lists) in scores.iter_mut().zip(&lists) {
            lists.add_rare(scores);
        }
        let scores = &mut scores.as_flattened_mut()[..self.len()];
        let mut hits = match top.find_within_reach(scores, k, &lists) {
            true => top.best(k),
            false => {
                let segments = scores.chunks_mut(SEGMENT).zip(&lists);
                segments.for_each(|(scores, lists)| lists.add_common(scores));
                top.select(scores, k)
            }
        };
        if zeros == Zeros::Kept && hits.len() < k {
            let unmatched = (0..self.len() as u32).filter(|&row| scores[row as usize] <= 0.0);
            let missing = k - hits.len();
            hits.extend(
                unmatched.take(missing).map(|row| Hit { skill: SkillIdx(row), score: 0.0 }),
            );
        }
        self.sound()?;
        Ok(hits)
    }

    /// Why did this skill get its score? The request's terms with what each gave.
    pub fn explain(&self, query: &str, skill: SkillIdx) -> Result<Explanation, IndexError> {
        let mut explanation = Explanation::default();
        let mut texts = BTreeMap::new();
        for_each_term(query, self.config().tokenizer, |term| match self.number(term) {
            Some(number) => {
                texts.entry(number).or_insert_with(|| term.to_owned());
            }
            None if explanation.unknown.iter().any(|seen| seen == term) => {}
            None => explanation.unknown.push(term.to_owned()),
        });
        let vector = self.vector(query);
        for (&(number, weight), counts) in vector.iter().zip(self.ask(&vector)?.weights(skill)) {
            let contribution = weight * counts;
            explanation.score += contribution;
            explanation.terms.push(TermShare {
                term: texts.remove(&number).unwrap_or_default(),
                contribution,
                share: 0.0,
                idf: self.layout.idf(number),
                skills: self.layout.document_frequency(number),
            });
        }
        if explanation.score > 0.0 {
            for term in &mut explanation.terms {
                term.share = term.contribution / explanation.score;
            }
        }
        explanation.terms.sort_by(|a, b| {
            b.contribution.total_cmp(&a.contribution).then_with(|| a.term.cmp(&b.term))
        });
        Ok(explanation)
    }

    /// The vector of a text: its known terms in the order of their numbers, with their weights.
    pub fn vector(&self, text: &str) -> Vec<(u32, f32)> {
        self.weigh(text, &mut Lookup::default())
    }

    /// How rare a term is; one that no skill has is as rare as can be.
    pub fn idf(&self, term: &str) -> f64 {
        match self.number(term) {
            Some(number) => f64::from(self.layout.idf(number)),
            None => self.config().model.idf(self.len(), 0),
        }
    }

    /// The number of a term, as [`SparseIndex::vector`] gives them.
    pub fn number(&self, term: &str) -> Option<u32> {
        self.layout.terms().find(term)
    }

    /// The request's known terms, each once, in the order of their numbers, with their weights.
    fn weigh(&self, query: &str, lookup: &mut Lookup) -> Vec<(u32, f32)> {
        let terms = self.layout.terms();
        let SparseConfig { tokenizer, model, .. } = *self.config();
        lookup.clear();
        for_each_term(query, tokenizer, |term| {
            lookup.push(term, tokenizer.knows_idle_words() && is_idle(term), terms);
        });
        lookup.find(terms);
        let known = &mut lookup.found;
        known.sort_unstable();
        let groups: Vec<&[(u32, bool)]> = known.chunk_by(|a, b| a.0 == b.0).collect();
        let idf: Vec<f32> = groups.iter().map(|known| self.layout.idf(known[0].0)).collect();
        let mut weights = model.query_weights(groups.iter().map(|known| known.len()), &idf);
        for ((weight, known), idf) in weights.iter_mut().zip(&groups).zip(idf) {
            if known[0].1 {
                *weight *= MOST_IDLE / idf.max(MOST_IDLE);
            }
        }
        groups.iter().map(|known| known[0].0).zip(weights).collect()
    }

    /// What the terms of a request give to the skills of a segment.
    fn lists(&self, segment: usize, weighted: &[(u32, f32)]) -> Result<Lists<'_>, IndexError> {
        let mut lists = Lists::new(self.layout.norms(segment));
        for &(term, weight) in weighted {
            let weight = match self.config().model.keeping() {
                Keeping::Weights => weight,
                Keeping::Levels => weight * self.layout.idf(term),
            };
            lists.push(self.layout.postings(segment, term)?, weight);
        }
        Ok(lists)
    }
}

/// The parts of one skill's score.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Explanation {
    /// The score, as the search gives it but for the last digits.
    pub score: f32,
    /// Terms of the request that the library knows, largest contribution first.
    pub terms: Vec<TermShare>,
    /// Terms of the request that no skill has.
    pub unknown: Vec<String>,
}

/// What one term gave.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TermShare {
    /// The term.
    pub term: String,
    /// Its part of the score.
    pub contribution: f32,
    /// The same as a share of the whole, 0 to 1.
    pub share: f32,
    /// How rare it is: its inverse document frequency under the index's model.
    pub idf: f32,
    /// How many skills have it.
    pub skills: u32,
}
