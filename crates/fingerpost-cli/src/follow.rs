//! Who follows long work from afar?
//!
//! A person at a terminal sees a bar and presses Ctrl-C. Work that a server was asked for is followed by
//! whoever asks the server how far it is, and is stopped by them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fingerpost::compile::Event;
use fingerpost_models::campaign::Plan;

/// Hears how far work is, and says whether it is still wanted.
pub(crate) struct Follower {
    /// Set when nothing more is to be begun: calls under way are finished.
    pub(crate) cancel: Arc<AtomicBool>,
    hear: Box<dyn Fn(Told<'_>) + Send + Sync>,
}

/// What is told of work.
pub(crate) enum Told<'a> {
    /// So much of a step is done.
    Step(&'static str, usize, usize),
    /// A model was asked so often, for so much.
    Spent { calls: u64, cost_usd: Option<f64> },
    /// What a model would be asked.
    Plan(&'a Plan),
}

/// What of a compilation is worth telling: the step, and how many of how many are done.
pub(crate) fn step(event: &Event) -> Option<(&'static str, usize, usize)> {
    match *event {
        Event::Comparing(all) => Some(("comparing", 0, all)),
        Event::Writing(done, all) => Some(("writing", done, all)),
        Event::Indexing => Some(("indexing", 0, 0)),
        Event::Damaged(_) | Event::Mended(_) => None,
    }
}

impl Follower {
    pub(crate) fn new(hear: impl Fn(Told<'_>) + Send + Sync + 'static) -> Self {
        Self { cancel: Arc::default(), hear: Box::new(hear) }
    }

    pub(crate) fn tell(&self, told: Told<'_>) {
        (self.hear)(told);
    }

    /// Asks for an end.
    pub(crate) fn stop(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
