//! How many requests does each arm solve, seen from a sample?
//!
//! Requests on which the arms differ are drawn more often than their share, so each group counts by its share
//! among all paired requests. Where the arms agree they have one solution, so a gain can only come from the others.
//! The interval resamples requests within each group; the mean over data sets is taken first, then over executors.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Samples of the interval.
const RESAMPLES: usize = 10_000;

/// Whether each arm solved a request, or how much of something each solved.
pub type Arms = [f64; 2];

/// Requests of one group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stratum {
    /// Of all paired requests, the part in this group.
    pub share: f64,
    /// Of each judged request, the part of its rounds that each arm solved.
    pub solved: Vec<Arms>,
}

/// Requests of one data set: those on which the arms differ, and those on which they agree.
pub type DataSet = [Stratum; 2];

/// What each arm solves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// The part that each arm solves.
    pub arms: Arms,
    /// Where the true gain may lie, 95 times of 100.
    pub interval: [f64; 2],
}

impl Weighed {
    /// What the second arm solves more.
    pub fn gain(&self) -> f64 {
        self.arms[1] - self.arms[0]
    }
}

/// Weighs the data sets of some executors; nothing if a group of any has no judged request.
pub fn weigh(executors: &[Vec<DataSet>], seed: u64) -> Option<Weighed> {
    let arms = means(executors, &mut |solved| solved.to_vec())?;
    let mut random = Pcg64::seed_from_u64(seed);
    let mut gains = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let mut resampled = |solved: &[Arms]| {
            solved.iter().map(|_| solved[random.random_range(0..solved.len())]).collect()
        };
        let [base, other] = means(executors, &mut resampled)?;
        gains.push(other - base);
    }
    gains.sort_by(f64::total_cmp);
    let at = |share: f64| gains[(share * (RESAMPLES - 1) as f64).round() as usize];
    Some(Weighed { arms, interval: [at(0.025), at(0.975)] })
}

/// The means alone, without an interval.
pub fn arms(executors: &[Vec<DataSet>]) -> Option<Arms> {
    means(executors, &mut |solved| solved.to_vec())
}

fn means(executors: &[Vec<DataSet>], taken: &mut dyn FnMut(&[Arms]) -> Vec<Arms>) -> Option<Arms> {
    let mut of_executors = Vec::new();
    for sets in executors {
        let mut of_sets = Vec::new();
        for set in sets {
            let mut sum = [0.0; 2];
            for Stratum { share, solved } in set.iter().filter(|group| group.share > 0.0) {
                let [base, other] = mean(&taken(solved))?;
                sum = [sum[0] + share * base, sum[1] + share * other];
            }
            of_sets.push(sum);
        }
        of_executors.push(mean(&of_sets)?);
    }
    mean(&of_executors)
}

fn mean(values: &[Arms]) -> Option<Arms> {
    let count = values.len() as f64;
    let sum = |arm: usize| values.iter().map(|value| value[arm]).sum::<f64>();
    (!values.is_empty()).then(|| [sum(0) / count, sum(1) / count])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(differ: f64, differing: &[Arms], agreeing: &[Arms]) -> DataSet {
        [
            Stratum { share: differ, solved: differing.to_vec() },
            Stratum { share: 1.0 - differ, solved: agreeing.to_vec() },
        ]
    }

    #[track_caller]
    fn check(executors: &[Vec<DataSet>], expected: [f64; 2]) {
        let weighed = weigh(executors, 1).unwrap();
        for (found, expected) in weighed.arms.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{weighed:?}");
        }
        assert!(weighed.interval[0] <= weighed.gain() && weighed.gain() <= weighed.interval[1]);
        assert_eq!(arms(executors), Some(weighed.arms));
    }

    #[test]
    fn groups_count_by_their_shares() {
        // Differ: base 1 of 4, boundary 3 of 4. Agree: 1 of 2. Shares: 0.1 and 0.9.
        let differing = [[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]];
        let one = set(0.1, &differing, &[[1.0, 1.0], [0.0, 0.0]]);
        check(&[vec![one.clone()]], [0.1 * 0.25 + 0.45, 0.1 * 0.75 + 0.45]);
        // Another data set where both solve all, and another executor that solves nothing.
        let all = set(0.0, &[], &[[1.0, 1.0]]);
        let none = set(0.5, &[[0.0, 0.0]], &[[0.0, 0.0]]);
        check(&[vec![one.clone(), all]], [(0.475 + 1.0) / 2.0, (0.525 + 1.0) / 2.0]);
        check(&[vec![one], vec![none]], [0.475 / 2.0, 0.525 / 2.0]);
    }

    #[test]
    fn the_interval_is_that_of_the_group_in_which_there_is_a_difference() {
        let differing: Vec<Arms> = (0..40).map(|at| [0.0, f64::from(at % 2)]).collect();
        let agreeing: Vec<Arms> = (0..20).map(|at| [f64::from(at % 2); 2]).collect();
        let weighed = weigh(&[vec![set(0.2, &differing, &agreeing)]], 7).unwrap();
        // The gain is 0.2 times a mean of 40 draws of one half: 0.1 with a standard error of 0.0158.
        assert!((weighed.gain() - 0.1).abs() < 1e-12);
        assert!((weighed.interval[0] - 0.07).abs() < 0.006, "{weighed:?}");
        assert!((weighed.interval[1] - 0.13).abs() < 0.006, "{weighed:?}");
    }

    #[test]
    fn nothing_is_said_where_a_group_was_not_judged() {
        assert_eq!(weigh(&[vec![set(0.1, &[], &[[1.0, 1.0]])]], 1), None);
        assert_eq!(weigh(&[], 1), None);
        assert_eq!(weigh(&[vec![]], 1), None);
    }
}
