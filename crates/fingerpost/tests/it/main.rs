//! Integration tests: one binary, one module a subject.

mod atlas;
mod compile;
mod data;
mod examples;
mod exclusions;
mod judged;
mod ledger;
mod library;
mod measures;
mod neighborhoods;
mod none;
mod pages;
mod parity;
mod protocol;
mod rivals;
mod store;
mod stuffed;
