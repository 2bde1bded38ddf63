//! How does the server describe itself? (OpenAPI 3.1)
//!
//! From the table of its addresses and the types of its answers. The same text is kept as
//! `docs/reference/openapi.json`, and a test says when that is not fresh.

use axum::Json;
use schemars::generate::{Contract, SchemaSettings};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::endpoint::{Answer, Endpoint};
use super::guard::Access;
use super::problem::{PROBLEM_JSON, ProblemAnswer};
use super::routes;

/// `GET /openapi.json`.
pub(super) async fn answer() -> Json<Value> {
    Json(document(&routes::table()))
}

/// The description of a table.
pub(super) fn document(table: &[Endpoint]) -> Value {
    // What is answered has every field; what is sent may leave some out. Answers share their parts by name.
    let mut answers = generator(Contract::Serialize, false);
    let mut asked = generator(Contract::Deserialize, true);
    let problem = answers.subschema_for::<ProblemAnswer>();
    let mut paths = Map::new();
    for endpoint in table {
        let operation = operation(endpoint, &mut answers, &mut asked, &problem);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Fingerpost",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Tells look-alike skills apart. Errors are problems (RFC 9457). What edits, compiles or spends needs the server's token; where others than the server's own machine can reach it, everything does. The same library is served to agents at `/mcp`, by the Model Context Protocol.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": answers.take_definitions(true),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn generator(contract: Contract, inline: bool) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.contract = contract;
        settings.inline_subschemas = inline;
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    settings.into_generator()
}

fn operation(
    endpoint: &Endpoint,
    answers: &mut SchemaGenerator,
    asked: &mut SchemaGenerator,
    problem: &Schema,
) -> Value {
    let mut parameters: Vec<Value> = named(endpoint.path)
        .map(|name| {
            let description = match name {
                "job" => "The number of a job.",
                _ => "The skill's id, or its name where only one has it.",
            };
            let schema = json!({"type": "string", "minLength": 1});
            json!({"name": name, "in": "path", "required": true, "description": description, "schema": schema})
        })
        .collect();
    if let Some(query) = endpoint.query {
        parameters.extend(query_parameters(&query(asked)));
    }
    let problem_of = |description: &str| json!({"description": description, "content": {PROBLEM_JSON: {"schema": problem}}});
    let mut responses = Map::new();
    let (status, content) = match &endpoint.answer {
        Answer::Json(status, schema) => {
            (status.as_u16(), json!({"application/json": {"schema": schema(answers)}}))
        }
        Answer::Text(kind) => {
            let kind = kind.split(';').next().unwrap_or_default();
            (200, json!({kind: {"schema": {"type": "string"}}}))
        }
    };
    responses
        .insert(status.to_string(), json!({"description": endpoint.summary, "content": content}));
    for (status, when) in endpoint.others {
        let response = match status {
            304 => json!({"description": when}),
            _ => problem_of(when),
        };
        responses.insert(status.to_string(), response);
    }
    if endpoint.access != Access::Open {
        responses.insert("401".into(), problem_of("The token is needed."));
    }
    responses.insert("default".into(), problem_of("Why there is no answer."));
    let mut operation = json!({
        "operationId": operation_id(endpoint),
        "summary": endpoint.summary,
        "responses": responses,
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = endpoint.body {
        let schema = body(asked);
        // Where every field may be left out, so may all of it.
        let required = schema.get("required").is_some();
        let content = json!({"application/json": {"schema": schema}});
        operation["requestBody"] = json!({"required": required, "content": content});
    }
    operation["security"] = match endpoint.access {
        Access::Open => json!([]),
        Access::Read => json!([{}, {"token": []}]),
        Access::Write => json!([{"token": []}]),
    };
    operation
}

/// What a path leaves open.
fn named(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// One for each field of a query.
fn query_parameters(schema: &Schema) -> Vec<Value> {
    let none = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|required| required.iter().any(|required| required == name))
    };
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        // A query leaves out what it does not say; it has no word for null.
        let mut schema = without_null(schema);
        if name == "q" && is_required(name) {
            schema["minLength"] = 1.into();
        }
        json!({
            "name": name,
            "in": "query",
            "required": is_required(name),
            "description": description.unwrap_or_default(),
            "schema": schema,
        })
    };
    fields.iter().map(parameter).collect()
}

fn without_null(mut schema: Value) -> Value {
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &kinds[..] {
            schema["type"] = kind.clone();
        }
    }
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        let mut kinds = any.iter().filter(|kind| kind.get("type") != Some(&json!("null")));
        if let (Some(kind), None) = (kinds.next(), kinds.next()) {
            return kind.clone();
        }
    }
    if schema.get("default") == Some(&Value::Null)
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("default");
    }
    schema
}

/// A name for clients that are made from the description: `getSkillsId` for `GET /v1/skills/{id}`.
fn operation_id(endpoint: &Endpoint) -> String {
    let mut id = endpoint.method.as_str().to_lowercase();
    let words = endpoint.path.split(|c: char| !c.is_ascii_alphanumeric());
    for word in words.filter(|word| !word.is_empty() && *word != "v1") {
        let (first, rest) = word.split_at(1);
        id.push_str(&first.to_uppercase());
        id.push_str(rest);
    }
    id
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let table = routes::table();
        let names: BTreeSet<String> = table.iter().map(operation_id).collect();
        assert_eq!(names.len(), table.len());
    }

    /// `FINGERPOST_BLESS=1 cargo test -p fingerpost-cli openapi` writes it anew.
    #[test]
    fn the_kept_description_is_fresh() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
        let document = document(&routes::table());
        let mut text = serde_json::to_string_pretty(&document).expect("plain data");
        text.push('\n');
        if std::env::var_os("FINGERPOST_BLESS").is_some() {
            std::fs::write(file, &text).expect("it can be written");
        }
        let kept = std::fs::read_to_string(file).unwrap_or_default();
        assert!(kept == text, "{file} is not fresh; write it anew with FINGERPOST_BLESS=1");
    }
}
