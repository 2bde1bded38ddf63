//! Where does the page come from?
//!
//! Its built files are part of the program. They are the same for everybody and tell nothing about a
//! library, so they are sent to whoever asks.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use rust_embed::{Embed, EmbeddedFile};

use super::problem::Problem;

/// The page's files, as they were built.
#[derive(Embed)]
#[folder = "../../web/dist"]
struct Files;

/// The page itself, whatever part of it an address means.
const INDEX: &str = "index.html";

/// Files whose names change with what is in them.
const HASHED: &str = "assets/";

/// What no endpoint answers: the page, one of its files, or nothing.
pub(super) async fn fallback(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let is_ours = ["v1/", "mcp"].iter().any(|start| path.starts_with(start)) || path == "v1";
    if is_ours || !(method == Method::GET || method == Method::HEAD) {
        let detail = format!("there is nothing at {method} /{path}");
        return Problem::not_found(detail)
            .hint("/openapi.json lists what there is")
            .into_response();
    }
    match Files::get(path) {
        Some(file) => send(path, &file, &headers),
        // A part of the page that is not there is not the page.
        None if path.starts_with(HASHED) => {
            Problem::not_found(format!("the page has no file /{path}")).into_response()
        }
        None => match Files::get(INDEX) {
            Some(file) => send(INDEX, &file, &headers),
            None => Problem::not_found("this program was built without its page").into_response(),
        },
    }
}

fn send(path: &str, file: &EmbeddedFile, headers: &HeaderMap) -> Response {
    let hash: String =
        file.metadata.sha256_hash()[..16].iter().map(|b| format!("{b:02x}")).collect();
    let etag = format!("\"{hash}\"");
    if is_known(headers, &etag) {
        return not_modified(&etag);
    }
    let mut response = Response::new(Body::from(file.data.clone().into_owned()));
    let given = response.headers_mut();
    given.insert(CONTENT_TYPE, HeaderValue::from_static(kind(path)));
    let caching = match path.starts_with(HASHED) {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    given.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        given.insert(ETAG, etag);
    }
    response
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "webmanifest" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Has whoever asks the same already?
pub(super) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    known.is_some_and(|known| {
        known
            .split(',')
            .map(|tag| tag.trim().trim_start_matches("W/"))
            .any(|tag| tag == etag || tag == "*")
    })
}

/// The same as before.
pub(super) fn not_modified(etag: &str) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    if let Ok(etag) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_part_of_the_program() {
        assert!(Files::get(INDEX).is_some());
    }

    #[test]
    fn what_is_known_is_not_sent_again() {
        let headers = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, value.parse().unwrap_or(HeaderValue::from_static("")));
            headers
        };
        assert!(is_known(&headers("\"a\", W/\"b\""), "\"b\""));
        assert!(is_known(&headers("*"), "\"b\""));
        assert!(!is_known(&headers("\"a\""), "\"b\""));
        assert!(!is_known(&HeaderMap::new(), "\"b\""));
    }
}
