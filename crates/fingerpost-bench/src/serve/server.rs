//! The servers that are measured: ours, and those of others.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::client::{Connection, request};

/// A server that runs.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    /// What lets us edit, of our own.
    pub(super) token: String,
}

/// How long an index may take.
const PATIENCE: Duration = Duration::from_secs(900);

impl Server {
    /// Ours, over a library that is compiled.
    pub(super) fn ours(program: &Path, library: &Path, atlas: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--quiet", "--port", "0", "--print-token", "--library"]);
        command.arg(library).arg("--atlas").arg(atlas);
        let (child, line) = begin(&mut command)?;
        let (address, token) = line.split_once("/#token=").context("it did not say where it is")?;
        let address = address.trim_start_matches("http://").parse()?;
        Ok(Self { child, address, token: token.to_owned() })
    }

    /// One in Python, with this engine and so many processes.
    pub(super) fn python(
        python: &Path,
        engine: &str,
        library: &Path,
        workers: usize,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(python);
        command.arg("tools/bench/serve_peer.py").arg("--library").arg(library);
        command.args(["--engine", engine, "--workers", &workers.to_string()]);
        let (child, line) = begin(&mut command)?;
        let port: u16 = line.parse().context("it did not say its port")?;
        Ok(Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)), token: String::new() })
    }

    /// Waits until every process of it answers this.
    pub(super) async fn until_ready(&mut self, path: &str) -> anyhow::Result<()> {
        let (asked, begun) = (request("GET", path, ""), Instant::now());
        let mut good = 0;
        // A server of several processes answers with whichever comes first: a dozen good answers over new
        // connections are taken for all of them.
        while good < 12 {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}");
            }
            ensure!(begun.elapsed() < PATIENCE, "the server never became ready");
            match Connection::to(self.address).ask(&asked).await {
                Ok(200) => good += 1,
                _ => {
                    good = 0;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        }
        Ok(())
    }

    /// Memory that it holds, its processes together, in megabytes.
    pub(super) fn resident(&self) -> f64 {
        let own = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
        let children = children.unwrap_or_default();
        let all = children.split_whitespace().filter_map(|id| id.parse().ok()).chain([own]);
        all.map(resident_of).sum::<f64>() / 1e3
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked politely first: Python's own processes end with it.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In kilobytes.
fn resident_of(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0.0)
}

/// Starts a server, and reads its first line.
fn begin(command: &mut Command) -> anyhow::Result<(Child, String)> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut line = String::new();
    let out = child.stdout.as_mut().context("its output is a pipe")?;
    BufReader::new(out).read_line(&mut line)?;
    Ok((child, line.trim().to_owned()))
}
