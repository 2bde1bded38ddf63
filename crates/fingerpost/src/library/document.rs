//! Turns the text of one SKILL.md into a skill, by the Agent Skills specification, leniently.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::bounds;
use crate::diagnostic::Diagnostic;
use crate::front_matter::{self, FrontMatter, Reading};
use crate::skill::{Fields, Invocation, Origin, Skill, SkillId};

/// A document above this size is none that an agent could read. It bounds a SKILL.md and a record.
pub(super) const MAX_DOCUMENT_BYTES: u64 = 8 << 20;

const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// How many unknown fields a finding lists by name.
const QUOTED_FIELDS: usize = 20;

/// Fields of the specification, then those Claude Code reads besides.
const KNOWN_FIELDS: [&str; 18] = [
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "disable-model-invocation",
    "when_to_use",
    "argument-hint",
    "arguments",
    "user-invocable",
    "disallowed-tools",
    "model",
    "effort",
    "context",
    "agent",
    "background",
    "hooks",
    "paths",
    "shell",
];

/// Where a document was found.
pub(super) struct Place {
    pub(super) id: String,
    /// The folder whose name the skill must bear; none for a command file.
    pub(super) folder: Option<String>,
    pub(super) file: PathBuf,
}

/// Reads one document. Without a description no agent can choose the skill, so it is left out.
pub(super) fn read(bytes: &[u8], place: Place, diagnostics: &mut Vec<Diagnostic>) -> Option<Skill> {
    let Place { id, folder, file } = place;
    let text = decode(bytes, &file, diagnostics);
    if text.trim().is_empty() {
        let finding = Diagnostic::error("empty-file", &file, "the file is empty")
            .hint("write front matter with name and description, or remove it");
        diagnostics.push(finding);
        return None;
    }
    let split = front_matter::split(&text);
    if split.unclosed {
        let finding = Diagnostic::warning(
            "unclosed-front-matter",
            &file,
            "no '---' line closes the front matter",
        )
        .line(1)
        .hint("put '---' on a line of its own after the last field");
        diagnostics.push(finding);
    }
    let matter = match split.head {
        Some(head) => front_matter::parse(head),
        None => FrontMatter::default(),
    };
    diagnostics.extend(how_read(&matter.reading, &file));
    let content = split.content.trim();
    let is_command = folder.is_none();
    let fallback_name = folder.unwrap_or_else(|| id.rsplit('/').next().unwrap_or(&id).to_owned());
    let name = matter.name.clone().unwrap_or_else(|| fallback_name.clone());
    // A command may do without front matter: its first line of text says what it is for.
    let description = match &matter.description {
        Some(description) => Some(description.clone()),
        None if is_command => first_line(content),
        None => None,
    };
    let Some(description) = description else {
        let why = if split.head.is_some() {
            "no description in the front matter"
        } else {
            "no front matter"
        };
        let finding = Diagnostic::error("no-description", &file, why)
            .line(1)
            .hint("add  description: what the skill does and when to use it  between two '---' lines at the top");
        diagnostics.push(finding);
        return None;
    };
    let mut skill = Skill {
        id: SkillId::new(id),
        name,
        description,
        content: content.to_owned(),
        invocation: invocation(&matter.fields),
        fields: matter.fields,
        origin: Origin { file, line: None },
    };
    if !is_command {
        let head = split.head.unwrap_or_default();
        check_limits(&skill, head, matter.name.is_none(), &fallback_name, diagnostics);
    }
    let (name, cut) = bounds::name(skill.name, &skill.origin.file);
    skill.name = name;
    let line = split.head.and_then(|head| front_matter::lines_of_keys(head).remove("name"));
    diagnostics.extend(cut.map(|cut| cut.line(line.unwrap_or(1))));
    Some(skill)
}

/// A finding about a head that could not be read in full, as YAML.
fn how_read(reading: &Reading, file: &Path) -> Option<Diagnostic> {
    let finding = match reading {
        Reading::Strict => return None,
        Reading::ByLines { reason, line } => Diagnostic::warning(
            "broken-yaml",
            file,
            format!("the front matter is not valid YAML ({reason}) and was read line by line"),
        )
        // The opening '---' is line 1 of the file and no line of the head.
        .line(line + 1)
        .hint(if reason.starts_with("mapping values are not allowed") {
            "quote the value, as in  description: \"Use when: ...\""
        } else if reason.starts_with("duplicate mapping key") {
            "keep one of the two; the first was used"
        } else {
            "write  key: value  lines, with quotes around a value that YAML misreads"
        }),
        Reading::InPart { keys, bytes } => Diagnostic::warning(
            "large-front-matter",
            file,
            format!(
                "the front matter has {keys} fields and {} KiB; only name, description and what reserves the skill were read",
                bytes.div_ceil(1024)
            ),
        )
        .line(1)
        .hint(format!(
            "keep it below {} fields and {} KiB: what agents need is name and description",
            front_matter::MAX_HEAD_KEYS,
            front_matter::MAX_HEAD_BYTES >> 10
        )),
    };
    Some(finding)
}

