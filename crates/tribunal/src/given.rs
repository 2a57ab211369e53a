//! Files that a person names on the command line. The message about such a file gives its name, the flag it was passed
//! to, and what the file should be. Only regular files are ever replaced.
//!
//! Errors here are usage errors (exit code 2), because the person who named the file can correct the name. Files that
//! Tribunal chooses itself do not belong here.

use crate::failure::Failure;
use std::io::{Error, ErrorKind, Read, Write};
use std::path::Path;
use tribunal_world::write_atomic;

/// A file named on the command line.
///
/// It carries its flag and a hint, so that every message about it tells the person which part of their command to
/// change.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub path: &'a Path,
    /// The flag the file was passed to; `None` for a positional argument.
    pub flag: Option<&'static str>,
    /// Tells the person what to pass instead.
    pub hint: &'static str,
}

impl Given<'_> {
    /// Reads the whole file, and refuses one of more than `max` bytes.
    pub fn read(&self, max: u64) -> Result<Vec<u8>, Failure> {
        let failed = |error: Error| self.failed("read", &error);
        let file = std::fs::File::open(self.path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        whole(file, size, max).map_err(failed)?.ok_or_else(|| {
            Failure::usage(format!("{self} has more than {max} bytes, the most that is read")).hint(self.hint)
        })
    }

    /// Writes the file whole or not at all; a device or a pipe gets the bytes as they are.
    ///
    /// A symbolic link to a file is refused: whoever made the link may not be the person who named it, and following it
    /// would replace a file that nobody asked to replace.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let write = || match std::fs::metadata(self.path) {
            Ok(meta) if meta.is_dir() => Err(ErrorKind::IsADirectory.into()),
            // A device or a pipe (`/dev/stdout`, process substitution) must be opened: renaming a new file over it
            // would replace the device itself.
            Ok(meta) if !meta.is_file() => {
                std::fs::OpenOptions::new().write(true).open(self.path)?.write_all(bytes)
            }
            // After the arm above, because `/dev/stdout` is a link too. `metadata` follows links, so a broken one
            // arrives here as `NotFound`.
            _ if self.path.is_symlink() => Err(Error::other("it is a link; name what it leads to")),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => write_atomic(self.path, bytes),
        };
        write().map_err(|error| self.failed("write", &error))
    }

    /// The failure to `doing` ("read" or "write") this file.
    pub fn failed(&self, doing: &str, error: &Error) -> Failure {
        let why = match error.kind() {
            // The system's words for this ("Is a directory (os error 21)") help nobody.
            ErrorKind::IsADirectory => "it is a folder".to_owned(),
            _ => error.to_string(),
        };
        Failure::usage(format!("cannot {doing} {self}: {why}")).hint(self.hint)
    }
}

impl std::fmt::Display for Given<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.flag.map_or(Ok(()), |flag| write!(f, ", given to {flag}"))
    }
}

/// Reads everything, or returns `None` if there are more than `max` bytes.
///
/// The size in a file's metadata is only a hint for the buffer: a device reports none and may never end.
fn whole(from: impl Read, size: u64, max: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(max)).unwrap_or_default() + 1);
    // One byte over the limit is enough to know that there is more.
    from.take(max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused() {
        assert!(matches!(whole(std::io::repeat(b'x'), 0, 100), Ok(None)));
        assert!(matches!(whole(&b"abc"[..], 0, 3), Ok(Some(bytes)) if bytes == b"abc"));
        assert!(matches!(whole(&b"abcd"[..], 4, 3), Ok(None)));
    }

    #[test]
    fn nothing_but_a_file_is_replaced() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str| Given { path: &at(name), flag: None, hint: "" }.write(b"new");
        std::fs::write(at("file"), "old and longer").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("nowhere", at("broken")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for (name, why) in
            [("folder", "it is a folder"), ("link", "it is a link"), ("broken", "it is a link")]
        {
            assert!(write(name).unwrap_err().message.contains(why), "{name}");
        }
        assert!(at("link").is_symlink() && at("broken").is_symlink());
        assert_eq!(std::fs::read(at("file")).unwrap(), b"old and longer");
        for name in ["file", "fresh"] {
            write(name).unwrap();
            assert_eq!(std::fs::read(at(name)).unwrap(), b"new");
        }
        // A pipe that somebody reads.
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        let reader = std::thread::spawn({
            let pipe = at("pipe");
            move || std::fs::read(pipe).unwrap()
        });
        write("pipe").unwrap();
        assert_eq!(reader.join().unwrap(), b"new");
        assert!(at("pipe").symlink_metadata().unwrap().file_type().is_fifo());
        let mut names: Vec<_> = folder.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(
            names,
            ["broken", "file", "folder", "fresh", "link", "pipe"],
            "nothing half written is left"
        );
    }
}
