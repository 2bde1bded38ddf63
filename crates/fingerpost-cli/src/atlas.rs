//! `fingerpost atlas`: figures of a compiled library, its map, and a sweep of settings.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

use anyhow::Context;
use fingerpost::atlas::Compiled;
use fingerpost::eval::{Qrels, read_qrels};
use fingerpost::index::FORMAT_VERSION;
use fingerpost::map::draw;
use fingerpost::neighborhood::{Buckets, document_imposed_error, duplicates, structure, sweep};
use fingerpost::search::tuning::{Trial, Trust, Tuning};
use fingerpost::text::Tokenizer;
use fingerpost::view::FieldWeights;
use serde::Serialize;
use serde_json::json;

use crate::args::{AtlasVerb, Global, LibraryArgs, MapArgs, Stats, SweepArgs};
use crate::compile::Counts;
use crate::neighbors::open;
use crate::output::{self, Exit, FAINT, STRONG, plain, plural};
use crate::source;
use crate::table::table;

/// Duplicates shown of a library that has many.
const SHOWN_DUPLICATES: usize = 10;

pub(crate) fn run(verb: &AtlasVerb, global: &Global) -> anyhow::Result<Exit> {
    match verb {
        AtlasVerb::Stats(stats) => run_stats(stats, global),
        AtlasVerb::Map(map) => run_map(map, global),
        AtlasVerb::Sweep(sweep) => run_sweep(sweep, global),
    }
}

fn run_stats(args: &Stats, global: &Global) -> anyhow::Result<Exit> {
    let compiled = open(&args.library, global)?;
    let neighborhoods = &compiled.neighborhoods;
    let structure = structure(&compiled.vectors, neighborhoods, global.seed);
    let same = same(&compiled, &args.library, global)?;
    let pages = Counts::of(&compiled.pages);
    if global.json {
        let answer = json!({
            "skills": compiled.skills.len(),
            "neighborhoods": neighborhoods.len(),
            "singletons": neighborhoods.singletons(),
            "largest": neighborhoods.largest(),
            "pages": pages.pages,
            "fallback": pages.fallback,
            "flagged": pages.flagged,
            "embedder": compiled.profile.key(),
            "format": FORMAT_VERSION,
            "profile": compiled.profile,
            "calibration": compiled.calibration,
            "structure": structure,
            "duplicates": same,
            "placed": compiled.placed,
            "tuning": compiled.tuning,
            "none_below": compiled.none_below,
        });
        output::print_json(&answer)?;
        return Ok(Exit::Done);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{STRONG}{}{STRONG:#}", plural(compiled.skills.len(), "skill"))?;
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
    writeln!(out, "look-alikes: {}", compiled.calibration)?;
    writeln!(out, "vectors: {}", compiled.profile)?;
    print_tuning(&compiled.tuning, &mut out)?;
    writeln!(out, "none: below evidence {:.2}", compiled.none_below)?;
    writeln!(
        out,
        "pages: {} by {}, {} without, {} to look at",
        pages.pages, compiled.writer, pages.fallback, pages.flagged
    )?;
    if compiled.placed > 0 {
        let placed = plural(compiled.placed, "skill");
        writeln!(
            out,
            "{placed} placed since the last full partition; `compile --rebuild` makes it exact"
        )?;
    }
    print_same(&same, &mut out)?;
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

fn same(compiled: &Compiled, library: &LibraryArgs, global: &Global) -> anyhow::Result<Vec<Same>> {
    let digests: Vec<&str> = compiled.skills.iter().map(|skill| skill.digest.as_str()).collect();
    let count = Buckets::count_for(compiled.skills.len());
    let buckets = Buckets::fit(&compiled.vectors, count, global.seed);
    let judged = source::beside(library, &["qrels.tsv", "qrels/test.tsv"])
        .map(|file| anyhow::Ok(read_qrels(&source::text(&file)?, &file.display().to_string())?))
        .transpose()?;
    let served = |judged: &Qrels, id: &str| -> BTreeSet<String> {
        let serves = judged.iter().filter(|(_, grades)| grades.get(id).is_some_and(|&g| g > 0));
        serves.map(|(query, _)| query.clone()).collect()
    };
    let same = duplicates(&compiled.vectors, &digests, &buckets);
    Ok(same
        .pairs(&compiled.vectors, &digests)
        .map(|pair| {
            let skills = [pair.first, pair.second].map(|skill| compiled.skill(skill).id.clone());
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
    let compiled = open(&args.library, global)?;
    let svg = draw(&compiled, global.seed);
    fs::write(&args.out, svg).with_context(|| format!("cannot write {}", args.out.display()))?;
    if global.json {
        output::print_json(
            &json!({"map": args.out.display().to_string(), "skills": compiled.skills.len()}),
        )?;
    } else {
        let skills = plural(compiled.skills.len(), "skill");
        output::say(global, &format!("Drew {skills} to {}", args.out.display()));
    }
    Ok(Exit::Done)
}

fn run_sweep(args: &SweepArgs, global: &Global) -> anyhow::Result<Exit> {
    let compiled = open(&args.library, global)?;
    let spinner = output::spinner(global, "partitioning with every setting".into());
    let rows = sweep(&compiled.vectors, &args.buckets, &args.max_distance, &compiled.config);
    spinner.finish_and_clear();
    if global.json {
        output::print_json(&json!({"embedder": compiled.profile.key(), "rows": rows}))?;
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
        let grouped = compiled.skills.len() - row.structure.singletons;
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
    write!(
        out,
        "search: {}, {words}, name × {name}, description × {description}",
        tuning.retriever
    )?;
    if tuning.retriever.is_dense() {
        write!(out, ", words count {sparse:.2} and vectors {dense:.2}")?;
    }
    writeln!(out)?;
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
