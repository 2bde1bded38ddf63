//! Which rows can be among the nearest at all?
//!
//! A scan of vectors costs the reading of their bytes. A coarse copy has a quarter of them (a byte
//! a number) or a thirty-second (its sign), and says which rows are worth an exact look. With bytes
//! nothing is lost: each row keeps how far its copy is off, which bounds how far a score can be.
//! Signs bound nothing; they bring many more rows than are wanted, and nearly always the right ones.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::dense::CHUNK;
use super::top_k::kth;
use crate::embedding::{Vectors, round};
use crate::sections::Sections;

/// What a coarse copy keeps of each number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coarseness {
    /// A byte, in steps of a 127th of the row's largest number.
    Bytes,
    /// Whether it is below zero.
    Signs,
}

/// Vectors up to here are scanned as they are: a cache holds them.
const SMALL: usize = 8 << 20;

/// Vectors up to here are worth a copy in bytes; beyond it even those are too much to read.
const LARGE: usize = 1 << 30;

impl Coarseness {
    /// What suits vectors of this size, if any.
    pub fn suiting(rows: usize, dimensions: usize) -> Option<Self> {
        if dimensions > MOST_DIMENSIONS {
            return None;
        }
        let bytes = rows * dimensions * size_of::<f32>();
        match bytes > LARGE {
            true => Some(Coarseness::Signs),
            false => (bytes > SMALL).then_some(Coarseness::Bytes),
        }
    }

    /// Bytes of a row's copy.
    pub(crate) fn row_size(self, dimensions: usize) -> usize {
        match self {
            Coarseness::Bytes => dimensions + 2 * size_of::<f32>(),
            Coarseness::Signs => dimensions.div_ceil(WORD) * size_of::<u64>(),
        }
    }
}

/// Signs in a word.
const WORD: usize = 64;

/// Steps of a row's byte, and of a request's number: there is one request, so it can be finer.
const STEPS: f32 = 127.0;
const REQUEST_STEPS: f32 = 2047.0;

/// The sum of this many products stays below 2³¹.
const MOST_DIMENSIONS: usize = 8192;

/// What rounding in the exact score itself may amount to.
const ROUNDING: f32 = 1e-5;

/// Of how many rows by their signs the nearest `k` are taken: this many for each of `k`, and this
/// share of all.
const SIGNS_A_HIT: usize = 64;
const SIGNS_SHARE: usize = 256;

/// A coarse copy of vectors.
#[derive(Debug, Clone)]
pub struct Coarse {
    coarseness: Coarseness,
    dimensions: usize,
    bytes: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    Owned(Vec<u8>),
    /// A section of the file that has the vectors.
    Opened(Arc<Sections>),
}

/// Where the copy is in a file with vectors.
pub(super) const COPY: usize = 2;

impl Coarse {
    /// Copies vectors.
    pub fn of(vectors: &Vectors, coarseness: Coarseness) -> Self {
        let dimensions = vectors.dimensions();
        let mut bytes = vec![0; vectors.len() * coarseness.row_size(dimensions)];
        bytes
            .par_chunks_exact_mut(coarseness.row_size(dimensions))
            .zip(vectors.values().par_chunks_exact(dimensions))
            .for_each(|(copy, row)| match coarseness {
                Coarseness::Bytes => copy_as_bytes(row, copy),
                Coarseness::Signs => {
                    for (word, numbers) in copy.as_chunks_mut().0.iter_mut().zip(row.chunks(WORD)) {
                        *word = signs(numbers).to_le_bytes();
                    }
                }
            });
        Self { coarseness, dimensions, bytes: Bytes::Owned(bytes) }
    }

    /// Rounded vectors, which are in bytes what they are: nothing is off.
    pub(super) fn of_rounded(vectors: &Vectors) -> Self {
        let (coarseness, dimensions) = (Coarseness::Bytes, vectors.dimensions());
        let size = coarseness.row_size(dimensions);
        let mut bytes = vec![0; vectors.len() * size];
        let rows = vectors.values().par_chunks_exact(dimensions.max(1));
        bytes.par_chunks_exact_mut(size).zip(rows).for_each(|(copy, row)| {
            let (numbers, rest) = copy.split_at_mut(dimensions);
            let step = round(row, bytemuck::cast_slice_mut(numbers));
            rest[..4].copy_from_slice(&step.to_le_bytes());
        });
        Self { coarseness, dimensions, bytes: Bytes::Owned(bytes) }
    }

    /// A row of rounded vectors.
    pub(super) fn rounded_row(&self, row: usize) -> impl Iterator<Item = f32> {
        let size = self.coarseness.row_size(self.dimensions);
        let (numbers, rest) = self.bytes()[row * size..][..size].split_at(self.dimensions);
        let step = f32::from_le_bytes(rest.as_chunks().0[0]);
        numbers.iter().map(move |&number| f32::from(number.cast_signed()) * step)
    }

    /// A copy that is a section of the file with its vectors.
    pub(super) fn opened(coarseness: Coarseness, dimensions: usize, file: Arc<Sections>) -> Self {
        Self { coarseness, dimensions, bytes: Bytes::Opened(file) }
    }

