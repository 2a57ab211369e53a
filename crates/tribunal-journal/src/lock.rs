//! The lock of a run: one orchestrator at a time.
//!
//! It is a lock of the operating system, so a crash releases it. The process id in the file only serves messages and
//! the decision to wait a little for a dying holder; it never grants the lock.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::event::Timespec;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// The lock's file name in the run's directory.
const NAME: &str = "lock";

/// The right to execute a run. Dropping it releases the run for the next process.
///
/// Only the orchestrator needs it. Readers and processes that leave messages work without it.
#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock of the run in `dir`, or reports who holds it.
    ///
    /// The call waits up to five seconds for a holder that is being killed, and not at all for one that lives.
    pub fn take(dir: &Path) -> Result<RunLock> {
        let path = dir.join(NAME);
        // Not through a link, and without waiting: whoever could put a link or a FIFO here would choose the file that
        // is locked, or stop the run before it begins.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(|e| Error::os(&path, e))?;
        let mut file = File::from(fd);
        // Checked on the open file, not on the path: the path could lead elsewhere by then.
        if !file.metadata().map_err(|e| Error::os(&path, e))?.is_file() {
            return Err(Error::Strange { path, detail: "not a regular file".to_owned() });
        }
        match lock(&mut file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::Locked {
                    path: dir.to_owned(),
                    pid: holder(&mut file).map(|who| who.pid),
                });
            }
            Err(e) => return Err(Error::os(&path, e)),
        }
        // A full disk is not a reason to refuse: the text in the file is a courtesy.
        drop(sign(&mut file));
        Ok(RunLock { file })
    }
}

/// How often to look again while the holder is dying; with `PAUSE` this gives it five seconds.
const TRIES: usize = 100;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Takes the lock, waiting only while its holder is dying.
///
/// A killed process holds its lock a moment longer than anything else, and so does a child of it between fork and
/// exec. A user who kills a run and resumes it at once should not be refused for that moment.
fn lock(file: &mut File) -> std::result::Result<(), Errno> {
    let mut tries = 0;
    loop {
        match rustix::fs::flock(&*file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if tries < TRIES && holder(file).is_some_and(|who| who.is_dying()) => {
                tries += 1;
                let _ = rustix::event::poll(&mut [], Some(&PAUSE));
            }
            done => return done,
        }
    }
}

/// The process that the lock file names as its holder.
#[derive(Debug, Clone, Copy)]
struct Holder {
    pid: u32,
    started: u64,
}

impl Holder {
    /// Whether the holder is gone, killed, or another process by now.
    ///
    /// The test is deliberately narrow: a living process always has files open, the lock among them, so one with no
    /// open files is exiting.
    fn is_dying(self) -> bool {
        let of = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", self.pid));
        match of("stat") {
            // Only a process that is certainly gone counts. Without `/proc`, or without permission, nothing is known
            // and nobody is waited for.
            Err(error) => return error.kind() == std::io::ErrorKind::NotFound,
            // The number was given to another process since: a different start time shows it.
            Ok(stat) if self.started != 0 && started(&stat) != self.started => return true,
            Ok(_) => {}
        }
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.pid));
        open.is_ok_and(|mut open| open.next().is_none())
            || of("status").is_ok_and(|status| is_killed(&status))
    }
}

/// Whether SIGKILL is pending, which no process survives.
fn is_killed(status: &str) -> bool {
    const KILL: u64 = 1 << (9 - 1);
    let pending = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let set =
        |name: &str| pending(name).and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    (set("SigPnd:") | set("ShdPnd:")) & KILL != 0
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // So that only a crash leaves a name behind.
        drop(self.file.set_len(0));
        // Closing alone is not enough: a child between fork and exec still has the descriptor.
        let _best = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Writes who holds the lock: process id and start time in clock ticks since boot (0 if unknown).
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    let own = started(&std::fs::read_to_string("/proc/self/stat").unwrap_or_default());
    file.write_all(format!("{} {own}\n", std::process::id()).as_bytes())
}

/// A process's start time, which tells it from a later one with the same id.
fn started(stat: &str) -> u64 {
    // The command name may contain spaces and brackets. Only plain numbers follow its last bracket; the twentieth of
    // them is the start time.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after.split_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

fn holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    // Two numbers fit. A file that somebody filled is not read into memory.
    file.take(64).read_to_string(&mut text).ok()?;
    let mut words = text.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    Some(Holder { pid, started: words.next().and_then(|ticks| ticks.parse().ok()).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_living_holder_is_not_waited_for() {
        let pid = std::process::id();
        let own = started(&std::fs::read_to_string("/proc/self/stat").expect("reads"));
        let check = |pid: u32, started: u64, dying: bool| {
            assert_eq!(Holder { pid, started }.is_dying(), dying, "{pid} {started}");
        };
        check(pid, own, false);
        check(pid, 0, false);
        check(pid, own + 1, true);
        check(u32::MAX, own, true);
    }

    #[test]
    fn a_kill_on_its_way_is_seen() {
        let check = |status: &str, killed: bool| assert_eq!(is_killed(status), killed, "{status}");
        check("SigQ:\t0/9\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n", true);
        check("SigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n", true);
        check("SigPnd:\t0000000000004000\nShdPnd:\t0000000000000001\n", false);
        check("", false);
    }
}
