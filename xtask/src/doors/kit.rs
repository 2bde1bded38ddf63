//! What the clients of others need: our program, Python and Node with their packages, and a server.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::run;

/// Opening a library on a busy machine takes a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a step cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Python with the packages of tests/doors/requirements.txt.
    Python,
    /// Node with those of tests/doors/package.json.
    Node,
}

/// Why something is not there.
#[derive(Debug)]
pub(super) enum Missing {
    /// The registry does not answer.
    Unreachable(String),
    /// It does, and yet.
    Broken(anyhow::Error),
}

/// Everything, installed when it is first asked for.
pub(super) struct Kit {
    pub(super) root: PathBuf,
    /// target/doors.
    pub(super) folder: PathBuf,
    /// The `fingerpost` that was just built.
    pub(super) program: PathBuf,
    python: OnceLock<Result<(), String>>,
    node: OnceLock<Result<(), String>>,
}

impl Kit {
    pub(super) fn make() -> anyhow::Result<Self> {
        let root = crate::root();
        let folder = root.join("target/doors");
        fs::create_dir_all(&folder)?;
        run("cargo", &["build", "--locked", "--package", "fingerpost-cli"])?;
        let program = root.join("target/debug/fingerpost");
        Ok(Self { root, folder, program, python: OnceLock::new(), node: OnceLock::new() })
    }

    /// Installs what a step needs, once.
    pub(super) fn have(&self, need: Need) -> Result<(), Missing> {
        let (installed, install, registry): (_, fn(&Self) -> anyhow::Result<()>, _) = match need {
            Need::Python => (&self.python, Self::install_python, "of Python's packages"),
            Need::Node => (&self.node, Self::install_node, "of Node's packages"),
        };
        let unreachable = |why: &String| {
            Missing::Unreachable(format!("the registry {registry} does not answer: {why}"))
        };
        if let Some(known) = installed.get() {
            return known.as_ref().copied().map_err(unreachable);
        }
        let done = match install(self) {
            Ok(()) => Ok(()),
            // Only silence is an excuse.
            Err(error) if !self.answers(need) => Err(format!("{error:#}")),
            Err(error) => return Err(Missing::Broken(error)),
        };
        installed.get_or_init(|| done).as_ref().copied().map_err(unreachable)
    }

    /// Does the registry answer a question that it always has an answer to?
    fn answers(&self, need: Need) -> bool {
        let mut command = match need {
            Need::Python => {
                let mut command = Command::new(self.folder.join("python/bin/python"));
                command.args([
                    "-m",
                    "pip",
                    "index",
                    "versions",
                    "pip",
                    "--disable-pip-version-check",
                ]);
                command
            }
            Need::Node => {
                let mut command = Command::new("npm");
                command.args(["view", "npm", "version"]);
                command
            }
        };
        command.stderr(Stdio::null()).output().is_ok_and(|output| output.status.success())
    }

    fn install_python(&self) -> anyhow::Result<()> {
        let environment = self.folder.join("python");
        let python = environment.join("bin/python").display().to_string();
        if !Path::new(&python).exists() {
            run("python3", &["-m", "venv", &environment.display().to_string()])?;
        }
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(&python, &[&quiet[..], &["--requirement", "tests/doors/requirements.txt"]].concat())
    }

    fn install_node(&self) -> anyhow::Result<()> {
        let folder = self.folder.join("node");
        fs::create_dir_all(&folder)?;
        let mut same = folder.join("node_modules").is_dir();
        for file in ["package.json", "package-lock.json"] {
            let wanted = fs::read(self.root.join("tests/doors").join(file))?;
            same &= fs::read(folder.join(file)).is_ok_and(|there| there == wanted);
            fs::write(folder.join(file), wanted)?;
        }
        if same {
            return Ok(());
        }
        let folder = folder.display().to_string();
        let install = ["ci", "--silent", "--no-audit", "--no-fund", "--prefix", &folder];
        let done = run("npm", &install);
        if done.is_err() {
            // Half of it must not pass for all of it next time.
            let _ = fs::remove_dir_all(Path::new(&folder).join("node_modules"));
        }
        done
    }

    /// Python with its packages.
    pub(super) fn python(&self) -> anyhow::Result<PathBuf> {
        let python = self.folder.join("python/bin/python");
        if python.exists() { Ok(python) } else { bail!("{} is not there", python.display()) }
    }

    /// Node in the folder of its packages: a version that all of these run on, whatever the machine has.
    pub(super) fn node(&self) -> anyhow::Result<Command> {
        let folder = self.folder.join("node");
        let node = folder.join("node_modules/.bin/node");
        if !node.exists() {
            bail!("{} is not there", node.display());
        }
        let mut command = Command::new(node);
        command.current_dir(folder);
        Ok(command)
    }

    /// Serves a library over HTTP until dropped.
    pub(super) fn serve(&self, library: &str) -> anyhow::Result<Serving> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let atlas = atlas_of(&self.folder, library)?;
        let mut command = Command::new(&self.program);
        command.args(["serve", "--quiet", "--port", &port.to_string(), "--atlas"]).arg(&atlas);
        command.arg(self.root.join(library)).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().context("cannot start `fingerpost serve`")?;
        let mut serving = Serving { child, port };
        let until = Instant::now() + PATIENCE;
        while !is_ready(port) {
            if let Some(status) = serving.child.try_wait()? {
                bail!("`fingerpost serve` ended with {status}");
            }
            if Instant::now() > until {
                bail!("`fingerpost serve` is not ready after {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(serving)
    }
}

/// A folder for the atlas of a library.
fn atlas_of(folder: &Path, library: &str) -> anyhow::Result<PathBuf> {
    let atlas = folder.join("atlases").join(library.replace('/', "-"));
    fs::create_dir_all(&atlas)?;
    Ok(atlas)
}

/// A server, until dropped.
pub(super) struct Serving {
    child: Child,
    port: u16,
}

impl Serving {
    /// Where it speaks MCP.
    pub(super) fn mcp(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is the library there, too?
fn is_ready(port: u16) -> bool {
    let answer = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(
            format!("GET /readyz HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes(),
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    answer().is_ok_and(|answer| answer.lines().next().is_some_and(|line| line.contains(" 200")))
}