    /// Numbers of a row.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// What it keeps of each number.
    pub fn coarseness(&self) -> Coarseness {
        self.coarseness
    }

    /// Has it as many rows, of the same length?
    pub(crate) fn is_of(&self, vectors: &Vectors) -> bool {
        (self.len(), self.dimensions) == (vectors.len(), vectors.dimensions())
    }

    /// All rows, one after another.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Owned(bytes) => bytes,
            Bytes::Opened(file) => file.raw(COPY),
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes().len() / self.coarseness.row_size(self.dimensions).max(1)
    }

    /// Rows that hold the nearest `k` to a request of length one, ascending.
    pub(super) fn candidates(&self, request: &[f32], k: usize) -> Vec<u32> {
        match self.coarseness {
            Coarseness::Bytes => self.by_bytes(request, k),
            Coarseness::Signs => self.by_signs(request, k),
        }
    }

    /// All rows whose score can be as high as the `k`-th best one is at least.
    fn by_bytes(&self, request: &[f32], k: usize) -> Vec<u32> {
        let (request, step, off) = quantised(request);
        let bounds: Vec<(f32, f32)> = self.map_rows(|copy| {
            let (numbers, rest) = copy.split_at(self.dimensions);
            let [row_step, row_off] = [0, 1].map(|at| f32::from_le_bytes(rest.as_chunks().0[at]));
            let score = row_step * step * inner(bytemuck::cast_slice(numbers), &request) as f32;
            // The request has length one, the copy at most that of its row and what it is off.
            let most = row_off + (1.0 + row_off) * off + ROUNDING;
            (score - most, score + most)
        });
        let at_least: Vec<f32> = bounds.iter().map(|bound| bound.0).collect();
        let sure = kth(&at_least, k, &mut Vec::new());
        let reaches = |(_, bound): &(usize, &(f32, f32))| bound.1 >= sure && bound.1 > 0.0;
        bounds.iter().enumerate().filter(reaches).map(|(row, _)| row as u32).collect()
    }

    /// The rows that share most signs with the request, many more than `k`.
    fn by_signs(&self, request: &[f32], k: usize) -> Vec<u32> {
        let request: Vec<u64> = request.chunks(WORD).map(signs).collect();
        let differing: Vec<u32> = self.map_rows(|copy| {
            let words = copy.as_chunks().0.iter().zip(&request);
            words.map(|(word, asked)| (u64::from_le_bytes(*word) ^ asked).count_ones()).sum()
        });
        let wanted = (k * SIGNS_A_HIT).max(differing.len() / SIGNS_SHARE);
        if wanted >= differing.len() {
            return (0..differing.len() as u32).collect();
        }
        let mut ranked = differing.clone();
        let most = *ranked.select_nth_unstable(wanted).1;
        (0..).zip(&differing).filter(|(_, count)| **count <= most).map(|(row, _)| row).collect()
    }

    fn map_rows<T: Send>(&self, of: impl Fn(&[u8]) -> T + Send + Sync) -> Vec<T> {
        let rows = self.bytes().par_chunks_exact(self.coarseness.row_size(self.dimensions));
        rows.with_min_len(CHUNK).map(of).collect()
    }
}

/// Writes a row's numbers in bytes, then the step between two of them and how far the copy is off.
fn copy_as_bytes(row: &[f32], copy: &mut [u8]) {
    let (numbers, rest) = copy.split_at_mut(row.len());
    let largest = row.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let step = largest / STEPS;
    let mut off = 0.0_f64;
    for (byte, &x) in numbers.iter_mut().zip(row) {
        let number = if step > 0.0 { (x / step).round() } else { 0.0 };
        *byte = (number as i8).cast_unsigned();
        off += f64::from(x - number * step).powi(2);
    }
    rest[..4].copy_from_slice(&step.to_le_bytes());
    rest[4..].copy_from_slice(&(off.sqrt() as f32).next_up().to_le_bytes());
}

/// A request in whole numbers, the step between two of them, and how far it is off.
fn quantised(request: &[f32]) -> (Vec<i16>, f32, f32) {
    let largest = request.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let step = largest / REQUEST_STEPS;
    let number = |x: f32| if step > 0.0 { (x / step).round() } else { 0.0 };
    let off: f64 = request.iter().map(|&x| f64::from(x - number(x) * step).powi(2)).sum();
    (request.iter().map(|&x| number(x) as i16).collect(), step, off.sqrt() as f32)
}

/// Inner product in whole numbers, which no order of addition changes. Lanes as the processor's
/// multiply-and-add of neighboring pairs wants them.
fn inner(a: &[i8], b: &[i16]) -> i32 {
    const LANES: usize = 16;
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0_i32; LANES];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += i32::from(i16::from(a[lane])) * i32::from(b[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(&a, &b)| i32::from(a) * i32::from(b));
    sums.iter().sum::<i32>() + rest.sum::<i32>()
}

/// A bit for each number below zero.
fn signs(numbers: &[f32]) -> u64 {
    let bits = numbers.iter().enumerate();
    bits.fold(0, |word, (at, x)| word | u64::from(x.is_sign_negative()) << at)
}
