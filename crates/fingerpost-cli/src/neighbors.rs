//! `fingerpost neighbors`: who could be taken for this skill?

use std::io::Write;

use fingerpost::contract::NeighborsAnswer;
use fingerpost::protocol::Against;

use crate::args::{Global, Neighbors};
use crate::label::{label_in, padded};
use crate::output::{self, Exit, FAINT, STRONG, cut, plain};
use crate::source;

pub(crate) fn run(args: &Neighbors, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let skill = reading.find(&args.skill)?;
    let answer = NeighborsAnswer::new(&reading.snapshot, reading.freshness(), skill, args.k)?;
    reading.snapshot.sound()?;
    if global.json {
        output::print_json(&answer)?;
    } else {
        print(&answer)?;
    }
    Ok(Exit::Done)
}

fn print(answer: &NeighborsAnswer) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let about = match answer.members {
        1 => "alone: nobody is near enough to be taken for it".to_owned(),
        n => format!("in a neighborhood of {n}, marked ●"),
    };
    writeln!(out, "{STRONG}{}{STRONG:#} is {about}", plain(&answer.skill))?;
    let width = output::terminal_width();
    if answer.against == Against::Rivals {
        writeln!(
            out,
            "its page is written against, those that come nearest to winning its requests first:"
        )?;
        for rival in &answer.rivals {
            let blurb = cut(&rival.description, width.saturating_sub(NAMES + 12));
            line(&mut out, "▲", rival.weight, (&rival.skill, &rival.name), &blurb)?;
        }
        for copy in &answer.copies {
            writeln!(
                out,
                "{FAINT}says the same as {}: merge them, or write what differs{FAINT:#}",
                plain(copy)
            )?;
        }
        writeln!(out, "most like it:")?;
    }
    for neighbor in &answer.neighbors {
        let mark = if neighbor.together { "●" } else { "○" };
        let blurb = cut(&neighbor.description, width.saturating_sub(NAMES + 12));
        line(&mut out, mark, neighbor.similarity, (&neighbor.skill, &neighbor.name), &blurb)?;
    }
    Ok(())
}

/// Columns of the names.
const NAMES: usize = 36;

fn line(
    out: &mut impl Write,
    mark: &str,
    score: f32,
    (id, name): (&str, &str),
    blurb: &str,
) -> std::io::Result<()> {
    let name = label_in(id, name, NAMES);
    writeln!(out, "{mark} {score:>6.3}  {}  {FAINT}{blurb}{FAINT:#}", padded(&name, NAMES))
}
