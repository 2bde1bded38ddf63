//! Integration tests: one binary, one module a subject.

mod chat;
mod chat_server;
mod data;
mod http;
mod parity;
mod pull;
mod real_server;
mod server;
