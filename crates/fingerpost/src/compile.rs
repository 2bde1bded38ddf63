//! How does a library become an atlas?
//!
//! ```text
//! skills ──► vectors ──► neighborhoods, rivals ──► pages ──► indexes ──► one more generation
//! ```
//!
//! The first time, and whenever asked to, everything is computed. After that a change of the library
//! costs what it touches: unchanged skills keep their vectors, new or changed ones are placed into
//! the neighborhoods there are, and only neighborhoods that changed get new pages. What a person or
//! money made is read, never written over. Each step that takes long is put aside as soon as it is
//! done (`work.rs`), so that whoever was interrupted goes on from there.

mod files;
mod group;
mod units;
mod work;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Serialize;

pub use self::group::Change;
use self::group::{Grouped, group};
pub use self::units::Left;
use self::work::Work;
use crate::atlas::{Atlas, AtlasError};
use crate::embedding::Embedder;
use crate::kept::{Kept, KeptPage, Origin, keep, root_of};
use crate::library::Library;
use crate::neighborhood::{Neighborhoods, Report};
use crate::page::Pages;
use crate::page::llm::{Neighborhood, Wanted, Written, rows};
use crate::page::local::LocalConfig;
use crate::page::write::{
    Again, Company, Known, PageRow, WriteConfig, against_rivals, neighborhoods,
    write_against_rivals, write_pages,
};
use crate::protocol::Protocol;
use crate::rivals::Rivals;
use crate::skill::{Skill, SkillId};
use crate::snapshot::{LibraryMark, Snapshot, SnapshotError};
use crate::store::{Claim, StoreError};

/// What is to be compiled, and how.
pub struct Job<'a> {
    /// The skills.
    pub library: &'a Library,
    /// Where they come from, what their files looked like, how many findings there were.
    pub mark: LibraryMark,
    /// Every setting that changes a result.
    pub protocol: &'a Protocol,
    /// What makes the vectors; `None` for the library itself.
    pub embedder: Option<&'a dyn Embedder>,
    /// Who writes pages.
    pub writer: Writer<'a>,
    /// Which pages are written again.
    pub again: Again,
    /// Compute everything anew; pages of documents that are known stay.
    pub rebuild: bool,
    /// Hears what is going on.
    pub on_event: &'a (dyn Fn(Event) + Sync),
}

impl<'a> Job<'a> {
    /// The plain case: the local writer, vectors fitted to the library, nobody listening.
    pub fn new(library: &'a Library, protocol: &'a Protocol) -> Self {
        Self {
            library,
            mark: LibraryMark::default(),
            protocol,
            embedder: None,
            writer: Writer::Local,
            again: Again::Nothing,
            rebuild: false,
            on_event: &|_| {},
        }
    }
}

/// Who writes pages.
pub enum Writer<'a> {
    /// Chooses from the documents; no model.
    Local,
    /// A language model writes what is not its own yet; until it has, the local pages stand.
    Model(Model<'a>),
}

/// A language model that writes pages.
pub struct Model<'a> {
    /// The model with its settings: part of each page's key.
    pub identity: String,
    /// Has these neighborhoods written, saying of each skill what became of it; more than once, if
    /// it likes.
    pub write: &'a WriteWith<'a>,
}

/// How a model is asked for the pages of neighborhoods.
pub type WriteWith<'a> = dyn Fn(&[Neighborhood<'_>], &(dyn Fn(&SkillId, &Written) + Sync)) + 'a;

/// What is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Skills are being compared.
    Comparing(usize),
    /// So many of so many pages are done.
    Writing(usize, usize),
    /// Indexes are being made.
    Indexing,
    /// A file of the atlas is damaged and is made again.
    Damaged(String),
    /// A kept file is damaged; its copy has everything.
    Mended(String),
}

/// What a compilation did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CompileReport {
    /// Skills that were not there before.
    pub added: usize,
    /// Skills whose documents changed.
    pub changed: usize,
    /// Skills that are no more.
    pub removed: usize,
    /// Texts embedded.
    pub embedded: usize,
    /// How the neighborhoods came about, if all were made anew.
    pub partition: Option<Report>,
    /// Neighborhoods with other members than before, or with a changed member; where pages are written against
    /// rivals, skills with other rivals than before, or with a changed one.
    pub touched: usize,
    /// Pages written now, fallbacks included.
    pub written: usize,
}

