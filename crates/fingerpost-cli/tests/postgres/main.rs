//! The command with an atlas in PostgreSQL: a real server, and a machine for each home folder.

#[path = "../../../fingerpost-models/tests/it/chat_server.rs"]
mod chat_server;
#[path = "../folder/mod.rs"]
mod folder;
#[path = "../../../fingerpost-postgres/tests/it/real.rs"]
#[allow(dead_code, reason = "the tests of the store use more of it")]
mod real;
#[path = "../serve/server.rs"]
#[allow(dead_code, reason = "the tests of the server use more of it")]
mod server;

mod answers;
mod compiles;
mod machine;
mod outages;
mod serving;
mod workers;
