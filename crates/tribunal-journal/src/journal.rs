//! The one writer of a run's journal. It holds the run's lock for as long as it lives.
//!
//! After a failed append the writer refuses every later one. Nobody knows then whether the rows reached the disk, and
//! an orchestrator that went on would act on facts that a restart may not find.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Error, Result};
use crate::fault::{Faults, Inject};
use crate::lock::RunLock;
use crate::mail::{self, Mail, Message, Posted};
use crate::rows::{self, End, Head, RowRef, Turn, integer};
use crate::schema;
use crate::store::{self, FILE, Options};

/// The journal of a run, open for appending.
///
/// There is at most one per run, because opening it takes the run's lock. Use `Reader` to look at a run that another
/// process may be executing, and `post` to leave it a message.
pub struct Journal {
    // Fields are dropped in this order: the connection closes before the lock is released, so the next holder of the
    // lock never meets our open transaction.
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
    /// Begins a new run in `dir`, creating the directory if it is missing.
    pub fn create(dir: &Path, head: &Head) -> Result<Journal> {
        Journal::create_with(dir, head, Options::default())
    }

    /// Begins a new run with the given options.
    ///
    /// A creation that died halfway is completed by the next call. A directory with a finished journal is refused
    /// with `Error::Exists`, so that a reused run id cannot mix two histories.
    pub fn create_with(dir: &Path, head: &Head, options: Options) -> Result<Journal> {
        store::make(dir)?;
        // Resolved once, so that the lock and the journal surely lie in the same directory.
        let dir = store::real(dir)?;
        let lock = RunLock::take(&dir)?;
        let path = dir.join(FILE);
        // A file without a schema is a creation that died; this one completes it. The call is for its error: it
        // refuses anything but a regular file.
        store::exists(&path)?;
        let mut db = store::write(&path, options, true)?;
        if schema::version(&db, &path)?.is_some() {
            return Err(Error::Exists { path: dir });
        }
        schema::begin(&mut db, &path, head)?;
        // SQLite syncs the file but not the names that lead to it. After a power cut the whole run could be missing.
        if options.synchronous == store::Synchronous::Full {
            store::sync(&dir)?;
            dir.parent().map_or(Ok(()), store::sync)?;
        }
        Journal::over(db, Some(lock), path, options)
    }

    /// Opens the journal of an existing run, takes its lock and migrates it to the newest version.
    pub fn open(dir: &Path) -> Result<Journal> {
        Journal::open_with(dir, Options::default())
    }

    /// Opens the journal of an existing run with the given options.
    pub fn open_with(dir: &Path, options: Options) -> Result<Journal> {
        let dir = store::real(dir)?;
        let path = dir.join(FILE);
        if !store::exists(&path)? {
            return Err(Error::Missing { path: dir });
        }
        // Before the database: a migration must not begin while another orchestrator still writes.
        let lock = RunLock::take(&dir)?;
        let mut db = store::write(&path, options, false)?;
        // No schema means that the creating process died before its first commit. There is nothing to resume.
        let Some(version) = schema::version(&db, &path)? else { return Err(Error::Missing { path: dir }) };
        schema::migrate(&mut db, &path, version)?;
        Journal::over(db, Some(lock), path, options)
    }

    /// A journal in memory, without a lock or a file, for simulations.
    pub fn in_memory(head: &Head) -> Result<Journal> {
        let path = PathBuf::from(":memory:");
        let mut db = store::memory()?;
        schema::begin(&mut db, &path, head)?;
        Journal::over(db, None, path, Options { synchronous: store::Synchronous::Off })
    }

    /// Reopens the journal as a restarted process would find it: committed rows only, not poisoned, without injected
    /// faults.
    ///
    /// Simulations crash and resume with this call. A journal in memory keeps its connection, because closing it
    /// would lose the rows.
    pub fn reopen(self) -> Result<Journal> {
        let Journal { db, lock, path, options, .. } = self;
        if lock.is_none() {
            return Journal::over(db, None, path, options);
        }
        // In this order, as in `Drop`; and `open_with` below could not take the lock while this process still holds
        // it.
        drop(db);
        drop(lock);
        Journal::open_with(path.parent().unwrap_or(&path), options)
    }

