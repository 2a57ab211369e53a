//! State files of the planning folder: read whole, written whole or not at all, appended line by line, locked by the
//! operating system.
//!
//! Every folder on the way is opened without following a link. An agent that replaces a folder by a link could
//! otherwise make us write anywhere.

use crate::ProtocolError;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, mkdirat, openat, renameat, unlinkat};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest state file that is read.
const BYTES_MAX: u64 = 1 << 30;

/// Whether a file must be on the disk before the call returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flush {
    Yes,
    No,
}

/// A folder that holds state files.
///
/// Scripts of the protocol read and write the same files, so every change is atomic or under a lock.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The state of a planning folder. The folder is created when something is written.
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into() }
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The bytes of a file; none if it does not exist.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, ProtocolError> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let read = file.take(BYTES_MAX).read_to_end(&mut bytes);
        read.map(|_| Some(bytes)).map_err(ProtocolError::io("read", &self.path(name)))
    }

    /// Opens a file for reading; none if it does not exist.
    pub fn open(&self, name: &str) -> Result<Option<File>, ProtocolError> {
        let path = self.path(name);
        let (dir, last) = match self.dir_of(name, false) {
            Err(ProtocolError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        // Without `NONBLOCK` a pipe in the file's place would block us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match openat(&dir, last, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(ProtocolError::io("read", &path)(error.into())),
        };
        match file.metadata() {
            Ok(meta) if meta.is_file() => Ok(Some(file)),
            Ok(_) => Err(ProtocolError::io("read", &path)(std::io::Error::other("it is not a file"))),
            Err(error) => Err(ProtocolError::io("read", &path)(error)),
        }
    }

    /// Replaces a file as a whole: it is written under another name and then renamed.
    ///
    /// A reader finds the old file or the new one. It is not flushed: these files can be made again, and after a power
    /// loss the old one may be back. An equal file is left alone, so its times do not change.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ProtocolError> {
        if self.read(name).is_ok_and(|there| there.as_deref() == Some(bytes)) {
            return Ok(());
        }
        self.replace(name, bytes, Flush::No)
    }

    /// Like `write`, but the new file is on the disk when this returns.
    pub fn write_flushed(&self, name: &str, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.replace(name, bytes, Flush::Yes)
    }

    fn replace(&self, name: &str, bytes: &[u8], flush: Flush) -> Result<(), ProtocolError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let path = self.path(name);
        let (dir, last) = self.dir_of(name, true)?;
        // The process id and a counter: two writers never share a temporary file.
        let beside = format!(".{last}.{}.{}.new", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A half-written file of a dead process lies with the events, where no user keeps files.
        let room = self.dir_of(".events/x", false).ok().map(|(room, _)| room);
        let room = room.as_ref().unwrap_or(&dir);
        let write = || -> std::io::Result<()> {
            let _ = unlinkat(room, &beside, AtFlags::empty());
            let mut file = File::from(openat(room, &beside, flags, Mode::from_raw_mode(0o644))?);
            file.write_all(bytes)?;
            if flush == Flush::Yes {
                file.sync_all()?;
            }
            renameat(room, &beside, &dir, last)?;
            // The rename itself is durable only once its folder is.
            if flush == Flush::Yes {
                rustix::fs::fsync(&dir)?;
            }
            Ok(())
        };
        write().map_err(|source| {
            let _ = unlinkat(room, &beside, AtFlags::empty());
            ProtocolError::io("write", &path)(source)
        })
    }

    /// Removes a file. A file that does not exist counts as removed.
    pub fn remove(&self, name: &str) -> Result<(), ProtocolError> {
        let (dir, last) = match self.dir_of(name, false) {
            Err(ProtocolError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        match unlinkat(&dir, last, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(ProtocolError::io("remove", &self.path(name))(error.into())),
        }
    }

    /// Adds one line in one write, so that lines of several writers never mix.
    pub fn append(&self, name: &str, line: &str) -> Result<(), ProtocolError> {
        let path = self.path(name);
        let (dir, last) = self.dir_of(name, true)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let append = || -> std::io::Result<()> {
            let file = File::from(openat(&dir, last, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o644))?);
            if !file.metadata()?.is_file() {
                return Err(std::io::Error::other("it is not a file"));
            }
            flock(&file, FlockOperation::LockExclusive)?;
            // A writer that died in the middle of a line must not spoil this one.
            let torn = !ends_with_newline(&file)?;
            let text = format!("{}{}\n", if torn { "\n" } else { "" }, line.replace('\n', " "));
            (&file).write_all(text.as_bytes())
        };
        append().map_err(ProtocolError::io("write", &path))
    }

    /// Waits for the lock of this name. It is held until the result is dropped or the process ends.
    pub fn lock(&self, name: &str) -> Result<OwnedFd, ProtocolError> {
        let path = self.path(name);
        let (dir, last) = self.dir_of(name, true)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = || -> std::io::Result<OwnedFd> {
            let fd = openat(&dir, last, flags, Mode::from_raw_mode(0o644))?;
            loop {
                match flock(&fd, FlockOperation::LockExclusive) {
                    // A signal must not look like a lock that cannot be had.
                    Err(rustix::io::Errno::INTR) => {}
                    other => return Ok(other.map(|()| fd)?),
                }
            }
        };
        lock().map_err(ProtocolError::io("lock", &path))
    }

    /// Opens the folder of a name, part by part, and returns it with the last part.
    fn dir_of<'a>(&self, name: &'a str, make: bool) -> Result<(OwnedFd, &'a str), ProtocolError> {
        // Names come from plans, which an agent may have written.
        let good = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
        let mut parts: Vec<&str> = name.split('/').collect();
        if !parts.iter().all(|part| good(part)) {
            return Err(ProtocolError::BadName { name: name.to_owned() });
        }
        let last = parts.pop().unwrap_or_default();
        let mut at = self.path.clone();
        let mut dir = open_top(&self.path, make).map_err(|error| refused(&at, error))?;
        for part in parts {
            at.push(part);
            dir = step(dir.as_fd(), part, make).map_err(|error| refused(&at, error))?;
        }
        Ok((dir, last))
    }
}

/// Why a folder could not be opened. A link is named as one.
fn refused(path: &Path, error: std::io::Error) -> ProtocolError {
    match path.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
        true => ProtocolError::Linked { path: path.to_owned() },
        false => ProtocolError::io("open", path)(error),
    }
}

fn ends_with_newline(file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == *b"\n")
}

/// Opens the folder itself. Its parent is the user's own; its last part is not followed.
fn open_top(path: &Path, make: bool) -> std::io::Result<OwnedFd> {
    let (parent, name) = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => (parent, name),
        _ => (path, std::ffi::OsStr::new(".")),
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let above = openat(CWD, parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    step(above.as_fd(), name, make)
}

fn step(dir: impl AsFd, part: impl AsRef<std::ffi::OsStr>, make: bool) -> std::io::Result<OwnedFd> {
    let part = part.as_ref();
    if make {
        match mkdirat(&dir, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&dir, part, flags, Mode::empty())?)
}
