//! Which tools are there, and what do they answer?
//!
//! Four, so that they cost little of a context: search, route, load, compare. Each asks the snapshot and
//! answers with the types that every door has. Nothing is changed by any of them.

use std::sync::Arc;

use fingerpost::contract::{CardsAnswer, CompareAnswer, Detail, RouteAnswer, shown_text};
use fingerpost::index::Scratch;
use fingerpost::route::RouteConfig;
use fingerpost::skill::SkillIdx;
use rmcp::ErrorData;
use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asking::{Answer, ask};
use super::load::{LoadArgs, LoadedSkill, load};
use super::uri;
use crate::live::{Live, Open};

pub(crate) const SEARCH: &str = "search_skills";
pub(crate) const ROUTE: &str = "route_skill";
pub(crate) const LOAD: &str = "load_skill";
pub(crate) const COMPARE: &str = "compare_skills";

/// Cards where nobody says how many, and at most.
const CARDS: usize = 5;
const MAX_CARDS: usize = 20;

/// Candidates and reasons that a route shows where nobody asks for all.
const NEAR: usize = 5;

/// Words of a comparison.
const WORDS: usize = 12;
const MAX_WORDS: usize = 40;

/// Skills that one request may need.
const TOGETHER: usize = 3;

/// Characters of a request that are read. Longer ones are a document, and say little more.
const MAX_REQUEST: usize = 20_000;

/// Look for skills.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchArgs {
    /// What is to be done, in the words of whoever wants it.
    request: String,
    /// Cards at most, 1 to 20; 5 by default.
    limit: Option<usize>,
    /// Show the whole page of each skill too; false by default.
    #[serde(default)]
    detail: bool,
}

/// Have one chosen.
#[derive(Debug, Deserialize, JsonSchema)]
struct RouteArgs {
    /// What is to be done, in the words of whoever wants it.
    request: String,
    /// Show all candidates and reasons; false by default.
    #[serde(default)]
    detail: bool,
}

/// Compare two.
#[derive(Debug, Deserialize, JsonSchema)]
struct CompareArgs {
    /// The id of one skill.
    first: String,
    /// The id of the other one.
    second: String,
    /// Show their whole pages and more words; false by default.
    #[serde(default)]
    detail: bool,
}

fn detail(all: bool) -> Detail {
    if all { Detail::Full } else { Detail::Compact }
}

/// The tools; `areas` says what the library is about.
pub(crate) fn list(skills: usize, areas: &[String]) -> Vec<Tool> {
    let about = match (skills, areas) {
        (0, _) => String::new(),
        (skills, []) => format!(" The library has {skills} skills."),
        (skills, areas) => {
            format!(" The library has {skills} skills, among others about: {}.", areas.join(", "))
        }
    };
    let search = format!(
        "Find the skills (instructions for agents) that fit a request. Call it before you start a task that one of \
         them may cover.{about} Answers with cards: what each skill is for and what it is not for. Read both, choose \
         one or none, then call {LOAD}. No card means that no skill fits."
    );
    let route = "Have one skill chosen for a request, or none, with how sure that is and why not the others. \
                 For when you do not want to choose from cards yourself.";
    let load = "Read a skill's instructions and the list of its files, or one of these files. Its text is \
                its author's: advice for the task, not a word of the user.";
    let compare = "What sets two similar skills apart: what each is for, what it is not for, and the words \
                   that speak for one of them.";
    vec![
        tool::<SearchArgs, Answer<CardsAnswer>>(SEARCH, "Search skills", search),
        tool::<RouteArgs, Answer<RouteAnswer>>(ROUTE, "Choose a skill", route.to_owned()),
        tool::<LoadArgs, Answer<LoadedSkill>>(LOAD, "Load a skill", load.to_owned()),
        tool::<CompareArgs, Answer<CompareAnswer>>(COMPARE, "Compare skills", compare.to_owned()),
    ]
}

fn tool<A, R>(name: &'static str, title: &str, description: String) -> Tool
where
    A: JsonSchema + 'static,
    R: JsonSchema + 'static,
{
    let arguments = plain(&schema_for_input::<A>().expect("arguments are an object"));
    let hints = ToolAnnotations::with_title(title)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, description, arguments)
        .with_title(title)
        .with_raw_output_schema(plain(&schema_for_output::<R>()))
        .with_annotations(hints)
}

/// A schema without the formats of numbers, which are none of the standard's: clients warn of them.
fn plain(schema: &JsonObject) -> Arc<JsonObject> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let is_number = matches!(fields.get("format"), Some(Value::String(format))
                    if ["uint", "int", "float", "double"].iter().any(|kind| format.starts_with(kind)));
                if is_number {
                    fields.remove("format");
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut schema = schema.clone();
    schema.values_mut().for_each(strip);
    Arc::new(schema)
}

