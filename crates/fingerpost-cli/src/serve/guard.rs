//! Who may ask what?
//!
//! A page of the web can make a browser send requests to this machine, and a name of its own can be made to
//! lead here (DNS rebinding). So the name that a request was sent to must be one of ours, and what writes
//! must come from our own page. The token tells the person who started the server from everybody else
//! who can reach it: other users of the machine, or of the network.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use anyhow::Context;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use subtle::ConstantTimeEq;

use super::problem::Problem;
use crate::output::UsageError;

/// What a request needs before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Nothing: it tells nothing about the library.
    Open,
    /// The token, where others than this machine can ask.
    Read,
    /// The token.
    Write,
}

/// Which pages of the web may have sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// Any: it is read, and no other page gets to see the answer.
    Any,
    /// Our own.
    Ours,
}

/// Holds the token and the names that we go by.
pub(super) struct Guard {
    token: Token,
    hosts: BTreeSet<String>,
    /// Can nobody but this machine reach us?
    is_local: bool,
}

/// What proves that a request comes from the person who started the server.
pub(super) struct Token {
    /// Of digests, which have one length, comparing tells nothing about the token's.
    digest: blake3::Hash,
    text: String,
    /// Was it made for this run?
    pub(super) is_fresh: bool,
}

/// The environment variable that holds the token.
const VARIABLE: &str = "FINGERPOST_TOKEN";

/// Characters of a token at least, so that it cannot be guessed.
const LEAST: usize = 16;

impl Token {
    /// The token named by a file or the environment; a fresh one if none is, and only this machine can ask.
    pub(super) fn open(file: Option<&Path>, is_local: bool) -> anyhow::Result<Self> {
        let given = match file {
            Some(file) => Some((
                std::fs::read_to_string(file)
                    .with_context(|| format!("cannot read the token in {}", file.display()))?,
                file.display().to_string(),
            )),
            None => std::env::var(VARIABLE).ok().map(|text| (text, VARIABLE.to_owned())),
        };
        let Some((text, place)) = given else {
            if !is_local {
                let message = format!(
                    "whoever reaches this machine could ask: name a token with --token-file or {VARIABLE}, or leave --host out"
                );
                return Err(UsageError::new(message).into());
            }
            return Self::fresh();
        };
        let text = text.trim();
        let is_plain = text.chars().all(|c| c.is_ascii_graphic());
        if text.len() < LEAST || !is_plain {
            let message = format!(
                "the token in {place} must have at least {LEAST} characters of ASCII, and no gap"
            );
            return Err(UsageError::new(message).into());
        }
        Ok(Self::of(text.to_owned(), false))
    }

    fn fresh() -> anyhow::Result<Self> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).context("the system gives no random numbers")?;
        let text = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self::of(text, true))
    }

    fn of(text: String, is_fresh: bool) -> Self {
        Self { digest: blake3::hash(text.as_bytes()), text, is_fresh }
    }

    /// For the page's address, and for nothing else.
    pub(super) fn reveal(&self) -> &str {
        &self.text
    }

    fn is(&self, given: &str) -> bool {
        let given = blake3::hash(given.as_bytes());
        given.as_bytes().ct_eq(self.digest.as_bytes()).into()
    }
}

impl Guard {
    pub(super) fn new(token: Token, allowed: &[String], bound: IpAddr) -> Self {
        let names = ["localhost"].into_iter().chain(allowed.iter().map(String::as_str));
        let hosts = names.map(|name| name.trim_end_matches('.').to_lowercase()).collect();
        Self { token, hosts, is_local: bound.is_loopback() }
    }

    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    /// Does a request carry the token?
    pub(super) fn may_edit(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        given.is_some_and(|given| self.token.is(given))
    }

