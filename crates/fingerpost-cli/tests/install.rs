//! Setting agents up, in a home of the test's own: what is theirs stays theirs, byte for byte.

mod folder;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use folder::{Fixture, err};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::{Value, json};

/// What somebody has in each file before we come.
const CLAUDE: &str = r#"{
  "numStartups": 184,
  "mcpServers": {
    "github": { "type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer s3cret"} }
  },
  "projects": { "/srv/a": { "allowedTools": [], "history": ["年终奖 ü \u0041"] } }
}"#;
const HOOKS: &str = "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"UserPromptSubmit\": [\r\n\t\t\t{ \"hooks\": [ { \"type\": \"command\", \"command\": \"date\" } ] }\r\n\t\t]\r\n\t}\r\n}\r\n";
const CODEX: &str = "# mine\nmodel = \"gpt-5\"   # the good one\n\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [ \"-y\",\n  \"docs\" ]\n\n# last words\n[tui]\nnotifications = true\n";
const CURSOR: &str = "{ \"mcpServers\": {} }\n";
const GEMINI: &str = "{\n    // how it looks\n    \"theme\": \"GitHub\", /* or Dracula */\n    \"mcpServers\": {\n        \"x\": { \"command\": \"y\" }, // keep this\n    },\n}\n";

/// The agent, how, its file in the home, and what is there.
const CASES: [(&str, &str, &str, &str); 5] = [
    ("claude", "mcp", ".claude.json", CLAUDE),
    ("claude", "hook", ".claude/settings.json", HOOKS),
    ("codex", "mcp", ".codex/config.toml", CODEX),
    ("cursor", "mcp", ".cursor/mcp.json", CURSOR),
    ("gemini", "mcp", ".gemini/settings.json", GEMINI),
];

