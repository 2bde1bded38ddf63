//! What is told to whoever listens, as it happens? (server-sent events)

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

use super::app::App;
use super::jobs::{JobAnswer, JobState};
use super::problem::Problem;
use crate::output;

/// Between two events about the same thing.
const PAUSE: Duration = Duration::from_millis(100);

/// Which state answers from now on.
#[derive(Debug, PartialEq, Serialize)]
struct Generation {
    generation: u64,
    skills: usize,
    stale: bool,
}

/// A state that answers, and compilations under way.
pub(super) async fn library(State(app): State<Arc<App>>) -> Response {
    let Ok(listener) = Arc::clone(&app.listeners).try_acquire_owned() else { return too_many() };
    let mut status = app.live.status();
    stream(&app, move |out, mut stopping| async move {
        let _listener = listener;
        let (mut last, mut working) = (None, None);
        loop {
            let now = status.borrow_and_update().clone();
            let generation =
                Generation { generation: now.generation, skills: now.skills, stale: now.stale };
            if now.generation > 0 && last.as_ref() != Some(&generation) {
                out.send(event("generation", &generation)).await?;
                last = Some(generation);
            }
            if working != now.compiling {
                out.send(event("compiling", &now.compiling)).await?;
                working = now.compiling;
            }
            tokio::select! {
                changed = status.changed() => if changed.is_err() { return Ok(()) },
                _ = stopping.wait_for(|stopping| *stopping) => return Ok(()),
                () = out.closed() => return Ok(()),
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// How far a job is. Each event is all that is known, so whoever lost some has lost nothing.
pub(super) async fn job(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let job = match app.jobs.find(&id) {
        Ok(job) => job,
        Err(problem) => return problem.into_response(),
    };
    let Ok(listener) = Arc::clone(&app.listeners).try_acquire_owned() else { return too_many() };
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let mut state = job.watch();
    stream(&app, move |out, mut stopping| async move {
        let _listener = listener;
        let mut seen = seen;
        loop {
            state.borrow_and_update();
            let answer = job.answer();
            let id = event_id(&answer);
            let has_ended = answer.state != JobState::Running;
            if seen.as_ref() != Some(&id) || has_ended {
                let name = if has_ended { "end" } else { "progress" };
                out.send(event(name, &answer).map(|event| event.id(&id))).await?;
                seen = Some(id);
            }
            if has_ended {
                return Ok(());
            }
            tokio::select! {
                changed = state.changed() => if changed.is_err() { return Ok(()) },
                _ = stopping.wait_for(|stopping| *stopping) => return Ok(()),
                () = out.closed() => return Ok(()),
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// The same for the same state of a job.
fn event_id(answer: &JobAnswer) -> String {
    let JobAnswer { job, step, done, calls, state, .. } = answer;
    format!("{job}-{state:?}-{step}-{done}-{calls}").to_lowercase()
}

type Sent = Result<Event, Infallible>;

fn event(name: &str, data: &impl Serialize) -> Sent {
    let data = output::json_bytes(data).unwrap_or_default();
    Ok(Event::default().event(name).data(String::from_utf8_lossy(&data)))
}

/// Nobody reads any more.
struct Gone;

impl<T> From<mpsc::error::SendError<T>> for Gone {
    fn from(_: mpsc::error::SendError<T>) -> Self {
        Self
    }
}

fn stream<F, W>(app: &App, tell: W) -> Response
where
    F: Future<Output = Result<(), Gone>> + Send + 'static,
    W: FnOnce(mpsc::Sender<Sent>, watch::Receiver<bool>) -> F,
{
    let (out, events) = mpsc::channel(1);
    tokio::spawn(tell(out, app.stopping.clone()));
    Sse::new(ReceiverStream::new(events)).keep_alive(KeepAlive::default()).into_response()
}

fn too_many() -> Response {
    Problem::unavailable("too many listen already", 10).into_response()
}
