//! Real models for tests, where there are any.

use std::io::Write;
use std::path::PathBuf;

use fingerpost_models::Store;

/// The folder of a model in the store of this machine, or `None` after saying that the test is
/// skipped.
pub(crate) fn model(name: &str) -> Option<PathBuf> {
    let found = Store::of_process().find(name);
    if found.is_none() {
        say(&format!("SKIPPED: no model '{name}' (`fingerpost model pull {name}` fetches it)"));
    }
    found
}

/// Written past the test runner's capture: a skipped test must not look like a passed one.
pub(crate) fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
