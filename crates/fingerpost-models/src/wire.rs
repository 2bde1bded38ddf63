//! What do all our requests over HTTP have in common?
//!
//! The client is `ureq`: it blocks, so it needs no runtime, and trusts the certificates that this
//! machine trusts. Keys come from environment variables, and are never printed or kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fingerpost::chat::public_address;
use ureq::Body;
use ureq::http::Response;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

use crate::window::first_characters;

/// Bytes of any reply that says something about a request, or a batch.
pub(crate) const MAX_REPLY: u64 = 4 << 20;

/// Never printed.
pub(crate) struct Secret(String);

impl Secret {
    /// The key in an environment variable; the error says which one holds none.
    pub(crate) fn from_variable(variable: &str) -> Result<Self, String> {
        match std::env::var(variable) {
            Ok(key) if !key.trim().is_empty() => Ok(Self(key.trim().to_owned())),
            _ => Err(format!("the environment variable {variable} holds no key; set it")),
        }
    }

    /// For the one header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Some servers repeat the key in their complaints.
    pub(crate) fn hide(&self, message: String) -> String {
        message.replace(self.0.as_str(), "[key]")
    }
}

/// Where a server is. What follows a question mark may be a key: it is sent, and never shown.
pub(crate) struct Address {
    root: String,
    query: Option<String>,
}

/// Shorter values of a query are no secrets, and hiding them would garble what is told.
const SHORTEST_SECRET: usize = 6;

impl Address {
    /// An address that can be used as a base.
    pub(crate) fn of(base_url: &str) -> Result<Self, String> {
        let url = base_url.split('#').next().unwrap_or_default();
        let (root, query) = match url.split_once('?') {
            Some((root, query)) => (root, Some(query.to_owned()).filter(|query| !query.is_empty())),
            None => (url, None),
        };
        let Some((_, place)) = root.split_once("://") else {
            let shown = public_address(base_url);
            return Err(format!("'{shown}' is no address; it looks like https://host/v1"));
        };
        if place.split('/').next().is_some_and(|authority| authority.contains('@')) {
            let advice =
                "leave the password out of the address; name the variable that holds the key";
            return Err(advice.into());
        }
        Ok(Self { root: root.trim_end_matches('/').to_owned(), query })
    }

    /// Host and path, which tell servers apart.
    pub(crate) fn place(&self) -> &str {
        self.root.split_once("://").map_or(&self.root, |(_, place)| place)
    }

    /// The host alone, to be named to people.
    pub(crate) fn host(&self) -> &str {
        self.place().split('/').next().unwrap_or_default()
    }

    /// Where a request for this path goes.
    pub(crate) fn to(&self, path: &str) -> String {
        let joint = if path.contains('?') { '&' } else { '?' };
        match &self.query {
            Some(query) => format!("{}/{path}{joint}{query}", self.root),
            None => format!("{}/{path}", self.root),
        }
    }

    /// The same, as it may be shown.
    pub(crate) fn shown(&self, path: &str) -> String {
        public_address(&format!("{}/{path}", self.root))
    }

    /// Some errors repeat the whole address, and some servers the values in it.
    pub(crate) fn hide(&self, mut message: String) -> String {
        let query = self.query.as_deref().unwrap_or_default();
        let values = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1));
        let secrets = [query].into_iter().chain(values);
        for secret in secrets.filter(|secret| secret.len() >= SHORTEST_SECRET) {
            message = message.replace(secret, "[key]");
        }
        message
    }
}

/// Why a reply could not be read to its end.
pub(crate) enum Unread {
    /// It is longer than any answer can be.
    TooLong(String),
    /// It broke off, or took too long.
    BrokeOff(String),
}

/// The bytes of a reply, if they are not too many.
pub(crate) fn read(reply: &mut Response<Body>, most: u64) -> Result<Vec<u8>, Unread> {
    reply.body_mut().with_config().limit(most).read_to_vec().map_err(|error| match error {
        ureq::Error::BodyExceedsLimit(_) => {
            let size = most as f64 / f64::from(1 << 20);
            Unread::TooLong(format!(
                "the answer does not end within {size:.1} MiB; it was not read"
            ))
        }
        error => Unread::BrokeOff(format!("the answer broke off: {error}")),
    })
}

/// A client that blocks, reads every status as an answer, and trusts what this machine trusts.
pub(crate) fn agent(timeout: Option<Duration>) -> ureq::Agent {
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let config = ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(timeout.is_none())
        // A key goes to the server it was given for, wherever that would send us.
        .max_redirects(if timeout.is_some() { 0 } else { 10 })
        .timeout_global(timeout)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(timeout.unwrap_or(Duration::from_secs(60))))
        .user_agent(concat!("fingerpost/", env!("CARGO_PKG_VERSION")));
    config.build().new_agent()
}

/// What a server says of a failure, wherever it puts it.
pub(crate) fn complaint(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let places = ["/error/message", "/message", "/detail", "/error"];
    let said = places.iter().find_map(|place| value.pointer(place)?.as_str());
    first_characters(said.unwrap_or(text.trim()), 500).to_owned()
}

/// How long a server asks us to wait: milliseconds, seconds or a date.
pub(crate) fn retry_after(headers: &ureq::http::HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name| text(name)?.parse::<f64>().ok();
    if let Some(ms) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text("retry-after")?).ok()?;
    // A date that has passed means now.
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use ureq::http::HeaderMap;

    use super::*;

    fn after(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        retry_after(&headers)
    }

    #[test]
    fn waits_are_numbers_or_dates() {
        assert_eq!(after("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(after("retry-after", "7"), Some(Duration::from_secs(7)));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
        let wait = after("retry-after", &soon).unwrap();
        assert!(wait > Duration::from_secs(25) && wait <= Duration::from_secs(30), "{wait:?}");
        let past = after("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(past, Some(Duration::ZERO));
        assert_eq!(after("retry-after", "soon"), None);
        assert_eq!(after("retry-after", "-3"), None);
    }

    #[test]
    fn addresses_are_checked() {
        let place = |url| Address::of(url).map(|address| address.place().to_owned());
        assert_eq!(place("https://host/v1/"), Ok("host/v1".into()));
        assert_eq!(place("https://host/v1?key=abc@def"), Ok("host/v1".into()));
        assert!(place("host/v1?key=secret").is_err_and(|error| !error.contains("secret")));
        assert!(place("https://me:secret@host/v1").unwrap_err().contains("password"));
        assert!(!place("https://me:secret@host/v1").unwrap_err().contains("secret"));
    }

    #[test]
    fn a_query_is_sent_and_not_shown() {
        let address = Address::of("https://host/v1/?version=1&key=secret#x").unwrap();
        assert_eq!(address.to("files"), "https://host/v1/files?version=1&key=secret");
        assert_eq!(
            address.to("batches?limit=1"),
            "https://host/v1/batches?limit=1&version=1&key=secret"
        );
        assert_eq!(address.shown("batches?limit=1"), "https://host/v1/batches");
        assert_eq!((address.host(), address.hide("no secret".into())), ("host", "no [key]".into()));
        assert_eq!(Address::of("http://h:1/v1").unwrap().to("a"), "http://h:1/v1/a");
    }
}
