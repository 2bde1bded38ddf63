//! `fingerpost ledger`: what was asked of which model, and what it cost.

use std::fs;
use std::io::Write;

use anyhow::Context;
use fingerpost::atlas::Spend;
use fingerpost::contract::LedgerAnswer;
use serde_json::json;

use crate::args::{Global, LedgerArgs, LedgerPrune, LedgerVerb};
use crate::output::{self, Exit, UsageError, plain, plural, thousands};
use crate::source::Source;
use crate::table::table;

pub(crate) fn run(args: &LedgerArgs, global: &Global) -> anyhow::Result<Exit> {
    if let Some(LedgerVerb::Prune(prune)) = &args.verb {
        return run_prune(prune, global);
    }
    let ledger = Source::of(&args.library, global)?.ledger(global)?;
    let spend = ledger.spend()?;
    if let Some(file) = &args.export {
        let model = one_model(args, &spend)?;
        let recordings = ledger.recordings(&model)?;
        let mut lines = String::new();
        for recording in &recordings {
            lines.push_str(&serde_json::to_string(recording)?);
            lines.push('\n');
        }
        fs::write(file, lines).with_context(|| format!("cannot write {}", file.display()))?;
        let answers = plural(recordings.len(), "answer");
        let line = format!("wrote {answers} of {} to {}", plain(&model), file.display());
        output::say(global, &line);
        return Ok(Exit::Done);
    }
    let answer = LedgerAnswer::new(spend);
    if global.json {
        output::print_json(&answer)?;
        return Ok(Exit::Done);
    }
    let LedgerAnswer { calls, cost_usd: cost, spend } = answer;
    if spend.is_empty() {
        output::say(global, "No model has been asked anything yet.");
        return Ok(Exit::Done);
    }
    print(&spend, calls, cost)?;
    Ok(Exit::Done)
}

fn print(spend: &[Spend], calls: u64, cost: f64) -> anyhow::Result<()> {
    let mut table = table([
        "day", "model", "for", "calls", "failed", "lost", "input", "cached", "output", "cost",
    ]);
    for row in spend {
        let tokens = |count: u64| thousands(count as usize);
        // Not "$0.00": that would be a price.
        let cost = if row.unpriced == row.calls && row.calls > 0 {
            "no price".to_owned()
        } else {
            format!("${:.4}", row.cost_usd)
        };
        table.add_row([
            row.day.clone(),
            plain(&row.model).into_owned(),
            plain(&row.purpose).into_owned(),
            tokens(row.calls),
            tokens(row.failed),
            tokens(row.unfinished),
            tokens(row.usage.input),
            tokens(row.usage.cached),
            tokens(row.usage.output),
            cost,
        ]);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{table}")?;
    let answered = plural(calls as usize, "call");
    if spend.iter().all(|row| row.unpriced == row.calls) {
        writeln!(out, "{answered} answered; `compile --prices FILE` names a file with prices")?;
    } else {
        writeln!(out, "{answered} answered, ${cost:.4}")?;
    }
    Ok(())
}

/// Deletes old records, for good.
fn run_prune(args: &LedgerPrune, global: &Global) -> anyhow::Result<Exit> {
    let before = fingerpost::atlas::start_of_day(&args.before).ok_or_else(|| {
        UsageError::new(format!("--before is '{}': give a day as 2026-01-31", plain(&args.before)))
    })?;
    let ledger = Source::of(&args.library, global)?.ledger(global)?;
    let question = format!("Delete all calls before {}, answers and costs, for good?", args.before);
    if !args.yes && !output::confirm(&question)? {
        return Err(UsageError::new("nothing was deleted; --yes deletes without asking").into());
    }
    let gone = ledger.prune(before)?;
    if global.json {
        output::print_json(&json!({"deleted": gone}))?;
    } else {
        writeln!(anstream::stdout(), "{} deleted", plural(gone, "record"))?;
    }
    Ok(Exit::Done)
}

/// The model asked for; or the only one there is.
fn one_model(args: &LedgerArgs, spend: &[Spend]) -> anyhow::Result<String> {
    if let Some(model) = &args.model {
        return Ok(model.clone());
    }
    let mut models: Vec<&str> = spend.iter().map(|row| row.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    match models[..] {
        [model] => Ok(model.to_owned()),
        [] => Err(UsageError::new("the ledger is empty: there is nothing to export").into()),
        _ => {
            let message = format!("name one of the models with --model: {}", models.join(", "));
            Err(UsageError::new(message).into())
        }
    }
}
