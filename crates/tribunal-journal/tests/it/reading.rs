//! Readers beside a living writer: whole turns, exact tails, no waiting.

use tribunal_journal::{Error, FILE, Journal, Reader, RowRef, verify};

use crate::{QUICK, append_sized, assert_whole_turns, head, rows_of, run_dir};

#[test]
fn readers_beside_a_writer_see_whole_turns_only() {
    let (_temp, dir) = run_dir();
    let mut journal = Journal::create_with(&dir, &head(), QUICK).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let reader = Reader::open(&dir).unwrap();
            let (mut growing, mut last) = (0, 0);
            while growing < 20 {
                let mut seen = Vec::new();
                let push = |row: RowRef<'_>| {
                    seen.push(row.to_row());
                    Ok::<_, Error>(())
                };
                reader.each(1, push).unwrap();
                assert_whole_turns(&seen);
                assert!(seen.len() >= last, "what was seen stays");
                growing += u32::from(seen.len() > last);
                last = seen.len();
            }
        });
        // The reader decides when it has seen enough, so it always reads beside a writer at work.
        for size in (1..=7).cycle() {
            append_sized(&mut journal, size).unwrap();
            if reader.is_finished() {
                break;
            }
        }
        reader.join().unwrap();
    });
    assert_whole_turns(&rows_of(&dir).unwrap());
}

#[test]
fn a_tail_is_told_of_changes_and_goes_on_where_it_was() {
    let (_temp, dir) = run_dir();
    let mut journal = Journal::create_with(&dir, &head(), QUICK).unwrap();
    let reader = Reader::open(&dir).unwrap();
    assert_eq!((reader.head(), reader.last_seq().unwrap()), (&head(), 0));
    assert!(reader.changed().unwrap());
    assert!(!reader.changed().unwrap());
    append_sized(&mut journal, 2).unwrap();
    assert!(reader.changed().unwrap());
    assert!(!reader.changed().unwrap());
    append_sized(&mut journal, 3).unwrap();
    assert!(reader.changed().unwrap());
    let mut seqs = Vec::new();
    reader
        .each::<Error>(3, |row| {
            seqs.push(row.seq);
            Ok(())
        })
        .unwrap();
    assert_eq!((seqs, reader.last_seq().unwrap()), (vec![3, 4, 5], 5));
    drop(journal);
    assert_eq!(reader.last_seq().unwrap(), 5, "the writer's end is not the reader's");
}

#[test]
fn an_open_snapshot_does_not_stop_the_writer() {
    let (_temp, dir) = run_dir();
    let mut journal = Journal::create_with(&dir, &head(), QUICK).unwrap();
    append_sized(&mut journal, 3).unwrap();
    let reader = Reader::open(&dir).unwrap();
    let mut seen = 0;
    reader
        .each::<Error>(1, |_| {
            seen += 1;
            append_sized(&mut journal, 5).map(drop)
        })
        .unwrap();
    assert_eq!((seen, reader.last_seq().unwrap()), (3, 18), "the snapshot stays as it was");
}

/// Whoever takes a row out of the file, past the triggers that forbid it, leaves a gap: no reader goes on over it.
#[test]
fn a_row_that_is_gone_is_noticed() {
    for gone in 1..=5 {
        let (_temp, dir) = run_dir();
        let mut journal = Journal::create_with(&dir, &head(), QUICK).unwrap();
        for size in [1, 2, 3] {
            append_sized(&mut journal, size).unwrap();
        }
        drop(journal);
        let db = rusqlite::Connection::open(dir.join(FILE)).unwrap();
        let triggers: Vec<String> = db
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        triggers.iter().for_each(|name| db.execute_batch(&format!("DROP TRIGGER \"{name}\"")).unwrap());
        assert_eq!(db.execute("DELETE FROM events WHERE seq = ?1", [gone]).unwrap(), 1);
        drop(db);
        let read = rows_of(&dir);
        assert!(matches!(read, Err(Error::Corrupt { .. })), "row {gone}: {read:?}");
        let folded = Journal::open(&dir).and_then(|journal| journal.each(1, |_| Ok::<_, Error>(())));
        assert!(matches!(folded, Err(Error::Corrupt { .. })), "row {gone}: {folded:?}");
        let health = verify(&dir).unwrap();
        assert!(health.problems.iter().any(|what| what.contains("out of order")), "row {gone}: {health:?}");
    }
}
