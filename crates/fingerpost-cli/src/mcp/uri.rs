//! What is the address of a skill, and which skill is at an address?
//!
//! `skill://<id>/<file>`, each part percent-encoded. The last part before the file must be the skill's
//! name; where an id ends in something else, a `-` and the name follow it.

use fingerpost::skill::SkillIdx;
use fingerpost::snapshot::{SkillRow, Snapshot};

const SCHEME: &str = "skill://";

/// The file that every skill has.
pub(crate) const DOCUMENT: &str = "SKILL.md";

/// Stands between an id and a name that the id does not end in.
const NAMED: &str = "-";

/// The address of a skill's folder, without a slash at its end.
pub(crate) fn of_folder(row: &SkillRow<'_>) -> String {
    let id: Vec<String> = row.id.split('/').map(encode).collect();
    let id = id.join("/");
    match ends_in_name(row) {
        true => format!("{SCHEME}{id}"),
        false => format!("{SCHEME}{id}/{NAMED}/{}", encode(row.name)),
    }
}

/// The address of a file of a skill.
pub(crate) fn of_file(row: &SkillRow<'_>, file: &str) -> String {
    let file: Vec<String> = file.split('/').map(encode).collect();
    format!("{}/{}", of_folder(row), file.join("/"))
}

/// The address of a skill's document.
pub(crate) fn of_document(row: &SkillRow<'_>) -> String {
    of_file(row, DOCUMENT)
}

/// The skill at an address, and the path below its folder: empty for the folder itself.
pub(crate) fn find(snapshot: &Snapshot, uri: &str) -> Option<(SkillIdx, String)> {
    let path = uri.strip_prefix(SCHEME)?;
    let parts: Option<Vec<String>> =
        path.trim_end_matches('/').split('/').map(decode).collect();
    let parts = parts?;
    // The longest id first: a skill may lie in the folder of another one.
    (1..=parts.len()).rev().find_map(|length| {
        let id = parts[..length].join("/");
        let skill = snapshot.find(&id).filter(|&skill| snapshot.row(skill).id == id)?;
        let row = snapshot.row(skill);
        let rest = match (ends_in_name(&row), &parts[length..]) {
            (true, rest) => rest,
            (false, [mark, name, rest @ ..]) if mark == NAMED && name == row.name => rest,
            (false, _) => return None,
        };
        Some((skill, rest.join("/")))
    })
}

fn ends_in_name(row: &SkillRow<'_>) -> bool {
    row.id.rsplit('/').next() == Some(row.name)
}

/// All but what stands for itself in every part of an address. A colon does not in the first one, which is
/// read as a host and a port.
fn encode(part: &str) -> String {
    let mut encoded = String::with_capacity(part.len());
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// `None` for what no part of an address can be. An encoded slash would make two parts of one.
fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok().filter(|&byte| byte != b'/')?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(id: &'a str, name: &'a str) -> SkillRow<'a> {
        SkillRow { id, name, description: "", path: "", line: None }
    }

    #[test]
    fn the_last_part_before_the_file_is_the_name() {
        assert_eq!(of_document(&row("qt/bazett", "bazett")), "skill://qt/bazett/SKILL.md");
        assert_eq!(of_document(&row("bazett", "bazett")), "skill://bazett/SKILL.md");
        assert_eq!(of_document(&row("qt/7", "bazett")), "skill://qt/7/-/bazett/SKILL.md");
        let odd = row("a:b/年 終%", "年 終%");
        assert_eq!(
            of_file(&odd, "x y/ü.md"),
            "skill://a%3Ab/%E5%B9%B4%20%E7%B5%82%25/x%20y/%C3%BC.md"
        );
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for part in ["a:b", "年 終%", "~._-", "\u{202e}?#"] {
            assert_eq!(decode(&encode(part)).as_deref(), Some(part));
        }
        for broken in ["%", "%2", "%zz", "%2F", "%2f..", "%ff"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }
}
