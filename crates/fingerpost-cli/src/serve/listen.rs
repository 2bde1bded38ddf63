//! How do requests come in, and how does the server end?

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Connections at a time; more wait to be accepted.
const CONNECTIONS: usize = 512;

/// How long the head of a request may take, and how long a connection may stay silent.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// Bytes of a request's head.
const LONGEST_HEAD: usize = 256 * 1024;

/// How long requests under way are waited for at the end.
const GRACE: Duration = Duration::from_secs(10);

/// Answers until the server is to end, then until what is under way is answered.
pub(super) async fn listen(
    listener: TcpListener,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let under_way = GracefulShutdown::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, say: it passes.
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Answers are written whole; waiting for more to send with them would only delay them.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(LONGEST_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let connection = under_way.watch(connection);
        tokio::spawn(async move {
            // A client that goes away is no news.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(GRACE, under_way.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered within {} s", GRACE.as_secs());
    }
}
