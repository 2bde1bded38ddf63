//! `fingerpost eval`: measures a retriever, a chooser or a run, and compares runs.

mod choose;
mod judged;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use fingerpost::eval::{
    Comparison, ComparisonConfig, Evaluation, Figures, Measure, Qrels, Run, compare, evaluate,
    rank_all, read_run, search_all, write_qrels_beir, write_qrels_trec, write_run_jsonl,
    write_run_sr_agents, write_run_trec,
};
use fingerpost::search::Retriever;
use serde::Serialize;

use self::choose::{ByModel, Summary};
use self::judged::{Judged, qrels_of, queries_of};
use crate::args::{Compare, Eval, EvalVerb, Global};
use crate::encoder::{self, Requests};
use crate::output::{self, CAUTION, Exit, FAINT, UsageError, plural};
use crate::route::{Chooser, ChoosingArgs};
use crate::search::{POOL, plain_searcher};
use crate::source;
use crate::table::table;

/// The contract of `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    evaluation: &'a Evaluation,
    /// What the model took; only if one chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    llm: Option<Summary>,
}

pub(crate) fn run(eval: &Eval, global: &Global) -> anyhow::Result<Exit> {
    if let Some(EvalVerb::Compare(compare)) = &eval.verb {
        return run_compare(compare, global);
    }
    if eval.chooser.is_none() && eval.choosing != ChoosingArgs::default() {
        let message = "--pool, --max, --always, --allow-none, --cards and --rotate are for a chooser: name it with --chooser";
        return Err(UsageError::new(message).into());
    }
    let elsewhere = &eval.elsewhere;
    if eval.chooser != Some(Chooser::Llm) && (!elsewhere.asks() || elsewhere.batch.is_some()) {
        let message = "--dry-run, --batch, --emit and --ingest are for a model: --chooser llm";
        return Err(UsageError::new(message).into());
    }
    let mut judged = Judged::of(eval)?;
    let mut llm = None;
    let run = match &eval.run {
        Some(file) => run_file(file)?,
        None => {
            let reading = source::read(&eval.library, global)?;
            // Before anything is asked of a model.
            judged.check(&reading.snapshot, eval, global)?;
            // Only a run is judged without queries.
            let queries = judged.queries.as_deref().unwrap_or_default();
            let run = match eval.chooser {
                None => {
                    let plain = plain_searcher(&reading, &eval.library, &eval.retriever, global)?;
                    match plain {
                        Some(searcher) => search_all(&searcher, queries, depth(eval))?,
                        None => {
                            let config = reading.snapshot.route_config();
                            let mut router = reading.snapshot.router(config, depth(eval).max(POOL));
                            let (library, remembered) = (&eval.library, Requests::Remembered);
                            router.set_encoder(encoder::of(&reading, library, remembered, global)?);
                            rank_all(&router, queries, depth(eval))?
                        }
                    }
                }
                Some(Chooser::Local) => choose::locally(&reading, eval, queries, global)?,
                Some(Chooser::Llm) => match choose::by_model(&reading, eval, queries, global)? {
                    ByModel::Done(run, summary) => {
                        llm = Some(*summary);
                        run
                    }
                    ByModel::Unmeasured(exit) => return Ok(exit),
                },
            };
            reading.snapshot.sound()?;
            run
        }
    };
    let Judged { queries, qrels, .. } = judged;
    let evaluation = evaluate(&run, &qrels, queries.as_deref(), &eval.judging.measures);
    if evaluation.queries + evaluation.none.queries == 0 {
        return Err(UsageError::new(
            "there are no queries to judge: do the ids of queries and judgements agree?",
        )
        .into());
    }
    // Files come first, since whoever reads the figures may stop reading; the figures are printed in any
    // case, since they may have cost hours.
    let (run_file, tag) = (eval.run_out.as_deref(), tag(eval, llm.as_ref()));
    let run_file = run_file.map(|file| (file, write_run(file, &run, &qrels, &evaluation, &tag)));
    let qrels_file = eval.qrels_out.as_deref().map(|file| (file, write_qrels(file, &qrels)));
    if global.json {
        output::print_json(&Answer { evaluation: &evaluation, llm })?;
    } else {
        print_evaluation(&evaluation, &eval.judging.measures)?;
    }
    for (file, written) in run_file.into_iter().chain(qrels_file) {
        let encoded = written.with_context(|| format!("cannot write {}", file.display()))?;
        if encoded > 0 {
            let ids = plural(encoded, "id");
            let line = format!(
                "{CAUTION}note:{CAUTION:#} {ids} with white space, which TREC files cannot hold, percent-encoded in {}; `eval` reads them back",
                file.display()
            );
            output::say(global, &line);
        }
    }
    Ok(Exit::Done)
}

