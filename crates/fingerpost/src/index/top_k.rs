//! Which `k` scores are the largest?

use super::Hit;
use crate::skill::SkillIdx;

/// Selects the largest scores; keeps its buffers between searches.
#[derive(Debug, Default)]
pub(super) struct TopK {
    /// Score bits above, inverted row below: larger keys are better hits, and equal scores are
    /// ordered by row, all in one integer comparison.
    keys: Vec<u64>,
    /// The largest score of each block of rows, and the same in another order.
    maxima: Vec<f32>,
    ranked: Vec<f32>,
}

impl TopK {
    /// The best `k` rows with a score above zero, best first.
    pub(super) fn select(&mut self, scores: &[f32], k: usize) -> Vec<Hit> {
        self.keys.clear();
        if k == 0 {
            return Vec::new();
        }
        self.maxima.clear();
        self.maxima.extend(scores.chunks(BLOCK).map(largest));
        let room = k.saturating_mul(2).clamp(64, scores.len().max(64));
        let mut threshold = self.first_threshold(k);
        for (block, (scores, &largest)) in scores.chunks(BLOCK).zip(&self.maxima).enumerate() {
            if largest <= threshold {
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

    /// A score below the `k`-th best: `k` blocks have a row that is above it. Few rows are, so the
    /// scan for them passes over most blocks.
    fn first_threshold(&mut self, k: usize) -> f32 {
        if self.maxima.len() <= k {
            return 0.0;
        }
        self.ranked.clone_from(&self.maxima);
        let (_, kth, _) = self.ranked.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
        kth.next_down().max(0.0)
    }
}

/// Rows whose largest score is kept: few enough that a scan of them costs little, and enough that
/// there are not too many maxima to rank.
const BLOCK: usize = 32;

/// The largest of the scores, or zero if none is above it. Lanes, because a single running
/// maximum would wait for itself at every step.
fn largest(scores: &[f32]) -> f32 {
    const LANES: usize = 8;
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = scores.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &score) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, score);
        }
    }
    lanes.iter().chain(rest).fold(0.0, |a, &b| larger(a, b))
}

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
