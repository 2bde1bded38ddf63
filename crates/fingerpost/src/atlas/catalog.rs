//! What does an atlas know of its library?
//!
//! One SQLite file: the skills with their digests and neighborhoods, and the settings and files of
//! the last compilation. A compilation replaces all of it in one transaction, so that a reader sees
//! the last whole one, also while the next is being written.

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Atlas, AtlasError, ledger, pages};
use crate::embedding::{Lexicon, Profile, Vectors};
use crate::library::Library;
use crate::neighborhood::{Calibration, NeighborhoodConfig, Neighborhoods};
use crate::page::Page;
use crate::page::write::PageRow;
use crate::search::tuning::Tuning;
use crate::skill::SkillIdx;

/// Each step takes a catalog from one format to the next; a new format is a step at the end.
const MIGRATIONS: [&str; 6] = [
    "
    CREATE TABLE skills (
        row INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        description TEXT NOT NULL,
        digest TEXT NOT NULL,
        neighborhood INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX skills_by_name ON skills (name);
    CREATE INDEX skills_by_neighborhood ON skills (neighborhood);
    CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
",
    // The library itself was the only embedder then, and nothing fused with its terms.
    "
    INSERT INTO settings (key, value)
        SELECT 'embedder', '{\"kind\":\"fit\"}' FROM settings WHERE key = 'vectors';
    INSERT INTO settings (key, value)
        SELECT 'none_below', '0' FROM settings WHERE key = 'vectors';
    INSERT INTO settings (key, value)
        SELECT 'trust', '{\"sparse\":1,\"dense\":0,\"sparse_found\":0,\"dense_found\":0,\"tested\":0}'
        FROM settings WHERE key = 'vectors';
",
    pages::MIGRATION,
    ledger::MIGRATION,
    ledger::PURPOSE,
    // Words were taken as they are then, and a name counted once.
    "
    INSERT INTO settings (key, value)
        SELECT 'tuning', '{\"retriever\":\"bm25\",\"tokenizer\":\"auto\",\"fields\":{\"name\":1,\"description\":1},\"trust\":'
            || value || ',\"trials\":[]}'
        FROM settings WHERE key = 'trust';
    DELETE FROM settings WHERE key = 'trust';
",
];

/// How long a reader waits for a writer to finish its transaction.
const PATIENCE: Duration = Duration::from_secs(10);

/// The catalog of an atlas, open.
#[derive(Debug)]
pub struct Catalog {
    connection: Connection,
    path: PathBuf,
}

/// A compiled library, as the atlas knows it.
#[derive(Debug)]
pub struct Compiled {
    /// Its skills, in the order of their ids.
    pub skills: Vec<SkillRow>,
    /// Who could be taken for whom.
    pub neighborhoods: Neighborhoods,
    /// The threshold of the last full partition, and why.
    pub calibration: Calibration,
    /// The settings of the neighborhoods.
    pub config: NeighborhoodConfig,
    /// What made the vectors.
    pub profile: Profile,
    /// How whoever compiled it opens that embedder again: theirs to read.
    pub embedder: String,
    /// The skills' vectors.
    pub vectors: Vectors,
    /// The fitted model's bytes, where the embedder is `fit`.
    pub model: Option<Vec<u8>>,
    /// Confidence below which no skill fits a request.
    pub none_below: f64,
    /// How it is searched where nobody says otherwise.
    pub tuning: Tuning,
    /// Digest of the library.
    pub library: String,
    /// What its files looked like from outside when it was loaded.
    pub stamp: String,
    /// Skills placed one by one since the last full partition.
    pub placed: usize,
    /// What became of each skill's page, in the order of the skills.
    pub pages: Vec<PageRow>,
    /// Who wrote what had to be written last.
    pub writer: String,
}

/// A skill, as the atlas knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Digest of its document.
    pub digest: String,
}

impl SkillRow {
    /// What of a library's skills is kept.
    pub fn of(library: &Library) -> Vec<Self> {
        library
            .skills()
            .iter()
            .map(|skill| SkillRow {
                id: skill.id.as_str().to_owned(),
                name: skill.name.clone(),
                description: skill.description.clone(),
                digest: skill.digest().to_hex().to_string(),
            })
            .collect()
    }
}

impl Compiled {
    /// The skill of that id; or, if no id matches, of that name when only one has it.
    pub fn find(&self, id_or_name: &str) -> Option<SkillIdx> {
        if let Ok(row) = self.skills.binary_search_by(|skill| skill.id.as_str().cmp(id_or_name)) {
            return Some(SkillIdx(row as u32));
        }
        let mut named = self.skills.iter().enumerate().filter(|(_, s)| s.name == id_or_name);
        match (named.next(), named.next()) {
            (Some((row, _)), None) => Some(SkillIdx(row as u32)),
            _ => None,
        }
    }

