//! Our entry in settings that are JSON, with comments or without.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Value, json};

use super::settings::{Broken, NAME};

const SERVERS: &str = "mcpServers";
const HOOKS: &str = "hooks";
const EVENT: &str = "UserPromptSubmit";

/// Seconds that Claude Code waits for the hook, which needs a fraction of one.
const PATIENCE: u64 = 5;

/// What Gemini CLI and editors read: comments and a comma too many. Anything looser is a slip that should be seen.
const AS_READ: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Some editors begin a file so.
const MARK: char = '\u{feff}';

fn parse(text: &str) -> Result<CstRootNode, Broken> {
    CstRootNode::parse(text, &AS_READ)
        .map_err(|error| Broken { line: error.line_display(), why: error.kind().to_string() })
}

/// Edits the object that a file holds; an empty file holds an empty one.
fn edit(
    text: &str,
    change: impl FnOnce(&CstObject) -> Result<(), Broken>,
) -> Result<String, Broken> {
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(body) => (MARK.to_string(), body),
        None => (String::new(), text),
    };
    let root = parse(body)?;
    let is_new = root.value().is_none();
    let object = root
        .object_value_or_create()
        .ok_or_else(|| Broken { line: 1, why: "an object was expected here, as in {}".into() })?;
    change(&object)?;
    let mut edited = root.to_string();
    if is_new && !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(format!("{mark}{edited}"))
}

/// The line on which a value of the file stands.
fn line_of(object: &CstObject, name: &str) -> usize {
    let Some(root) = object.root_node() else { return 1 };
    let text = root.to_string();
    let at = text.find(&format!("\"{name}\"")).unwrap_or(0);
    1 + text[..at].matches('\n').count()
}

fn inner_object(object: &CstObject, name: &str) -> Result<CstObject, Broken> {
    object.object_value_or_create(name).ok_or_else(|| Broken {
        line: line_of(object, name),
        why: format!("\"{name}\" is no object"),
    })
}

/// With an MCP server of our name.
pub(super) fn with_server(text: &str, server: &Value) -> Result<String, Broken> {
    edit(text, |object| {
        let servers = inner_object(object, SERVERS)?;
        match servers.get(NAME) {
            Some(known)
                if known.value().and_then(|value| value.to_serde_value()).as_ref()
                    == Some(server) => {}
            Some(known) => known.set_value(input(server)),
            None => {
                servers.append(NAME, input(server));
            }
        }
        Ok(())
    })
}

/// Without it, and without an object that nothing else is in.
pub(super) fn without_server(text: &str) -> Result<String, Broken> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    edit(text, |object| {
        let Some(servers) = object.object_value(SERVERS) else { return Ok(()) };
        let Some(known) = servers.get(NAME) else { return Ok(()) };
        known.remove();
        remove_if_empty(object, SERVERS);
        Ok(())
    })
}

/// With a hook that runs a command before every prompt.
pub(super) fn with_hook(text: &str, command: &str) -> Result<String, Broken> {
    let ours = json!({"type": "command", "command": command, "timeout": PATIENCE});
    edit(text, |object| {
        let hooks = inner_object(object, HOOKS)?;
        let groups = hooks.array_value_or_create(EVENT).ok_or_else(|| Broken {
            line: line_of(object, EVENT),
            why: format!("\"{EVENT}\" is no array"),
        })?;
        let known: Vec<CstNode> =
            groups.elements().iter().flat_map(commands).filter(is_ours).collect();
        match &known[..] {
            [only] if only.to_serde_value().as_ref() == Some(&ours) => {}
            [first, ..] => {
                if let Some(object) = first.as_object() {
                    object.replace_with(input(&ours));
                }
            }
            [] => {
                groups.append(input(&json!({"hooks": [ours]})));
            }
        }
        Ok(())
    })
}

/// Without it, and without what nothing else is in.
pub(super) fn without_hook(text: &str) -> Result<String, Broken> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    edit(text, |object| {
        let Some(hooks) = object.object_value(HOOKS) else { return Ok(()) };
        let Some(groups) = hooks.array_value(EVENT) else { return Ok(()) };
        let mut found = false;
        for group in groups.elements() {
            let known: Vec<CstNode> = commands(&group).into_iter().filter(is_ours).collect();
            found |= !known.is_empty();
            let is_all = !known.is_empty() && known.len() == commands(&group).len();
            match is_all {
                true => group.remove(),
                false => known.into_iter().for_each(CstNode::remove),
            }
        }
        if found && groups.elements().is_empty() {
            if let Some(event) = hooks.get(EVENT) {
                event.remove();
            }
            remove_if_empty(object, HOOKS);
        }
        Ok(())
    })
}