/// How often a compilation starts again because somebody else has committed in the meantime.
const TRIES: usize = 3;

/// Compiles a library into an atlas; the claim says that nobody else does.
pub(crate) fn compile(
    atlas: &Atlas,
    job: &Job<'_>,
    _claim: &Claim,
) -> Result<(Snapshot, CompileReport), AtlasError> {
    let mut made = make(atlas, job);
    for _ in 1..TRIES {
        let Err(AtlasError::Store(StoreError::Overtaken { .. })) = &made else { break };
        made = make(atlas, job);
    }
    let (snapshot, report) = made?;
    let Writer::Model(model) = &job.writer else { return Ok((snapshot, report)) };
    // What is there is served while the model writes, which may take hours.
    if !write_by_model(atlas, job, model, &snapshot)? {
        return Ok((snapshot, report));
    }
    let again = Job {
        writer: Writer::Local,
        again: Again::Nothing,
        rebuild: false,
        mark: job.mark.clone(),
        ..*job
    };
    let (snapshot, later) = make(atlas, &again)?;
    Ok((snapshot, CompileReport { written: report.written.max(later.written), ..report }))
}

/// One more generation, without a model.
fn make(atlas: &Atlas, job: &Job<'_>) -> Result<(Snapshot, CompileReport), AtlasError> {
    let Job { library, on_event, .. } = job;
    let (before, told) = before(atlas, job)?;
    let kept = atlas.kept()?;
    kept.damaged.iter().for_each(|file| on_event(Event::Mended(file.clone())));
    let work = Work::new(atlas.store().as_ref());

    on_event(Event::Comparing(library.skills().len()));
    let grouped = group(job, before.as_ref(), &work)?;
    let pages = pages(job, &grouped, before.as_ref(), &kept, &work)?;
    on_event(Event::Indexing);
    let version = atlas.version()?;
    let head = files::make(atlas, job, &grouped, &pages.rows, kept.mark, told.as_deref())?;

    let report = CompileReport { written: pages.fresh, ..grouped.report };
    // What was only damaged is as it was: no other generation.
    if atlas.head().as_ref() != Some(&head) {
        atlas.store().commit(version, &head.to_bytes())?;
    }
    let snapshot = Snapshot::open(Arc::clone(atlas.store()))?;
    files::prune(atlas.store().as_ref(), snapshot.head());
    Ok((snapshot, report))
}

/// The generation before, if all that a compilation starts from is sound. What is not is made
/// again: nothing in it was made by a person or money. Also says which file was told to be damaged.
fn before(atlas: &Atlas, job: &Job<'_>) -> Result<(Option<Snapshot>, Option<String>), AtlasError> {
    let checked = atlas.snapshot().and_then(|before| before.check().map(|()| before));
    match checked {
        Ok(before) => Ok((Some(before), None)),
        Err(SnapshotError::Empty { .. }) => Ok((None, None)),
        Err(error) => {
            let text = error.to_string();
            let SnapshotError::Damaged { file, .. } = error else { return Err(error.into()) };
            (job.on_event)(Event::Damaged(text));
            Ok((None, Some(file)))
        }
    }
}

/// Skills whose pages are put aside together.
const TOGETHER: usize = 1024;

/// The pages of all skills, in their order.
fn pages(
    job: &Job<'_>,
    grouped: &Grouped,
    before: Option<&Snapshot>,
    kept: &Kept,
    work: &Work<'_>,
) -> Result<crate::page::write::Written, AtlasError> {
    let config = WriteConfig {
        local: LocalConfig { language: job.protocol.language },
        again: job.again,
        min_contrast: job.protocol.neighborhood.min_contrast,
        alone: job.protocol.writing.alone,
    };
    let mut known = Known { kept: kept.rows(job.library, &job.mark.roots), ..Known::default() };
    if let Some(before) = before {
        known.alone = before.head().protocol.writing.alone;
        let rows = before.page_rows()?.iter();
        known.before = rows.map(|row| (row.skill.clone(), row.clone())).collect();
    }
    let companies = companies(job, &grouped.neighborhoods, grouped.rivals.as_ref());
    let done = AtomicUsize::new(0);
    let all = job.library.skills().len();
    let progress = |members: usize| {
        let done = done.fetch_add(members, Ordering::Relaxed) + members;
        (job.on_event)(Event::Writing(done, all));
    };
    if grouped.rivals.is_some() {
        // A page is tested beside its rivals' pages, so none is done before all are: there is no piece of
        // them that could be put aside.
        return Ok(write_against_rivals(&companies, &known, &config, &progress));
    }
    let mut written = crate::page::write::Written::default();
    for companies in together(&companies) {
        let write = || write_pages(companies, &known, &config, &progress);
        // What costs little is not worth a file.
        let some = match before {
            Some(_) => write(),
            None => work.pages(companies, &known.kept, &config, write),
        };
        written.rows.extend(some.rows);
        written.fresh += some.fresh;
    }
    written.rows.sort_by(|a, b| a.skill.cmp(&b.skill));
    Ok(written)
}

