//! Which skills fit a request? (`search`, `route`, `explain`)

use fingerpost::contract::{ExplainAnswer, FoundSkill, RouteAnswer, SearchAnswer};
use fingerpost::index::SparseConfig;
use fingerpost::route::{RouteConfig, Router};
use fingerpost::search::tuning::Trust;
use fingerpost::search::{Retriever, Searcher};
use fingerpost::view::{Cards, View};
use schemars::JsonSchema;
use serde::Deserialize;

use super::endpoint::{Call, whole};
use super::problem::Problem;
use crate::args::config_of;
use crate::explain::{self, Question};
use crate::live::Open;
use crate::route::{Chooser, ChoosingArgs};
use crate::search::{POOL, searcher};

/// Hits at most.
const MOST: usize = 1000;

/// Candidates of a route at most.
const MOST_CANDIDATES: usize = 100;

/// Characters of a request at most: nobody types more, and what reads it takes time for each.
const LONGEST: usize = 20_000;

/// What is searched for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SearchQuery {
    /// The request.
    #[schemars(regex(pattern = r"\S"))]
    q: String,
    /// How many hits.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1000))]
    k: usize,
    /// How skills are scored; absent for the order of `route`.
    #[serde(default)]
    retriever: Option<Retriever>,
    /// The text of a skill that a retriever searches; with a view and no retriever, that is bm25.
    #[serde(default)]
    view: Option<View>,
}

/// The same, sent as JSON.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchBody {
    /// The request.
    #[schemars(length(min = 1, max = 20_000), regex(pattern = r"\S"))]
    query: String,
    /// How many hits.
    #[serde(default = "ten", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 1000))]
    k: usize,
    /// How skills are scored; absent for the order of `route`.
    #[serde(default)]
    retriever: Option<Retriever>,
    /// The text of a skill that a retriever searches; with a view and no retriever, that is bm25.
    #[serde(default)]
    view: Option<View>,
}

fn ten() -> usize {
    10
}

fn one() -> usize {
    1
}

/// `GET /v1/search`.
pub(super) fn search(call: &mut Call<'_>, query: SearchQuery) -> Result<SearchAnswer, Problem> {
    let SearchQuery { q: query, k, retriever, view } = query;
    search_body(call, SearchBody { query, k, retriever, view })
}

/// `POST /v1/search`.
pub(super) fn search_body(
    call: &mut Call<'_>,
    search: SearchBody,
) -> Result<SearchAnswer, Problem> {
    let query = request(search.query)?;
    let k = within("k", search.k, 1, MOST)?;
    let open = call.open()?;
    let snapshot = &open.reading.snapshot;
    let hits = match (search.retriever, search.view) {
        (None, None) => {
            let router = open.router(snapshot.route_config(), k.max(POOL));
            router.rank(&query, k, call.scratch)
        }
        (retriever, view) => {
            let by = retriever.unwrap_or_default();
            let config = config_of(by, view.unwrap_or_default(), snapshot.head());
            let plain = plain(call, &open, by, &config)?;
            plain.search(&query, k, call.scratch)
        }
    };
    let hits = hits.map_err(anyhow::Error::from)?;
    let hits = FoundSkill::list(snapshot, &hits);
    Ok(SearchAnswer { query, hits, freshness: open.reading.freshness() })
}

/// A retriever over an index of terms.
pub(super) fn plain<'a>(
    call: &Call<'_>,
    open: &'a Open,
    by: Retriever,
    config: &SparseConfig,
) -> Result<Searcher<'a>, Problem> {
    let snapshot = &open.reading.snapshot;
    // Whoever asks at the same time waits for the index, and does not make another one.
    let sparse = call.app.shelf.index(open, config)?;
    if by.is_dense() {
        let live = &call.app.live;
        return Ok(searcher(&open.reading, live.library(), by, config, live.global())?);
    }
    let (dense, trust, reading) = (None, Trust::SPARSE, snapshot.reading());
    Ok(Searcher { snapshot, retriever: by, sparse, dense, trust, reading })
}

/// What is to be routed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteBody {
    /// The request.
    #[schemars(length(min = 1, max = 20_000), regex(pattern = r"\S"))]
    request: String,
    /// Skills in the answer at most; more than one only where the request needs it.
    #[serde(default = "one", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 10))]
    max: usize,
    /// Answer with a skill even if none fits?
    #[serde(default)]
    always: bool,
    /// Answer none where the choice is less sure than this.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    min_confidence: f64,
    /// What a card shows beside name and description.
    #[serde(default)]
    cards: Option<Cards>,
    /// Who picks: `local`, without a model.
    #[serde(default)]
    chooser: LocalChooser,
}

/// Who picks among cards: no model of somebody's is asked over HTTP.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum LocalChooser {
    /// Words, pairs of words and their meaning.
    #[default]
    Local,
}

