//! How do several rankings become one?
//!
//! By reciprocal ranks: a skill gets from each ranking its weight over its rank, the first ranks
//! flattened. Scores of different retrievers have different scales, ranks do not. A retriever that
//! is near chance on a library gets no weight (see [`crate::search::tuning`]): at equal weight it
//! would push every second right answer off the list.

use std::collections::BTreeMap;

use super::Hit;
use crate::skill::SkillIdx;

/// How strongly the first ranks are flattened. The customary 60 makes the tenth nearly as good as the
/// first, and weights count for little: on `metatool` it takes 5 points of R@10 (docs/lab/search.md).
const FLATTENING: f64 = 10.0;

/// Weighted reciprocal ranks; best first, equal ones in the order of ids.
pub fn reciprocal_ranks(rankings: &[(f64, &[Hit])], k: usize) -> Vec<Hit> {
    let mut scores: BTreeMap<SkillIdx, f64> = BTreeMap::new();
    for (weight, hits) in rankings.iter().filter(|(weight, _)| *weight > 0.0) {
        for (rank, hit) in hits.iter().enumerate() {
            *scores.entry(hit.skill).or_default() += weight / (FLATTENING + 1.0 + rank as f64);
        }
    }
    let mut fused: Vec<(SkillIdx, f64)> = scores.into_iter().collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused.truncate(k);
    fused.into_iter().map(|(skill, score)| Hit { skill, score: score as f32 }).collect()
}

/// The firsts of all rankings, then the seconds, and so on, each skill once: as the reference
/// toolkit does. Scores only say the order.
pub fn round_robin(rankings: &[&[Hit]], k: usize) -> Vec<Hit> {
    let depth = rankings.iter().map(|hits| hits.len()).max().unwrap_or(0);
    let mut taken: Vec<SkillIdx> = Vec::with_capacity(k);
    for rank in 0..depth {
        for hit in rankings.iter().filter_map(|hits| hits.get(rank)) {
            if taken.len() < k && !taken.contains(&hit.skill) {
                taken.push(hit.skill);
            }
        }
    }
    let score = |rank: usize| 1.0 / (rank + 1) as f32;
    taken.into_iter().enumerate().map(|(rank, skill)| Hit { skill, score: score(rank) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(rows: &[u32]) -> Vec<Hit> {
        rows.iter().map(|&row| Hit { skill: SkillIdx(row), score: 1.0 }).collect()
    }

    fn rows(hits: &[Hit]) -> Vec<u32> {
        hits.iter().map(|hit| hit.skill.0).collect()
    }

    #[test]
    fn agreement_wins_and_no_weight_counts_nothing() {
        let (a, b) = (hits(&[1, 2, 3]), hits(&[2, 4, 1]));
        assert_eq!(rows(&reciprocal_ranks(&[(1.0, &a), (1.0, &b)], 9)), [2, 1, 4, 3]);
        assert_eq!(rows(&reciprocal_ranks(&[(1.0, &a), (0.0, &b)], 9)), [1, 2, 3]);
    }

    #[test]
    fn turns_are_taken() {
        let (a, b) = (hits(&[1, 2, 3]), hits(&[2, 4]));
        assert_eq!(rows(&round_robin(&[&a, &b], 9)), [1, 2, 4, 3]);
        assert_eq!(rows(&round_robin(&[&a, &b], 2)), [1, 2]);
    }
}
