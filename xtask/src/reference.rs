//! Does the documentation say what the program says?
//!
//! The reference is made from the program: its help and the schemas of its answers. In the guide and the README, every
//! command in a block marked `console` is run beside a copy of the example library, and what it printed is what
//! stands below it. `cargo xtask reference` writes all of that anew, and the check of `ci` fails where a file would change.

mod answers;
mod commands;
mod console;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// Whether files are written, or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

/// What stands at the head of a page that nobody edits.
const MADE: &str = "<!-- Made by `cargo xtask reference`: change the program, not this page. -->";

pub(crate) fn run(root: &Path, mode: Mode) -> anyhow::Result<()> {
    let program = Program::build(root)?;
    let mut changed = Vec::new();
    for (file, made) in pages(root, &program)? {
        let path = root.join(&file);
        if fs::read_to_string(&path).unwrap_or_default() == made {
            continue;
        }
        if mode == Mode::Write {
            fs::write(&path, made).with_context(|| format!("cannot write {}", path.display()))?;
        }
        changed.push(file.display().to_string());
    }
    match (mode, changed.is_empty()) {
        (Mode::Check, false) => {
            let changed = changed.join(", ");
            bail!(
                "not what the program says any more: {changed}; `cargo xtask reference` writes them anew"
            )
        }
        (Mode::Write, false) => eprintln!("wrote {}", changed.join(", ")),
        (_, true) => eprintln!("nothing has changed"),
    }
    Ok(())
}

/// Every page that is made, or has made parts, as it should be.
fn pages(root: &Path, program: &Program) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut pages = vec![
        ("docs/reference/commands.md".into(), commands::page(program)?),
        ("docs/reference/json.md".into(), answers::page(program)?),
    ];
    let mut guides = vec![PathBuf::from("README.md")];
    for entry in fs::read_dir(root.join("docs/guide"))? {
        guides.push(Path::new("docs/guide").join(entry?.file_name()));
    }
    guides.sort();
    for guide in guides {
        let text = fs::read_to_string(root.join(&guide))?;
        let made = console::answered(&text, root, program)
            .with_context(|| format!("in {}", guide.display()))?;
        pages.push((guide, made));
    }
    Ok(pages)
}

/// The program, as it is built for tests.
pub(crate) struct Program {
    /// The folder that it lies in.
    folder: PathBuf,
}

impl Program {
    fn build(root: &Path) -> anyhow::Result<Self> {
        crate::cargo(&["build", "--quiet", "--locked", "--package", "fingerpost-cli"])?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
        Ok(Self { folder: root.join(target).join("debug") })
    }

    /// A command that knows nothing of who runs it, and finds the program by its name.
    fn command(&self, name: &str, home: &Path) -> anyhow::Result<Command> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(self.folder.clone()).chain(std::env::split_paths(&paths));
        let mut command = Command::new(name);
        command.env_clear().env("PATH", std::env::join_paths(paths)?).env("HOME", home);
        // What a person sees, without the colors.
        command.env("COLUMNS", "80").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
        Ok(command)
    }

    /// What the program prints for these arguments.
    fn says(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let home = std::env::temp_dir();
        let output = self.command("fingerpost", &home)?.args(arguments).output()?;
        if !output.status.success() {
            bail!(
                "`fingerpost {}`: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Text without spaces at the ends of its lines, and with one line break at its end.
fn trimmed(text: &str) -> String {
    let lines = text.trim_end().lines().map(str::trim_end);
    lines.map(|line| format!("{line}\n")).collect()
}
