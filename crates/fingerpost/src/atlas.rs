//! The compiled library, wherever it is kept: the one way in.
//!
//! An atlas is a [`Store`] and the rules for it. [`Atlas::compile`] makes one more generation of it,
//! [`Atlas::snapshot`] opens the one that counts, and all answers come from that. Whoever reads
//! never compiles and never writes; who wants to be sure that a changed library is compiled first
//! asks [`Atlas::state`] and decides.

mod booking;
mod known;
mod ledger;
mod recorded;

use std::sync::Arc;
use std::time::Duration;

pub use self::booking::{Booking, most};
pub(crate) use self::ledger::Entry;
pub use self::ledger::{AdoptError, Batch, Ledger, Replays, Spend, day, start_of_day};
pub use self::recorded::{Budget, Outbox, Recorded, Spent};
use crate::compile::{self, CompileReport, Job};
use crate::embedding::EmbedError;
use crate::index::IndexError;
use crate::kept::{self, Kept, KeptPage, Relative};
use crate::library::{Library, LoadError};
use crate::numbers;
use crate::protocol::Protocol;
use crate::search::SearchError;
use crate::skill::SkillId;
use crate::snapshot::{Head, LibraryMark, Snapshot, SnapshotError};
use crate::store::{Claim, Log, Memory, Store, StoreError, Version};

/// The compiled library.
#[derive(Clone)]
pub struct Atlas {
    store: Arc<dyn Store>,
    /// Where pages of the same skills are kept too: they count, and are not written.
    relatives: Vec<Relative>,
}

/// Why the atlas could not be used.
#[derive(Debug, thiserror::Error)]
pub enum AtlasError {
    /// The library could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What keeps it failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no state that could be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Texts could not be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// A request could not be searched for.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// It was compiled from another library.
    #[error(
        "{atlas} is the atlas of another library ({}), not of {given}",
        if theirs.is_empty() { "made in memory" } else { theirs }
    )]
    OtherLibrary {
        /// Where the atlas is.
        atlas: String,
        /// What it was compiled from.
        theirs: String,
        /// What was given.
        given: String,
    },
    /// A library without a single skill is not compiled: it would hide what is there.
    #[error("{library} has no skill that could be compiled")]
    NoSkills {
        /// What was given.
        library: String,
    },
}

impl From<IndexError> for AtlasError {
    fn from(error: IndexError) -> Self {
        Self::Search(error.into())
    }
}

/// How an atlas and a library stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The last generation is of the library as it is, and of all that is kept.
    Current,
    /// Something has changed since.
    Changed,
    /// Nothing is compiled yet, or what was is damaged.
    Missing,
}

/// The work of compiling, as it is claimed.
const COMPILING: &str = "compile";

/// For how long a claim holds where the system does not end it with its holder.
const LEASE: Duration = Duration::from_secs(600);

impl Atlas {
    /// The atlas that this store keeps, or will keep.
    pub fn new(store: impl Store + 'static) -> Self {
        Self { store: Arc::new(store), relatives: Vec::new() }
    }

    /// An atlas that ends with the process.
    pub fn in_memory() -> Self {
        Self::new(Memory::new())
    }

    /// Takes the kept pages of another store into account: of the same skills, seen another way.
    #[must_use]
    pub fn with_relatives(mut self, relatives: Vec<Relative>) -> Self {
        self.relatives.extend(relatives);
        self
    }

    /// What keeps it.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Where it is, for people.
    pub fn name(&self) -> String {
        self.store.name()
    }

