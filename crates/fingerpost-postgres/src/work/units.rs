//! How does a unit become a worker's, stay it, and end, in tables?
//!
//! Whoever changes more than one row takes them in this order: the work, the unit, the ledger, the pages.

use deadpool_postgres::{Object, Transaction};
use fingerpost::chat::Usage;
use fingerpost::store::Log;

use crate::logs::{Appending, append_within, brief};
use crate::trouble::Trouble;

/// A unit that is somebody's.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub(super) atlas: i32,
    pub(super) work: i64,
    pub(super) unit: String,
    pub(super) token: [u8; 16],
    pub(super) worker: String,
    /// In seconds.
    pub(super) lease: f64,
}

/// What taking a unit came to.
pub(super) enum Found {
    Unit(String),
    None(usize),
    Closed,
}

/// Takes the first unit that nobody holds. Asked again after a lost connection, what was taken is taken.
pub(super) async fn take(
    client: &Object,
    schema: &str,
    atlas: i32,
    (work, worker): (i64, &str),
    token: [u8; 16],
    lease: f64,
) -> Result<Found, Trouble> {
    let open = format!(
        "SELECT (SELECT unit FROM {schema}.unit
             WHERE atlas = $1 AND work = $2 AND token = $3 AND done IS NULL LIMIT 1)
         FROM {schema}.work WHERE atlas = $1 AND number = $2 AND closed IS NULL"
    );
    match client.query_opt(&open, &[&atlas, &work, &&token[..]]).await? {
        None => return Ok(Found::Closed),
        Some(row) => {
            if let Some(unit) = row.get(0) {
                return Ok(Found::Unit(unit));
            }
        }
    }
    let take = format!(
        "UPDATE {schema}.unit SET token = $3, worker = $4, since = clock_timestamp(),
             until = clock_timestamp() + $5 * interval '1 second', taken = taken + 1
         WHERE (atlas, work, unit) = (
             SELECT atlas, work, unit FROM {schema}.unit
             WHERE atlas = $1 AND work = $2 AND done IS NULL
                 AND (until IS NULL OR until <= clock_timestamp())
             ORDER BY place LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING unit"
    );
    if let Some(row) =
        client.query_opt(&take, &[&atlas, &work, &&token[..], &worker, &lease]).await?
    {
        return Ok(Found::Unit(row.get(0)));
    }
    let left = format!(
        "SELECT count(*) FROM {schema}.unit WHERE atlas = $1 AND work = $2 AND done IS NULL"
    );
    let left: i64 = client.query_one(&left, &[&atlas, &work]).await?.get(0);
    Ok(Found::None(usize::try_from(left).unwrap_or_default()))
}

/// A sign of life; false once somebody else has it.
pub(super) async fn renew(client: &Object, schema: &str, hold: &Hold) -> Result<bool, Trouble> {
    let renew = format!(
        "UPDATE {schema}.unit SET until = clock_timestamp() + $5 * interval '1 second'
         WHERE atlas = $1 AND work = $2 AND unit = $3 AND token = $4 AND done IS NULL"
    );
    let Hold { atlas, work, unit, token, lease, .. } = hold;
    Ok(client.execute(&renew, &[atlas, work, unit, &&token[..], lease]).await? > 0)
}

/// Gives a unit back that is not done.
pub(super) async fn give_back(client: &Object, schema: &str, hold: &Hold) -> Result<(), Trouble> {
    let give = format!(
        "UPDATE {schema}.unit SET token = NULL, worker = NULL, since = NULL, until = NULL
         WHERE atlas = $1 AND work = $2 AND unit = $3 AND token = $4 AND done IS NULL"
    );
    let Hold { atlas, work, unit, token, .. } = hold;
    client.execute(&give, &[atlas, work, unit, &&token[..]]).await?;
    Ok(())
}

/// A request that is about to be sent.
#[derive(Debug, Clone)]
pub(super) struct Beginning {
    pub(super) call: String,
    /// The most that it may cost; zero where no price is known.
    pub(super) most: f64,
    /// About how many tokens it will take.
    pub(super) tokens: i64,
    /// Its row of the ledger.
    pub(super) record: Vec<u8>,
}

/// May a request be sent?
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Begun {
    /// After so many seconds.
    After(f64),
    /// A limit of all workers is reached.
    Over(String),
    /// The unit is somebody else's by now.
    Lost,
}

