//! What is answered in another form than JSON made for the question?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::app::App;
use super::assets::{is_known, not_modified};
use super::endpoint::{Call, Nothing, json};
use super::problem::Problem;

/// The server lives, or can answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HealthAnswer {
    status: &'static str,
    /// Why the atlas cannot be reached now: the state that was fetched last answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    away: Option<String>,
}

/// `GET /healthz`.
pub(super) async fn healthz() -> Response {
    json(StatusCode::OK, &HealthAnswer { status: "ok", away: None })
}

/// `GET /readyz`.
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Response {
    match app.live.now() {
        Some(_) => json(StatusCode::OK, &HealthAnswer { status: "ok", away: app.live.away() }),
        None => app.not_yet().into_response(),
    }
}

/// The type that Prometheus wants.
pub(super) const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `GET /metrics`.
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let status = app.live.status().borrow().clone();
    let text = app.metrics.text(&status, app.jobs.running().is_some(), app.live.away().is_some());
    ([(CONTENT_TYPE, METRICS)], text).into_response()
}

/// `GET /v1/map`.
pub(super) async fn map(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some(open) = app.live.now() else { return app.not_yet().into_response() };
    let drawer = Arc::clone(&app);
    let map = app.desk.run(move |_| {
        let live = &drawer.live;
        let map = drawer.shelf.map(&open, live.library(), live.global())?;
        drawer.must_be_sound(&open)?;
        Ok(map)
    });
    let map = match map.await {
        Ok(map) => map,
        Err(problem) => return problem.into_response(),
    };
    if is_known(&headers, &map.etag) {
        return not_modified(&map.etag);
    }
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|accepted| accepted.to_str().ok());
    let is_packed = accepted.is_some_and(|accepted| {
        let wants = |part: &str| part.trim().starts_with("gzip") && !part.contains("q=0");
        accepted.split(',').any(wants)
    });
    let mut response = Response::new(Body::from(if is_packed { map.packed } else { map.plain }));
    let given = response.headers_mut();
    given.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    given.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    given.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_packed {
        given.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(etag) = HeaderValue::from_str(&map.etag) {
        given.insert(ETAG, etag);
    }
    response
}

/// Is there a report of the lab?
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LabAnswer {
    available: bool,
}

/// `GET /v1/lab`.
pub(super) fn lab(_: &mut Call<'_>, _: Nothing) -> Result<LabAnswer, Problem> {
    Ok(LabAnswer { available: report().is_some() })
}

/// Where the lab writes its report, seen from the folder that the server was started in.
const REPORTS: [&str; 2] = ["lab/report.html", "docs/lab/report.html"];

/// Bytes of a report at most.
const LONGEST: u64 = 64 << 20;

fn report() -> Option<PathBuf> {
    let found = REPORTS.iter().map(Path::new).find(|file| file.is_file());
    found.map(Path::to_path_buf)
}

/// Nothing in a report runs or is fetched; it is shown in a frame of our own page.
const SANDBOX: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'self'";

/// `GET /v1/lab/report.html`.
pub(super) async fn lab_report(State(app): State<Arc<App>>) -> Response {
    let read = app.desk.run(|_| {
        let file = report().ok_or_else(|| {
            let hint = "`fingerpost lab report` makes one";
            Problem::not_found("there is no report of the lab here").hint(hint)
        })?;
        let length = file.metadata().map_err(anyhow::Error::from)?.len();
        if length > LONGEST {
            return Err(Problem::unprocessable("the report is too long to be shown"));
        }
        Ok(std::fs::read(file).map_err(anyhow::Error::from)?)
    });
    match read.await {
        Ok(bytes) => {
            let kind = "text/html; charset=utf-8";
            ([(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, SANDBOX)], bytes).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}
