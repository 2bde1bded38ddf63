//! `choose`: does the chooser without a model beat the first hit, and does it know when it does?
//!
//! Every library is compiled by the local writer (`examples-strong` and `sra-177` have the pages of a strong
//! model) and asked its judged requests. Whatever is tuned is tuned on one half of them, by a hash of their
//! ids, and reported on the other. The tables are Markdown, as they stand in docs/routing.md.

mod boundary;
mod plot;
mod tables;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use fingerpost::eval::Query;
use fingerpost::index::{Scratch, SparseConfig, SparseIndex, Zeros};
use fingerpost::page::write::pages_of;
use fingerpost::route::{Candidate, Evidence, RouteConfig, Router, route, weigh};
use fingerpost::view::View;
use rayon::prelude::*;
use serde_json::json;

use crate::judged::{CLOSED, EXAMPLES, Judged, STRONG, spread};

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

const NAMES: [&str; 7] = [EXAMPLES, STRONG, CLOSED, "sra", "metatool", "bfcl", "ultratool-en"];

/// Skills in an answer at most, where several are asked for.
const MAX: usize = 3;

/// Which half of the requests one belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    /// For choosing weights.
    Tune,
    /// For saying what they are worth.
    Report,
}

impl Half {
    const BOTH: [Half; 2] = [Half::Tune, Half::Report];

    fn of(query: &Query) -> Self {
        let hash = blake3::hash(format!("half:{}", query.id).as_bytes());
        if hash.as_bytes()[0] & 1 == 0 { Half::Tune } else { Half::Report }
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
    retrieved: Vec<String>,
    chosen: Vec<String>,
    /// The same with the best known use of the boundary.
    bounded: Vec<String>,
    /// Where several are asked for: those the request needs.
    set: Vec<String>,
    answered: bool,
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
    tables::print(&asked);
    arguments.plot.as_ref().map_or(Ok(()), |file| plot::draw(&asked, file))
}

fn ask(
    mut judged: Judged,
    arguments: &Choose,
    features: Option<&mut BufWriter<File>>,
) -> anyhow::Result<Asked> {
    judged.queries = spread(std::mem::take(&mut judged.queries), arguments.requests);
    let router = judged.router(MAX, arguments.pool)?;
    let pages = pages_of(&router.compiled.pages, &judged.library);
    let config = SparseConfig { view: View::Full, ..SparseConfig::default() };
    let plain = SparseIndex::build(&judged.library, &pages, &config);
    let none_below = router.config.none_below;
    let asking = Asking { judged: &judged, router, plain };
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
    Ok(Asked { judged, outcomes, none_below })
}

/// What answers the requests of a library, and what it is compared with.
struct Asking<'a> {
    judged: &'a Judged,
    router: Router,
    /// BM25 over words as they are.
    plain: SparseIndex,
}

impl Asking<'_> {
    fn answer(
        &self,
        query: &Query,
        scratch: &mut Scratch,
        with_features: bool,
    ) -> anyhow::Result<(Outcome, String)> {
        let Router { searcher, phrases, config, pool, .. } = &self.router;
        let hits = searcher.candidates(&query.text, *pool, phrases, scratch)?;
        let candidates = self.router.candidates(&query.text, &hits)?;
        let retrieved = candidates.iter().map(|candidate| candidate.id.to_owned()).collect();
        let evidences = weigh(&query.text, &candidates, phrases)?;
        let ids = |order: &[Evidence]| -> Vec<String> {
            order.iter().map(|evidence| candidates[evidence.candidate].id.to_owned()).collect()
        };
        let fit = self.router.fit(&query.text, &hits, scratch)?;
        let answer = route(&query.text, &candidates, fit, phrases, config)?;
        let always = RouteConfig { none_below: 0.0, ..*config };
        let set = route(&query.text, &candidates, fit, phrases, &always)?;
        let bounded = boundary::reorder(&query.text, &candidates, &evidences, phrases);
        let lines = if with_features {
            self.features(query, &candidates, &evidences)?
        } else {
            String::new()
        };
        let plain = self.plain.search(&query.text, 1, Zeros::Dropped, scratch)?;
        let outcome = Outcome {
            plain: plain.iter().map(|hit| self.plain.id(hit.skill).to_owned()).collect(),
            retrieved,
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
