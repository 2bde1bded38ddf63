//! Blocks of the guide in which a command stands above what it prints.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::{Program, trimmed};

/// What opens a block whose commands are run.
const OPENS: &str = "```console";

/// What the folder of the commands is called in the guide.
const SHOWN: &str = "~/project";

/// The page with what its commands print now. They are run one after another, in one folder.
pub(super) fn answered(text: &str, root: &Path, program: &Program) -> anyhow::Result<String> {
    if !text.contains(OPENS) {
        return Ok(text.to_owned());
    }
    let folder = Folder::new(root)?;
    let mut answered = String::new();
    let mut is_console = false;
    for line in text.split_inclusive('\n') {
        let marks = line.trim_end();
        match is_console {
            false => {
                answered += line;
                is_console = marks == OPENS;
            }
            true if marks == "```" => {
                answered += line;
                is_console = false;
            }
            // What a command printed before is left out, and printed anew.
            true => {
                if let Some(command) = marks.strip_prefix("$ ") {
                    answered += line;
                    answered += &folder.says(command, program)?;
                }
            }
        }
    }
    if is_console {
        bail!("a block of commands is not closed");
    }
    Ok(answered)
}

/// A folder with the example library in it, and a family of it where agents look.
struct Folder(PathBuf);

impl Folder {
    fn new(root: &Path) -> anyhow::Result<Self> {
        let name = format!("fingerpost-guide-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        let library = folder.0.join("examples/library");
        copy(&root.join("examples/library"), &library)?;
        copy(&library.join("pdf-tools"), &folder.0.join(".claude/skills"))?;
        Ok(folder)
    }

    /// What a command of a shell prints, talk included, as the guide shows it.
    fn says(&self, command: &str, program: &Program) -> anyhow::Result<String> {
        let mut shell = program.command("sh", &self.0)?;
        let output = shell.current_dir(&self.0).args(["-c", &format!("{{ {command}; }} 2>&1")]);
        let output = output.output().with_context(|| format!("cannot run `{command}`"))?;
        let said = String::from_utf8(output.stdout)?;
        if said.contains("error: ") || output.status.code() == Some(127) {
            bail!("`{command}`: {said}");
        }
        let real = self.0.canonicalize()?.display().to_string();
        let said = said.replace(&real, SHOWN).replace(&self.0.display().to_string(), SHOWN);
        let said = without_digests(&said);
        Ok(if said.trim().is_empty() { String::new() } else { trimmed(&said) })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies among the other temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Text with the digest of a path, which is another on every machine, cut off: `skills-0123456789abcdef`.
fn without_digests(text: &str) -> String {
    let is_digest =
        |part: &str| part.len() == DIGEST && part.bytes().all(|b| b.is_ascii_hexdigit());
    let mut kept = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        match word.trim_end().rsplit_once('-') {
            Some((name, digest)) if is_digest(digest) => {
                kept += name;
                kept += "-…";
                kept += &word[word.trim_end().len()..];
            }
            _ => kept += word,
        }
    }
    kept
}

/// Characters of such a digest.
const DIGEST: usize = 16;

/// Copies a folder, but for the atlas in it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_name() == ".fingerpost" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_cut_off_and_nothing_else() {
        let text = "kept in ~/x/skills-b344362de7eeafea\na-b c-0123 ISO-8601\n";
        assert_eq!(without_digests(text), "kept in ~/x/skills-…\na-b c-0123 ISO-8601\n");
    }
}
