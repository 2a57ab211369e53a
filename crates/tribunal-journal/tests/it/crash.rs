//! A process killed in the middle, a log cut off anywhere, a damaged page: whole turns or a clear word.

use std::path::Path;

use tribunal_journal::{Error, FILE, Journal, Reader, Row, Turn, verify};

use crate::{Other, QUICK, append_sized, assert_whole_turns, head, row, rows, rows_of, run_dir, sized, tell};

/// Appends two turns at a time until it is killed, and tells each place once it is on disk.
pub fn append_for_ever(dir: &Path) {
    let mut journal = Journal::open(dir).unwrap();
    for size in (1..=7).cycle() {
        let (one, two) = (sized(size), sized(size + 1));
        let (one, two) = (vec![row(&one); size], vec![row(&two); size + 1]);
        let turns = [Turn { at: 1, rows: &one }, Turn { at: 2, rows: &two }];
        tell(&journal.append(&turns).unwrap().to_string());
    }
}

#[test]
fn a_killed_writer_loses_nothing_it_was_promised() {
    let (_temp, dir) = run_dir();
    drop(Journal::create(&dir, &head()).unwrap());
    let mut promised = 0;
    for acks in [1, 2, 5, 17, 40] {
        let mut other = Other::start("append", &dir);
        for _ in 0..acks {
            promised = other.hear().unwrap().parse().unwrap();
        }
        other.kill();
        let journal = Journal::open(&dir).unwrap();
        let found = rows(&journal);
        assert_whole_turns(&found);
        assert_eq!(journal.last_turn() % 2, 0, "turns of one call come together");
        assert!(found.len() as u64 >= promised, "{} rows, {promised} promised", found.len());
        assert_eq!(verify(&dir).unwrap().problems, [""; 0]);
    }
}

/// A journal of 30 turns that is all in its log, as a crash leaves it: rows, file, log.
fn crashed(dir: &Path) -> (Vec<Row>, Vec<u8>, Vec<u8>) {
    let mut journal = Journal::create_with(dir, &head(), QUICK).unwrap();
    for size in (1..=9).cycle().take(30) {
        append_sized(&mut journal, size).unwrap();
    }
    let log = std::fs::read(dir.join("journal.db-wal")).unwrap();
    assert!(log.len() > 100_000, "the log has something to lose: {}", log.len());
    (rows(&journal), std::fs::read(dir.join(FILE)).unwrap(), log)
}

/// Puts file and log into a fresh directory and says how many rows are found: a prefix, in whole turns.
fn found_with(dir: &Path, main: &[u8], log: &[u8], all: &[Row]) -> Option<usize> {
    std::fs::create_dir(dir).unwrap();
    std::fs::write(dir.join(FILE), main).unwrap();
    std::fs::write(dir.join("journal.db-wal"), log).unwrap();
    let found = match Journal::open_with(dir, QUICK) {
        Ok(journal) => Some(rows(&journal)),
        // Nothing left of the schema: the run had not begun.
        Err(Error::Missing { .. }) => None,
        Err(e) => panic!("{}: {e}", dir.display()),
    };
    std::fs::remove_dir_all(dir).unwrap();
    found.map(|found| {
        assert_eq!(found, all[..found.len()], "{}", dir.display());
        assert_whole_turns(&found);
        found.len()
    })
}

#[test]
fn a_log_cut_off_anywhere_gives_a_prefix_of_whole_turns() {
    let (temp, dir) = run_dir();
    let (all, main, log) = crashed(&dir);
    let cuts = (0..log.len()).step_by(512).chain([log.len()]);
    let mut found: Vec<_> = cuts
        .map(|cut| found_with(&temp.path().join(format!("cut-{cut}")), &main, &log[..cut], &all))
        .collect();
    assert!(found.is_sorted(), "more log, more rows: {found:?}");
    found.dedup();
    let ends = all.chunk_by(|a, b| a.turn == b.turn).map(|turn| turn[turn.len() - 1].seq as usize);
    let expect: Vec<_> = [None, Some(0)].into_iter().chain(ends.map(Some)).collect();
    assert_eq!(found, expect, "every turn's end is found by some cut, and nothing else");
}

