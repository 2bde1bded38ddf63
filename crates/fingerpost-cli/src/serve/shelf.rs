//! What is worth keeping of a generation, once it was made for an answer?
//!
//! The map, who wins which judged request, and indexes that are not the generation's own take long and are
//! asked for again. They are of one generation, and go with it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use axum::body::Bytes;
use fingerpost::eval::{Gold, judged_requests, name_by_id};
use fingerpost::index::{SparseConfig, SparseIndex};
use fingerpost::library::find_file;
use fingerpost::losses::{Contest, Owned};
use fingerpost::map::MapAnswer;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::problem::Problem;
use crate::args::{Global, LibraryArgs};
use crate::live::Open;
use crate::output;
use crate::source;

/// Indexes that are kept open.
const INDEXES: usize = 8;

/// Kept for the newest generation that was asked for.
#[derive(Default)]
pub(super) struct Shelf {
    kept: Mutex<Kept>,
    /// One makes a thing at a time; the others take what it made.
    making: Mutex<()>,
}

#[derive(Default)]
struct Kept {
    of: Key,
    indexes: Vec<(SparseConfig, Arc<SparseIndex>)>,
    contest: Option<(Stamp, Option<Arc<Contest>>)>,
    map: Option<(Stamp, Map)>,
}

/// A generation, as answers tell of it.
#[derive(Default)]
struct Key {
    generation: u64,
    stale: bool,
    library: String,
    pages: String,
}

/// What the files of judged requests look like from outside.
type Stamp = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// The map as it is sent.
#[derive(Clone)]
pub(super) struct Map {
    pub(super) etag: String,
    pub(super) plain: Bytes,
    pub(super) packed: Bytes,
}

impl Shelf {
    fn with<T>(&self, open: &Open, take: impl FnOnce(&mut Kept) -> T) -> T {
        let (head, stale) = (open.reading.snapshot.head(), open.reading.stale);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = (kept.of.generation, kept.of.stale) == (head.generation, stale)
            && (&kept.of.library, &kept.of.pages) == (&head.library.digest, &head.pages_digest);
        if !is_same {
            let (library, pages) = (head.library.digest.clone(), head.pages_digest.clone());
            let of = Key { generation: head.generation, stale, library, pages };
            *kept = Kept { of, ..Kept::default() };
        }
        take(&mut kept)
    }

    /// An index of terms, open.
    pub(super) fn index(
        &self,
        open: &Open,
        config: &SparseConfig,
    ) -> Result<Arc<SparseIndex>, Problem> {
        let found = |kept: &mut Kept| {
            let found = kept.indexes.iter().find(|(of, _)| of == config);
            found.map(|(_, index)| Arc::clone(index))
        };
        if let Some(index) = self.with(open, found) {
            return Ok(index);
        }
        let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = self.with(open, found) {
            return Ok(index);
        }
        let snapshot = &open.reading.snapshot;
        let index = match snapshot.index_at_hand(config)? {
            Some(index) => index,
            None => {
                let index = snapshot.index(config)?;
                // It can be made again, so it is no loss if it cannot be kept.
                let _ = snapshot.keep_index(&index);
                index
            }
        };
        self.with(open, |kept| {
            kept.indexes.truncate(INDEXES - 1);
            kept.indexes.insert(0, (*config, Arc::clone(&index)));
        });
        Ok(index)
    }

    /// Who wins the judged requests beside the library; `None` where there are none.
    pub(super) fn contest(
        &self,
        open: &Open,
        library: &LibraryArgs,
    ) -> Result<Option<Arc<Contest>>, Problem> {
        let stamp = stamp(library);
        let found = |kept: &mut Kept| match &kept.contest {
            Some((of, contest)) if *of == stamp => Some(contest.clone()),
            _ => None,
        };
        if let Some(contest) = self.with(open, found) {
            return Ok(contest);
        }
        let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(contest) = self.with(open, found) {
            return Ok(contest);
        }
        let contest = contest(open, library)?.map(Arc::new);
        self.with(open, |kept| kept.contest = Some((stamp, contest.clone())));
        Ok(contest)
    }

