//! Which terms of a text count, and how much?
//!
//! A term counts by the square root of how often it occurs and by how rare it is in the library; a
//! text is the few of its terms that count most, scaled to length one. Leaving out the rest of a
//! long document costs nothing in quality and bounds the work, whatever its length.

use rayon::prelude::*;

use super::sparse::Sparse;
use crate::index::vocabulary::Vocabulary;
use crate::text::{Tokenizer, for_each_term};

/// Texts counted as one piece of work: enough of them to share a vocabulary.
const CHUNK: usize = 1024;

/// Terms of a text that count.
const PER_TEXT: usize = 128;

/// The terms of a library, the most common first, and the weight of each.
#[derive(Debug, Default)]
pub(super) struct Terms {
    pub(super) vocabulary: Vocabulary,
    pub(super) idf: Vec<f32>,
}

/// Counts of one chunk, by the chunk's own term numbers.
struct Counted {
    vocabulary: Vocabulary,
    /// (term, count) of every text, one after another.
    counts: Vec<(u32, u32)>,
    /// Where each text's counts end.
    ends: Vec<usize>,
    digest: blake3::Hash,
}

impl Terms {
    /// The terms of these texts (at most `limit` of them), what each text has of them, and a digest
    /// of the texts.
    pub(super) fn of(
        texts: &[impl AsRef<str> + Sync],
        limit: usize,
    ) -> (Self, Sparse, blake3::Hash) {
        let mut chunks: Vec<Counted> = texts.par_chunks(CHUNK).map(count).collect();
        let mut all = Vocabulary::default();
        let mut df: Vec<u32> = Vec::new();
        let mut digest = blake3::Hasher::new();
        for chunk in &mut chunks {
            let numbers: Vec<u32> = chunk.vocabulary.iter().map(|t| all.number(t)).collect();
            chunk.vocabulary = Vocabulary::default();
            df.resize(all.len(), 0);
            for (term, _) in &mut chunk.counts {
                *term = numbers[*term as usize];
                df[*term as usize] += 1;
            }
            digest.update(chunk.digest.as_bytes());
        }

        // The most common first: their vectors, which every product reads, then lie together.
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        order.sort_by_key(|&term| (std::cmp::Reverse(df[term as usize]), term));
        order.truncate(limit);
        let mut numbers = vec![None; all.len()];
        let mut terms = Terms::default();
        let names: Vec<&str> = all.iter().collect();
        for (new, &old) in order.iter().enumerate() {
            numbers[old as usize] = Some(new as u32);
            terms.vocabulary.number(names[old as usize]);
            terms.idf.push(idf(texts.len(), df[old as usize]));
        }
        let rows: Vec<Vec<Vec<(u32, f32)>>> = chunks
            .par_iter()
            .map(|chunk| {
                let starts = std::iter::once(0).chain(chunk.ends.iter().copied());
                let texts = starts.zip(&chunk.ends).map(|(start, &end)| &chunk.counts[start..end]);
                let known = |&(term, count): &(u32, u32)| Some((numbers[term as usize]?, count));
                texts.map(|counts| terms.weigh(counts.iter().filter_map(known))).collect()
            })
            .collect();
        let mut matrix = Sparse::new(terms.idf.len());
        rows.into_iter().flatten().for_each(|row| matrix.push_row(row));
        (terms, matrix, digest.finalize())
    }

    /// What a text has of these terms; terms that the library did not have are passed over.
    pub(super) fn of_text(&self, text: &str) -> Vec<(u32, f32)> {
        let mut known: Vec<u32> = Vec::new();
        for_each_term(text, Tokenizer::Auto, |term| known.extend(self.vocabulary.get(term)));
        known.sort_unstable();
        self.weigh(known.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)))
    }

    /// The terms that count most with their weights, in the order of their numbers.
    fn weigh(&self, counts: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, f32)> {
        let weight = |(term, count)| (term, (count as f32).sqrt() * self.idf[term as usize]);
        let mut weights: Vec<(u32, f32)> = counts.map(weight).collect();
        if weights.len() > PER_TEXT {
            weights.select_nth_unstable_by(PER_TEXT - 1, |a, b| {
                b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
            });
            weights.truncate(PER_TEXT);
        }
        weights.sort_unstable_by_key(|&(term, _)| term);
        let square = |&(_, weight): &(u32, f32)| f64::from(weight) * f64::from(weight);
        let norm = weights.iter().map(square).sum::<f64>().sqrt();
        weights.iter_mut().for_each(|(_, weight)| *weight = (f64::from(*weight) / norm) as f32);
        weights
    }
}

/// How rare a term is that `df` of `n` texts have. It is never zero, so that even a text of nothing
/// but common terms has a vector: the only text of a library, or one of many that are all alike.
fn idf(n: usize, df: u32) -> f32 {
    ((n as f64 + 1.0) / (f64::from(df) + 0.5)).ln() as f32
}

fn count(texts: &[impl AsRef<str>]) -> Counted {
    let mut vocabulary = Vocabulary::default();
    let (mut counts, mut ends) = (Vec::new(), Vec::new());
    let mut digest = blake3::Hasher::new();
    // How often each term of the chunk occurs in the text at hand, and which do at all.
    let mut occurrences: Vec<u32> = Vec::new();
    let mut present: Vec<u32> = Vec::new();
    for text in texts {
        let text = text.as_ref();
        digest.update(&(text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
        for_each_term(text, Tokenizer::Auto, |term| {
            let number = vocabulary.number(term);
            if number as usize == occurrences.len() {
                occurrences.push(0);
            }
            let seen = &mut occurrences[number as usize];
            if *seen == 0 {
                present.push(number);
            }
            *seen += 1;
        });
        let taken = |number| (number, std::mem::take(&mut occurrences[number as usize]));
        counts.extend(present.drain(..).map(taken));
        ends.push(counts.len());
    }
    Counted { vocabulary, counts, ends, digest: digest.finalize() }
}
