//! What does every endpoint share?

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use super::desk::Desk;
use super::endpoint::{Asked, Call, Line, json};
use super::guard::Guard;
use super::jobs::Jobs;
use super::metrics::Metrics;
use super::problem::{Problem, is_damage};
use super::shelf::Shelf;
use crate::live::{Live, Open};
use crate::llm::ModelArgs;

/// The server, but for its sockets.
pub(super) struct App {
    pub(super) live: Arc<Live>,
    pub(super) guard: Guard,
    /// Requests at a time.
    pub(super) requests: Semaphore,
    pub(super) desk: Arc<Desk>,
    pub(super) edits: Arc<Desk>,
    pub(super) jobs: Jobs,
    /// Who may listen to events: each holds a connection for as long as it likes.
    pub(super) listeners: Arc<Semaphore>,
    pub(super) metrics: Metrics,
    pub(super) shelf: Shelf,
    /// The model that whoever started the server named.
    pub(super) model: ModelArgs,
    /// Bytes that may be sent with a request.
    pub(super) max_body: usize,
    /// Becomes true when the server is to end.
    pub(super) stopping: watch::Receiver<bool>,
    /// Are requests logged with what they say?
    pub(super) logs_requests: bool,
}

impl App {
    /// Why nothing can be answered yet.
    pub(super) fn not_yet(&self) -> Problem {
        match &self.live.status().borrow().failed {
            Some(why) => Problem::unavailable(why.clone(), 10),
            None => Problem::unavailable("the library is being compiled for the first time", 1),
        }
    }

    /// Has a question answered at the desk.
    pub(super) async fn answer<P, A>(
        self: &Arc<Self>,
        line: Line,
        asked: Asked,
        given: P,
        work: fn(&mut Call<'_>, P) -> Result<A, Problem>,
        status: StatusCode,
    ) -> Response
    where
        P: Send + 'static,
        A: Serialize + Send + 'static,
    {
        let app = Arc::clone(self);
        let may_edit = self.guard.may_edit(&asked.headers);
        let desk = match line {
            Line::Desk => &self.desk,
            Line::Edits => &self.edits,
        };
        let worked = desk.run(move |scratch| {
            let now = app.live.now();
            let mut call = Call { app: &app, id: &asked.id, may_edit, now, scratch };
            let answer = work(&mut call, given)?;
            if let Some(open) = &call.now {
                app.must_be_sound(open)?;
            }
            Ok(json(status, &answer))
        });
        worked.await.unwrap_or_else(IntoResponse::into_response)
    }

    /// What is damaged reads as nothing, so an answer counts only if all that it read was sound.
    pub(super) fn must_be_sound(&self, open: &Open) -> Result<(), Problem> {
        open.reading.snapshot.sound().map_err(|error| {
            let error = anyhow::Error::from(error);
            if is_damage(&error) {
                self.live.heal();
            }
            error.into()
        })
    }
}