/// The company in which each skill's page is written.
fn companies<'a>(
    job: &Job<'a>,
    grouped: &Neighborhoods,
    rivals: Option<&Rivals>,
) -> Vec<Company<'a>> {
    let min_contrast = job.protocol.neighborhood.min_contrast;
    match rivals {
        Some(rivals) => against_rivals(job.library, rivals),
        None => neighborhoods(job.library, grouped, min_contrast),
    }
}

/// Pieces of about as many skills as are put aside together.
fn together<'a, 'b>(companies: &'b [Company<'a>]) -> impl Iterator<Item = &'b [Company<'a>]> {
    let mut rest = companies;
    std::iter::from_fn(move || {
        let mut skills = 0;
        let end = rest.iter().position(|company| {
            skills += company.members.len();
            skills >= TOGETHER
        });
        let (some, after) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        rest = after;
        (!some.is_empty()).then_some(some)
    })
}

/// Has a model write what is not its own yet, keeping each page as soon as it is there. Says whether
/// anything new was kept.
fn write_by_model(
    atlas: &Atlas,
    job: &Job<'_>,
    model: &Model<'_>,
    snapshot: &Snapshot,
) -> Result<bool, AtlasError> {
    let rivals = snapshot.rivals()?;
    let companies = companies(job, snapshot.neighborhoods(), rivals.as_ref());
    let whose: BTreeMap<&SkillId, (&Skill, &Company<'_>)> = companies
        .iter()
        .flat_map(|company| {
            let skills = company.written().iter();
            skills.map(move |&skill| (&skill.id, (skill, company)))
        })
        .collect();
    let (rows, identity) = (snapshot.page_rows()?, &model.identity);
    let work = rows::wanted(&companies, rows, identity, job.again);
    let (identity, roots) = (model.identity.as_str(), &job.mark.roots);
    let kept: Mutex<BTreeMap<SkillId, PageRow>> = Mutex::default();
    let failed = Mutex::new(None);
    let before = atlas.mark()?;
    let on_page = |skill: &SkillId, written: &Written| {
        let Some((skill, company)) = whose.get(skill) else { return };
        let row = rows::row(skill, company, written, identity);
        let Some(row) = row else { return };
        let mut kept = kept.lock().expect("nothing panics while holding it");
        if kept.get(&row.skill) == Some(&row) {
            return;
        }
        let root = root_of(&skill.origin.file, roots).unwrap_or_default();
        let page = KeptPage { root: root.into(), ..KeptPage::of(&row, Origin::Model) };
        match keep(atlas.store().as_ref(), &[page]) {
            Ok(()) => drop(kept.insert(row.skill.clone(), row)),
            // The answer is in the ledger: nothing is lost, and the first trouble is told.
            Err(error) => {
                let mut failed = failed.lock().expect("nothing panics while holding it");
                failed.get_or_insert(error);
            }
        }
    };
    (model.write)(&work, &on_page);
    match failed.into_inner().expect("no thread panicked") {
        Some(error) => Err(error.into()),
        // Other machines may have written too.
        None => Ok(atlas.mark()? != before),
    }
}

/// What a model would have to write, for those who only want to know.
pub fn wanted_pages(work: &[Neighborhood<'_>]) -> usize {
    let wanted = work.iter().flat_map(|neighborhood| &neighborhood.wanted);
    wanted.filter(|wanted| !matches!(wanted, Wanted::Nothing(_))).count()
}

/// The pages of rows, in their order.
pub(crate) fn pages_of(rows: &[PageRow]) -> Pages {
    Pages::new(rows.iter().map(|row| row.page.clone()).collect())
}
