//! What can go wrong with a journal: one variant per different reaction, and never a bare SQLite error.
//!
//! Callers map these variants to exit codes and hints. A code of SQLite or of the operating system that calls for the
//! same reaction as another one is sorted into the same variant here.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rusqlite::ffi;
use rustix::io::Errno;

/// The result of a journal operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a journal operation failed.
///
/// Each message names the path, and every variant that a person can do something about ends with a hint.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no journal: the run does not exist, or died before its first row.
    #[error("no journal in {}\nhint: check the run id, or start a new run", path.display())]
    Missing {
        /// The directory of the run.
        path: PathBuf,
    },
    /// `create` found a journal already there.
    #[error("{} has a journal already\nhint: resume that run, or use another run id", path.display())]
    Exists {
        /// The directory of the run.
        path: PathBuf,
    },
    /// Another process is executing this run.
    #[error("{} is in use by {}\nhint: watch or cancel that run, or wait until it ends", path.display(), holder(*pid))]
    Locked {
        /// The directory of the run.
        path: PathBuf,
        /// The process that holds the lock, if it wrote its id.
        pid: Option<u32>,
    },
    /// The journal was written by a newer Tribunal.
    #[error("{} is a journal of version {found}, this program knows {known}\nhint: update tribunal", path.display())]
    Newer {
        /// The path of the journal file.
        path: PathBuf,
        /// The version found in the file.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// The file is damaged, or is not a journal at all.
    #[error("{} is damaged: {detail}\nhint: keep a copy of the directory, then restore it from a backup or start a new run", path.display())]
    Corrupt {
        /// The path of the journal file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The directory or the file cannot be written.
    #[error("{} cannot be written\nhint: check its owner, its permissions and the mount", path.display())]
    ReadOnly {
        /// The file or directory that cannot be written.
        path: PathBuf,
    },
    /// There is no space left for the journal.
    #[error("no space left for {}\nhint: free some space (tribunal gc removes old runs), then give the same command again", path.display())]
    DiskFull {
        /// The path of the journal file.
        path: PathBuf,
    },
    /// Another process held the database for too long.
    #[error("{} stayed busy\nhint: look for a stopped tribunal process or an open SQL shell, then try again", path.display())]
    Busy {
        /// The path of the journal file.
        path: PathBuf,
    },
    /// A symlink or another kind of file stands where one of ours should be.
    #[error("{} is not what it should be: {detail}\nhint: remove it; tribunal follows no symlink there", path.display())]
    Strange {
        /// The path where the wrong kind of file stands.
        path: PathBuf,
        /// What kind of file it is.
        detail: String,
    },
    /// An earlier append failed, so memory may be ahead of the disk.
    ///
    /// Only a restart helps: the process has to fold the journal again to learn what is on disk.
    #[error("{} takes no more rows after an earlier failure: {cause}\nhint: resume the run, it continues from what is on disk", path.display())]
    Poisoned {
        /// The path of the journal file.
        path: PathBuf,
        /// The message of the first failure.
        cause: String,
    },
    /// A row or message was not acceptable (not JSON, out of order, out of range).
    #[error("{} refused a row: {detail}", path.display())]
    Refused {
        /// The path of the journal file.
        path: PathBuf,
        /// Why the row was refused.
        detail: String,
    },
    /// A failure that a simulation asked for.
    #[error("injected failure")]
    Injected,
    /// The operating system failed in a way that has no reaction of its own.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path of the file concerned.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// SQLite failed in a way that has no reaction of its own.
    #[error("{}: {detail}", path.display())]
    Failed {
        /// The path of the journal file.
        path: PathBuf,
        /// The message that SQLite gave.
        detail: String,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl Error {
    /// Sorts a SQLite error into the reactions above.
    pub(crate) fn sql(path: &Path, error: &rusqlite::Error) -> Error {
        let (path, detail) = (path.to_owned(), error.to_string());
        let code = error.sqlite_error().map(|e| (e.code, e.extended_code));
        match code {
            Some((ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _)) => {
                Error::Corrupt { path, detail }
            }
            // Growing the shared index of the log has an I/O code of its own when the disk is full.
            Some((ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE)) => Error::DiskFull { path },
            // The file ends in the middle of a page that its header promises.
            Some((_, ffi::SQLITE_IOERR_SHORT_READ)) => Error::Corrupt { path, detail },
            Some((_, ffi::SQLITE_CANTOPEN_SYMLINK)) => {
                Error::Strange { path, detail: "a symlink".to_owned() }
            }
            Some((ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _)) => Error::ReadOnly { path },
            Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => Error::Busy { path },
            // The triggers and checks of the schema speak through this code: a row out of order or a body that is not
            // JSON.
            Some((ErrorCode::ConstraintViolation | ErrorCode::TooBig, _)) => Error::Refused { path, detail },
            _ => Error::Failed { path, detail },
        }
    }

    /// Sorts an error of the operating system into the reactions above.
    pub(crate) fn os(path: &Path, error: impl Into<io::Error>) -> Error {
        let (path, source) = (path.to_owned(), error.into());
        match Errno::from_io_error(&source) {
            Some(Errno::NOENT | Errno::NOTDIR) => Error::Missing { path },
            Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => Error::ReadOnly { path },
            Some(Errno::NOSPC | Errno::DQUOT) => Error::DiskFull { path },
            // `O_NOFOLLOW` gives this for a link; a real loop of links is just as unwanted.
            Some(Errno::LOOP) => Error::Strange { path, detail: "a symlink".to_owned() },
            _ => Error::Io { path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sqlite_code_has_its_reaction() {
        let check = |code, expect: &str| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let debug = format!("{:?}", Error::sql(Path::new("x"), &error));
            assert!(debug.starts_with(expect), "{code}: {debug}");
        };
        check(ffi::SQLITE_CORRUPT, "Corrupt");
        check(ffi::SQLITE_CORRUPT_INDEX, "Corrupt");
        check(ffi::SQLITE_NOTADB, "Corrupt");
        check(ffi::SQLITE_IOERR_SHORT_READ, "Corrupt");
        check(ffi::SQLITE_FULL, "DiskFull");
        check(ffi::SQLITE_IOERR_SHMSIZE, "DiskFull");
        check(ffi::SQLITE_READONLY_DIRECTORY, "ReadOnly");
        check(ffi::SQLITE_PERM, "ReadOnly");
        check(ffi::SQLITE_BUSY, "Busy");
        check(ffi::SQLITE_BUSY_SNAPSHOT, "Busy");
        check(ffi::SQLITE_CONSTRAINT_CHECK, "Refused");
        check(ffi::SQLITE_TOOBIG, "Refused");
        check(ffi::SQLITE_CANTOPEN_SYMLINK, "Strange");
        check(ffi::SQLITE_IOERR_FSYNC, "Failed");
        check(ffi::SQLITE_NOMEM, "Failed");
    }

    #[test]
    fn every_system_error_has_its_reaction() {
        let check = |errno: Errno, expect: &str| {
            let debug = format!("{:?}", Error::os(Path::new("x"), errno));
            assert!(debug.starts_with(expect), "{errno:?}: {debug}");
        };
        check(Errno::NOENT, "Missing");
        check(Errno::ROFS, "ReadOnly");
        check(Errno::ACCESS, "ReadOnly");
        check(Errno::NOSPC, "DiskFull");
        check(Errno::LOOP, "Strange");
        check(Errno::IO, "Io");
    }
}
