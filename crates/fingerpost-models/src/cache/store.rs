//! Where are vectors kept between processes, which of them, and what if their files are damaged?
//!
//! Two files a profile. `X.vectors` is a header with the whole profile, then records of one size:
//! digest of the text, vector, checksum. `X.keys` is what is read when the store is opened: for each
//! record, and again whenever it is used on another day, the digest, the record's number, the day and a
//! checksum. Both only grow, until they are larger than allowed: then what was used last is copied and
//! the rest goes. A record is checked when it is read; whatever is torn or flipped is as if it had never
//! been there, and keys that are missing are made again from the records. One process writes, any
//! number read.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fingerpost::embedding::Profile;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"FPVEC\0\0\x01";
const KEYS_MAGIC: &[u8; 8] = b"FPKEYS\0\x01";
const DIGEST: usize = 32;
const CHECKSUM: usize = 8;

/// Bytes of a line of keys: digest, record, day, checksum.
const KEY: usize = DIGEST + 4 + 4 + CHECKSUM;

/// Names a text in a role.
pub(super) type Digest = [u8; DIGEST];

/// The vectors of one profile.
pub(super) struct Store {
    dimensions: usize,
    path: PathBuf,
    header: Vec<u8>,
    entries: BTreeMap<Digest, Entry>,
    /// What is new and cannot be kept on disk.
    memory: BTreeMap<Digest, Vec<f32>>,
    reader: Option<File>,
    writer: Option<Writer>,
    today: u32,
    /// Lines of keys that are still to be written.
    used: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Entry {
    record: u32,
    /// When it was used last, in days since 1970.
    day: u32,
}

struct Writer {
    vectors: File,
    keys: File,
    /// Records in the file.
    records: u32,
    /// Held while this process writes.
    _lock: File,
}

/// Today, in days since 1970: for what goes first, and for nothing else.
pub(super) fn today() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() / 86_400) as u32
}

impl Store {
    /// Opens or begins the store of a profile in a folder. `limit` is what it may take, in bytes.
    pub(super) fn open(
        profile: &Profile,
        folder: &Path,
        limit: u64,
        today: u32,
    ) -> io::Result<Self> {
        let path = folder.join(format!("{}.vectors", profile.key()));
        let mut store = Self {
            dimensions: profile.dimensions,
            path,
            header: header(profile),
            entries: BTreeMap::new(),
            memory: BTreeMap::new(),
            reader: None,
            writer: None,
            today,
            used: Vec::new(),
        };
        let Some(lock) = lock(folder, &store.path)? else {
            // Another process writes, or nobody may. What cannot be read is not there.
            store.read_only();
            return Ok(store);
        };
        if !store.has_header() {
            begin(&store.path, &store.header)?;
            let _ = fs::remove_file(store.keys_path());
        }
        store.open_to_write(lock)?;
        let size = store.size();
        if size > limit && store.shrink(limit / 4 * 3).is_ok() {
            let lock = store.writer.take().expect("opened above")._lock;
            store.open_to_write(lock)?;
        }
        make_room(folder, &store.path, limit.saturating_mul(2));
        Ok(store)
    }

    /// How many vectors are known.
    pub(super) fn len(&self) -> usize {
        self.entries.len() + self.memory.len()
    }

    /// Whether new vectors outlive the process.
    pub(super) fn writes(&self) -> bool {
        self.writer.is_some()
    }

    /// The vector of a text, if it is here and sound.
    pub(super) fn get(&mut self, digest: &Digest) -> Option<Vec<f32>> {
        if let Some(row) = self.memory.get(digest) {
            return Some(row.clone());
        }
        let entry = *self.entries.get(digest)?;
        let Some(row) = self.read(entry.record).filter(|(found, _)| found == digest) else {
            self.entries.remove(digest);
            return None;
        };
        if entry.day != self.today && self.writer.is_some() {
            let entry = Entry { day: self.today, ..entry };
            self.entries.insert(*digest, entry);
            self.used.extend_from_slice(&line(digest, entry));
        }
        Some(row.1)
    }

