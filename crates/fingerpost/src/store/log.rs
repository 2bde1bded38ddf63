//! How do records outlive a kill, a full disk and a flipped bit?
//!
//! A log is two files of the same lines. A line is a record's checksum, its number and its bytes,
//! and is complete when it ends: a line that a kill cut short, or that was damaged later, does not
//! fit its checksum and is passed over, and the other file has it. Records are appended to the one
//! file, flushed to the disk, then to the other. What one file lacks is mended from the other by
//! the next writer. Nothing is ever changed in place. SQLite would keep neighbors of a record on
//! one page, and lose all of them with it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use xxhash_rust::xxh3::xxh3_64;

use super::folder::no_link;
use super::{Record, Records, StoreError};

/// The two files of a log.
#[derive(Debug)]
pub(super) struct Files {
    first: PathBuf,
    second: PathBuf,
    /// How long the files were when this process last wrote them, and the last number in them:
    /// while that holds, nobody else has written and nothing needs to be read.
    left: Mutex<Option<([u64; 2], u64)>>,
}

/// Records by their numbers.
type ByNumber = BTreeMap<u64, Vec<u8>>;

/// One file, as it was read.
struct Lines {
    records: ByNumber,
    /// Lines that do not fit their checksums; the last one may be a kill's.
    bad: usize,
    /// The file ends in the middle of a line.
    torn: bool,
}

impl Files {
    pub(super) fn new(folder: &Path, name: &str) -> Self {
        Self {
            first: folder.join(format!("{name}.log")),
            second: folder.join(format!("{name}.copy")),
            left: Mutex::default(),
        }
    }

    /// All records from a number on.
    pub(super) fn read(&self, from: u64) -> Result<Records, StoreError> {
        let (both, damaged) = self.both()?;
        // An empty one keeps the number of a record that was dropped.
        let records =
            both.into_iter().filter(|(number, bytes)| *number >= from && !bytes.is_empty());
        let records = records.map(|(number, bytes)| Record { number, bytes }).collect();
        Ok(Records { records, damaged })
    }

    /// Appends; the caller keeps other writers away.
    pub(super) fn append(&self, records: &[Vec<u8>]) -> Result<(), StoreError> {
        let mut left = self.left.lock().expect("nothing panics while holding it");
        let last = match left.take() {
            Some((lengths, last)) if lengths == self.lengths() => last,
            _ => self.mend()?,
        };
        let mut lines = Vec::new();
        for (number, bytes) in (last + 1..).zip(records) {
            line(number, bytes, &mut lines);
        }
        for file in [&self.first, &self.second] {
            no_link(file)?;
            extend(file, &lines).map_err(|source| failed("write", file, source))?;
        }
        *left = Some((self.lengths(), last + records.len() as u64));
        Ok(())
    }

    fn lengths(&self) -> [u64; 2] {
        [&self.first, &self.second].map(|file| file.metadata().map_or(0, |about| about.len()))
    }

    /// Drops records; the caller keeps other writers away.
    pub(super) fn rewrite(
        &self,
        keep: &mut dyn FnMut(&Record) -> bool,
    ) -> Result<usize, StoreError> {
        *self.left.lock().expect("nothing panics while holding it") = None;
        let (both, _) = self.both()?;
        let mut lines = Vec::new();
        let mut dropped = 0;
        let last = both.last_key_value().map(|(number, _)| *number);
        for (number, bytes) in both {
            let record = Record { number, bytes };
            if !record.bytes.is_empty() && keep(&record) {
                line(number, &record.bytes, &mut lines);
                continue;
            }
            dropped += usize::from(!record.bytes.is_empty());
            if Some(number) == last {
                // Its number must not be used again: an empty record keeps the place.
                line(number, b"", &mut lines);
            }
        }
        for file in [&self.first, &self.second] {
            replace(file, &lines).map_err(|source| failed("write", file, source))?;
        }
        Ok(dropped)
    }

    /// Changes whenever the log does.
    pub(super) fn mark(&self) -> u64 {
        // The longer one: after damage the other may be shorter for a while.
        let [first, second] = self.lengths();
        first.max(second)
    }

