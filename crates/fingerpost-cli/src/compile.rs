//! `fingerpost compile`: turns a library into an atlas.

use std::io::Write;
use std::time::Instant;

use fingerpost::atlas::{Atlas, AtlasError, Compiled};
use fingerpost::compile::{CompileConfig, CompileReport, compile};
use fingerpost::diagnostic::Warned;
use fingerpost::library::{Library, LoadOptions, Root};
use fingerpost::neighborhood::{NeighborhoodConfig, Probing, Threshold};
use serde::Serialize;

use crate::args::{Compile, Global, LibraryArgs, NeighborhoodArgs};
use crate::embedder::{Opened, Source};
use crate::output::{self, Exit, FAINT, STRONG, UsageError, plural};
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
    let settings = Settings::Given(config(&args.neighborhood, global)?, args.embedder.source()?);
    let (compiled, report) =
        ensure(&atlas, &roots, source::options(&library), &settings, args.rebuild, global)?;
    let seconds = start.elapsed().as_secs_f64();
    if global.json {
        let answer = Answer {
            skills: compiled.skills.len(),
            neighborhoods: compiled.neighborhoods.len(),
            singletons: compiled.neighborhoods.singletons(),
            largest: compiled.neighborhoods.largest(),
            embedder: compiled.profile.key(),
            max_distance: compiled.calibration.max_distance,
            report: report.as_ref(),
            seconds,
        };
        output::print_json(&answer)?;
    } else {
        print(&compiled, report.as_ref(), &atlas)?;
    }
    Ok(Exit::Done)
}

/// Which settings the neighborhoods are to have.
pub(crate) enum Settings {
    /// These; without an embedder, that of the atlas.
    Given(NeighborhoodConfig, Option<Source>),
    /// Those of the atlas, whatever they are; the defaults if there is none.
    Kept,
}

/// The compiled library; compiled now, if it is not there or not current.
pub(crate) fn ensure(
    atlas: &Atlas,
    roots: &[Root],
    options: LoadOptions,
    settings: &Settings,
    rebuild: bool,
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
    let kept = before.as_ref().map(|before| Source::from_text(&before.embedder)).transpose();
    let (neighborhood, source) = match (settings, &before) {
        (Settings::Given(config, Some(source)), _) => (*config, source.clone()),
        (Settings::Given(config, None), _) => (*config, kept?.unwrap_or(Source::Fit)),
        (Settings::Kept, Some(before)) => (before.config, kept?.unwrap_or(Source::Fit)),
        (Settings::Kept, None) => {
            (NeighborhoodConfig { seed: global.seed, ..Default::default() }, Source::Fit)
        }
    };
    match before {
        Some(compiled)
            if !rebuild
                && compiled.config == neighborhood
                && compiled.embedder == source.to_text()
                && atlas.is_current(roots, options, &compiled) =>
        {
            Ok((compiled, None))
        }
        before => {
            let embedder = source.open(atlas, global)?;
            if let (Settings::Kept, Some(before)) = (settings, &before) {
                embedder.must_match(&before.profile)?;
            }
            let config = CompileConfig { neighborhood, rebuild };
            let making = Making { embedder: &embedder, source: &source, config: &config };
            let (compiled, report) = compile_now(atlas, roots, options, before, &making, global)?;
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
    spinner.set_message(format!("comparing {}", plural(library.skills().len(), "skill")));
    let vectorizer = making.embedder.vectorizer(making.config.neighborhood.seed);
    let (mut compiled, report) = compile(&library, stamp, before, &vectorizer, making.config)?;
    compiled.embedder = making.source.to_text();
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

fn print(compiled: &Compiled, report: Option<&CompileReport>, atlas: &Atlas) -> anyhow::Result<()> {
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
    writeln!(out, "{FAINT}look-alikes: {}{FAINT:#}", compiled.calibration)?;
    match report {
        None => writeln!(out, "nothing has changed since; no work was done")?,
        Some(report) if report.partition.is_some() => {
            writeln!(
                out,
                "{FAINT}vectors: {}; kept in {}{FAINT:#}",
                compiled.profile,
                atlas.path().display()
            )?;
        }
        Some(report) => writeln!(
            out,
            "{} added, {} changed, {} removed: {} touched, the others as they were",
            report.added,
            report.changed,
            report.removed,
            plural(report.touched, "neighborhood"),
        )?,
    }
    Ok(())
}
