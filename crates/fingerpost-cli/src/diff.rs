//! `fingerpost diff`: what distinguishes two skills, and who wins which request?

use std::io::Write;

use fingerpost::atlas::Atlas;
use fingerpost::contrast::{Contrast, WeightedTerm, contrast};
use fingerpost::eval::{read_qrels, read_queries};
use fingerpost::index::{Scratch, SparseConfig, Zeros};
use fingerpost::library::Library;
use fingerpost::skill::SkillIdx;
use serde::Serialize;

use crate::args::{Diff, Global};
use crate::neighbors::{find, open};
use crate::output::{self, Exit, FAINT, STRONG, cut, plain};
use crate::source;

/// Terms shown of each kind.
const TERMS: usize = 12;

#[derive(Serialize)]
struct Answer<'a> {
    first: &'a str,
    second: &'a str,
    similarity: f32,
    together: bool,
    #[serde(flatten)]
    contrast: Contrast,
    requests: Vec<Request>,
}

/// A judged request that belongs to one of the two.
#[derive(Serialize)]
struct Request {
    query: String,
    text: String,
    belongs_to: String,
    /// The one of the two that search ranks higher; absent if it finds neither.
    wins: Option<String>,
}

pub(crate) fn run(args: &Diff, global: &Global) -> anyhow::Result<Exit> {
    let compiled = open(&args.library, global)?;
    let pair = [find(&compiled, &args.first)?, find(&compiled, &args.second)?];
    let roots = source::roots(&args.library)?;
    let library = Library::load(&roots, source::options(&args.library))?.value;
    let opened = source::index(&args.library, global, &SparseConfig::default())?;
    let skills = pair.map(|skill| &library.skills()[skill.row()]);
    let ids = pair.map(|skill| compiled.skill(skill).id.as_str());
    let mut contrast = contrast(skills[0], skills[1], &opened.index);
    for list in [&mut contrast.shared, &mut contrast.first, &mut contrast.second] {
        list.truncate(TERMS);
    }
    let answer = Answer {
        first: ids[0],
        second: ids[1],
        similarity: compiled.vectors.similarity(pair[0], pair[1]),
        together: compiled.neighborhoods.of(pair[0]) == compiled.neighborhoods.of(pair[1]),
        contrast,
        requests: requests(args, &opened, ids)?,
    };
    if global.json {
        output::print_json(&answer)?;
    } else {
        print(&answer)?;
    }
    Ok(Exit::Done)
}

/// The library's own judged requests that belong to one of the two, and who wins them.
fn requests(
    args: &Diff,
    opened: &fingerpost::atlas::Opened,
    ids: [&str; 2],
) -> anyhow::Result<Vec<Request>> {
    let beside = |names: &[&str]| source::beside(&args.library, names);
    let queries = args.queries.clone().or_else(|| beside(&["queries.jsonl"]));
    let qrels = args.qrels.clone().or_else(|| beside(&["qrels.tsv", "qrels/test.tsv"]));
    let (Some(queries), Some(qrels)) = (queries, qrels) else { return Ok(Vec::new()) };
    let judged = read_qrels(&source::text(&qrels)?, &qrels.display().to_string())?;
    let asked = read_queries(&source::text(&queries)?, &queries.display().to_string(), "dataset")?;
    let mut found = Vec::new();
    let mut scratch = Scratch::default();
    for query in asked {
        let grade = |id: &str| judged.get(&query.id).and_then(|g| g.get(id)).copied().unwrap_or(0);
        let belongs: Vec<&str> = ids.into_iter().filter(|id| grade(id) > 0).collect();
        let [belongs_to] = belongs[..] else { continue };
        let index = &opened.index;
        let hits = index
            .search(&query.text, index.len(), Zeros::Dropped, &mut scratch)
            .map_err(|error| Atlas::damaged(opened, error))?;
        let wins = hits
            .iter()
            .map(|hit| index.id(SkillIdx(hit.skill.0)))
            .find(|id| ids.contains(id))
            .map(str::to_owned);
        let belongs_to = belongs_to.to_owned();
        found.push(Request { query: query.id, text: query.text, belongs_to, wins });
    }
    Ok(found)
}

fn print(answer: &Answer<'_>) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let together =
        if answer.together { "in one neighborhood" } else { "in different neighborhoods" };
    writeln!(
        out,
        "{STRONG}{}{STRONG:#} and {STRONG}{}{STRONG:#}: similarity {:.3}, {together}",
        plain(answer.first),
        plain(answer.second),
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
