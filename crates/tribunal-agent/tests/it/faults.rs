//! Every fault, seen from outside.

use crate::stage::{Played, Stage, command};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;

fn play(fault: &str) -> (Stage, Played) {
    let stage = Stage::doing(&format!(
        "{{ write = 'a', text = 'x' }}, {{ say = 'so far' }}, {{ fault = '{fault}' }}, {{ say = 'after' }}"
    ));
    let played = stage.play("role=dev");
    (stage, played)
}

#[test]
fn faults_that_end_the_turn() {
    // (fault, exit code, signal, complete, is an answer)
    let check = |fault: &str, code: Option<i32>, signal: Option<i32>, complete: bool, answer: bool| {
        let (stage, played) = play(fault);
        assert_eq!(played.status.code(), code, "{fault}");
        assert_eq!(played.status.signal(), signal, "{fault}");
        assert_eq!(played.outcome.complete, complete, "{fault}: {:?}", played.outcome);
        assert_eq!(played.outcome.is_answer(), answer, "{fault}: {:?}", played.outcome);
        let text = String::from_utf8_lossy(&played.stdout);
        assert!(!text.contains("after"), "{fault} goes on");
        assert_eq!(stage.tree("a").as_deref(), Some("x"));
        assert!(stage.unused().is_empty());
    };
    check("crash", None, Some(9), false, false);
    check("exit-nonzero", Some(3), None, false, false);
    check("final-nonzero", Some(3), None, true, true);
    check("garbage", Some(0), None, false, false);
    check("half-answer", Some(0), None, false, false);
    check("no-final", Some(0), None, false, false);
    check("invalid-utf8", Some(0), None, true, true);
    check("error-event", Some(0), None, true, false);
}

#[test]
fn garbage_and_halves_look_like_it() {
    let (_, garbage) = play("garbage");
    assert!(garbage.outcome.drift.len() >= 3, "{:?}", garbage.outcome.drift);
    let (_, half) = play("half-answer");
    assert!(
        half.outcome.drift.iter().any(|drift| drift.note.contains("cut off")),
        "{:?}",
        half.outcome.drift
    );
    assert_ne!(half.stdout.last(), Some(&b'\n'));
    let (_, invalid) = play("invalid-utf8");
    assert!(String::from_utf8(invalid.stdout).is_err());
    let (_, report) = play("half-report");
    assert!(report.outcome.complete && !report.outcome.is_answer());
    let (_, escapes) = play("escape-codes");
    assert!(escapes.outcome.final_text.unwrap().contains('\u{1b}'));
}

#[test]
fn floods_are_as_long_as_asked_and_still_read() {
    let (_, lines) = play("flood:3_000_000");
    assert!(lines.stdout.len() >= 3_000_000);
    assert!(lines.outcome.is_answer() && lines.outcome.drift.is_empty(), "{:?}", lines.outcome);
    let (_, line) = play("flood-line:9000000");
    assert!(line.stdout.len() >= 9_000_000);
    assert!(line.outcome.is_answer() && line.outcome.drift.len() == 1, "{:?}", line.outcome.drift);
}

#[test]
fn a_hang_says_nothing_until_a_signal_ends_it() {
    let stage = Stage::doing("{ say = 'so far' }, { fault = 'hang' }");
    let mut child = crate::stage::agent(&stage.scenario())
        .current_dir(stage.at("tree"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("so far") {
        assert_ne!(lines.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let moment = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let more = poll(&mut [PollFd::new(lines.get_ref(), PollFlags::IN)], Some(&moment)).unwrap();
    assert_eq!((lines.buffer(), more), (&b""[..], 0), "neither a word nor an end");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn ignore_term_ends_by_kill_alone() {
    let stage = Stage::doing(
        "{ fault = 'ignore-term' }, { run = ['sh', '-c', 'kill -TERM $PPID'] }, { say = 'alive' }, { fault = 'crash' }",
    );
    let played = stage.play("role=dev");
    assert_eq!(played.status.signal(), Some(9));
    assert!(String::from_utf8_lossy(&played.stdout).contains("alive"));
}

#[test]
fn faults_in_the_tree() {
    let (stage, played) = play("write-outside");
    assert!(stage.at("escaped.txt").exists() && played.outcome.is_answer());
    let (stage, _) = play("write-outside:../other.txt");
    assert!(stage.at("other.txt").exists());
    let (stage, _) = play("symlink-outside:/etc/hostname");
    assert_eq!(std::fs::read_link(stage.at("tree/escape")).unwrap().to_str(), Some("/etc/hostname"));
    let (stage, played) = play("delete-tree");
    assert!(!stage.at("tree").exists() && played.outcome.is_answer());
}

#[test]
fn edit_git_springs_a_trap_on_careless_git() {
    let careless = |stage: &Stage| {
        let status = command("git").arg("status").current_dir(stage.at("tree")).output().unwrap();
        assert!(stage.at("tree/.trap/sprung").exists(), "{status:?}");
    };
    let steps = "{ write = 'a', text = 'x' }, { fault = 'edit-git' }";
    let own = Stage::doing(steps);
    command("git").args(["init", "-q"]).current_dir(own.at("tree")).status().unwrap();
    assert!(own.play("role=dev").outcome.is_answer());
    careless(&own);
    let linked = Stage::doing(steps);
    std::fs::write(linked.at("tree/.git"), "gitdir: /nowhere\n").unwrap();
    assert!(linked.play("role=dev").outcome.is_answer());
    careless(&linked);
}
