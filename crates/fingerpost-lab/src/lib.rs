//! Every experiment of the paper behind Fingerpost, as a command.
//!
//! ```text
//! experiments/*.toml ──► Lab ──► kind ──► Outcome ──► JSON, CSV, Markdown, SVG, runs ──► report, verify
//! ```
//!
//! An [`experiment::Experiment`] is a small file: question, data, what is varied, what is measured, and what
//! is expected. A [`lab::Lab`] opens the judged libraries ([`judged`]) and keeps every run. [`kind`] has one file
//! for each way to answer a question. What comes out is an [`outcome::Outcome`], written by [`files`] with
//! command, commit, machine and date.

pub mod asking;
pub mod contention;
pub mod doc2query;
mod escape;
pub mod experiment;
pub mod files;
pub mod interval;
pub mod judge;
pub mod judged;
pub mod kind;
pub mod lab;
pub mod markdown;
pub mod outcome;
pub mod plot;
pub mod record;
pub mod report;
pub mod retriever;
pub mod sandbox;
pub mod solve;
pub mod verify;
