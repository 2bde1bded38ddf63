//! How is a language model asked over HTTP?
//!
//! Two protocols ([`Api`]) and one way to bear them: limits are kept before a request, passing
//! trouble is waited out, and a refusal of the key stops everything at once. What a server will not
//! take (a form for its answer, a temperature) is left out on its complaint, and if that helps, it is
//! remembered: see [`Dialect`]. A server that rejects every prompt refuses us: see [`rejections`].

mod anthropic;
pub mod batch;
mod endpoint;
mod limits;
mod openai;
mod rejections;
pub(crate) mod usage;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use fingerpost::chat::{Chat, ChatError, Doubt, Leave, Prompt, Reply, public_address};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::endpoint::{Endpoint, Trouble, passing};
use self::limits::Limits;
use self::rejections::Rejections;
use crate::retry::{Failure, Retry, RetryConfig, attempts_until};
use crate::wire::MAX_REPLY;

/// Which protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/chat/completions`: OpenAI, DeepSeek, vLLM, SGLang, Ollama, llama.cpp and many more.
    OpenAi,
    /// `/messages`: Anthropic.
    Anthropic,
}

impl Api {
    /// The address of whoever defined it.
    pub fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
        }
    }

    /// The variable that everybody keeps its key in.
    pub fn default_key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }
}

/// Which server, which model, and how patiently.
#[derive(Clone)]
pub struct ChatConfig {
    /// The protocol.
    pub api: Api,
    /// The address up to and with `/v1`. What follows a question mark is sent with every request, and
    /// never written down or shown.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// The environment variable that holds the key; `None` for servers without keys.
    pub key_variable: Option<String>,
    /// Most requests a minute.
    pub requests_per_minute: Option<u32>,
    /// Most tokens a minute, read and written.
    pub tokens_per_minute: Option<u32>,
    /// How long to wait for one answer.
    pub timeout: Duration,
    /// How patient to be.
    pub retry: RetryConfig,
}

impl ChatConfig {
    /// A model at its definer's own address.
    pub fn new(api: Api, model: impl Into<String>) -> Self {
        Self {
            api,
            base_url: api.default_url().into(),
            model: model.into(),
            key_variable: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            timeout: Duration::from_secs(300),
            retry: RetryConfig::default(),
        }
    }

    /// The address as it may be written down and shown.
    pub fn endpoint(&self) -> String {
        public_address(&self.base_url)
    }
}

impl fmt::Debug for ChatConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatConfig")
            .field("api", &self.api)
            .field("endpoint", &self.endpoint())
            .field("model", &self.model)
            .field("key_variable", &self.key_variable)
            .finish_non_exhaustive()
    }
}

/// How a server wants to be asked: everything at first, less with every complaint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialect {
    /// How the form of the answer is asked for.
    pub format: Format,
    /// It takes a temperature.
    pub temperature: bool,
    /// It takes a seed.
    pub seed: bool,
    /// It wants `max_completion_tokens` for `max_tokens`.
    pub new_limit: bool,
}

/// How the form of the answer is asked for, best first. The prompt says it in words too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// As a JSON schema that the server enforces.
    Schema,
    /// As some JSON object.
    Object,
    /// In words only.
    Plain,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { format: Format::Schema, temperature: true, seed: true, new_limit: false }
    }
}

impl Dialect {
    /// What to try after this complaint; `None` if it is about something else.
    fn after(self, complaint: &str) -> Option<Self> {
        let complaint = complaint.to_lowercase();
        let about = |words: &[&str]| words.iter().any(|word| complaint.contains(word));
        let of_format =
            ["response_format", "json_schema", "json_object", "schema", "grammar", "tool_choice"];
        if self.temperature && about(&["temperature"]) {
            return Some(Self { temperature: false, ..self });
        }
        if !self.new_limit && about(&["max_completion_tokens"]) {
            return Some(Self { new_limit: true, ..self });
        }
        if about(&of_format) || (about(&["tool"]) && self.format == Format::Schema) {
            let format = match self.format {
                Format::Schema => Format::Object,
                Format::Object => Format::Plain,
                Format::Plain => return None,
            };
            return Some(Self { format, ..self });
        }
        (self.seed && about(&["seed"])).then_some(Self { seed: false, ..self })
    }
}

