//! What is one state of an atlas?
//!
//! A snapshot is one generation: head, skills with pages and documents, indexes, vectors. Each file
//! is checked to be the one that the head means, and all of them stay open, so that whatever a
//! compilation does meanwhile, everything an answer reads is of one generation. It never changes,
//! never writes, and may be shared between threads.

mod answers;
mod files;
mod head;
mod packed;
mod skills;

use std::sync::{Arc, OnceLock};

use self::files::Files;
pub use self::head::{Counts, FORMAT, Groups, Head, HeadError, LibraryMark};
pub use self::skills::SkillRow;
pub(crate) use self::skills::Skills;
use crate::embedding::{EmbedError, Fit, Vectors};
use crate::index::{DenseIndex, SparseIndex};
use crate::library::Library;
use crate::neighborhood::Neighborhoods;
use crate::page::write::PageRow;
use crate::page::{Page, Pages};
use crate::protocol::Against;
use crate::rivals::{MappedRivals, Rival, Rivals};
use crate::route::Encoder;
use crate::sections::FileError;
use crate::skill::{Skill, SkillId, SkillIdx};
use crate::store::{Blob, Store, StoreError, Version};
use crate::text::{Tokenizer, for_each_term};
use crate::view::{Extent, View};

/// One generation of an atlas, open.
pub struct Snapshot {
    head: Head,
    store: Arc<dyn Store>,
    skills: Skills,
    terms: Arc<SparseIndex>,
    phrases: Arc<SparseIndex>,
    meanings: DenseIndex,
    /// Read by few: opened when first asked for, from bytes that are held from the start.
    vectors: (Blob, OnceLock<DenseIndex>),
    model: Option<Blob>,
    rivals: Option<MappedRivals>,
    neighborhoods: OnceLock<Neighborhoods>,
    pages: OnceLock<Vec<PageRow>>,
    own_encoder: OnceLock<Result<Option<Arc<Encoder>>, FileError>>,
}

