//! What the kernel really keeps a launch from on this machine: tried out, and looked at from inside, never concluded from
//! a version. Each promise stands for itself; who reads this turns it into words.

use std::fs;

use rustix::fs::StatVfsMountFlags;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::syscalls;

/// The folder that is hidden from a launch which only looks around.
pub(crate) const PROBE_HIDES: &str = "/tmp";

/// Codes of the command that looks around begin here, so that no failure of a wrapper is taken for an answer.
const LOOKED: u8 = 64;
const KERNEL_FILES: u8 = 1;
const INIT: u8 = 2;
const SOCKETS: u8 = 4;
const CALLS: u8 = 8;
const NETWORK: u8 = 16;

/// What is enforced around a launch with walls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Enforced {
    /// It sees and writes only the files it is given.
    pub walls: bool,
    /// It cannot change the kernel's settings, also as root.
    pub kernel_files: bool,
    /// It can neither trace the first process of its namespace nor read what that has open.
    pub init: bool,
    /// Through sockets without a file it reaches nobody outside.
    pub sockets: bool,
    /// System calls that no agent needs are refused.
    pub calls: bool,
    /// A launch that asks for it has no network.
    pub network: bool,
    /// Who calls from inside is known by the kernel.
    pub callers: bool,
}

impl Enforced {
    /// From the code of the command that looked; none when it never came to that.
    pub(crate) fn from_code(code: Option<i32>) -> Option<Self> {
        let seen =
            code.and_then(|code| u8::try_from(code).ok())?.checked_sub(LOOKED).filter(|seen| *seen < 32)?;
        let has = |bit| seen & bit != 0;
        Some(Self {
            walls: true,
            kernel_files: has(KERNEL_FILES),
            init: has(INIT),
            sockets: has(SOCKETS),
            calls: has(CALLS),
            network: has(NETWORK),
            callers: true,
        })
    }
}

/// What there should be around a command that looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// A PID namespace alone.
    Namespace,
    /// Walls, too.
    Walls,
}

/// Files by which the kernel is told what to do: each of another part of it.
const KERNEL_FILES_TRIED: [&str; 4] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
];

/// Looks around from inside: what is closed, as a code. Nothing is changed, also where it could be. Where there should be
/// walls and are none, there is no such code: everything else would be promised of nothing.
pub(crate) fn look(around: Around) -> u8 {
    if around == Around::Walls && !has_walls() {
        return 0;
    }
    let closed = |path: &&str| fs::File::options().write(true).open(path).is_err();
    let kernel = KERNEL_FILES_TRIED.iter().all(closed);
    let init = fs::read_link("/proc/1/fd/0").is_err() && fs::File::open("/proc/1/mem").is_err();
    // Scopes come together: who may not signal its own first process cannot reach sockets outside either.
    let sockets = Pid::from_raw(1).is_some_and(|init| test_kill_process(init) == Err(Errno::PERM));
    let calls = syscalls::are_refused();
    let seen =
        [(kernel, KERNEL_FILES), (init, INIT), (sockets, SOCKETS), (calls, CALLS), (is_alone(), NETWORK)];
    seen.into_iter().filter(|(closed, _)| *closed).fold(LOOKED, |code, (_, bit)| code | bit)
}

/// Is the machine read-only, the folder that a probe hides empty, and no privilege to be had from a file?
fn has_walls() -> bool {
    let read_only = |path: &str| {
        rustix::fs::statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let privileges =
        status.lines().any(|line| line.strip_prefix("NoNewPrivs:").is_some_and(|value| value.trim() == "1"));
    let hidden = fs::read_dir(PROBE_HIDES).is_ok_and(|mut entries| entries.next().is_none());
    read_only("/") && hidden && privileges
}

/// Is there no interface but the loopback, and that one of use?
fn is_alone() -> bool {
    let listed = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let mut names = listed.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    names.next() == Some("lo")
        && names.next().is_none()
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
        let none = Enforced { walls: true, callers: true, ..Enforced::default() };
        assert_eq!(Enforced::from_code(Some(64)), Some(none));
        let all = Enforced::from_code(Some(95)).unwrap();
        assert!(all.kernel_files && all.init && all.sockets && all.calls && all.network);
        assert_eq!(Enforced::from_code(Some(66)), Some(Enforced { init: true, ..none }));
    }
}