/// The commands of a group of hooks.
fn commands(group: &CstNode) -> Vec<CstNode> {
    let hooks = group.as_object().and_then(|group| group.array_value(HOOKS));
    hooks.map(|hooks| hooks.elements()).unwrap_or_default()
}

/// Does a hook run us, wherever we were installed?
fn is_ours(hook: &CstNode) -> bool {
    let command = hook.to_serde_value().and_then(|hook| Some(hook["command"].as_str()?.to_owned()));
    command.is_some_and(|command| command.contains(NAME) && command.contains(" hook claude"))
}

fn remove_if_empty(object: &CstObject, name: &str) {
    let empty = object.object_value(name).is_some_and(|inner| inner.properties().is_empty());
    if let Some(property) = object.get(name).filter(|_| empty) {
        property.remove();
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

/// Do two texts hold the same?
pub(super) fn same(one: &str, other: &str) -> bool {
    let value = |text: &str| {
        parse(text.strip_prefix(MARK).unwrap_or(text)).ok().and_then(|root| root.to_serde_value())
    };
    value(one) == value(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Value {
        json!({"command": "/bin/fingerpost", "args": ["mcp"]})
    }

    #[test]
    fn an_entry_stands_among_others_and_their_comments() {
        let text = "{\n  // which servers\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // keep\n  },\n  \"theme\": \"dark\"\n}\n";
        let with = with_server(text, &server()).unwrap();
        for kept in [
            "// which servers",
            "\"other\": { \"command\": \"x\" }",
            "// keep",
            "\"theme\": \"dark\"",
        ] {
            assert!(with.contains(kept), "{kept}: {with}");
        }
        assert_eq!(with_server(&with, &server()).unwrap(), with, "a second time changes nothing");
        let without = without_server(&with).unwrap();
        assert!(same(&without, text) && without.contains("// keep"), "{without}");
        assert_eq!(without_server(text).unwrap(), text);
    }

    #[test]
    fn a_changed_entry_takes_the_place_of_the_old_one() {
        let with = with_server("{}", &server()).unwrap();
        let changed = json!({"command": "/opt/fingerpost", "args": ["mcp", "--library", "x"]});
        let again = with_server(&with, &changed).unwrap();
        assert_eq!(again.matches("fingerpost\": {").count(), 1, "{again}");
        assert!(again.contains("/opt/fingerpost") && !again.contains("/bin/fingerpost"));
    }

    #[test]
    fn a_hook_stands_beside_other_hooks() {
        let text = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date"}]}], "Stop": []}}"#;
        let with = with_hook(text, "/bin/fingerpost hook claude").unwrap();
        assert!(with.contains("\"command\": \"date\"") && with.contains("\"Stop\": []"), "{with}");
        assert_eq!(with_hook(&with, "/bin/fingerpost hook claude").unwrap(), with);
        let moved = with_hook(&with, "'/my bin/fingerpost' hook claude").unwrap();
        assert_eq!(moved.matches("hook claude").count(), 1, "{moved}");
        assert!(same(&without_hook(&moved).unwrap(), text));
        let alone = with_hook("", "fingerpost hook claude").unwrap();
        assert!(same(&without_hook(&alone).unwrap(), "{}"), "{alone}");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        let line = |text: &str| with_server(text, &server()).unwrap_err().line;
        assert_eq!(line("{\n  \"a\": 1\n  \"b\": 2\n}"), 2, "behind which a comma is missing");
        assert_eq!(line("{\n\n  \"mcpServers\": []\n}"), 3);
        assert_eq!(line("[]"), 1);
        assert!(with_server("{\"a\": ", &server()).is_err());
        assert!(without_hook("{'a': 1}").is_err());
    }

    #[test]
    fn an_empty_file_and_a_mark_at_its_beginning_are_kept_apart() {
        for text in ["", "\n", "{}"] {
            assert!(with_server(text, &server()).unwrap().contains("fingerpost"), "{text:?}");
        }
        let with = with_server("\u{feff}{\r\n  \"a\": 1\r\n}\r\n", &server()).unwrap();
        assert!(with.starts_with("\u{feff}{") && with.contains("\"a\": 1,\r\n"), "{with:?}");
    }
}
