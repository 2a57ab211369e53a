//! Reading a journal that another process may be writing.
//!
//! A reader never takes the run's lock, never makes the writer wait, never writes, and sees whole turns only. So any
//! number of commands can look at a live run without being able to harm it.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::mail::{self, Mail};
use crate::rows::{self, Head, RowRef};
use crate::store::{self, FILE};
use crate::{schema, verify};

/// The journal of a run, open for reading.
///
/// To follow a live run, remember the last sequence number, call `changed` now and then, and read on from there with
/// `each`.
#[derive(Debug)]
pub struct Reader {
    db: Connection,
    path: PathBuf,
    head: Head,
    // In a cell, so that `changed` needs no exclusive borrow of a reader that other code shares.
    seen: Cell<Option<i64>>,
}

impl Reader {
    /// Opens the journal in `dir`, whether its writer lives or not.
    pub fn open(dir: &Path) -> Result<Reader> {
        let dir = store::real(dir)?;
        let path = dir.join(FILE);
        if !store::exists(&path)? {
            return Err(Error::Missing { path: dir });
        }
        let db = store::read(&path)?;
        if schema::version(&db, &path)?.is_none() {
            return Err(Error::Missing { path: dir });
        }
        let head = rows::head(&db, &path)?;
        Ok(Reader { db, path, head, seen: Cell::new(None) })
    }

    /// Which run this journal belongs to.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The sequence number of the last row at this moment; 0 in an empty journal.
    pub fn last_seq(&self) -> Result<u64> {
        Ok(rows::end(&self.db, &self.path)?.seq)
    }

    /// Calls `f` with every row from `from_seq` on, in order, out of one snapshot; the text is borrowed for the call.
    ///
    /// Be quick in `f`: as long as the snapshot is open, the log beside the journal cannot shrink.
    pub fn each<E: From<Error>>(
        &self,
        from_seq: u64,
        f: impl FnMut(RowRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        rows::each(&self.db, &self.path, from_seq, f)
    }

    /// Whether anything was committed since the last call; true the first time.
    ///
    /// It costs microseconds, so a caller may poll it. It reads no rows.
    pub fn changed(&self) -> Result<bool> {
        let now: i64 = self
            .db
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut s| s.query_row([], |r| r.get(0)))
            .map_err(|e| Error::sql(&self.path, &e))?;
        Ok(self.seen.replace(Some(now)) != Some(now))
    }

    /// All messages, consumed or not, in order of arrival.
    pub fn mail(&self) -> Result<Vec<Mail>> {
        mail::list(&self.db, &self.path, false)
    }

    /// Runs SQLite's own check of the file; empty when it is sound.
    pub(crate) fn check(&self) -> Result<Vec<String>> {
        verify::quick_check(&self.db, &self.path)
    }
}
