//! Are the tables there, and as we know them?
//!
//! Migrations go forward only, each in one transaction, one process at a time: an advisory lock of the
//! database keeps the others waiting, and they then find nothing to do. Tables of a later version are refused.
//! Reading makes nothing: where no tables are, nothing is kept.

use deadpool_postgres::Object;

use crate::trouble::Trouble;

/// All migrations, in order; none of them is ever changed.
pub(crate) const MIGRATIONS: [&str; 2] =
    [include_str!("../migrations/0001-atlas.sql"), include_str!("../migrations/0002-work.sql")];

/// The version that the last of them leads to.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// Nothing is made.
    Reading,
    /// What is not there is made.
    Writing,
}

/// The number of an atlas in the tables; `None` where it is not there and is not to be made.
pub(crate) async fn atlas(
    client: &mut Object,
    schema: &str,
    name: &str,
    to: For,
) -> Result<Option<i32>, Trouble> {
    match (version(client, schema).await?, to) {
        (Some(VERSION), _) => {}
        (Some(found), _) if found > VERSION => {
            return Err(Trouble::Newer { found, known: VERSION });
        }
        (None | Some(0), For::Reading) => return Ok(None),
        (Some(found), For::Reading) => return Err(Trouble::Older { found, known: VERSION }),
        (_, For::Writing) => migrate(client, schema, &MIGRATIONS).await?,
    }
    let find = format!("SELECT atlas FROM {schema}.atlas WHERE name = $1");
    if let Some(row) = client.query_opt(&find, &[&name]).await? {
        return Ok(Some(row.get(0)));
    }
    if to == For::Reading {
        return Ok(None);
    }
    let make = format!("INSERT INTO {schema}.atlas (name) VALUES ($1) ON CONFLICT DO NOTHING");
    client.execute(&make, &[&name]).await?;
    Ok(Some(client.query_one(&find, &[&name]).await?.get(0)))
}

/// The version of the tables; `None` where there are none.
async fn version(client: &Object, schema: &str) -> Result<Option<i32>, Trouble> {
    let there = client
        .query_one("SELECT to_regclass($1::text) IS NOT NULL", &[&format!("{schema}.migration")])
        .await?;
    if !there.get::<_, bool>(0) {
        return Ok(None);
    }
    let last = format!("SELECT coalesce(max(version), 0) FROM {schema}.migration");
    Ok(Some(client.query_one(&last, &[]).await?.get(0)))
}

/// Brings the tables to the version that these migrations lead to.
pub(crate) async fn migrate(
    client: &mut Object,
    schema: &str,
    migrations: &[&str],
) -> Result<(), Trouble> {
    let work = client.transaction().await?;
    // Held until the end of the transaction, however that comes.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('fingerpost migrations ' || $1, 0))";
    work.execute(lock, &[&schema]).await?;
    let table = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
         SET LOCAL search_path TO {schema}, public;
         CREATE TABLE IF NOT EXISTS {schema}.migration (
             version integer PRIMARY KEY,
             made timestamptz NOT NULL DEFAULT now()
         );"
    );
    let is_there = "SELECT to_regclass($1::text) IS NOT NULL";
    let there = work.query_one(is_there, &[&format!("{schema}.migration")]).await?;
    if there.get::<_, bool>(0) {
        work.batch_execute(&format!("SET LOCAL search_path TO {schema}, public")).await?;
    } else {
        work.batch_execute(&table).await?;
    }
    let last = "SELECT coalesce(max(version), 0) FROM migration";
    let found: i32 = work.query_one(last, &[]).await?.get(0);
    let known = i32::try_from(migrations.len()).unwrap_or(i32::MAX);
    if found > known {
        return Err(Trouble::Newer { found, known });
    }
    for (version, migration) in (1..).zip(migrations).filter(|(version, _)| *version > found) {
        work.batch_execute(migration).await?;
        work.execute("INSERT INTO migration (version) VALUES ($1)", &[&version]).await?;
    }
    Ok(work.commit().await?)
}
