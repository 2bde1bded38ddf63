//! How things are said: data on standard output, talk on standard error, exit codes that mean
//! something, and no text of a skill that could take over a terminal.

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use fingerpost::atlas::AtlasError;
use fingerpost::chat::ChatError;
use fingerpost::diagnostic::{Diagnostic, Severity};
use fingerpost::eval::FormatError;
use fingerpost::library::LoadError;
use fingerpost_models::SettingsError;
use indicatif::ProgressBar;

use crate::args::Global;

pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
const ALARM: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default().bold();

/// How a verb ended. The numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    /// Findings, or nothing found.
    Findings = 1,
    Usage = 2,
    Outside = 3,
    /// By a person.
    Interrupted = 130,
}

/// Something the user should have typed differently.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(String);

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Prints an error with its causes, and finds the exit code that fits.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let broken_pipe = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe);
    if broken_pipe {
        // The reader has seen enough, as `head` does.
        return Exit::Done.into();
    }
    let message = plain(&format!("{error:#}")).into_owned();
    let _ = writeln!(anstream::stderr(), "{ALARM}error:{ALARM:#} {message}");
    let usage = error.chain().any(|cause| {
        cause.is::<UsageError>()
            || cause.is::<FormatError>()
            || cause.is::<LoadError>()
            || cause.is::<SettingsError>()
            || matches!(cause.downcast_ref(), Some(AtlasError::Load(_)))
    });
    let interrupted =
        matches!(error.chain().find_map(|cause| cause.downcast_ref()), Some(ChatError::Cancelled));
    match (usage, interrupted) {
        (true, _) => Exit::Usage.into(),
        (_, true) => Exit::Interrupted.into(),
        _ => Exit::Outside.into(),
    }
}

/// A line of talk.
pub(crate) fn say(global: &Global, line: &str) {
    if !global.quiet {
        let _ = writeln!(anstream::stderr(), "{line}");
    }
}

/// Something is under way; shown on a terminal only, and gone when dropped.
pub(crate) fn spinner(global: &Global, message: String) -> ProgressBar {
    if global.quiet {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(message);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// One JSON object on standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// How the findings of loading are told in passing.
pub(crate) fn summarise(global: &Global, diagnostics: &[Diagnostic]) {
    let count = |severity| diagnostics.iter().filter(|found| found.severity == severity).count();
    let found =
        [(count(Severity::Error), "not loaded"), (count(Severity::Warning), "with warnings")];
    let told = found.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> =
        told.map(|(count, what)| format!("{} {what}", plural(*count, "skill"))).collect();
    if !told.is_empty() {
        let told = told.join(", ");
        let line = format!(
            "{CAUTION}note:{CAUTION:#} {told}; `fingerpost doctor` with the same --library lists them"
        );
        say(global, &line);
    }
}

pub(crate) fn severity(severity: Severity) -> Style {
    match severity {
        Severity::Error => ALARM,
        Severity::Warning => CAUTION,
        Severity::Note => GOOD,
    }
}

/// "1 skill", "1,204 skills".
pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
}

pub(crate) fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Text of a skill as it may go to a terminal: one line, no control characters (an escape could
/// recolor, retitle or rewrite what the user sees) and no marks that turn the reading direction.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let replace = |c: char| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        c if is_bad(c) => '\u{fffd}',
        c => c,
    };
    Cow::Owned(text.chars().map(replace).collect())
}

/// The start of a text that fits in so many columns, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let text = plain(text);
    if console_width(&text) <= columns {
        return text.into_owned();
    }
    let mut kept = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += console_width(c.encode_utf8(&mut [0; 4]));
        if width > columns {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// A text in lines of at most so many columns, broken at spaces, or anywhere in Chinese.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in plain(text).split_inclusive(' ').flat_map(pieces) {
        let needed = console_width(word.trim_end());
        if width > 0 && width + needed > columns {
            lines.push(String::new());
            width = 0;
        }
        lines.last_mut().expect("there is one").push_str(word);
        width += console_width(word);
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A word, or each of its wide characters.
fn pieces(word: &str) -> Vec<&str> {
    let wide = |c: char| console_width(c.encode_utf8(&mut [0; 4])) > 1;
    if word.chars().any(wide) { word.split_inclusive(|_| true).collect() } else { vec![word] }
}

/// Columns a text takes on a terminal: Chinese characters take two.
pub(crate) fn console_width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// Columns of the terminal, or a width that reads well in a file.
pub(crate) fn terminal_width() -> usize {
    let term = console::Term::stdout();
    term.size_checked().map_or(100, |(_, columns)| usize::from(columns).max(40))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(plain("a\x1b[31mb\u{202e}c\nd"), "a\u{fffd}[31mb\u{fffd}c d");
        assert_eq!(plain("年终奖 naïve"), "年终奖 naïve");
    }

    #[test]
    fn cutting_counts_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef ghi", 8), "abcdef…");
        assert_eq!(cut("年终奖计税", 7), "年终奖…");
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_between_characters() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("起草报告与请示", 8), ["起草报告", "与请示"]);
        assert_eq!(wrap("", 8), [""]);
    }

    #[test]
    fn counts_read_well() {
        assert_eq!(plural(1, "skill"), "1 skill");
        assert_eq!(plural(16_417, "skill"), "16,417 skills");
    }
}
