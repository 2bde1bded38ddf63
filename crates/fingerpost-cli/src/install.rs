//! `fingerpost install` and `uninstall`: one entry in an agent's settings, and none again.
//!
//! The change is shown first, and made as a whole or not at all. What else is in the file stays as it is,
//! comments and order too. A receipt of what was put where lets `uninstall` give back the very bytes.

mod file;
mod json;
mod receipt;
mod settings;
mod toml;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use fingerpost::store::place::UserFolders;
use fingerpost_postgres::Address;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use self::file::SettingsFile;
use self::receipt::Receipt;
pub(crate) use self::settings::{Agent, With};
use self::settings::{Entry, Place, Scope};
use crate::args::Global;
use crate::output::{self, Exit, FAINT, UsageError, plain};
use crate::source;

/// Set up which agent, and how.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    which: Which,
    /// The library that the agent shall use; may be given several times [default: where the agents on this
    /// machine look].
    #[arg(long, value_name = "LIBRARY")]
    library: Vec<PathBuf>,
    /// Also skills that their authors reserve for explicit use.
    #[arg(long)]
    include_manual: bool,
}

/// Take it out again.
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    which: Which,
}

/// Whose settings, and what in them.
#[derive(Debug, Args)]
struct Which {
    /// Which agent.
    agent: Agent,
    /// As an MCP server, whose tools the agent calls, or as a hook, which names a skill for every prompt (Claude
    /// Code only); may be given twice for both.
    #[arg(long, value_name = "mcp|hook", default_values = ["mcp"])]
    with: Vec<With>,
    /// For this project, in the current folder, as others who work on it will have it too.
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// For you, wherever you work; the default.
    #[arg(long)]
    user: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Show the change, and make none.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

impl Which {
    fn scope(&self) -> anyhow::Result<Scope> {
        if self.project {
            let here = std::env::current_dir().context("cannot tell the current folder")?;
            return Ok(Scope::Project(here));
        }
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Ok(Scope::User(home.context("there is no home folder; --project needs none")?))
    }

