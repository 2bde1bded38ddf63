//! Is one run better than another, or only luckier?
//!
//! Both runs are scored on the same queries, so every test is paired. The difference tested is the
//! one that is printed: the mean over data sets of the mean over queries. Resampling therefore
//! happens inside each data set.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Measure, Qrels, Query, QueryScores, Run, evaluate};

/// How to compare.
#[derive(Debug, Clone)]
pub struct ComparisonConfig {
    /// What to compare.
    pub measures: Vec<Measure>,
    /// Samples of each resampling test.
    pub resamples: usize,
    /// Coverage of the bootstrap interval.
    pub confidence: f64,
    /// Seed of the resampling.
    pub seed: u64,
}

/// One system against the baseline.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The system's name.
    pub system: String,
    /// Its measures against the baseline's.
    pub measures: Vec<Paired>,
    /// What became of the baseline's first places.
    pub hits: HitPreservation,
}

/// One measure of two systems over the same queries.
#[derive(Debug, Clone, Serialize)]
pub struct Paired {
    /// The measure's name.
    pub measure: String,
    /// Queries compared.
    pub queries: usize,
    /// The baseline's mean over data sets.
    pub baseline: f64,
    /// The system's.
    pub system: f64,
    /// System minus baseline.
    pub difference: f64,
    /// Bootstrap interval of the difference: percentiles of resampled queries.
    pub interval: [f64; 2],
    /// Queries on which the system scores higher.
    pub wins: usize,
    /// Queries on which the baseline does.
    pub losses: usize,
    /// Queries on which both score the same.
    pub ties: usize,
    /// Two-sided paired randomisation test of the difference.
    pub p_randomization: f64,
    /// The same after Holm's correction over all tests of this comparison.
    pub p_holm: f64,
    /// Two-sided paired t test over queries; absent where the scores never differ by more than a
    /// constant, or there are fewer than two queries.
    pub p_t: Option<f64>,
}

/// Top-1 hits of the baseline that the system keeps, loses and adds.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct HitPreservation {
    /// Queries whose first hit is relevant under the baseline.
    pub baseline: usize,
    /// Share of them that stay so; absent if there are none.
    pub preserved: Option<f64>,
    /// Queries whose first hit is relevant under the system only.
    pub new: usize,
    /// New hits minus lost ones.
    pub net: i64,
}

/// Compares each system with the baseline.
pub fn compare(
    baseline: &Run,
    systems: &[(String, Run)],
    qrels: &Qrels,
    queries: Option<&[Query]>,
    config: &ComparisonConfig,
) -> Vec<Comparison> {
    let success = "Success@1".parse().expect("a measure");
    let measures: Vec<Measure> = config.measures.iter().copied().chain([success]).collect();
    let base = evaluate(baseline, qrels, queries, &measures).per_query;
    let mut comparisons: Vec<Comparison> = systems
        .iter()
        .map(|(name, run)| {
            let other = evaluate(run, qrels, queries, &measures).per_query;
            let measures = config
                .measures
                .par_iter()
                .enumerate()
                .map(|(at, measure)| paired(*measure, at, &base, &other, config))
                .collect();
            let hits = hit_preservation(&base, &other, config.measures.len());
            Comparison { system: name.clone(), measures, hits }
        })
        .collect();
    correct_by_holm(&mut comparisons);
    comparisons
}

fn paired(
    measure: Measure,
    at: usize,
    base: &[QueryScores],
    other: &[QueryScores],
    config: &ComparisonConfig,
) -> Paired {
    let differences: Vec<f64> =
        base.iter().zip(other).map(|(a, b)| b.scores[at] - a.scores[at]).collect();
    // A data set's queries share its weight in the macro mean.
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (query, &difference) in base.iter().zip(&differences) {
        groups.entry(&query.dataset).or_default().push(difference);
    }
    let groups: Vec<Vec<f64>> = groups.into_values().collect();
    let count = |test: fn(&f64) -> bool| differences.iter().filter(|d| test(d)).count();
    Paired {
        measure: measure.to_string(),
        queries: differences.len(),
        baseline: macro_mean(base, at),
        system: macro_mean(other, at),
        difference: mean_of_means(&groups),
        interval: bootstrap_interval(&groups, config),
        wins: count(|&d| d > 0.0),
        losses: count(|&d| d < 0.0),
        ties: count(|&d| d == 0.0),
        p_randomization: randomization_test(&groups, config),
        p_holm: 1.0,
        p_t: t_test(&differences),
    }
}

