//! How is a PostgreSQL server of our own started, stopped and taken away again?
//!
//! Also part of tests, which start private servers: nothing but the standard library is used here. The
//! server listens on loopback alone, on a port that was free, and everything it writes is in one folder
//! below the system's temporary one. PostgreSQL refuses to run as root, so root runs it as somebody else.

use std::fs;
use std::io::{self, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `cargo xtask postgres` puts the programs, below the project.
pub(crate) const INSTALLED: &str = "target/postgres/server";

/// The programs, below that: as in their package, where PostgreSQL 18 is one of several.
pub(crate) const PROGRAMS: &str = "package/pginstall18/bin";

/// How often another port is tried: somebody may take the one that was free a moment ago.
const TRIES: usize = 5;

/// A server with a folder of its own, which may be running.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    port: u16,
    password: String,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Clients are sent away, and everything is written.
    Fast,
    /// As if the machine had failed.
    #[allow(dead_code, reason = "the chore stops politely; tests do not")]
    Immediate,
}

impl Server {
    /// Makes a server and starts it; from what was installed there.
    pub(crate) fn start(programs: &Path) -> io::Result<Self> {
        sweep();
        let folder = fresh_folder()?;
        fs::write(folder.join(OWNER), std::process::id().to_string())?;
        let server = Self { folder: folder.clone(), port: 0, password: random(16)? };
        server.make(programs).inspect_err(|_| drop(fs::remove_dir_all(&folder)))
    }

    /// From here on the server is another's to take away, not ours.
    pub(crate) fn leave(&self) -> io::Result<()> {
        fs::remove_file(self.folder.join(OWNER))
    }

    /// A server that another process started, by its folder.
    pub(crate) fn found(folder: &Path) -> io::Result<Self> {
        let read = |name: &str| fs::read_to_string(folder.join(name));
        let port = read("port")?.trim().parse().map_err(io::Error::other)?;
        Ok(Self { folder: folder.to_path_buf(), port, password: read("password")? })
    }

    fn make(mut self, programs: &Path) -> io::Result<Self> {
        // The target folder may be where only root may read.
        copy(programs, &self.folder.join("server"))?;
        fs::write(self.folder.join("password"), &self.password)?;
        if let Some((uid, gid)) = somebody_else()? {
            own(&self.folder, uid, gid)?;
        }
        let data = self.data();
        let password = self.folder.join("password").display().to_string();
        let initdb = [
            "--pgdata",
            &data,
            "--username",
            "fingerpost",
            "--pwfile",
            &password,
            "--auth",
            "scram-sha-256",
            "--encoding",
            "UTF8",
            "--no-locale",
            "--no-sync",
        ];
        self.run("initdb", &initdb)?;
        self.begin_anywhere()?;
        Ok(self)
    }

