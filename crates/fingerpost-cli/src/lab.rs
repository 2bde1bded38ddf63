//! `fingerpost lab`: the experiments of the paper, each by its name.

mod teller;
mod verify;

use std::io::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use clap::{Args, Subcommand};
use fingerpost::protocol::{Choosing, Protocol, ProtocolName};
use fingerpost::route::llm::ChooserConfig;
use fingerpost::view::Cards;
use fingerpost_lab::asking::{Came, How};
use fingerpost_lab::experiment::{self, Experiment};
use fingerpost_lab::files::{Done, Provenance};
use fingerpost_lab::judged::Places;
use fingerpost_lab::kind;
use fingerpost_lab::lab::Lab;
use fingerpost_lab::retriever::Models;
use fingerpost_models::campaign::AnswerFile;
use serde_json::json;

use self::teller::Teller;
use crate::args::Global;
use crate::llm::{ElsewhereArgs, Model, ModelArgs, Work, templates};
use crate::output::{self, CAUTION, Exit, FAINT, STRONG, UsageError, plain, plural};
use crate::table::table;

#[derive(Debug, Subcommand)]
pub(crate) enum LabVerb {
    /// The experiments there are, and what came of each.
    List(LabArgs),
    /// Do one experiment, or all; what was measured before is taken from its file.
    Run(Box<RunArgs>),
    /// Write one page of all that was done, which needs nothing beside itself.
    Report(ReportArgs),
    /// Compute the headline figures again from the stored runs, by the Python package ir_measures.
    Verify(VerifyArgs),
}

/// Where things are.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabArgs {
    /// Where results are written, one folder an experiment.
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
    /// A folder of experiments of your own [default: those of the program].
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,
    /// The folder of judged libraries.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data_folder: PathBuf,
    /// Skills of a library that an embedding model reads at most: some read twenty a second.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    encode_at_most: usize,
    /// The folder with `examples` and `experiments`.
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Which experiments.
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// All of them.
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// A first look: small libraries, few requests, nothing that has to be fetched.
    #[arg(long)]
    quick: bool,
    /// Requests of a library at most.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// These libraries instead: names, or folders with skills, queries.jsonl and qrels.tsv; may be given several times.
    #[arg(long, value_name = "LIBRARY")]
    data: Vec<String>,
    /// These retrievers instead; may be given several times.
    #[arg(long, value_name = "NAME")]
    retriever: Vec<String>,
    /// Compile and search by these settings: ours, or the paper's.
    #[arg(long, value_name = "ours|paper")]
    protocol: Option<ProtocolName>,
    /// These cards only, of those that a reader is asked about.
    #[arg(long, value_name = "CARDS")]
    cards: Vec<Cards>,
    /// Requests of these data sets only, of those that a reader is asked about.
    #[arg(long, value_name = "NAME")]
    dataset: Vec<String>,
    #[command(flatten)]
    places: LabArgs,
    /// Tokens of a reader's answer: more for models that think aloud.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    answer_tokens: u32,
    /// A Python environment in which programs that solve a request are tried (tools/bigcodebench).
    #[arg(long, value_name = "DIR", env = "FINGERPOST_BIGCODEBENCH")]
    bigcodebench: Option<PathBuf>,
    #[command(flatten)]
    elsewhere: ElsewhereArgs,
    #[command(flatten)]
    server: ModelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    places: LabArgs,
    /// Where to write it [default: report.html in the folder of results].
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Which experiments [default: all that were done].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    places: LabArgs,
    /// A Python that has ir_measures [default: one is made in the folder of results].
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
}

pub(crate) fn run(verb: &LabVerb, global: &Global) -> anyhow::Result<Exit> {
    match verb {
        LabVerb::Report(args) => report(args, global),
        LabVerb::Verify(args) => verify::run(args, global),
        LabVerb::List(args) => list(args, global),
        LabVerb::Run(args) => run_experiments(args, global),
    }
}

impl LabArgs {
    fn experiments(&self) -> anyhow::Result<Vec<Experiment>> {
        Ok(match &self.experiments {
            Some(folder) => experiment::of_folder(folder)?,
            None => experiment::shipped(),
        })
    }

    fn open(&self, global: &Global) -> Lab {
        let places = Places { data: self.data_folder.clone(), project: self.project.clone() };
        let teller = Arc::new(Teller::new(global));
        let of_models = Arc::clone(&teller);
        let mut models = Models::new(self.out.join("vectors"), move |event| of_models.hear(event));
        models.most = self.encode_at_most;
        Lab::new(places, self.out.clone(), models, move |event| teller.hear(event))
    }
}

