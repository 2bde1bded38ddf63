//! Which file of a head is which, and is it the one that is meant?

use std::sync::Arc;

use super::{Head, SnapshotError};
use crate::index::IndexError;
use crate::sections::FileError;
use crate::store::{Blob, Store};

/// The files of a head.
pub(super) struct Files<'a> {
    pub(super) head: &'a Head,
    pub(super) store: &'a Arc<dyn Store>,
}

impl Files<'_> {
    pub(super) fn blob(&self, part: &str) -> Result<Blob, SnapshotError> {
        let missing = || self.damaged(part, FileError::Damaged { what: "it is not there" });
        let name = self.head.files.get(part).ok_or_else(missing)?;
        self.store.get(name)?.ok_or_else(missing)
    }

    pub(super) fn open<T>(
        &self,
        part: &str,
        open: impl FnOnce(Blob) -> Result<T, IndexError>,
    ) -> Result<T, SnapshotError> {
        open(self.blob(part)?).map_err(|source| self.damaged(part, source))
    }

    pub(super) fn damaged(&self, part: &str, source: FileError) -> SnapshotError {
        let file = self.head.files.get(part).map_or(part, String::as_str).to_owned();
        SnapshotError::Damaged { store: self.store.name(), file, source }
    }

    pub(super) fn foreign(&self, part: &str) -> SnapshotError {
        self.damaged(part, FileError::Damaged { what: "it is of another generation" })
    }
}
