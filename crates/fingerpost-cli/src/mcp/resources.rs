//! Which `skill://` resources are there, and what is in them?
//!
//! Every skill is one, and so is every file of its folder. A resource is read as it is, byte for byte: a
//! host checks it against the digest that it was promised.

use fingerpost::contract::{shown_line, shown_text};
use fingerpost::skill::{Skill, SkillIdx};
use fingerpost::snapshot::Snapshot;
use rmcp::ErrorData;
use rmcp::model::{
    CompletionInfo, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};

use super::folder::{Folder, is_text};
use super::uri::{self, DOCUMENT};
use crate::live::Open;

/// Resources of a page.
const PAGE: usize = 100;

/// Characters of a title and of a description in a list.
const TITLE: usize = 128;
const DESCRIBED: usize = 400;

/// What a cursor begins with; the rest is the id after which the page begins.
const AFTER: &str = "after:";

/// A page of the skills, and the cursor of the next one.
pub(super) fn page(
    snapshot: &Snapshot,
    cursor: Option<&str>,
    most: usize,
) -> Result<(Vec<SkillIdx>, Option<String>), ErrorData> {
    let from = match cursor {
        None => 0,
        Some(cursor) => {
            let id = cursor
                .strip_prefix(AFTER)
                .ok_or_else(|| ErrorData::invalid_params("this cursor is not one of ours", None))?;
            // By id, so that a page goes on where it stopped though the library has changed.
            first_after(snapshot, id)
        }
    };
    let to = snapshot.len().min(from + most);
    let rows: Vec<SkillIdx> = (from..to).map(|row| SkillIdx(row as u32)).collect();
    let last = rows.last().filter(|_| to < snapshot.len());
    let next = last.map(|&row| format!("{AFTER}{}", snapshot.row(row).id));
    Ok((rows, next))
}

fn first_after(snapshot: &Snapshot, id: &str) -> usize {
    let (mut low, mut high) = (0, snapshot.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let is_after = snapshot.row(SkillIdx(middle as u32)).id > id;
        if is_after { high = middle } else { low = middle + 1 }
    }
    low
}

/// `resources/list`: the skills' documents. Their files are found by their addresses.
pub(super) fn list(open: &Open, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let snapshot = &open.reading.snapshot;
    let (rows, next_cursor) = page(snapshot, cursor, PAGE)?;
    let resources = rows.into_iter().map(|skill| {
        let row = snapshot.row(skill);
        Resource::new(uri::of_document(&row), shown_line(row.name, TITLE))
            .with_title(shown_line(row.name, TITLE))
            .with_description(shown_line(row.description, DESCRIBED))
            .with_mime_type(MARKDOWN)
    });
    Ok(ListResourcesResult {
        next_cursor,
        ..ListResourcesResult::with_all_items(resources.collect())
    })
}

/// The addresses of everything that is not listed.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(TEMPLATE_DOCUMENT, "skill")
            .with_title("A skill's instructions")
            .with_description("The SKILL.md of a skill, by its id")
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new(TEMPLATE_FILE, "file")
            .with_title("A file of a skill")
            .with_description("A script, reference or other file in the folder of a skill"),
    ]
}

pub(super) const TEMPLATE_DOCUMENT: &str = "skill://{+skill}/SKILL.md";
pub(super) const TEMPLATE_FILE: &str = "skill://{+skill}/{+file}";

/// `resources/read`.
pub(super) fn read(open: &Open, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = |why: &str| {
        ErrorData::resource_not_found(why.to_owned(), Some(serde_json::json!({ "uri": uri })))
    };
    let (skill, file) = uri::find(&open.reading.snapshot, uri)
        .ok_or_else(|| missing("no skill is served at this address"))?;
    let file = if file.is_empty() { DOCUMENT } else { &file };
    let bytes = bytes_of(open, skill, file).map_err(|why| missing(&why))?;
    let contents = match String::from_utf8(bytes) {
        Ok(text) if is_text(text.as_bytes()) => ResourceContents::text(text, uri),
        Ok(text) => ResourceContents::blob(base64(text.as_bytes()), uri),
        Err(error) => ResourceContents::blob(base64(error.as_bytes()), uri),
    };
    Ok(ReadResourceResult::new(vec![contents.with_mime_type(mime_type(file))]))
}