#[test]
fn a_log_with_a_lost_sector_gives_a_prefix_of_whole_turns() {
    let (temp, dir) = run_dir();
    let (all, main, log) = crashed(&dir);
    let mut shorter = 0;
    // Sectors on a stride that shares no factor with a page, so that every part of a page is hit.
    for sector in (0..log.len() / 512).step_by(3) {
        let mut torn = log.clone();
        torn[sector * 512..(sector + 1) * 512].fill(0xA5);
        let found = found_with(&temp.path().join(format!("sector-{sector}")), &main, &torn, &all);
        shorter += usize::from(found != Some(all.len()));
    }
    assert!(shorter > 50, "{shorter}");
}

/// Damages a sound journal and returns what opening and reading everything says.
fn damaged(damage: impl FnOnce(&mut Vec<u8>)) -> (Result<usize, Error>, Vec<String>, Result<usize, Error>) {
    let (_temp, dir) = run_dir();
    let mut journal = Journal::create_with(&dir, &head(), QUICK).unwrap();
    for size in (1..=9).cycle().take(60) {
        append_sized(&mut journal, size).unwrap();
    }
    drop(journal);
    let mut bytes = std::fs::read(dir.join(FILE)).unwrap();
    damage(&mut bytes);
    std::fs::write(dir.join(FILE), bytes).unwrap();
    let read = rows_of(&dir).map(|rows| rows.len());
    let problems = verify(&dir).unwrap().problems;
    let written = Journal::open(&dir).and_then(|journal| {
        let mut n = 0;
        journal
            .each(1, |_| {
                n += 1;
                Ok(())
            })
            .map(|()| n)
    });
    (read, problems, written)
}

#[test]
fn damage_is_told_and_never_a_panic() {
    let check = |name: &str, damage: &dyn Fn(&mut Vec<u8>)| {
        let (read, problems, written) = damaged(damage);
        assert!(matches!(read, Err(Error::Corrupt { .. })), "{name}: {read:?}");
        assert!(matches!(written, Err(Error::Corrupt { .. })), "{name}: {written:?}");
        assert!(!problems.is_empty(), "{name}");
    };
    check("not a database", &|b| b.fill(b'x'));
    check("no header", &|b| b[..100].fill(0));
    check("a page of noise", &|b| noise(&mut b[20 * 4096..21 * 4096]));
    check("a page of zeros", &|b| b[20 * 4096..21 * 4096].fill(0));
    check("the schema's page", &|b| noise(&mut b[100..4096]));
    check("cut short", &|b| b.truncate(b.len() / 2 + 100));
    check("another program's", &|b| b[68..72].fill(1));
}

fn noise(bytes: &mut [u8]) {
    let mut x = 1_u32;
    for byte in bytes {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = x.to_be_bytes()[0];
    }
}

#[test]
fn noise_in_any_page_is_an_answer_not_a_panic() {
    let (temp, dir) = run_dir();
    let mut journal = Journal::create_with(&dir, &head(), QUICK).unwrap();
    for size in (1..=9).cycle().take(20) {
        append_sized(&mut journal, size).unwrap();
    }
    drop(journal);
    let sound = std::fs::read(dir.join(FILE)).unwrap();
    let bad = temp.path().join("bad");
    std::fs::create_dir(&bad).unwrap();
    for page in 0..sound.len() / 4096 {
        let mut bytes = sound.clone();
        noise(&mut bytes[page * 4096..(page + 1) * 4096]);
        std::fs::write(bad.join(FILE), bytes).unwrap();
        drop(Reader::open(&bad).and_then(|r| r.mail()));
        drop(rows_of(&bad));
        assert!(!verify(&bad).unwrap().problems.is_empty(), "page {page}");
    }
}

#[test]
fn a_creation_that_died_can_be_made_again() {
    let (_temp, dir) = run_dir();
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(FILE), b"").unwrap();
    assert!(matches!(Journal::open(&dir), Err(Error::Missing { .. })));
    assert!(matches!(Reader::open(&dir), Err(Error::Missing { .. })));
    assert_eq!(Journal::create(&dir, &head()).unwrap().head(), &head());
}
