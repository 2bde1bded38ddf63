//! How is a stranger's program run so that it can harm nothing?
//!
//! In namespaces of its own, made by bubblewrap or, where that is missing, by `unshare` of
//! util-linux: no network, no processes but its own, and a file system of a read-only `/usr`, the
//! folders that the job shows, and private, bounded, empty ones to write to. It has no rights, none
//! of our environment and none of our files, and it ends as a whole: when its process 1 ends, the
//! kernel kills the rest. What reaches past namespaces is filtered. Nothing is ever run without a
//! sandbox.
//!
//! Run by root, the program gets a user id that nobody has. Run by an ordinary user, it is that
//! user in a user namespace. There, Linux before 5.14 counts all processes of the user against the
//! limit of the job.

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod watch;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A sandbox that was tried, and works here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    isolation: Isolation,
    /// The program that makes the namespaces.
    maker: PathBuf,
}

/// What makes the namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// The program `bwrap`.
    Bubblewrap,
    /// The program `unshare`, and a script that mounts.
    Unshare,
}

/// A program to run. In its world, `/box` is the folder where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What to run: a path as seen from inside, or a name in `/usr/bin`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment, beside `PATH`, `HOME`, `USER`, `LOGNAME`, `LANG` and `TZ`.
    pub variables: Vec<(String, String)>,
    /// Files to put into its folder, by relative path.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Folders of this machine that it may read, at the same path.
    pub shown: Vec<PathBuf>,
    /// What it reads on its standard input.
    pub stdin: Vec<u8>,
    /// How much it may use.
    pub limits: Limits,
}

/// How much a job may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time on the clock.
    pub wall: Duration,
    /// Time on processors, of all its processes together.
    pub cpu: Duration,
    /// Bytes of address space of each process, and of resident memory of all together.
    pub memory: u64,
    /// Processes and threads at a time.
    pub processes: u64,
    /// Bytes in one file.
    pub file: u64,
    /// Bytes in each of the folders it may write to: its own, `/tmp` and `/dev/shm`.
    pub folder: u64,
    /// Bytes of standard output and standard error together.
    pub output: usize,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Why it ended.
    pub ended: Ended,
    /// Its exit code, if it came to give one.
    pub exit: Option<i32>,
    /// What it wrote to standard output, as far as the limit goes.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, as far as the limit goes.
    pub stderr: Vec<u8>,
}

/// Why a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Exited,
    /// By a signal that we did not send; or it gave the exit code (128 + signal) by which a shell
    /// tells of one.
    Killed {
        /// The signal's number.
        signal: i32,
    },
    /// It ran longer than it may.
    TimedOut,
    /// It used more time on processors than it may.
    CpuLimit,
    /// Its processes together used more memory than they may. One that asks for too much alone is
    /// refused it, and ends as it likes.
    MemoryLimit,
    /// It wrote more than it may.
    OutputLimit,
}

/// Why a job could not be run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Nothing here isolates.
    #[error(
        "there is no sandbox here ({tried}): install bubblewrap (on Debian: apt install bubblewrap), or util-linux on a Linux that allows user namespaces"
    )]
    NoSandbox {
        /// What was tried, and why it did not work.
        tried: String,
    },
    /// The job asks for something that cannot be.
    #[error("the job for the sandbox {what}")]
    BadJob {
        /// What is wrong with it.
        what: String,
    },
    /// The sandbox was not ready when it ended.
    #[error("the sandbox ended before its program began: {message}")]
    NotReady {
        /// What it wrote.
        message: String,
    },
    /// The machine refused something.
    #[error("the sandbox could not {what}")]
    Io {
        /// What we tried to do.
        what: &'static str,
        /// Why it did not work.
        #[source]
        source: io::Error,
    },
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(60),
            cpu: Duration::from_secs(60),
            memory: 2 << 30,
            processes: 64,
            file: 64 << 20,
            folder: 256 << 20,
            output: 1 << 20,
        }
    }
}

impl Job {
    /// A program without arguments or files, with the usual limits.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            variables: Vec::new(),
            files: Vec::new(),
            shown: Vec::new(),
            stdin: Vec::new(),
            limits: Limits::default(),
        }
    }
}

impl Sandbox {
    /// The best sandbox that works here.
    pub fn find() -> Result<Self, SandboxError> {
        let mut tried = Vec::new();
        for isolation in [Isolation::Bubblewrap, Isolation::Unshare] {
            match Self::made_by(isolation) {
                Ok(sandbox) => return Ok(sandbox),
                Err(SandboxError::NoSandbox { tried: why }) => tried.push(why),
                Err(error) => tried.push(format!("{}: {error}", isolation.program())),
            }
        }
        Err(SandboxError::NoSandbox { tried: tried.join("; ") })
    }

    /// The sandbox of one kind, if it works here.
    #[cfg(target_os = "linux")]
    pub fn made_by(isolation: Isolation) -> Result<Self, SandboxError> {
        let program = isolation.program();
        let failed =
            |why: &str| SandboxError::NoSandbox { tried: format!("{program}: {}", why.trim()) };
        let maker = launch::which(program).ok_or_else(|| failed("not found"))?;
        let sandbox = Self { isolation, maker };
        let mut job = Job::new("sh");
        job.args = ["-c", "exit 7"].map(OsString::from).to_vec();
        match sandbox.run(&job) {
            Ok(Finished { exit: Some(7), .. }) => Ok(sandbox),
            Ok(other) => Err(failed(&format!("a trial ended as {:?}", other.ended))),
            Err(SandboxError::NotReady { message }) => Err(failed(&message)),
            Err(error) => Err(error),
        }
    }

    /// The sandbox of one kind, if it works here: it needs Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn made_by(isolation: Isolation) -> Result<Self, SandboxError> {
        Err(SandboxError::NoSandbox { tried: format!("{}: not on Linux", isolation.program()) })
    }

    /// What makes its namespaces.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Runs a job to its end. When this returns, none of its processes is left.
    #[cfg(target_os = "linux")]
    pub fn run(&self, job: &Job) -> Result<Finished, SandboxError> {
        let mut launched = launch::launch(self, job)?;
        let seen = watch::watch(&mut launched.child, &job.stdin, &job.limits)
            .map_err(|source| SandboxError::Io { what: "watch its program", source })?;
        let Some(stdout) = seen.stdout.strip_prefix(launch::READY) else {
            let message = String::from_utf8_lossy(&seen.stderr).trim().to_string();
            return Err(SandboxError::NotReady { message });
        };
        let code = seen.exit;
        let signal = code.filter(|code| (129..=192).contains(code)).map(|code| code - 128);
        let ended = match (seen.stopped, signal) {
            (Some(ended), _) => ended,
            (None, Some(libc::SIGXCPU)) => Ended::CpuLimit,
            (None, Some(signal)) => Ended::Killed { signal },
            (None, None) => Ended::Exited,
        };
        let exit = code.filter(|_| ended == Ended::Exited);
        Ok(Finished { ended, exit, stdout: stdout.to_vec(), stderr: seen.stderr })
    }

    /// Runs nothing: there is no sandbox but on Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn run(&self, _job: &Job) -> Result<Finished, SandboxError> {
        Err(SandboxError::NoSandbox { tried: "not on Linux".into() })
    }
}

impl Isolation {
    /// The program's name.
    pub fn program(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bwrap",
            Self::Unshare => "unshare",
        }
    }
}
