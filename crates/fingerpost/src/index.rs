//! Which skills share the request's terms, and how much does each count?
//!
//! BM25 and TF-IDF are one structure here. The weight of a term in a skill does not depend on the
//! request, so it is computed once, when the index is built; a search adds up, term by term, the
//! weights of the request's terms and keeps the best `k`. The index in memory and the file on disk
//! are the same bytes (`index/file.rs`), so opening one costs no rebuild.

mod build;
pub mod coarse;
mod dense;
mod file;
pub mod fusion;
mod lists;
mod model;
mod prefetch;
mod top_k;
pub(crate) mod vocabulary;

use std::cmp::Ordering;
use std::fmt;

pub use dense::{DenseIndex, embed_view, nearest};
pub use file::{FORMAT_VERSION, IndexError};
pub use model::{Bm25, Idf, SparseModel};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use self::file::{Layout, Postings, SEGMENT};
use self::lists::Lists;
use self::top_k::TopK;
use self::vocabulary::Lookup;
use crate::library::Library;
use crate::numbers::index::MOST_IDLE;
use crate::page::Pages;
use crate::skill::SkillIdx;
use crate::store::Blob;
use crate::text::{IDLE, Tokenizer, for_each_term};
use crate::view::{FieldWeights, View};

/// Everything that decides what an index of a given library holds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SparseConfig {
    /// The weighting.
    pub model: SparseModel,
    /// How text becomes terms.
    pub tokenizer: Tokenizer,
    /// Which text of each skill is indexed.
    pub view: View,
    /// How often each field counts.
    #[serde(default)]
    pub fields: FieldWeights,
}

impl SparseConfig {
    /// Words and pairs of words, whatever their endings: what the local chooser reads.
    pub fn phrases(view: View) -> Self {
        let (model, tokenizer) = (SparseModel::Cosine, Tokenizer::Phrases);
        Self { model, tokenizer, view, fields: FieldWeights::default() }
    }
}

