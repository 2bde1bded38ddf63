//! What happens before the first request, and what makes the server end?

use std::fs;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::Context;
use tokio::sync::mpsc;
use tracing_subscriber::EnvFilter;

use super::guard::Token;
use crate::args::Global;

/// Begins the log, on standard error: lines for people, or JSON. RUST_LOG says how much.
pub(super) fn log(global: &Global) {
    let usual = if global.quiet { "warn" } else { "info" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(usual));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // It fails only where a log has begun already.
    let _ = match global.json {
        true => log.json().flatten_event(true).with_target(false).try_init(),
        false => log.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
    };
}

/// Hears of every request to end: Ctrl-C, or the system's.
pub(super) fn signals() -> anyhow::Result<Interrupted> {
    let (send, asked) = mpsc::channel(2);
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let mut signals = signal(kind).context("cannot listen for signals")?;
            let send = send.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() && send.send(()).await.is_ok() {}
            });
        }
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && send.send(()).await.is_ok() {}
    });
    Ok(Interrupted(asked))
}

/// Requests to end.
pub(super) struct Interrupted(mpsc::Receiver<()>);

impl Interrupted {
    pub(super) async fn recv(&mut self) {
        if self.0.recv().await.is_none() {
            // Nobody can ask any more.
            std::future::pending::<()>().await;
        }
    }
}

/// How whoever started the server is shown where it is.
pub(super) struct Show {
    /// In a browser.
    pub(super) open: bool,
    /// With the token, whoever reads it.
    pub(super) print_token: bool,
}

/// What is shown.
pub(super) struct Told {
    /// The only line on standard output.
    pub(super) line: String,
    /// A page that leads to ours, deleted when this is dropped.
    _leads: Option<tempfile::TempPath>,
}

impl Show {
    /// The address, with the token where only a person at a terminal sees it: a fresh one is of no use to
    /// anybody else, and one that was named is known already.
    pub(super) fn tell(&self, address: SocketAddr, token: &Token) -> anyhow::Result<Told> {
        let plain = format!("http://{address}/");
        let with_token = format!("{plain}#token={}", token.reveal());
        let is_seen = std::io::stdout().is_terminal() && token.is_fresh;
        let reveals = self.print_token || self.open || is_seen;
        let leads = match self.open {
            true => leads_to(&with_token)
                .inspect_err(|error| tracing::warn!("no browser could be opened: {error:#}"))
                .ok(),
            false => None,
        };
        Ok(Told { line: if reveals { with_token } else { plain }, _leads: leads })
    }
}

/// Opens a page that leads to an address. Arguments of a program can be read by all users of a machine, a
/// file of ours only by us.
fn leads_to(address: &str) -> anyhow::Result<tempfile::TempPath> {
    let mut file = tempfile::Builder::new()
        .prefix("fingerpost-")
        .suffix(".html")
        .tempfile()
        .context("cannot write a file for the browser")?;
    writeln!(
        file,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={address}\"><a href=\"{address}\">Fingerpost</a>"
    )?;
    let file = file.into_temp_path();
    let path = fs::canonicalize(&file)?;
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    Command::new(program)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    Ok(file)
}
