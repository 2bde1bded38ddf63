//! How are records kept in tables?
//!
//! Whoever appends holds the row of the log until the commit, so that numbers are in the order of commits and
//! none is used twice. A token tells whoever lost the connection at the commit whether it came about.

use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};

use deadpool_postgres::{Object, Transaction};
use fingerpost::store::{Log, Record};
use futures_util::TryStreamExt;
use serde::Deserialize;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use crate::trouble::Trouble;

/// From so many records on they are sent by COPY.
const MANY: usize = 64;

/// The skill that a record is of, where there is one: its rows can then be kept together.
#[derive(Deserialize)]
struct Of<'a> {
    #[serde(borrow)]
    skill: std::borrow::Cow<'a, str>,
}

fn skill_of(log: Log, record: &[u8]) -> String {
    match log {
        Log::Pages => {
            let of = serde_json::from_slice::<Of<'_>>(record);
            // PostgreSQL keeps any text but this character.
            of.map_or_else(|_| String::new(), |of| of.skill.replace('\0', ""))
        }
        Log::Ledger => String::new(),
    }
}

/// Records on their way into a log.
pub(crate) struct Appending {
    log: Log,
    records: Vec<Vec<u8>>,
    token: [u8; 16],
    /// The number that the first of them got when this was tried last; 0 before.
    first: AtomicI64,
}

impl Appending {
    pub(crate) fn new(log: Log, records: &[Vec<u8>], token: [u8; 16]) -> Self {
        Self { log, records: records.to_vec(), token, first: AtomicI64::new(0) }
    }
}

/// Appends records, unless they came there when this was tried before.
pub(crate) async fn append(
    client: &mut Object,
    schema: &str,
    atlas: i32,
    appending: &Appending,
) -> Result<(), Trouble> {
    let tried = appending.first.load(Ordering::Relaxed);
    if tried > 0 && has(client, schema, atlas, appending.log, tried, appending.token).await? {
        return Ok(());
    }
    let work = brief(client).await?;
    append_within(&work, schema, atlas, appending).await?;
    Ok(work.commit().await?)
}

/// A transaction that holds what all others wait for. Whoever is paused or cut off in the middle of it would
/// keep them waiting until the connection counts as lost: the server ends it sooner.
pub(crate) async fn brief(client: &mut Object) -> Result<Transaction<'_>, Trouble> {
    let work = client.transaction().await?;
    work.batch_execute("SET LOCAL idle_in_transaction_session_timeout = '3s'").await?;
    Ok(work)
}

/// Appends records as a part of other work, with which they come about or do not.
pub(crate) async fn append_within(
    work: &Transaction<'_>,
    schema: &str,
    atlas: i32,
    appending: &Appending,
) -> Result<(), Trouble> {
    let Appending { log, records, token, first: tried } = appending;
    let last = turn(work, schema, atlas, *log, records.len()).await?;
    let first = last + 1 - i64::try_from(records.len()).unwrap_or(i64::MAX);
    tried.store(first, Ordering::Relaxed);
    let rows: Vec<(i64, String)> =
        (first..).zip(records).map(|(number, record)| (number, skill_of(*log, record))).collect();
    let name = log.name();
    if records.len() < MANY {
        let insert = format!(
            "INSERT INTO {schema}.record (atlas, log, number, skill, token, bytes)
             SELECT $1, $2, number, skill, $3, bytes
             FROM unnest($4::bigint[], $5::text[], $6::bytea[]) AS new (number, skill, bytes)"
        );
        let (numbers, skills): (Vec<i64>, Vec<String>) = rows.into_iter().unzip();
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        work.execute(&insert, &[&atlas, &name, &&token[..], &numbers, &skills, &records]).await?;
    } else {
        let copy = format!(
            "COPY {schema}.record (atlas, log, number, skill, token, bytes) FROM STDIN BINARY"
        );
        let types = [Type::INT4, Type::TEXT, Type::INT8, Type::TEXT, Type::BYTEA, Type::BYTEA];
        let mut writer = pin!(BinaryCopyInWriter::new(work.copy_in(&copy).await?, &types));
        for ((number, skill), record) in rows.iter().zip(records) {
            let row: [&(dyn ToSql + Sync); 6] = [&atlas, &name, number, skill, &&token[..], record];
            writer.as_mut().write(&row).await?;
        }
        writer.finish().await?;
    }
    Ok(())
}

