//! What can the server be asked?
//!
//! One table. The server is built from it, and so is its description: what is not here is not there.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get as on_get};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use super::app::App;
use super::endpoint::{Answer, Endpoint, Line, get, raw, send};
use super::guard::Access;
use super::jobs::JobAnswer;
use super::problem::Problem;
use super::{
    agents, assets, edit, events, find, gate, library, openapi, plain, skills, work, workers,
};

/// Smaller answers are sent as they are.
const PACKED_FROM: u64 = 1024;

const NO_SKILL: &[(u16, &str)] = &[(404, "The library has no such skill.")];
const EDITED: &[(u16, &str)] = &[
    (404, "The library has no such skill."),
    (409, "The page is not one that this can be done with."),
];
const NO_JOB: &[(u16, &str)] = &[(404, "There is no such job.")];

/// Every address.
pub(super) fn table() -> Vec<Endpoint> {
    let (get_method, put, post) = (Method::GET, Method::PUT, Method::POST);
    let now = (Line::Desk, StatusCode::OK);
    let after_others = (Line::Edits, StatusCode::OK);
    let of_health = || Answer::Json(StatusCode::OK, |s| s.subschema_for::<plain::HealthAnswer>());
    vec![
        raw(
            get_method.clone(),
            "/healthz",
            "Does the server live?",
            of_health(),
            on_get(plain::healthz),
        )
        .access(Access::Open),
        raw(get_method.clone(), "/readyz", "Can it answer?", of_health(), on_get(plain::readyz)),
        raw(
            get_method.clone(),
            "/metrics",
            "How busy it is, in the words of Prometheus.",
            Answer::Text(plain::METRICS),
            on_get(plain::metrics),
        ),
        raw(
            get_method.clone(),
            "/openapi.json",
            "This description.",
            Answer::Json(StatusCode::OK, |_| schemars::json_schema!({"type": "object"})),
            on_get(openapi::answer),
        ),
        get("/v1/library", "What it answers from, and how that stands.", library::library),
        get("/v1/search", "The skills that fit a request best.", find::search),
        send(
            post.clone(),
            "/v1/search",
            "The same, with the request in the body.",
            now,
            find::search_body,
        ),
        get(
            "/v1/route",
            "The skill to use for a request, or none, and why not the others.",
            find::route,
        ),
        send(
            post.clone(),
            "/v1/route",
            "The same, with the request in the body.",
            now,
            find::route_body,
        ),
        get("/v1/explain", "How each candidate of a request came to its place.", find::explain)
            .others(NO_SKILL),
        get("/v1/skills", "The skills of the library, in the order of their ids.", skills::skills),
        get("/v1/skills/{id}", "A skill, with what its author wrote.", skills::skill)
            .others(NO_SKILL),
        get("/v1/pages", "The pages of the library.", skills::pages),
        get(
            "/v1/pages/{id}",
            "A skill's page, and where each of its sentences came from.",
            skills::page,
        )
        .others(NO_SKILL),
        send(put, "/v1/pages/{id}", "Writes a page; it is pinned then.", after_others, edit::put)
            .access(Access::Write)
            .others(EDITED),
        send(
            post.clone(),
            "/v1/pages/{id}/pin",
            "Approves a page: no writer changes it any more.",
            after_others,
            edit::pin,
        )
        .access(Access::Write)
        .others(EDITED),
        send(
            post.clone(),
            "/v1/pages/{id}/unpin",
            "Gives a page back to the writer.",
            after_others,
            edit::unpin,
        )
        .access(Access::Write)
        .others(EDITED),
        send(
            post.clone(),
            "/v1/pages/{id}/rewrite",
            "Lets the local writer write a page again.",
            after_others,
            edit::rewrite,
        )
        .access(Access::Write)
        .others(EDITED),
        get(
            "/v1/review",
            "What the checks found on all pages, and the worst of them.",
            skills::review,
        ),
        get("/v1/neighbors/{id}", "Who could be taken for a skill.", skills::neighbors)
            .others(NO_SKILL),
        get("/v1/losses/{id}", "Which requests a skill loses, and to whom.", skills::losses)
            .others(NO_SKILL),
        get(
            "/v1/compare",
            "What distinguishes two skills, and who wins which judged request.",
            skills::compare,
        )
        .others(NO_SKILL),
        get("/v1/graph/{id}", "Who sends which requests to whom, around a skill.", skills::graph)
            .others(NO_SKILL),
        raw(
            get_method.clone(),
            "/v1/map",
            "The whole library from above, in columns.",
            Answer::Json(StatusCode::OK, |s| s.subschema_for::<fingerpost::map::MapAnswer>()),
            on_get(plain::map),
        )
        .others(&[(304, "It is as it was.")]),
        get(
            "/v1/doctor",
            "What was loaded, from where, and what is wrong with it.",
            skills::doctor,
        ),
        get(
            "/v1/ledger",
            "What was asked of which model, by day, and what it cost.",
            skills::ledger,
        ),
        get(
            "/v1/workers",
            "Who writes which pages with a model, on all machines that share a database.",
            workers::workers,
        ),
        send(
            post,
            "/v1/compile",
            "Compiles the library, as a job.",
            (Line::Desk, StatusCode::ACCEPTED),
            work::compile,
        )
        .access(Access::Write)
        .others(&[(409, "Another job runs.")]),
        get("/v1/jobs", "All jobs since the start, the newest first.", work::jobs),
        get("/v1/jobs/{job}", "How far a job is.", work::job).others(NO_JOB),
        raw(
            Method::DELETE,
            "/v1/jobs/{job}",
            "Stops a job after the calls under way.",
            Answer::Json(StatusCode::ACCEPTED, |s| s.subschema_for::<JobAnswer>()),
            delete(work::stop),
        )
        .access(Access::Write)
        .others(NO_JOB),
        raw(
            get_method.clone(),
            "/v1/jobs/{job}/events",
            "How far a job is, as it happens: `progress`, and at last `end`.",
            Answer::Text("text/event-stream"),
            on_get(events::job),
        )
        .others(NO_JOB),
        raw(
            get_method.clone(),
            "/v1/events",
            "Which state answers (`generation`), and compilations under way (`compiling`), as it happens.",
            Answer::Text("text/event-stream"),
            on_get(events::library),
        ),
        get("/v1/lab", "Is there a report of the lab?", plain::lab),
        raw(
            get_method,
            "/v1/lab/report.html",
            "The report of the lab.",
            Answer::Text("text/html"),
            on_get(plain::lab_report),
        )
        .others(&[(404, "There is none.")]),
    ]
}

/// The server, from the table.
pub(super) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for endpoint in table() {
        let permit = from_fn_with_state((Arc::clone(app), endpoint.access), gate::permit);
        router = router.route(endpoint.path, endpoint.handler.layer(permit));
    }
    let permit = from_fn_with_state((Arc::clone(app), Access::Read), gate::permit);
    let agents = Router::new().route_service(agents::PATH, agents::service(app)).layer(permit);
    router = router.merge(agents);
    let packed = SizeAbove::new(PACKED_FROM).and(NotForContentType::SSE);
    router
        .method_not_allowed_fallback(gate::not_allowed)
        .fallback(assets::fallback)
        .layer(DefaultBodyLimit::max(app.max_body))
        .layer(CompressionLayer::new().gzip(true).compress_when(packed))
        .layer(CatchPanicLayer::custom(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            let problem = Problem::new(status, "something went wrong here; the log says what");
            axum::response::IntoResponse::into_response(problem)
        }))
        .layer(from_fn_with_state(Arc::clone(app), gate::pass))
        .layer(from_fn(gate::secure))
        .with_state(Arc::clone(app))
}
