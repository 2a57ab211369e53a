//! Files that a person names on the command line. What is wrong with one is the person's to mend: it is told with the
//! name, with the flag it was given to, and with what the file should be. Nothing is written here.

use crate::failure::Failure;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

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
}