fn put(fixture: &Fixture, file: &str, text: &str) -> PathBuf {
    let path = fixture.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn run(fixture: &Fixture, arguments: &[&str]) -> Output {
    fixture.run(arguments)
}

fn well(fixture: &Fixture, arguments: &[&str]) -> String {
    let output = run(fixture, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", err(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Files that are no settings of an agent: our receipts.
fn receipts(fixture: &Fixture) -> usize {
    folder::files(&fixture.path(".local/share/fingerpost/installed")).len()
}

#[test]
fn an_entry_comes_and_goes_and_leaves_no_trace() {
    for (agent, with, file, before) in CASES {
        let fixture = Fixture::new(&["qt-correction"]);
        let path = put(&fixture, file, before);
        let install = ["install", agent, "--with", with, "--library", "library", "--yes"];
        let shown = well(&fixture, &install);
        assert!(shown.contains("+ ") && shown.contains("fingerpost"), "{agent}: {shown}");
        let after = text(&path);
        let program = env!("CARGO_BIN_EXE_fingerpost");
        assert!(after.contains(program) && after.contains("--library"), "{after}");
        assert!(after.contains(fixture.library().canonicalize().unwrap().to_str().unwrap()));
        // Every line of theirs is there, with its comment.
        for line in before
            .lines()
            .filter(|line| line.trim().len() > 2 && !line.contains("mcpServers\": {}"))
        {
            let line = line.trim_end_matches([',', '\r']);
            assert!(after.contains(line), "{agent}: {line:?} is gone:\n{after}");
        }
        // Twice is once.
        let again = run(&fixture, &install);
        assert_eq!((again.status.code(), text(&path)), (Some(0), after), "{}", err(&again));
        assert!(err(&again).contains("has it already"), "{}", err(&again));
        // Another library: the entry changes, and is not doubled.
        well(&fixture, &["install", agent, "--with", with, "--yes"]);
        assert_eq!(text(&path).matches(program).count(), 1);
        assert!(!text(&path).contains("--library"));

        well(&fixture, &["uninstall", agent, "--with", with, "--yes"]);
        assert_eq!(text(&path), before, "{agent} {with}: the very bytes");
        assert_eq!(receipts(&fixture), 0);
        let nothing = run(&fixture, &["uninstall", agent, "--with", with, "--yes"]);
        assert!(err(&nothing).contains("has nothing of fingerpost"), "{}", err(&nothing));
    }
}

#[test]
fn where_there_was_no_file_there_is_none_again() {
    for (agent, with, file, _) in CASES {
        let fixture = Fixture::new(&[]);
        let before = folder::files(fixture.folder.path());
        well(&fixture, &["install", agent, "--with", with, "--yes"]);
        assert!(fixture.path(file).is_file(), "{file}");
        well(&fixture, &["uninstall", agent, "--with", with, "--yes"]);
        assert_eq!(folder::files(fixture.folder.path()), before, "{agent} {with}");
        assert!(
            !fixture
                .path(file)
                .parent()
                .is_some_and(|made| made != fixture.folder.path() && made.exists())
        );
    }
}

#[test]
fn the_agents_read_what_is_written() {
    let fixture = Fixture::new(&["qt-correction"]);
    let program = env!("CARGO_BIN_EXE_fingerpost");
    for (agent, with, file, before) in CASES {
        let path = put(&fixture, file, before);
        well(&fixture, &["install", agent, "--with", with, "--yes"]);
        if with == "hook" {
            let settings: Value = serde_json::from_str(&text(&path)).unwrap();
            let hook = &settings["hooks"]["UserPromptSubmit"][1]["hooks"][0];
            assert_eq!(
                (&hook["type"], &hook["command"]),
                (&json!("command"), &json!(format!("{program} hook claude")))
            );
            continue;
        }
        if agent == "codex" {
            let after = text(&path);
            let expected =
                format!("[mcp_servers.fingerpost]\ncommand = \"{program}\"\nargs = [\"mcp\"]\n");
            assert!(after.contains(&expected), "{after}");
            continue;
        }
        let settings: Value = match agent {
            // Comments are read by this one alone.
            "gemini" => {
                let read = CstRootNode::parse(&text(&path), &ParseOptions::default()).unwrap();
                read.to_serde_value().unwrap()
            }
            _ => serde_json::from_str(&text(&path)).unwrap(),
        };
        let server = &settings["mcpServers"]["fingerpost"];
        assert_eq!((&server["command"], &server["args"]), (&json!(program), &json!(["mcp"])));
    }
}

#[test]
fn nothing_is_changed_unasked_or_by_halves() {
    let fixture = Fixture::new(&[]);
    let path = put(&fixture, ".cursor/mcp.json", CURSOR);
    let shown = well(&fixture, &["install", "cursor", "--dry-run"]);
    assert!(shown.contains("+") && shown.contains("\"fingerpost\""), "{shown}");
    // Nobody at a terminal says yes.
    let asked = run(&fixture, &["install", "cursor"]);
    assert_eq!(asked.status.code(), Some(2));
    assert!(err(&asked).contains("--yes"), "{}", err(&asked));
    assert_eq!(text(&path), CURSOR);
    assert_eq!(receipts(&fixture), 0);
    let shown = fixture.json(&["install", "cursor", "--dry-run"]);
    assert_eq!(shown["changes"][0]["applied"], false);
    assert!(shown["changes"][0]["diff"].as_str().unwrap().contains("\n+"));

    for (agent, file, broken, line) in [
        ("claude", ".claude.json", "{\n  \"a\": 1\n  \"b\": 2\n}", 2),
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": 3\n}", 2),
        ("gemini", ".gemini/settings.json", "{\n  // half\n  \"theme\": ", 3),
        ("codex", ".codex/config.toml", "a = 1\n[b\nc = 2\n", 2),
    ] {
        let path = put(&fixture, file, broken);
        // Where there is no place for an entry, there is none to take out.
        let verbs: &[&str] =
            if agent == "cursor" { &["install"] } else { &["install", "uninstall"] };
        for verb in verbs {
            let refused = run(&fixture, &[verb, agent, "--yes"]);
            let said = err(&refused);
            assert_eq!(refused.status.code(), Some(2), "{agent}: {said}");
            assert!(said.contains(&format!("{file}:{line}:")), "{agent}: {said}");
            assert!(said.contains("nothing was changed"), "{said}");
        }
        assert_eq!(text(&path), broken);
    }
    let refused = run(&fixture, &["install", "gemini", "--with", "hook", "--yes"]);
    assert_eq!(refused.status.code(), Some(2));
    let refused = run(&fixture, &["install", "claude", "--library", "nowhere", "--yes"]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
}

#[test]
fn what_others_changed_meanwhile_stays() {
    let fixture = Fixture::new(&[]);
    let path = put(&fixture, ".gemini/settings.json", GEMINI);
    well(&fixture, &["install", "gemini", "--yes"]);
    // The agent has written to it since.
    fs::write(&path, text(&path).replace("\"GitHub\"", "\"Dracula\"")).unwrap();
    well(&fixture, &["uninstall", "gemini", "--yes"]);
    assert_eq!(text(&path), GEMINI.replace("\"GitHub\"", "\"Dracula\""));

    // And where the receipt is lost, the entry goes all the same.
    well(&fixture, &["install", "gemini", "--yes"]);
    fs::remove_dir_all(fixture.path(".local")).unwrap();
    well(&fixture, &["uninstall", "gemini", "--yes"]);
    let left = text(&path);
    assert!(
        !left.contains("fingerpost")
            && left.contains("// keep this")
            && left.contains("/* or Dracula */"),
        "{left}"
    );
}

#[test]
fn both_ways_at_once_for_one_project() {
    let fixture = Fixture::new(&["qt-correction"]);
    let arguments = [
        "install", "claude", "--with", "mcp", "--with", "hook", "--project", "--library",
        "library", "--yes",
    ];
    well(&fixture, &arguments);
    let servers: Value = serde_json::from_str(&text(&fixture.path(".mcp.json"))).unwrap();
    // What others share names no path of this machine.
    let expected =
        json!({"type": "stdio", "command": "fingerpost", "args": ["mcp", "--library", "library"]});
    assert_eq!(servers["mcpServers"]["fingerpost"], expected);
    let settings: Value =
        serde_json::from_str(&text(&fixture.path(".claude/settings.json"))).unwrap();
    let command = &settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"];
    assert_eq!(command, "fingerpost hook claude --library library");
    well(
        &fixture,
        &["uninstall", "claude", "--with", "mcp", "--with", "hook", "--project", "--yes"],
    );
    assert!(!fixture.path(".mcp.json").exists() && !fixture.path(".claude").exists());
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fixture = Fixture::new(&[]);
    let real = put(&fixture, "dotfiles/claude.json", CLAUDE);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = fixture.path(".claude.json");
    symlink(&real, &link).unwrap();
    well(&fixture, &["install", "claude", "--yes"]);
    assert!(link.is_symlink() && text(&real).contains("fingerpost"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    well(&fixture, &["uninstall", "claude", "--yes"]);
    assert_eq!((text(&real), link.is_symlink()), (CLAUDE.to_owned(), true));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);

    // A project's link that leads out of it is a stranger's, and one that leads nowhere is a slip.
    fs::create_dir(fixture.path("project")).unwrap();
    symlink(&real, fixture.path("project/.mcp.json")).unwrap();
    fs::create_dir(fixture.path("project/.cursor")).unwrap();
    symlink("nowhere.json", fixture.path("project/.cursor/mcp.json")).unwrap();
    for (agent, said) in [("claude", "leads out of the project"), ("cursor", "leads nowhere")] {
        let mut command = fixture.command(&["install", agent, "--project", "--yes"]);
        let refused = command.current_dir(fixture.path("project")).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(err(&refused).contains(said), "{}", err(&refused));
    }
    assert_eq!(text(&real), CLAUDE);
}