    /// The map, as it is sent.
    pub(super) fn map(
        &self,
        open: &Open,
        library: &LibraryArgs,
        global: &Global,
    ) -> Result<Map, Problem> {
        let stamp = stamp(library);
        let found = |kept: &mut Kept| match &kept.map {
            Some((of, map)) if *of == stamp => Some(map.clone()),
            _ => None,
        };
        if let Some(map) = self.with(open, found) {
            return Ok(map);
        }
        let contest = self.contest(open, library)?;
        let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = self.with(open, found) {
            return Ok(map);
        }
        let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
        let lost = contest
            .as_ref()
            .map(|contest| move |neighborhood| contest.lost_within(snapshot, neighborhood));
        let lost = lost.as_ref().map(|lost| lost as &dyn Fn(_) -> Option<f64>);
        let answer = MapAnswer::new(snapshot, freshness, global.seed, lost)?;
        let plain = output::json_bytes(&answer).map_err(anyhow::Error::from)?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::new(6));
        packed.write_all(&plain).map_err(anyhow::Error::from)?;
        let packed = packed.finish().map_err(anyhow::Error::from)?;
        let etag = format!("\"{}\"", &blake3::hash(&plain).to_hex()[..32]);
        let map = Map { etag, plain: plain.into(), packed: packed.into() };
        self.with(open, |kept| kept.map = Some((stamp, map.clone())));
        Ok(map)
    }
}

fn stamp(library: &LibraryArgs) -> Stamp {
    let Some(folder) = source::folder(library) else { return Vec::new() };
    let names: [&[&str]; 2] =
        [&["queries.jsonl", "queries.json"], &["qrels.tsv", "qrels/test.tsv"]];
    let files = names.into_iter().filter_map(|names| find_file(folder, names));
    let looks = files.map(|file| {
        let data = file.metadata().ok();
        let length = data.as_ref().map_or(0, std::fs::Metadata::len);
        (file, length, data.and_then(|data| data.modified().ok()))
    });
    looks.collect()
}

/// Are there judged requests beside a library?
pub(super) fn is_judged(library: &LibraryArgs) -> bool {
    source::folder(library).is_some_and(|folder| {
        find_file(folder, &["queries.jsonl", "queries.json"]).is_some()
            || folder.join("instances").is_dir()
    })
}

fn contest(open: &Open, library: &LibraryArgs) -> Result<Option<Contest>, Problem> {
    let Some(folder) = source::folder(library).filter(|_| is_judged(library)) else {
        return Ok(None);
    };
    let judged = match judged_requests(folder, "dataset") {
        Ok(Some(judged)) => judged,
        Ok(None) => return Ok(None),
        Err(error) => {
            // Somebody else's file beside the library is no reason to answer nothing.
            tracing::warn!("{}", output::plain(&error.to_string()));
            return Ok(None);
        }
    };
    let snapshot = &open.reading.snapshot;
    let qrels = match judged.gold {
        Gold::Qrels => judged.qrels,
        Gold::Requests => {
            let ids = snapshot.rows().map(|skill| snapshot.row(skill).id);
            name_by_id(&judged.qrels, ids)
        }
    };
    let owned = judged.queries.into_iter().map(|query| {
        let grades = qrels.get(&query.id).into_iter().flatten();
        let right = grades.filter(|(_, grade)| **grade > 0);
        let mut owners: Vec<_> = right.filter_map(|(id, _)| snapshot.find(id)).collect();
        owners.sort_unstable();
        Owned { query: query.id, text: query.text, owners }
    });
    let contest = Contest::of(snapshot, owned.collect()).map_err(anyhow::Error::from)?;
    Ok(Some(contest).filter(|contest| !contest.is_empty()))
}
