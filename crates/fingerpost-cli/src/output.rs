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
use fingerpost::eval::{FormatError, JudgedError};
use fingerpost::library::LoadError;
use fingerpost::snapshot::SnapshotError;
use fingerpost::text::is_hidden;
use fingerpost_models::SettingsError;
use indicatif::ProgressBar;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

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
    if let Some(hint) = hint(error) {
        let _ = writeln!(anstream::stderr(), "{FAINT}hint:{FAINT:#} {hint}");
    }
    exit_of(error).into()
}

/// How a command ends that failed like this.
fn exit_of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        let usage = cause.is::<UsageError>()
            || cause.is::<fingerpost_lab::experiment::ExperimentError>()
            || cause.is::<FormatError>()
            || cause.is::<JudgedError>()
            || cause.is::<LoadError>()
            || cause.is::<SettingsError>();
        match cause.downcast_ref() {
            Some(AtlasError::NoSkills { .. }) => return Exit::Findings,
            Some(AtlasError::Load(_) | AtlasError::OtherLibrary { .. }) => return Exit::Usage,
            _ if usage => return Exit::Usage,
            _ => {}
        }
        if matches!(cause.downcast_ref(), Some(ChatError::Cancelled)) {
            return Exit::Interrupted;
        }
    }
    Exit::Outside
}

/// The way out, in terms of what can be typed: the library knows no flags.
pub(crate) fn hint(error: &anyhow::Error) -> Option<&'static str> {
    if matches!(error.downcast_ref(), Some(JudgedError::Unjudged { .. })) {
        return Some("judgements that lie elsewhere are named with --qrels");
    }
    error.chain().find_map(|cause| match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(AtlasError::OtherLibrary { .. }), _) => {
            Some("name another folder with --atlas, or leave --atlas out: every library has a place of its own")
        }
        (Some(AtlasError::NoSkills { .. }), _) => {
            Some("`fingerpost doctor` with the same library says what was found there")
        }
        (_, Some(SnapshotError::Head { .. })) => {
            Some("use a newer fingerpost, or another folder with --atlas")
        }
        (_, Some(SnapshotError::Empty { .. })) => {
            Some("`fingerpost compile LIBRARY` with the same --atlas fills it")
        }
        (_, Some(SnapshotError::Damaged { .. })) => {
            Some("name its library with --library, and it is made again; what is kept stays")
        }
        _ => None,
    })
}

/// A line of talk.
pub(crate) fn say(global: &Global, line: &str) {
    if tracing::dispatcher::has_been_set() {
        // A server's talk is its log.
        tracing::info!("{}", plain(&anstream::adapter::strip_str(line).to_string()));
    } else if !global.quiet {
        let _ = writeln!(anstream::stderr(), "{line}");
    }
}

/// A line that a person should see, however little talk is wanted.
/// Once a run, however often there is cause: an answer may be made again, and a library read by several parts.
pub(crate) fn note(global: &Global, line: &str) {
    if tracing::dispatcher::has_been_set() {
        // A server's log runs for days, and has everything.
        tracing::warn!("{}", plain(line));
        return;
    }
    let mut noted = global.noted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if noted.insert(line.to_owned()) {
        let _ = writeln!(anstream::stderr(), "{CAUTION}note:{CAUTION:#} {}", plain(line));
    }
}

/// Asks a person; nobody at a terminal means no.
pub(crate) fn confirm(question: &str) -> anyhow::Result<bool> {
    use std::io::{BufRead, IsTerminal};
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    write!(anstream::stderr(), "{} [y/N] ", plain(question))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Something is under way; shown on a terminal only, and gone when dropped.
pub(crate) fn spinner(global: &Global, message: String) -> ProgressBar {
    if global.quiet || tracing::dispatcher::has_been_set() {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(message);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// One JSON object on standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    write_json(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

fn write_json(out: impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    let formatter = Plain(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(out, formatter)).map_err(io::Error::from)
}

/// The same as bytes, on one line.
pub(crate) fn json_bytes(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1024);
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Plain(CompactFormatter)))?;
    Ok(bytes)
}

/// JSON that a terminal may show: characters that [`plain`] would not let pass are escaped, so that
/// whoever parses it gets the same text.
struct Plain<F>(F);

