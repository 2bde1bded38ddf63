//! How do agents ask over HTTP? (the Model Context Protocol)

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::app::App;
use crate::mcp::Server;

/// Where they ask.
pub(super) const PATH: &str = "/mcp";

/// The same server as on standard input, one for each client. Who may ask is decided before it is asked,
/// as for every other address.
pub(super) fn service(app: &Arc<App>) -> StreamableHttpService<Server, LocalSessionManager> {
    let server = Server::new(Arc::clone(&app.live));
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(app.max_body);
    let (ended, mut stopping) = (config.cancellation_token.clone(), app.stopping.clone());
    tokio::spawn(async move {
        let _ = stopping.wait_for(|stopping| *stopping).await;
        // Clients that listen would hold up the end.
        ended.cancel();
    });
    StreamableHttpService::new(move || Ok(server.for_client()), Arc::default(), config)
}
