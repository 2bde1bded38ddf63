//! How is no text embedded twice, even if the machine stops in between?
//!
//! One file a profile, which only grows: a header with the whole profile, then records of one
//! size: digest of the text, vector, checksum. A torn last record has the wrong length or
//! checksum and is left out; the writer cuts it off. One process writes, any number read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use fingerpost::embedding::{EmbedError, Embedder, Profile, Role, Vectors};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"FPVEC\0\0\x01";
const DIGEST: usize = 32;
const CHECKSUM: usize = 8;

/// Texts embedded between two savings, by default: a kill loses at most these.
const BATCH: usize = 64;

/// An embedder that remembers.
pub struct Cached<E> {
    inner: E,
    store: Mutex<Store>,
    batch: usize,
    progress: Option<Box<Progress>>,
}

type Progress = dyn Fn(usize, usize) + Send + Sync;

/// Whether new vectors outlive the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// This process writes the file.
    OnDisk,
    /// Another process is writing it: what is there is used, what is new is only kept in memory.
    InMemory,
}

impl<E: Embedder> Cached<E> {
    /// Opens or begins the cache of this embedder's profile in a folder.
    pub fn open(inner: E, folder: &Path) -> Result<Self, EmbedError> {
        let profile = inner.profile();
        let store = Store::open(profile, folder).map_err(|error| EmbedError::Model {
            model: profile.name.clone(),
            message: format!("its vectors in {}: {error}", folder.display()),
        })?;
        Ok(Self { inner, store: Mutex::new(store), batch: BATCH, progress: None })
    }

    /// Saves after so many texts.
    #[must_use]
    pub fn batch(mut self, texts: usize) -> Self {
        self.batch = texts.max(1);
        self
    }

    /// Hears how many of how many missing texts are done.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Whether new vectors outlive the process.
    pub fn keeps(&self) -> Keeps {
        let writes = self.lock().writer.is_some();
        if writes { Keeps::OnDisk } else { Keeps::InMemory }
    }

