//! Which commit is this program made of? Told to `--version`; nothing where git or the repository is not at hand.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=FINGERPOST_COMMIT");
    // Whoever packs the sources without their repository can say it.
    let told = std::env::var("FINGERPOST_COMMIT").ok();
    let commit = told.or_else(commit).unwrap_or_default();
    println!("cargo::rustc-env=FINGERPOST_COMMIT={commit}");
}

/// The commit of the repository that this file is part of: sources may also lie, unpacked, in somebody else's.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=9", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}
