//! Do many workers write every page once, whoever of them dies, pauses or is cut off?
//!
//! A round has four workers and whoever put the work up: two are killed, one is stopped for longer than its
//! lease and goes on, one loses the database for as long, at moments drawn from a seed. In every other round
//! whoever put the work up dies too, and a worker commits what all wrote. FINGERPOST_TORTURE_ROUNDS says how
//! many rounds; `cargo xtask postgres torture` makes twenty.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::chat_server::{Act, Server};
use crate::folder::{Fixture, err};
use crate::machine::{Machine, atlas_at};
use crate::real;

const SHARED: [&str; 6] =
    ["qt-correction", "loans", "clinical-scores", "containers", "email", "flights"];

/// What the fake model takes for a call: 400 tokens read, 600 from its cache, 100 written.
const PRICES: &str = "[[model]]\nname = \"fake\"\ninput = 1\ncached = 0.1\noutput = 4\n";
const A_CALL: f64 = 0.00086;

/// Units that a worker has under way at a time.
const AT_ONCE: usize = 2;

/// For how long a worker of the rounds may give no sign of life.
const LEASE: Duration = Duration::from_secs(1);

const MODEL: [&str; 4] = ["--model", "fake", "--prices", "prices.toml"];

fn machine(url: &str, families: &[&str]) -> Machine {
    let machine = Machine::new(url, families);
    std::fs::write(machine.fixture.path("prices.toml"), PRICES).unwrap();
    machine
}

fn put_up(machine: &Machine, model: &Server, more: &[&str]) -> Child {
    let mut command = machine.command(&["compile", "library", "--writer", "llm"]);
    command.args(MODEL).args(["--against", "rivals", "--base-url", &model.url]).args(more);
    begun(command)
}

fn worker(machine: &Machine, model: &Server, name: &str) -> Child {
    let mut command = machine.command(&["worker", "--name", name, "--base-url", &model.url]);
    let lease = LEASE.as_secs().to_string();
    command.args(MODEL).args(["--lease", &lease, "--concurrency", &AT_ONCE.to_string(), "--json"]);
    begun(command)
}

fn begun(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not after a minute");
        thread::sleep(Duration::from_millis(20));
    }
}

fn well(child: Child, who: &str) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{who}: {:?} {}", output.status, err(&output));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn status(machine: &Machine) -> Value {
    machine.json(&["worker", "status"])["work"].clone()
}

/// What an undisturbed folder has after one process has asked the same model, and in how many calls.
struct Quiet {
    pages: Vec<u8>,
    calls: usize,
}

impl Quiet {
    fn new() -> Self {
        let fixture = Fixture::with_atlas(&SHARED);
        let model = Server::start(vec![]);
        let arguments = ["compile", "library", "--writer", "llm", "--against", "rivals"];
        let mut command = fixture.command(&arguments);
        let output = command.args(["--model", "fake", "--base-url", &model.url]).output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
        Self { pages: fixture.run(&["export"]).stdout, calls: model.asked().len() }
    }
}

/// The way to the database, which can be cut and mended: bytes wait meanwhile, as in a network.
struct Way {
    port: u16,
    is_cut: Arc<AtomicBool>,
}

impl Way {
    fn to(place: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&is_cut);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&place).unwrap();
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                for (from, to) in [(client, server), back] {
                    let cut = Arc::clone(&cut);
                    thread::spawn(move || carry(from, to, &cut));
                }
            }
        });
        Self { port, is_cut }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while is_cut.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (to.shutdown(Shutdown::Write), from.shutdown(Shutdown::Read));
}

/// Numbers that look random, the same after the same seed.
struct Dice(u64);

impl Dice {
    fn millis(&mut self, from: u64, to: u64) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(from + (self.0 >> 33) % (to - from))
    }
}

