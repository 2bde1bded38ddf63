//! A chat server that does what a script says, to see how we bear it. It writes real pages, from
//! the documents in the prompt, so that they pass the checks; and it chooses among cards.
//!
//! Also used by the command's tests, which include this file.

#![allow(dead_code, reason = "each of the two test binaries uses a part")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with one request for an answer; after the last it writes pages and chooses.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Writes the page asked for, or chooses among the cards shown.
    Page,
    /// The same, after a while.
    Slowly(Duration),
    /// Says this.
    Says(String),
    /// Says this, and that it was cut there.
    Cut(String),
    /// A status, extra headers and a body.
    Status(u16, String, String),
    /// Says nothing until the client gives up.
    Hang,
    /// Closes the connection without a word.
    Drop,
    /// Promises more than it sends.
    BreakOff,
    /// Bytes that are not UTF-8, in an otherwise good answer.
    BadBytes,
    /// Half of a surrogate pair, which JSON can spell and nobody can read.
    HalfPair,
    /// A page, and no word about tokens.
    Uncounted,
    /// A page, and this about tokens.
    Counts(Value),
    /// Begins a good answer and never ends it.
    Endless,
    /// The same, a few bytes at a time.
    Drips,
}

/// What the server will not take, whoever asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refuses {
    /// Words of a request that make it a bad one, with the complaint.
    pub(crate) fields: Vec<(&'static str, &'static str)>,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.lines().filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim())
    }
}

#[derive(Default)]
struct State {
    script: Vec<Act>,
    refuses: Refuses,
    asked: Vec<Asked>,
    /// The prompts of batches, and how often each was looked after.
    batches: Vec<(Value, String, usize)>,
}

/// Runs until the process ends; remembers what it was asked.
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start(mut script: Vec<Act>) -> Self {
        script.reverse();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { script, ..State::default() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { url, state }
    }

    pub(crate) fn refusing(self, fields: &[(&'static str, &'static str)]) -> Self {
        self.state.lock().unwrap().refuses = Refuses { fields: fields.to_vec() };
        self
    }

    /// What was asked of the model, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = self.state.lock().unwrap().asked.clone();
        let is_prompt = |asked: &Asked| {
            let path = asked.path.split('?').next().unwrap_or_default();
            path.ends_with("/chat/completions") || path.ends_with("/messages")
        };
        asked.into_iter().filter(is_prompt).collect()
    }

    /// Every request, in order.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some((asked, raw)) = read_request(&mut reader) {
        let mut lock = state.lock().unwrap();
        lock.asked.push(asked.clone());
        if asked.path.contains("/files") || asked.path.contains("/batches") {
            let (status, body) = batches(&mut lock, &asked, &raw);
            drop(lock);
            if reply(&mut stream, status, "", body.as_bytes(), 0).is_err() {
                return;
            }
            continue;
        }
        let complaint = lock.refuses.fields.iter().find(|(field, _)| raw.contains(field));
        if let Some((_, complaint)) = complaint {
            let body = json!({"error": {"message": complaint}}).to_string();
            drop(lock);
            let _ = reply(&mut stream, 400, "", body.as_bytes(), 0);
            continue;
        }
        let act = lock.script.pop().unwrap_or(Act::Page);
        drop(lock);
        if !perform(&mut stream, &asked, act) {
            return;
        }
    }
}

/// False if the connection is over.
fn perform(stream: &mut TcpStream, asked: &Asked, act: Act) -> bool {
    let anthropic = asked.path.ends_with("/messages");
    let answer = |text: &str, finish: &str| {
        let body = if anthropic { message(text, finish) } else { completion(text, finish) };
        body.to_string()
    };
    let page = || answer_for(&asked.body);
    let body = match act {
        Act::Page => answer(&page(), "stop"),
        Act::Slowly(wait) => {
            thread::sleep(wait);
            answer(&page(), "stop")
        }
        Act::Says(text) => answer(&text, "stop"),
        Act::Cut(text) => answer(&text, "length"),
        Act::Status(status, headers, body) => {
            return reply(stream, status, &headers, body.as_bytes(), 0).is_ok();
        }
        Act::Hang => {
            thread::sleep(Duration::from_secs(5));
            return false;
        }
        Act::Drop => return false,
        Act::BreakOff => {
            let body = answer(&page(), "stop");
            let _ = reply(stream, 200, "", &body.as_bytes()[..body.len() / 2], body.len() / 2);
            return false;
        }
        Act::BadBytes => {
            let mut body = answer("PLACE", "stop").into_bytes();
            let at = body.windows(5).position(|bytes| bytes == b"PLACE").unwrap();
            body[at] = 0xff;
            return reply(stream, 200, "", &body, 0).is_ok();
        }
        Act::HalfPair => answer("PLACE", "stop").replace("PLACE", "\\ud83d"),
        Act::Counts(usage) => {
            let mut body: Value = serde_json::from_str(&answer(&page(), "stop")).unwrap();
            body["usage"] = usage;
            body.to_string()
        }
        Act::Endless => {
            pour(stream, &[b'x'; 1 << 16], Duration::ZERO);
            return false;
        }
        Act::Drips => {
            pour(stream, b"x", Duration::from_millis(20));
            return false;
        }
        Act::Uncounted => {
            let mut body: Value = serde_json::from_str(&answer(&page(), "stop")).unwrap();
            body.as_object_mut().unwrap().remove("usage");
            body.to_string()
        }
    };
    reply(stream, 200, "", body.as_bytes(), 0).is_ok()
}