    /// Keeps vectors.
    pub(super) fn append<'a>(
        &mut self,
        rows: impl Iterator<Item = (Digest, &'a [f32])>,
    ) -> io::Result<()> {
        let Some(writer) = &mut self.writer else {
            self.memory.extend(rows.map(|(digest, row)| (digest, row.to_vec())));
            return Ok(());
        };
        let (mut records, mut keys, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for (digest, row) in rows {
            let entry = Entry { record: writer.records + new.len() as u32, day: self.today };
            let start = records.len();
            records.extend_from_slice(&digest);
            row.iter().for_each(|value| records.extend_from_slice(&value.to_le_bytes()));
            let checksum = xxh3_64(&records[start..]);
            records.extend_from_slice(&checksum.to_le_bytes());
            keys.extend_from_slice(&line(&digest, entry));
            new.push((digest, entry));
        }
        // Keys come last: a record without one is found again, a key without a record says nothing.
        writer.vectors.write_all(&records)?;
        writer.keys.write_all(&keys)?;
        writer.records += new.len() as u32;
        self.entries.extend(new);
        Ok(())
    }

    /// Writes down what was used.
    pub(super) fn flush(&mut self) {
        let used = std::mem::take(&mut self.used);
        if let Some(writer) = self.writer.as_mut().filter(|_| !used.is_empty()) {
            // What is not written down goes a little earlier.
            let _ = writer.keys.write_all(&used);
        }
    }

    fn keys_path(&self) -> PathBuf {
        self.path.with_extension("keys")
    }

    /// Length of a record.
    fn record(&self) -> usize {
        DIGEST + 4 * self.dimensions + CHECKSUM
    }

    fn size(&self) -> u64 {
        let length = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        length(&self.path) + length(&self.keys_path())
    }

    /// Does the file begin as one of this profile does?
    fn has_header(&self) -> bool {
        let mut found = vec![0; self.header.len()];
        let read = File::open(&self.path).and_then(|mut file| file.read_exact(&mut found));
        read.is_ok() && found == self.header
    }

    /// Whole records of the file.
    fn whole(&self, length: u64) -> u32 {
        let records = length.saturating_sub(self.header.len() as u64) / self.record() as u64;
        records.try_into().unwrap_or(u32::MAX)
    }

    fn read_only(&mut self) {
        if !self.has_header() {
            return;
        }
        let Ok(file) = File::open(&self.path) else { return };
        let whole = file.metadata().map_or(0, |found| self.whole(found.len()));
        self.reader = Some(file);
        if self.read_keys(whole).is_none() {
            self.find_keys(&vec![false; whole as usize]);
        }
    }

    fn open_to_write(&mut self, lock: File) -> io::Result<()> {
        let mut vectors = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let records = self.whole(vectors.metadata()?.len());
        // A torn last record was being written.
        let end = self.header.len() as u64 + u64::from(records) * self.record() as u64;
        vectors.set_len(end)?;
        vectors.seek(SeekFrom::Start(end))?;
        self.reader = Some(File::open(&self.path)?);
        self.entries.clear();
        let read = self.read_keys(records);
        let (lines, seen) = read.unwrap_or_else(|| (0, vec![false; records as usize]));
        let found = self.find_keys(&seen);
        // Anew where there were none, or most lines say what later ones say again.
        if found > 0 || lines == 0 || lines > 2 * self.entries.len() + 1024 {
            self.write_keys()?;
        }
        let keys = OpenOptions::new().append(true).open(self.keys_path())?;
        self.writer = Some(Writer { vectors, keys, records, _lock: lock });
        Ok(())
    }

    /// Takes in the lines of keys for so many records, and says how many lines there were and which
    /// records they name; `None` if they are of another profile.
    fn read_keys(&mut self, records: u32) -> Option<(usize, Vec<bool>)> {
        let bytes = fs::read(self.keys_path()).ok()?;
        let lines = bytes.strip_prefix(&self.keys_header()[..])?;
        let mut seen = vec![false; records as usize];
        for line in lines.chunks_exact(KEY) {
            let (body, checksum) = line.split_at(KEY - CHECKSUM);
            let (digest, rest) = body.split_at(DIGEST);
            let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four"));
            let entry = Entry { record: number(0), day: number(4) };
            if xxh3_64(body).to_le_bytes() == checksum && entry.record < records {
                seen[entry.record as usize] = true;
                self.entries.insert(digest.try_into().expect("split there"), entry);
            }
        }
        // Half a line would put all that follow out of place.
        let whole = lines.len().is_multiple_of(KEY);
        Some((if whole { lines.len() / KEY } else { 0 }, seen))
    }

    /// Finds the keys of records that no line names, in the records themselves.
    fn find_keys(&mut self, seen: &[bool]) -> usize {
        let mut found = 0;
        for record in (0..seen.len()).filter(|&at| !seen[at]) {
            let record = record as u32;
            if let Some((digest, _)) = self.read(record) {
                self.entries.insert(digest, Entry { record, day: self.today });
                found += 1;
            }
        }
        found
    }

    fn keys_header(&self) -> Vec<u8> {
        [&KEYS_MAGIC[..], &xxh3_64(&self.header).to_le_bytes()].concat()
    }

    fn write_keys(&self) -> io::Result<()> {
        let beside = self.path.with_extension("keys.new");
        let mut bytes = self.keys_header();
        self.entries.iter().for_each(|(digest, entry)| bytes.extend(line(digest, *entry)));
        fs::write(&beside, bytes)?;
        fs::rename(&beside, self.keys_path())
    }

    /// A record, if it is sound.
    fn read(&self, record: u32) -> Option<(Digest, Vec<f32>)> {
        let size = self.record();
        let mut bytes = vec![0; size];
        let mut file = self.reader.as_ref()?;
        let start = self.header.len() as u64 + u64::from(record) * size as u64;
        file.seek(SeekFrom::Start(start)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        sound(&bytes)
    }

    /// Copies what was used last, in so many bytes; then the copy takes the file's place.
    fn shrink(&mut self, bytes: u64) -> io::Result<()> {
        let each = (self.record() + KEY) as u64;
        let mut kept: Vec<Entry> = self.entries.values().copied().collect();
        kept.sort_by_key(|entry| std::cmp::Reverse((entry.day, entry.record)));
        kept.truncate((bytes / each) as usize);
        let days: BTreeMap<u32, u32> = kept.iter().map(|entry| (entry.record, entry.day)).collect();
        let beside = self.path.with_extension("vectors.new");
        let mut copy = BufWriter::new(File::create(&beside)?);
        copy.write_all(&self.header)?;
        let mut from = BufReader::new(File::open(&self.path)?);
        from.seek(SeekFrom::Start(self.header.len() as u64))?;
        let mut record = vec![0; self.record()];
        let mut entries = BTreeMap::new();
        let all = self.writer.as_ref().map_or(0, |writer| writer.records);
        for at in 0..all {
            from.read_exact(&mut record)?;
            if let (Some(&day), Some((digest, _))) = (days.get(&at), sound(&record)) {
                entries.insert(digest, Entry { record: entries.len() as u32, day });
                copy.write_all(&record)?;
            }
        }
        copy.into_inner()?.sync_all()?;
        // Without keys they are made again; with keys of other records nothing would be found.
        fs::remove_file(self.keys_path())?;
        fs::rename(&beside, &self.path)?;
        self.entries = entries;
        self.write_keys()
    }
}

/// Digest and vector of a record, if its checksum says so.
fn sound(record: &[u8]) -> Option<(Digest, Vec<f32>)> {
    let (body, checksum) = record.split_at(record.len() - CHECKSUM);
    if xxh3_64(body).to_le_bytes() != checksum {
        return None;
    }
    let (digest, values) = body.split_at(DIGEST);
    let values = values.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    Some((digest.try_into().expect("split there"), values.collect()))
}

fn line(digest: &Digest, entry: Entry) -> [u8; KEY] {
    let mut line = [0; KEY];
    line[..DIGEST].copy_from_slice(digest);
    line[DIGEST..DIGEST + 4].copy_from_slice(&entry.record.to_le_bytes());
    line[DIGEST + 4..DIGEST + 8].copy_from_slice(&entry.day.to_le_bytes());
    let checksum = xxh3_64(&line[..KEY - CHECKSUM]);
    line[KEY - CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    line
}

/// The right to write, if nobody else has it and there is a place to write to.
fn lock(folder: &Path, path: &Path) -> io::Result<Option<File>> {
    let file = fs::create_dir_all(folder).and_then(|()| {
        let file = path.with_extension("vectors.lock");
        OpenOptions::new().create(true).truncate(false).write(true).open(file)
    });
    let file = match file {
        Ok(file) => file,
        Err(error) if is_read_only(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// What a file of this profile begins with: any other profile begins differently.
fn header(profile: &Profile) -> Vec<u8> {
    let profile = serde_json::to_vec(profile).expect("plain data");
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&(profile.len() as u64).to_le_bytes());
    header.extend_from_slice(&profile);
    header.extend_from_slice(&xxh3_64(&profile).to_le_bytes());
    header
}

/// A file that holds the header appears whole or not at all.
fn begin(path: &Path, header: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("vectors.new");
    fs::write(&beside, header)?;
    fs::rename(&beside, path)
}

/// Removes the vectors of other profiles, those first that were not used for longest, until all of the
/// folder takes no more than `most` bytes. What cannot be removed stays.
fn make_room(folder: &Path, own: &Path, most: u64) {
    let mut all = 0;
    let mut others = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Ok(found) = fs::metadata(&path) else { continue };
        all += found.len();
        if path.extension().is_some_and(|ending| ending == "vectors") && path != own {
            let keys = fs::metadata(path.with_extension("keys"));
            let size = found.len() + keys.as_ref().map_or(0, fs::Metadata::len);
            let used = keys.and_then(|keys| keys.modified()).or_else(|_| found.modified());
            others.push((used.unwrap_or(SystemTime::UNIX_EPOCH), path, size));
        }
    }
    others.sort();
    for (_, path, size) in others {
        if all <= most {
            return;
        }
        if let Ok(Some(_lock)) = lock(folder, &path) {
            let _ = fs::remove_file(path.with_extension("keys"));
            if fs::remove_file(&path).is_ok() {
                all -= size;
            }
        }
    }
}
