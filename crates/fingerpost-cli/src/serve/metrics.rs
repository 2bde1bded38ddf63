//! How busy is the server? In the words of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::live::Status;

/// Borders of the histogram, in seconds.
const BORDERS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Counts since the start.
#[derive(Default)]
pub(super) struct Metrics {
    routes: Mutex<BTreeMap<String, Route>>,
    in_flight: AtomicUsize,
    shed: AtomicU64,
    swaps: AtomicU64,
}

/// What one address was asked.
#[derive(Default)]
struct Route {
    by_status: BTreeMap<u16, u64>,
    /// One for each border, and one for what was slower than all of them.
    buckets: [u64; BORDERS.len() + 1],
    seconds: f64,
}

/// A request under way.
pub(super) struct UnderWay<'a>(&'a Metrics);

impl Metrics {
    /// A request came.
    pub(super) fn begin(&self) -> UnderWay<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        UnderWay(self)
    }

    /// It was answered like this.
    pub(super) fn count(&self, method: &str, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let label = format!("method=\"{method}\",route=\"{route}\"");
        let route = routes.entry(label).or_default();
        let seconds = took.as_secs_f64();
        let bucket = BORDERS.iter().position(|&border| seconds <= border);
        route.buckets[bucket.unwrap_or(BORDERS.len())] += 1;
        route.seconds += seconds;
        *route.by_status.entry(status).or_default() += 1;
    }

    /// A request was turned away because too many are here.
    pub(super) fn shed(&self) {
        self.shed.fetch_add(1, Ordering::Relaxed);
    }

    /// Another state answers from now on.
    pub(super) fn swapped(&self) {
        self.swaps.fetch_add(1, Ordering::Relaxed);
    }

    /// All of it.
    pub(super) fn text(&self, status: &Status, job_runs: bool, away: bool) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "fingerpost_requests_total";
        head(&mut text, name, "counter", "Requests that were answered.");
        for (label, route) in routes.iter() {
            for (status, count) in &route.by_status {
                let _ = writeln!(text, "{name}{{{label},status=\"{status}\"}} {count}");
            }
        }
        let name = "fingerpost_request_seconds";
        head(&mut text, name, "histogram", "Time from a request to the head of its answer.");
        for (label, route) in routes.iter() {
            let mut count = 0;
            let borders = BORDERS.iter().map(f64::to_string).chain(["+Inf".into()]);
            for (border, bucket) in borders.zip(route.buckets) {
                count += bucket;
                let _ = writeln!(text, "{name}_bucket{{{label},le=\"{border}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_sum{{{label}}} {}", route.seconds);
            let _ = writeln!(text, "{name}_count{{{label}}} {count}");
        }
        drop(routes);
        let Status { generation, stale, skills, compiling, failed } = status;
        let flag = u64::from;
        let figures = [
            (
                "fingerpost_requests_in_flight",
                "gauge",
                "Requests under way.",
                self.in_flight.load(Ordering::Relaxed) as u64,
            ),
            (
                "fingerpost_requests_shed_total",
                "counter",
                "Requests turned away because too many were here.",
                self.shed.load(Ordering::Relaxed),
            ),
            (
                "fingerpost_snapshot_swaps_total",
                "counter",
                "How often another state of the atlas began to answer.",
                self.swaps.load(Ordering::Relaxed),
            ),
            ("fingerpost_generation", "gauge", "The state of the atlas that answers.", *generation),
            ("fingerpost_skills", "gauge", "Skills of that state.", *skills as u64),
            ("fingerpost_stale", "gauge", "Has the library changed since? 1 or 0.", flag(*stale)),
            (
                "fingerpost_compiling",
                "gauge",
                "Is the library being compiled? 1 or 0.",
                flag(compiling.is_some() || job_runs),
            ),
            (
                "fingerpost_compile_failed",
                "gauge",
                "Could the library as it is not be compiled? 1 or 0.",
                flag(failed.is_some()),
            ),
            (
                "fingerpost_atlas_away",
                "gauge",
                "Is the atlas kept where it cannot be reached now? 1 or 0.",
                flag(away),
            ),
        ];
        for (name, kind, help, value) in figures {
            head(&mut text, name, kind, help);
            let _ = writeln!(text, "{name} {value}");
        }
        if let Some(bytes) = resident() {
            let name = "process_resident_memory_bytes";
            head(&mut text, name, "gauge", "Memory that the process holds.");
            let _ = writeln!(text, "{name} {bytes}");
        }
        text
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_adds_up() {
        let metrics = Metrics::default();
        for millis in [0, 3, 3, 60_000] {
            metrics.count("GET", "/v1/search", 200, Duration::from_millis(millis));
        }
        metrics.count("GET", "/v1/search", 503, Duration::from_millis(1));
        let text = metrics.text(&Status::default(), false, false);
        let label = "method=\"GET\",route=\"/v1/search\"";
        for line in [
            format!("fingerpost_requests_total{{{label},status=\"200\"}} 4"),
            format!("fingerpost_requests_total{{{label},status=\"503\"}} 1"),
            format!("fingerpost_request_seconds_bucket{{{label},le=\"0.001\"}} 2"),
            format!("fingerpost_request_seconds_bucket{{{label},le=\"0.005\"}} 4"),
            format!("fingerpost_request_seconds_bucket{{{label},le=\"10\"}} 4"),
            format!("fingerpost_request_seconds_bucket{{{label},le=\"+Inf\"}} 5"),
            format!("fingerpost_request_seconds_count{{{label}}} 5"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
