//! Files that a person names on the command line. What is wrong with one is the person's to mend: it is told with the
//! name, with the flag it was given to, and with what the file should be. Nothing but a file is ever replaced.

use crate::failure::Failure;
use std::io::{Error, ErrorKind, Read, Write};
use std::path::Path;
use tribunal_world::write_atomic;

/// A file as it was given.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// Its name.
    pub path: &'a Path,
    /// The flag, where it has one.
    pub flag: Option<&'static str>,
    /// What to give instead.
    pub hint: &'static str,
}

impl Given<'_> {
    /// All that is in it; more than `max` bytes are refused.
    pub fn read(&self, max: u64) -> Result<Vec<u8>, Failure> {
        let failed = |error: Error| self.failed("read", &error);
        let file = std::fs::File::open(self.path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        whole(file, size, max).map_err(failed)?.ok_or_else(|| {
            Failure::usage(format!("{self} has more than {max} bytes, the most that is read")).hint(self.hint)
        })
    }

    /// Writes it: a file whole or not at all; a device or a pipe gets it as it stands. A link to a file is refused: who made
    /// it may not be who named it.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let write = || match std::fs::metadata(self.path) {
            Ok(meta) if meta.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(meta) if !meta.is_file() => {
                std::fs::OpenOptions::new().write(true).open(self.path)?.write_all(bytes)
            }
            _ if self.path.is_symlink() => Err(Error::other("it is a link; name what it leads to")),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => write_atomic(self.path, bytes),
        };
        write().map_err(|error| self.failed("write", &error))
    }

    /// It could not be read or written.
    pub fn failed(&self, doing: &str, error: &Error) -> Failure {
        let why = match error.kind() {
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

/// All there is to read; `None` when that is more than `max` bytes. What a file says of its size need not be true: a
/// device has none and never ends.
fn whole(from: impl Read, size: u64, max: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(max)).unwrap_or_default() + 1);
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
