//! Who writes pages with a model, on all machines that share a database?

use fingerpost_postgres::work::WorkStatus;
use schemars::JsonSchema;
use serde::Serialize;

use super::endpoint::{Call, Nothing};
use super::problem::Problem;
use crate::source::Source;

/// Who writes which pages.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WorkersAnswer {
    /// The work that is open, or was open last; null where there was none, as in a folder.
    work: Option<WorkStatus>,
}

/// `GET /v1/workers`.
pub(super) fn workers(call: &mut Call<'_>, _: Nothing) -> Result<WorkersAnswer, Problem> {
    let live = &call.app.live;
    let source = Source::of(live.library(), live.global())?;
    let work = source.home.postgres().map(|postgres| postgres.work_status()).transpose();
    Ok(WorkersAnswer { work: work.map_err(anyhow::Error::from)?.flatten() })
}
