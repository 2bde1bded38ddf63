//! How is a language model asked, and what does it answer?
//!
//! A [`Chat`] is a model behind one name. Nothing here knows of HTTP: transport, its retries and
//! its limits belong to whoever implements the trait. What is asked is a value with a key, so that
//! an answer can be kept, found again and replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A language model.
pub trait Chat: Send + Sync {
    /// The model's name; with the prompt it identifies an answer.
    fn id(&self) -> &str;

    /// Asks once. Trouble of the transport has been borne before an error comes back.
    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError>;

    /// The same, asking for leave before every request that is sent: bearing trouble may take several.
    fn complete_within(&self, prompt: &Prompt, leave: &dyn Leave) -> Result<Reply, ChatError> {
        leave.to_send()?;
        self.complete(prompt)
    }

    /// Rejections that need not be the prompts' fault, because nobody else was answered either.
    fn doubt(&self) -> Option<Doubt> {
        None
    }
}

/// Keeps somebody's limits while a call is made.
pub trait Leave {
    /// Asked before each request; an error keeps it from being sent.
    fn to_send(&self) -> Result<(), ChatError>;

    /// The answer to the request just sent did not arrive: it may have to be paid for all the same.
    fn lost(&self);
}

/// Prompts that were rejected while nobody else was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// Their keys.
    pub keys: BTreeSet<String>,
    /// What the server said of the last one.
    pub message: String,
}

/// All that a model is asked, in the order in which it reads: what many prompts have in common
/// comes first, byte for byte the same, so that a server that caches prefixes reads it once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// What never changes.
    pub system: String,
    /// What the prompts of one neighborhood share; it opens the first message.
    pub shared: String,
    /// The conversation, the user's turn first.
    pub messages: Vec<Message>,
    /// The form of the answer.
    pub schema: Option<Schema>,
    /// The longest answer.
    pub max_output_tokens: u32,
    /// How freely to draw.
    pub temperature: f64,
    /// What to draw from, where the server can be told.
    pub seed: u64,
    /// The same prompt again is another call, with another draw.
    pub attempt: u32,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Whose turn.
    pub role: Speaker,
    /// What is said.
    pub text: String,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Ours.
    User,
    /// The model's.
    Assistant,
}

/// A JSON schema by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// What servers want to call it.
    pub name: String,
    /// The schema itself, in the strict dialect: all fields required, no others allowed.
    pub schema: Value,
}

impl Prompt {
    /// Identifies the answer of a model to this prompt, attempt and all.
    pub fn key(&self, model: &str) -> String {
        let asked = serde_json::to_vec(&(model, self)).expect("plain data");
        blake3::hash(&asked).to_hex().to_string()
    }

    /// What the answer is for: the name of its form.
    pub fn purpose(&self) -> &str {
        self.schema.as_ref().map_or("text", |schema| &schema.name)
    }

    /// About how many tokens it has: shared ones, and all. A server reads the form of the answer too.
    pub fn tokens(&self) -> (usize, usize) {
        let shared = estimate_tokens(&self.system) + estimate_tokens(&self.shared);
        let rest: usize = self.messages.iter().map(|message| estimate_tokens(&message.text)).sum();
        let form = self.schema.as_ref().map_or(0, |form| estimate_tokens(&form.schema.to_string()));
        (shared, shared + rest + form)
    }
}

/// About how many tokens a text has; rather too many than too few, because budgets depend on it.
/// Tokenizers give 4 to 4.5 characters of English prose a token, fewer of code, and about one
/// Chinese character.
pub fn estimate_tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    (ascii * 2).div_ceil(7) + others
}

/// The beginning of a text that is estimated at so many tokens at most.
pub fn within_tokens(text: &str, tokens: usize) -> &str {
    let (mut ascii, mut others) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        *if c.is_ascii() { &mut ascii } else { &mut others } += 1;
        if (ascii * 2).div_ceil(7) + others > tokens {
            return &text[..at];
        }
    }
    text
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer, without reasoning that the server keeps apart.
    pub text: String,
    /// What it took.
    pub usage: Usage,
    /// Why it ended.
    pub finish: Finish,
    /// The model that the server says it was.
    pub model: String,
}

/// Tokens of a call.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
pub struct Usage {
    /// Read, cached ones included.
    pub input: u64,
    /// Of these, read from the server's cache.
    pub cached: u64,
    /// Of these, written to it, where that costs extra.
    pub written: u64,
    /// Written, reasoning included.
    pub output: u64,
}

