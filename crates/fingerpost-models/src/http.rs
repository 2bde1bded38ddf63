//! How does a server embed texts?
//!
//! `/v1/embeddings` as OpenAI defined it and nearly every server speaks it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fingerpost::chat::public_address;
use fingerpost::embedding::{EmbedError, Embedder, Pooling, Profile, Role, Vectors};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalog::Known;
use crate::chat::usage::count;
use crate::retry::{Failure, RateLimit, RetryConfig, attempts};
use crate::window::{MAX_CHARACTERS, first_characters, fit_estimated};
use crate::wire::{self, Address, MAX_REPLY, Secret, Unread};
use crate::work::in_order;

/// Which server, which model, and how to ask.
#[derive(Clone)]
pub struct HttpConfig {
    /// The address up to and with `/v1`. What follows a question mark is sent with every request, and
    /// never written down or shown.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// Which revision of it, where the server tells or the user knows.
    pub revision: String,
    /// The environment variable that holds the key; `None` for servers without keys.
    pub key_variable: Option<String>,
    /// Length of a vector.
    pub dimensions: usize,
    /// Ask the server for that length: for models that can shorten their vectors.
    pub ask_dimensions: bool,
    /// Tokens the model reads; the server cuts.
    pub max_tokens: usize,
    /// How token vectors become one there; for the record.
    pub pooling: Pooling,
    /// Put before a request.
    pub query_prefix: String,
    /// Put before a document.
    pub document_prefix: String,
    /// For servers that put the prefixes there themselves and want to be told the role.
    pub input_type: Option<InputType>,
    /// Most texts a request.
    pub batch_texts: usize,
    /// Most characters a request; one longer text still goes, alone.
    pub batch_characters: usize,
    /// Requests under way at a time.
    pub connections: usize,
    /// Most requests a minute.
    pub requests_per_minute: Option<u32>,
    /// How long to wait for one answer.
    pub timeout: Duration,
    /// How patient to be.
    pub retry: RetryConfig,
}

/// What the field `input_type` says of a text.
#[derive(Debug, Clone)]
pub struct InputType {
    /// Of a request.
    pub query: String,
    /// Of a document.
    pub document: String,
}

/// One request that was answered: what a ledger wants to know.
#[derive(Debug, Clone)]
pub struct Call {
    /// Identifies what was asked, and of which model.
    pub key: String,
    /// The model asked.
    pub model: String,
    /// Texts in it.
    pub texts: usize,
    /// Characters in it.
    pub characters: usize,
    /// Tokens, if the server counted them.
    pub tokens: Option<u64>,
    /// Attempts it took.
    pub attempts: u32,
    /// From first attempt to answer.
    pub elapsed: Duration,
}

/// Embeds with a server.
pub struct HttpEmbedder {
    config: HttpConfig,
    profile: Profile,
    address: Address,
    agent: ureq::Agent,
    key: Option<Secret>,
    limit: RateLimit,
    /// Numbers requests, so that each draws its own waits.
    requests: AtomicU64,
    on_call: Option<Box<OnCall>>,
}

type OnCall = dyn Fn(&Call) -> Result<(), String> + Send + Sync;

/// What a number of a vector may take in a reply: more digits than it has, and the space between.
const BYTES_A_NUMBER: u64 = 32;

impl HttpConfig {
    /// Texts a request, unless said otherwise.
    pub const BATCH: usize = 64;
    /// Requests under way at once, unless said otherwise.
    pub const CONNECTIONS: usize = 2;

