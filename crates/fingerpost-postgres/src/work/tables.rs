//! How is work put up, looked for and closed, in tables?

use deadpool_postgres::Object;
use tokio_postgres::types::Type;

use super::{Card, Limits, Order, Work, again_name, again_of};
use crate::trouble::Trouble;

/// Puts work up. Open work of the same writer is joined: its limits are those given now, and what it has spent
/// counts. Open work of another writer is closed: whoever put it up is no more.
pub(super) async fn put_up(
    client: &mut Object,
    schema: &str,
    atlas: i32,
    order: &Order,
    units: &[Card],
) -> Result<i64, Trouble> {
    let work = client.transaction().await?;
    let hold = format!("SELECT 1 FROM {schema}.atlas WHERE atlas = $1 FOR UPDATE");
    work.execute(&hold, &[&atlas]).await?;
    let again = again_name(order.again);
    let close = format!(
        "UPDATE {schema}.work SET closed = now()
         WHERE atlas = $1 AND closed IS NULL AND (writer, again) <> ($2, $3)"
    );
    work.execute(&close, &[&atlas, &order.writer, &again]).await?;
    let forget = format!(
        "DELETE FROM {schema}.unit WHERE atlas = $1 AND work IN
             (SELECT number FROM {schema}.work WHERE atlas = $1 AND closed IS NOT NULL)"
    );
    work.execute(&forget, &[&atlas]).await?;
    let open = format!("SELECT number FROM {schema}.work WHERE atlas = $1 AND closed IS NULL");
    let number: i64 = match work.query_opt(&open, &[&atlas]).await? {
        Some(row) => row.get(0),
        None => {
            let make = format!(
                "INSERT INTO {schema}.work (atlas, number, writer, again)
                 SELECT $1, coalesce(max(number), 0) + 1, $2, $3
                 FROM {schema}.work WHERE atlas = $1 RETURNING number"
            );
            work.query_one(&make, &[&atlas, &order.writer, &again]).await?.get(0)
        }
    };
    let Limits { max_cost, max_requests, requests_per_minute, tokens_per_minute } = order.limits;
    let limits = format!(
        "UPDATE {schema}.work SET max_cost = $3, max_requests = $4, requests_per_minute = $5,
             tokens_per_minute = $6 WHERE atlas = $1 AND number = $2"
    );
    let max_requests = max_requests.map(|max| i64::try_from(max).unwrap_or(i64::MAX));
    let [requests, tokens] = [requests_per_minute, tokens_per_minute]
        .map(|limit| limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)));
    work.execute(&limits, &[&atlas, &number, &max_cost, &max_requests, &requests, &tokens]).await?;
    let insert = format!(
        "INSERT INTO {schema}.unit (atlas, work, unit, place, skill, pages)
         SELECT $1, $2, unit, place, skill, pages
         FROM unnest($3::text[], $4::integer[], $5::text[], $6::integer[])
             AS new (unit, place, skill, pages)
         ON CONFLICT (atlas, work, unit) DO NOTHING"
    );
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    for (at, some) in units.chunks(MANY).enumerate() {
        let keys: Vec<&str> = some.iter().map(|card| card.key.as_str()).collect();
        let places: Vec<i32> = (0..some.len()).map(|place| count(at * MANY + place)).collect();
        let skills: Vec<String> = some.iter().map(|card| card.skill.replace('\0', "")).collect();
        let pages: Vec<i32> = some.iter().map(|card| count(card.pages)).collect();
        work.execute(&insert, &[&atlas, &number, &keys, &places, &skills, &pages]).await?;
    }
    work.commit().await?;
    Ok(number)
}

/// Units that are sent together.
const MANY: usize = 10_000;

/// The work that is open.
pub(super) async fn open(
    client: &Object,
    schema: &str,
    atlas: i32,
) -> Result<Option<Work>, Trouble> {
    let find = format!(
        "SELECT number, writer, again, max_cost, max_requests, requests_per_minute, tokens_per_minute
         FROM {schema}.work WHERE atlas = $1 AND closed IS NULL"
    );
    let row = client.query_typed_opt(&find, &[(&atlas, Type::INT4)]).await?;
    Ok(row.map(|row| {
        let limit = |at: usize| row.get::<_, Option<i32>>(at).and_then(|n| u32::try_from(n).ok());
        let max_requests: Option<i64> = row.get(4);
        let limits = Limits {
            max_cost: row.get(3),
            max_requests: max_requests.and_then(|max| u64::try_from(max).ok()),
            requests_per_minute: limit(5),
            tokens_per_minute: limit(6),
        };
        let order = Order { writer: row.get(1), again: again_of(row.get(2)), limits };
        Work { number: row.get(0), order }
    }))
}

/// Closes work: nobody takes a unit of it any more.
pub(super) async fn close(
    client: &Object,
    schema: &str,
    atlas: i32,
    number: i64,
) -> Result<(), Trouble> {
    let close = format!(
        "UPDATE {schema}.work SET closed = now()
         WHERE atlas = $1 AND number = $2 AND closed IS NULL"
    );
    client.execute(&close, &[&atlas, &number]).await?;
    Ok(())
}
