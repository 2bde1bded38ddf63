//! What vectors does a library have of itself, without any model?
//!
//! Terms that occur in the same skills get similar vectors, by a singular value decomposition of
//! the matrix of skills and terms (latent semantic analysis); a text is the weighted sum of its
//! terms' vectors. This needs no file and no network, knows every language that the library has,
//! and gives the same bytes for a seed, whatever the number of threads.
//!
//! How strongly the directions count depends on how much of the library they hold. Where they hold
//! all of it, the strong ones should count more than they do by themselves: a request then also
//! finds what is like the skills that have its terms. Where they hold a seventh of it, they are its
//! large topics, and weak ones should count nearly as much. Hence the power of the singular values
//! in [`Fit::train`].

mod bytes;
mod eigen;
mod sparse;
mod svd;
mod terms;

use rayon::prelude::*;
use serde::Serialize;

pub use self::bytes::FitError;
use self::sparse::Sparse;
use self::terms::Terms;
use super::{EmbedError, Embedder, Pooling, Profile, Role, Vectors};

/// The power of singular values where the directions hold the whole library.
const POWER: f64 = 1.4;

/// Version of the method: vectors of two are never compared.
const ENGINE: &str = concat!("fingerpost ", env!("CARGO_PKG_VERSION"), ", fit 2");

/// What decides the vectors, beside the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FitConfig {
    /// Length of a vector, at most; a library of fewer skills has fewer. 256 unless told: 512 find
    /// a little more in large libraries, at twice the time and size.
    pub dimensions: usize,
    /// Terms that get a vector, at most: the rarest are left out. 65,536 unless told, which bounds
    /// the model to about 18 MB.
    pub terms: usize,
    /// Seed of the random directions that the fit starts from.
    pub seed: u64,
}

impl Default for FitConfig {
    fn default() -> Self {
        Self { dimensions: 256, terms: 1 << 16, seed: 42 }
    }
}

/// Vectors of a library's terms.
#[derive(Debug)]
pub struct Fit {
    profile: Profile,
    terms: Terms,
    table: Table,
}

impl Fit {
    /// Fits vectors to the texts of a library; also gives the texts' own.
    pub fn train(texts: &[impl AsRef<str> + Sync], config: &FitConfig) -> (Self, Vectors) {
        let (terms, matrix, digest) = Terms::of(texts, config.terms);
        let transposed = matrix.transposed();
        let svd = svd::decompose(&matrix, &transposed, config.dimensions, config.seed);
        let width = svd.width;

        // Each row of the matrix has length one, so the squares of all singular values sum up to
        // the number of rows that are not empty.
        let filled = (0..matrix.rows()).filter(|&row| !matrix.row(row).is_empty()).count();
        let held = svd.values.iter().map(|value| value * value).sum::<f64>() / filled.max(1) as f64;
        let power = POWER * held.min(1.0).sqrt();
        // A document's vector is to be U S^power, and A = U S V', so a term's is V S^(power - 1),
        // and V is A' U / S.
        let scales: Vec<f32> =
            svd.values.iter().map(|value| value.powf(power - 2.0) as f32).collect();
        let mut left = svd.left;
        for row in left.chunks_exact_mut(width) {
            row.iter_mut().zip(&scales).for_each(|(x, scale)| *x *= scale);
        }
        let table = Table::new(width, &transposed.times(&left, width));
        let vectors = table.sums(&matrix);

        let mut weights = blake3::Hasher::new();
        weights.update(digest.as_bytes());
        for setting in [config.dimensions as u64, config.terms as u64, config.seed] {
            weights.update(&setting.to_le_bytes());
        }
        let profile = Profile {
            name: "fit".into(),
            engine: ENGINE.into(),
            weights: weights.finalize().to_hex().to_string(),
            dimensions: width,
            max_tokens: usize::MAX,
            pooling: Pooling::Model,
            query_prefix: String::new(),
            document_prefix: String::new(),
        };
        (Self { profile, terms, table }, vectors)
    }
}

impl Fit {
    /// Were vectors of this profile made by this version of `fit`, whatever the library?
    pub fn made(profile: &Profile) -> bool {
        profile.name == "fit" && profile.engine == ENGINE
    }
}

impl Embedder for Fit {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vectors, EmbedError> {
        let rows: Vec<Vec<(u32, f32)>> =
            texts.par_iter().map(|text| self.terms.of_text(text)).collect();
        let mut matrix = Sparse::new(self.terms.idf.len());
        rows.into_iter().for_each(|row| matrix.push_row(row));
        Ok(self.table.sums(&matrix))
    }
}

/// A vector a term, in steps of a 127th of its largest element: a quarter of the memory, and the
/// rounding is far below what tells texts apart. Documents are summed from the same rounded
/// vectors as requests.
#[derive(Debug, PartialEq)]
struct Table {
    width: usize,
    /// Size of each term's step.
    steps: Vec<f32>,
    values: Vec<i8>,
}

