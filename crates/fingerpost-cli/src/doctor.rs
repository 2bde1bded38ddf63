//! `fingerpost doctor`: what was loaded, from where, and what is wrong with it.

use std::io::Write;

use fingerpost::contract::DoctorAnswer;
use fingerpost::diagnostic::{Severity, Warned};
use fingerpost::library::Library;

use crate::args::{Doctor, Global, LibraryArgs};
use crate::output::{self, Exit, FAINT, STRONG, plain, plural, severity};
use crate::source;

pub(crate) fn run(doctor: &Doctor, global: &Global) -> anyhow::Result<Exit> {
    let args = doctor.library.library();
    let answer = answer(&args)?;
    if global.json {
        output::print_json(&answer)?;
    } else {
        print(&answer)?;
    }
    let serious = answer.findings.iter().any(|found| found.severity < Severity::Note);
    Ok(if serious { Exit::Findings } else { Exit::Done })
}

/// What loading a library finds.
pub(crate) fn answer(args: &LibraryArgs) -> anyhow::Result<DoctorAnswer> {
    let roots = source::roots(args)?;
    let Warned { value: library, diagnostics } = Library::load(&roots, source::options(args))?;
    Ok(DoctorAnswer {
        skills: library.skills().len(),
        withheld: library.withheld().iter().map(|skill| skill.id.to_string()).collect(),
        roots: roots.iter().map(|root| root.path.display().to_string()).collect(),
        findings: diagnostics,
    })
}

fn print(answer: &DoctorAnswer) -> anyhow::Result<()> {
    let diagnostics = &answer.findings;
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
        plural(answer.skills, "skill"),
        plural(answer.roots.len(), "root"),
        plural(count(Severity::Error), "error"),
        plural(count(Severity::Warning), "warning"),
        plural(count(Severity::Note), "note"),
    )?;
    if !answer.withheld.is_empty() {
        let ids: Vec<_> = answer.withheld.iter().map(|id| plain(id)).collect();
        writeln!(
            out,
            "{} kept for explicit use (--include-manual takes them in): {}",
            plural(ids.len(), "more skill"),
            ids.join(", ")
        )?;
    }
    Ok(())
}
