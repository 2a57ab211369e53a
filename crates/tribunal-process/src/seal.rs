//! What the kernel keeps a launch from besides files: kernel settings, the launch's own first process, abstract
//! sockets, system calls that nobody needs, and the network if the launch says so.
//!
//! This file names the restrictions and applies them to the calling process. Which launch gets which is for the
//! caller to say.

use std::io;

use tribunal_core::defence::{Defence, stands};

use crate::syscalls;

/// The version of Landlock that knows scopes: Linux 6.12.
const SCOPES_SINCE: libc::c_long = 6;
const SCOPE_ABSTRACT_SOCKETS: u64 = 1;
const SCOPE_SIGNALS: u64 = 2;
/// The request `SIOCSIFFLAGS`, which libc does not name.
const SET_INTERFACE_FLAGS: u32 = 0x8914;

/// What a launch can reach by the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Everything that this machine can reach.
    #[default]
    Host,
    /// Only itself, by a loopback interface of its own.
    None,
}

/// What is closed to a sandboxed launch, as far as this kernel can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seal {
    /// The kernel's settings are read-only, and its memory, keys and timers hidden: for root, whom file modes do not
    /// stop.
    pub kernel_files: bool,
    /// Nobody traces the first process or reads what it has open, and no tracer delays a launch's end.
    pub init: bool,
    /// Abstract sockets and signals reach nobody outside.
    pub scope: bool,
    /// System calls that nobody needs are refused.
    pub calls: bool,
}

impl Seal {
    /// What this machine can close.
    pub fn here() -> Self {
        Self {
            kernel_files: stands(Defence::KernelFiles),
            init: stands(Defence::SealedInit),
            scope: stands(Defence::AbstractSockets) && has_scopes(),
            calls: stands(Defence::SystemCalls) && syscalls::is_available(),
        }
    }

    /// Closes what can be closed from within, around this process and everything that it starts, for ever.
    ///
    /// Call it between fork and exec of the command, so that the first process itself stays outside.
    pub fn close(self) -> io::Result<()> {
        if self.scope {
            scope()?;
        }
        if self.calls { syscalls::refuse() } else { Ok(()) }
    }
}

/// The structure `landlock_ruleset_attr` of the kernel.
#[repr(C)]
struct Ruleset {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

/// Whether this kernel's Landlock knows scopes.
#[expect(unsafe_code, reason = "landlock has no safe wrapper")]
fn has_scopes() -> bool {
    // SAFETY: without a ruleset the call only tells its version.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<Ruleset>(), 0_usize, 1_u32)
    };
    version >= SCOPES_SINCE
}

/// Enters a Landlock domain that scopes abstract sockets and signals.
///
/// It makes no rule about files: with one, the kernel would refuse every mount, even in namespaces inside.
#[expect(unsafe_code, reason = "landlock has no safe wrapper")]
fn scope() -> io::Result<()> {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
    let rules = Ruleset { handled_access_fs: 0, handled_access_net: 0, scoped };
    // SAFETY: the structure is of the size that is told and outlives the call.
    let made = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size_of_val(&rules), 0_u32)
    };
    let made = i32::try_from(made).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel has just given it to us, and to nobody else.
    let rules = unsafe { OwnedFd::from_raw_fd(made) };
    // SAFETY: numbers in, a number out; the descriptor is open.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0_u32) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes this process undumpable: nobody of the same user may trace it, read its memory or take its descriptors.
pub(crate) fn hide_self() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Brings the loopback interface of a new network namespace up. It is all there is in it.
#[expect(unsafe_code, reason = "interface flags have no safe wrapper")]
pub(crate) fn raise_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    use std::os::fd::AsRawFd;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: numbers and characters alone: all zero is a value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
    // SAFETY: the structure is what the request takes, and outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SET_INTERFACE_FLAGS as _, &raw mut request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
