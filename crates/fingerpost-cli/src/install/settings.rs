//! Which file does an agent read, and what do we put into it?

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

use super::{json as jsonc, toml};
use crate::output::UsageError;
use crate::source::meant;

/// An agent whose settings we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
}

impl Agent {
    /// As its makers write it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Agent::Claude => "Claude Code",
            Agent::Codex => "Codex",
            Agent::Cursor => "Cursor",
            Agent::Gemini => "Gemini CLI",
        }
    }
}

/// How the agent uses the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum With {
    /// By tools that it calls.
    Mcp,
    /// By a skill that is named for every prompt.
    Hook,
}

impl With {
    pub(super) fn name(self) -> &'static str {
        match self {
            With::Mcp => "mcp",
            With::Hook => "hook",
        }
    }
}

/// Whose settings.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// The user's, in this home.
    User(PathBuf),
    /// Those of the project in this folder.
    Project(PathBuf),
}

/// How the file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// JSON with an object `mcpServers`.
    JsonServers,
    /// JSON with `hooks.UserPromptSubmit`.
    JsonHooks,
    /// TOML with a table `mcp_servers`.
    TomlServers,
}

/// A place for our entry.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) agent: Agent,
    pub(super) with: With,
    pub(super) file: PathBuf,
    /// The project's folder, which the file must lie in.
    pub(super) project: Option<PathBuf>,
    format: Format,
}

/// What we put there.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
}

/// Why a file cannot be changed, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub(super) struct Broken {
    pub(super) line: usize,
    pub(super) why: String,
}

/// Our name in the settings of others.
pub(super) const NAME: &str = "fingerpost";

impl Place {
    pub(super) fn of(agent: Agent, with: With, scope: &Scope) -> anyhow::Result<Self> {
        let variable = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let (file, format) = match (agent, with, scope) {
            (Agent::Claude, With::Mcp, Scope::User(home)) => {
                let file = variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone());
                (file.join(".claude.json"), Format::JsonServers)
            }
            (Agent::Claude, With::Mcp, Scope::Project(here)) => {
                (here.join(".mcp.json"), Format::JsonServers)
            }
            (Agent::Claude, With::Hook, Scope::User(home)) => {
                let folder = variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude"));
                (folder.join("settings.json"), Format::JsonHooks)
            }
            (Agent::Claude, With::Hook, Scope::Project(here)) => {
                (here.join(".claude/settings.json"), Format::JsonHooks)
            }
            (agent, With::Hook, _) => {
                let message = format!(
                    "the hook is for Claude Code; set {} up with --with mcp",
                    agent.title()
                );
                return Err(UsageError::new(message).into());
            }
            (Agent::Codex, With::Mcp, Scope::User(home)) => {
                let folder = variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
                (folder.join("config.toml"), Format::TomlServers)
            }
            (Agent::Codex, With::Mcp, Scope::Project(here)) => {
                (here.join(".codex/config.toml"), Format::TomlServers)
            }
            (Agent::Cursor, With::Mcp, Scope::User(here) | Scope::Project(here)) => {
                (here.join(".cursor/mcp.json"), Format::JsonServers)
            }
            (Agent::Gemini, With::Mcp, Scope::User(here) | Scope::Project(here)) => {
                (here.join(".gemini/settings.json"), Format::JsonServers)
            }
        };
        let project = match scope {
            Scope::User(_) => None,
            Scope::Project(here) => Some(here.clone()),
        };
        Ok(Self { agent, with, file, project, format })
    }

    /// The text with our entry in it, and nothing else changed.
    pub(super) fn with(&self, text: &str, entry: &Entry) -> Result<String, Broken> {
        match self.format {
            Format::JsonServers => jsonc::with_server(text, &entry.server(self.agent)),
            Format::JsonHooks => jsonc::with_hook(text, &entry.shell()),
            Format::TomlServers => toml::with_server(text, entry),
        }
    }

    /// The text without it.
    pub(super) fn without(&self, text: &str) -> Result<String, Broken> {
        match self.format {
            Format::JsonServers => jsonc::without_server(text),
            Format::JsonHooks => jsonc::without_hook(text),
            Format::TomlServers => toml::without_server(text),
        }
    }

    /// Is an entry of ours in it?
    pub(super) fn has(&self, text: &str) -> Result<bool, Broken> {
        Ok(self.without(text)? != text)
    }

    /// Do two texts mean the same to the agent?
    pub(super) fn says_the_same(&self, one: &str, other: &str) -> bool {
        match self.format {
            Format::JsonServers | Format::JsonHooks => jsonc::same(one, other),
            Format::TomlServers => toml::same(one, other),
        }
    }
}

