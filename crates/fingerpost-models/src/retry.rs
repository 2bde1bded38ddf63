//! When is a failed request tried again, and after how long?
//!
//! Waits are drawn anew between zero and a bound that doubles ("full jitter"): clients that failed
//! together do not return together. The draws are seeded, so a test sees the same waits.

use std::sync::Mutex;
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

/// Makes attempts until one succeeds, fails for good, or the last was made. Returns the result
/// and the number of attempts.
pub(crate) fn attempts<T>(
    config: &RetryConfig,
    // Requests of one run draw from different streams.
    stream: u64,
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
        thread::sleep(wait);
        bound = bound.saturating_mul(2);
        made += 1;
    }
}

/// Spaces requests evenly over a minute.
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
        if self.interval.is_zero() {
            return;
        }
        let turn = {
            let mut next = self.next.lock().expect("nothing panics while holding it");
            let turn = next.map_or_else(Instant::now, |next| next.max(Instant::now()));
            *next = Some(turn + self.interval);
            turn
        };
        thread::sleep(turn.saturating_duration_since(Instant::now()));
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
    fn requests_are_spaced() {
        let limit = RateLimit::new(Some(6000));
        let start = Instant::now();
        (0..4).for_each(|_| limit.wait());
        assert!(start.elapsed() >= Duration::from_millis(30));
    }
}
