//! Reads files of records: JSON Lines, or a JSON array (by itself or as `skills` of an object),
//! plain or compressed.
//!
//! Lines end at `\n` and nowhere else: real texts hold U+2028 and U+0085.

use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::document::MAX_DOCUMENT_BYTES;
use super::packed::{self, TooMuch};
use super::{Findings, bounds};
use crate::diagnostic::Diagnostic;
use crate::skill::{Fields, Invocation, Origin, Skill, SkillId};

/// The most that is looked at to tell one object from one object per line.
const MAX_FIRST_LINE_BYTES: u64 = 64 << 20;

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
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        struct AsText;
        impl Visitor<'_> for AsText {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
                Ok(Text(serde_json::Value::from(number).to_string()))
            }
        }
        field.deserialize_any(AsText)
    }
}

/// What came out of a file.
pub(super) struct Read {
    pub(super) skills: Vec<Skill>,
    /// The file was read to its end and is none of records: it neither bears the name of one nor
    /// gave a skill, or it has lines and none of them is an object.
    pub(super) is_foreign: bool,
}

/// Reads the skills of one file; fails only if the file cannot be opened.
pub(super) fn read(file: &Path, found: &mut Findings) -> io::Result<Read> {
    let mut reader = packed::open(file)?;
    let mut intake =
        Intake { file, skills: Vec::new(), found, objects: 0, others: 0, stopped: false };
    match first_text_byte(&mut reader) {
        Ok(Some(b'[')) => read_whole(reader, &mut intake),
        Ok(Some(b'{')) if is_one_object(file)? => read_whole(reader, &mut intake),
        Ok(_) => read_lines(reader, &mut intake),
        Err(error) => intake.stopped(1, &error),
    }
    let Intake { skills, objects, others, stopped, .. } = intake;
    let endings = [".json", ".jsonl", ".ndjson"];
    let is_named_so = endings.iter().any(|ending| unpacked_name(file).ends_with(ending));
    let is_foreign = (skills.is_empty() && !is_named_so) || (objects == 0 && others > 0);
    Ok(Read { skills, is_foreign: is_foreign && !stopped })
}

/// Where the records of one file go.
struct Intake<'a> {
    file: &'a Path,
    skills: Vec<Skill>,
    found: &'a mut Findings,
    /// How many lines or elements began as an object, sound or not.
    objects: usize,
    /// How many did not.
    others: usize,
    /// The file could not be read to its end.
    stopped: bool,
}

/// Looks past a byte order mark and white space; consumes nothing else.
fn first_text_byte(reader: &mut impl BufRead) -> io::Result<Option<u8>> {
    if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    Ok(reader.fill_buf()?.iter().copied().find(|byte| !byte.is_ascii_whitespace()))
}

/// Does the file hold one object rather than one per line? Many a `.json` file is JSON Lines, so
/// its first line decides: it breaks off inside the object, or the object lists `skills`.
fn is_one_object(file: &Path) -> io::Result<bool> {
    #[derive(Deserialize)]
    struct Object {
        skills: Option<IgnoredAny>,
    }
    if !unpacked_name(file).ends_with(".json") {
        return Ok(false);
    }
    let mut reader = packed::open(file)?;
    let mut line = Vec::new();
    // What cannot be unpacked is reported when the file is read.
    let _ = first_text_byte(&mut reader);
    while line.trim_ascii().is_empty()
        && matches!(next_line(&mut reader, &mut line, MAX_FIRST_LINE_BYTES), Ok(Line::Read))
    {}
    Ok(match serde_json::from_slice::<Object>(&line) {
        Ok(object) => object.skills.is_some(),
        Err(error) => error.is_eof(),
    })
}

/// The file's name in lower case, without the ending that says how it is packed.
fn unpacked_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name).to_owned()
}

fn read_lines(mut reader: impl BufRead, intake: &mut Intake<'_>) {
    let mut line = Vec::new();
    for number in 1.. {
        match next_line(&mut reader, &mut line, MAX_DOCUMENT_BYTES) {
            Ok(Line::Read) if line.trim_ascii().is_empty() => {}
            Ok(Line::Read) => intake.record(line.trim_ascii_end(), number),
            Ok(Line::TooLong) => intake.too_large(is_object(&line), number),
            Ok(Line::None) => return,
            Err(error) => return intake.stopped(number, &error),
        }
    }
}

