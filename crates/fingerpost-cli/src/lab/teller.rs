//! What is a person told while an experiment runs?
//!
//! Each step is a line. Below it, a terminal shows how far the step is, how fast, and for how long still; a log
//! gets a line about that now and then.

use std::sync::Mutex;
use std::time::Instant;

use fingerpost_lab::lab::Event;

use crate::args::Global;
use crate::output::{self, CAUTION, FAINT, plain};
use crate::progress::Progress;

/// Turns events into a bar and lines on standard error.
pub(super) struct Teller {
    global: Global,
    step: Mutex<Step>,
}

/// What is being done.
struct Step {
    what: String,
    /// Since when whatever is counted next has been under way.
    since: Instant,
    /// How far it is, by what is counted.
    shown: Option<(&'static str, Progress)>,
}

impl Teller {
    pub(super) fn new(global: &Global) -> Self {
        let step = Step { what: String::new(), since: Instant::now(), shown: None };
        Self { global: global.clone(), step: Mutex::new(step) }
    }

    pub(super) fn hear(&self, event: Event) {
        let mut step = self.step.lock().expect("nothing panics while holding it");
        match event {
            Event::Doing(what) => {
                step.finish();
                step.what = plain(&what).into_owned();
                step.since = Instant::now();
                output::say(&self.global, &format!("{FAINT}{}{FAINT:#}", step.what));
            }
            Event::LeftOut(what) => {
                step.finish();
                let line = format!("{CAUTION}left out:{CAUTION:#} {}", plain(&what));
                output::say(&self.global, &line);
            }
            Event::Progress { noun, done, all } => {
                // Of one step texts may be counted first, and then requests.
                if step.shown.as_ref().is_none_or(|(counted, _)| *counted != noun) {
                    step.finish();
                    let what = step.what.clone();
                    let shown = Progress::new(&self.global, what, noun).since(step.since);
                    step.shown = Some((noun, shown));
                }
                if let Some((_, shown)) = &step.shown {
                    shown.at(done, all);
                }
                if done >= all {
                    step.since = Instant::now();
                }
            }
        }
    }
}

impl Step {
    fn finish(&mut self) {
        if let Some((_, shown)) = self.shown.take() {
            shown.finish();
        }
    }
}

impl Drop for Teller {
    /// An error that ends the work is told below, not beside what was shown.
    fn drop(&mut self) {
        if let Ok(step) = self.step.get_mut() {
            step.finish();
        }
    }
}
