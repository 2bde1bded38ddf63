//! What did a person or money make, and which of it counts?
//!
//! Kept pages are records of a log that is only appended to: an edit, an approval, an import, what a
//! model was paid for, a pin given back. They belong to a skill by its id and remember the document
//! they were written for. A skill that is gone keeps them and gets them back; one that was renamed
//! is found by its document. Nothing here is deleted but by the command that is for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::library::Library;
use crate::page::check::Failure;
use crate::page::write::PageRow;
use crate::page::{Page, Status};
use crate::skill::SkillId;
use crate::store::{Log, Store, StoreError};

/// One record of what is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptPage {
    /// When, in milliseconds since 1970: of two places, the later record counts.
    pub at: u64,
    /// The skill.
    pub skill: SkillId,
    /// The root that it was loaded from then.
    #[serde(default)]
    pub root: String,
    /// Digest of its document then.
    pub document: String,
    /// What happened.
    pub origin: Origin,
    /// Who wrote the page.
    pub writer: String,
    /// Digest of everything the page was written from.
    pub key: String,
    /// Does no writer change it any more?
    pub pinned: bool,
    /// The page; `None` where a model failed to write one, or a pin was given back.
    pub page: Option<Page>,
    /// Why a model failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Failure>,
}

/// Where a kept page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A person wrote or approved it.
    Hand,
    /// A person gave it back to the writers.
    Released,
    /// It was brought from elsewhere.
    Import,
    /// A model was paid for it.
    Model,
}

impl KeptPage {
    /// A row as it is kept.
    pub fn of(row: &PageRow, origin: Origin) -> Self {
        Self {
            at: now(),
            skill: row.skill.clone(),
            root: String::new(),
            document: row.document.clone(),
            origin,
            writer: row.writer.clone(),
            key: row.key.clone(),
            pinned: row.status == Status::Pinned,
            page: row.page.clone(),
            findings: if row.page.is_none() { row.findings.clone() } else { Vec::new() },
        }
    }

    /// A pin that is given back.
    pub fn released(row: &PageRow) -> Self {
        Self { pinned: false, page: None, ..Self::of(row, Origin::Released) }
    }

    fn row(&self, skill: &SkillId) -> PageRow {
        let status = match (&self.page, self.pinned) {
            (None, _) => Status::Fallback,
            (Some(_), true) => Status::Pinned,
            (Some(_), false) => Status::Written,
        };
        PageRow {
            skill: skill.clone(),
            document: self.document.clone(),
            key: self.key.clone(),
            status,
            page: self.page.clone(),
            writer: self.writer.clone(),
            findings: self.findings.clone(),
            score: 1.0,
        }
    }
}

/// A store that keeps pages of the same skills, seen another way.
#[derive(Clone)]
pub struct Relative {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The root of those skills.
    pub root: String,
    /// Are all its records of that root, whatever it was called then?
    pub whole: bool,
}

/// All kept pages of a library, from wherever they are kept.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// Each with the root that it is confined to, if it is kept elsewhere.
    pages: Vec<(Option<String>, KeptPage)>,
    /// Files with damage, which the other copy made good.
    pub damaged: Vec<String>,
    /// What they looked like from outside when they were read.
    pub mark: String,
}

impl Kept {
    /// Reads what a store keeps, and what its relatives do.
    pub fn read(own: &dyn Store, relatives: &[Relative]) -> Result<Self, StoreError> {
        let mut kept = Self { mark: mark(own, relatives)?, ..Self::default() };
        kept.add(own, None)?;
        for relative in relatives {
            kept.add(relative.store.as_ref(), Some(relative))?;
        }
        kept.pages.sort_by_key(|(_, page)| page.at);
        Ok(kept)
    }

