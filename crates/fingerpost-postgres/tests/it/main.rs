//! Tests with a real PostgreSQL: one binary, one module a subject.

mod away;
mod migrations;
mod news;
mod real;
mod store;
mod tls;
