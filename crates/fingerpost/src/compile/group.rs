//! Which vectors, neighborhoods and rivals do the skills get?

use std::collections::BTreeMap;

use super::work::Work;
use super::{CompileReport, Job};
use crate::atlas::AtlasError;
use crate::embedding::{EmbedError, Embedder, Fit, Profile, Role, Vectors};
use crate::library::Library;
use crate::neighborhood::{Calibration, NeighborhoodConfig, Neighborhoods, partition, update};
use crate::numbers;
use crate::protocol::Against;
use crate::rivals::{self, Rivals};
use crate::search::tuning::{Tuning, tune};
use crate::skill::SkillIdx;
use crate::snapshot::Snapshot;
use crate::view::clustering_text;

/// Of the skills, the share that may be placed one by one before everything is computed anew: by
/// then the fitted vectors and the threshold describe another library.
const MAX_PLACED_SHARE: f64 = 0.2;

/// Skills that are grouped; the pages are still to be written.
pub(super) struct Grouped {
    pub(super) neighborhoods: Neighborhoods,
    /// Where pages are written against them.
    pub(super) rivals: Option<Rivals>,
    pub(super) calibration: Calibration,
    pub(super) placed: usize,
    pub(super) embedded: Embedded,
    pub(super) report: CompileReport,
}

/// A library's vectors, and what made them.
pub(super) struct Embedded {
    pub(super) profile: Profile,
    pub(super) vectors: Vectors,
    /// The fitted model's bytes, where the vectors are fitted to the library.
    pub(super) model: Option<Vec<u8>>,
    pub(super) tuning: Tuning,
}

/// Vectors and neighborhoods: those of before with what changed placed among them, or all anew.
pub(super) fn group(
    job: &Job<'_>,
    before: Option<&Snapshot>,
    work: &Work<'_>,
) -> Result<Grouped, AtlasError> {
    let skills = job.library.skills().len();
    let change = before.map(|before| Change::between(before, job.library));
    let carried = before.zip(change.as_ref()).filter(|(before, change)| {
        let placed = before.head().placed + change.fresh();
        !job.rebuild
            && before.head().protocol.neighborhood == job.protocol.neighborhood
            && before.head().protocol.clustering == job.protocol.clustering
            && before.head().protocol.embedder == job.protocol.embedder
            && before.head().protocol.numbers == numbers::VERSION
            && continues(job.embedder, &before.head().profile)
            && placed as f64 <= MAX_PLACED_SHARE * skills as f64
    });
    let (added, changed, removed) = change
        .as_ref()
        .map_or((skills, 0, 0), |change| (change.added, change.changed, change.removed));
    let report = CompileReport {
        added,
        changed,
        removed,
        embedded: skills,
        partition: None,
        touched: 0,
        written: 0,
    };
    if let Some((before, change)) = carried {
        let vectors = embed_new(job, before, &change.came_from)?;
        let head = before.head();
        let max_size = job.protocol.neighborhood.max_size;
        let max_distance = head.calibration.max_distance;
        let update =
            update(before.neighborhoods(), &change.came_from, &vectors, max_distance, max_size);
        let (rivals, touched) = match rivals_now(job, before, change)? {
            Some((rivals, touched)) => (Some(rivals), touched),
            None => (None, update.changed.len()),
        };
        return Ok(Grouped {
            neighborhoods: update.neighborhoods,
            rivals,
            calibration: head.calibration.clone(),
            placed: head.placed + change.fresh(),
            embedded: Embedded {
                profile: head.profile.clone(),
                vectors,
                model: before.fit()?.map(|fit| fit.to_bytes()),
                tuning: head.tuning.clone(),
            },
            report: CompileReport { embedded: change.fresh(), touched, ..report },
        });
    }
    let embedded = work.embedded(job, || embed_all(job))?;
    let config = job.protocol.neighborhood;
    let max_distance = config.max_distance.for_profile(&embedded.profile);
    let (neighborhoods, made) =
        partition(&embedded.vectors, &NeighborhoodConfig { max_distance, ..config });
    let rivals = (job.protocol.against == Against::Rivals).then(|| rivals::find(job.library));
    let touched = if rivals.is_some() { skills } else { neighborhoods.len() };
    Ok(Grouped {
        rivals,
        placed: 0,
        calibration: made.calibration.clone(),
        report: CompileReport { touched, partition: Some(made), ..report },
        neighborhoods,
        embedded,
    })
}

