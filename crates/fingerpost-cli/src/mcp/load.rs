//! `load_skill`: a skill's instructions and files, as an agent reads them.
//!
//! The instructions are those that were compiled, so that they fit the page that they were chosen by. Text
//! comes in pieces that fit a context, without what nobody sees; other files are listed only.

use anyhow::{Context, bail};
use fingerpost::contract::{Detail, Freshness, SkillCard, shown_line, shown_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::folder::{self, Folder};
use super::tools;
use super::uri::{self, DOCUMENT};
use crate::live::Open;

/// Characters of a text that one call shows.
const MAX_CHARS: usize = 40_000;

/// Files that are listed where nobody asks for all.
const FILES: usize = 40;

/// Read a skill.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct LoadArgs {
    /// The id of the skill, as the cards have it, or its skill:// address.
    skill: String,
    /// One of its files to read instead of its instructions, as they are listed.
    file: Option<String>,
    /// Where to read on in a long text: next_offset of the call before.
    #[serde(default)]
    offset: usize,
    /// List all files, and show the whole page of the skill; false by default.
    #[serde(default)]
    detail: bool,
}

/// A skill, or one of its files.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct LoadedSkill {
    /// What it is for, and what it is not for.
    card: SkillCard,
    /// Its skill:// address.
    uri: String,
    /// Which file the text is of.
    file: String,
    /// The text, which is its author's.
    text: String,
    /// Where to read on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// The files of its folder.
    files: Vec<LoadedFile>,
    /// How many more there are.
    more_files: usize,
    /// Of which state.
    #[serde(flatten)]
    freshness: Freshness,
}

/// A file of a skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct LoadedFile {
    /// Its path below the skill's folder.
    file: String,
    /// Its size.
    bytes: u64,
    /// Can load_skill show it?
    text: bool,
}

pub(super) fn load(open: &Open, arguments: &LoadArgs) -> anyhow::Result<LoadedSkill> {
    let LoadArgs { skill: name, file, offset, detail } = arguments;
    let snapshot = &open.reading.snapshot;
    let named = uri::find(snapshot, name);
    let skill = tools::find(open, name)?;
    // The address of a file names both.
    let file = file.clone().or(named.map(|(_, file)| file).filter(|file| !file.is_empty()));
    let file = file.unwrap_or_else(|| DOCUMENT.to_owned());
    let folder = Folder::of(open, skill);
    let text = match &file[..] {
        DOCUMENT => snapshot.skill(skill)?.content,
        file => text_of(folder.as_ref(), file)?,
    };
    let text = shown_text(&text);
    let (text, next_offset) = piece(&text, *offset);
    let listing = folder.map(|folder| folder.files()).unwrap_or_default();
    let shown = if *detail { listing.files.len() } else { FILES.min(listing.files.len()) };
    let more_files = listing.files.len() - shown;
    let files = listing.files.into_iter().take(shown);
    let files = files.map(|file| LoadedFile {
        file: shown_line(&file.path, 512),
        bytes: file.bytes,
        text: file.is_text,
    });
    let card = if *detail { Detail::Full } else { Detail::Compact };
    Ok(LoadedSkill {
        card: SkillCard::new(snapshot, skill, card)?,
        uri: uri::of_document(&snapshot.row(skill)),
        file,
        text: text.to_owned(),
        next_offset,
        files: files.collect(),
        more_files,
        freshness: open.reading.freshness(),
    })
}

fn text_of(folder: Option<&Folder>, file: &str) -> anyhow::Result<String> {
    let folder =
        folder.context("the skill has no folder here: its instructions are all there is")?;
    let bytes = folder.read(file)?;
    match String::from_utf8(bytes) {
        Ok(text) if folder::is_text(text.as_bytes()) => Ok(text),
        _ => {
            bail!("'{file}' is no text; a program of yours may open it in the folder of the skill")
        }
    }
}

/// A piece of a text, and where the next one begins, in characters.
fn piece(text: &str, offset: usize) -> (&str, Option<usize>) {
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (from, to) = (at(offset), at(offset.saturating_add(MAX_CHARS)));
    (&text[from..to], (to < text.len()).then(|| offset + MAX_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_whole() {
        let text = "年x".repeat(MAX_CHARS);
        let (mut read, mut offset) = (String::new(), Some(0));
        while let Some(from) = offset {
            let (piece, next) = piece(&text, from);
            assert!(piece.chars().count() <= MAX_CHARS);
            read.push_str(piece);
            offset = next;
        }
        assert_eq!(read, text);
        assert_eq!(piece("short", 0), ("short", None));
        assert_eq!(piece("short", 99), ("", None));
        assert_eq!(piece("short", usize::MAX), ("", None));
    }
}
