//! Which vectors are nearest to a request's?
//!
//! Every row is compared: exact, in the order of memory. What is too large to be read for every
//! request has a coarse copy beside it ([`super::coarse`]), which says which rows to compare. Scores
//! are summed in a fixed order, so that threads cannot change a ranking.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::coarse::{COPY, Coarse, Coarseness};
use super::top_k::TopK;
use super::{Hit, IndexError};
use crate::embedding::{EmbedError, Embedder, Role, VALUES, Vectors, dot};
use crate::library::Library;
use crate::numbers::index::PAGE;
use crate::page::Pages;
use crate::sections::{Draft, Format, Sections};
use crate::skill::SkillIdx;
use crate::store::Blob;
use crate::view::{Extent, IndexText, View, index_text};

/// Rows that one thread scans before another could help.
pub(super) const CHUNK: usize = 4096;

/// Vectors to be searched.
#[derive(Debug, Clone)]
pub struct DenseIndex {
    rows: usize,
    values: Values,
    coarse: Option<Coarse>,
    /// The file that they are in, if they are in one.
    file: Option<Arc<Sections>>,
}

/// Where the numbers are.
#[derive(Debug, Clone)]
enum Values {
    Full(Vectors),
    /// In the coarse copy, which has all there is of rounded vectors: unpacked when somebody wants
    /// them all.
    Rounded(OnceLock<Vectors>),
}

const FORMAT: Format = Format { magic: *b"FPVECTOR", version: 3, kind: "file of vectors" };

/// Description, [`VALUES`] and [`COPY`].
const PARTS: usize = 3;

/// What a file of vectors says of itself.
#[derive(Serialize, Deserialize)]
struct Meta {
    dimensions: usize,
    rows: usize,
    coarseness: Option<Coarseness>,
}

/// Encoders that read less than this see the page before the document: what comes last is cut.
const SHORT_WINDOW: usize = 2048;

/// The vectors of what a view shows of each skill.
pub fn embed_view(
    library: &Library,
    pages: &Pages,
    view: View,
    extent: Extent,
    embedder: &dyn Embedder,
) -> Result<Vectors, EmbedError> {
    let texts = (0..library.skills().len() as u32)
        .map(|row| index_text(library, pages, SkillIdx(row), view, extent));
    let embed = |texts: Vec<String>| {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        embedder.embed(&texts, Role::Document)
    };
    let fitted = |text: IndexText| embedder.fit(&text.head, &text.tail);
    if matches!(extent, Extent::Whole { .. }) {
        return embed(texts.map(fitted).collect());
    }
    let window = embedder.profile().max_tokens;
    if window < usize::MAX {
        let short = window < SHORT_WINDOW;
        return embed(
            texts
                .map(|text| match short {
                    true => text.page_first(),
                    false => fitted(text),
                })
                .collect(),
        );
    }
    let (heads, tails) = texts.map(|IndexText { head, tail }| (head, tail)).unzip();
    let (heads, tails) = (embed(heads)?, embed(tails)?);
    let sums = heads.values().iter().zip(tails.values()).map(|(head, tail)| head + PAGE * tail);
    Ok(Vectors::new(heads.dimensions(), sums.collect()))
}

impl DenseIndex {
    /// Vectors of any size, with the coarse copy that suits it.
    pub fn new(vectors: Vectors) -> Self {
        let coarseness = Coarseness::suiting(vectors.len(), vectors.dimensions());
        let coarse = coarseness.map(|coarseness| Coarse::of(&vectors, coarseness));
        Self::with(vectors, coarse)
    }

    /// Vectors that are rounded ([`Vectors::rounded`]): a quarter of the bytes, and nothing is lost.
    /// What is too large to be read in bytes for every request is kept as it is.
    pub fn rounded(vectors: Vectors) -> Self {
        let suiting = Coarseness::suiting(vectors.len(), vectors.dimensions());
        if suiting == Some(Coarseness::Signs) {
            return Self::new(vectors);
        }
        let (rows, coarse) = (vectors.len(), Some(Coarse::of_rounded(&vectors)));
        Self { rows, values: Values::Rounded(OnceLock::from(vectors)), coarse, file: None }
    }

    /// Vectors with a copy made before, or none.
    ///
    /// # Panics
    /// If the copy is not one of as many rows of this length.
    pub fn with(vectors: Vectors, coarse: Option<Coarse>) -> Self {
        assert!(coarse.as_ref().is_none_or(|copy| copy.is_of(&vectors)), "a copy of the vectors");
        Self { rows: vectors.len(), values: Values::Full(vectors), coarse, file: None }
    }

