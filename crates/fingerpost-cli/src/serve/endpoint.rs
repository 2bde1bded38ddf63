//! What is one address of the server?
//!
//! An endpoint is everything about an address: how it is asked, who may, what it takes and answers, and the
//! function that does it. The table of them makes both the server and its description, so none can be
//! missing in either.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::{BytesRejection, RawPathParamsRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use fingerpost::index::Scratch;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;

use super::app::App;
use super::guard::Access;
use super::problem::Problem;
use crate::live::Open;
use crate::output;

/// One address and method.
pub(super) struct Endpoint {
    pub(super) method: Method,
    /// With `{id}` where something is named.
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) access: Access,
    /// Where there is a query: its schema.
    pub(super) query: Option<Describe>,
    /// Where something is sent: its schema.
    pub(super) body: Option<Describe>,
    pub(super) answer: Answer,
    /// Other statuses than those that every endpoint may answer, and when.
    pub(super) others: &'static [(u16, &'static str)],
    pub(super) handler: MethodRouter<Arc<App>>,
}

/// Gives a schema.
pub(super) type Describe = fn(&mut SchemaGenerator) -> Schema;

/// What is answered.
pub(super) enum Answer {
    /// JSON, with this status.
    Json(StatusCode, Describe),
    /// Text of this type.
    Text(&'static str),
}

/// A question, with all that answers it.
pub(super) struct Call<'a> {
    pub(super) app: &'a Arc<App>,
    /// What the path names.
    pub(super) id: &'a str,
    /// Does it carry the token?
    pub(super) may_edit: bool,
    /// The state that answers, from the beginning to the end.
    pub(super) now: Option<Arc<Open>>,
    pub(super) scratch: &'a mut Scratch,
}

impl Call<'_> {
    /// The state that answers, if there is one yet.
    pub(super) fn open(&self) -> Result<Arc<Open>, Problem> {
        self.now.clone().ok_or_else(|| self.app.not_yet())
    }
}

/// Where work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Beside other work.
    Desk,
    /// One after the other, however long it takes: what is written has to be compiled.
    Edits,
}

/// Characters of what is sent that are logged, where that is wanted.
const LOGGED: usize = 2000;

/// No query, or nothing sent.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Nothing {}

/// What answers.
type Work<P, A> = fn(&mut Call<'_>, P) -> Result<A, Problem>;

/// An endpoint that is read.
pub(super) fn get<P, A>(path: &'static str, summary: &'static str, work: Work<P, A>) -> Endpoint
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    A: Serialize + JsonSchema + Send + 'static,
{
    let handler = move |State(app): State<Arc<App>>, request: Request| async move {
        let asked = Asked::read(request).await;
        let worked = asked.and_then(|asked| {
            let Query(query) = Query::<P>::try_from_uri(&asked.uri)
                .map_err(|error| Problem::bad_request(error.body_text()))?;
            Ok((asked, query))
        });
        match worked {
            Ok((asked, query)) => app.answer(Line::Desk, asked, query, work, StatusCode::OK).await,
            Err(problem) => problem.into_response(),
        }
    };
    Endpoint {
        method: Method::GET,
        path,
        summary,
        access: Access::Read,
        query: describe::<P>(),
        body: None,
        answer: Answer::Json(StatusCode::OK, |schemas| schemas.subschema_for::<A>()),
        others: &[],
        handler: on(MethodFilter::GET, handler),
    }
}

/// An endpoint that something is sent to.
pub(super) fn send<B, A>(
    method: Method,
    path: &'static str,
    summary: &'static str,
    (line, status): (Line, StatusCode),
    work: Work<B, A>,
) -> Endpoint
where
    B: DeserializeOwned + JsonSchema + Send + 'static,
    A: Serialize + JsonSchema + Send + 'static,
{
    let handler = move |State(app): State<Arc<App>>, request: Request| async move {
        match Asked::read_with_body::<B>(&app, request).await {
            Ok((asked, body)) => app.answer(line, asked, body, work, status).await,
            Err(problem) => problem.into_response(),
        }
    };
    let filter = MethodFilter::try_from(method.clone()).expect("a usual method");
    Endpoint {
        method,
        path,
        summary,
        access: Access::Read,
        query: None,
        body: describe::<B>(),
        answer: Answer::Json(status, |schemas| schemas.subschema_for::<A>()),
        others: &[],
        handler: on(filter, handler),
    }
}

/// An endpoint with a handler of its own.
pub(super) fn raw(
    method: Method,
    path: &'static str,
    summary: &'static str,
    answer: Answer,
    handler: MethodRouter<Arc<App>>,
) -> Endpoint {
    Endpoint {
        method,
        path,
        summary,
        access: Access::Read,
        query: None,
        body: None,
        answer,
        others: &[],
        handler,
    }
}

impl Endpoint {
    /// Who may ask.
    pub(super) fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Also answers these.
    pub(super) fn others(self, others: &'static [(u16, &'static str)]) -> Self {
        Self { others, ..self }
    }
}

