//! Who is turned away, and whom limits stop.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::FAMILIES;
use crate::folder::{Fixture, err};
use crate::server::Server;

const TOKEN: &str = "a-token-of-some-length";

#[test]
fn requests_for_others_and_from_others_are_refused() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let server = Server::start(&fixture, &["--allowed-host", "skills.example"]);
    let ask = |host: &str| {
        server
            .raw(format!("GET /v1/library HTTP/1.1\r\n{host}Connection: close\r\n\r\n").as_bytes())
    };
    for host in ["Host: evil.example\r\n", "Host: 127.0.0.1.evil.example\r\n", "Host: 10.1.2.3\r\n"]
    {
        let answer = ask(host);
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
        assert!(answer.contains("application/problem+json") && answer.contains("--allowed-host"));
    }
    assert!(ask("").starts_with("HTTP/1.1 400"));
    for host in ["Host: localhost:1\r\n", "Host: [::1]:9\r\n", "Host: skills.example\r\n"] {
        assert!(ask(host).starts_with("HTTP/1.1 200"), "{host}");
    }
    let request = json!({"request": "QT by the square root"});
    let from = |origin: &str| server.post("/v1/route", &request, &[("origin", origin)]);
    from("https://evil.example").problem(403);
    from("null").problem(403);
    from("http://localhost:1").problem(403);
    assert_eq!(from(&server.url("")).status, 200);
}

#[test]
fn what_edits_or_spends_needs_the_token() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let server = Server::start(&fixture, &[]);
    assert!(server.token.len() >= 32, "a fresh one cannot be guessed: {}", server.token);
    let page = json!({"trigger": "a", "boundary": [], "body": ""});
    for token in ["", "wrong", &server.token[1..]] {
        server.put("/v1/pages/qtc-bazett", &page, token).problem(401);
        let headers = [("authorization", format!("Bearer {token}"))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        for path in [
            "pages/qtc-bazett/pin",
            "pages/qtc-bazett/unpin",
            "pages/qtc-bazett/rewrite",
            "compile",
        ] {
            let refused = server.post(&format!("/v1/{path}"), &json!({}), &headers);
            refused.problem(401);
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
    }
    assert_eq!(server.json("/v1/jobs")["jobs"], json!([]));
}

#[test]
fn off_this_machine_everything_needs_a_token_of_ones_own() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let serve = ["serve", "--library", "library", "--port", "0", "--host", "0.0.0.0"];
    let refused = fixture.run(&serve);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("--token-file"), "{}", err(&refused));
    std::fs::write(fixture.path("token"), "short\n").unwrap();
    let refused = fixture.run(&[&serve[..], &["--token-file", "token"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("16 characters"), "{}", err(&refused));

    std::fs::write(fixture.path("token"), format!("{TOKEN}\n")).unwrap();
    let mut command = fixture.command(&serve);
    command.args(["--token-file", "token"]).stderr(Stdio::null());
    let mut server = Server::of(command);
    assert_eq!(server.token, "", "a token that somebody named is not printed");
    server.token = TOKEN.to_owned();
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    for path in [
        "/v1/library",
        "/v1/search?q=a",
        "/v1/map",
        "/v1/events",
        "/metrics",
        "/readyz",
        "/openapi.json",
    ] {
        server.get(path).problem(401);
    }
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.get("/").status, 200, "the page's own files tell nothing");
    let begun = std::time::Instant::now();
    while server.get_with_token("/readyz").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.get_with_token("/v1/library").json()["may_edit"], true);

    let mut command = fixture.command(&serve);
    command.env("FINGERPOST_TOKEN", TOKEN).stderr(Stdio::null());
    let mut server = Server::of(command);
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    server.get("/metrics").problem(401);
    server.token = TOKEN.to_owned();
    assert_eq!(server.get_with_token("/metrics").status, 200);
}

#[test]
fn limits_are_kept() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let server = Server::start(&fixture, &["--max-body", "1000", "--max-requests", "2"]);
    let long = server.post("/v1/search", &json!({"query": "a".repeat(2000)}), &[]);
    long.problem(413);
    // Two requests that never end hold both places; the third is told to come back.
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{{",
        server.address
    );
    let open = || {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let held = [open(), open()];
    let begun = std::time::Instant::now();
    let refused = loop {
        let answer = server.get("/healthz");
        if answer.status == 503 {
            break answer;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "both places are still free");
        std::thread::sleep(Duration::from_millis(10));
    };
    refused.problem(503);
    assert_eq!(refused.header("retry-after"), "1");
    drop(held);
    let begun = std::time::Instant::now();
    while server.get("/healthz").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the places are never given back");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn who_never_finishes_a_request_is_let_go() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let server = Server::start(&fixture, &["--answer-within", "1"]);
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{{",
        server.address
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[test]
fn logs_say_nothing_of_requests_unless_asked() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let logged = |arguments: &[&str]| {
        let mut command =
            fixture.command(&["serve", "--library", "library", "--port", "0", "--json"]);
        command.arg("--print-token").args(arguments).stderr(Stdio::piped());
        let mut server = Server::of(command);
        server.get("/v1/search?q=sesame");
        server.post("/v1/route", &json!({"request": "open sesame"}), &[]);
        server.terminate();
        assert_eq!(server.wait(), Some(0));
        let mut log = String::new();
        server.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        for line in log.lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(entry["level"].is_string(), "{line}");
        }
        log
    };
    let quiet = logged(&[]);
    assert!(quiet.contains("/v1/search") && !quiet.contains("sesame"), "{quiet}");
    let told = logged(&["--log-requests"]);
    assert!(told.contains("q=sesame") && told.contains("open sesame"), "{told}");
}
