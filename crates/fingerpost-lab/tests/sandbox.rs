//! Does the sandbox hold what is put into it, in every way of making one that works here?
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fingerpost_lab::sandbox::{Ended, Finished, Isolation, Job, Sandbox};

/// Every sandbox that works here, after saying which does not.
fn sandboxes() -> &'static [Sandbox] {
    static FOUND: OnceLock<Vec<Sandbox>> = OnceLock::new();
    FOUND.get_or_init(|| {
        if !Path::new("/usr/bin/python3").exists() {
            skip("all tests of the sandbox: there is no /usr/bin/python3");
            return Vec::new();
        }
        let mut found = Vec::new();
        for kind in [Isolation::Bubblewrap, Isolation::Unshare] {
            match Sandbox::made_by(kind) {
                Ok(sandbox) => found.push(sandbox),
                Err(why) => skip(&format!("all tests of the sandbox by {kind:?}: {why}")),
            }
        }
        found
    })
}

/// Written past the test runner's capture: a skipped test must not look like a passed one.
fn skip(what: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {what}\n").as_bytes());
}

/// A job for Python.
fn python(code: &str) -> Job {
    let mut job = Job::new("python3");
    job.args = ["-c", code].map(Into::into).to_vec();
    job.limits.wall = Duration::from_secs(20);
    job
}

/// A job for the shell.
fn shell(code: &str) -> Job {
    let mut job = Job::new("sh");
    job.args = ["-c", code, "sh"].map(Into::into).to_vec();
    job.limits.wall = Duration::from_secs(20);
    job
}

/// Runs a job that is marked by a last argument, and sees that no marked process is left.
fn run(sandbox: &Sandbox, job: &Job) -> Finished {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let mark = format!("sandboxed-{}-{run}", std::process::id());
    let mut job = job.clone();
    job.args.push((&mark).into());
    let finished = sandbox.run(&job).unwrap();
    assert_eq!(marked(&mark), [""; 0], "{:?} left processes behind", sandbox.isolation());
    finished
}

/// The command lines of all processes of this machine that hold a mark.
fn marked(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(mark)).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The job ends by itself with code 0 and writes this.
fn check(job: &Job, stdout: &str) {
    for sandbox in sandboxes() {
        let finished = run(sandbox, job);
        let errors = text(&finished.stderr);
        assert_eq!(finished.ended, Ended::Exited, "{:?}: {errors}", sandbox.isolation());
        assert_eq!(finished.exit, Some(0), "{:?}: {errors}", sandbox.isolation());
        assert_eq!(text(&finished.stdout), stdout, "{:?}: {errors}", sandbox.isolation());
    }
}

/// The job has to be ended, for this reason, and soon.
fn check_ended(job: &Job, why: Ended) {
    for sandbox in sandboxes() {
        let start = Instant::now();
        let finished = run(sandbox, job);
        let errors = text(&finished.stderr);
        assert_eq!(finished.ended, why, "{:?}: {errors}", sandbox.isolation());
        assert_eq!(finished.exit, None);
        assert!(start.elapsed() < job.limits.wall + Duration::from_secs(8), "took too long");
    }
}

#[test]
fn a_job_finds_its_files_reads_its_input_and_gives_its_exit_code() {
    let mut job = shell("cat a/b.txt - && pwd && ls && touch made && echo late >&2; exit 3");
    job.files = vec![("a/b.txt".into(), b"file ".to_vec()), ("c".into(), Vec::new())];
    job.stdin = b"input\n".to_vec();
    for sandbox in sandboxes() {
        let finished = run(sandbox, &job);
        assert_eq!(text(&finished.stdout), "file input\n/box\na\nc\n");
        assert_eq!(text(&finished.stderr), "late\n");
        assert_eq!((finished.ended, finished.exit), (Ended::Exited, Some(3)));
    }
}

#[test]
fn input_that_nobody_reads_and_programs_that_are_missing_make_no_trouble() {
    let mut deaf = Job::new("true");
    deaf.stdin = vec![b'x'; 1 << 20];
    check(&deaf, "");
    for sandbox in sandboxes() {
        let finished = run(sandbox, &Job::new("no-such-program"));
        assert_eq!((finished.ended, finished.exit), (Ended::Exited, Some(127)));
        let finished = run(sandbox, &shell("kill -9 $$"));
        assert_eq!((finished.ended, finished.exit), (Ended::Killed { signal: 9 }, None));
    }
}

