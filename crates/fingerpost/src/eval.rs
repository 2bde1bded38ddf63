//! How good is a ranking?
//!
//! A run holds what a system returned for each query, the qrels what it should have returned. Every
//! query with a relevant skill is scored by each measure, per data set and over all; queries that
//! nothing fits are scored apart, by whether the system returned nothing.

mod compare;
mod entries;
mod formats;
mod judged;
mod measure;
mod runs;

use std::collections::{BTreeMap, BTreeSet};

pub use compare::{Comparison, ComparisonConfig, HitPreservation, Paired, compare};
pub use formats::{
    FormatError, read_qrels, read_queries, read_run, write_qrels_beir, write_qrels_trec,
    write_run_jsonl, write_run_sr_agents, write_run_trec,
};
pub use judged::{
    Gold, JudgedError, JudgedRequests, judged_requests, name_by_id, read_judged_queries,
};
pub use measure::{Measure, MeasureError};
pub use runs::{choose_all, rank_all, run_of_routes, search_all};
use serde::Serialize;

/// Text of a request, and which data set it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Its id.
    pub id: String,
    /// What the user asked.
    pub text: String,
    /// The group it is averaged in; one group for all when absent.
    pub dataset: Option<String>,
}

/// What each query's relevant skills are, and how relevant: query id to skill id to grade.
pub type Qrels = BTreeMap<String, BTreeMap<String, i32>>;

/// What a system returned: query id to hits, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    hits: BTreeMap<String, Vec<Scored>>,
}

/// A skill in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// The skill's id.
    pub skill: String,
    /// Its score.
    pub score: f64,
}

impl Run {
    /// Adds the hits of one query. They are ordered here, by score and then by id, so that every
    /// figure depends on the scores alone and not on the order in a file.
    pub fn insert(&mut self, query: impl Into<String>, mut hits: Vec<Scored>) {
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.skill.cmp(&b.skill)));
        let mut seen = BTreeSet::new();
        hits.retain(|hit| seen.insert(hit.skill.clone()));
        self.hits.insert(query.into(), hits);
    }

    /// The hits of a query; `None` if the run does not mention it.
    pub fn get(&self, query: &str) -> Option<&[Scored]> {
        self.hits.get(query).map(Vec::as_slice)
    }

    /// All queries of the run with their hits, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Scored])> {
        self.hits.iter().map(|(query, hits)| (query.as_str(), hits.as_slice()))
    }

    /// How many queries it answers.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// True if it answers none.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }
}

/// The figures of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Evaluation {
    /// Queries with at least one relevant skill.
    pub queries: usize,
    /// Those of them that the run does not mention; they score zero.
    pub missing: usize,
    /// Unweighted mean over data sets.
    #[serde(rename = "macro")]
    pub macro_mean: Figures,
    /// Mean over queries.
    #[serde(rename = "micro")]
    pub micro_mean: Figures,
    /// Mean over the queries of each data set.
    pub datasets: BTreeMap<String, Dataset>,
    /// Queries that no skill fits.
    pub none: NoneFigures,
    /// Score of each query under each measure, in the order of ids.
    #[serde(skip)]
    pub per_query: Vec<QueryScores>,
}

/// Means by measure, in the order in which the measures were asked for.
pub type Figures = serde_json::Map<String, serde_json::Value>;

/// The figures of one data set.
#[derive(Debug, Clone, Serialize)]
pub struct Dataset {
    /// Its queries with at least one relevant skill.
    pub queries: usize,
    /// Its means.
    #[serde(flatten)]
    pub means: Figures,
}

/// How well a system knows when nothing fits.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NoneFigures {
    /// Queries that no skill fits.
    pub queries: usize,
    /// Queries, of all, for which the run has no hit.
    pub answered_none: usize,
    /// Of those, the share that no skill fits; absent if there are none.
    pub precision: Option<f64>,
    /// Of the queries that no skill fits, the share for which the run has no hit.
    pub recall: Option<f64>,
}

/// Scores of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryScores {
    /// Its id.
    pub query: String,
    /// Its data set.
    pub dataset: String,
    /// One value per measure asked for.
    pub scores: Vec<f64>,
}

/// The name of the data set of queries that name none.
pub const UNNAMED_DATASET: &str = "all";