fn describe<T: JsonSchema>() -> Option<Describe> {
    has_fields::<T>().then_some(|schemas| schemas.subschema_for::<T>())
}

fn has_fields<T: JsonSchema>() -> bool {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let fields = schema.get("properties").and_then(|fields| fields.as_object());
    fields.is_some_and(|fields| !fields.is_empty())
}

/// A request, as far as every endpoint reads it.
pub(super) struct Asked {
    pub(super) uri: axum::http::Uri,
    pub(super) headers: HeaderMap,
    /// What the path names; empty where it names nothing.
    pub(super) id: String,
}

impl Asked {
    pub(super) async fn read(request: Request) -> Result<Self, Problem> {
        let (mut parts, _) = request.into_parts();
        Self::of(&mut parts).await
    }

    async fn of(parts: &mut axum::http::request::Parts) -> Result<Self, Problem> {
        let named: Result<RawPathParams, RawPathParamsRejection> =
            RawPathParams::from_request_parts(parts, &()).await;
        let named = named.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
        let id = named.iter().next().map_or(String::new(), |(_, value)| value.to_owned());
        Ok(Self { uri: parts.uri.clone(), headers: parts.headers.clone(), id })
    }

    /// What is sent is JSON, and says so: a form of another server's page cannot.
    async fn read_with_body<B: DeserializeOwned + JsonSchema>(
        app: &App,
        request: Request,
    ) -> Result<(Self, B), Problem> {
        let (mut parts, body) = request.into_parts();
        let asked = Self::of(&mut parts).await?;
        let kind = asked.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind =
            kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_lowercase());
        let request = Request::from_parts(parts, body);
        let bytes = tokio::time::timeout(app.desk.timeout(), Bytes::from_request(request, &()));
        let late = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the rest of it never came");
        let bytes: Result<Bytes, BytesRejection> = bytes.await.map_err(late)?;
        let bytes = bytes.map_err(|rejection| {
            let status = rejection.status();
            match status {
                StatusCode::PAYLOAD_TOO_LARGE => Problem::new(status, "what was sent is too long"),
                status => Problem::new(status, "what was sent could not be read"),
            }
        })?;
        if bytes.is_empty() {
            return Ok((asked, parse(b"{}")?));
        }
        if app.logs_requests {
            let sent: String = String::from_utf8_lossy(&bytes).chars().take(LOGGED).collect();
            tracing::info!(sent, "asked");
        }
        if kind.as_deref() != Some("application/json") {
            let detail = "what is sent must be JSON, with `Content-Type: application/json`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        Ok((asked, parse(&bytes)?))
    }
}

fn parse<B: DeserializeOwned>(bytes: &[u8]) -> Result<B, Problem> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        Category::Data => Problem::unprocessable(error.to_string()),
        _ => Problem::bad_request(format!("what was sent is not JSON: {error}")),
    })
}

/// A whole number, however JSON writes it: 10, 10.0 and 1e1 are the same.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let whole = number.as_u64().and_then(|number| usize::try_from(number).ok());
    let written = || {
        let number = number.as_f64().filter(|number| number.fract() == 0.0);
        number.filter(|number| (0.0..1e15).contains(number)).map(|number| number as usize)
    };
    let wrong = || D::Error::custom(format!("{number} is no whole number of 0 or more"));
    whole.or_else(written).ok_or_else(wrong)
}

/// An answer as JSON that a terminal may show too.
pub(super) fn json(status: StatusCode, answer: &impl Serialize) -> Response {
    match output::json_bytes(answer) {
        Ok(bytes) => of_bytes(status, bytes.into()),
        Err(error) => Problem::from(anyhow::Error::from(error)).into_response(),
    }
}

pub(super) fn of_bytes(status: StatusCode, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