    /// How many vectors are known.
    pub fn len(&self) -> usize {
        self.lock().rows.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Store> {
        self.store.lock().expect("nothing panics while holding the store")
    }

    fn failed(&self, message: String) -> EmbedError {
        EmbedError::Model { model: self.inner.profile().name.clone(), message }
    }
}

impl<E: Embedder> Embedder for Cached<E> {
    fn profile(&self) -> &Profile {
        self.inner.profile()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        let dimensions = self.profile().dimensions;
        let digests: Vec<[u8; DIGEST]> = texts.iter().map(|text| digest(text, role)).collect();
        let missing: Vec<usize> = {
            let store = self.lock();
            let mut seen = BTreeSet::new();
            let missing = (0..texts.len())
                .filter(|&at| !store.rows.contains_key(&digests[at]) && seen.insert(digests[at]));
            missing.collect()
        };
        let mut done = 0;
        for batch in missing.chunks(self.batch) {
            let wanted: Vec<&str> = batch.iter().map(|&at| texts[at]).collect();
            let vectors = self.inner.embed(&wanted, role)?;
            if vectors.dimensions() != dimensions || vectors.len() != batch.len() {
                let message = format!(
                    "gave {} vectors of length {} for {} texts; its profile says length {dimensions}",
                    vectors.len(),
                    vectors.dimensions(),
                    batch.len()
                );
                return Err(self.failed(message));
            }
            let rows = batch.iter().map(|&at| digests[at]).zip(vectors.rows());
            self.lock()
                .append(rows)
                .map_err(|error| self.failed(format!("cannot save its vectors: {error}")))?;
            done += batch.len();
            if let Some(progress) = &self.progress {
                progress(done, missing.len());
            }
        }
        let store = self.lock();
        let mut values = Vec::with_capacity(texts.len() * dimensions);
        for digest in &digests {
            values.extend_from_slice(store.row(digest).expect("embedded above"));
        }
        Ok(Vectors::of_unit_rows(dimensions, values))
    }
}

fn digest(text: &str, role: Role) -> [u8; DIGEST] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(match role {
        Role::Document => b"d",
        Role::Query => b"q",
    });
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

struct Store {
    dimensions: usize,
    /// Which row of `values` belongs to a digest.
    rows: BTreeMap<[u8; DIGEST], usize>,
    values: Vec<f32>,
    writer: Option<Writer>,
}

struct Writer {
    file: File,
    /// Held while this process writes.
    _lock: File,
}

impl Store {
    fn open(profile: &Profile, folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.vectors", profile.key()));
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.with_extension("vectors.lock"))?;
        let lock = match lock.try_lock() {
            Ok(()) => Some(lock),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(error)) => return Err(error),
        };
        let header = header(profile);
        if lock.is_some() && !path.exists() {
            begin(&path, &header)?;
        }
        let dimensions = profile.dimensions;
        let mut store =
            Self { dimensions, rows: BTreeMap::new(), values: Vec::new(), writer: None };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            // The other process has not begun yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(store),
            Err(error) => return Err(error),
        };
        let Some(records) = bytes.strip_prefix(&header[..]) else {
            let name = path.display();
            return Err(io::Error::other(format!(
                "{name} is damaged or of another version; remove it"
            )));
        };
        let whole = store.read(records);
        if let Some(lock) = lock {
            let mut file = OpenOptions::new().write(true).open(&path)?;
            let end = (header.len() + whole * store.record()) as u64;
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            store.writer = Some(Writer { file, _lock: lock });
        }
        Ok(store)
    }

    /// Length of a record.
    fn record(&self) -> usize {
        DIGEST + 4 * self.dimensions + CHECKSUM
    }

    /// Takes in whole records and returns how many there are, damaged ones in the middle counted:
    /// those are embedded again, and the last record of a text counts.
    fn read(&mut self, records: &[u8]) -> usize {
        let size = self.record();
        let whole = records.len() / size;
        let mut last_good = 0;
        for (at, record) in records.chunks_exact(size).enumerate() {
            let (body, checksum) = record.split_at(size - CHECKSUM);
            if xxh3_64(body).to_le_bytes() != checksum {
                continue;
            }
            last_good = at + 1;
            let (digest, values) = body.split_at(DIGEST);
            let row = self.values.len() / self.dimensions;
            let values = values.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            self.values.extend(values);
            self.rows.insert(digest.try_into().expect("split there"), row);
        }
        // A bad last record is one that was being written; damage before it is kept in place.
        whole.min(last_good)
    }

    fn row(&self, digest: &[u8; DIGEST]) -> Option<&[f32]> {
        let row = *self.rows.get(digest)?;
        self.values.get(row * self.dimensions..(row + 1) * self.dimensions)
    }

    fn append<'a>(
        &mut self,
        rows: impl Iterator<Item = ([u8; DIGEST], &'a [f32])>,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (digest, row) in rows {
            let start = bytes.len();
            bytes.extend_from_slice(&digest);
            row.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            let checksum = xxh3_64(&bytes[start..]);
            bytes.extend_from_slice(&checksum.to_le_bytes());
            self.rows.insert(digest, self.values.len() / self.dimensions);
            self.values.extend_from_slice(row);
        }
        match &mut self.writer {
            Some(writer) => writer.file.write_all(&bytes),
            None => Ok(()),
        }
    }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use fingerpost::embedding::Pooling;

    use super::*;

    /// A text's vector is its length and its first byte; counts how many it was asked for.
    struct Counting {
        profile: Profile,
        asked: AtomicUsize,
        fails_at: usize,
    }

    impl Counting {
        fn new(name: &str) -> Self {
            let profile = Profile {
                name: name.into(),
                engine: "test".into(),
                weights: "w".into(),
                dimensions: 2,
                max_tokens: 9,
                pooling: Pooling::Mean,
                query_prefix: String::new(),
                document_prefix: String::new(),
            };
            Self { profile, asked: AtomicUsize::new(0), fails_at: usize::MAX }
        }
    }

    impl Embedder for Counting {
        fn profile(&self) -> &Profile {
            &self.profile
        }

        fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
            if self.asked.fetch_add(texts.len(), Ordering::Relaxed) + texts.len() > self.fails_at {
                return Err(EmbedError::Model { model: "m".into(), message: "stopped".into() });
            }
            let sign = if role == Role::Query { -1.0 } else { 1.0 };
            let row = |text: &&str| [text.len() as f32, sign * f32::from(text.as_bytes()[0])];
            Ok(Vectors::new(2, texts.iter().flat_map(row).collect()))
        }
    }

    fn file_in(folder: &Path) -> std::path::PathBuf {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|e| e == "vectors")).unwrap()
    }

    const TEXTS: [&str; 5] = ["one", "three", "one", "eleven", "xx"];

    #[test]
    fn nothing_is_embedded_twice() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Counting::new("m").embed(&TEXTS, Role::Document).unwrap();
        let first = Cached::open(Counting::new("m"), folder.path()).unwrap();
        assert_eq!(first.embed(&TEXTS, Role::Document).unwrap(), plain);
        assert_eq!(first.inner.asked.load(Ordering::Relaxed), 4, "one text comes twice");
        drop(first);
        let again = Cached::open(Counting::new("m"), folder.path()).unwrap();
        assert_eq!(again.embed(&TEXTS, Role::Document).unwrap(), plain);
        assert_eq!(again.inner.asked.load(Ordering::Relaxed), 0);
        let queries = again.embed(&["one"], Role::Query).unwrap();
        assert!(queries.row(0)[1] < 0.0, "a request is another text than a document");
    }

    #[test]
    fn a_failure_keeps_what_was_done_and_progress_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let failing = Counting { fails_at: 2, ..Counting::new("m") };
        let cached = Cached::open(failing, folder.path()).unwrap().batch(1);
        assert!(cached.embed(&TEXTS, Role::Document).is_err());
        drop(cached);
        let told = std::sync::Arc::new(Mutex::new(Vec::new()));
        let listener = std::sync::Arc::clone(&told);
        let cached = Cached::open(Counting::new("m"), folder.path()).unwrap().batch(1);
        let cached = cached.progress(move |done, all| listener.lock().unwrap().push((done, all)));
        cached.embed(&TEXTS, Role::Document).unwrap();
        assert_eq!(*told.lock().unwrap(), [(1, 2), (2, 2)]);
    }

    #[test]
    fn a_file_cut_anywhere_loses_only_what_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Counting::new("m").embed(&TEXTS, Role::Document).unwrap();
        let whole = {
            let cached = Cached::open(Counting::new("m"), folder.path()).unwrap();
            cached.embed(&TEXTS, Role::Document).unwrap();
            fs::read(file_in(folder.path())).unwrap()
        };
        let file = file_in(folder.path());
        let header = header(&Counting::new("m").profile).len();
        let record = (whole.len() - header) / 4;
        for cut in header..whole.len() {
            fs::write(&file, &whole[..cut]).unwrap();
            let cached = Cached::open(Counting::new("m"), folder.path()).unwrap();
            assert_eq!(cached.len(), (cut - header) / record);
            assert_eq!(cached.embed(&TEXTS, Role::Document).unwrap(), plain);
            drop(cached);
            assert_eq!(fs::read(&file).unwrap(), whole, "cut at {cut}");
        }
    }

    #[test]
    fn damage_in_the_middle_is_embedded_again() {
        let folder = tempfile::tempdir().unwrap();
        let cached = Cached::open(Counting::new("m"), folder.path()).unwrap();
        let plain = cached.embed(&TEXTS, Role::Document).unwrap();
        drop(cached);
        let file = file_in(folder.path());
        let mut bytes = fs::read(&file).unwrap();
        let middle = header(&Counting::new("m").profile).len() + 50;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).unwrap();
        let cached = Cached::open(Counting::new("m"), folder.path()).unwrap();
        assert_eq!(cached.embed(&TEXTS, Role::Document).unwrap(), plain);
        assert_eq!(cached.inner.asked.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn one_writes_and_others_read() {
        let folder = tempfile::tempdir().unwrap();
        let writer = Cached::open(Counting::new("m"), folder.path()).unwrap();
        writer.embed(&["one"], Role::Document).unwrap();
        let reader = Cached::open(Counting::new("m"), folder.path()).unwrap();
        assert_eq!((writer.keeps(), reader.keeps()), (Keeps::OnDisk, Keeps::InMemory));
        reader.embed(&["one", "two"], Role::Document).unwrap();
        assert_eq!(reader.inner.asked.load(Ordering::Relaxed), 1);
        writer.embed(&["three"], Role::Document).unwrap();
        drop((reader, writer));
        assert_eq!(Cached::open(Counting::new("m"), folder.path()).unwrap().len(), 2);
    }

    #[test]
    fn another_profile_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let one = Cached::open(Counting::new("m"), folder.path()).unwrap();
        one.embed(&TEXTS, Role::Document).unwrap();
        let mut other = Counting::new("m");
        other.profile.max_tokens = 10;
        let other = Cached::open(other, folder.path()).unwrap();
        assert!(other.is_empty());
        // Even under the wrong name, a file does not pass for another profile's.
        drop(other);
        let path = file_in(folder.path());
        fs::write(&path, b"FPVEC\0\0\x01 something else").unwrap();
        drop(one);
        let opened = [Counting::new("m"), {
            let mut other = Counting::new("m");
            other.profile.max_tokens = 10;
            other
        }]
        .map(|embedder| Cached::open(embedder, folder.path()).is_err());
        assert!(opened.contains(&true));
    }
}