/// Deep enough for every cutoff, and for measures that have none.
fn depth(eval: &Eval) -> usize {
    let largest = eval.judging.measures.iter().filter_map(Measure::cutoff).max().unwrap_or(0);
    eval.depth.unwrap_or_else(|| largest.max(100))
}

fn tag(eval: &Eval, llm: Option<&Summary>) -> String {
    let retriever = &eval.retriever;
    let by = match retriever.retriever.or(retriever.reference.then_some(Retriever::Bm25)) {
        Some(by) => by.to_string(),
        None => "default".to_owned(),
    };
    let mode = if retriever.reference { "-reference" } else { "" };
    match eval.chooser {
        None if by == "default" => by,
        None => format!("{by}-{}{mode}", retriever.view.unwrap_or_default()),
        Some(Chooser::Local) => format!("{by}-full-local"),
        Some(Chooser::Llm) => {
            let cards = llm.map(|summary| summary.cards).unwrap_or_default();
            format!("{by}-full-llm-{cards}")
        }
    }
}

fn run_file(file: &Path) -> anyhow::Result<Run> {
    Ok(read_run(&source::text(file)?, &file.display().to_string())?)
}

/// Writes the run, and tells how many ids had to be encoded.
fn write_run(
    file: &Path,
    run: &Run,
    qrels: &Qrels,
    evaluation: &Evaluation,
    tag: &str,
) -> std::io::Result<usize> {
    let mut out = BufWriter::new(File::create(file)?);
    let encoded = match file.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl") => write_run_jsonl(run, &mut out).map(|()| 0)?,
        Some("json") => write_run_sr_agents(run, qrels, evaluation, tag, &mut out).map(|()| 0)?,
        _ => write_run_trec(run, tag, &mut out)?,
    };
    out.flush()?;
    Ok(encoded)
}

/// Writes the judgements, and tells how many ids had to be encoded.
fn write_qrels(file: &Path, qrels: &Qrels) -> std::io::Result<usize> {
    let mut out = BufWriter::new(File::create(file)?);
    let encoded = match file.extension().and_then(|ending| ending.to_str()) {
        Some("tsv") => write_qrels_beir(qrels, &mut out).map(|()| 0)?,
        _ => write_qrels_trec(qrels, &mut out)?,
    };
    out.flush()?;
    Ok(encoded)
}

