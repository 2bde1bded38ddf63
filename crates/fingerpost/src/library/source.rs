//! Which files make up a root, and how are they opened?

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use walkdir::{DirEntry, WalkDir};

use super::{Findings, Layout, Root};
use crate::diagnostic::Diagnostic;

/// Folders that never hold skills of the library they lie in.
const SKIPPED_FOLDERS: [&str; 3] = [".git", "node_modules", ".fingerpost"];

/// How deep a tree is searched: agents stop at six; a collection of repositories goes deeper.
const MAX_DEPTH: usize = 16;

/// What a root holds.
pub(super) enum Files {
    /// One file of records.
    Records(PathBuf),
    /// Markdown documents, in the order of their paths.
    Documents(Vec<PathBuf>),
}

/// Finds the files of a root; fails only if the root itself cannot be read.
pub(super) fn files(root: &Root, found: &mut Findings) -> io::Result<Files> {
    if std::fs::metadata(&root.path)?.is_file() {
        let is_document = root.path.extension().is_some_and(|ending| ending == "md");
        let file = root.path.clone();
        return Ok(if is_document { Files::Documents(vec![file]) } else { Files::Records(file) });
    }
    std::fs::read_dir(&root.path)?;
    if root.layout == Layout::Detect
        && let Some(corpus) = corpus_file(&root.path)
    {
        return Ok(Files::Records(corpus));
    }
    let mut documents = Vec::new();
    // Agents pass over hidden folders, or read them as roots of their own; a collection that the
    // user names may well keep skills in them.
    let is_hidden = |entry: &DirEntry| {
        root.discovered && entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    let walk = WalkDir::new(&root.path)
        .follow_links(true)
        .max_depth(MAX_DEPTH)
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || !(is_skipped(entry) || is_hidden(entry)));
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_file() => {
                let name = entry.file_name().to_str().unwrap_or_default();
                let wanted = match root.layout {
                    Layout::Detect => name == "SKILL.md" || name == "skill.md",
                    Layout::Commands => name.ends_with(".md"),
                };
                if wanted {
                    documents.push(entry.into_path());
                }
            }
            Ok(_) => {}
            Err(error) => found.push(unreadable(&root.path, &error)),
        }
    }
    documents.sort();
    Ok(Files::Documents(documents))
}

pub(super) fn is_skipped(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_str().unwrap_or_default();
    // A build folder says so; another one of that name may be a skill.
    SKIPPED_FOLDERS.contains(&name)
        || (name == "target" && entry.path().join("CACHEDIR.TAG").exists())
}

fn unreadable(root: &Path, error: &walkdir::Error) -> Diagnostic {
    let at = error.path().unwrap_or(root);
    match error.loop_ancestor() {
        Some(ancestor) => Diagnostic::note(
            "symlink-loop",
            at,
            format!("this link leads back to {}", ancestor.display()),
        )
        .hint("the link is not followed; remove it, or point it elsewhere"),
        None => Diagnostic::warning(
            "unreadable",
            at,
            format!(
                "cannot be read: {}",
                error.io_error().map_or("unknown reason".into(), ToString::to_string)
            ),
        )
        .hint("check its permissions, or whether the link has a target"),
    }
}

/// The corpus of a BEIR folder, or of an SR-Agents one.
fn corpus_file(folder: &Path) -> Option<PathBuf> {
    ["corpus.jsonl", "corpus.json"]
        .iter()
        .flat_map(|name| ["", ".zst", ".gz"].map(|ending| folder.join(format!("{name}{ending}"))))
        .find(|file| file.is_file())
}

/// Opens a file for reading, unpacking gzip and Zstandard by what its first bytes say.
pub(super) fn open(file: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut raw = BufReader::with_capacity(1 << 16, File::open(file)?);
    let head = raw.fill_buf()?;
    Ok(if head.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(1 << 16, flate2::bufread::MultiGzDecoder::new(raw)))
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Box::new(BufReader::with_capacity(1 << 16, zstd::Decoder::with_buffer(raw)?))
    } else {
        Box::new(raw)
    })
}

/// Reads a whole text file, unpacking it if it is packed: queries, judgements and runs come this way.
pub fn read_unpacked(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(file)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads at most `limit` bytes of a file; `None` if it holds more.
pub(super) fn read_capped(file: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// A digest of the names, sizes and times of everything a library would be loaded from: while it
/// stays the same, nothing needs to be read again.
pub fn stamp(roots: &[Root]) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    for root in roots {
        let mut names = match files(root, &mut Findings::default())? {
            Files::Records(file) => vec![file],
            Files::Documents(documents) => {
                let policies = documents.iter().filter_map(|file| super::tree::policy_file(file));
                let policies: Vec<PathBuf> = policies.collect();
                documents.into_iter().chain(policies).collect()
            }
        };
        names.sort();
        hasher.update(root.prefix.as_deref().unwrap_or_default().as_bytes());
        hasher.update(&(names.len() as u64).to_le_bytes());
        for name in names {
            let about = std::fs::metadata(&name)?;
            let changed = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            hasher.update(std::path::absolute(&name)?.as_os_str().as_encoded_bytes());
            hasher.update(&[0]);
            hasher.update(&about.len().to_le_bytes());
            hasher.update(&changed.as_nanos().to_le_bytes());
        }
    }
    Ok(hasher.finalize())
}
