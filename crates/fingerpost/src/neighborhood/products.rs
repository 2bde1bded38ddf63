//! What are the inner products of many rows with many others, quickly and everywhere the same?
//!
//! A matrix product is fast, but its last bits depend on the machine's vector instructions. So it
//! only nominates: whatever comes within [`MARGIN`] of deciding anything is computed again by
//! [`dot`], whose order of summation is fixed. Work is cut into blocks of fixed size that run on
//! one thread each; how many threads there are never shows.

use gemm::Parallelism;
use rayon::prelude::*;

use crate::embedding::{Vectors, dot};

/// Rows a block holds: enough that packing the other side is a small part of the work.
pub(super) const BLOCK: usize = 512;

/// How far a product of unit vectors may be off. Rounding gives about 1e-6 at 4,096 dimensions.
pub(super) const MARGIN: f32 = 1e-5;

/// `scores[r * c_len + c]` becomes the product of row `r` and column `c`, both stored as rows.
pub(super) fn products(rows: &[f32], columns: &[f32], dimensions: usize, scores: &mut [f32]) {
    let (m, n) = (rows.len() / dimensions, columns.len() / dimensions);
    assert!(rows.len() == m * dimensions && columns.len() == n * dimensions, "whole rows");
    assert_eq!(scores.len(), m * n, "one score a pair");
    // SAFETY: `scores` is m x n in row order, `rows` m x dimensions in row order, and `columns`,
    // n rows of `dimensions`, is read as its transpose; the asserts above checked all three.
    unsafe {
        gemm::gemm(
            m,
            n,
            dimensions,
            scores.as_mut_ptr(),
            1,
            n as isize,
            false,
            rows.as_ptr(),
            1,
            dimensions as isize,
            columns.as_ptr(),
            dimensions as isize,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Copies rows beside each other.
pub(super) fn gather(vectors: &Vectors, rows: &[u32], into: &mut Vec<f32>) {
    into.clear();
    for &row in rows {
        into.extend_from_slice(vectors.row(row as usize));
    }
}

/// For each of the rows the `count` columns with the largest products, best first, equal ones in
/// the order of columns; `count` entries a row (fewer columns than that: as many as there are).
pub(super) fn nearest(
    vectors: &Vectors,
    rows: &[u32],
    columns: &Vectors,
    count: usize,
) -> Vec<(u32, f32)> {
    let dimensions = vectors.dimensions();
    let count = count.min(columns.len());
    let blocks: Vec<Vec<(u32, f32)>> = rows
        .par_chunks(BLOCK)
        .map_init(
            || (Vec::new(), Vec::new(), Vec::new()),
            |(block, scores, nominated), rows| {
                gather(vectors, rows, block);
                scores.resize(rows.len() * columns.len(), 0.0);
                products(block, columns.values(), dimensions, scores);
                let mut found = Vec::with_capacity(rows.len() * count);
                let pairs = scores.chunks_exact(columns.len()).zip(block.chunks_exact(dimensions));
                for (scores, row) in pairs {
                    nominate(scores, count, nominated);
                    for (column, score) in nominated.iter_mut() {
                        *score = dot(row, columns.row(*column as usize));
                    }
                    nominated.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    found.extend_from_slice(&nominated[..count]);
                }
                found
            },
        )
        .collect();
    blocks.concat()
}

/// The best `count` scores and all that the margin of error leaves in doubt.
fn nominate(scores: &[f32], count: usize, nominated: &mut Vec<(u32, f32)>) {
    let mut best = f32::NEG_INFINITY;
    if count == 1 {
        best = scores.iter().copied().fold(best, f32::max);
    } else if count > 0 {
        // `nominated` holds the best so far, smallest last; most scores are below it.
        nominated.clear();
        for &score in scores {
            if nominated.len() < count || score > best {
                let at = nominated.partition_point(|&(_, kept)| kept >= score);
                nominated.insert(at, (0, score));
                nominated.truncate(count);
                best = nominated[nominated.len() - 1].1;
            }
        }
    }
    let bar = best - 2.0 * MARGIN;
    nominated.clear();
    let numbered = (0..).zip(scores.iter().copied());
    nominated.extend(numbered.filter(|&(_, score)| score >= bar));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_dot() {
        let values = |len: usize, step: usize| -> Vec<f32> {
            (0..len).map(|at| ((at * step) % 17) as f32 - 8.0).collect()
        };
        let (rows, columns) = (Vectors::new(5, values(35, 3)), Vectors::new(5, values(20, 7)));
        let mut scores = vec![0.0; 28];
        products(rows.values(), columns.values(), 5, &mut scores);
        for (r, row) in rows.rows().enumerate() {
            for (c, column) in columns.rows().enumerate() {
                assert!((scores[r * 4 + c] - dot(row, column)).abs() < MARGIN);
            }
        }
    }

    #[test]
    fn the_nearest_come_best_first_and_ties_by_column() {
        let columns = Vectors::new(2, vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0]);
        let rows = Vectors::new(2, vec![1.0, 0.1]);
        let columns_of = |count| {
            let found = nearest(&rows, &[0], &columns, count);
            found.iter().map(|&(column, _)| column).collect::<Vec<_>>()
        };
        assert_eq!(columns_of(1), [1]);
        assert_eq!(columns_of(3), [1, 2, 0]);
        assert_eq!(columns_of(9), [1, 2, 0, 3]);
    }
}
