//! Our entry in settings that are TOML.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::settings::{Broken, Entry, NAME};

const SERVERS: &str = "mcp_servers";

fn parse(text: &str) -> Result<DocumentMut, Broken> {
    text.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = 1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        Broken { line, why: error.message().to_owned() }
    })
}

fn no_table(text: &str) -> Broken {
    let line = text.lines().position(|line| line.contains(SERVERS)).unwrap_or(0);
    Broken { line: line + 1, why: format!("{SERVERS} is no table") }
}

/// With an MCP server of our name.
pub(super) fn with_server(text: &str, entry: &Entry) -> Result<String, Broken> {
    let mut document = parse(text)?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut servers = Table::new();
        // Only the tables in it are written.
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| no_table(text))?;
    let arguments: Array = entry.arguments.iter().map(String::as_str).collect();
    match servers.get_mut(NAME).and_then(Item::as_table_like_mut) {
        Some(known) => {
            if !says(known, entry) {
                known.insert("command", value(&entry.command));
                known.insert("args", value(arguments));
            }
        }
        None => {
            let mut server = Table::new();
            server.insert("command", value(&entry.command));
            server.insert("args", value(arguments));
            servers.insert(NAME, Item::Table(server));
        }
    }
    Ok(document.to_string())
}

fn says(known: &dyn TableLike, entry: &Entry) -> bool {
    let arguments = known.get("args").and_then(Item::as_array);
    let arguments = arguments.map(|list| list.iter().map(|word| word.as_str().unwrap_or_default()));
    known.get("command").and_then(Item::as_str) == Some(&entry.command)
        && arguments.is_some_and(|words| words.eq(entry.arguments.iter().map(String::as_str)))
}

/// Without it.
pub(super) fn without_server(text: &str) -> Result<String, Broken> {
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(SERVERS) else { return Ok(text.to_owned()) };
    let servers = servers.as_table_like_mut().ok_or_else(|| no_table(text))?;
    if servers.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() {
        document.remove(SERVERS);
    }
    Ok(document.to_string())
}

/// Do two texts hold the same?
pub(super) fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| -> Option<String> {
        let mut document = parse(text).ok()?;
        tidy(document.as_table_mut());
        Some(document.to_string())
    };
    matches!((plain(one), plain(other)), (Some(one), Some(other)) if one == other)
}

/// Without comments and in one order, so that only what is said is compared.
fn tidy(table: &mut Table) {
    table.sort_values();
    table.decor_mut().clear();
    table.set_position(None);
    for (mut key, item) in table.iter_mut() {
        key.leaf_decor_mut().clear();
        match item {
            Item::Table(inner) => tidy(inner),
            Item::Value(value) => value.decor_mut().clear(),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(tidy),
            Item::None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry { command: "/bin/fingerpost".into(), arguments: vec!["mcp".into()] }
    }

    const THEIRS: &str = "# my settings\nmodel = \"o4\" # fast\n\n[mcp_servers.other]\ncommand = \"x\"   # spaced\nargs = [ \"a\",\"b\" ]\n\n[tui]\ntheme = 'dark'\n";

    #[test]
    fn an_entry_stands_among_others_and_their_comments() {
        let with = with_server(THEIRS, &entry()).unwrap();
        for line in THEIRS.lines() {
            assert!(with.contains(line), "{line}: {with}");
        }
        assert!(
            with.contains(
                "[mcp_servers.fingerpost]\ncommand = \"/bin/fingerpost\"\nargs = [\"mcp\"]\n"
            ),
            "{with}"
        );
        assert_eq!(with_server(&with, &entry()).unwrap(), with, "a second time changes nothing");
        assert_eq!(without_server(&with).unwrap(), THEIRS);
        assert_eq!(without_server(THEIRS).unwrap(), THEIRS);
    }

    #[test]
    fn a_table_in_one_line_is_one_too() {
        let theirs = "mcp_servers = { other = { command = \"x\" } }\n";
        let with = with_server(theirs, &entry()).unwrap();
        assert!(with.contains("fingerpost") && with.contains("other"), "{with}");
        assert!(same(&without_server(&with).unwrap(), theirs));
        let alone = with_server("", &entry()).unwrap();
        assert_eq!(
            alone,
            "[mcp_servers.fingerpost]\ncommand = \"/bin/fingerpost\"\nargs = [\"mcp\"]\n"
        );
        assert_eq!(without_server(&alone).unwrap(), "");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        assert_eq!(with_server("a = 1\nb = = 2\n", &entry()).unwrap_err().line, 2);
        assert_eq!(with_server("a = 1\nmcp_servers = 3\n", &entry()).unwrap_err().line, 2);
        assert!(without_server("[a\n").is_err());
    }

    #[test]
    fn the_same_is_the_same_whatever_stands_around_it() {
        assert!(same(THEIRS, &THEIRS.replace("# my settings\n", "").replace("   # spaced", "")));
        assert!(!same(THEIRS, &THEIRS.replace("dark", "light")));
    }
}