enum Line {
    Read,
    TooLong,
    None,
}

/// Reads the next line into `line`; one that is too long is passed over, not held.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>, limit: u64) -> io::Result<Line> {
    line.clear();
    let read = io::Read::take(&mut *reader, limit + 1).read_until(b'\n', line)?;
    if read as u64 > limit && !line.ends_with(b"\n") {
        reader.skip_until(b'\n')?;
        return Ok(Line::TooLong);
    }
    Ok(if read == 0 { Line::None } else { Line::Read })
}

/// Reads an array, or an object that holds one.
fn read_whole(reader: impl BufRead, intake: &mut Intake<'_>) {
    let mut bytes = Vec::new();
    let cut_short = packed::read_whole(reader, &mut bytes).err();
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            // A character that the end of the file cuts in two is part of a greater damage.
            if error.utf8_error().error_len().is_some() {
                let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
                intake.found.push(not_utf8(intake.file, line));
            }
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
    };
    let mut json = serde_json::Deserializer::from_str(&text);
    let whole = Whole { text: &text, intake };
    let read = (&mut json).deserialize_any(whole).and_then(|()| json.end());
    match (cut_short, read) {
        (None, Ok(())) => {}
        (Some(error), read) => {
            let last = || 1 + memchr::memchr_iter(b'\n', text.as_bytes()).count();
            let line = read.err().map_or_else(last, |broken| broken.line());
            intake.stopped(line as u64, &error);
        }
        (None, Err(error)) => {
            let message = format!("the array is broken: {}", sentence(&error));
            let finding = Diagnostic::error("broken-json", intake.file, message)
                .line(error.line() as u64)
                .hint("the records before this line were kept; mend the file, or write one record per line as JSON Lines");
            intake.found.push(finding);
        }
    }
}

/// Takes the array apart element by element, so that one odd element does not end the reading.
struct Whole<'a, 'i> {
    text: &'a str,
    intake: &'a mut Intake<'i>,
}

impl<'de> Visitor<'de> for Whole<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let mut line = 1;
        let mut counted = 0;
        while let Some(element) = array.next_element::<&RawValue>()? {
            let at = element.get().as_ptr() as usize - self.text.as_ptr() as usize;
            line += memchr::memchr_iter(b'\n', &self.text.as_bytes()[counted..at]).count() as u64;
            counted = at;
            self.intake.record(element.get().as_bytes(), line);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Whole { text, intake } = self;
        let (mut is_list, mut is_record) = (false, false);
        while let Some(key) = object.next_key::<String>()? {
            if key == "skills" {
                is_list = true;
                object.next_value_seed(Whole { text, intake: &mut *intake })?;
            } else {
                is_record |= ["id", "skill_id", "_id", "name", "title"].contains(&key.as_str());
                object.next_value::<IgnoredAny>()?;
            }
        }
        if is_record && !is_list {
            intake.record(text.as_bytes(), 1);
        } else if !is_list {
            let message = "an object that neither is a record nor lists any as  \"skills\"";
            let finding = Diagnostic::error("broken-json", intake.file, message)
                .line(1)
                .hint("write an array of records, or one record per line as JSON Lines");
            intake.found.push(finding);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Whole<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_seq(self)
    }
}

