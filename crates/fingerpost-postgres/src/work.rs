//! How do many machines write the pages of one library?
//!
//! ```text
//! put up ──► units ──► taken with a lease ──► begin: limits, a ledger row ──► the model ──► end ──► done
//!                          └── signs of life while it is held
//! ```
//!
//! Whoever compiles puts the work up; any worker takes a unit of it that nobody holds. Before a request is sent
//! its most is set aside and its row is in the ledger; its end, the pages that came of it and the end of the
//! lease are one transaction. A worker that dies, or is away for longer than its lease, loses its units to
//! others: these take from the ledger what was answered, so that only calls under way are made again. What it
//! brings late is booked and used by nobody.

mod desk;
mod hand;
mod lease;
mod status;
mod tables;
mod units;

use std::time::Duration;

pub use self::hand::{Done, Hand, News, WorkError, cards};
pub use self::lease::Lease;
pub use self::status::{CallStatus, UnitStatus, WorkStatus, WorkerStatus};
use fingerpost::page::write::Again;

/// For how long a unit is a worker's that gives no sign of life.
pub const LEASE: Duration = Duration::from_secs(30);

/// What all workers together may take.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// US dollars; calls without a known end count at their most.
    pub max_cost: Option<f64>,
    /// Requests, those included that come to nothing.
    pub max_requests: Option<u64>,
    /// Requests a minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens a minute, read and written.
    pub tokens_per_minute: Option<u32>,
}

/// What is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The model with its settings.
    pub writer: String,
    /// Which pages are written again.
    pub again: Again,
    /// What that may take.
    pub limits: Limits,
}

/// An order that is put up.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Its number in the atlas.
    pub number: i64,
    /// What is to be written.
    pub order: Order,
}

/// A unit as it is put up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// By which any machine finds what it is.
    pub key: String,
    /// The first skill whose page is wanted.
    pub skill: String,
    /// How many are wanted.
    pub pages: usize,
}

/// What came of asking for a unit.
#[derive(Debug)]
pub enum Taken {
    /// It is ours now.
    Unit(Lease),
    /// None is free; so many are held by others.
    None(usize),
    /// The work is closed.
    Closed,
}

fn again_name(again: Again) -> &'static str {
    match again {
        Again::Nothing => "nothing",
        Again::Flagged => "flagged",
        Again::All => "all",
    }
}

fn again_of(name: &str) -> Again {
    match name {
        "flagged" => Again::Flagged,
        "all" => Again::All,
        _ => Again::Nothing,
    }
}