fn print_evaluation(evaluation: &Evaluation, measures: &[Measure]) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let names: Vec<String> = measures.iter().map(Measure::to_string).collect();
    let mut table =
        table(["data set", "queries"].into_iter().chain(names.iter().map(String::as_str)));
    let row = |name: &str, queries: usize, figures: &Figures| {
        let values = figures.values().map(|value| percent(value.as_f64().unwrap_or(0.0)));
        [name.to_owned(), queries.to_string()].into_iter().chain(values).collect::<Vec<_>>()
    };
    for (name, dataset) in &evaluation.datasets {
        table.add_row(row(name, dataset.queries, &dataset.means));
    }
    if evaluation.datasets.len() > 1 {
        table.add_row(row("mean of data sets", evaluation.queries, &evaluation.macro_mean));
        table.add_row(row("mean of queries", evaluation.queries, &evaluation.micro_mean));
    }
    writeln!(out, "{table}")?;
    if evaluation.missing > 0 {
        let missing = plural(evaluation.missing, "query").replace("querys", "queries");
        writeln!(out, "{missing} missing from the run, scored 0")?;
    }
    let none = &evaluation.none;
    if none.queries > 0 {
        let share = |value: Option<f64>| value.map_or("–".into(), percent);
        writeln!(
            out,
            "{} that no skill fits: none-precision {}, none-recall {} {FAINT}(no hit for {}){FAINT:#}",
            plural(none.queries, "request"),
            share(none.precision),
            share(none.recall),
            plural(none.answered_none, "request"),
        )?;
    }
    Ok(())
}

fn run_compare(args: &Compare, global: &Global) -> anyhow::Result<Exit> {
    if !(0.0 < args.confidence && args.confidence < 1.0) {
        return Err(UsageError::new("--confidence must lie between 0 and 1").into());
    }
    let qrels = qrels_of(&args.qrels)?;
    let queries = args.queries.as_deref();
    let queries = queries.map(|file| queries_of(file, &args.judging.group_by)).transpose()?;
    let baseline = run_file(&args.baseline)?;
    let systems = args
        .runs
        .iter()
        .map(|file| Ok((file.display().to_string(), run_file(file)?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let config = ComparisonConfig {
        measures: args.judging.measures.clone(),
        resamples: args.resamples,
        confidence: args.confidence,
        seed: global.seed,
    };
    let comparisons = compare(&baseline, &systems, &qrels, queries.as_deref(), &config);
    if global.json {
        let json = serde_json::json!({
            "baseline": args.baseline.display().to_string(),
            "resamples": args.resamples,
            "seed": global.seed,
            "comparisons": comparisons,
        });
        output::print_json(&json)?;
    } else {
        print_comparisons(args, &comparisons)?;
    }
    Ok(Exit::Done)
}

fn print_comparisons(args: &Compare, comparisons: &[Comparison]) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let interval = format!("{} % interval", args.confidence * 100.0);
    for comparison in comparisons {
        writeln!(out, "{} against {}", comparison.system, args.baseline.display())?;
        let mut table = table([
            "measure",
            "baseline",
            "system",
            "difference",
            interval.as_str(),
            "win/loss/tie",
            "p",
            "p Holm",
            "p t",
        ]);
        for test in &comparison.measures {
            let [low, high] = test.interval;
            table.add_row([
                test.measure.clone(),
                percent(test.baseline),
                percent(test.system),
                format!("{:+.2}", test.difference * 100.0),
                format!("{:+.2} … {:+.2}", low * 100.0, high * 100.0),
                format!("{}/{}/{}", test.wins, test.losses, test.ties),
                p_value(test.p_randomization),
                p_value(test.p_holm),
                test.p_t.map_or("–".into(), p_value),
            ]);
        }
        writeln!(out, "{table}")?;
        let hits = &comparison.hits;
        writeln!(
            out,
            "first places: {} of the baseline, {} of them kept, {} new, net {:+}\n",
            hits.baseline,
            hits.preserved.map_or("–".into(), |share| format!("{} %", percent(share))),
            hits.new,
            hits.net,
        )?;
    }
    writeln!(
        out,
        "{FAINT}p: paired randomisation test, two-sided, {} samples, of the mean over data sets; Holm over all tests above; t: paired, over queries{FAINT:#}",
        args.resamples
    )?;
    Ok(())
}

/// Figures are printed as in the literature: 47.96 for 0.4796.
fn percent(value: f64) -> String {
    format!("{:.2}", value * 100.0)
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".into() } else { format!("{p:.4}") }
}