impl Usage {
    /// More tokens than any call can take: a server that counts more is mistaken.
    pub const MOST: u64 = 1 << 40;

    /// The same, where a server counted what cannot be.
    #[must_use]
    pub fn bounded(self) -> Self {
        let input = self.input.min(Self::MOST);
        let cached = self.cached.min(input);
        let written = self.written.min(input - cached);
        Self { input, cached, written, output: self.output.min(Self::MOST) }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.written = self.written.saturating_add(other.written);
        self.output = self.output.saturating_add(other.output);
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// It was complete.
    Stop,
    /// It was cut at the longest allowed.
    Length,
    /// The model or its server would not answer.
    Withheld,
}

/// Why there is no answer. Blank and truncated answers are answers: they were paid for, so they
/// are kept as replies, and whoever reads them finds them wanting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// Nobody will be answered until a person does something: key, credit, rights, model name.
    #[error("{message}")]
    Refused {
        /// What the server said, and what to do.
        message: String,
    },
    /// This prompt will never be answered: too long, or against the server's rules.
    #[error("{message}")]
    Rejected {
        /// What the server said.
        message: String,
    },
    /// The server is still busy after all the patience there was.
    #[error("{message}")]
    Limited {
        /// What the server said.
        message: String,
        /// When to come back, if it said so.
        after: Option<Duration>,
    },
    /// The server or the way to it fails, in spite of retries.
    #[error("{message}")]
    Failed {
        /// What happened.
        message: String,
    },
    /// The user's limit is reached.
    #[error("{message}")]
    Budget {
        /// Which limit.
        message: String,
    },
    /// The answer could not be put on disk, so it must not be used.
    #[error("the ledger cannot be written: {message}")]
    Ledger {
        /// What the disk said.
        message: String,
    },
    /// A replay lacks the answer.
    #[error(
        "no reply of {model} is recorded for this prompt (key {key}); the prompt, the library or the model changed since the recording: record again"
    )]
    Unrecorded {
        /// Which model.
        model: String,
        /// Which prompt.
        key: String,
    },
    /// The answer is asked for elsewhere, and may be here next time.
    #[error("waiting for an answer")]
    Deferred,
    /// A person wants an end.
    #[error("interrupted")]
    Cancelled,
}

impl ChatError {
    /// Does it end the whole run, or only this call?
    pub fn ends_run(&self) -> bool {
        !matches!(
            self,
            Self::Rejected { .. } | Self::Failed { .. } | Self::Limited { .. } | Self::Deferred
        )
    }
}

/// An address as it may be written down and shown: without user, password, query and fragment, which
/// may hold a key.
pub fn public_address(address: &str) -> String {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let address = &address[..end];
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Read from the server's cache.
    pub cached: f64,
    /// Read and written to it.
    pub written: f64,
    /// Written.
    pub output: f64,
}

impl Price {
    /// What a call cost, in US dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let plain = usage.input.saturating_sub(usage.cached).saturating_sub(usage.written);
        let parts = [
            (plain, self.input),
            (usage.cached, self.cached),
            (usage.written, self.written),
            (usage.output, self.output),
        ];
        parts.iter().map(|&(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6
    }

    /// The same for less, as batches are.
    #[must_use]
    pub fn times(self, share: f64) -> Self {
        Self {
            input: self.input * share,
            cached: self.cached * share,
            written: self.written * share,
            output: self.output * share,
        }
    }
}

/// An answer and the prompt it belongs to: one line of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The prompt's key.
    pub key: String,
    /// The answer.
    pub reply: Reply,
}

/// Answers from a recording, and nothing else.
#[derive(Debug, Clone)]
pub struct Replay {
    model: String,
    replies: BTreeMap<String, Reply>,
}

impl Replay {
    /// Recordings of one model as JSON Lines.
    pub fn from_lines(model: impl Into<String>, lines: &str) -> Result<Self, String> {
        let mut replies = BTreeMap::new();
        for (number, line) in (1..).zip(lines.split('\n')).filter(|(_, line)| !line.is_empty()) {
            let Recording { key, reply } = serde_json::from_str(line)
                .map_err(|error| format!("line {number} is no recorded reply: {error}"))?;
            replies.insert(key, reply);
        }
        Ok(Self { model: model.into(), replies })
    }
}

impl Chat for Replay {
    fn id(&self) -> &str {
        &self.model
    }

