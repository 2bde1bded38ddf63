//! Reads the SKILL.md files of a tree.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;

use super::document::{self, Place};
use super::{Findings, Layout, Root, source};
use crate::diagnostic::Diagnostic;
use crate::skill::{Invocation, Skill};

/// A SKILL.md above this size is no document an agent could read.
const MAX_DOCUMENT_BYTES: u64 = 8 << 20;

/// Reads the documents of one root, in parallel, into the order given.
pub(super) fn read(
    root: &Root,
    documents: Vec<PathBuf>,
    skills: &mut Vec<Skill>,
    found: &mut Findings,
) {
    let read: Vec<(Option<Skill>, Vec<Diagnostic>)> =
        documents.into_par_iter().map(|file| read_document(root, file)).collect();
    for (skill, diagnostics) in read {
        diagnostics.into_iter().for_each(|diagnostic| found.push(diagnostic));
        skills.extend(skill);
    }
}

fn read_document(root: &Root, file: PathBuf) -> (Option<Skill>, Vec<Diagnostic>) {
    let bytes = match source::read_capped(&file, MAX_DOCUMENT_BYTES) {
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
    let id = id_of(root, &file, &mut diagnostics);
    let folder = match root.layout {
        Layout::Commands => None,
        Layout::Detect => file.parent().and_then(Path::file_name).and_then(|name| name.to_str()),
    };
    let place = Place { id, folder: folder.map(str::to_owned), file };
    let mut skill = document::read(&bytes, place, &mut diagnostics);
    if let Some(skill) = &mut skill
        && let Some(policy) = policy_file(&skill.origin.file)
        && forbids_implicit_use(&policy, &mut diagnostics)
    {
        skill.invocation = Invocation::Manual;
    }
    (skill, diagnostics)
}

/// The path of the skill's folder below the root, with forward slashes on every system.
fn id_of(root: &Root, file: &Path, diagnostics: &mut Vec<Diagnostic>) -> String {
    let unit = match root.layout {
        Layout::Commands => file.with_extension(""),
        Layout::Detect => file.parent().unwrap_or(file).to_path_buf(),
    };
    let below = unit.strip_prefix(&root.path).unwrap_or(&unit);
    let below = if below.as_os_str().is_empty() {
        // The root itself is a skill's folder.
        Path::new(root.path.file_name().unwrap_or(unit.as_os_str()))
    } else {
        below
    };
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    let id = parts.join("/");
    if below.to_str().is_none() {
        let finding = Diagnostic::warning("path-not-utf8", file, "the path is not UTF-8")
            .skill(&id)
            .hint("rename the folder: its id shows replacement characters");
        diagnostics.push(finding);
    }
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
    let text = source::read_capped(file, MAX_POLICY_BYTES).ok().flatten().unwrap_or_default();
    match serde_saphyr::from_str::<Settings>(&String::from_utf8_lossy(&text)) {
        Ok(settings) => {
            settings.policy.and_then(|policy| policy.allow_implicit_invocation) == Some(false)
        }
        Err(error) => {
            let mut finding = Diagnostic::warning(
                "broken-policy",
                file,
                format!("not read: {}", error.without_snippet()),
            )
            .hint("mend the YAML; until then the skill may be chosen automatically");
            finding.line = error.location().map(|at| at.line());
            diagnostics.push(finding);
            false
        }
    }
}
