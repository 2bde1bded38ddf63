//! Who is next to whom in a graph?
//!
//! A graph is a JSON list of edges, each with `source`, `target` and whatever else is known of it.

use serde_json::{Map, Value};

use super::ToolData;

type Edge = Map<String, Value>;

pub(super) fn look(data: &ToolData, input: &str) -> Result<String, String> {
    if input.is_empty() {
        let names: Vec<&str> = data.ending("json").map(|file| file.name.as_str()).collect();
        return Ok(names.join("\n"));
    }
    let (name, rest) = input.split_once(char::is_whitespace).unwrap_or((input, ""));
    let file = data.find(name, "json")?;
    let edges: Vec<Edge> = serde_json::from_str(&file.read()?)
        .map_err(|error| format!("{name} is no list of edges: {error}"))?;
    let (what, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    match what.to_ascii_lowercase().as_str() {
        "neighbors" => neighbors(&edges, rest.trim()),
        "edge" => {
            let (one, other) = rest.split_once('|').ok_or("an edge needs two nodes: A | B")?;
            edge(&edges, one.trim(), other.trim())
        }
        _ => Err("a graph can be asked for 'neighbors NODE' or 'edge NODE | NODE'".to_owned()),
    }
}

fn neighbors(edges: &[Edge], node: &str) -> Result<String, String> {
    let mut found: Vec<&str> = edges.iter().filter_map(|edge| across(edge, node)).collect();
    found.sort_unstable();
    found.dedup();
    match found.len() {
        0 => Err(format!("there is no node '{node}'")),
        count => Ok(format!("{count} neighbors\n{}", found.join("\n"))),
    }
}

fn edge(edges: &[Edge], one: &str, other: &str) -> Result<String, String> {
    let joins = |edge: &&Edge| across(edge, one).is_some_and(|end| is(end, other));
    let found: Vec<String> = edges
        .iter()
        .filter(joins)
        .map(|edge| serde_json::to_string(edge).expect("plain data"))
        .collect();
    match found.is_empty() {
        true => Err(format!("there is no edge between '{one}' and '{other}'")),
        false => Ok(found.join("\n")),
    }
}

/// The other end of an edge.
fn across<'a>(edge: &'a Edge, node: &str) -> Option<&'a str> {
    let end = |name: &str| edge.get(name).and_then(Value::as_str);
    let (source, target) = (end("source")?, end("target")?);
    if is(source, node) { Some(target) } else { is(target, node).then_some(source) }
}

fn is(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
