//! How long may an id or a name be?
//!
//! Ids and names go into prompts, tables and terminals, many at a time, and nobody downstream
//! expects one of a megabyte. So the loader cuts them, and says so: whatever a library was loaded
//! from, its ids have at most [`MAX_ID_BYTES`] and its names at most [`MAX_NAME_CHARS`].

use std::path::Path;

use crate::diagnostic::Diagnostic;

/// The longest id, in bytes.
pub(super) const MAX_ID_BYTES: usize = 512;

/// The longest name, in characters. The specification allows 64; names of benchmarks are longer.
pub(super) const MAX_NAME_CHARS: usize = 256;

/// How many hexadecimal digits of its digest a cut id ends in: it stays as unique as it was.
const DIGEST_DIGITS: usize = 32;

/// An id that is short enough, and what to tell if it had to be cut.
pub(super) fn id(id: String, file: &Path) -> (String, Option<Diagnostic>) {
    if id.len() <= MAX_ID_BYTES {
        return (id, None);
    }
    let digest = blake3::hash(id.as_bytes()).to_hex();
    let kept = id.floor_char_boundary(MAX_ID_BYTES - DIGEST_DIGITS - 1);
    let cut = format!("{}~{}", &id[..kept], &digest[..DIGEST_DIGITS]);
    let message = format!("an id of {} bytes, cut to '{cut}'", id.len());
    let finding = Diagnostic::warning("long-id", file, message)
        .skill(&cut)
        .hint(format!("give the skill an id of at most {MAX_ID_BYTES} bytes"));
    (cut, Some(finding))
}

/// A name that is short enough, and what to tell if it had to be cut.
pub(super) fn name(name: String, file: &Path) -> (String, Option<Diagnostic>) {
    let Some((kept, _)) = name.char_indices().nth(MAX_NAME_CHARS) else { return (name, None) };
    let length = MAX_NAME_CHARS + name[kept..].chars().count();
    let last = name[..kept].char_indices().last().map_or(0, |(at, _)| at);
    let cut = format!("{}…", &name[..last]);
    let message = format!("a name of {length} characters, cut to {MAX_NAME_CHARS}");
    let finding = Diagnostic::warning("long-name", file, message)
        .hint("shorten it: the specification allows 64 characters");
    (cut, Some(finding))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_cut_between_characters_and_stay_apart() {
        let file = Path::new("a.jsonl");
        for length in [1, MAX_ID_BYTES] {
            assert_eq!(id("i".repeat(length), file), ("i".repeat(length), None));
        }
        let [a, b] = ["a", "b"].map(|end| id("描".repeat(400_000) + end, file));
        assert!(a.0.starts_with("描描描") && a.0.len() <= MAX_ID_BYTES, "{}", a.0);
        assert_ne!(a.0, b.0);
        let finding = a.1.unwrap();
        assert!(finding.message.starts_with("an id of 1200001 bytes, cut to '描描"));
        assert_eq!(finding.skill, Some(a.0));
    }

    #[test]
    fn names_are_cut_to_so_many_characters() {
        let file = Path::new("a.jsonl");
        let longest = "名".repeat(MAX_NAME_CHARS);
        assert_eq!(name(longest.clone(), file), (longest.clone(), None));
        let (cut, finding) = name(longest + "名", file);
        assert_eq!(cut, "名".repeat(MAX_NAME_CHARS - 1) + "…");
        assert_eq!(finding.unwrap().message, "a name of 257 characters, cut to 256");
    }
}
