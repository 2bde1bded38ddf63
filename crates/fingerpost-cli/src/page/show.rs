//! `fingerpost page show`: one page, for a reader.

use std::io::Write;

use fingerpost::atlas::Compiled;
use fingerpost::page::write::PageRow;
use fingerpost::page::{Case, Status};
use serde_json::json;

use super::boundary_text;
use crate::args::{Global, PageShow};
use crate::neighbors::{find, open};
use crate::output::{self, CAUTION, Exit, FAINT, GOOD, STRONG, plain, plural};

/// Columns of the names of fields.
const MARGIN: usize = 11;

pub(super) fn run(args: &PageShow, global: &Global) -> anyhow::Result<Exit> {
    let compiled = open(&args.library, global)?;
    let skill = find(&compiled, &args.skill)?;
    let row = &compiled.pages[skill.row()];
    if global.json {
        output::print_json(&answer(row, &compiled))?;
    } else {
        let neighbors = compiled.neighborhoods.members(compiled.neighborhoods.of(skill)).len() - 1;
        print(row, neighbors, &compiled)?;
    }
    Ok(Exit::Done)
}

/// The contract of `--json`.
pub(super) fn answer(row: &PageRow, compiled: &Compiled) -> serde_json::Value {
    let page = row.page.as_ref();
    json!({
        "skill": row.skill,
        "status": row.status,
        "trigger": page.map(|page| &page.trigger),
        "boundary": page.map(|page| boundary_text(page, compiled)),
        "references": page.map_or_else(Vec::new, |page| page.references()),
        "cases": page.map(|page| &page.boundary),
        "body": page.map(|page| &page.body),
        "checks": row.findings,
        "score": row.score,
        "provenance": {"writer": row.writer, "key": row.key, "document": row.document},
    })
}

pub(super) fn print(row: &PageRow, neighbors: usize, compiled: &Compiled) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let beside = match neighbors {
        0 => "alone".to_owned(),
        n => format!("beside {}", plural(n, "neighbor")),
    };
    let how = match row.status {
        Status::Written => format!("written by {}", row.writer),
        Status::Pinned => format!("pinned, by {}", row.writer),
        Status::Fallback => format!("no page: {} wrote none that passed", row.writer),
    };
    writeln!(
        out,
        "{STRONG}{}{STRONG:#}  {FAINT}{how}, {beside}{FAINT:#}",
        plain(row.skill.as_str())
    )?;
    if let Some(page) = &row.page {
        field(&mut out, "trigger", &page.trigger)?;
        if page.boundary.is_empty() {
            field(&mut out, "boundary", "–")?;
        }
        for (at, Case { request, skill }) in page.boundary.iter().enumerate() {
            let name = if at == 0 { "boundary" } else { "" };
            let to = skill.as_ref().map_or(String::new(), |id| {
                let known =
                    compiled.find(id.as_str()).map(|skill| compiled.skill(skill).name.as_str());
                format!(" → {}", known.unwrap_or(id.as_str()))
            });
            field(&mut out, name, &format!("{request}{to}"))?;
        }
        field(&mut out, "body", &page.body)?;
    }
    if row.findings.is_empty() {
        writeln!(out, "  {:MARGIN$}{GOOD}✓{GOOD:#} all passed", "checks")?;
    }
    for (at, finding) in row.findings.iter().enumerate() {
        let name = if at == 0 { "checks" } else { "" };
        write!(out, "  {name:MARGIN$}{CAUTION}!{CAUTION:#} ")?;
        let width = output::terminal_width().saturating_sub(MARGIN + 4);
        let lines = output::wrap(&format!("{} [{}]", finding.message, finding.rule), width);
        writeln!(out, "{}", lines.join(&format!("\n{}", " ".repeat(MARGIN + 4))))?;
    }
    Ok(())
}

fn field(out: &mut impl Write, name: &str, text: &str) -> std::io::Result<()> {
    let width = output::terminal_width().min(100).saturating_sub(MARGIN + 2);
    for (at, line) in output::wrap(text, width).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        writeln!(out, "  {FAINT}{name:MARGIN$}{FAINT:#}{line}")?;
    }
    Ok(())
}