/// UTF-8 with `\n` line ends: a BOM, carriage returns and stray bytes are mended and reported.
fn decode<'a>(bytes: &'a [u8], file: &Path, diagnostics: &mut Vec<Diagnostic>) -> Cow<'a, str> {
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => {
            let finding = Diagnostic::note("byte-order-mark", file, "starts with a byte order mark")
                .line(1)
                .hint("save the file as UTF-8 without one: strict readers do not see the front matter behind it");
            diagnostics.push(finding);
            rest
        }
        None => bytes,
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            let line = 1 + memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
            let finding = Diagnostic::warning("not-utf8", file, "holds bytes that are not UTF-8")
                .line(line)
                .hint("save the file as UTF-8; each stray byte was read as U+FFFD");
            diagnostics.push(finding);
            String::from_utf8_lossy(bytes)
        }
    };
    if text.contains("\r\n") {
        let finding =
            Diagnostic::note("carriage-returns", file, "has Windows line ends").line(1).hint(
                "they were read as plain line ends; save with LF to keep digests equal everywhere",
            );
        diagnostics.push(finding);
        return Cow::Owned(text.replace("\r\n", "\n"));
    }
    text
}

fn first_line(content: &str) -> Option<String> {
    let line =
        content.lines().map(|line| line.trim_start_matches(['#', ' '])).find(|l| !l.is_empty())?;
    Some(line.chars().take(MAX_DESCRIPTION_CHARS).collect())
}

fn invocation(fields: &Fields) -> Invocation {
    let is_true = |value: &Value| match value {
        Value::Bool(flag) => *flag,
        Value::String(text) => text.eq_ignore_ascii_case("true"),
        _ => false,
    };
    let disabled = fields.get("disable-model-invocation").is_some_and(is_true);
    let internal =
        fields.get("metadata").and_then(|metadata| metadata.get("internal")).is_some_and(is_true);
    if disabled || internal { Invocation::Manual } else { Invocation::Automatic }
}

/// The specification's limits: all of them are warnings, none loses the skill.
fn check_limits(
    skill: &Skill,
    head: &str,
    unnamed: bool,
    folder: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let file = &skill.origin.file;
    let lines = front_matter::lines_of_keys(head);
    let line = |field: &str| lines.get(field).copied().unwrap_or(1);
    let mut warn = |field, rule, message: String, hint: &str| {
        let finding = Diagnostic::warning(rule, file, message).line(line(field)).hint(hint);
        diagnostics.push(finding);
    };
    let name = shortened(&skill.name);
    if unnamed {
        warn(
            "name",
            "no-name",
            format!("no name in the front matter; the folder's name '{folder}' is used"),
            "add  name:  to the front matter",
        );
    } else if skill.name != folder {
        warn(
            "name",
            "name-not-folder",
            format!("the name '{name}' is not the folder's name '{folder}'"),
            "rename one of them: agents that follow the specification expect both to be equal",
        );
    }
    if !is_valid_name(&skill.name) {
        warn(
            "name",
            "name-form",
            format!(
                "the name '{name}' is not 1 to {MAX_NAME_CHARS} lower-case letters, digits and single hyphens"
            ),
            "rename the skill and its folder",
        );
    } else if skill.name.starts_with("claude-") || skill.name.starts_with("anthropic-") {
        warn(
            "name",
            "reserved-name",
            format!("names like '{name}' are reserved by Anthropic"),
            "choose another prefix",
        );
    }
    let length = skill.description.chars().count();
    if length > MAX_DESCRIPTION_CHARS {
        warn(
            "description",
            "long-description",
            format!(
                "the description has {length} characters, the limit is {MAX_DESCRIPTION_CHARS}"
            ),
            "shorten it: agents cut or drop what is longer",
        );
    }
    if skill.description.contains(['<', '>']) {
        warn(
            "description",
            "angle-brackets",
            "the description holds '<' or '>'".into(),
            "some validators reject the skill: write the words instead",
        );
    }
    if let Some(compatibility) = skill.fields.get("compatibility") {
        match compatibility.as_str() {
            Some(text) if text.chars().count() <= MAX_COMPATIBILITY_CHARS => {}
            _ => warn(
                "compatibility",
                "compatibility-form",
                format!(
                    "compatibility is not a text of at most {MAX_COMPATIBILITY_CHARS} characters"
                ),
                "shorten it",
            ),
        }
    }
    let strings_only = |value: &Value| {
        value.as_object().is_some_and(|map| {
            map.values().all(|v| v.is_string() || v.is_boolean() || v.is_number())
        })
    };
    if skill.fields.get("metadata").is_some_and(|metadata| !strings_only(metadata)) {
        warn(
            "metadata",
            "metadata-form",
            "metadata is not a map from text to text".into(),
            "write one  key: value  per line below metadata",
        );
    }
    let unknown: Vec<&str> =
        skill.fields.keys().map(String::as_str).filter(|key| !KNOWN_FIELDS.contains(key)).collect();
    if let Some(first) = unknown.iter().map(|field| line(field)).min() {
        let quoted = unknown.iter().take(QUOTED_FIELDS).map(|field| shortened(field));
        let mut quoted = quoted.collect::<Vec<_>>().join(", ");
        if unknown.len() > QUOTED_FIELDS {
            quoted += &format!(" and {} more", unknown.len() - QUOTED_FIELDS);
        }
        let finding = Diagnostic::note(
            "unknown-field",
            file,
            format!("fields no agent we know reads: {quoted}"),
        )
        .line(first)
        .hint("put your own data below  metadata:");
        diagnostics.push(finding);
    }
}

/// A name, of a skill or a field, as messages quote it: some are whole paragraphs.
fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

/// The specification's prose says a-z; its reference reader accepts any lower-case letter.
fn is_valid_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.chars().count())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
        && name.chars().all(|c| c == '-' || (c.is_alphanumeric() && !c.is_uppercase()))
}
