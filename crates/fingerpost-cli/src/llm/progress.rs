//! How far is the work of a model, how fast, and for how much?

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use fingerpost::atlas::Spent;

use crate::args::Global;
use crate::output::plural;

/// Counts what is done, and tells what it took.
pub(crate) struct Progress {
    shown: crate::progress::Progress,
    start: Instant,
    done: AtomicUsize,
    all: usize,
    priced: bool,
}

impl Progress {
    pub(crate) fn new(
        global: &Global,
        doing: &'static str,
        noun: &'static str,
        all: usize,
        priced: bool,
    ) -> Self {
        let shown = crate::progress::Progress::new(global, doing, noun);
        Self { shown, start: Instant::now(), done: AtomicUsize::new(0), all, priced }
    }

    /// One more is done.
    pub(crate) fn step(&self, spent: &Spent) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let minutes = self.start.elapsed().as_secs_f64().max(1e-3) / 60.0;
        let calls = plural(spent.calls as usize, "call");
        let mut note = format!("{calls}, {:.0} a minute", spent.calls as f64 / minutes);
        if self.priced {
            note += &format!(", ${:.4}", spent.cost);
        }
        self.shown.noted(done, self.all, &note);
    }

    pub(crate) fn finish(&self) {
        self.shown.finish();
    }
}
