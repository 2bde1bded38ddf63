//! Where is an atlas kept: in folders of this machine, or in a database?

use std::fs;
use std::path::PathBuf;

use blake3::Hash;
use fingerpost::atlas::Atlas;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::store::place::{Place, UserFolders, full};
use fingerpost_postgres::Postgres;

/// Where an atlas is kept.
pub(crate) enum Home {
    /// In folders.
    Folder(Place),
    /// In a database.
    Database(Database),
}

/// An atlas in a database, as one machine sees it.
pub(crate) struct Database {
    pub(crate) postgres: Postgres,
    /// What this machine keeps that can be made again.
    cache: PathBuf,
    /// The library's roots, in full.
    roots: Vec<String>,
}

/// Remembered looks of libraries at most.
const STAMPS: usize = 256;

impl Home {
    pub(super) fn database(postgres: Postgres, cache: PathBuf, roots: &[Root]) -> Self {
        Self::Database(Database { postgres, cache, roots: full(roots) })
    }

    /// The atlas there.
    pub(super) fn atlas(&self, roots: &[Root], users: &UserFolders) -> Atlas {
        match self {
            Self::Folder(place) => {
                Atlas::new(place.folder()).with_relatives(place.relatives(roots, users))
            }
            // What only this machine keeps is no part of what all machines see.
            Self::Database(database) => Atlas::new(database.postgres.clone()),
        }
    }

    /// The folders, if that is where it is.
    pub(crate) fn folder(&self) -> Option<&Place> {
        match self {
            Self::Folder(place) => Some(place),
            Self::Database(_) => None,
        }
    }

    /// The database, if that is where it is.
    pub(crate) fn postgres(&self) -> Option<&Postgres> {
        match self {
            Self::Folder(_) => None,
            Self::Database(database) => Some(&database.postgres),
        }
    }

    /// The library's roots, in full.
    pub(super) fn roots(&self) -> &[String] {
        match self {
            Self::Folder(place) => &place.roots,
            Self::Database(database) => &database.roots,
        }
    }

    /// A folder for what can be made again.
    pub(crate) fn made(&self) -> &PathBuf {
        match self {
            Self::Folder(place) => &place.made,
            Self::Database(database) => &database.cache,
        }
    }

    /// What tells that a library has changed, from what its files look like. In a database, machines share
    /// it, and the same files look another way on each: there the skills themselves tell.
    pub(super) fn stamp(&self, files: Hash, roots: &[Root], options: LoadOptions) -> Option<Hash> {
        match self {
            Self::Folder(_) => Some(files),
            Self::Database(database) => database.stamp(files, roots, options),
        }
    }

    /// Were the answers in the ledger here paid for by whoever runs this? Whoever may use a database is let
    /// in by those it belongs to.
    pub(super) fn is_trusted(&self, users: &UserFolders) -> bool {
        self.folder().is_none_or(|place| place.is_trusted(users))
    }
}

impl Database {
    /// Skills are read once for every look of their files: what came of it is remembered.
    fn stamp(&self, files: Hash, roots: &[Root], options: LoadOptions) -> Option<Hash> {
        let folder = self.cache.join("stamps");
        // The same files are other skills where those are taken in that only a person may ask for.
        let remembered = folder.join(format!("{}-{}", files.to_hex(), options.include_manual));
        let known = fs::read_to_string(&remembered).ok();
        if let Some(known) = known.and_then(|text| Hash::from_hex(text.trim()).ok()) {
            return Some(known);
        }
        let digest = Library::load(roots, options).ok()?.value.digest();
        // Where it cannot be remembered, it is found out again.
        if fs::read_dir(&folder).is_ok_and(|known| known.count() >= STAMPS) {
            let _ = fs::remove_dir_all(&folder);
        }
        let _ = fs::create_dir_all(&folder).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(&folder)?;
            std::io::Write::write_all(&mut file, digest.to_hex().as_bytes())?;
            file.persist(&remembered).map(drop).map_err(|error| error.error)
        });
        Some(digest)
    }
}