    fn complete(&self, prompt: &Prompt) -> Result<Reply, ChatError> {
        let key = prompt.key(&self.model);
        let reply = self.replies.get(&key).cloned();
        reply.ok_or_else(|| ChatError::Unrecorded { model: self.model.clone(), key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> Prompt {
        Prompt {
            system: "Be brief.".into(),
            shared: String::new(),
            messages: vec![Message { role: Speaker::User, text: "Why?".into() }],
            schema: None,
            max_output_tokens: 10,
            temperature: 0.0,
            seed: 1,
            attempt: 0,
        }
    }

    #[test]
    fn everything_asked_is_part_of_the_key() {
        let asked = prompt();
        let others = [
            Prompt { attempt: 1, ..prompt() },
            Prompt { seed: 2, ..prompt() },
            Prompt { shared: "Documents.".into(), ..prompt() },
            Prompt { max_output_tokens: 11, ..prompt() },
            Prompt { schema: Some(Schema { name: "a".into(), schema: Value::Null }), ..prompt() },
        ];
        assert_eq!(asked.key("m"), prompt().key("m"));
        assert_ne!(asked.key("m"), asked.key("n"));
        others.iter().for_each(|other| assert_ne!(asked.key("m"), other.key("m")));
    }

    #[test]
    fn a_replay_knows_what_was_recorded_and_says_what_was_not() {
        let reply = Reply {
            text: "Because\u{2028}so.".into(),
            usage: Usage::default(),
            finish: Finish::Stop,
            model: "m-1".into(),
        };
        let recording = Recording { key: prompt().key("m"), reply: reply.clone() };
        let line = serde_json::to_string(&recording).unwrap();
        let replay = Replay::from_lines("m", &format!("{line}\n")).unwrap();
        assert_eq!(replay.complete(&prompt()), Ok(reply));
        let error = replay.complete(&Prompt { attempt: 1, ..prompt() }).unwrap_err();
        assert!(matches!(&error, ChatError::Unrecorded { .. }) && error.ends_run());
        assert!(error.to_string().contains("record again"), "{error}");
        assert!(Replay::from_lines("m", "{}\n").unwrap_err().contains("line 1"));
    }

    #[test]
    fn cached_tokens_cost_what_cached_tokens_cost() {
        let price = Price { input: 1.0, cached: 0.1, written: 1.25, output: 4.0 };
        let usage = Usage { input: 1_000_000, cached: 600_000, written: 200_000, output: 500_000 };
        let cost = price.of(&usage);
        assert!((cost - (0.2 + 0.06 + 0.25 + 2.0)).abs() < 1e-9, "{cost}");
        assert!((price.times(0.5).of(&usage) - cost / 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_counted_breaks_no_sum() {
        let huge = Usage { input: u64::MAX, cached: u64::MAX, written: u64::MAX, output: u64::MAX };
        let mut sum = huge;
        sum += huge;
        assert_eq!(sum, huge);
        assert_eq!(
            huge.bounded(),
            Usage { input: 1 << 40, cached: 1 << 40, written: 0, output: 1 << 40 }
        );
        let price = Price { input: 1.0, cached: 0.1, written: 1.25, output: 4.0 };
        assert!(price.of(&huge).is_finite());
    }

    #[test]
    fn addresses_are_shown_without_their_secrets() {
        let check = |address, shown: &str| assert_eq!(public_address(address), shown);
        check("https://host/v1", "https://host/v1");
        check("https://me:secret@host:8080/v1/", "https://host:8080/v1/");
        check("https://host/v1?key=secret#there", "https://host/v1");
        check("https://host?key=a@b/c", "https://host");
        check("host/v1?key=secret", "host/v1");
    }

    #[test]
    fn tokens_are_rather_too_many() {
        assert_eq!(estimate_tokens(""), 0);
        // 44 characters; common tokenizers say 10.
        let english = estimate_tokens("The quick brown fox jumps over the lazy dog.");
        assert!((10..=14).contains(&english), "{english}");
        assert_eq!(estimate_tokens("年终奖怎么计税"), 7);
    }

    #[test]
    fn a_text_is_cut_where_its_tokens_end() {
        let mixed = "The 年终奖 of 3.6 万元, taxed alone";
        for tokens in 0..20 {
            let start = within_tokens(mixed, tokens);
            assert!(estimate_tokens(start) <= tokens);
            let next = mixed[start.len()..].chars().next();
            let longer = next.map(|c| format!("{start}{c}"));
            assert!(longer.is_none_or(|longer| estimate_tokens(&longer) > tokens), "{start}");
        }
        assert_eq!(within_tokens(mixed, 100), mixed);
    }
}
