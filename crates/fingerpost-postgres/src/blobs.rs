//! How are blobs kept in tables, and fetched?
//!
//! In pieces, each a row, sent by binary COPY in the same transaction as the row that names them: whoever
//! looks sees all of a blob or none. Bytes are never changed under their number.

use std::pin::pin;

use deadpool_postgres::Object;
use futures_util::TryStreamExt;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use crate::cache::{Cache, Unfinished};
use crate::trouble::Trouble;

/// Bytes of a piece: few rows for a file, and little memory for a row.
const PIECE: usize = 512 << 10;

/// What is known of a blob before it is fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) number: i64,
    pub(crate) length: u64,
    pub(crate) digest: [u8; 32],
}

/// What is kept under a name.
pub(crate) async fn about(
    client: &Object,
    schema: &str,
    atlas: i32,
    name: &str,
) -> Result<Option<About>, Trouble> {
    let find =
        format!("SELECT number, length, digest FROM {schema}.blob WHERE atlas = $1 AND name = $2");
    let row = client.query_typed_opt(&find, &[(&atlas, Type::INT4), (&name, Type::TEXT)]).await?;
    let Some(row) = row else { return Ok(None) };
    let digest: &[u8] = row.get(2);
    let digest = digest.try_into().map_err(|_| Trouble::Garbled(name.to_owned()))?;
    let length = u64::try_from(row.get::<_, i64>(1)).unwrap_or_default();
    Ok(Some(About { number: row.get(0), length, digest }))
}

/// The names of all blobs, in order.
pub(crate) async fn names(
    client: &Object,
    schema: &str,
    atlas: i32,
) -> Result<Vec<String>, Trouble> {
    let find = format!("SELECT name FROM {schema}.blob WHERE atlas = $1 ORDER BY name");
    let rows = client.query_typed(&find, &[(&atlas, Type::INT4)]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// What became of fetching a blob.
pub(crate) enum Fetched {
    /// All of it is in the file.
    File(Unfinished),
    /// No file could be made: all of it is in memory.
    Memory(Vec<u8>),
    /// It went, or was made again, after it was looked for.
    Gone,
}

/// Fetches the pieces of a blob.
pub(crate) async fn fetch(
    client: &Object,
    schema: &str,
    atlas: i32,
    about: About,
    file: Option<Unfinished>,
) -> Result<Fetched, Trouble> {
    let find =
        format!("SELECT bytes FROM {schema}.piece WHERE atlas = $1 AND number = $2 ORDER BY part");
    let parameters: [(&(dyn ToSql + Sync), Type); 2] =
        [(&atlas, Type::INT4), (&about.number, Type::INT8)];
    let rows = client.query_typed_raw(&find, parameters).await?;
    let mut rows = pin!(rows);
    let mut came = 0;
    let (mut file, mut memory) = (file, Vec::new());
    while let Some(row) = rows.try_next().await? {
        let bytes: &[u8] = row.get(0);
        came += bytes.len() as u64;
        match &mut file {
            Some(file) => file.write(bytes)?,
            None => memory.extend_from_slice(bytes),
        }
    }
    Ok(match file {
        _ if came != about.length => Fetched::Gone,
        Some(file) => Fetched::File(file),
        None => Fetched::Memory(memory),
    })
}

/// Keeps a blob; nothing is sent if the same bytes are there.
pub(crate) async fn put(
    client: &mut Object,
    schema: &str,
    atlas: i32,
    name: &str,
    bytes: &[u8],
    digest: [u8; 32],
) -> Result<(), Trouble> {
    if about(client, schema, atlas, name).await?.is_some_and(|there| there.digest == digest) {
        return Ok(());
    }
    let work = client.transaction().await?;
    // Of two who put the same name, one waits, and then has nothing to do.
    let turn = "SELECT pg_advisory_xact_lock(hashtextextended('fingerpost blob ' || $1, $2))";
    work.execute(turn, &[&name, &i64::from(atlas)]).await?;
    let find = format!("SELECT number, digest FROM {schema}.blob WHERE atlas = $1 AND name = $2");
    let before = work.query_opt(&find, &[&atlas, &name]).await?;
    if before.as_ref().is_some_and(|row| row.get::<_, &[u8]>(1) == digest) {
        return Ok(());
    }
    let next = format!("SELECT nextval('{schema}.blob_number')");
    let number: i64 = work.query_typed_one(&next, &[]).await?.get(0);
    let copy = format!("COPY {schema}.piece (atlas, number, part, bytes) FROM STDIN BINARY");
    let sink = work.copy_in(&copy).await?;
    let types = [Type::INT4, Type::INT8, Type::INT4, Type::BYTEA];
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    for (part, piece) in (0_i32..).zip(bytes.chunks(PIECE)) {
        writer.as_mut().write(&[&atlas, &number, &part, &piece]).await?;
    }
    writer.finish().await?;
    let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let keep = format!(
        "INSERT INTO {schema}.blob (atlas, name, number, length, digest) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (atlas, name) DO UPDATE
         SET number = EXCLUDED.number, length = EXCLUDED.length, digest = EXCLUDED.digest, made = now()"
    );
    work.execute(&keep, &[&atlas, &name, &number, &length, &&digest[..]]).await?;
    if let Some(before) = before {
        forget(&work, schema, atlas, before.get(0)).await?;
    }
    Ok(work.commit().await?)
}

/// Drops a blob; says what it was.
pub(crate) async fn remove(
    client: &mut Object,
    schema: &str,
    atlas: i32,
    name: &str,
    cache: &Cache,
) -> Result<(), Trouble> {
    let work = client.transaction().await?;
    let drop = format!(
        "DELETE FROM {schema}.blob WHERE atlas = $1 AND name = $2 RETURNING number, digest"
    );
    if let Some(row) = work.query_opt(&drop, &[&atlas, &name]).await? {
        forget(&work, schema, atlas, row.get(0)).await?;
        work.commit().await?;
        if let Ok(digest) = row.get::<_, &[u8]>(1).try_into() {
            cache.remove(digest);
        }
    }
    Ok(())
}

async fn forget(
    work: &deadpool_postgres::Transaction<'_>,
    schema: &str,
    atlas: i32,
    number: i64,
) -> Result<(), Trouble> {
    let drop = format!("DELETE FROM {schema}.piece WHERE atlas = $1 AND number = $2");
    work.execute(&drop, &[&atlas, &number]).await?;
    Ok(())
}
