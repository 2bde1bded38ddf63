//! `fingerpost search`: ranks skills for a request.

use std::io::Write;

use fingerpost::contract::{FoundSkill, SearchAnswer};
use fingerpost::index::{Explanation, Hit, Scratch, SparseConfig, Zeros};
use fingerpost::search::{Dense, Reading as Requests, Retriever, Searcher};
use fingerpost::snapshot::Snapshot;

use crate::args::{Global, LibraryArgs, RetrieverArgs, Search};
use crate::embedder;
use crate::encoder::{self, Requests::Forgotten};
use crate::output::{self, Exit, FAINT, STRONG, cut, plain, plural};
use crate::source::{self, Reading};

pub(crate) fn run(search: &Search, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&search.library, global)?;
    let snapshot = &reading.snapshot;
    let (query, k, scratch) = (&search.query, search.k, &mut Scratch::default());
    let plain = plain_searcher(&reading, &search.library, &search.retriever, global)?;
    let hits = match &plain {
        Some(searcher) if search.zero_scores => {
            searcher.sparse.search(query, k, Zeros::Kept, scratch)?
        }
        Some(searcher) => searcher.search(query, k, scratch)?,
        None if search.zero_scores => snapshot.terms().search(query, k, Zeros::Kept, scratch)?,
        None => {
            let mut router = snapshot.router(snapshot.route_config(), k.max(POOL));
            router.set_encoder(encoder::of(&reading, &search.library, Forgotten, global)?);
            router.rank(query, k, scratch)?
        }
    };
    let mut answer = SearchAnswer {
        query: query.clone(),
        hits: FoundSkill::list(snapshot, &hits),
        freshness: reading.freshness(),
    };
    if search.explain {
        let index = plain.as_ref().map_or(snapshot.terms(), |searcher| &searcher.sparse);
        for (found, hit) in answer.hits.iter_mut().zip(&hits) {
            found.explanation = Some(index.explain(query, hit.skill)?);
        }
    }
    snapshot.sound()?;
    if global.json {
        output::print_json(&answer)?;
    } else {
        print_list(snapshot, &answer, &hits)?;
    }
    if hits.is_empty() {
        output::say(global, "No skill shares a term with this request.");
        return Ok(Exit::Findings);
    }
    Ok(Exit::Done)
}

/// Candidates that each way of searching brings, at least.
pub(crate) const POOL: usize = 10;

/// The retriever that the arguments name; `None` for the order of `route`.
pub(crate) fn plain_searcher<'a>(
    reading: &'a Reading,
    library: &LibraryArgs,
    retriever: &RetrieverArgs,
    global: &Global,
) -> anyhow::Result<Option<Searcher<'a>>> {
    let Some((by, config)) = retriever.plain(reading.snapshot.head())? else {
        return Ok(None);
    };
    let mut searcher = searcher(reading, library, by, &config, global)?;
    if retriever.reference {
        searcher.reading = Requests::ToTheLetter;
    }
    Ok(Some(searcher))
}

/// A searcher of this kind, over this index of terms; what had to be made for it is kept for the
/// next time, where it may be.
pub(crate) fn searcher<'a>(
    reading: &'a Reading,
    library: &LibraryArgs,
    by: Retriever,
    config: &SparseConfig,
    global: &Global,
) -> anyhow::Result<Searcher<'a>> {
    let snapshot = &reading.snapshot;
    if snapshot.index_at_hand(config)?.is_none() {
        let spinner = output::spinner(global, "indexing the library".into());
        let index = snapshot.index(config)?;
        spinner.finish_and_clear();
        let skills = plural(index.len(), "skill");
        output::say(global, &format!("Indexed {skills} ({config})"));
        // It can be made again, so it is no loss if it cannot be kept.
        let _ = snapshot.keep_index(&index);
    }
    let dense = by.is_dense().then(|| {
        let kept = Some(&snapshot.head().protocol);
        let opened = embedder::open_for(&library.embedder, kept, &reading.source, global)?;
        let embedder = opened.for_requests(snapshot)?;
        let (index, embedded) = snapshot.dense(config.view, &*embedder)?;
        if embedded > 0 {
            let texts = plural(embedded, "text");
            output::say(global, &format!("Embedded {texts} (view {})", config.view));
            let _ = snapshot.keep_dense(&index, config.view, &*embedder);
        }
        anyhow::Ok(Dense { index, embedder })
    });
    Ok(snapshot.searcher(by, config, dense.transpose()?, snapshot.reading())?)
}

/// Rank, score, id, and as much of the description as the line holds.
fn print_list(snapshot: &Snapshot, answer: &SearchAnswer, hits: &[Hit]) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let ids: Vec<_> = answer.hits.iter().map(|found| plain(&found.skill)).collect();
    let longest = ids.iter().map(|id| output::console_width(id)).max().unwrap_or(0).min(48);
    let width = output::terminal_width();
    for ((found, hit), id) in answer.hits.iter().zip(hits).zip(&ids) {
        let id = cut(id, longest);
        let pad = " ".repeat(longest - output::console_width(&id));
        let left = width.saturating_sub(longest + 17);
        let blurb = cut(snapshot.row(hit.skill).description, left);
        writeln!(
            out,
            "{:>3}  {:>8.4}  {STRONG}{id}{STRONG:#}{pad}  {FAINT}{blurb}{FAINT:#}",
            found.rank, found.score,
        )?;
        if let Some(explanation) = &found.explanation {
            print_explanation(&mut out, explanation)?;
        }
    }
    Ok(())
}

/// The terms that count, then those that do not.
fn print_explanation(out: &mut impl Write, explanation: &Explanation) -> std::io::Result<()> {
    let (counting, silent): (Vec<_>, Vec<_>) =
        explanation.terms.iter().partition(|term| term.contribution != 0.0);
    for term in counting {
        let bar = "▇".repeat((term.share * 24.0).round() as usize);
        let name = cut(&term.term, 24);
        let pad = " ".repeat(24 - output::console_width(&name));
        writeln!(
            out,
            "     {:>5.1} %  {name}{pad}  {:>8.4}  {FAINT}in {}{FAINT:#}  {bar}",
            term.share * 100.0,
            term.contribution,
            plural(term.skills as usize, "skill"),
        )?;
    }
    let silent = silent.iter().map(|term| term.term.as_str());
    let idle: Vec<_> =
        silent.chain(explanation.unknown.iter().map(String::as_str)).map(plain).collect();
    if !idle.is_empty() {
        writeln!(out, "     {FAINT}no part in it: {}{FAINT:#}", idle.join(", "))?;
    }
    Ok(())
}
