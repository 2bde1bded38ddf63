//! What does a running job write, and when has it used enough?

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::process::Child;
use std::time::{Duration, Instant};

use super::launch::READY;
use super::{Ended, Limits, tree};

/// Between two looks at what a job uses. A job can overstep its memory by what it can fill
/// meanwhile.
const LOOK: Duration = Duration::from_millis(50);

/// What was seen of a job.
pub(super) struct Seen {
    /// Why we ended it, if we did.
    pub(super) stopped: Option<Ended>,
    /// The exit code, if it ended by itself.
    pub(super) exit: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Feeds and reads a job until it ends or has to be ended. Either way nothing of it is left.
pub(super) fn watch(child: &mut Child, stdin: &[u8], limits: &Limits) -> io::Result<Seen> {
    let mut pipes = match Pipes::of(child, stdin) {
        Ok(pipes) => pipes,
        Err(error) => {
            tree::end(child);
            return Err(error);
        }
    };
    let watched = until_end(child, &mut pipes, limits);
    if !matches!(watched, Ok(Watched::Exited(_))) {
        tree::end(child);
    }
    let (stopped, exit) = match watched? {
        Watched::Exited(code) => (None, code),
        Watched::Stopped(ended) => (Some(ended), None),
    };
    let (mut stdout, mut stderr) = (pipes.stdout.bytes, pipes.stderr.bytes);
    if stopped == Some(Ended::OutputLimit) {
        stdout.truncate(limits.output + READY.len());
        stderr.truncate((limits.output + READY.len()).saturating_sub(stdout.len()));
    }
    Ok(Seen { stopped, exit, stdout, stderr })
}

enum Watched {
    Exited(Option<i32>),
    Stopped(Ended),
}

fn until_end(child: &mut Child, pipes: &mut Pipes<'_>, limits: &Limits) -> io::Result<Watched> {
    let start = Instant::now();
    let mut last_look = start;
    loop {
        // Asked before reading: what was written before the end is read after it.
        let status = child.try_wait()?;
        pipes.exchange(if status.is_some() { Duration::ZERO } else { LOOK })?;
        if pipes.held() > limits.output + READY.len() {
            return Ok(Watched::Stopped(Ended::OutputLimit));
        }
        if let Some(status) = status {
            if pipes.is_drained {
                return Ok(Watched::Exited(status.code()));
            }
            continue;
        }
        if start.elapsed() >= limits.wall {
            return Ok(Watched::Stopped(Ended::TimedOut));
        }
        if last_look.elapsed() >= LOOK {
            last_look = Instant::now();
            let usage = tree::usage(child.id());
            if usage.cpu > limits.cpu {
                return Ok(Watched::Stopped(Ended::CpuLimit));
            }
            if usage.resident > limits.memory {
                return Ok(Watched::Stopped(Ended::MemoryLimit));
            }
        }
    }
}

/// The three pipes to a job. None of them ever makes us wait.
struct Pipes<'a> {
    stdin: Option<std::process::ChildStdin>,
    to_write: &'a [u8],
    stdout: Reader<std::process::ChildStdout>,
    stderr: Reader<std::process::ChildStderr>,
    /// Did the last exchange find nothing more to read?
    is_drained: bool,
}

struct Reader<R> {
    /// `None` once it was closed at the other end.
    pipe: Option<R>,
    bytes: Vec<u8>,
}

impl<'a> Pipes<'a> {
    fn of(child: &mut Child, to_write: &'a [u8]) -> io::Result<Self> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let fds = [
            stdin.as_ref().map(AsRawFd::as_raw_fd),
            stdout.as_ref().map(AsRawFd::as_raw_fd),
            stderr.as_ref().map(AsRawFd::as_raw_fd),
        ];
        for fd in fds.into_iter().flatten() {
            never_wait(fd)?;
        }
        let stdout = Reader { pipe: stdout, bytes: Vec::new() };
        let stderr = Reader { pipe: stderr, bytes: Vec::new() };
        Ok(Self { stdin, to_write, stdout, stderr, is_drained: false })
    }

    /// Bytes that were read.
    fn held(&self) -> usize {
        self.stdout.bytes.len() + self.stderr.bytes.len()
    }

    /// Waits until a pipe is ready, then reads and writes what fits into one buffer each.
    fn exchange(&mut self, wait: Duration) -> io::Result<()> {
        let asked = |fd: Option<RawFd>, events| libc::pollfd {
            // A negative number is passed over.
            fd: fd.unwrap_or(-1),
            events,
            revents: 0,
        };
        let mut polled = [
            asked(self.stdin.as_ref().map(AsRawFd::as_raw_fd), libc::POLLOUT),
            asked(self.stdout.pipe.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
            asked(self.stderr.pipe.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
        ];
        let timeout = libc::c_int::try_from(wait.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the pointer and the length are those of one array that outlives the call.
        if unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) } < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        if polled[0].revents != 0 {
            self.write()?;
        }
        let first = self.stdout.read(polled[1].revents)?;
        let second = self.stderr.read(polled[2].revents)?;
        self.is_drained = first + second == 0;
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.stdin else { return Ok(()) };
        match pipe.write(self.to_write) {
            Ok(written) => self.to_write = &self.to_write[written..],
            Err(error) if is_passing(&error) => {}
            // It does not want to hear more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.to_write = &[],
            Err(error) => return Err(error),
        }
        if self.to_write.is_empty() {
            self.stdin = None;
        }
        Ok(())
    }
}

impl<R: Read> Reader<R> {
    fn read(&mut self, events: libc::c_short) -> io::Result<usize> {
        let mut buffer = [0; 1 << 16];
        let Some(pipe) = self.pipe.as_mut().filter(|_| events != 0) else { return Ok(0) };
        match pipe.read(&mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(read) => {
                self.bytes.extend_from_slice(&buffer[..read]);
                return Ok(read);
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(0)
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn never_wait(fd: RawFd) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the call takes numbers only.
    let set = unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
