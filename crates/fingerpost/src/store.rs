//! What keeps an atlas?
//!
//! One seam between the facade ([`crate::atlas::Atlas`]) and the outside: a folder, memory, or a
//! database in a crate of its own. A store knows nothing of skills. It keeps three kinds of things:
//!
//! - a **head**, replaced as a whole and only by whoever has seen the one before it;
//! - **blobs**, named by what they were made from and never changed: all of them can be made again;
//! - **logs**, to which records are only appended: what a person or money made.
//!
//! Readers need `head`, `get` and `mark` alone, and none of these writes.

mod folder;
mod log;
mod memory;
pub mod old;
pub mod place;

use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub use self::folder::Folder;
pub use self::memory::Memory;

/// What keeps an atlas. All methods may be called from any thread.
pub trait Store: Send + Sync {
    /// Where it is, for people.
    fn name(&self) -> String;

    /// The head that counts now, if there is one.
    fn head(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Puts a head in the place of the one whose version is `before`; [`StoreError::Overtaken`] if
    /// another one stands there by now.
    fn commit(&self, before: Version, head: &[u8]) -> Result<(), StoreError>;

    /// The bytes of a blob, if it is there.
    fn get(&self, blob: &str) -> Result<Option<Blob>, StoreError>;

    /// Keeps a blob; whoever looks sees all of it or none.
    fn put(&self, blob: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// The names of all blobs, in order.
    fn blobs(&self) -> Result<Vec<String>, StoreError>;

    /// Drops a blob. Whoever has it open keeps it until done.
    fn remove(&self, blob: &str) -> Result<(), StoreError>;

    /// The right to do some work alone, until the claim is dropped, its holder dies, or the lease
    /// runs out; [`StoreError::Claimed`] if somebody has it.
    fn claim(&self, work: &str, lease: Duration) -> Result<Claim, StoreError>;

    /// Adds records to the end of a log. They are safe when this returns.
    fn append(&self, log: Log, records: &[Vec<u8>]) -> Result<(), StoreError>;

    /// The records of a log from the one of this number on, and what was found damaged.
    fn records(&self, log: Log, from: u64) -> Result<Records, StoreError>;

    /// Drops the records that `keep` says no to; only for commands whose purpose that is. Says how
    /// many went.
    fn rewrite(&self, log: Log, keep: &mut dyn FnMut(&Record) -> bool)
    -> Result<usize, StoreError>;

    /// A number that changes whenever a log does.
    fn mark(&self, log: Log) -> Result<u64, StoreError>;
}

/// What is kept for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Log {
    /// Pages that a person wrote, approved or brought, and those that a model was paid for.
    Pages,
    /// Every call of a model: what was asked, what it answered, what it cost.
    Ledger,
}

impl Log {
    /// All of them.
    pub const ALL: [Log; 2] = [Log::Pages, Log::Ledger];

    /// Its name, where a store needs one.
    pub fn name(self) -> &'static str {
        match self {
            Log::Pages => "pages",
            Log::Ledger => "ledger",
        }
    }
}

/// A record of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number: they ascend, and none is used twice.
    pub number: u64,
    /// What was appended.
    pub bytes: Vec<u8>,
}

/// Records as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Records {
    /// In the order in which they were appended.
    pub records: Vec<Record>,
    /// What could not be read, each with its place; empty where all is well.
    pub damaged: Vec<String>,
}

/// Which head a commit takes the place of: a digest of its bytes, `None` where there was none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(Option<[u8; 32]>);

impl Version {
    /// The version of these bytes.
    pub fn of(head: Option<&[u8]>) -> Self {
        Self(head.map(|bytes| *blake3::hash(bytes).as_bytes()))
    }

    /// Its digest, for stores that compare where they keep it; `None` where there was no head.
    pub fn digest(&self) -> Option<&[u8; 32]> {
        self.0.as_ref()
    }
}

/// The right to do some work alone; given back when dropped.
pub struct Claim {
    _held: Box<dyn Send + Sync>,
}

impl Claim {
    /// Whatever gives the right back when it is dropped.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Claim")
    }
}

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system failed.
    #[error("cannot {action} {subject}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// On what, in words.
        subject: String,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else does this work now.
    #[error("{work} of {store} is under way{}", by.as_ref().map_or(String::new(), |by| format!(" ({by})")))]
    Claimed {
        /// Which work.
        work: String,
        /// Where.
        store: String,
        /// By whom, if that is known.
        by: Option<String>,
    },
    /// Another head was committed in the meantime.
    #[error("{store} was changed by somebody else in the meantime")]
    Overtaken {
        /// Which store.
        store: String,
    },
}

impl StoreError {
    /// The system failed at this.
    pub fn failed(action: &'static str, subject: impl fmt::Display, source: io::Error) -> Self {
        Self::Failed { action, subject: subject.to_string(), source }
    }

    /// May it not be written at all: rights, a read-only or a full disk?
    pub fn is_unwritable(&self) -> bool {
        use io::ErrorKind::{
            FileTooLarge, NotADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
            StorageFull,
        };
        matches!(self, Self::Failed { source, .. } if matches!(
            source.kind(),
            PermissionDenied
                | ReadOnlyFilesystem
                | StorageFull
                | QuotaExceeded
                | FileTooLarge
                | NotADirectory
        ))
    }
}

/// The bytes of a blob: a mapped file, or memory of the same alignment.
#[derive(Clone)]
pub struct Blob {
    map: Arc<memmap2::Mmap>,
}

impl Blob {
    /// A copy in memory.
    ///
    /// # Panics
    /// If there is not as much memory.
    pub fn of(bytes: &[u8]) -> Self {
        let map = memmap2::MmapMut::map_anon(bytes.len().max(1));
        let mut map = map.expect("as much memory as the bytes take");
        map[..bytes.len()].copy_from_slice(bytes);
        Self::from_memory(map)
    }

    /// Memory that was filled in place.
    pub(crate) fn from_memory(map: memmap2::MmapMut) -> Self {
        Self { map: Arc::new(map.make_read_only().expect("memory of our own")) }
    }

    /// A file, mapped.
    ///
    /// # Safety
    /// Nobody may change the file while it is mapped.
    pub unsafe fn map(file: &std::fs::File) -> io::Result<Self> {
        // SAFETY: the caller's promise.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        Ok(Self { map: Arc::new(map) })
    }
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.len())
    }
}