/// Sends the same again and again, until nobody reads it.
fn pour(stream: &mut TcpStream, drop: &[u8], pause: Duration) {
    let head = "HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut chunk = format!("{:x}\r\n", drop.len()).into_bytes();
    chunk.extend_from_slice(drop);
    chunk.extend_from_slice(b"\r\n");
    if stream.write_all(head.as_bytes()).is_err() {
        return;
    }
    while stream.write_all(&chunk).and_then(|()| stream.flush()).is_ok() {
        thread::sleep(pause);
    }
}

/// Tokens are counted as words, so that tests can foresee them.
fn completion(text: &str, finish: &str) -> Value {
    json!({
        "model": "fake-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 600}},
    })
}

fn message(text: &str, finish: &str) -> Value {
    let finish = if finish == "length" { "max_tokens" } else { "tool_use" };
    let input: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let block = match input {
        Value::Object(_) => json!({"type": "tool_use", "id": "t", "name": "page", "input": input}),
        _ => json!({"type": "text", "text": text}),
    };
    json!({
        "model": "fake-claude",
        "content": [block],
        "stop_reason": finish,
        "usage": {"input_tokens": 100, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 300, "output_tokens": 100},
    })
}

/// What a model of good will says to a prompt: a choice where it shows cards, else a page.
pub(crate) fn answer_for(body: &Value) -> String {
    match prompt_text(body).contains("<card-") {
        true => choice_for(body),
        false => page_for(body),
    }
}

/// A skill of a prompt: id, description and content.
type Document = (String, String, String);

/// A page for the skill that a prompt asks for, or pages for all of them, from the documents in it:
/// honest ones, without much art.
pub(crate) fn page_for(body: &Value) -> String {
    let text = prompt_text(body);
    let documents: Vec<Document> = text
        .split("<skill-")
        .skip(2)
        .filter_map(|block| {
            let block = block.split("</skill-").next()?;
            let field = |name: &str| {
                block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
            };
            let id: String = serde_json::from_str(&field("id: ")?).ok()?;
            let content = block.split_once("\n\n")?.1.to_owned();
            Some((id, field("description: ")?, content))
        })
        .collect();
    if text.contains("Write the pages of all ") {
        let pages: Vec<Value> = documents
            .iter()
            .map(|(id, ..)| {
                let mut page = page_of(id, &documents);
                page["skill"] = json!(id);
                page
            })
            .collect();
        return json!({"pages": pages}).to_string();
    }
    let Some(wish) = text.rsplit("Write the page of the skill ").next() else {
        return "{}".into();
    };
    let mut wish = serde_json::Deserializer::from_str(wish).into_iter::<String>();
    let Some(Ok(focal)) = wish.next() else { return "{}".into() };
    page_of(&focal, &documents).to_string()
}

fn page_of(focal: &str, documents: &[Document]) -> Value {
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let mine = documents.iter().find(|(id, ..)| id == focal);
    let other = documents.iter().find(|(id, ..)| id != focal);
    let (description, content) =
        mine.map_or(("", ""), |(_, description, content)| (description, content));
    let names_other = |line: &str| {
        let others = documents.iter().filter(|(id, ..)| id != focal);
        let mut names = others.map(|(id, ..)| id.rsplit('/').next().unwrap_or(id));
        names.any(|name| {
            line.to_lowercase().contains(&name.replace('-', " ")) || line.contains(name)
        })
    };
    let prose = content.lines().filter(|line| {
        let is_markup = line.starts_with(['#', '-', '*', '|', '`', ' ', '<', '1']);
        !is_markup && !line.trim().is_empty() && !names_other(line)
    });
    let prose: Vec<&str> = prose.collect();
    let case =
        other.map(|(id, description, _)| json!({"request": cut(description, 120), "skill": id}));
    let boundary: Vec<Value> = case.into_iter().collect();
    let body = cut(&prose.join(" ").replace(['*', '`'], ""), 500);
    json!({"trigger": cut(description, 380), "boundary": boundary, "body": body})
}