/// Sets the most of a request aside, gives it its turn, and books it, if it may be sent.
pub(super) async fn begin(
    client: &mut Object,
    schema: &str,
    hold: &Hold,
    beginning: &Beginning,
) -> Result<Begun, Trouble> {
    let Hold { atlas, work, unit, worker, .. } = hold;
    let Beginning { call, most, tokens, record } = beginning;
    let all = brief(client).await?;
    let limits = format!(
        "SELECT max_cost, max_requests, requests, cost,
             (SELECT coalesce(sum(most), 0) FROM {schema}.call WHERE atlas = $1 AND work = $2)
         FROM {schema}.work WHERE atlas = $1 AND number = $2 FOR UPDATE"
    );
    // The sum is read after the row is held: what others set aside is in it.
    let held = format!("SELECT 1 FROM {schema}.work WHERE atlas = $1 AND number = $2 FOR UPDATE");
    all.execute(&held, &[atlas, work]).await?;
    let row = all.query_one(&limits, &[atlas, work]).await?;
    let known = format!(
        "SELECT greatest(0, extract(epoch FROM turn - clock_timestamp()))::float8
         FROM {schema}.call WHERE atlas = $1 AND call = $2"
    );
    if let Some(row) = all.query_opt(&known, &[atlas, call]).await? {
        return Ok(Begun::After(row.get(0)));
    }
    if !is_held(&all, schema, hold).await? {
        return Ok(Begun::Lost);
    }
    let (max_cost, max_requests): (Option<f64>, Option<i64>) = (row.get(0), row.get(1));
    let (requests, cost, open): (i64, f64, f64) = (row.get(2), row.get(3), row.get(4));
    if let Some(max) = max_requests.filter(|max| requests >= *max) {
        let limit = "calls for all workers is reached, failed tries counted";
        return Ok(Begun::Over(format!("the limit of {max} {limit}")));
    }
    let spent = cost + open;
    if let Some(max) = max_cost.filter(|max| spent + most > *max) {
        return Ok(Begun::Over(format!(
            "${spent:.4} of ${max:.4} for all workers are spent or set aside, and the next call may cost ${most:.4}"
        )));
    }
    let turn = format!(
        "UPDATE {schema}.work SET requests = requests + 1,
             next_request = greatest(next_request, clock_timestamp())
                 + coalesce(60.0 / requests_per_minute, 0) * interval '1 second',
             next_token = greatest(next_token, clock_timestamp())
                 + coalesce(60.0 * $3::bigint / tokens_per_minute, 0) * interval '1 second'
         WHERE atlas = $1 AND number = $2"
    );
    let begin = format!(
        "INSERT INTO {schema}.call (atlas, call, work, unit, worker, most, tokens, turn)
         SELECT $1, $3, $2, $4, $5, $6, $7,
             greatest(next_request, next_token, clock_timestamp())
         FROM {schema}.work WHERE atlas = $1 AND number = $2
         RETURNING greatest(0, extract(epoch FROM turn - clock_timestamp()))::float8"
    );
    let begun = all.query_one(&begin, &[atlas, work, call, unit, worker, most, tokens]).await?;
    all.execute(&turn, &[atlas, work, tokens]).await?;
    let count = format!(
        "UPDATE {schema}.unit SET calls = calls + 1 WHERE atlas = $1 AND work = $2 AND unit = $3"
    );
    all.execute(&count, &[atlas, work, unit]).await?;
    book(&all, schema, hold, Log::Ledger, vec![record.clone()]).await?;
    all.commit().await?;
    Ok(Begun::After(begun.get(0)))
}

/// What became of a request.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// It was answered.
    Answered {
        /// Its row of the ledger while the unit is ours,
        done: Vec<u8>,
        /// and when it is not.
        surplus: Vec<u8>,
        usage: Usage,
        cost: f64,
    },
    /// It came to nothing, and cost nothing.
    Failed(Vec<u8>),
}

/// What ends a unit.
#[derive(Debug, Clone, Default)]
pub(super) struct Finish {
    pub(super) pages: Vec<Vec<u8>>,
    pub(super) written: i32,
    pub(super) fallback: i32,
}

