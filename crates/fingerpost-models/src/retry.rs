//! When is a failed request tried again, and after how long?
//!
//! Waits are drawn anew between zero and a bound that doubles ("full jitter"): clients that failed
//! together do not return together. The draws are seeded, so a test sees the same waits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// How patient to be.
#[derive(Debug, Clone)]
pub struct RetryConfig {
    /// How often a request is made in all.
    pub attempts: u32,
    /// Bound of the first wait; it doubles with every attempt.
    pub first_wait: Duration,
    /// Bound of every wait, and the longest that a server may ask for.
    pub longest_wait: Duration,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            attempts: 6,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
            seed: 42,
        }
    }
}

/// What became of one attempt.
pub(crate) enum Failure {
    /// Trying again will not help.
    Final(String),
    /// It may; the server may have said after how long.
    Passing {
        /// What went wrong.
        message: String,
        /// What the server asked for.
        wait: Option<Duration>,
    },
}

/// A request that failed and is made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Which server it is for.
    pub host: String,
    /// What went wrong.
    pub why: String,
    /// How long is waited first.
    pub wait: Duration,
    /// Which attempt is next.
    pub attempt: u32,
    /// Of how many.
    pub attempts: u32,
}

/// For those who are never interrupted.
static NEVER: AtomicBool = AtomicBool::new(false);

/// A longer wait looks up this often.
const GLANCE: Duration = Duration::from_millis(50);

/// Waits; false if `stop` was set before the end.
pub(crate) fn sleep(wait: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + wait;
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(GLANCE));
    }
}

/// Makes attempts until one succeeds, fails for good, or the last was made. Returns the result
/// and the number of attempts.
pub(crate) fn attempts<T>(
    config: &RetryConfig,
    stream: u64,
    attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<(T, u32), String> {
    attempts_until(config, stream, &NEVER, &|_, _, _| (), attempt)
}

/// Hears of an attempt that failed: why, how long is waited, and which attempt is next.
pub(crate) type OnRetry<'a> = dyn Fn(&str, Duration, u32) + 'a;

/// The same, giving up between attempts once `stop` is set.
pub(crate) fn attempts_until<T>(
    config: &RetryConfig,
    // Requests of one run draw from different streams.
    stream: u64,
    stop: &AtomicBool,
    on_retry: &OnRetry<'_>,
    mut attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<(T, u32), String> {
    let mut draws = Pcg64::seed_from_u64(config.seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut bound = config.first_wait;
    let mut made = 1;
    loop {
        let (message, asked) = match attempt() {
            Ok(value) => return Ok((value, made)),
            Err(Failure::Final(message)) => return Err(message),
            Err(Failure::Passing { message, wait }) => (message, wait),
        };
        if made >= config.attempts {
            return Err(format!("{message} (after {made} attempts)"));
        }
        let jitter = bound.min(config.longest_wait).mul_f64(draws.random::<f64>());
        let wait = match asked {
            Some(asked) if asked > config.longest_wait => {
                let seconds = asked.as_secs();
                return Err(format!("{message}; the server asks to wait {seconds} s: try then"));
            }
            // Not before the server's time, and not everybody at it.
            Some(asked) => asked + jitter.min(config.first_wait),
            None => jitter,
        };
        on_retry(&message, wait, made + 1);
        if !sleep(wait, stop) {
            return Err(format!("{message} (interrupted)"));
        }
        bound = bound.saturating_mul(2);
        made += 1;
    }
}

/// Spaces requests, or tokens, evenly over a minute.
pub(crate) struct RateLimit {
    interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl RateLimit {
    pub(crate) fn new(per_minute: Option<u32>) -> Self {
        let interval = per_minute.map_or(Duration::ZERO, |n| Duration::from_secs(60) / n.max(1));
        Self { interval, next: Mutex::new(None) }
    }

    /// Waits for this request's turn.
    pub(crate) fn wait(&self) {
        self.wait_for(1, &NEVER);
    }

    /// Waits for the turn of something that takes so many units; false if stopped before.
    pub(crate) fn wait_for(&self, units: u32, stop: &AtomicBool) -> bool {
        if self.interval.is_zero() {
            return true;
        }
        let turn = {
            let mut next = self.next.lock().expect("nothing panics while holding it");
            let turn = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(turn + self.interval.saturating_mul(units));
            turn
        };
        sleep(turn.saturating_duration_since(Instant::now()), stop)
    }

    /// What was taken turned out to be more or less.
    pub(crate) fn correct(&self, taken: u32, real: u32) {
        let mut next = self.next.lock().expect("nothing panics while holding it");
        if let Some(next) = next.as_mut() {
            let (more, less) = (real.saturating_sub(taken), taken.saturating_sub(real));
            let later = *next + self.interval.saturating_mul(more);
            *next = later.checked_sub(self.interval.saturating_mul(less)).unwrap_or(later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick() -> RetryConfig {
        let short = Duration::from_millis(2);
        RetryConfig { attempts: 3, first_wait: short, longest_wait: short, seed: 1 }
    }

    fn passing(wait: Option<Duration>) -> Failure {
        Failure::Passing { message: "busy".into(), wait }
    }

    #[test]
    fn attempts_are_bounded_and_keep_the_last_error() {
        let mut made = 0;
        let failed = attempts::<()>(&quick(), 0, || {
            made += 1;
            Err(passing(None))
        });
        assert_eq!((made, failed), (3, Err("busy (after 3 attempts)".into())));
        let mut left = 1;
        let done = attempts(&quick(), 0, || {
            left -= 1;
            if left < 0 { Ok("done") } else { Err(passing(None)) }
        });
        assert_eq!(done, Ok(("done", 2)));
    }

    #[test]
    fn a_final_failure_and_a_long_wait_end_it() {
        let failed = attempts::<()>(&quick(), 0, || Err(Failure::Final("no".into())));
        assert_eq!(failed, Err("no".into()));
        let hour = Some(Duration::from_secs(3600));
        let failed = attempts::<()>(&quick(), 0, || Err(passing(hour))).unwrap_err();
        assert!(failed.contains("3600 s"), "{failed}");
    }

    #[test]
    fn a_wait_can_be_broken_off() {
        let stop = AtomicBool::new(false);
        let long = RetryConfig { longest_wait: Duration::from_secs(60), ..quick() };
        let start = Instant::now();
        let told = Mutex::new(Vec::new());
        let on_retry = |why: &str, wait: Duration, next| {
            told.lock().unwrap().push((why.to_owned(), wait.as_secs(), next));
        };
        let failed = attempts_until::<()>(&long, 0, &stop, &on_retry, || {
            stop.store(true, Ordering::Relaxed);
            Err(passing(Some(Duration::from_secs(50))))
        });
        assert_eq!(failed, Err("busy (interrupted)".into()));
        assert_eq!(*told.lock().unwrap(), [("busy".to_owned(), 50, 2)]);
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn tokens_are_spaced_by_what_they_turn_out_to_be() {
        let limit = RateLimit::new(Some(600_000));
        assert!(limit.wait_for(100_000, &NEVER));
        // Ten seconds were taken; fifty milliseconds it was.
        limit.correct(100_000, 500);
        let start = Instant::now();
        assert!(limit.wait_for(1, &NEVER));
        let waited = start.elapsed();
        assert!((40..2000).contains(&waited.as_millis()), "{waited:?}");
    }

    #[test]
    fn requests_are_spaced() {
        let limit = RateLimit::new(Some(6000));
        let start = Instant::now();
        (0..4).for_each(|_| limit.wait());
        assert!(start.elapsed() >= Duration::from_millis(30));
    }
}
