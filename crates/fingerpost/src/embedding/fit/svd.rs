//! Which few directions hold most of a large sparse matrix?
//!
//! A randomised singular value decomposition (Halko, Martinsson, Tropp 2011): the matrix is applied
//! to random vectors, which it turns towards its strong directions; a small exact problem inside
//! the subspace they span then gives values and vectors. A matrix of no more rows than directions
//! is solved exactly.
//!
//! Textbooks turn the subspace again and again, towards the strongest directions alone. Where the
//! subspace can hold nearly all of the matrix, that is right. In a large library it is worse: one
//! more turn takes Recall@10 on `sra` from 50 to 44. The strongest directions are its large topics;
//! without the turn, the subspace keeps some of every small one.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

use super::eigen;
use super::sparse::Sparse;

/// Directions followed beyond those asked for: the last ones of a subspace are its worst.
const SPARE: usize = 16;

/// Directions weaker than this, beside the strongest, are noise of the arithmetic.
const WEAKEST: f64 = 1e-4;

/// A matrix with no more rows than this many times the directions is turned further, ...
const FEW: usize = 4;

/// ... so many times.
const TURNS: usize = 2;

/// Widths of dense matrices are multiples of this, so that loops over columns have no rest.
const LANES: usize = 8;

/// The strong directions of a matrix.
pub(super) struct Svd {
    /// Columns of `left`: at least as many as there are values, and never none.
    pub(super) width: usize,
    /// Left singular vectors as columns; those beyond the last value are zero.
    pub(super) left: Vec<f32>,
    /// Singular values, largest first.
    pub(super) values: Vec<f64>,
}

/// Decomposes `matrix`, whose transpose is at hand.
pub(super) fn decompose(matrix: &Sparse, transposed: &Sparse, directions: usize, seed: u64) -> Svd {
    let rows = matrix.rows();
    let turn = |block: &[f32], width| matrix.times(&transposed.times(block, width), width);
    let (basis, width) = if rows <= directions + SPARE {
        let width = rows.next_multiple_of(LANES).max(LANES);
        let mut identity = vec![0.0; rows * width];
        (0..rows).for_each(|row| identity[row * width + row] = 1.0);
        (identity, width)
    } else {
        let width = (directions + SPARE).next_multiple_of(LANES);
        let random = signs(matrix.columns() * width, seed);
        let mut basis = orthonormal(&matrix.times(&random, width), width);
        for _ in 0..if rows <= FEW * directions { TURNS } else { 0 } {
            basis = orthonormal(&turn(&basis, width), width);
        }
        (basis, width)
    };
    let turned = turn(&basis, width);
    let (squares, vectors) = eigen::symmetric(&gram(&basis, &turned, width), width);
    let strongest = squares.first().copied().unwrap_or(0.0);
    let strong = squares.iter().take(directions).filter(|&&square| is_strong(square, strongest));
    let values: Vec<f64> = strong.map(|square| square.sqrt()).collect();
    let kept = values.len().next_multiple_of(LANES).max(LANES);
    let mut rotation = vec![0.0; width * kept];
    for row in 0..width {
        for place in 0..values.len() {
            rotation[row * kept + place] = vectors[row * width + place] as f32;
        }
    }
    Svd { width: kept, left: product(&basis, width, &rotation, kept), values }
}

fn is_strong(square: f64, strongest: f64) -> bool {
    square > strongest * WEAKEST * WEAKEST
}

/// Plus and minus one, at random.
fn signs(count: usize, seed: u64) -> Vec<f32> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut signs = vec![0.0; count];
    for chunk in signs.chunks_mut(64) {
        let mut bits: u64 = random.random();
        for sign in chunk {
            *sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
            bits >>= 1;
        }
    }
    signs
}

/// Columns of length one at right angles that span what these do; columns left over are zero.
fn orthonormal(block: &[f32], width: usize) -> Vec<f32> {
    let (squares, vectors) = eigen::symmetric(&gram(block, block, width), width);
    let mut rotation = vec![0.0; width * width];
    for (place, &square) in squares.iter().enumerate() {
        if is_strong(square, squares[0]) {
            let scale = 1.0 / square.sqrt();
            for row in 0..width {
                rotation[row * width + place] = (vectors[row * width + place] * scale) as f32;
            }
        }
    }
    product(block, width, &rotation, width)
}

