//! `fingerpost atlas`: figures of a compiled library, its map, and a sweep of settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;

use anyhow::Context;
use fingerpost::eval::{Qrels, read_qrels};
use fingerpost::map::draw;
use fingerpost::neighborhood::{Buckets, document_imposed_error, duplicates, structure, sweep};
use fingerpost::numbers;
use fingerpost::protocol::ProtocolName;
use fingerpost::search::tuning::{Trial, Trust, Tuning};
use fingerpost::snapshot::{FORMAT, Snapshot};
use fingerpost::store::old::OldAtlas;
use fingerpost::store::{Folder, Log, Store};
use fingerpost::text::Tokenizer;
use fingerpost::view::FieldWeights;
use serde::Serialize;
use serde_json::json;

use crate::args::{AdoptArgs, AtlasVerb, Global, LibraryArgs, MapArgs, Stats, SweepArgs};
use crate::output::{self, Exit, FAINT, STRONG, UsageError, plain, plural};
use crate::source::{self, OLD, Source};
use crate::table::table;

/// Duplicates shown of a library that has many.
const SHOWN_DUPLICATES: usize = 10;

pub(crate) fn run(verb: &AtlasVerb, global: &Global) -> anyhow::Result<Exit> {
    match verb {
        AtlasVerb::Stats(stats) => run_stats(stats, global),
        AtlasVerb::Map(map) => run_map(map, global),
        AtlasVerb::Sweep(sweep) => run_sweep(sweep, global),
        AtlasVerb::Adopt(adopt) => run_adopt(adopt, global),
    }
}

