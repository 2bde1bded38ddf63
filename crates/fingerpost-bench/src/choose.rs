//! `choose`: does the chooser without a model beat the first hit, and does it know when it does?
//!
//! Every library is compiled by the local writer (`examples-strong` and `sra-177` have the pages of a strong
//! model) and asked its judged requests. A hash of its id puts a request into one of two halves: weights
//! are fitted to one half, over all libraries, and the other half is answered by them, both ways. The
//! tables are Markdown, as they stand in docs/routing.md.

mod boundary;
mod fit;
mod plot;
mod tables;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use fingerpost::eval::Query;
use fingerpost::index::{Hit, Scratch, SparseConfig, SparseIndex, Zeros};
use fingerpost::request::Request;
use fingerpost::route::{ByKind, Candidate, Evidence, RouteConfig, Router, route, weigh, weigh_by};
use fingerpost::search::Searcher;
use fingerpost::snapshot::Head;
use fingerpost::view::View;
use rayon::prelude::*;
use serde_json::json;

use crate::folds::AGAIN;
use crate::judged::{CLOSED, EXAMPLES, Judged, STRONG, UNSEEN, UNSEEN_STRONG, spread};
use crate::search::searcher;

/// What `choose` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct Choose {
    /// Which libraries; all that are known here if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Folder of the real data.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Requests asked of a library at most, evenly spaced.
    #[arg(long, value_name = "N", default_value_t = 6000)]
    requests: usize,
    /// Candidates that each way of searching brings.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pool: usize,
    /// Also write what speaks for each candidate of each request here, as JSON Lines.
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Also draw how often a confidence is right here, as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

const NAMES: [&str; 9] =
    [EXAMPLES, STRONG, UNSEEN, UNSEEN_STRONG, CLOSED, "sra", "metatool", "bfcl", "ultratool-en"];

/// No weights are fitted to these: the requests of the first two are asked of another library too.
const NOT_FITTED: [&str; 4] = AGAIN;

/// Skills in an answer at most, where several are asked for.
const MAX: usize = 3;

/// Which half of the requests one belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Tune,
    Report,
}

impl Half {
    const BOTH: [Half; 2] = [Half::Tune, Half::Report];

    fn of(query: &Query) -> Self {
        let hash = blake3::hash(format!("half:{}", query.id).as_bytes());
        if hash.as_bytes()[0] & 1 == 0 { Half::Tune } else { Half::Report }
    }

    fn other(self) -> Self {
        match self {
            Half::Tune => Half::Report,
            Half::Report => Half::Tune,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Half::Tune => "tune",
            Half::Report => "report",
        }
    }
}

/// What became of one request; skills are ids, best first.
struct Outcome {
    /// The first hit of BM25 over words as they are.
    plain: Vec<String>,
    /// The first hit of the retriever that the library's own test took.
    default: Vec<String>,
    /// The candidates in the order of what found them.
    retrieved: Vec<String>,
    /// What speaks for each of these, unweighted.
    kinds: Vec<[f64; ByKind::COUNT]>,
    /// Which of these the request names.
    named: Vec<bool>,
    /// Ordered by weights that were fitted to the other half.
    crossed: Vec<String>,
    /// Ordered by the weights of the program.
    chosen: Vec<String>,
    /// The same with the best known use of the boundary.
    bounded: Vec<String>,
    /// Where several are asked for: those the request needs.
    set: Vec<String>,
    answered: bool,
    /// How far the first is ahead of the second.
    lead: f64,
    confidence: f64,
}

