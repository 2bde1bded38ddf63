//! `fingerpost import`: pages from a file that `export` wrote.

use std::io::Write;

use fingerpost::page::Page;
use fingerpost::page::write::{PageRow, adopt};
use serde::Serialize;

use crate::args::{Global, Import};
use crate::export::Line;
use crate::output::{self, CAUTION, Exit, STRONG, UsageError, plain, plural};
use crate::page::Desk;
use crate::source;

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
    let desk = Desk::open(&args.library, global)?;
    let (mut rows, mut refused): (Vec<PageRow>, Vec<Refused>) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.split('\n')).filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).map_err(|error| {
            UsageError::new(format!(
                "{}:{number}: no line of an export: {error}",
                args.file.display()
            ))
        })?;
        let skill = line.skill.to_string();
        match taken(line, &desk, args.force) {
            Ok(row) => rows.push(row),
            Err(because) => refused.push(Refused { skill, because }),
        }
    }
    let _lock = desk.atlas.lock()?;
    desk.atlas.keep_pages(&rows)?;
    let answer = Answer { imported: rows.len(), refused };
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

/// The row of a line, or why it is refused.
fn taken(line: Line, desk: &Desk, force: bool) -> Result<PageRow, String> {
    let found = desk
        .compiled
        .find(line.skill.as_str())
        .filter(|&at| desk.compiled.skill(at).id == line.skill.as_str());
    let skill = found.ok_or("the library has no such skill")?;
    let of = &desk.library.skills()[skill.row()];
    if of.digest().to_hex().as_str() != line.document && !force {
        return Err("its document has changed since; --force takes it all the same".into());
    }
    let (members, rows) = desk.neighborhood(skill);
    let page = Page { trigger: line.trigger, boundary: line.boundary, body: line.body };
    let mut row = adopt(page, of, &members, &rows, line.status, &line.writer);
    row.document = line.document;
    row.key = line.key;
    let broken = row.findings.iter().find(|finding| finding.breaks());
    if let (Some(broken), false) = (broken, force) {
        return Err(format!("{} [{}]; --force takes it all the same", broken.message, broken.rule));
    }
    Ok(row)
}