    /// A server for vectors of this length, read as they come.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>, dimensions: usize) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            revision: String::new(),
            key_variable: None,
            dimensions,
            ask_dimensions: false,
            max_tokens: 8192,
            pooling: Pooling::Model,
            query_prefix: String::new(),
            document_prefix: String::new(),
            input_type: None,
            batch_texts: Self::BATCH,
            batch_characters: 200_000,
            connections: Self::CONNECTIONS,
            requests_per_minute: None,
            timeout: Duration::from_secs(120),
            retry: RetryConfig::default(),
        }
    }

    /// A server for a model of the catalog, asked as that model wants to be.
    pub fn known(base_url: impl Into<String>, model: impl Into<String>, known: &Known) -> Self {
        Self {
            max_tokens: known.max_tokens,
            pooling: known.pooling,
            query_prefix: known.query_prefix.into(),
            document_prefix: known.document_prefix.into(),
            ..Self::new(base_url, model, known.dimensions)
        }
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("endpoint", &public_address(&self.base_url))
            .field("model", &self.model)
            .field("key_variable", &self.key_variable)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

impl HttpEmbedder {
    /// Prepares to ask; nothing is sent yet.
    pub fn new(config: HttpConfig) -> Result<Self, EmbedError> {
        let fail =
            |message: String| Err(EmbedError::Model { model: config.model.clone(), message });
        let address = match Address::of(&config.base_url) {
            Ok(address) => address,
            Err(message) => return fail(message),
        };
        if config.dimensions == 0 || config.batch_texts == 0 {
            return fail("dimensions and batch size must be above zero".into());
        }
        let key = match config.key_variable.as_deref().map(Secret::from_variable).transpose() {
            Ok(key) => key,
            Err(message) => return fail(message),
        };
        let profile = Profile {
            name: config
                .model
                .replace(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c), "-"),
            engine: format!("http {}", address.place()),
            // Everything else that decides the vectors.
            weights: format!(
                "{} {} {:?} {}",
                config.model, config.revision, config.input_type, config.ask_dimensions
            ),
            dimensions: config.dimensions,
            max_tokens: config.max_tokens,
            pooling: config.pooling,
            query_prefix: config.query_prefix.clone(),
            document_prefix: config.document_prefix.clone(),
        };
        Ok(Self {
            agent: wire::agent(Some(config.timeout)),
            limit: RateLimit::new(config.requests_per_minute),
            requests: AtomicU64::new(0),
            on_call: None,
            config,
            profile,
            address,
            key,
        })
    }

    /// Hears of every answered request before its answer is used; an answer that could not be
    /// written down is not used.
    #[must_use]
    pub fn on_call(
        mut self,
        listener: impl Fn(&Call) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.on_call = Some(Box::new(listener));
        self
    }

    /// A document and what a page adds to it as one text: where the model reads less than both, the
    /// document is cut and the page is not. Tokens are estimated, because only the server can count them.
    pub fn fit(&self, head: &str, tail: &str) -> String {
        fit_estimated(head, tail, self.profile.max_tokens, &self.profile.document_prefix)
    }

    /// Ranges of texts that go into one request each.
    fn batches(&self, texts: &[String]) -> Vec<std::ops::Range<usize>> {
        let mut batches = Vec::new();
        let (mut start, mut characters) = (0, 0);
        for (at, text) in texts.iter().enumerate() {
            let length = text.chars().count();
            let full = at - start >= self.config.batch_texts
                || characters + length > self.config.batch_characters;
            if full && at > start {
                batches.push(start..at);
                (start, characters) = (at, 0);
            }
            characters += length;
        }
        if start < texts.len() {
            batches.push(start..texts.len());
        }
        batches
    }

    /// One request, with retries: the vectors of its texts, one after another.
    fn request(&self, texts: &[String], role: Role) -> Result<Vec<f32>, String> {
        let input_type = self.config.input_type.as_ref().map(|kinds| match role {
            Role::Query => kinds.query.as_str(),
            Role::Document => kinds.document.as_str(),
        });
        let question = Question {
            model: &self.config.model,
            input: texts,
            encoding_format: "float",
            dimensions: self.config.ask_dimensions.then_some(self.config.dimensions),
            input_type,
        };
        let body = serde_json::to_vec(&question).expect("plain data");
        let start = Instant::now();
        let stream = self.requests.fetch_add(1, Ordering::Relaxed);
        let ((values, tokens), attempts) = attempts(&self.config.retry, stream, || {
            self.limit.wait();
            self.attempt(&body, texts.len())
        })
        .map_err(|message| {
            let message = self.address.hide(message);
            match &self.key {
                Some(key) => key.hide(message),
                None => message,
            }
        })?;
        if let Some(listener) = &self.on_call {
            listener(&Call {
                key: blake3::hash(&body).to_hex().to_string(),
                model: self.config.model.clone(),
                texts: texts.len(),
                characters: texts.iter().map(|text| text.chars().count()).sum(),
                tokens,
                attempts,
                elapsed: start.elapsed(),
            })?;
        }
        Ok(values)
    }

    fn attempt(&self, body: &[u8], texts: usize) -> Result<(Vec<f32>, Option<u64>), Failure> {
        let passing = |message: String| Failure::Passing { message, wait: None };
        let address = self.address.shown("embeddings");
        let post = self.agent.post(self.address.to("embeddings"));
        let mut post = post.header("content-type", "application/json");
        if let Some(key) = &self.key {
            post = post.header("authorization", format!("Bearer {}", key.expose()));
        }
        let mut reply = post.send(body).map_err(|error| {
            let message = format!("{address}: {error}");
            match error {
                ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::HostNotFound => {
                    Failure::Final(message)
                }
                _ => passing(message),
            }
        })?;
        let status = reply.status().as_u16();
        let wait = wire::retry_after(reply.headers());
        let most = MAX_REPLY + BYTES_A_NUMBER * (texts * self.config.dimensions) as u64;
        let bytes = wire::read(&mut reply, most).map_err(|unread| match unread {
            Unread::TooLong(why) => Failure::Final(format!("{address}: {why}")),
            Unread::BrokeOff(why) => passing(format!("{address}: {why}")),
        })?;
        if status != 200 {
            let message = format!("{address} answered {status}: {}", wire::complaint(&bytes));
            return Err(match status {
                401..=403 => Failure::Final(format!("{message}; {}", self.key_advice())),
                408 | 409 | 425 | 429 | 500.. => Failure::Passing { message, wait },
                _ => Failure::Final(message),
            });
        }
        let answer: Answer = serde_json::from_slice(&bytes).map_err(|error| {
            passing(format!("{address}: the answer is not what was asked for: {error}"))
        })?;
        let told = |name: &str| count(answer.usage.get(name));
        let tokens = told("prompt_tokens").or_else(|| told("total_tokens"));
        let values =
            in_place(answer.data, texts, self.config.dimensions).map_err(
                |failure| match failure {
                    Failure::Final(message) => Failure::Final(format!("{address}: {message}")),
                    Failure::Passing { message, wait } => {
                        Failure::Passing { message: format!("{address}: {message}"), wait }
                    }
                },
            )?;
        Ok((values, tokens))
    }

    fn key_advice(&self) -> String {
        match &self.config.key_variable {
            Some(variable) => format!("check the key in {variable} and what it may do"),
            None => "the server wants a key; name the environment variable that holds it".into(),
        }
    }
}

