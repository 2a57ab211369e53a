//! Letters from other processes: the first wins, none is lost, a poke wakes.

use std::path::Path;
use std::time::Duration;

use tribunal_journal::{Error, Journal, Message, Poke, Posted, Reader, Turn, is_live, poke, post};

use crate::{Other, QUICK, append_sized, head, row, run_dir, tell, told};

fn message(key: &str, body: &str) -> Message {
    Message { key: key.to_owned(), kind: "decide".to_owned(), body: body.to_owned(), at: 9 }
}

/// Listens until it is killed.
pub fn listen(dir: &Path) {
    let listener = Poke::listen(dir).unwrap();
    tell("listening");
    while listener.wait(None).unwrap() {
        tell("woken");
    }
}

#[test]
fn a_killed_listener_listens_no_more() {
    let (_temp, dir) = run_dir();
    drop(Journal::create_with(&dir, &head(), QUICK).unwrap());
    for _ in 0..2 {
        let mut other = Other::start("listen", &dir);
        assert_eq!(other.hear().as_deref(), Some("listening"));
        assert!(poke(&dir).unwrap());
        assert_eq!(other.hear().as_deref(), Some("woken"));
        other.kill();
        assert!(!poke(&dir).unwrap() && !is_live(&dir).unwrap(), "nobody listens");
    }
}

/// Posts one answer when told to, and tells what became of it.
pub fn answer(dir: &Path, name: &str) {
    tell("ready");
    told();
    tell(&match post(dir, &message("question", name)).unwrap() {
        Posted::First => format!("first {name}"),
        Posted::Already(before) => format!("already {}", before.body),
    });
}

#[test]
fn the_first_of_eight_processes_wins_while_the_orchestrator_appends() {
    let (_temp, dir) = run_dir();
    let mut journal = Journal::create(&dir, &head()).unwrap();
    let mut others: Vec<_> = (0..8).map(|n| Other::start(&n.to_string(), &dir)).collect();
    for other in &mut others {
        assert_eq!(other.hear().as_deref(), Some("ready"));
    }
    for other in &mut others {
        other.say("go");
    }
    for _ in 0..20 {
        append_sized(&mut journal, 2).unwrap();
    }
    let words: Vec<String> = others.iter_mut().map(|other| other.hear().unwrap()).collect();
    let mail = journal.mail().unwrap();
    assert_eq!(mail.len(), 1);
    let winner = &mail[0].message.body;
    let firsts: Vec<_> = words.iter().filter(|w| w.starts_with("first")).collect();
    assert_eq!(firsts, [&format!("first {winner}")]);
    assert_eq!(words.iter().filter(|w| **w == format!("already {winner}")).count(), 7, "{words:?}");
}

#[test]
fn messages_are_read_once_and_kept() {
    let (_temp, dir) = run_dir();
    drop(Journal::create_with(&dir, &head(), QUICK).unwrap());
    assert_eq!(post(&dir, &message("a", "1")).unwrap(), Posted::First, "nobody needs to live");
    let mut journal = Journal::open_with(&dir, QUICK).unwrap();
    assert_eq!(post(&dir, &message("b", "2")).unwrap(), Posted::First);
    assert_eq!(journal.post(&message("c", "3")).unwrap(), Posted::First);
    assert_eq!(journal.post(&message("b", "4")).unwrap(), Posted::Already(message("b", "2")));
    let mail = journal.mail().unwrap();
    let bodies =
        |mail: &[tribunal_journal::Mail]| mail.iter().map(|m| m.message.body.clone()).collect::<String>();
    assert_eq!(bodies(&mail), "123");
    let turn = [Turn { at: 1, rows: &[row("{}")] }];
    assert_eq!(journal.append_reading(&turn, &[mail[1].id]).unwrap(), 1);
    assert_eq!(bodies(&journal.mail().unwrap()), "13");
    journal.mail_done(&[mail[0].id, 99, u64::MAX]).unwrap();
    let mut journal = journal.reopen().unwrap();
    assert_eq!(bodies(&journal.mail().unwrap()), "3");
    assert_eq!(
        journal.post(&message("a", "5")).unwrap(),
        Posted::Already(message("a", "1")),
        "read is still answered"
    );
    assert_eq!(bodies(&Reader::open(&dir).unwrap().mail().unwrap()), "123");
    assert!(matches!(post(&dir, &message("d", "{")), Err(Error::Refused { .. })));
}

#[test]
fn a_message_stays_unread_when_its_turn_fails() {
    let mut journal = Journal::in_memory(&head()).unwrap();
    journal.post(&message("a", "1")).unwrap();
    let id = journal.mail().unwrap()[0].id;
    let turn = [Turn { at: 1, rows: &[row("not json")] }];
    assert!(matches!(journal.append_reading(&turn, &[id]), Err(Error::Refused { .. })));
    assert_eq!(journal.reopen().unwrap().mail().unwrap().len(), 1);
}

#[test]
fn a_poke_wakes_who_listens_and_nobody_is_no_error() {
    let (_temp, dir) = run_dir();
    drop(Journal::create_with(&dir, &head(), QUICK).unwrap());
    assert!(!poke(&dir).unwrap(), "no FIFO");
    let listener = Poke::listen(&dir).unwrap();
    assert!(is_live(&dir).unwrap());
    assert!(!listener.wait(Some(Duration::ZERO)).unwrap(), "asking is no poke");
    assert!(poke(&dir).unwrap() && poke(&dir).unwrap());
    assert!(listener.wait(None).unwrap());
    assert!(!listener.wait(Some(Duration::ZERO)).unwrap(), "many are one");
    post(&dir, &message("a", "1")).unwrap();
    assert!(listener.wait(None).unwrap(), "a letter pokes");
    for _ in 0..70_000 {
        assert!(poke(&dir).unwrap(), "a full pipe is poked enough");
    }
    assert!(listener.wait(None).unwrap());
    assert!(!listener.drain().unwrap());
    std::thread::scope(|scope| {
        let woken = scope.spawn(|| listener.wait(None).unwrap());
        assert!(poke(&dir).unwrap());
        assert!(woken.join().unwrap());
    });
    std::fs::remove_file(dir.join("poke")).unwrap();
    std::fs::write(dir.join("poke"), b"").unwrap();
    assert!(matches!(poke(&dir), Err(Error::Strange { .. })));
    assert!(matches!(Poke::listen(&dir), Err(Error::Strange { .. })));
}
