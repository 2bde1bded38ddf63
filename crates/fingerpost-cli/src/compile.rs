//! `fingerpost compile`: turns a library into an atlas.

use std::io::Write;
use std::time::Instant;

use fingerpost::atlas::{Atlas, AtlasError, Compiled};
use fingerpost::compile::{CompileConfig, CompileReport, compile, none_below};
use fingerpost::diagnostic::Warned;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::neighborhood::{NeighborhoodConfig, Probing, Threshold};
use fingerpost::page::llm::rows;
use fingerpost::page::local::LocalConfig;
use fingerpost::page::prompt::LanguageChoice;
use fingerpost::page::write::{Again, PageRow, Writer};
use fingerpost::page::{Language, Status};
use serde::Serialize;

use crate::args::{Compile, Global, LibraryArgs, NeighborhoodArgs, WriterName};
use crate::embedder::{Opened, Source};
use crate::llm::{self, Finished, Summary};
use crate::output::{self, CAUTION, Exit, FAINT, STRONG, UsageError, plural};
use crate::source;

/// The contract of `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    skills: usize,
    neighborhoods: usize,
    singletons: usize,
    largest: usize,
    embedder: String,
    max_distance: f64,
    pages: usize,
    fallback: usize,
    flagged: usize,
    pinned: usize,
    calls: u64,
    cost_usd: Option<f64>,
    writer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    llm: Option<&'a Summary>,
    #[serde(flatten)]
    report: Option<&'a CompileReport>,
    seconds: f64,
}

pub(crate) fn run(args: &Compile, global: &Global) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let library =
        LibraryArgs { library: args.library.clone(), include_manual: args.include_manual };
    let roots = source::roots(&library)?;
    let atlas = source::atlas(&library, global);
    let settings = Settings::Given {
        neighborhood: config(&args.neighborhood, global)?,
        embedder: args.embedder.source()?,
        writer: writer(args)?,
        rebuild: args.rebuild,
        // A model mends its own pages, below.
        again: if args.fix_flagged && args.writer == WriterName::Local {
            Again::Flagged
        } else {
            Again::Nothing
        },
    };
    let options = source::options(&library);
    let (mut compiled, report) = ensure(&atlas, &roots, options, &settings, global)?;
    let (summary, exit) = match args.writer {
        WriterName::Local => (None, Exit::Done),
        WriterName::Llm => match by_model(args, &atlas, &roots, options, &mut compiled, global)? {
            None => return Ok(Exit::Done),
            Some((summary, exit)) => (Some(summary), exit),
        },
    };
    let seconds = start.elapsed().as_secs_f64();
    let counts = Counts::of(&compiled.pages);
    if global.json {
        let answer = Answer {
            skills: compiled.skills.len(),
            neighborhoods: compiled.neighborhoods.len(),
            singletons: compiled.neighborhoods.singletons(),
            largest: compiled.neighborhoods.largest(),
            embedder: compiled.profile.key(),
            max_distance: compiled.calibration.max_distance,
            pages: counts.pages,
            fallback: counts.fallback,
            flagged: counts.flagged,
            pinned: counts.pinned,
            calls: summary.as_ref().map_or(0, |summary| summary.calls),
            cost_usd: summary.as_ref().map_or(Some(0.0), |summary| summary.cost_usd),
            writer: &compiled.writer,
            llm: summary.as_ref(),
            report: report.as_ref(),
            seconds,
        };
        output::print_json(&answer)?;
    } else {
        print(&compiled, &counts, report.as_ref(), &atlas)?;
    }
    Ok(exit)
}

