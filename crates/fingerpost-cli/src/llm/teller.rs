//! What is a person told while a model is asked?

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fingerpost_models::Retry;
use fingerpost_models::campaign::Event;

use super::model::Work;
use crate::args::Global;
use crate::follow::{Follower, Told};
use crate::output::{cut, plain, plural};
use crate::progress::{Progress, time};

/// Between two lines about requests that are made again: many fail at the same time.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Columns of a server's words in such a line.
const WHY: usize = 120;

/// Turns events into a bar and lines on standard error.
pub(crate) struct Teller {
    progress: Progress,
    start: Instant,
    priced: bool,
    follower: Option<Arc<Follower>>,
    last_retry: Mutex<Option<Instant>>,
}

impl Teller {
    /// For work that does something with so many things, such as "writing" a "page".
    pub(super) fn new(global: &Global, work: &Work<'_>, priced: bool) -> Self {
        let progress = Progress::new(global, work.doing, work.noun);
        let follower = work.follower.map(Arc::clone);
        Self { progress, start: Instant::now(), priced, follower, last_retry: Mutex::default() }
    }

    pub(super) fn hear(&self, event: Event<'_>) {
        match event {
            Event::Progress { done, all, spent } => {
                if let Some(follower) = &self.follower {
                    let cost_usd = self.priced.then_some(spent.cost);
                    follower.tell(Told::Step("asking", done, all));
                    follower.tell(Told::Spent { calls: spent.calls, cost_usd });
                    return;
                }
                self.progress.paid(done, all, &spent, self.start, self.priced);
            }
            Event::Retry(retry) => self.retry(retry),
            Event::Submitted { batch, prompts } => {
                let prompts = plural(prompts, "prompt");
                self.progress.say(&format!("submitted {prompts} as {}", plain(batch)));
                self.waiting(format!("waiting for {}", plain(batch)));
            }
            Event::UnderWay { batch, done, all, elapsed } => {
                let minutes = elapsed.as_secs() / 60;
                self.waiting(format!("{}: {done} of {all} answered, {minutes} min", plain(batch)));
            }
            Event::Fetched { batch, unanswered } => {
                self.finish();
                if unanswered > 0 {
                    let prompts = plural(unanswered, "prompt");
                    let line = format!("{prompts} of {} came back without an answer", plain(batch));
                    self.progress.say(&line);
                }
            }
        }
    }

    /// Something is waited for.
    pub(crate) fn waiting(&self, message: String) {
        self.progress.waiting(message);
    }

    /// The work has ended, done or not.
    pub(crate) fn finish(&self) {
        self.progress.finish();
    }

    fn retry(&self, retry: &Retry) {
        let mut last = self.last_retry.lock().expect("nothing panics while holding it");
        if last.is_some_and(|last| last.elapsed() < RETRY_EVERY) {
            return;
        }
        *last = Some(Instant::now());
        let Retry { host, why, wait, attempt, attempts } = retry;
        let wait = match wait.as_secs_f64() {
            seconds if seconds < 1.0 => "at once".into(),
            seconds => format!("in {}", time(seconds)),
        };
        self.progress.say(&format!(
            "no answer from {}, trying again {wait} ({attempt} of {attempts}): {}",
            plain(host),
            cut(why, WHY)
        ));
    }
}
