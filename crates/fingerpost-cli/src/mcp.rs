//! `fingerpost mcp`: the library as an MCP server, on standard input and output.

mod asking;
mod folder;
mod load;
mod news;
mod prompts;
mod resources;
mod server;
mod skills;
mod tools;
mod uri;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;

pub(crate) use self::server::Server;
use crate::args::{Global, LibraryArgs};
use crate::live::Live;
use crate::output::Exit;
use crate::watch::wake_on_change;

/// Which library to serve.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    library: LibraryArgs,
}

/// A client that stays longer is told of changes at once.
const SETTLED: Duration = Duration::from_secs(3);

/// Serves until the client closes our standard input. Standard output has nothing but messages of the
/// protocol on it; whatever else is said goes to standard error.
pub(crate) fn run(args: &McpArgs, global: &Global) -> anyhow::Result<Exit> {
    let live = Live::open(&args.library, global)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the server")?;
    let served = runtime.block_on(async {
        // Later, so that who starts us for one answer does not pay for it.
        let watched = Arc::clone(&live);
        tokio::spawn(async move {
            tokio::time::sleep(SETTLED).await;
            wake_on_change(watched).await;
        });
        let serving = match Server::new(live).serve(stdio_pipes()).await {
            Ok(serving) => serving,
            // A client that leaves before it has said anything has not failed.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(Exit::Done),
            Err(error) => return Err(error).context("the client did not begin as MCP does"),
        };
        serving.waiting().await.context("the server stopped")?;
        Ok(Exit::Done)
    });
    // Work that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    served
}