fn round(url: &str, quiet: &Quiet, seed: u64) {
    let mut dice = Dice(seed);
    let model = Server::start(vec![Act::Slowly(Duration::from_millis(400)); 10_000]);
    let url = atlas_at(url);
    let (url, schema) =
        url.split_once("?schema=").map(|(u, s)| (u.to_owned(), s.to_owned())).unwrap();
    let (_, place) = url.split_once('@').unwrap();
    let (place, database) = place.split_once('/').unwrap();
    let way = Way::to(place.to_owned());
    let cut_url = url.replace(&format!("@{place}/"), &format!("@127.0.0.1:{}/", way.port));
    assert!(cut_url != url && cut_url.ends_with(database));
    let at = |url: &str| format!("{url}?schema={schema}");
    let sql = |what: &str| real::sql(&url, &what.replace("TABLE", &format!("\"{schema}\"")));

    let first = machine(&at(&url), &SHARED);
    let mut compiling = put_up(&first, &model, &["--concurrency", "1"]);
    until("the model is asked", || !model.asked().is_empty());
    let others = machine(&at(&url), &[]);
    let mut under_way = 0;
    let commits_itself = seed.is_multiple_of(2);
    let compiling = if commits_itself {
        Some(compiling)
    } else {
        compiling.kill().unwrap();
        compiling.wait().unwrap();
        under_way += 1;
        // Nobody has to wait for the leases of the dead: that is looked at elsewhere.
        sql("UPDATE TABLE.unit SET until = now() WHERE done IS NULL AND until IS NOT NULL");
        sql("UPDATE TABLE.claim SET until = now()");
        None
    };
    let cut_off = machine(&at(&cut_url), &[]);
    let names = ["one", "two", "three"];
    let [mut one, mut two, three] = names.map(|name| worker(&others, &model, name));
    let four = worker(&cut_off, &model, "four");
    until("all work", || {
        let status = status(&others);
        let held = status["held"].as_array().unwrap().iter();
        let at_work = |name: &str| held.clone().any(|unit| unit["worker"] == name);
        !status["open"].as_bool().unwrap()
            || status["waiting"] == 0
            || names.iter().chain(&["four"]).all(|name| at_work(name))
    });
    let waits = [(); 4].map(|()| dice.millis(0, 700));
    thread::scope(|scope| {
        for (child, wait) in [&mut one, &mut two].into_iter().zip(waits) {
            scope.spawn(move || {
                thread::sleep(wait);
                child.kill().unwrap();
                child.wait().unwrap();
            });
        }
        scope.spawn(|| {
            thread::sleep(waits[2]);
            signal(&three, "-STOP");
            thread::sleep(LEASE * 2);
            signal(&three, "-CONT");
        });
        scope.spawn(|| {
            thread::sleep(waits[3]);
            way.is_cut.store(true, Ordering::SeqCst);
            thread::sleep(LEASE * 2);
            way.is_cut.store(false, Ordering::SeqCst);
        });
    });
    under_way += 4 * AT_ONCE;
    well(three, "the one that was paused");
    well(four, "the one that was cut off");
    if let Some(compiling) = compiling {
        well(compiling, "whoever put it up");
    }

    let status = status(&others);
    assert_eq!((&status["open"], &status["held"]), (&false.into(), &Value::Array(vec![])));
    assert_eq!((&status["units"], &status["waiting"]), (&status["done"], &0.into()));
    // Every page once, and the same as if nothing had happened.
    let twice = sql(
        "SELECT skill FROM TABLE.record WHERE log = 'pages' GROUP BY skill HAVING count(*) > 1",
    );
    assert!(twice.is_empty(), "{twice:?}");
    let exported = others.run(&["export"]);
    assert!(exported.status.success(), "{}", err(&exported));
    assert!(exported.stdout == quiet.pages, "other pages than without faults");
    // One accepted answer a prompt; what was asked again was under way at a fault.
    let ledger = sql("SELECT convert_from(bytes, 'UTF8') FROM TABLE.record WHERE log = 'ledger'");
    let mut whats: BTreeMap<String, usize> = BTreeMap::new();
    let mut answered: BTreeMap<String, usize> = BTreeMap::new();
    for row in ledger {
        let entry: Value = serde_json::from_str(row[0].as_deref().unwrap()).unwrap();
        let what = entry["what"].as_str().unwrap();
        *whats.entry(what.to_owned()).or_default() += 1;
        if what == "done" {
            *answered.entry(entry["key"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert!(answered.values().all(|count| *count == 1), "{answered:?}");
    assert_eq!(answered.len(), quiet.calls);
    let asked = model.asked().len();
    let again = asked - quiet.calls;
    assert!(again <= under_way, "{again} calls were made again, {under_way} were under way");
    // What the server counts, the ledger has.
    assert!(asked <= whats["started"], "{asked} calls, and {whats:?}");
    let ledger = others.json(&["ledger"]);
    let sum = |field: &str| {
        let rows = ledger["spend"].as_array().unwrap().iter();
        rows.map(|row| row[field].as_f64().unwrap()).sum::<f64>()
    };
    let (paid, unknown) = (sum("cost_usd"), sum("unknown_usd"));
    let counted: f64 = ["calls", "failed", "surplus", "unfinished"].iter().map(|f| sum(f)).sum();
    assert!(counted >= asked as f64, "{ledger}");
    assert!(paid + unknown + 1e-9 >= asked as f64 * A_CALL, "{ledger}: {asked} calls");
    let _ = writeln!(
        std::io::stderr(),
        "workers, seed {seed}: {} units, {asked} calls, {again} again of {under_way} under way; ledger {whats:?}",
        status["units"],
    );
}

#[test]
fn every_page_is_written_once_whoever_dies_pauses_or_is_cut_off() {
    let Some(url) = real::url() else { return };
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let rounds: u64 = given("FINGERPOST_TORTURE_ROUNDS").unwrap_or(2);
    let seed: u64 = given("FINGERPOST_TORTURE_SEED").unwrap_or(17);
    let quiet = Quiet::new();
    (seed..seed + rounds).for_each(|seed| round(&url, &quiet, seed));
}

#[test]
fn one_limit_holds_for_all_and_the_work_goes_on_after_it() {
    let Some(url) = real::url() else { return };
    let model = Server::start(vec![Act::Slowly(Duration::from_millis(50)); 10_000]);
    let url = atlas_at(&url);
    let (first, other) = (machine(&url, &SHARED), machine(&url, &[]));
    let compiling = put_up(&first, &model, &["--concurrency", "3", "--max-calls", "9", "--json"]);
    until("the model is asked", || !model.asked().is_empty());
    let joined = worker(&other, &model, "other").wait_with_output().unwrap();
    let output = compiling.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(joined.status.code().is_some_and(|code| code <= 1), "{}", err(&joined));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["llm"]["stopped"].as_str().unwrap().contains("9 calls for all workers"));
    assert_eq!(model.asked().len(), 9);

    // No request may cost more than is left.
    let compiling = put_up(&first, &model, &["--max-cost", "0.02", "--json"]);
    let output = compiling.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let spent = (model.asked().len() - 9) as f64 * A_CALL;
    assert!(spent <= 0.02, "{spent}");

    well(put_up(&first, &model, &[]), "without a limit");
    assert_eq!(status(&other)["open"], false);
}

#[test]
fn requests_of_all_workers_are_spaced() {
    let Some(url) = real::url() else { return };
    let model = Server::start(vec![]);
    let url = atlas_at(&url);
    let (first, other) = (machine(&url, &["loans"]), machine(&url, &[]));
    let begun = Instant::now();
    let compiling = put_up(&first, &model, &["--rpm", "300"]);
    until("the model is asked", || !model.asked().is_empty());
    let joined = worker(&other, &model, "other");
    well(compiling, "whoever put it up");
    well(joined, "the other");
    // Five in a second, whoever sends them.
    let least = Duration::from_millis(200) * u32::try_from(model.asked().len() - 1).unwrap();
    assert!(begun.elapsed() >= least, "{:?} for {} calls", begun.elapsed(), model.asked().len());
}

#[test]
fn a_worker_says_what_it_cannot_do() {
    let Some(url) = real::url() else { return };
    let url = atlas_at(&url);
    let (first, other) = (machine(&url, &["loans"]), machine(&url, &[]));
    let refused = |machine: &Machine, arguments: &[&str], code: i32, why: &str| {
        let output = machine.run(&[&["worker"], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(why), "{arguments:?}: {}", err(&output));
    };
    refused(&other, &["--model", "fake"], 0, "there is no work");
    refused(&other, &["--model", "fake", "--max-cost", "1"], 2, "limits are those of all workers");
    refused(&other, &["--model", "fake", "--dry-run"], 2, "a server that answers at once");
    refused(&other, &["--model", "fake", "--lease", "0"], 2, "between 0.5 and 3600");
    refused(&other, &["status", "--atlas", "folder"], 2, "workers share a database");
    let model = Server::start(vec![Act::Slowly(Duration::from_millis(300)); 100]);
    let compiling = put_up(&first, &model, &["--concurrency", "1"]);
    until("the model is asked", || !model.asked().is_empty());
    refused(&other, &["--model", "another"], 2, "the work is for another writer");
    well(compiling, "whoever put it up");
}
