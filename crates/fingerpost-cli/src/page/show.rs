//! `fingerpost page show`: one page, for a reader.

use std::io::Write;

use fingerpost::contract::PageAnswer;
use fingerpost::page::write::PageRow;
use fingerpost::page::{Case, Ground, Status};
use fingerpost::protocol::Against;
use fingerpost::skill::SkillIdx;
use fingerpost::snapshot::Snapshot;

use crate::args::{Global, PageShow};
use crate::output::{self, CAUTION, Exit, FAINT, GOOD, STRONG, plain, plural};
use crate::source;

/// Columns of the names of fields.
const MARGIN: usize = 11;

pub(super) fn run(args: &PageShow, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let skill = reading.find(&args.skill)?;
    let row = reading.snapshot.page_row(skill)?;
    reading.snapshot.sound()?;
    if global.json {
        output::print_json(&PageAnswer::new(&reading.snapshot, reading.freshness(), &row))?;
    } else {
        print(&row, skill, &reading.snapshot)?;
    }
    Ok(Exit::Done)
}

pub(super) fn print(row: &PageRow, skill: SkillIdx, snapshot: &Snapshot) -> anyhow::Result<()> {
    let beside = match (snapshot.rivals_of(skill)?.len(), snapshot.against()) {
        (0, _) => "alone".to_owned(),
        (n, Against::Neighborhood) => format!("beside {}", plural(n, "neighbor")),
        (n, Against::Rivals) => format!("against {}", plural(n, "rival")),
    };
    let mut out = anstream::stdout().lock();
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
        field(&mut out, "trigger", said(&page.trigger, "– (its description says when to use it)"))?;
        if page.boundary.is_empty() {
            field(&mut out, "boundary", "–")?;
        }
        for (at, Case { request, skill, ground }) in page.boundary.iter().enumerate() {
            let name = if at == 0 { "boundary" } else { "" };
            let to = match (skill, ground) {
                (Some(id), _) => format!(" → {}", snapshot.name_of(id)),
                (None, Ground::Imagined) => " (imagined)".to_owned(),
                (None, Ground::Document) => String::new(),
            };
            field(&mut out, name, &format!("{request}{to}"))?;
        }
        field(
            &mut out,
            "body",
            said(&page.body, "– (its document has no rule that sets it apart)"),
        )?;
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

/// A field, or why it is empty.
fn said<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn field(out: &mut impl Write, name: &str, text: &str) -> std::io::Result<()> {
    let width = output::terminal_width().min(100).saturating_sub(MARGIN + 2);
    for (at, line) in output::wrap(text, width).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        writeln!(out, "  {FAINT}{name:MARGIN$}{FAINT:#}{line}")?;
    }
    Ok(())
}
