//! `fingerpost import`: pages from a file that `export` wrote.

use std::io::Write;

use fingerpost::kept::{KeptPage, Origin};
use fingerpost::page::Page;
use fingerpost::page::write::adopt;
use serde::Serialize;

use crate::args::{Global, Import};
use crate::export::Line;
use crate::output::{self, CAUTION, Exit, STRONG, UsageError, plain, plural};
use crate::page::{company, keep, members};
use crate::source::{self, Reading};

#[derive(Serialize)]
struct Answer {
    imported: usize,
    refused: Vec<Refused>,
}

#[derive(Serialize)]
struct Refused {
    skill: String,
    because: String,
}

pub(crate) fn run(args: &Import, global: &Global) -> anyhow::Result<Exit> {
    let text = source::text(&args.file)?;
    let reading = source::read(&args.library, global)?;
    let (mut pages, mut refused): (Vec<KeptPage>, Vec<Refused>) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.split('\n')).filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| {
            UsageError::new(format!(
                "{}:{number}: no line of an export: {error}",
                args.file.display()
            ))
        })?;
        let skill = line.skill.to_string();
        match taken(line, &reading, args.force)? {
            Ok(page) => pages.push(page),
            Err(because) => refused.push(Refused { skill, because }),
        }
    }
    let answer = Answer { imported: pages.len(), refused };
    keep(reading, pages, &args.library, global)?;
    if global.json {
        output::print_json(&answer)?;
    } else {
        let mut out = anstream::stdout().lock();
        writeln!(out, "{STRONG}{}{STRONG:#} imported", plural(answer.imported, "page"))?;
        for Refused { skill, because } in &answer.refused {
            writeln!(out, "{CAUTION}refused{CAUTION:#} {}: {}", plain(skill), plain(because))?;
        }
    }
    Ok(if answer.refused.is_empty() { Exit::Done } else { Exit::Findings })
}

/// The page of a line, or why it is refused.
fn taken(line: Line, reading: &Reading, force: bool) -> anyhow::Result<Result<KeptPage, String>> {
    let snapshot = &reading.snapshot;
    let found = snapshot.find(line.skill.as_str());
    let found = found.filter(|&skill| snapshot.row(skill).id == line.skill.as_str());
    let Some(skill) = found else { return Ok(Err("the library has no such skill".into())) };
    if snapshot.digest(skill) != line.document && !force {
        let because = "its document has changed since; --force takes it all the same";
        return Ok(Err(because.into()));
    }
    let members = members(reading, skill)?;
    let page = Page { trigger: line.trigger, boundary: line.boundary, body: line.body };
    let of = snapshot.skill(skill)?;
    let (company, alone) =
        (company(reading, &of, &members), snapshot.head().protocol.writing.alone);
    let mut row = adopt(page, &of, &company, line.status, &line.writer, alone);
    let broken = row.findings.iter().find(|finding| finding.breaks());
    if let (Some(broken), false) = (broken, force) {
        let because =
            format!("{} [{}]; --force takes it all the same", broken.message, broken.rule);
        return Ok(Err(because));
    }
    row.document = line.document;
    row.key = line.key;
    Ok(Ok(KeptPage::of(&row, Origin::Import)))
}
