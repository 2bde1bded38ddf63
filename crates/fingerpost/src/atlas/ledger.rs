//! What was every model asked, what did it answer, and what did that cost?
//!
//! One row a call. A call is written down before it is made, and its answer before anything uses
//! it, both flushed to the disk: a kill at any moment loses the calls under way and no other, and
//! the next run takes what was answered from here instead of paying again. The ledger outlives
//! compilations; nothing in it is ever computed anew.

use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::catalog::Catalog;
use super::{Atlas, AtlasError};
use crate::chat::{Finish, Recording, Reply, Usage};

/// The step that adds the ledger to an atlas.
pub(super) const MIGRATION: &str = "
    CREATE TABLE calls (
        key TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('started', 'done', 'failed')),
        model TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        tries INTEGER NOT NULL DEFAULT 1,
        started INTEGER NOT NULL,
        finished INTEGER,
        input INTEGER NOT NULL DEFAULT 0,
        cached INTEGER NOT NULL DEFAULT 0,
        written INTEGER NOT NULL DEFAULT 0,
        output INTEGER NOT NULL DEFAULT 0,
        cost REAL,
        answered_by TEXT,
        finish TEXT,
        reply TEXT,
        error TEXT
    ) STRICT;
    CREATE INDEX calls_by_day ON calls (started);
    CREATE TABLE endpoints (
        endpoint TEXT NOT NULL,
        model TEXT NOT NULL,
        dialect TEXT NOT NULL,
        PRIMARY KEY (endpoint, model)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE batches (
        number INTEGER PRIMARY KEY,
        endpoint TEXT NOT NULL,
        model TEXT NOT NULL,
        tag TEXT NOT NULL,
        batch TEXT,
        state TEXT NOT NULL CHECK (state IN ('submitting', 'submitted', 'done', 'failed')),
        submitted INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE batch_calls (
        number INTEGER NOT NULL REFERENCES batches (number),
        key TEXT NOT NULL,
        PRIMARY KEY (number, key)
    ) STRICT, WITHOUT ROWID;
";

/// The step that tells what a call was for. Before it, models wrote pages and embedded texts; the
/// latter left no reply.
pub(super) const PURPOSE: &str = "
    ALTER TABLE calls ADD COLUMN purpose TEXT NOT NULL DEFAULT 'page';
    UPDATE calls SET purpose = 'embedding' WHERE state = 'done' AND reply IS NULL;
";

/// The ledger of an atlas, open.
#[derive(Debug)]
pub struct Ledger {
    connection: Mutex<Connection>,
    path: std::path::PathBuf,
}

/// What was spent on one model for one purpose on one day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spend {
    /// The day the calls were made (UTC).
    pub day: String,
    /// The model.
    pub model: String,
    /// What for: a page, a choice, an embedding.
    pub purpose: String,
    /// Calls that were answered.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that never came back: killed on the way, or under way now.
    pub unfinished: u64,
    /// Tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// Dollars, for the calls whose price was known.
    pub cost_usd: f64,
    /// Calls whose price was not.
    pub unpriced: u64,
}

/// A batch under way at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Our number of it.
    pub number: i64,
    /// What we call it there: a digest of what it asks.
    pub tag: String,
    /// The server's name of it; `None` if we died before it was told.
    pub id: Option<String>,
    /// When it was submitted, in milliseconds since 1970.
    pub submitted: i64,
    /// The prompts in it.
    pub keys: Vec<String>,
}

impl Atlas {
    /// Opens the ledger; what is written to it is on the disk when the call returns.
    pub fn ledger(&self) -> Result<Ledger, AtlasError> {
        std::fs::create_dir_all(&self.path).map_err(|source| AtlasError::File {
            action: "write",
            path: self.path.clone(),
            source,
        })?;
        let (connection, path) = Catalog::open_or_create(self)?.into_parts();
        connection
            .pragma_update(None, "synchronous", "FULL")
            .map_err(|source| AtlasError::Catalog { path: path.clone(), source })?;
        Ok(Ledger { connection: Mutex::new(connection), path })
    }
}

impl Ledger {
    /// The answer to a prompt, if there is one.
    pub fn reply(&self, key: &str) -> Result<Option<Reply>, AtlasError> {
        self.with(|connection| {
            connection
                .prepare_cached(&format!("{SELECT_REPLY} WHERE state = 'done' AND key = ?"))?
                .query_row([key], |row| Ok(recording(row)?.reply))
                .optional()
        })
    }

