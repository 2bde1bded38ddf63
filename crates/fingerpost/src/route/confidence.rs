//! How sure is an answer?
//!
//! A skill is as sure as it is ahead of the second, and as the signs say that any skill fits; who names
//! a skill leaves no doubt. None is as sure as the signs say that none fits. Both are shares: of answers that
//! are nine tenths sure, nine of ten are right, on libraries that nothing was fitted to (docs/lab/none.md).

use super::none::Signs;
use super::{Evidence, local};
use crate::numbers::confidence::{NONE, NONE_ENCODED, USE, USE_ENCODED};

/// That the first candidate is right.
pub(super) fn of_use(evidence: &[Evidence], signs: &Signs) -> f64 {
    if evidence.first().is_some_and(|first| first.named) {
        return 1.0;
    }
    let [alone, per_lead, per_sign] = if signs.encoder.is_some() { USE_ENCODED } else { USE };
    share(alone + per_lead * local::lead(evidence) + per_sign * signs.balance())
}

/// That none is.
pub(super) fn of_none(signs: &Signs) -> f64 {
    let [alone, per_sign] = if signs.encoder.is_some() { NONE_ENCODED } else { NONE };
    share(alone + per_sign * signs.balance())
}

fn share(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}