    /// What both files have together, and which of them are damaged.
    fn both(&self) -> Result<(ByNumber, Vec<String>), StoreError> {
        let [mut first, second] = self.lines()?;
        let mut damaged = Vec::new();
        for (file, lines) in [(&self.first, &first), (&self.second, &second)] {
            if lines.bad > 0 {
                damaged.push(file.display().to_string());
            }
        }
        first.records.extend(second.records);
        Ok((first.records, damaged))
    }

    fn lines(&self) -> Result<[Lines; 2], StoreError> {
        let read = |file: &PathBuf| read_lines(file).map_err(|source| failed("read", file, source));
        Ok([read(&self.first)?, read(&self.second)?])
    }

    /// Gives each file what it lacks, and says the last number in use.
    fn mend(&self) -> Result<u64, StoreError> {
        [&self.first, &self.second].into_iter().for_each(|file| clear_unfinished(file));
        let [first, second] = self.lines()?;
        let last = |lines: &Lines| lines.records.last_key_value().map_or(0, |(number, _)| *number);
        let same = first.records.len() == second.records.len()
            && last(&first) == last(&second)
            && first.bad + second.bad == 0
            && !first.torn
            && !second.torn;
        let end = last(&first).max(last(&second));
        if same {
            return Ok(end);
        }
        let mut all = first.records;
        all.extend(second.records);
        let mut lines = Vec::new();
        all.iter().for_each(|(&number, bytes)| line(number, bytes, &mut lines));
        for file in [&self.first, &self.second] {
            replace(file, &lines).map_err(|source| failed("write", file, source))?;
        }
        Ok(end)
    }
}

fn failed(action: &'static str, file: &Path, source: io::Error) -> StoreError {
    StoreError::failed(action, file.display(), source)
}

/// A record as it lies in a file. Records hold no line breaks: they are JSON.
fn line(number: u64, bytes: &[u8], lines: &mut Vec<u8>) {
    debug_assert!(!bytes.contains(&b'\n'), "a record is one line");
    let mut body = format!("{number} ").into_bytes();
    body.extend_from_slice(bytes);
    lines.extend_from_slice(format!("{:016x} ", xxh3_64(&body)).as_bytes());
    lines.extend_from_slice(&body);
    lines.push(b'\n');
}

fn read_line(line: &[u8]) -> Option<(u64, &[u8])> {
    let (checksum, body) = line.split_at_checked(17)?;
    let checksum = u64::from_str_radix(std::str::from_utf8(&checksum[..16]).ok()?, 16).ok()?;
    if line[16] != b' ' || xxh3_64(body) != checksum {
        return None;
    }
    let space = body.iter().position(|&byte| byte == b' ')?;
    let number = std::str::from_utf8(&body[..space]).ok()?.parse().ok()?;
    Some((number, &body[space + 1..]))
}

fn read_lines(file: &Path) -> io::Result<Lines> {
    let mut bytes = Vec::new();
    match File::open(file) {
        Ok(mut file) => file.read_to_end(&mut bytes).map(drop)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut lines = Lines {
        records: BTreeMap::new(),
        bad: 0,
        torn: !bytes.is_empty() && !bytes.ends_with(b"\n"),
    };
    for text in bytes.split(|&byte| byte == b'\n').filter(|text| !text.is_empty()) {
        match read_line(text) {
            Some((number, bytes)) => drop(lines.records.insert(number, bytes.to_vec())),
            None => lines.bad += 1,
        }
    }
    Ok(lines)
}

/// Adds lines to the end of a file, flushed; takes them back if the disk is full.
fn extend(file: &Path, lines: &[u8]) -> io::Result<()> {
    let fresh = !file.exists();
    let mut open = File::options().create(true).append(true).open(file)?;
    let end = open.seek(SeekFrom::End(0))?;
    let written = open.write_all(lines).and_then(|()| open.sync_data());
    if written.is_err() {
        // What is left of it would be passed over as damage.
        let _ = open.set_len(end);
    }
    if fresh && written.is_ok() {
        flush_folder(file);
    }
    written
}

/// Puts a whole file in the place of another.
pub(super) fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary(target);
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        // What could not be finished is of no use to anyone.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    flush_folder(target);
    Ok(())
}