impl Entry {
    /// The command for a place, with arguments that mean the library from wherever the agent starts it.
    pub(super) fn of(
        place: &Place,
        libraries: &[PathBuf],
        atlas: Option<&Path>,
        include_manual: bool,
    ) -> anyhow::Result<Self> {
        let command = match &place.project {
            // What others share has no path of this machine in it.
            Some(_) => NAME.to_owned(),
            None => {
                let program =
                    std::env::current_exe().context("cannot tell where this program is")?;
                text(&program)?
            }
        };
        let mut arguments: Vec<String> = match place.with {
            With::Mcp => vec!["mcp".into()],
            With::Hook => vec!["hook".into(), "claude".into()],
        };
        for (flag, path) in libraries
            .iter()
            .map(|library| ("--library", library.as_path()))
            .chain(atlas.map(|atlas| ("--atlas", atlas)))
        {
            if let Some(address) = meant(path) {
                arguments.extend([flag.to_owned(), address.to_owned()]);
                continue;
            }
            let full = std::path::absolute(path)?;
            let full = full.canonicalize().unwrap_or(full);
            // An agent starts its servers in the project's folder.
            let here = place.project.as_ref().and_then(|project| project.canonicalize().ok());
            let short = here.and_then(|here| full.strip_prefix(here).ok().map(Path::to_path_buf));
            let path =
                short.map(|path| if path.as_os_str().is_empty() { ".".into() } else { path });
            arguments.extend([flag.to_owned(), text(&path.unwrap_or(full))?]);
        }
        if include_manual {
            arguments.push("--include-manual".into());
        }
        Ok(Self { command, arguments })
    }

    /// As an object of `mcpServers`.
    fn server(&self, agent: Agent) -> Value {
        let Self { command, arguments } = self;
        match agent {
            Agent::Claude | Agent::Cursor => {
                json!({"type": "stdio", "command": command, "args": arguments})
            }
            Agent::Codex | Agent::Gemini => json!({"command": command, "args": arguments}),
        }
    }

    /// As a line for a shell.
    fn shell(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.arguments);
        words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

fn text(path: &Path) -> anyhow::Result<String> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => {
            bail!("{} cannot be written into a settings file: it is no Unicode", path.display())
        }
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:=@%,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false if cfg!(windows) => format!("\"{word}\""),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_back() {
        assert_eq!(quoted("/opt/x-1.0/fingerpost"), "/opt/x-1.0/fingerpost");
        if !cfg!(windows) {
            assert_eq!(quoted("/my skills/$(rm)"), "'/my skills/$(rm)'");
            assert_eq!(quoted("it's"), "'it'\\''s'");
            assert_eq!(quoted(""), "''");
        }
    }

    #[test]
    fn each_agent_has_its_file() {
        let (home, here) = (PathBuf::from("/home/a"), PathBuf::from("/srv/b"));
        let (user, project) = (Scope::User(home), Scope::Project(here));
        let file = |agent, with, scope: &Scope| {
            Place::of(agent, with, scope).unwrap().file.display().to_string()
        };
        assert_eq!(file(Agent::Claude, With::Mcp, &project), "/srv/b/.mcp.json");
        assert_eq!(file(Agent::Claude, With::Hook, &project), "/srv/b/.claude/settings.json");
        assert_eq!(file(Agent::Cursor, With::Mcp, &user), "/home/a/.cursor/mcp.json");
        assert_eq!(file(Agent::Gemini, With::Mcp, &user), "/home/a/.gemini/settings.json");
        assert_eq!(file(Agent::Codex, With::Mcp, &project), "/srv/b/.codex/config.toml");
        let error = Place::of(Agent::Gemini, With::Hook, &user).unwrap_err().to_string();
        assert!(error.contains("Gemini CLI up with --with mcp"), "{error}");
    }
}
