//! Which PostgreSQL are tests run with?
//!
//! The one that FINGERPOST_TEST_POSTGRES names; `cargo xtask ci` and `cargo xtask postgres run` start one. What
//! stops its server starts a private one, from the programs that they installed. Without either, tests say
//! loudly that they were skipped.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fingerpost_postgres::{Address, Postgres};

#[path = "../../../../xtask/src/postgres/server.rs"]
#[allow(dead_code, reason = "the chore uses more of it")]
pub(crate) mod server;

/// The server of the variable.
pub(crate) fn url() -> Option<String> {
    let url = std::env::var("FINGERPOST_TEST_POSTGRES").ok();
    if url.is_none() {
        skipped(
            "FINGERPOST_TEST_POSTGRES names no server: `cargo xtask postgres run -- cargo test` starts one",
        );
    }
    url
}

/// A server of the test's own.
pub(crate) fn private() -> Option<server::Server> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let installed = root.join(server::INSTALLED);
    if !installed.join("installed").is_file() {
        skipped(
            "no PostgreSQL is installed: `cargo xtask postgres run -- cargo test` installs one",
        );
        return None;
    }
    Some(server::Server::start(&installed).unwrap())
}

/// Past the harness, which hides what tests that pass have printed.
fn skipped(why: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let _ = writeln!(std::io::stderr(), "== SKIPPED: {name}: {why}");
}

/// A schema that nothing else uses.
pub(crate) fn fresh_schema() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    format!("test_{}_{count}_{nanos}", std::process::id())
}

/// The address of an atlas in a schema.
pub(crate) fn address(url: &str, schema: &str, atlas: &str) -> Address {
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}schema={schema}&atlas={atlas}").parse().unwrap()
}

/// A store there, with this cache.
pub(crate) fn store(url: &str, schema: &str, cache: PathBuf) -> Postgres {
    Postgres::open(address(url, schema, "one"), cache, 1 << 30).unwrap()
}

/// Someone who looks at the tables directly.
pub(crate) fn sql(url: &str, what: &str) -> Vec<Vec<Option<String>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, way) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(way);
        let mut rows = Vec::new();
        for message in client.simple_query(what).await.unwrap() {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                rows.push((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect());
            }
        }
        rows
    })
}

/// Takes a schema away when it is dropped.
pub(crate) struct Schema {
    pub(crate) url: String,
    pub(crate) name: String,
}

impl Schema {
    pub(crate) fn fresh() -> Option<Self> {
        Some(Self { url: url()?, name: fresh_schema() })
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        sql(&self.url, &format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.name));
    }
}
