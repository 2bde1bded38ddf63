//! Who was how fast, and is that fast enough?

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

/// A contestant's name, as the tables print it.
pub(crate) type Contestant = &'static str;

pub(crate) const OURS: Contestant = "fingerpost";
pub(crate) const TANTIVY: Contestant = "tantivy";
pub(crate) const BM25S: Contestant = "bm25s";

/// What was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// The skills' texts to terms, and nothing more.
    Tokenize,
    /// Terms to a finished index.
    Index,
    /// Texts to a finished index.
    Build,
    /// Every request's text to its best hits.
    Search,
    /// The same for requests that were tokenized beforehand.
    SearchTokenized,
}

/// One contestant's times for one task.
#[derive(Debug, Serialize)]
pub(crate) struct Timing {
    pub(crate) task: Task,
    pub(crate) contestant: Contestant,
    pub(crate) threads: usize,
    pub(crate) seconds: Vec<f64>,
}

impl Timing {
    pub(crate) fn median(&self) -> f64 {
        median(&self.seconds)
    }
}

/// All times of a run, in the order in which the tasks were first done.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Timings(Vec<Timing>);

impl Timings {
    pub(crate) fn record(
        &mut self,
        task: Task,
        contestant: Contestant,
        threads: usize,
        seconds: f64,
    ) {
        let key = (task, contestant, threads);
        let known = self.0.iter_mut().find(|t| (t.task, t.contestant, t.threads) == key);
        match known {
            Some(timing) => timing.seconds.push(seconds),
            None => self.0.push(Timing { task, contestant, threads, seconds: vec![seconds] }),
        }
    }

    /// Does the work and records how long it took.
    pub(crate) fn time<T>(
        &mut self,
        task: Task,
        contestant: Contestant,
        threads: usize,
        work: impl FnOnce() -> T,
    ) -> T {
        let (seconds, result) = timed(work);
        self.record(task, contestant, threads, seconds);
        result
    }

    pub(crate) fn get(
        &self,
        task: Task,
        contestant: Contestant,
        threads: usize,
    ) -> Option<&Timing> {
        let key = (task, contestant, threads);
        self.0.iter().find(|t| (t.task, t.contestant, t.threads) == key)
    }

    pub(crate) fn of(&self, task: Task) -> impl Iterator<Item = &Timing> {
        self.0.iter().filter(move |timing| timing.task == task)
    }
}

/// A promise about speed, and whether this run kept it.
#[derive(Debug, Serialize)]
pub(crate) struct Target {
    pub(crate) work: &'static str,
    pub(crate) threads: usize,
    pub(crate) against: Contestant,
    /// Their time by ours: above one, we are faster.
    pub(crate) ratio: f64,
    pub(crate) at_least: f64,
    pub(crate) met: bool,
}

/// The promises of the README, for the contestants that took part.
pub(crate) fn targets(timings: &Timings, threads: usize) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut thread_counts = vec![1, threads];
    thread_counts.dedup();
    let promises = [
        // bm25s builds on one thread whatever it is given.
        ("build", Task::Build, BM25S, 5.0),
        // From the text of a request to its hits, for everyone.
        ("search", Task::Search, BM25S, 5.0),
        ("search", Task::Search, TANTIVY, 3.0),
    ];
    for (work, task, against, at_least) in promises {
        for &threads in &thread_counts {
            let their_threads = if (work, against) == ("build", BM25S) { 1 } else { threads };
            let ours = timings.get(task, OURS, threads);
            let theirs = timings.get(task, against, their_threads);
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                let ratio = theirs.median() / ours.median();
                let met = ratio >= at_least;
                targets.push(Target { work, threads, against, ratio, at_least, met });
            }
        }
    }
    targets
}

/// How long the work takes, and its result. The result is kept from the optimiser, and dropped
/// outside the time.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed().as_secs_f64(), result)
}

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_compares_medians_at_the_same_number_of_threads() {
        let mut timings = Timings::default();
        for seconds in [9.0, 1.0, 2.0] {
            timings.record(Task::Search, OURS, 1, seconds);
            timings.record(Task::Search, TANTIVY, 1, 3.0 * seconds);
            timings.record(Task::Search, TANTIVY, 4, 100.0);
            timings.record(Task::Search, BM25S, 1, 4.9 * seconds);
            timings.record(Task::SearchTokenized, BM25S, 1, 5.1 * seconds);
        }
        let verdicts: Vec<_> = targets(&timings, 4)
            .iter()
            .map(|target| (target.against, target.threads, target.met))
            .collect();
        assert_eq!(verdicts, [(BM25S, 1, false), (TANTIVY, 1, true)]);
    }

    #[test]
    fn the_median_of_two_is_between_them() {
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[4.0, 1.0, 2.0]), 2.0);
    }
}
