//! Which files of a known name lie in a folder, packed or not, and what do they say?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::packed::{self, MAX_WHOLE_BYTES};

/// How many files of a folder are read: a benchmark has one for each of its data sets.
const MAX_FILES: usize = 1000;

/// The endings of files of records.
const RECORDS: [&str; 3] = [".json", ".jsonl", ".ndjson"];

/// The first file of one of these names in a folder, packed or not. A name may be a path below it.
pub fn find_file(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let packed = |name: &&str| ["", ".zst", ".gz"].map(|end| folder.join(format!("{name}{end}")));
    names.iter().flat_map(packed).find(|file| file.is_file())
}

/// One file of a folder, unpacked.
pub(crate) struct Text {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
}

/// The texts of a folder's files of records, in the order of their names; none without the folder. All
/// of them together are bounded as one file is. Fails with the path that cannot be read.
pub(crate) fn read_texts(folder: &Path) -> Result<Vec<Text>, (PathBuf, io::Error)> {
    let files = match files_of_records(folder) {
        Ok(files) => files,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err((folder.to_path_buf(), error)),
    };
    let mut texts = Vec::with_capacity(files.len());
    let mut left = MAX_WHOLE_BYTES;
    for file in files {
        let text = packed::read_unpacked(&file).map_err(|error| (file.clone(), error))?;
        let Some(rest) = left.checked_sub(text.len() as u64) else {
            let limit = MAX_WHOLE_BYTES >> 20;
            let message = format!("its files of records hold more than {limit} MiB together");
            return Err((folder.to_path_buf(), too_much(message)));
        };
        left = rest;
        texts.push(Text { file, text });
    }
    Ok(texts)
}

fn files_of_records(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        let name = unpacked_name(&file);
        // Archives made on a Mac hold a hidden companion of every file.
        if !name.starts_with('.') && bears_ending(&name) && file.is_file() {
            files.push(file);
        }
        if files.len() > MAX_FILES {
            return Err(too_much(format!("it holds more than {MAX_FILES} files of records")));
        }
    }
    files.sort();
    Ok(files)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn too_much(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Is this, without the ending that says how it is packed, the name of a file of records?
pub(super) fn bears_ending(unpacked_name: &str) -> bool {
    RECORDS.iter().any(|ending| unpacked_name.ends_with(ending))
}

/// The file's name in lower case, without the ending that says how it is packed.
pub(super) fn unpacked_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name).to_owned()
}

/// The file's name without any ending: `champ` of `champ.json.zst`.
pub(crate) fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}
