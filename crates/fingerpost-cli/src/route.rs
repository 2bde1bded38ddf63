//! `fingerpost route`: one skill for a request, or none, and why not the others.

pub(crate) mod llm;

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use fingerpost::atlas::Compiled;
use fingerpost::index::{Scratch, SparseConfig};
use fingerpost::route::{Decision, Route, RouteConfig, Router};
use fingerpost::search::{Retriever, Searcher};
use fingerpost::view::{Cards, View};
use serde::Serialize;

use self::llm::Asked;
use crate::args::{self, Global, LibraryArgs, config_of};
use crate::llm::ModelArgs;
use crate::output::{self, CAUTION, Exit, FAINT, GOOD, STRONG, cut, plain};
use crate::{neighbors, source};

/// Which skill for this request?
#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// What the user wants, in their words.
    #[arg(value_parser = args::request)]
    request: String,
    #[command(flatten)]
    library: LibraryArgs,
    /// How candidates are found; by default by BM25 over words as they suit the library.
    #[arg(long)]
    retriever: Option<Retriever>,
    /// Who picks among them.
    #[arg(long, value_name = "CHOOSER", default_value = "local")]
    chooser: Chooser,
    #[command(flatten)]
    choosing: ChoosingArgs,
    #[command(flatten)]
    server: ModelArgs,
}

/// What picks among cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Chooser {
    /// Words, pairs of words and their meaning; no model.
    Local,
    /// A language model (--model).
    Llm,
}

/// How to choose.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Choosing")]
pub(crate) struct ChoosingArgs {
    /// Candidates for the chooser: so many by the retriever, and, for `local`, so many by phrases and by
    /// meaning.
    #[arg(long, value_name = "N", default_value_t = Self::default().pool)]
    pub(crate) pool: usize,
    /// Skills in the answer at most; more than one only where the request needs it.
    #[arg(long, value_name = "N", default_value_t = Self::default().max)]
    pub(crate) max: usize,
    /// Answer with a skill even if none fits.
    #[arg(long, overrides_with = "allow_none")]
    pub(crate) always: bool,
    /// Answer none where no skill fits, which is the default; of this and --always the last one counts.
    #[arg(long, overrides_with = "always")]
    pub(crate) allow_none: bool,
    /// What a card shows beside name and description: base (nothing), boundary, or ids (the boundary
    /// with ids for names, an ablation).
    #[arg(long, value_name = "ARM", default_value_t = Self::default().cards)]
    pub(crate) cards: Cards,
    /// llm: ask so often, with the candidates rotated, and let the votes decide.
    #[arg(long, value_name = "N", default_value_t = Self::default().rotate)]
    pub(crate) rotate: NonZeroUsize,
    /// llm: tokens of an answer; more for models that think aloud.
    #[arg(long, value_name = "N", default_value_t = Self::default().answer_tokens)]
    pub(crate) answer_tokens: u32,
}

impl Default for ChoosingArgs {
    fn default() -> Self {
        Self {
            pool: 10,
            max: 1,
            always: false,
            allow_none: false,
            cards: Cards::Boundary,
            rotate: NonZeroUsize::MIN,
            answer_tokens: 1000,
        }
    }
}

/// What finds the candidates of a choice.
pub(crate) fn candidates_by(
    retriever: Option<Retriever>,
    view: View,
    compiled: &Compiled,
    library: &LibraryArgs,
    global: &Global,
) -> anyhow::Result<Searcher> {
    let by = retriever.unwrap_or(Retriever::Bm25);
    let config = config_of(by, view, retriever.is_none(), &compiled.tuning);
    source::searcher_of(library, global, by, &config)
}

/// Opens everything that routes the requests of a library, compiled first if it is not yet.
pub(crate) fn router(
    library: &LibraryArgs,
    retriever: Option<Retriever>,
    choosing: &ChoosingArgs,
    global: &Global,
) -> anyhow::Result<Router> {
    let compiled = neighbors::open(library, global)?;
    let searcher = candidates_by(retriever, View::Full, &compiled, library, global)?;
    let config = SparseConfig::phrases(View::Full);
    let phrases = source::index(library, global, &config)?.index;
    let config = compiled.tuning.config(View::Full);
    let suiting = match *searcher.sparse.config() == config {
        true => None,
        false => Some(source::index(library, global, &config)?.index),
    };
    let none_below = if choosing.always { 0.0 } else { compiled.none_below };
    let config = RouteConfig { none_below, max: choosing.max.max(1), cards: choosing.cards };
    let meanings = source::atlas(library, global).meanings(&compiled);
    let pool = choosing.pool.max(1);
    Ok(Router { compiled, searcher, phrases, meanings, suiting, config, pool })
}

/// The contract of `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    request: &'a str,
    chooser: Chooser,
    cards: Cards,
    #[serde(flatten)]
    route: &'a Route,
    hits: Vec<AnswerHit<'a>>,
    /// What the model took; only if one chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    llm: Option<Asked>,
}

#[derive(Serialize)]
struct AnswerHit<'a> {
    skill: &'a str,
    name: &'a str,
    score: f32,
    rank: usize,
}

pub(crate) fn run(args: &RouteArgs, global: &Global) -> anyhow::Result<Exit> {
    let router = router(&args.library, args.retriever, &args.choosing, global)?;
    let scratch = &mut Scratch::default();
    let (route, hits, llm) = match args.chooser {
        Chooser::Local => {
            let (route, hits) = router.route(&args.request, scratch)?;
            (route, hits, None)
        }
        Chooser::Llm => {
            let model = llm::open(&args.server, &args.choosing, None, &args.library, global)?;
            let hits = router.hits(&args.request, scratch)?;
            let (route, asked) = llm::ask(&router, &model, args, &hits, global)?;
            (route, hits, Some(asked))
        }
    };
    if let Some(why) = &route.fallback {
        let line = format!("{CAUTION}warning:{CAUTION:#} {}", plain(why));
        output::say(global, &line);
    }
    if global.json {
        let hits = (1..).zip(&hits).map(|(rank, hit)| {
            let skill = router.compiled.skill(hit.skill);
            AnswerHit { skill: &skill.id, name: &skill.name, score: hit.score, rank }
        });
        let RouteArgs { request, chooser, choosing, .. } = args;
        let (cards, hits) = (choosing.cards, hits.collect());
        output::print_json(&Answer {
            request,
            chooser: *chooser,
            cards,
            route: &route,
            hits,
            llm,
        })?;
    } else {
        print(&router.compiled, &route)?;
    }
    Ok(if route.decision == Decision::Use { Exit::Done } else { Exit::Findings })
}

/// Skills that a person is told about though they were not chosen.
const NEAR: usize = 9;

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
    let (near, far) = route.rejected.split_at(route.rejected.len().min(NEAR));
    let ids = near.iter().map(|rejected| output::console_width(&plain(&rejected.skill)));
    let longest = ids.max().unwrap_or(0).min(44);
    for rejected in near {
        let id = cut(&rejected.skill, longest);
        let pad = " ".repeat(longest - output::console_width(&id));
        let because = cut(&rejected.because, width.saturating_sub(longest + 4));
        writeln!(out, "  {id}{pad}  {FAINT}{because}{FAINT:#}")?;
    }
    if !far.is_empty() {
        writeln!(out, "  {FAINT}and {} farther away (--json has all){FAINT:#}", far.len())?;
    }
    Ok(())
}