    /// A call is about to be made.
    pub fn start(
        &self,
        key: &str,
        model: &str,
        endpoint: &str,
        purpose: &str,
    ) -> Result<(), AtlasError> {
        self.with(|connection| {
            connection
                .prepare_cached(
                    "INSERT INTO calls (key, state, model, endpoint, started, purpose) VALUES (?1, 'started', ?2, ?3, ?4, ?5)
                     ON CONFLICT (key) DO UPDATE SET state = 'started', endpoint = ?3, started = ?4,
                         tries = tries + 1, finished = NULL, error = NULL WHERE state <> 'done'",
                )?
                .execute(params![key, model, endpoint, now(), purpose])
        })?;
        Ok(())
    }

    /// A call was answered. What is answered stays: a second answer to the same prompt is not kept.
    pub fn finish(&self, key: &str, reply: &Reply, cost: Option<f64>) -> Result<(), AtlasError> {
        let Usage { input, cached, written, output } = reply.usage;
        self.with(|connection| {
            connection
                .prepare_cached(
                    "UPDATE calls SET state = 'done', finished = ?2, input = ?3, cached = ?4, written = ?5,
                         output = ?6, cost = ?7, answered_by = ?8, finish = ?9, reply = ?10, error = NULL
                     WHERE key = ?1 AND state <> 'done'",
                )?
                .execute(params![
                    key,
                    now(),
                    input as i64,
                    cached as i64,
                    written as i64,
                    output as i64,
                    cost,
                    reply.model,
                    finish_name(reply.finish),
                    reply.text,
                ])
        })?;
        Ok(())
    }

    /// A call failed; it may be made again.
    pub fn fail(&self, key: &str, error: &str) -> Result<(), AtlasError> {
        self.with(|connection| {
            connection
                .prepare_cached(
                    "UPDATE calls SET state = 'failed', finished = ?2, error = ?3 WHERE key = ?1 AND state <> 'done'",
                )?
                .execute(params![key, now(), error])
        })?;
        Ok(())
    }

    /// Texts were embedded. Their vectors are kept elsewhere, by what they are vectors of; a request
    /// that was made twice was paid twice.
    pub fn embedded(
        &self,
        key: &str,
        model: &str,
        endpoint: &str,
        tokens: u64,
        cost: Option<f64>,
    ) -> Result<(), AtlasError> {
        self.with(|connection| {
            connection
                .prepare_cached(
                    "INSERT INTO calls (key, state, model, endpoint, started, finished, input, cost, purpose)
                         VALUES (?1, 'done', ?2, ?3, ?4, ?4, ?5, ?6, 'embedding')
                     ON CONFLICT (key) DO UPDATE SET tries = tries + 1, finished = ?4,
                         input = input + ?5, cost = cost + ?6",
                )?
                .execute(params![key, model, endpoint, now(), tokens as i64, cost])
        })?;
        Ok(())
    }

    /// All answers of a model, in the order of their keys: what a replay needs.
    pub fn recordings(&self, model: &str) -> Result<Vec<Recording>, AtlasError> {
        self.with(|connection| {
            let mut select = connection.prepare(&format!(
                "{SELECT_REPLY} WHERE state = 'done' AND reply IS NOT NULL AND model = ? ORDER BY key"
            ))?;
            select.query_map([model], recording)?.collect()
        })
    }

    /// What was spent, by day, model and purpose, in order.
    pub fn spend(&self) -> Result<Vec<Spend>, AtlasError> {
        self.with(|connection| {
            let mut select = connection.prepare(
                "SELECT date(started / 1000, 'unixepoch') AS day, model, purpose,
                     sum(state = 'done'), sum(state = 'failed'), sum(state = 'started'),
                     sum(input), sum(cached), sum(written), sum(output),
                     total(cost), sum(state = 'done' AND cost IS NULL)
                 FROM calls GROUP BY day, model, purpose ORDER BY day, model, purpose",
            )?;
            let spend = select.query_map([], |row| {
                Ok(Spend {
                    day: row.get(0)?,
                    model: row.get(1)?,
                    purpose: row.get(2)?,
                    calls: count(row, 3)?,
                    failed: count(row, 4)?,
                    unfinished: count(row, 5)?,
                    usage: usage(row, 6)?,
                    cost_usd: row.get(10)?,
                    unpriced: count(row, 11)?,
                })
            })?;
            spend.collect()
        })
    }

