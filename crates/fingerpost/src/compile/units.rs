//! What is left for a model to write, in pieces that any machine finds again?
//!
//! All that a piece needs is in the snapshot: whoever has it open makes the same pieces, with the same keys, and
//! needs no library of its own.

use crate::kept::{KeptPage, Origin, root_of};
use crate::library::Library;
use crate::page::llm::Written;
use crate::page::llm::rows::{self, Unit};
use crate::page::write::{Again, Company, PageRow, against_rivals, neighborhoods};
use crate::rivals::Rivals;
use crate::snapshot::{Snapshot, SnapshotError};

/// A snapshot, read for what is left to write in it.
pub struct Left {
    library: Library,
    rivals: Option<Rivals>,
    rows: Vec<PageRow>,
    snapshot: Snapshot,
}

impl Left {
    /// Reads a snapshot.
    pub fn of(snapshot: Snapshot) -> Result<Self, SnapshotError> {
        let (library, rivals) = (snapshot.library()?, snapshot.rivals()?);
        let rows = snapshot.page_rows()?.to_vec();
        Ok(Self { library, rivals, rows, snapshot })
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What is left for a writer, which is a model with its settings, in the order of companies.
    pub fn units(&self, identity: &str, again: Again) -> Vec<Unit<'_>> {
        rows::units(&self.companies(), &self.rows, identity, again)
    }

    /// What became of a unit, as it is kept.
    pub fn kept(&self, unit: &Unit<'_>, written: &[Written], identity: &str) -> Vec<KeptPage> {
        let roots = &self.snapshot.head().library.roots;
        let skills = unit.work.members.iter().zip(written);
        let pages = skills.filter_map(|(skill, written)| {
            let row = rows::row(skill, &unit.company, written, identity)?;
            let root = root_of(&skill.origin.file, roots).unwrap_or_default();
            Some(KeptPage { root: root.into(), ..KeptPage::of(&row, Origin::Model) })
        });
        pages.collect()
    }

    fn companies(&self) -> Vec<Company<'_>> {
        let min_contrast = self.snapshot.head().protocol.neighborhood.min_contrast;
        match &self.rivals {
            Some(rivals) => against_rivals(&self.library, rivals),
            None => neighborhoods(&self.library, self.snapshot.neighborhoods(), min_contrast),
        }
    }
}
