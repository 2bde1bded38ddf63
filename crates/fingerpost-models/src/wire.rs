//! What do all our requests over HTTP have in common?
//!
//! The client is `ureq`: it blocks, so it needs no runtime, and trusts the certificates that this
//! machine trusts. Keys come from environment variables, and are never printed or kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

use crate::window::first_characters;

/// A reply larger than this is not one to our requests.
pub(crate) const MAX_REPLY: u64 = 1 << 28;

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

/// What follows `://` in an address that can be used as a base.
pub(crate) fn place(base_url: &str) -> Result<&str, String> {
    let Some((_, place)) = base_url.split_once("://") else {
        return Err(format!("'{base_url}' is no address; it looks like https://host/v1"));
    };
    if place.split('/').next().is_some_and(|authority| authority.contains('@')) {
        let advice = "leave the password out of the address; name the variable that holds the key";
        return Err(advice.into());
    }
    Ok(place.trim_end_matches('/'))
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
        .timeout_global(timeout)
        .timeout_connect(Some(Duration::from_secs(20)))
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
        assert_eq!(place("https://host/v1/"), Ok("host/v1"));
        assert!(place("host/v1").is_err());
        assert!(place("https://me:secret@host/v1").unwrap_err().contains("password"));
        assert!(!place("https://me:secret@host/v1").unwrap_err().contains("secret"));
    }
}
