//! `fingerpost neighbors`: who could be taken for this skill?

use std::io::Write;

use fingerpost::contract::NeighborsAnswer;

use crate::args::{Global, Neighbors};
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
    for neighbor in &answer.neighbors {
        let mark = if neighbor.together { "●" } else { "○" };
        let id = cut(&neighbor.skill, 44);
        let pad = " ".repeat(44 - output::console_width(&id));
        let blurb = cut(&neighbor.description, width.saturating_sub(56));
        let similarity = neighbor.similarity;
        writeln!(out, "{mark} {similarity:>6.3}  {id}{pad}  {FAINT}{blurb}{FAINT:#}")?;
    }
    Ok(())
}
