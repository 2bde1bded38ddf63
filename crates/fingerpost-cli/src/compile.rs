//! `fingerpost compile`: turns a library into an atlas.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use fingerpost::compile::{CompileReport, Model, Writer};
use fingerpost::contract::{CompileAnswer, Freshness};
use fingerpost::page::llm::{Neighborhood, Written};
use fingerpost::page::prompt::LanguageChoice;
use fingerpost::page::write::Again;
use fingerpost::protocol::{Against, Protocol};
use fingerpost::skill::SkillId;
use fingerpost::snapshot::Snapshot;
use fingerpost_postgres::work::{self, Order};
use serde::Serialize;

use crate::args::{Compile, Global, LibraryArgs, WriterName};
use crate::embedder;
use crate::follow::{self, Follower, Told};
use crate::llm::{self, Asking, Finished, LlmArgs, Sharing, Summary};
use crate::output::{self, CAUTION, Exit, FAINT, STRONG, plural};
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
    let wish = Wish {
        library: &args.library.library(),
        protocol: Some(args.protocol(global)?),
        writer: args.writer,
        lang: &args.lang,
        again: if args.fix_flagged { Again::Flagged } else { Again::Nothing },
        rebuild: args.rebuild,
        llm: &args.llm,
    };
    // Only a plan, or the prompts, were wanted.
    let Some(compiled) = compile(&wish, None, global)? else { return Ok(Exit::Done) };
    let Compiled { snapshot, report, summary, exit } = compiled;
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

/// What is to be compiled, and how: as it was typed, or as a server was asked to.
pub(crate) struct Wish<'a> {
    pub(crate) library: &'a LibraryArgs,
    /// `None` for what the atlas has.
    pub(crate) protocol: Option<Protocol>,
    pub(crate) writer: WriterName,
    pub(crate) lang: &'a LanguageChoice,
    pub(crate) again: Again,
    pub(crate) rebuild: bool,
    pub(crate) llm: &'a LlmArgs,
}

/// What came of it.
pub(crate) struct Compiled {
    pub(crate) snapshot: Snapshot,
    pub(crate) report: CompileReport,
    /// What a model took, if one was asked.
    pub(crate) summary: Option<Summary>,
    pub(crate) exit: Exit,
}

/// Compiles; `None` where only a plan, or the prompts, were wanted.
pub(crate) fn compile(
    wish: &Wish<'_>,
    follower: Option<&Arc<Follower>>,
    global: &Global,
) -> anyhow::Result<Option<Compiled>> {
    let mut source = Source::of(wish.library, global)?;
    if let Some(follower) = follower {
        let follower = Arc::clone(follower);
        source.hear = Some(Arc::new(move |event| {
            if let Some((step, done, all)) = follow::step(event) {
                follower.tell(Told::Step(step, done, all));
            }
        }));
    }
    let kept = source.atlas.head().map(|head| head.protocol);
    let embedder = embedder::open_for(&wish.library.embedder, kept.as_ref(), &source, global)?;
    let protocol = wish.protocol.clone().or(kept).unwrap_or_else(Protocol::ours);
    let (against, writing) = (protocol.against, protocol.writing);
    // One compiles at a time, so that nobody pays for the same pages beside us.
    let claim = wait_for_turn(&source.atlas, global)?;
    let mut settings = Settings {
        protocol: wish.protocol.clone(),
        embedder,
        writer: Writer::Local,
        again: wish.again,
        rebuild: wish.rebuild,
    };
    let finished = RefCell::new(None);
    let closing = Cell::new(None);
    // A database is shared: other machines may write, too.
    let shared = source.home.postgres().filter(|_| wish.llm.asks_at_once());
    let (snapshot, report) = match wish.writer {
        WriterName::Local => source.compile(&settings, &claim, global)?,
        WriterName::Llm => {
            let config = wish.llm.config(wish.lang, writing, global)?;
            let identity = wish.llm.identity(&config, against)?;
            let ledger = RefCell::new(Some(source.ledger(global)?));
            let write = |wanted: &[Neighborhood<'_>],
                         on_page: &(dyn Fn(&SkillId, &Written) + Sync)| {
                let Some(ledger) = ledger.borrow_mut().take() else { return };
                if wanted.is_empty() && !wish.llm.elsewhere.only_tells() {
                    output::say(global, "every page is written by this model; no call was made");
                    let (summary, exit) = (Summary::default(), Exit::Done);
                    // Whoever put it up may have died when all was done.
                    let open = shared.and_then(|postgres| postgres.work().ok().flatten());
                    let open = open.filter(|open| open.order.writer == identity);
                    closing.set(open.map(|open| open.number));
                    *finished.borrow_mut() = Some(Ok(Some(Finished { summary, exit })));
                    return;
                }
                if let Some(postgres) = shared {
                    let order = Order {
                        writer: identity.clone(),
                        again: wish.again,
                        limits: wish.llm.server.limits(),
                    };
                    let sharing = Sharing {
                        postgres,
                        atlas: &source.atlas,
                        args: wish.llm,
                        config: config.clone(),
                        follower,
                        name: &fingerpost_postgres::holder(),
                        lease: work::LEASE,
                    };
                    let done = llm::put_up(&sharing, &order, ledger, global);
                    *finished.borrow_mut() = Some(done.map(|(finished, number)| {
                        closing.set(number);
                        Some(finished)
                    }));
                    return;
                }
                let asking = Asking { args: wish.llm, config: config.clone(), follower };
                let done = llm::write(asking, ledger, wanted, on_page, global);
                *finished.borrow_mut() = Some(done);
            };
            let identity = identity.clone();
            settings.writer = Writer::Model(Model { identity, write: &write });
            source.compile(&settings, &claim, global)?
        }
    };
    if let (Some(postgres), Some(number)) = (shared, closing.get()) {
        postgres.close_work(number)?;
    }
    let (summary, exit) = match finished.into_inner().transpose()? {
        None => (None, Exit::Done),
        Some(None) => return Ok(None),
        Some(Some(Finished { summary, exit })) => (Some(summary), exit),
    };
    Ok(Some(Compiled { snapshot, report, summary, exit }))
}

/// Was nothing done?
fn is_idle(report: &CompileReport) -> bool {
    let CompileReport { added, changed, removed, embedded, partition, written, .. } = report;
    added + changed + removed + embedded + written == 0 && partition.is_none()
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