/// The skills that the qrels call relevant to any of these queries; to any at all, without `queries`. A
/// library that has none of them is not the one that was judged.
pub fn judged_skills<'a>(qrels: &'a Qrels, queries: Option<&[Query]>) -> BTreeSet<&'a str> {
    let asked: Option<BTreeSet<&str>> =
        queries.map(|queries| queries.iter().map(|query| query.id.as_str()).collect());
    let is_asked = |query: &str| asked.as_ref().is_none_or(|asked| asked.contains(query));
    let judged = qrels.iter().filter(|(query, _)| is_asked(query)).flat_map(|(_, grades)| grades);
    judged.filter(|&(_, &grade)| grade > 0).map(|(skill, _)| skill.as_str()).collect()
}

/// Scores a run. With `queries`, exactly those are judged; without, those of the qrels.
pub fn evaluate(
    run: &Run,
    qrels: &Qrels,
    queries: Option<&[Query]>,
    measures: &[Measure],
) -> Evaluation {
    let nothing = BTreeMap::new();
    let mut judged: Vec<(&str, &str)> = match queries {
        Some(queries) => queries
            .iter()
            .map(|query| (query.id.as_str(), query.dataset.as_deref().unwrap_or(UNNAMED_DATASET)))
            .collect(),
        None => qrels.keys().map(|id| (id.as_str(), UNNAMED_DATASET)).collect(),
    };
    judged.sort_unstable();
    judged.dedup_by_key(|(id, _)| *id);

    let mut per_query = Vec::new();
    let mut missing = 0;
    let (mut unfit, mut answered_none, mut rightly_none) = (0, 0, 0);
    for (id, dataset) in judged {
        let grades = qrels.get(id).unwrap_or(&nothing);
        let hits = run.get(id);
        let says_none = hits.is_none_or(<[Scored]>::is_empty);
        if !grades.values().any(|&grade| grade > 0) {
            unfit += 1;
            answered_none += usize::from(says_none);
            rightly_none += usize::from(says_none);
            continue;
        }
        missing += usize::from(hits.is_none());
        // A query the run does not mention was not answered at all, which is no claim of none.
        answered_none += usize::from(hits.is_some() && says_none);
        let ranking: Vec<i32> = hits
            .unwrap_or_default()
            .iter()
            .map(|hit| grades.get(&hit.skill).copied().unwrap_or(0))
            .collect();
        let scores = measures.iter().map(|measure| measure.score(&ranking, grades)).collect();
        per_query.push(QueryScores { query: id.to_owned(), dataset: dataset.to_owned(), scores });
    }

    let mut datasets: BTreeMap<&str, Vec<&QueryScores>> = BTreeMap::new();
    for scores in &per_query {
        datasets.entry(&scores.dataset).or_default().push(scores);
    }
    let means: Vec<(&str, usize, Vec<f64>)> = datasets
        .iter()
        .map(|(name, queries)| (*name, queries.len(), mean_scores(queries, measures.len())))
        .collect();
    let macro_means = (0..measures.len()).map(|m| mean(means.iter().map(|(_, _, means)| means[m])));
    let ratio = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    Evaluation {
        queries: per_query.len(),
        missing,
        macro_mean: figures(measures, macro_means),
        micro_mean: figures(
            measures,
            mean_scores(&per_query.iter().collect::<Vec<_>>(), measures.len()),
        ),
        datasets: means
            .iter()
            .map(|(name, queries, means)| {
                let means = figures(measures, means.iter().copied());
                ((*name).to_owned(), Dataset { queries: *queries, means })
            })
            .collect(),
        none: NoneFigures {
            queries: unfit,
            answered_none,
            precision: ratio(rightly_none, answered_none),
            recall: ratio(rightly_none, unfit),
        },
        per_query,
    }
}

fn mean_scores(queries: &[&QueryScores], measures: usize) -> Vec<f64> {
    (0..measures).map(|m| mean(queries.iter().map(|query| query.scores[m]))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), v| (sum + v, count + 1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

fn figures(measures: &[Measure], values: impl IntoIterator<Item = f64>) -> Figures {
    measures.iter().map(Measure::to_string).zip(values.into_iter().map(Into::into)).collect()
}