/// The card that has most words of the request, the first of equals; without any, none.
pub(crate) fn choice_for(body: &Value) -> String {
    let text = prompt_text(body);
    let within = |text: &str, mark: &str| -> Vec<String> {
        let mark = format!("\n<{mark}-");
        let parts = text.split(&mark).skip(1);
        let inner = |part: &str| part.split_once('\n').map(|(_, rest)| rest.to_lowercase());
        let parts = parts.filter_map(|part| inner(part.split("\n</").next()?));
        parts.collect()
    };
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).map(Into::into).collect()
    };
    let request = words(&within(&text, "request").join(" "));
    let cards = within(&text, "card");
    let shared = |card: &String| {
        let own = card.split("not for:").next().unwrap_or_default();
        words(own).intersection(&request).count()
    };
    let best = cards.iter().map(shared).enumerate().rev().max_by_key(|(_, shared)| *shared);
    let choice = match best {
        Some((at, shared)) if shared > 0 => (at + 1).to_string(),
        _ => "none".into(),
    };
    json!({"reason": "It shares most words.", "choice": choice, "rejected": []}).to_string()
}

fn prompt_text(body: &Value) -> String {
    let first = body["messages"]
        .as_array()
        .and_then(|messages| messages.iter().find(|message| message["role"] == "user"));
    let Some(content) = first.map(|message| &message["content"]) else { return String::new() };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    }
}

/// The batch services of both protocols; a batch is ready the second time it is looked after.
fn batches(state: &mut State, asked: &Asked, raw: &str) -> (u16, String) {
    let last = asked.path.rsplit('/').next().unwrap_or_default();
    let number = |name: &str| name.rsplit('-').next().and_then(|n| n.parse::<usize>().ok());
    let anthropic = asked.path.contains("/messages/");
    match last.split('?').next().unwrap_or_default() {
        "files" => {
            let lines = raw.lines().filter(|line| line.starts_with('{'));
            let prompts: Vec<Value> =
                lines.map(|line| serde_json::from_str(line).unwrap()).collect();
            state.batches.push((json!(prompts), String::new(), 0));
            (200, json!({"id": format!("file-{}", state.batches.len() - 1)}).to_string())
        }
        "batches" if raw.is_empty() => {
            let rows = state.batches.iter().enumerate().map(|(at, (prompts, tag, _))| {
                json!({"id": format!("batch-{at}"), "metadata": {"fingerpost": tag}, "created_at": "2999-01-01T00:00:00Z", "request_counts": {"processing": prompts.as_array().map_or(0, Vec::len)}})
            });
            (200, json!({"data": rows.collect::<Vec<_>>()}).to_string())
        }
        "batches" if anthropic => {
            state.batches.push((asked.body["requests"].clone(), String::new(), 0));
            (200, json!({"id": format!("batch-{}", state.batches.len() - 1)}).to_string())
        }
        "batches" => {
            let at = asked.body["input_file_id"].as_str().and_then(number).unwrap();
            let tag = asked.body["metadata"]["fingerpost"].as_str().unwrap_or_default();
            state.batches[at].1 = tag.to_owned();
            (200, json!({"id": format!("batch-{at}")}).to_string())
        }
        "content" => {
            let file = asked.path.rsplit('/').nth(1).and_then(number).unwrap();
            let answer = |prompt: &Value| {
                let body = completion(&answer_for(&prompt["body"]), "stop");
                json!({"custom_id": prompt["custom_id"], "response": {"status_code": 200, "body": body}, "error": null}).to_string()
            };
            let prompts = state.batches[file].0.as_array().unwrap();
            (200, prompts.iter().map(answer).collect::<Vec<_>>().join("\n"))
        }
        "results" => {
            let at = asked.path.rsplit('/').nth(1).and_then(number).unwrap();
            let answer = |prompt: &Value| {
                let message = message(&answer_for(&prompt["params"]), "stop");
                json!({"custom_id": prompt["custom_id"], "result": {"type": "succeeded", "message": message}}).to_string()
            };
            let prompts = state.batches[at].0.as_array().unwrap();
            (200, prompts.iter().map(answer).collect::<Vec<_>>().join("\n"))
        }
        id => {
            let Some(batch) = number(id).and_then(|at| state.batches.get_mut(at)) else {
                return (404, json!({"error": {"message": "no such batch"}}).to_string());
            };
            batch.2 += 1;
            let all = batch.0.as_array().map_or(0, Vec::len);
            let ready = batch.2 > 1;
            let body = json!({
                "id": id,
                "status": if ready { "completed" } else { "in_progress" },
                "processing_status": if ready { "ended" } else { "in_progress" },
                "output_file_id": id.replace("batch", "file"),
                "request_counts": {"total": all, "completed": 0, "failed": 0, "processing": all},
            });
            (200, body.to_string())
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<(Asked, String)> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[before..].trim().is_empty() {
            break;
        }
    }
    let path = head.split_whitespace().nth(1)?.to_owned();
    let mut asked = Asked { path, headers: head, body: Value::Null };
    let length = asked.header("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let raw = String::from_utf8_lossy(&body).into_owned();
    asked.body = serde_json::from_str(&raw).unwrap_or_default();
    Some((asked, raw))
}

/// Sends an answer that promises `missing` bytes more than there are.
fn reply(
    stream: &mut TcpStream,
    status: u16,
    headers: &str,
    body: &[u8],
    missing: usize,
) -> std::io::Result<()> {
    let length = body.len() + missing;
    let head = format!("HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}
