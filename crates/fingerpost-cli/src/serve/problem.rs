//! What does the server say when it does not answer? (RFC 9457)

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use fingerpost::page::check::Failure;
use fingerpost::sections::FileError;
use fingerpost::snapshot::SnapshotError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::{self, UsageError, plain};

/// The type of its body.
pub(super) const PROBLEM_JSON: &str = "application/problem+json";

/// Why there is no answer. Small, since every answer could be one.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    said: Box<ProblemAnswer>,
    /// When to try again, in seconds.
    retry_after: Option<u64>,
}

/// Why there is no answer, and what to do about it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct ProblemAnswer {
    /// Always `about:blank`: the status says which kind it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// What the status means.
    title: &'static str,
    /// The status.
    status: u16,
    /// What is wrong.
    detail: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The rules that a page breaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<Failure>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let said = ProblemAnswer {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Problem"),
            status: status.as_u16(),
            detail: plain(&detail.into()).into_owned(),
            hint: None,
            checks: Vec::new(),
        };
        Self { said: Box::new(said), retry_after: None }
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// Not now; in so many seconds, perhaps.
    pub(super) fn unavailable(detail: impl Into<String>, seconds: u64) -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, detail);
        Self { retry_after: Some(seconds), ..problem }
    }

    /// The way out.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.said.hint = Some(hint.into());
        self
    }

    /// The rules that a page breaks.
    pub(super) fn checks(mut self, checks: Vec<Failure>) -> Self {
        self.said.checks = checks;
        self
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.said.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status(), self.retry_after);
        let mut response = (status, Json(self.said)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        let message = format!("{error:#}");
        let problem = if error.chain().any(|cause| cause.is::<UsageError>()) {
            Self::unprocessable(message)
        } else if is_damage(&error) {
            Self::unavailable(format!("{message}; it is being made again"), 2)
        } else {
            tracing::error!("{}", plain(&message));
            Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
        };
        match output::hint(&error) {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

impl From<SnapshotError> for Problem {
    fn from(error: SnapshotError) -> Self {
        anyhow::Error::from(error).into()
    }
}

/// Is a file of the atlas not what was written?
pub(super) fn is_damage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<FileError>())
}
