//! The server as its users meet it: the real command, real sockets, a real library.

#[path = "../../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
#[path = "../folder/mod.rs"]
mod folder;

mod agents;
mod edits;
mod ends;
mod guards;
mod jobs;
mod reads;
mod server;
mod swaps;

/// Families of the example library that make a small one.
const FAMILIES: [&str; 2] = ["qt-correction", "loans"];