    /// The places that are meant, each once.
    fn places(&self) -> anyhow::Result<Vec<Place>> {
        let scope = self.scope()?;
        let mut with = self.with.clone();
        with.sort_unstable();
        with.dedup();
        with.into_iter().map(|with| Place::of(self.agent, with, &scope)).collect()
    }
}

/// A change that is planned for one file.
struct Change {
    place: Place,
    file: SettingsFile,
    /// What will be in it; `None` if it will be gone.
    after: Option<String>,
    /// What undoes it.
    receipt: Option<Receipt>,
}

pub(crate) fn run(args: &InstallArgs, global: &Global) -> anyhow::Result<Exit> {
    for library in &args.library {
        if let Err(error) = library.metadata() {
            let message = format!("cannot read library {}: {error}", library.display());
            return Err(UsageError::new(message).into());
        }
    }
    if let Some(address) = global.atlas.as_deref().and_then(source::meant) {
        let address: Address =
            address.parse().map_err(|error| UsageError::new(format!("--atlas: {error}")))?;
        if address.has_password() {
            let message = "an agent's settings are no place for a password: leave it out of --atlas, and set PGPASSWORD where the agent runs";
            return Err(UsageError::new(message).into());
        }
    }
    let receipts = receipts();
    let mut changes = Vec::new();
    for place in args.which.places()? {
        let atlas = global.atlas.as_deref();
        let entry = Entry::of(&place, &args.library, atlas, args.include_manual)?;
        let file = SettingsFile::read(&place)?;
        let text = file.text();
        // What we put there before is taken out first, so that one undoing undoes both.
        let last = receipts.as_deref().and_then(|folder| Receipt::read(folder, &place.file));
        let base = last.as_ref().and_then(|receipt| receipt.before(text));
        let start = base.as_ref().map_or(text, |before| before.as_deref().unwrap_or_default());
        let after = place.with(start, &entry).map_err(|broken| file.refuse(&broken))?;
        let had = match &base {
            Some(before) => before.as_deref(),
            None => file.bytes_exist().then_some(text),
        };
        // Over an entry of ours that the receipt does not know, no receipt can tell what was before.
        let is_known = base.is_some() || !place.has(text).map_err(|broken| file.refuse(&broken))?;
        let made = last.filter(|_| base.is_some()).and_then(|receipt| receipt.made);
        let made = made.or_else(|| file.folder_to_make());
        let receipt = is_known.then(|| Receipt::of(&place.file, had, &after, made));
        changes.push(Change { place, file, after: Some(after), receipt });
    }
    settle(changes, &args.which, global, Verb::Install)
}

pub(crate) fn undo(args: &UninstallArgs, global: &Global) -> anyhow::Result<Exit> {
    let receipts = receipts();
    let mut changes = Vec::new();
    for place in args.which.places()? {
        let file = SettingsFile::read(&place)?;
        let text = file.text();
        let last = receipts.as_deref().and_then(|folder| Receipt::read(folder, &place.file));
        let removed = place.without(text).map_err(|broken| file.refuse(&broken))?;
        let after = match last.as_ref().and_then(|receipt| receipt.before(text)) {
            Some(before) => before,
            // Somebody has changed the file since. Our words are cut out, if that comes to the same.
            None => {
                let cut = last.as_ref().and_then(|receipt| receipt.cut_out(text));
                let cut = cut.filter(|cut| place.says_the_same(cut, &removed));
                Some(cut.unwrap_or(removed))
            }
        };
        let after = if file.bytes_exist() { after } else { None };
        changes.push(Change { place, file, after, receipt: last });
    }
    settle(changes, &args.which, global, Verb::Uninstall)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Install,
    Uninstall,
}

/// Where receipts are kept, if the user has a place for data.
fn receipts() -> Option<PathBuf> {
    UserFolders::of_process().data.map(|data| data.join("installed"))
}

/// Shows the changes, asks, and makes them.
fn settle(
    changes: Vec<Change>,
    which: &Which,
    global: &Global,
    verb: Verb,
) -> anyhow::Result<Exit> {
    let is_new = |change: &Change| {
        change.after.as_deref() != change.file.bytes_exist().then(|| change.file.text())
    };
    let new = changes.iter().any(is_new);
    if !global.json {
        for change in &changes {
            match is_new(change) {
                true => show(change)?,
                false => say_unchanged(change, global, verb),
            }
        }
    }
    let mut apply = new && !which.dry_run;
    if apply && !which.yes {
        let question = match verb {
            Verb::Install => "Make this change?",
            Verb::Uninstall => "Take it out?",
        };
        apply = !global.json && output::confirm(question)?;
        if !apply {
            return Err(UsageError::new("nothing was changed; --yes changes without asking").into());
        }
    }
    let mut answers = Vec::new();
    for change in changes {
        let changed = is_new(&change);
        if apply && changed {
            make(&change, verb)?;
        }
        let (place, file) = (&change.place, &change.file);
        answers.push(json!({
            "file": place.file,
            "with": place.with,
            "changed": changed,
            "applied": changed && apply,
            "diff": diff(file.text(), change.after.as_deref().unwrap_or_default(), &place.file),
        }));
        if apply && changed && !global.json {
            output::say(global, &done(place, verb));
        }
    }
    if global.json {
        output::print_json(&json!({"agent": which.agent, "changes": answers}))?;
    }
    Ok(Exit::Done)
}

fn make(change: &Change, verb: Verb) -> anyhow::Result<()> {
    let receipts = receipts();
    let path = &change.place.file;
    match (&change.after, verb) {
        (Some(after), Verb::Install) => {
            // First, so that there is never a change that nothing can undo.
            match (&change.receipt, &receipts) {
                (Some(receipt), Some(folder)) => receipt.write(folder)?,
                (None, Some(folder)) => Receipt::forget(folder, path),
                (_, None) => {}
            }
            change.file.replace(after)
        }
        (after, _) => {
            match after {
                Some(after) => change.file.replace(after)?,
                None => change.file.remove(change.receipt.as_ref().and_then(Receipt::made))?,
            }
            if let Some(folder) = &receipts {
                Receipt::forget(folder, path);
            }
            Ok(())
        }
    }
}

fn done(place: &Place, verb: Verb) -> String {
    let file = place.file.display();
    match verb {
        Verb::Install => format!(
            "{file} is written. {} reads it when it starts; `fingerpost uninstall` with the same words takes it out.",
            place.agent.title()
        ),
        Verb::Uninstall => format!("{file} is as it was without fingerpost."),
    }
}

fn say_unchanged(change: &Change, global: &Global, verb: Verb) {
    let file = change.place.file.display();
    let line = match verb {
        Verb::Install => format!("{file} has it already."),
        Verb::Uninstall => format!("{file} has nothing of fingerpost."),
    };
    output::say(global, &line);
}

/// Lines around a change that are shown with it: few, for settings have keys and tokens in them.
const AROUND: usize = 2;

fn diff(before: &str, after: &str, file: &Path) -> String {
    let name = file.display().to_string();
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(AROUND).header(&name, &name).to_string()
}

/// The change, as `diff` shows it.
fn show(change: &Change) -> anyhow::Result<()> {
    use anstyle::AnsiColor;
    let (added, removed) = (AnsiColor::Green.on_default(), AnsiColor::Red.on_default());
    let mut out = anstream::stdout().lock();
    let after = change.after.as_deref().unwrap_or_default();
    let name = change.place.file.display().to_string();
    writeln!(out, "{FAINT}{}{FAINT:#}", plain(&name))?;
    if change.after.is_none() {
        writeln!(out, "{FAINT}(the file was made by install, and goes){FAINT:#}")?;
    }
    let diff = TextDiff::from_lines(change.file.text(), after);
    for group in diff.grouped_ops(AROUND) {
        for op in group {
            for line in diff.iter_changes(&op) {
                let (mark, style) = match line.tag() {
                    ChangeTag::Insert => ('+', added),
                    ChangeTag::Delete => ('-', removed),
                    ChangeTag::Equal => (' ', FAINT),
                };
                let text = line.value().trim_end_matches(['\n', '\r']);
                writeln!(out, "{style}{mark} {}{style:#}", plain(text))?;
            }
        }
    }
    Ok(())
}

impl ValueEnum for With {
    fn value_variants<'a>() -> &'a [Self] {
        &[With::Mcp, With::Hook]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.name()))
    }
}