impl Table {
    fn new(width: usize, vectors: &[f32]) -> Self {
        let mut values = vec![0; vectors.len()];
        let round = |(vector, values): (&[f32], &mut [i8])| {
            let largest = vector.iter().fold(0_f32, |largest, x| largest.max(x.abs()));
            if largest > 0.0 {
                for (value, x) in values.iter_mut().zip(vector) {
                    *value = (x / largest * 127.0).round() as i8;
                }
            }
            largest / 127.0
        };
        let steps =
            vectors.par_chunks_exact(width).zip(values.par_chunks_exact_mut(width)).map(round);
        Self { width, steps: steps.collect(), values }
    }

    /// The vector of each row of weights.
    fn sums(&self, matrix: &Sparse) -> Vectors {
        let mut sums = vec![0_f32; matrix.rows() * self.width];
        sums.par_chunks_exact_mut(self.width).enumerate().for_each(|(row, sums)| {
            for &(term, weight) in matrix.row(row) {
                let term = term as usize;
                let weight = weight * self.steps[term];
                let values = &self.values[term * self.width..(term + 1) * self.width];
                for (sum, &value) in sums.iter_mut().zip(values) {
                    *sum += weight * f32::from(value);
                }
            }
        });
        Vectors::new(self.width, sums).rounded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::dot;

    /// A library of so many texts about a few topics, each with a word of its own.
    fn texts(count: usize) -> Vec<String> {
        let topics = ["invoice tax payment", "heart rate interval", "合并两个文件", "merge branch"];
        let text = |n: usize| format!("{} skill{n} {} {}", topics[n % 4], n % 7, (n * n) % 31);
        (0..count).map(text).collect()
    }

    fn embed(fit: &Fit, text: &str) -> Vec<f32> {
        fit.embed(&[text], Role::Query).unwrap().row(0).to_vec()
    }

    #[test]
    fn the_number_of_threads_does_not_show() {
        let texts = texts(2500);
        let config = FitConfig { dimensions: 48, ..FitConfig::default() };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (fit, vectors) = pool.install(|| Fit::train(&texts, &config));
            (fit.to_bytes(), vectors)
        };
        let (one, four) = (on(1), on(4));
        assert!(one.0 == four.0, "the model's bytes");
        assert!(one.1 == four.1, "the vectors");
        let (other, _) = Fit::train(&texts, &FitConfig { seed: 7, ..config });
        assert!(other.to_bytes() != one.0, "another seed, another model");
    }

    #[test]
    fn a_text_of_the_library_has_its_own_row() {
        for count in [1, 2, 10, 146, 700] {
            let texts = texts(count);
            let (fit, vectors) =
                Fit::train(&texts, &FitConfig { dimensions: 64, ..FitConfig::default() });
            assert_eq!((vectors.len(), vectors.dimensions()), (count, fit.profile().dimensions));
            for (row, text) in texts.iter().enumerate() {
                let cosine = dot(&embed(&fit, text), vectors.row(row));
                assert!((cosine - 1.0).abs() < 1e-4, "{count}: {text}: {cosine}");
            }
        }
    }

    #[test]
    fn small_and_odd_libraries() {
        let check = |texts: &[&str]| {
            let (fit, vectors) = Fit::train(texts, &FitConfig::default());
            assert_eq!(vectors.len(), texts.len());
            assert!(vectors.values().iter().all(|x| x.is_finite()), "{texts:?}");
            assert!(embed(&fit, "一 two … never seen").iter().all(|x| x.is_finite()));
            assert!(embed(&fit, "").iter().all(|&x| x == 0.0));
            vectors
        };
        check(&[]);
        check(&[""]);
        check(&["", "...", "—"]);
        let one = check(&["one"]);
        assert!((dot(one.row(0), one.row(0)) - 1.0).abs() < 1e-6);
        let alike = check(&["just the same", "just the same", "just the same", ""]);
        assert!((dot(alike.row(0), alike.row(2)) - 1.0).abs() < 1e-6);
        assert!(alike.row(3).iter().all(|&x| x == 0.0));
        let two = check(&["merge two files", "split one file"]);
        assert!(dot(two.row(0), two.row(1)) < 0.5);
        check(&vec!["all of many are the same"; 400]);
    }

    #[test]
    fn requests_meet_texts_and_those_like_them() {
        let (fit, vectors) = Fit::train(
            &[
                "计算个人所得税的年终奖",
                "个人所得税专项附加扣除",
                "合并多个 pdf 文件",
                "car engine repair",
                "automobile engine repair",
                "automobile insurance",
                "weather tomorrow",
            ],
            &FitConfig::default(),
        );
        let nearest = |text: &str| {
            let request = embed(&fit, text);
            let score = |row: usize| dot(&request, vectors.row(row));
            (0..vectors.len()).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap()
        };
        assert_eq!(nearest("年终奖怎么计税"), 0);
        assert_eq!(nearest("把 PDF 合并"), 2);
        // It has no term of the request, and is like the one that has.
        let request = embed(&fit, "car");
        assert!(dot(&request, vectors.row(4)) > 0.1 + dot(&request, vectors.row(6)));
    }
}
