//! `fingerpost explain`: how each candidate of a request came to its place.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;
use fingerpost::contract::ExplainAnswer;
use fingerpost::index::{Hit, Scratch, SparseConfig};
use fingerpost::route::explain::{Explained, Ranks, explain};
use fingerpost::route::{Candidate, Decision, Router};
use fingerpost::search::{Retriever, Searcher};
use fingerpost::skill::SkillIdx;
use fingerpost::view::View;

use crate::args::{self, Global, LibraryArgs, config_of};
use crate::encoder::{self, Requests};
use crate::label::{label_in, labels};
use crate::output::{self, Exit, FAINT, GOOD, STRONG, console_width, wrap};
use crate::route::{ChoosingArgs, router};
use crate::search::searcher;
use crate::source::{self, Reading};
use crate::table::table;

/// Why this skill, and why not that one?
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// What the user wants, in their words.
    #[arg(value_parser = args::request)]
    request: String,
    #[command(flatten)]
    library: LibraryArgs,
    /// How candidates are found; by default by BM25 over words, cut or whole as the library's own test found better.
    #[arg(long)]
    retriever: Option<Retriever>,
    /// Candidates shown to the chooser [default: 10].
    #[arg(long, value_name = "N")]
    pool: Option<usize>,
    /// Tell about this skill, by id or name, whether it was a candidate or not.
    #[arg(long, value_name = "SKILL")]
    skill: Option<String>,
}

pub(crate) fn run(args: &ExplainArgs, global: &Global) -> anyhow::Result<Exit> {
    let choosing = ChoosingArgs { pool: args.pool, ..ChoosingArgs::default() };
    let reading = source::read(&args.library, global)?;
    let mut router = router(&reading, &args.library, args.retriever, &choosing, global)?;
    router.set_encoder(encoder::of(&reading, &args.library, Requests::Forgotten, global)?);
    let by = args.retriever.unwrap_or(Retriever::Bm25);
    let config = raw_config(args.retriever, &reading);
    let raw = searcher(&reading, &args.library, by, &config, global)?;
    let asked = args.skill.as_deref().map(|name| reading.find(name)).transpose()?;
    let question = Question { request: &args.request, about: asked };
    let answer = answer(&reading, &router, &raw, &question, &mut Scratch::default())?;
    reading.snapshot.sound()?;
    if global.json {
        output::print_json(&answer)?;
    } else {
        let told = asked.map(|skill| reading.snapshot.row(skill).id);
        print(&answer, told)?;
    }
    Ok(if answer.decision == Decision::Use { Exit::Done } else { Exit::Findings })
}

/// The terms by which documents alone are ranked, to compare with.
pub(crate) fn raw_config(retriever: Option<Retriever>, reading: &Reading) -> SparseConfig {
    let head = reading.snapshot.head();
    match retriever {
        Some(by) => config_of(by, View::Raw, head),
        None => head.tuning.config(View::Raw),
    }
}

/// What is to be explained.
pub(crate) struct Question<'a> {
    pub(crate) request: &'a str,
    /// This skill, whether it was a candidate or not.
    pub(crate) about: Option<SkillIdx>,
}

/// How each candidate came to its place; `raw` ranks by the documents alone.
pub(crate) fn answer(
    reading: &Reading,
    router: &Router<'_>,
    raw: &Searcher<'_>,
    question: &Question<'_>,
    scratch: &mut Scratch,
) -> anyhow::Result<ExplainAnswer> {
    let snapshot = &reading.snapshot;
    let request = router.read(question.request)?;
    let (route, hits) = router.route_read(&request, scratch)?;
    let all = snapshot.len();
    let by_document = raw.search(question.request, all, scratch)?;
    let by_page = router.finder.search(question.request, all, scratch)?;
    let ranks = |candidate: &Candidate<'_>| Ranks {
        raw: rank(&by_document, candidate.skill),
        page: rank(&by_page, candidate.skill),
    };
    let outside = question.about.filter(|skill| hits.iter().all(|hit| hit.skill != *skill));
    let others: Vec<Hit> = outside.iter().map(|&skill| Hit { skill, score: 0.0 }).collect();
    let (pages, other_pages) = (router.pages(&hits), router.pages(&others));
    let pool = router.candidates(&request, &hits, &pages)?;
    let others = router.candidates(&request, &others, &other_pages)?;
    let fit = router.fit(question.request, &hits, scratch)?;
    let candidates = explain(&request, &pool, &others, fit, snapshot.phrases(), ranks)?;
    let chosen = route.skill.as_deref().and_then(|id| snapshot.find(id));
    let chosen = chosen.map(|skill| snapshot.row(skill));
    Ok(ExplainAnswer {
        request: question.request.to_owned(),
        retriever: raw.retriever,
        decision: route.decision,
        path: chosen.map(|row| row.path.to_owned()),
        name: chosen.map(|row| row.name.to_owned()),
        skill: route.skill,
        confidence: route.confidence,
        reason: route.reason,
        candidates,
        freshness: reading.freshness(),
    })
}