/// The end of the name of a file that is not finished.
pub(super) const UNFINISHED: &str = ".unfinished";

/// Clears away what writers of a file did not live to finish; the caller keeps other writers away.
pub(super) fn clear_unfinished(target: &Path) {
    let Some((folder, name)) = target.parent().zip(target.file_name()) else { return };
    let name = format!("{}.", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let found = found.to_string_lossy();
        if found.starts_with(&name) && found.ends_with(UNFINISHED) {
            // What stays does no harm, and goes next time.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A name beside the target that nobody else uses now.
fn temporary(target: &Path) -> PathBuf {
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let process = std::process::id();
    target.with_file_name(format!("{name}.{process}-{count}{UNFINISHED}"))
}

/// A name is safe when its folder is. Systems that cannot flush a folder keep names their own way.
fn flush_folder(file: &Path) {
    if let Some(folder) = file.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &Files) -> Vec<String> {
        let records = files.read(0).unwrap().records;
        records.into_iter().map(|record| String::from_utf8(record.bytes).unwrap()).collect()
    }

    fn append(files: &Files, text: &str) {
        files.append(&[text.as_bytes().to_vec()]).unwrap();
    }

    /// Every byte of either file is damaged, and every cut made: nothing is lost, and the next
    /// append mends it.
    #[test]
    fn no_single_damage_loses_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path(), "pages");
        ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"].iter().for_each(|text| append(&files, text));
        let sound = fs::read(&files.first).unwrap();
        assert_eq!(sound, fs::read(&files.second).unwrap());
        for file in [&files.first, &files.second] {
            for at in 0..sound.len() {
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << (at % 8);
                for bytes in [&damaged[..], &sound[..at]] {
                    fs::write(file, bytes).unwrap();
                    assert_eq!(texts(&files), ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"], "at {at}");
                }
            }
            append(&files, "{\"d\":4}");
            assert_eq!(fs::read(&files.first).unwrap(), fs::read(&files.second).unwrap());
            assert_eq!(texts(&files).len(), 4);
            assert_eq!(files.read(0).unwrap().damaged, [""; 0]);
            [&files.first, &files.second].iter().for_each(|file| fs::write(file, &sound).unwrap());
        }
    }

    #[test]
    fn a_line_that_a_kill_cut_short_is_not_joined_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path(), "ledger");
        append(&files, "1");
        for file in [&files.first, &files.second] {
            let mut bytes = fs::read(file).unwrap();
            bytes.extend_from_slice(b"0123456789abcdef 2 {\"half");
            fs::write(file, bytes).unwrap();
        }
        append(&files, "2");
        assert_eq!(texts(&files), ["1", "2"]);
        let numbers: Vec<u64> =
            files.read(0).unwrap().records.iter().map(|record| record.number).collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(files.read(2).unwrap().records.len(), 1);
    }

    #[test]
    fn what_a_kill_left_unfinished_is_cleared_away() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path(), "pages");
        let left = temporary(&files.first);
        fs::write(&left, "half").unwrap();
        let others = temporary(&folder.path().join("ledger.log"));
        fs::write(&others, "of somebody who is at it").unwrap();
        append(&files, "1");
        assert!(!left.exists() && others.exists());
    }

    #[test]
    fn numbers_are_not_used_again_after_records_were_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path(), "pages");
        ["a", "b", "c"].iter().for_each(|text| append(&files, text));
        let before = files.mark();
        assert_eq!(files.rewrite(&mut |record| record.bytes == b"a").unwrap(), 2);
        assert_ne!(files.mark(), before);
        append(&files, "d");
        let records = files.read(0).unwrap().records;
        assert_eq!(records.last().unwrap().number, 4);
        assert_eq!(texts(&files), ["a", "d"]);
    }
}
