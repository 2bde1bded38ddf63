//! What do nodes and compilations do while the database is away?

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::chat_server;
use crate::folder::{Fixture, err};
use crate::machine::{FAMILIES, Machine, atlas_at};
use crate::real::private;
use crate::real::server::Stop;

/// Takes the server away when it is dropped.
struct Gone(crate::real::server::Server);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.remove();
    }
}

fn until(what: &str, within: Duration, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < within, "{what}: not after {within:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_node_answers_while_the_database_is_away_and_recovers_by_itself() {
    let Some(database) = private().map(Gone) else { return };
    let url = atlas_at(&database.0.url());
    let compiler = Machine::new(&url, &FAMILIES);
    compiler.compile();
    let node = Machine::new(&url, &[]);
    let server = node.serve();
    let search = || server.json("/v1/search?q=QT%20by%20the%20square%20root");
    let away = || server.json("/readyz").get("away").cloned();
    let (before, first) = (search(), server.json("/v1/library"));
    assert_eq!(away(), None);
    for _ in 0..2 {
        database.0.stop(Stop::Immediate).unwrap();
        until("it says so", Duration::from_secs(3), || away().is_some());
        let said = away().unwrap();
        assert!(said.as_str().unwrap().contains("cannot be reached"), "{said}");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            assert_eq!(search()["hits"], before["hits"]);
            thread::sleep(Duration::from_millis(50));
        }
        until("the status says so", Duration::from_secs(3), || {
            server.json("/v1/library")["failed"] != Value::Null
        });
        let metrics = server.get("/metrics").text;
        assert!(metrics.contains("fingerpost_atlas_away 1"), "{metrics}");
        database.0.begin().unwrap();
        until("it recovers", Duration::from_secs(10), || {
            away().is_none() && server.json("/v1/library")["failed"] == Value::Null
        });
    }
    compiler.fixture.change("qt-correction/qtc-bazett");
    compiler.compile();
    until("it hears of new states again", Duration::from_secs(1), || {
        server.json("/v1/library")["generation"].as_u64() > first["generation"].as_u64()
    });
}

#[test]
fn a_compilation_survives_a_crash_of_the_database() {
    let Some(database) = private().map(Gone) else { return };
    let quiet = Fixture::with_atlas(&FAMILIES);
    quiet.run(&["compile", "library"]);
    let pages = quiet.run(&["export"]).stdout;
    for after in [0, 50] {
        let machine = Machine::new(&atlas_at(&database.0.url()), &FAMILIES);
        let mut compiling = machine.begin_to_compile();
        thread::sleep(Duration::from_millis(after));
        database.0.stop(Stop::Immediate).unwrap();
        database.0.begin().unwrap();
        let status = compiling.wait().unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut compiling.stderr.take().unwrap(), &mut said).unwrap();
        assert!(status.success(), "{said}");
        assert_eq!(machine.run(&["export"]).stdout, pages);
    }
}

/// Every call that the model was asked is booked, none is made twice, and another machine has the pages.
#[test]
fn what_was_paid_for_outlives_a_crash_and_counts_on_every_machine() {
    let Some(database) = private().map(Gone) else { return };
    let model = chat_server::Server::start(vec![]);
    let url = atlas_at(&database.0.url());
    let machines = [Machine::new(&url, &FAMILIES), Machine::new(&url, &FAMILIES)];
    let compile = |machine: &Machine| {
        let with = ["--writer", "llm", "--model", "fake", "--base-url", &model.url, "--json"];
        let mut command = machine.command(&["compile", "library"]);
        command.args(with).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let first = compile(&machines[0]);
    until("the model is asked", Duration::from_secs(60), || model.asked().len() >= 3);
    database.0.stop(Stop::Immediate).unwrap();
    database.0.begin().unwrap();
    let output = first.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    let asked = model.asked().len();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["calls"], asked);
    let ledger = machines[1].json(&["ledger"]);
    assert_eq!((&ledger["calls"], &ledger["spend"][0]["unfinished"]), (&asked.into(), &0.into()));
    let output = compile(&machines[1]).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(model.asked().len(), asked, "{}", err(&output));
    let pages = machines.each_ref().map(|machine| machine.done(&["export"]));
    assert!(pages[0].contains("llm fake"));
    assert_eq!(pages[0], pages[1]);
}