fn macro_mean(queries: &[QueryScores], at: usize) -> f64 {
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for query in queries {
        groups.entry(&query.dataset).or_default().push(query.scores[at]);
    }
    mean_of_means(&groups.into_values().collect::<Vec<_>>())
}

fn mean_of_means(groups: &[Vec<f64>]) -> f64 {
    let means = groups.iter().map(|group| group.iter().sum::<f64>() / group.len() as f64);
    means.sum::<f64>() / groups.len().max(1) as f64
}

/// Fisher's test: were the two systems the same, each difference could as well have the other
/// sign. All sign patterns are tried where they are few, else a random sample of them.
fn randomization_test(groups: &[Vec<f64>], config: &ComparisonConfig) -> f64 {
    let weighted: Vec<f64> = groups
        .iter()
        .flat_map(|group| group.iter().map(|d| d / (group.len() * groups.len()) as f64))
        .filter(|&d| d != 0.0)
        .collect();
    // Sums of the same numbers in another order differ in the last bits; those are no evidence.
    let observed = weighted.iter().sum::<f64>().abs() * (1.0 - 1e-12);
    if weighted.is_empty() {
        return 1.0;
    }
    let signed_sum = |mut signs: u64, differences: &[f64]| -> f64 {
        let mut sum = 0.0;
        for &difference in differences {
            sum += if signs & 1 == 0 { difference } else { -difference };
            signs >>= 1;
        }
        sum
    };
    let patterns = 1_usize.checked_shl(weighted.len() as u32).unwrap_or(usize::MAX);
    if weighted.len() < 20 && patterns <= config.resamples {
        let extreme = (0..patterns as u64)
            .filter(|&signs| signed_sum(signs, &weighted).abs() >= observed)
            .count();
        return extreme as f64 / patterns as f64;
    }
    let mut random = Pcg64::seed_from_u64(config.seed);
    let mut extreme = 0_usize;
    for _ in 0..config.resamples {
        let sum: f64 = weighted.chunks(64).map(|chunk| signed_sum(random.random(), chunk)).sum();
        extreme += usize::from(sum.abs() >= observed);
    }
    (extreme + 1) as f64 / (config.resamples + 1) as f64
}