    /// What was learned of how an endpoint wants to be asked.
    pub fn dialect(&self, endpoint: &str, model: &str) -> Result<Option<String>, AtlasError> {
        let select = "SELECT dialect FROM endpoints WHERE endpoint = ? AND model = ?";
        self.with(|connection| {
            connection.query_row(select, [endpoint, model], |row| row.get(0)).optional()
        })
    }

    /// Remembers it.
    pub fn learn(&self, endpoint: &str, model: &str, dialect: &str) -> Result<(), AtlasError> {
        self.with(|connection| {
            connection.execute(
                "INSERT INTO endpoints (endpoint, model, dialect) VALUES (?1, ?2, ?3)
                 ON CONFLICT (endpoint, model) DO UPDATE SET dialect = ?3",
                [endpoint, model, dialect],
            )
        })?;
        Ok(())
    }

    /// A batch is about to be submitted.
    pub fn submitting(
        &self,
        endpoint: &str,
        model: &str,
        tag: &str,
        keys: &[String],
    ) -> Result<Batch, AtlasError> {
        let submitted = now();
        let number = self.with(|connection| {
            let transaction = connection.unchecked_transaction()?;
            transaction.execute(
                "INSERT INTO batches (endpoint, model, tag, state, submitted) VALUES (?, ?, ?, 'submitting', ?)",
                params![endpoint, model, tag, submitted],
            )?;
            let number = transaction.last_insert_rowid();
            for key in keys {
                transaction
                    .execute("INSERT INTO batch_calls (number, key) VALUES (?, ?)", params![number, key])?;
            }
            transaction.commit()?;
            Ok(number)
        })?;
        Ok(Batch { number, tag: tag.into(), id: None, submitted, keys: keys.to_vec() })
    }

    /// The server took it and calls it this.
    pub fn submitted(&self, batch: &Batch, id: &str) -> Result<(), AtlasError> {
        self.with(|connection| {
            connection.execute(
                "UPDATE batches SET state = 'submitted', batch = ? WHERE number = ?",
                params![id, batch.number],
            )
        })?;
        Ok(())
    }

    /// Its answers are in, or it came to nothing.
    pub fn close(&self, batch: &Batch, answered: bool) -> Result<(), AtlasError> {
        let state = if answered { "done" } else { "failed" };
        self.with(|connection| {
            connection.execute(
                "UPDATE batches SET state = ? WHERE number = ?",
                params![state, batch.number],
            )
        })?;
        Ok(())
    }

    /// The batches of a model that are still under way at an endpoint, oldest first.
    pub fn open_batches(&self, endpoint: &str, model: &str) -> Result<Vec<Batch>, AtlasError> {
        self.with(|connection| {
            let mut select = connection.prepare(
                "SELECT number, tag, batch, submitted FROM batches
                 WHERE endpoint = ? AND model = ? AND state IN ('submitting', 'submitted') ORDER BY number",
            )?;
            let mut keys = connection
                .prepare("SELECT key FROM batch_calls WHERE number = ? ORDER BY key")?;
            let rows = select.query_map([endpoint, model], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
            rows.map(|row| {
                let (number, tag, id, submitted) = row?;
                let keys = keys.query_map([number], |row| row.get(0))?.collect::<Result<_, _>>()?;
                Ok(Batch { number, tag, id, submitted, keys })
            })
            .collect()
        })
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&MutexGuard<'_, Connection>) -> rusqlite::Result<T>,
    ) -> Result<T, AtlasError> {
        let connection = self.connection.lock().expect("nothing panics while holding it");
        work(&connection).map_err(|source| AtlasError::Catalog { path: self.path.clone(), source })
    }
}

const SELECT_REPLY: &str =
    "SELECT key, reply, input, cached, written, output, finish, answered_by FROM calls";

fn recording(row: &Row<'_>) -> rusqlite::Result<Recording> {
    let usage = usage(row, 2)?;
    let finish = match row.get::<_, String>(6)?.as_str() {
        "length" => Finish::Length,
        "withheld" => Finish::Withheld,
        _ => Finish::Stop,
    };
    Ok(Recording {
        key: row.get(0)?,
        reply: Reply { text: row.get(1)?, usage, finish, model: row.get(7)? },
    })
}

/// Four columns from one on.
fn usage(row: &Row<'_>, at: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input: count(row, at)?,
        cached: count(row, at + 1)?,
        written: count(row, at + 2)?,
        output: count(row, at + 3)?,
    })
}

/// SQLite knows no unsigned numbers; ours never go below zero.
fn count(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(at)?.unsigned_abs())
}

fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::Withheld => "withheld",
    }
}

/// Milliseconds since 1970. Times are for people: nothing that is computed depends on them.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}
