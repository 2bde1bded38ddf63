//! Which vectors are nearest to a request's?
//!
//! Every row is compared: exact, in the order of memory, and quick enough for the libraries there
//! are. Scores are summed in a fixed order, so that threads cannot change a ranking.

use rayon::prelude::*;

use super::Hit;
use super::top_k::TopK;
use crate::embedding::{Vectors, dot};

/// Rows that one thread scans before another could help.
const CHUNK: usize = 4096;

/// The best `k` rows by cosine, best first; equal ones in the order of ids. Rows that point away
/// from the request are no hits.
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
    use super::*;
    use crate::skill::SkillIdx;

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
        let search = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| nearest(&vectors, &request, 50))
        };
        assert_eq!(search(1), search(3));
    }
}