impl fmt::Display for SparseConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, view {}, tokenizer {}", self.model, self.view, self.tokenizer)?;
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
    /// Numbers of the terms that are no rarer than [`MOST_IDLE`] in a request.
    idle: Vec<u32>,
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
        Self::of(Layout::of(sections).expect("an index just built has a valid layout"))
    }

    /// Takes bytes that an earlier build wrote, checking what they claim to be.
    pub fn open(blob: Blob) -> Result<Self, IndexError> {
        Layout::open(blob).map(Self::of)
    }

    fn of(layout: Layout) -> Self {
        let mut idle = Vec::new();
        if layout.meta.config.tokenizer.knows_idle_words() {
            idle.extend(IDLE.iter().filter_map(|word| layout.terms().find(word)));
            idle.sort_unstable();
        }
        Self { layout, idle }
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
        let number = self.layout.terms().find(term);
        number.map_or(0, |number| self.layout.document_frequency(number))
    }

    /// The id of a row.
    pub fn id(&self, skill: SkillIdx) -> &str {
        self.layout.string(skill.row() * 3)
    }

    /// The name of a row's skill.
    pub fn name(&self, skill: SkillIdx) -> &str {
        self.layout.string(skill.row() * 3 + 1)
    }

    /// The start of its description, for lists.
    pub fn blurb(&self, skill: SkillIdx) -> &str {
        self.layout.string(skill.row() * 3 + 2)
    }

    /// The row of a skill, by id or, failing that, by a name that only one skill has.
    pub fn find(&self, id_or_name: &str) -> Option<SkillIdx> {
        let (mut low, mut high) = (0, self.len() as u32);
        while low < high {
            let middle = low.midpoint(high);
            match self.id(SkillIdx(middle)).cmp(id_or_name) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(SkillIdx(middle)),
            }
        }
        let same = self.layout.named(xxh3_64(id_or_name.as_bytes())).map(SkillIdx);
        let mut named = same.filter(|&row| self.name(row) == id_or_name);
        let first = named.next();
        if named.next().is_none() { first } else { None }
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
        for (term, weight) in self.vector(query) {
            let contribution = self.weight(term, skill)?.map_or(0.0, |counts| weight * counts);
            explanation.score += contribution;
            explanation.terms.push(TermShare {
                term: self.layout.term(term).to_owned(),
                contribution,
                share: 0.0,
                idf: self.layout.idf(term),
                skills: self.layout.document_frequency(term),
            });
        }
        for_each_term(query, self.config().tokenizer, |term| {
            let unknown = self.layout.terms().find(term).is_none();
            if unknown && !explanation.unknown.iter().any(|seen| seen == term) {
                explanation.unknown.push(term.to_owned());
            }
        });
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

    /// What a request of this vector gives to one skill.
    pub fn score(&self, vector: &[(u32, f32)], skill: SkillIdx) -> Result<f32, IndexError> {
        let mut score = 0.0;
        for &(term, weight) in vector {
            score += weight * self.weight(term, skill)?.unwrap_or(0.0);
        }
        Ok(score)
    }

    /// How rare a term is; one that no skill has is as rare as can be.
    pub fn idf(&self, term: &str) -> f64 {
        match self.layout.terms().find(term) {
            Some(number) => f64::from(self.layout.idf(number)),
            None => self.config().model.idf(self.len(), 0),
        }
    }

    /// The term of a number, as [`SparseIndex::vector`] gives them.
    pub fn term(&self, number: u32) -> &str {
        self.layout.term(number)
    }

    /// What each term of a vector counts in a skill, in their order; 0 for one that it does not have.
    pub fn weights(&self, vector: &[(u32, f32)], skill: SkillIdx) -> Result<Vec<f32>, IndexError> {
        vector.iter().map(|&(term, _)| Ok(self.weight(term, skill)?.unwrap_or(0.0))).collect()
    }

    /// What a term counts in a skill, if it has it.
    fn weight(&self, term: u32, skill: SkillIdx) -> Result<Option<f32>, IndexError> {
        let at = skill.row() % SEGMENT;
        Ok(match self.postings(skill.row() / SEGMENT, term)? {
            Postings::Rare { rows, weights } => {
                rows.binary_search(&(at as u16)).ok().map(|at| weights[at])
            }
            Postings::Common { weights } => Some(weights[at]).filter(|weight| *weight != 0.0),
        })
    }

    /// The request's known terms, each once, in the order of their numbers, with their weights.
    fn weigh(&self, query: &str, lookup: &mut Lookup) -> Vec<(u32, f32)> {
        let terms = self.layout.terms();
        lookup.clear();
        for_each_term(query, self.config().tokenizer, |term| lookup.push(term, terms));
        lookup.find(terms);
        let known = &mut lookup.found;
        known.sort_unstable();
        let idf = self.layout.idfs(known);
        let mut weighted = self.config().model.query_weights(known, idf);
        for (term, weight) in &mut weighted {
            if self.idle.binary_search(term).is_ok() {
                *weight *= MOST_IDLE / idf[*term as usize].max(MOST_IDLE);
            }
        }
        weighted
    }

    /// What the terms of a request give to the skills of a segment.
    fn lists(&self, segment: usize, weighted: &[(u32, f32)]) -> Result<Lists<'_>, IndexError> {
        let mut lists = Lists::default();
        for &(term, weight) in weighted {
            lists.push(self.postings(segment, term)?, weight, self.layout.largest(term));
        }
        Ok(lists)
    }

    fn postings(&self, segment: usize, term: u32) -> Result<Postings<'_>, IndexError> {
        self.layout.postings(segment, term)
    }
}

/// The parts of one skill's score.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Explanation {
    /// The score, as the search gives it but for the last digits.
    pub score: f32,
    /// Terms of the request that the library knows, largest contribution first.
    pub terms: Vec<TermShare>,
    /// Terms of the request that no skill has.
    pub unknown: Vec<String>,
}

/// What one term gave.
#[derive(Debug, Clone, Serialize)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::name::tests::skill;

    #[test]
    fn a_skill_is_found_by_its_id_or_by_a_name_of_its_own() {
        let skills = [("a/x", "x"), ("b/x", "x"), ("c/y", "y"), ("d/z", "a/x"), ("y", "w")];
        let skills = skills.map(|(id, name)| skill(id, name, "Does.", "")).to_vec();
        let library = Library::from_skills(skills).value;
        let index = SparseIndex::build(&library, &Pages::default(), &SparseConfig::default());
        for (asked, row) in [
            ("a/x", Some(0)),
            ("b/x", Some(1)),
            ("y", Some(4)),
            ("w", Some(4)),
            ("x", None),
            ("", None),
            ("zz", None),
        ] {
            assert_eq!(index.find(asked), row.map(SkillIdx), "{asked}");
            assert_eq!(index.find(asked), library.find(asked), "{asked}");
        }
    }
}
