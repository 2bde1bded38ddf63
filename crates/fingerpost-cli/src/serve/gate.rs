//! What does every request pass through?

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::agents;
use super::app::App;
use super::guard::{Access, Pages};
use super::problem::Problem;

/// What the page may do: nothing that does not come from here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Headers of every answer; one that an answer has itself stays.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// No answer leaves without its headers.
pub(super) async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    // A report says itself who may frame it.
    if !headers.contains_key(CONTENT_SECURITY_POLICY) {
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Admits a request, if there is room, and counts it.
pub(super) async fn pass(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let _under_way = app.metrics.begin();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let uri = app.logs_requests.then(|| request.uri().to_string());
    let pages = match request.uri().path() {
        // Agents listen with GET, and no page of the web is one.
        agents::PATH => Pages::Ours,
        _ if method.is_safe() => Pages::Any,
        _ => Pages::Ours,
    };
    let admitted = app.guard.admit(pages, request.headers(), request.uri().authority());
    let response = match admitted {
        Err(problem) => problem.into_response(),
        Ok(()) => match app.requests.try_acquire() {
            Ok(_room) => next.run(request).await,
            Err(_) => {
                app.metrics.shed();
                Problem::unavailable("too many requests at a time", 1).into_response()
            }
        },
    };
    let took = start.elapsed();
    let route = route.as_ref().map_or("page", MatchedPath::as_str);
    let status = response.status().as_u16();
    app.metrics.count(known(&method), route, status, took);
    let millis = (took.as_secs_f64() * 1e6).round() / 1e3;
    match uri {
        Some(uri) => tracing::info!(%method, route, uri, status, millis, "answered"),
        None => tracing::info!(%method, route, status, millis, "answered"),
    }
    response
}

/// Methods may be any word, and each would be counted for itself.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

/// Lets through what may be asked.
pub(super) async fn permit(
    State((app, access)): State<(Arc<App>, Access)>,
    request: Request,
    next: Next,
) -> Response {
    match app.guard.permit(access, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Where an address is asked in another way than it can be.
pub(super) async fn not_allowed(method: Method, uri: Uri) -> Response<Body> {
    let detail = format!("{} cannot be asked with {method}", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail).into_response()
}