fn rank(hits: &[Hit], skill: SkillIdx) -> Option<usize> {
    hits.iter().position(|hit| hit.skill == skill).map(|at| at + 1)
}

fn print(answer: &ExplainAnswer, told: Option<&str>) -> anyhow::Result<()> {
    let ExplainAnswer { candidates, .. } = answer;
    let mut out = anstream::stdout().lock();
    match &answer.skill {
        Some(skill) => {
            let sure = format!("{:.0} % sure", answer.confidence * 100.0);
            let chosen = candidates.iter().find(|candidate| candidate.skill == *skill);
            let name = chosen.map_or("", |chosen| &chosen.name);
            let name = label_in(skill, name, output::terminal_width().saturating_sub(12));
            writeln!(out, "{GOOD}{name}{GOOD:#}  {FAINT}{sure}{FAINT:#}")?;
        }
        None => writeln!(out, "{STRONG}none{STRONG:#}")?,
    }
    let width = output::terminal_width();
    for line in wrap(&format!("because {}", answer.reason), width.saturating_sub(2)) {
        writeln!(out, "  {line}")?;
    }
    if candidates.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n{}", places(candidates, width), legend(candidates, width))?;
    for candidate in candidates {
        if told.is_none_or(|told| told == candidate.skill) {
            write!(out, "{}", details(candidate, width))?;
        }
    }
    Ok(())
}

/// The narrowest column of skills beside which there is room for what was added up.
const LEAST: usize = 24;

/// One line a candidate: places, and what was added up where there is room for it.
fn places(candidates: &[Explained], width: usize) -> String {
    let places = ["raw", "page", "total"];
    // Few have an encoder, and a column of nothing takes the room of names.
    let is_encoded = candidates.iter().any(|candidate| candidate.evidence.encoder > 0.0);
    let kinds = &["words", "phrases", "trigger", "meaning", "encoder"];
    let kinds = if is_encoded { &kinds[..] } else { &kinds[..kinds.len() - 1] };
    let addends = [&places[..2], kinds, &places[2..]].concat();
    let figure = |value: f64| format!("{value:.2}");
    let short = |candidate: &Explained| {
        let Explained { ranks, total, .. } = candidate;
        vec![shown(ranks.raw), moved(ranks), figure(*total)]
    };
    let long = |candidate: &Explained| {
        let mut row = short(candidate);
        let evidence = candidate.evidence.to_array();
        row.splice(2..2, evidence[..kinds.len()].iter().copied().map(figure));
        row
    };
    let wide: Vec<Vec<String>> = candidates.iter().map(long).collect();
    let (header, rows) = match room(&addends, &wide, width) >= LEAST {
        true => (&addends[..], wide),
        false => (&places[..], candidates.iter().map(short).collect()),
    };
    let room = room(header, &rows, width);
    let mut table = table(["skill"].into_iter().chain(header.iter().copied()));
    // Eighty columns have room for all figures, if there is not too much air between them.
    for column in table.column_iter_mut().skip(1) {
        column.set_padding((0, 1));
    }
    let names: Vec<(&str, &str)> =
        candidates.iter().map(|one| (one.skill.as_str(), one.name.as_str())).collect();
    // Beside the place, which takes four columns; five, if it is in brackets.
    let names = labels(&names, room.saturating_sub(5));
    for ((candidate, row), name) in candidates.iter().zip(rows).zip(names) {
        let Explained { place, in_pool, .. } = candidate;
        let place = if *in_pool { format!("{place:>2}  ") } else { format!("({place}) ") };
        table.add_row([format!("{place}{name}")].into_iter().chain(row));
    }
    table.to_string()
}

/// Columns that are left for the skill: each of the others has two spaces before it, and the last one after it.
fn room(header: &[&str], rows: &[Vec<String>], width: usize) -> usize {
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| console_width(&row[at]));
        cells.chain([header[at].len()]).max().unwrap_or(0)
    };
    width.saturating_sub(2 + (0..header.len()).map(|at| widest(at) + 2).sum::<usize>())
}

fn shown(rank: Option<usize>) -> String {
    rank.map_or("–".into(), |rank| rank.to_string())
}

