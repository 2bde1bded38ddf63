//! Agents over HTTP: behind the same guard as everything else.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::FAMILIES;
use crate::folder::Fixture;
use crate::server::{Answer, Server};

const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    })
}

/// The message of an answer, which comes as JSON or as the first event that has one.
fn message(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let told = data.find(|data| data.starts_with('{')).unwrap_or(&answer.text);
    serde_json::from_str(told).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

#[test]
fn tools_are_listed_and_called() {
    let fixture = Fixture::new(&FAMILIES);
    let server = Server::start(&fixture, &[]);
    let begun = server.post("/mcp", &initialize(), &[BOTH]);
    let session = begun.header("mcp-session-id").to_owned();
    assert!(message(&begun)["result"]["serverInfo"]["name"].is_string(), "{begun:?}");
    let with = [BOTH, ("mcp-session-id", &session), ("mcp-protocol-version", "2025-11-25")];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(server.post("/mcp", &ready, &with).status, 202);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let tools = message(&server.post("/mcp", &list, &with));
    let tools = tools["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "route_skill"), "{tools:?}");
    let call = json!({
        "jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {
            "name": "route_skill",
            "arguments": {"request": "QT 380 at 72 bpm, correct it with the square root"},
        },
    });
    let called = message(&server.post("/mcp", &call, &with));
    assert!(called["result"].to_string().contains("qtc-bazett"), "{called}");
}

#[test]
fn agents_pass_the_same_guard() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let server = Server::start(&fixture, &["--max-body", "2000"]);
    let from = ("origin", "https://evil.example");
    server.post("/mcp", &initialize(), &[BOTH, from]).problem(403);
    server.get_with("/mcp", &[("accept", "text/event-stream"), from]).problem(403);
    let renamed =
        server.raw(b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(renamed.starts_with("HTTP/1.1 403"), "{renamed}");
    let mut long = initialize();
    long["params"]["clientInfo"]["title"] = "x".repeat(3000).into();
    assert_eq!(server.post("/mcp", &long, &[BOTH]).status, 413);
    drop(server);

    let mut command = fixture.command(&["serve", "--library", "library", "--port", "0"]);
    command.args(["--host", "0.0.0.0"]).env("FINGERPOST_TOKEN", "a-token-of-some-length");
    let mut server = Server::of({
        command.stderr(Stdio::null());
        command
    });
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    server.post("/mcp", &initialize(), &[BOTH]).problem(401);
    let token = ("authorization", "Bearer a-token-of-some-length");
    assert_eq!(server.post("/mcp", &initialize(), &[BOTH, token]).status, 200);
}
