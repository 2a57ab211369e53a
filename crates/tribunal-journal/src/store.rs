//! Opening the database file: flags, settings, symlinks. It never follows a symlink in the run's directory.
//!
//! Nothing here opens the database file except through SQLite. Closing any other descriptor of the file would drop
//! the POSIX locks that SQLite holds on it in this process.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};

/// The journal's file name in the run's directory.
pub const FILE: &str = "journal.db";

/// How long a connection waits for the transaction of another one. Transactions last milliseconds, so this is for a
/// machine that swaps or sleeps.
const PATIENCE: Duration = Duration::from_secs(20);

/// How to open a journal. Everything but a simulation uses the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// When appended rows have to be on disk.
    pub synchronous: Synchronous,
}

/// When appended rows have to be on disk.
///
/// The orchestrator starts an effect only after its intent is in the journal. With anything less than `Full`, a power
/// cut could lose the intent of something that has already happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Before `append` returns: rows survive a power cut.
    #[default]
    Full,
    /// Whenever the system likes: rows survive a crash of the process only. For simulations.
    Off,
}

/// The directory as a path without symlinks. The directory itself must not be a symlink either.
///
/// The parents may be: a home or a project can lie behind a link. SQLite refuses any link in the path it gets, so the
/// path is resolved here.
pub(crate) fn real(dir: &Path) -> Result<PathBuf> {
    let found = std::fs::symlink_metadata(dir).map_err(|e| Error::os(dir, e))?;
    if !found.is_dir() {
        return Err(Error::Strange { path: dir.to_owned(), detail: "not a directory".to_owned() });
    }
    dir.canonicalize().map_err(|e| Error::os(dir, e))
}

/// Creates the directory if it is missing, readable by its owner alone.
pub(crate) fn make(dir: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    match made.as_ref().map_err(Errno::from_io_error) {
        // `real` examines what stands there.
        Err(Some(Errno::EXIST)) | Ok(()) => Ok(()),
        Err(_) => made.map_err(|e| Error::os(dir, e)),
    }
}

/// Makes the names in the directory as durable as the files.
pub(crate) fn sync(dir: &Path) -> Result<()> {
    let synced = std::fs::File::open(dir).and_then(|d| d.sync_all());
    synced.map_err(|e| Error::os(dir, e))
}

/// Whether the journal file is there. Anything but a regular file is an error.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(Error::Strange { path: path.to_owned(), detail: "not a regular file".to_owned() }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::os(path, e)),
    }
}

/// Opens the file for writing, creating it if `create` is set.
pub(crate) fn write(path: &Path, options: Options, create: bool) -> Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | base();
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let db = Connection::open_with_flags(path, flags).map_err(|e| open_error(path, &e))?;
    // SQLite falls back to read-only without an error when it may not write the file.
    if db.is_readonly(rusqlite::MAIN_DB).map_err(|e| Error::sql(path, &e))? {
        return Err(Error::ReadOnly { path: path.to_owned() });
    }
    settle(&db, options).map_err(|e| open_error(path, &e))?;
    Ok(db)
}

/// Opens an empty database that exists in memory only.
pub(crate) fn memory() -> Result<Connection> {
    let open = || {
        let db = Connection::open_in_memory()?;
        settle(&db, Options { synchronous: Synchronous::Off })?;
        Ok(db)
    };
    open().map_err(|e| Error::sql(Path::new(":memory:"), &e))
}

/// Opens the file for reading, even in a directory that cannot be written.
///
/// Reading a WAL database normally creates the log's index beside it. Where that is impossible, a finished journal is
/// opened as immutable; one with an unfinished log is refused, because its last turns would be missing.
pub(crate) fn read(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | base();
    let live = || {
        let db = Connection::open_with_flags(path, flags)?;
        calm(&db)?;
        // Opening is lazy. This first look at the file is what fails if the log's index cannot be made.
        db.pragma_query_value(None, "schema_version", |_| Ok(()))?;
        Ok(db)
    };
    match live() {
        Ok(db) => Ok(db),
        Err(e) if sealed(path, &e) => {
            // Only here: a path that is read as a URI could carry options in its name, so ordinary opening never does
            // that.
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            let db = Connection::open_with_flags(uri(path), flags).map_err(|e| open_error(path, &e))?;
            calm(&db).map_err(|e| Error::sql(path, &e))?;
            Ok(db)
        }
        Err(e) => Err(open_error(path, &e)),
    }
}

/// Whether this is a finished journal in a directory that cannot be written, with no log beside it whose rows would
/// be missed.
fn sealed(path: &Path, error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
        && std::fs::symlink_metadata(path).is_ok_and(|m| m.is_file())
        && std::fs::symlink_metadata(log).map_or(true, |m| m.len() == 0)
}

/// The file as a URI that promises SQLite that nobody changes it.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            // Everything else is escaped: a `?` or `#` in a directory name would end the path and begin options.
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            b if b.is_ascii_alphanumeric() => uri.push(char::from(*b)),
            b => uri.push_str(&format!("%{b:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// Flags of every connection. `NO_MUTEX` is safe because a connection is used by one thread at a time.
fn base() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_EXRESCODE
}

/// Settings of every connection: small, patient, suspicious.
///
/// The file on disk is not trusted. Its schema may not call functions with side effects, and a damaged cell is an
/// error instead of a wrong answer.
fn calm(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(PATIENCE)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // The orchestrator needs the memory: 2 MB of pages, and no mapping that would count as ours.
    db.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -2048; PRAGMA mmap_size = 0;",
    )
}

/// Settings of a writing connection.
fn settle(db: &Connection, options: Options) -> rusqlite::Result<()> {
    calm(db)?;
    // 1000 pages (4 MB) of log between checkpoints keep the log short and each checkpoint too quick to notice.
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 8388608;",
    )?;
    db.execute_batch(match options.synchronous {
        Synchronous::Full => "PRAGMA synchronous = FULL;",
        Synchronous::Off => "PRAGMA synchronous = OFF;",
    })
}

/// Classifies an error of opening: SQLite's "cannot open" has a cause that it does not report.
fn open_error(path: &Path, error: &rusqlite::Error) -> Error {
    match (Error::sql(path, error), error.sqlite_error_code()) {
        (Error::Failed { detail, .. }, Some(ErrorCode::CannotOpen)) => match exists(path) {
            Ok(false) => Error::Missing { path: path.to_owned() },
            Ok(true) => writable(path, detail),
            Err(e) => e,
        },
        (e, _) => e,
    }
}

/// Classifies a file that exists and cannot be opened: missing permissions, or something else.
fn writable(path: &Path, detail: String) -> Error {
    let rights = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
    let dir = path.parent().unwrap_or(path);
    match rustix::fs::access(path, rights).and_then(|()| rustix::fs::access(dir, rights)) {
        Ok(()) => Error::Failed { path: path.to_owned(), detail },
        Err(e) => Error::os(path, e),
    }
}
