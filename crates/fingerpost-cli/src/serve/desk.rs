//! Who does the work of an answer?
//!
//! Searching and reading keep a processor busy, so they run on threads of their own, as many at a time as
//! there are processors: the runtime stays free to accept, refuse and stream. Whoever finds too long a
//! queue is told to come back.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fingerpost::index::Scratch;
use tokio::sync::Semaphore;

use super::problem::Problem;

/// So many may wait for each that is served; more would wait longer than anybody does.
const QUEUE: usize = 32;

/// Threads that answer, and what they need.
pub(super) struct Desk {
    seats: Semaphore,
    queue: Semaphore,
    /// As large as the library: used again and again.
    scratches: Mutex<Vec<Scratch>>,
    timeout: Duration,
}

impl Desk {
    pub(super) fn new(seats: usize, timeout: Duration) -> Self {
        Self {
            seats: Semaphore::new(seats),
            queue: Semaphore::new(seats * QUEUE),
            scratches: Mutex::default(),
            timeout,
        }
    }

    /// Has the work done, when it is its turn.
    pub(super) async fn run<T: Send + 'static>(
        self: &std::sync::Arc<Self>,
        work: impl FnOnce(&mut Scratch) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let Ok(_place) = self.queue.try_acquire() else {
            return Err(Problem::unavailable("too many requests are waiting", 1));
        };
        let worked = async {
            let seat = self.seats.acquire().await;
            // Nobody closes it.
            let seat = seat.map_err(|_| Problem::unavailable("the server is stopping", 1))?;
            seat.forget();
            let desk = std::sync::Arc::clone(self);
            // The seat is free when the work is done, also if whoever asked is gone by then.
            let done = tokio::task::spawn_blocking(move || {
                let _seat = Seat(&desk);
                let mut scratch = desk.scratches().pop().unwrap_or_default();
                let done = work(&mut scratch);
                desk.scratches().push(scratch);
                done
            });
            done.await.unwrap_or_else(|error| {
                tracing::error!("an answer was not finished: {error}");
                let status = axum::http::StatusCode::INTERNAL_SERVER_ERROR;
                Err(Problem::new(status, "something went wrong here; the log says what"))
            })
        };
        let late = |_| {
            let seconds = self.timeout.as_secs_f64();
            Problem::unavailable(format!("there was no answer within {seconds} s"), 1)
        };
        tokio::time::timeout(self.timeout, worked).await.map_err(late)?
    }

    /// How long an answer may take.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    fn scratches(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        self.scratches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives its seat back.
struct Seat<'a>(&'a Desk);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.seats.add_permits(1);
    }
}
