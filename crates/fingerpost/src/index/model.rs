//! How much does a term count, in a skill and in a request?
//!
//! BM25 and TF-IDF follow the benchmark's reference toolkit, so that figures can be compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::postings::{Keeping, ROOTS, level};

/// The weighting of a sparse index.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SparseModel {
    /// Okapi BM25; a request's term counts once.
    Bm25(Bm25),
    /// Cosine of TF-IDF vectors with idf = ln(N / (1 + df)), which may be negative.
    Tfidf,
    /// Cosine with the square root of tf, in levels, and idf = ln(1 + N / df): ours, for phrases.
    Cosine,
}

/// The parameters of BM25.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bm25 {
    /// How slowly repetition saturates.
    pub k1: f64,
    /// How much length counts, from 0 (not at all) to 1.
    pub b: f64,
    /// How much rarity counts.
    pub idf: Idf,
}

/// Inverse document frequency of a term that `df` of `n` skills have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Idf {
    /// As `Reference`, but with Lucene's ln(1 + (n - df + 0.5) / (df + 0.5)) in a library of fewer
    /// than [`Idf::FEW`] skills, where the cut at half would leave next to nothing: of two skills'
    /// terms, none.
    #[default]
    Auto,
    /// The reference toolkit's max(0, ln((n - df + 0.5) / (df + 0.5))): terms that more than half
    /// of the skills have count nothing, which does the work of a list of stop words and, measured
    /// on real libraries, does it better than Lucene's.
    Reference,
}

impl Idf {
    /// Below this number of skills `Auto` cuts nothing.
    pub const FEW: usize = 10;

    fn of(self, n: usize, df: u32) -> f64 {
        let odds = (n as f64 - f64::from(df) + 0.5) / (f64::from(df) + 0.5);
        if self == Idf::Auto && n < Self::FEW { odds.ln_1p() } else { odds.ln().max(0.0) }
    }
}

impl Bm25 {
    /// Checks the parameters.
    pub fn new(k1: f64, b: f64, idf: Idf) -> Result<Self, String> {
        if !(k1.is_finite() && k1 >= 0.0) {
            return Err(format!("k1 is {k1}: it must be a number of at least 0"));
        }
        if !(0.0..=1.0).contains(&b) {
            return Err(format!("b is {b}: it must lie between 0 and 1"));
        }
        Ok(Self { k1, b, idf })
    }
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.5, b: 0.75, idf: Idf::default() }
    }
}

impl Default for SparseModel {
    fn default() -> Self {
        SparseModel::Bm25(Bm25::default())
    }
}

impl fmt::Display for SparseModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SparseModel::Bm25(Bm25 { k1, b, .. }) => write!(f, "bm25 (k1 {k1}, b {b})"),
            SparseModel::Tfidf => f.write_str("tfidf"),
            SparseModel::Cosine => f.write_str("cosine"),
        }
    }
}

impl SparseModel {
    /// Inverse document frequency of a term that `df` of `n` skills have.
    pub(super) fn idf(self, n: usize, df: u32) -> f64 {
        match self {
            SparseModel::Bm25(Bm25 { idf, .. }) => idf.of(n, df),
            SparseModel::Tfidf => (n as f64 / (1.0 + f64::from(df))).ln(),
            SparseModel::Cosine => (n as f64 / f64::from(df.max(1))).ln_1p(),
        }
    }

    /// Weight of a term that occurs `tf` times in a skill of `length` terms, before any
    /// normalisation of the whole skill.
    pub(super) fn weight(self, idf: f64, tf: u32, length: u32, mean_length: f64) -> f64 {
        let (tf, length) = (f64::from(tf), f64::from(length));
        match self {
            SparseModel::Bm25(Bm25 { k1, b, .. }) => {
                idf * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length / mean_length))
            }
            SparseModel::Tfidf => tf / length * idf,
            SparseModel::Cosine => f64::from(ROOTS[usize::from(level(tf as u32))]) * idf,
        }
    }

    /// What is kept of a term in a skill: pairs of words are too many for their weights.
    pub(super) fn keeping(self) -> Keeping {
        if self == SparseModel::Cosine { Keeping::Levels } else { Keeping::Weights }
    }

    /// Are a skill's weights scaled to length one?
    pub(super) fn normalises(self) -> bool {
        matches!(self, SparseModel::Tfidf | SparseModel::Cosine)
    }

    /// Weights of a request's known terms, given how often it has each and how rare each is.
    pub(super) fn query_weights(
        self,
        counts: impl Iterator<Item = usize> + Clone,
        idf: &[f32],
    ) -> Vec<f32> {
        if let SparseModel::Bm25(_) = self {
            return vec![1.0; idf.len()];
        }
        let total: usize = counts.clone().sum();
        let weight = |(count, &idf): (usize, &f32)| {
            let count = count as f64;
            let tf = if self == SparseModel::Cosine { count.sqrt() } else { count / total as f64 };
            tf * f64::from(idf)
        };
        let weights: Vec<f64> = counts.zip(idf).map(weight).collect();
        let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
        weights.into_iter().map(|weight| (weight * scale) as f32).collect()
    }
}