/// The rank that the page gave, and how far it moved the skill.
fn moved(ranks: &Ranks) -> String {
    let mark = match (ranks.raw, ranks.page) {
        (Some(raw), Some(page)) if page < raw => format!("▲{}", raw - page),
        (Some(raw), Some(page)) if page > raw => format!("▼{}", page - raw),
        (None, Some(_)) => "▲".into(),
        (Some(_), None) => "▼".into(),
        _ => "  ".into(),
    };
    format!("{} {mark:<3}", shown(ranks.page))
}

/// What the columns mean.
fn legend(candidates: &[Explained], width: usize) -> String {
    let mut text = "raw, page: rank by the document alone, and with its page; total: what the local chooser adds up".to_owned();
    if candidates.iter().any(|candidate| !candidate.in_pool) {
        text += "; (n): not in the pool, the place it would have there";
    }
    wrap(&text, width).join("\n") + "\n"
}

/// The words that a candidate shares, and what rules it out.
fn details(candidate: &Explained, width: usize) -> String {
    let mut text = label_in(&candidate.skill, &candidate.name, width) + "\n";
    let mut line = |label: &str, what: &str| {
        let room = width.saturating_sub(12).max(20);
        for (at, part) in wrap(what, room).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            writeln!(text, "  {label:<9} {part}").expect("a string takes it");
        }
    };
    if candidate.named {
        line("named", "the request names it");
    }
    let shared = candidate.shared.iter();
    let shared: Vec<String> =
        shared.map(|shared| format!("“{}” {:.3}", shared.term, shared.weight)).collect();
    match shared.is_empty() {
        true => line("shares", "no word that counts"),
        false => line("shares", &shared.join(", ")),
    }
    if let Some(clause) = &candidate.boundary {
        line("boundary", &format!("{}: use {}", clause.request, clause.skill));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use fingerpost::route::ByKind;
    use fingerpost::route::explain::{Clause, Shared};
    use fingerpost::skill::SkillId;

    use super::*;

    fn candidate(skill: &str, place: usize, raw: Option<usize>, page: Option<usize>) -> Explained {
        Explained {
            skill: skill.into(),
            name: skill.rsplit('/').next().unwrap().into(),
            place,
            in_pool: place < 9,
            ranks: Ranks { raw, page },
            named: false,
            evidence: ByKind::from_array([1.0, 0.5, 0.25, 0.125, 0.0]),
            total: 1.875,
            shared: vec![Shared { term: "cube root".into(), weight: 0.21 }],
            boundary: None,
        }
    }

    fn candidates() -> [Explained; 4] {
        [
            candidate("qt-correction/qtc-fridericia", 1, Some(3), Some(1)),
            candidate("qt-correction/qtc-\u{1b}[31mbazett", 2, Some(1), Some(2)),
            candidate("geren-suodeshui/年终奖单独计税还是并入综合所得", 3, None, Some(12)),
            candidate("loans/loan-payment", 11, Some(40), None),
        ]
    }

    #[test]
    fn a_wide_terminal_shows_what_was_added_up() {
        expect![[r#"
             skill                               raw    page  words  phrases  trigger  meaning  total 
            ──────────────────────────────────────────────────────────────────────────────────────────
              1  qtc-fridericia                    3   1 ▲2    1.00     0.50     0.25     0.12   1.88 
              2  qtc-�[31mbazett                   1   2 ▼1    1.00     0.50     0.25     0.12   1.88 
              3  年终奖单独计税还是并入综合所得    –  12 ▲     1.00     0.50     0.25     0.12   1.88 
             (11) loan-payment                    40   – ▼     1.00     0.50     0.25     0.12   1.88 
            ──────────────────────────────────────────────────────────────────────────────────────────"#]].assert_eq(&places(&candidates(), 100));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut long = candidate("loans/loan-payment", 2, Some(1), Some(1));
        long.boundary = Some(Clause {
            request: "A payment with a residual value at the end ".repeat(4),
            skill: SkillId::new("loans/balloon"),
        });
        for width in [40, 60, 95, 98, 99, 120] {
            let candidates = candidates();
            let mut text = places(&candidates, width) + "\n" + &legend(&candidates, width);
            text += &details(&long, width);
            for line in text.lines() {
                assert!(console_width(line) <= width, "{width}: {}\n{text}", console_width(line));
            }
            assert!(!text.contains('\u{1b}'));
        }
    }

    #[test]
    fn a_narrow_one_shows_places_and_totals() {
        expect![[r#"
             skill                        raw    page  total 
            ─────────────────────────────────────────────────
              1  qtc-fridericia             3   1 ▲2    1.88 
              2  qtc-�[31mbazett            1   2 ▼1    1.88 
              3  年终奖单独计税还是并入…    –  12 ▲     1.88 
             (11) loan-payment             40   – ▼     1.88 
            ─────────────────────────────────────────────────"#]]
        .assert_eq(&places(&candidates(), 50));
    }
}
