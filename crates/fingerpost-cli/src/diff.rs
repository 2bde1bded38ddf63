//! `fingerpost diff`: what distinguishes two skills, and who wins which request?

use std::io::Write;
use std::path::Path;

use fingerpost::contract::{Contested, DiffAnswer};
use fingerpost::contrast::{WeightedTerm, contrast};
use fingerpost::eval::{read_qrels, read_queries};
use fingerpost::index::{Scratch, SparseConfig, Zeros};
use fingerpost::protocol::Against;
use fingerpost::search::{Retriever, Searcher};
use fingerpost::skill::SkillIdx;
use fingerpost::snapshot::Snapshot;

use crate::args::{Diff, Global, LibraryArgs};
use crate::output::{self, Exit, FAINT, STRONG, cut, plain};
use crate::search::searcher;
use crate::source::{self, Reading};

/// Terms shown of each kind.
const TERMS: usize = 12;

pub(crate) fn run(args: &Diff, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let pair = [reading.find(&args.first)?, reading.find(&args.second)?];
    let config = SparseConfig::default();
    let by_words = searcher(&reading, &args.library, Retriever::Bm25, &config, global)?;
    let files = [args.queries.as_deref(), args.qrels.as_deref()];
    let answer = answer(&reading, &by_words, pair, &args.library, files)?;
    reading.snapshot.sound()?;
    if global.json {
        output::print_json(&answer)?;
    } else {
        print(&answer)?;
    }
    Ok(Exit::Done)
}

/// What distinguishes two skills; `files` are queries and qrels that lie elsewhere than beside the library.
pub(crate) fn answer(
    reading: &Reading,
    by_words: &Searcher<'_>,
    pair: [SkillIdx; 2],
    library: &LibraryArgs,
    files: [Option<&Path>; 2],
) -> anyhow::Result<DiffAnswer> {
    let snapshot = &reading.snapshot;
    let [first, second] = [snapshot.skill(pair[0])?, snapshot.skill(pair[1])?];
    let mut contrast = contrast(&first, &second, &by_words.sparse);
    for list in [&mut contrast.shared, &mut contrast.first, &mut contrast.second] {
        list.truncate(TERMS);
    }
    let ids = pair.map(|skill| snapshot.row(skill).id);
    let neighborhoods = snapshot.neighborhoods();
    Ok(DiffAnswer {
        first: ids[0].to_owned(),
        second: ids[1].to_owned(),
        similarity: snapshot.vectors()?.similarity(pair[0], pair[1]),
        together: neighborhoods.of(pair[0]) == neighborhoods.of(pair[1]),
        against: snapshot.against(),
        rivals: are_rivals(snapshot, pair)?,
        contrast,
        requests: requests(library, files, by_words, ids)?,
        freshness: reading.freshness(),
    })
}

/// Is the page of one of them written against the other?
fn are_rivals(snapshot: &Snapshot, [a, b]: [SkillIdx; 2]) -> anyhow::Result<bool> {
    let has = |of, other| -> anyhow::Result<bool> {
        Ok(snapshot.rivals_of(of)?.iter().any(|rival| rival.skill == other))
    };
    Ok(has(a, b)? || has(b, a)?)
}

/// The library's own judged requests that belong to one of the two, and who wins them.
fn requests(
    library: &LibraryArgs,
    [queries, qrels]: [Option<&Path>; 2],
    by_words: &Searcher<'_>,
    ids: [&str; 2],
) -> anyhow::Result<Vec<Contested>> {
    let Searcher { sparse: index, snapshot, .. } = by_words;
    let beside = |names: &[&str]| source::beside(library, names);
    let queries = queries.map(Path::to_owned).or_else(|| beside(&["queries.jsonl"]));
    let qrels = qrels.map(Path::to_owned).or_else(|| beside(&["qrels.tsv", "qrels/test.tsv"]));
    let (Some(queries), Some(qrels)) = (queries, qrels) else { return Ok(Vec::new()) };
    let judged = read_qrels(&source::text(&qrels)?, &qrels.display().to_string())?;
    let asked = read_queries(&source::text(&queries)?, &queries.display().to_string(), "dataset")?;
    let mut found = Vec::new();
    let mut scratch = Scratch::default();
    for query in asked {
        let grade = |id: &str| judged.get(&query.id).and_then(|g| g.get(id)).copied().unwrap_or(0);
        let belongs: Vec<&str> = ids.into_iter().filter(|id| grade(id) > 0).collect();
        let [belongs_to] = belongs[..] else { continue };
        let hits = index.search(&query.text, index.len(), Zeros::Dropped, &mut scratch)?;
        let wins = hits.iter().map(|hit| snapshot.row(hit.skill).id).find(|id| ids.contains(id));
        let (belongs_to, wins) = (belongs_to.to_owned(), wins.map(str::to_owned));
        found.push(Contested { query: query.id, text: query.text, belongs_to, wins });
    }
    Ok(found)
}

fn print(answer: &DiffAnswer) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let together = match (answer.against, answer.rivals, answer.together) {
        (Against::Rivals, true, _) => "rivals",
        (Against::Rivals, false, _) => "no rivals",
        (Against::Neighborhood, _, true) => "in one neighborhood",
        (Against::Neighborhood, _, false) => "in different neighborhoods",
    };
    writeln!(
        out,
        "{STRONG}{}{STRONG:#} and {STRONG}{}{STRONG:#}: similarity {:.3}, {together}",
        plain(&answer.first),
        plain(&answer.second),
        answer.similarity,
    )?;
    let list = |terms: &[WeightedTerm]| {
        let terms: Vec<_> = terms.iter().map(|term| plain(&term.term)).collect();
        terms.join(", ")
    };
    writeln!(out, "  {FAINT}shared{FAINT:#}  {}", list(&answer.contrast.shared))?;
    writeln!(out, "  {FAINT}first {FAINT:#}  {}", list(&answer.contrast.first))?;
    writeln!(out, "  {FAINT}second{FAINT:#}  {}", list(&answer.contrast.second))?;
    if answer.requests.is_empty() {
        return Ok(());
    }
    let right = answer.requests.iter().filter(|r| r.wins.as_ref() == Some(&r.belongs_to)).count();
    writeln!(
        out,
        "\nof {} judged requests, search gives {right} to the right one of the two:",
        answer.requests.len(),
    )?;
    let width = output::terminal_width();
    for request in &answer.requests {
        let won = request.wins.as_ref() == Some(&request.belongs_to);
        let mark = if won { "✓" } else { "✗" };
        let name = request.belongs_to.rsplit('/').next().unwrap_or(&request.belongs_to);
        let name = cut(name, 24);
        let pad = " ".repeat(24 - output::console_width(&name));
        let text = cut(&request.text, width.saturating_sub(30));
        writeln!(out, "  {mark} {name}{pad} {FAINT}{text}{FAINT:#}")?;
    }
    Ok(())
}
