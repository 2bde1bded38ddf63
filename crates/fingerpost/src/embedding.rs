//! How does a text become a vector?
//!
//! An [`Embedder`] is the one boundary to models: the library's own `fit`, a model run in process,
//! or a server over HTTP. Vectors are rows of one dimension and length one, so that the cosine of
//! two of them is their inner product.

mod fit;
mod lexicon;

use std::fmt;
use std::sync::Arc;

pub use fit::{Fit, FitConfig, FitError};
pub use lexicon::Lexicon;
use serde::{Deserialize, Serialize};

use crate::sections::Sections;
use crate::skill::SkillIdx;

/// Where the numbers are in a file with vectors.
pub(crate) const VALUES: usize = 1;

/// Turns texts into vectors. All embedders of one profile give the same vectors.
pub trait Embedder: Send + Sync {
    /// What decides the vectors.
    fn profile(&self) -> &Profile;

    /// One vector a text, in order.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError>;

    /// A document and its page as one text; where both are more than is read of a text, the document
    /// is cut and never the page.
    fn fit(&self, document: &str, page: &str) -> String {
        if page.is_empty() { document.to_owned() } else { format!("{document}\n{page}") }
    }
}

impl<E: Embedder + ?Sized> Embedder for &E {
    fn profile(&self) -> &Profile {
        (**self).profile()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        (**self).embed(texts, role)
    }

    fn fit(&self, document: &str, page: &str) -> String {
        (**self).fit(document, page)
    }
}

impl<E: Embedder + ?Sized> Embedder for Box<E> {
    fn profile(&self) -> &Profile {
        (**self).profile()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        (**self).embed(texts, role)
    }

    fn fit(&self, document: &str, page: &str) -> String {
        (**self).fit(document, page)
    }
}

/// Which side of the search a text is on: many models read the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What is searched.
    Document,
    /// What it is searched with.
    Query,
}

/// Everything that decides what vector a text gets. Vectors of two profiles are never compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The model's name, as users know it.
    pub name: String,
    /// What ran it: engines differ in the last digits, quantised ones in the second.
    pub engine: String,
    /// Digest of the weights (or, for `fit`, of the library); the model's revision over HTTP.
    pub weights: String,
    /// Length of a vector.
    pub dimensions: usize,
    /// Tokens the model reads; the rest of a text is cut.
    pub max_tokens: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Put before a request.
    pub query_prefix: String,
    /// Put before a document.
    pub document_prefix: String,
}

impl Profile {
    /// A short name for these settings and no others.
    pub fn key(&self) -> String {
        let settings = serde_json::to_string(self).expect("plain data");
        let digest = blake3::hash(settings.as_bytes()).to_hex();
        format!("{}-{}", self.name, &digest[..16])
    }

    /// What goes before a text of this role.
    pub fn prefix(&self, role: Role) -> &str {
        match role {
            Role::Document => &self.document_prefix,
            Role::Query => &self.query_prefix,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {} dimensions)", self.name, self.engine, self.dimensions)
    }
}

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first one's, as BGE does.
    Cls,
    /// The last one's, as Qwen3-Embedding does.
    LastToken,
    /// The model gives one vector itself.
    Model,
}

/// Why texts could not be embedded.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model or its server failed.
    #[error("{model}: {message}")]
    Model {
        /// Which model.
        model: String,
        /// What it said, and what to do.
        message: String,
    },
    /// Vectors of one profile were to be used with another.
    #[error("the vectors are of {found}, and {wanted} was asked for; embed the library again")]
    OtherProfile {
        /// What there is.
        found: String,
        /// What was asked for.
        wanted: String,
    },
}

/// Rows of one length, each a unit vector (or all zeros, for a text without a known term).
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    dimensions: usize,
    values: Values,
}

/// The numbers, in memory or in a mapped file.
#[derive(Debug, Clone)]
enum Values {
    Owned(Vec<f32>),
    /// The first section of a file with vectors.
    Opened(Arc<Sections>),
}

impl Default for Values {
    fn default() -> Self {
        Values::Owned(Vec::new())
    }
}

impl PartialEq for Vectors {
    fn eq(&self, other: &Self) -> bool {
        self.dimensions == other.dimensions && self.values() == other.values()
    }
}

impl Vectors {
    /// Takes rows as they are and scales each to length one.
    ///
    /// # Panics
    /// If the values do not fill whole rows.
    pub fn new(dimensions: usize, mut values: Vec<f32>) -> Self {
        assert!(dimensions > 0 && values.len().is_multiple_of(dimensions), "whole rows");
        for row in values.chunks_exact_mut(dimensions) {
            normalise(row);
        }
        Self { dimensions, values: Values::Owned(values) }
    }

