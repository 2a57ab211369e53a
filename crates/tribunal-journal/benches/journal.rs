//! What the journal costs: `cargo bench -p tribunal-journal [-- <directory>]`. Prints a table; decides nothing.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measuring program, not the product")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tribunal_journal::{
    Error, FILE, Head, Journal, Message, NewRow, Options, Reader, Synchronous, Turn, post, verify,
};

const ROWS: u64 = 1_000_000;

fn main() {
    // `cargo test --all-targets` runs this too, and has no use for it.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let place =
        std::env::args().skip(1).find(|a| !a.starts_with('-')).map_or_else(std::env::temp_dir, PathBuf::from);
    let temp = tempfile::tempdir_in(place).unwrap();
    let body = format!("{{\"pad\":\"{}\"}}", "x".repeat(190));
    append(&temp.path().join("full"), &body, Synchronous::Full, 2_000);
    append(&temp.path().join("off"), &body, Synchronous::Off, 50_000);
    mail(&temp.path().join("full"));
    read(&temp.path().join("big"), &body);
}

fn create(dir: &Path, synchronous: Synchronous) -> Journal {
    let head = Head { run_id: "r".to_owned(), product_version: "0".to_owned(), created_at: 0 };
    Journal::create_with(dir, &head, Options { synchronous }).unwrap()
}

/// One row per transaction against sixteen turns in one.
fn append(dir: &Path, body: &str, synchronous: Synchronous, turns: u32) {
    let begun = Instant::now();
    let mut journal = create(dir, synchronous);
    line(&format!("create, {synchronous:?}"), begun.elapsed(), 1);
    let rows = [NewRow { of: "loop-1", kind: "reported", body }];
    let turn = Turn { at: 1, rows: &rows };
    for group in [1, 4, 16, 64] {
        let begun = Instant::now();
        for _ in 0..turns / group {
            journal.append(&vec![turn; group as usize]).unwrap();
        }
        line(&format!("append, {synchronous:?}, {group} turns a call, per turn"), begun.elapsed(), turns);
    }
    let begun = Instant::now();
    drop(journal.reopen().unwrap());
    line(&format!("reopen, {synchronous:?}"), begun.elapsed(), 1);
}

fn mail(dir: &Path) {
    let begun = Instant::now();
    for n in 0..100 {
        let message = Message { key: n.to_string(), kind: "decide".to_owned(), body: "1".to_owned(), at: 1 };
        post(dir, &message).unwrap();
    }
    line("post, per letter", begun.elapsed(), 100);
}

/// The streaming read against bare rusqlite over the same file, and a look over the whole.
fn read(dir: &Path, body: &str) {
    let mut journal = create(dir, Synchronous::Off);
    let rows = vec![NewRow { of: "loop-1", kind: "reported", body }; 1_000];
    let begun = Instant::now();
    for at in 0..ROWS / 1_000 {
        journal.append(&[Turn { at, rows: &rows }]).unwrap();
    }
    line("append, Off, 1000 rows a turn, per row", begun.elapsed(), 1_000_000);
    println!("resident after {ROWS} rows written: {}", resident());
    drop(journal);
    let reader = Reader::open(dir).unwrap();
    let bare = Connection::open(dir.join(FILE)).unwrap();
    bare.execute_batch("PRAGMA cache_size = -2048").unwrap();
    for _ in 0..3 {
        let begun = Instant::now();
        let mut sum = 0;
        reader
            .each::<Error>(1, |row| {
                sum += row.body.len();
                Ok(())
            })
            .unwrap();
        line("each, per row", begun.elapsed(), 1_000_000);
        let begun = Instant::now();
        sum -= bare_rows(&bare);
        line("bare rusqlite, borrowed, per row", begun.elapsed(), 1_000_000);
        assert_eq!(black_box(sum), 0);
        let begun = Instant::now();
        black_box(owned_rows(&bare));
        line("bare rusqlite, owned strings, per row", begun.elapsed(), 1_000_000);
    }
    let begun = Instant::now();
    for _ in 0..10_000 {
        black_box(reader.changed().unwrap());
    }
    line("changed", begun.elapsed(), 10_000);
    let begun = Instant::now();
    assert!(verify(dir).unwrap().problems.is_empty());
    line("verify, per row", begun.elapsed(), 1_000_000);
    println!("resident at the end: {}", resident());
}

const SELECT: &str = "SELECT seq, turn, at, machine, kind, body FROM events WHERE seq >= 1 ORDER BY seq";

fn bare_rows(db: &Connection) -> usize {
    let mut statement = db.prepare(SELECT).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut sum = 0;
    while let Some(row) = rows.next().unwrap() {
        for i in 0..3 {
            black_box(row.get_ref(i).unwrap().as_i64().unwrap());
        }
        black_box((row.get_ref(3).unwrap().as_str().unwrap(), row.get_ref(4).unwrap().as_str().unwrap()));
        sum += row.get_ref(5).unwrap().as_str().unwrap().len();
    }
    sum
}

fn owned_rows(db: &Connection) -> usize {
    let mut statement = db.prepare(SELECT).unwrap();
    let rows = statement
        .query_map([], |r| {
            Ok((
                r.get::<_, i64>(0)?,
                r.get::<_, i64>(1)?,
                r.get::<_, i64>(2)?,
                r.get::<_, String>(3)?,
                r.get::<_, String>(4)?,
                r.get::<_, String>(5)?,
            ))
        })
        .unwrap();
    rows.map(|row| black_box(row.unwrap()).5.len()).sum()
}

fn line(what: &str, took: Duration, n: u32) {
    println!("{what:<50} {:>12.2?}", took / n);
}

/// This process's memory, as the system counts it.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let find = |name| status.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("?").trim().to_owned();
    format!("{} (peak {})", find("VmRSS:"), find("VmHWM:"))
}
