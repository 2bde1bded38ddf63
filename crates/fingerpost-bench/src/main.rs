//! How fast is Fingerpost, beside the tools people would use instead?
//!
//! Each verb times every contestant on the same work in one run, taking turns, because a ratio of
//! two figures measured on different days says little. Figures are reported, never asserted; what
//! is asserted is that the contestants did the same work.
#![expect(clippy::print_stdout, reason = "a benchmark's tables are its output")]
#![expect(clippy::print_stderr, reason = "a run takes minutes and says on stderr what it does")]

mod agreement;
mod bm25s_peer;
mod choose;
mod contention;
mod contest;
mod dense;
mod embed;
mod encoder;
mod fit;
mod folds;
mod growth;
mod judged;
mod neighborhood_quality;
mod neighborhoods;
mod none;
mod ours;
mod pages;
mod peers;
mod planted;
mod report;
mod route;
mod search;
#[cfg(unix)]
mod serve;
mod sparse;
#[cfg(unix)]
mod start;
mod stuffed;
mod tantivy_peer;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Fingerpost and its peers on the same work, in one run.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// BM25: index the `sra` library and answer its requests, against bm25s and tantivy.
    Sparse(Sparse),
    /// Texts embedded in process, against Python's onnxruntime.
    Embed(embed::Embed),
    /// Vectors fitted to the `sra` library, against scikit-learn.
    Fit(fit::FitArgs),
    /// Buckets and linkage, against scikit-learn and faiss.
    Neighborhoods(neighborhoods::Neighborhoods),
    /// Vectors searched, against faiss.
    Dense(dense::DenseArgs),
    /// What one request costs in a process that goes on running.
    Route(route::RouteArgs),
    /// What each way of searching is worth on judged requests.
    Search(search::SearchArgs),
    /// The chooser without a model, against the first hit.
    Choose(choose::Choose),
    /// Whether pages are written against the skills that really win their requests.
    Contention(contention::ContentionArgs),
    /// Which requests are refused, and how sure an answer is.
    None(none::NoneArgs),
    /// What the local writer's pages gain, by view and retriever.
    Pages(pages::PagesArgs),
    /// What our search is worth on every judged library, beside what people would use instead.
    Peers(peers::PeersArgs),
    /// What a skill wins that fills its description with the words of requests.
    Stuffed(stuffed::StuffedArgs),
    /// What one command costs from the start of its process, beside an older binary.
    #[cfg(unix)]
    Start(start::StartArgs),
    /// How many requests the server answers, beside other servers.
    #[cfg(unix)]
    Serve(serve::ServeArgs),
    /// Makes the libraries of `start`.
    #[cfg(unix)]
    #[command(hide = true)]
    StartLibrary(start::library::LibraryArgs),
}

/// What `sparse` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct Sparse {
    /// Folder of the real data, with `sra` and `pool-zh` in it.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// How often everything is timed; medians are reported.
    #[arg(long, value_name = "N", default_value = "5")]
    repeats: NonZeroUsize,
    /// Also write every figure here.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Python with bm25s and numba installed.
    #[arg(long, value_name = "PATH", default_value = "target/golden-venv/bin/python")]
    python: PathBuf,
    /// Leave bm25s out: it takes half a minute a repeat and thread count.
    #[arg(long)]
    skip_bm25s: bool,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().verb {
        Verb::Sparse(arguments) => sparse::run(&arguments),
        Verb::Embed(arguments) => embed::run(&arguments),
        Verb::Fit(arguments) => fit::run(&arguments),
        Verb::Neighborhoods(arguments) => neighborhoods::run(&arguments),
        Verb::Dense(arguments) => dense::run(&arguments),
        Verb::Route(arguments) => route::run(&arguments),
        Verb::Search(arguments) => search::run(&arguments),
        Verb::Choose(arguments) => choose::run(&arguments),
        Verb::Contention(arguments) => contention::run(&arguments),
        Verb::None(arguments) => none::run(&arguments),
        Verb::Pages(arguments) => pages::run(&arguments),
        Verb::Peers(arguments) => peers::run(&arguments),
        Verb::Stuffed(arguments) => stuffed::run(&arguments),
        #[cfg(unix)]
        Verb::Start(arguments) => start::run(&arguments),
        #[cfg(unix)]
        Verb::Serve(arguments) => serve::run(&arguments),
        #[cfg(unix)]
        Verb::StartLibrary(arguments) => start::library::run(&arguments),
    }
}
