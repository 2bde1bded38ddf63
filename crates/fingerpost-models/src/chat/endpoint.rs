//! Where are requests sent, with which key, and what does a failure mean?

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fingerpost::chat::ChatError;

use super::{Api, ChatConfig};
use crate::retry::Failure;
use crate::wire::{self, Address, Secret, Unread};

/// What kind of failure a failed request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    Refused,
    Rejected,
    Limited(Option<Duration>),
    Failed,
    /// It failed after the request had left, so the answer may have to be paid for.
    Lost,
    Cancelled,
}

pub(super) fn passing(message: String) -> Failure {
    Failure::Passing { message, wait: None }
}

/// Requests to one server, with its key.
pub(super) struct Endpoint {
    api: Api,
    address: Address,
    agent: ureq::Agent,
    key_variable: Option<String>,
    key: Option<Secret>,
}

impl Endpoint {
    pub(super) fn new(config: &ChatConfig) -> Result<Self, ChatError> {
        let refused = |message: String| ChatError::Refused {
            message: format!("{}: {message}", config.model),
        };
        let key = config.key_variable.as_deref().map(Secret::from_variable);
        Ok(Self {
            api: config.api,
            address: Address::of(&config.base_url).map_err(refused)?,
            agent: wire::agent(Some(config.timeout)),
            key_variable: config.key_variable.clone(),
            key: key.transpose().map_err(refused)?,
        })
    }

    /// The server, as people know it.
    pub(super) fn host(&self) -> &str {
        self.address.host()
    }

    /// A message without keys.
    pub(super) fn hide(&self, message: String) -> String {
        let message = self.address.hide(message);
        match &self.key {
            Some(key) => key.hide(message),
            None => message,
        }
    }

    pub(super) fn error(
        &self,
        trouble: Trouble,
        message: String,
        cancel: &AtomicBool,
    ) -> ChatError {
        let message = self.hide(message);
        match trouble {
            _ if cancel.load(Ordering::Relaxed) => ChatError::Cancelled,
            Trouble::Refused => ChatError::Refused { message },
            Trouble::Rejected => ChatError::Rejected { message },
            Trouble::Limited(after) => ChatError::Limited { message, after },
            Trouble::Failed | Trouble::Lost => ChatError::Failed { message },
            Trouble::Cancelled => ChatError::Cancelled,
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let key = self.key.as_ref().map(Secret::expose);
        match self.api {
            Api::OpenAi => {
                key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
            }
            Api::Anthropic => {
                let key = key.map(|key| ("x-api-key", key.to_owned()));
                key.into_iter().chain([("anthropic-version", "2023-06-01".to_owned())]).collect()
            }
        }
    }

    /// Sends JSON; an answer has at most `most` bytes.
    pub(super) fn post(
        &self,
        path: &str,
        body: &[u8],
        most: u64,
    ) -> Result<Vec<u8>, (Trouble, Failure)> {
        self.post_as(path, "application/json", body, most)
    }

    pub(super) fn post_as(
        &self,
        path: &str,
        content: &str,
        body: &[u8],
        most: u64,
    ) -> Result<Vec<u8>, (Trouble, Failure)> {
        let mut request = self.agent.post(self.address.to(path)).header("content-type", content);
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        self.outcome(path, request.send(body), most)
    }

    pub(super) fn get(&self, path: &str, most: u64) -> Result<Vec<u8>, (Trouble, Failure)> {
        let mut request = self.agent.get(self.address.to(path));
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        self.outcome(path, request.call(), most)
    }

    /// The bytes of a good answer, or what kind of trouble it is.
    fn outcome(
        &self,
        path: &str,
        sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
        most: u64,
    ) -> Result<Vec<u8>, (Trouble, Failure)> {
        let address = self.address.shown(path);
        let mut reply = sent.map_err(|error| {
            let message = format!("{address}: {error}");
            match error {
                ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::HostNotFound => {
                    (Trouble::Refused, Failure::Final(message))
                }
                error if never_left(&error) => (Trouble::Failed, passing(message)),
                _ => (Trouble::Lost, passing(message)),
            }
        })?;
        let status = reply.status().as_u16();
        let good = (200..300).contains(&status);
        let wait = wire::retry_after(reply.headers());
        let bytes = wire::read(&mut reply, most).map_err(|unread| {
            let trouble = if good { Trouble::Lost } else { Trouble::Failed };
            match unread {
                // Whoever never ends now will not end next time, and may want money for each.
                Unread::TooLong(why) => (trouble, Failure::Final(format!("{address}: {why}"))),
                Unread::BrokeOff(why) => (trouble, passing(format!("{address}: {why}"))),
            }
        })?;
        if good {
            return Ok(bytes);
        }
        let message = format!("{address} answered {status}: {}", wire::complaint(&bytes));
        let refused =
            |advice: String| (Trouble::Refused, Failure::Final(format!("{message}; {advice}")));
        Err(match status {
            300..400 => {
                refused("it is elsewhere now: check the address, which ends with /v1".into())
            }
            401..=403 => refused(self.key_advice()),
            404 => refused("check the model's name and the address, which ends with /v1".into()),
            // Some say so with 400 or 429, as if waiting or another prompt would help.
            400..500 if is_about_the_account(&bytes) => refused(self.key_advice()),
            429 => (Trouble::Limited(wait), Failure::Passing { message, wait }),
            // 529: Anthropic's word for overloaded.
            408 | 409 | 425 | 500.. => (Trouble::Failed, Failure::Passing { message, wait }),
            _ => (Trouble::Rejected, Failure::Final(message)),
        })
    }

    fn key_advice(&self) -> String {
        match &self.key_variable {
            Some(variable) => format!("check the key in {variable}, its credit and its rights"),
            None => "check the credit and the rights of the key; name the environment variable that holds it, if the server wants one".into(),
        }
    }
}

/// Did a request fail before it reached anybody?
fn never_left(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::ConnectionFailed
        | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => true,
        ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

/// Does a complaint say that the account has no credit, or is closed?
fn is_about_the_account(bytes: &[u8]) -> bool {
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    let codes = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];
    let codes = codes.iter().chain(&["account_deactivated", "access_terminated"]);
    let named = ["/error/code", "/error/type", "/code", "/type"];
    let mut named = named.iter().filter_map(|place| value.pointer(place)?.as_str());
    let words = [
        "credit balance is too low",
        "exceeded your current quota",
        "insufficient balance",
        "insufficient credit",
        "insufficient funds",
        "insufficient_quota",
    ];
    let said = wire::complaint(bytes).to_lowercase();
    named.any(|name| codes.clone().any(|code| *code == name))
        || words.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_credit_is_said_in_many_ways() {
        let check = |body: &str, expected| {
            assert_eq!(is_about_the_account(body.as_bytes()), expected, "{body}");
        };
        check(r#"{"error":{"message":"You exceeded your current quota, please check"}}"#, true);
        check(r#"{"error":{"message":"x","code":"insufficient_quota"}}"#, true);
        check(
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access"}}"#,
            true,
        );
        check("Insufficient Balance", true);
        check(r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#, false);
        check(r#"{"error":{"message":"maximum context length is 4096"}}"#, false);
    }
}
