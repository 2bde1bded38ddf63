//! Integration tests: one binary, one module a subject.

mod campaign;
mod chat;
mod chat_server;
mod chat_trouble;
mod data;
mod http;
mod parity;
mod pull;
mod real_server;
mod server;
