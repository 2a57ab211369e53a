//! Waiting without polling. A gate is a named pipe until it is opened and a plain file afterwards, so launches that
//! come later do not wait. No order of arrival loses a wake-up.
//!
//! Tests use gates instead of pauses, so that none of them depends on how fast the machine is.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// Opens a gate: every agent that waits for this file goes on, and agents that come later do not wait.
pub fn open_gate(path: &Path) -> io::Result<()> {
    make_pipe(path)?;
    // Open both ends: opening a pipe for writing alone would wait for a reader.
    let pipe = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let mut part = path.as_os_str().to_owned();
    // Several processes may open the same gate at once, and in separate namespaces they have the same thread ids.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    part.push(format!(".{}.{}.part", rustix::thread::gettid().as_raw_nonzero(), now.as_nanos()));
    std::fs::write(&part, b"")?;
    std::fs::rename(&part, path)?;
    // Whoever opened the pipe before the plain file took its place finds this byte, and nobody takes it out.
    rustix::io::write(&pipe, b"\n")?;
    Ok(())
}

/// Waits until the gate is open. Makes the gate if it does not exist.
pub(super) fn at_gate(path: &Path) -> io::Result<()> {
    make_pipe(path)?;
    let gate = rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let found = rustix::fs::fstat(&gate)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Fifo {
        return Ok(());
    }
    // If the file was replaced between these calls, the gate is open and the pipe in hand is a leftover.
    let now = rustix::fs::stat(path)?;
    if (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino) {
        // A writer that came and went also wakes us, so `: > gate` in a shell opens the gate as well.
        poll(&mut [PollFd::new(&gate, PollFlags::IN)], None)?;
        open_gate(path)?;
    }
    Ok(())
}

fn make_pipe(path: &Path) -> io::Result<()> {
    match rustix::fs::mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits for a span of time, in the kernel.
pub(super) fn pause(ms: u32) -> io::Result<()> {
    let time = Timespec { tv_sec: i64::from(ms / 1000), tv_nsec: i64::from(ms % 1000) * 1_000_000 };
    poll(&mut [], Some(&time))?;
    Ok(())
}

/// Waits for ever, without using the processor.
pub(super) fn for_ever() -> ! {
    loop {
        // Interrupted or not, there is nothing else to do.
        let _ = poll(&mut [], None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn no_order_of_arrival_loses_a_wake_up() {
        let folder = tempfile::tempdir().unwrap();
        for turn in 0..200 {
            let gate = folder.path().join(turn.to_string());
            let start = Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        start.wait();
                        at_gate(&gate).unwrap();
                    });
                }
                start.wait();
                open_gate(&gate).unwrap();
            });
            assert!(gate.is_file());
        }
    }
}
