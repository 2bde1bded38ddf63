//! With which commands is a job put into its sandbox?
//!
//! A chain of small programs, each of which starts the next: the maker (`bwrap` or `unshare`) makes
//! the namespaces and the file system; a shell is process 1 and waits; `setpriv` gives up rights;
//! `prlimit` sets limits; a last shell copies the job's files and becomes the job.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use super::filter::Filter;
use super::{Isolation, Job, Limits, Sandbox, SandboxError};

/// What the last shell writes to standard output when all is made and the program begins.
pub(super) const READY: &[u8] = b"ready\n";

/// Process 1: waits for the job, and says nothing of its own.
const FIRST: &str = r#"exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; exit $?"#;

/// The last step before the job.
const LAST: &str = r#"cp -R /files/. /box/ && cd /box && echo ready && exec "$@""#;

/// Mounts for `unshare` what `bwrap` mounts by itself.
const MOUNT: &str = include_str!("mount.sh");

/// Folders of programs and libraries; on most systems now links into `/usr`.
const SYSTEM: [&str; 6] = ["bin", "lib", "lib32", "lib64", "libx32", "sbin"];

/// User ids from here on are given to jobs that root starts: above those of people, services,
/// containers, and below those that programs mistake for negative numbers.
const FIRST_USER: u32 = 1_900_000_000;
const USERS: u32 = 200_000_000;

/// The user `nobody`, for a root who has no other ids to give.
const NOBODY: u32 = 65_534;

/// A job that was started.
pub(super) struct Launched {
    pub(super) child: Child,
    /// The files that it is shown, deleted when this is dropped.
    _staged: TempDir,
}

/// Whom the job runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    /// We are root: the mounts are made as such, then the job gets this id, without a user
    /// namespace. The kernel does not limit the processes of root.
    Given(u32),
    /// We are not: it stays our user, who has no rights in the user namespace either.
    Own,
}

impl User {
    /// Each job of root gets another id, because the kernel counts processes by it.
    fn next() -> Self {
        static GIVEN: AtomicU32 = AtomicU32::new(0);
        // SAFETY: geteuid() takes nothing and never fails.
        if unsafe { libc::geteuid() } != 0 {
            return Self::Own;
        }
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        let offset = process::id().wrapping_mul(256).wrapping_add(given) % USERS;
        let ids = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self::Given(if holds(&ids, FIRST_USER + USERS) { FIRST_USER + offset } else { NOBODY })
    }

    /// Its id as seen from inside.
    fn id(self, isolation: Isolation) -> u32 {
        match (self, isolation) {
            (Self::Given(id), _) => id,
            (Self::Own, Isolation::Bubblewrap) => 1000,
            (Self::Own, Isolation::Unshare) => 0,
        }
    }
}

/// The path of a program that makes namespaces.
pub(super) fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/bin", "/bin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file() && file.is_absolute())
}

/// Starts a job.
pub(super) fn launch(sandbox: &Sandbox, job: &Job) -> Result<Launched, SandboxError> {
    check(job)?;
    let user = User::next();
    let staged = stage(job, user.id(sandbox.isolation))
        .map_err(|source| SandboxError::Io { what: "put its files in place", source })?;
    let mut command = Command::new(&sandbox.maker);
    match sandbox.isolation {
        Isolation::Bubblewrap => bubblewrap(&mut command, job, staged.path(), user),
        Isolation::Unshare => unshare(&mut command, job, staged.path(), user),
    }
    command.args(["sh", "-c", FIRST, "sh"]);
    command.args(rights(sandbox.isolation, user)).args(limited(&job.limits));
    command.args(["sh", "-c", LAST, "sh", "env", "-i"]).args(variables(job));
    command.arg(&job.program).args(&job.args);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let filter = Filter::new();
    // SAFETY: between fork and exec, the closure does nothing but system calls.
    unsafe { command.pre_exec(move || leave_our_session().and_then(|()| filter.set())) };
    let child = command
        .spawn()
        .map_err(|source| SandboxError::Io { what: "start the program that makes it", source })?;
    Ok(Launched { child, _staged: staged })
}

