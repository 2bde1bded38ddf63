//! How far is the writing, how fast, and for how much?

use std::sync::Mutex;
use std::time::{Duration, Instant};

use fingerpost::atlas::Spent;
use fingerpost::page::llm::Written;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::Global;
use crate::output;

/// Without a terminal, a line this often.
const EVERY: Duration = Duration::from_secs(10);

/// A bar on a terminal, lines elsewhere.
pub(super) struct Progress<'a> {
    global: &'a Global,
    bar: ProgressBar,
    lines: Mutex<Lines>,
    start: Instant,
    all: usize,
    priced: bool,
}

struct Lines {
    done: usize,
    pending: usize,
    last: Instant,
}

impl<'a> Progress<'a> {
    pub(super) fn new(global: &'a Global, all: usize, priced: bool) -> Self {
        let bar = if global.quiet { ProgressBar::hidden() } else { ProgressBar::new(all as u64) };
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} pages  {msg}  {eta} left");
        bar.set_style(style.expect("a valid template"));
        let now = Instant::now();
        let lines = Mutex::new(Lines { done: 0, pending: 0, last: now });
        Self { global, bar, lines, start: now, all, priced }
    }

    /// One more skill is done.
    pub(super) fn step(&self, written: &Written, spent: &Spent) {
        let mut lines = self.lines.lock().expect("nothing panics while holding it");
        if *written == Written::Pending {
            lines.pending += 1;
            return;
        }
        lines.done += 1;
        let seconds = self.start.elapsed().as_secs_f64();
        let per_minute = spent.calls as f64 / seconds.max(1e-3) * 60.0;
        let calls = output::plural(spent.calls as usize, "call");
        let mut message = format!("{calls}, {per_minute:.0} a minute");
        if self.priced {
            message += &format!(", ${:.4}", spent.cost);
        }
        self.bar.set_message(message.clone());
        self.bar.inc(1);
        if self.bar.is_hidden() && lines.last.elapsed() >= EVERY {
            lines.last = Instant::now();
            let left = seconds / lines.done as f64 * (self.all - lines.done) as f64;
            let (done, all) = (lines.done, self.all);
            let line = format!("{done} of {all} pages, {message}, about {} left", time(left));
            output::say(self.global, &line);
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// "40 s", "12 min", "3.5 h".
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds < 90.0 => format!("{seconds:.0} s"),
        _ if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!([12.0, 300.0, 9000.0].map(time), ["12 s", "5 min", "2.5 h"]);
    }
}
