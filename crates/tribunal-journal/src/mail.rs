//! The mailbox: messages that other processes leave for the orchestrator.
//!
//! The first message with a key wins for good, so two people who answer one question cannot both be obeyed. Posting
//! does not need the run's lock, and no message is ever changed or deleted: the mailbox is part of the run's record.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::{Error, Result};
use crate::rows::{integer, natural};
use crate::{poke, schema, store};

/// A message to a run: a request, or the answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it answers, for example an effect's id. A second message with the same key is refused.
    pub key: String,
    /// The kind of message, which tells the orchestrator how to read the body.
    pub kind: String,
    /// The message itself, as JSON.
    pub body: String,
    /// When it was written, in milliseconds since 1970.
    pub at: u64,
}

/// A message in the mailbox, with what the mailbox knows about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Its number, in order of arrival.
    pub id: u64,
    /// Whether the orchestrator has consumed it.
    pub done: bool,
    /// The message as it was posted.
    pub message: Message,
}

/// What became of a posted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It is the first with its key, and durable.
    First,
    /// This message had the key already; the new one was dropped.
    Already(Message),
}

/// Leaves a message for the run in `dir`, live or not, and wakes its orchestrator.
///
/// A run that is not live reads it when it is resumed. Success means that the message is durable, not that anybody
/// has acted on it.
pub fn post(dir: &Path, message: &Message) -> Result<Posted> {
    let dir = store::real(dir)?;
    let path = dir.join(store::FILE);
    if !store::exists(&path)? {
        return Err(Error::Missing { path: dir });
    }
    let mut db = store::write(&path, store::Options::default(), false)?;
    if schema::version(&db, &path)?.is_none() {
        return Err(Error::Missing { path: dir });
    }
    let posted = put(&mut db, &path, message)?;
    // The message is safe by now. A wake-up that fails only delays it until the orchestrator looks again.
    drop(poke::poke(&dir));
    Ok(posted)
}

/// Puts a message into the mailbox, or finds the one that came before it.
pub(crate) fn put(db: &mut Connection, path: &Path, message: &Message) -> Result<Posted> {
    let at = integer(path, message.at)?;
    let mut insert = || {
        // The look and the insert are one write transaction: between two of them another process could post the same
        // key.
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = tx
            .prepare_cached("SELECT id, done, key, kind, body, at FROM mail WHERE key = ?1")?
            .query_row([&message.key], columns)
            .optional()?;
        if before.is_none() {
            let row = (&message.key, &message.kind, &message.body, at);
            tx.prepare_cached("INSERT INTO mail (key, kind, body, at) VALUES (?1, ?2, ?3, ?4)")?
                .execute(row)?;
        }
        tx.commit()?;
        Ok(before)
    };
    match insert().map_err(|e| Error::sql(path, &e))? {
        None => Ok(Posted::First),
        Some(before) => Ok(Posted::Already(mail(path, before)?.message)),
    }
}

/// Lists the messages in order of arrival; `open` leaves out the consumed ones.
pub(crate) fn list(db: &Connection, path: &Path, open: bool) -> Result<Vec<Mail>> {
    let sql = if open {
        "SELECT id, done, key, kind, body, at FROM mail WHERE done = 0 ORDER BY id"
    } else {
        "SELECT id, done, key, kind, body, at FROM mail ORDER BY id"
    };
    let read = || db.prepare_cached(sql)?.query_map([], columns)?.collect::<rusqlite::Result<Vec<_>>>();
    read().map_err(|e| Error::sql(path, &e))?.into_iter().map(|row| mail(path, row)).collect()
}

/// Marks messages as consumed, in the caller's transaction.
pub(crate) fn done(db: &Connection, ids: &[u64]) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached("UPDATE mail SET done = 1 WHERE id = ?1")?;
    for id in ids {
        // No message has a number that SQLite cannot store.
        if let Ok(id) = i64::try_from(*id) {
            statement.execute([id])?;
        }
    }
    Ok(())
}

type Columns = (i64, bool, Message, i64);

fn columns(row: &rusqlite::Row<'_>) -> rusqlite::Result<Columns> {
    // `at` is filled in by `mail`: a negative time is damage, which the error type of this function cannot say.
    let message = Message { key: row.get(2)?, kind: row.get(3)?, body: row.get(4)?, at: 0 };
    Ok((row.get(0)?, row.get(1)?, message, row.get(5)?))
}

fn mail(path: &Path, (id, done, message, at): Columns) -> Result<Mail> {
    Ok(Mail { id: natural(path, id)?, done, message: Message { at: natural(path, at)?, ..message } })
}
