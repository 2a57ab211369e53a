//! The lock of a run: one orchestrator at a time. It is the operating system's, so a crash releases it; the
//! process id in the file is for messages only and never decides anything.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::event::Timespec;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// The lock's file name in the run's directory.
const NAME: &str = "lock";

/// The right to be the one process that runs a run; dropped, it is free again.
#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock of the run in `dir`, or says who has it.
    pub fn take(dir: &Path) -> Result<RunLock> {
        let path = dir.join(NAME);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(|e| Error::os(&path, e))?;
        let mut file = File::from(fd);
        if !file.metadata().map_err(|e| Error::os(&path, e))?.is_file() {
            return Err(Error::Strange { path, detail: "not a regular file".to_owned() });
        }
        match lock(&mut file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::Locked { path: dir.to_owned(), pid: holder(&mut file) });
            }
            Err(e) => return Err(Error::os(&path, e)),
        }
        // A full disk is no reason to refuse: the words in the file are a courtesy.
        drop(sign(&mut file));
        Ok(RunLock { file })
    }
}

/// How often, and how long, a holder that is just dying is waited for.
const TRIES: usize = 20;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Whoever was killed holds the lock a moment longer than anything else. That moment is waited for.
fn lock(file: &mut File) -> std::result::Result<(), Errno> {
    let mut tries = 0;
    loop {
        match rustix::fs::flock(&*file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if tries < TRIES && holder(file).is_some_and(is_dying) => {
                tries += 1;
                let _ = rustix::event::poll(&mut [], Some(&PAUSE));
            }
            done => return done,
        }
    }
}

/// A process that lives has files open, the lock for one.
fn is_dying(pid: u32) -> bool {
    match std::fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(mut open) => open.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // So that only a crash leaves a name behind.
        drop(self.file.set_len(0));
        // Closing alone is not enough: a child between fork and exec still has the descriptor.
        let _best = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// Writes who holds the lock: process id and start time in clock ticks since boot (0 where unknown).
fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{} {}\n", std::process::id(), started()).as_bytes())
}

/// This process's start time, which tells it from a later one with the same id.
fn started() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The command name may hold spaces and brackets; what follows its last bracket is plain numbers.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after.split_whitespace().nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// Who the file says holds the lock.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(64).read_to_string(&mut text).ok()?;
    text.split_whitespace().next()?.parse().ok()
}
