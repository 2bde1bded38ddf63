//! How the server begins and ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::FAMILIES;
use crate::chat_server::{Act, Server as Chat};
use crate::folder::{Fixture, err};
use crate::server::Server;

#[test]
fn it_says_where_it_is_and_nothing_else() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let mut command = fixture.command(&["serve", "--library", "library", "--port", "0"]);
    command.stderr(Stdio::null());
    let mut server = Server::of(command);
    assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
    assert_eq!(server.token, "", "nobody looks at a terminal");
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let mut rest = String::new();
    server.child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn it_answers_before_the_library_is_compiled() {
    let fixture = Fixture::new(&FAMILIES);
    let server = Server::begin(&fixture, &[]);
    assert_eq!(server.get("/healthz").status, 200);
    // It may be compiled by now; if not, that is what is said.
    let early = server.get("/v1/library");
    if early.status != 200 {
        early.problem(503);
        assert!(!early.header("retry-after").is_empty());
    }
}

#[test]
fn a_port_that_is_taken_is_an_error_that_says_so() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = fixture.run(&["serve", "--library", "library", "--port", &port]);
    assert_eq!(output.status.code(), Some(3));
    assert!(err(&output).contains("--port 0"), "{}", err(&output));
    let output = fixture.run(&["serve", "--library", "no/such/library", "--port", "0"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
}

#[test]
fn what_is_under_way_is_answered_before_the_end() {
    let fixture = Fixture::new(&FAMILIES);
    let mut server = Server::start(&fixture, &[]);
    let body = json!({"query": "QT by the square root"}).to_string();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let listening = server.events("/v1/events", &[]);
    // The request has begun, and half of it is still to come.
    stream.write_all(&body.as_bytes()[..5]).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.terminate();
    std::thread::sleep(Duration::from_millis(200));
    stream.write_all(&body.as_bytes()[5..]).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("qtc-bazett"), "{answer}");
    assert!(listening.count() >= 1, "whoever listens is told that it is over");
    assert_eq!(server.wait(), Some(0));
    assert!(TcpStream::connect(&server.address).is_err());
}

#[test]
fn a_job_finishes_its_call_before_the_end() {
    let fixture = Fixture::new(&FAMILIES);
    let slow: Vec<Act> = (0..200).map(|_| Act::Slowly(Duration::from_millis(300))).collect();
    let chat = Chat::start(slow);
    let model = ["--model", "fake", "--base-url", &chat.url, "--concurrency", "1"];
    let mut server = Server::start(&fixture, &model);
    assert_eq!(server.order("/v1/compile", &json!({"writer": "llm"})).status, 202);
    let begun = Instant::now();
    while chat.asked().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no call was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let ledger = fixture.json(&["ledger", "--library", "library"]);
    assert_eq!(ledger["calls"], chat.asked().len(), "no answer was lost: {ledger}");
    assert_eq!(ledger["spend"][0]["unfinished"], 0);
}
