//! The page of all commands: what `--help` of each verb prints.

use super::{MADE, Program, trimmed};

pub(super) fn page(program: &Program) -> anyhow::Result<String> {
    let mut text = format!(
        "{MADE}\n\n# Commands\n\nWhat each verb does, and what can be said to it. How they are used is in the [guide](../guide/README.md).\n"
    );
    add(&mut text, program, &[])?;
    Ok(text)
}

/// A verb, then those below it.
fn add(text: &mut String, program: &Program, verb: &[&str]) -> anyhow::Result<()> {
    let help = program.says(&[verb, &["--help"]].concat())?;
    let name = ["fingerpost"].iter().chain(verb).copied().collect::<Vec<_>>().join(" ");
    *text += &format!("\n## {name}\n\n```text\n{}```\n", trimmed(&help));
    for below in verbs(&help) {
        add(text, program, &[verb, &[below]].concat())?;
    }
    Ok(())
}

/// The verbs that a help lists.
fn verbs(help: &str) -> Vec<&str> {
    let after = help.split_once("\nCommands:\n").map_or("", |(_, after)| after);
    let lines = after.lines().take_while(|line| line.starts_with(' '));
    // The lines that go on are further in than those that begin.
    let begins = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    begins
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_read_from_a_help() {
        let help = "Usage: x\n\nCommands:\n  one      What\n           goes on\n  two      What\n  help     Print\n\nOptions:\n  -k  N\n";
        assert_eq!(verbs(help), ["one", "two"]);
        assert_eq!(verbs("Usage: x\n\nOptions:\n  -k\n"), [""; 0]);
    }
}
