//! `fingerpost search`: ranks skills for a request.

use std::io::Write;

use fingerpost::index::{Explanation, Hit, Scratch, SparseIndex, Zeros};
use serde::Serialize;

use crate::args::{Global, Search};
use crate::output::{self, Exit, FAINT, STRONG, cut, plain};
use crate::source;

#[derive(Serialize)]
struct Answer<'a> {
    query: &'a str,
    hits: Vec<AnswerHit<'a>>,
}

#[derive(Serialize)]
struct AnswerHit<'a> {
    skill: &'a str,
    name: &'a str,
    score: f32,
    rank: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

pub(crate) fn run(search: &Search, global: &Global) -> anyhow::Result<Exit> {
    let searcher = source::searcher(&search.library, global, &search.retriever)?;
    let index = &searcher.sparse;
    let scratch = &mut Scratch::default();
    let hits = if search.zero_scores {
        index.search(&search.query, search.k, Zeros::Kept, scratch)?
    } else {
        searcher.search(&search.query, search.k, scratch)?
    };
    let explanations = hits
        .iter()
        .map(|hit| search.explain.then(|| index.explain(&search.query, hit.skill)).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    if global.json {
        print_json(search, index, &hits, explanations)?;
    } else {
        print_list(index, &hits, &explanations)?;
    }
    if hits.is_empty() {
        output::say(global, "No skill shares a term with this request.");
        return Ok(Exit::Findings);
    }
    Ok(Exit::Done)
}

fn print_json(
    search: &Search,
    index: &SparseIndex,
    hits: &[Hit],
    explanations: Vec<Option<Explanation>>,
) -> anyhow::Result<()> {
    let hits = (1..).zip(hits).zip(explanations).map(|((rank, hit), explanation)| AnswerHit {
        skill: index.id(hit.skill),
        name: index.name(hit.skill),
        score: hit.score,
        rank,
        explanation,
    });
    output::print_json(&Answer { query: &search.query, hits: hits.collect() })
}

/// Rank, score, id, and as much of the description as the line holds.
fn print_list(
    index: &SparseIndex,
    hits: &[Hit],
    explanations: &[Option<Explanation>],
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let ids: Vec<_> = hits.iter().map(|hit| plain(index.id(hit.skill))).collect();
    let longest = ids.iter().map(|id| output::console_width(id)).max().unwrap_or(0).min(48);
    let width = output::terminal_width();
    for (rank, ((hit, id), explanation)) in hits.iter().zip(&ids).zip(explanations).enumerate() {
        let id = cut(id, longest);
        let pad = " ".repeat(longest - output::console_width(&id));
        let left = width.saturating_sub(longest + 17);
        let blurb = cut(index.blurb(hit.skill), left);
        writeln!(
            out,
            "{:>3}  {:>8.4}  {STRONG}{id}{STRONG:#}{pad}  {FAINT}{blurb}{FAINT:#}",
            rank + 1,
            hit.score,
        )?;
        if let Some(explanation) = explanation {
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
            output::plural(term.skills as usize, "skill"),
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