impl Embedder for HttpEmbedder {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn fit(&self, document: &str, page: &str) -> String {
        HttpEmbedder::fit(self, document, page)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        let prefix = self.profile.prefix(role);
        let texts: Vec<String> = texts
            .iter()
            .map(|text| format!("{prefix}{}", first_characters(text, MAX_CHARACTERS)))
            .collect();
        let batches = self.batches(&texts);
        let order: Vec<usize> = (0..batches.len()).collect();
        let rows = in_order(self.config.connections, &order, |_, batch| {
            self.request(&texts[batches[batch].clone()], role)
        });
        let rows = rows
            .map_err(|message| EmbedError::Model { model: self.config.model.clone(), message })?;
        Ok(Vectors::new(self.config.dimensions, rows.concat()))
    }
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_type: Option<&'a str>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Row {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Puts rows where their index says: servers need not keep the order.
fn in_place(rows: Vec<Row>, texts: usize, dimensions: usize) -> Result<Vec<f32>, Failure> {
    let passing = |message: String| Err(Failure::Passing { message, wait: None });
    if rows.len() != texts {
        return passing(format!("{} vectors came for {texts} texts", rows.len()));
    }
    let mut values = vec![f32::NAN; texts * dimensions];
    for (at, row) in rows.into_iter().enumerate() {
        let found = row.embedding.len();
        if found != dimensions {
            return Err(Failure::Final(format!(
                "the server's vectors have length {found}, and {dimensions} was expected; is it the right model, or should it be asked for {dimensions} dimensions?"
            )));
        }
        let index = row.index.unwrap_or(at);
        let Some(place) = values.chunks_exact_mut(dimensions).nth(index) else {
            return passing(format!("a vector came for text {index} of {texts}"));
        };
        place.copy_from_slice(&row.embedding);
    }
    // Also finds a text that no index named, because another was named twice.
    if values.iter().all(|value| value.is_finite()) {
        Ok(values)
    } else {
        passing("a text got no vector, or one that is not a number".into())
    }
}
