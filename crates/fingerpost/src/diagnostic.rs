//! What is wrong with an input, where, and what to do about it?
//!
//! Input is expected to be broken somewhere: of ten thousand skills a few always are. So loading
//! never fails for one of them; it returns what it could read together with a list of these.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

/// How much a finding matters to whoever owns the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The skill could not be loaded, or lost to another one.
    Error,
    /// The skill was loaded, but not as its author meant it.
    Warning,
    /// Worth knowing; nothing was lost.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One finding: a rule, a place, a sentence, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// The file the finding is about.
    pub file: PathBuf,
    /// The line in that file, counted from one, where a line is to blame.
    pub line: Option<u64>,
    /// How much it matters.
    pub severity: Severity,
    /// Stable name of the rule, in kebab case.
    pub rule: &'static str,
    /// The skill concerned, where one is known.
    pub skill: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Diagnostic {
    pub(crate) fn error(rule: &'static str, file: &Path, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, rule, file, message.into())
    }

    pub(crate) fn warning(rule: &'static str, file: &Path, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, rule, file, message.into())
    }

    pub(crate) fn note(rule: &'static str, file: &Path, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, rule, file, message.into())
    }

    pub(crate) fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn skill(mut self, skill: impl Into<String>) -> Self {
        self.skill = Some(skill.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    fn new(severity: Severity, rule: &'static str, file: &Path, message: String) -> Self {
        let (file, message) = (file.to_path_buf(), one_line(message));
        Self { file, line: None, severity, rule, skill: None, message, hint: String::new() }
    }
}

/// Messages quote names that anybody may have written: no line break or terminal command in them
/// may reach the reader's screen.
fn one_line(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    let escaped = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.into() };
    text.chars().map(escaped).collect()
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}[{}]: {}", self.severity, self.rule, self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

/// A value that was obtained in spite of the findings beside it.
#[derive(Debug, Clone)]
pub struct Warned<T> {
    /// What could be read.
    pub value: T,
    /// What could not, sorted by file and line.
    pub diagnostics: Vec<Diagnostic>,
}
