//! A server under test: the real command, asked over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::folder::Fixture;

/// A running `fingerpost serve`.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// Host and port.
    pub(crate) address: String,
    pub(crate) token: String,
    agent: Agent,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    fn of(response: Response<Body>) -> Self {
        let (parts, mut body) = response.into_parts();
        let text = body.read_to_string().unwrap();
        Self { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// A problem of this status, as problems are told.
    pub(crate) fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], "about:blank");
        assert!(!problem["title"].as_str().unwrap().is_empty());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        problem
    }
}

impl Server {
    /// Serves the library of a fixture, and waits until it is compiled.
    pub(crate) fn start(fixture: &Fixture, arguments: &[&str]) -> Self {
        let server = Self::begin(fixture, arguments);
        server.until_ready();
        server
    }

    /// The same, as soon as it listens.
    pub(crate) fn begin(fixture: &Fixture, arguments: &[&str]) -> Self {
        let mut command = fixture.command(&["serve", "--library", "library", "--port", "0"]);
        command.arg("--print-token").args(arguments).stderr(Stdio::null());
        Self::of(command)
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().split_once("/#token=").unwrap_or((line.trim(), ""));
        let address = address.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A server may end a connection that it has refused something on; none is used again.
            .max_idle_connections(0)
            .timeout_global(Some(Duration::from_secs(120)));
        let token = token.to_owned();
        Self { child, address, token, agent: config.build().new_agent() }
    }

    pub(crate) fn until_ready(&self) {
        let begun = Instant::now();
        while self.get_with_token("/readyz").status != 200 {
            assert!(begun.elapsed() < Duration::from_secs(120), "it never became ready");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        Answer::of(self.agent.get(self.url(path)).call().unwrap())
    }

    pub(crate) fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.agent.get(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request.call().unwrap())
    }

    pub(crate) fn get_with_token(&self, path: &str) -> Answer {
        self.get_with(path, &[("authorization", &format!("Bearer {}", self.token))])
    }

    /// JSON that must be there.
    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert_eq!(answer.header("content-type"), "application/json");
        answer.json()
    }

    pub(crate) fn post(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.agent.post(self.url(path)).content_type("application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request.send(body.to_string()).unwrap())
    }

    /// The same by the person who started it.
    pub(crate) fn order(&self, path: &str, body: &Value) -> Answer {
        self.post(path, body, &[("authorization", &format!("Bearer {}", self.token))])
    }

    pub(crate) fn put(&self, path: &str, body: &Value, token: &str) -> Answer {
        let request = self.agent.put(self.url(path)).content_type("application/json");
        let request = request.header("authorization", format!("Bearer {token}"));
        Answer::of(request.send(body.to_string()).unwrap())
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        let request = self.agent.delete(self.url(path));
        let request = request.header("authorization", format!("Bearer {}", self.token));
        Answer::of(request.call().unwrap())
    }

    /// Events, until there are no more.
    pub(crate) fn events(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let mut request = self.agent.get(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.call().unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { lines: BufReader::new(Box::new(response.into_body().into_reader())) }
    }

    /// Sends these bytes, and reads what comes until the connection ends.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut read = Vec::new();
        let _ = stream.read_to_end(&mut read);
        String::from_utf8_lossy(&read).into_owned()
    }

    /// Asks it to end as the system does.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Server-sent events, as they come.
pub(crate) struct Events {
    lines: BufReader<Box<dyn Read + Send>>,
}

/// One of them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                _ if line.trim().is_empty() && !event.name.is_empty() => return Some(event),
                _ => {}
            }
        }
    }
}
