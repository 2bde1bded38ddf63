//! What is there to know of skills and their pages?

use std::time::{SystemTime, UNIX_EPOCH};

use fingerpost::contract::{
    DiffAnswer, DoctorAnswer, LedgerAnswer, NeighborsAnswer, PagesAnswer, ReviewAnswer,
    SkillAnswer, SkillsAnswer, SkillsFilter, SourcedPageAnswer,
};
use fingerpost::graph::GraphAnswer;
use fingerpost::index::SparseConfig;
use fingerpost::losses::LossesAnswer;
use fingerpost::page::Status;
use fingerpost::search::Retriever;
use schemars::JsonSchema;
use serde::Deserialize;

use super::endpoint::{Call, Nothing};
use super::find::{find, plain, within};
use super::problem::Problem;
use crate::source::Source;
use crate::{diff, doctor};

/// Skills or pages in one answer at most.
const MOST: usize = 1000;

/// Left out first at most: no library is larger.
const MOST_OFFSET: usize = 1_000_000_000;

/// Neighbors in one answer at most.
const MOST_NEIGHBORS: usize = 100;

/// Which skills.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SkillsQuery {
    /// Those with this in their id or name.
    #[serde(default)]
    q: String,
    /// Those whose page is this.
    #[serde(default)]
    status: Option<Status>,
    /// How many are left out first.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    offset: usize,
    /// How many are listed.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn hundred() -> usize {
    100
}

/// `GET /v1/skills`.
pub(super) fn skills(call: &mut Call<'_>, query: SkillsQuery) -> Result<SkillsAnswer, Problem> {
    let SkillsQuery { q, status, offset, limit } = query;
    let offset = within("offset", offset, 0, MOST_OFFSET)?;
    let limit = within("limit", limit, 1, MOST)?;
    let open = call.open()?;
    let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
    let filter = SkillsFilter { text: &q, status, offset, limit };
    Ok(SkillsAnswer::new(snapshot, freshness, &filter)?)
}

/// `GET /v1/skills/{id}`.
pub(super) fn skill(call: &mut Call<'_>, _: Nothing) -> Result<SkillAnswer, Problem> {
    let open = call.open()?;
    let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
    Ok(SkillAnswer::new(snapshot, freshness, find(&open, call.id)?)?)
}

/// Which pages.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct PagesQuery {
    /// Only those that a person should look at, the worst first?
    #[serde(default)]
    flagged: bool,
    /// How many are left out first.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    offset: usize,
    /// How many are listed.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

/// `GET /v1/pages`.
pub(super) fn pages(call: &mut Call<'_>, query: PagesQuery) -> Result<PagesAnswer, Problem> {
    let offset = within("offset", query.offset, 0, MOST_OFFSET)?;
    let part = (offset, within("limit", query.limit, 1, MOST)?);
    let open = call.open()?;
    let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
    Ok(match query.flagged {
        true => PagesAnswer::flagged(snapshot, freshness, part)?,
        false => PagesAnswer::new(snapshot, freshness, part)?,
    })
}

/// How much of a review.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReviewQuery {
    /// How many pages.
    #[serde(default = "twenty")]
    #[schemars(range(min = 0, max = 1000))]
    k: usize,
}

fn twenty() -> usize {
    20
}

/// `GET /v1/review`.
pub(super) fn review(call: &mut Call<'_>, query: ReviewQuery) -> Result<ReviewAnswer, Problem> {
    let k = within("k", query.k, 0, MOST)?;
    let open = call.open()?;
    Ok(ReviewAnswer::new(&open.reading.snapshot, open.reading.freshness(), k)?)
}

/// `GET /v1/pages/{id}`.
pub(super) fn page(call: &mut Call<'_>, _: Nothing) -> Result<SourcedPageAnswer, Problem> {
    let open = call.open()?;
    let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
    Ok(SourcedPageAnswer::new(snapshot, freshness, find(&open, call.id)?)?)
}

/// How many neighbors.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct NeighborsQuery {
    /// How many.
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 100))]
    k: usize,
}

fn ten() -> usize {
    10
}

/// `GET /v1/neighbors/{id}`.
pub(super) fn neighbors(
    call: &mut Call<'_>,
    query: NeighborsQuery,
) -> Result<NeighborsAnswer, Problem> {
    let k = within("k", query.k, 0, MOST_NEIGHBORS)?;
    let open = call.open()?;
    let skill = find(&open, call.id)?;
    Ok(NeighborsAnswer::new(&open.reading.snapshot, open.reading.freshness(), skill, k)?)
}

/// `GET /v1/losses/{id}`.
pub(super) fn losses(call: &mut Call<'_>, _: Nothing) -> Result<LossesAnswer, Problem> {
    let open = call.open()?;
    let skill = find(&open, call.id)?;
    let contest = call.app.shelf.contest(&open, call.app.live.library())?;
    let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
    Ok(LossesAnswer::new(snapshot, freshness, skill, contest.as_deref())?)
}

/// `GET /v1/graph/{id}`.
pub(super) fn graph(call: &mut Call<'_>, _: Nothing) -> Result<GraphAnswer, Problem> {
    let open = call.open()?;
    let skill = find(&open, call.id)?;
    Ok(GraphAnswer::new(&open.reading.snapshot, open.reading.freshness(), skill)?)
}

/// Which two.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CompareQuery {
    /// One skill's id or name.
    first: String,
    /// The other's.
    second: String,
}

/// `GET /v1/compare`.
pub(super) fn compare(call: &mut Call<'_>, query: CompareQuery) -> Result<DiffAnswer, Problem> {
    let open = call.open()?;
    let pair = [find(&open, &query.first)?, find(&open, &query.second)?];
    let by_words = plain(call, &open, Retriever::Bm25, &SparseConfig::default())?;
    let library = call.app.live.library();
    Ok(diff::answer(&open.reading, &by_words, pair, library, [None, None])?)
}

/// `GET /v1/doctor`.
pub(super) fn doctor(call: &mut Call<'_>, _: Nothing) -> Result<DoctorAnswer, Problem> {
    Ok(doctor::answer(call.app.live.library())?)
}

/// What was asked of models since when.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LedgerQuery {
    /// The last so many days; absent for all.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    days: Option<u32>,
}

/// `GET /v1/ledger`.
pub(super) fn ledger(call: &mut Call<'_>, query: LedgerQuery) -> Result<LedgerAnswer, Problem> {
    let live = &call.app.live;
    let ledger = Source::of(live.library(), live.global())?.ledger(live.global())?;
    let mut spend = ledger.spend().map_err(anyhow::Error::from)?;
    if let Some(days) = query.days {
        within("days", days as usize, 1, 100_000)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let before = i64::from(days.saturating_sub(1)) * 86_400_000;
        let first = fingerpost::atlas::day(now as i64 - before);
        spend.retain(|row| row.day >= first);
    }
    Ok(LedgerAnswer::new(spend))
}
