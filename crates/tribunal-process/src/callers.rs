//! Who calls at a launch's socket: only processes of the launch are its own. The kernel says so, by the PID namespace
//! that a caller lives in; a word in its environment decides nothing, for anybody can wear it. It only answers; what a
//! stranger is told is not decided here.

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

/// `SO_PEERPIDFD`, Linux 6.5.
const PEER_PIDFD: libc::c_int = 77;
/// Namespaces in namespaces: the kernel has at most this many.
const NESTED_MAX: usize = 33;

/// The processes of one launch.
#[derive(Debug)]
pub struct Callers {
    root: Key,
    kind: Kind,
    run_marker: String,
    id: String,
    /// The launch's PID namespace, held open from the first time it was needed: its number cannot be given to another.
    namespace: OnceLock<OwnedFd>,
}

impl Callers {
    /// Those of a launch that has begun.
    pub fn of(started: Started, containment: &Containment, run_marker: &str, id: &str) -> Self {
        Self {
            root: Key { pid: started.pid, start: started.start_time },
            kind: containment.kind(),
            run_marker: run_marker.to_owned(),
            id: id.to_owned(),
            namespace: OnceLock::new(),
        }
    }

    /// Whether the other end of a connection is one of them. Who cannot be known is not.
    pub fn has(&self, connection: &impl AsFd) -> bool {
        let Ok((pid, handle)) = peer(connection) else { return false };
        if self.kind == Kind::Subreaper {
            // There is nothing but the marker, which the run says.
            return belongs(pid, &self.run_marker, &self.id);
        }
        let lives_in = self.namespace().and_then(|launch| Some((launch, open_namespace(pid, "pid").ok()?)));
        // Opened by number: it is the caller's if the caller is still there afterwards.
        lives_in.is_some_and(|(launch, own)| is_alive(&handle) && is_within(own, launch))
    }

    fn namespace(&self) -> Option<&OwnedFd> {
        if self.namespace.get().is_none() {
            let found = find_namespace(self.root)?;
            let _ = self.namespace.set(found);
        }
        self.namespace.get()
    }
}

/// The other end of a connection: its number, and a handle of that very process.
fn peer(connection: &impl AsFd) -> io::Result<(i32, OwnedFd)> {
    match peer_handle(connection) {
        Ok(handle) => Ok((number_of(&handle).ok_or(io::ErrorKind::NotFound)?, handle)),
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

/// The number of the process behind a handle, as we number it; none when it is gone or not among ours.
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

/// The namespace of a launch: the one that its root made for its children, or that the root's child was born in. It is
/// just below ours, or it is not the launch's yet.
fn find_namespace(root: Key) -> Option<OwnedFd> {
    let own = open_namespace(proc::own_pid(), "pid").ok()?;
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", root.pid)).unwrap_or_default();
    let children = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
    let found = std::iter::once((root.pid, "pid_for_children"))
        .chain(children.map(|pid| (pid, "pid")))
        .filter_map(|(pid, name)| open_namespace(pid, name).ok())
        .find(|candidate| parent(candidate).is_some_and(|above| is_same(&above, &own)))?;
    // While the root is there, its number and those of its children are theirs.
    (proc::start_time(root.pid) == Some(root.start)).then_some(found)
}

/// Is it that namespace, or one below?
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

/// The namespace around one; none around our own.
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
