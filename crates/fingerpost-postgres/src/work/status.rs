//! Who does what, since when, and what has it cost?

use deadpool_postgres::Object;
use schemars::JsonSchema;
use serde::Serialize;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::trouble::Trouble;

/// How work stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkStatus {
    /// Its number in the atlas.
    pub work: i64,
    /// The model with its settings.
    pub writer: String,
    /// Is it open? Otherwise it was open last.
    pub open: bool,
    /// When it was put up (UTC).
    pub since: String,
    /// Units in all.
    pub units: i64,
    /// Units that are done.
    pub done: i64,
    /// Units that nobody holds.
    pub waiting: i64,
    /// Pages written.
    pub pages: i64,
    /// Skills that keep their documents.
    pub fallback: i64,
    /// Requests sent by all workers.
    pub requests: i64,
    /// Calls that were answered.
    pub answered: i64,
    /// Requests that failed.
    pub failed: i64,
    /// Calls whose answers came too late to be used.
    pub surplus: i64,
    /// Tokens read,
    pub input_tokens: i64,
    /// of which from the server's cache,
    pub cached_tokens: i64,
    /// and written.
    pub output_tokens: i64,
    /// What is paid, in US dollars.
    pub cost_usd: f64,
    /// Calls whose end is not known: under way, or never heard of again.
    pub unknown: i64,
    /// What these may cost at most.
    pub unknown_usd: f64,
    /// What may be spent.
    pub max_cost_usd: Option<f64>,
    /// How many requests may be sent.
    pub max_calls: Option<i64>,
    /// Who has worked on it.
    pub workers: Vec<WorkerStatus>,
    /// The units that somebody holds.
    pub held: Vec<UnitStatus>,
    /// The calls whose end is not known.
    pub calls: Vec<CallStatus>,
}

/// What a worker has done.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkerStatus {
    /// Its name.
    pub worker: String,
    /// Units that it ended.
    pub done: i64,
    /// Units that it holds.
    pub held: i64,
    /// Requests for the units that it ended or holds, whoever sent them.
    pub calls: i64,
    /// What they cost.
    pub cost_usd: f64,
}

/// A unit that somebody holds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UnitStatus {
    /// Its key.
    pub unit: String,
    /// The first skill in it whose page is wanted.
    pub skill: String,
    /// How many pages are wanted.
    pub pages: i32,
    /// Who holds it.
    pub worker: String,
    /// Since when (UTC).
    pub since: String,
    /// For how many seconds it is theirs without another sign of life; less than zero, and anybody may take it.
    pub lease_seconds: f64,
    /// How often it was taken.
    pub taken: i32,
    /// Requests for it.
    pub calls: i64,
    /// What they cost.
    pub cost_usd: f64,
}

/// A call whose end is not known.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CallStatus {
    /// Its number.
    pub call: String,
    /// For which unit.
    pub unit: String,
    /// Who sent it.
    pub worker: String,
    /// When (UTC).
    pub since: String,
    /// What it may cost at most.
    pub most_usd: f64,
}

/// At most so many rows are shown of each kind.
const SHOWN: i64 = 1000;

/// How the work stands that is open, or was open last.
pub(super) async fn status(
    client: &Object,
    schema: &str,
    atlas: i32,
) -> Result<Option<WorkStatus>, Trouble> {
    let utc = |column: &str| {
        format!(r#"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"#)
    };
    let find = format!(
        "SELECT number, writer, closed IS NULL, {}, requests, answered, failed, surplus, input, cached,
             output, cost, max_cost, max_requests
         FROM {schema}.work WHERE atlas = $1 ORDER BY number DESC LIMIT 1",
        utc("made"),
    );
    let Some(work) = client.query_typed_opt(&find, &[(&atlas, Type::INT4)]).await? else {
        return Ok(None);
    };
    let number: i64 = work.get(0);
    let of = [(&atlas as _, Type::INT4), (&number as _, Type::INT8)];
    let limited =
        [(&atlas as _, Type::INT4), (&number as _, Type::INT8), (&SHOWN as _, Type::INT8)];
    let sums = format!(
        "SELECT count(*), count(done), count(*) FILTER (WHERE done IS NULL AND worker IS NULL),
             coalesce(sum(written), 0)::bigint, coalesce(sum(fallback), 0)::bigint
         FROM {schema}.unit WHERE atlas = $1 AND work = $2"
    );
    let sums = client.query_typed(&sums, &of).await?;
    let sum = |at: usize| sums.first().map_or(0, |row| row.get::<_, i64>(at));
    let unknown = format!(
        "SELECT count(*), coalesce(sum(most), 0) FROM {schema}.call WHERE atlas = $1 AND work = $2"
    );
    let unknown = client.query_typed(&unknown, &of).await?;
    let (unknown, unknown_usd) = unknown.first().map_or((0, 0.0), |row| (row.get(0), row.get(1)));
    let workers = format!(
        "SELECT worker, count(done), count(*) FILTER (WHERE done IS NULL), sum(calls)::bigint, sum(cost)
         FROM {schema}.unit WHERE atlas = $1 AND work = $2 AND worker IS NOT NULL
         GROUP BY worker ORDER BY worker COLLATE \"C\" LIMIT $3"
    );
    let held = format!(
        "SELECT unit, skill, pages, worker, {},
             coalesce(extract(epoch FROM until - clock_timestamp()), 0)::float8, taken, calls, cost
         FROM {schema}.unit
         WHERE atlas = $1 AND work = $2 AND done IS NULL AND worker IS NOT NULL
         ORDER BY place LIMIT $3",
        utc("since"),
    );
    let calls = format!(
        "SELECT call, unit, worker, {}, most FROM {schema}.call
         WHERE atlas = $1 AND work = $2 ORDER BY begun, call LIMIT $3",
        utc("begun"),
    );
    let worker = |row: &Row| WorkerStatus {
        worker: row.get(0),
        done: row.get(1),
        held: row.get(2),
        calls: row.get(3),
        cost_usd: row.get(4),
    };
    let unit = |row: &Row| UnitStatus {
        unit: row.get(0),
        skill: row.get(1),
        pages: row.get(2),
        worker: row.get(3),
        since: row.get::<_, Option<String>>(4).unwrap_or_default(),
        lease_seconds: row.get(5),
        taken: row.get(6),
        calls: row.get(7),
        cost_usd: row.get(8),
    };
    let call = |row: &Row| CallStatus {
        call: row.get(0),
        unit: row.get(1),
        worker: row.get(2),
        since: row.get(3),
        most_usd: row.get(4),
    };
    Ok(Some(WorkStatus {
        work: number,
        writer: work.get(1),
        open: work.get(2),
        since: work.get(3),
        units: sum(0),
        done: sum(1),
        waiting: sum(2),
        pages: sum(3),
        fallback: sum(4),
        requests: work.get(4),
        answered: work.get(5),
        failed: work.get(6),
        surplus: work.get(7),
        input_tokens: work.get(8),
        cached_tokens: work.get(9),
        output_tokens: work.get(10),
        cost_usd: work.get(11),
        unknown,
        unknown_usd,
        max_cost_usd: work.get(12),
        max_calls: work.get(13),
        workers: client.query_typed(&workers, &limited).await?.iter().map(worker).collect(),
        held: client.query_typed(&held, &limited).await?.iter().map(unit).collect(),
        calls: client.query_typed(&calls, &limited).await?.iter().map(call).collect(),
    }))
}