/// The rivals, where pages are written against them, and how many skills have others than before or one whose
/// document changed: those of before with what changed placed among them, or all anew.
fn rivals_now(
    job: &Job<'_>,
    before: &Snapshot,
    change: &Change,
) -> Result<Option<(Rivals, usize)>, AtlasError> {
    if job.protocol.against != Against::Rivals {
        return Ok(None);
    }
    let Some(known) = before.rivals()? else {
        let found = rivals::find(job.library);
        return Ok(Some((found, job.library.skills().len())));
    };
    let skills = job.library.skills();
    let now = |row: SkillIdx| {
        let id = before.row(row).id;
        let row = skills.binary_search_by(|skill| skill.id.as_str().cmp(id)).ok()?;
        Some(SkillIdx(row as u32))
    };
    let update = rivals::update(&known, &change.came_from, now, job.library);
    Ok(Some((update.rivals, update.touched.len())))
}

/// Are vectors of this profile ours to add to? A fit stays in use until all is made anew.
fn continues(embedder: Option<&dyn Embedder>, profile: &Profile) -> bool {
    match embedder {
        None => Fit::made(profile),
        Some(embedder) => embedder.profile() == profile,
    }
}

fn embed_all(job: &Job<'_>) -> Result<Embedded, EmbedError> {
    let which = job.protocol.clustering;
    let skills = job.library.skills().iter();
    let texts: Vec<String> = skills.map(|skill| clustering_text(skill, which)).collect();
    match job.embedder {
        None => {
            let config = job.protocol.fit();
            let (fit, vectors) = Fit::train(&texts, &config);
            let tuning = tune(job.library, which, |texts| Fit::train(texts, &config).0)?;
            let (profile, model) = (fit.profile().clone(), Some(fit.to_bytes()));
            Ok(Embedded { profile, vectors, model, tuning })
        }
        Some(embedder) => {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vectors = embedder.embed(&texts, Role::Document)?;
            let tuning = tune(job.library, which, |_| embedder)?;
            let profile = embedder.profile().clone();
            Ok(Embedded { profile, vectors, model: None, tuning })
        }
    }
}

/// Rows of unchanged skills are taken over, the others embedded.
fn embed_new(
    job: &Job<'_>,
    before: &Snapshot,
    came_from: &[Option<SkillIdx>],
) -> Result<Vectors, AtlasError> {
    let new: Vec<String> = job
        .library
        .skills()
        .iter()
        .zip(came_from)
        .filter(|(_, from)| from.is_none())
        .map(|(skill, _)| clustering_text(skill, job.protocol.clustering))
        .collect();
    let texts: Vec<&str> = new.iter().map(String::as_str).collect();
    let embedded = match job.embedder {
        _ if texts.is_empty() => Vectors::default(),
        Some(embedder) => embedder.embed(&texts, Role::Document)?,
        None => {
            let lost = || EmbedError::Model {
                model: before.head().profile.name.clone(),
                message: "the atlas lacks its model".into(),
            };
            before.fit()?.ok_or_else(lost)?.embed(&texts, Role::Document)?
        }
    };
    let mut new_rows = embedded.rows();
    let kept = before.vectors()?;
    let dimensions = kept.dimensions();
    let mut values = Vec::with_capacity(came_from.len() * dimensions);
    for from in came_from {
        let row = match from {
            Some(from) => kept.row(from.row()),
            None => new_rows.next().expect("one vector a new text"),
        };
        values.extend_from_slice(row);
    }
    Ok(Vectors::of_unit_rows(dimensions, values))
}

/// What became of a library's skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// For each new row, the row before it of the same id and document.
    pub came_from: Vec<Option<SkillIdx>>,
    /// Skills that were not there before.
    pub added: usize,
    /// Skills whose documents changed.
    pub changed: usize,
    /// Skills that are no more.
    pub removed: usize,
}

impl Change {
    /// From a generation to a library.
    pub fn between(before: &Snapshot, now: &Library) -> Self {
        let rows: BTreeMap<&str, SkillIdx> =
            before.rows().map(|row| (before.row(row).id, row)).collect();
        let mut change = Change::default();
        let mut known = 0;
        for skill in now.skills() {
            let row = rows.get(skill.id.as_str()).copied();
            let digest = skill.digest().to_hex();
            let same = row.filter(|&row| before.digest(row) == digest.as_str());
            known += usize::from(row.is_some());
            change.added += usize::from(row.is_none());
            change.changed += usize::from(row.is_some() && same.is_none());
            change.came_from.push(same);
        }
        change.removed = before.len() - known;
        change
    }

    fn fresh(&self) -> usize {
        self.added + self.changed
    }
}
