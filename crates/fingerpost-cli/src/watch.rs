//! `fingerpost watch`: keeps the compiled library fresh while skills are edited, and says what changed.

mod eyes;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use fingerpost::snapshot::Snapshot;
use serde::Serialize;

pub(crate) use self::eyes::wake_on_change;
use crate::args::{FirstLibraryArgs, Global};
use crate::live::{Live, Open, Status};
use crate::output::{self, Exit, plain, plural};

/// Which library to watch.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    library: FirstLibraryArgs,
}

/// Skills that one change names.
const NAMED: usize = 20;

/// What became of a skill from one state to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Added,
    Changed,
    Removed,
}

impl What {
    fn said(self) -> &'static str {
        match self {
            What::Added => "added",
            What::Changed => "changed",
            What::Removed => "removed",
        }
    }
}

/// A change, as `--json` prints it, one on a line.
#[derive(Debug, Serialize)]
struct Change<'a> {
    what: What,
    skill: &'a str,
    generation: u64,
    skills: usize,
}

/// Runs until somebody ends it.
pub(crate) fn run(args: &WatchArgs, global: &Global) -> anyhow::Result<Exit> {
    let live = Live::open(&args.library.library(), global)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot begin to watch")?;
    let watched = runtime.block_on(async {
        let eyes = tokio::spawn(wake_on_change(Arc::clone(&live)));
        let ended = tokio::select! {
            told = tell(&live, global) => told,
            () = asked_to_end() => Ok(()),
        };
        eyes.abort();
        ended
    });
    // A compilation under way is left as it is: the next one goes on from there.
    runtime.shutdown_background();
    watched.map(|()| Exit::Done)
}

async fn asked_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without it there is no clean end, but an end.
    let _ = tokio::signal::ctrl_c().await;
}

/// Says every change.
async fn tell(live: &Arc<Live>, global: &Global) -> anyhow::Result<()> {
    let mut status = live.status();
    let mut known: Option<Digests> = None;
    loop {
        let Status { generation, failed, .. } = status.borrow_and_update().clone();
        let open = live.now().filter(|open| open.reading.snapshot.generation() == generation);
        if let Some(open) = open {
            known = Some(tell_state(&open, known, global)?);
        } else if let Some(why) = failed.filter(|_| known.is_none()) {
            anyhow::bail!("the library cannot be compiled: {why}");
        }
        if status.changed().await.is_err() {
            return Ok(());
        }
    }
}

/// Says how one state differs from the one before.
fn tell_state(open: &Open, known: Option<Digests>, global: &Global) -> anyhow::Result<Digests> {
    let snapshot = &open.reading.snapshot;
    let Some(known) = known else {
        let line = format!("Watching {}. Ctrl-C ends it.", plural(snapshot.len(), "skill"));
        output::say(global, &line);
        return Ok(Digests::of(snapshot));
    };
    if known.generation == snapshot.generation() {
        return Ok(known);
    }
    let now = Digests::of(snapshot);
    let changes = known.changes(&now);
    let mut out = anstream::stdout().lock();
    for &(what, skill) in changes.iter().take(if global.json { usize::MAX } else { NAMED }) {
        let (generation, skills) = (now.generation, now.of.len());
        if global.json {
            let line = Change { what, skill, generation, skills };
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        } else {
            writeln!(out, "{} {} (generation {generation})", what.said(), plain(skill))?;
        }
    }
    if let (more @ 1.., false) = (changes.len().saturating_sub(NAMED), global.json) {
        writeln!(out, "and {} (generation {})", plural(more, "other"), now.generation)?;
    }
    out.flush()?;
    Ok(now)
}

/// The skills of a state, with the digests of their documents.
struct Digests {
    generation: u64,
    of: BTreeMap<String, String>,
}

impl Digests {
    fn of(snapshot: &Snapshot) -> Self {
        let rows = snapshot.rows();
        let of = rows.map(|row| (snapshot.row(row).id.to_owned(), snapshot.digest(row))).collect();
        Self { generation: snapshot.generation(), of }
    }

    /// In the order of the ids.
    fn changes<'a>(&'a self, now: &'a Self) -> Vec<(What, &'a str)> {
        let new = now.of.iter().filter_map(|(id, digest)| match self.of.get(id) {
            None => Some((What::Added, id.as_str())),
            Some(known) => (known != digest).then_some((What::Changed, id.as_str())),
        });
        let gone = self.of.keys().filter(|id| !now.of.contains_key(*id));
        let mut changes: Vec<(What, &str)> =
            new.chain(gone.map(|id| (What::Removed, id.as_str()))).collect();
        changes.sort_unstable_by_key(|&(what, id)| (id, what));
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_told_by_the_documents() {
        let state = |skills: &[(&str, &str)]| Digests {
            generation: 1,
            of: skills.iter().map(|&(id, digest)| (id.to_owned(), digest.to_owned())).collect(),
        };
        let before = state(&[("a", "1"), ("b", "1"), ("d", "1")]);
        let after = state(&[("a", "1"), ("b", "2"), ("c", "1")]);
        let expected = [(What::Changed, "b"), (What::Added, "c"), (What::Removed, "d")];
        assert_eq!(before.changes(&after), expected);
        assert!(before.changes(&before).is_empty());
    }
}
