//! How many requests does a server answer, and how long does each wait?

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::client::Connection;

/// What a server was asked for some time.
#[derive(Debug, Default, Clone)]
pub(super) struct Load {
    /// Answers that were good.
    pub(super) answered: u64,
    /// Answers that were not, and requests without one.
    pub(super) failed: u64,
    pub(super) seconds: f64,
    /// Of each good answer, in microseconds, rising.
    waits: Vec<u32>,
}

impl Load {
    /// Good answers a second.
    pub(super) fn rate(&self) -> f64 {
        self.answered as f64 / self.seconds.max(1e-9)
    }

    /// The wait that such a share of the requests did not exceed, in milliseconds.
    pub(super) fn wait(&self, share: f64) -> f64 {
        let at = ((self.waits.len() as f64 * share).ceil() as usize).max(1) - 1;
        self.waits.get(at).map_or(f64::NAN, |&micros| f64::from(micros) / 1e3)
    }

    fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.waits.extend(other.waits);
    }
}

/// How a server is asked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    /// Over each connection the next request as soon as the one before is answered.
    Closed,
    /// So many requests a second, whether or not those before are answered.
    Open(f64),
}

/// Asks these requests in turn, over so many connections, for so long.
pub(super) async fn run(
    address: SocketAddr,
    requests: &Arc<Vec<Vec<u8>>>,
    (pace, connections): (Pace, usize),
    time: Duration,
) -> Load {
    let begun = Instant::now();
    let workers = (0..connections).map(|worker| {
        let requests = Arc::clone(requests);
        tokio::spawn(async move {
            let mut load = Load::default();
            let mut connection = Connection::to(address);
            for turn in 0.. {
                let at = turn * connections + worker;
                let mut start = Instant::now();
                if let Pace::Open(rate) = pace {
                    let due = begun + Duration::from_secs_f64(at as f64 / rate);
                    if due > start {
                        sleep_until(due).await;
                        start = Instant::now();
                    } else {
                        // It should have been asked then, and has waited since.
                        start = due;
                    }
                }
                if start - begun >= time {
                    break;
                }
                match connection.ask(&requests[at % requests.len()]).await {
                    Ok(200) => {
                        load.answered += 1;
                        load.waits.push(start.elapsed().as_micros().min(u32::MAX.into()) as u32);
                    }
                    _ => load.failed += 1,
                }
            }
            load
        })
    });
    let mut all = Load::default();
    for worker in workers.collect::<Vec<_>>() {
        all.add(worker.await.unwrap_or_default());
    }
    all.seconds = begun.elapsed().as_secs_f64();
    all.waits.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_by_their_share() {
        let waits = (1..=1000).map(|micros| micros * 1000).collect();
        let load = Load { waits, ..Load::default() };
        assert_eq!([0.5, 0.99, 1.0].map(|share| load.wait(share)), [500.0, 990.0, 1000.0]);
        assert!(Load::default().wait(0.5).is_nan());
    }
}
