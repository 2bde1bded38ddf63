//! What speaks for which candidate of a request, and which weights suit what was found?
//!
//! Evidence is found once for each request; weights are then fitted to what is stored.

use std::collections::BTreeMap;

use fingerpost::eval::Query;
use fingerpost::request::Request;
use fingerpost::route::{ByKind, Candidate, Router, weigh_by};

use super::fit;
use crate::folds::{AGAIN, Fold};
use crate::judged::Judged;

/// The candidates of a request, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) skills: Vec<String>,
    /// What speaks for each, unweighted.
    pub(crate) kinds: Vec<[f64; ByKind::COUNT]>,
    /// Which of them the request names.
    pub(crate) named: Vec<bool>,
}

impl Pool {
    /// What speaks for these candidates.
    pub(crate) fn of(
        router: &Router<'_>,
        request: &Request<'_>,
        candidates: &[Candidate<'_>],
        fit: f64,
    ) -> anyhow::Result<Self> {
        let unweighted = ByKind::from_array([1.0; ByKind::COUNT]);
        let phrases = router.snapshot.phrases();
        let mut found = weigh_by(request, candidates, fit, phrases, &unweighted)?;
        found.sort_by_key(|found| found.candidate);
        Ok(Self {
            skills: candidates.iter().map(|candidate| candidate.id.to_owned()).collect(),
            kinds: found.iter().map(|found| found.addends.to_array()).collect(),
            named: found.iter().map(|found| found.named).collect(),
        })
    }

    /// What weights make of the evidence for each candidate.
    fn totals(&self, weights: &ByKind) -> Vec<f64> {
        let weights = weights.to_array();
        let total = |kinds: &[f64; ByKind::COUNT]| -> f64 {
            kinds.iter().zip(weights).map(|(kind, weight)| kind * weight).sum()
        };
        self.kinds.iter().map(total).collect()
    }

    /// The places of the candidates as these weights order them, each with its evidence.
    pub(crate) fn order(&self, weights: &ByKind) -> Vec<(usize, f64)> {
        let mut order: Vec<(usize, f64)> = self.totals(weights).into_iter().enumerate().collect();
        order.sort_by(|&(a, one), &(b, other)| {
            self.named[b].cmp(&self.named[a]).then(other.total_cmp(&one)).then(a.cmp(&b))
        });
        order
    }

    /// The candidates as these weights order them.
    pub(crate) fn ordered(&self, weights: &ByKind) -> Vec<String> {
        self.order(weights).into_iter().map(|(at, _)| self.skills[at].clone()).collect()
    }
}

/// Weights fitted to these libraries with what was found for their requests. Folds count alike, and the
/// libraries of one; in a library, requests and data sets half and half, since its figure is the mean over
/// its data sets. Libraries that ask again what others ask count nothing.
pub(crate) fn weights<'a>(
    libraries: impl Iterator<Item = (&'a Fold, &'a Judged, Vec<&'a Pool>)>,
) -> ByKind {
    let fitted: Vec<_> =
        libraries.filter(|(_, judged, _)| !AGAIN.contains(&&*judged.name)).collect();
    let mut of_fold: BTreeMap<&str, f64> = BTreeMap::new();
    for (fold, ..) in &fitted {
        *of_fold.entry(fold.name).or_default() += 1.0;
    }
    let mut examples = Vec::new();
    for (fold, judged, pools) in fitted {
        let told = |query: &Query, pool: &Pool| -> Vec<bool> {
            pool.skills.iter().map(|skill| judged.is_right(query, skill)).collect()
        };
        let used: Vec<(&Query, &Pool, Vec<bool>)> = judged
            .queries
            .iter()
            .zip(pools)
            .map(|(query, pool)| (query, pool, told(query, pool)))
            .filter(|(_, _, right)| right.contains(&true) && right.contains(&false))
            .collect();
        let mut sizes: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for (query, ..) in &used {
            *sizes.entry(query.dataset.as_deref()).or_default() += 1;
        }
        let share = |query: &Query| {
            let alike = sizes.len() * sizes[&query.dataset.as_deref()];
            (0.5 / used.len() as f64 + 0.5 / alike as f64) / of_fold[fold.name]
        };
        examples.extend(used.iter().map(|(query, pool, right)| fit::Example {
            kinds: &pool.kinds,
            right: right.clone(),
            counts: share(query),
        }));
    }
    fit::weights(&examples)
}
