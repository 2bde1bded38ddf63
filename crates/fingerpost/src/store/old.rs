//! What did atlases of earlier versions keep?
//!
//! Formats 1 to 6 were one SQLite file for everything. What can be made again is; what a person or
//! money made is read from there: pages that were pinned or that a model wrote, and the ledger. The
//! file itself is copied and read, never changed.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Row};

use crate::atlas::Entry;
use crate::chat::{Finish, Reply, Usage};
use crate::kept::{KeptPage, Origin};
use crate::page::Page;
use crate::skill::SkillId;

/// The latest of those formats.
const LAST_FORMAT: i64 = 6;

/// An atlas of an earlier version.
pub struct OldAtlas {
    connection: Connection,
    path: PathBuf,
    /// Where the copy is, until nobody needs it.
    _copy: Copy,
}

/// Why it cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read as an atlas of an earlier version: {message}", path.display())]
pub struct OldError {
    path: PathBuf,
    message: String,
}

impl OldAtlas {
    /// Opens a copy of the file.
    pub fn open(path: &Path) -> Result<Self, OldError> {
        let failed = |message: String| OldError { path: path.to_path_buf(), message };
        let copy = Copy::of(path).map_err(|error| failed(error.to_string()))?;
        let connection = Connection::open_with_flags(&copy.file, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|error| failed(error.to_string()))?;
        let format: i64 = connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(|error| failed(error.to_string()))?;
        if !(1..=LAST_FORMAT).contains(&format) {
            return Err(failed(format!("it has format {format}")));
        }
        Ok(Self { connection, path: path.to_path_buf(), _copy: copy })
    }

    /// The pages that a person or money made. They are older than anything that was kept since.
    pub fn pages(&self) -> Result<Vec<KeptPage>, OldError> {
        if !self.has("pages")? {
            return Ok(Vec::new());
        }
        let select = "SELECT skill, document, key, status, trigger, boundary, body, writer
                      FROM pages WHERE status = '\"pinned\"' OR writer NOT LIKE 'local %' ORDER BY skill";
        self.read(select, |row| {
            let trigger: Option<String> = row.get(4)?;
            let page = match trigger {
                None => None,
                Some(trigger) => {
                    let boundary: String = row.get(5)?;
                    let boundary = serde_json::from_str(&boundary).unwrap_or_default();
                    Some(Page { trigger, boundary, body: row.get(6)? })
                }
            };
            let pinned = row.get::<_, String>(3)? == "\"pinned\"";
            Ok(KeptPage {
                at: 0,
                skill: SkillId::new(row.get::<_, String>(0)?),
                root: String::new(),
                document: row.get(1)?,
                origin: if pinned { Origin::Hand } else { Origin::Model },
                writer: row.get(7)?,
                key: row.get(2)?,
                pinned,
                page,
                findings: Vec::new(),
            })
        })
    }

    /// Every call, as records of a ledger.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, OldError> {
        if !self.has("calls")? {
            return Ok(Vec::new());
        }
        let purpose = match self
            .read("SELECT 1 FROM pragma_table_info('calls') WHERE name = 'purpose'", |_| Ok(()))?
            .is_empty()
        {
            true => "CASE WHEN state = 'done' AND reply IS NULL THEN 'embedding' ELSE 'page' END",
            false => "purpose",
        };
        let select = format!(
            "SELECT key, state, model, endpoint, started, finished, input, cached, written, output,
                 cost, answered_by, finish, reply, error, {purpose} FROM calls ORDER BY key"
        );
        let calls = self.read(&select, |row| {
            let text = |at: usize| row.get::<_, Option<String>>(at).map(Option::unwrap_or_default);
            let [key, model, endpoint, purpose] = [text(0)?, text(2)?, text(3)?, text(15)?];
            let at: i64 = row.get(4)?;
            let usage = usage(row, 6)?;
            let cost: Option<f64> = row.get(10)?;
            let reply: Option<String> = row.get(13)?;
            if purpose == "embedding" {
                let tokens = usage.input;
                return Ok(vec![Entry::Embedded { key, model, endpoint, tokens, cost, at }]);
            }
            let started = Entry::Started {
                key: key.clone(),
                model,
                endpoint,
                purpose,
                at,
                call: None,
                most: None,
            };
            let ended = match (text(1)?.as_str(), reply) {
                ("done", Some(text_of)) => {
                    let finish = match text(12)?.as_str() {
                        "length" => Finish::Length,
                        "withheld" => Finish::Withheld,
                        _ => Finish::Stop,
                    };
                    let reply = Reply { text: text_of, usage, finish, model: text(11)? };
                    Some(Entry::Done { key, reply, cost, at, call: None })
                }
                ("failed", _) => Some(Entry::Failed { key, error: text(14)?, at, call: None }),
                _ => None,
            };
            Ok(std::iter::once(started).chain(ended).collect::<Vec<_>>())
        })?;
        Ok(calls.into_iter().flatten().collect())
    }

    fn has(&self, table: &str) -> Result<bool, OldError> {
        let select =
            format!("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{table}'");
        Ok(!self.read(&select, |_| Ok(()))?.is_empty())
    }

    fn read<T>(
        &self,
        select: &str,
        each: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, OldError> {
        let rows = (|| {
            let mut statement = self.connection.prepare(select)?;
            statement.query_map([], each)?.collect::<Result<Vec<T>, _>>()
        })();
        let path = self.path.clone();
        rows.map_err(|error| OldError { path, message: error.to_string() })
    }
}

/// Four columns from one on; what is below zero never was.
fn usage(row: &Row<'_>, at: usize) -> rusqlite::Result<Usage> {
    let count = |at| row.get::<_, i64>(at).map(|count| u64::try_from(count).unwrap_or(0));
    Ok(Usage {
        input: count(at)?,
        cached: count(at + 1)?,
        written: count(at + 2)?,
        output: count(at + 3)?,
    })
}

/// A copy of the file and of its log of changes: even reading SQLite's files writes beside them.
struct Copy {
    folder: PathBuf,
    file: PathBuf,
}

impl Copy {
    fn of(path: &Path) -> std::io::Result<Self> {
        let folder = private_folder()?;
        let copy = Self { file: folder.join("atlas.sqlite"), folder };
        std::fs::copy(path, &copy.file)?;
        let log = path.with_extension("sqlite-wal");
        if log.is_file() {
            std::fs::copy(log, copy.file.with_extension("sqlite-wal"))?;
        }
        Ok(copy)
    }
}

/// A new folder that nobody else may read: a ledger is nobody else's business.
fn private_folder() -> std::io::Result<PathBuf> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let mut last = Ok(());
    for number in 0..100 {
        let name = format!("fingerpost-old-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        last = builder.create(&folder);
        if last.is_ok() {
            return Ok(folder);
        }
    }
    last.map(|()| PathBuf::new())
}

impl Drop for Copy {
    fn drop(&mut self) {
        // A copy that stays behind does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