/// Everything but the text is the inner formatter's.
macro_rules! as_inner {
    ($($method:ident($($name:ident: $kind:ty),*);)*) => {$(
        fn $method<W: ?Sized + Write>(&mut self, out: &mut W, $($name: $kind),*) -> io::Result<()> {
            self.0.$method(out, $($name),*)
        }
    )*};
}

impl<F: Formatter> Formatter for Plain<F> {
    as_inner! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_hidden(c)) {
            out.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
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
        if !global.quiet {
            let hint = "`fingerpost doctor` with the same --library lists them";
            note(global, &format!("{told}; {hint}"));
        }
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
/// recolor, retitle or rewrite what the user sees), no marks that turn the reading direction, and nothing
/// that is there and not seen: two names that look alike are alike. A replacement shows where something
/// was; joiners and variation selectors, which ordinary writing has, go without a trace.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let replace = |c: char| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => None,
        c if is_hidden(c) => Some('\u{fffd}'),
        c => Some(c),
    };
    Cow::Owned(text.chars().filter_map(replace).collect())
}

/// The start of a text that fits in so many columns, with an ellipsis where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let text = plain(text);
    if console_width(&text) <= columns {
        return text.into_owned();
    }
    let mut kept = String::new();
    let mut width = 1;
    let mut rest = text.chars();
    while let Some(c) = rest.clone().next() {
        width += console_width(c.encode_utf8(&mut [0; 4]));
        if width > columns {
            break;
        }
        kept.push(c);
        rest.next();
    }
    // A word that is cut off says less than none, if it is not most of what is shown.
    let is_inside = rest.next().is_some_and(|c| c.is_alphanumeric());
    if let Some(end) = kept.rfind(' ').filter(|end| is_inside && end * 3 > kept.len() * 2) {
        kept.truncate(end);
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

/// Columns of the terminal; where there is none, those that COLUMNS says, or eighty.
pub(crate) fn terminal_width() -> usize {
    let term = console::Term::stdout();
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = term.size_checked().map(|(_, columns)| usize::from(columns)).or_else(told);
    columns.unwrap_or(80).max(40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(plain("a\x1b[31mb\u{202e}c\nd"), "a\u{fffd}[31mb\u{fffd}c d");
        assert_eq!(plain("年终奖 naïve"), "年终奖 naïve");
    }

    /// One of each kind that a terminal obeys or nobody sees.
    const HIDDEN: [char; 20] = [
        '\u{7f}', '\u{85}', '\u{9b}', '\u{ad}', '\u{34f}', '\u{61c}', '\u{115f}', '\u{180e}',
        '\u{200b}', '\u{200e}', '\u{202e}', '\u{2060}', '\u{2066}', '\u{3164}', '\u{e000}',
        '\u{feff}', '\u{fffe}', '\u{e0041}', '\u{e0100}', '\u{10ffff}',
    ];

    #[test]
    fn nothing_is_there_that_is_not_seen() {
        for c in HIDDEN {
            assert_eq!(plain(&format!("pdf{c}merge")), "pdf\u{fffd}merge", "{:x}", u32::from(c));
        }
        assert_eq!(plain("a\u{2028}b\u{2029}c\td"), "a b c d");
        assert_eq!(plain("⚠\u{fe0f} می\u{200c}خواهم"), "⚠ میخواهم");
        for text in ["हिन्दी", "e\u{301}", "ที่นี่", "Ⅷ ½ 👩 ≤ \u{fffd}", "עברית العربية"]
        {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn json_escapes_what_is_not_plain_and_keeps_its_value() {
        let mut text: String = HIDDEN.iter().collect();
        text.push_str("a\u{200d}\u{fe0f}\u{2028}\x1b\n\"\\ 年 é");
        let value = serde_json::json!({"key\u{202e}": [text, 1, {}, [], null]});
        let mut written = Vec::new();
        write_json(&mut written, &value).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(!written.contains(|c| is_hidden(c) && c != '\n'), "{written:?}");
        assert!(written.contains("年 é") && written.contains("\\udb40\\udc41"), "{written}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
        // Nothing but the text is laid out otherwise.
        let value = serde_json::json!({"a": [1, {"b": "c"}], "d": {}, "e": []});
        let mut written = Vec::new();
        write_json(&mut written, &value).unwrap();
        assert_eq!(
            String::from_utf8(written).unwrap(),
            serde_json::to_string_pretty(&value).unwrap()
        );
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