    /// The skill of a row.
    pub fn skill(&self, skill: SkillIdx) -> &SkillRow {
        &self.skills[skill.row()]
    }

    /// The page of the skill of that id, unless it fell back to its document. Rows are in the order of ids.
    pub fn page(&self, id: &str) -> Option<&Page> {
        let at = self.pages.binary_search_by(|row| row.skill.as_str().cmp(id)).ok()?;
        self.pages[at].page.as_ref()
    }

    /// What each skill says it is for: the meaning of name, description and trigger.
    pub fn meanings(&self) -> Vectors {
        let told = |skill: &SkillRow| {
            let trigger = self.page(&skill.id).map_or("", |page| page.trigger.as_str());
            format!("{}\n{}\n{trigger}", skill.name, skill.description)
        };
        Lexicon::get().meanings(&self.skills.iter().map(told).collect::<Vec<_>>())
    }
}

impl Atlas {
    /// How the library is searched, if what is known is of the one whose files look like `stamp`.
    pub fn tuning(&self, stamp: &str) -> Result<Option<Tuning>, AtlasError> {
        let path = self.path.join("atlas.sqlite");
        self.setting_of("tuning", stamp)?.map(|tuning| parse(&path, &tuning)).transpose()
    }

    /// A setting of the last compilation, without reading the rest of it, if it was of the library
    /// whose files look like `stamp`.
    pub(super) fn setting_of(&self, key: &str, stamp: &str) -> Result<Option<String>, AtlasError> {
        let path = self.path.join("atlas.sqlite");
        if !path.exists() {
            return Ok(None);
        }
        let mut catalog = Catalog::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        catalog.in_transaction(|transaction| {
            let mut select = transaction.prepare(
                "SELECT wanted.value FROM settings wanted, settings stamp
                 WHERE wanted.key = ? AND stamp.key = 'stamp' AND stamp.value = ?",
            )?;
            let mut found = select.query_map([key, stamp], |row| row.get(0))?;
            found.next().transpose()
        })
    }

    /// The last compilation; `None` if there was none.
    pub fn compiled(&self) -> Result<Option<Compiled>, AtlasError> {
        let path = self.path.join("atlas.sqlite");
        if !path.exists() {
            return Ok(None);
        }
        Catalog::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?.read(self)
    }

    /// Keeps a compilation: its files first, then, in one transaction, that they count.
    pub fn keep(&self, compiled: &Compiled) -> Result<(), AtlasError> {
        let vectors = self.keep_vectors(&compiled.vectors, &compiled.profile, &compiled.library)?;
        let model = compiled.model.as_ref().map(|bytes| self.keep_model(bytes)).transpose()?;
        Catalog::open_or_create(self)?.write(compiled, &vectors, model.as_deref())
    }
}

