//! Does every relative link in the documentation lead somewhere?
//!
//! To a file that is there, and, where the link names one, to a heading in it. Addresses of the web are not asked for:
//! a check must not depend on the network.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The links of a page that lead nowhere, as findings.
pub(crate) fn check(root: &Path, page: &Path, text: &str, findings: &mut Vec<String>) {
    for (number, link) in links(text) {
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let folder = page.parent().unwrap_or(Path::new(""));
        let target = if path.is_empty() { page.to_path_buf() } else { plain(&folder.join(path)) };
        let place = format!("{}:{number}", page.display());
        if !root.join(&target).exists() {
            findings.push(format!("{place}: the link to {link} leads nowhere"));
        } else if !heading.is_empty() && target.extension().is_some_and(|ending| ending == "md") {
            let there = fs::read_to_string(root.join(&target)).unwrap_or_default();
            if !headings(&there).contains(heading) {
                findings.push(format!("{place}: {} has no heading #{heading}", target.display()));
            }
        }
    }
}

/// The targets of all relative links, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for after in line.split("](").skip(1) {
            let Some((target, _)) = after.split_once(')') else { continue };
            let target = target.split(' ').next().unwrap_or_default();
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !target.is_empty() && !is_elsewhere {
                found.push((number, target));
            }
        }
    }
    found
}

/// The lines that are not code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// The anchors that the headings of a page get: lower case, without marks, with hyphens for spaces.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.trim())
    });
    let anchor = |title: &str| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    titles.map(anchor).collect()
}

/// A path without `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if plain.pop() => {}
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_missing_file_or_heading_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let findings = |text: &str| {
            let mut findings = Vec::new();
            check(root, Path::new("docs/page.md"), text, &mut findings);
            findings
        };
        assert_eq!(findings("[a](../README.md), [b](https://host/x), `x`"), [""; 0]);
        assert_eq!(
            findings("[a](../NOWHERE.md)"),
            ["docs/page.md:1: the link to ../NOWHERE.md leads nowhere"]
        );
        assert_eq!(
            findings("\n[a](../README.md#nowhere)"),
            ["docs/page.md:2: README.md has no heading #nowhere"]
        );
        assert_eq!(findings("[a](../README.md#licence)"), [""; 0]);
        assert_eq!(findings("```\n[a](nowhere)\n```"), [""; 0]);
    }

    #[test]
    fn headings_are_anchors() {
        let anchors = headings("# What it does, and `why`\n```\n# no\n```\n## A-b c\n");
        let expected = ["a-b-c", "what-it-does-and-why"].map(str::to_owned);
        assert_eq!(anchors, BTreeSet::from(expected));
    }
}