fn list(args: &LabArgs, global: &Global) -> anyhow::Result<Exit> {
    let done = Done::read_all(&args.out)?;
    let experiments = args.experiments()?;
    let of = |name: &str| done.iter().find(|done| done.name == name);
    if global.json {
        let rows: Vec<_> = experiments
            .iter()
            .map(|experiment| {
                let Experiment { name, number, title, question, .. } = experiment;
                let done = of(name).map(|done| &done.provenance);
                json!({"name": name, "number": number, "title": title, "question": question, "done": done})
            })
            .collect();
        output::print_json(&json!({"experiments": rows, "out": args.out.display().to_string()}))?;
        return Ok(Exit::Done);
    }
    let mut out = anstream::stdout().lock();
    for Experiment { name, number, question, .. } in &experiments {
        let done = of(name).map_or_else(
            || "not done yet".to_owned(),
            |done| format!("done on {}", done.provenance.date),
        );
        writeln!(out, "{number:>2}  {STRONG}{name}{STRONG:#}  {FAINT}{done}{FAINT:#}")?;
        writeln!(out, "    {question}")?;
    }
    writeln!(out, "\n{FAINT}results in {}{FAINT:#}", args.out.display())?;
    Ok(Exit::Done)
}

fn report(args: &ReportArgs, global: &Global) -> anyhow::Result<Exit> {
    let done = Done::read_all(&args.places.out)?;
    if done.is_empty() {
        let message = format!(
            "nothing was done yet in {}: `fingerpost lab run --all --quick` takes a minute",
            args.places.out.display()
        );
        return Err(UsageError::new(message).into());
    }
    let page = args.page.clone().unwrap_or_else(|| args.places.out.join("report.html"));
    let html = fingerpost_lab::report::html(&done);
    std::fs::write(&page, html).with_context(|| format!("cannot write {}", page.display()))?;
    let (count, page) = (plural(done.len(), "experiment"), page.display().to_string());
    match global.json {
        true => output::print_json(&json!({"page": page, "experiments": done.len()}))?,
        false => output::say(global, &format!("{count} in {page}")),
    }
    Ok(Exit::Done)
}

fn run_experiments(args: &RunArgs, global: &Global) -> anyhow::Result<Exit> {
    let known = args.places.experiments()?;
    let chosen = match args.all {
        true => known,
        false => args
            .names
            .iter()
            .map(|name| experiment::find(&known, name))
            .collect::<Result<_, _>>()?,
    };
    let mut lab = args.places.open(global);
    lab.environment.clone_from(&args.bigcodebench);
    let mut exit = Exit::Done;
    let mut answers = Vec::new();
    for experiment in chosen {
        let experiment = narrowed(experiment, args);
        if args.server.model.is_some() {
            let Some(asked) = ask(&experiment, &lab, args, global)? else { return Ok(Exit::Done) };
            if asked != Exit::Done {
                exit = asked;
            }
        }
        output::say(
            global,
            &format!("{STRONG}{}. {}{STRONG:#}", experiment.number, experiment.title),
        );
        let begun = Instant::now();
        let outcome = kind::run(&experiment, &lab)
            .with_context(|| format!("{} came to nothing", experiment.name))?;
        let seconds = begun.elapsed().as_secs_f64();
        let provenance = Provenance::now(command(), &args.places.project, seconds);
        let done = Done::new(&experiment, outcome, provenance);
        let folder = done.write(&args.places.out)?;
        if !done.unexpected.is_empty() || done.is_empty() {
            exit = Exit::Findings;
        }
        if global.json {
            answers.push(serde_json::to_value(&done)?);
        } else {
            print(&done, &folder)?;
        }
    }
    if global.json {
        output::print_json(&json!({ "experiments": answers }))?;
    }
    Ok(exit)
}

/// The experiment with what the arguments say instead.
fn narrowed(mut experiment: Experiment, args: &RunArgs) -> Experiment {
    if args.quick {
        experiment = experiment.quick();
    }
    if !args.data.is_empty() {
        experiment.data.clone_from(&args.data);
    }
    if !args.retriever.is_empty() {
        experiment.retrievers.clone_from(&args.retriever);
    }
    if let Some(protocol) = args.protocol.filter(|protocol| *protocol != experiment.protocol) {
        experiment.protocol = protocol;
        // What is expected is expected of its own settings.
        experiment.expected.clear();
    }
    if let Some(limit) = args.limit {
        experiment.requests = experiment.requests.min(limit);
        // What is expected is expected of all requests.
        experiment.expected.clear();
    }
    let Experiment { data, retrievers, expected, .. } = &mut experiment;
    let is_asked = |figure: &str| {
        let of_data = data.iter().any(|name| figure.starts_with(&format!("{name} ")));
        let named = |name: &String| figure.contains(&format!(" {name} "));
        of_data && (retrievers.is_empty() || retrievers.iter().any(named))
    };
    expected.retain(|expected| is_asked(&expected.figure));
    experiment
}