    /// The bytes to keep on disk.
    pub fn to_bytes(&self) -> Vec<u8> {
        let copy = self.coarse.as_ref().map_or(&[][..], Coarse::bytes);
        let (dimensions, values) = match (&self.values, &self.coarse) {
            (Values::Full(vectors), _) => (vectors.dimensions(), vectors.values()),
            (Values::Rounded(_), copy) => (copy.as_ref().map_or(0, Coarse::dimensions), &[][..]),
        };
        let coarseness = self.coarse.as_ref().map(Coarse::coarseness);
        let meta = Meta { dimensions, rows: self.rows, coarseness };
        let meta = serde_json::to_vec(&meta).expect("plain data");
        let mut draft = Draft::new(&[meta.len(), size_of_val(values), copy.len()]);
        draft.part::<u8>(0).copy_from_slice(&meta);
        draft.part::<f32>(VALUES).copy_from_slice(values);
        draft.part::<u8>(COPY).copy_from_slice(copy);
        draft.finish(&FORMAT).bytes().to_vec()
    }

    /// Takes bytes that an earlier one gave, checking what they claim to be. What every request
    /// reads is checked now: the coarse copy, or all of them where there is none.
    pub fn open(blob: Blob) -> Result<Self, IndexError> {
        let file = Arc::new(Sections::open(blob, &FORMAT, PARTS)?);
        let damaged = |what| IndexError::Damaged { what };
        let Meta { dimensions, rows, coarseness } =
            serde_json::from_slice(file.slice(0, 0..file.len::<u8>(0)))
                .map_err(|_| damaged("its description"))?;
        let copied = |kind: Coarseness| kind.row_size(dimensions).checked_mul(rows);
        let is_rounded = file.len::<u8>(VALUES) == 0 && coarseness == Some(Coarseness::Bytes);
        let fits = (1..1 << 20).contains(&dimensions)
            && (is_rounded || rows.checked_mul(dimensions) == Some(file.len::<f32>(VALUES)))
            && file.len::<u8>(VALUES).is_multiple_of(size_of::<f32>())
            && coarseness.map_or(Some(0), copied) == Some(file.len::<u8>(COPY));
        if !fits {
            return Err(damaged("its numbers of rows and columns"));
        }
        let read = if coarseness.is_some() { COPY } else { VALUES };
        file.check(read, 0..file.len::<u8>(read));
        file.sound()?;
        let values = match is_rounded {
            true => Values::Rounded(OnceLock::new()),
            false => Values::Full(Vectors::opened(dimensions, Arc::clone(&file))),
        };
        let coarse = coarseness.map(|kind| Coarse::opened(kind, dimensions, Arc::clone(&file)));
        Ok(Self { rows, values, coarse, file: Some(file) })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Was everything sound that was read so far?
    pub fn sound(&self) -> Result<(), IndexError> {
        self.file.as_ref().map_or(Ok(()), |file| file.sound())
    }

    /// Is all of it sound? For those who read rows by themselves.
    pub fn check(&self) -> Result<(), IndexError> {
        self.file.as_ref().map_or(Ok(()), |file| file.check_all())
    }

    /// Cosine of a row and a request of length one.
    pub fn score(&self, skill: SkillIdx, request: &[f32]) -> f32 {
        match (&self.values, &self.coarse) {
            (Values::Rounded(_), Some(copy)) => {
                let row: Vec<f32> = copy.rounded_row(skill.row()).collect();
                dot(&row, request)
            }
            _ => dot(self.vectors().checked_row(skill.row()), request),
        }
    }

    /// One vector, without making all of them.
    pub fn row(&self, skill: SkillIdx) -> Vec<f32> {
        match (&self.values, &self.coarse) {
            (Values::Rounded(_), Some(copy)) => copy.rounded_row(skill.row()).collect(),
            _ => self.vectors().checked_row(skill.row()).to_vec(),
        }
    }

    /// All vectors.
    pub fn vectors(&self) -> &Vectors {
        match (&self.values, &self.coarse) {
            (Values::Full(vectors), _) => vectors,
            (Values::Rounded(vectors), copy) => vectors.get_or_init(|| {
                let Some(copy) = copy.as_ref().filter(|_| self.rows > 0) else {
                    return Vectors::default();
                };
                let values = (0..self.rows).flat_map(|row| copy.rounded_row(row)).collect();
                Vectors::of_unit_rows(copy.dimensions(), values)
            }),
        }
    }

    /// The coarse copy, where there is one.
    pub fn coarse(&self) -> Option<&Coarse> {
        self.coarse.as_ref()
    }

    /// The best `k` rows by cosine, best first; equal ones in the order of ids. Rows that point away
    /// from the request are no hits.
    pub fn search(&self, request: &[f32], k: usize) -> Vec<Hit> {
        let Some(coarse) = &self.coarse else { return nearest(self.vectors(), request, k) };
        let score = |row: u32| self.score(SkillIdx(row), request);
        let mut hits: Vec<Hit> = coarse
            .candidates(request, k)
            .into_iter()
            .map(|row| Hit { skill: SkillIdx(row), score: score(row) })
            .filter(|hit| hit.score > 0.0)
            .collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.skill.cmp(&b.skill)));
        hits.truncate(k);
        hits
    }
}

