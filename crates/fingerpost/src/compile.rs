//! How does a library become an atlas?
//!
//! ```text
//! skills ──► clustering text ──► vectors ──► neighborhoods ──► pages
//! ```
//!
//! The first time, and whenever asked to, everything is computed. After that a change of the library
//! costs what it touches: unchanged skills keep their vectors, new or changed ones are placed into
//! the neighborhoods there are, and only neighborhoods that changed get new pages.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::atlas::{Compiled, SkillRow};
use crate::embedding::{EmbedError, Embedder, Fit, FitConfig, Profile, Role, Vectors};
use crate::index::SparseIndex;
use crate::library::Library;
use crate::neighborhood::{NeighborhoodConfig, Report, partition, update};
use crate::page::write::{Again, WriteConfig, Writer, pages_of, write_pages};
use crate::route::none;
use crate::search::tuning::{Tuning, tune};
use crate::skill::SkillIdx;
use crate::view::{View, clustering_text};

/// What makes the vectors.
pub enum Vectorizer<'a> {
    /// Vectors fitted to the library itself.
    Fit(FitConfig),
    /// A model from outside.
    Model(&'a dyn Embedder),
}

/// How to compile.
#[derive(Debug, Clone, Copy)]
pub struct CompileConfig {
    /// How neighborhoods are made.
    pub neighborhood: NeighborhoodConfig,
    /// Compute everything anew; pages of documents that are known stay.
    pub rebuild: bool,
    /// Who writes the pages.
    pub writer: Writer,
    /// Which known pages are written again.
    pub again: Again,
}

/// What a compilation did.
#[derive(Debug, Clone, Serialize)]
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
    /// Neighborhoods with other members than before, or with a changed member.
    pub touched: usize,
    /// Pages written now, fallbacks included.
    pub written: usize,
}

/// Of the skills, the share that may be placed one by one before everything is computed anew: by
/// then the fitted vectors and the threshold describe another library.
const MAX_PLACED_SHARE: f64 = 0.2;

