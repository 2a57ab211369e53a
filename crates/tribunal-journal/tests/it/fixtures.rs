//! A journal of every released version, opened with today's code.
//!
//! `tests/fixtures/vN.db` was written by the code of version N and is never written again. When version N + 1 is
//! about to be released, make its fixture once with
//! `JOURNAL_WRITE_FIXTURE=1 cargo test -p tribunal-journal fixtures` and commit it.

use std::path::{Path, PathBuf};

use tribunal_journal::{Error, FILE, Journal, Message, NewRow, Posted, Reader, Row, Turn, VERSION, verify};

use crate::{append_sized, head, rows, rows_of, run_dir};

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/v{version}.db"))
}

/// What every fixture holds: 40 turns of 1 to 3 rows, and two letters, the first of them consumed.
fn content() -> Vec<Vec<(String, String, String)>> {
    let row = |turn: usize, n: usize| {
        let of = if n == 0 { "run".to_owned() } else { format!("loop-{}", turn % 5) };
        (of, format!("kind-{n}"), format!("{{\"turn\":{turn},\"n\":{n},\"text\":\"✓ käse\"}}"))
    };
    (0..40).map(|turn| (0..=turn % 3).map(|n| row(turn, n)).collect()).collect()
}

fn message(key: &str) -> Message {
    Message {
        key: key.to_owned(),
        kind: "decide".to_owned(),
        body: "{\"option\":\"yes\"}".to_owned(),
        at: 11,
    }
}

fn expected() -> Vec<Row> {
    let turns = content();
    let flat = turns.iter().enumerate().flat_map(|(i, turn)| turn.iter().map(move |row| (i as u64, row)));
    let row = |(seq, (i, (of, kind, body))): (usize, (u64, &(String, String, String)))| Row {
        seq: seq as u64 + 1,
        turn: i + 1,
        at: 1_700_000_000_000 + i,
        of: of.clone(),
        kind: kind.clone(),
        body: body.clone(),
    };
    flat.enumerate().map(row).collect()
}

fn write_fixture(to: &Path) {
    let (_temp, dir) = run_dir();
    let mut journal = Journal::create(&dir, &head()).unwrap();
    for (i, turn) in content().iter().enumerate() {
        let rows: Vec<_> = turn.iter().map(|(of, kind, body)| NewRow { of, kind, body }).collect();
        journal.append(&[Turn { at: 1_700_000_000_000 + i as u64, rows: &rows }]).unwrap();
    }
    journal.post(&message("first")).unwrap();
    journal.post(&message("second")).unwrap();
    let first = journal.mail().unwrap()[0].id;
    journal.mail_done(&[first]).unwrap();
    // Closing moves the log into the file, which then is all there is.
    drop(journal);
    std::fs::copy(dir.join(FILE), to).unwrap();
}

#[test]
fn fixtures_of_every_version_are_read_migrated_and_continued() {
    let newest = fixture(VERSION);
    if std::env::var_os("JOURNAL_WRITE_FIXTURE").is_some() && !newest.exists() {
        write_fixture(&newest);
    }
    for version in 1..=VERSION {
        let (_temp, dir) = run_dir();
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::copy(fixture(version), dir.join(FILE)).unwrap();
        assert_eq!(rows_of(&dir).unwrap(), expected(), "v{version} as it is");
        assert_eq!(Reader::open(&dir).unwrap().head(), &head());

        let mut journal = Journal::open(&dir).unwrap();
        assert_eq!(rows(&journal), expected(), "v{version} migrated");
        assert_eq!(journal.last_turn(), 40);
        let mail = journal.mail().unwrap();
        assert_eq!(mail.iter().map(|m| &m.message).collect::<Vec<_>>(), [&message("second")]);
        assert_eq!(journal.post(&message("first")).unwrap(), Posted::Already(message("first")));
        append_sized(&mut journal, 2).unwrap();
        drop(journal);
        assert_eq!(user_version(&dir), VERSION);
        assert_eq!(verify(&dir).unwrap().problems, [""; 0]);
    }
}

#[test]
fn a_journal_of_a_newer_version_is_refused_untouched() {
    let (_temp, dir) = run_dir();
    std::fs::create_dir_all(&dir).unwrap();
    let mut bytes = std::fs::read(fixture(VERSION)).unwrap();
    bytes[60..64].copy_from_slice(&(VERSION + 1).to_be_bytes());
    std::fs::write(dir.join(FILE), &bytes).unwrap();
    let newer = |result: Result<(), Error>| {
        let is = matches!(&result, Err(Error::Newer { found, known, .. }) if (*found, *known) == (VERSION + 1, VERSION));
        assert!(is, "{result:?}");
    };
    newer(Journal::open(&dir).map(drop));
    newer(Journal::create(&dir, &head()).map(drop));
    newer(Reader::open(&dir).map(drop));
    newer(tribunal_journal::post(&dir, &message("third")).map(drop));
    assert_eq!(std::fs::read(dir.join(FILE)).unwrap(), bytes);
}

/// The version in the file's header.
fn user_version(dir: &Path) -> u32 {
    let bytes = std::fs::read(dir.join(FILE)).unwrap();
    u32::from_be_bytes(bytes[60..64].try_into().unwrap())
}
