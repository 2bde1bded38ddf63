//! `--prompts DIR`: a user's words in the place of ours.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use fingerpost::prompt::{TemplateError, Templates};

use crate::output::UsageError;

/// What explains a folder, and asks nobody.
const ABOUT: &str = "README";

/// The words in which models are asked: those of the folder, and ours where it has none. A file that is no
/// prompt of ours is a mistake in its name.
pub(crate) fn templates(folder: Option<&Path>) -> Result<Templates, UsageError> {
    let mut templates = Templates::ours();
    let Some(folder) = folder else { return Ok(templates) };
    let cannot_read = |path: &Path, error: &dyn std::fmt::Display| {
        UsageError::new(format!("cannot read {}: {error}", path.display()))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| cannot_read(folder, &error))? {
        files.push(entry.map_err(|error| cannot_read(folder, &error))?.path());
    }
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "md")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if name == ABOUT {
            continue;
        }
        let text = beginning(file).map_err(|error| cannot_read(file, &error))?;
        templates.replace(&name, &text).map_err(|error| {
            let path = file.display();
            UsageError::new(match error {
                TemplateError::Faulty { line, message } => format!("{path}:{line}: {message}"),
                error => format!("{path}: {error}"),
            })
        })?;
    }
    Ok(templates)
}

/// As much of a file as shows that it is too long.
fn beginning(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let most = Templates::MAX_BYTES as u64 + 1;
    File::open(file)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}
