//! `choose`: does the chooser without a model beat the first hit on libraries that its weights were not
//! fitted to?
//!
//! Every library is compiled by the local writer (those called `-strong`, and `sra-177`, have the pages of a
//! strong model) and asked its judged requests. What speaks for each candidate is found once; then, for each
//! fold, weights are fitted to the other eight and order the candidates of this one. The tables are
//! Markdown, as they stand in docs/routing.md.

pub(crate) mod asked;
mod boundary;
pub(crate) mod fit;
mod tables;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use fingerpost::eval::Query;
use fingerpost::index::{Scratch, SparseConfig};
use fingerpost::request::Request;
use fingerpost::route::{ByKind, ENCODED, Evidence, RouteConfig, Router, WEIGHTS, route, weigh};
use fingerpost::search::{Reading, Retriever, Searcher};
use fingerpost::view::View;
use rayon::prelude::*;
use serde_json::json;

use self::asked::Pool;
use crate::encoder::{EncoderArgs, EncoderModel};
use crate::folds::{Fold, FoldArgs, Opened};
use crate::judged::{Judged, K};

/// What `choose` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct Choose {
    #[command(flatten)]
    folds: FoldArgs,
    #[command(flatten)]
    encoder: EncoderArgs,
    /// Candidates that each way of searching brings.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pool: usize,
    /// Also write what speaks for each candidate of each request here, as JSON Lines.
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
}

/// Skills in an answer at most, where several are asked for.
const MAX: usize = 3;

/// What became of one request; skills are ids, best first.
struct Outcome {
    pool: Pool,
    /// The hits of BM25 over documents, words as they are.
    plain: Vec<String>,
    /// Ordered by weights that were fitted to the other folds.
    left_out: Vec<String>,
    /// Ordered by the weights of the program.
    chosen: Vec<String>,
    /// The same with the best known use of the boundary.
    bounded: Vec<String>,
    /// Where several are asked for: those the request needs.
    set: Vec<String>,
    /// What the program answers: a skill, or none.
    answer: Vec<String>,
}

/// A library with what was answered to its requests, in their order.
struct Asked {
    fold: &'static Fold,
    judged: Judged,
    outcomes: Vec<Outcome>,
}

pub(crate) fn run(arguments: &Choose) -> anyhow::Result<()> {
    let mut features = match &arguments.features {
        Some(file) => {
            let created = File::create(file);
            let created = created.with_context(|| format!("cannot write {}", file.display()))?;
            Some(BufWriter::new(created))
        }
        None => None,
    };
    let encoder = arguments.encoder.open()?;
    let shipped = if encoder.is_some() { &ENCODED } else { &WEIGHTS };
    let mut asked = Vec::new();
    for opened in arguments.folds.open()? {
        let start = Instant::now();
        let found = ask(opened?, arguments.pool, encoder.as_ref())?;
        if let Some(features) = &mut features {
            write_features(&found, shipped, features)?;
        }
        eprintln!("{}: {:.0} s", found.judged.name, start.elapsed().as_secs_f64());
        asked.push(found);
    }
    if let Some(mut features) = features {
        features.flush()?;
    }
    let mut fitted: Vec<(&'static Fold, ByKind)> = Vec::new();
    for Asked { fold, .. } in &asked {
        if fitted.iter().all(|(known, _)| known != fold) {
            fitted.push((*fold, weights(&asked, |other| other != *fold)));
        }
    }
    for Asked { fold, outcomes, .. } in &mut asked {
        let found = fitted.iter().find(|(known, _)| known == fold);
        let (_, weights) = found.context("weights for each fold")?;
        for outcome in outcomes {
            outcome.left_out = outcome.pool.ordered(weights);
        }
    }
    let all = weights(&asked, |_| true);
    tables::print(&asked, &fitted, &all, shipped);
    Ok(())
}

/// Weights fitted to the folds that are used.
fn weights(asked: &[Asked], is_used: impl Fn(&Fold) -> bool) -> ByKind {
    let used = asked.iter().filter(|asked| is_used(asked.fold));
    asked::weights(used.map(|asked| {
        let pools = asked.outcomes.iter().map(|outcome| &outcome.pool).collect();
        (asked.fold, &asked.judged, pools)
    }))
}

fn ask(
    Opened { fold, judged }: Opened,
    pool: usize,
    encoder: Option<&EncoderModel>,
) -> anyhow::Result<Asked> {
    let snapshot = judged.compile()?;
    let mut router = snapshot.router(snapshot.route_config(), pool);
    router.set_encoder(encoder.map(|encoder| encoder.encoder(&snapshot)).transpose()?);
    let plain = SparseConfig { view: View::Raw, ..SparseConfig::default() };
    let plain = snapshot.searcher(Retriever::Bm25, &plain, None, Reading::Careful)?;
    let asking = Asking { router, plain };
    let texts: Vec<&str> = judged.queries.iter().map(|query| query.text.as_str()).collect();
    let requests = asking.router.read_all(&texts)?;
    let outcomes = judged
        .queries
        .par_iter()
        .zip(&requests)
        .map_init(Scratch::default, |scratch, (query, read)| asking.answer(query, read, scratch))
        .collect::<anyhow::Result<_>>()?;
    Ok(Asked { fold, judged, outcomes })
}

/// What answers the requests of a library, and what it is compared with.
struct Asking<'a> {
    router: Router<'a>,
    /// BM25 over documents, words as they are.
    plain: Searcher<'a>,
}

impl Asking<'_> {
    fn answer(
        &self,
        query: &Query,
        request: &Request<'_>,
        scratch: &mut Scratch,
    ) -> anyhow::Result<Outcome> {
        let Router { snapshot, config, .. } = &self.router;
        let phrases = snapshot.phrases();
        let hits = self.router.gather(request, scratch)?;
        let pages = self.router.pages(&hits);
        let candidates = self.router.candidates(request, &hits, &pages)?;
        let signs = self.router.signs(&query.text, &hits, scratch)?;
        let evidence = weigh(request, &candidates, signs.fit(), phrases)?;
        let ids = |order: &[Evidence]| -> Vec<String> {
            order.iter().map(|evidence| candidates[evidence.candidate].id.to_owned()).collect()
        };
        let always = RouteConfig { none_below: 0.0, max: MAX, ..*config };
        let set = route(request, &candidates, signs, phrases, &always)?;
        let answer = route(request, &candidates, signs, phrases, config)?;
        let plain = self.plain.search(&query.text, K, scratch)?;
        let plain = plain.iter().map(|hit| snapshot.row(hit.skill).id.to_owned()).collect();
        Ok(Outcome {
            pool: Pool::of(&self.router, request, &candidates, signs.fit())?,
            plain,
            left_out: vec![],
            bounded: ids(&boundary::reorder(request, &candidates, &evidence, phrases)),
            chosen: ids(&evidence),
            set: set.skills,
            answer: answer.skills,
        })
    }
}

/// One line a candidate, in the order of the chooser.
fn write_features(asked: &Asked, shipped: &ByKind, out: &mut impl Write) -> anyhow::Result<()> {
    let Asked { fold, judged, outcomes } = asked;
    for (query, Outcome { pool, .. }) in judged.queries.iter().zip(outcomes) {
        for (at, total) in pool.order(shipped) {
            let line = json!({
                "fold": fold.name,
                "library": judged.name,
                "dataset": query.dataset,
                "query": query.id,
                "skill": pool.skills[at],
                "right": judged.is_right(query, &pool.skills[at]),
                "rank": at + 1,
                "named": pool.named[at],
                "evidence": ByKind::from_array(pool.kinds[at]),
                "total": total,
            });
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