/// Percentile interval: queries are drawn with replacement inside each data set.
fn bootstrap_interval(groups: &[Vec<f64>], config: &ComparisonConfig) -> [f64; 2] {
    if groups.is_empty() || config.resamples == 0 {
        return [0.0; 2];
    }
    let mut random = Pcg64::seed_from_u64(config.seed ^ 0x9e37_79b9_7f4a_7c15);
    let mut means: Vec<f64> = (0..config.resamples)
        .map(|_| {
            let of_groups = groups.iter().map(|group| {
                let drawn = (0..group.len()).map(|_| group[random.random_range(0..group.len())]);
                drawn.sum::<f64>() / group.len() as f64
            });
            of_groups.sum::<f64>() / groups.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let tail = (1.0 - config.confidence) / 2.0;
    let at = |share: f64| means[((means.len() - 1) as f64 * share).round() as usize];
    [at(tail), at(1.0 - tail)]
}

fn t_test(differences: &[f64]) -> Option<f64> {
    let n = differences.len() as f64;
    if n < 2.0 {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Equal differences leave a variance of rounding errors, which proves nothing.
    if variance <= (mean * 1e-12).powi(2) {
        return None;
    }
    let t = mean / (variance / n).sqrt();
    let distribution = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    Some(2.0 * distribution.cdf(-t.abs()))
}

/// Holm's step-down correction of the randomisation tests, over systems and measures together.
fn correct_by_holm(comparisons: &mut [Comparison]) {
    let mut tests: Vec<&mut Paired> =
        comparisons.iter_mut().flat_map(|comparison| &mut comparison.measures).collect();
    tests.sort_by(|a, b| a.p_randomization.total_cmp(&b.p_randomization));
    let count = tests.len();
    let mut floor: f64 = 0.0;
    for (at, test) in tests.into_iter().enumerate() {
        floor = floor.max((test.p_randomization * (count - at) as f64).min(1.0));
        test.p_holm = floor;
    }
}

fn hit_preservation(base: &[QueryScores], other: &[QueryScores], at: usize) -> HitPreservation {
    let (mut before, mut kept, mut new) = (0, 0, 0);
    for (a, b) in base.iter().zip(other) {
        match (a.scores[at] > 0.0, b.scores[at] > 0.0) {
            (true, true) => (before, kept) = (before + 1, kept + 1),
            (true, false) => before += 1,
            (false, true) => new += 1,
            (false, false) => {}
        }
    }
    let preserved = (before > 0).then(|| f64::from(kept) / f64::from(before));
    let net = i64::from(new) - i64::from(before - kept);
    HitPreservation { baseline: before as usize, preserved, new: new as usize, net }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ComparisonConfig {
        let measures = vec!["RR@10".parse().unwrap()];
        ComparisonConfig { measures, resamples: 20_000, confidence: 0.95, seed: 7 }
    }

    #[test]
    fn randomization_is_exact_where_it_can_be() {
        // Of the 16 sign patterns, only all-plus and all-minus are as extreme.
        let p = randomization_test(&[vec![1.0, 2.0, 3.0, 4.0]], &config());
        assert_eq!(p, 2.0 / 16.0);
        assert_eq!(randomization_test(&[vec![0.0; 9]], &config()), 1.0);
    }

    #[test]
    fn sampling_agrees_with_enumeration() {
        let differences: Vec<f64> = (0..14).map(|n| f64::from(n % 5) - 1.2).collect();
        let exact = randomization_test(std::slice::from_ref(&differences), &config());
        let sampled =
            randomization_test(&[differences], &ComparisonConfig { resamples: 9_999, ..config() });
        assert!((exact - sampled).abs() < 0.02, "{exact} {sampled}");
    }

    #[test]
    fn t_test_matches_a_table() {
        // scipy.stats.ttest_1samp([0.1, 0.3, -0.1, 0.4, 0.2], 0) gives t = 2.0925, p = 0.1045.
        let p = t_test(&[0.1, 0.3, -0.1, 0.4, 0.2]).unwrap();
        assert!((p - 0.104_5).abs() < 5e-4, "{p}");
        assert_eq!(t_test(&[0.2, 0.2, 0.2]), None);
        assert_eq!(t_test(&[0.2]), None);
    }

    #[test]
    fn interval_covers_the_difference_and_shrinks_with_confidence() {
        let groups = [vec![0.0, 0.5, 1.0, 0.25, -0.5, 0.75], vec![0.1, 0.2, -0.3]];
        let wide = bootstrap_interval(&groups, &config());
        let narrow = bootstrap_interval(&groups, &ComparisonConfig { confidence: 0.5, ..config() });
        let mean = mean_of_means(&groups);
        assert!(wide[0] < narrow[0] && narrow[0] < mean && mean < narrow[1] && narrow[1] < wide[1]);
    }

    #[test]
    fn holm_steps_down_and_never_decreases() {
        let test = |p| Paired {
            measure: String::new(),
            queries: 1,
            baseline: 0.0,
            system: 0.0,
            difference: 0.0,
            interval: [0.0; 2],
            wins: 0,
            losses: 0,
            ties: 0,
            p_randomization: p,
            p_holm: 1.0,
            p_t: None,
        };
        let hits = HitPreservation { baseline: 0, preserved: None, new: 0, net: 0 };
        let mut all = [Comparison {
            system: "s".into(),
            measures: [0.01, 0.04, 0.03, 0.005].map(test).to_vec(),
            hits,
        }];
        correct_by_holm(&mut all);
        let corrected: Vec<f64> = all[0].measures.iter().map(|test| test.p_holm).collect();
        assert_eq!(corrected, [0.03, 0.06, 0.06, 0.02]);
    }

    #[test]
    fn hits_are_kept_lost_and_new() {
        let scores = |values: [f64; 5]| -> Vec<QueryScores> {
            let query = |(n, score): (usize, f64)| QueryScores {
                query: n.to_string(),
                dataset: "d".into(),
                scores: vec![score],
            };
            values.into_iter().enumerate().map(query).collect()
        };
        let hits = hit_preservation(
            &scores([1.0, 1.0, 1.0, 0.0, 0.0]),
            &scores([1.0, 0.0, 1.0, 1.0, 0.0]),
            0,
        );
        assert_eq!(
            hits,
            HitPreservation { baseline: 3, preserved: Some(2.0 / 3.0), new: 1, net: 0 }
        );
    }
}
