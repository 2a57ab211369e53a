//! The wake-up of a live orchestrator: a FIFO in the run's directory.
//!
//! It carries no facts, only "look again"; the facts are in the journal's mailbox. So a lost or doubled poke does no
//! harm. The poking side never waits, and neither side follows a symlink.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// The FIFO's name in the run's directory.
const NAME: &str = "poke";

/// The listening end. Pokes are kept for it while it lives.
#[derive(Debug)]
pub struct Poke {
    fd: OwnedFd,
    path: PathBuf,
}

impl Poke {
    /// Listens in the run's directory, creating the FIFO if there is none.
    pub fn listen(dir: &Path) -> Result<Poke> {
        let path = dir.join(NAME);
        match rustix::fs::mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR) {
            // A FIFO of an earlier process is reused. Anything else under that name is refused by `open` below.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(Error::os(&path, e)),
        }
        // Open for both, so there is always a writer: otherwise the FIFO would report end of file when the last poker
        // leaves.
        let fd = open(&path, OFlags::RDWR)?.map_err(|e| Error::os(&path, e))?;
        Ok(Poke { fd, path })
    }

    /// Waits for a poke, for ever without a timeout; true if there was one. Many pokes may count as one.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool> {
        let timeout = timeout.map(|t| Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(t.subsec_nanos()),
        });
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            // A signal counts as a timeout: the caller decides whether to wait again.
            Ok(0) | Err(Errno::INTR) => Ok(false),
            Ok(_) => self.drain(),
            Err(e) => Err(Error::os(&self.path, e)),
        }
    }

    /// Takes the pending pokes without waiting; true if there was one. For callers that poll the descriptor.
    pub fn drain(&self) -> Result<bool> {
        let mut some = false;
        loop {
            match rustix::io::read(&self.fd, &mut [0; 4096]) {
                // A short read has emptied the pipe; a later poke wakes the next wait.
                Ok(n) if n < 4096 => return Ok(some || n > 0),
                Ok(_) => some = true,
                Err(Errno::AGAIN) => return Ok(some),
                Err(Errno::INTR) => {}
                Err(e) => return Err(Error::os(&self.path, e)),
            }
        }
    }
}

impl AsFd for Poke {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Wakes the orchestrator of the run in `dir`; false if nobody listens, which is not an error.
pub fn poke(dir: &Path) -> Result<bool> {
    let Some(fd) = writer(dir)? else { return Ok(false) };
    match rustix::io::write(&fd, b"!") {
        // A full pipe holds more than enough pokes.
        Ok(_) | Err(Errno::AGAIN) => Ok(true),
        Err(Errno::PIPE) => Ok(false),
        Err(e) => Err(Error::os(&dir.join(NAME), e)),
    }
}

/// Whether an orchestrator listens in `dir`; asking does not wake it.
pub fn is_live(dir: &Path) -> Result<bool> {
    Ok(writer(dir)?.is_some())
}

fn writer(dir: &Path) -> Result<Option<OwnedFd>> {
    let path = dir.join(NAME);
    match open(&path, OFlags::WRONLY)? {
        Ok(fd) => Ok(Some(fd)),
        // Opening a FIFO for writing without waiting fails with `NXIO` when nobody has it open for reading: the run
        // is not live.
        Err(Errno::NXIO | Errno::NOENT) => Ok(None),
        Err(e) => Err(Error::os(&path, e)),
    }
}

/// Opens the FIFO without waiting; the outer error is a file that is not a FIFO.
///
/// The flags keep whatever stands there from stopping this process: no link is followed, no other end is waited for,
/// and no terminal becomes ours.
fn open(path: &Path, access: OFlags) -> Result<std::result::Result<OwnedFd, Errno>> {
    let flags = access | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    let fd = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(e) => return Ok(Err(e)),
    };
    let stat = rustix::fs::fstat(&fd).map_err(|e| Error::os(path, e))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Fifo {
        return Err(Error::Strange { path: path.to_owned(), detail: "not a FIFO".to_owned() });
    }
    Ok(Ok(fd))
}
