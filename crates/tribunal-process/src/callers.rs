//! Decides whether a caller at a launch's report socket is a process of that launch.
//!
//! The kernel answers that: a caller belongs to the launch if it lives in the launch's PID namespace or in one below
//! it. A variable in the caller's environment decides nothing, because any process can set it. What to do with a
//! stranger is not decided here.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::launch::Started;
use crate::proc::{self, Key};
use crate::record::Kind;
use crate::{Containment, belongs};

/// The socket option `SO_PEERPIDFD`, since Linux 6.5.
const PEER_PIDFD: libc::c_int = 77;
/// The kernel nests PID namespaces at most this deep, so a longer walk is a bug or a trick.
const NESTED_MAX: usize = 33;

/// The processes of one launch, as a test for callers at its socket.
#[derive(Debug)]
pub struct Callers {
    root: Key,
    kind: Kind,
    run_marker: String,
    id: String,
    /// The launch's PID namespace, held open from the first time it was needed so that its inode number cannot be
    /// reused.
    namespace: OnceLock<OwnedFd>,
}

impl Callers {
    /// The callers of a launch that has begun.
    pub fn of(started: Started, containment: &Containment, run_marker: &str, id: &str) -> Self {
        Self {
            root: Key { pid: started.pid, start: started.start_time },
            kind: containment.kind(),
            run_marker: run_marker.to_owned(),
            id: id.to_owned(),
            namespace: OnceLock::new(),
        }
    }

    /// Whether the other end of a connection is a process of this launch. A caller that cannot be identified is not.
    pub fn has(&self, connection: &impl AsFd) -> bool {
        let Ok((pid, handle)) = peer(connection) else { return false };
        if self.kind == Kind::Subreaper {
            // Without a namespace there is nothing but the marker. The run reports that an agent could forge.
            return belongs(pid, &self.run_marker, &self.id);
        }
        let lives_in = self.namespace().and_then(|launch| Some((launch, open_namespace(pid, "pid").ok()?)));
        // The namespace was opened by process number. It is the caller's if the caller is still alive afterwards,
        // because a living process keeps its number.
        lives_in.is_some_and(|(launch, own)| is_alive(&handle) && is_within(own, launch))
    }

    fn namespace(&self) -> Option<&OwnedFd> {
        if self.namespace.get().is_none() {
            let found = find_namespace(self.root)?;
            // Two threads may both find it. They found the same namespace, so the loser's copy is just closed.
            let _ = self.namespace.set(found);
        }
        self.namespace.get()
    }
}

/// Identifies the other end of a connection: its process number, and a handle of that very process.
///
/// Before Linux 6.5 there is only the number, which may have been reused before the handle is opened. The check for
/// life in `has` does not close that gap there.
fn peer(connection: &impl AsFd) -> io::Result<(i32, OwnedFd)> {
    match peer_handle(connection) {
        Ok(handle) => Ok((number_of(&handle).ok_or(io::ErrorKind::NotFound)?, handle)),
        // The kernel does not know the option. Every other error means that nobody can be identified, and must not
        // fall back to the weaker way.
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
            let pid = rustix::net::sockopt::socket_peercred(connection)?.pid;
            Ok((pid.as_raw_nonzero().get(), pidfd_open(pid, PidfdFlags::empty())?))
        }
        Err(error) => Err(error),
    }
}

#[expect(unsafe_code, reason = "this socket option has no safe wrapper")]
fn peer_handle(connection: &impl AsFd) -> io::Result<OwnedFd> {
    let (mut fd, mut len): (libc::c_int, libc::socklen_t) = (-1, 4);
    let socket = connection.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most as many bytes as the number has, and both outlive the call.
    let done =
        unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, PEER_PIDFD, (&raw mut fd).cast(), &raw mut len) };
    if done != 0 || fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given it to us, and to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The number of the process behind a handle, as our namespace numbers it; none if the process is gone or not visible
/// to us.
fn number_of(handle: &OwnedFd) -> Option<i32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", handle.as_raw_fd())).ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok().filter(|pid| *pid > 0)
}

fn is_alive(handle: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&now)) == Ok(0)
}

fn open_namespace(pid: i32, name: &str) -> io::Result<OwnedFd> {
    Ok(File::open(Path::new("/proc").join(pid.to_string()).join("ns").join(name))?.into())
}

/// Finds the PID namespace of a launch: the one that its root made for its children, or that the root's child was
/// born in.
///
/// It must lie directly below ours. Until the root has made its namespace, the candidates are still our own, and
/// taking ours would let every process of the machine call.
fn find_namespace(root: Key) -> Option<OwnedFd> {
    let own = open_namespace(proc::own_pid(), "pid").ok()?;
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", root.pid)).unwrap_or_default();
    let children = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
    let found = std::iter::once((root.pid, "pid_for_children"))
        .chain(children.map(|pid| (pid, "pid")))
        .filter_map(|(pid, name)| open_namespace(pid, name).ok())
        .find(|candidate| parent(candidate).is_some_and(|above| is_same(&above, &own)))?;
    // Checked last: as long as the root lives, its number and those of its children are theirs.
    (proc::start_time(root.pid) == Some(root.start)).then_some(found)
}

/// Whether a namespace is `outer` or lies below it. Agents may make namespaces of their own for their tools.
fn is_within(inner: OwnedFd, outer: &OwnedFd) -> bool {
    let mut at = Some(inner);
    for _ in 0..NESTED_MAX {
        match at {
            Some(here) if is_same(&here, outer) => return true,
            Some(here) => at = parent(&here),
            None => return false,
        }
    }
    false
}

fn is_same(a: &OwnedFd, b: &OwnedFd) -> bool {
    let name = |fd: &OwnedFd| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino)).ok();
    name(a).is_some_and(|a| Some(a) == name(b))
}

/// The namespace around this one; none around our own.
#[expect(unsafe_code, reason = "asking a namespace has no safe wrapper")]
fn parent(namespace: &OwnedFd) -> Option<OwnedFd> {
    // SAFETY: no argument in, a descriptor out, which is new and ours.
    unsafe {
        match libc::ioctl(namespace.as_raw_fd(), libc::NS_GET_PARENT) {
            fd if fd >= 0 => Some(OwnedFd::from_raw_fd(fd)),
            _ => None,
        }
    }
}
