//! How much memory does a large library take? A binary of its own, so that the peak is its own.

use std::io::Write;
use std::path::PathBuf;

use fingerpost::index::{SparseConfig, SparseIndex};
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::page::Pages;
use fingerpost::view::document;

/// Loading and indexing together stay below three times the text.
#[test]
fn three_times_the_text_is_enough() {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("FINGERPOST_DATA").map_or_else(beside, PathBuf::from);
    let Some(before) = peak() else { return skip("no /proc/self/status here") };
    if !data.join("sra").is_dir() {
        return skip("no real data 'sra' (set FINGERPOST_DATA to its folder)");
    }
    let roots = [Root::new(data.join("sra"))];
    let library = Library::load(&roots, LoadOptions::default()).unwrap().value;
    let index = SparseIndex::build(&library, &Pages::default(), &SparseConfig::default());
    assert_eq!(index.len(), library.skills().len());
    let text: usize = library.skills().iter().map(|s| document(s).len()).sum();
    let used = peak().unwrap() - before;
    assert!(used < 3 * text, "{used} bytes for a text of {text}");
}

/// The largest resident size so far, in bytes.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()? * 1024)
}

/// Written past the test runner's capture: a skipped test must not look like a passed one.
fn skip(why: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes());
}