/// The same, as a query.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RouteQuery {
    /// The request.
    #[schemars(regex(pattern = r"\S"))]
    q: String,
    /// Skills in the answer at most.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10))]
    max: Option<usize>,
    /// Answer with a skill even if none fits?
    #[serde(default)]
    always: bool,
    /// Answer none where the choice is less sure than this.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    min_confidence: f64,
    /// What a card shows beside name and description.
    #[serde(default)]
    cards: Option<Cards>,
}

/// `GET /v1/route`.
pub(super) fn route(call: &mut Call<'_>, query: RouteQuery) -> Result<RouteAnswer, Problem> {
    let RouteQuery { q: request, max, always, min_confidence, cards } = query;
    let max = max.unwrap_or(1);
    let chooser = LocalChooser::Local;
    route_body(call, RouteBody { request, max, always, min_confidence, cards, chooser })
}

/// `POST /v1/route`.
pub(super) fn route_body(call: &mut Call<'_>, body: RouteBody) -> Result<RouteAnswer, Problem> {
    let RouteBody { request: text, max, always, min_confidence, cards, chooser } = body;
    let LocalChooser::Local = chooser;
    let text = request(text)?;
    let max = within("max", max, 1, 10)?;
    if !(0.0..=1.0).contains(&min_confidence) {
        let detail = format!("min_confidence is {min_confidence}: it lies between 0 and 1");
        return Err(Problem::unprocessable(detail));
    }
    let choosing = ChoosingArgs { max, always, min_confidence, cards, ..ChoosingArgs::default() };
    let open = call.open()?;
    let router = router(&open, &choosing);
    let (route, hits) = router.route(&text, call.scratch).map_err(anyhow::Error::from)?;
    let (snapshot, cards) = (&open.reading.snapshot, router.config.cards);
    let freshness = open.reading.freshness();
    let by = Chooser::Local.name();
    let answer = RouteAnswer::new(snapshot, freshness, &text, by, cards, (route, &hits));
    Ok(answer.with_cards(snapshot))
}

fn router<'a>(open: &'a Open, choosing: &ChoosingArgs) -> Router<'a> {
    let (config, pool): (RouteConfig, usize) = choosing.config(&open.reading.snapshot);
    open.router(config, pool)
}

/// What is to be explained.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ExplainQuery {
    /// The request.
    #[schemars(regex(pattern = r"\S"))]
    q: String,
    /// Tell about this skill too, by id or name, whether it was a candidate or not.
    #[serde(default)]
    skill: Option<String>,
    /// How candidates are found; absent for BM25 over words as the library's own test found better.
    #[serde(default)]
    retriever: Option<Retriever>,
    /// Candidates shown to the chooser.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    pool: Option<usize>,
}

/// `GET /v1/explain`.
pub(super) fn explain(call: &mut Call<'_>, query: ExplainQuery) -> Result<ExplainAnswer, Problem> {
    let ExplainQuery { q, skill, retriever, pool } = query;
    let text = request(q)?;
    let pool = pool.map(|pool| within("pool", pool, 1, MOST_CANDIDATES)).transpose()?;
    let open = call.open()?;
    let about = skill.as_deref().map(|skill| find(&open, skill)).transpose()?;
    let choosing = ChoosingArgs { pool, ..ChoosingArgs::default() };
    let mut router = router(&open, &choosing);
    if let Some(by) = retriever {
        let config = config_of(by, View::Full, open.reading.snapshot.head());
        router.finder = plain(call, &open, by, &config)?;
    }
    let by = retriever.unwrap_or_default();
    let config = explain::raw_config(retriever, &open.reading);
    let raw = plain(call, &open, by, &config)?;
    let question = Question { request: &text, about };
    Ok(explain::answer(&open.reading, &router, &raw, &question, call.scratch)?)
}

/// A request that says something, and not too much.
fn request(text: String) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::unprocessable("the request is empty; say what is wanted"));
    }
    let length = text.chars().count();
    if length > LONGEST {
        let detail = format!("the request has {length} characters, more than {LONGEST}");
        return Err(Problem::unprocessable(detail));
    }
    Ok(text)
}

/// A number that is neither too small nor too large.
pub(super) fn within(
    name: &str,
    number: usize,
    least: usize,
    most: usize,
) -> Result<usize, Problem> {
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    let detail = format!("{name} is {number}: it lies between {least} and {most}");
    Err(Problem::unprocessable(detail))
}

/// The skill of that id, or of that name if only one has it.
pub(super) fn find(open: &Open, skill: &str) -> Result<fingerpost::skill::SkillIdx, Problem> {
    let unknown = || {
        let detail = format!("there is no one skill '{skill}'");
        Problem::not_found(detail)
            .hint("/v1/skills?q=… lists those with a text in their id or name")
    };
    open.reading.snapshot.find(skill).ok_or_else(unknown)
}
