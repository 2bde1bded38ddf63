//! What does a measure measure?
//!
//! A measure is a value that prints as its name (`nDCG@10`) and parses back. Definitions are those
//! of trec_eval: a skill with a grade above zero is relevant; gains are the grades themselves.
//! "Any hit in the top k" is `Success@k`; `R@k` is the share of the relevant ones.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// A figure of one query's ranking, between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Recall: relevant skills in the top k, of all relevant ones.
    Recall(NonZeroUsize),
    /// Normalised discounted cumulative gain; over the whole ranking without a cutoff.
    Ndcg(Option<NonZeroUsize>),
    /// One over the rank of the first relevant skill, zero beyond the cutoff; its mean is the MRR.
    ReciprocalRank(Option<NonZeroUsize>),
    /// Relevant skills in the top k, of k.
    Precision(NonZeroUsize),
    /// Is any relevant skill in the top k?
    Success(NonZeroUsize),
    /// Average precision; over the top k with a cutoff.
    AveragePrecision(Option<NonZeroUsize>),
}

/// A text that names no measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no measure: use R@k, nDCG@k, RR@k, P@k, Success@k or AP, with k at least 1")]
pub struct MeasureError(String);

impl FromStr for Measure {
    type Err = MeasureError;

    fn from_str(text: &str) -> Result<Self, MeasureError> {
        let error = || MeasureError(text.to_owned());
        let (name, cutoff) = match text.split_once('@') {
            Some((name, k)) => (name, Some(k.parse::<NonZeroUsize>().map_err(|_| error())?)),
            None => (text, None),
        };
        let needed = cutoff.ok_or_else(error);
        match name.to_ascii_lowercase().as_str() {
            "r" | "recall" => needed.map(Measure::Recall),
            "ndcg" => Ok(Measure::Ndcg(cutoff)),
            "rr" | "mrr" => Ok(Measure::ReciprocalRank(cutoff)),
            "p" | "precision" => needed.map(Measure::Precision),
            "success" | "hit" => needed.map(Measure::Success),
            "ap" | "map" => Ok(Measure::AveragePrecision(cutoff)),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, cutoff) = match *self {
            Measure::Recall(k) => ("R", Some(k)),
            Measure::Ndcg(k) => ("nDCG", k),
            Measure::ReciprocalRank(k) => ("RR", k),
            Measure::Precision(k) => ("P", Some(k)),
            Measure::Success(k) => ("Success", Some(k)),
            Measure::AveragePrecision(k) => ("AP", k),
        };
        f.write_str(name)?;
        cutoff.map_or(Ok(()), |k| write!(f, "@{k}"))
    }
}

impl Measure {
    /// How deep it looks, where it stops somewhere.
    pub fn cutoff(&self) -> Option<usize> {
        let cutoff = match *self {
            Measure::Recall(k) | Measure::Precision(k) | Measure::Success(k) => Some(k),
            Measure::Ndcg(k) | Measure::ReciprocalRank(k) | Measure::AveragePrecision(k) => k,
        };
        cutoff.map(NonZeroUsize::get)
    }

    /// Scores one query: the grades of the skills returned, best first, and all grades known.
    pub fn score(self, ranking: &[i32], grades: &BTreeMap<String, i32>) -> f64 {
        let relevant = grades.values().filter(|&&grade| grade > 0).count();
        if relevant == 0 {
            return 0.0;
        }
        let top = |k: Option<NonZeroUsize>| {
            &ranking[..k.map_or(ranking.len(), |k| k.get().min(ranking.len()))]
        };
        let hits = |k| top(Some(k)).iter().filter(|&&grade| grade > 0).count();
        match self {
            Measure::Recall(k) => hits(k) as f64 / relevant as f64,
            Measure::Precision(k) => hits(k) as f64 / k.get() as f64,
            Measure::Success(k) => f64::from(u8::from(hits(k) > 0)),
            Measure::ReciprocalRank(k) => {
                top(k).iter().position(|&grade| grade > 0).map_or(0.0, |at| 1.0 / (at + 1) as f64)
            }
            Measure::AveragePrecision(k) => {
                let mut found = 0;
                let mut sum = 0.0;
                for (at, &grade) in top(k).iter().enumerate() {
                    if grade > 0 {
                        found += 1;
                        sum += f64::from(found) / (at + 1) as f64;
                    }
                }
                sum / relevant as f64
            }
            Measure::Ndcg(k) => {
                let mut ideal: Vec<i32> = grades.values().copied().collect();
                ideal.sort_unstable_by(|a, b| b.cmp(a));
                ideal.truncate(k.map_or(ideal.len(), NonZeroUsize::get));
                gain(top(k)) / gain(&ideal)
            }
        }
    }
}

fn gain(grades: &[i32]) -> f64 {
    let discounted = grades.iter().enumerate().filter(|&(_, &grade)| grade > 0);
    discounted.map(|(at, &grade)| f64::from(grade) / ((at + 2) as f64).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for name in ["R@10", "nDCG@3", "nDCG", "RR@10", "RR", "P@1", "Success@5", "AP", "AP@10"] {
            assert_eq!(name.parse::<Measure>().unwrap().to_string(), name);
        }
        for wrong in ["", "R", "R@", "R@0", "R@-1", "P@x", "F1@3", "Success", "@10"] {
            let error = wrong.parse::<Measure>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{wrong}' is no measure")), "{error}");
        }
    }

    #[test]
    fn hand_worked_values() {
        let grades = BTreeMap::from([("a".into(), 2), ("b".into(), 1), ("c".into(), 0)]);
        // The ranking is c, b, x, a.
        let score = |name: &str| name.parse::<Measure>().unwrap().score(&[0, 1, 0, 2], &grades);
        assert_eq!(score("R@2"), 0.5);
        assert_eq!(score("R@4"), 1.0);
        assert_eq!(score("P@4"), 0.5);
        assert_eq!(score("P@10"), 0.2);
        assert_eq!(score("Success@1"), 0.0);
        assert_eq!(score("RR@10"), 0.5);
        assert_eq!(score("RR@1"), 0.0);
        assert_eq!(score("AP"), (0.5 + 0.5) / 2.0);
        let ideal = 2.0 / 2_f64.log2() + 1.0 / 3_f64.log2();
        let got = 1.0 / 3_f64.log2() + 2.0 / 5_f64.log2();
        assert!((score("nDCG@10") - got / ideal).abs() < 1e-12);
    }
}
