//! Whole runs that converge, and runs that do not: how many rounds they take, and how they end.

use crate::review_panel::{BACKEND, Change, QA, fixer, reviewer};
use std::fmt::Write;
use tribunal_core::converge::Pattern;
use tribunal_core::finding::Fate;
use tribunal_core::review_loop::{LoopEvent, Outcome, Why};
use tribunal_engine::Fact;

/// Faults that nobody takes for one another, one on each line after the first.
const FAULTS: [&str; 9] = [
    "the port is outside the range that sockets take",
    "an empty user name is stored as it comes",
    "the timeout lacks a unit and is read as days",
    "this regular expression backtracks without bound",
    "the temporary folder is never removed",
    "rounding down loses a cent on every invoice",
    "the cache grows until memory runs out",
    "a failed upload is reported as done",
    "the lock is taken in another order than in the worker",
];

fn raised(n: usize, line: usize, evidence: &str) -> String {
    raised_as("blocker", n, line, evidence)
}

fn raised_as(severity: &str, n: usize, line: usize, evidence: &str) -> String {
    let issue = FAULTS[(n - 1) % FAULTS.len()];
    let evidence = if evidence.is_empty() { String::new() } else { format!(" | evidence: {evidence}") };
    format!(
        "[id:a{n}] [severity:{severity}] [confidence:95] [file:a.py:{line}] issue: {issue} (case {n}) | suggestion: fix it{evidence}\n"
    )
}

/// A file with a line for each fault; those up to `fixed` are fixed.
fn file(lines: usize, fixed: usize) -> String {
    let mut text = "begin = 1\n".to_owned();
    for n in 1..=lines {
        let _ = writeln!(text, "value_{n} = {}", if n <= fixed { "checked()" } else { "taken()" });
    }
    text
}

/// So many faults in the first round and so many fewer in each one after it.
fn steady(faults: usize, each: usize) -> Change {
    let all: String = (1..=faults).map(|n| raised(n, n + 1, "")).collect();
    let mut script = reviewer(QA, 1, &format!("{all}VERDICT: reject"));
    for (round, fixed) in (2..).zip((each..=faults).step_by(each)) {
        let before = fixed - each;
        let says: String = (before + 1..=fixed).map(|n| format!("FIXED: F-{n}\n")).collect();
        script += &fixer(BACKEND, round, "a.py", &file(faults, fixed), &format!("{says}TASK: done"));
        let gone: String = (before + 1..=fixed).map(|n| format!("F-{n}: resolved\n")).collect();
        let left: String = (fixed + 1..=faults).map(|n| format!("F-{n}: still there\n")).collect();
        let verdict = if left.is_empty() {
            "CHECKED: every line that was named.\nVERDICT: approve"
        } else {
            "VERDICT: reject"
        };
        script += &reviewer(QA, round, &format!("{gone}{left}{verdict}"));
    }
    Change::new(&[("a.py", &file(faults, 0))], &script)
}

fn passed(change: &Change) -> bool {
    change.run_state().loops.values().next_back().unwrap().outcome() == Some(&Outcome::Passed)
}

/// 9-6-3-0 and 4-3-2-1-0 end by themselves: what was left twice is named first, and nobody is asked.
#[test]
fn healthy_loops_run_to_their_end() {
    for (faults, each, rounds) in [(9, 3, 4), (4, 1, 5)] {
        let change = steady(faults, each);
        change.review(QA, &["--fix", "--max-rounds", "12"], 0);
        assert_eq!(change.rounds(), rounds, "{faults} faults");
        assert!(passed(&change), "{faults} faults");
        assert!(change.facts().iter().all(|fact| !matches!(fact, Fact::Loop(_, LoopEvent::Asked(_)))));
    }
}

/// Everything is fixed each round, and three other faults are found on lines that nobody touched.
fn goalposts(severity: &str, evidence: &str) -> Change {
    const ROUNDS: usize = 8;
    let three = |round: usize| -> String {
        let ids = 3 * round - 2..=3 * round;
        ids.map(|n| raised_as(severity, n, n + 1, evidence)).collect()
    };
    let mut script = reviewer(QA, 1, &format!("{}VERDICT: reject", three(1)));
    for round in 2..=ROUNDS {
        let fixed = 3 * (round - 1);
        let says: String = (fixed - 2..=fixed).map(|n| format!("FIXED: F-{n}\n")).collect();
        let number = u32::try_from(round).unwrap();
        script += &fixer(BACKEND, number, "a.py", &file(3 * ROUNDS, fixed), &format!("{says}TASK: done"));
        let gone: String = (fixed - 2..=fixed).map(|n| format!("F-{n}: resolved\n")).collect();
        script += &reviewer(QA, number, &format!("{gone}{}VERDICT: reject", three(round)));
    }
    Change::new(&[("a.py", &file(3 * ROUNDS, 0))], &script)
}

