//! A judge's verdicts as a table: gold, answer, what is expected.

use fingerpost_lab::judge::{Judge, Verdict, judge};
use serde_json::Value;

/// What is expected of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Right,
    Wrong,
    Undecided,
}

/// Checks every row, and shows all that fail.
pub(crate) fn check(by: Judge, rows: &[(Value, &str, Expected)]) {
    assert!(rows.len() >= 25, "a table of {} rows is too short", rows.len());
    let mut failed = Vec::new();
    for (gold, answer, expected) in rows {
        let verdict = judge(by, gold, answer).unwrap_or_else(|error| panic!("{gold}: {error}"));
        let found = match verdict {
            Verdict::Right => Expected::Right,
            Verdict::Wrong { .. } => Expected::Wrong,
            Verdict::NotRunnable { .. } => Expected::Undecided,
        };
        if found != *expected {
            failed.push(format!("{gold}\n  {answer:?}\n  {verdict:?} instead of {expected:?}"));
        }
    }
    assert!(failed.is_empty(), "{} rows failed:\n{}", failed.len(), failed.join("\n"));
}
