//! `serve`: how many requests does the server answer beside other servers, and what happens while the
//! library changes?
//!
//! The client runs on the same machine, so it takes its share of what all servers have.

mod client;
mod load;
mod report;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use tokio::time::Instant;

use self::client::{Connection, encoded, request};
use self::load::{Load, Pace};
use self::report::{Asked, Endured, Report};
use self::server::Server;
use crate::start::library;

/// What `serve` was asked to do.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The `fingerpost` that is measured.
    #[arg(long, value_name = "PATH", default_value = "target/release/fingerpost")]
    program: PathBuf,
    /// Python with fastapi, uvicorn, bm25s, numba and ratel-ai installed.
    #[arg(long, value_name = "PATH", default_value = "target/golden-venv/bin/python")]
    python: PathBuf,
    /// Folder of the real data, with `sra` and `pool-zh` in it.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Skills.
    #[arg(long, value_name = "N", default_value_t = 33_441)]
    skills: usize,
    /// Seconds for each figure.
    #[arg(long, value_name = "S", default_value_t = 15.0)]
    seconds: f64,
    /// Seconds for which it answers while the library changes.
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    endure: f64,
    /// Connections.
    #[arg(long, value_name = "N", default_value_t = 16)]
    connections: usize,
    /// Requests that are asked in turn.
    #[arg(long, value_name = "N", default_value_t = 500)]
    requests: usize,
    /// Leave the peers out.
    #[arg(long)]
    skip_peers: bool,
    /// Make the library and its atlas here and leave them, for another run; else in a temporary folder.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Where the figures go.
    #[arg(long, value_name = "FILE", default_value = "docs/lab/serve.md")]
    out: PathBuf,
}

/// Between two new states.
const CHANGE_EVERY: Duration = Duration::from_secs(5);

const SEARCH: &str = "/v1/search";
const OURS: &str = "fingerpost";

pub(crate) fn run(arguments: &ServeArgs) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = arguments.folder.as_deref().unwrap_or(temporary.path());
    let made = library::LibraryArgs::of(&arguments.data, folder, arguments.skills);
    library::run(&made)?;
    let library = library::file(folder, arguments.skills);
    let atlas = library.with_extension("serve.atlas");
    let mut compile = Command::new(&arguments.program);
    compile.args(["compile", "--quiet", "--atlas"]).arg(&atlas).arg(&library);
    eprintln!("compiling {} skills", arguments.skills);
    ensure!(compile.status().context("cannot start it")?.success(), "it could not be compiled");
    let texts = requests(arguments)?;
    // One thread for the client: it must not take what the servers are measured by.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(measure(arguments, &library, &atlas, &texts))?;
    let markdown = report.markdown();
    fs::write(&arguments.out, &markdown)
        .with_context(|| format!("cannot write {}", arguments.out.display()))?;
    println!("{markdown}");
    Ok(())
}

/// Requests of `sra`, spread over all of them.
fn requests(arguments: &ServeArgs) -> anyhow::Result<Vec<String>> {
    let sra = crate::judged::open("sra", &arguments.data)?;
    let sra = sra.with_context(|| format!("{} has no sra", arguments.data.display()))?;
    let step = (sra.queries.len() / arguments.requests.max(1)).max(1);
    let texts = sra.queries.iter().step_by(step).take(arguments.requests);
    Ok(texts.map(|query| query.text.clone()).collect())
}

async fn measure(
    arguments: &ServeArgs,
    library: &Path,
    atlas: &Path,
    texts: &[String],
) -> anyhow::Result<Report> {
    let cores = std::thread::available_parallelism()?.get();
    let (mut asked, mut missing) = (Vec::new(), Vec::new());
    let mut ours = Server::ours(&arguments.program, library, atlas)?;
    ours.until_ready("/readyz").await?;
    for path in ["/v1/search?retriever=bm25&k=10&q=", "/v1/search?k=10&q=", "/v1/route?q="] {
        asked.push(ask(arguments, &ours, (OURS, path, true), texts).await?);
    }
    if !arguments.skip_peers {
        for engine in ["bm25s", "ratel"] {
            let name = format!("FastAPI + {engine}");
            let peer = async {
                let mut peer = Server::python(&arguments.python, engine, library, cores)?;
                eprintln!("{name}: indexing");
                peer.until_ready("/healthz").await?;
                ask(arguments, &peer, (&name, "/search?k=10&q=", false), texts).await
            };
            match peer.await {
                Ok(figures) => asked.push(figures),
                Err(error) => missing.push(format!("{name} could not take part: {error:#}")),
            }
        }
    }
    let searched = asked.iter().find(|asked| asked.path.starts_with("/v1/search?k"));
    let rate = searched.map_or(100.0, |asked| asked.most.rate()) / 2.0;
    let endured = endure(arguments, &ours, rate, texts).await?;
    Ok(Report {
        skills: arguments.skills,
        requests: texts.len(),
        connections: arguments.connections,
        seconds: arguments.seconds,
        cores,
        asked,
        endured,
        missing,
    })
}