#[test]
fn nothing_of_our_environment_is_seen() {
    let mut job = shell("env | cut -d= -f1 | grep -v -x -e PWD -e OLDPWD -e SHLVL -e _ | sort");
    job.variables.push(("OWN".into(), "1".into()));
    check(&job, "HOME\nLANG\nLOGNAME\nOWN\nPATH\nTZ\nUSER\n");
}

#[test]
fn a_secret_outside_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "the secret").unwrap();
    let home = std::env::home_dir().unwrap_or("/nowhere".into());
    let code = format!(
        "cat {secret}; ls -A {home}; ls {project}; cat /etc/shadow /proc/1/root{secret}; ls -A /tmp; ls /home /var",
        secret = secret.display(),
        home = home.display(),
        project = env!("CARGO_MANIFEST_DIR"),
    );
    check(&shell(&format!("({code}) 2>/dev/null; ls /")), &text(&root_listing()));
    for sandbox in sandboxes() {
        let finished = run(sandbox, &shell(&code));
        assert!(!text(&finished.stdout).contains("the secret"));
        assert!(!text(&finished.stdout).contains("Cargo.toml"));
    }
}

/// What `ls /` shows inside, with the system folders of this machine.
fn root_listing() -> Vec<u8> {
    let system = ["bin", "lib", "lib32", "lib64", "libx32", "sbin"];
    let there = system.into_iter().filter(|name| Path::new("/").join(name).exists());
    let mut names: Vec<&str> =
        there.chain(["box", "dev", "etc", "files", "proc", "tmp", "usr"]).collect();
    names.sort_unstable();
    (names.join("\n") + "\n").into_bytes()
}

#[test]
fn what_is_shown_can_be_read_but_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (shown, hidden) = (folder.path().join("shown"), folder.path().join("hidden"));
    for path in [&shown, &hidden] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("file"), "kept\n").unwrap();
    }
    open_to_all(folder.path());
    let home = std::env::home_dir().unwrap_or("/nowhere".into());
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = [shown.as_path(), &hidden, &home, project, Path::new("/usr"), Path::new("/etc")];
    let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
    let code = format!(
        "cat {}/file; for place in / /dev /files {}; do echo x 2>/dev/null >$place/written-by-sandbox && echo $place; done; true",
        shown.display(),
        places.join(" ")
    );
    let mut job = shell(&code);
    job.shown.push(shown.clone());
    check(&job, "kept\n");

    let mut job = shell("rm -rf --no-preserve-root / 2>/dev/null; /usr/bin/env true && echo still");
    job.shown.push(shown.clone());
    check(&job, "still\n");

    for path in [&shown, &hidden] {
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "kept\n");
    }
    for place in places {
        assert!(!Path::new(&place).join("written-by-sandbox").exists(), "{place}");
    }
}

/// As far as permissions go, anybody could write there.
fn open_to_all(folder: &Path) {
    let status = Command::new("chmod").args(["-R", "a+rwX"]).arg(folder).status().unwrap();
    assert!(status.success());
}

#[test]
fn there_is_no_network_not_even_to_this_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let name = format!("fingerpost-sandbox-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let local = UnixListener::bind_addr(&address).unwrap();
    local.set_nonblocking(true).unwrap();
    let code = format!(
        r#"
import errno, socket
def attempt(family, address):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(3)
            s.connect(address)
            s.sendall(b"hello")
        print("connected", address)
    except OSError:
        print("refused")
attempt(socket.AF_INET, ("127.0.0.1", {port}))
attempt(socket.AF_UNIX, "\0{name}")
attempt(socket.AF_INET, ("192.0.2.1", 80))
try:
    print(socket.getaddrinfo("example.com", 80))
except OSError:
    print("unknown")
print([name for _, name in socket.if_nameindex() if name != "lo"])
for family in [socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG]:
    try:
        print(socket.socket(family, socket.SOCK_STREAM))
    except OSError as error:
        print(errno.errorcode[error.errno])
"#
    );
    check(&python(&code), &("refused\n".repeat(3) + "unknown\n[]\n" + &"EAFNOSUPPORT\n".repeat(3)));
    assert!(listener.accept().is_err(), "somebody connected");
    assert!(local.accept().is_err(), "somebody connected");
}

