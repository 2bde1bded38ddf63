//! How does one head take the place of another?
//!
//! By comparing digests in one statement; whoever listens is told in the same transaction.

use deadpool_postgres::Object;
use tokio_postgres::types::Type;

use crate::trouble::Trouble;

/// The channel on which new heads are told; the message is the name of the schema and that of the atlas.
pub(crate) const CHANNEL: &str = "fingerpost_head";

/// The head that counts now.
pub(crate) async fn head(
    client: &Object,
    schema: &str,
    atlas: i32,
) -> Result<Option<Vec<u8>>, Trouble> {
    let find = format!("SELECT bytes FROM {schema}.head WHERE atlas = $1");
    let row = client.query_typed_opt(&find, &[(&atlas, Type::INT4)]).await?;
    Ok(row.map(|row| row.get(0)))
}

/// Puts a head in the place of the one with this digest; says whether it is there now. After a lost connection
/// this may be asked again: a head that stands there already is there.
pub(crate) async fn commit(
    client: &mut Object,
    schema: &str,
    (atlas, name): (i32, &str),
    before: Option<[u8; 32]>,
    head: &[u8],
) -> Result<bool, Trouble> {
    let digest = *blake3::hash(head).as_bytes();
    let digest = &digest[..];
    let work = client.transaction().await?;
    let changed = match before {
        None => {
            let first = format!(
                "INSERT INTO {schema}.head (atlas, digest, bytes) VALUES ($1, $2, $3)
                 ON CONFLICT (atlas) DO NOTHING"
            );
            work.execute(&first, &[&atlas, &digest, &head]).await?
        }
        Some(before) => {
            let next = format!(
                "UPDATE {schema}.head SET digest = $2, bytes = $3, committed = now()
                 WHERE atlas = $1 AND digest = $4"
            );
            work.execute(&next, &[&atlas, &digest, &head, &&before[..]]).await?
        }
    };
    if changed == 0 {
        return Ok(false);
    }
    work.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &told(schema, name)]).await?;
    work.commit().await?;
    Ok(true)
}

/// Does a head with these bytes stand there?
pub(crate) async fn stands(
    client: &Object,
    schema: &str,
    atlas: i32,
    head: &[u8],
) -> Result<bool, Trouble> {
    Ok(self::head(client, schema, atlas).await?.is_some_and(|there| there == head))
}

/// What listeners hear.
pub(crate) fn told(schema: &str, name: &str) -> String {
    format!("{schema} {name}")
}
