//! What does the server answer from, and how does it stand?

use fingerpost::contract::Freshness;
use fingerpost::protocol::Against;
use fingerpost::snapshot::FORMAT;
use schemars::JsonSchema;
use serde::Serialize;

use super::endpoint::{Call, Nothing};
use super::jobs::JobState;
use super::problem::Problem;
use super::shelf;
use crate::live::Status;

/// The library, its atlas, and the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LibraryAnswer {
    /// The name of the library's folder or file.
    name: String,
    /// Where the skills were loaded from.
    roots: Vec<String>,
    /// Skills.
    skills: usize,
    /// Neighborhoods, those of one included.
    neighborhoods: usize,
    /// Skills that are alone.
    singletons: usize,
    /// Size of the largest neighborhood.
    largest: usize,
    /// Skills with a page.
    pages: usize,
    /// Skills that are served by their documents.
    fallback: usize,
    /// Pages that a person should look at.
    flagged: usize,
    /// Pages that a person wrote or approved.
    pinned: usize,
    /// Pages whose documents changed after a person or a model wrote them.
    stale_pages: usize,
    /// Who wrote most pages.
    writer: String,
    /// What made the vectors.
    embedder: String,
    /// How near look-alikes are.
    max_distance: f64,
    /// What pages are written against.
    against: Against,
    /// The format of the atlas.
    format: u32,
    /// The version of the program.
    version: &'static str,
    /// The model that tells how near skills are to a request, where there is one.
    encoder: Option<String>,
    /// Do judged requests lie beside the library?
    judged: bool,
    /// A compilation under way.
    compiling: Option<CompilingAnswer>,
    /// Why the library as it is now cannot be compiled.
    failed: Option<String>,
    /// Does this request carry the token, so that it may edit?
    may_edit: bool,
    /// The model that may write pages, where whoever started the server named one.
    model: Option<String>,
    /// Where the atlas is kept.
    store: String,
    /// Of which state.
    #[serde(flatten)]
    freshness: Freshness,
}

/// How far a compilation is.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CompilingAnswer {
    /// The job, where somebody asked for it.
    job: Option<String>,
    /// What is being done.
    step: String,
    /// So many are done,
    done: usize,
    /// of so many.
    all: usize,
    /// For how long it has been going on, in milliseconds; absent where nobody asked for it.
    since_ms: Option<u64>,
}

/// `GET /v1/library`.
pub(super) fn library(call: &mut Call<'_>, _: Nothing) -> Result<LibraryAnswer, Problem> {
    let open = call.open()?;
    let (app, snapshot) = (call.app, &open.reading.snapshot);
    let head = snapshot.head();
    let roots = head.library.roots.clone();
    let status = app.live.status().borrow().clone();
    let failed = status.failed.clone();
    Ok(LibraryAnswer {
        name: name(&roots),
        skills: snapshot.len(),
        neighborhoods: head.neighborhoods.count,
        singletons: head.neighborhoods.singletons,
        largest: head.neighborhoods.largest,
        pages: head.pages.pages,
        fallback: head.pages.fallback,
        flagged: head.pages.flagged,
        pinned: head.pages.pinned,
        stale_pages: head.pages.stale,
        writer: head.main_writer().to_owned(),
        embedder: head.profile.key(),
        max_distance: head.calibration.max_distance,
        against: snapshot.against(),
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        encoder: open.encoder_name().map(str::to_owned),
        judged: shelf::is_judged(app.live.library()),
        compiling: compiling(call, status),
        failed,
        may_edit: call.may_edit,
        model: app.model.model.clone(),
        store: snapshot.store_name(),
        roots,
        freshness: open.reading.freshness(),
    })
}

/// The last part of the only root's path; how many there are, of several.
fn name(roots: &[String]) -> String {
    match roots {
        [root] => {
            let parts = root.rsplit(['/', '\\']).filter(|part| !part.is_empty());
            parts.take(1).collect()
        }
        roots => format!("{} roots", roots.len()),
    }
}

/// The job that runs; else what the server compiles of its own accord.
fn compiling(call: &Call<'_>, status: Status) -> Option<CompilingAnswer> {
    let job = call.app.jobs.running().map(|job| job.answer());
    match job.filter(|job| job.state == JobState::Running) {
        Some(job) => Some(CompilingAnswer {
            step: job.step.to_owned(),
            done: job.done,
            all: job.all,
            since_ms: Some((job.seconds * 1e3) as u64),
            job: Some(job.job),
        }),
        None => status.compiling.map(|compiling| CompilingAnswer {
            job: None,
            step: compiling.step.to_owned(),
            done: compiling.done,
            all: compiling.all,
            since_ms: None,
        }),
    }
}