#[test]
fn a_fork_bomb_ends_and_the_machine_stays_usable() {
    let mut job = python(
        "import os, time\nmade = 0\ntry:\n    while made < 500:\n        if os.fork() == 0: time.sleep(60)\n        made += 1\nexcept OSError:\n    pass\nprint(10 < made < 30)",
    );
    job.limits.processes = 30;
    check(&job, "True\n");

    let mut bomb = shell("bomb() { bomb | bomb & }; bomb; sleep 60");
    bomb.limits.processes = 40;
    bomb.limits.wall = Duration::from_secs(2);
    for sandbox in sandboxes() {
        let finished = run(sandbox, &bomb);
        assert!(matches!(finished.ended, Ended::TimedOut | Ended::Exited | Ended::OutputLimit));
        assert!(Command::new("true").status().unwrap().success());
    }
}

#[test]
fn memory_is_bounded_for_one_process_and_for_all_together() {
    let mut alone =
        python("try:\n    x = bytearray(1 << 30)\nexcept MemoryError:\n    print('refused')");
    alone.limits.memory = 512 << 20;
    check(&alone, "refused\n");

    let mut together = python(
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0: break\nx = b'x' * (150 << 20)\ntime.sleep(60)",
    );
    together.limits.memory = 512 << 20;
    check_ended(&together, Ended::MemoryLimit);
}

#[test]
fn time_on_processors_is_bounded_for_one_process_and_for_all_together() {
    let spins = [
        "while True: pass",
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        "import os\nos.fork(); os.fork()\nwhile True: pass",
    ];
    for code in spins {
        let mut job = python(code);
        job.limits.cpu = Duration::from_secs(1);
        check_ended(&job, Ended::CpuLimit);
    }
}

#[test]
fn who_sleeps_too_long_or_writes_too_much_is_ended() {
    let mut sleeper = shell("trap '' TERM INT HUP; while :; do sleep 60; done");
    sleeper.limits.wall = Duration::from_millis(500);
    check_ended(&sleeper, Ended::TimedOut);

    for code in ["yes", "yes >&2", "yes & yes >&2"] {
        let mut writer = shell(code);
        writer.limits.output = 100_000;
        check_ended(&writer, Ended::OutputLimit);
        for sandbox in sandboxes() {
            let finished = run(sandbox, &writer);
            let length = finished.stdout.len() + finished.stderr.len();
            assert!((1..=100_006).contains(&length), "{length}");
        }
    }
}

#[test]
fn files_and_folders_are_bounded() {
    let code = r#"
import errno
def fill(path, size):
    try:
        with open(path, "wb") as file:
            for _ in range(size >> 20): file.write(b"x" * (1 << 20)); file.flush()
        return "written"
    except OSError as error:
        return errno.errorcode[error.errno]
print(fill("/box/big", 9 << 20))
for folder in ["/box", "/tmp", "/dev/shm"]:
    print([fill(f"{folder}/{i}", 4 << 20) for i in range(8)][-1])
"#;
    let mut job = python(code);
    job.limits.file = 8 << 20;
    job.limits.folder = 16 << 20;
    check(&job, "EFBIG\nENOSPC\nENOSPC\nENOSPC\n");
}

#[test]
fn a_daemon_does_not_outlive_its_parent() {
    let code = "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for fd in range(3): os.close(fd)\n        time.sleep(600)\n    os._exit(0)\ntime.sleep(0.2)\nprint('parent')";
    check(&python(code), "parent\n");
    check(&shell("setsid nohup sleep 600 >/dev/null 2>&1 & echo parent"), "parent\n");
}

#[test]
fn no_rights_are_left_and_none_can_be_had() {
    let code = "grep -E '^(CapPrm|CapEff|CapAmb|NoNewPrivs)' /proc/self/status; mount -o remount,rw /usr 2>/dev/null && echo remounted; echo 1 2>/dev/null >/proc/sys/kernel/panic && echo wrote; kill -9 1; ls /proc | grep -c '^[0-9]*$' | grep -q -x '[2-6]' && echo few";
    let none = "0000000000000000";
    let expected =
        format!("CapPrm:\t{none}\nCapEff:\t{none}\nCapAmb:\t{none}\nNoNewPrivs:\t1\nfew\n");
    check(&shell(code), &expected);
}

#[test]
fn jobs_run_side_by_side() {
    let mut job = python(
        "import os, time\nfor _ in range(20):\n    if os.fork() == 0:\n        time.sleep(60)\ntime.sleep(0.3)\nprint('done')",
    );
    job.limits.processes = 25;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| check(&job, "done\n"));
        }
    });
}
