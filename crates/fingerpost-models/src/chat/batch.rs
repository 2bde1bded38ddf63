//! How are many prompts answered at leisure, for less?
//!
//! As lines of a file, in the form of OpenAI's batches, for those who run prompts elsewhere; and by
//! the batch services of OpenAI and Anthropic: submit, look in from time to time, fetch. A prompt is
//! named by its key, so an answer finds its place in the ledger whenever and however it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fingerpost::chat::{ChatError, Prompt, Reply};
use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoint::{Endpoint, Trouble};
use super::{Api, ChatConfig, Dialect};
use crate::retry::{Failure, attempts_until};
use crate::wire::MAX_REPLY;

/// Most prompts in one batch; the services allow more, and files of this size are still handy.
pub const MAX_PROMPTS: usize = 10_000;

/// Bytes of an answer's line, on the average of a batch.
const BYTES_A_LINE: u64 = 32 << 10;

/// A prompt as a line, without its end.
pub fn line(key: &str, model: &str, prompt: &Prompt, dialect: Dialect) -> String {
    let body = Api::OpenAi.body(model, prompt, dialect);
    json!({"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body})
        .to_string()
}

/// An answer that came for a prompt: the key, and the reply or why there is none.
pub type Answered = (String, Result<Reply, String>);

#[derive(Deserialize)]
struct Line {
    custom_id: String,
    response: Option<Response>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Response {
    status_code: Option<u16>,
    body: Value,
}

/// Reads the line of an answer; the error says why it is none.
pub fn read_line(line: &str) -> Result<Answered, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let reply = match (line.response, line.error) {
        (Some(Response { status_code: None | Some(200), body }), None | Some(Value::Null)) => {
            super::openai::read(body.to_string().as_bytes())
        }
        (Some(Response { status_code, body }), _) => {
            let said = crate::wire::complaint(body.to_string().as_bytes());
            Err(format!("status {}: {said}", status_code.unwrap_or(0)))
        }
        (None, Some(error)) => Err(error.to_string()),
        (None, None) => Err("there is neither a response nor an error".into()),
    };
    Ok((line.custom_id, reply))
}

/// An answer with estimates of the tokens that its server did not count.
pub fn counted(reply: Reply, prompt: &Prompt) -> Reply {
    super::usage::with_estimates(reply, prompt)
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchState {
    /// So many of so many prompts are done.
    UnderWay {
        /// Done.
        done: u64,
        /// In all.
        all: u64,
    },
    /// Its answers can be fetched; some prompts may have none.
    Ended,
    /// It came to nothing.
    Failed(String),
}

/// A batch service.
pub struct BatchClient {
    config: ChatConfig,
    endpoint: Endpoint,
    requests: AtomicU64,
    cancel: Arc<AtomicBool>,
}

impl BatchClient {
    /// Prepares to ask; nothing is sent yet.
    pub fn new(config: ChatConfig, cancel: Arc<AtomicBool>) -> Result<Self, ChatError> {
        let endpoint = Endpoint::new(&config)?;
        Ok(Self { config, endpoint, requests: AtomicU64::new(0), cancel })
    }

    /// Submits prompts; returns the service's name of the batch. `tag` finds it again.
    pub fn submit(
        &self,
        prompts: &[(String, Prompt)],
        tag: &str,
        dialect: Dialect,
    ) -> Result<String, ChatError> {
        let model = &self.config.model;
        let batch = match self.config.api {
            Api::OpenAi => {
                let lines: Vec<String> = prompts
                    .iter()
                    .map(|(key, prompt)| line(key, model, prompt, dialect) + "\n")
                    .collect();
                let (content, body) = form(&lines.concat(), tag);
                let file =
                    self.attempt(|endpoint| endpoint.post_as("files", &content, &body, MAX_REPLY))?;
                let file = text(&file, "/id")?;
                let wish = json!({
                    "input_file_id": file,
                    "endpoint": "/v1/chat/completions",
                    "completion_window": "24h",
                    "metadata": {"fingerpost": tag},
                });
                self.once(|endpoint| {
                    endpoint.post("batches", wish.to_string().as_bytes(), MAX_REPLY)
                })?
            }
            Api::Anthropic => {
                let requests: Vec<Value> = prompts
                    .iter()
                    .map(|(key, prompt)| {
                        json!({"custom_id": key, "params": self.config.api.body(model, prompt, dialect)})
                    })
                    .collect();
                let wish = json!({"requests": requests}).to_string();
                self.once(|endpoint| endpoint.post("messages/batches", wish.as_bytes(), MAX_REPLY))?
            }
        };
        text(&batch, "/id")
    }

    /// Looks for a batch of ours whose name we never heard: by its tag, or, where the service keeps
    /// no tags, by its size and time.
    pub fn find(
        &self,
        tag: &str,
        submitted: i64,
        size: usize,
    ) -> Result<Option<String>, ChatError> {
        let path = match self.config.api {
            Api::OpenAi => "batches?limit=100",
            Api::Anthropic => "messages/batches?limit=100",
        };
        let listed = json_of(&self.attempt(|endpoint| endpoint.get(path, MAX_REPLY))?)?;
        let is_ours = |batch: &&Value| match self.config.api {
            Api::OpenAi => batch["metadata"]["fingerpost"] == tag,
            Api::Anthropic => {
                let counts = batch["request_counts"].as_object();
                let all: u64 = counts.into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum();
                let created = batch["created_at"].as_str().and_then(seconds).unwrap_or(0);
                all == size as u64 && created >= submitted / 1000
            }
        };
        let batches = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = batches.iter().find(is_ours).and_then(|batch| batch["id"].as_str());
        Ok(found.map(str::to_owned))
    }

    /// How far a batch is.
    pub fn state(&self, id: &str) -> Result<BatchState, ChatError> {
        let batch = json_of(&self.attempt(|endpoint| endpoint.get(&self.path(id), MAX_REPLY))?)?;
        let counts = &batch["request_counts"];
        let count = |name: &str| counts[name].as_u64().unwrap_or(0);
        let state = match self.config.api {
            Api::OpenAi => match batch["status"].as_str().unwrap_or_default() {
                // An expired batch keeps what it got done.
                "completed" | "expired" => BatchState::Ended,
                status @ ("failed" | "cancelled") => {
                    let why = batch["errors"]["data"][0]["message"].as_str().unwrap_or("no reason");
                    BatchState::Failed(format!("the batch {id} has {status}: {why}"))
                }
                _ => BatchState::UnderWay {
                    done: count("completed") + count("failed"),
                    all: count("total"),
                },
            },
            Api::Anthropic => match batch["processing_status"].as_str().unwrap_or_default() {
                "ended" => BatchState::Ended,
                _ => {
                    let done = ["succeeded", "errored", "canceled", "expired"].map(count);
                    let done = done.iter().sum();
                    BatchState::UnderWay { done, all: done + count("processing") }
                }
            },
        };
        Ok(state)
    }

    /// What a batch of so many prompts answered.
    pub fn answers(&self, id: &str, prompts: usize) -> Result<Vec<Answered>, ChatError> {
        let failed = |message: String| ChatError::Failed { message };
        let most = MAX_REPLY + BYTES_A_LINE * prompts as u64;
        let lines = match self.config.api {
            Api::OpenAi => {
                let batch =
                    json_of(&self.attempt(|endpoint| endpoint.get(&self.path(id), MAX_REPLY))?)?;
                let mut lines = Vec::new();
                for file in ["output_file_id", "error_file_id"] {
                    if let Some(file) = batch[file].as_str() {
                        let path = format!("files/{file}/content");
                        lines.extend(self.attempt(|endpoint| endpoint.get(&path, most))?);
                    }
                }
                lines
            }
            Api::Anthropic => {
                let path = format!("{}/results", self.path(id));
                self.attempt(|endpoint| endpoint.get(&path, most))?
            }
        };
        let lines = String::from_utf8(lines)
            .map_err(|_| failed(format!("the answers of {id} are not UTF-8")))?;
        let lines = lines.split('\n').filter(|line| !line.trim().is_empty());
        lines
            .map(|line| match self.config.api {
                Api::OpenAi => read_line(line),
                Api::Anthropic => read_result(line),
            })
            .map(|answer| answer.map_err(|error| failed(format!("an answer of {id}: {error}"))))
            .collect()
    }

    fn path(&self, id: &str) -> String {
        match self.config.api {
            Api::OpenAi => format!("batches/{id}"),
            Api::Anthropic => format!("messages/batches/{id}"),
        }
    }

    /// With retries, for what may be done twice.
    fn attempt(
        &self,
        request: impl Fn(&Endpoint) -> Result<Vec<u8>, (Trouble, Failure)>,
    ) -> Result<Vec<u8>, ChatError> {
        let mut trouble = Trouble::Failed;
        let stream = self.requests.fetch_add(1, Ordering::Relaxed);
        let done = attempts_until(&self.config.retry, stream, &self.cancel, &|_, _, _| (), || {
            request(&self.endpoint).map_err(|(kind, failure)| {
                trouble = kind;
                failure
            })
        });
        done.map(|(bytes, _)| bytes)
            .map_err(|message| self.endpoint.error(trouble, message, &self.cancel))
    }

    /// Without, for what would be paid for twice.
    fn once(
        &self,
        request: impl Fn(&Endpoint) -> Result<Vec<u8>, (Trouble, Failure)>,
    ) -> Result<Vec<u8>, ChatError> {
        request(&self.endpoint).map_err(|(trouble, failure)| {
            let (Failure::Final(message) | Failure::Passing { message, .. }) = failure;
            self.endpoint.error(trouble, message, &self.cancel)
        })
    }
}

#[derive(Deserialize)]
struct ResultLine {
    custom_id: String,
    result: Outcome,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Outcome {
    Succeeded {
        message: Value,
    },
    Errored {
        error: Value,
    },
    #[serde(other)]
    Unanswered,
}

fn read_result(line: &str) -> Result<Answered, String> {
    let ResultLine { custom_id, result } =
        serde_json::from_str(line).map_err(|error| error.to_string())?;
    let reply = match result {
        Outcome::Succeeded { message } => super::anthropic::read(message.to_string().as_bytes()),
        Outcome::Errored { error } => Err(error.to_string()),
        Outcome::Unanswered => Err("the batch ended before it was answered".into()),
    };
    Ok((custom_id, reply))
}

/// A file in a form, as `/files` wants it: the content type and the body.
fn form(file: &str, tag: &str) -> (String, Vec<u8>) {
    // Lines of JSON hold no bare line break, so no line of the file can be the border.
    let border = format!("fingerpost-{tag}");
    let body = format!(
        "--{border}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{border}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{tag}.jsonl\"\r\ncontent-type: application/jsonl\r\n\r\n{file}\r\n--{border}--\r\n"
    );
    (format!("multipart/form-data; boundary={border}"), body.into_bytes())
}

fn json_of(bytes: &[u8]) -> Result<Value, ChatError> {
    serde_json::from_slice(bytes).map_err(|error| ChatError::Failed {
        message: format!("the service answered no JSON: {error}"),
    })
}

fn text(bytes: &[u8], place: &str) -> Result<String, ChatError> {
    let value = json_of(bytes)?;
    let text = value.pointer(place).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| ChatError::Failed { message: format!("the service gave no {place}") })
}

/// Seconds since 1970 of a time such as 2024-08-20T18:37:24.100435Z.
fn seconds(time: &str) -> Option<i64> {
    let part = |range: std::ops::Range<usize>| time.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let (hour, minute, second) = (part(11..13)?, part(14..16)?, part(17..19)?);
    // Days from 1970 to a date, with years that begin in March.
    let year = if month > 2 { year } else { year - 1 };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::limits::tests::prompt;

    #[test]
    fn a_line_out_is_openais() {
        let line: Value =
            serde_json::from_str(&line("k", "m", &prompt(), Dialect::default())).unwrap();
        assert_eq!(line["custom_id"], "k");
        assert_eq!(
            (&line["method"], &line["url"]),
            (&json!("POST"), &json!("/v1/chat/completions"))
        );
        assert_eq!(line["body"]["model"], "m");
    }

    #[test]
    fn a_line_in_is_read_strictly() {
        let body = json!({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]});
        let good = json!({"custom_id": "k", "response": {"status_code": 200, "body": body}, "error": null});
        let (key, reply) = read_line(&good.to_string()).unwrap();
        assert_eq!((key.as_str(), reply.unwrap().text.as_str()), ("k", "x"));
        let refused = json!({"custom_id": "k", "response": {"status_code": 429, "body": {"error": {"message": "slow"}}}});
        assert_eq!(read_line(&refused.to_string()).unwrap().1, Err("status 429: slow".into()));
        let empty = json!({"custom_id": "k"});
        assert!(read_line(&empty.to_string()).unwrap().1.is_err());
        assert!(read_line("{}").is_err() && read_line("").is_err());
    }

    #[test]
    fn results_of_anthropic_are_read_too() {
        let message =
            json!({"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"});
        let line = json!({"custom_id": "k", "result": {"type": "succeeded", "message": message}});
        assert_eq!(read_result(&line.to_string()).unwrap().1.unwrap().text, "x");
        let line = json!({"custom_id": "k", "result": {"type": "expired"}});
        assert!(read_result(&line.to_string()).unwrap().1.is_err());
    }

    #[test]
    fn times_are_read() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2024-08-20T18:37:24.100435Z"), Some(1_724_179_044));
        assert_eq!(seconds("2000-02-29T12:00:00Z"), Some(951_825_600));
        assert_eq!(seconds("soon"), None);
    }
}
