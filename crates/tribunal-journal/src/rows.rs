//! Rows as they go in and come out, and the one streaming read over them. It checks that the sequence has no
//! gap and never allocates per row.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::error::{Error, Result};

/// Which run a journal belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The run's id.
    pub run_id: String,
    /// The version of Tribunal that began it.
    pub product_version: String,
    /// When it began, in milliseconds since 1970.
    pub created_at: u64,
}

/// A row to be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRow<'a> {
    /// The machine it is a fact of.
    pub of: &'a str,
    /// The kind of fact.
    pub kind: &'a str,
    /// The fact, as JSON.
    pub body: &'a str,
}

/// What one report led to: rows that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<'a> {
    /// When the report came, in milliseconds since 1970.
    pub at: u64,
    /// Its facts, in order; a turn without any leaves no trace.
    pub rows: &'a [NewRow<'a>],
}

/// A row of the journal, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its place, from 1 without a gap.
    pub seq: u64,
    /// The turn it belongs to, from 1 without a gap.
    pub turn: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The machine it is a fact of.
    pub of: String,
    /// The kind of fact.
    pub kind: String,
    /// The fact, as JSON.
    pub body: String,
}

/// A row of the journal, borrowed from the buffer it was read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRef<'a> {
    /// Its place, from 1 without a gap.
    pub seq: u64,
    /// The turn it belongs to, from 1 without a gap.
    pub turn: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The machine it is a fact of.
    pub of: &'a str,
    /// The kind of fact.
    pub kind: &'a str,
    /// The fact, as JSON.
    pub body: &'a str,
}

impl RowRef<'_> {
    /// The row with buffers of its own.
    pub fn to_row(&self) -> Row {
        let RowRef { seq, turn, at, of, kind, body } = *self;
        Row { seq, turn, at, of: of.to_owned(), kind: kind.to_owned(), body: body.to_owned() }
    }
}

/// The last row's place and turn; zeros in an empty journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) seq: u64,
    pub(crate) turn: u64,
}

/// Where the journal ends.
pub(crate) fn end(db: &Connection, path: &Path) -> Result<End> {
    let row = db
        .prepare_cached("SELECT seq, turn FROM events ORDER BY seq DESC LIMIT 1")
        .and_then(|mut s| s.query_row([], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?))).optional())
        .map_err(|e| Error::sql(path, &e))?;
    let Some((seq, turn)) = row else { return Ok(End::default()) };
    Ok(End { seq: natural(path, seq)?, turn: natural(path, turn)? })
}

/// The journal's head.
pub(crate) fn head(db: &Connection, path: &Path) -> Result<Head> {
    let row = db
        .query_row("SELECT run_id, product_version, created_at FROM head", [], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get::<_, i64>(2)?))
        })
        .optional()
        .map_err(|e| Error::sql(path, &e))?;
    let Some((run_id, product_version, at)) = row else {
        return Err(corrupt(path, "it has no head".to_owned()));
    };
    Ok(Head { run_id, product_version, created_at: natural(path, at)? })
}

/// Calls `f` with every row from `from_seq` on, in order, out of one snapshot.
pub(crate) fn each<E: From<Error>>(
    db: &Connection,
    path: &Path,
    from_seq: u64,
    mut f: impl FnMut(RowRef<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let sql = |e| Error::sql(path, &e);
    let mut statement = db
        .prepare_cached("SELECT seq, turn, at, machine, kind, body FROM events WHERE seq >= ?1 ORDER BY seq")
        .map_err(sql)?;
    let from_seq = from_seq.max(1);
    // Past what SQLite can count there are no rows.
    let Ok(from) = i64::try_from(from_seq) else { return Ok(()) };
    let mut rows = statement.query([from]).map_err(sql)?;
    let mut last = None;
    while let Some(row) = rows.next().map_err(sql)? {
        let row = borrow(path, row)?;
        follows(path, from_seq, last, row)?;
        last = Some(End { seq: row.seq, turn: row.turn });
        f(row)?;
    }
    Ok(())
}

/// The columns of the streaming read, as they lie in SQLite's buffer.
fn borrow<'r>(path: &Path, row: &'r rusqlite::Row<'_>) -> Result<RowRef<'r>> {
    let text = |i| match row.get_ref(i) {
        Ok(ValueRef::Text(bytes)) => {
            std::str::from_utf8(bytes).map_err(|_| corrupt(path, "a text is not UTF-8".to_owned()))
        }
        Ok(other) => Err(corrupt(path, format!("a text is of type {}", other.data_type()))),
        Err(e) => Err(Error::sql(path, &e)),
    };
    let number = |i| match row.get_ref(i) {
        Ok(ValueRef::Integer(n)) => natural(path, n),
        Ok(other) => Err(corrupt(path, format!("a number is of type {}", other.data_type()))),
        Err(e) => Err(Error::sql(path, &e)),
    };
    Ok(RowRef {
        seq: number(0)?,
        turn: number(1)?,
        at: number(2)?,
        of: text(3)?,
        kind: text(4)?,
        body: text(5)?,
    })
}

/// Refuses a gap: a row may only stand next to the one before it, in its turn or the next.
fn follows(path: &Path, from_seq: u64, last: Option<End>, row: RowRef<'_>) -> Result<()> {
    let RowRef { seq, turn, .. } = row;
    let good = match last {
        None => seq == from_seq && turn >= 1 && (seq > 1 || turn == 1),
        Some(last) => seq == last.seq + 1 && (turn == last.turn || turn == last.turn + 1),
    };
    if good { Ok(()) } else { Err(corrupt(path, format!("row {seq} (turn {turn}) is out of order"))) }
}

pub(crate) fn corrupt(path: &Path, detail: String) -> Error {
    Error::Corrupt { path: path.to_owned(), detail }
}

/// A stored number that can only be a natural one.
pub(crate) fn natural(path: &Path, n: i64) -> Result<u64> {
    u64::try_from(n).map_err(|_| corrupt(path, format!("{n} is below zero")))
}

/// A number as SQLite stores it.
pub(crate) fn integer(path: &Path, n: u64) -> Result<i64> {
    i64::try_from(n)
        .map_err(|_| Error::Refused { path: path.to_owned(), detail: format!("{n} is too large") })
}
