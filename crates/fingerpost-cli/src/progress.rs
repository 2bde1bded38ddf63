//! How far is long work, and for how much? A bar on a terminal, now and then a line in a log.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use fingerpost::atlas::Spent;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::args::Global;
use crate::output::plural;

/// Between two lines of a log.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how many of how many things are done.
pub(crate) struct Progress {
    doing: Cow<'static, str>,
    noun: &'static str,
    bar: ProgressBar,
    quiet: bool,
    begun: Mutex<Begun>,
}

#[derive(Default)]
struct Begun {
    first: Option<Instant>,
    /// The bar is on the terminal.
    shown: bool,
    last_line: Option<Instant>,
    /// Something is waited for.
    waiting: bool,
}

impl Progress {
    /// Nothing is shown before something is done.
    pub(crate) fn new(
        global: &Global,
        doing: impl Into<Cow<'static, str>>,
        noun: &'static str,
    ) -> Self {
        let doing = doing.into();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { doing, noun, bar, quiet: global.quiet, begun: Mutex::default() }
    }

    /// Counting began then, and not with the first report.
    pub(crate) fn since(self, start: Instant) -> Self {
        self.begun.lock().expect("nothing panics while holding it").first = Some(start);
        self
    }

    /// So many are done; what else is worth knowing goes into `note`, such as money spent.
    pub(crate) fn noted(&self, done: usize, all: usize, note: &str) {
        if self.quiet {
            return;
        }
        let mut begun = self.begun.lock().expect("nothing panics while holding it");
        let now = Instant::now();
        begun.first.get_or_insert(now);
        if !begun.shown {
            begun.shown = true;
            if console::Term::stderr().is_term() {
                let style =
                    "{prefix} {bar:30} {human_pos}/{human_len} {rate:.dim} {eta:.dim} {msg}";
                let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                    let _ = write!(out, "{:.1}/s", state.per_sec());
                };
                let style = ProgressStyle::with_template(style).expect("a valid template");
                self.bar.set_style(style.with_key("rate", rate));
                self.bar.set_prefix(self.doing.clone());
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        if console::Term::stderr().is_term() {
            self.bar.set_length(all as u64);
            self.bar.set_position(done as u64);
            self.bar.set_message(note.to_owned());
            if done >= all {
                self.bar.finish_and_clear();
            }
            return;
        }
        let due = begun.last_line.or(begun.first).is_none_or(|at| now - at >= LINE_EVERY);
        if due && done < all {
            begun.last_line = Some(now);
            let elapsed = begun.first.map_or(0.0, |first| (now - first).as_secs_f64());
            say_line(self, done, all, elapsed, note);
        }
    }

    /// So many are done, for so much since `start`. Money is told where the model has a price.
    pub(crate) fn paid(
        &self,
        done: usize,
        all: usize,
        spent: &Spent,
        start: Instant,
        priced: bool,
    ) {
        let minutes = start.elapsed().as_secs_f64().max(1e-3) / 60.0;
        let calls = plural(spent.calls as usize, "call");
        let mut note = format!("{calls}, {:.0} a minute", spent.calls as f64 / minutes);
        if priced {
            note += &format!(", ${:.4}", spent.cost);
        }
        self.noted(done, all, &note);
    }

    /// Something is waited for that cannot be counted; shown on a terminal only.
    pub(crate) fn waiting(&self, message: String) {
        if self.quiet || !console::Term::stderr().is_term() {
            return;
        }
        let mut begun = self.begun.lock().expect("nothing panics while holding it");
        if !begun.waiting {
            begun.waiting = true;
            self.bar.reset();
            self.bar.set_style(ProgressStyle::default_spinner());
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
        self.bar.set_message(message);
    }

    /// A line of talk beside what is shown.
    pub(crate) fn say(&self, line: &str) {
        if !self.quiet {
            self.bar.suspend(|| drop(writeln!(anstream::stderr(), "{line}")));
        }
    }

    /// So many are done.
    pub(crate) fn at(&self, done: usize, all: usize) {
        self.noted(done, all, "");
    }

    /// The work has ended, done or not.
    pub(crate) fn finish(&self) {
        self.begun.lock().expect("nothing panics while holding it").waiting = false;
        self.bar.finish_and_clear();
    }
}

fn say_line(progress: &Progress, done: usize, all: usize, elapsed: f64, note: &str) {
    let rate = done as f64 / elapsed.max(0.001);
    let left = (all - done) as f64 / rate.max(0.001);
    let note = if note.is_empty() { String::new() } else { format!(", {note}") };
    let line = format!(
        "{}: {done} of {}, {rate:.1} a second, about {} left{note}",
        progress.doing,
        plural(all, progress.noun),
        time(left),
    );
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// "40 s", "12 min", "3.5 h".
pub(crate) fn time(seconds: f64) -> String {
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
