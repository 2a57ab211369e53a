//! What the kernel really keeps a launch from on this machine. It is tried out and looked at from inside, never
//! concluded from a version.
//!
//! Each promise stands for itself, because kernels and containers offer any combination of them. The caller turns
//! them into sentences.

use std::fs;

use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::syscalls;

/// The directory that is hidden from a launch which only looks around.
pub(crate) const PROBE_HIDES: &str = "/tmp";

/// Exit codes of the command that looks around begin here, so that no failure of a wrapper is taken for an answer.
const LOOKED: u8 = 64;
const KERNEL_FILES: u8 = 1;
const INIT: u8 = 2;
const SOCKETS: u8 = 4;
const CALLS: u8 = 8;
const NETWORK: u8 = 16;

/// What is enforced around a sandboxed launch.
///
/// The default promises nothing. Reports are written from these fields, so a field may be true only if somebody tried
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Enforced {
    /// The launch sees and writes only the files it is given.
    pub mounts: bool,
    /// The launch cannot change the kernel's settings, not even as root.
    pub kernel_files: bool,
    /// The launch can neither trace the first process of its namespace nor read what that process has open.
    pub init: bool,
    /// The launch reaches nobody outside through abstract sockets.
    pub sockets: bool,
    /// System calls that no agent needs are refused.
    pub calls: bool,
    /// A launch that asks for it has no network.
    pub network: bool,
    /// The kernel tells which callers come from inside.
    pub callers: bool,
}

impl Enforced {
    /// Decodes the exit code of the command that looked; none if it never got that far.
    pub(crate) fn from_code(code: Option<i32>) -> Option<Self> {
        let seen =
            // Five bits above `LOOKED`. A code beyond them is a signal or a foreign program, and proves nothing.
            code.and_then(|code| u8::try_from(code).ok())?.checked_sub(LOOKED).filter(|seen| *seen < 32)?;
        let has = |bit| seen & bit != 0;
        Some(Self {
            mounts: true,
            kernel_files: has(KERNEL_FILES),
            init: has(INIT),
            sockets: has(SOCKETS),
            calls: has(CALLS),
            network: has(NETWORK),
            callers: true,
        })
    }
}

/// What should surround a command that looks around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// A PID namespace, and no sandbox.
    Namespace,
    /// A PID namespace and a sandbox.
    Sandbox,
}

/// Files that change the kernel's behaviour, each of a different part of it.
const KERNEL_FILES_TRIED: [&str; 4] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
];

/// Looks around from inside and returns what is closed, as an exit code. It changes nothing, even where it could.
///
/// If there should be a sandbox and there is none, no such code is returned: every other promise would be about
/// nothing.
pub(crate) fn look(around: Around) -> u8 {
    if around == Around::Sandbox && !has_sandbox() {
        return 0;
    }
    let closed = |path: &&str| fs::File::options().write(true).open(path).is_err();
    let kernel = KERNEL_FILES_TRIED.iter().all(closed);
    // Reading a link needs the right to trace the process, so this tries the same right without tracing anybody.
    let init = fs::read_link("/proc/1/fd/0").is_err() && fs::File::open("/proc/1/mem").is_err();
    // Landlock scopes come together: a process that may not signal its own first process cannot reach sockets outside
    // either.
    let sockets = Pid::from_raw(1).is_some_and(|init| test_kill_process(init) == Err(Errno::PERM));
    let calls = syscalls::are_refused();
    let seen =
        [(kernel, KERNEL_FILES), (init, INIT), (sockets, SOCKETS), (calls, CALLS), (is_alone(), NETWORK)];
    seen.into_iter().filter(|(closed, _)| *closed).fold(LOOKED, |code, (_, bit)| code | bit)
}

/// Whether the machine is read-only, the directory that a probe hides is empty, and no file can give privileges.
fn has_sandbox() -> bool {
    let read_only = |path: &str| {
        rustix::fs::statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let privileges =
        status.lines().any(|line| line.strip_prefix("NoNewPrivs:").is_some_and(|value| value.trim() == "1"));
    let hidden = fs::read_dir(PROBE_HIDES).is_ok_and(|mut entries| entries.next().is_none());
    read_only("/") && hidden && privileges
}

/// Whether there is no network interface but a working loopback.
fn is_alone() -> bool {
    let listed = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let mut names = listed.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    names.next() == Some("lo")
        && names.next().is_none()
        // The loopback must work too: test suites talk to servers of their own.
        && std::net::UdpSocket::bind(("127.0.0.1", 0))
            .is_ok_and(|socket| socket.local_addr().is_ok_and(|own| socket.send_to(b"x", own).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_a_look_says_anything() {
        for code in [None, Some(0), Some(1), Some(63), Some(96), Some(125), Some(127), Some(-1)] {
            assert_eq!(Enforced::from_code(code), None, "{code:?}");
        }
        let none = Enforced { mounts: true, callers: true, ..Enforced::default() };
        assert_eq!(Enforced::from_code(Some(64)), Some(none));
        let all = Enforced::from_code(Some(95)).unwrap();
        assert!(all.kernel_files && all.init && all.sockets && all.calls && all.network);
        assert_eq!(Enforced::from_code(Some(66)), Some(Enforced { init: true, ..none }));
    }
}