    /// Takes rows that have length one already, such as were kept on disk: scaling them again
    /// could change their last digit.
    ///
    /// # Panics
    /// If the values do not fill whole rows.
    pub fn of_unit_rows(dimensions: usize, values: Vec<f32>) -> Self {
        assert!(dimensions > 0 && values.len().is_multiple_of(dimensions), "whole rows");
        Self { dimensions, values: Values::Owned(values) }
    }

    /// The rows in whole numbers, see `round`: what is kept in a byte a number is then what was
    /// computed with.
    pub fn rounded(mut self) -> Self {
        let mut values = self.values().to_vec();
        let mut numbers = vec![0; self.dimensions];
        for row in values.chunks_exact_mut(self.dimensions.max(1)) {
            let step = round(row, &mut numbers);
            row.iter_mut().zip(&numbers).for_each(|(x, &number)| *x = f32::from(number) * step);
        }
        self.values = Values::Owned(values);
        self
    }

    /// Rows that are [`VALUES`] of a file, and of length one already.
    pub(crate) fn opened(dimensions: usize, file: Arc<Sections>) -> Self {
        Self { dimensions, values: Values::Opened(file) }
    }

    /// One row of a file, known to be the one that was written; zeros where it is not, which the
    /// file remembers.
    pub(crate) fn checked_row(&self, row: usize) -> &[f32] {
        let range = row * self.dimensions..(row + 1) * self.dimensions;
        match &self.values {
            Values::Owned(values) => &values[range],
            Values::Opened(file) => file.slice(VALUES, range),
        }
    }

    /// Length of a row.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values().len().checked_div(self.dimensions).unwrap_or(0)
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.values().is_empty()
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values()[row * self.dimensions..(row + 1) * self.dimensions]
    }

    /// All rows, one after another.
    pub fn values(&self) -> &[f32] {
        match &self.values {
            Values::Owned(values) => values,
            Values::Opened(file) => file.raw(VALUES),
        }
    }

    /// All rows in turn.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values().chunks_exact(self.dimensions.max(1))
    }

    /// The `k` skills that are most like one, most similar first.
    pub fn nearest(&self, skill: SkillIdx, k: usize) -> Vec<(SkillIdx, f32)> {
        let row = self.row(skill.row());
        let mut all: Vec<(SkillIdx, f32)> = (0..)
            .map(SkillIdx)
            .zip(self.rows())
            .filter(|(other, _)| *other != skill)
            .map(|(other, vector)| (other, dot(row, vector)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        all
    }

    /// Cosine of two skills' vectors.
    pub fn similarity(&self, a: SkillIdx, b: SkillIdx) -> f32 {
        dot(self.row(a.row()), self.row(b.row()))
    }
}

/// A row in whole numbers, the largest of which is 127, and the step between two of them that gives
/// it length one. Rounding a row that is rounded changes nothing.
pub(crate) fn round(row: &[f32], numbers: &mut [i8]) -> f32 {
    let largest = row.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let scale = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let mut square = 0_i64;
    for (number, x) in numbers.iter_mut().zip(row) {
        *number = (x * scale).round() as i8;
        square += i64::from(*number).pow(2);
    }
    if square > 0 { (1.0 / (square as f64).sqrt()) as f32 } else { 0.0 }
}

/// Scales a vector to length one; zeros stay zeros.
pub fn normalise(row: &mut [f32]) {
    let norm = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if norm > 0.0 {
        let scale = (1.0 / norm) as f32;
        row.iter_mut().for_each(|x| *x *= scale);
    }
}

/// Inner product, summed in eight lanes of a fixed order: fast, and the same on every machine.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0_f32; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_length_one() {
        let vectors = Vectors::new(3, vec![3.0, 0.0, 4.0, 0.0, 0.0, 0.0]);
        assert_eq!(vectors.row(0), [0.6, 0.0, 0.8]);
        assert_eq!(vectors.row(1), [0.0; 3]);
        assert_eq!(vectors.similarity(SkillIdx(0), SkillIdx(0)), 1.0);
    }

    #[test]
    fn dot_takes_every_element() {
        let a: Vec<f32> = (0..21).map(|n| n as f32).collect();
        assert_eq!(dot(&a, &a), (0..21).map(|n| (n * n) as f32).sum::<f32>());
    }

    #[test]
    fn the_key_changes_with_every_setting() {
        let profile = Profile {
            name: "m".into(),
            engine: "e".into(),
            weights: "w".into(),
            dimensions: 4,
            max_tokens: 8,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            document_prefix: String::new(),
        };
        let other = Profile { query_prefix: "query: ".into(), ..profile.clone() };
        assert_ne!(profile.key(), other.key());
        assert!(profile.key().starts_with("m-"));
    }
}
