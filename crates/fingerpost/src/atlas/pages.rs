//! The pages of an atlas: a table beside the skills, written in the compilation's own transaction.

use rusqlite::{Connection, OpenFlags, Transaction, params};

use super::catalog::{Catalog, json};
use super::{Atlas, AtlasError};
use crate::page::write::PageRow;
use crate::page::{Page, Pages};
use crate::skill::SkillId;

/// The catalog's second format.
pub(super) const MIGRATION: &str = "
    CREATE TABLE pages (
        skill TEXT PRIMARY KEY,
        document TEXT NOT NULL,
        key TEXT NOT NULL,
        status TEXT NOT NULL,
        trigger TEXT,
        boundary TEXT,
        body TEXT,
        writer TEXT NOT NULL,
        flags TEXT NOT NULL,
        score REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
";

impl Atlas {
    /// Changes the pages of single skills, as a person does.
    pub fn keep_pages(&self, rows: &[PageRow]) -> Result<(), AtlasError> {
        let path = self.path.join("atlas.sqlite");
        let mut catalog = Catalog::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        catalog.in_transaction(|transaction| {
            insert(transaction, rows)?;
            let digest = digest(&read(transaction)?);
            transaction.execute(
                "INSERT OR REPLACE INTO settings (key, value) VALUES ('pages', ?)",
                [digest],
            )?;
            Ok(())
        })
    }

    /// Keeps what counts as no answer, for pages that were written after the library was compiled.
    pub fn keep_none_below(&self, none_below: f64) -> Result<(), AtlasError> {
        let path = self.path.join("atlas.sqlite");
        let mut catalog = Catalog::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        catalog.in_transaction(|transaction| {
            let keep = "INSERT OR REPLACE INTO settings (key, value) VALUES ('none_below', ?)";
            transaction.execute(keep, [none_below.to_string()])?;
            Ok(())
        })
    }

    /// Digest of the pages, if those kept are of the library whose files look like `stamp`: what
    /// must be known to find an index of them, without reading any.
    pub fn pages_digest(&self, stamp: &str) -> Result<Option<String>, AtlasError> {
        self.setting_of("pages", stamp)
    }

    /// All rows, in the order of ids.
    pub fn pages(&self) -> Result<Vec<PageRow>, AtlasError> {
        let path = self.path.join("atlas.sqlite");
        let mut catalog = Catalog::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        catalog.in_transaction(|transaction| read(transaction))
    }
}

/// Digest of the pages of these rows.
pub(super) fn digest(rows: &[PageRow]) -> String {
    let pages = rows.iter().map(|row| row.page.clone()).collect();
    Pages::new(pages).digest().to_hex().to_string()
}

/// Puts rows in the place of those of the same skills.
pub(super) fn insert(transaction: &Transaction<'_>, rows: &[PageRow]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT OR REPLACE INTO pages (skill, document, key, status, trigger, boundary, body, writer, flags, score)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for row in rows {
        let PageRow { skill, document, key, status, page, writer, findings, score } = row;
        let page = page.as_ref();
        insert.execute(params![
            skill.as_str(),
            document,
            key,
            json(status),
            page.map(|page| &page.trigger),
            page.map(|page| json(&page.boundary)),
            page.map(|page| &page.body),
            writer,
            json(findings),
            score,
        ])?;
    }
    Ok(())
}

/// All rows, in the order of ids.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<Vec<PageRow>> {
    let mut select = connection.prepare(
        "SELECT skill, document, key, status, trigger, boundary, body, writer, flags, score FROM pages ORDER BY skill",
    )?;
    let rows = select.query_map([], |row| {
        let trigger: Option<String> = row.get(4)?;
        let page = match trigger {
            None => None,
            Some(trigger) => Some(Page { trigger, boundary: parsed(row, 5)?, body: row.get(6)? }),
        };
        Ok(PageRow {
            skill: SkillId::new(row.get::<_, String>(0)?),
            document: row.get(1)?,
            key: row.get(2)?,
            status: parsed(row, 3)?,
            page,
            writer: row.get(7)?,
            findings: parsed(row, 8)?,
            score: row.get(9)?,
        })
    })?;
    rows.collect()
}

fn parsed<T: serde::de::DeserializeOwned>(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}
