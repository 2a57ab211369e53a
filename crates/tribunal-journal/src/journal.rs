//! The one writer of a run's journal. It holds the run's lock as long as it lives; after a failed append it takes
//! no other, so that what the orchestrator believes is never ahead of the disk unnoticed.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Error, Result};
use crate::fault::{Faults, Inject};
use crate::lock::RunLock;
use crate::mail::{self, Letter, Mail, Posted};
use crate::rows::{self, End, Head, RowRef, Turn, integer};
use crate::schema;
use crate::store::{self, FILE, Options};

/// The journal of a run, open for appending.
pub struct Journal {
    // The connection is closed before the lock is given back: fields are dropped in this order.
    db: Connection,
    lock: Option<RunLock>,
    path: PathBuf,
    head: Head,
    end: End,
    poisoned: Option<String>,
    faults: Faults,
    options: Options,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("path", &self.path).field("end", &self.end).finish_non_exhaustive()
    }
}

impl Journal {
    /// Begins a new run in `dir`, which is made where it is missing.
    pub fn create(dir: &Path, head: &Head) -> Result<Journal> {
        Journal::create_with(dir, head, Options::default())
    }

    /// Begins a new run, with options.
    pub fn create_with(dir: &Path, head: &Head, options: Options) -> Result<Journal> {
        store::make(dir)?;
        let dir = store::real(dir)?;
        let lock = RunLock::take(&dir)?;
        let path = dir.join(FILE);
        // A file without a schema is a creation that died; this one completes it.
        store::exists(&path)?;
        let mut db = store::write(&path, options, true)?;
        if schema::version(&db, &path)?.is_some() {
            return Err(Error::Exists { path: dir });
        }
        schema::begin(&mut db, &path, head)?;
        if options.synchronous == store::Synchronous::Full {
            store::sync(&dir)?;
            dir.parent().map_or(Ok(()), store::sync)?;
        }
        Journal::over(db, Some(lock), path, options)
    }

    /// Opens the journal of an existing run, takes its lock, and brings it to the newest version.
    pub fn open(dir: &Path) -> Result<Journal> {
        Journal::open_with(dir, Options::default())
    }

    /// Opens the journal of an existing run, with options.
    pub fn open_with(dir: &Path, options: Options) -> Result<Journal> {
        let dir = store::real(dir)?;
        let path = dir.join(FILE);
        if !store::exists(&path)? {
            return Err(Error::Missing { path: dir });
        }
        let lock = RunLock::take(&dir)?;
        let mut db = store::write(&path, options, false)?;
        let Some(version) = schema::version(&db, &path)? else { return Err(Error::Missing { path: dir }) };
        schema::migrate(&mut db, &path, version)?;
        Journal::over(db, Some(lock), path, options)
    }

    /// A journal in memory, without lock and file, for simulations.
    pub fn in_memory(head: &Head) -> Result<Journal> {
        let path = PathBuf::from(":memory:");
        let mut db = store::memory()?;
        schema::begin(&mut db, &path, head)?;
        Journal::over(db, None, path, Options { synchronous: store::Synchronous::Off })
    }

    /// The same journal as after a restart of the process: what is committed, not poisoned, without faults.
    pub fn reopen(self) -> Result<Journal> {
        let Journal { db, lock, path, options, .. } = self;
        if lock.is_none() {
            return Journal::over(db, None, path, options);
        }
        drop(db);
        drop(lock);
        Journal::open_with(path.parent().unwrap_or(&path), options)
    }

    fn over(db: Connection, lock: Option<RunLock>, path: PathBuf, options: Options) -> Result<Journal> {
        let (head, end) = (rows::head(&db, &path)?, rows::end(&db, &path)?);
        Ok(Journal { db, lock, path, head, end, poisoned: None, faults: Faults::default(), options })
    }

    /// Which run this is.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The last row's place; 0 in an empty journal.
    pub fn last_seq(&self) -> u64 {
        self.end.seq
    }

