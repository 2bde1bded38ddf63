//! Reads the SKILL.md files of a tree.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;

use super::document::{self, MAX_DOCUMENT_BYTES, Place};
use super::{Findings, Layout, Root, bounds, packed};
use crate::diagnostic::Diagnostic;
use crate::front_matter;
use crate::skill::{Invocation, Skill};

/// Reads the documents of one root, in parallel, into the order given.
pub(super) fn read(root: &Root, documents: Vec<PathBuf>, found: &mut Findings) -> Vec<Skill> {
    let read: Vec<(Option<Skill>, Vec<Diagnostic>)> =
        documents.into_par_iter().map(|file| read_document(root, file)).collect();
    let mut skills = Vec::with_capacity(read.len());
    for (skill, diagnostics) in read {
        diagnostics.into_iter().for_each(|diagnostic| found.push(diagnostic));
        skills.extend(skill);
    }
    skills
}

fn read_document(root: &Root, file: PathBuf) -> (Option<Skill>, Vec<Diagnostic>) {
    let bytes = match packed::read_capped(&file, MAX_DOCUMENT_BYTES) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            let limit = MAX_DOCUMENT_BYTES >> 20;
            let finding =
                Diagnostic::error("too-large", &file, format!("larger than {limit} MiB, not read"))
                    .hint("move reference material into files beside SKILL.md");
            return (None, vec![finding]);
        }
        Err(error) => {
            let finding =
                Diagnostic::error("unreadable", &file, format!("cannot be read: {error}"))
                    .hint("check its permissions");
            return (None, vec![finding]);
        }
    };
    let mut diagnostics = Vec::new();
    let folder = match root.layout {
        Layout::Commands => None,
        Layout::Detect => Some(folder_name(&file)),
    };
    let id = id_of(root, &file, folder.as_deref(), &mut diagnostics);
    let place = Place { id: id.clone(), folder, file };
    let mut skill = document::read(&bytes, place, &mut diagnostics);
    if let Some(skill) = &mut skill
        && let Some(policy) = policy_file(&skill.origin.file)
        && forbids_implicit_use(&policy, &mut diagnostics)
    {
        skill.invocation = Invocation::Manual;
    }
    for diagnostic in &mut diagnostics {
        diagnostic.skill = Some(id.clone());
    }
    (skill, diagnostics)
}

/// The name of the folder a document lies in, also where the path to it ends in `.` or `..`.
fn folder_name(document: &Path) -> String {
    let document = std::path::absolute(document).unwrap_or(document.to_path_buf());
    let folder = document.parent().unwrap_or(&document);
    let real = || folder.canonicalize().ok()?.file_name().map(OsStr::to_owned);
    let name = folder.file_name().map(OsStr::to_owned).or_else(real);
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// The path of the skill's folder below the root, with forward slashes on every system.
fn id_of(
    root: &Root,
    file: &Path,
    folder: Option<&str>,
    diagnostics: &mut Vec<Diagnostic>,
) -> String {
    let unit = match root.layout {
        Layout::Commands => file.with_extension(""),
        Layout::Detect => file.parent().unwrap_or(file).to_path_buf(),
    };
    // Nothing is below a root that is the skill's own folder, or its document.
    let below = unit.strip_prefix(&root.path).unwrap_or(Path::new(""));
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    let id = match folder {
        Some(folder) if parts.is_empty() => folder.to_owned(),
        _ => parts.join("/"),
    };
    if below.to_str().is_none() {
        let finding = Diagnostic::warning("path-not-utf8", file, "the path is not UTF-8")
            .hint("rename the folder: its id shows replacement characters");
        diagnostics.push(finding);
    }
    let (id, cut) = bounds::id(id, file);
    diagnostics.extend(cut);
    id
}

/// Codex's settings beside a skill, where they exist.
pub(super) fn policy_file(document: &Path) -> Option<PathBuf> {
    let policy = document.parent()?.join("agents").join("openai.yaml");
    policy.is_file().then_some(policy)
}

fn forbids_implicit_use(file: &Path, diagnostics: &mut Vec<Diagnostic>) -> bool {
    #[derive(Deserialize)]
    struct Settings {
        policy: Option<Policy>,
    }
    #[derive(Deserialize)]
    struct Policy {
        allow_implicit_invocation: Option<bool>,
    }
    const MAX_POLICY_BYTES: u64 = 1 << 20;
    let (reason, line) = match packed::read_capped(file, MAX_POLICY_BYTES) {
        Ok(Some(bytes)) => match front_matter::from_yaml(&String::from_utf8_lossy(&bytes)) {
            Ok(Settings { policy }) => {
                return policy.and_then(|policy| policy.allow_implicit_invocation) == Some(false);
            }
            Err(error) => {
                let (reason, line) = front_matter::reason(&error);
                (reason, Some(line))
            }
        },
        Ok(None) => (format!("larger than {} MiB", MAX_POLICY_BYTES >> 20), None),
        Err(error) => (error.to_string(), None),
    };
    let mut finding = Diagnostic::warning("broken-policy", file, format!("not read: {reason}"))
        .hint("mend the file; until then the skill may be chosen automatically");
    finding.line = line;
    diagnostics.push(finding);
    false
}
