//! Rows as they go in and come out, and the one streaming read over them.
//!
//! The read checks that the sequence has no gap and allocates nothing per row. Every command that shows a run folds
//! the whole journal, so this loop is where its time would go.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::error::{Error, Result};

/// Which run a journal belongs to. It is written once, with the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The id of the run that the journal records.
    pub run_id: String,
    /// The version of Tribunal that began the run.
    pub product_version: String,
    /// When the run began, in milliseconds since 1970.
    pub created_at: u64,
}

/// A row to append. Its sequence number and turn are the journal's to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRow<'a> {
    /// The machine whose fact it is.
    pub of: &'a str,
    /// The kind of fact, as its writer names it.
    pub kind: &'a str,
    /// The fact as JSON; the database refuses anything else.
    pub body: &'a str,
}

/// The rows that one report led to.
///
/// A turn is the unit of atomicity. A reader sees all of its rows or none, so no fold ever stops between two facts
/// that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn<'a> {
    /// When the report came, in milliseconds since 1970.
    pub at: u64,
    /// Its facts, in order. A turn without facts leaves no trace.
    pub rows: &'a [NewRow<'a>],
}

/// A row of the journal with buffers of its own, for callers that keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The sequence number, from 1 without a gap.
    pub seq: u64,
    /// The turn it belongs to, from 1 without a gap.
    pub turn: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// The machine whose fact it is.
    pub of: String,
    /// The kind of fact, as its writer named it.
    pub kind: String,
    /// The fact, as the JSON that was appended.
    pub body: String,
}

/// A row of the journal, borrowed from the buffer it was read into.
///
/// It is valid only during the call it is passed to. Call `to_row` to keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRef<'a> {
    /// The sequence number, from 1 without a gap.
    pub seq: u64,
    /// The turn it belongs to, from 1 without a gap.
    pub turn: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// The machine whose fact it is.
    pub of: &'a str,
    /// The kind of fact, as its writer named it.
    pub kind: &'a str,
    /// The fact, as the JSON that was appended.
    pub body: &'a str,
}

impl RowRef<'_> {
    /// Copies the row into buffers of its own.
    pub fn to_row(&self) -> Row {
        let RowRef { seq, turn, at, of, kind, body } = *self;
        Row { seq, turn, at, of: of.to_owned(), kind: kind.to_owned(), body: body.to_owned() }
    }
}

/// The sequence number and turn of the last row; zeros in an empty journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) seq: u64,
    pub(crate) turn: u64,
}

/// Finds where the journal ends.
pub(crate) fn end(db: &Connection, path: &Path) -> Result<End> {
    let row = db
        .prepare_cached("SELECT seq, turn FROM events ORDER BY seq DESC LIMIT 1")
        .and_then(|mut s| s.query_row([], |r| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?))).optional())
        .map_err(|e| Error::sql(path, &e))?;
    let Some((seq, turn)) = row else { return Ok(End::default()) };
    Ok(End { seq: natural(path, seq)?, turn: natural(path, turn)? })
}

/// Reads the head of the journal.
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
    // There are no rows past the largest number that SQLite can store.
    let Ok(from) = i64::try_from(from_seq) else { return Ok(()) };
    let mut rows = statement.query([from]).map_err(sql)?;
    let mut last = None;
    while let Some(row) = rows.next().map_err(sql)? {
        let row = borrow(path, row)?;
        // Before `f`: a caller never folds a row that stands after a gap.
        follows(path, from_seq, last, row)?;
        last = Some(End { seq: row.seq, turn: row.turn });
        f(row)?;
    }
    Ok(())
}

/// Reads the columns where they lie in SQLite's buffer.
///
/// A wrong type or a text that is not UTF-8 is reported as damage, never a panic: a damaged file is a case that
/// callers show to the user.
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

/// Refuses a gap: a row must follow the row before it, in the same turn or the next.
///
/// SQLite's own check of the file does not notice a row that is missing as a whole. This check does.
fn follows(path: &Path, from_seq: u64, last: Option<End>, row: RowRef<'_>) -> Result<()> {
    let RowRef { seq, turn, .. } = row;
    let good = match last {
        // A read from the middle does not know the turn before it; only the first row of a journal must be of turn 1.
        None => seq == from_seq && turn >= 1 && (seq > 1 || turn == 1),
        Some(last) => seq == last.seq + 1 && (turn == last.turn || turn == last.turn + 1),
    };
    if good { Ok(()) } else { Err(corrupt(path, format!("row {seq} (turn {turn}) is out of order"))) }
}

pub(crate) fn corrupt(path: &Path, detail: String) -> Error {
    Error::Corrupt { path: path.to_owned(), detail }
}

/// Converts a stored number that can only be a natural one.
pub(crate) fn natural(path: &Path, n: i64) -> Result<u64> {
    u64::try_from(n).map_err(|_| corrupt(path, format!("{n} is below zero")))
}

/// Converts a number to the signed one that SQLite stores.
pub(crate) fn integer(path: &Path, n: u64) -> Result<i64> {
    i64::try_from(n)
        .map_err(|_| Error::Refused { path: path.to_owned(), detail: format!("{n} is too large") })
}
