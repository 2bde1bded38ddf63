//! `fingerpost compile`: turns a library into an atlas.

use std::cell::RefCell;
use std::io::Write;
use std::time::Instant;

use fingerpost::compile::{CompileReport, Model, Writer};
use fingerpost::contract::{CompileAnswer, Freshness};
use fingerpost::neighborhood::{NeighborhoodConfig, Probing, Threshold};
use fingerpost::page::Language;
use fingerpost::page::llm::{Neighborhood, Written};
use fingerpost::page::prompt::LanguageChoice;
use fingerpost::page::write::Again;
use fingerpost::protocol::{Against, Protocol};
use fingerpost::skill::SkillId;
use fingerpost::snapshot::Snapshot;
use serde::Serialize;

use crate::args::{Compile, Global, NeighborhoodArgs, WriterName};
use crate::embedder;
use crate::llm::{self, Finished, Summary};
use crate::output::{self, CAUTION, Exit, FAINT, STRONG, UsageError, plural};
use crate::source::{Settings, Source, wait_for_turn};

/// The contract of `--json`, and what a model took.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    answer: CompileAnswer<'a>,
    calls: u64,
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    llm: Option<&'a Summary>,
    seconds: f64,
}

pub(crate) fn run(args: &Compile, global: &Global) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let library = args.library.library();
    let source = Source::of(&library, global)?;
    let kept = source.atlas.head().map(|head| head.protocol);
    let embedder = embedder::open_for(&library.embedder, kept.as_ref(), &source, global)?;
    let protocol = Protocol {
        neighborhood: config(&args.neighborhood, global)?,
        language: language(args)?,
        against: args.against,
        ..Protocol::ours()
    };
    let again = if args.fix_flagged { Again::Flagged } else { Again::Nothing };
    // One compiles at a time, so that nobody pays for the same pages beside us.
    let claim = wait_for_turn(&source.atlas, global)?;
    let mut settings = Settings {
        protocol: Some(protocol),
        embedder,
        writer: Writer::Local,
        again,
        rebuild: args.rebuild,
    };
    let finished = RefCell::new(None);
    let (snapshot, report) = match args.writer {
        WriterName::Local => source.compile(&settings, &claim, global)?,
        WriterName::Llm => {
            let identity = args.llm.identity(&args.lang, args.against, global)?;
            let ledger = RefCell::new(Some(source.ledger(global)?));
            let write = |work: &[Neighborhood<'_>],
                         on_page: &(dyn Fn(&SkillId, &Written) + Sync)| {
                let Some(ledger) = ledger.borrow_mut().take() else { return };
                if work.is_empty() && !args.llm.elsewhere.only_tells() {
                    output::say(global, "every page is written by this model; no call was made");
                    let (summary, exit) = (Summary::default(), Exit::Done);
                    *finished.borrow_mut() = Some(Ok(Some(Finished { summary, exit })));
                    return;
                }
                let done = llm::write(&args.llm, &args.lang, ledger, work, on_page, global);
                *finished.borrow_mut() = Some(done);
            };
            settings.writer = Writer::Model(Model { identity, write: &write });
            source.compile(&settings, &claim, global)?
        }
    };
    let (summary, exit) = match finished.into_inner().transpose()? {
        None => (None, Exit::Done),
        // Only a plan, or the prompts, were wanted.
        Some(None) => return Ok(Exit::Done),
        Some(Some(Finished { summary, exit })) => (Some(summary), exit),
    };
    snapshot.sound()?;
    let report = (!is_idle(&report)).then_some(report);
    if global.json {
        let freshness = Freshness { generation: snapshot.generation(), stale: false };
        let answer = Answer {
            answer: CompileAnswer::new(&snapshot, freshness, report.as_ref()),
            calls: summary.as_ref().map_or(0, |summary| summary.calls),
            cost_usd: summary.as_ref().map_or(Some(0.0), |summary| summary.cost_usd),
            llm: summary.as_ref(),
            seconds: start.elapsed().as_secs_f64(),
        };
        output::print_json(&answer)?;
    } else {
        print(&snapshot, report.as_ref())?;
    }
    Ok(exit)
}