    fn add(&mut self, store: &dyn Store, relative: Option<&Relative>) -> Result<(), StoreError> {
        let read = store.records(Log::Pages, 0)?;
        self.damaged.extend(read.damaged);
        for record in read.records {
            // A later version may keep more than this one understands; it stays in the log.
            let Ok(page) = serde_json::from_slice::<KeptPage>(&record.bytes) else { continue };
            match relative {
                None => self.pages.push((None, page)),
                Some(Relative { root, whole, .. }) if *whole || page.root == *root => {
                    self.pages.push((Some(root.clone()), page));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// All records, oldest first.
    pub fn pages(&self) -> impl Iterator<Item = &KeptPage> {
        self.pages.iter().map(|(_, page)| page)
    }

    /// The row that counts for each skill of a library that has one; what is kept elsewhere counts
    /// for the skills of its root.
    pub fn rows(&self, library: &Library, roots: &[String]) -> BTreeMap<SkillId, PageRow> {
        let ids: BTreeMap<&SkillId, Option<&str>> = library
            .skills()
            .iter()
            .map(|skill| (&skill.id, root_of(&skill.origin.file, roots)))
            .collect();
        let mut by_id: BTreeMap<&SkillId, Vec<&KeptPage>> = BTreeMap::new();
        // Of skills that the library has no more: one of them may have been renamed.
        let mut by_document: BTreeMap<&str, Vec<&KeptPage>> = BTreeMap::new();
        for (only, page) in &self.pages {
            match ids.get(&page.skill) {
                Some(root) if only.is_none() || only.as_deref() == *root => {
                    by_id.entry(&page.skill).or_default().push(page);
                }
                Some(_) => {}
                None => by_document.entry(&page.document).or_default().push(page),
            }
        }
        let mut rows = BTreeMap::new();
        for skill in library.skills() {
            let digest = skill.digest().to_hex();
            let own = by_id.get(&skill.id).or_else(|| by_document.get(digest.as_str()));
            let counts = own.and_then(|own| counting(own, &digest));
            rows.extend(counts.map(|page| (skill.id.clone(), page.row(&skill.id))));
        }
        rows
    }
}

/// The record that counts of one skill's: the last pin, unless it was given back; else what was
/// written last. What was chosen from a document without a model is worth as much as the document:
/// brought from elsewhere, it counts while that is the same.
fn counting<'a>(pages: &[&'a KeptPage], digest: &str) -> Option<&'a KeptPage> {
    let (mut pinned, mut written) = (None, None);
    for &page in pages {
        match page.origin {
            Origin::Released => pinned = None,
            _ if page.pinned => pinned = Some(page),
            _ if page.writer.starts_with("local ") && page.document != digest => {}
            _ => written = Some(page),
        }
    }
    pinned.or(written)
}

/// Appends records.
pub fn keep(store: &dyn Store, pages: &[KeptPage]) -> Result<(), StoreError> {
    let records: Vec<Vec<u8>> =
        pages.iter().map(|page| serde_json::to_vec(page).expect("plain data")).collect();
    store.append(Log::Pages, &records)
}

/// What the kept pages of a store and its relatives look like from outside.
pub(crate) fn mark(own: &dyn Store, relatives: &[Relative]) -> Result<String, StoreError> {
    let stores = std::iter::once(own).chain(relatives.iter().map(|r| r.store.as_ref()));
    let marks = stores.map(|store| store.mark(Log::Pages)).collect::<Result<Vec<_>, _>>()?;
    // A relative that keeps nothing is as good as none.
    let told = marks.iter().enumerate().filter(|(at, mark)| *at == 0 || **mark > 0);
    Ok(told.map(|(_, mark)| mark.to_string()).collect::<Vec<_>>().join(" "))
}

/// Which of the roots a file is below: the nearest.
pub fn root_of<'a>(file: &std::path::Path, roots: &'a [String]) -> Option<&'a str> {
    let below = roots.iter().filter(|root| file.starts_with(root.as_str()));
    below.max_by_key(|root| root.len()).map(String::as_str)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::name::tests::skill;
    use crate::store::Memory;

    fn page(text: &str) -> Page {
        Page { trigger: text.into(), boundary: vec![], body: String::new() }
    }

    fn record(at: u64, id: &str, document: &str, origin: Origin, text: Option<&str>) -> KeptPage {
        KeptPage {
            at,
            skill: SkillId::new(id),
            root: String::new(),
            document: document.into(),
            origin,
            writer: if origin == Origin::Model { "llm m".into() } else { "a person".into() },
            key: String::new(),
            pinned: origin == Origin::Hand,
            page: text.map(page),
            findings: vec![],
        }
    }

    fn trigger(kept: &Kept, library: &Library, id: &str) -> Option<String> {
        let row = kept.rows(library, &[]).remove(&SkillId::new(id))?;
        row.page.map(|page| page.trigger)
    }

    #[test]
    fn a_pin_counts_until_it_is_given_back_and_a_paid_page_after_that() {
        let library = Library::from_skills(vec![skill("a", "a", "Does.", "")]).value;
        let digest = library.skills()[0].digest().to_hex().to_string();
        let mut kept = Kept::default();
        let mut push = |page| kept.pages.push((None, page));
        push(record(1, "a", &digest, Origin::Model, Some("paid")));
        assert_eq!(trigger(&kept, &library, "a").as_deref(), Some("paid"));
        let mut push = |page| kept.pages.push((None, page));
        push(record(2, "a", "of another document", Origin::Hand, Some("mine")));
        push(record(3, "a", &digest, Origin::Model, Some("paid again")));
        assert_eq!(trigger(&kept, &library, "a").as_deref(), Some("mine"));
        kept.pages.push((None, record(4, "a", &digest, Origin::Released, None)));
        assert_eq!(trigger(&kept, &library, "a").as_deref(), Some("paid again"));
    }

    #[test]
    fn a_renamed_skill_is_found_by_its_document() {
        let library = Library::from_skills(vec![skill("new/a", "a", "Does.", "")]).value;
        let digest = library.skills()[0].digest().to_hex().to_string();
        let mut kept = Kept::default();
        kept.pages.push((None, record(1, "old/a", &digest, Origin::Hand, Some("mine"))));
        assert_eq!(trigger(&kept, &library, "new/a").as_deref(), Some("mine"));
        kept.pages[0].1.document = "another".into();
        assert_eq!(trigger(&kept, &library, "new/a"), None);
    }

    /// What is kept elsewhere counts for the skills of its root, and for no others of their names.
    #[test]
    fn what_is_kept_in_two_places_is_one() {
        let (near, far) = (Memory::new(), Arc::new(Memory::new()));
        let of_root = |at, root: &str, text| KeptPage {
            root: root.into(),
            ..record(at, "a", "d", Origin::Hand, Some(text))
        };
        keep(far.as_ref(), &[of_root(1, "/here", "first"), of_root(9, "/there", "a stranger's")])
            .unwrap();
        let store: Arc<dyn Store> = far.clone();
        let relatives = [Relative { store, root: "/here".into(), whole: false }];
        let roots = ["/here".to_owned(), "/there".to_owned()];
        let mut of_here = skill("a", "a", "Does.", "");
        of_here.origin.file = "/here/a/SKILL.md".into();
        let library = Library::from_skills(vec![of_here]).value;
        let told = |kept: &Kept| {
            let row = kept.rows(&library, &roots).remove(&SkillId::new("a"));
            row.and_then(|row| row.page).map(|page| page.trigger)
        };
        let kept = Kept::read(&near, &relatives).unwrap();
        assert_eq!(told(&kept).as_deref(), Some("first"));
        let before = kept.mark;
        keep(&near, &[of_root(2, "/here", "second")]).unwrap();
        let kept = Kept::read(&near, &relatives).unwrap();
        assert_eq!(told(&kept).as_deref(), Some("second"));
        assert_ne!(kept.mark, before);
    }
}
