//! `fingerpost page review`: which pages should a person look at?

use std::io::Write;

use fingerpost::page::write::PageRow;
use serde_json::json;

use super::show::answer;
use crate::args::{Global, PageReview};
use crate::neighbors::open;
use crate::output::{self, CAUTION, Exit, FAINT, STRONG, cut, plain, plural};

pub(super) fn run(args: &PageReview, global: &Global) -> anyhow::Result<Exit> {
    let compiled = open(&args.library, global)?;
    let mut rows: Vec<&PageRow> =
        compiled.pages.iter().filter(|row| !row.findings.is_empty()).collect();
    // A page that misleads is worse than none, and of those the one that fails most tests.
    rows.sort_by(|a, b| {
        let flagged = b.is_flagged().cmp(&a.is_flagged());
        flagged.then(a.score.total_cmp(&b.score)).then_with(|| a.skill.cmp(&b.skill))
    });
    let all = rows.len();
    let flagged = rows.iter().filter(|row| row.is_flagged()).count();
    rows.truncate(args.k);
    if global.json {
        let rows: Vec<_> = rows.iter().map(|row| answer(row, &compiled)).collect();
        output::print_json(&json!({"flagged": flagged, "fallback": all - flagged, "pages": rows}))?;
        return Ok(Exit::Done);
    }
    let mut out = anstream::stdout().lock();
    if all == 0 {
        writeln!(out, "All {} pass every check.", plural(compiled.pages.len(), "page"))?;
        return Ok(Exit::Done);
    }
    let width = output::terminal_width();
    for row in &rows {
        let mark = if row.is_flagged() {
            format!("{:>3.0} %", row.score * 100.0)
        } else {
            "  none".into()
        };
        writeln!(
            out,
            "{CAUTION}{mark:>6}{CAUTION:#}  {STRONG}{}{STRONG:#}",
            plain(row.skill.as_str())
        )?;
        for finding in &row.findings {
            let line = cut(&finding.message, width.saturating_sub(12 + finding.rule.len()));
            writeln!(out, "        {line} {FAINT}[{}]{FAINT:#}", finding.rule)?;
        }
    }
    let more = if all > rows.len() { format!("; -k {all} shows all") } else { String::new() };
    writeln!(
        out,
        "\n{} to look at, {} without{more} {FAINT}(share of round-trip tests passed; `page show`, `page edit`, `page pin`){FAINT:#}",
        plural(flagged, "page"),
        plural(all - flagged, "skill"),
    )?;
    Ok(Exit::Done)
}
