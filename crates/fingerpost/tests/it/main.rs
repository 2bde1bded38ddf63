//! Integration tests: one binary, one module a subject.

mod atlas;
mod data;
mod examples;
mod exclusions;
mod library;
mod measures;
mod parity;