/// Has a model write what is not its own yet; the pages there are stay until it has. `None` if only
/// a plan was asked for.
fn by_model(
    args: &Compile,
    atlas: &Atlas,
    roots: &[Root],
    options: LoadOptions,
    compiled: &mut Compiled,
    global: &Global,
) -> anyhow::Result<Option<(Summary, Exit)>> {
    let identity = args.llm.identity(&args.lang, global)?;
    let again = if args.fix_flagged { Again::Flagged } else { Again::Nothing };
    let is_done = |row: &PageRow| row.status == Status::Pinned || row.writer == identity;
    compiled.writer.clone_from(&identity);
    if again == Again::Nothing
        && compiled.pages.iter().all(is_done)
        && !args.llm.elsewhere.only_tells()
    {
        output::say(global, "every page is written by this model; no call was made");
        return Ok(Some((Summary::default(), Exit::Done)));
    }
    let _lock = atlas.lock()?;
    let library = Library::load(roots, options)?.value;
    let least = compiled.config.min_contrast;
    let work =
        rows::wanted(&library, &compiled.neighborhoods, least, &compiled.pages, &identity, again);
    let Some(finished) = llm::write(&args.llm, &args.lang, atlas, &work, global)? else {
        return Ok(None);
    };
    let Finished { outcome, summary, exit } = finished;
    let rows = rows::rows(&work, &outcome, &identity, &compiled.pages);
    atlas.keep_pages(&rows)?;
    compiled.pages = atlas.pages()?;
    compiled.none_below = none_below(&library, compiled);
    atlas.keep_none_below(compiled.none_below)?;
    Ok(Some((summary, exit)))
}

/// What is to be compiled how.
pub(crate) enum Settings {
    /// As asked for; without an embedder, that of the atlas.
    Given {
        neighborhood: NeighborhoodConfig,
        embedder: Option<Source>,
        writer: Writer,
        rebuild: bool,
        again: Again,
    },
    /// As the atlas has it; the defaults if there is none. What is new is written without a model.
    Kept,
}

/// How many skills have what kind of page.
pub(crate) struct Counts {
    pub(crate) pages: usize,
    pub(crate) fallback: usize,
    pub(crate) flagged: usize,
    pub(crate) pinned: usize,
}

impl Counts {
    pub(crate) fn of(rows: &[PageRow]) -> Self {
        let count = |of: &dyn Fn(&PageRow) -> bool| rows.iter().filter(|row| of(row)).count();
        Self {
            pages: count(&|row| row.page.is_some()),
            fallback: count(&|row| row.status == Status::Fallback),
            flagged: count(&PageRow::is_flagged),
            pinned: count(&|row| row.status == Status::Pinned),
        }
    }
}

/// Who writes without a model: also what a model has not written yet.
fn writer(args: &Compile) -> anyhow::Result<Writer> {
    let code = match &args.lang {
        LanguageChoice::Auto => None,
        LanguageChoice::Named(code) => Some(code.as_str()),
    };
    let language = match (code, args.writer) {
        (None, _) => None,
        (Some("en"), _) => Some(Language::English),
        (Some("zh"), _) => Some(Language::Chinese),
        (Some(_), WriterName::Llm) => None,
        (Some(code), WriterName::Local) => {
            let message = format!("the local writer knows en and zh, not '{code}'; use auto");
            return Err(UsageError::new(message).into());
        }
    };
    Ok(Writer::Local(LocalConfig { language }))
}