/// Calls a tool. What goes wrong with a known one is an answer too, which the caller reads.
pub(crate) async fn call(
    live: &Arc<Live>,
    name: &str,
    arguments: Option<JsonObject>,
) -> Result<CallToolResult, ErrorData> {
    let arguments = arguments.unwrap_or_default();
    let answered = match name {
        SEARCH => search(live, arguments).await,
        ROUTE => route(live, arguments).await,
        LOAD => load_skill(live, arguments).await,
        COMPARE => compare(live, arguments).await,
        _ => return Err(ErrorData::invalid_params(format!("there is no tool '{name}'"), None)),
    };
    Ok(answered.unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(why)])))
}

async fn search(live: &Arc<Live>, arguments: JsonObject) -> Result<CallToolResult, String> {
    let SearchArgs { request, limit, detail: all } = read(arguments)?;
    let request = bounded(request)?;
    let shown = (limit.unwrap_or(CARDS).clamp(1, MAX_CARDS), detail(all));
    answer(ask(live, move |open| cards(open, &request, shown)).await?)
}

/// Cards for a request.
pub(crate) fn cards(
    open: &Open,
    request: &str,
    shown: (usize, Detail),
) -> anyhow::Result<CardsAnswer> {
    let (route, _) = router(open).route(request, &mut Scratch::default())?;
    let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
    Ok(CardsAnswer::new(snapshot, freshness, request, &route, shown)?)
}

async fn route(live: &Arc<Live>, arguments: JsonObject) -> Result<CallToolResult, String> {
    let RouteArgs { request, detail } = read(arguments)?;
    let request = bounded(request)?;
    let routed = move |open: &Open| {
        let router = router(open);
        let (route, hits) = router.route(&request, &mut Scratch::default())?;
        let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
        let (cards, chosen) = (router.config.cards, (route, &hits[..]));
        let mut answer = RouteAnswer::new(snapshot, freshness, &request, "local", cards, chosen);
        if !detail {
            answer.route.rejected.truncate(NEAR);
            answer.hits.truncate(NEAR);
        }
        Ok(answer)
    };
    answer(ask(live, routed).await?)
}

async fn load_skill(live: &Arc<Live>, arguments: JsonObject) -> Result<CallToolResult, String> {
    let arguments: LoadArgs = read(arguments)?;
    answer(ask(live, move |open| load(open, &arguments)).await?)
}

async fn compare(live: &Arc<Live>, arguments: JsonObject) -> Result<CallToolResult, String> {
    let CompareArgs { first, second, detail: all } = read(arguments)?;
    let compared = move |open: &Open| {
        let pair = [find(open, &first)?, find(open, &second)?];
        let shown = (if all { MAX_WORDS } else { WORDS }, detail(all));
        let (snapshot, freshness) = (&open.reading.snapshot, open.reading.freshness());
        Ok(CompareAnswer::new(snapshot, freshness, pair, shown)?)
    };
    answer(ask(live, compared).await?)
}

/// As the library is routed where nobody says otherwise, and several skills where a request needs them.
fn router(open: &Open) -> fingerpost::route::Router<'_> {
    let snapshot = &open.reading.snapshot;
    let config = RouteConfig { max: TOGETHER, ..snapshot.route_config() };
    open.router(config, snapshot.head().protocol.choosing.pool)
}

/// The skill that is meant by an id, a name or an address. An id may have characters that nobody sees, and
/// that our answers do not show.
pub(crate) fn find(open: &Open, name: &str) -> anyhow::Result<SkillIdx> {
    let snapshot = &open.reading.snapshot;
    if let Some((skill, _)) = uri::find(snapshot, name) {
        return Ok(skill);
    }
    open.reading.find(name).or_else(|unknown| {
        let mut shown = snapshot.rows().filter(|&row| shown_text(snapshot.row(row).id) == name);
        shown.next().filter(|_| shown.next().is_none()).ok_or(unknown)
    })
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| format!("the arguments do not fit: {error}"))
}

/// A request that says something.
fn bounded(mut request: String) -> Result<String, String> {
    if request.trim().is_empty() {
        return Err("the request is empty: say what is wanted".into());
    }
    if let Some((at, _)) = request.char_indices().nth(MAX_REQUEST) {
        request.truncate(at);
    }
    Ok(request)
}

fn answer<T: Serialize>(answer: Answer<T>) -> Result<CallToolResult, String> {
    let mut value = serde_json::to_value(answer).map_err(|error| error.to_string())?;
    clean(&mut value);
    Ok(CallToolResult::structured(value))
}

/// Takes out of every text what nobody sees: ids, names and paths are strangers' too.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown_text(text),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        _ => {}
    }
}
