//! Which files does a generation have?
//!
//! What is there, sound and made from the same stays; all else is made and put in its place.

use std::collections::BTreeMap;

use super::group::{Embedded, Grouped};
use super::{Event, Job, pages_of, work};
use crate::atlas::{Atlas, AtlasError};
use crate::embedding::{Fit, Lexicon};
use crate::index::{DenseIndex, FORMAT_VERSION, SparseConfig, SparseIndex};
use crate::numbers;
use crate::page::write::PageRow;
use crate::protocol::Protocol;
use crate::snapshot::{Counts, FORMAT, Groups, Head, LibraryMark, Skills, made_from, part};
use crate::store::{Blob, Store, StoreError};
use crate::view::{View, purpose};

/// Raised whenever the meaning of a skill comes about in another way, by other words' vectors
/// included.
const MEANINGS_VERSION: u32 = 3;

/// Makes all files that the first request will need, and the head that names them. Damage is told,
/// except of the one file that was told of before.
pub(super) fn make(
    atlas: &Atlas,
    job: &Job<'_>,
    grouped: &Grouped,
    rows: &[PageRow],
    kept: String,
    told: Option<&str>,
) -> Result<Head, AtlasError> {
    let Grouped { neighborhoods, rivals, calibration, placed, embedded, .. } = grouped;
    let library = job.library;
    let store = atlas.store().as_ref();
    let pages = pages_of(rows);
    let digests = (library.digest().to_hex().to_string(), pages.digest().to_hex().to_string());
    let of = made_from(&digests.0, &digests.1, View::Full);
    let mut files = BTreeMap::new();
    let tell = |name: &str| {
        if told != Some(name) {
            let what = format!("{name} in {} is damaged", store.name());
            (job.on_event)(Event::Damaged(what));
        }
    };

    let mut sparse = |part: &str, config: &SparseConfig| -> Result<SparseIndex, StoreError> {
        let settings = serde_json::to_string(config).expect("plain data");
        let numbers = numbers::VERSION;
        let name = named(part, &format!("{FORMAT_VERSION} {numbers} {of} {settings}"));
        let known = sound(store, &name, &tell, |blob| {
            let index = SparseIndex::open(blob).ok()?;
            (index.check().is_ok() && index.made_from() == of).then_some(index)
        })?;
        let index = match known {
            Some(index) => index,
            None => {
                let index = SparseIndex::build(library, &pages, config);
                store.put(&name, index.bytes())?;
                index
            }
        };
        files.insert(part.to_owned(), name);
        Ok(index)
    };
    let extent = job.protocol.indexed;
    sparse(part::TERMS, &SparseConfig { extent, ..embedded.tuning.config(View::Full) })?;
    sparse(part::PHRASES, &SparseConfig { extent, ..SparseConfig::phrases(View::Full) })?;

    let mut keep = |part: &str, made_from: &str, make: &dyn Fn() -> Vec<u8>| {
        let name = named(part, made_from);
        let is_sound = |blob: Blob| match part {
            part::MODEL => (blake3::hash(&blob).to_hex().as_str() == made_from).then_some(()),
            _ => DenseIndex::open(blob).ok()?.check().ok(),
        };
        if sound(store, &name, &tell, is_sound)?.is_none() {
            store.put(&name, &make())?;
        }
        files.insert(part.to_owned(), name);
        Ok::<_, StoreError>(())
    };
    keep(part::MEANINGS, &format!("{MEANINGS_VERSION} {of}"), &|| {
        let told = library
            .skills()
            .iter()
            .zip(rows)
            .map(|(skill, row)| purpose(&skill.name, &skill.description, row.page.as_ref()));
        let meanings = Lexicon::get().meanings(&told.collect::<Vec<_>>());
        DenseIndex::rounded(meanings).to_bytes()
    })?;
    let Embedded { vectors, model, profile, tuning } = embedded;
    // The same library and profile can have other vectors after a change: `fit` is not trained anew
    // for one skill. So the values are part of the name.
    let values = blake3::hash(bytemuck::cast_slice(vectors.values())).to_hex();
    keep(part::VECTORS, &format!("{} {values}", profile.key()), &|| match Fit::made(profile) {
        true => DenseIndex::rounded(vectors.clone()).to_bytes(),
        false => DenseIndex::with(vectors.clone(), None).to_bytes(),
    })?;
    if let Some(model) = model {
        keep(part::MODEL, &blake3::hash(model).to_hex(), &|| model.clone())?;
    }

    let mut keep_same = |part: &str, bytes: &[u8]| {
        let name = named(part, &blake3::hash(bytes).to_hex());
        let same = sound(store, &name, &tell, |blob| (*blob == *bytes).then_some(()))?;
        if same.is_none() {
            store.put(&name, bytes)?;
        }
        files.insert(part.to_owned(), name);
        Ok::<_, StoreError>(())
    };
    keep_same(part::SKILLS, &Skills::to_bytes(library, neighborhoods, rows, &of))?;
    if let Some(rivals) = rivals {
        keep_same(part::RIVALS, &rivals.to_bytes())?;
    }

    let mut head = Head {
        format: FORMAT,
        generation: atlas.last_generation(),
        library: LibraryMark {
            skills: library.skills().len(),
            digest: digests.0,
            ..job.mark.clone()
        },
        kept,
        // Whatever an atlas was made with before, it is made with these numbers now.
        protocol: Protocol { numbers: numbers::VERSION, ..job.protocol.clone() },
        profile: profile.clone(),
        calibration: calibration.clone(),
        tuning: tuning.clone(),
        placed: *placed,
        neighborhoods: Groups {
            count: neighborhoods.len(),
            singletons: neighborhoods.singletons(),
            largest: neighborhoods.largest(),
        },
        pages: Counts::of(rows),
        pages_digest: digests.1,
        writers: writers(rows),
        files,
    };
    // A state that is the same as the one before is no other generation.
    if atlas.head().as_ref() != Some(&head) {
        head.generation += 1;
    }
    Ok(head)
}

/// Who wrote how many pages.
fn writers(rows: &[PageRow]) -> BTreeMap<String, usize> {
    let mut writers = BTreeMap::new();
    for row in rows.iter().filter(|row| row.page.is_some()) {
        *writers.entry(row.writer.clone()).or_default() += 1;
    }
    writers
}

/// The name of a file says what it is and what it was made from.
fn named(part: &str, made_from: &str) -> String {
    format!("{part}-{}", &blake3::hash(made_from.as_bytes()).to_hex()[..32])
}

/// A file that is there, if `open` finds nothing wrong with it; else it is told of.
fn sound<T>(
    store: &dyn Store,
    name: &str,
    tell: &dyn Fn(&str),
    open: impl FnOnce(Blob) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let Some(blob) = store.get(name)? else { return Ok(None) };
    let opened = open(blob);
    if opened.is_none() {
        tell(name);
    }
    Ok(opened)
}

/// Puts away what no generation uses any more. Whoever has a file open keeps it.
pub(super) fn prune(store: &dyn Store, head: &Head) {
    let blobs = store.blobs().unwrap_or_default();
    for blob in blobs.iter().filter(|blob| blob.starts_with(work::PREFIX) || !head.uses(blob)) {
        // What cannot be removed now is removed next time.
        let _ = store.remove(blob);
    }
}
