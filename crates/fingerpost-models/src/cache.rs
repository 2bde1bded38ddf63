//! How is no text embedded twice, even if the machine stops in between?
//!
//! What was embedded is kept in files ([`store`]), as much of it as is allowed and what was used last.

mod store;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use fingerpost::embedding::{EmbedError, Embedder, Profile, Role, Vectors};

use self::store::{Digest, Store, today};

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
    /// Bytes that the vectors of a profile may take, unless said otherwise: those of a hundred thousand
    /// texts, or more.
    pub const LIMIT: u64 = 512 << 20;

    /// Opens or begins the cache of this embedder's profile in a folder.
    pub fn open(inner: E, folder: &Path) -> Result<Self, EmbedError> {
        Self::open_within(inner, folder, Self::LIMIT)
    }

    /// The same, with another limit. It is kept when the cache is opened: what was used last stays, and
    /// what was embedded since then does too.
    pub fn open_within(inner: E, folder: &Path, limit: u64) -> Result<Self, EmbedError> {
        let profile = inner.profile();
        let store = Store::open(profile, folder, limit, today());
        let store = store.map_err(|error| EmbedError::Model {
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
        let writes = self.lock().writes();
        if writes { Keeps::OnDisk } else { Keeps::InMemory }
    }

    /// How many vectors are known.
    pub fn len(&self) -> usize {
        self.lock().len()
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

    fn fit(&self, document: &str, page: &str) -> String {
        self.inner.fit(document, page)
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vectors, EmbedError> {
        let dimensions = self.profile().dimensions;
        let mut values = vec![0.0; texts.len() * dimensions];
        // Which texts are missing, each with the rows it is wanted in.
        let mut missing: Vec<(Digest, Vec<usize>)> = Vec::new();
        {
            let mut store = self.lock();
            let mut places: BTreeMap<Digest, usize> = BTreeMap::new();
            for (at, (text, row)) in
                texts.iter().zip(values.chunks_exact_mut(dimensions)).enumerate()
            {
                let digest = digest(text, role);
                match (places.get(&digest), store.get(&digest)) {
                    (_, Some(found)) => row.copy_from_slice(&found),
                    (Some(&place), None) => missing[place].1.push(at),
                    (None, None) => {
                        places.insert(digest, missing.len());
                        missing.push((digest, vec![at]));
                    }
                }
            }
            store.flush();
        }
        let mut done = 0;
        for batch in missing.chunks(self.batch) {
            let wanted: Vec<&str> = batch.iter().map(|(_, rows)| texts[rows[0]]).collect();
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
            let rows = batch.iter().map(|(digest, _)| *digest).zip(vectors.rows());
            self.lock()
                .append(rows)
                .map_err(|error| self.failed(format!("cannot save its vectors: {error}")))?;
            for ((_, places), vector) in batch.iter().zip(vectors.rows()) {
                for place in places {
                    values[place * dimensions..][..dimensions].copy_from_slice(vector);
                }
            }
            done += batch.len();
            if let Some(progress) = &self.progress {
                progress(done, missing.len());
            }
        }
        Ok(Vectors::of_unit_rows(dimensions, values))
    }
}

fn digest(text: &str, role: Role) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(match role {
        Role::Document => b"d",
        Role::Query => b"q",
    });
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;
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

    /// Where the header of a file ends, and how long a record is.
    fn layout(folder: &Path, records: usize) -> (usize, usize) {
        let record = 32 + 4 * 2 + 8;
        (fs::read(file_in(folder)).unwrap().len() - records * record, record)
    }

    fn remembering(folder: &Path) -> Cached<Counting> {
        Cached::open(Counting::new("m"), folder).unwrap()
    }

    #[test]
    fn files_cut_anywhere_lose_only_what_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Counting::new("m").embed(&TEXTS, Role::Document).unwrap();
        remembering(folder.path()).embed(&TEXTS, Role::Document).unwrap();
        let file = file_in(folder.path());
        let keys = file.with_extension("keys");
        let (header, record) = layout(folder.path(), 4);
        let (whole, whole_keys) = (fs::read(&file).unwrap(), fs::read(&keys).unwrap());
        for cut in 0..whole.len() {
            fs::write(&file, &whole[..cut]).unwrap();
            fs::write(&keys, &whole_keys).unwrap();
            let cached = remembering(folder.path());
            assert_eq!(cached.len(), cut.saturating_sub(header) / record);
            assert_eq!(cached.embed(&TEXTS, Role::Document).unwrap(), plain);
            drop(cached);
            assert_eq!(fs::read(&file).unwrap(), whole, "cut at {cut}");
        }
        // Keys are only a help: without them nothing is embedded again.
        for cut in 0..whole_keys.len() {
            fs::write(&keys, &whole_keys[..cut]).unwrap();
            for _ in 0..2 {
                let cached = remembering(folder.path());
                assert_eq!(cached.embed(&TEXTS, Role::Document).unwrap(), plain);
                assert_eq!(cached.inner.asked.load(Ordering::Relaxed), 0, "keys cut at {cut}");
            }
        }
    }

    #[test]
    fn a_flipped_bit_costs_one_text_and_heals() {
        let folder = tempfile::tempdir().unwrap();
        let plain = remembering(folder.path()).embed(&TEXTS, Role::Document).unwrap();
        let file = file_in(folder.path());
        let keys = file.with_extension("keys");
        let (header, _) = layout(folder.path(), 4);
        let (whole, whole_keys) = (fs::read(&file).unwrap(), fs::read(&keys).unwrap());
        for (path, good) in [(&file, &whole), (&keys, &whole_keys)] {
            for at in (0..good.len()).step_by(5) {
                fs::write(&file, &whole).unwrap();
                fs::write(&keys, &whole_keys).unwrap();
                let mut bad = good.clone();
                bad[at] ^= 1;
                fs::write(path, bad).unwrap();
                let cached = remembering(folder.path());
                assert_eq!(cached.embed(&TEXTS, Role::Document).unwrap(), plain);
                let asked = cached.inner.asked.load(Ordering::Relaxed);
                let most = if path == &keys {
                    0
                } else if at < header {
                    4
                } else {
                    1
                };
                assert!(asked <= most, "{asked} texts after damage at {at}");
                drop(cached);
                let cached = remembering(folder.path());
                assert_eq!(cached.embed(&TEXTS, Role::Document).unwrap(), plain);
                assert_eq!(cached.inner.asked.load(Ordering::Relaxed), 0, "healed");
            }
        }
    }

    #[test]
    fn what_was_used_last_stays_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let profile = Counting::new("m").profile;
        let open = |limit, day| Store::open(&profile, folder.path(), limit, day).unwrap();
        let digest = |n: usize| digest(&n.to_string(), Role::Document);
        let mut store = open(u64::MAX, 1);
        let vector = |n: usize| [n as f32, 1.0];
        let vectors: Vec<[f32; 2]> = (0..1000).map(vector).collect();
        store.append((0..1000).map(digest).zip(vectors.iter().map(|row| &row[..]))).unwrap();
        drop(store);
        // The first hundred are used again, on another day.
        let mut store = open(u64::MAX, 2);
        (0..100).for_each(|n| assert_eq!(store.get(&digest(n)), Some(vector(n).to_vec())));
        store.flush();
        drop(store);
        let limit = 20_000;
        let mut store = open(limit, 3);
        assert!((100..210).contains(&store.len()), "{}", store.len());
        (0..100).for_each(|n| assert_eq!(store.get(&digest(n)), Some(vector(n).to_vec())));
        assert_eq!(
            (store.get(&digest(999)), store.get(&digest(100))),
            (Some(vector(999).to_vec()), None)
        );
        drop(store);
        let size = |path: &Path| fs::metadata(path).unwrap().len();
        let file = file_in(folder.path());
        assert!(size(&file) + size(&file.with_extension("keys")) < limit);
        assert!(open(limit, 3).len() >= 100, "and opens again");
    }

    #[test]
    fn models_that_nobody_uses_give_way() {
        let folder = tempfile::tempdir().unwrap();
        for (name, count) in [("old", 200), ("new", 90)] {
            let cached = Cached::open(Counting::new(name), folder.path()).unwrap();
            let texts: Vec<String> = (0..count).map(|n| format!("{name} {n}")).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            cached.embed(&texts, Role::Document).unwrap();
        }
        let files = || {
            let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            names.filter(|path| path.extension().is_some_and(|e| e == "vectors")).count()
        };
        drop(Cached::open_within(Counting::new("new"), folder.path(), 1 << 20).unwrap());
        assert_eq!(files(), 2, "there is room for both");
        let cached = Cached::open_within(Counting::new("new"), folder.path(), 9_900).unwrap();
        assert_eq!((files(), cached.len()), (1, 90));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_cannot_be_written_is_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("embedded");
        let plain = remembering(&inside).embed(&TEXTS, Role::Document).unwrap();
        let all = |mode| {
            for entry in fs::read_dir(&inside).unwrap() {
                let path = entry.unwrap().path();
                fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o666)).unwrap();
            }
            fs::set_permissions(&inside, fs::Permissions::from_mode(mode)).unwrap();
        };
        all(0o555);
        let probe = fs::write(inside.join("probe"), "");
        let cached = remembering(&inside);
        assert_eq!(cached.embed(&TEXTS, Role::Document).unwrap(), plain);
        assert_eq!(cached.inner.asked.load(Ordering::Relaxed), 0);
        // Root writes wherever it wants.
        let expected = if probe.is_ok() { Keeps::OnDisk } else { Keeps::InMemory };
        assert_eq!(cached.keeps(), expected);
        all(0o755);
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
        // Even under the wrong name, a file does not pass for another profile's: it is begun anew.
        drop((one, other));
        let path = file_in(folder.path());
        fs::write(&path, b"FPVEC\0\0\x01 something else").unwrap();
        let mut other = Counting::new("m");
        other.profile.max_tokens = 10;
        let lengths = [Counting::new("m"), other]
            .map(|embedder| Cached::open(embedder, folder.path()).unwrap().len());
        assert!(lengths.contains(&0), "{lengths:?}");
    }
}
