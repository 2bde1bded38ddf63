//! What is a library times a block of vectors?
//!
//! Rows of (column, weight) and their products with dense matrices. Each row's sum is taken by one
//! thread, in the order of its entries, so the number of threads never shows. There is no fused
//! multiply-add either, so that every machine rounds alike.

use rayon::prelude::*;

/// Columns of a product that are summed at once: as many as stay in registers.
const TILE: usize = 32;

/// Rows of a product that are one piece of work.
const ROWS: usize = 64;

/// A matrix of few entries, by rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Sparse {
    columns: usize,
    /// Where each row's entries end.
    ends: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl Sparse {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns, ..Self::default() }
    }

    pub(super) fn push_row(&mut self, entries: impl IntoIterator<Item = (u32, f32)>) {
        self.entries.extend(entries);
        self.ends.push(self.entries.len());
    }

    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn row(&self, row: usize) -> &[(u32, f32)] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.entries[start..self.ends[row]]
    }

    /// The same entries by columns, each column's in the order of rows.
    pub(super) fn transposed(&self) -> Self {
        let mut next = vec![0; self.columns + 1];
        for &(column, _) in &self.entries {
            next[column as usize + 1] += 1;
        }
        for column in 0..self.columns {
            next[column + 1] += next[column];
        }
        let ends = next[1..].to_vec();
        let mut entries = vec![(0, 0.0); self.entries.len()];
        for row in 0..self.rows() {
            for &(column, weight) in self.row(row) {
                entries[next[column as usize]] = (row as u32, weight);
                next[column as usize] += 1;
            }
        }
        Self { columns: self.rows(), ends, entries }
    }

    /// This times a dense matrix of so many columns.
    pub(super) fn times(&self, dense: &[f32], width: usize) -> Vec<f32> {
        assert_eq!(dense.len(), self.columns * width, "a row a column");
        let mut product = vec![0.0; self.rows() * width];
        product.par_chunks_mut(ROWS * width).enumerate().for_each(|(chunk, rows)| {
            for (row, sums) in rows.chunks_exact_mut(width).enumerate() {
                row_times(self.row(chunk * ROWS + row), dense, sums);
            }
        });
        product
    }
}

/// Adds up the dense rows that one sparse row names, by its weights.
fn row_times(entries: &[(u32, f32)], dense: &[f32], sums: &mut [f32]) {
    let width = sums.len();
    let (tiles, rest) = sums.as_chunks_mut::<TILE>();
    for (tile, sums) in tiles.iter_mut().enumerate() {
        let mut lanes = [0_f32; TILE];
        for &(row, weight) in entries {
            let at = row as usize * width + tile * TILE;
            let values: &[f32; TILE] = dense[at..at + TILE].try_into().expect("a whole tile");
            for lane in 0..TILE {
                lanes[lane] += weight * values[lane];
            }
        }
        *sums = lanes;
    }
    for &(row, weight) in entries {
        let values = &dense[(row as usize + 1) * width - rest.len()..][..rest.len()];
        for (sum, value) in rest.iter_mut().zip(values) {
            *sum += weight * value;
        }
    }
}
