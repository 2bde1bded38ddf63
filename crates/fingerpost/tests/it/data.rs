//! Real data for tests, where there is any.

use std::io::Write;
use std::path::PathBuf;

/// The folder `name` of the real data, or `None` after saying that the test is skipped. The data
/// is looked for in `FINGERPOST_DATA`, by default beside the checkout.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let beside = || repository().join("../shared/data");
    let base = std::env::var_os("FINGERPOST_DATA").map_or_else(beside, PathBuf::from);
    let folder = base.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    say(&format!("SKIPPED: no real data '{name}' (set FINGERPOST_DATA to its folder)"));
    None
}

/// The example library of this repository.
pub(crate) fn example_library() -> PathBuf {
    repository().join("examples/library")
}

/// The repository's folder.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A Python that has these modules: that of `FINGERPOST_PYTHON`, of `cargo xtask golden`, or the
/// machine's own; `None` after saying that the test is skipped.
pub(crate) fn python(modules: &str) -> Option<PathBuf> {
    let named = std::env::var_os("FINGERPOST_PYTHON").map(PathBuf::from);
    let ours = repository().join("target/golden-venv/bin/python");
    let candidates = named.into_iter().chain([ours, PathBuf::from("python3")]);
    let import = format!("import {modules}");
    let has_modules = |python: &PathBuf| {
        let tried = std::process::Command::new(python).args(["-c", &import]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let found = candidates.into_iter().find(has_modules);
    if found.is_none() {
        say(&format!("SKIPPED: no Python with {modules} (`cargo xtask golden` installs one)"));
    }
    found
}

/// Written past the test runner's capture: a skipped test must not look like a passed one.
fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