fn run_stats(args: &Stats, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let snapshot = &reading.snapshot;
    let head = snapshot.head();
    let neighborhoods = snapshot.neighborhoods();
    let structure = structure(snapshot.vectors()?, neighborhoods, global.seed);
    let same = same(snapshot, &args.library, global)?;
    let pages = head.pages;
    let named = head.protocol.name();
    snapshot.sound()?;
    if global.json {
        let settings: BTreeMap<_, _> = head.protocol.settings().into_iter().collect();
        let answer = json!({
            "skills": snapshot.len(),
            "neighborhoods": neighborhoods.len(),
            "singletons": neighborhoods.singletons(),
            "largest": neighborhoods.largest(),
            "pages": pages.pages,
            "fallback": pages.fallback,
            "flagged": pages.flagged,
            "pinned": pages.pinned,
            "stale_pages": pages.stale,
            "writers": head.writers,
            "embedder": head.profile.key(),
            "format": FORMAT,
            "profile": head.profile,
            "protocol": head.protocol,
            "protocol_name": named.0.to_string(),
            "settings": settings,
            "calibration": head.calibration,
            "structure": structure,
            "duplicates": same,
            "placed": head.placed,
            "tuning": head.tuning,
            "none_below": numbers::none::BELOW,
            "library": head.library,
            "generation": head.generation,
            "stale": reading.stale,
        });
        output::print_json(&answer)?;
        return Ok(Exit::Done);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{STRONG}{}{STRONG:#}", plural(snapshot.len(), "skill"))?;
    writeln!(
        out,
        "{}, {} alone, largest {}; {:.1} % of the skills have look-alikes",
        plural(neighborhoods.len() - neighborhoods.singletons(), "neighborhood"),
        neighborhoods.singletons(),
        neighborhoods.largest(),
        structure.grouped * 100.0,
    )?;
    let widest = structure.sizes.iter().copied().max().unwrap_or(1).max(1);
    for (size, &count) in structure.sizes.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let bar = "▇".repeat((count * 40).div_ceil(widest));
        writeln!(out, "  {:>3} {FAINT}skills{FAINT:#} {count:>7}  {bar}", size + 1)?;
    }
    writeln!(
        out,
        "similarity: {:.3} within a neighborhood, {:.3} to the nearest outside",
        structure.within, structure.nearest_outside
    )?;
    print_protocol(&named, &mut out)?;
    writeln!(out, "look-alikes: {}", head.calibration)?;
    writeln!(out, "vectors: {}", head.profile)?;
    print_tuning(&head.tuning, &mut out)?;
    writeln!(
        out,
        "pages: {}, {} without, {} to look at",
        pages.pages, pages.fallback, pages.flagged
    )?;
    for (writer, count) in &head.writers {
        writeln!(out, "  {FAINT}{count:>5} by {}{FAINT:#}", plain(writer))?;
    }
    if head.placed > 0 {
        let placed = plural(head.placed, "skill");
        writeln!(
            out,
            "{placed} placed since the last full partition; `compile --rebuild` makes it exact"
        )?;
    }
    print_same(&same, &mut out)?;
    Ok(Exit::Done)
}

/// The protocol with a name that comes nearest, and what is not as it has it.
fn print_protocol(
    (name, differing): &(ProtocolName, Vec<(&'static str, String)>),
    out: &mut impl Write,
) -> std::io::Result<()> {
    let but = if differing.is_empty() { "" } else { ", but for" };
    writeln!(out, "protocol: {name}{but}")?;
    for (setting, value) in differing {
        writeln!(out, "  {FAINT}{setting}: {value}{FAINT:#}")?;
    }
    Ok(())
}

/// Takes over what an atlas of an earlier version, or of somebody else, keeps.
fn run_adopt(args: &AdoptArgs, global: &Global) -> anyhow::Result<Exit> {
    let source = Source::of(&args.library, global)?;
    let own = source.home.folder();
    let from = args.from.clone().or_else(|| own.map(|place| place.made.clone()));
    let Some(from) = from else {
        let message = "name the folder of the atlas that is to be taken over into the database";
        return Err(UsageError::new(message).into());
    };
    let old = from.join(OLD);
    let (mut pages, mut calls) = (0, 0);
    if old.is_file() {
        let old = OldAtlas::open(&old)?;
        let kept = old.pages()?;
        source.atlas.keep(&kept)?;
        source.trust();
        pages = kept.len();
        calls = source.ledger(global)?.adopt(&old)?;
    } else if from.join("kept").is_dir() {
        let other = Folder::at(&from);
        let is_own = own.is_some_and(|place| from.join("kept") == place.kept);
        for log in Log::ALL.into_iter().filter(|_| !is_own) {
            let records = other.records(log, 0)?.records;
            let records: Vec<Vec<u8>> = records.into_iter().map(|record| record.bytes).collect();
            source.atlas.store().append(log, &records)?;
            match log {
                Log::Pages => pages = records.len(),
                Log::Ledger => calls = records.len(),
            }
        }
        source.trust();
    } else {
        let message = format!("{} holds no atlas that keeps anything", from.display());
        return Err(UsageError::new(message).into());
    }
    if global.json {
        output::print_json(&json!({"pages": pages, "ledger": calls}))?;
    } else {
        let (pages, records) = (plural(pages, "page"), plural(calls, "record"));
        let mut out = anstream::stdout().lock();
        writeln!(
            out,
            "took over {pages} and {records} of the ledger; {} stays as it is",
            from.display()
        )?;
    }
    Ok(Exit::Done)
}

/// Two skills whose documents say the same.
#[derive(Serialize)]
struct Same {
    skills: [String; 2],
    /// To the byte?
    identical: bool,
    /// The error no reader of the two documents can avoid, over the library's judged requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavoidable_error: Option<f64>,
}

fn same(snapshot: &Snapshot, library: &LibraryArgs, global: &Global) -> anyhow::Result<Vec<Same>> {
    let digests: Vec<String> = snapshot.rows().map(|skill| snapshot.digest(skill)).collect();
    let digests: Vec<&str> = digests.iter().map(String::as_str).collect();
    let vectors = snapshot.vectors()?;
    let count = Buckets::count_for(snapshot.len());
    let buckets = Buckets::fit(vectors, count, global.seed);
    let judged = source::beside(library, &["qrels.tsv", "qrels/test.tsv"])
        .map(|file| anyhow::Ok(read_qrels(&source::text(&file)?, &file.display().to_string())?))
        .transpose()?;
    let served = |judged: &Qrels, id: &str| -> BTreeSet<String> {
        let serves = judged.iter().filter(|(_, grades)| grades.get(id).is_some_and(|&g| g > 0));
        serves.map(|(query, _)| query.clone()).collect()
    };
    let same = duplicates(vectors, &digests, &buckets);
    Ok(same
        .pairs(vectors, &digests)
        .map(|pair| {
            let skills = [pair.first, pair.second].map(|skill| snapshot.row(skill).id.to_owned());
            let unavoidable_error = judged.as_ref().map(|judged| {
                let [first, second] = skills.each_ref().map(|id| served(judged, id));
                document_imposed_error(&first, &second, judged.len())
            });
            Same { skills, identical: pair.identical, unavoidable_error }
        })
        .collect())
}

fn print_same(same: &[Same], out: &mut impl Write) -> anyhow::Result<()> {
    if same.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n{} of skills whose documents say the same; on a request that only one of two can serve, whoever reads them is wrong half of the time:",
        plural(same.len(), "pair"),
    )?;
    for pair in same.iter().take(SHOWN_DUPLICATES) {
        let [first, second] = pair.skills.each_ref().map(|id| plain(id));
        let kind = if pair.identical { "identical" } else { "nearly" };
        let error = pair.unavoidable_error.filter(|&error| error > 0.0);
        let error = error.map_or(String::new(), |error| format!(", unavoidable error {error:.5}"));
        writeln!(out, "  {first}, {second} {FAINT}({kind}{error}){FAINT:#}")?;
    }
    if same.len() > SHOWN_DUPLICATES {
        let more = same.len() - SHOWN_DUPLICATES;
        writeln!(out, "  {FAINT}and {more} more; --json lists all{FAINT:#}")?;
    }
    Ok(())
}

fn run_map(args: &MapArgs, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let svg = draw(&reading.snapshot, global.seed)?;
    reading.snapshot.sound()?;
    fs::write(&args.out, svg).with_context(|| format!("cannot write {}", args.out.display()))?;
    if global.json {
        output::print_json(
            &json!({"map": args.out.display().to_string(), "skills": reading.snapshot.len()}),
        )?;
    } else {
        let skills = plural(reading.snapshot.len(), "skill");
        output::say(global, &format!("Drew {skills} to {}", args.out.display()));
    }
    Ok(Exit::Done)
}

fn run_sweep(args: &SweepArgs, global: &Global) -> anyhow::Result<Exit> {
    let reading = source::read(&args.library, global)?;
    let head = reading.snapshot.head();
    let spinner = output::spinner(global, "partitioning with every setting".into());
    let vectors = reading.snapshot.vectors()?;
    let config = &head.protocol.neighborhood;
    let rows = sweep(vectors, &args.buckets, &args.max_distance, config);
    spinner.finish_and_clear();
    if global.json {
        output::print_json(&json!({"embedder": head.profile.key(), "rows": rows}))?;
        return Ok(Exit::Done);
    }
    let mut table = table([
        "buckets",
        "max distance",
        "neighborhoods",
        "alone",
        "in groups %",
        "mean size",
        "largest",
        "within",
        "nearest outside",
    ]);
    for row in &rows {
        let groups = row.structure.neighborhoods - row.structure.singletons;
        let grouped = reading.snapshot.len() - row.structure.singletons;
        let largest =
            row.structure.sizes.iter().rposition(|&count| count > 0).map_or(0, |at| at + 1);
        table.add_row([
            row.buckets.to_string(),
            format!("{:.3}", row.max_distance),
            groups.to_string(),
            row.structure.singletons.to_string(),
            format!("{:.1}", row.structure.grouped * 100.0),
            format!("{:.2}", grouped as f64 / groups.max(1) as f64),
            largest.to_string(),
            format!("{:.3}", row.structure.within),
            format!("{:.3}", row.structure.nearest_outside),
        ]);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{table}")?;
    Ok(Exit::Done)
}

/// How the library is searched, and what its own test said to each way.
fn print_tuning(tuning: &Tuning, out: &mut impl Write) -> std::io::Result<()> {
    let words = match tuning.tokenizer {
        Tokenizer::Stems => "words without their endings",
        _ => "words as they are",
    };
    let FieldWeights { name, description } = tuning.fields;
    let Trust { sparse, dense, tested, .. } = tuning.trust;
    writeln!(
        out,
        "search: in the order of route; {words}, name × {name}, description × {description}"
    )?;
    if tuning.retriever.is_dense() {
        writeln!(
            out,
            "  {FAINT}--retriever hybrid: words count {sparse:.2} and vectors {dense:.2}{FAINT:#}"
        )?;
    }
    if tested > 0 {
        writeln!(
            out,
            "  {FAINT}mean reciprocal rank of {} that are asked for by their first sentence:{FAINT:#}",
            plural(tested, "skill")
        )?;
    }
    for Trial { change, found, before, taken } in &tuning.trials {
        let verdict = if *taken { "taken" } else { "left" };
        writeln!(out, "  {FAINT}{change:<28} {before:.3} → {found:.3}  {verdict}{FAINT:#}")?;
    }
    Ok(())
}
