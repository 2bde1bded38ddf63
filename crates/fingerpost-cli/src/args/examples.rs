//! Which example does the help of each verb end with?
//!
//! One table, so that a test can walk all verbs, find that each has one, and read it as the program would.

use clap::Command;

/// A verb, with what stands before it, and lines that can be typed.
type Examples = (&'static str, &'static [&'static str]);

const EXAMPLES: &[Examples] = &[
    ("", &["fingerpost", "fingerpost route \"merge two PDF files\" --library examples/library"]),
    (
        "compile",
        &[
            "fingerpost compile ./skills",
            "fingerpost compile ./skills --writer llm --model gpt-4o-mini --dry-run",
        ],
    ),
    (
        "route",
        &[
            "fingerpost route \"fill in the tax form\"",
            "fingerpost route \"fill in the tax form\" --library ./skills --min-confidence 0.8",
            "cat \"$(fingerpost route -q 'fill in the tax form')\"",
        ],
    ),
    (
        "explain",
        &[
            "fingerpost explain \"fill in the tax form\" --library ./skills",
            "fingerpost explain \"fill in the tax form\" --skill form-1040-es",
        ],
    ),
    (
        "search",
        &[
            "fingerpost search \"fill in the tax form\" --library ./skills -k 5",
            "fingerpost search \"tax form\" --retriever bm25 --view raw --explain",
        ],
    ),
    ("neighbors", &["fingerpost neighbors pdf-merge --library ./skills"]),
    ("diff", &["fingerpost diff pdf-merge pdf-split --library ./skills"]),
    ("atlas", &["fingerpost atlas stats --library ./skills"]),
    ("atlas stats", &["fingerpost atlas stats --library ./skills --json"]),
    ("atlas map", &["fingerpost atlas map --library ./skills --out map.svg"]),
    (
        "atlas sweep",
        &["fingerpost atlas sweep --library ./skills --buckets 50,100 --max-distance 0.12,0.15"],
    ),
    ("atlas adopt", &["fingerpost atlas adopt ./old/.fingerpost --library ./skills"]),
    ("page", &["fingerpost page show pdf-merge --library ./skills"]),
    ("page show", &["fingerpost page show pdf-merge --library ./skills"]),
    ("page review", &["fingerpost page review --library ./skills -k 10"]),
    (
        "page edit",
        &[
            "fingerpost page edit pdf-merge --library ./skills",
            "fingerpost page edit pdf-merge --boundary \"Cut one file in two -> pdf-split\"",
        ],
    ),
    ("page pin", &["fingerpost page pin pdf-merge --library ./skills"]),
    ("page unpin", &["fingerpost page unpin pdf-merge --library ./skills"]),
    ("page forget", &["fingerpost page forget pdf-merge --library ./skills"]),
    ("export", &["fingerpost export --library ./skills --out pages.jsonl"]),
    ("import", &["fingerpost import pages.jsonl --library ./skills"]),
    (
        "eval",
        &[
            "fingerpost eval --library ./skills --queries queries.jsonl --qrels qrels.tsv",
            "fingerpost eval --library ./skills --chooser local --measure Success@1",
        ],
    ),
    ("eval compare", &["fingerpost eval compare before.run after.run --qrels qrels.tsv"]),
    ("lab", &["fingerpost lab list"]),
    ("lab list", &["fingerpost lab list"]),
    (
        "lab run",
        &["fingerpost lab run --all --quick", "fingerpost lab run retrieval --data ./skills"],
    ),
    ("lab report", &["fingerpost lab report"]),
    ("lab verify", &["fingerpost lab verify"]),
    ("doctor", &["fingerpost doctor ./skills"]),
    ("model", &["fingerpost model list"]),
    ("model list", &["fingerpost model list"]),
    ("model pull", &["fingerpost model pull minilm"]),
    ("model path", &["fingerpost model path minilm"]),
    ("model remove", &["fingerpost model remove minilm"]),
    (
        "ledger",
        &[
            "fingerpost ledger --library ./skills",
            "fingerpost ledger --library ./skills --export answers.jsonl",
        ],
    ),
    (
        "worker",
        &[
            "fingerpost worker --model gpt-4o-mini --atlas postgres://skills@db.example.org/registry",
            "fingerpost worker status --atlas postgres://skills@db.example.org/registry",
        ],
    ),
    (
        "worker status",
        &["fingerpost worker status --atlas postgres://skills@db.example.org/registry --json"],
    ),
    ("ledger prune", &["fingerpost ledger prune --before 2026-01-31 --library ./skills"]),
    (
        "completions",
        &[
            "fingerpost completions bash > ~/.local/share/bash-completion/completions/fingerpost",
            "fingerpost completions fish > ~/.config/fish/completions/fingerpost.fish",
        ],
    ),
    (
        "serve",
        &[
            "fingerpost serve ./skills --open",
            "fingerpost serve ./skills --host 0.0.0.0 --token-file ./token --allowed-host skills.example.org",
        ],
    ),
    ("mcp", &["fingerpost mcp", "fingerpost mcp --library ./skills"]),
    ("hook", &["fingerpost hook claude --library ./skills < prompt.json"]),
    (
        "hook claude",
        &["fingerpost hook claude --library ./skills --min-confidence 0.8 < prompt.json"],
    ),
    (
        "install",
        &["fingerpost install claude", "fingerpost install claude --with hook --project --dry-run"],
    ),
    ("uninstall", &["fingerpost uninstall claude", "fingerpost uninstall codex --yes"]),
    ("watch", &["fingerpost watch ./skills"]),
    ("schema", &["fingerpost schema route", "fingerpost schema page show"]),
    ("man", &["fingerpost man --out ~/.local/share/man/man1"]),
];

/// The command with the examples of each verb at the end of its help.
pub(super) fn shown(command: Command) -> Command {
    below(command, "")
}

/// A verb and those below it.
fn below(command: Command, path: &str) -> Command {
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let command = match EXAMPLES.iter().find(|(verb, _)| *verb == path) {
        Some((_, lines)) => command.after_help(format!("Examples:\n  {}", lines.join("\n  "))),
        None => command,
    };
    verbs.into_iter().fold(command, |command, verb| {
        let path = format!("{path} {verb}").trim_start().to_owned();
        command.mut_subcommand(verb, |command| below(command, &path))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Every verb by its path, the program itself as "".
    fn paths(command: &Command, path: &str, all: &mut BTreeSet<String>) {
        all.insert(path.to_owned());
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
            let path = format!("{path} {}", verb.get_name());
            paths(verb, path.trim_start(), all);
        }
    }

    /// The words of our own command in a line of a shell.
    fn words(line: &str) -> Vec<String> {
        let line = line
            .split_once("$(")
            .map_or(line, |(_, inside)| inside.split(')').next().unwrap_or_default());
        let line = line.split(" > ").next().unwrap_or_default();
        let line = line.split(" < ").next().unwrap_or_default();
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match c {
                '"' | '\'' if quote == Some(c) => quote = None,
                '"' | '\'' if quote.is_none() => quote = Some(c),
                ' ' if quote.is_none() => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        assert_eq!(quote, None, "{line}: a quote is open");
        words
    }

    #[test]
    fn every_verb_has_an_example_and_every_example_a_verb() {
        let mut verbs = BTreeSet::new();
        paths(&crate::args::command(), "", &mut verbs);
        let told: BTreeSet<String> = EXAMPLES.iter().map(|(verb, _)| (*verb).to_owned()).collect();
        assert_eq!(verbs, told);
        assert_eq!(told.len(), EXAMPLES.len(), "a verb stands twice in the table");
    }

    /// The lines of a page that a reader may type, in blocks that are shown and not run.
    fn shown_in(page: &str) -> Vec<&str> {
        let mut open = false;
        let lines = page.lines().filter(|line| {
            let marks = line.starts_with("```");
            open = if marks { *line == "```sh" } else { open };
            open && !marks
        });
        lines.filter(|line| line.starts_with("fingerpost ")).collect()
    }

    #[test]
    fn every_command_of_the_guide_can_be_typed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let guide = fs::read_dir(root.join("docs/guide")).unwrap();
        let mut pages: Vec<PathBuf> = guide.map(|page| page.unwrap().path()).collect();
        pages.push(root.join("README.md"));
        let mut read = 0;
        for page in pages {
            for line in shown_in(&fs::read_to_string(&page).unwrap()) {
                let line = line.split(" #").next().unwrap().trim_end();
                let typed = crate::args::command().try_get_matches_from(words(line));
                assert!(typed.is_ok(), "{}: {line}: {}", page.display(), typed.unwrap_err());
                read += 1;
            }
        }
        assert!(read > 10, "{read}");
    }

    #[test]
    fn every_example_can_be_typed() {
        for (verb, lines) in EXAMPLES {
            assert!(!lines.is_empty(), "{verb}");
            for line in *lines {
                let words = words(line);
                assert_eq!(words[0], "fingerpost", "{line}");
                let matches = crate::args::command().try_get_matches_from(&words);
                let mut matches = &matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                let mut read = Vec::new();
                while let Some((name, below)) = matches.subcommand() {
                    read.push(name);
                    matches = below;
                }
                let read = read.join(" ");
                assert!(
                    read.starts_with(verb),
                    "{line} is an example of '{read}', not of '{verb}'"
                );
            }
        }
    }
}
