//! What do a process and all that descend from it use, and how are they ended?

use std::collections::BTreeMap;
use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// How long the maker of a sandbox may take to notice that its process 1 is dead.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a tree of processes uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    /// Time on processors, of those that ended too.
    pub(super) cpu: Duration,
    /// Bytes of memory; pages that processes share count for each.
    pub(super) resident: u64,
}

/// One line of the kernel's table of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    ticks: u64,
    pages: u64,
}

/// What the tree below (and with) a process uses now.
pub(super) fn usage(root: u32) -> Usage {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    let mut stack = Vec::new();
    for process in processes() {
        if u32::try_from(process.id) == Ok(root) {
            stack.push(process);
        } else {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let (mut ticks, mut pages) = (0, 0);
    while let Some(process) = stack.pop() {
        ticks += process.ticks;
        pages += process.pages;
        // Taken out, so that a table read while ids were given anew cannot lead in circles.
        stack.extend(children.remove(&process.id).unwrap_or_default());
    }
    let millis = ticks.saturating_mul(1000) / system(libc::_SC_CLK_TCK);
    Usage { cpu: Duration::from_millis(millis), resident: pages * system(libc::_SC_PAGESIZE) }
}

/// Ends a sandbox as a whole, and waits until all of it is gone.
///
/// Its process 1 is killed first: it is gone only when the kernel has ended everything in its
/// namespace, and only then does the maker, which waits for it, come to its own end.
pub(super) fn end(maker: &mut Child) {
    let Ok(id) = i32::try_from(maker.id()) else { return };
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        for process in processes().into_iter().filter(|process| process.parent == id) {
            // SAFETY: kill() takes numbers only; the id is that of a child of our child, which has
            // not waited for it yet.
            unsafe { libc::kill(process.id, libc::SIGKILL) };
        }
        if matches!(maker.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    // SAFETY: kill() takes numbers only; the maker leads this group, and was not waited for.
    unsafe { libc::kill(-id, libc::SIGKILL) };
    let _ = maker.wait();
}

/// All processes there are, as far as they can be read.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(|id: i32| parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?))
        .collect()
}

/// Reads `/proc/ID/stat`. The program's name, in brackets, may hold anything, brackets too.
fn parse(id: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // Its own time as user and in the kernel, and that of children it has waited for.
    let ticks = (11..=14).map(number).sum::<Option<u64>>()?;
    Some(Process { id, parent: fields.get(1)?.parse().ok()?, ticks, pages: number(21)? })
}

fn system(name: libc::c_int) -> u64 {
    // SAFETY: sysconf() takes a number only.
    u64::try_from(unsafe { libc::sysconf(name) }).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_program_calls_itself() {
        let stat =
            "42 (a) R 1 (b) S 7 42 42 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 99 4096 250 1 1";
        let process = Process { id: 42, parent: 7, ticks: 100, pages: 250 };
        assert_eq!(parse(42, stat), Some(process));
        assert_eq!(parse(42, "42 (short) S 7"), None);
    }

    #[test]
    fn we_use_memory_ourselves() {
        assert!(usage(std::process::id()).resident > 100_000);
    }
}
