//! The file that an agent's settings are in: read, and replaced as a whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::settings::{Broken, Place};
use crate::output::UsageError;

/// Bytes of settings at most: Claude Code keeps its history in them.
const MAX_BYTES: u64 = 64 << 20;

/// A file of settings, as it was read.
pub(super) struct SettingsFile {
    /// As the user knows it.
    path: PathBuf,
    /// Where it is: the end of a link, if it is one.
    real: PathBuf,
    /// `None` if there is none.
    text: Option<String>,
    is_shared: bool,
}

impl SettingsFile {
    pub(super) fn read(place: &Place) -> anyhow::Result<Self> {
        let path = place.file.clone();
        let real = real_path(place)?;
        let name = path.display();
        let text = match fs::metadata(&real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
            Ok(kind) => {
                ensure!(kind.is_file(), "{name} is no file");
                ensure!(kind.len() <= MAX_BYTES, "{name} is too large for settings");
                let bytes = fs::read(&real).with_context(|| format!("cannot read {name}"))?;
                let text = String::from_utf8(bytes);
                Some(text.map_err(|_| {
                    UsageError::new(format!("{name} is no UTF-8; nothing was changed"))
                })?)
            }
        };
        Ok(Self { path, real, text, is_shared: place.project.is_some() })
    }

    /// What is in it; nothing, if there is no file.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    pub(super) fn bytes_exist(&self) -> bool {
        self.text.is_some()
    }

    /// What to say of a file that cannot be changed safely.
    pub(super) fn refuse(&self, broken: &Broken) -> anyhow::Error {
        let Broken { line, why } = broken;
        let message = format!("{}:{line}: {why}; nothing was changed", self.path.display());
        UsageError::new(message).into()
    }

    /// The outermost folder that has to be made for it.
    pub(super) fn folder_to_make(&self) -> Option<PathBuf> {
        let missing = self.real.ancestors().skip(1).take_while(|folder| !folder.exists());
        missing.last().map(Path::to_path_buf)
    }

    /// Puts another text in its place, all of it or nothing.
    pub(super) fn replace(&self, text: &str) -> anyhow::Result<()> {
        let name = self.path.display();
        let written = || -> anyhow::Result<()> {
            let folder = self.real.parent().context("it lies nowhere")?;
            fs::create_dir_all(folder)?;
            let mut draft = tempfile::Builder::new().prefix(".fingerpost-").tempfile_in(folder)?;
            draft.write_all(text.as_bytes())?;
            self.keep_mode(draft.as_file())?;
            draft.as_file().sync_all()?;
            self.must_be_as_read()?;
            draft.persist(&self.real)?;
            Ok(())
        };
        written().with_context(|| format!("cannot write {name}; nothing was changed"))
    }

    /// Deletes it, and the folder that was made for it as far as nothing else is in it.
    pub(super) fn remove(&self, made: Option<&Path>) -> anyhow::Result<()> {
        let name = self.path.display();
        self.must_be_as_read()?;
        fs::remove_file(&self.real).with_context(|| format!("cannot delete {name}"))?;
        let inside = |folder: &&Path| made.is_some_and(|made| folder.starts_with(made));
        for folder in self.real.ancestors().skip(1).take_while(inside) {
            // One that something else is in stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The agent itself may have written to it meanwhile.
    fn must_be_as_read(&self) -> anyhow::Result<()> {
        let now = match fs::read(&self.real) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        if now.as_deref() != self.text.as_ref().map(String::as_bytes) {
            bail!("{} was changed meanwhile by somebody else; run it again", self.path.display());
        }
        Ok(())
    }

    /// As private as it was. A new one is the user's own, but for a project, where others read it.
    #[cfg(unix)]
    fn keep_mode(&self, draft: &fs::File) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        match fs::metadata(&self.real) {
            Ok(kind) => draft.set_permissions(kind.permissions()),
            Err(_) if self.is_shared => draft.set_permissions(fs::Permissions::from_mode(0o644)),
            Err(_) => Ok(()),
        }
    }

    #[cfg(not(unix))]
    fn keep_mode(&self, draft: &fs::File) -> io::Result<()> {
        match fs::metadata(&self.real) {
            Ok(kind) => draft.set_permissions(kind.permissions()),
            Err(_) => Ok(()),
        }
    }
}

/// Where a file is, links resolved: whoever keeps settings in a repository of their own keeps them there.
/// A project's settings must lie in the project, for a link in it is a stranger's.
fn real_path(place: &Place) -> anyhow::Result<PathBuf> {
    let path = &place.file;
    let name = path.display();
    if path.is_symlink() && !path.exists() {
        let message = format!("{name} is a link that leads nowhere; nothing was changed");
        return Err(UsageError::new(message).into());
    }
    // As far as there is something, which may be a link too.
    let known = path.ancestors().find(|part| part.exists()).unwrap_or(path);
    let real = known.canonicalize().with_context(|| format!("cannot read {name}"))?;
    let rest = path.strip_prefix(known).unwrap_or(Path::new(""));
    let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    if let Some(project) = &place.project {
        let project = project.canonicalize().context("cannot read the current folder")?;
        if !real.starts_with(&project) {
            let message = format!(
                "{name} leads out of the project, to {}; nothing was changed",
                real.display()
            );
            return Err(UsageError::new(message).into());
        }
    }
    Ok(real)
}