/// The best `k` rows of vectors that are few, as [`DenseIndex::search`] gives them.
pub fn nearest(vectors: &Vectors, request: &[f32], k: usize) -> Vec<Hit> {
    if vectors.is_empty() {
        return Vec::new();
    }
    let mut scores = vec![0.0; vectors.len()];
    let dimensions = vectors.dimensions();
    let rows = vectors.values().par_chunks(CHUNK * dimensions);
    scores.par_chunks_mut(CHUNK).zip(rows).for_each(|(scores, rows)| {
        for (score, row) in scores.iter_mut().zip(rows.chunks_exact(dimensions)) {
            *score = dot(row, request);
        }
    });
    TopK::default().select(&scores, k)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Rows around a few centers, as those of look-alikes are, some of them alike to the digit.
    fn crowded(rows: usize, dimensions: usize, seed: u64) -> Vectors {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut number = || random.random::<f32>() - 0.5;
        let centers: Vec<f32> = (0..7 * dimensions).map(|_| number()).collect();
        let mut values = Vec::with_capacity(rows * dimensions);
        for row in 0..rows {
            let center = &centers[row % 7 * dimensions..][..dimensions];
            values.extend(center.iter().map(|x| x + if row % 3 == 0 { 0.0 } else { number() }));
        }
        Vectors::new(dimensions, values)
    }

    proptest! {
        /// A copy in bytes loses nothing, ties and rows that point away included.
        #[test]
        fn a_copy_in_bytes_finds_what_a_full_scan_finds(
            rows in 1_usize..300,
            dimensions in 1_usize..70,
            k in 0_usize..40,
            seed in 0_u64..1000,
        ) {
            let vectors = crowded(rows, dimensions, seed);
            let request = crowded(8, dimensions, seed + 1);
            let coarse = Coarse::of(&vectors, Coarseness::Bytes);
            let index = DenseIndex::with(vectors.clone(), Some(coarse));
            for request in [request.row(1), vectors.row(0), &vec![0.0; dimensions]] {
                prop_assert_eq!(index.search(request, k), nearest(&vectors, request, k));
            }
        }
    }

    /// Rounded vectors are a quarter of the bytes, and a file gives back what was put in.
    #[test]
    fn rounded_vectors_are_kept_in_bytes() {
        let vectors = crowded(300, 48, 5).rounded();
        assert!(vectors.clone().rounded() == vectors, "once is enough");
        let made = DenseIndex::rounded(vectors.clone());
        let bytes = made.to_bytes();
        assert!(bytes.len() < 300 * 48 * 2, "{}", bytes.len());
        let opened = DenseIndex::open(Blob::of(&bytes)).unwrap();
        assert!(*opened.vectors() == vectors);
        for row in [0, 7, 299] {
            let request = vectors.row(row);
            let expected = nearest(&vectors, request, 20);
            assert_eq!(opened.search(request, 20), expected);
            assert_eq!(made.search(request, 20), expected);
            assert_eq!(opened.score(expected[3].skill, request), expected[3].score);
        }
        let none = DenseIndex::rounded(Vectors::default());
        assert!(none.is_empty() && none.vectors().is_empty());
    }

    #[test]
    fn signs_find_nearly_all_that_a_full_scan_finds() {
        let vectors = crowded(20_000, 256, 3);
        let index =
            DenseIndex::with(vectors.clone(), Some(Coarse::of(&vectors, Coarseness::Signs)));
        let (mut found, mut all) = (0, 0);
        for row in (1..20_000).step_by(997) {
            let exact = nearest(&vectors, vectors.row(row), 10);
            let hits = index.search(vectors.row(row), 10);
            found += exact.iter().filter(|hit| hits.contains(hit)).count();
            all += exact.len();
        }
        assert!(found * 100 >= all * 99, "{found} of {all}");
    }

    #[test]
    fn the_size_decides_what_is_scanned() {
        let kinds = [400, 33_000, 3_000_000].map(|rows| Coarseness::suiting(rows, 384));
        assert_eq!(kinds, [None, Some(Coarseness::Bytes), Some(Coarseness::Signs)]);
        assert!(DenseIndex::new(crowded(9, 4, 0)).coarse().is_none());
        assert!(DenseIndex::new(crowded(30_000, 80, 0)).coarse().is_some());
    }

    #[test]
    fn nearest_first_ties_by_row_and_nothing_that_points_away() {
        let vectors = Vectors::new(2, vec![0.0, 1.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
        let hits = nearest(&vectors, &[1.0, 0.0], 9);
        let rows: Vec<SkillIdx> = hits.iter().map(|hit| hit.skill).collect();
        assert_eq!(rows, [1, 3, 4].map(SkillIdx));
        assert_eq!(nearest(&Vectors::default(), &[], 3), []);
    }

    #[test]
    fn threads_do_not_change_a_score() {
        let values = (0..9000 * 5).map(|n| ((n * 37 % 101) as f32 - 50.0) / 7.0).collect();
        let vectors = Vectors::new(5, values);
        let request = vectors.row(77).to_vec();
        for coarse in [None, Some(Coarseness::Bytes), Some(Coarseness::Signs)] {
            let coarse = coarse.map(|coarseness| Coarse::of(&vectors, coarseness));
            let index = DenseIndex::with(vectors.clone(), coarse);
            let search = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| index.search(&request, 50))
            };
            assert_eq!(search(1), search(3));
        }
    }
}