/// A language model behind HTTP.
pub struct HttpChat<'a> {
    config: ChatConfig,
    endpoint: Endpoint,
    limits: Limits,
    dialect: Mutex<Dialect>,
    on_learn: Option<Box<OnLearn<'a>>>,
    on_retry: Option<Box<OnRetry<'a>>>,
    /// The circuit breaker: after a refusal nothing is sent any more.
    refused: OnceLock<ChatError>,
    rejections: Rejections,
    /// Numbers requests, so that each draws its own waits.
    requests: AtomicU64,
    calls: AtomicU64,
    cancel: Arc<AtomicBool>,
}

type OnLearn<'a> = dyn Fn(Dialect) + Send + Sync + 'a;
type OnRetry<'a> = dyn Fn(&Retry) + Send + Sync + 'a;

impl<'a> HttpChat<'a> {
    /// Prepares to ask; nothing is sent yet. Waits end when `cancel` is set.
    pub fn new(config: ChatConfig, cancel: Arc<AtomicBool>) -> Result<Self, ChatError> {
        Ok(Self {
            endpoint: Endpoint::new(&config)?,
            limits: Limits::new(config.requests_per_minute, config.tokens_per_minute),
            dialect: Mutex::default(),
            on_learn: None,
            on_retry: None,
            refused: OnceLock::new(),
            rejections: Rejections::default(),
            requests: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            cancel,
            config,
        })
    }

    /// Starts from what was learned before, and tells what is learned now.
    #[must_use]
    pub fn remembering(
        mut self,
        before: Dialect,
        on_learn: impl Fn(Dialect) + Send + Sync + 'a,
    ) -> Self {
        self.dialect = Mutex::new(before);
        self.on_learn = Some(Box::new(on_learn));
        self
    }

    /// Tells of every request that is about to be made again.
    #[must_use]
    pub fn on_retry(mut self, listener: impl Fn(&Retry) + Send + Sync + 'a) -> Self {
        self.on_retry = Some(Box::new(listener));
        self
    }

    /// How the server is asked by now.
    pub fn dialect(&self) -> Dialect {
        *self.dialect.lock().expect("nothing panics while holding it")
    }

    fn learn(&self, learned: Dialect) {
        let before = std::mem::replace(
            &mut *self.dialect.lock().expect("nothing panics while holding it"),
            learned,
        );
        if let Some(listener) = self.on_learn.as_ref().filter(|_| before != learned) {
            listener(learned);
        }
    }

    /// One request, with retries.
    fn request(
        &self,
        prompt: &Prompt,
        dialect: Dialect,
        leave: &dyn Leave,
    ) -> Result<Reply, ChatError> {
        let body = self.config.api.body(&self.config.model, prompt, dialect);
        let body = serde_json::to_vec(&body).expect("plain data");
        let most = MAX_REPLY + BYTES_A_TOKEN * u64::from(prompt.max_output_tokens);
        let stream = self.requests.fetch_add(1, Ordering::Relaxed);
        let mut trouble = Trouble::Failed;
        let mut not_allowed = None;
        let on_retry = |why: &str, wait: Duration, attempt: u32| {
            if let Some(listener) = &self.on_retry {
                let why = self.endpoint.hide(why.to_owned());
                let (host, attempts) =
                    (self.endpoint.host().to_owned(), self.config.retry.attempts);
                listener(&Retry { host, why, wait, attempt, attempts });
            }
        };
        let done = attempts_until(&self.config.retry, stream, &self.cancel, &on_retry, || {
            let taken = self.limits.wait(prompt, &self.cancel).ok_or_else(|| {
                trouble = Trouble::Cancelled;
                Failure::Final("interrupted".into())
            })?;
            leave.to_send().map_err(|error| {
                let message = error.to_string();
                not_allowed = Some(error);
                Failure::Final(message)
            })?;
            let sent = self.endpoint.post(self.config.api.path(), &body, most);
            let attempt = sent.and_then(|bytes| {
                let read = self.config.api.read(&bytes, prompt);
                read.map_err(|message| (Trouble::Lost, passing(message)))
            });
            if let Ok(reply) = &attempt {
                self.limits.settle(taken, &reply.usage);
            }
            attempt.map_err(|(kind, failure)| {
                if kind == Trouble::Lost {
                    leave.lost();
                }
                trouble = kind;
                failure
            })
        });
        done.map(|(reply, _)| reply).map_err(|message| {
            not_allowed.unwrap_or_else(|| self.endpoint.error(trouble, message, &self.cancel))
        })
    }

