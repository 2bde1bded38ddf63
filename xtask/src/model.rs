//! A real model on this machine: fetching it, serving it, and recording what it writes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::run;

/// llama.cpp's own server, in a wheel.
const SERVER: &str = "xllamacpp==2026.10.11549";

/// The model that the tests speak to: small enough to be fetched and run everywhere.
pub(crate) const SMALLEST: &str = "smollm2-135m";

/// Loading a gigabyte from a slow disk takes a while.
const PATIENCE: Duration = Duration::from_secs(180);

/// Makes the environment and fetches a model; returns the environment's Python and the file.
pub(crate) fn fetch(name: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let environment = Path::new("target/model-venv");
    let python = environment.join("bin/python");
    let python_name = python.display().to_string();
    if !python.exists() {
        run("python3", &["-m", "venv", &environment.display().to_string()])?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", SERVER];
    run(&python_name, &install)?;
    run(&python_name, &["tools/model-server.py", "fetch", name, "target/models"])?;
    Ok((python, Path::new("target/models").join(format!("{name}.gguf"))))
}

/// Has the model write the pages of the example library, and keeps what it answered for tests and
/// for the demo. Takes up to an hour; a second run goes on where the first one stopped.
pub(crate) fn pages(name: &str) -> anyhow::Result<()> {
    let (python, model) = fetch(name)?;
    let server = Server::start(&python, &model)?;
    run("cargo", &["build", "--release", "--locked", "--package", "fingerpost-cli"])?;
    let atlas = format!("target/pages-{name}");
    let common = ["--atlas", &atlas];
    let mut compile = vec!["compile", "examples/library", "--writer", "llm", "--model", name];
    compile.extend(["--base-url", &server.url, "--concurrency", "1", "--timeout", "900"]);
    compile.extend(SETTINGS);
    compile.extend(common);
    run("target/release/fingerpost", &compile)?;
    let replies = format!("examples/replies/{name}.jsonl");
    std::fs::create_dir_all("examples/replies")?;
    let export = [&["ledger", "--model", name, "--export", &replies][..], &common].concat();
    run("target/release/fingerpost", &export)
}

/// What small models can bear, and the words that the recorded answers belong to. The replay test uses the
/// same.
const SETTINGS: [&str; 8] = [
    "--context",
    "5000",
    "--page-tokens",
    "800",
    "--attempts",
    "2",
    "--prompts",
    "examples/replies/prompts",
];

/// A server, until dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(python: &Path, model: &Path) -> anyhow::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new(python)
            .args(["tools/model-server.py", "serve"])
            .arg(model)
            .arg(port.to_string())
            // With spinning barriers a loaded machine falls from 38 to 2 tokens a second.
            .env("OMP_WAIT_POLICY", "passive")
            .env("GOMP_SPINCOUNT", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the model server")?;
        let mut server = Self { child, url: format!("http://127.0.0.1:{port}/v1") };
        let deadline = Instant::now() + PATIENCE;
        while !is_healthy(port) {
            if let Some(status) = server.child.try_wait()? {
                bail!("the model server ended with {status}");
            }
            if Instant::now() > deadline {
                bail!("the model server is not ready after {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_healthy(port: u16) -> bool {
    let answer = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    answer().is_ok_and(|answer| answer.lines().next().is_some_and(|line| line.contains(" 200")))
}
