//! Did the contestants do the same work?
//!
//! bm25s computes the same scores, so its first ten must be ours, except that skills of equal
//! score may stand in any order. tantivy's formula differs, so only the overlap is told.

use std::collections::{BTreeMap, BTreeSet};

use fingerpost::eval::{Query, Run};
use fingerpost::index::Hit;
use fingerpost::library::Library;
use serde::Serialize;

/// Requests compared.
const SAMPLE: usize = 200;

/// Ranks compared.
const DEPTH: usize = 10;

/// How far the rankings agree.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Agreement {
    pub(crate) queries: usize,
    /// Requests whose first ten are bm25s' up to ties: all of them, or the run has failed.
    pub(crate) equal_to_bm25s: Option<usize>,
    /// Mean share of our first ten that are among tantivy's.
    pub(crate) overlap_with_tantivy: f64,
}

/// Positions of the compared requests, spread over all of them.
pub(crate) fn sample(queries: usize) -> Vec<usize> {
    let count = SAMPLE.min(queries);
    (0..count).map(|n| n * queries / count).collect()
}

/// Fails at the first request whose ranking is not bm25s'.
pub(crate) fn assert_equal(
    library: &Library,
    queries: &[Query],
    ours: &[Vec<Hit>],
    theirs: &Run,
) -> anyhow::Result<usize> {
    let sample = sample(queries.len());
    for &at in &sample {
        let id = queries[at].id.as_str();
        if let Err(difference) =
            same_ranking(library, &ours[at], theirs.get(id).unwrap_or_default())
        {
            anyhow::bail!("request {id}: {difference}; fingerpost and bm25s did different work");
        }
    }
    Ok(sample.len())
}

fn same_ranking(
    library: &Library,
    ours: &[Hit],
    theirs: &[fingerpost::eval::Scored],
) -> Result<(), String> {
    // Both add single-precision weights, in different orders, and a run has six decimals.
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * a.abs().max(b.abs()) + 1e-6;
    let (top, their_top) = (ours.len().min(DEPTH), theirs.len().min(DEPTH));
    if top != their_top {
        return Err(format!("{top} hits here and {their_top} there"));
    }
    let scores: BTreeMap<&str, f64> = ours
        .iter()
        .map(|hit| (library.skills()[hit.skill.row()].id.as_str(), f64::from(hit.score)))
        .collect();
    let last = ours.last().map_or(0.0, |hit| f64::from(hit.score));
    for (rank, (a, b)) in ours.iter().zip(theirs).take(DEPTH).enumerate() {
        let (rank, score) = (rank + 1, f64::from(a.score));
        if !close(score, b.score) {
            return Err(format!("rank {rank} scores {score} here and {} there", b.score));
        }
        // Of a tie at the end of the list each may have kept another part.
        let here = scores.get(b.skill.as_str()).copied().unwrap_or(last);
        if !close(here, b.score) {
            return Err(format!("rank {rank} there is {}, which scores {here} here", b.skill));
        }
    }
    Ok(())
}

/// Mean share of our first ten that are among theirs too.
pub(crate) fn overlap<'a>(pairs: impl Iterator<Item = (&'a [Hit], Vec<u32>)>) -> f64 {
    let shares: Vec<f64> = pairs
        .filter(|(ours, _)| !ours.is_empty())
        .map(|(ours, theirs)| {
            let theirs: BTreeSet<u32> = theirs.into_iter().take(DEPTH).collect();
            let ours = &ours[..ours.len().min(DEPTH)];
            let both = ours.iter().filter(|hit| theirs.contains(&hit.skill.0)).count();
            both as f64 / ours.len() as f64
        })
        .collect();
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use fingerpost::skill::SkillIdx;

    use super::*;

    #[test]
    fn the_sample_is_spread_and_within_bounds() {
        assert_eq!(sample(3), [0, 1, 2]);
        let sample = sample(5400);
        assert_eq!((sample.len(), sample[1], sample[199]), (200, 27, 5373));
    }

    #[test]
    fn overlap_is_a_share_of_our_hits() {
        let ours = [Hit { skill: SkillIdx(1), score: 2.0 }, Hit { skill: SkillIdx(2), score: 1.0 }];
        let pairs = [(&ours[..], vec![2, 7]), (&ours[..], vec![2, 1]), (&[][..], vec![3])];
        assert_eq!(overlap(pairs.into_iter()), 0.75);
    }
}
