//! What do `doctor` and `ledger` answer?

use schemars::JsonSchema;
use serde::Serialize;

use crate::atlas::Spend;
use crate::diagnostic::Diagnostic;

/// `doctor`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DoctorAnswer {
    /// Skills that were loaded.
    pub skills: usize,
    /// Skills that are kept for explicit use.
    pub withheld: Vec<String>,
    /// Where they were loaded from.
    pub roots: Vec<String>,
    /// What is wrong with them.
    pub findings: Vec<Diagnostic>,
}

/// `ledger`.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct LedgerAnswer {
    /// Calls that were answered.
    pub calls: u64,
    /// What they cost, as far as their prices are known.
    pub cost_usd: f64,
    /// By day, model and purpose.
    pub spend: Vec<Spend>,
}

impl LedgerAnswer {
    /// The sum of what was spent.
    pub fn new(spend: Vec<Spend>) -> Self {
        // The sum of nothing is -0.
        let cost_usd = spend.iter().map(|row| row.cost_usd).fold(0.0, std::ops::Add::add);
        Self { calls: spend.iter().map(|row| row.calls).sum(), cost_usd, spend }
    }
}