/// A session without a terminal, no files but the three pipes, and an end with ours.
fn leave_our_session() -> io::Result<()> {
    // SAFETY: these calls take numbers only.
    let failed = unsafe {
        libc::setsid() < 0
            || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0
            || libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
                < 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn check(job: &Job) -> Result<(), SandboxError> {
    let bad = |what: String| Err(SandboxError::BadJob { what });
    for (path, _) in &job.files {
        let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || path.as_os_str().is_empty() {
            return bad(format!("puts a file outside its folder: {}", path.display()));
        }
    }
    for path in &job.shown {
        if !path.is_absolute() || path.parent().is_none() || !path.is_dir() {
            return bad(format!("shows what is no folder, or all of them: {}", path.display()));
        }
    }
    for (name, _) in &job.variables {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return bad(format!("sets a variable of no name: {name}"));
        }
    }
    Ok(())
}

/// Lays out what the job is shown: its files, and an `/etc` that names only itself.
fn stage(job: &Job, user: u32) -> io::Result<TempDir> {
    let staged = tempfile::Builder::new().prefix("fingerpost-sandbox-").tempdir()?;
    let folder = |name: &str| -> io::Result<PathBuf> {
        let path = staged.path().join(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        Ok(path)
    };
    let (files, etc, _) = (folder("files")?, folder("etc")?, folder("root")?);
    for (path, bytes) in &job.files {
        write(&files, path, bytes)?;
    }
    let passwd = format!("box:x:{user}:{user}::/tmp:/bin/sh\n");
    write(&etc, Path::new("passwd"), passwd.as_bytes())?;
    write(&etc, Path::new("group"), format!("box:x:{user}:\n").as_bytes())?;
    write(&etc, Path::new("hosts"), b"127.0.0.1 localhost box\n::1 localhost\n")?;
    if let Ok(libraries) = fs::read("/etc/ld.so.cache") {
        write(&etc, Path::new("ld.so.cache"), &libraries)?;
    }
    Ok(staged)
}

/// Writes a file that every user may read, below a folder.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut parent = folder.to_path_buf();
    for part in path.parent().into_iter().flat_map(Path::components) {
        parent.push(part);
        if !parent.is_dir() {
            fs::create_dir(&parent)?;
            fs::set_permissions(&parent, Permissions::from_mode(0o755))?;
        }
    }
    let file = folder.join(path);
    fs::write(&file, bytes)?;
    fs::set_permissions(&file, Permissions::from_mode(0o644))
}

fn bubblewrap(command: &mut Command, job: &Job, staged: &Path, user: User) {
    command.args(["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]);
    command.args(["--unshare-cgroup-try", "--die-with-parent", "--as-pid-1", "--hostname", "box"]);
    match user {
        // What setpriv needs to become another user.
        User::Given(_) => command
            .args(["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]),
        User::Own => command.args(["--unshare-user", "--uid", "1000", "--gid", "1000"]),
    };
    command.args(["--ro-bind", "/usr", "/usr"]);
    for name in SYSTEM {
        let path = Path::new("/").join(name);
        match fs::read_link(&path) {
            Ok(target) => command.arg("--symlink").arg(target).arg(&path),
            Err(_) => command.arg("--ro-bind-try").arg(&path).arg(&path),
        };
    }
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    let size = job.limits.folder.to_string();
    for writable in ["/dev/shm", "/tmp", "/box"] {
        command.args(["--size", &size, "--perms", "1777", "--tmpfs", writable]);
    }
    command.arg("--ro-bind").arg(staged.join("etc")).arg("/etc");
    command.arg("--ro-bind").arg(staged.join("files")).arg("/files");
    for path in shown(job) {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for folder in above.into_iter().skip(1) {
            // Some versions would make it for the owner alone, and the job is another user.
            command.args(["--perms", "0755", "--dir"]).arg(folder);
        }
        command.arg("--ro-bind").arg(path).arg(path);
    }
    command.args(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--"]);
}

fn unshare(command: &mut Command, job: &Job, staged: &Path, user: User) {
    command.args(["--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--fork"]);
    command.arg("--kill-child=KILL");
    if user == User::Own {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--", "sh", "-c", MOUNT, "sh"]).arg(staged);
    command.arg(job.limits.folder.to_string()).arg(SYSTEM.join(" "));
    command.args(shown(job)).arg("--");
}

/// Outer folders before those inside them.
fn shown(job: &Job) -> Vec<&PathBuf> {
    let mut paths: Vec<&PathBuf> = job.shown.iter().collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The command that gives up all rights, before the command to run.
fn rights(isolation: Isolation, user: User) -> Vec<String> {
    let words: &[&str] = match (user, isolation) {
        (User::Given(id), _) => {
            let (user, group) = (format!("--reuid={id}"), format!("--regid={id}"));
            return ["setpriv", &user, &group, "--clear-groups", "--inh-caps=-all"]
                .map(String::from)
                .to_vec();
        }
        (User::Own, Isolation::Unshare) => &["setpriv", "--inh-caps=-all", "--bounding-set=-all"],
        // Without root it leaves none.
        (User::Own, Isolation::Bubblewrap) => &[],
    };
    words.iter().map(ToString::to_string).collect()
}

/// The command that sets limits, before the command to run.
fn limited(limits: &Limits) -> Vec<OsString> {
    let seconds = limits.cpu.as_secs_f64().ceil() as u64;
    let words = [
        "prlimit".to_string(),
        "--core=0".to_string(),
        // A second after it was told so, a process that goes on is killed.
        format!("--cpu={seconds}:{}", seconds + 1),
        format!("--as={}", limits.memory),
        format!("--nproc={}", limits.processes),
        format!("--fsize={}", limits.file),
        "--".to_string(),
    ];
    words.into_iter().map(OsString::from).collect()
}

fn variables(job: &Job) -> Vec<String> {
    let fixed = [
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "HOME=/tmp",
        "USER=box",
        "LOGNAME=box",
        "LANG=C.UTF-8",
        "TZ=UTC",
    ];
    let own = job.variables.iter().map(|(name, value)| format!("{name}={value}"));
    fixed.into_iter().map(String::from).chain(own).collect()
}

/// Does a table of ids (`/proc/self/uid_map`) hold this one?
fn holds(table: &str, id: u32) -> bool {
    table.lines().any(|line| {
        let numbers: Vec<u64> =
            line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(id)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_ids_holds_what_it_maps() {
        assert!(holds("         0          0 4294967295\n", FIRST_USER + USERS));
        assert!(!holds("0 100000 65536\n", FIRST_USER));
        assert!(holds("0 1000 1\n1 100000 65535\n", NOBODY));
    }

    #[test]
    fn a_job_that_reaches_out_of_its_folder_is_refused() {
        for path in ["/etc/passwd", "../passwd", "a/../../b", ""] {
            let mut job = Job::new("true");
            job.files.push((path.into(), Vec::new()));
            assert!(matches!(check(&job), Err(SandboxError::BadJob { .. })), "{path}");
        }
        for path in ["/", "usr", "/no/such/folder"] {
            let mut job = Job::new("true");
            job.shown.push(path.into());
            assert!(matches!(check(&job), Err(SandboxError::BadJob { .. })), "{path}");
        }
    }
}
