//! What does a call answer while the library is compiled, changes, or is damaged?
//!
//! The last state answers, and a note says that it is the last one. Before the first state a call waits
//! for a while, and then says how far it is. What is damaged is made again, and the call with it.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::live::{Live, Open, Status};
use crate::output::{plain, plural};

/// How long a call waits for a state: shorter than clients wait for a call.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a state that nobody announces is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// An answer, and what there is to know of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Answer<T> {
    #[serde(flatten)]
    pub(crate) answer: T,
    /// Why a later answer may be another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// Asks the newest state. An error is a sentence for whoever asked.
pub(crate) async fn ask<T, F>(live: &Arc<Live>, work: F) -> Result<Answer<T>, String>
where
    T: Send + 'static,
    F: Fn(&Open) -> anyhow::Result<T> + Send + Sync + 'static,
{
    let work = Arc::new(work);
    let mut damaged = None;
    for _ in 0..2 {
        let open = wait_for_newer(live, damaged.as_ref()).await?;
        let (asked, work) = (Arc::clone(&open), Arc::clone(&work));
        // Others are answered meanwhile.
        let done = tokio::task::spawn_blocking(move || {
            let answer = work(&asked)?;
            asked.reading.snapshot.sound()?;
            anyhow::Ok(answer)
        });
        match done.await {
            Ok(Ok(answer)) => {
                let note = note(&live.status().borrow());
                return Ok(Answer { answer, note });
            }
            Ok(Err(error)) if crate::is_damage(&error) => {
                live.heal();
                damaged = Some(open);
            }
            Ok(Err(error)) => return Err(plain(&format!("{error:#}")).into_owned()),
            Err(_) => {
                return Err("fingerpost failed on this call; its standard error says where".into());
            }
        }
    }
    Err("a file of the compiled library is damaged, and is made again: ask again in a moment"
        .into())
}

/// A state that is not that one.
async fn wait_for_newer(live: &Arc<Live>, than: Option<&Arc<Open>>) -> Result<Arc<Open>, String> {
    let until = Instant::now() + PATIENCE;
    let mut status = live.status();
    loop {
        let is_newer = |open: &Arc<Open>| than.is_none_or(|than| !Arc::ptr_eq(than, open));
        if let Some(open) = live.now().filter(is_newer) {
            return Ok(open);
        }
        let now = status.borrow_and_update().clone();
        if let Some(why) = now.failed {
            return Err(format!("the library cannot be compiled: {why}"));
        }
        if Instant::now() >= until {
            return Err(not_yet(&now));
        }
        // Woken by news, or by the clock.
        let _ = timeout_at(until.min(Instant::now() + LOOK), status.changed()).await;
    }
}

/// What to say where there is no state.
pub(crate) fn not_yet(status: &Status) -> String {
    format!(
        "the library is being compiled for the first time{}; ask again in a few seconds",
        progress(status)
    )
}

/// What to know of an answer.
fn note(status: &Status) -> Option<String> {
    let last = "this is the answer of its last state";
    match (&status.failed, &status.compiling, status.stale) {
        (Some(why), ..) => {
            Some(format!("the library has changed and cannot be compiled: {why}; {last}"))
        }
        (None, Some(_), _) => Some(format!(
            "the library has changed and is being compiled{}; {last}",
            progress(status)
        )),
        (None, None, true) => Some(format!("the library has changed; {last}")),
        (None, None, false) => None,
    }
}

fn progress(status: &Status) -> String {
    match &status.compiling {
        Some(now) if now.all > 0 && now.done > 0 => {
            format!(" ({} of {} done)", now.done, plural(now.all, "page"))
        }
        Some(now) => format!(" ({})", now.step),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Compiling;

    #[test]
    fn a_note_says_why_a_later_answer_may_be_another() {
        let status = |stale, compiling, failed: Option<&str>| Status {
            generation: 1,
            stale,
            skills: 3,
            compiling,
            failed: failed.map(str::to_owned),
        };
        let writing = Some(Compiling { step: "writing", done: 2, all: 3 });
        assert_eq!(note(&status(false, None, None)), None);
        assert_eq!(
            note(&status(true, writing.clone(), None)).unwrap(),
            "the library has changed and is being compiled (2 of 3 pages done); this is the answer of its last state"
        );
        assert!(note(&status(true, None, Some("it is gone"))).unwrap().contains(": it is gone; "));
        assert!(not_yet(&status(false, writing, None)).contains("first time (2 of 3 pages done)"));
    }
}
