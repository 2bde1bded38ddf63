//! `fingerpost worker`: one more machine that writes pages with a model.
//!
//! What is written, and within which limits, is put up by whoever compiles. A worker takes units of it, and
//! whoever finds that nothing is left, and that nobody compiles, makes the new state of the atlas.

use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use fingerpost::page::prompt::LanguageChoice;
use fingerpost::store::StoreError;
use fingerpost_postgres::Postgres;
use fingerpost_postgres::work::{Done, LEASE, Work, WorkStatus};
use serde_json::json;

use crate::args::{Global, LibraryArgs};
use crate::embedder;
use crate::llm::{LlmArgs, Sharing, worked};
use crate::output::{self, Exit, UsageError, plain, plural};
use crate::source::{Settings, Source, meant};
use crate::table::table;

/// How often is looked for work, and for the end of others'.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<WorkerVerb>,
    /// What others know this worker by [default: its process and machine].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Wait for work when there is none, instead of ending.
    #[arg(long)]
    stay: bool,
    /// For how many seconds a unit stays this worker's without a sign of life.
    #[arg(long, value_name = "SECONDS", default_value_t = LEASE.as_secs_f64(), value_parser = seconds)]
    lease: f64,
    /// Language of the pages, as for whoever compiles.
    #[arg(long, value_name = "LANG", default_value_t)]
    lang: LanguageChoice,
    #[command(flatten)]
    llm: LlmArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerVerb {
    /// Show who writes what, since when, and what it has cost.
    Status,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "it is a number of seconds".to_owned())?;
    (0.5..=3600.0)
        .contains(&seconds)
        .then_some(seconds)
        .ok_or_else(|| "it lies between 0.5 and 3600 seconds".to_owned())
}

pub(crate) fn run(args: &WorkerArgs, global: &Global) -> anyhow::Result<Exit> {
    // Never a folder that the machine has: what is found there is nobody else's.
    if global.atlas.as_deref().and_then(meant).is_none() {
        let message = "workers share a database: name it with --atlas postgres://…; in a folder, `fingerpost compile --writer llm` does all the work";
        return Err(UsageError::new(message).into());
    }
    let source = Source::of(&LibraryArgs::default(), global)?;
    let postgres = source.home.postgres().expect("a database was named");
    match args.verb {
        Some(WorkerVerb::Status) => status(postgres, global),
        None => work(args, &source, postgres, global),
    }
}

fn work(
    args: &WorkerArgs,
    source: &Source,
    postgres: &Postgres,
    global: &Global,
) -> anyhow::Result<Exit> {
    let server = &args.llm.server;
    if !args.llm.asks_at_once() {
        let message = "a worker asks a server that answers at once: leave out --dry-run, --batch, --emit, --ingest and --replay";
        return Err(UsageError::new(message).into());
    }
    if server.limits() != fingerpost_postgres::work::Limits::default() {
        let message = "limits are those of all workers: give --max-cost, --max-calls, --rpm and --tpm to `fingerpost compile`";
        return Err(UsageError::new(message).into());
    }
    let name = args.name.clone().unwrap_or_else(fingerpost_postgres::holder);
    let (mut all, mut told) = (Done::default(), false);
    let exit = loop {
        let Some(open) = postgres.work()? else {
            if !args.stay {
                if all.units == 0 && !all.all {
                    output::say(
                        global,
                        "there is no work: `fingerpost compile --writer llm` with the same --atlas puts it up",
                    );
                }
                break Exit::Done;
            }
            if !told {
                output::say(global, "there is no work; waiting for some");
                told = true;
            }
            thread::sleep(LOOK_AGAIN);
            continue;
        };
        told = false;
        let done = join(args, source, (postgres, &name), &open, global)?;
        let exit = worked(&done);
        let is_over = done.all;
        all.units += done.units;
        all.pages += done.pages;
        all.fallback += done.fallback;
        all.all |= done.all;
        all.spent.calls += done.spent.calls;
        all.spent.requests += done.spent.requests;
        all.spent.known += done.spent.known;
        all.spent.cost += done.spent.cost;
        all.stopped = done.stopped;
        if is_over {
            commit(source, postgres, &open, global)?;
        } else if all.stopped.is_some() {
            break exit;
        }
    };
    tell(&name, &all, global)?;
    Ok(exit)
}

