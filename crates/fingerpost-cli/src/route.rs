//! `fingerpost route`: one skill for a request, or none, and why not the others.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use fingerpost::atlas::Compiled;
use fingerpost::index::{Hit, Scratch, SparseConfig, SparseIndex, SparseModel, Zeros};
use fingerpost::page::Page;
use fingerpost::route::none::evidence;
use fingerpost::route::{Candidate, Decision, Route, RouteConfig, route};
use fingerpost::search::{Retriever, Searcher};
use fingerpost::text::Tokenizer;
use fingerpost::view::View;
use serde::Serialize;

use crate::args::{Global, LibraryArgs, RetrieverArgs};
use crate::output::{self, Exit, FAINT, GOOD, STRONG, cut, plain};
use crate::{neighbors, source};

/// Which skill for this request?
#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// What the user wants, in their words.
    request: String,
    #[command(flatten)]
    library: LibraryArgs,
    #[command(flatten)]
    choosing: ChoosingArgs,
}

/// How to choose.
#[derive(Debug, Args)]
pub(crate) struct ChoosingArgs {
    /// How candidates are found.
    #[arg(long, default_value_t = Retriever::Bm25)]
    pub(crate) retriever: Retriever,
    /// Candidates for the chooser: so many by the retriever, and so many by phrases.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) pool: usize,
    /// Skills in the answer at most; more than one only where the request needs it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) max: usize,
    /// Answer with a skill even if none fits.
    #[arg(long)]
    pub(crate) always: bool,
}

impl ChoosingArgs {
    fn retriever(&self) -> RetrieverArgs {
        RetrieverArgs::of(self.retriever, View::Full)
    }
}

/// Everything that routes the requests of a library.
pub(crate) struct Router {
    pub(crate) compiled: Compiled,
    pub(crate) searcher: Searcher,
    phrases: SparseIndex,
    config: RouteConfig,
    pool: usize,
}

impl Router {
    pub(crate) fn open(
        library: &LibraryArgs,
        choosing: &ChoosingArgs,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let compiled = neighbors::open(library, global)?;
        let searcher = source::searcher(library, global, &choosing.retriever())?;
        let config = SparseConfig {
            model: SparseModel::Cosine,
            tokenizer: Tokenizer::Phrases,
            view: View::Full,
        };
        let phrases = source::index(library, global, &config)?.index;
        let none_below = if choosing.always { 0.0 } else { compiled.none_below };
        let config = RouteConfig { none_below, max: choosing.max.max(1) };
        Ok(Self { compiled, searcher, phrases, config, pool: choosing.pool.max(1) })
    }

    /// The answer, with the hits it was chosen from.
    pub(crate) fn route(
        &self,
        request: &str,
        scratch: &mut Scratch,
    ) -> anyhow::Result<(Route, Vec<Hit>)> {
        let hits = self.searcher.candidates(request, self.pool, &self.phrases, scratch)?;
        let candidates: Vec<Candidate<'_>> = hits
            .iter()
            .map(|hit| {
                let skill = self.compiled.skill(hit.skill);
                Candidate {
                    skill: hit.skill,
                    id: &skill.id,
                    name: &skill.name,
                    description: &skill.description,
                    page: self.page(&skill.id),
                    score: hit.score,
                }
            })
            .collect();
        let terms = &self.searcher.sparse;
        let best = terms.search(request, 1, Zeros::Dropped, scratch)?;
        let fit = evidence(request, best.first().map_or(0.0, |hit| hit.score), terms);
        Ok((route(request, &candidates, fit, &self.phrases, &self.config)?, hits))
    }

    /// The page of a skill, by id: rows are in the order of ids.
    fn page(&self, id: &str) -> Option<&Page> {
        let rows = &self.compiled.pages;
        let at = rows.binary_search_by(|row| row.skill.as_str().cmp(id)).ok()?;
        rows[at].page.as_ref()
    }
}

/// The contract of `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    request: &'a str,
    #[serde(flatten)]
    route: &'a Route,
    hits: Vec<AnswerHit<'a>>,
}

#[derive(Serialize)]
struct AnswerHit<'a> {
    skill: &'a str,
    name: &'a str,
    score: f32,
    rank: usize,
}

pub(crate) fn run(args: &RouteArgs, global: &Global) -> anyhow::Result<Exit> {
    let router = Router::open(&args.library, &args.choosing, global)?;
    let (route, hits) = router.route(&args.request, &mut Scratch::default())?;
    if global.json {
        let hits = (1..).zip(&hits).map(|(rank, hit)| {
            let skill = router.compiled.skill(hit.skill);
            AnswerHit { skill: &skill.id, name: &skill.name, score: hit.score, rank }
        });
        let answer = Answer { request: &args.request, route: &route, hits: hits.collect() };
        output::print_json(&answer)?;
    } else {
        print(&router.compiled, &route)?;
    }
    Ok(if route.decision == Decision::Use { Exit::Done } else { Exit::Findings })
}

fn print(compiled: &Compiled, route: &Route) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let width = output::terminal_width();
    let described: BTreeMap<&str, &str> = compiled
        .skills
        .iter()
        .map(|skill| (skill.id.as_str(), skill.description.as_str()))
        .collect();
    match &route.skill {
        None => writeln!(out, "{STRONG}none{STRONG:#}  {}", plain(&route.reason))?,
        Some(_) => {
            for id in &route.skills {
                let sure = format!("{:.0} %", route.confidence * 100.0);
                writeln!(out, "{GOOD}{}{GOOD:#}  {FAINT}{sure} sure{FAINT:#}", plain(id))?;
                let description = described.get(id.as_str()).copied().unwrap_or_default();
                writeln!(out, "  {}", cut(description, width.saturating_sub(2)))?;
            }
            writeln!(out, "  because {}", plain(&route.reason))?;
        }
    }
    if !route.rejected.is_empty() {
        writeln!(out, "\nnot")?;
    }
    let ids = route.rejected.iter().map(|rejected| output::console_width(&plain(&rejected.skill)));
    let longest = ids.max().unwrap_or(0).min(44);
    for rejected in &route.rejected {
        let id = cut(&rejected.skill, longest);
        let pad = " ".repeat(longest - output::console_width(&id));
        let because = cut(&rejected.because, width.saturating_sub(longest + 4));
        writeln!(out, "  {id}{pad}  {FAINT}{because}{FAINT:#}")?;
    }
    Ok(())
}
