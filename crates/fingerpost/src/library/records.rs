//! Reads files of records: JSON Lines, a JSON array (by itself or as `skills` of an object) or an
//! object keyed by their ids, plain or compressed.
//!
//! Lines end at `\n` and nowhere else: real texts hold U+2028 and U+0085.

mod fields;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use self::fields::{IDENTIFYING, Record};
use super::document::MAX_DOCUMENT_BYTES;
use super::folder::{bears_ending, unpacked_name};
use super::packed::{self, TooMuch};
use super::{Findings, bounds};
use crate::diagnostic::Diagnostic;
use crate::skill::{Fields, Invocation, Origin, Skill, SkillId};

/// The most that is looked at to tell one object from one object per line.
const MAX_FIRST_LINE_BYTES: u64 = 64 << 20;

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
    let is_named_so = bears_ending(&unpacked_name(file));
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
/// its first line decides: it breaks off inside the object, or the object holds records itself.
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
        Ok(object) => object.skills.is_some() || (is_keyed(&line) && is_at_end(&mut reader)),
        Err(error) => error.is_eof(),
    })
}

/// Does nothing but white space follow?
fn is_at_end(reader: &mut impl BufRead) -> bool {
    loop {
        match reader.fill_buf() {
            Ok([]) => return true,
            Ok(bytes) if bytes.trim_ascii().is_empty() => {
                let blank = bytes.len();
                reader.consume(blank);
            }
            Ok(_) | Err(_) => return false,
        }
    }
}

/// Is this an object of records, keyed by their ids?
fn is_keyed(json: &[u8]) -> bool {
    let entries: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_slice(json);
    entries.is_ok_and(|entries| {
        !entries.iter().any(|(key, value)| identifies(key, value))
            && entries.into_values().any(looks_like_record)
    })
}

/// Is this a field by which an object is a record itself? An object is none: it may be the record of a
/// skill of that id.
fn identifies(key: &str, value: &RawValue) -> bool {
    IDENTIFYING.contains(&key) && !is_object(value.get().as_bytes())
}

fn looks_like_record(value: &RawValue) -> bool {
    let json = value.get().as_bytes();
    is_object(json) && Record::parse(json).is_ok_and(|record| record.says_anything())
}

fn read_lines(mut reader: impl BufRead, intake: &mut Intake<'_>) {
    let mut line = Vec::new();
    for number in 1.. {
        match next_line(&mut reader, &mut line, MAX_DOCUMENT_BYTES) {
            Ok(Line::Read) if line.trim_ascii().is_empty() => {}
            Ok(Line::Read) => intake.record(line.trim_ascii_end(), number, None),
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
        let mut lines = Lines::of(self.text);
        while let Some(element) = array.next_element::<&RawValue>()? {
            self.intake.record(element.get().as_bytes(), lines.at(element), None);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Whole { text, intake } = self;
        let mut found = Found::default();
        // What was read before the object breaks off is kept, as it is of an array.
        let read = found.read(&mut object, text, intake);
        if found.is_list {
            return read;
        }
        if found.is_record {
            read?;
            intake.record(text.as_bytes(), 1, None);
        } else if found.keyed.iter().any(|(_, value)| looks_like_record(value)) {
            let mut lines = Lines::of(text);
            for (key, value) in &found.keyed {
                intake.record(value.get().as_bytes(), lines.at(value), Some(key));
            }
            read?;
        } else {
            read?;
            let message =
                "an object that neither is a record nor holds any, as  \"skills\"  or by their ids";
            let finding = Diagnostic::error("broken-json", intake.file, message)
                .line(1)
                .hint("write an array of records, or one record per line as JSON Lines");
            intake.found.push(finding);
        }
        Ok(())
    }
}

/// What an object turns out to hold.
#[derive(Default)]
struct Found<'de> {
    is_list: bool,
    is_record: bool,
    keyed: Vec<(String, &'de RawValue)>,
}

impl<'de> Found<'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        object: &mut A,
        text: &str,
        intake: &mut Intake<'_>,
    ) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            if key == "skills" {
                self.is_list = true;
                object.next_value_seed(Whole { text, intake: &mut *intake })?;
            } else {
                let value = object.next_value::<&RawValue>()?;
                self.is_record |= identifies(&key, value);
                self.keyed.push((key, value));
            }
        }
        Ok(())
    }
}

/// Counts the lines before each value of a text, from the first one on.
struct Lines<'a> {
    text: &'a str,
    line: u64,
    counted: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, line: 1, counted: 0 }
    }

    /// The line of a value that is part of the text; the values must come in their order.
    fn at(&mut self, value: &RawValue) -> u64 {
        let at = value.get().as_ptr() as usize - self.text.as_ptr() as usize;
        let between = &self.text.as_bytes()[self.counted..at];
        self.line += memchr::memchr_iter(b'\n', between).count() as u64;
        self.counted = at;
        self.line
    }
}

impl<'de> DeserializeSeed<'de> for Whole<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_seq(self)
    }
}

impl Intake<'_> {
    /// Takes one record, or says why not. What the file calls it (`key`) is its id where it names none.
    fn record(&mut self, json: &[u8], line: u64, key: Option<&str>) {
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
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let name = given(record.name);
        let id = given(record.id).or_else(|| given(key.unwrap_or_default().to_owned()));
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
            description: record.description,
            content: record.content,
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
        if !is_object(json) {
            return Err(("not an object".to_owned(), line));
        }
        let record = match Record::parse(json) {
            Err(_) if std::str::from_utf8(json).is_err() => {
                self.found.push(not_utf8(self.file, line));
                Record::parse(String::from_utf8_lossy(json).as_bytes())
            }
            read => read,
        };
        record.map_err(|error| {
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