/// Takes part in work, which has to be asked of the model that this worker asks.
fn join(
    args: &WorkerArgs,
    source: &Source,
    (postgres, name): (&Postgres, &str),
    open: &Work,
    global: &Global,
) -> anyhow::Result<Done> {
    let protocol = source.atlas.snapshot()?.head().protocol.clone();
    let config = args.llm.config(&args.lang, protocol.writing, global)?;
    let identity = args.llm.identity(&config, protocol.against)?;
    if identity != open.order.writer {
        let message = format!(
            "the work is for another writer: give this worker the same options as whoever compiles\n  wanted: {}\n  here:   {}",
            plain(&open.order.writer),
            plain(&identity),
        );
        return Err(UsageError::new(message).into());
    }
    let lease = Duration::from_secs_f64(args.lease);
    let atlas = &source.atlas;
    let sharing = Sharing { postgres, atlas, args: &args.llm, config, follower: None, name, lease };
    let (done, _) = sharing.work(open, source.ledger(global)?, global)?;
    Ok(done)
}

/// Waits until whoever put the work up commits it; where nobody does, commits it.
fn commit(
    source: &Source,
    postgres: &Postgres,
    open: &Work,
    global: &Global,
) -> anyhow::Result<()> {
    loop {
        let is_open =
            || Ok::<_, StoreError>(postgres.work()?.is_some_and(|w| w.number == open.number));
        if !is_open()? {
            return Ok(());
        }
        match source.atlas.claim() {
            Ok(claim) => {
                // It may have been closed meanwhile.
                if is_open()? {
                    let args = LibraryArgs::default();
                    let kept = source.atlas.head().map(|head| head.protocol);
                    let embedder =
                        embedder::open_for(&args.embedder, kept.as_ref(), source, global)?;
                    source.compile(&Settings::as_before(embedder), &claim, global)?;
                    postgres.close_work(open.number)?;
                }
                return Ok(());
            }
            Err(StoreError::Claimed { .. }) => thread::sleep(LOOK_AGAIN),
            Err(error) => return Err(error.into()),
        }
    }
}

fn tell(name: &str, done: &Done, global: &Global) -> anyhow::Result<()> {
    let stopped = done.stopped.as_ref().map(ToString::to_string);
    if global.json {
        return output::print_json(&json!({
            "worker": name,
            "units": done.units,
            "pages": done.pages,
            "fallback": done.fallback,
            "calls": done.spent.calls,
            "sent": done.spent.requests,
            "known": done.spent.known,
            "cost_usd": done.spent.cost,
            "stopped": stopped,
        }));
    }
    let line = format!(
        "{}, {}; {}, ${:.4}",
        plural(done.units, "unit"),
        plural(done.pages, "page"),
        plural(done.spent.calls as usize, "call"),
        done.spent.cost,
    );
    writeln!(anstream::stdout(), "{line}")?;
    if let Some(stopped) = stopped {
        output::say(global, &format!("stopped: {}", plain(&stopped)));
    }
    Ok(())
}

fn status(postgres: &Postgres, global: &Global) -> anyhow::Result<Exit> {
    let status = postgres.work_status()?;
    if global.json {
        output::print_json(&json!({ "work": status }))?;
        return Ok(Exit::Done);
    }
    match status {
        None => output::say(global, "no work was ever put up here"),
        Some(status) => print(&status)?,
    }
    Ok(Exit::Done)
}

fn print(status: &WorkStatus) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let WorkStatus { units, done, waiting, held, .. } = status;
    let open = if status.open { "open" } else { "closed" };
    writeln!(out, "{}, {open}, since {}", plain(&status.writer), status.since)?;
    let of = |limit: Option<f64>| limit.map_or(String::new(), |limit| format!(" of ${limit:.2}"));
    writeln!(
        out,
        "{done} of {units} units done, {waiting} waiting; {} calls, ${:.4}{}; {} without a known end, at most ${:.4}",
        status.requests,
        status.cost_usd,
        of(status.max_cost_usd),
        status.unknown,
        status.unknown_usd,
    )?;
    if !status.workers.is_empty() {
        let mut rows = table(["worker", "done", "holds", "calls", "cost"]);
        for worker in &status.workers {
            rows.add_row([
                plain(&worker.worker).into_owned(),
                worker.done.to_string(),
                worker.held.to_string(),
                worker.calls.to_string(),
                format!("${:.4}", worker.cost_usd),
            ]);
        }
        writeln!(out, "{rows}")?;
    }
    if !held.is_empty() {
        let mut rows = table(["unit", "worker", "since", "lease", "pages", "calls", "cost"]);
        for unit in held {
            rows.add_row([
                plain(&unit.skill).into_owned(),
                plain(&unit.worker).into_owned(),
                unit.since.clone(),
                if unit.lease_seconds > 0.0 {
                    format!("{:.0} s", unit.lease_seconds)
                } else {
                    "over".into()
                },
                unit.pages.to_string(),
                unit.calls.to_string(),
                format!("${:.4}", unit.cost_usd),
            ]);
        }
        writeln!(out, "{rows}")?;
    }
    Ok(())
}