    /// The state that counts now.
    pub fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        Snapshot::open(Arc::clone(&self.store))
    }

    /// Compiles a library as a protocol says, without a model.
    ///
    /// ```
    /// # use fingerpost::{atlas::Atlas, library::Library, protocol::Protocol};
    /// let library = Library::from_skills(vec![]).value;
    /// assert!(Atlas::in_memory().compile(&library, &Protocol::ours()).is_err(), "it has no skill");
    /// ```
    pub fn compile(
        &self,
        library: &Library,
        protocol: &Protocol,
    ) -> Result<(Snapshot, CompileReport), AtlasError> {
        self.compile_as(&Job::new(library, protocol), &self.claim()?)
    }

    /// Compiles as a job says; the claim keeps others away.
    pub fn compile_as(
        &self,
        job: &Job<'_>,
        claim: &Claim,
    ) -> Result<(Snapshot, CompileReport), AtlasError> {
        let given = || job.mark.roots.join(", ");
        if job.library.skills().is_empty() {
            return Err(AtlasError::NoSkills { library: given() });
        }
        if let Some(head) = self.head()
            && !belongs(&head.library, &job.mark, || self.shares_skills(job.library))
        {
            let theirs = head.library.roots.join(", ");
            return Err(AtlasError::OtherLibrary { atlas: self.name(), theirs, given: given() });
        }
        compile::compile(self, job, claim)
    }

    /// The right to compile, which one has at a time.
    pub fn claim(&self) -> Result<Claim, StoreError> {
        self.store.claim(COMPILING, LEASE)
    }

    /// Is what was compiled still the library whose files look like `stamp`, with all that is kept?
    pub fn state(&self, stamp: &str) -> State {
        let Some(head) = self.head() else { return State::Missing };
        let same = head.library.stamp == stamp
            && !stamp.is_empty()
            && head.protocol.numbers == numbers::VERSION;
        let kept = self.mark().is_ok_and(|mark| mark == head.kept);
        if same && kept { State::Current } else { State::Changed }
    }

    /// May a library with these roots be compiled into it, or answered from it? Where the roots do
    /// not tell, its skills do: a library may have moved.
    pub fn belongs(&self, mark: &LibraryMark, library: impl FnOnce() -> Option<Library>) -> bool {
        let shares = || library().is_none_or(|library| self.shares_skills(&library));
        self.head().is_none_or(|head| belongs(&head.library, mark, shares))
    }

    /// Has a library at least half of its skills, or of ours, in common with the atlas?
    fn shares_skills(&self, library: &Library) -> bool {
        let Ok(snapshot) = self.snapshot() else { return true };
        let known = |id: &SkillId| {
            snapshot.find(id.as_str()).is_some_and(|s| snapshot.row(s).id == id.as_str())
        };
        let shared = library.skills().iter().filter(|skill| known(&skill.id)).count();
        shared * 2 >= library.skills().len().min(snapshot.len())
    }

    /// The head alone, without its files; `None` if there is none that could be used.
    pub fn head(&self) -> Option<Head> {
        let bytes = self.store.head().ok().flatten()?;
        Head::from_bytes(&bytes).ok()
    }

    pub(crate) fn version(&self) -> Result<Version, StoreError> {
        Ok(Version::of(self.store.head()?.as_deref()))
    }

    /// The number that the next generation comes after.
    pub(crate) fn last_generation(&self) -> u64 {
        match (self.head(), self.store.head()) {
            (Some(head), _) => head.generation,
            // A damaged head does not tell; the clock is ahead of any count.
            (None, Ok(Some(_))) => {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                since.unwrap_or_default().as_secs()
            }
            (None, _) => 0,
        }
    }

    /// All pages that a person or money made.
    pub fn kept(&self) -> Result<Kept, StoreError> {
        Kept::read(self.store.as_ref(), &self.relatives)
    }

    /// Keeps pages; they count from the next compilation on.
    pub fn keep(&self, pages: &[KeptPage]) -> Result<(), StoreError> {
        kept::keep(self.store.as_ref(), pages)
    }

    /// Deletes all that is kept of some skills, wherever it is kept; says how many records went. What
    /// another root keeps of a skill of the same id is not ours, and what a later version wrote stays.
    pub fn forget(&self, skills: &[SkillId]) -> Result<usize, StoreError> {
        let forget_in = |store: &dyn Store, is_ours: &dyn Fn(&KeptPage) -> bool| {
            store.rewrite(Log::Pages, &mut |record| {
                let page = serde_json::from_slice::<KeptPage>(&record.bytes);
                !page.is_ok_and(|page| skills.contains(&page.skill) && is_ours(&page))
            })
        };
        let mut gone = forget_in(self.store.as_ref(), &|_| true)?;
        for Relative { store, root, whole } in &self.relatives {
            gone += forget_in(store.as_ref(), &|page| *whole || page.root == *root)?;
        }
        Ok(gone)
    }

    /// What models were asked, and what that cost.
    pub fn ledger(&self, replays: Replays) -> Result<Ledger, StoreError> {
        Ledger::open(Arc::clone(&self.store), replays)
    }

    /// Changes whenever what is kept does, here or where relatives keep theirs.
    pub fn mark(&self) -> Result<String, StoreError> {
        kept::mark(self.store.as_ref(), &self.relatives)
    }
}

/// Is it the same library? The same roots are; of others, their skills decide.
fn belongs(theirs: &LibraryMark, given: &LibraryMark, shares: impl FnOnce() -> bool) -> bool {
    theirs.roots == given.roots || theirs.digest == given.digest || shares()
}