fn all_requests(path: &str, texts: &[String]) -> Arc<Vec<Vec<u8>>> {
    let asked = texts.iter().map(|text| request("GET", &format!("{path}{}", encoded(text)), ""));
    Arc::new(asked.collect())
}

/// The greatest rate of a server, and the waits at half of it.
async fn ask(
    arguments: &ServeArgs,
    server: &Server,
    (name, path, is_ours): (&str, &'static str, bool),
    texts: &[String],
) -> anyhow::Result<Asked> {
    eprintln!("{name}: {path}");
    let requests = all_requests(path, texts);
    let time = Duration::from_secs_f64(arguments.seconds);
    let closed = (Pace::Closed, arguments.connections);
    load::run(server.address, &requests, closed, time / 5).await;
    let most = load::run(server.address, &requests, closed, time).await;
    let paced = (Pace::Open(most.rate() / 2.0), arguments.connections);
    let half = load::run(server.address, &requests, paced, time).await;
    ensure!(most.answered > 0, "{name} answered nothing");
    let resident = server.resident();
    Ok(Asked { name: name.to_owned(), path, most, half, resident, is_ours })
}

/// Asks while the library changes.
async fn endure(
    arguments: &ServeArgs,
    server: &Server,
    rate: f64,
    texts: &[String],
) -> anyhow::Result<Endured> {
    eprintln!("{OURS}: while the library changes");
    let requests = all_requests(&format!("{SEARCH}?k=10&q="), texts);
    let time = Duration::from_secs_f64(arguments.endure);
    let before = swaps(server).await?;
    let resident = async {
        let (begun, mut samples) = (Instant::now(), Vec::new());
        while begun.elapsed() < time {
            samples.push(server.resident());
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        samples
    };
    let pace = (Pace::Open(rate), arguments.connections);
    let asking = load::run(server.address, &requests, pace, time);
    let (load, ordered, resident): (Load, anyhow::Result<u64>, Vec<f64>) =
        tokio::join!(asking, change(server, time), resident);
    let ordered = ordered?;
    Ok(Endured { load, rate, ordered, swaps: swaps(server).await? - before, resident })
}

/// Pins a page and gives it back, in turn, until the time is over.
async fn change(server: &Server, time: Duration) -> anyhow::Result<u64> {
    let skill = {
        let mut connection = Connection::to(server.address);
        let path = "/v1/skills?limit=1&status=written";
        let status = connection.ask(&request("GET", path, "")).await?;
        let answer: serde_json::Value = serde_json::from_slice(connection.body())?;
        let skill = answer["skills"][0]["skill"].as_str();
        encoded(skill.with_context(|| format!("no skill was listed: {status}"))?)
    };
    let begun = Instant::now();
    let headers = format!("Authorization: Bearer {}\r\nContent-Length: 0\r\n", server.token);
    let mut ordered = 0;
    for order in ["pin", "unpin"].iter().cycle() {
        let next = begun + CHANGE_EVERY * (ordered + 1) as u32;
        if next >= begun + time {
            break;
        }
        tokio::time::sleep_until(next).await;
        let path = format!("/v1/pages/{skill}/{order}");
        let mut connection = Connection::to(server.address);
        let status = connection.ask(&request("POST", &path, &headers)).await?;
        let said = String::from_utf8_lossy(connection.body()).into_owned();
        ensure!(status == 200, "{path}: {status} {said}");
        ordered += 1;
    }
    Ok(ordered)
}

/// How often another state began to answer.
async fn swaps(server: &Server) -> anyhow::Result<u64> {
    let mut connection = Connection::to(server.address);
    connection.ask(&request("GET", "/metrics", "Accept-Encoding: identity\r\n")).await?;
    let text = String::from_utf8_lossy(connection.body()).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("fingerpost_snapshot_swaps_total "));
    Ok(line.context("the server does not count new states")?.parse()?)
}
