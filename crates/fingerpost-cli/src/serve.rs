//! `fingerpost serve`: the library over HTTP, with a page to look at it.

mod agents;
mod app;
mod assets;
mod desk;
mod edit;
mod endpoint;
mod events;
mod find;
mod gate;
mod guard;
mod jobs;
mod library;
mod listen;
mod metrics;
mod openapi;
mod plain;
mod problem;
mod routes;
mod shelf;
mod skills;
mod start;
mod work;
mod workers;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use self::app::App;
use self::desk::Desk;
use self::guard::{Guard, Token};
use self::start::Show;
use crate::args::{FirstLibraryArgs, Global};
use crate::live::Live;
use crate::llm::ModelArgs;
use crate::output::Exit;

/// Serve a library.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    library: FirstLibraryArgs,
    /// The address to listen on; where others than this machine can reach it, everything needs the token.
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The port; 0 for any that is free.
    #[arg(long, default_value_t = 7878)]
    port: u16,
    /// A file with the token that requests must carry: all of them off this machine, those that edit, compile
    /// or spend on it [default: the variable FINGERPOST_TOKEN, else a fresh one].
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Another name that requests may be sent to, that of a proxy, say; may be given several times.
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// Open the page in a browser, with the token.
    #[arg(long)]
    open: bool,
    /// Print the token in the address, also where nobody looks at a terminal.
    #[arg(long)]
    print_token: bool,
    /// Log what requests say, too.
    #[arg(long)]
    log_requests: bool,
    /// Requests at a time; more are told to come back.
    #[arg(long, value_name = "N", default_value = "256")]
    max_requests: NonZeroUsize,
    /// Bytes that may be sent with a request.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    max_body: usize,
    /// Seconds that an answer may take.
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    answer_within: NonZeroUsize,
    #[command(flatten)]
    model: ModelArgs,
}

/// How long an edit may take: the library is compiled for it.
const EDIT_WITHIN: Duration = Duration::from_secs(600);

/// Listeners to events at a time.
const LISTENERS: usize = 64;

pub(crate) fn run(args: &ServeArgs, global: &Global) -> anyhow::Result<Exit> {
    start::log(global);
    let token = Token::open(args.token_file.as_deref(), args.host.is_loopback())?;
    let address = SocketAddr::new(args.host, args.port);
    let listener = std::net::TcpListener::bind(address)
        .with_context(|| format!("cannot listen on {address}; --port 0 takes a free port"))?;
    listener.set_nonblocking(true).context("cannot listen without waiting")?;
    let live = Live::open(&args.library.library(), global)?;
    let processors = rayon::current_num_threads();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(processors.min(4))
        .enable_all()
        .build()
        .context("cannot start the server's threads")?;
    let (stop, stopping) = watch::channel(false);
    let app = Arc::new(App {
        live,
        guard: Guard::new(token, &args.allowed_host, args.host),
        requests: Semaphore::new(args.max_requests.get()),
        desk: Arc::new(Desk::new(processors, Duration::from_secs(args.answer_within.get() as u64))),
        edits: Arc::new(Desk::new(1, EDIT_WITHIN)),
        jobs: Default::default(),
        listeners: Arc::new(Semaphore::new(LISTENERS)),
        metrics: Default::default(),
        shelf: Default::default(),
        model: args.model.clone(),
        max_body: args.max_body,
        stopping,
        logs_requests: args.log_requests,
    });
    let show = Show { open: args.open, print_token: args.print_token };
    let served = runtime.block_on(serve(&app, listener, stop, &show));
    // Whatever still reads or compiles of its own accord may be ended anywhere.
    runtime.shutdown_timeout(Duration::from_millis(100));
    served
}

async fn serve(
    app: &Arc<App>,
    listener: std::net::TcpListener,
    stop: watch::Sender<bool>,
    show: &Show,
) -> anyhow::Result<Exit> {
    let listener = TcpListener::from_std(listener).context("cannot listen")?;
    let address = listener.local_addr().context("the listener has no address")?;
    let router = routes::router(app);
    let mut interrupted = start::signals()?;
    let told = show.tell(address, app.guard.token())?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", told.line)?;
    out.flush()?;
    tokio::spawn(count_swaps(Arc::clone(app)));
    let listening = tokio::spawn(listen::listen(listener, router, app.stopping.clone()));
    interrupted.recv().await;
    tracing::info!("stopping: what is under way is finished");
    stop.send_replace(true);
    let job = app.jobs.running();
    if let Some(job) = &job {
        job.stop();
    }
    let ended = async {
        let _ = listening.await;
        if let Some(job) = job {
            let _ = job.watch().wait_for(|job| job.state != jobs::JobState::Running).await;
        }
    };
    tokio::select! {
        () = ended => Ok(Exit::Done),
        () = interrupted.recv() => Ok(Exit::Interrupted),
    }
}

async fn count_swaps(app: Arc<App>) {
    let mut status = app.live.status();
    let mut last = status.borrow_and_update().generation;
    while status.changed().await.is_ok() {
        let now = status.borrow_and_update().generation;
        if now != last {
            last = now;
            app.metrics.swapped();
            tracing::info!(generation = now, "another state answers");
        }
    }
}
