//! `fingerpost route`: one skill for a request, or none, and why not the others.

pub(crate) mod llm;

use std::io::Write;
use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use fingerpost::contract::RouteAnswer;
use fingerpost::index::Scratch;
use fingerpost::numbers;
use fingerpost::protocol::Choosing;
use fingerpost::route::llm::Answering;
use fingerpost::route::{Decision, Route, RouteConfig, Router};
use fingerpost::search::Retriever;
use fingerpost::snapshot::Snapshot;
use fingerpost::view::{Cards, View};
use serde::Serialize;

use self::llm::Asked;
use crate::args::{self, Global, LibraryArgs, config_of};
use crate::encoder::{self, Requests};
use crate::llm::ModelArgs;
use crate::output::{self, CAUTION, Exit, FAINT, GOOD, STRONG, cut, plain};
use crate::search::searcher;
use crate::source::{self, Reading};

/// Which skill for this request?
#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// What the user wants, in their words.
    #[arg(value_parser = args::request)]
    request: String,
    #[command(flatten)]
    library: LibraryArgs,
    /// How candidates are found; by default by BM25 over words, cut or whole as the library's own test found better.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    /// meaning [default: 10].
    #[arg(long, value_name = "N")]
    pub(crate) pool: Option<usize>,
    /// Skills in the answer at most; more than one only where the request needs it.
    #[arg(long, value_name = "N", default_value_t = Self::default().max)]
    pub(crate) max: usize,
    /// Answer with a skill even if none fits.
    #[arg(long, overrides_with = "allow_none")]
    pub(crate) always: bool,
    /// Answer none where no skill fits, which is the default unless the atlas has the paper's protocol; of this
    /// and --always the last one counts.
    #[arg(long, overrides_with = "always")]
    pub(crate) allow_none: bool,
    /// Answer none where the choice is less sure than this, from 0 to 1: of those that are 0.9 sure, nine of
    /// ten are right.
    #[arg(long, value_name = "X", default_value_t = Self::default().min_confidence, value_parser = share, conflicts_with = "always")]
    pub(crate) min_confidence: f64,
    /// What a card shows beside name and description: base (nothing), boundary, or ids (the boundary
    /// with ids for names, an ablation) [default: boundary].
    #[arg(long, value_name = "ARM")]
    pub(crate) cards: Option<Cards>,
    /// llm: ask so often, with the candidates rotated, and let the votes decide [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) rotate: Option<NonZeroUsize>,
    /// llm: tokens of an answer; more for models that think aloud.
    #[arg(long, value_name = "N", default_value_t = Self::default().answer_tokens)]
    pub(crate) answer_tokens: u32,
}

/// A number from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("'{text}' is no number from 0 to 1"))
}

impl Chooser {
    /// As answers have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Chooser::Local => "local",
            Chooser::Llm => "llm",
        }
    }
}

impl Default for ChoosingArgs {
    fn default() -> Self {
        Self {
            pool: None,
            max: 1,
            always: false,
            allow_none: false,
            min_confidence: 0.0,
            cards: None,
            rotate: None,
            answer_tokens: 1000,
        }
    }
}

impl ChoosingArgs {
    /// How a skill is chosen: as the atlas has it, and as the arguments say.
    pub(crate) fn over(&self, kept: Choosing) -> Choosing {
        Choosing {
            pool: self.pool.map_or(kept.pool, |pool| pool.max(1)),
            cards: self.cards.unwrap_or(kept.cards),
            answering: match (self.always, self.allow_none) {
                (true, _) => Answering::Always,
                (_, true) => Answering::OrNone,
                _ => kept.answering,
            },
            rotate: self.rotate.map_or(kept.rotate, NonZeroUsize::get),
            ..kept
        }
    }
}

/// What routes the requests of a library, as the arguments say.
pub(crate) fn router<'a>(
    reading: &'a Reading,
    library: &LibraryArgs,
    retriever: Option<Retriever>,
    choosing: &ChoosingArgs,
    global: &Global,
) -> anyhow::Result<Router<'a>> {
    let snapshot = &reading.snapshot;
    let Choosing { pool, cards, answering, .. } = choosing.over(snapshot.head().protocol.choosing);
    let config = RouteConfig {
        none_below: match answering {
            Answering::Always => 0.0,
            Answering::OrNone => numbers::none::BELOW,
        },
        min_confidence: choosing.min_confidence,
        max: choosing.max.max(1),
        cards,
    };
    let mut router = snapshot.router(config, pool);
    if let Some(by) = retriever {
        let config = config_of(by, View::Full, snapshot.head());
        router.finder = searcher(reading, library, by, &config, global)?;
    }
    Ok(router)
}

/// The contract of `--json`, and what a model took.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    answer: RouteAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    llm: Option<Asked>,
}

pub(crate) fn run(args: &RouteArgs, global: &Global) -> anyhow::Result<Exit> {
    let RouteArgs { request, library, retriever, chooser, choosing, server } = args;
    let reading = source::read(library, global)?;
    let scratch = &mut Scratch::default();
    let mut router = router(&reading, library, *retriever, choosing, global)?;
    let (route, hits, llm) = match chooser {
        Chooser::Local => {
            router.set_encoder(encoder::of(&reading, library, Requests::Forgotten, global)?);
            let (route, hits) = router.route(request, scratch)?;
            (route, hits, None)
        }
        Chooser::Llm => {
            let model = llm::open(server, choosing, None, &reading.source, global)?;
            let hits = router.hits(request, scratch)?;
            let (route, asked) = llm::ask(&router, &model, args, &hits, global)?;
            (route.at_least(choosing.min_confidence), hits, Some(asked))
        }
    };
    reading.snapshot.sound()?;
    if let Some(why) = &route.fallback {
        let line = format!("{CAUTION}warning:{CAUTION:#} {}", plain(why));
        output::say(global, &line);
    }
    let decision = route.decision;
    let freshness = reading.freshness();
    let chosen = (route, &hits[..]);
    let (snapshot, by) = (&reading.snapshot, chooser.name());
    let cards = router.config.cards;
    let answer = RouteAnswer::new(snapshot, freshness, request, by, cards, chosen);
    if global.json {
        output::print_json(&Answer { answer, llm })?;
    } else {
        print(snapshot, &answer.route)?;
    }
    Ok(if decision == Decision::Use { Exit::Done } else { Exit::Findings })
}

/// Skills that a person is told about though they were not chosen.
const NEAR: usize = 9;

fn print(snapshot: &Snapshot, route: &Route) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let width = output::terminal_width();
    match &route.skill {
        None => {
            let sure = format!("{:.0} % sure", route.confidence * 100.0);
            writeln!(out, "{STRONG}none{STRONG:#}  {FAINT}{sure}{FAINT:#}")?;
            writeln!(out, "  because {}", plain(&route.reason))?;
        }
        Some(_) => {
            for id in &route.skills {
                let sure = format!("{:.0} %", route.confidence * 100.0);
                writeln!(out, "{GOOD}{}{GOOD:#}  {FAINT}{sure} sure{FAINT:#}", plain(id))?;
                let row = snapshot.find(id).map(|skill| snapshot.row(skill));
                let description = row.map_or("", |row| row.description);
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
