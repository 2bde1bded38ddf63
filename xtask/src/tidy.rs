//! Is the code still what ARCHITECTURE.md says it is, as far as a tool can tell?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::links;

/// Past this a file holds more than one noun.
const MAX_LINES: usize = 500;

/// Crates that would bring the network or async into the library (invariant 3).
const NETWORK: [&str; 9] =
    ["tokio", "reqwest", "hyper", "ureq", "async-std", "smol", "futures", "curl", "isahc"];

/// The files of the library that may touch the disk (invariant 3).
const DISK: [&str; 2] = ["library", "store"];

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut findings = Vec::new();
    for file in tracked(root)? {
        let Ok(text) = fs::read_to_string(root.join(&file)) else { continue };
        if file.extension().is_some_and(|ending| ending == "rs") {
            check_source(&file, &text, &mut findings);
        }
        if file.extension().is_some_and(|ending| ending == "md") {
            links::check(root, &file, &text, &mut findings);
        }
        check_text(&file, &text, &mut findings);
    }
    check_dependencies(root, &mut findings)?;
    if findings.is_empty() {
        return Ok(());
    }
    bail!("{} findings:\n{}", findings.len(), findings.join("\n"))
}

/// Files git knows, and new ones it does not ignore.
fn tracked(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()?;
    if !listed.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listed.stderr));
    }
    let names = String::from_utf8(listed.stdout)?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

fn check_source(file: &Path, text: &str, findings: &mut Vec<String>) {
    let mut find = |what: &str| findings.push(format!("{}: {what}", file.display()));
    if !text.starts_with("//! ") {
        find("does not open with a //! line that says which question it answers");
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        find(&format!("has {lines} lines, more than {MAX_LINES}: split it by noun"));
    }
    let marks = ["todo!", "unimplemented!", "TODO", "FIXME", "XXX"];
    if !file.starts_with("xtask") && marks.iter().any(|mark| text.contains(mark)) {
        find("holds an unfinished mark");
    }
    let Ok(inside) = file.strip_prefix("crates/fingerpost/src") else { return };
    let noun = inside.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
    let noun = noun.trim_end_matches(".rs");
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let disk = ["std::fs", "fs::", "File::open", "File::create", "std::net"];
    if !DISK.contains(&noun) && disk.iter().any(|call| code.contains(call)) {
        find(
            "touches the disk or the network; only library and store may touch the disk (invariant 3)",
        );
    }
    // Invariant 2: what compiles a library must not be able to see what it will be judged by.
    if !["eval", "lib"].contains(&noun) && code.contains("crate::eval") {
        find("uses eval; nothing that makes an atlas may see an evaluation query (invariant 2)");
    }
}

/// Nothing of one machine, and no registry's address, belongs in the project.
fn check_text(file: &Path, text: &str, findings: &mut Vec<String>) {
    // Written in pieces, so that this file passes its own check.
    let hosts = ["pypi", "npmjs", "crates", "debian"];
    for (number, line) in (1..).zip(text.lines()) {
        let address = line.split("://").skip(1).any(|rest| {
            let host = rest.split(['/', ' ', '"', '\'']).next().unwrap_or_default();
            hosts.iter().any(|name| host.contains(&format!("{name}.")))
        });
        let lock = file.file_name().is_some_and(|name| name == "Cargo.lock");
        if address && !lock {
            findings.push(format!("{}:{number}: names a registry's host", file.display()));
        }
        if ["/wo", "/fa", "/ro"].iter().zip(["rk/", "rm/", "ot/"]).any(|(a, b)| {
            let path = format!("{a}{b}");
            line.match_indices(&path).any(|(at, _)| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~}$/".contains(c))
            })
        }) && !file.starts_with("examples")
        {
            findings.push(format!("{}:{number}: names a path of one machine", file.display()));
        }
    }
}

fn check_dependencies(root: &Path, findings: &mut Vec<String>) -> anyhow::Result<()> {
    let library = fs::read_to_string(root.join("crates/fingerpost/Cargo.toml"))?;
    for name in dependency_names(&library, "[dependencies]") {
        if NETWORK.contains(&name) {
            findings.push(format!("crates/fingerpost/Cargo.toml: {name} brings network or async into the library (invariant 3)"));
        }
    }
    let workspace = fs::read_to_string(root.join("Cargo.toml"))?;
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    for name in dependency_names(&workspace, "[workspace.dependencies]") {
        if !name.starts_with("fingerpost") && !architecture.contains(&format!("`{name}`")) {
            findings.push(format!("ARCHITECTURE.md: does not say what `{name}` is for"));
        }
    }
    Ok(())
}

fn dependency_names<'a>(manifest: &'a str, table: &str) -> Vec<&'a str> {
    let after = manifest.split_once(table).map_or("", |(_, rest)| rest);
    let body = after.split("\n[").next().unwrap_or(after);
    let names = body.lines().filter_map(|line| line.split(['.', '=', ' ']).next());
    names.filter(|name| !name.is_empty() && !name.starts_with('#')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(file: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_source(Path::new(file), text, &mut findings);
        check_text(Path::new(file), text, &mut findings);
        findings
    }

    #[test]
    fn a_file_without_header_or_of_great_length_is_found() {
        assert_eq!(findings("crates/fingerpost/src/a.rs", "//! Why?\nfn f() {}\n"), [""; 0]);
        assert_eq!(findings("crates/fingerpost/src/a.rs", "fn f() {}\n").len(), 1);
        let long = format!("//! Why?\n{}", "\n".repeat(MAX_LINES));
        assert_eq!(findings("crates/fingerpost/src/a.rs", &long).len(), 1);
    }

    #[test]
    fn the_disk_belongs_to_library_and_atlas() {
        let text = "//! Why?\nuse std::fs;\n";
        assert_eq!(findings("crates/fingerpost/src/library/tree.rs", text), [""; 0]);
        assert_eq!(findings("crates/fingerpost/src/index.rs", text).len(), 1);
        let in_tests = "//! Why?\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(findings("crates/fingerpost/src/index.rs", in_tests), [""; 0]);
    }

    #[test]
    fn only_evaluation_knows_queries() {
        let text = "//! Why?\nuse crate::eval::Query;\n";
        assert_eq!(findings("crates/fingerpost/src/eval/compare.rs", text), [""; 0]);
        assert_eq!(findings("crates/fingerpost/src/compile.rs", text).len(), 1);
    }

    #[test]
    fn machine_paths_and_registry_hosts_are_found() {
        let path = format!("see {}rk/main/x", "/wo");
        assert_eq!(findings("README.md", &path).len(), 2, "no header, and a path");
        assert_eq!(findings("a.rs", "//! a framework/thing and a network/x\n"), [""; 0]);
        let host = format!("//! from https://{}.org/simple\n", "pypi");
        assert_eq!(findings("a.rs", &host).len(), 1);
    }

    #[test]
    fn dependencies_are_read_from_their_table() {
        let manifest = "[dependencies]\nserde.workspace = true\nzstd = \"1\"\n\n[dev-dependencies]\ninsta = \"1\"\n";
        assert_eq!(dependency_names(manifest, "[dependencies]"), ["serde", "zstd"]);
    }
}
