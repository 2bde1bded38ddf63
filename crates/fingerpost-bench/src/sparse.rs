//! `sparse`: how fast are index and search, beside bm25s and tantivy, on the same texts, the same
//! terms and the same requests?

use anyhow::Context;
use fingerpost::eval::{Query, read_queries, read_run};
use fingerpost::index::Hit;
use fingerpost::library::{Library, LoadOptions, Root, read_unpacked};
use fingerpost::text::Tokenizer;
use rayon::ThreadPool;
use serde::Serialize;

use crate::agreement::{self, Agreement};
use crate::contest::{OURS, TANTIVY, Target, Task, Timings, targets};
use crate::growth::{self, Size};
use crate::{Sparse, bm25s_peer, ours, report, tantivy_peer};

/// Hits a request asks for.
pub(crate) const K: usize = 50;

/// The peers know only this tokenizer.
const TOKENIZER: Tokenizer = Tokenizer::Reference;

/// Every figure of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) skills: usize,
    pub(crate) queries: usize,
    pub(crate) k: usize,
    pub(crate) repeats: usize,
    pub(crate) threads: usize,
    pub(crate) bm25s_version: Option<String>,
    pub(crate) timings: Timings,
    pub(crate) targets: Vec<Target>,
    pub(crate) agreement: Agreement,
    pub(crate) growth: Vec<Size>,
}

/// The work that all contestants share.
struct Work {
    library: Library,
    queries: Vec<Query>,
    /// A pool of one thread and, where there are more, one of all.
    pools: Vec<ThreadPool>,
}

pub(crate) fn run(arguments: &Sparse) -> anyhow::Result<()> {
    let corpus = arguments.data.join("sra/corpus.jsonl.zst");
    let requests = arguments.data.join("sra/queries.jsonl.zst");
    let more = arguments.data.join("pool-zh/corpus.jsonl.zst");
    let repeats = arguments.repeats.get();

    let mut bm25s = None;
    if !arguments.skip_bm25s {
        match bm25s_peer::Peer::new(&arguments.python, corpus.clone(), requests.clone()) {
            Ok(peer) => bm25s = Some(peer),
            Err(reason) => eprintln!("going on without bm25s: {reason}"),
        }
    }

    let roots = [Root::new(&corpus)];
    let library = Library::load(&roots, LoadOptions::default())?.value;
    let text =
        read_unpacked(&requests).with_context(|| format!("cannot read {}", requests.display()))?;
    let queries = read_queries(&text, &requests.display().to_string(), "dataset")?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut pools = vec![ours::pool(1)?];
    if threads > 1 {
        pools.push(ours::pool(threads)?);
    }
    let work = Work { library, queries, pools };

    let folder = tempfile::tempdir()?;
    let run_file = folder.path().join("bm25s.run");
    let mut timings = Timings::default();
    let mut agreement = Agreement::default();
    let mut bm25s_version = None;
    for repeat in 1..=repeats {
        eprintln!("repeat {repeat} of {repeats}: fingerpost and tantivy");
        let (hits, overlap) = work.time_in_process(&mut timings)?;
        agreement.overlap_with_tantivy = overlap;
        let Some(peer) = &bm25s else { continue };
        for pool in &work.pools {
            let threads = pool.current_num_threads();
            eprintln!("repeat {repeat} of {repeats}: bm25s, threads: {threads}");
            let figures = peer.measure(threads, Some(&run_file), &mut timings)?;
            figures.check_size(work.library.skills().len(), work.queries.len())?;
            bm25s_version = Some(figures.version);
            let run = read_run(&read_unpacked(&run_file)?, "the run of bm25s")?;
            let equal = agreement::assert_equal(&work.library, &work.queries, &hits, &run)?;
            agreement.equal_to_bm25s = Some(equal);
        }
    }
    agreement.queries = agreement::sample(work.queries.len()).len();

    eprintln!("growth");
    let growth = growth::measure(&work.library, &work.queries, &more, repeats)?;
    let report = Report {
        skills: work.library.skills().len(),
        queries: work.queries.len(),
        k: K,
        repeats,
        threads,
        bm25s_version,
        targets: targets(&timings, threads),
        timings,
        agreement,
        growth,
    };
    report::print(&report);
    if let Some(file) = &arguments.json {
        let json = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, json + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

impl Work {
    /// One repeat of the two contestants that live in this process, in turns. Gives our index and
    /// hits, and how far tantivy's hits overlap with them.
    fn time_in_process(&self, timings: &mut Timings) -> anyhow::Result<(Vec<Vec<Hit>>, f64)> {
        let Self { library, queries, pools } = self;
        let mut built = None;
        for pool in pools {
            // The indexes of the last turn are gone before the next is built.
            drop(built.take());
            let threads = pool.current_num_threads();
            timings
                .time(Task::Tokenize, OURS, threads, || ours::tokenize(library, TOKENIZER, pool));
            let index =
                timings.time(Task::Build, OURS, threads, || ours::build(library, TOKENIZER, pool));
            let peer = timings
                .time(Task::Build, TANTIVY, threads, || tantivy_peer::build(library, threads))?;
            built = Some((index, peer));
        }
        let (index, peer) = built.context("there is a pool of one thread at least")?;
        let peer = peer.open()?;

        // Each contestant's first pass is not counted: it fetches the index into the caches.
        let hits = ours::search(&index, queries, &pools[0]);
        let their_hits = peer.search(queries, &pools[0])?;
        for pool in pools {
            let threads = pool.current_num_threads();
            timings.time(Task::Search, OURS, threads, || ours::search(&index, queries, pool));
            timings.time(Task::Search, TANTIVY, threads, || peer.search(queries, pool))?;
        }
        let pairs = agreement::sample(queries.len()).into_iter().map(|at| {
            let rows = peer.rows(&their_hits[at])?;
            Ok((&hits[at][..], rows))
        });
        let pairs = pairs.collect::<anyhow::Result<Vec<_>>>()?;
        let overlap = agreement::overlap(pairs.into_iter());
        Ok((hits, overlap))
    }
}
