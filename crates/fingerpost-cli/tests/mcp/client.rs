//! A client of our own: a server in a process, messages to it, and all that it says.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::folder::Fixture;

/// Long enough for the slowest machine; nothing waits for it that works.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server, and all that it said.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) said: Receiver<String>,
    /// Notifications that came before an answer.
    pub(crate) news: Vec<Value>,
    pub(crate) last: u64,
}

impl Server {
    /// Started, and not yet spoken to.
    pub(crate) fn start(fixture: &Fixture, arguments: &[&str]) -> Self {
        let mut command = fixture.command(&[&["mcp"], arguments].concat());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (send, said) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines() {
                let _ = send.send(line.unwrap());
            }
        });
        let input = child.stdin.take();
        Self { child, input, said, news: Vec::new(), last: 0 }
    }

    /// Started and greeted.
    pub(crate) fn open(fixture: &Fixture, arguments: &[&str]) -> Self {
        let mut server = Self::start(fixture, arguments);
        let hello = server.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "fingerpost", "{hello}");
        server.tell("notifications/initialized");
        server
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn tell(&mut self, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": method}));
    }

    /// The next message, if one comes in time; every line must be one.
    pub(crate) fn hear(&mut self, patience: Duration) -> Option<Value> {
        let line = self.said.recv_timeout(patience).ok()?;
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("no message of the protocol ({error}): {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        Some(message)
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.hear(PATIENCE).unwrap_or_else(|| panic!("no answer to {method}"));
            if message["id"] == id {
                return message;
            }
            self.news.push(message);
        }
    }

    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// What a tool answers, once there is a state to answer from: a slow machine takes its time to make one.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let result = self.result("tools/call", json!({"name": tool, "arguments": arguments}));
            let text = result["content"][0]["text"].as_str().unwrap();
            if result["isError"] == true {
                let is_early = text.contains("for the first time") && Instant::now() < until;
                assert!(is_early, "{tool}: {text}");
                continue;
            }
            let text: Value = serde_json::from_str(text).unwrap();
            assert_eq!(text, result["structuredContent"], "both say the same");
            return text;
        }
    }

    /// Why a tool has no answer.
    pub(crate) fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Waits for a notification.
    pub(crate) fn wait_for(&mut self, method: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.news.iter().position(|news| news["method"] == method) {
                return self.news.remove(at);
            }
            let left = until.saturating_duration_since(Instant::now());
            let message = self.hear(left).unwrap_or_else(|| panic!("no {method}: {:?}", self.news));
            self.news.push(message);
        }
    }

    /// Asks a tool until its answer is as wanted: the library is compiled in the background.
    pub(crate) fn until(
        &mut self,
        tool: &str,
        arguments: Value,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.result("tools/call", json!({"name": tool, "arguments": arguments}));
            if wanted(&answer["structuredContent"]) {
                return answer["structuredContent"].clone();
            }
            assert!(Instant::now() < until, "{tool} never answered as wanted: {answer}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// The client hangs up: the server ends, and has said nothing but messages.
    pub(crate) fn close(mut self) -> (i32, String) {
        drop(self.input.take());
        while self.hear(Duration::from_secs(30)).is_some() {}
        let output = self.child.wait_with_output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
