//! `fingerpost doctor`: what was loaded, from where, and what is wrong with it.

use std::io::Write;

use fingerpost::diagnostic::{Diagnostic, Severity, Warned};
use fingerpost::library::{Library, Root};
use serde::Serialize;

use crate::args::{Doctor, Global};
use crate::output::{self, Exit, FAINT, STRONG, plain, plural, severity};
use crate::source;

#[derive(Serialize)]
struct Report<'a> {
    skills: usize,
    withheld: Vec<&'a str>,
    roots: Vec<String>,
    findings: &'a [Diagnostic],
}

pub(crate) fn run(doctor: &Doctor, global: &Global) -> anyhow::Result<Exit> {
    let args = doctor.library.library();
    let roots = source::roots(&args)?;
    let Warned { value: library, diagnostics } = Library::load(&roots, source::options(&args))?;
    if global.json {
        let report = Report {
            skills: library.skills().len(),
            withheld: library.withheld().iter().map(|skill| skill.id.as_str()).collect(),
            roots: roots.iter().map(|root| root.path.display().to_string()).collect(),
            findings: &diagnostics,
        };
        output::print_json(&report)?;
    } else {
        print(&roots, &library, &diagnostics)?;
    }
    let serious = diagnostics.iter().any(|found| found.severity < Severity::Note);
    Ok(if serious { Exit::Findings } else { Exit::Done })
}

fn print(roots: &[Root], library: &Library, diagnostics: &[Diagnostic]) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    for found in diagnostics {
        let style = severity(found.severity);
        let line = found.line.map_or(String::new(), |line| format!(":{line}"));
        writeln!(out, "{STRONG}{}{line}{STRONG:#}", plain(&found.file.display().to_string()))?;
        writeln!(
            out,
            "  {style}{}{style:#} {} {FAINT}[{}]{FAINT:#}",
            found.severity,
            plain(&found.message),
            found.rule
        )?;
        if !found.hint.is_empty() {
            writeln!(out, "  {FAINT}→ {}{FAINT:#}", found.hint)?;
        }
    }
    let count = |severity| diagnostics.iter().filter(|found| found.severity == severity).count();
    if !diagnostics.is_empty() {
        writeln!(out)?;
    }
    writeln!(
        out,
        "{} from {}; {}, {}, {}",
        plural(library.skills().len(), "skill"),
        plural(roots.len(), "root"),
        plural(count(Severity::Error), "error"),
        plural(count(Severity::Warning), "warning"),
        plural(count(Severity::Note), "note"),
    )?;
    if !library.withheld().is_empty() {
        let ids: Vec<_> = library.withheld().iter().map(|skill| plain(skill.id.as_str())).collect();
        writeln!(
            out,
            "{} kept for explicit use (--include-manual takes them in): {}",
            plural(ids.len(), "more skill"),
            ids.join(", ")
        )?;
    }
    Ok(())
}
