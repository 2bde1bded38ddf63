//! `fingerpost` alone: which library is there, and what can be asked of it?
//!
//! Nothing is compiled and nothing written: whoever types a name to see what it is gets an answer, and no work done.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use fingerpost::atlas::State;
use fingerpost::library::{Library, Root};
use fingerpost::request::named;
use fingerpost::skill::Skill;
use serde::Serialize;

use crate::args::{Global, LibraryArgs};
use crate::output::{self, Exit, FAINT, STRONG, cut, plain, plural};
use crate::source::{self, Source};

/// Folders that are listed; one machine has dozens of them.
const SHOWN: usize = 6;

/// What is there.
#[derive(Serialize)]
struct Tour {
    skills: usize,
    roots: Vec<FoundRoot>,
    /// Where the atlas is, or would be.
    atlas: String,
    /// Is it compiled, and of this state of the library?
    compiled: bool,
    /// A request that gets a skill, and which.
    example: Option<Example>,
}

#[derive(Serialize)]
struct FoundRoot {
    path: String,
    skills: usize,
}

#[derive(Serialize)]
struct Example {
    request: String,
    skill: String,
}

pub(crate) fn run(global: &Global) -> anyhow::Result<Exit> {
    let tour = tour(global)?;
    if global.json {
        output::print_json(&tour)?;
    } else {
        match tour {
            Some(tour) => print(&tour)?,
            None => print_beginning()?,
        }
    }
    Ok(Exit::Done)
}

/// What is found without a word from the user; `None` where there is no skill.
fn tour(global: &Global) -> anyhow::Result<Option<Tour>> {
    let args = LibraryArgs::default();
    if global.atlas.is_none() && source::discovered()?.is_empty() {
        return Ok(None);
    }
    let source = Source::of(&args, global)?;
    let compiled = source.state() == State::Current;
    let library = match source.roots.is_empty() {
        true => source.atlas.snapshot()?.library()?,
        false => source.load()?.value,
    };
    if library.skills().is_empty() {
        return Ok(None);
    }
    Ok(Some(Tour {
        skills: library.skills().len(),
        roots: roots(&source.roots, &library),
        atlas: source.atlas.name(),
        compiled,
        example: example(&library),
    }))
}

/// The roots that hold skills, most first.
fn roots(roots: &[Root], library: &Library) -> Vec<FoundRoot> {
    let under = |root: &Root| {
        let skills = library.skills().iter();
        skills.filter(|skill| Path::new(&skill.origin.file).starts_with(&root.path)).count()
    };
    let mut found: Vec<FoundRoot> = roots
        .iter()
        .map(|root| FoundRoot { path: root.path.display().to_string(), skills: under(root) })
        .filter(|root| root.skills > 0)
        .collect();
    found.sort_by(|a, b| b.skills.cmp(&a.skills).then_with(|| a.path.cmp(&b.path)));
    found
}

/// A request that names a skill gets it, whatever its other words: one that is read as naming just this one.
fn example(library: &Library) -> Option<Example> {
    let names: Vec<&str> = library.skills().iter().map(|skill| skill.name.as_str()).collect();
    let unique: BTreeSet<&str> = names
        .iter()
        .copied()
        .filter(|name| names.iter().filter(|n| n == &name).count() == 1)
        .collect();
    let request = |skill: &Skill| format!("use {}", skill.name);
    let works = |skill: &&Skill| {
        unique.contains(skill.name.as_str())
            && plain(&skill.name) == skill.name
            && !skill.name.contains(['"', '$', '`', '\\', '!'])
            && named(&request(skill)) == [skill.name.as_str()]
    };
    let skill = library.skills().iter().find(works)?;
    Some(Example { request: request(skill), skill: skill.id.to_string() })
}

fn print(tour: &Tour) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let width = output::terminal_width();
    let folders = match tour.roots.len() {
        0 => format!("in the atlas {}", plain(&tour.atlas)),
        1 => format!("in {}", plain(&tour.roots[0].path)),
        n => format!("in {n} folders"),
    };
    writeln!(out, "{STRONG}{}{STRONG:#} {folders}", plural(tour.skills, "skill"))?;
    if tour.roots.len() > 1 {
        for FoundRoot { path, skills } in tour.roots.iter().take(SHOWN) {
            writeln!(out, "  {FAINT}{skills:>5}{FAINT:#}  {}", cut(path, width.saturating_sub(9)))?;
        }
        if tour.roots.len() > SHOWN {
            writeln!(out, "  {FAINT}and {} more{FAINT:#}", tour.roots.len() - SHOWN)?;
        }
    }
    let state = match tour.compiled {
        true => "compiled",
        false => "not compiled yet: the first request compiles it",
    };
    writeln!(out, "{FAINT}{state}; kept in {}{FAINT:#}", plain(&tour.atlas))?;
    if let Some(Example { request, skill }) = &tour.example {
        writeln!(out, "\nTry this, which names {}:", plain(skill))?;
        writeln!(out, "  fingerpost route \"{request}\"")?;
    }
    let next = [
        ("fingerpost route \"...\"", "one skill for what you want, or none"),
        ("fingerpost doctor", "what loaded, and what is wrong with it"),
        ("fingerpost page review", "the pages to look at first"),
    ];
    commands(&mut out, "Then, in your own words:", &next)?;
    Ok(())
}

/// How to begin where there is no skill.
fn print_beginning() -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "{STRONG}No skills found{STRONG:#} where agents look: .claude/skills, .agents/skills and\n\
         their like, in this folder, above it and in your home."
    )?;
    let next = [
        ("fingerpost route \"...\" --library DIR", "a folder of SKILL.md folders"),
        ("fingerpost route \"...\" --library F.jsonl", "or a file of records"),
        ("fingerpost help route", "all that can be said to it"),
    ];
    commands(&mut out, "Say where yours are:", &next)?;
    Ok(())
}

fn commands(out: &mut impl Write, title: &str, next: &[(&str, &str)]) -> std::io::Result<()> {
    writeln!(out, "\n{title}")?;
    let longest = next.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, about) in next {
        writeln!(out, "  {command:<longest$}  {FAINT}{about}{FAINT:#}")?;
    }
    Ok(())
}
