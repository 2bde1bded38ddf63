//! Where are requests sent, with which key, and what does a failure mean?

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fingerpost::chat::ChatError;

use super::{Api, ChatConfig};
use crate::retry::Failure;
use crate::wire::{self, MAX_REPLY, Secret};

/// What kind of failure a failed request is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    Refused,
    Rejected,
    Limited(Option<Duration>),
    Failed,
    Cancelled,
}

pub(super) fn passing(message: String) -> Failure {
    Failure::Passing { message, wait: None }
}

/// Requests to one server, with its key.
pub(super) struct Endpoint {
    api: Api,
    base_url: String,
    agent: ureq::Agent,
    key_variable: Option<String>,
    key: Option<Secret>,
}

impl Endpoint {
    pub(super) fn new(config: &ChatConfig) -> Result<Self, ChatError> {
        let refused = |message: String| ChatError::Refused {
            message: format!("{}: {message}", config.model),
        };
        wire::place(&config.base_url).map_err(refused)?;
        let key = config.key_variable.as_deref().map(Secret::from_variable);
        Ok(Self {
            api: config.api,
            base_url: config.base_url.trim_end_matches('/').to_owned(),
            agent: wire::agent(Some(config.timeout)),
            key_variable: config.key_variable.clone(),
            key: key.transpose().map_err(refused)?,
        })
    }

    pub(super) fn error(
        &self,
        trouble: Trouble,
        message: String,
        cancel: &AtomicBool,
    ) -> ChatError {
        let message = match &self.key {
            Some(key) => key.hide(message),
            None => message,
        };
        match trouble {
            _ if cancel.load(Ordering::Relaxed) => ChatError::Cancelled,
            Trouble::Refused => ChatError::Refused { message },
            Trouble::Rejected => ChatError::Rejected { message },
            Trouble::Limited(after) => ChatError::Limited { message, after },
            Trouble::Failed => ChatError::Failed { message },
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

    pub(super) fn post(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, (Trouble, Failure)> {
        self.post_as(path, "application/json", body)
    }

    pub(super) fn post_as(
        &self,
        path: &str,
        content: &str,
        body: &[u8],
    ) -> Result<Vec<u8>, (Trouble, Failure)> {
        let address = format!("{}/{path}", self.base_url);
        let mut request = self.agent.post(&address).header("content-type", content);
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        self.outcome(&address, request.send(body))
    }

    pub(super) fn get(&self, path: &str) -> Result<Vec<u8>, (Trouble, Failure)> {
        let address = format!("{}/{path}", self.base_url);
        let mut request = self.agent.get(&address);
        for (name, value) in self.headers() {
            request = request.header(name, value);
        }
        self.outcome(&address, request.call())
    }

    /// The bytes of a good answer, or what kind of trouble it is.
    fn outcome(
        &self,
        address: &str,
        sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Vec<u8>, (Trouble, Failure)> {
        let mut reply = sent.map_err(|error| {
            let message = format!("{address}: {error}");
            match error {
                ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::HostNotFound => {
                    (Trouble::Refused, Failure::Final(message))
                }
                _ => (Trouble::Failed, passing(message)),
            }
        })?;
        let status = reply.status().as_u16();
        let wait = wire::retry_after(reply.headers());
        let read = reply.body_mut().with_config().limit(MAX_REPLY).read_to_vec();
        let bytes = read.map_err(|error| {
            (Trouble::Failed, passing(format!("{address}: the answer broke off: {error}")))
        })?;
        if (200..300).contains(&status) {
            return Ok(bytes);
        }
        let message = format!("{address} answered {status}: {}", wire::complaint(&bytes));
        Err(match status {
            401..=403 => {
                let message = format!("{message}; {}", self.key_advice());
                (Trouble::Refused, Failure::Final(message))
            }
            404 => {
                let advice = "check the model's name and the address, which ends with /v1";
                (Trouble::Refused, Failure::Final(format!("{message}; {advice}")))
            }
            429 => (Trouble::Limited(wait), Failure::Passing { message, wait }),
            // 529: Anthropic's word for overloaded.
            408 | 409 | 425 | 500.. => (Trouble::Failed, Failure::Passing { message, wait }),
            _ => (Trouble::Rejected, Failure::Final(message)),
        })
    }

    fn key_advice(&self) -> String {
        match &self.key_variable {
            Some(variable) => format!("check the key in {variable}, its credit and its rights"),
            None => "the server wants a key; name the environment variable that holds it".into(),
        }
    }
}