/// Takes the log until the commit, and numbers for so many records; says the last of them.
async fn turn(
    work: &Transaction<'_>,
    schema: &str,
    atlas: i32,
    log: Log,
    records: usize,
) -> Result<i64, Trouble> {
    let records = i64::try_from(records).unwrap_or(i64::MAX);
    let turn = format!(
        "INSERT INTO {schema}.log AS log (atlas, log, last, changes) VALUES ($1, $2, $3, 1)
         ON CONFLICT (atlas, log) DO UPDATE SET last = log.last + $3, changes = log.changes + 1
         RETURNING last"
    );
    Ok(work.query_one(&turn, &[&atlas, &log.name(), &records]).await?.get(0))
}

/// Are the records there that begin with this number and have this token? Waits for whoever holds the log, which
/// may be a transaction of ours that has not ended yet.
async fn has(
    client: &mut Object,
    schema: &str,
    atlas: i32,
    log: Log,
    first: i64,
    token: [u8; 16],
) -> Result<bool, Trouble> {
    let work = client.transaction().await?;
    let hold = format!("SELECT last FROM {schema}.log WHERE atlas = $1 AND log = $2 FOR UPDATE");
    work.execute(&hold, &[&atlas, &log.name()]).await?;
    let find = format!(
        "SELECT 1 FROM {schema}.record
         WHERE atlas = $1 AND log = $2 AND number = $3 AND token = $4"
    );
    let found = work.query_opt(&find, &[&atlas, &log.name(), &first, &&token[..]]).await?;
    work.commit().await?;
    Ok(found.is_some())
}

/// The records of a log from a number on.
pub(crate) async fn records(
    client: &Object,
    schema: &str,
    atlas: i32,
    log: Log,
    from: u64,
) -> Result<Vec<Record>, Trouble> {
    let Ok(from) = i64::try_from(from) else { return Ok(Vec::new()) };
    let find = format!(
        "SELECT number, bytes FROM {schema}.record
         WHERE atlas = $1 AND log = $2 AND number >= $3 ORDER BY number"
    );
    let name = log.name();
    let parameters: [(&(dyn ToSql + Sync), Type); 3] =
        [(&atlas, Type::INT4), (&name, Type::TEXT), (&from, Type::INT8)];
    let mut rows = pin!(client.query_typed_raw(&find, parameters).await?);
    let mut records = Vec::new();
    while let Some(row) = rows.try_next().await? {
        records.push(record(&row));
    }
    Ok(records)
}

fn record(row: &tokio_postgres::Row) -> Record {
    let number = u64::try_from(row.get::<_, i64>(0)).unwrap_or_default();
    Record { number, bytes: row.get(1) }
}

/// A log that is held for a rewrite: nobody appends meanwhile.
pub(crate) struct Held {
    client: deadpool_postgres::ClientWrapper,
    pub(crate) records: Vec<Record>,
}

/// Holds a log, and reads all of it.
pub(crate) async fn hold(
    client: Object,
    schema: &str,
    atlas: i32,
    log: Log,
) -> Result<Held, Trouble> {
    // Out of the pool: however this ends, the connection ends with it, and so does the transaction.
    let client = Object::take(client);
    client.batch_execute("BEGIN").await?;
    let turn = format!(
        "INSERT INTO {schema}.log AS log (atlas, log, last, changes) VALUES ($1, $2, 0, 1)
         ON CONFLICT (atlas, log) DO UPDATE SET changes = log.changes + 1"
    );
    client.execute(&turn, &[&atlas, &log.name()]).await?;
    let find = format!(
        "SELECT number, bytes FROM {schema}.record WHERE atlas = $1 AND log = $2 ORDER BY number"
    );
    let rows = client.query(&find, &[&atlas, &log.name()]).await?;
    Ok(Held { client, records: rows.iter().map(record).collect() })
}

/// Drops some records of a log that is held.
pub(crate) async fn drop_from(
    held: Held,
    schema: &str,
    atlas: i32,
    log: Log,
    numbers: Vec<i64>,
) -> Result<(), Trouble> {
    let drop =
        format!("DELETE FROM {schema}.record WHERE atlas = $1 AND log = $2 AND number = ANY($3)");
    held.client.execute(&drop, &[&atlas, &log.name(), &numbers]).await?;
    Ok(held.client.batch_execute("COMMIT").await?)
}

/// A number that changes with the log.
pub(crate) async fn mark(
    client: &Object,
    schema: &str,
    atlas: i32,
    log: Log,
) -> Result<u64, Trouble> {
    let find = format!("SELECT changes FROM {schema}.log WHERE atlas = $1 AND log = $2");
    let name = log.name();
    let row = client.query_typed_opt(&find, &[(&atlas, Type::INT4), (&name, Type::TEXT)]).await?;
    Ok(row.map_or(0, |row| u64::try_from(row.get::<_, i64>(0)).unwrap_or_default()))
}
