//! Real data for tests, where there is any.

use std::io::Write;
use std::path::PathBuf;

/// The folder `name` of the real data, or `None` after saying that the test is skipped. The data
/// is looked for in `FINGERPOST_DATA`, by default beside the checkout.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let base = std::env::var_os("FINGERPOST_DATA").map_or_else(beside, PathBuf::from);
    let folder = base.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    // Written past the test runner's capture: a skipped test must not look like a passed one.
    let note = format!("SKIPPED: no real data '{name}' (set FINGERPOST_DATA to its folder)\n");
    let _ = std::io::stderr().write_all(note.as_bytes());
    None
}

/// The example library of this repository.
pub(crate) fn example_library() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/library")
}
