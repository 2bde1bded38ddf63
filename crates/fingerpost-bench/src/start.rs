//! `start`: what does one command cost, from the start of its process to its end?
//!
//! Libraries of rising size are made and compiled by each binary into an atlas of its own; then the
//! commands take turns, so that a slow minute hits all of them. Processor time is the system's account of
//! each process, not the clock's: it hardly depends on what else the machine does.

mod child;
pub(crate) mod library;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use comfy_table::{Table, presets};
use serde_json::json;

use self::child::{Cost, Ran};
use self::library::Requests;

/// What `start` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// An older `fingerpost` to compare with.
    #[arg(long, value_name = "PATH")]
    old: Option<PathBuf>,
    /// The `fingerpost` that is measured.
    #[arg(long, value_name = "PATH", default_value = "target/release/fingerpost")]
    new: PathBuf,
    /// Folder of the real data, with `sra` and `pool-zh` in it.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Sizes of the libraries, rising.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [16_417, 33_441, 200_000])]
    skills: Vec<usize>,
    /// How often each command runs; means are reported.
    #[arg(long, value_name = "N", default_value_t = 20)]
    runs: usize,
    /// Make libraries and atlases here and leave them, for another run; else in a temporary folder.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// A command line, and what the table calls it.
struct Work {
    name: &'static str,
    arguments: &'static [&'static str],
    how: How,
}

/// How a request is put.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// On the command line.
    Argument,
    /// To a server on its standard input, which is greeted, asked once and left.
    Conversation,
}

/// What the others are compared with.
const PLAIN: &str = "search --retriever bm25";

/// What a server's first answer is compared with.
const ROUTE: &str = "route";

const WORKS: [Work; 4] = [
    Work { name: PLAIN, arguments: &["search", "--retriever", "bm25"], how: How::Argument },
    Work { name: "search", arguments: &["search"], how: How::Argument },
    Work { name: ROUTE, arguments: &["route"], how: How::Argument },
    Work { name: "mcp, first answer", arguments: &["mcp"], how: How::Conversation },
];

const OLD: &str = "old";
const NEW: &str = "new";

/// Which figure: everything that a row of the table is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    skills: usize,
    work: &'static str,
    request: &'static str,
    binary: &'static str,
}

/// What one command cost.
#[derive(Debug)]
struct Figure {
    key: Key,
    /// The first time after a compilation.
    first: Cost,
    /// All times after that.
    runs: Vec<Cost>,
}

impl Figure {
    fn cpu_s(&self) -> f64 {
        mean_cpu(&self.runs)
    }
}

/// A `fingerpost` that takes part.
struct Binary<'a> {
    name: &'static str,
    program: &'a Path,
}

pub(crate) fn run(arguments: &StartArgs) -> anyhow::Result<()> {
    ensure!(arguments.runs > 0, "at least one run is needed");
    ensure!(arguments.skills.is_sorted_by(|a, b| a < b), "the sizes of the libraries must rise");
    let old = arguments.old.iter().map(|program| Binary { name: OLD, program });
    let binaries: Vec<Binary<'_>> =
        old.chain([Binary { name: NEW, program: &arguments.new }]).collect();
    for Binary { program, .. } in &binaries {
        let hint = "is not there; `cargo build --release` makes one";
        ensure!(program.is_file(), "{} {hint}", program.display());
    }
    let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = arguments.folder.as_deref().unwrap_or(temporary.path());
    make_libraries(arguments, folder)?;
    let requests = Requests::read(folder)?;

    let mut figures = Vec::new();
    for &skills in &arguments.skills {
        figures.extend(measure(skills, &binaries, &requests, folder, arguments.runs)?);
    }
    let [short, long] = requests.named().map(|(_, text)| text.split_whitespace().count());
    println!(
        "Processor time (user and system) and peak memory of a process, means of {} runs; the short request \
         has {short} words, the long one {long}\n\n{}\n",
        arguments.runs,
        table(&figures)
    );
    for binary in &binaries {
        let version = || child::run(Command::new(binary.program).arg("--version"));
        let runs = (0..arguments.runs).map(|_| Ok(version()?.cost));
        let runs: Vec<Cost> = runs.collect::<anyhow::Result<_>>()?;
        let (ms, peak) = (mean_cpu(&runs) * 1e3, megabytes(&runs));
        println!("{}: `--version` alone takes {ms:.1} ms and {peak:.0} MB", binary.name);
    }
    Ok(())
}

