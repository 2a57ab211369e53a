//! Examining a whole journal, for `tribunal doctor`.
//!
//! It only reads, and the damage it finds is data, not an error: the caller wants to show all of it.

use std::path::Path;

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::reader::Reader;
use crate::store::{self, FILE};

/// How many problems SQLite lists before it stops. A badly damaged file would otherwise fill the screen.
const PROBLEMS_MAX: u32 = 20;

/// The state of a journal, as far as it could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// How many rows could be read in order.
    pub rows: u64,
    /// How many turns these rows belong to.
    pub turns: u64,
    /// The size of the journal on disk, its log included.
    pub bytes: u64,
    /// What is wrong with it; empty when it is sound.
    pub problems: Vec<String>,
}

/// Reads the whole journal of the run in `dir`: the structure of the file, then every row for a gapless sequence.
///
/// Both are needed. A row that was deleted leaves a file whose structure is sound.
pub fn verify(dir: &Path) -> Result<Health> {
    let mut health = Health { bytes: bytes(dir)?, ..Health::default() };
    let looked = Reader::open(dir).and_then(|reader| {
        health.problems = reader.check()?;
        reader.each(1, |row| {
            (health.rows, health.turns) = (row.seq, row.turn);
            Ok(())
        })
    });
    match looked {
        Ok(()) => Ok(health),
        // Rows that were counted before the damage stay counted: they are what can be rescued.
        Err(Error::Corrupt { detail, .. }) => {
            health.problems.push(detail);
            Ok(health)
        }
        Err(e) => Err(e),
    }
}

/// Runs SQLite's own check of the file; empty when it is sound.
pub(crate) fn quick_check(db: &Connection, path: &Path) -> Result<Vec<String>> {
    let check = || {
        let mut statement = db.prepare(&format!("PRAGMA quick_check({PROBLEMS_MAX})"))?;
        let lines = statement.query_map([], |r| r.get::<_, String>(0))?;
        lines.filter(|line| !line.as_ref().is_ok_and(|l| l == "ok")).collect::<rusqlite::Result<Vec<_>>>()
    };
    check().map_err(|e| Error::sql(path, &e))
}

/// How much space the journal and its log take.
fn bytes(dir: &Path) -> Result<u64> {
    let dir = store::real(dir)?;
    let size = |name: &str| std::fs::symlink_metadata(dir.join(name)).map_or(0, |m| m.len());
    Ok(size(FILE) + size(&format!("{FILE}-wal")))
}
