//! What can be typed.

mod compile;
mod examples;
mod retriever;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use fingerpost::eval::Measure;

pub(crate) use self::compile::{Compile, WriterName};
pub(crate) use self::retriever::{RetrieverArgs, config_of, request};
use crate::embedder::EmbedderArgs;
use crate::llm::{ElsewhereArgs, ModelArgs};
use crate::route::{Chooser, ChoosingArgs};
use crate::source::Databases;

/// Tell look-alike skills apart: compile, search and measure a library of agent skills.
#[derive(Debug, Parser)]
#[command(name = "fingerpost", version = crate::version::told(), about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do; without a word, a tour of the library that is found.
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

impl Arguments {
    /// What was typed, or what is wrong with it.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&command().try_get_matches()?)
    }
}

/// Everything that can be typed, each verb with its examples.
pub(crate) fn command() -> Command {
    examples::shown(Arguments::command())
}

/// Options of every verb.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Where the compiled library is kept: a folder, or a database as postgres://HOST/NAME; alone, without
    /// --library, it answers by itself [default: .fingerpost in a folder named by --library, else in your
    /// cache folder].
    // Its value may have a password in it, which help is not to show.
    #[arg(
        long,
        global = true,
        value_name = "WHERE",
        env = "FINGERPOST_ATLAS",
        hide_env_values = true
    )]
    pub(crate) atlas: Option<PathBuf>,
    /// Print one JSON object on standard output; talk stays on standard error.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and errors only; `route` prints nothing but the path of the skill.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use color.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Seed of everything that is drawn at random.
    #[arg(long, global = true, value_name = "N", default_value_t = 42)]
    pub(crate) seed: u64,
    /// Use the answers in the ledger of an atlas that somebody else made as if you had paid for them.
    #[arg(long, global = true)]
    pub(crate) trust_ledger: bool,
    /// Threads to use [default: all cores].
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Was damage found while an answer was made? Then the atlas is compiled before the next one.
    #[arg(skip)]
    pub(crate) heal: bool,
    /// The notes that were said: each once, however often there is cause.
    #[arg(skip)]
    pub(crate) noted: Arc<Mutex<BTreeSet<String>>>,
    /// The databases that are open.
    #[arg(skip)]
    pub(crate) databases: Databases,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn write_global(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Group look-alike skills, write a page for each that tells it apart, and keep all in an atlas.
    Compile(Box<Compile>),
    /// Choose one skill for a request, or none, and say why not the others.
    Route(Box<crate::route::RouteArgs>),
    /// Show how each candidate of a request came to its place, and what rules it out.
    Explain(crate::explain::ExplainArgs),
    /// Rank the skills of a library for a request.
    Search(Search),
    /// Show who could be taken for a skill.
    Neighbors(Neighbors),
    /// Show what distinguishes two skills, and who wins which judged request.
    Diff(Diff),
    /// Figures, a map, and a sweep of settings of a compiled library.
    #[command(subcommand)]
    Atlas(AtlasVerb),
    /// Look at pages, and overrule them.
    #[command(subcommand)]
    Page(PageVerb),
    /// Write all pages as JSON Lines, in the order of ids: for git, or another machine.
    Export(Export),
    /// Take pages from a file that `export` wrote.
    Import(Import),
    /// Measure a retriever or a chooser on judged queries, or compare runs.
    Eval(Box<Eval>),
    /// The experiments of the paper behind it all, on its kind of data or your own library.
    #[command(subcommand)]
    Lab(crate::lab::LabVerb),
    /// Serve a library over HTTP, with a page to look at it.
    Serve(Box<crate::serve::ServeArgs>),
    /// Say what was loaded, from where, and what is wrong with it.
    Doctor(Doctor),
    /// List, fetch and remove embedding models.
    Model(crate::model::Model),
    /// Show what was asked of which model, by day, and what it cost.
    Ledger(LedgerArgs),
    /// Serve a library to an agent as an MCP server, on standard input and output.
    Mcp(crate::mcp::McpArgs),
    /// Name the skill for a prompt to the agent that is about to read it, or be silent.
    #[command(subcommand)]
    Hook(crate::hook::HookVerb),
    /// Set an agent up to use the library: as an MCP server, or by a hook.
    Install(crate::install::InstallArgs),
    /// Take out of an agent's settings what `install` put there.
    Uninstall(crate::install::UninstallArgs),
    /// Keep the compiled library fresh while skills are edited, and say what changed.
    Watch(crate::watch::WatchArgs),
    /// Write pages with a model beside others, for a library in a database that somebody compiles.
    Worker(Box<crate::worker::WorkerArgs>),
    /// Print what a shell reads to complete verbs and options.
    Completions(crate::shell::Completions),
    /// Print the JSON Schema of an answer.
    Schema(crate::schema::SchemaArgs),
    /// Write the pages of the manual.
    Man(crate::shell::Manual),
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<LedgerVerb>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Write every answer of one model to a file, as a recording for `compile --replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Option<PathBuf>,
    /// The model whose answers are written, where there are several.
    #[arg(long, value_name = "NAME", requires = "export")]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerVerb {
    /// Delete all records of calls made before a day, answers and costs, for good.
    Prune(LedgerPrune),
}

#[derive(Debug, Args)]
pub(crate) struct LedgerPrune {
    /// The day, as 2026-01-31.
    #[arg(long, value_name = "DAY")]
    pub(crate) before: String,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Which skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LibraryArgs {
    /// A folder of SKILL.md folders, a .json or .jsonl file (also .gz, .zst) or a benchmark's folder (BEIR,
    /// SRA-Bench); may be given several times [default: where the agents on this machine look].
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) library: Vec<PathBuf>,
    /// Keep skills that their authors reserve for explicit use.
    #[arg(long)]
    pub(crate) include_manual: bool,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
}

/// Libraries in first place, where nothing else could be meant.
#[derive(Debug, Args)]
pub(crate) struct FirstLibraryArgs {
    /// Libraries, as for --library [default: where the agents on this machine look].
    #[arg(value_name = "LIBRARY")]
    first: Vec<PathBuf>,
    #[command(flatten)]
    library: LibraryArgs,
}

impl FirstLibraryArgs {
    /// Both forms are one.
    pub(crate) fn library(&self) -> LibraryArgs {
        let mut library = self.library.clone();
        library.library.splice(0..0, self.first.iter().cloned());
        library
    }
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// What the user wants, in their words.
    #[arg(value_parser = request)]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// How many hits.
    #[arg(short, default_value_t = 10, value_name = "N")]
    pub(crate) k: usize,
    #[command(flatten)]
    pub(crate) retriever: RetrieverArgs,
    /// Show which terms gave which share of each score, as far as words go.
    #[arg(long)]
    pub(crate) explain: bool,
    /// By words alone, and also skills that share none with the request, with score 0.
    #[arg(long)]
    pub(crate) zero_scores: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Eval {
    #[command(subcommand)]
    pub(crate) verb: Option<EvalVerb>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Queries: JSON Lines or an array with id and text, or id, tab, text [default: queries.jsonl, queries.json
    /// or instances/*.json in the library's folder, also packed].
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    /// Judgements: TREC, BEIR or lines of query, skill and grade [default: qrels.tsv or qrels/test.tsv in
    /// the library's folder, else the skills that the queries name themselves].
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) retriever: RetrieverArgs,
    /// Let a chooser pick among the first hits of the full view: local (no model), or llm.
    #[arg(long, value_name = "CHOOSER", conflicts_with = "run", hide_possible_values = true)]
    pub(crate) chooser: Option<Chooser>,
    /// Measure this run instead of searching: TREC, SR-Agents JSON or JSON Lines.
    #[arg(long, value_name = "FILE", conflicts_with = "library")]
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) judging: Judging,
    /// Hits per query [default: 100, or the largest cutoff if that is more].
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Keep the run: .jsonl for JSON Lines, .json for SR-Agents, anything else for TREC.
    #[arg(long, value_name = "FILE")]
    pub(crate) run_out: Option<PathBuf>,
    /// Write the judgements in another format: .tsv for BEIR, anything else for TREC.
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choosing: ChoosingArgs,
    #[command(flatten)]
    pub(crate) server: ModelArgs,
    #[command(flatten)]
    pub(crate) elsewhere: ElsewhereArgs,
}

/// What to measure, and over which groups.
#[derive(Debug, Args)]
pub(crate) struct Judging {
    /// R@k, nDCG@k, RR@k (the mean is the MRR), P@k, Success@k or AP; may be given several times.
    #[arg(long = "measure", value_name = "M", default_values = ["R@10", "nDCG@10", "RR@10", "Success@1"])]
    pub(crate) measures: Vec<Measure>,
    /// The field of a query that names its data set.
    #[arg(long, value_name = "FIELD", default_value = "dataset")]
    pub(crate) group_by: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalVerb {
    /// Test whether runs differ from the first one by more than chance.
    Compare(Compare),
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The run to compare with.
    pub(crate) baseline: PathBuf,
    /// The runs to compare.
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Judgements.
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: PathBuf,
    /// Queries: says which ones count, and their data sets [default: those of the judgements].
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) judging: Judging,
    /// Samples of the randomisation test and of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) resamples: usize,
    /// Coverage of the bootstrap interval.
    #[arg(long, value_name = "X", default_value_t = 0.95)]
    pub(crate) confidence: f64,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) library: FirstLibraryArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PageVerb {
    /// Show a skill's page and what the checks say of it.
    Show(PageShow),
    /// List the pages a person should look at, the worst first.
    Review(PageReview),
    /// Change a page, by options, from a file or in $EDITOR; it is pinned then.
    Edit(PageEdit),
    /// Approve a page: no writer changes it any more.
    Pin(PageShow),
    /// Give a page back to the writer.
    Unpin(PageShow),
    /// Delete what a person or a model wrote for a skill, for good.
    Forget(PageForget),
}

#[derive(Debug, Args)]
pub(crate) struct PageForget {
    /// The skills' ids, also of skills that the library has no more.
    #[arg(required = true)]
    pub(crate) skills: Vec<String>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PageShow {
    /// The skill's id, or its name.
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PageReview {
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// How many pages.
    #[arg(short, default_value_t = 20, value_name = "N")]
    pub(crate) k: usize,
}

#[derive(Debug, Args)]
pub(crate) struct PageEdit {
    /// The skill's id, or its name.
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// The new trigger.
    #[arg(long, value_name = "TEXT")]
    pub(crate) trigger: Option<String>,
    /// A case of the new boundary, as "request -> skill"; may be given several times.
    #[arg(long, value_name = "CASE")]
    pub(crate) boundary: Vec<String>,
    /// The new body.
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// Read the page from a file, in the form that $EDITOR shows ("-" for standard input).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trigger", "boundary", "body"])]
    pub(crate) from: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Where to write [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A file that `export` wrote.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Also take pages whose documents have changed since, or that break a rule.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Neighbors {
    /// The skill's id, or its name.
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// How many neighbors.
    #[arg(short, default_value_t = 10, value_name = "N")]
    pub(crate) k: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// One skill's id or name.
    pub(crate) first: String,
    /// The other's.
    pub(crate) second: String,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Judged requests [default: queries.jsonl in the library's folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    /// Their judgements [default: qrels.tsv or qrels/test.tsv in the library's folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) qrels: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AtlasVerb {
    /// Skills, neighborhoods, threshold, duplicates.
    Stats(Stats),
    /// Draw the library as an SVG picture.
    Map(MapArgs),
    /// Partition with every combination of settings, and print the structure of each.
    Sweep(SweepArgs),
    /// Take over the pages and the ledger of an atlas of an earlier version, or of somebody else.
    Adopt(AdoptArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AdoptArgs {
    /// The folder of that atlas [default: the library's own].
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Where to write the picture.
    #[arg(long, value_name = "FILE", default_value = "map.svg")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Numbers of buckets to try.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [100, 200, 300])]
    pub(crate) buckets: Vec<usize>,
    /// Cosine distances to try.
    #[arg(long, value_name = "X,…", value_delimiter = ',', default_values_t = [0.10, 0.12, 0.15, 0.18, 0.20])]
    pub(crate) max_distance: Vec<f64>,
}
