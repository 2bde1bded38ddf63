//! The page of all answers: the fields that each verb prints with `--json`, from the schemas of their types.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use super::{MADE, Program};

pub(super) fn page(program: &Program) -> anyhow::Result<String> {
    let schemas: BTreeMap<String, Value> = serde_json::from_str(&program.says(&["schema"])?)?;
    let mut text = format!(
        "{MADE}\n\n# Answers as JSON\n\nWith `--json` a verb prints one object on standard output; talk stays on standard error. Fields are added, never renamed or removed. `fingerpost schema VERB` prints the JSON Schema of an answer.\n"
    );
    let mut types = BTreeMap::new();
    for (verb, schema) in &schemas {
        let defined = schema["$defs"].as_object().into_iter().flatten();
        types.extend(defined.map(|(name, schema)| (name.clone(), schema.clone())));
        text += &format!("\n## {verb}\n\n{}\n\n", sentence(schema));
        text += &fields(schema).with_context(|| format!("the answer of {verb}"))?;
    }
    text += "\n# Types in them\n";
    for (name, schema) in &types {
        text += &format!("\n## {name}\n\n{}\n", sentence(schema));
        let fields = if schema["properties"].is_object() { fields(schema)? } else { words(schema) };
        if !fields.is_empty() {
            text += &format!("\n{fields}");
        }
    }
    Ok(text)
}

/// A line for each field.
fn fields(schema: &Value) -> anyhow::Result<String> {
    let properties = schema["properties"].as_object().context("has no fields")?;
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = "| field | is | |\n|---|---|---|\n".to_owned();
    for (name, field) in properties {
        let mut is = shape(field);
        if !required.contains(name.as_str()) && !is.contains("null") {
            is += ", or absent";
        }
        text += &format!("| `{name}` | {is} | {} |\n", sentence(field));
    }
    Ok(text)
}

/// The words that a type consists of.
fn words(schema: &Value) -> String {
    let one_of = schema["oneOf"].as_array().into_iter().flatten();
    let mut text: String = one_of
        .filter_map(|word| Some((word["const"].as_str()?, sentence(word))))
        .map(|(word, about)| format!("- `\"{word}\"`: {about}\n"))
        .collect();
    let plain = schema["enum"].as_array().into_iter().flatten();
    text.extend(plain.filter_map(Value::as_str).map(|word| format!("- `\"{word}\"`\n")));
    text
}

/// What a field holds.
fn shape(field: &Value) -> String {
    if let Some(name) = field["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(word) = field["const"].as_str() {
        return format!("`\"{word}\"`");
    }
    if let Some(shapes) = field["anyOf"].as_array().or_else(|| field["oneOf"].as_array()) {
        return shapes.iter().map(shape).collect::<Vec<_>>().join(" or ");
    }
    let named = |name: &str| match name {
        "array" => format!("list of {}", shape(&field["items"])),
        "object" if field["additionalProperties"].is_object() => {
            format!("object of {}", shape(&field["additionalProperties"]))
        }
        "integer" | "number" => "number".to_owned(),
        "boolean" => "true or false".to_owned(),
        name => name.to_owned(),
    };
    match &field["type"] {
        Value::String(name) => named(name),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(named).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

/// What is said of a type or field, on one line of a table.
fn sentence(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Links of Rust's documentation lead nowhere here.
    text.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}
