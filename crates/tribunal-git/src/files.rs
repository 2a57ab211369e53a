//! The few file operations that need care: atomic writes, and reading files that an agent may have tampered with.
//!
//! Nothing here follows a symbolic link inside an agent's tree. Walk such a tree with `open_dir` and `open_dir_at`,
//! name by name: a check of the whole path beforehand would be void as soon as a folder is swapped for a link.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

use crate::GitError;

static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A name that no other call uses, in this process or in another.
pub(crate) fn unique(stem: &str) -> String {
    format!("{stem}.{}.{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed))
}

/// Replaces a file as a whole and durably.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    tribunal_process::write_atomic(path, bytes).map_err(GitError::io(path))
}

/// Opens a directory that must not be a link.
pub(crate) fn open_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory inside another one. A link is refused, and `name` must be a single part.
pub(crate) fn open_dir_at(dir: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(dir, name, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Reads a regular file in a directory, up to `cap` bytes; links, pipes and devices are refused.
///
/// The kind and size are taken from the opened file and not from its name, which the agent could meanwhile have given
/// to something else.
pub(crate) fn read_at(dir: &OwnedFd, name: &[u8], cap: u64) -> std::io::Result<Vec<u8>> {
    // Without NONBLOCK, opening a pipe an agent left there would wait for a writer for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > cap {
        return Err(std::io::Error::other("not a regular file of bearable size"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    file.take(cap).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of Tribunal's own. Anything else in its place, above all a link, is refused.
pub(crate) fn read_own(path: &Path) -> std::io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    if !file.metadata()?.is_file() {
        return Err(rustix::io::Errno::LOOP.into());
    }
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The names in a directory, sorted, without `.` and `..`. More than `max` of them is an error.
pub(crate) fn names(dir: &OwnedFd, max: usize) -> std::io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
        // The limit is checked while reading, so a directory with millions of entries costs no memory.
        if names.len() > max {
            return Err(std::io::Error::other("too many entries"));
        }
    }
    names.sort();
    Ok(names)
}