/// Books the end of a request, if one ended, and the end of the unit, if it is done; all of it or nothing.
/// False if the unit is somebody else's by now: then the request is booked all the same, and nothing else.
pub(super) async fn end(
    client: &mut Object,
    schema: &str,
    hold: &Hold,
    ended: Option<&(String, End)>,
    finish: Option<&Finish>,
) -> Result<bool, Trouble> {
    let Hold { atlas, work, unit, token, .. } = hold;
    let all = brief(client).await?;
    let held = format!("SELECT 1 FROM {schema}.work WHERE atlas = $1 AND number = $2 FOR UPDATE");
    all.execute(&held, &[atlas, work]).await?;
    let is_held = is_held(&all, schema, hold).await?;
    if let Some((call, end)) = ended {
        let settle =
            format!("DELETE FROM {schema}.call WHERE atlas = $1 AND call = $2 RETURNING tokens");
        // Not there: this was booked when it was tried before.
        if let Some(row) = all.query_opt(&settle, &[atlas, call]).await? {
            settle_one(&all, schema, hold, (end, is_held), row.get(0)).await?;
        }
    }
    let Some(finish) = finish else {
        all.commit().await?;
        return Ok(is_held);
    };
    if !is_held {
        all.commit().await?;
        // Perhaps it is done, by us, when this was tried before.
        let ours = format!(
            "SELECT 1 FROM {schema}.unit
             WHERE atlas = $1 AND work = $2 AND unit = $3 AND token = $4 AND done IS NOT NULL"
        );
        return Ok(client.query_opt(&ours, &[atlas, work, unit, &&token[..]]).await?.is_some());
    }
    if !finish.pages.is_empty() {
        book(&all, schema, hold, Log::Pages, finish.pages.clone()).await?;
    }
    let done = format!(
        "UPDATE {schema}.unit SET done = clock_timestamp(), until = NULL, written = $4, fallback = $5
         WHERE atlas = $1 AND work = $2 AND unit = $3"
    );
    all.execute(&done, &[atlas, work, unit, &finish.written, &finish.fallback]).await?;
    all.commit().await?;
    Ok(true)
}

async fn settle_one(
    all: &Transaction<'_>,
    schema: &str,
    hold: &Hold,
    (end, is_held): (&End, bool),
    tokens: i64,
) -> Result<(), Trouble> {
    let Hold { atlas, work, unit, .. } = hold;
    let (record, usage, cost) = match end {
        End::Failed(record) => (record, Usage::default(), 0.0),
        End::Answered { done, usage, cost, .. } if is_held => (done, *usage, *cost),
        End::Answered { surplus, usage, cost, .. } => (surplus, *usage, *cost),
    };
    let what = match (end, is_held) {
        (End::Failed(_), _) => "failed",
        (End::Answered { .. }, true) => "answered",
        (End::Answered { .. }, false) => "surplus",
    };
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let [input, cached, output] = [usage.input, usage.cached, usage.output].map(count);
    // What was counted instead of what was guessed.
    let more = input.saturating_add(output).saturating_sub(tokens);
    let sum = format!(
        "UPDATE {schema}.work SET {what} = {what} + 1, cost = cost + $3, input = input + $4,
             cached = cached + $5, output = output + $6,
             next_token = next_token
                 + coalesce(60.0 * $7::bigint / tokens_per_minute, 0) * interval '1 second'
         WHERE atlas = $1 AND number = $2"
    );
    all.execute(&sum, &[atlas, work, &cost, &input, &cached, &output, &more]).await?;
    let of_unit = format!(
        "UPDATE {schema}.unit SET cost = cost + $4 WHERE atlas = $1 AND work = $2 AND unit = $3"
    );
    all.execute(&of_unit, &[atlas, work, unit, &cost]).await?;
    book(all, schema, hold, Log::Ledger, vec![record.clone()]).await
}

/// Is the unit still ours? It stays so until the end of the transaction.
async fn is_held(all: &Transaction<'_>, schema: &str, hold: &Hold) -> Result<bool, Trouble> {
    let Hold { atlas, work, unit, token, .. } = hold;
    let held = format!(
        "SELECT 1 FROM {schema}.unit
         WHERE atlas = $1 AND work = $2 AND unit = $3 AND token = $4 AND done IS NULL FOR UPDATE"
    );
    Ok(all.query_opt(&held, &[atlas, work, unit, &&token[..]]).await?.is_some())
}

async fn book(
    all: &Transaction<'_>,
    schema: &str,
    hold: &Hold,
    log: Log,
    records: Vec<Vec<u8>>,
) -> Result<(), Trouble> {
    append_within(all, schema, hold.atlas, &Appending::new(log, &records, hold.token)).await
}
