//! How is the library compiled because somebody asked for it?

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fingerpost::page::prompt::LanguageChoice;
use fingerpost::page::write::Again;
use schemars::JsonSchema;
use serde::Deserialize;

use super::app::App;
use super::endpoint::{Call, Nothing, json};
use super::jobs::{BegunAnswer, Job, JobAnswer, JobKind, JobState, JobsAnswer};
use super::problem::Problem;
use crate::args::WriterName;
use crate::compile::{self, Compiled, Wish};
use crate::llm::LlmArgs;
use crate::output::{self, Exit, plain};

/// What is to be compiled.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompileBody {
    /// Who writes pages.
    #[serde(default)]
    writer: WriterBody,
    /// Compute everything anew, instead of placing what changed? Known pages stay.
    #[serde(default)]
    rebuild: bool,
    /// Write those pages again that are flagged or missing? What is pinned stays.
    #[serde(default)]
    fix_flagged: bool,
    /// llm: stop before more than this is spent, in US dollars; never more than whoever started the server allowed.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    max_cost: Option<f64>,
    /// llm: stop after so many calls; never more than whoever started the server allowed.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    max_calls: Option<f64>,
    /// llm: only say what would be asked, and what that would cost?
    #[serde(default)]
    dry_run: bool,
}

/// Who writes pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WriterBody {
    /// Chooses from the documents; no model.
    #[default]
    Local,
    /// The model that whoever started the server named.
    Llm,
}

/// `POST /v1/compile`.
pub(super) fn compile(call: &mut Call<'_>, body: CompileBody) -> Result<BegunAnswer, Problem> {
    let app = Arc::clone(call.app);
    let mut model = app.model.clone();
    if body.writer == WriterBody::Llm && model.model.is_none() {
        let detail = "no model was named where the server was started";
        let hint = "start it with `fingerpost serve --model NAME`, and --base-url where the server is another";
        return Err(Problem::unprocessable(detail).hint(hint));
    }
    if body.max_cost.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
        return Err(Problem::unprocessable("max_cost is a sum of US dollars, 0 or more"));
    }
    if body.max_calls.is_some_and(|calls| !calls.is_finite() || calls < 0.0) {
        return Err(Problem::unprocessable("max_calls is a number of calls, 0 or more"));
    }
    model.max_cost = least(model.max_cost, body.max_cost, f64::min);
    // A part of a call is none.
    let max_calls = body.max_calls.map(|calls| calls as u64);
    model.max_calls = least(model.max_calls, max_calls, u64::min);
    let job = app.jobs.begin(JobKind::Compile)?;
    let id = job.answer().job;
    let run = move || {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(&app, &job, &body, model)
        }));
        let (state, error) = done.unwrap_or_else(|_| {
            (JobState::Failed, Some("something went wrong here; the log says what".into()))
        });
        job.end(state, error);
    };
    let started = std::thread::Builder::new().name("job".into()).spawn(run);
    started.map_err(anyhow::Error::from)?;
    Ok(BegunAnswer { job: id })
}

/// The smaller of two limits, of which there may be none.
fn least<T: Copy>(a: Option<T>, b: Option<T>, least: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(least(a, b)),
        (a, b) => a.or(b),
    }
}

fn run(
    app: &App,
    job: &Arc<Job>,
    body: &CompileBody,
    model: crate::llm::ModelArgs,
) -> (JobState, Option<String>) {
    let mut llm = LlmArgs::usual(model);
    llm.elsewhere.dry_run = body.dry_run;
    let wish = Wish {
        library: app.live.library(),
        protocol: None,
        writer: match body.writer {
            WriterBody::Local => WriterName::Local,
            WriterBody::Llm => WriterName::Llm,
        },
        lang: &LanguageChoice::Auto,
        again: if body.fix_flagged { Again::Flagged } else { Again::Nothing },
        rebuild: body.rebuild,
        llm: &llm,
    };
    let compiled = compile::compile(&wish, Some(job.follower()), app.live.global());
    // Whatever it came to, what was written is served before the job is said to have ended.
    app.live.look();
    match compiled {
        Err(error) => {
            let mut why = plain(&format!("{error:#}")).into_owned();
            if let Some(hint) = output::hint(&error) {
                why = format!("{why}; {hint}");
            }
            let stopped = job.follower().is_stopped();
            (if stopped { JobState::Stopped } else { JobState::Failed }, Some(why))
        }
        Ok(None) => (JobState::Done, None),
        Ok(Some(Compiled { summary, exit, .. })) => {
            let why = summary.and_then(|summary| summary.stopped);
            match (exit, why) {
                (Exit::Done, None) => (JobState::Done, None),
                (Exit::Outside, why) => (JobState::Failed, why),
                (Exit::Interrupted, why) => (JobState::Stopped, why),
                (_, Some(why)) => (JobState::Stopped, Some(why)),
                (_, None) => (JobState::Done, None),
            }
        }
    }
}

/// `GET /v1/jobs`.
pub(super) fn jobs(call: &mut Call<'_>, _: Nothing) -> Result<JobsAnswer, Problem> {
    Ok(JobsAnswer { jobs: call.app.jobs.all() })
}

/// `GET /v1/jobs/{job}`.
pub(super) fn job(call: &mut Call<'_>, _: Nothing) -> Result<JobAnswer, Problem> {
    Ok(call.app.jobs.find(call.id)?.answer())
}

/// `DELETE /v1/jobs/{job}`.
pub(super) async fn stop(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    match app.jobs.find(&id) {
        Ok(job) => {
            job.stop();
            json(StatusCode::ACCEPTED, &job.answer())
        }
        Err(problem) => problem.into_response(),
    }
}
