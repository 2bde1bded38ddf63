//! What did a process cost, by the system's own account?

use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, ensure};

/// What a process took of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Processor time, user and system.
    pub(super) cpu_s: f64,
    /// Memory at most. What the starting process held when it started this one counts too.
    pub(super) peak_bytes: u64,
}

/// A process that has ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) cost: Cost,
    pub(super) output: Vec<u8>,
    status: ExitStatus,
}

impl Ran {
    /// Itself, if its exit code is one of these.
    pub(super) fn expect(self, codes: &[i32], command: &Command) -> anyhow::Result<Self> {
        let expected = self.status.code().is_some_and(|code| codes.contains(&code));
        ensure!(expected, "{command:?} ended with {}", self.status);
        Ok(self)
    }
}

/// Runs a command to its end; its standard output is collected, its errors are shown.
pub(super) fn run(command: &mut Command) -> anyhow::Result<Ran> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut output = Vec::new();
    child.stdout.take().context("its output is a pipe")?.read_to_end(&mut output)?;
    let (status, cost) =
        wait(child.id()).with_context(|| format!("cannot wait for {command:?}"))?;
    Ok(Ran { cost, output, status })
}

/// Runs a server that speaks MCP on its standard input and output: greets it, asks it once, and hangs up. What
/// it answered is the output.
pub(super) fn converse(command: &mut Command, ask: &str) -> anyhow::Result<Ran> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut input = child.stdin.take().context("its input is a pipe")?;
    let mut said = BufReader::new(child.stdout.take().context("its output is a pipe")?).lines();
    let mut answer = |id: &str| -> anyhow::Result<String> {
        loop {
            let line = said.next().context("the server ended before it answered")??;
            if line.contains(id) {
                return Ok(line);
            }
        }
    };
    writeln!(input, "{GREETING}")?;
    answer(r#""id":1,"#)?;
    writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
    writeln!(input, "{ask}")?;
    let output = answer(r#""id":2,"#)?.into_bytes();
    drop(input);
    let (status, cost) =
        wait(child.id()).with_context(|| format!("cannot wait for {command:?}"))?;
    Ok(Ran { cost, output, status })
}

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

/// Waits for a child of this process, which nobody may have waited for.
fn wait(pid: u32) -> io::Result<(ExitStatus, Cost)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to memory of ours, of the types that the call fills.
        let ended =
            unsafe { libc::wait4(pid as libc::pid_t, &raw mut status, 0, usage.as_mut_ptr()) };
        if ended >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: a rusage is plain numbers, for which zeroes do, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let cost = Cost {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * MAXRSS_UNIT,
    };
    Ok((ExitStatus::from_raw(status), cost))
}

/// What the peak is counted in: bytes on Apple's systems, kilobytes elsewhere.
const MAXRSS_UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_waited_for_with_its_output_its_code_and_its_cost() {
        // 64 MB, which is more than the tests hold.
        let script = "head -c 64000000 /dev/zero | tail -c 64000000 | wc -c; exit 3";
        let command = &mut Command::new("sh");
        let ran = run(command.args(["-c", script])).unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.output).trim(), "64000000");
        assert!(ran.cost.cpu_s > 0.0 && ran.cost.peak_bytes > 64_000_000, "{:?}", ran.cost);
        assert!(ran.expect(&[3], command).is_ok());
        let error = run(command).unwrap().expect(&[0, 1], command).unwrap_err();
        assert!(error.to_string().ends_with("ended with exit status: 3"), "{error}");
    }
}
