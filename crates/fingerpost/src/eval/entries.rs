//! Which entries does a file of requests hold?
//!
//! It is an array, an object that lists them as `queries` or `instances`, an object keyed by their ids,
//! or a file with one entry a line: what it is shows in the text, not in the name of the file.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::formats::{FormatError, lines};

/// The fields under which an object lists its entries.
const LISTS: [&str; 2] = ["queries", "instances"];

/// One entry of a file.
pub(super) struct Entry<'a> {
    /// Its text: JSON, or a line of something else.
    pub(super) text: &'a str,
    /// The line it begins on, counted from one.
    pub(super) line: usize,
    /// Its id, where the file is an object keyed by ids.
    pub(super) key: Option<String>,
    /// Its place among the entries, counted from zero as in JSON.
    index: usize,
}

impl Entry<'_> {
    /// What it is called before its id is known.
    pub(super) fn place(&self) -> String {
        match &self.key {
            Some(key) => format!("entry '{key}'"),
            None => format!("entry [{}]", self.index),
        }
    }
}

/// Takes a file apart; fails where it is JSON as a whole and broken.
pub(super) fn entries<'a>(text: &'a str, file: &str) -> Result<Vec<Entry<'a>>, FormatError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let broken = |error: &serde_json::Error| {
        let message = format!("broken JSON: {}; mend the file, or fetch it again", reason(error));
        FormatError { file: file.to_owned(), line: error.line(), message }
    };
    match text.trim_start().as_bytes().first() {
        Some(b'[') => {
            let elements: Vec<&RawValue> =
                serde_json::from_str(text).map_err(|error| broken(&error))?;
            Ok(numbered(text, elements.into_iter().map(|element| (None, element.get()))))
        }
        Some(b'{') => match serde_json::from_str(text) {
            Ok(fields) => of_object(text, fields).map_err(|error| broken(&error)),
            Err(error) if !is_json(first_line(text)) => Err(broken(&error)),
            Err(_) => Ok(of_lines(text)),
        },
        _ => Ok(of_lines(text)),
    }
}

fn of_object<'a>(
    text: &'a str,
    fields: BTreeMap<String, &'a RawValue>,
) -> serde_json::Result<Vec<Entry<'a>>> {
    let lists = LISTS.iter().filter_map(|&name| fields.get(name).copied());
    if let Some(list) = lists.into_iter().find(|list| list.get().starts_with('[')) {
        let elements: Vec<&RawValue> = serde_json::from_str(list.get())?;
        return Ok(numbered(text, elements.into_iter().map(|element| (None, element.get()))));
    }
    if !fields.values().all(|value| value.get().starts_with('{')) {
        return Ok(alone(text));
    }
    let mut keyed: Vec<(Option<String>, &str)> =
        fields.into_iter().map(|(key, value)| (Some(key), value.get())).collect();
    keyed.sort_by_key(|(_, value)| value.as_ptr());
    Ok(numbered(text, keyed.into_iter()))
}

/// A single entry, which may go over several lines.
fn alone(text: &str) -> Vec<Entry<'_>> {
    numbered(text, std::iter::once((None, text.trim())))
}

fn of_lines(text: &str) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (index, (line, text)) in lines(text).enumerate() {
        // What is no JSON may begin with a space that is part of an id.
        let json = text.trim_start();
        let text = if json.starts_with('{') { json } else { text };
        entries.push(Entry { text, line, key: None, index });
    }
    entries
}

/// The entries of a text, each a part of it, in their order.
fn numbered<'a>(
    text: &'a str,
    parts: impl Iterator<Item = (Option<String>, &'a str)>,
) -> Vec<Entry<'a>> {
    let (mut line, mut counted) = (1, 0);
    let entry = |(index, (key, part)): (usize, (Option<String>, &'a str))| {
        let at = part.as_ptr() as usize - text.as_ptr() as usize;
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..at]).count();
        counted = at;
        Entry { text: part, line, key, index }
    };
    parts.enumerate().map(entry).collect()
}

fn first_line(text: &str) -> &str {
    lines(text).next().map_or("", |(_, line)| line)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// What the parser says, without the place: the error has its own.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let mut said = error.to_string();
    said.truncate(said.rfind(" at line ").unwrap_or(said.len()));
    said
}