    fn over(db: Connection, lock: Option<RunLock>, path: PathBuf, options: Options) -> Result<Journal> {
        let (head, end) = (rows::head(&db, &path)?, rows::end(&db, &path)?);
        Ok(Journal { db, lock, path, head, end, poisoned: None, faults: Faults::default(), options })
    }

    /// Which run this journal belongs to.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The sequence number of the last row; 0 in an empty journal.
    pub fn last_seq(&self) -> u64 {
        self.end.seq
    }

    /// The turn of the last row; 0 in an empty journal.
    pub fn last_turn(&self) -> u64 {
        self.end.turn
    }

    /// Appends turns, all or none, and returns the sequence number of the last row. The rows are on disk when it
    /// returns.
    ///
    /// After an error nobody knows whether they are. The journal then accepts no more rows, and the run continues
    /// from what a fresh `open` finds.
    pub fn append(&mut self, turns: &[Turn<'_>]) -> Result<u64> {
        self.append_reading(turns, &[])
    }

    /// Appends turns and, in the same transaction, marks the messages they come from as consumed.
    ///
    /// In two transactions a crash between them would either lose a message or deliver it twice.
    pub fn append_reading(&mut self, turns: &[Turn<'_>], messages: &[u64]) -> Result<u64> {
        if let Some(cause) = &self.poisoned {
            return Err(Error::Poisoned { path: self.path.clone(), cause: cause.clone() });
        }
        match self.attempt(turns, messages) {
            Ok(end) => {
                self.end = end;
                Ok(end.seq)
            }
            Err(e) => {
                // Any failure counts, even one before the first write: the error does not say how far the transaction
                // came.
                self.poisoned = Some(e.to_string());
                Err(e)
            }
        }
    }

    /// Runs one transaction, with the fault that a simulation may have injected.
    fn attempt(&mut self, turns: &[Turn<'_>], messages: &[u64]) -> Result<End> {
        // Before the fault is drawn: an empty append is not one of the n appends that a fault plan counts.
        if messages.is_empty() && turns.iter().all(|turn| turn.rows.is_empty()) {
            return Ok(self.end);
        }
        let fault = self.faults.next();
        if fault == Some(Inject::FailBefore) {
            return Err(Error::Injected);
        }
        let path = &self.path;
        let sql = |e| Error::sql(path, &e);
        // `Immediate` takes the write lock now. A transaction that began by reading could fail later, when another
        // process posts a message in between.
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let end = insert(&tx, path, self.end, turns)?;
        mail::done(&tx, messages).map_err(sql)?;
        // Returning drops `tx`, which rolls back: like a disk that fills up before the commit.
        if fault == Some(Inject::DiskFull) {
            return Err(Error::DiskFull { path: path.clone() });
        }
        tx.commit().map_err(sql)?;
        if fault == Some(Inject::FailAfter) { Err(Error::Injected) } else { Ok(end) }
    }

    /// Calls `f` with every row from `from_seq` on, in order; the text is borrowed for the call.
    ///
    /// It fails with `Error::Corrupt` at the first gap in the sequence; the rows before the gap have been delivered
    /// by then.
    pub fn each<E: From<Error>>(
        &self,
        from_seq: u64,
        f: impl FnMut(RowRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        rows::each(&self.db, &self.path, from_seq, f)
    }

    /// The messages not yet consumed, in order of arrival.
    pub fn mail(&self) -> Result<Vec<Mail>> {
        mail::list(&self.db, &self.path, true)
    }

    /// Marks messages as consumed that led to no turn.
    ///
    /// Without this a message that means nothing to the run would be read again after every restart.
    pub fn mail_done(&mut self, messages: &[u64]) -> Result<()> {
        self.append_reading(&[], messages).map(|_| ())
    }

    /// Posts a message through this connection, for a question answered in the orchestrator itself.
    pub fn post(&mut self, message: &Message) -> Result<Posted> {
        mail::put(&mut self.db, &self.path, message)
    }

    /// Makes appends fail as the plan says for the n-th of them (from 0, counted from now). For simulations.
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
    // A turn without rows gets no number, or the numbers of the stored turns would have gaps.
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