/// The transpose of `a` times `b`, both of `width` columns, where the result is known to be
/// symmetric. Some rows at a time are summed in single precision, and those sums in double.
fn gram(a: &[f32], b: &[f32], width: usize) -> Vec<f64> {
    const ROWS: usize = 256;
    let mut gram = vec![0.0; width * width];
    gram.par_chunks_mut(4 * width).enumerate().for_each(|(stripe, out)| {
        for (a, b) in a.chunks(ROWS * width).zip(b.chunks(ROWS * width)) {
            let four = |row: &[f32]| row[stripe * 4..stripe * 4 + 4].try_into().expect("four");
            let left: Vec<[f32; 4]> = a.chunks_exact(width).map(four).collect();
            for column in (0..width).step_by(LANES) {
                for (row, sums) in tile(&left, &b[column..], width).iter().enumerate() {
                    for (lane, &sum) in sums.iter().enumerate() {
                        out[row * width + column + lane] += f64::from(sum);
                    }
                }
            }
        }
    });
    // Rounding may tell the two halves apart; their mean does not.
    for row in 0..width {
        for column in 0..row {
            let mean = (gram[row * width + column] + gram[column * width + row]) / 2.0;
            gram[row * width + column] = mean;
            gram[column * width + row] = mean;
        }
    }
    gram
}

/// `a` (of `inner` columns) times `b` (of `width` columns).
fn product(a: &[f32], inner: usize, b: &[f32], width: usize) -> Vec<f32> {
    let mut product = vec![0.0; a.len() / inner * width];
    let stripes = product.par_chunks_mut(4 * width).zip(a.par_chunks(4 * inner));
    stripes.for_each(|(out, a)| {
        // The last stripe may have fewer rows than four; the missing ones count as zero.
        let at = |row: usize, column: usize| a.get(row * inner + column).copied().unwrap_or(0.0);
        let left: Vec<[f32; 4]> =
            (0..inner).map(|column| std::array::from_fn(|row| at(row, column))).collect();
        for column in (0..width).step_by(LANES) {
            let sums = tile(&left, &b[column..], width);
            for (row, sums) in out.chunks_exact_mut(width).zip(&sums) {
                row[column..column + LANES].copy_from_slice(sums);
            }
        }
    });
    product
}

/// Four by eight inner products at once: the sums stay in registers.
fn tile(left: &[[f32; 4]], right: &[f32], stride: usize) -> [[f32; LANES]; 4] {
    let mut sums = [[0_f32; LANES]; 4];
    for (left, right) in left.iter().zip(right.chunks(stride)) {
        let right: &[f32; LANES] = right[..LANES].try_into().expect("eight columns");
        for row in 0..4 {
            for lane in 0..LANES {
                sums[row][lane] += left[row] * right[lane];
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three blocks of equal rows: singular values are the roots of the blocks' sizes.
    fn blocks(sizes: [usize; 3]) -> Sparse {
        let mut matrix = Sparse::new(3);
        for (column, &size) in sizes.iter().enumerate() {
            (0..size).for_each(|_| matrix.push_row([(column as u32, 1.0)]));
        }
        matrix
    }

    #[test]
    fn values_and_rank_of_blocks() {
        for sizes in [[4, 3, 2], [400, 90, 16]] {
            let matrix = blocks(sizes);
            let svd = decompose(&matrix, &matrix.transposed(), 64, 1);
            assert_eq!(svd.values.len(), 3, "{sizes:?}");
            for (value, size) in svd.values.iter().zip(sizes) {
                assert!((value - (size as f64).sqrt()).abs() < 1e-4, "{value} of {size}");
            }
        }
    }

    #[test]
    fn nothing_has_no_directions() {
        for rows in [0, 1, 300] {
            let mut matrix = Sparse::new(0);
            (0..rows).for_each(|_| matrix.push_row([]));
            let svd = decompose(&matrix, &matrix.transposed(), 16, 1);
            assert!(svd.values.is_empty());
            assert_eq!(svd.left, vec![0.0; rows * svd.width]);
        }
    }
}