    /// Was it sent to us, and from our own page?
    pub(super) fn admit(
        &self,
        pages: Pages,
        headers: &HeaderMap,
        target: Option<&Authority>,
    ) -> Result<(), Problem> {
        let host = match (target, headers.get(HOST)) {
            (Some(target), _) => target.as_str().to_owned(),
            (None, Some(host)) => host.to_str().unwrap_or_default().to_owned(),
            (None, None) => String::new(),
        };
        let Ok(host) = host.parse::<Authority>() else {
            return Err(Problem::bad_request("the request names no host that it is sent to"));
        };
        if !self.is_ours(host.host()) {
            let detail = format!("this server does not go by the name '{}'", host.host());
            let hint = "name it with --allowed-host where the server is started";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail).hint(hint));
        }
        let Some(origin) = headers.get(ORIGIN).filter(|_| pages == Pages::Ours) else {
            return Ok(());
        };
        let origin = origin.to_str().ok().and_then(|origin| {
            let (scheme, rest) = origin.split_once("://")?;
            ["http", "https"].contains(&scheme).then_some((scheme, rest.parse::<Authority>().ok()?))
        });
        let is_same = origin.is_some_and(|(scheme, origin)| {
            let default = if scheme == "https" { 443 } else { 80 };
            let port = |of: &Authority| of.port_u16().unwrap_or(default);
            origin.host().eq_ignore_ascii_case(host.host()) && port(&origin) == port(&host)
        });
        if !is_same {
            let detail = "this request comes from the page of another server";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        Ok(())
    }

    /// May this request ask that?
    pub(super) fn permit(&self, access: Access, headers: &HeaderMap) -> Result<(), Problem> {
        let needs = match access {
            Access::Open => false,
            Access::Read => !self.is_local,
            Access::Write => true,
        };
        if !needs || self.may_edit(headers) {
            return Ok(());
        }
        let detail = "this needs the server's token, as `Authorization: Bearer TOKEN`";
        let hint =
            "whoever started the server has it: `fingerpost serve --open` opens the page with it";
        Err(Problem::new(StatusCode::UNAUTHORIZED, detail).hint(hint))
    }

    /// A number cannot be made to lead elsewhere; off this machine we do not know all of ours.
    fn is_ours(&self, host: &str) -> bool {
        let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match number {
            Ok(number) => number.is_loopback() || !self.is_local || self.hosts.contains(host),
            Err(_) => self.hosts.contains(&host.trim_end_matches('.').to_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(bound: &str, allowed: &[&str]) -> Guard {
        let allowed: Vec<String> = allowed.iter().map(|&name| name.to_owned()).collect();
        Guard::new(Token::of("0123456789abcdef".into(), false), &allowed, bound.parse().unwrap())
    }

    fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn admits(guard: &Guard, pages: Pages, given: &[(&'static str, &str)]) -> bool {
        guard.admit(pages, &headers(given), None).is_ok()
    }

    #[test]
    fn only_our_names_are_answered() {
        let local = guard("127.0.0.1", &["skills.example"]);
        for host in ["127.0.0.1:7878", "localhost", "LOCALHOST:1", "[::1]:80", "skills.example"] {
            assert!(admits(&local, Pages::Any, &[("host", host)]), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "a b", "localhost.evil"]
        {
            assert!(!admits(&local, Pages::Any, &[("host", host)]), "{host}");
        }
        assert!(!admits(&local, Pages::Any, &[]));
        let open = guard("0.0.0.0", &[]);
        assert!(admits(&open, Pages::Any, &[("host", "10.0.0.1:7878")]));
        assert!(!admits(&open, Pages::Any, &[("host", "evil.example")]));
    }

    #[test]
    fn what_writes_comes_from_our_own_page() {
        let guard = guard("127.0.0.1", &[]);
        let sent =
            |origin| admits(&guard, Pages::Ours, &[("host", "127.0.0.1:7878"), ("origin", origin)]);
        assert!(sent("http://127.0.0.1:7878"));
        for origin in [
            "null",
            "http://127.0.0.1:7879",
            "http://localhost:7878",
            "https://evil.example",
            "file://",
        ] {
            assert!(!sent(origin), "{origin}");
        }
        // A program sends none, and reading is no harm.
        assert!(admits(&guard, Pages::Ours, &[("host", "127.0.0.1:7878")]));
        assert!(admits(
            &guard,
            Pages::Any,
            &[("host", "localhost"), ("origin", "https://evil.example")]
        ));
    }

    #[test]
    fn the_token_is_wanted_where_it_matters() {
        let good = headers(&[("authorization", "bearer 0123456789abcdef")]);
        for bad in [
            "Bearer 0123456789abcdeg",
            "Bearer",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcdef0",
        ] {
            assert!(
                !guard("127.0.0.1", &[]).may_edit(&headers(&[("authorization", bad)])),
                "{bad}"
            );
        }
        for (bound, access, needs) in [
            ("127.0.0.1", Access::Open, false),
            ("127.0.0.1", Access::Read, false),
            ("127.0.0.1", Access::Write, true),
            ("0.0.0.0", Access::Open, false),
            ("0.0.0.0", Access::Read, true),
            ("0.0.0.0", Access::Write, true),
        ] {
            let guard = guard(bound, &[]);
            assert!(guard.permit(access, &good).is_ok());
            assert_eq!(
                guard.permit(access, &HeaderMap::new()).is_err(),
                needs,
                "{bound} {access:?}"
            );
        }
    }
}