    /// Asks in ever poorer dialects, until one is understood.
    fn converse(&self, prompt: &Prompt, leave: &dyn Leave) -> Result<Reply, ChatError> {
        let mut dialect = self.dialect();
        loop {
            if let Some(refused) = self.refused.get() {
                return Err(refused.clone());
            }
            // Each turn takes something away from the dialect, so there are few.
            match self.request(prompt, dialect, leave) {
                Err(ChatError::Rejected { message }) => match dialect.after(&message) {
                    Some(less) => dialect = less,
                    None => return Err(ChatError::Rejected { message }),
                },
                Ok(reply) => {
                    self.learn(dialect);
                    return Ok(reply);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What a token of an answer may take in a reply: its text, escaped, and reasoning beside it.
const BYTES_A_TOKEN: u64 = 64;

/// For calls without limits.
struct Unlimited;

impl Leave for Unlimited {
    fn to_send(&self) -> Result<(), ChatError> {
        Ok(())
    }

    fn lost(&self) {}
}

impl Chat for HttpChat<'_> {
    fn id(&self) -> &str {
        &self.config.model
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        self.complete_within(prompt, &Unlimited)
    }

    fn complete_within(&self, prompt: &Prompt, leave: &dyn Leave) -> Result<Reply, ChatError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        self.rejections.begin(call);
        let result = self.converse(prompt, leave);
        let refused = match &result {
            Ok(_) => {
                self.rejections.answered(call);
                None
            }
            Err(ChatError::Rejected { message }) => {
                self.rejections.rejected(call, prompt, prompt.key(self.id()), message)
            }
            Err(error) => {
                self.rejections.end(call);
                matches!(error, ChatError::Refused { .. }).then(|| error.clone())
            }
        };
        match refused {
            Some(refused) => Err(self.refused.get_or_init(|| refused).clone()),
            None => result,
        }
    }

    fn doubt(&self) -> Option<Doubt> {
        self.rejections.doubt()
    }
}

impl Api {
    fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "chat/completions",
            Self::Anthropic => "messages",
        }
    }

    fn body(self, model: &str, prompt: &Prompt, dialect: Dialect) -> Value {
        match self {
            Self::OpenAi => openai::body(model, prompt, dialect),
            Self::Anthropic => anthropic::body(model, prompt, dialect),
        }
    }

    fn read(self, bytes: &[u8], prompt: &Prompt) -> Result<Reply, String> {
        let reply = match self {
            Self::OpenAi => openai::read(bytes)?,
            Self::Anthropic => anthropic::read(bytes)?,
        };
        Ok(usage::with_estimates(reply, prompt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_takes_away_what_it_is_about() {
        let all = Dialect::default();
        let object = Dialect { format: Format::Object, ..all };
        let plain = Dialect { format: Format::Plain, ..all };
        let check = |dialect: Dialect, complaint, expected| {
            assert_eq!(dialect.after(complaint), expected, "{complaint}");
        };
        check(all, "This response_format type is unavailable now", Some(object));
        check(object, "'response_format.type' must be text", Some(plain));
        check(plain, "response_format is not supported", None);
        check(
            all,
            "Unsupported value: 'temperature' does not support 0.2",
            Some(Dialect { temperature: false, ..all }),
        );
        check(
            all,
            "Use 'max_completion_tokens' instead of 'max_tokens'",
            Some(Dialect { new_limit: true, ..all }),
        );
        check(all, "Unknown parameter: seed", Some(Dialect { seed: false, ..all }));
        check(all, "maximum context length is 4096 tokens", None);
    }
}