/// The bytes of a file of a skill; of its document also where the skill has no folder here.
pub(super) fn bytes_of(open: &Open, skill: SkillIdx, file: &str) -> Result<Vec<u8>, String> {
    let folder = Folder::of(open, skill);
    let read = folder.as_ref().map(|folder| folder.read(file));
    match (read, file) {
        (Some(Ok(bytes)), _) => Ok(bytes),
        (_, DOCUMENT) => {
            let skill = open.reading.snapshot.skill(skill).map_err(|error| error.to_string())?;
            Ok(document(&skill).into_bytes())
        }
        (Some(Err(error)), _) => Err(error.to_string()),
        (None, _) => Err(format!("the skill has no file '{file}' here")),
    }
}

/// A SKILL.md of a skill that was a record. Values are JSON, which is YAML.
fn document(skill: &Skill) -> String {
    let mut head = String::from("---\n");
    let named = [("name", skill.name.as_str()), ("description", skill.description.as_str())];
    for (field, value) in named {
        head.push_str(&format!("{field}: {}\n", serde_json::Value::from(value)));
    }
    for (field, value) in &skill.fields {
        if !named.iter().any(|(named, _)| named == field) {
            head.push_str(&format!("{}: {value}\n", serde_json::Value::from(field.as_str())));
        }
    }
    format!("{head}---\n\n{}\n", skill.content.trim_end())
}

const MARKDOWN: &str = "text/markdown";

/// By the ending of its name, as hosts expect it.
pub(super) fn mime_type(file: &str) -> &'static str {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "md" | "markdown" => MARKDOWN,
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "py" => "text/x-python",
        "sh" => "application/x-sh",
        "js" | "mjs" => "text/javascript",
        "html" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "pdf" => "application/pdf",
        "txt" | "toml" | "rs" | "ts" | "go" | "java" | "c" | "h" | "sql" => "text/plain",
        _ => "application/octet-stream",
    }
}

/// The values that complete what somebody types of an address or of the argument of a prompt.
pub(super) fn complete(
    open: &Open,
    argument: &str,
    typed: &str,
    skill: Option<&str>,
) -> CompletionInfo {
    let snapshot = &open.reading.snapshot;
    let mut found: Vec<String> = match argument {
        "skill" | "first" | "second" => {
            let rows = snapshot.rows().map(|row| snapshot.row(row));
            // Those that begin so, then those that have it in them.
            let (begin, have): (Vec<_>, Vec<_>) = rows
                .filter(|row| row.id.contains(typed) || row.name.contains(typed))
                .partition(|row| row.id.starts_with(typed) || row.name.starts_with(typed));
            begin.iter().chain(&have).map(|row| shown_text(row.id)).collect()
        }
        "file" => {
            let folder =
                skill.and_then(|id| snapshot.find(id)).and_then(|row| Folder::of(open, row));
            let files = folder.map(|folder| folder.files().files).unwrap_or_default();
            files.into_iter().map(|file| file.path).filter(|path| path.starts_with(typed)).collect()
        }
        _ => Vec::new(),
    };
    let total = found.len();
    found.truncate(CompletionInfo::MAX_VALUES);
    let total = u32::try_from(total).ok();
    let more = total.is_some_and(|total| total as usize > found.len());
    CompletionInfo::with_pagination(found, total, more).unwrap_or_default()
}

/// As JSON carries bytes.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            // So many bytes fill so many digits and one more; the rest is padding.
            match digit <= group.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use fingerpost::skill::{Invocation, Origin, SkillId};

    #[test]
    fn bytes_are_carried_as_the_standard_has_it() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xfe]), "/+/+");
    }

    #[test]
    fn a_record_has_a_document_that_nothing_of_it_can_break() {
        let skill = Skill {
            id: SkillId::new("a"),
            name: "a".into(),
            description: "Says \"b\": c\n---\nname: evil".into(),
            content: "# A\n".into(),
            fields: [("license".to_owned(), serde_json::json!({"x": [1]}))].into(),
            invocation: Invocation::Automatic,
            origin: Origin { file: "x".into(), line: Some(1) },
        };
        let expected = "---\nname: \"a\"\ndescription: \"Says \\\"b\\\": c\\n---\\nname: evil\"\n\"license\": {\"x\":[1]}\n---\n\n# A\n";
        assert_eq!(document(&skill), expected);
    }
}