/// In a process of its own: the system counts what a process holds when it starts another one to the
/// peak of that one, so this one must stay small.
fn make_libraries(arguments: &StartArgs, folder: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program has no file")?;
    let mut command = Command::new(program);
    command.arg("start-library").arg("--data").arg(&arguments.data).arg(folder);
    command.args(arguments.skills.iter().map(usize::to_string));
    let status = command.status().context("cannot start this program again")?;
    ensure!(status.success(), "the libraries could not be made");
    Ok(())
}

/// All figures of one size of library.
fn measure(
    skills: usize,
    binaries: &[Binary<'_>],
    requests: &Requests,
    folder: &Path,
    runs: usize,
) -> anyhow::Result<Vec<Figure>> {
    let library = library::file(folder, skills);
    let atlas = |binary: &Binary<'_>| library.with_extension(format!("{}.atlas", binary.name));
    for binary in binaries {
        let start = Instant::now();
        let mut command = Command::new(binary.program);
        command.args(["compile", "--quiet", "--atlas"]).arg(atlas(binary)).arg(&library);
        let Cost { cpu_s, peak_bytes } = child::run(&mut command)?.expect(&[0], &command)?.cost;
        let (text, kept) = (fs::metadata(&library)?.len(), size(&atlas(binary))?);
        eprintln!(
            "{skills} skills: {} compiled them in {:.0} s, {cpu_s:.0} s of the processor, {:.0} MB at most; \
             the atlas has {:.0} MB, {:.2} times the library",
            binary.name,
            start.elapsed().as_secs_f64(),
            peak_bytes as f64 / 1e6,
            kept as f64 / 1e6,
            kept as f64 / text as f64,
        );
    }
    let ask = |binary: &Binary<'_>, work: &Work, request: &str| {
        let mut command = Command::new(binary.program);
        command.args(work.arguments).args(["--quiet", "--library"]).arg(&library);
        command.arg("--atlas").arg(atlas(binary));
        match work.how {
            How::Argument => {
                command.args(["--json", "--", request]);
                // Exit code 1 says that no skill fits, which is an answer too.
                child::run(&mut command)?.expect(&[0, 1], &command)
            }
            How::Conversation => {
                let arguments = json!({"request": request, "detail": true});
                let params = json!({"name": "route_skill", "arguments": arguments});
                let ask =
                    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
                child::converse(&mut command, &ask.to_string())?.expect(&[0], &command)
            }
        }
    };
    let mut figures = Vec::new();
    for (request, text) in requests.named() {
        for work in &WORKS {
            let mut answers = Vec::new();
            // Older versions serve nothing.
            let is_in = |binary: &&Binary<'_>| work.how == How::Argument || binary.name == NEW;
            for binary in binaries.iter().filter(is_in) {
                let key = Key { skills, work: work.name, request, binary: binary.name };
                let ran = ask(binary, work, text)?;
                answers.push(hits(&ran)?);
                figures.push(Figure { key, first: ran.cost, runs: Vec::new() });
            }
            if work.name == PLAIN && answers.iter().any(|hits| *hits != answers[0]) {
                eprintln!("{skills} skills: {PLAIN} finds others for the {request} request");
            }
        }
    }
    for round in 1..=runs {
        eprintln!("{skills} skills: round {round} of {runs}");
        for figure in &mut figures {
            let Key { work, request, binary, .. } = figure.key;
            let binary = binaries.iter().find(|known| known.name == binary);
            let work = WORKS.iter().find(|known| known.name == work);
            let (binary, work) = binary.zip(work).context("a figure is of a known command")?;
            figure.runs.push(ask(binary, work, requests.text(request))?.cost);
        }
    }
    Ok(figures)
}

