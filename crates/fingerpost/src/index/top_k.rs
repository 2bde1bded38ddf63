//! Which `k` scores are the largest?

use super::Hit;
use crate::skill::SkillIdx;

/// Selects the largest scores; keeps its buffer between searches.
#[derive(Debug, Default)]
pub(super) struct TopK {
    /// Score bits above, inverted row below: larger keys are better hits, and equal scores are
    /// ordered by row, all in one integer comparison.
    keys: Vec<u64>,
}

impl TopK {
    /// The best `k` rows with a score above zero, best first.
    pub(super) fn select(&mut self, scores: &[f32], k: usize) -> Vec<Hit> {
        self.keys.clear();
        if k == 0 {
            return Vec::new();
        }
        let room = k.saturating_mul(2).clamp(64, scores.len().max(64));
        let mut threshold = 0.0;
        for (block, scores) in scores.chunks(BLOCK).enumerate() {
            // Most blocks hold nothing that could enter; this comparison is vectorised.
            if !scores.iter().fold(false, |any, &score| any | (score > threshold)) {
                continue;
            }
            for (at, &score) in scores.iter().enumerate() {
                // Rows come in ascending order, so a row that equals the threshold loses the tie.
                if score > threshold {
                    self.keys.push(key(score, (block * BLOCK + at) as u32));
                    if self.keys.len() >= room && room > k {
                        self.keys.select_nth_unstable_by(k - 1, |a, b| b.cmp(a));
                        self.keys.truncate(k);
                        threshold = f32::from_bits((self.keys[k - 1] >> 32) as u32);
                    }
                }
            }
        }
        self.keys.sort_unstable_by(|a, b| b.cmp(a));
        self.keys.truncate(k);
        self.keys.iter().map(|&key| hit(key)).collect()
    }
}

const BLOCK: usize = 64;

/// The bits of positive floats are ordered like the floats themselves.
fn key(score: f32, row: u32) -> u64 {
    (u64::from(score.to_bits()) << 32) | u64::from(!row)
}

fn hit(key: u64) -> Hit {
    Hit { skill: SkillIdx(!(key as u32)), score: f32::from_bits((key >> 32) as u32) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few distinct values, so that ties are the rule.
        #[test]
        fn equals_a_full_sort(
            scores in proptest::collection::vec((0_u8..6).prop_map(|n| f32::from(n) / 2.0), 0..700),
            k in 0_usize..400,
        ) {
            let mut all: Vec<(u32, f32)> = (0..).zip(scores.iter().copied()).filter(|&(_, s)| s > 0.0).collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(k);
            let hits = TopK::default().select(&scores, k);
            let hits: Vec<(u32, f32)> = hits.iter().map(|hit| (hit.skill.0, hit.score)).collect();
            prop_assert_eq!(hits, all);
        }
    }
}
