//! Integration tests: one binary, one module a subject.

mod data;
mod http;
mod parity;
mod pull;
mod server;