/// Asks the model that was named for whatever it has not answered yet; `None` if only prompts were wanted.
fn ask(
    experiment: &Experiment,
    lab: &Lab,
    args: &RunArgs,
    global: &Global,
) -> anyhow::Result<Option<Exit>> {
    let mut asked = experiment.clone();
    if !args.cards.is_empty() {
        asked.cards.clone_from(&args.cards);
    }
    if !args.dataset.is_empty() {
        asked.datasets.clone_from(&args.dataset);
    }
    let asks = args.elsewhere.asks();
    let work = Work { doing: "asking", noun: "request", asks, follower: None };
    let model = Model::open(&args.server, args.server.api.into(), &work, lab.ledger()?, global)?;
    let reader = model.campaign.model().to_owned();
    // As in the paper: one of the candidates is always chosen, and one that the request names is asked about too.
    let Choosing { cards, named, answering, rotate, attempts, temperature, .. } =
        Protocol::paper().choosing;
    let config = ChooserConfig {
        cards,
        named,
        answering,
        rotate,
        attempts: args.server.attempts.map_or(attempts, NonZeroU32::get),
        answer_tokens: args.answer_tokens,
        temperature,
        seed: global.seed,
        templates: templates(args.server.prompts.as_deref())?,
    };
    let wanted = lab.wanted(&asked, &reader)?;
    if let Some(file) = &args.elsewhere.emit {
        let [one] = &wanted[..] else {
            let message = format!(
                "a reader sees one arm of one library at a time, and {} are wanted: name one with --data and --cards",
                plural(wanted.len(), "arm")
            );
            return Err(UsageError::new(message).into());
        };
        let lines = one.lines(&model.campaign, &config)?;
        std::fs::write(file, lines.text)
            .with_context(|| format!("cannot write {}", file.display()))?;
        let prompts = plural(lines.prompts, "prompt");
        output::say(
            global,
            &format!("wrote {prompts} to {}; bring the answers back with --ingest", file.display()),
        );
        return Ok(None);
    }
    let how = match &args.elsewhere.ingest[..] {
        [] => How::Server(args.server.concurrency.get() as usize),
        files => How::Files(files.iter().map(|file| answers(file)).collect::<anyhow::Result<_>>()?),
    };
    let mut exit = Exit::Done;
    for wanted in wanted {
        let came = wanted.ask(&model.campaign, &config, &how, lab);
        model.teller.finish();
        let Came { recorded, left, stopped, .. } = came?;
        let mut line = format!(
            "{}: {} of {reader} recorded",
            plain(&wanted.name()),
            plural(recorded, "answer"),
        );
        if left > 0 {
            line += &format!(", {left} still to come");
            exit = Exit::Findings;
        }
        if let Some(stopped) = stopped {
            line += &format!("; stopped: {}", plain(&stopped.to_string()));
            exit = Exit::Outside;
        }
        output::say(global, &line);
    }
    Ok(Some(exit))
}

fn answers(file: &Path) -> anyhow::Result<AnswerFile> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(AnswerFile { name: file.display().to_string(), text })
}

fn print(done: &Done, folder: &Path) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    for found in &done.outcome.tables {
        writeln!(out, "\n{}", plain(&found.title))?;
        let mut shown = table(found.columns.iter().map(String::as_str));
        for row in &found.rows {
            shown.add_row(row.iter().map(|cell| plain(&cell.text()).to_string()));
        }
        writeln!(out, "{shown}")?;
    }
    for note in &done.outcome.notes {
        writeln!(out, "{FAINT}{}{FAINT:#}", plain(note))?;
    }
    for unexpected in &done.unexpected {
        writeln!(out, "{CAUTION}not as expected:{CAUTION:#} {}", plain(unexpected))?;
    }
    writeln!(out, "{FAINT}in {}{FAINT:#}\n", folder.display())?;
    Ok(())
}

/// What was typed, without the way to the program.
fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(program) = words.first_mut() {
        "fingerpost".clone_into(program);
    }
    words.join(" ")
}
