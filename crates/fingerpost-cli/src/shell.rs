//! `fingerpost completions` and `fingerpost man`: what shells and `man` want to know of every verb.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::{Global, command};
use crate::output::{self, Exit, plural};

/// The name under which the program is called.
const NAME: &str = "fingerpost";

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell.
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Write a page for every verb into this folder [default: the first page, on standard output].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints what a shell reads to complete verbs and options.
pub(crate) fn completions(args: &Completions) -> anyhow::Result<Exit> {
    // In memory first: a reader that has seen enough is no error of ours.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), NAME, &mut script);
    anstream::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}

/// Writes the pages of the manual.
pub(crate) fn manual(args: &Manual, global: &Global) -> anyhow::Result<Exit> {
    let mut command = command();
    command.build();
    let Some(folder) = &args.out else {
        anstream::stdout().lock().write_all(&page(&command)?)?;
        return Ok(Exit::Done);
    };
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("cannot make {shown}"))?;
    let written = write_pages(&command, folder)?;
    let pages = plural(written, "page");
    output::say(global, &format!("Wrote {pages} to {shown}; `man -l {shown}/{NAME}.1` shows one"));
    Ok(Exit::Done)
}

/// One page a verb, those below it included; says how many.
fn write_pages(command: &Command, folder: &Path) -> anyhow::Result<usize> {
    let name = command.get_display_name().unwrap_or(NAME);
    let file = folder.join(format!("{name}.1"));
    fs::write(&file, page(command)?).with_context(|| format!("cannot write {}", file.display()))?;
    let mut written = 1;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        written += write_pages(verb, folder)?;
    }
    Ok(written)
}

fn page(command: &Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