/// A library with what was answered to its requests, in their order.
struct Asked {
    judged: Judged,
    outcomes: Vec<Outcome>,
    none_below: f64,
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
    let mut asked = Vec::new();
    for name in NAMES {
        if !arguments.names.is_empty() && !arguments.names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let Some(judged) = Judged::open(name, &arguments.data)? else {
            eprintln!("SKIPPED {name}: {} has no such folder", arguments.data.display());
            continue;
        };
        let start = Instant::now();
        asked.push(ask(judged, arguments, features.as_mut())?);
        eprintln!("{name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    if let Some(mut features) = features {
        features.flush()?;
    }
    for half in Half::BOTH {
        let weights = fitted(&asked, |of| of == half.other());
        for (query, outcome) in asked.iter_mut().flat_map(Asked::pairs_mut) {
            if Half::of(query) == half {
                outcome.crossed = outcome.ordered(&weights);
            }
        }
    }
    tables::print(&asked);
    arguments.plot.as_ref().map_or(Ok(()), |file| plot::draw(&asked, file))
}

impl Asked {
    fn pairs_mut(&mut self) -> impl Iterator<Item = (&Query, &mut Outcome)> {
        self.judged.queries.iter().zip(&mut self.outcomes)
    }
}

impl Outcome {
    /// The candidates as these weights order them.
    fn ordered(&self, weights: &ByKind) -> Vec<String> {
        let weights = weights.to_array();
        let total = |at: usize| -> f64 {
            self.kinds[at].iter().zip(weights).map(|(kind, weight)| kind * weight).sum()
        };
        let mut order: Vec<usize> = (0..self.kinds.len()).collect();
        order.sort_by(|&a, &b| {
            self.named[b].cmp(&self.named[a]).then(total(b).total_cmp(&total(a))).then(a.cmp(&b))
        });
        order.into_iter().map(|at| self.retrieved[at].clone()).collect()
    }
}

/// Weights fitted to the requests of some half. Libraries count alike; in a library, requests and data
/// sets half and half, since its figure is the mean over its data sets.
fn fitted(asked: &[Asked], is_used: impl Fn(Half) -> bool) -> ByKind {
    let mut examples = Vec::new();
    let is_fitted = |asked: &&Asked| !NOT_FITTED.contains(&asked.judged.name.as_str());
    for Asked { judged, outcomes, .. } in asked.iter().filter(is_fitted) {
        let told = |query: &Query, outcome: &Outcome| -> Vec<bool> {
            outcome.retrieved.iter().map(|skill| judged.is_right(query, skill)).collect()
        };
        let used: Vec<(&Query, &Outcome, Vec<bool>)> = judged
            .queries
            .iter()
            .zip(outcomes)
            .filter(|(query, _)| is_used(Half::of(query)))
            .map(|(query, outcome)| (query, outcome, told(query, outcome)))
            .filter(|(_, _, right)| right.contains(&true) && right.contains(&false))
            .collect();
        let mut sizes: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for (query, ..) in &used {
            *sizes.entry(query.dataset.as_deref()).or_default() += 1;
        }
        let share = |query: &Query| {
            let alike = sizes.len() * sizes[&query.dataset.as_deref()];
            0.5 / used.len() as f64 + 0.5 / alike as f64
        };
        examples.extend(used.iter().map(|(query, outcome, right)| fit::Example {
            kinds: &outcome.kinds,
            right: right.clone(),
            counts: share(query),
        }));
    }
    fit::weights(&examples)
}

fn ask(
    mut judged: Judged,
    arguments: &Choose,
    features: Option<&mut BufWriter<File>>,
) -> anyhow::Result<Asked> {
    judged.queries = spread(std::mem::take(&mut judged.queries), arguments.requests);
    let snapshot = judged.compile()?;
    let config = RouteConfig { max: MAX, ..snapshot.route_config() };
    let router = snapshot.router(config, arguments.pool);
    let plain = SparseConfig { view: View::Full, ..SparseConfig::default() };
    let plain = snapshot.index(&plain)?;
    let Head { tuning, none_below, .. } = snapshot.head();
    let default = searcher(&snapshot, tuning.retriever, &tuning.config(View::Full))?;
    let asking = Asking { judged: &judged, router, plain, default };
    let answers: Vec<(Outcome, String)> = judged
        .queries
        .par_iter()
        .map_init(Scratch::default, |scratch, query| {
            asking.answer(query, scratch, features.is_some())
        })
        .collect::<anyhow::Result<_>>()?;
    let (outcomes, lines): (Vec<Outcome>, Vec<String>) = answers.into_iter().unzip();
    if let Some(features) = features {
        lines.iter().try_for_each(|lines| features.write_all(lines.as_bytes()))?;
    }
    let none_below = *none_below;
    Ok(Asked { judged, outcomes, none_below })
}

/// What answers the requests of a library, and what it is compared with.
struct Asking<'a> {
    judged: &'a Judged,
    router: Router<'a>,
    /// BM25 over words as they are.
    plain: Arc<SparseIndex>,
    /// The retriever that the library's own test took.
    default: Searcher<'a>,
}