impl Intake<'_> {
    /// Takes one record, or says why not.
    fn record(&mut self, json: &[u8], line: u64) {
        if json.len() as u64 > MAX_DOCUMENT_BYTES {
            return self.too_large(is_object(json), line);
        }
        self.count(is_object(json));
        let record = match self.parse(json, line) {
            Ok(record) => record,
            Err((reason, line)) => {
                let message = format!("not a record: {reason}");
                let finding = Diagnostic::error("broken-record", self.file, message)
                    .line(line)
                    .hint("a record is one JSON object with id, name, description and content; this one was skipped");
                return self.found.push(finding);
            }
        };
        let text = |field: Option<Text>| field.map(|Text(text)| text);
        let name = text(record.name).or(text(record.title)).filter(|name| !name.trim().is_empty());
        let id = text(record.id).or(text(record.skill_id)).or(text(record._id));
        let id = id.filter(|id| !id.is_empty());
        if id.is_none() && name.is_some() {
            let finding = Diagnostic::warning("no-id", self.file, "no id; the name is used")
                .line(line)
                .hint("give each record an id that stays when the name changes");
            self.found.push(finding);
        }
        let Some(id) = id.or_else(|| name.clone()) else {
            let finding = Diagnostic::error("no-id", self.file, "neither id nor name; skipped")
                .line(line)
                .hint("add  \"id\"  (or  \"skill_id\",  \"_id\") to the record");
            return self.found.push(finding);
        };
        let (id, cut_id) = bounds::id(id, self.file);
        let is_named = name.is_some();
        let (name, cut_name) = bounds::name(name.unwrap_or_else(|| id.clone()), self.file);
        for cut in cut_id.into_iter().chain(cut_name.filter(|_| is_named)) {
            self.found.push(cut.line(line).skill(&*id));
        }
        let skill = Skill {
            name,
            id: SkillId::new(id),
            description: text(record.description).unwrap_or_default(),
            content: text(record.content).or(text(record.text)).unwrap_or_default(),
            fields: Fields::new(),
            invocation: Invocation::Automatic,
            origin: Origin { file: self.file.to_path_buf(), line: Some(line) },
        };
        if skill.description.trim().is_empty() && skill.content.trim().is_empty() {
            let finding =
                Diagnostic::warning("no-text", self.file, "neither description nor content")
                    .line(line)
                    .skill(skill.id.as_str())
                    .hint("only its name can be found; add a description");
            self.found.push(finding);
        }
        self.skills.push(skill);
    }

    fn count(&mut self, is_object: bool) {
        if is_object {
            self.objects += 1;
        } else {
            self.others += 1;
        }
    }

    /// Says that a record is too large to be one.
    fn too_large(&mut self, is_object: bool, line: u64) {
        self.count(is_object);
        let limit = MAX_DOCUMENT_BYTES >> 20;
        let message = format!("a record of more than {limit} MiB, not read");
        let finding = Diagnostic::error("too-large", self.file, message)
            .line(line)
            .hint("no agent could read it; one record per line: is the file really JSON Lines?");
        self.found.push(finding);
    }

    /// The record, or what is wrong and on which line of the file.
    fn parse(&mut self, json: &[u8], line: u64) -> Result<Record, (String, u64)> {
        // A list of eight would pass for a record, field by field.
        if !is_object(json) {
            return Err(("not an object".to_owned(), line));
        }
        let record = match serde_json::from_slice(json) {
            Err(_) if std::str::from_utf8(json).is_err() => {
                self.found.push(not_utf8(self.file, line));
                serde_json::from_str(&String::from_utf8_lossy(json))
            }
            read => read,
        };
        record.map_err(|error: serde_json::Error| {
            let reason = format!("{} (column {})", sentence(&error), error.column());
            (reason, line + error.line().saturating_sub(1) as u64)
        })
    }

    /// Says that the file could be read up to `line` only.
    fn stopped(&mut self, line: u64, error: &io::Error) {
        self.stopped = true;
        let kept = self.skills.len();
        let way_out = if TooMuch::is_reason_of(error) {
            "look what the file holds, and split it if all of it is skills"
        } else {
            "the file is damaged or cut short: fetch it again"
        };
        let finding =
            Diagnostic::error("unreadable", self.file, format!("reading stopped here: {error}"))
                .line(line)
                .hint(format!("the {kept} skills before this line were kept; {way_out}"));
        self.found.push(finding);
    }
}

fn is_object(json: &[u8]) -> bool {
    json.trim_ascii_start().starts_with(b"{")
}

/// What the parser says, without the place: the line it counts need not be that of the file.
fn sentence(error: &serde_json::Error) -> String {
    let mut said = error.to_string();
    said.truncate(said.rfind(" at line ").unwrap_or(said.len()));
    said
}

fn not_utf8(file: &Path, line: u64) -> Diagnostic {
    Diagnostic::warning("not-utf8", file, "holds bytes that are not UTF-8")
        .line(line)
        .hint("save the file as UTF-8; each stray byte was read as U+FFFD")
}
