//! Versions of the journal file and the migrations between them.
//!
//! A released script is never edited: files that it made exist on users' disks, and a journal of one version must
//! look the same everywhere. A file of a newer version is never touched, because this program cannot know what its
//! rows mean.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Error, Result};
use crate::rows::{Head, corrupt, integer};

/// The scripts from an empty file to the newest version; step n makes version n + 1.
const STEPS: &[&str] = &[include_str!("../schema/v1.sql")];

/// The newest version of the journal file this program knows.
pub const VERSION: u32 = 1;

// A forgotten script or a forgotten version number stops the build instead of a user's migration.
const _: () = assert!(STEPS.len() == VERSION as usize, "every version has its script");

/// Marks the file as ours ("TrbJ"), for `file` and for refusing databases of other programs.
const APPLICATION: i32 = 0x5472_624A;

/// The version of an open database; `None` while nothing has been committed to it.
///
/// `None` is what a creation leaves that died before its first commit. It is not damage, and `create` may complete
/// it.
pub(crate) fn version(db: &Connection, path: &Path) -> Result<Option<u32>> {
    let sql = |e| Error::sql(path, &e);
    // One snapshot for the three reads. A reader that looks while the run fills the file would otherwise see half of
    // it and call it damaged.
    let seen = db.unchecked_transaction().map_err(sql)?;
    let application: i32 = seen.pragma_query_value(None, "application_id", |r| r.get(0)).map_err(sql)?;
    let version: i64 = seen.pragma_query_value(None, "user_version", |r| r.get(0)).map_err(sql)?;
    let schema: i64 = seen.pragma_query_value(None, "schema_version", |r| r.get(0)).map_err(sql)?;
    drop(seen);
    if (application, version, schema) == (0, 0, 0) {
        return Ok(None);
    }
    if application != APPLICATION {
        return Err(corrupt(path, format!("not a journal of tribunal (application id {application:#x})")));
    }
    match u32::try_from(version) {
        Ok(found) if found > VERSION => Err(Error::Newer { path: path.to_owned(), found, known: VERSION }),
        Ok(found) if found > 0 => Ok(Some(found)),
        _ => Err(corrupt(path, format!("version {version} does not exist"))),
    }
}

/// Fills an empty database: schema and head in one transaction, so there is never one without the other.
pub(crate) fn begin(db: &mut Connection, path: &Path, head: &Head) -> Result<()> {
    let at = integer(path, head.created_at)?;
    step(db, STEPS, 0, |tx| {
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.execute(
            "INSERT INTO head (only, run_id, product_version, created_at) VALUES (1, ?1, ?2, ?3)",
            (&head.run_id, &head.product_version, at),
        )?;
        Ok(())
    })
    .map_err(|e| Error::sql(path, &e))
}

/// Migrates a journal of version `from` to the newest version in one transaction.
pub(crate) fn migrate(db: &mut Connection, path: &Path, from: u32) -> Result<()> {
    if from == VERSION {
        return Ok(());
    }
    step(db, STEPS, from, |_| Ok(())).map_err(|e| Error::sql(path, &e))
}

/// Runs the steps after `from`, then `last`, all or nothing.
///
/// The version number is written last and in the same transaction. A migration that is killed leaves the old version
/// whole.
fn step(
    db: &mut Connection,
    steps: &[&str],
    from: u32,
    last: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for script in steps.iter().skip(from as usize) {
        tx.execute_batch(script)?;
    }
    last(&tx)?;
    // The number of steps, not `VERSION`: the tests migrate with lists of their own.
    tx.pragma_update(None, "user_version", u32::try_from(steps.len()).unwrap_or(u32::MAX))?;
    tx.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        let head = Head { run_id: "r".to_owned(), product_version: "0".to_owned(), created_at: 1 };
        begin(&mut db, Path::new("x"), &head).unwrap();
        db.execute("INSERT INTO events VALUES (1, 1, 5, 'run', 'k', '{}')", []).unwrap();
        db
    }

    fn user_version(db: &Connection) -> u32 {
        db.pragma_query_value(None, "user_version", |r| r.get(0)).unwrap()
    }

    #[test]
    fn a_later_step_runs_once_and_keeps_the_rows() {
        let mut db = memory();
        let steps = [STEPS[0], "CREATE VIEW kinds AS SELECT kind FROM events;"];
        step(&mut db, &steps, 1, |_| Ok(())).unwrap();
        assert_eq!(user_version(&db), 2);
        let kind: String = db.query_row("SELECT kind FROM kinds", [], |r| r.get(0)).unwrap();
        assert_eq!(kind, "k");
        let newer = version(&db, Path::new("x"));
        assert!(matches!(newer, Err(Error::Newer { found: 2, known: 1, .. })), "{newer:?}");
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_version() {
        let mut db = memory();
        let steps = [STEPS[0], "CREATE TABLE more (a) STRICT; SELECT nonsense;"];
        step(&mut db, &steps, 1, |_| Ok(())).unwrap_err();
        assert_eq!(user_version(&db), 1);
        let more: i64 =
            db.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'more'", [], |r| r.get(0)).unwrap();
        assert_eq!(more, 0);
    }

    #[test]
    fn a_strange_database_is_no_journal() {
        let db = Connection::open_in_memory().unwrap();
        assert!(matches!(version(&db, Path::new("x")), Ok(None)));
        db.execute_batch("CREATE TABLE theirs (a)").unwrap();
        assert!(matches!(version(&db, Path::new("x")), Err(Error::Corrupt { .. })));
    }

    #[test]
    fn the_database_itself_is_append_only() {
        let db = memory();
        db.execute("INSERT INTO mail (key, kind, body, at) VALUES ('k', 'cancel', '1', 7)", []).unwrap();
        for sql in [
            "UPDATE events SET body = '[]'",
            "UPDATE events SET seq = 2",
            "DELETE FROM events",
            "INSERT OR REPLACE INTO events VALUES (1, 1, 5, 'run', 'other', '{}')",
            "INSERT INTO events VALUES (3, 1, 5, 'run', 'gap', '{}')",
            "INSERT INTO events VALUES (2, 3, 5, 'run', 'gap', '{}')",
            "INSERT INTO events VALUES (2, 0, 5, 'run', 'back', '{}')",
            "INSERT INTO events (turn, at, machine, kind, body) VALUES (1, 5, 'run', 'unnumbered', '{}')",
            "INSERT INTO events VALUES (2, 1, 5, 'run', 'no json', '{')",
            "UPDATE head SET run_id = 'other'",
            "DELETE FROM head",
            "INSERT OR REPLACE INTO head VALUES (1, 'other', '0', 1)",
            "UPDATE mail SET body = '2'",
            "DELETE FROM mail",
        ] {
            assert!(db.execute(sql, []).is_err(), "{sql}");
        }
        db.execute("INSERT OR REPLACE INTO mail (key, kind, body, at) VALUES ('k', 'x', '2', 8)", [])
            .unwrap();
        let body: String = db.query_row("SELECT body FROM mail", [], |r| r.get(0)).unwrap();
        assert_eq!(body, "1");
        db.execute("UPDATE mail SET done = 1", []).unwrap();
        assert!(db.execute("UPDATE mail SET done = 0", []).is_err(), "a letter stays read");
        db.execute("INSERT INTO events VALUES (2, 2, 5, 'run', 'next', '{}')", []).unwrap();
    }
}