impl Asking<'_> {
    fn answer(
        &self,
        query: &Query,
        scratch: &mut Scratch,
        with_features: bool,
    ) -> anyhow::Result<(Outcome, String)> {
        let Router { snapshot, config, .. } = &self.router;
        let phrases = snapshot.phrases();
        let request = &Request::read(&query.text);
        let hits = self.router.gather(request, scratch)?;
        let pages = self.router.pages(&hits);
        let candidates = self.router.candidates(request, &hits, &pages)?;
        let retrieved = candidates.iter().map(|candidate| candidate.id.to_owned()).collect();
        let unweighted = ByKind::from_array([1.0; ByKind::COUNT]);
        let fit = self.router.fit(&query.text, &hits, scratch)?;
        let mut found = weigh_by(request, &candidates, fit, phrases, &unweighted)?;
        found.sort_by_key(|found| found.candidate);
        let evidences = weigh(request, &candidates, fit, phrases)?;
        let ids = |order: &[Evidence]| -> Vec<String> {
            order.iter().map(|evidence| candidates[evidence.candidate].id.to_owned()).collect()
        };
        let answer = route(request, &candidates, fit, phrases, config)?;
        let always = RouteConfig { none_below: 0.0, ..*config };
        let set = route(request, &candidates, fit, phrases, &always)?;
        let bounded = boundary::reorder(request, &candidates, &evidences, phrases);
        let lines = if with_features {
            self.features(query, &candidates, &evidences)?
        } else {
            String::new()
        };
        let plain = self.plain.search(&query.text, 1, Zeros::Dropped, scratch)?;
        let default = self.default.search(&query.text, 1, scratch)?;
        let id = |hit: &Hit| snapshot.row(hit.skill).id.to_owned();
        let total = |at: usize| evidences.get(at).map_or(0.0, |evidence| evidence.total);
        let outcome = Outcome {
            plain: plain.iter().map(id).collect(),
            default: default.iter().map(id).collect(),
            retrieved,
            kinds: found.iter().map(|found| found.addends.to_array()).collect(),
            named: found.iter().map(|found| found.named).collect(),
            crossed: vec![],
            lead: total(0) - total(1),
            chosen: ids(&evidences),
            bounded: ids(&bounded),
            set: set.skills,
            answered: answer.skill.is_some(),
            confidence: set.confidence,
        };
        Ok((outcome, lines))
    }

    /// One line a candidate, in the order of the chooser.
    fn features(
        &self,
        query: &Query,
        candidates: &[Candidate<'_>],
        evidence: &[Evidence],
    ) -> anyhow::Result<String> {
        let mut lines = String::new();
        for evidence in evidence {
            let skill = candidates[evidence.candidate].id;
            let line = json!({
                "library": self.judged.name,
                "dataset": query.dataset,
                "query": query.id,
                "half": Half::of(query).name(),
                "skill": skill,
                "right": self.judged.is_right(query, skill),
                "rank": evidence.candidate + 1,
                "named": evidence.named,
                "evidence": evidence.addends,
                "total": evidence.total,
            });
            lines.push_str(&serde_json::to_string(&line)?);
            lines.push('\n');
        }
        Ok(lines)
    }
}
