//! An atlas in memory: for tests, experiments, and libraries that nobody may write beside.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::{Blob, Claim, Log, Record, Records, Store, StoreError, Version};

/// A store that ends with its process.
#[derive(Debug, Default)]
pub struct Memory {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug, Default)]
struct Inside {
    head: Option<Vec<u8>>,
    blobs: BTreeMap<String, Blob>,
    /// Until when each piece of work is claimed, and the number of the claim.
    claims: BTreeMap<String, (Instant, u64)>,
    claimed: u64,
    logs: BTreeMap<Log, Vec<Record>>,
    appended: u64,
}

impl Memory {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }
}

fn lock(inside: &Mutex<Inside>) -> MutexGuard<'_, Inside> {
    inside.lock().expect("nothing panics while holding it")
}

impl Store for Memory {
    fn name(&self) -> String {
        "memory".into()
    }

    fn head(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.inside().head.clone())
    }

    fn commit(&self, before: Version, head: &[u8]) -> Result<(), StoreError> {
        let mut inside = self.inside();
        if Version::of(inside.head.as_deref()) != before {
            return Err(StoreError::Overtaken { store: self.name() });
        }
        inside.head = Some(head.to_vec());
        Ok(())
    }

    fn get(&self, blob: &str) -> Result<Option<Blob>, StoreError> {
        Ok(self.inside().blobs.get(blob).cloned())
    }

    fn put(&self, blob: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.inside().blobs.insert(blob.to_owned(), Blob::of(bytes));
        Ok(())
    }

    fn blobs(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.inside().blobs.keys().cloned().collect())
    }

    fn remove(&self, blob: &str) -> Result<(), StoreError> {
        self.inside().blobs.remove(blob);
        Ok(())
    }

    fn claim(&self, work: &str, lease: Duration) -> Result<Claim, StoreError> {
        let mut inside = self.inside();
        let now = Instant::now();
        if inside.claims.get(work).is_some_and(|(until, _)| *until > now) {
            let (work, store) = (work.to_owned(), self.name());
            return Err(StoreError::Claimed { work, store, by: None });
        }
        inside.claimed += 1;
        let number = inside.claimed;
        inside.claims.insert(work.to_owned(), (now + lease, number));
        let (work, inside) = (work.to_owned(), Arc::clone(&self.inside));
        Ok(Claim::new(Held { work, number, inside }))
    }

    fn append(&self, log: Log, records: &[Vec<u8>]) -> Result<(), StoreError> {
        let mut inside = self.inside();
        for bytes in records {
            inside.appended += 1;
            let number = inside.appended;
            inside.logs.entry(log).or_default().push(Record { number, bytes: bytes.clone() });
        }
        Ok(())
    }

    fn records(&self, log: Log, from: u64) -> Result<Records, StoreError> {
        let inside = self.inside();
        let records = inside.logs.get(&log).into_iter().flatten();
        let records = records.filter(|record| record.number >= from).cloned().collect();
        Ok(Records { records, damaged: Vec::new() })
    }

    fn rewrite(
        &self,
        log: Log,
        keep: &mut dyn FnMut(&Record) -> bool,
    ) -> Result<usize, StoreError> {
        let mut inside = self.inside();
        // A number of its own, so that the mark changes too.
        inside.appended += 1;
        let records = inside.logs.entry(log).or_default();
        let before = records.len();
        records.retain(|record| keep(record));
        Ok(before - records.len())
    }

    fn mark(&self, log: Log) -> Result<u64, StoreError> {
        let inside = self.inside();
        let last = inside.logs.get(&log).and_then(|records| records.last());
        let count = inside.logs.get(&log).map_or(0, |records| records.len() as u64);
        Ok(last.map_or(0, |record| record.number) << 20 | count)
    }
}

/// Gives a claim back, unless its lease ran out and somebody else has it.
struct Held {
    work: String,
    number: u64,
    inside: Arc<Mutex<Inside>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut inside = lock(&self.inside);
        if inside.claims.get(&self.work).is_some_and(|(_, number)| *number == self.number) {
            inside.claims.remove(&self.work);
        }
    }
}
