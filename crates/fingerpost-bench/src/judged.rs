//! The lab's judged libraries, as the benchmark asks for them: by name and folder of the real data, and with two
//! figures for each way of searching.

use std::path::{Path, PathBuf};

use anyhow::Context;
use fingerpost::atlas::Atlas;
use fingerpost::eval::{Measure, Run, Scored, evaluate};
use fingerpost::index::{Hit, Scratch};
use fingerpost::library::Library;
use fingerpost::protocol::Protocol;
use fingerpost::search::SearchError;
use fingerpost::snapshot::Snapshot;
pub(crate) use fingerpost_lab::judged::{
    CLOSED, EXAMPLES, Judged, STRONG, TOOLLENS_STRONG, UNSEEN, UNSEEN_STRONG, spread,
};
use fingerpost_lab::judged::{JudgedError, Places};
use rayon::prelude::*;

/// Hits that a search is asked for.
pub(crate) const K: usize = 10;

/// The library of this name, or `None` where its folder is not there.
pub(crate) fn open(name: &str, data: &Path) -> anyhow::Result<Option<Judged>> {
    let places = Places { data: data.to_path_buf(), project: PathBuf::from(".") };
    match Judged::open(name, &places) {
        Ok(judged) => Ok(Some(judged)),
        Err(JudgedError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What a search is worth on the requests of a library: recall among the first [`K`] and the share of first
/// places, in percent, means over data sets.
pub(crate) fn figures(
    judged: &Judged,
    search: impl Fn(&str, &mut Scratch) -> Result<Vec<Hit>, SearchError> + Sync,
) -> anyhow::Result<[f64; 2]> {
    let scored = |hit: &Hit| Scored {
        skill: judged.library.skills()[hit.skill.row()].id.to_string(),
        score: f64::from(hit.score),
    };
    let found: Vec<Vec<Scored>> = judged
        .queries
        .par_iter()
        .map_init(Scratch::default, |scratch, query| {
            Ok(search(&query.text, scratch)?.iter().map(scored).collect())
        })
        .collect::<Result<_, SearchError>>()?;
    let mut run = Run::default();
    for (query, hits) in judged.queries.iter().zip(found) {
        run.insert(query.id.as_str(), hits);
    }
    means(judged, &run)
}

/// What a run is worth, as [`figures`] says it.
pub(crate) fn means(judged: &Judged, run: &Run) -> anyhow::Result<[f64; 2]> {
    let measures: [Measure; 2] = [format!("R@{K}").parse()?, "Success@1".parse()?];
    let means = evaluate(run, &judged.qrels, Some(&judged.queries), &measures).macro_mean;
    let mut percents =
        means.values().map(|value| value.as_f64().map_or(0.0, |share| share * 100.0));
    let mut next = || percents.next().context("a mean for each measure");
    Ok([next()?, next()?])
}

/// A library as the program compiles it where nobody says otherwise.
pub(crate) fn compile(atlas: &Atlas, library: &Library) -> anyhow::Result<Snapshot> {
    Ok(atlas.compile(library, &Protocol::ours())?.0)
}