/// Three late blockers a round: one exhaustive pass, and by round five a question that names the pattern.
#[test]
fn moving_goalposts_end_with_a_question_that_names_them() {
    let change = goalposts("blocker", "seen by running it");
    let ended = change.review(QA, &["--fix", "--max-rounds", "12"], 4);
    let why = change.why();
    assert!(matches!(why, Why::Escalated(Pattern::Turnover(_))), "{why:?}");
    assert!(change.rounds() <= 5, "round {}", change.rounds());
    assert!(ended.said().contains("exhaustive pass"), "{}", ended.said());
    let ordered = |fact: &Fact| matches!(fact, Fact::Loop(_, LoopEvent::ExhaustiveOrdered { .. }));
    assert_eq!(change.facts().iter().filter(|fact| ordered(fact)).count(), 1);
}

/// The same without evidence, and warnings whatever their evidence: after round two they are advisory however often they
/// are said, and a person is told so.
#[test]
fn late_findings_without_evidence_and_late_warnings_stay_advisory() {
    for (severity, evidence) in [("blocker", ""), ("warning", ""), ("warning", "seen by running it")] {
        let change = goalposts(severity, evidence);
        let ended = change.review(QA, &["--fix", "--max-rounds", "12"], 4);
        assert!(change.rounds() <= 3, "{severity} {evidence}: round {}", change.rounds());
        assert_eq!(change.why(), Why::NoQuorum, "{severity} {evidence}");
        assert!(ended.said().contains("missed earlier"), "{}", ended.said());
        let run_state = change.run_state();
        let last = run_state.loops.values().next_back().unwrap();
        let late = |fate: &Fate| last.ledger().iter().filter(|(_, entry)| entry.fate == *fate).count();
        assert_eq!((late(&Fate::Advisory), late(&Fate::Open)), (3, 0), "{severity} {evidence}");
    }
}

/// A reviewer that approves and only notes late warnings ends the loop: they go into the report, and nobody is asked.
#[test]
fn late_warnings_of_an_approving_reviewer_end_the_loop() {
    let change = late_notes();
    change.review(QA, &["--fix", "--max-rounds", "12"], 0);
    assert_eq!(change.rounds(), 3);
    assert!(passed(&change));
    let run_state = change.run_state();
    let last = run_state.loops.values().next_back().unwrap();
    let advisory = last.ledger().iter().filter(|(_, entry)| entry.fate == Fate::Advisory).count();
    assert_eq!(
        advisory,
        3,
        "{:?}",
        last.ledger().iter().map(|(id, entry)| (id, &entry.fate)).collect::<Vec<_>>()
    );
}

/// Rounds one and two reject, the third approves beside three warnings on lines that nobody touched.
fn late_notes() -> Change {
    let three = |round: usize, severity: &str| -> String {
        (3 * round - 2..=3 * round).map(|n| raised_as(severity, n, n + 1, "")).collect()
    };
    let gone = |round: usize| -> String {
        (3 * round - 5..=3 * round - 3).map(|n| format!("F-{n}: resolved\n")).collect()
    };
    let mut script = reviewer(QA, 1, &format!("{}VERDICT: reject", three(1, "blocker")));
    for round in 2..=3 {
        let says: String = (3 * round - 5..=3 * round - 3).map(|n| format!("FIXED: F-{n}\n")).collect();
        let number = u32::try_from(round).unwrap();
        script += &fixer(BACKEND, number, "a.py", &file(12, 3 * (round - 1)), &format!("{says}TASK: done"));
    }
    script += &reviewer(QA, 2, &format!("{}{}VERDICT: reject", gone(2), three(2, "blocker")));
    let checked = "CHECKED: every line that was named.\nVERDICT: approve";
    // The final pass puts nothing to it, and gets the same turn.
    script += &reviewer(QA, 3, &format!("{}{}{checked}", gone(3), three(3, "warning")));
    Change::new(&[("a.py", &file(12, 0))], &script)
}

/// One fault worded anew each round, its former self called resolved where nothing changed: stale, not five findings.
#[test]
fn one_fault_under_new_words_is_one_finding() {
    let mut script = reviewer(QA, 1, &format!("{}VERDICT: reject", raised(1, 2, "")));
    for round in 2..=6u32 {
        let text = format!("{}note = {round}\n", file(6, 0));
        script += &fixer(BACKEND, round, "a.py", &text, "FIXED: {finding:1}\nTASK: done");
        let again = raised(round as usize, 2, "");
        script += &reviewer(QA, round, &format!("{{finding:1}}: resolved\n{again}VERDICT: reject"));
    }
    let change = Change::new(&[("a.py", &file(6, 0))], &script);
    change.review(QA, &["--fix", "--max-rounds", "12"], 4);
    assert!(change.rounds() <= 4, "round {}", change.rounds());
    let run_state = change.run_state();
    assert_eq!(run_state.loops.values().next_back().unwrap().ledger().iter().count(), 1);
}
