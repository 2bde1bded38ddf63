//! How far is the work of a model, how fast, and for how much?

use std::sync::Mutex;
use std::time::{Duration, Instant};

use fingerpost::atlas::Spent;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::Global;
use crate::output;

/// Without a terminal, a line this often.
const EVERY: Duration = Duration::from_secs(10);

/// A bar on a terminal, lines elsewhere.
pub(crate) struct Progress<'a> {
    global: &'a Global,
    /// What is counted.
    nouns: &'static str,
    bar: ProgressBar,
    lines: Mutex<Lines>,
    start: Instant,
    all: usize,
    priced: bool,
}

struct Lines {
    done: usize,
    last: Instant,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(global: &'a Global, nouns: &'static str, all: usize, priced: bool) -> Self {
        let bar = if global.quiet { ProgressBar::hidden() } else { ProgressBar::new(all as u64) };
        let template = format!("{{bar:30}} {{pos}}/{{len}} {nouns}  {{msg}}  {{eta}} left");
        let style = ProgressStyle::with_template(&template);
        bar.set_style(style.expect("a valid template"));
        let now = Instant::now();
        let lines = Mutex::new(Lines { done: 0, last: now });
        Self { global, nouns, bar, lines, start: now, all, priced }
    }

    /// One more is done.
    pub(crate) fn step(&self, spent: &Spent) {
        let mut lines = self.lines.lock().expect("nothing panics while holding it");
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
            let (done, all, nouns) = (lines.done, self.all, self.nouns);
            let line = format!("{done} of {all} {nouns}, {message}, about {} left", time(left));
            output::say(self.global, &line);
        }
    }

    pub(crate) fn finish(&self) {
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
