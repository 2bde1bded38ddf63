//! A server that does what a script says, to see how we bear it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with one request; after the last it embeds properly.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Answers with vectors, as asked.
    Embed,
    /// The same, but the rows in reverse order with their true indices.
    Shuffled,
    /// A status, extra headers and a body.
    Status(u16, &'static str, &'static str),
    /// Says nothing until the client gives up.
    Hang,
    /// Promises more than it sends.
    Truncated,
    /// One vector less than texts.
    TooFew,
    /// Two vectors for the first text, none for the second.
    Twice,
    /// Vectors of length one.
    Short,
    /// Says this about tokens.
    Counts(&'static str),
    /// Never ends.
    Endless,
}

/// Runs until dropped by the process; remembers what it was asked.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) authorization: Option<String>,
}

impl Server {
    pub(crate) fn start(script: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(script.into_iter()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                thread::spawn(move || serve(stream, &script, &log));
            }
        });
        Self { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// The vector that the server gives a text: unlike any other's.
pub(crate) fn vector(text: &str) -> [f32; 3] {
    let sum: u32 = text.bytes().map(u32::from).sum();
    [text.len() as f32, sum as f32, 1.0]
}

fn serve(mut stream: TcpStream, script: &Mutex<std::vec::IntoIter<Act>>, log: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(asked) = read_request(&mut reader) {
        let act = script.lock().unwrap().next().unwrap_or(Act::Embed);
        let inputs = asked.body["input"].as_array().cloned().unwrap_or_default();
        log.lock().unwrap().push(asked);
        let row = |(index, text): (usize, &Value)| json!({"index": index, "embedding": vector(text.as_str().unwrap())});
        let mut rows: Vec<Value> = inputs.iter().enumerate().map(row).collect();
        match act {
            Act::Hang => {
                thread::sleep(Duration::from_secs(5));
                return;
            }
            Act::Status(status, headers, body) => {
                let _ = reply(&mut stream, status, headers, body, body.len());
                continue;
            }
            Act::Shuffled => rows.reverse(),
            Act::TooFew => drop(rows.pop()),
            Act::Twice => rows[1]["index"] = json!(0),
            Act::Short => rows.iter_mut().for_each(|row| row["embedding"] = json!([1.0])),
            Act::Endless => {
                let head = "HTTP/1.1 200 x\r\ncontent-length: 9999999999\r\n\r\n";
                let _ = stream.write_all(head.as_bytes());
                while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
                return;
            }
            Act::Embed | Act::Truncated | Act::Counts(_) => {}
        }
        let tokens = match act {
            Act::Counts(tokens) => json!(tokens),
            _ => json!(inputs.len() * 7),
        };
        let body = json!({"object": "list", "data": rows, "usage": {"prompt_tokens": tokens}});
        let body = body.to_string();
        if matches!(act, Act::Truncated) {
            let half = &body[..body.len() / 2];
            let _ = reply(&mut stream, 200, "", half, half.len());
            return;
        }
        if reply(&mut stream, 200, "", &body, body.len()).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Asked> {
    let (mut length, mut authorization) = (0, None);
    let (mut line, mut path) = (String::new(), None);
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        path.get_or_insert_with(|| line.split(' ').nth(1).unwrap_or_default().to_owned());
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        } else if lower.starts_with("authorization:") {
            authorization = Some(line["authorization:".len()..].trim().to_owned());
        } else if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { path: path?, body: serde_json::from_slice(&body).ok()?, authorization })
}

fn reply(
    stream: &mut TcpStream,
    status: u16,
    headers: &str,
    body: &str,
    length: usize,
) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
