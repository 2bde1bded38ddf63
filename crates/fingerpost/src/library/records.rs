//! Reads files of records: JSON Lines, or a JSON array, plain or compressed.
//!
//! Lines end at `\n` and nowhere else: real texts hold U+2028 and U+0085.

use std::io::{self, BufRead, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Findings, source};
use crate::diagnostic::Diagnostic;
use crate::skill::{Fields, Invocation, Origin, Skill, SkillId};

/// A line above this size is no skill; it is skipped, not held.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The spellings in use: ours, SR-Agents' and BEIR's.
#[derive(Deserialize)]
struct Record {
    id: Option<Text>,
    skill_id: Option<Text>,
    _id: Option<Text>,
    name: Option<Text>,
    title: Option<Text>,
    description: Option<Text>,
    content: Option<Text>,
    text: Option<Text>,
}

/// A text field that tolerates numbers, as ids often are.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Text(String),
    Number(serde_json::Number),
}

impl Text {
    fn into_string(self) -> String {
        match self {
            Text::Text(text) => text,
            Text::Number(number) => number.to_string(),
        }
    }
}

/// Appends the skills of one file; fails only if the file cannot be opened.
pub(super) fn read(file: &Path, skills: &mut Vec<Skill>, found: &mut Findings) -> io::Result<()> {
    let mut reader = source::open(file)?;
    if first_text_byte(&mut reader)? == Some(b'[') {
        read_array(file, reader, skills, found)
    } else {
        read_lines(file, reader, skills, found)
    }
}

/// Looks past a byte order mark and white space; consumes nothing else.
fn first_text_byte(reader: &mut impl BufRead) -> io::Result<Option<u8>> {
    if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    Ok(reader.fill_buf()?.iter().copied().find(|byte| !byte.is_ascii_whitespace()))
}

fn read_lines(
    file: &Path,
    mut reader: impl BufRead,
    skills: &mut Vec<Skill>,
    found: &mut Findings,
) -> io::Result<()> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let read = (&mut reader).take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line);
        match read {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => {
                let finding = Diagnostic::error(
                    "unreadable",
                    file,
                    format!("reading stopped here: {error}"),
                )
                .line(number)
                .hint(format!(
                    "the {} skills before this line were kept; the file is damaged or cut short",
                    skills.len()
                ));
                found.push(finding);
                return Ok(());
            }
        }
        if line.len() > MAX_LINE_BYTES {
            let finding = Diagnostic::error(
                "too-large",
                file,
                format!("a line of more than {} MiB, not read", MAX_LINE_BYTES >> 20),
            )
            .line(number)
            .hint("one record per line; is the file really JSON Lines?");
            found.push(finding);
            skip_line(&mut reader)?;
            continue;
        }
        if !line.trim_ascii().is_empty() {
            take_record(&line, file, Some(number), skills, found);
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        match memchr::memchr(b'\n', buffer) {
            Some(at) => {
                reader.consume(at + 1);
                return Ok(());
            }
            None if buffer.is_empty() => return Ok(()),
            None => {
                let length = buffer.len();
                reader.consume(length);
            }
        }
    }
}

fn read_array(
    file: &Path,
    mut reader: impl Read,
    skills: &mut Vec<Skill>,
    found: &mut Findings,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            found.push(not_utf8(file, 1 + memchr::memchr_iter(b'\n', before).count() as u64));
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    };
    let mut elements = serde_json::Deserializer::from_str(&text);
    let into_records = Elements { text: &text, file, skills, found };
    if let Err(error) = serde::Deserializer::deserialize_seq(&mut elements, into_records) {
        let finding = Diagnostic::error("broken-json", file, format!("the array is broken: {error}"))
            .line(error.line() as u64)
            .hint("the records before this line were kept; mend the file, or write one record per line as JSON Lines");
        found.push(finding);
    }
    Ok(())
}

/// Takes the array apart element by element, so that one odd element does not end the reading.
struct Elements<'a> {
    text: &'a str,
    file: &'a Path,
    skills: &'a mut Vec<Skill>,
    found: &'a mut Findings,
}

impl<'de> serde::de::Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of records")
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let mut line = 1;
        let mut counted = 0;
        while let Some(element) = array.next_element::<&RawValue>()? {
            let at = element.get().as_ptr() as usize - self.text.as_ptr() as usize;
            line += memchr::memchr_iter(b'\n', &self.text.as_bytes()[counted..at]).count() as u64;
            counted = at;
            take_record(element.get().as_bytes(), self.file, Some(line), self.skills, self.found);
        }
        Ok(())
    }
}

fn take_record(
    json: &[u8],
    file: &Path,
    line: Option<u64>,
    skills: &mut Vec<Skill>,
    found: &mut Findings,
) {
    let number = line.unwrap_or(1);
    let record = match serde_json::from_slice::<Record>(json) {
        Ok(record) => record,
        Err(error) => {
            let mended = match std::str::from_utf8(json) {
                Ok(_) => Err(error),
                Err(_) => {
                    found.push(not_utf8(file, number));
                    serde_json::from_str(&String::from_utf8_lossy(json))
                }
            };
            match mended {
                Ok(record) => record,
                Err(error) => {
                    let finding = Diagnostic::error("broken-record", file, format!("not a record: {error}"))
                        .line(number)
                        .hint("a record is one JSON object with id, name, description and content; this one was skipped");
                    found.push(finding);
                    return;
                }
            }
        }
    };
    let text = |field: Option<Text>| field.map(Text::into_string);
    let name = text(record.name).or(text(record.title)).filter(|name| !name.trim().is_empty());
    let id = text(record.id).or(text(record.skill_id)).or(text(record._id));
    let id = id.filter(|id| !id.is_empty());
    if id.is_none() && name.is_some() {
        let finding = Diagnostic::warning("no-id", file, "no id; the name is used")
            .line(number)
            .hint("give each record an id that stays when the name changes");
        found.push(finding);
    }
    let Some(id) = id.or_else(|| name.clone()) else {
        let finding = Diagnostic::error("no-id", file, "neither id nor name; skipped")
            .line(number)
            .hint("add  \"id\"  (or  \"skill_id\",  \"_id\") to the record");
        found.push(finding);
        return;
    };
    let skill = Skill {
        name: name.unwrap_or_else(|| id.clone()),
        id: SkillId::new(id),
        description: text(record.description).unwrap_or_default(),
        content: text(record.content).or(text(record.text)).unwrap_or_default(),
        fields: Fields::new(),
        invocation: Invocation::Automatic,
        origin: Origin { file: file.to_path_buf(), line },
    };
    if skill.description.trim().is_empty() && skill.content.trim().is_empty() {
        let finding = Diagnostic::warning("no-text", file, "neither description nor content")
            .line(number)
            .skill(skill.id.as_str())
            .hint("only its name can be found; add a description");
        found.push(finding);
    }
    skills.push(skill);
}

fn not_utf8(file: &Path, line: u64) -> Diagnostic {
    Diagnostic::warning("not-utf8", file, "holds bytes that are not UTF-8")
        .line(line)
        .hint("save the file as UTF-8; each stray byte was read as U+FFFD")
}
