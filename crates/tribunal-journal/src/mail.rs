//! The mailbox: letters that other processes leave for the orchestrator. The first letter with a key wins, for
//! good; posting needs no lock of the run, and no letter is ever changed or deleted.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::{Error, Result};
use crate::rows::{integer, natural};
use crate::{poke, schema, store};

/// What somebody asks of a run, or answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// What it answers, an effect's id say; a second letter with the key is refused.
    pub key: String,
    /// The kind of letter.
    pub kind: String,
    /// What it says, as JSON.
    pub body: String,
    /// When it was written, in milliseconds since 1970.
    pub at: u64,
}

/// A letter in the mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Its number, in order of arrival.
    pub id: u64,
    /// Whether the orchestrator has consumed it.
    pub done: bool,
    /// The letter.
    pub letter: Letter,
}

/// What became of a posted letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It is the first with its key, and durable.
    First,
    /// This one was there before; the new one is dropped.
    Already(Letter),
}

/// Leaves a letter for the run in `dir`, living or not, and pokes its orchestrator.
pub fn post(dir: &Path, letter: &Letter) -> Result<Posted> {
    let dir = store::real(dir)?;
    let path = dir.join(store::FILE);
    if !store::exists(&path)? {
        return Err(Error::Missing { path: dir });
    }
    let mut db = store::write(&path, store::Options::default(), false)?;
    if schema::version(&db, &path)?.is_none() {
        return Err(Error::Missing { path: dir });
    }
    let posted = put(&mut db, &path, letter)?;
    // The letter is safe; a wake-up that fails only delays it until the orchestrator looks again.
    drop(poke::poke(&dir));
    Ok(posted)
}

/// Puts a letter into the mailbox, or finds the one that came before it.
pub(crate) fn put(db: &mut Connection, path: &Path, letter: &Letter) -> Result<Posted> {
    let at = integer(path, letter.at)?;
    let mut insert = || {
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = tx
            .prepare_cached("SELECT id, done, key, kind, body, at FROM mail WHERE key = ?1")?
            .query_row([&letter.key], columns)
            .optional()?;
        if before.is_none() {
            let row = (&letter.key, &letter.kind, &letter.body, at);
            tx.prepare_cached("INSERT INTO mail (key, kind, body, at) VALUES (?1, ?2, ?3, ?4)")?
                .execute(row)?;
        }
        tx.commit()?;
        Ok(before)
    };
    match insert().map_err(|e| Error::sql(path, &e))? {
        None => Ok(Posted::First),
        Some(before) => Ok(Posted::Already(mail(path, before)?.letter)),
    }
}

/// The letters, in order of arrival; `open` leaves out the consumed ones.
pub(crate) fn list(db: &Connection, path: &Path, open: bool) -> Result<Vec<Mail>> {
    let sql = if open {
        "SELECT id, done, key, kind, body, at FROM mail WHERE done = 0 ORDER BY id"
    } else {
        "SELECT id, done, key, kind, body, at FROM mail ORDER BY id"
    };
    let read = || db.prepare_cached(sql)?.query_map([], columns)?.collect::<rusqlite::Result<Vec<_>>>();
    read().map_err(|e| Error::sql(path, &e))?.into_iter().map(|row| mail(path, row)).collect()
}

/// Marks letters as consumed; in the caller's transaction.
pub(crate) fn done(db: &Connection, ids: &[u64]) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached("UPDATE mail SET done = 1 WHERE id = ?1")?;
    for id in ids {
        // A number that SQLite cannot hold is no letter's.
        if let Ok(id) = i64::try_from(*id) {
            statement.execute([id])?;
        }
    }
    Ok(())
}

type Columns = (i64, bool, Letter, i64);

fn columns(row: &rusqlite::Row<'_>) -> rusqlite::Result<Columns> {
    let letter = Letter { key: row.get(2)?, kind: row.get(3)?, body: row.get(4)?, at: 0 };
    Ok((row.get(0)?, row.get(1)?, letter, row.get(5)?))
}

fn mail(path: &Path, (id, done, letter, at): Columns) -> Result<Mail> {
    Ok(Mail { id: natural(path, id)?, done, letter: Letter { at: natural(path, at)?, ..letter } })
}