/// The compiled library; compiled now, if it is not there or not current.
pub(crate) fn ensure(
    atlas: &Atlas,
    roots: &[Root],
    options: LoadOptions,
    settings: &Settings,
    global: &Global,
) -> anyhow::Result<(Compiled, Option<CompileReport>)> {
    // A damaged atlas is as good as none: everything in it can be made again.
    let before = match atlas.compiled() {
        Ok(before) => before,
        Err(error @ AtlasError::Damaged { .. }) => {
            output::say(global, &format!("{error}; it is made again now"));
            None
        }
        Err(error) => return Err(error.into()),
    };
    let kept = before.as_ref().map(|before| Source::from_text(&before.embedder)).transpose()?;
    let kept = kept.unwrap_or(Source::Fit);
    let (config, source) = match (settings, &before) {
        (Settings::Given { neighborhood, embedder, writer, rebuild, again }, _) => {
            let config = CompileConfig {
                neighborhood: *neighborhood,
                rebuild: *rebuild,
                writer: *writer,
                again: *again,
            };
            (config, embedder.clone().unwrap_or(kept))
        }
        (Settings::Kept, before) => {
            let default = NeighborhoodConfig { seed: global.seed, ..Default::default() };
            let neighborhood = before.as_ref().map_or(default, |before| before.config);
            let writer = Writer::Local(LocalConfig::default());
            let again = Again::Nothing;
            (CompileConfig { neighborhood, rebuild: false, writer, again }, kept)
        }
    };
    let same_writer = |compiled: &Compiled| match settings {
        Settings::Given { writer, .. } => compiled.writer == writer.identity(),
        // Whoever wrote the pages, they are there.
        Settings::Kept => !compiled.writer.is_empty(),
    };
    match before {
        Some(compiled)
            if !config.rebuild
                && config.again == Again::Nothing
                && compiled.config == config.neighborhood
                && compiled.embedder == source.to_text()
                && same_writer(&compiled)
                && atlas.is_current(roots, options, &compiled) =>
        {
            Ok((compiled, None))
        }
        before => {
            let embedder = source.open(atlas, global)?;
            if let (Settings::Kept, Some(before)) = (settings, &before) {
                embedder.must_match(&before.profile)?;
            }
            let making = Making { embedder: &embedder, source: &source, config: &config };
            let (compiled, report) = compile_now(atlas, roots, options, before, &making, global)?;
            if let Settings::Kept = settings {
                let line = format!(
                    "Compiled {} into {}: {} of their pages written without a model; kept in {}",
                    plural(compiled.skills.len(), "skill"),
                    plural(compiled.neighborhoods.len(), "neighborhood"),
                    report.written,
                    atlas.path().display(),
                );
                output::say(global, &line);
            }
            Ok((compiled, Some(report)))
        }
    }
}

/// What a compilation is made with.
struct Making<'a> {
    embedder: &'a Opened,
    source: &'a Source,
    config: &'a CompileConfig,
}

fn compile_now(
    atlas: &Atlas,
    roots: &[Root],
    options: LoadOptions,
    before: Option<Compiled>,
    making: &Making<'_>,
    global: &Global,
) -> anyhow::Result<(Compiled, CompileReport)> {
    let _lock = atlas.lock()?;
    let stamp = atlas.stamp(roots, options).unwrap_or_default();
    let spinner = output::spinner(global, "reading the library".into());
    let Warned { value: library, diagnostics } = Library::load(roots, options)?;
    let skills = plural(library.skills().len(), "skill");
    spinner.set_message(format!("comparing {skills}"));
    let progress = |done: usize| {
        // A terminal shows no more than a few changes a second.
        if done.is_multiple_of(64) {
            spinner.set_message(format!("writing pages: {done} of {skills}"));
        }
    };
    let Making { embedder, source, config } = making;
    let vectorizer = embedder.vectorizer(config.neighborhood.seed);
    let (mut compiled, report) = compile(&library, stamp, before, &vectorizer, config, &progress)?;
    compiled.embedder = source.to_text();
    atlas.keep(&compiled)?;
    spinner.finish_and_clear();
    output::summarise(global, &diagnostics);
    Ok((compiled, report))
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

fn print(
    compiled: &Compiled,
    counts: &Counts,
    report: Option<&CompileReport>,
    atlas: &Atlas,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let neighborhoods = &compiled.neighborhoods;
    let groups = neighborhoods.len() - neighborhoods.singletons();
    writeln!(
        out,
        "{STRONG}{}{STRONG:#} in {} of 2 to {}, {} alone",
        plural(compiled.skills.len(), "skill"),
        plural(groups, "neighborhood"),
        neighborhoods.largest(),
        neighborhoods.singletons(),
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
    writeln!(out, "{FAINT}look-alikes: {}{FAINT:#}", compiled.calibration)?;
    match report {
        None => writeln!(out, "nothing has changed since; no work was done")?,
        Some(report) if report.partition.is_some() => {
            writeln!(
                out,
                "{FAINT}vectors: {}; pages: {}; kept in {}{FAINT:#}",
                compiled.profile,
                compiled.writer,
                atlas.path().display()
            )?;
        }
        Some(report) => writeln!(
            out,
            "{} added, {} changed, {} removed: {} touched, {} written, the others as they were",
            report.added,
            report.changed,
            report.removed,
            plural(report.touched, "neighborhood"),
            plural(report.written, "page"),
        )?,
    }
    Ok(())
}