    /// Starts it on a port that is free.
    fn begin_anywhere(&mut self) -> io::Result<()> {
        let mut last = io::Error::other("no port was tried");
        for _ in 0..TRIES {
            self.port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            fs::write(self.folder.join("port"), self.port.to_string())?;
            match self.begin() {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// A server that follows this one, and takes reads.
    #[allow(dead_code, reason = "the chore starts one server alone")]
    pub(crate) fn replica(&self) -> io::Result<Self> {
        let folder = fresh_folder()?;
        fs::write(folder.join(OWNER), std::process::id().to_string())?;
        copy(&self.folder.join("server"), &folder.join("server"))?;
        fs::write(folder.join("password"), &self.password)?;
        if let Some((uid, gid)) = somebody_else()? {
            own(&folder, uid, gid)?;
        }
        let mut replica = Self { folder, port: 0, password: self.password.clone() };
        let (data, source) = (replica.data(), self.url());
        let copied = [
            "--pgdata",
            &data,
            "--dbname",
            &source,
            "--write-recovery-conf",
            "--checkpoint",
            "fast",
            "--no-sync",
        ];
        let begun = replica.run("pg_basebackup", &copied).and_then(|()| replica.begin_anywhere());
        begun.inspect_err(|_| replica.remove())?;
        Ok(replica)
    }

    /// Starts it, on the port it has; after a stop, too.
    pub(crate) fn begin(&self) -> io::Result<()> {
        // Only the machine's own end could lose what is not forced to the disk, and then all of it goes.
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c max_connections=200",
            self.port
        );
        let log = self.folder.join("log").display().to_string();
        let data = self.data();
        let start =
            ["start", "--wait", "--silent", "-t", "60", "-D", &data, "-l", &log, "-o", &options];
        self.run("pg_ctl", &start)
    }

    /// Stops it.
    pub(crate) fn stop(&self, how: Stop) -> io::Result<()> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        self.run("pg_ctl", &["stop", "--wait", "--silent", "-D", &self.data(), "-m", mode])
    }

    /// Where it can be reached, with the password.
    pub(crate) fn url(&self) -> String {
        let Self { port, password, .. } = self;
        format!("postgres://fingerpost:{password}@127.0.0.1:{port}/postgres")
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops it, and takes its folder away.
    pub(crate) fn remove(&self) {
        let _ = self.stop(Stop::Fast);
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) -> io::Result<()> {
        let path = self.folder.join("server").join(PROGRAMS).join(program);
        let said = self.folder.join("said");
        let mut command = Command::new(&path);
        command.args(arguments).current_dir(&self.folder).env_clear().env("LC_ALL", "C");
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        // A file, not a pipe: the server would keep the pipe open for as long as it lives.
        let file = fs::File::create(&said)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        #[cfg(unix)]
        if let Some((uid, gid)) = somebody_else()? {
            use std::os::unix::process::CommandExt;
            command.uid(uid).gid(gid);
        }
        let status = command.status()?;
        if status.success() {
            return Ok(());
        }
        let said = fs::read_to_string(&said).unwrap_or_default();
        Err(io::Error::other(format!("{program} failed: {}", said.trim())))
    }
}

/// Who we are, by a file that we make.
#[cfg(unix)]
fn ourselves() -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt;
    let name = format!("fingerpost-whoami-{}", random(8)?);
    let probe = std::env::temp_dir().join(name);
    let file = fs::File::options().create_new(true).write(true).open(&probe)?;
    let _ = fs::remove_file(&probe);
    Ok(file.metadata()?.uid())
}

/// Whom to run it as: somebody without rights where we are root, else ourselves.
#[cfg(unix)]
fn somebody_else() -> io::Result<Option<(u32, u32)>> {
    if ourselves()? != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    for name in ["postgres", "nobody"] {
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let mut found = fields.filter(|fields| fields.len() > 3 && fields[0] == name);
        let ids = found.next().and_then(|f| Some((f[2].parse().ok()?, f[3].parse().ok()?)));
        if ids.is_some() {
            return Ok(ids);
        }
    }
    Err(io::Error::other(
        "PostgreSQL does not run as root, and there is no user postgres or nobody",
    ))
}

#[cfg(not(unix))]
fn somebody_else() -> io::Result<Option<(u32, u32)>> {
    Ok(None)
}

#[cfg(unix)]
fn own(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(path, Some(uid), Some(gid))?;
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path)? {
            own(&entry?.path(), uid, gid)?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn own(_: &Path, _: u32, _: u32) -> io::Result<()> {
    Ok(())
}

/// How the names of servers' folders begin.
const PREFIX: &str = "fingerpost-postgres-";

/// Whose server it is: the number of the process that takes it away in the end.
const OWNER: &str = "owner";

/// Takes away servers whose owners were killed. Where the system does not tell who lives, they stay.
#[cfg(not(unix))]
fn sweep() {}

/// Takes away servers whose owners were killed. Where the system does not tell who lives, they stay.
#[cfg(unix)]
fn sweep() {
    use std::os::unix::fs::MetadataExt;
    // Others can make folders there too: what is in theirs is not run.
    let runs_as =
        somebody_else().and_then(|other| other.map_or_else(ourselves, |(uid, _)| Ok(uid)));
    let Some(runs_as) = runs_as.ok().filter(|_| Path::new("/proc/self").exists()) else { return };
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let folder = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        if !fs::symlink_metadata(&folder).is_ok_and(|is| is.is_dir() && is.uid() == runs_as) {
            continue;
        }
        let Ok(owner) = fs::read_to_string(folder.join(OWNER)) else { continue };
        let lives = owner.parse::<u32>().is_ok_and(|id| Path::new(&format!("/proc/{id}")).exists());
        if !lives && let Ok(server) = Server::found(&folder) {
            server.remove();
        }
    }
}

/// A folder that nobody else may look into.
fn fresh_folder() -> io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("{PREFIX}{}", random(8)?));
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder)?;
    Ok(folder)
}

fn random(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    #[cfg(unix)]
    fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    #[cfg(not(unix))]
    return Err(io::Error::other("a server for tests is started on Unix only"));
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Copies what a server needs to run.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        match entry.metadata()?.is_dir() {
            // Headers are for those who build with it.
            true if name == "include" => {}
            true => copy(&entry, &to.join(name))?,
            false => drop(fs::copy(&entry, to.join(name))?),
        }
    }
    Ok(())
}