/// Why a state cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// There is none.
    #[error("{store} holds no compiled library")]
    Empty {
        /// Where it was looked for.
        store: String,
    },
    /// A file is damaged, missing, or of another generation; a compilation makes it again.
    #[error("{file} in {store} {source}")]
    Damaged {
        /// Where.
        store: String,
        /// Which file.
        file: String,
        /// What is wrong with it.
        source: FileError,
    },
    /// The head is of a later version.
    #[error("{store} {source}")]
    Head {
        /// Where.
        store: String,
        /// What is wrong.
        source: HeadError,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Texts could not be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

impl SnapshotError {
    /// Does a compilation put it right?
    pub fn heals(&self) -> bool {
        matches!(self, Self::Empty { .. } | Self::Damaged { .. })
    }
}

/// The files of a generation.
pub(crate) mod part {
    pub(crate) const HEAD: &str = "head";
    pub(crate) const SKILLS: &str = "skills";
    pub(crate) const TERMS: &str = "terms";
    pub(crate) const PHRASES: &str = "phrases";
    pub(crate) const MEANINGS: &str = "meanings";
    pub(crate) const VECTORS: &str = "vectors";
    pub(crate) const MODEL: &str = "model";
    /// Only where pages are written against rivals.
    pub(crate) const RIVALS: &str = "rivals";
}

/// Skills whose descriptions tell in which script a library is written, at most.
const SAMPLED: usize = 256;

/// How often a reader looks again for files that a compilation has just put away.
const PATIENCE: usize = 20;

impl Snapshot {
    /// Opens the state that counts now.
    pub fn open(store: Arc<dyn Store>) -> Result<Self, SnapshotError> {
        let mut opened = Self::open_once(&store);
        for _ in 0..PATIENCE {
            let Err((SnapshotError::Damaged { .. }, Some(version))) = &opened else { break };
            // A commit between reading the head and opening its files puts these away.
            if Version::of(store.head()?.as_deref()) == *version {
                break;
            }
            opened = Self::open_once(&store);
        }
        opened.map_err(|(error, _)| error)
    }

    /// On failure also says of which head.
    fn open_once(store: &Arc<dyn Store>) -> Result<Self, (SnapshotError, Option<Version>)> {
        let bytes = store.head().map_err(|error| (error.into(), None))?;
        let version = Version::of(bytes.as_deref());
        let empty = || SnapshotError::Empty { store: store.name() };
        let bytes = bytes.ok_or_else(|| (empty(), None))?;
        let head = Head::from_bytes(&bytes).map_err(|source| {
            let error = match source {
                HeadError::Damaged => SnapshotError::Damaged {
                    store: store.name(),
                    file: part::HEAD.into(),
                    source: FileError::Damaged { what: "its checksum does not fit" },
                },
                source => SnapshotError::Head { store: store.name(), source },
            };
            (error, Some(version))
        })?;
        Self::of(head, store).map_err(|error| (error, Some(version)))
    }

    fn of(head: Head, store: &Arc<dyn Store>) -> Result<Self, SnapshotError> {
        let files = Files { head: &head, store };
        let skills = files.open(part::SKILLS, |blob| Skills::open(blob, &head.content_key()))?;
        let count = skills.len();
        let of_this = |index: &SparseIndex| {
            index.len() == count && index.made_from() == head.made_from(index.config().view)
        };
        let sparse = |part| {
            let index = files.open(part, SparseIndex::open)?;
            if of_this(&index) { Ok(Arc::new(index)) } else { Err(files.foreign(part)) }
        };
        let (terms, phrases) = (sparse(part::TERMS)?, sparse(part::PHRASES)?);
        let meanings = files.open(part::MEANINGS, DenseIndex::open)?;
        if meanings.len() != count {
            return Err(files.foreign(part::MEANINGS));
        }
        let vectors = (files.blob(part::VECTORS)?, OnceLock::new());
        let model = head.files.contains_key(part::MODEL);
        let model = model.then(|| files.blob(part::MODEL)).transpose()?;
        let rivals = head.files.contains_key(part::RIVALS);
        let open = |blob| MappedRivals::open(blob, count);
        let rivals = rivals.then(|| files.open(part::RIVALS, open)).transpose()?;
        let (neighborhoods, pages, own_encoder) = Default::default();
        let store = Arc::clone(store);
        Ok(Self {
            store,
            skills,
            terms,
            phrases,
            meanings,
            vectors,
            model,
            rivals,
            neighborhoods,
            pages,
            own_encoder,
            head,
        })
    }

    /// What it knows beside its files.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Which state of the atlas it is.
    pub fn generation(&self) -> u64 {
        self.head.generation
    }

    /// Where it is kept, for people.
    pub fn store_name(&self) -> String {
        self.store.name()
    }

    /// How many skills there are.
    pub fn len(&self) -> usize {
        self.skills.len()
    }

    /// True if there is no skill.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = SkillIdx> {
        (0..self.len() as u32).map(SkillIdx)
    }

    /// A skill, without its document.
    pub fn row(&self, skill: SkillIdx) -> SkillRow<'_> {
        self.skills.row(skill)
    }

    /// Digest of a skill's document.
    pub fn digest(&self, skill: SkillIdx) -> String {
        self.skills.digest(skill)
    }

    /// A skill with its document.
    pub fn skill(&self, skill: SkillIdx) -> Result<Skill, SnapshotError> {
        self.skills.skill(skill).map_err(|error| self.damaged(part::SKILLS, error))
    }

    /// The library as it was when it was compiled.
    pub fn library(&self) -> Result<Library, SnapshotError> {
        self.skills.library().map_err(|error| self.damaged(part::SKILLS, error))
    }

    /// The skill of that id; or, if no id matches, of that name when only one has it.
    pub fn find(&self, id_or_name: &str) -> Option<SkillIdx> {
        self.skills.find(id_or_name)
    }

    /// What a reference is shown as: the skill's name, or its id if the library has it no more.
    pub fn name_of(&self, id: &SkillId) -> String {
        let found = self.skills.find_id(id.as_str());
        found.map_or_else(|| id.to_string(), |skill| self.row(skill).name.to_owned())
    }

    /// What became of a skill's page.
    pub fn page_row(&self, skill: SkillIdx) -> Result<PageRow, SnapshotError> {
        self.skills.page(skill).map_err(|error| self.damaged(part::SKILLS, error))
    }

    /// A skill's page, unless it is served by its document.
    pub(crate) fn page(&self, skill: SkillIdx) -> Option<Page> {
        // What cannot be read is remembered by the file, and `sound` says so.
        self.skills.page(skill).ok().and_then(|row| row.page)
    }

    /// All rows of pages, in the order of the skills.
    pub fn page_rows(&self) -> Result<&[PageRow], SnapshotError> {
        if let Some(rows) = self.pages.get() {
            return Ok(rows);
        }
        let rows = self.skills.pages().map_err(|error| self.damaged(part::SKILLS, error))?;
        Ok(self.pages.get_or_init(|| rows))
    }

    /// All pages.
    pub fn pages(&self) -> Result<Pages, SnapshotError> {
        Ok(Pages::new(self.page_rows()?.iter().map(|row| row.page.clone()).collect()))
    }

    /// Who could be taken for whom.
    pub fn neighborhoods(&self) -> &Neighborhoods {
        self.neighborhoods.get_or_init(|| self.skills.neighborhoods())
    }

    /// All rivals, where pages are written against them.
    pub(crate) fn rivals(&self) -> Result<Option<Rivals>, SnapshotError> {
        let Some(file) = &self.rivals else { return Ok(None) };
        let rivals = file.all();
        file.sound().map_err(|error| self.damaged(part::RIVALS, error))?;
        Ok(Some(rivals))
    }

    /// What pages are written against.
    pub fn against(&self) -> Against {
        if self.rivals.is_some() { Against::Rivals } else { Against::Neighborhood }
    }

    /// The skills that one skill's page is written against: its rivals, those that win most first, or the
    /// others of its neighborhood, if these are enough to be contrasted, the likest first.
    pub fn rivals_of(&self, skill: SkillIdx) -> Result<Vec<Rival>, SnapshotError> {
        if let Some(file) = &self.rivals {
            return Ok(file.of(skill));
        }
        let (neighborhoods, vectors) = (self.neighborhoods(), self.vectors()?);
        let min_contrast = self.head.protocol.neighborhood.min_contrast;
        let mut rivals: Vec<Rival> = neighborhoods
            .look_alikes(skill, min_contrast)
            .map(|other| Rival { skill: other, weight: vectors.similarity(skill, other) })
            .collect();
        rivals.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.skill.cmp(&b.skill)));
        Ok(rivals)
    }

    /// The skills whose documents say the same as that of one, where they are set apart from its rivals.
    pub fn copies_of(&self, skill: SkillIdx) -> Vec<SkillIdx> {
        self.rivals.as_ref().map_or_else(Vec::new, |file| file.copies(skill))
    }

    /// The vectors by which skills are compared for likeness.
    pub fn vectors(&self) -> Result<&Vectors, SnapshotError> {
        let (blob, opened) = &self.vectors;
        if let Some(index) = opened.get() {
            return Ok(index.vectors());
        }
        let index = DenseIndex::open(blob.clone());
        let index = index.and_then(|index| index.check().map(|()| index));
        let index = index.map_err(|error| self.damaged(part::VECTORS, error))?;
        if index.len() != self.len() {
            return Err(self.files().foreign(part::VECTORS));
        }
        Ok(opened.get_or_init(|| index).vectors())
    }

    /// The fitted model, where the vectors are fitted to the library itself.
    pub fn fit(&self) -> Result<Option<Fit>, SnapshotError> {
        let fit = self.model.as_ref().map(|blob| Fit::from_bytes(blob)).transpose();
        fit.map_err(|_| {
            self.damaged(part::MODEL, FileError::Damaged { what: "its checksum does not fit" })
        })
    }

    /// The library's own vectors as an encoder of requests, where the program's word vectors cannot read its
    /// language: in Chinese they know nothing. `None` for English libraries, and for vectors of a model.
    pub(crate) fn own_encoder(&self) -> Option<Arc<Encoder>> {
        let opened = self.own_encoder.get_or_init(|| {
            if self.model.is_none() || self.is_english() {
                return Ok(None);
            }
            let unreadable = || FileError::Damaged { what: "its checksum does not fit" };
            let Some(fit) = self.fit().map_err(|_| unreadable())? else { return Ok(None) };
            let index = DenseIndex::open(self.vectors.0.clone())?;
            index.check()?;
            let is_whole = index.len() == self.len() && index.vectors().dimensions() > 0;
            Ok(is_whole.then(|| Arc::new(Encoder::of_library(Box::new(fit), index))))
        });
        opened.as_ref().ok()?.clone()
    }

    /// Are most words of what its skills say of themselves in a script that the word vectors know?
    fn is_english(&self) -> bool {
        let step = self.len().div_ceil(SAMPLED).max(1);
        let (mut known, mut foreign) = (0, 0);
        for skill in self.rows().step_by(step) {
            for_each_term(self.row(skill).description, Tokenizer::Auto, |term| {
                let count = if term.is_ascii() { &mut known } else { &mut foreign };
                *count += 1;
            });
        }
        foreign <= known
    }

    /// BM25 over words of the full view, cut or whole as the library's own test found better.
    pub fn terms(&self) -> &Arc<SparseIndex> {
        &self.terms
    }

    /// Words and pairs of words over the full view.
    pub fn phrases(&self) -> &Arc<SparseIndex> {
        &self.phrases
    }

    /// What each skill says it is for, by the program's own word vectors.
    pub fn meanings(&self) -> &DenseIndex {
        &self.meanings
    }

    /// Was everything sound that was read so far? What is damaged reads as nothing, so an answer
    /// counts only if this holds after it was made.
    pub fn sound(&self) -> Result<(), SnapshotError> {
        let checks: [(&str, Result<(), FileError>); 4] = [
            (part::SKILLS, self.skills.sound()),
            (part::TERMS, self.terms.sound()),
            (part::PHRASES, self.phrases.sound()),
            (part::MEANINGS, self.meanings.sound()),
        ];
        let rivals = self.rivals.iter().map(|file| (part::RIVALS, file.sound()));
        if let Some(Err(error)) = self.own_encoder.get() {
            return Err(self.damaged(part::MODEL, error.clone()));
        }
        for (part, sound) in checks.into_iter().chain(rivals) {
            sound.map_err(|error| self.damaged(part, error))?;
        }
        Ok(())
    }

    /// Is everything that another compilation would start from sound?
    pub(crate) fn check(&self) -> Result<(), SnapshotError> {
        self.skills.check().map_err(|error| self.damaged(part::SKILLS, error))?;
        if let Some(rivals) = &self.rivals {
            rivals.check().map_err(|error| self.damaged(part::RIVALS, error))?;
        }
        self.fit()?;
        self.vectors().map(drop)
    }

    fn files(&self) -> Files<'_> {
        Files { head: &self.head, store: &self.store }
    }

    fn damaged(&self, part: &str, source: FileError) -> SnapshotError {
        self.files().damaged(part, source)
    }
}

impl Head {
    /// How much of documents and pages an index over a view shows.
    pub fn extent(&self, view: View) -> Extent {
        if view.reads_pages() { self.protocol.indexed } else { Extent::default() }
    }

    /// What the text of a view was made from: the library, and the pages where it reads them.
    pub(crate) fn made_from(&self, view: View) -> String {
        made_from(&self.library.digest, &self.pages_digest, view)
    }

    /// Part of what every file of the generation is checked against.
    pub(crate) fn content_key(&self) -> String {
        made_from(&self.library.digest, &self.pages_digest, View::Full)
    }

    /// Does a generation with this head use that file?
    pub(crate) fn uses(&self, blob: &str) -> bool {
        let beside = [View::Raw, View::Full].iter().any(|&view| {
            let of = blake3::hash(self.made_from(view).as_bytes()).to_hex();
            blob.strip_prefix(EXTRA).is_some_and(|name| name.starts_with(&of[..24]))
        });
        beside || self.files.values().any(|file| file == blob)
    }
}

pub(crate) fn made_from(library: &str, pages: &str, view: View) -> String {
    if view.reads_pages() { format!("{library} {pages}") } else { library.to_owned() }
}

/// How the names of files beside a generation's own begin.
const EXTRA: &str = "beside-";