/// Was nothing done?
fn is_idle(report: &CompileReport) -> bool {
    let CompileReport { added, changed, removed, embedded, partition, written, .. } = report;
    added + changed + removed + embedded + written == 0 && partition.is_none()
}

/// The language of what is written without a model: also of what a model has not written yet.
fn language(args: &Compile) -> anyhow::Result<Option<Language>> {
    let code = match &args.lang {
        LanguageChoice::Auto => None,
        LanguageChoice::Named(code) => Some(code.as_str()),
    };
    match (code, args.writer) {
        (None, _) => Ok(None),
        (Some("en"), _) => Ok(Some(Language::English)),
        (Some("zh"), _) => Ok(Some(Language::Chinese)),
        (Some(_), WriterName::Llm) => Ok(None),
        (Some(code), WriterName::Local) => {
            let message = format!("the local writer knows en and zh, not '{code}'; use auto");
            Err(UsageError::new(message).into())
        }
    }
}

fn config(args: &NeighborhoodArgs, global: &Global) -> anyhow::Result<NeighborhoodConfig> {
    let max_distance = match args.max_distance {
        None => Threshold::Calibrated,
        Some(distance) if (0.0..=2.0).contains(&distance) => Threshold::Fixed(distance),
        Some(distance) => {
            let message =
                format!("--max-distance is {distance}: a cosine distance lies between 0 and 2");
            return Err(UsageError::new(message).into());
        }
    };
    Ok(NeighborhoodConfig {
        buckets: args.buckets.map(std::num::NonZeroUsize::get),
        max_distance,
        max_size: args.max_size.get(),
        seed: global.seed,
        probing: if args.plain { Probing::Plain } else { Probing::default() },
        ..NeighborhoodConfig::default()
    })
}

fn print(snapshot: &Snapshot, report: Option<&CompileReport>) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let head = snapshot.head();
    let (groups, counts) = (head.neighborhoods, head.pages);
    let touched = match snapshot.against() {
        Against::Neighborhood => "neighborhood",
        Against::Rivals => "skill",
    };
    writeln!(
        out,
        "{STRONG}{}{STRONG:#} in {} of 2 to {}, {} alone",
        plural(snapshot.len(), "skill"),
        plural(groups.count - groups.singletons, "neighborhood"),
        groups.largest,
        groups.singletons,
    )?;
    let fallback = match counts.fallback {
        0 => "every skill has one".to_owned(),
        n => format!("{} kept to the document", plural(n, "skill")),
    };
    let pinned =
        if counts.pinned > 0 { format!(", {} pinned", counts.pinned) } else { String::new() };
    writeln!(out, "{STRONG}{}{STRONG:#}, {fallback}{pinned}", plural(counts.pages, "page"))?;
    if counts.flagged > 0 {
        writeln!(
            out,
            "{CAUTION}{}{CAUTION:#} to look at; `fingerpost page review` lists them",
            plural(counts.flagged, "page"),
        )?;
    }
    writeln!(out, "{FAINT}look-alikes: {}{FAINT:#}", head.calibration)?;
    if snapshot.against() == Against::Rivals {
        let about = "each page is written against the rivals of its skill, nine at most";
        writeln!(out, "{FAINT}{about}; `fingerpost neighbors` shows them{FAINT:#}")?;
    }
    match report {
        None => writeln!(out, "nothing has changed since; no work was done")?,
        Some(report) if report.partition.is_some() => {
            writeln!(
                out,
                "{FAINT}vectors: {}; pages: {}; kept in {}{FAINT:#}",
                head.profile,
                head.main_writer(),
                snapshot.store_name(),
            )?;
        }
        Some(report) => writeln!(
            out,
            "{} added, {} changed, {} removed: {} touched, {} written, the others as they were",
            report.added,
            report.changed,
            report.removed,
            plural(report.touched, touched),
            plural(report.written, "page"),
        )?,
    }
    Ok(())
}
