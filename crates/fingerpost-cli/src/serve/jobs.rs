//! What does the server do that takes long, and how far is it?
//!
//! One job runs at a time: two would compile the same library. What became of a job is remembered until
//! the server ends, as far as there is room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

use super::problem::Problem;
use crate::follow::{Follower, Told};

/// Jobs that are remembered.
const REMEMBERED: usize = 50;

/// A job, as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct JobAnswer {
    /// Its number.
    pub(super) job: String,
    /// What it does.
    pub(super) kind: JobKind,
    /// How it stands.
    pub(super) state: JobState,
    /// What is being done.
    pub(super) step: &'static str,
    /// So many are done,
    pub(super) done: usize,
    /// of so many.
    pub(super) all: usize,
    /// Calls that a model answered.
    pub(super) calls: u64,
    /// What they cost; absent where the model has no price.
    pub(super) cost_usd: Option<f64>,
    /// How long it took, or takes by now.
    pub(super) seconds: f64,
    /// What a model would be asked, where only that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<PlanAnswer>,
    /// Why it failed, or ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum JobKind {
    /// Compiles the library.
    Compile,
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum JobState {
    /// It is under way.
    Running,
    /// It did what was wanted.
    Done,
    /// It could not.
    Failed,
    /// Somebody stopped it, or it reached a limit; what was done is kept.
    Stopped,
}

/// What a model would be asked.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct PlanAnswer {
    /// Calls to be made.
    pub(super) calls: usize,
    /// Answers that are in the ledger already.
    pub(super) known: u64,
    /// About how many tokens they take.
    pub(super) input_tokens: u64,
    /// About how many are written.
    pub(super) output_tokens: u64,
    /// About what they cost; absent where the model has no price.
    pub(super) cost_usd: Option<f64>,
    /// About how long they take.
    pub(super) seconds: f64,
}

/// A job of the server.
pub(super) struct Job {
    begun: Instant,
    follower: Arc<Follower>,
    state: watch::Sender<JobAnswer>,
}

/// All jobs since the start.
#[derive(Default)]
pub(super) struct Jobs {
    list: Mutex<(u64, VecDeque<Arc<Job>>)>,
}

/// All jobs that are remembered, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JobsAnswer {
    pub(super) jobs: Vec<JobAnswer>,
}

/// A job that was begun.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BegunAnswer {
    /// Its number.
    pub(super) job: String,
}

impl Jobs {
    /// Begins a job; refused while another one runs.
    pub(super) fn begin(&self, kind: JobKind) -> Result<Arc<Job>, Problem> {
        let mut list = self.list();
        if let Some(running) = list.1.iter().find(|job| job.is_running()) {
            let detail = format!("job {} runs", running.answer().job);
            return Err(Problem::conflict(detail).hint("wait for its end, or stop it with DELETE"));
        }
        list.0 += 1;
        let job = Arc::new(Job::new(list.0.to_string(), kind));
        list.1.truncate(REMEMBERED - 1);
        list.1.push_front(Arc::clone(&job));
        Ok(job)
    }

    pub(super) fn find(&self, id: &str) -> Result<Arc<Job>, Problem> {
        let list = self.list();
        let found = list.1.iter().find(|job| job.state.borrow().job == id);
        let unknown = || Problem::not_found(format!("there is no job '{id}'"));
        found.map(Arc::clone).ok_or_else(unknown)
    }

    /// The newest first.
    pub(super) fn all(&self) -> Vec<JobAnswer> {
        self.list().1.iter().map(|job| job.answer()).collect()
    }

    /// The one that runs.
    pub(super) fn running(&self) -> Option<Arc<Job>> {
        self.list().1.iter().find(|job| job.is_running()).map(Arc::clone)
    }

    fn list(&self) -> MutexGuard<'_, (u64, VecDeque<Arc<Job>>)> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn new(id: String, kind: JobKind) -> Self {
        let state = watch::Sender::new(JobAnswer {
            job: id,
            kind,
            state: JobState::Running,
            step: "reading",
            done: 0,
            all: 0,
            calls: 0,
            cost_usd: Some(0.0),
            seconds: 0.0,
            plan: None,
            error: None,
        });
        let told = state.clone();
        let hear = move |what: Told<'_>| told.send_modify(|answer| answer.hear(&what));
        Self { begun: Instant::now(), follower: Arc::new(Follower::new(hear)), state }
    }

    pub(super) fn follower(&self) -> &Arc<Follower> {
        &self.follower
    }

    /// How it stands now.
    pub(super) fn answer(&self) -> JobAnswer {
        let mut answer = self.state.borrow().clone();
        if answer.state == JobState::Running {
            answer.seconds = self.seconds();
        }
        answer
    }

    /// To be told when that changes.
    pub(super) fn watch(&self) -> watch::Receiver<JobAnswer> {
        self.state.subscribe()
    }

    pub(super) fn is_running(&self) -> bool {
        self.state.borrow().state == JobState::Running
    }

    /// Nothing more is begun; calls under way are finished.
    pub(super) fn stop(&self) {
        self.follower.stop();
    }

    /// It has ended like this.
    pub(super) fn end(&self, state: JobState, error: Option<String>) {
        let seconds = self.seconds();
        self.state.send_modify(|answer| {
            (answer.state, answer.error, answer.seconds) = (state, error, seconds);
        });
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

impl JobAnswer {
    fn hear(&mut self, told: &Told<'_>) {
        match told {
            Told::Step(step, done, all) => {
                (self.step, self.done, self.all) = (step, *done, *all);
            }
            Told::Spent { calls, cost_usd } => {
                (self.calls, self.cost_usd) = (*calls, *cost_usd);
            }
            Told::Plan(plan) => {
                self.plan = Some(PlanAnswer {
                    calls: plan.calls,
                    known: plan.known,
                    input_tokens: plan.usage.input,
                    output_tokens: plan.usage.output,
                    cost_usd: plan.cost,
                    seconds: plan.seconds,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_runs_at_a_time_and_all_are_remembered() {
        let jobs = Jobs::default();
        let first = jobs.begin(JobKind::Compile).unwrap_or_else(|_| panic!("none runs"));
        assert!(jobs.begin(JobKind::Compile).is_err());
        first.follower().tell(Told::Step("writing", 3, 9));
        let answer = jobs.find("1").unwrap_or_else(|_| panic!("it is there")).answer();
        assert_eq!(
            (answer.state, answer.step, answer.done, answer.all),
            (JobState::Running, "writing", 3, 9)
        );
        first.end(JobState::Failed, Some("no disk".into()));
        for _ in 0..2 * REMEMBERED {
            let job = jobs.begin(JobKind::Compile).unwrap_or_else(|_| panic!("none runs"));
            job.end(JobState::Done, None);
        }
        assert_eq!(jobs.all().len(), REMEMBERED);
        assert_eq!(jobs.all()[0].job, (2 * REMEMBERED + 1).to_string());
        assert!(jobs.find("1").is_err() && jobs.running().is_none());
    }
}