/// Compiles a library, starting from what was compiled `before`; `progress` hears how many skills
/// have their page.
pub fn compile(
    library: &Library,
    stamp: String,
    mut before: Option<Compiled>,
    vectorizer: &Vectorizer<'_>,
    config: &CompileConfig,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<(Compiled, CompileReport), EmbedError> {
    let known = before.as_mut().map(|before| std::mem::take(&mut before.pages)).unwrap_or_default();
    let (mut compiled, mut report) = group(library, stamp, before, vectorizer, config)?;
    let how = WriteConfig {
        writer: config.writer,
        again: config.again,
        min_contrast: config.neighborhood.min_contrast,
    };
    let pages = write_pages(library, &compiled.neighborhoods, &known, &how, progress);
    compiled.pages = pages.rows;
    compiled.writer = config.writer.identity();
    compiled.none_below = none_below(library, &compiled);
    report.written = pages.fresh;
    Ok((compiled, report))
}

/// How much of a request some skill must explain, as the library itself tells with its pages of now.
pub fn none_below(library: &Library, compiled: &Compiled) -> f64 {
    let pages = pages_of(&compiled.pages, library);
    let config = compiled.tuning.config(View::Full);
    let index = SparseIndex::build(library, &pages, &config);
    none::calibrate(library, &pages, &compiled.neighborhoods, &index)
        .expect("an index just built is sound")
}

/// Vectors and neighborhoods; the pages are still to be written.
fn group(
    library: &Library,
    stamp: String,
    before: Option<Compiled>,
    vectorizer: &Vectorizer<'_>,
    config: &CompileConfig,
) -> Result<(Compiled, CompileReport), EmbedError> {
    let skills = SkillRow::of(library);
    let change = before.as_ref().map(|before| Change::between(&before.skills, &skills));
    let carried = before.zip(change.as_ref()).filter(|(before, change)| {
        let placed = before.placed + change.fresh();
        !config.rebuild
            && before.config == config.neighborhood
            && vectorizer.continues(&before.profile)
            && placed as f64 <= MAX_PLACED_SHARE * skills.len() as f64
    });
    let (added, changed, removed) = change
        .as_ref()
        .map_or((skills.len(), 0, 0), |change| (change.added, change.changed, change.removed));
    let library_digest = library.digest().to_hex().to_string();
    let Some((before, change)) = carried else {
        let Embedded { profile, vectors, model, tuning } = vectorizer.embed_all(library)?;
        let max_distance = config.neighborhood.max_distance.for_profile(&profile);
        let (neighborhoods, report) =
            partition(&vectors, &NeighborhoodConfig { max_distance, ..config.neighborhood });
        let done = CompileReport {
            added,
            changed,
            removed,
            embedded: skills.len(),
            touched: neighborhoods.len(),
            partition: Some(report.clone()),
            written: 0,
        };
        let compiled = Compiled {
            skills,
            neighborhoods,
            calibration: report.calibration,
            config: config.neighborhood,
            profile,
            embedder: String::new(),
            vectors,
            model,
            tuning,
            none_below: 0.0,
            library: library_digest,
            stamp,
            placed: 0,
            pages: Vec::new(),
            writer: String::new(),
        };
        return Ok((compiled, done));
    };
    let vectors = vectorizer.embed_new(library, &before, &change.came_from)?;
    let max_distance = before.calibration.max_distance;
    let max_size = config.neighborhood.max_size;
    let update = update(&before.neighborhoods, &change.came_from, &vectors, max_distance, max_size);
    let done = CompileReport {
        added,
        changed,
        removed,
        embedded: change.fresh(),
        touched: update.changed.len(),
        partition: None,
        written: 0,
    };
    let compiled = Compiled {
        skills,
        neighborhoods: update.neighborhoods,
        vectors,
        library: library_digest,
        stamp,
        placed: before.placed + change.fresh(),
        ..before
    };
    Ok((compiled, done))
}

/// What became of a library's skills.
struct Change {
    /// For each new row, the row before it of the same id and document.
    came_from: Vec<Option<SkillIdx>>,
    added: usize,
    changed: usize,
    removed: usize,
}

impl Change {
    fn between(before: &[SkillRow], now: &[SkillRow]) -> Self {
        let rows: BTreeMap<&str, usize> =
            before.iter().enumerate().map(|(row, skill)| (skill.id.as_str(), row)).collect();
        let mut change = Change { came_from: vec![], added: 0, changed: 0, removed: 0 };
        let mut known = 0;
        for skill in now {
            let row = rows.get(skill.id.as_str()).copied();
            let same = row.filter(|&row| before[row].digest == skill.digest);
            known += usize::from(row.is_some());
            change.added += usize::from(row.is_none());
            change.changed += usize::from(row.is_some() && same.is_none());
            change.came_from.push(same.map(|row| SkillIdx(row as u32)));
        }
        change.removed = before.len() - known;
        change
    }

    fn fresh(&self) -> usize {
        self.added + self.changed
    }
}

/// A library's vectors, and what made them.
struct Embedded {
    profile: Profile,
    vectors: Vectors,
    model: Option<Vec<u8>>,
    tuning: Tuning,
}

impl Vectorizer<'_> {
    /// Are vectors of this profile ours to add to? A fit stays in use until all is made anew.
    fn continues(&self, profile: &Profile) -> bool {
        match self {
            Vectorizer::Fit(_) => Fit::made(profile),
            Vectorizer::Model(embedder) => embedder.profile() == profile,
        }
    }

    fn embed_all(&self, library: &Library) -> Result<Embedded, EmbedError> {
        let texts: Vec<String> = library.skills().iter().map(clustering_text).collect();
        match self {
            Vectorizer::Fit(config) => {
                let (fit, vectors) = Fit::train(&texts, config);
                let tuning = tune(library, |texts| Fit::train(texts, config).0)?;
                let (profile, model) = (fit.profile().clone(), Some(fit.to_bytes()));
                Ok(Embedded { profile, vectors, model, tuning })
            }
            Vectorizer::Model(embedder) => {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let vectors = embedder.embed(&texts, Role::Document)?;
                let tuning = tune(library, |_| *embedder)?;
                let profile = embedder.profile().clone();
                Ok(Embedded { profile, vectors, model: None, tuning })
            }
        }
    }

    /// Rows of unchanged skills are taken over, the others embedded.
    fn embed_new(
        &self,
        library: &Library,
        before: &Compiled,
        came_from: &[Option<SkillIdx>],
    ) -> Result<Vectors, EmbedError> {
        let new: Vec<String> = library
            .skills()
            .iter()
            .zip(came_from)
            .filter(|(_, from)| from.is_none())
            .map(|(skill, _)| clustering_text(skill))
            .collect();
        let texts: Vec<&str> = new.iter().map(String::as_str).collect();
        let embedded = match self {
            _ if texts.is_empty() => Vectors::default(),
            Vectorizer::Fit(_) => fit_of(before)?.embed(&texts, Role::Document)?,
            Vectorizer::Model(embedder) => embedder.embed(&texts, Role::Document)?,
        };
        let mut new_rows = embedded.rows();
        let dimensions = before.vectors.dimensions();
        let mut values = Vec::with_capacity(came_from.len() * dimensions);
        for from in came_from {
            let row = match from {
                Some(from) => before.vectors.row(from.row()),
                None => new_rows.next().expect("one vector a new text"),
            };
            values.extend_from_slice(row);
        }
        Ok(Vectors::new(dimensions, values))
    }
}

/// The fitted model of a compiled library.
pub fn fit_of(compiled: &Compiled) -> Result<Fit, EmbedError> {
    let failed =
        |message: String| EmbedError::Model { model: compiled.profile.name.clone(), message };
    let bytes =
        compiled.model.as_ref().ok_or_else(|| failed("the atlas lacks its model".into()))?;
    Fit::from_bytes(bytes).map_err(|error| failed(error.to_string()))
}
