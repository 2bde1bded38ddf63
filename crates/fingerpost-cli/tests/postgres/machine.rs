//! A machine: a home folder, a copy of a library, and the address of the database.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::{Fixture, err};
use crate::real;
use crate::server::Server;

pub(crate) const FAMILIES: [&str; 2] = ["loans", "qt-correction"];

pub(crate) struct Machine {
    pub(crate) fixture: Fixture,
    pub(crate) url: String,
}

/// An atlas in the database of the tests that nobody else uses.
pub(crate) fn atlas() -> Option<String> {
    real::url().map(|url| atlas_at(&url))
}

/// The same in another database.
pub(crate) fn atlas_at(url: &str) -> String {
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}schema={}", real::fresh_schema())
}

impl Machine {
    pub(crate) fn new(url: &str, families: &[&str]) -> Self {
        Self { fixture: Fixture::new(families), url: url.to_owned() }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.fixture.command(arguments);
        command.env("FINGERPOST_ATLAS", &self.url);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Must be well.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the command answers; a route may be none.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        let code = output.status.code().unwrap_or(-1);
        assert!((0..=1).contains(&code), "{arguments:?}: {code}, {}", err(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Begins to compile, and waits until the work is claimed: from then on it is under way.
    pub(crate) fn begin_to_compile(&self) -> Child {
        let mut command = self.command(&["compile", "library"]);
        let compiling = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let (url, schema) = self.url.split_once("?schema=").unwrap();
        let begun = Instant::now();
        let there = format!("SELECT to_regclass('\"{schema}\".claim') IS NOT NULL");
        let claimed = format!("SELECT count(*) FROM \"{schema}\".claim");
        let is = |what: &str, value: &str| real::sql(url, what)[0][0].as_deref() == Some(value);
        while !(is(&there, "t") && is(&claimed, "1")) {
            assert!(begun.elapsed() < Duration::from_secs(30), "nobody compiles");
        }
        compiling
    }

    pub(crate) fn compile(&self) -> Value {
        self.json(&["compile", "library"])
    }

    /// A node that serves the database, without any library of its own.
    pub(crate) fn serve(&self) -> Server {
        let mut command = self.command(&["serve", "--port", "0", "--print-token"]);
        command.stderr(Stdio::null());
        let server = Server::of(command);
        server.until_ready();
        server
    }
}