    /// The last row's turn; 0 in an empty journal.
    pub fn last_turn(&self) -> u64 {
        self.end.turn
    }

    /// Appends turns, all or none, and returns the last row's place. When it returns they are on disk.
    ///
    /// After an error it is not known whether they are: the journal then takes no more, and the run goes on
    /// from what a fresh `open` finds.
    pub fn append(&mut self, turns: &[Turn<'_>]) -> Result<u64> {
        self.append_reading(turns, &[])
    }

    /// Appends turns and, in the same transaction, marks the letters they come from as consumed.
    pub fn append_reading(&mut self, turns: &[Turn<'_>], letters: &[u64]) -> Result<u64> {
        if let Some(cause) = &self.poisoned {
            return Err(Error::Poisoned { path: self.path.clone(), cause: cause.clone() });
        }
        match self.attempt(turns, letters) {
            Ok(end) => {
                self.end = end;
                Ok(end.seq)
            }
            Err(e) => {
                self.poisoned = Some(e.to_string());
                Err(e)
            }
        }
    }

    /// One transaction, with the fault that a simulation may have asked for.
    fn attempt(&mut self, turns: &[Turn<'_>], letters: &[u64]) -> Result<End> {
        if letters.is_empty() && turns.iter().all(|turn| turn.rows.is_empty()) {
            return Ok(self.end);
        }
        let fault = self.faults.next();
        if fault == Some(Inject::FailBefore) {
            return Err(Error::Injected);
        }
        let path = &self.path;
        let sql = |e| Error::sql(path, &e);
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let end = insert(&tx, path, self.end, turns)?;
        mail::done(&tx, letters).map_err(sql)?;
        if fault == Some(Inject::DiskFull) {
            return Err(Error::DiskFull { path: path.clone() });
        }
        tx.commit().map_err(sql)?;
        if fault == Some(Inject::FailAfter) { Err(Error::Injected) } else { Ok(end) }
    }

    /// Calls `f` with every row from `from_seq` on, in order; the text is borrowed for the call.
    pub fn each<E: From<Error>>(
        &self,
        from_seq: u64,
        f: impl FnMut(RowRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        rows::each(&self.db, &self.path, from_seq, f)
    }

    /// The letters not yet consumed, in order of arrival.
    pub fn mail(&self) -> Result<Vec<Mail>> {
        mail::list(&self.db, &self.path, true)
    }

    /// Marks letters as consumed that led to no turn.
    pub fn mail_done(&mut self, letters: &[u64]) -> Result<()> {
        self.append_reading(&[], letters).map(|_| ())
    }

    /// Posts a letter through this connection, for a question answered in the orchestrator itself.
    pub fn post(&mut self, letter: &Letter) -> Result<Posted> {
        mail::put(&mut self.db, &self.path, letter)
    }

    /// Lets appends fail as the plan says for the n-th of them (from 0, counted from now). For simulations.
    pub fn inject(&mut self, plan: impl FnMut(u64) -> Option<Inject> + Send + 'static) {
        self.faults.set(Box::new(plan));
    }
}

/// Inserts the rows of all turns after `end` and returns the new end.
fn insert(db: &Connection, path: &Path, mut end: End, turns: &[Turn<'_>]) -> Result<End> {
    let sql = |e| Error::sql(path, &e);
    let mut statement = db
        .prepare_cached(
            "INSERT INTO events (seq, turn, at, machine, kind, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .map_err(sql)?;
    for turn in turns.iter().filter(|turn| !turn.rows.is_empty()) {
        end.turn += 1;
        let (number, at) = (integer(path, end.turn)?, integer(path, turn.at)?);
        for row in turn.rows {
            end.seq += 1;
            statement
                .execute((integer(path, end.seq)?, number, at, row.of, row.kind, row.body))
                .map_err(sql)?;
        }
    }
    Ok(end)
}
