//! Which calls to the kernel are refused, whatever namespace they are made in?
//!
//! Some reach past namespaces: a virtual machine's sockets to its host, rings that open sockets
//! without asking, the keys of the session. The filter is set before the sandbox is made, so that
//! it holds for all that runs in it. It lets everything else pass; that is what rights, mounts and
//! limits are for.

use std::io;

use libc::{c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
/// No processor's number: on those that we do not know, nothing runs.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Numbers from here on are those of another calling convention of the same processor.
const OTHER_CONVENTION: u32 = 0x4000_0000;

/// Calls that no program under test needs.
const REFUSED: [c_long; 7] = [
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_perf_event_open,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
];

/// Families of sockets that stay inside a network namespace.
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Where the kernel puts, for a filter, what a call is: number, architecture, first argument.
const NUMBER: u32 = 0;
const CALLED_FOR: u32 = 4;
const FIRST_ARGUMENT: u32 = if cfg!(target_endian = "little") { 16 } else { 20 };

/// A filter that can be set between fork and exec.
#[derive(Clone)]
pub(super) struct Filter {
    steps: Vec<sock_filter>,
}

impl Filter {
    pub(super) fn new() -> Self {
        let allow = answer(libc::SECCOMP_RET_ALLOW);
        let refuse = |error: libc::c_int| answer(libc::SECCOMP_RET_ERRNO | error as u32);
        let mut steps = vec![
            load(CALLED_FOR),
            unless_equal(ARCHITECTURE),
            answer(libc::SECCOMP_RET_KILL_PROCESS),
            load(NUMBER),
            step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, OTHER_CONVENTION, 0, 1),
            refuse(libc::ENOSYS),
        ];
        for number in REFUSED {
            steps.extend([if_equal(number as u32), refuse(libc::ENOSYS)]);
        }
        steps.extend([unless_equal(libc::SYS_socket as u32), allow, load(FIRST_ARGUMENT)]);
        for family in FAMILIES {
            steps.extend([if_equal(family as u32), allow]);
        }
        steps.push(refuse(libc::EAFNOSUPPORT));
        Self { steps }
    }

    /// Sets the filter for this process and all that come from it, and gives up for them to gain
    /// rights by starting a program, without which the kernel takes no filter from ordinary users.
    pub(super) fn set(&self) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: u16::try_from(self.steps.len()).unwrap_or(u16::MAX),
            filter: self.steps.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel copies the steps, which live as long as `self`, and writes nothing.
        let failed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    < 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn step(code: u32, value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter { code: code as u16, jt: then, jf: otherwise, k: value }
}

fn load(offset: u32) -> sock_filter {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn answer(value: u32) -> sock_filter {
    step(libc::BPF_RET | libc::BPF_K, value, 0, 0)
}

/// The next step is taken only if what was loaded is this.
fn if_equal(value: u32) -> sock_filter {
    step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, 0, 1)
}

/// The next step is taken only if what was loaded is something else.
fn unless_equal(value: u32) -> sock_filter {
    step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, 1, 0)
}