impl Catalog {
    pub(super) fn open_or_create(atlas: &Atlas) -> Result<Self, AtlasError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::open(atlas.path.join("atlas.sqlite"), flags)
    }

    pub(super) fn into_parts(self) -> (Connection, PathBuf) {
        (self.connection, self.path)
    }

    pub(super) fn open(path: PathBuf, flags: OpenFlags) -> Result<Self, AtlasError> {
        let failed = |source| AtlasError::Catalog { path: path.clone(), source };
        let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
        let mut catalog = Self { connection, path };
        catalog.migrate()?;
        Ok(catalog)
    }

    fn migrate(&mut self) -> Result<(), AtlasError> {
        let known = MIGRATIONS.len() as i64;
        let path = self.path.clone();
        let format = |connection: &Connection| {
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        };
        let failed = |source| AtlasError::Catalog { path: path.clone(), source };
        let found = format(&self.connection).map_err(failed)?;
        if found > known {
            return Err(AtlasError::Newer { path, found, known });
        }
        if found == known {
            return Ok(());
        }
        let immediate = rusqlite::TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(immediate).map_err(failed)?;
        // Another process may have migrated while this one waited for its turn.
        let found = format(&transaction).map_err(failed)?;
        for step in &MIGRATIONS[found as usize..] {
            transaction.execute_batch(step).map_err(failed)?;
        }
        transaction.pragma_update(None, "user_version", known).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// Does all of it or nothing, and names the file if it fails.
    pub(super) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, AtlasError> {
        let path = self.path.clone();
        let done = (|| {
            let transaction = self.connection.transaction()?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })();
        done.map_err(|source| AtlasError::Catalog { path, source })
    }

    fn write(
        mut self,
        compiled: &Compiled,
        vectors: &str,
        model: Option<&str>,
    ) -> Result<(), AtlasError> {
        self.in_transaction(|transaction| {
            transaction.execute("DELETE FROM skills", [])?;
            transaction.execute("DELETE FROM settings", [])?;
            let mut insert = transaction.prepare(
                "INSERT INTO skills (row, id, name, description, digest, neighborhood) VALUES (?, ?, ?, ?, ?, ?)",
            )?;
            for (row, skill) in (0..).zip(&compiled.skills) {
                let neighborhood = compiled.neighborhoods.of(SkillIdx(row)).0;
                let SkillRow { id, name, description, digest } = skill;
                insert.execute(params![row, id, name, description, digest, neighborhood])?;
            }
            drop(insert);
            let set = |key: &str, value: String| {
                transaction
                    .execute("INSERT INTO settings (key, value) VALUES (?, ?)", params![key, value])
            };
            set("library", compiled.library.clone())?;
            set("stamp", compiled.stamp.clone())?;
            set("vectors", vectors.to_owned())?;
            set("placed", compiled.placed.to_string())?;
            if let Some(model) = model {
                set("model", model.to_owned())?;
            }
            set("profile", json(&compiled.profile))?;
            set("embedder", compiled.embedder.clone())?;
            set("calibration", json(&compiled.calibration))?;
            set("tuning", json(&compiled.tuning))?;
            set("none_below", compiled.none_below.to_string())?;
            set("config", json(&compiled.config))?;
            transaction.execute("DELETE FROM pages", [])?;
            pages::insert(transaction, &compiled.pages)?;
            set("pages", pages::digest(&compiled.pages))?;
            set("writer", compiled.writer.clone())?;
            Ok(())
        })
    }

    fn read(mut self, atlas: &Atlas) -> Result<Option<Compiled>, AtlasError> {
        let path = self.path.clone();
        let failed = |source| AtlasError::Catalog { path: path.clone(), source };
        // One transaction, so that everything read is of one compilation.
        let transaction = self.connection.transaction().map_err(failed)?;
        let setting = |key: &str| {
            let value = transaction
                .query_row("SELECT value FROM settings WHERE key = ?", [key], |row| {
                    row.get::<_, String>(0)
                })
                .optional();
            value.map_err(failed)
        };
        let Some(vectors) = setting("vectors")? else { return Ok(None) };
        let needed = |key: &str| {
            setting(key)?.ok_or_else(|| AtlasError::Damaged {
                path: path.clone(),
                message: format!("it lacks the setting '{key}'"),
            })
        };
        let (skills, of) = (|| {
            let mut select = transaction.prepare(
                "SELECT id, name, description, digest, neighborhood FROM skills ORDER BY row",
            )?;
            let rows = select.query_map([], |row| {
                let skill = SkillRow {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    description: row.get(2)?,
                    digest: row.get(3)?,
                };
                Ok((skill, row.get::<_, u32>(4)?))
            })?;
            rows.collect::<Result<(Vec<_>, Vec<_>), _>>()
        })()
        .map_err(failed)?;
        let model = setting("model")?.map(|name| atlas.model_bytes(&name)).transpose()?;
        let compiled = Compiled {
            neighborhoods: neighborhoods(&of),
            calibration: parse(&path, &needed("calibration")?)?,
            config: parse(&path, &needed("config")?)?,
            none_below: needed("none_below")?.parse().unwrap_or(0.0),
            tuning: parse(&path, &needed("tuning")?)?,
            profile: parse(&path, &needed("profile")?)?,
            embedder: needed("embedder")?,
            vectors: atlas.open_vectors(&vectors)?,
            model,
            library: needed("library")?,
            stamp: needed("stamp")?,
            placed: needed("placed")?.parse().unwrap_or(0),
            // An atlas of the first format has no pages and names no writer.
            pages: pages::read(&transaction).map_err(failed)?,
            writer: setting("writer")?.unwrap_or_default(),
            skills,
        };
        if compiled.vectors.len() != compiled.skills.len() {
            let message =
                format!("{} skills and {} vectors", compiled.skills.len(), compiled.vectors.len());
            return Err(AtlasError::Damaged { path, message });
        }
        Ok(Some(compiled))
    }
}

fn neighborhoods(of: &[u32]) -> Neighborhoods {
    let mut groups: std::collections::BTreeMap<u32, Vec<SkillIdx>> = Default::default();
    for (row, neighborhood) in (0..).zip(of) {
        groups.entry(*neighborhood).or_default().push(SkillIdx(row));
    }
    Neighborhoods::new(groups.into_values().collect())
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

fn parse<T: DeserializeOwned>(path: &std::path::Path, text: &str) -> Result<T, AtlasError> {
    serde_json::from_str(text).map_err(|error| AtlasError::Damaged {
        path: path.to_path_buf(),
        message: error.to_string(),
    })
}
