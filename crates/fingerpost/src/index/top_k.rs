//! Which `k` scores are the largest?

use super::Hit;
use super::lists::{self, Lists};
use crate::skill::SkillIdx;

/// Finds the largest scores; keeps its buffers between searches.
#[derive(Debug, Default)]
pub(super) struct TopK {
    /// The largest score of each block of rows.
    maxima: Vec<f32>,
    /// Rows that may be among the best, ascending, and the score of each.
    candidates: Vec<u32>,
    totals: Vec<f32>,
    ranked: Vec<u32>,
    /// A score that at least `k` rows are known to reach.
    sure: f32,
    /// Score bits above, inverted row below: larger keys are better hits, and equal scores are
    /// ordered by row, all in one integer comparison.
    keys: Vec<u64>,
}

/// Sums of hundreds of terms differ in their last digits with the order of the terms.
const ROUNDING: f32 = 1e-4;

impl TopK {
    /// The best `k` rows with a score above zero, best first.
    pub(super) fn select(&mut self, scores: &[f32], k: usize) -> Vec<Hit> {
        self.find_nearest(scores, k);
        self.totals.clear();
        self.totals.extend(self.candidates.iter().map(|&row| scores[row as usize]));
        self.best(k)
    }

    /// Finds the candidates for the best `k` after the rare terms are added, and adds the common
    /// ones to these alone: what many skills have tells them apart little, so most are out of reach
    /// whatever it would give them. False if too many are not.
    pub(super) fn find_within_reach(
        &mut self,
        scores: &[f32],
        k: usize,
        lists: &[Lists<'_>],
    ) -> bool {
        // With more than `k` of them, the `k`-th best total is closer to the final one.
        self.find_nearest(scores, 2 * k);
        lists::total(lists, scores, &self.candidates, &mut self.totals);
        self.sure = kth(&self.totals, k, &mut self.ranked);
        let more = lists.iter().map(|lists| lists.most_from_common).fold(0.0, f32::max);
        if more == 0.0 {
            return true;
        }
        self.find_above(scores, self.sure - more - ROUNDING * (self.sure + more));
        if self.candidates.len() > scores.len() / 8 {
            return false;
        }
        lists::total(lists, scores, &self.candidates, &mut self.totals);
        true
    }

    /// The best `k` candidates with a score above zero, best first.
    pub(super) fn best(&mut self, k: usize) -> Vec<Hit> {
        self.keys.clear();
        let least = self.sure.next_down().max(0.0);
        let scored = self.totals.iter().zip(&self.candidates).filter(|(score, _)| **score > least);
        self.keys.extend(scored.map(|(&score, &row)| key(score, row)));
        if k > 0 && self.keys.len() > k {
            self.keys.select_nth_unstable_by(k - 1, |a, b| b.cmp(a));
        }
        self.keys.truncate(k);
        self.keys.sort_unstable_by(|a, b| b.cmp(a));
        self.keys.iter().map(|&key| hit(key)).collect()
    }

    /// Takes as candidates at least the best `k` rows above zero, and not many more: each of `k`
    /// blocks has a row as good as the `k`-th best maximum.
    fn find_nearest(&mut self, scores: &[f32], k: usize) {
        self.maxima.clear();
        self.maxima.extend(scores.chunks(BLOCK).map(largest));
        self.sure = kth(&self.maxima, k, &mut self.ranked);
        // Of rows that equal the last of the best, the first ones are in.
        self.find_above(scores, self.sure.next_down().max(0.0));
    }

    /// Takes as candidates all rows with a score above `limit`.
    fn find_above(&mut self, scores: &[f32], limit: f32) {
        self.candidates.clear();
        let (blocks, rest) = scores.as_chunks::<BLOCK>();
        let mut last = [f32::NEG_INFINITY; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (block, _) in self.maxima.iter().enumerate().filter(|(_, largest)| **largest > limit) {
            let mut above = rows_above(limit, blocks.get(block).unwrap_or(&last));
            while above != 0 {
                self.candidates.push((block * BLOCK) as u32 + above.trailing_zeros());
                above &= above - 1;
            }
        }
    }
}

/// The `k`-th largest score, or zero if there are not as many above it.
pub(super) fn kth(scores: &[f32], k: usize, ranked: &mut Vec<u32>) -> f32 {
    if k == 0 || scores.len() < k {
        return 0.0;
    }
    // The bits of positive floats are ordered like the floats themselves.
    ranked.clear();
    ranked.extend(scores.iter().map(|score| score.max(0.0).to_bits()));
    f32::from_bits(*ranked.select_nth_unstable_by(k - 1, |a, b| b.cmp(a)).1)
}

/// Rows whose largest score is kept: few enough that a scan of them costs little, and enough that
/// there are not too many maxima to rank.
const BLOCK: usize = 32;

/// Which rows of a block are above the limit, a bit each: no branch to guess wrong.
fn rows_above(limit: f32, scores: &[f32; BLOCK]) -> u32 {
    let bits = scores.iter().zip(&BITS).map(|(&score, &bit)| if score > limit { bit } else { 0 });
    bits.fold(0, |all, bit| all | bit)
}

const BITS: [u32; BLOCK] = {
    let mut bits = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        bits[at] = 1 << at;
        at += 1;
    }
    bits
};

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

/// Larger for better hits.
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

    /// What TF-IDF and a far reach may bring.
    #[test]
    fn below_zero_only_rows_that_exist_are_candidates() {
        let mut top = TopK::default();
        let scores = [-1.0, 0.0, -3.0];
        top.find_nearest(&scores, 1);
        top.find_above(&scores, -2.0);
        assert_eq!(top.candidates, [0, 1]);
    }

    proptest! {
        /// Few distinct values, so that ties are the rule.
        #[test]
        fn equals_a_full_sort(
            given in proptest::collection::vec(0_u8..6, 0..700),
            k in 0_usize..400,
        ) {
            let scores: Vec<f32> = given.iter().map(|&n| f32::from(n) / 2.0).collect();
            let mut all: Vec<(u32, f32)> =
                (0..).zip(scores.iter().copied()).filter(|&(_, s)| s > 0.0).collect();
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(k);
            let hits = TopK::default().select(&scores, k);
            let hits: Vec<(u32, f32)> = hits.iter().map(|hit| (hit.skill.0, hit.score)).collect();
            prop_assert_eq!(hits, all);
        }
    }
}
