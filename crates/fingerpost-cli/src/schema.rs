//! `fingerpost schema`: which fields does an answer have?

use clap::Args;
use fingerpost::contract::{
    CompileAnswer, DiffAnswer, ExplainAnswer, NeighborsAnswer, PageAnswer, ReviewAnswer,
    RouteAnswer, SearchAnswer,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::output::{self, Exit, UsageError};

/// A verb, and what describes its answer.
type Answer = (&'static str, fn() -> Schema);

/// The answers that every door gives.
const ANSWERS: [Answer; 8] = [
    ("compile", of::<CompileAnswer<'_>>),
    ("diff", of::<DiffAnswer>),
    ("explain", of::<ExplainAnswer>),
    ("neighbors", of::<NeighborsAnswer>),
    ("page review", of::<ReviewAnswer>),
    ("page show", of::<PageAnswer>),
    ("route", of::<RouteAnswer>),
    ("search", of::<SearchAnswer>),
];

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Whose answer [default: all of them, by their verbs].
    #[arg(value_name = "VERB", num_args = 0..=2)]
    verb: Vec<String>,
}

fn of<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<Exit> {
    if args.verb.is_empty() {
        let all: serde_json::Map<String, serde_json::Value> =
            ANSWERS.iter().map(|(verb, schema)| ((*verb).to_owned(), schema().into())).collect();
        output::print_json(&all)?;
        return Ok(Exit::Done);
    }
    let wanted = args.verb.join(" ");
    let Some((_, schema)) = ANSWERS.iter().find(|(verb, _)| *verb == wanted) else {
        let verbs = ANSWERS.map(|(verb, _)| verb).join(", ");
        let message = format!("no schema for '{wanted}': there is one for {verbs}");
        return Err(UsageError::new(message).into());
    };
    output::print_json(&schema())?;
    Ok(Exit::Done)
}
