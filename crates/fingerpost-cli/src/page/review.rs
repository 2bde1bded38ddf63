//! `fingerpost page review`: which pages should a person look at?

use std::io::Write;

use fingerpost::contract::ReviewAnswer;

use crate::args::{Global, PageReview};
use crate::output::{self, CAUTION, Exit, FAINT, STRONG, cut, plain, plural};
use crate::source;

pub(super) fn run(args: &PageReview, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let review = ReviewAnswer::new(&reading.snapshot, reading.freshness(), args.k)?;
    reading.snapshot.sound()?;
    if global.json {
        output::print_json(&review)?;
        return Ok(Exit::Done);
    }
    let all = review.flagged + review.fallback;
    let mut out = anstream::stdout().lock();
    if all == 0 {
        writeln!(out, "All {} pass every check.", plural(reading.snapshot.len(), "page"))?;
        say_empty(&mut out, &review)?;
        return Ok(Exit::Done);
    }
    let width = output::terminal_width();
    for page in &review.pages {
        let mark = match &page.trigger {
            Some(_) => format!("{:>3.0} %", page.score * 100.0),
            None => "  none".into(),
        };
        writeln!(
            out,
            "{CAUTION}{mark:>6}{CAUTION:#}  {STRONG}{}{STRONG:#}",
            plain(page.skill.as_str())
        )?;
        for finding in &page.checks {
            let line = cut(&finding.message, width.saturating_sub(12 + finding.rule.len()));
            writeln!(out, "        {line} {FAINT}[{}]{FAINT:#}", finding.rule)?;
        }
    }
    say_rules(&mut out, &review, width)?;
    let more =
        if all > review.pages.len() { format!("; -k {all} shows all") } else { String::new() };
    writeln!(
        out,
        "\n{} to look at, {} without{more} {FAINT}(share of round-trip tests passed; `page show`, `page edit`, `page pin`){FAINT:#}",
        plural(review.flagged, "page"),
        plural(review.fallback, "skill"),
    )?;
    say_empty(&mut out, &review)?;
    Ok(Exit::Done)
}

/// What was found in the whole library, by kind.
fn say_rules(out: &mut impl Write, review: &ReviewAnswer, width: usize) -> std::io::Result<()> {
    let columns = review.rules.iter().map(|rule| rule.rule.len()).max().unwrap_or(0);
    writeln!(out, "\n{STRONG}found{STRONG:#}  {FAINT}(in the whole library, by kind){FAINT:#}")?;
    for found in &review.rules {
        let first: Vec<String> =
            found.examples.iter().map(|id| plain(id.as_str()).into()).collect();
        let more = if found.skills > first.len() { ", …" } else { "" };
        let line = format!("{}{more}", first.join(", "));
        let line = cut(&line, width.saturating_sub(columns + 12));
        writeln!(out, "{:>6}  {:columns$}  {FAINT}{line}{FAINT:#}", found.skills, found.rule)?;
    }
    Ok(())
}

fn say_empty(out: &mut impl Write, review: &ReviewAnswer) -> std::io::Result<()> {
    let empty = review.empty;
    if empty == Default::default() {
        return Ok(());
    }
    writeln!(
        out,
        "{FAINT}{} without a trigger, {} without a boundary, {} without a body: their documents say nothing more there{FAINT:#}",
        plural(empty.trigger, "page"),
        empty.boundary,
        empty.body,
    )
}
