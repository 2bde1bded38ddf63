//! Skills over MCP (SEP-2640): which skills are served, with which files and digests?
//!
//! An entry promises what a host then checks: the front matter as it is in the file, and the digest and
//! size of every file. So it is made from the files, at the moment of the call. A skill whose name is not
//! one by the Agent Skills format, whose front matter is no YAML, or that is larger than the extension
//! allows, is not served this way; the tools have it all the same.

use fingerpost::skill::SkillIdx;
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, JsonObject};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::folder::{Folder, Listing};
use super::resources::{bytes_of, mime_type, page};
use super::uri::{self, DOCUMENT};
use crate::live::Open;

/// What the extension is called.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Skills of a page: every file of each is read.
const PAGE: usize = 50;

/// Children of a folder in a page.
const CHILDREN: usize = 200;

/// How long an entry may be taken for current, in milliseconds; skills are edited at any time.
const FRESH_MS: u64 = 5_000;

/// Bytes of front matter that are read.
const MAX_HEAD: usize = 64 << 10;

#[derive(Debug, Default, Deserialize)]
struct Params {
    #[serde(default)]
    uri: String,
    cursor: Option<String>,
}

/// What the server declares.
pub(super) fn capability() -> JsonObject {
    let mut settings = JsonObject::new();
    settings.insert("directoryRead".into(), Value::Bool(true));
    settings
}

/// Is it a method of this extension?
pub(super) fn is_method(method: &str) -> bool {
    matches!(method, "skills/list" | "skills/get" | "resources/directory/read")
}

/// Answers one of its methods.
pub(super) fn call(open: &Open, request: &CustomRequest) -> Result<Value, ErrorData> {
    let params: Params = match &request.params {
        None | Some(Value::Null) => Params::default(),
        Some(params) => serde_json::from_value(params.clone())
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?,
    };
    match request.method.as_str() {
        "skills/list" => list(open, params.cursor.as_deref()),
        "skills/get" => get(open, &params.uri),
        _ => directory(open, &params),
    }
}

fn list(open: &Open, cursor: Option<&str>) -> Result<Value, ErrorData> {
    let (rows, next) = page(&open.reading.snapshot, cursor, PAGE)?;
    // What cannot be served is left out: a listing may be partial.
    let skills: Vec<Value> = rows.into_iter().filter_map(|row| entry(open, row).ok()).collect();
    let mut result = cacheable("skills", Value::Array(skills));
    if let Some(next) = next {
        result["nextCursor"] = Value::String(next);
    }
    Ok(result)
}

fn get(open: &Open, uri: &str) -> Result<Value, ErrorData> {
    let missing = || ErrorData::invalid_params(format!("no skill is served at {uri}"), None);
    let (skill, file) = uri::find(&open.reading.snapshot, uri).ok_or_else(missing)?;
    if file != DOCUMENT {
        return Err(missing());
    }
    let entry = entry(open, skill).map_err(|why| {
        ErrorData::invalid_params(format!("no skill is served at {uri}: {why}"), None)
    })?;
    Ok(cacheable("skill", entry))
}

fn cacheable(name: &str, value: Value) -> Value {
    let mut result = json!({"resultType": "complete"});
    result[name] = value;
    result["ttlMs"] = FRESH_MS.into();
    result["cacheScope"] = "private".into();
    result
}

/// The entry of a skill, or why it has none.
fn entry(open: &Open, skill: SkillIdx) -> Result<Value, String> {
    let row = open.reading.snapshot.row(skill);
    let document = bytes_of(open, skill, DOCUMENT)?;
    let frontmatter = frontmatter(&document)?;
    if frontmatter["name"] != row.name {
        return Err("its name is not that of the compiled library".into());
    }
    let Listing { files, cut } =
        Folder::of(open, skill).map(|folder| folder.files()).unwrap_or_default();
    if cut {
        return Err("it has more files than a skill may have".into());
    }
    let others = files.iter().map(|file| file.path.as_str()).filter(|path| *path != DOCUMENT);
    let mut resources = vec![resource(&uri::of_document(&row), &document)];
    for path in others {
        // What is gone since it was listed is no file of the skill any more.
        if let Ok(bytes) = bytes_of(open, skill, path) {
            resources.push(resource(&uri::of_file(&row, path), &bytes));
        }
    }
    Ok(json!({
        "uri": uri::of_document(&row),
        "frontmatter": frontmatter,
        "resources": resources,
    }))
}

fn resource(uri: &str, bytes: &[u8]) -> Value {
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"uri": uri, "digest": format!("sha256:{digest}"), "size": bytes.len()})
}

