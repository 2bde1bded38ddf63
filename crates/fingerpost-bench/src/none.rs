//! `none`: are answerable requests answered, and those that need no skill refused; and is an answer as often
//! right as it says?
//!
//! Each library is asked its own judged requests, requests that need no skill at all (`examples/none`, without
//! those that a blind reader found some skill of the library to serve), and requests of other folds
//! (`none/foreign.rs`). For each fold, everything is fitted to the other eight and to one half of the
//! requests that need no skill, and reported on this fold and the other half. The tables are Markdown, as
//! they stand in docs/lab/none.md.

mod ask;
mod fit;
mod foreign;
mod hook;
mod logistic;
mod manner;
mod plot;
pub(crate) mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use fingerpost::library::read_unpacked;
use serde::Deserialize;

use self::ask::{Asked, ask};
use self::foreign::Foreigners;
use self::manner::Manners;
use crate::encoder::EncoderArgs;
use crate::folds::FoldArgs;

/// What `none` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct NoneArgs {
    #[command(flatten)]
    folds: FoldArgs,
    #[command(flatten)]
    encoder: EncoderArgs,
    /// Requests that need no skill, which the rule is fitted to: JSON Lines of id, kind and text.
    #[arg(long, value_name = "FILE", default_value = "examples/none/look.jsonl")]
    no_skill: PathBuf,
    /// The same, which nothing is fitted to; passed over if the file is not there.
    #[arg(long, value_name = "FILE", default_value = "examples/none/sealed.jsonl")]
    sealed: PathBuf,
    /// Which of both some skill of a library does serve: lines of library, id and that skill.
    #[arg(long, value_name = "FILE", default_value = "examples/none/served.tsv")]
    served: PathBuf,
    /// Requests for skills and for none, which what a request sounds like is learned from: JSON Lines of kind
    /// and text.
    #[arg(long, value_name = "FILE", default_value = "examples/none/written.jsonl")]
    written: PathBuf,
    /// Write what was learned from all of these to this file.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Requests of each other library that a library is asked at most.
    #[arg(long, value_name = "N", default_value_t = 100)]
    foreign: usize,
    /// Also draw how often a confidence is right here, as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// A request that needs no skill.
#[derive(Debug, Clone, Deserialize)]
struct NoSkill {
    id: String,
    kind: String,
    text: String,
    /// Is nothing fitted to it?
    #[serde(skip)]
    is_sealed: bool,
}

pub(crate) fn run(arguments: &NoneArgs) -> anyhow::Result<()> {
    let mut no_skill = read_no_skill(&arguments.no_skill)?;
    if arguments.sealed.is_file() {
        let sealed = read_no_skill(&arguments.sealed)?.into_iter();
        no_skill.extend(sealed.map(|request| NoSkill { is_sealed: true, ..request }));
    }
    let ids: BTreeSet<&str> = no_skill.iter().map(|request| request.id.as_str()).collect();
    ensure!(ids.len() == no_skill.len(), "two requests that need no skill have one id");
    let served = read_served(&arguments.served, &ids)?;
    let opened = arguments.folds.open()?.collect::<anyhow::Result<Vec<_>>>()?;
    let manners = Manners::train(&arguments.written, &opened)?;
    if let Some(file) = &arguments.table {
        fs::write(file, manners.of_all().to_bytes())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    let foreigners = Foreigners::of(&opened);
    let encoder = arguments.encoder.open()?;
    let mut asked: Vec<Asked> = Vec::new();
    for opened in &opened {
        let start = Instant::now();
        let foreign = foreigners.to(opened, arguments.foreign);
        // Variants with other pages have the skills of the first, and so what these serve.
        let library = opened.judged.name.trim_end_matches("-strong").replace("-unseen", "");
        let needless: Vec<&NoSkill> = no_skill
            .iter()
            .filter(|request| !served.contains(&(library.clone(), request.id.clone())))
            .collect();
        asked.push(ask(opened, &needless, &foreign, encoder.as_ref())?);
        eprintln!("{}: {:.0} s", opened.judged.name, start.elapsed().as_secs_f64());
    }
    let judged = fit::leaving_out(&asked, &manners, encoder.is_some());
    tables::print(&asked, &judged);
    hook::print(&asked, &judged);
    arguments.plot.as_ref().map_or(Ok(()), |file| plot::draw(&asked, &judged, file))
}

fn read_no_skill(file: &Path) -> anyhow::Result<Vec<NoSkill>> {
    let text = read_unpacked(file)?;
    let lines = text.split('\n').filter(|line| !line.is_empty());
    lines
        .map(|line| {
            serde_json::from_str(line).with_context(|| format!("{}: {line}", file.display()))
        })
        .collect()
}

/// Pairs of a library and the id of a request, whatever stands behind; lines that begin with `#` are for people.
fn read_served(file: &Path, known: &BTreeSet<&str>) -> anyhow::Result<BTreeSet<(String, String)>> {
    let text = read_unpacked(file)?;
    let mut served = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut columns = line.split('\t');
        let pair = columns.next().zip(columns.next());
        let (library, id) =
            pair.with_context(|| format!("{}: no tab in '{line}'", file.display()))?;
        // Of a file that was left out the ids are not known, and harmless.
        if known.contains(id) {
            served.insert((library.to_owned(), id.to_owned()));
        }
    }
    Ok(served)
}