/// Bytes of all files below a folder.
fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}

/// The skills that an answer names, best first.
fn hits(ran: &Ran) -> anyhow::Result<Vec<String>> {
    let answer: serde_json::Value =
        serde_json::from_slice(&ran.output).context("an answer is no JSON")?;
    let hits = [&answer["hits"], &answer["result"]["structuredContent"]["hits"]];
    let hits =
        hits.into_iter().find_map(|hits| hits.as_array()).context("an answer has no hits")?;
    let id = |hit: &serde_json::Value| hit["skill"].as_str().unwrap_or_default().to_owned();
    Ok(hits.iter().map(id).collect())
}

fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "skills",
        "command",
        "request",
        "binary",
        "CPU ms",
        "first run",
        "peak MB",
        "by bm25",
        "by route",
        "by old",
        "by fewer skills",
    ]);
    for figure in figures {
        let Key { skills, work, request, binary } = figure.key;
        table.add_row([
            skills.to_string(),
            work.to_owned(),
            request.to_owned(),
            binary.to_owned(),
            format!("{:.1}", figure.cpu_s() * 1e3),
            // The second request finds everything as the first one left it.
            if request == library::SHORT {
                format!("{:.1}", figure.first.cpu_s * 1e3)
            } else {
                String::new()
            },
            format!("{:.0}", megabytes(&figure.runs)),
            ratio(figures, figure, Key { work: PLAIN, ..figure.key }),
            ratio(figures, figure, Key { work: ROUTE, ..figure.key }),
            ratio(figures, figure, Key { binary: OLD, ..figure.key }),
            fewer(figures, skills).map_or_else(String::new, |skills| {
                ratio(figures, figure, Key { skills, ..figure.key })
            }),
        ]);
    }
    table
}

/// How many times as much processor time as another one, if there is another one.
fn ratio(figures: &[Figure], figure: &Figure, than: Key) -> String {
    let other = figures.iter().find(|other| other.key == than && than != figure.key);
    other.map_or_else(String::new, |other| format!("{:.2}", figure.cpu_s() / other.cpu_s()))
}

/// The next smaller library.
fn fewer(figures: &[Figure], skills: usize) -> Option<usize> {
    figures.iter().map(|figure| figure.key.skills).filter(|&other| other < skills).max()
}

fn mean_cpu(runs: &[Cost]) -> f64 {
    runs.iter().map(|cost| cost.cpu_s).sum::<f64>() / runs.len().max(1) as f64
}

fn megabytes(runs: &[Cost]) -> f64 {
    let bytes: u64 = runs.iter().map(|cost| cost.peak_bytes).sum();
    bytes as f64 / runs.len().max(1) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_to_the_same_command_but_for_one_thing() {
        let key = Key { skills: 10, work: "route", request: library::SHORT, binary: NEW };
        let figure = |key, cpu_s| {
            let cost = Cost { cpu_s, peak_bytes: 1 };
            Figure { key, first: cost, runs: vec![cost, Cost { cpu_s: 3.0 * cpu_s, ..cost }] }
        };
        let figures = [
            figure(Key { work: PLAIN, ..key }, 1.0),
            figure(Key { binary: OLD, ..key }, 8.0),
            figure(Key { work: PLAIN, binary: OLD, ..key }, 100.0),
            figure(key, 4.0),
            figure(Key { skills: 20, ..key }, 6.0),
        ];
        let against = |than| ratio(&figures, &figures[3], than);
        assert_eq!(against(Key { work: PLAIN, ..key }), "4.00");
        assert_eq!(against(Key { binary: OLD, ..key }), "0.50");
        assert_eq!(against(key), "", "nothing is compared with itself");
        assert_eq!(against(Key { request: library::LONG, ..key }), "", "nobody asked that");
        assert_eq!((fewer(&figures, 20), fewer(&figures, 10)), (Some(10), None));
        assert_eq!(ratio(&figures, &figures[4], Key { skills: 10, ..key }), "1.50");
    }
}