/// The front matter of a document as it is, if the format allows it.
fn frontmatter(document: &[u8]) -> Result<Value, String> {
    let head = &document[..document.len().min(MAX_HEAD)];
    let head = String::from_utf8_lossy(head);
    let head = head.strip_prefix('\u{feff}').unwrap_or(&head);
    let mut lines = head.split_inclusive('\n');
    if lines.next().is_none_or(|first| first.trim_end() != "---") {
        return Err("its document has no front matter".into());
    }
    let mut yaml = String::new();
    let mut closed = false;
    for line in lines {
        if line.trim_end() == "---" {
            closed = true;
            break;
        }
        yaml.push_str(line);
    }
    if !closed {
        return Err("its front matter has no end".into());
    }
    let value: Value = serde_saphyr::from_str(&yaml)
        .map_err(|_| "its front matter is no YAML that every reader reads".to_owned())?;
    let named = value["name"].as_str().is_some_and(is_name);
    let described = value["description"].as_str().is_some_and(|text| !text.trim().is_empty());
    match named && described {
        true => Ok(value),
        false => Err("it has no name and description by the Agent Skills format".into()),
    }
}

/// Lower-case letters, digits and single hyphens between them, 64 at most.
fn is_name(name: &str) -> bool {
    let plain =
        |c: char| c.is_ascii_digit() || c == '-' || (c.is_alphanumeric() && !c.is_uppercase());
    (1..=64).contains(&name.chars().count())
        && name.chars().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// `resources/directory/read`: what lies directly in a folder of a skill.
fn directory(open: &Open, Params { uri, cursor }: &Params) -> Result<Value, ErrorData> {
    let no_folder =
        || ErrorData::invalid_params(format!("{uri} is not a directory resource"), None);
    let (skill, below) = uri::find(&open.reading.snapshot, uri).ok_or_else(no_folder)?;
    let row = open.reading.snapshot.row(skill);
    let listing = Folder::of(open, skill).map(|folder| folder.files());
    let files = match listing {
        Some(listing) => listing.files.into_iter().map(|file| file.path).collect(),
        // A skill that was a record has its document.
        None => vec![DOCUMENT.to_owned()],
    };
    let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
    // In order, so that what lies in one folder stands together.
    let mut children: Vec<(&str, bool)> = files
        .iter()
        .filter_map(|path| path.strip_prefix(&prefix))
        .map(|rest| rest.split_once('/').map_or((rest, false), |(folder, _)| (folder, true)))
        .collect();
    children.sort_unstable();
    children.dedup();
    if children.is_empty() {
        return Err(no_folder());
    }
    let from = match cursor.as_deref() {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .ok()
            .filter(|&from| from < children.len())
            .ok_or_else(|| ErrorData::invalid_params("this cursor is not one of ours", None))?,
    };
    let to = children.len().min(from + CHILDREN);
    let resources: Vec<Value> = children[from..to]
        .iter()
        .map(|&(name, is_folder)| {
            json!({
                "uri": uri::of_file(&row, &format!("{prefix}{name}")),
                "name": name,
                "mimeType": if is_folder { "inode/directory" } else { mime_type(name) },
            })
        })
        .collect();
    let mut result = json!({"resultType": "complete", "resources": resources});
    if to < children.len() {
        result["nextCursor"] = Value::String(to.to_string());
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_passed_on_as_it_is() {
        let document = b"---\nname: pdf-merge\ndescription: >\n  Joins\n  files.\nmetadata:\n  version: \"1.0\"\nlist: [a, 2]\n---\n# PDF\n";
        let expected = json!({
            "name": "pdf-merge",
            "description": "Joins files.\n",
            "metadata": {"version": "1.0"},
            "list": ["a", 2],
        });
        assert_eq!(frontmatter(document), Ok(expected));
    }

    #[test]
    fn what_a_host_would_refuse_is_not_served() {
        let refused: [&[u8]; 8] = [
            b"# No head",
            b"---\nname: a\ndescription: b\n",
            b"---\nname: a\n---\n",
            b"---\nname: A b\ndescription: c\n---\n",
            b"---\nname: [a]\ndescription: c\n---\n",
            b"---\nname: a\ndescription: Use when: always\n---\n",
            b"---\n- a\n---\n",
            b"",
        ];
        for document in refused {
            assert!(frontmatter(document).is_err(), "{}", String::from_utf8_lossy(document));
        }
        for name in ["a", "pdf-merge2", "größe"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "A", "a b", "a_b", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
