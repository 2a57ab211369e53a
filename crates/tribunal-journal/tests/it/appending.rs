//! What goes in comes out; turns are numbered; a failed append is the last one.

use proptest::prelude::*;
use tribunal_journal::{Error, Inject, Journal, NewRow, Turn, verify};

use crate::{QUICK, append_sized, head, row, rows, run_dir};

#[test]
fn a_new_journal_is_empty_and_knows_its_run() {
    let (_temp, dir) = run_dir();
    let journal = Journal::create(&dir, &head()).unwrap();
    assert_eq!((journal.head(), journal.last_seq(), journal.last_turn()), (&head(), 0, 0));
    assert_eq!(rows(&journal), []);
    drop(journal);
    assert!(matches!(Journal::create(&dir, &head()), Err(Error::Exists { .. })));
    assert_eq!(Journal::open(&dir).unwrap().head(), &head());
}

#[test]
fn turns_of_one_call_are_numbered_one_by_one_and_empty_ones_leave_no_trace() {
    let mut journal = Journal::in_memory(&head()).unwrap();
    let (one, two) = ([row("1")], [row("2"), row("3")]);
    let turns = [Turn { at: 5, rows: &one }, Turn { at: 6, rows: &[] }, Turn { at: 7, rows: &two }];
    assert_eq!(journal.append(&turns).unwrap(), 3);
    assert_eq!(journal.append(&[]).unwrap(), 3);
    let found: Vec<_> = rows(&journal).into_iter().map(|r| (r.seq, r.turn, r.at, r.body)).collect();
    let expect = [(1, 1, 5, "1"), (2, 2, 7, "2"), (3, 2, 7, "3")];
    assert_eq!(found, expect.map(|(s, t, a, b)| (s, t, a, b.to_owned())));
}

#[test]
fn each_begins_where_it_is_told_and_stops_when_told() {
    let mut journal = Journal::in_memory(&head()).unwrap();
    append_sized(&mut journal, 4).unwrap();
    for (from, expect) in
        [(0, vec![1, 2, 3, 4]), (1, vec![1, 2, 3, 4]), (3, vec![3, 4]), (5, vec![]), (u64::MAX, vec![])]
    {
        let mut seqs = Vec::new();
        journal
            .each::<Error>(from, |row| {
                seqs.push(row.seq);
                Ok(())
            })
            .unwrap();
        assert_eq!(seqs, expect, "from {from}");
    }
    let mut calls = 0;
    let stopped = journal.each(1, |_| {
        calls += 1;
        Err(Error::Injected)
    });
    assert!(matches!(stopped, Err(Error::Injected)));
    assert_eq!(calls, 1);
}

/// A failure of the second append: what the caller is told, and how many rows a restart finds.
#[test]
fn after_a_failed_append_nothing_is_taken_until_a_restart() {
    for (fault, told, kept) in [
        (Inject::FailBefore, "injected failure", 1),
        (Inject::FailAfter, "injected failure", 3),
        (Inject::DiskFull, "no space left", 1),
    ] {
        let (_temp, dir) = run_dir();
        for memory in [true, false] {
            let mut journal = if memory {
                Journal::in_memory(&head()).unwrap()
            } else {
                Journal::create_with(&dir, &head(), QUICK).unwrap()
            };
            journal.inject(move |n| (n == 1).then_some(fault));
            append_sized(&mut journal, 1).unwrap();
            let error = append_sized(&mut journal, 2).unwrap_err().to_string();
            assert!(error.contains(told), "{fault:?}: {error}");
            let error = append_sized(&mut journal, 1).unwrap_err();
            assert!(matches!(&error, Error::Poisoned { cause, .. } if cause.contains(told)), "{error}");
            assert!(matches!(journal.mail_done(&[1]), Err(Error::Poisoned { .. })));
            let mut journal = journal.reopen().unwrap();
            assert_eq!(rows(&journal).len(), kept, "{fault:?}");
            assert_eq!(journal.last_seq(), kept as u64);
            append_sized(&mut journal, 1).unwrap();
        }
        assert_eq!(verify(&dir).unwrap().problems, [""; 0]);
    }
}

#[test]
fn a_bad_row_takes_its_whole_call_with_it() {
    let good = [row("{}")];
    let bad = [row("{}"), row("{\"open\":")];
    for (turns, why) in [
        (vec![Turn { at: 1, rows: &good }, Turn { at: 1, rows: &bad }], "not JSON"),
        (vec![Turn { at: 1, rows: &good }, Turn { at: u64::MAX, rows: &good }], "too late a time"),
    ] {
        let mut journal = Journal::in_memory(&head()).unwrap();
        append_sized(&mut journal, 1).unwrap();
        assert!(matches!(journal.append(&turns), Err(Error::Refused { .. })), "{why}");
        let journal = journal.reopen().unwrap();
        assert_eq!(rows(&journal).len(), 1, "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Law: however turns are grouped into calls, and wherever the process restarts, the rows are the same.
    #[test]
    fn grouping_and_restarts_do_not_show(
        turns in prop::collection::vec(prop::collection::vec((".{0,8}", ".{0,8}", any::<i64>()), 0..4), 0..12),
        group in 1_usize..5,
        restart in any::<bool>(),
    ) {
        let bodies: Vec<Vec<String>> =
            turns.iter().map(|t| t.iter().map(|(_, _, n)| n.to_string()).collect()).collect();
        let new: Vec<Vec<NewRow<'_>>> = turns.iter().zip(&bodies).map(|(t, b)| {
            t.iter().zip(b).map(|((of, kind, _), body)| NewRow { of, kind, body }).collect()
        }).collect();
        let turns: Vec<Turn<'_>> =
            new.iter().enumerate().map(|(i, rows)| Turn { at: i as u64, rows }).collect();
        let mut single = Journal::in_memory(&head()).unwrap();
        for turn in &turns {
            single.append(&[*turn]).unwrap();
        }
        let mut grouped = Journal::in_memory(&head()).unwrap();
        for turns in turns.chunks(group) {
            grouped.append(turns).unwrap();
            if restart {
                grouped = grouped.reopen().unwrap();
            }
        }
        prop_assert_eq!(rows(&single), rows(&grouped));
        let flat: Vec<_> = new.iter().flatten().map(|r| (r.of.to_owned(), r.kind.to_owned(), r.body.to_owned())).collect();
        let found: Vec<_> = rows(&single).into_iter().map(|r| (r.of, r.kind, r.body)).collect();
        prop_assert_eq!(found, flat);
    }
}
