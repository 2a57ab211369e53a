//! Tracking: ids over rounds, what silence means, and the marks of what is new.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Fate, Reply, Said, Severity, Source};
use tribunal_core::ids::{Check, FindingId, Reviewer};
use tribunal_core::ledger::{Entry, Ledger, Mark, Tracked};
use tribunal_findings::track::prose::Voices;
use tribunal_findings::track::{Block, Change, FileChange, Hunk, Input, Outcome, Side, ToolWords};
use tribunal_findings::{Panel, Raised, track, triage};

const OLD: &str = "use std::fs;\n\nfn load(path: &str) -> String {\n    let text = fs::read_to_string(path).unwrap();\n    text\n}\n\nfn save(path: &str, text: &str) {\n    fs::write(path, text).unwrap();\n}\n";

/// A loop's tracking, round after round.
struct Rounds {
    ledger: Ledger,
    round: u32,
    next: u32,
    removed: Vec<Block>,
    tools: ToolWords,
}

#[derive(Clone, Default)]
struct Round {
    raised: Vec<Raised>,
    said: Vec<(&'static str, u32, Said)>,
    ran: Vec<&'static str>,
    old: String,
    new: String,
    hunks: Vec<Hunk>,
}

impl Rounds {
    fn new() -> Self {
        Self {
            ledger: Ledger::default(),
            round: 0,
            next: 1,
            removed: Vec::new(),
            tools: ToolWords::default(),
        }
    }

    fn play(&mut self, round: Round) -> Outcome {
        self.round += 1;
        let panel = Panel { sat: ["a", "b"].iter().map(Reviewer::new).collect(), ..Panel::default() };
        let triaged = triage(round.raised, &panel);
        let mut said: BTreeMap<Reviewer, BTreeMap<FindingId, Said>> = BTreeMap::new();
        for (reviewer, id, words) in round.said {
            said.entry(Reviewer::new(reviewer)).or_default().insert(FindingId(id), words);
        }
        let ran: BTreeSet<Check> = round.ran.iter().map(Check::new).collect();
        let change = Change::new(if round.hunks.is_empty() {
            vec![]
        } else {
            vec![FileChange {
                old: Some("src/io.rs".into()),
                new: Some("src/io.rs".into()),
                hunks: round.hunks,
            }]
        });
        let read = |side: Side, _: &str| {
            Some(if side == Side::Before { round.old.clone() } else { round.new.clone() })
        };
        let outcome = track(&Input {
            round: self.round,
            next_id: FindingId(self.next),
            ledger: &self.ledger,
            triaged: &triaged,
            said: &said,
            ran: &ran,
            change: &change,
            fix: &change,
            removed: &self.removed,
            read: &read,
            architect: false,
            tools: &self.tools,
        });
        self.next = outcome.matches.iter().map(|m| m.id().0 + 1).max().unwrap_or(0).max(self.next);
        self.ledger.track(&outcome.tracked, self.round, true);
        self.removed.extend(outcome.removed.iter().cloned());
        outcome
    }
}

fn by(reviewer: &str, severity: Severity, line: u32, text: &str) -> Raised {
    Raised {
        source: Source::Reviewer(Reviewer::new(reviewer)),
        claim: Claim::new(severity, text).at("src/io.rs", Some(line)),
    }
}

fn check(line: u32, text: &str) -> Raised {
    Raised {
        source: Source::Check(Check::new("lint")),
        claim: Claim::new(Severity::Blocker, text).at("src/io.rs", Some(line)),
    }
}

fn get(outcome: &Outcome, id: u32) -> &Tracked {
    outcome
        .tracked
        .iter()
        .find(|t| t.id == FindingId(id))
        .unwrap_or_else(|| panic!("F-{id} not in {outcome:#?}"))
}

fn opening(raised: Vec<Raised>) -> (Rounds, Outcome) {
    let mut rounds = Rounds::new();
    let outcome = rounds.play(Round { raised, new: OLD.into(), ..Round::default() });
    (rounds, outcome)
}

/// How a reviewer writes is learned from its findings of earlier rounds, and it is no other reviewer's way.
#[test]
fn what_one_reviewer_always_writes_is_learned_from_the_ledger() {
    let texts = [
        "Worth a second look: the socket stays open after an error",
        "Worth a second look: `total` overflows for large orders",
        "Worth a second look: retries never stop when the server is down",
    ];
    let said = |reviewer: &str, text: &str, line: u32| by(reviewer, Severity::Warning, line, text);
    let mut raised: Vec<Raised> = (1..).zip(texts).map(|(n, text)| said("a", text, n * 3)).collect();
    raised.push(said("b", "Worth a second look: nobody closes the pool", 1));
    let (rounds, _) = opening(raised);
    let entries: Vec<&Entry> = rounds.ledger.iter().map(|(_, entry)| entry).collect();
    let before: Vec<&Claim> = entries.iter().map(|entry| &entry.claim).collect();
    let new = "Worth a second look: the cache grows without an end";
    let panel = Panel { sat: ["a", "b"].iter().map(Reviewer::new).collect(), ..Panel::default() };
    for (reviewer, fillers) in [("a", 4), ("b", 0)] {
        let now = triage(vec![said(reviewer, new, 2)], &panel);
        let voices = Voices::of_ledger(&entries, &before, &now);
        assert_eq!(voices.after(0, new).len(), fillers, "{reviewer}");
    }
}

fn hunk(old_start: u32, old_len: u32, new_start: u32, new_len: u32) -> Hunk {
    Hunk { old_start, old_len, new_start, new_len }
}

/// A linter's blocker on the line of `save` that writes, and a round in which that line is written so.
fn linted(after: &str, tools: ToolWords) -> (Outcome, Rounds) {
    let mut rounds = Rounds::new();
    rounds.tools = tools;
    rounds.play(Round {
        raised: vec![check(9, "this panics")],
        ran: vec!["lint"],
        old: OLD.into(),
        new: OLD.into(),
        ..Round::default()
    });
    let new = OLD.replace("    fs::write(path, text).unwrap();\n", after);
    let len = after.lines().count() as u32;
    let hunks = match new == OLD {
        true => vec![],
        false => vec![Hunk { old_start: 9, old_len: 1, new_start: 9, new_len: len }],
    };
    let round = Round { ran: vec!["lint"], old: OLD.into(), new, hunks, ..Round::default() };
    (rounds.play(round), rounds)
}

#[test]
fn a_tool_settles_by_silence_only_what_changed_beyond_its_layout() {
    let lint = ToolWords { names: [Check::new("lint")].into(), filtered: Vec::new() };
    let fate = |after: &str, tools: &ToolWords| linted(after, tools.clone()).0.tracked[0].fate.clone();
    let (same, laid_out) = (
        "    fs::write(path, text).unwrap();\n",
        "    fs::write(\n        path,\n        text,\n    ).unwrap();\n",
    );
    let fixed = "    fs::write(path, text).ok();\n";
    assert_eq!(fate(same, &lint), Fate::Open, "nothing changed");
    assert_eq!(fate(laid_out, &lint), Fate::Open, "a formatter settles no other tool's finding");
    assert_eq!(fate(fixed, &lint), Fate::Fixed);
    // What it still says beside the change is no longer part of it.
    let mut filtered = check(9, "this panics").claim;
    filtered.line = Some(12);
    let beside = ToolWords { filtered: vec![filtered], ..lint.clone() };
    assert_eq!(fate(same, &beside), Fate::Fixed);
    // A check that is no tool settles by silence, as it always did.
    assert_eq!(fate(same, &ToolWords::default()), Fate::Fixed);
    assert_eq!(linted(laid_out, lint).0.delta.resolved, 0);
}

#[test]
fn layout_settles_what_its_fixer_was_asked_to_lay_out() {
    let lint = ToolWords { names: [Check::new("lint")].into(), filtered: Vec::new() };
    let (_, mut rounds) = linted("    fs::write(path, text).unwrap();\n", lint);
    let id = rounds.ledger.iter().next().unwrap().0;
    rounds.ledger.reply(&BTreeMap::from([(id, Reply::Fixed)]));
    let new = OLD.replace("(path, text).unwrap();\n}", "( path, text ).unwrap();\n}");
    let hunks = vec![Hunk { old_start: 9, old_len: 1, new_start: 9, new_len: 1 }];
    let round = Round { ran: vec!["lint"], old: OLD.into(), new, hunks, ..Round::default() };
    assert_eq!(rounds.play(round).tracked[0].fate, Fate::Fixed);
}

#[test]
fn the_first_round_gives_ids_in_order_and_no_news() {
    let (_, outcome) = opening(vec![
        by("a", Severity::Warning, 9, "`save` panics when the disk is full"),
        by("a", Severity::Blocker, 4, "`load` panics on a missing file"),
    ]);
    assert_eq!(get(&outcome, 1).claim.line, Some(4));
    assert_eq!(get(&outcome, 2).claim.line, Some(9));
    assert!(outcome.tracked.iter().all(|t| t.mark == Mark::New && t.fate == Fate::Open));
    assert_eq!((outcome.delta.new, outcome.delta.unchanged), (2, 0));
    assert_eq!(get(&outcome, 1).region.as_deref(), Some("src/io.rs:load"));
}

#[test]
fn a_shifted_and_reworded_finding_keeps_its_id() {
    let (mut rounds, _) = opening(vec![by("a", Severity::Blocker, 9, "`save` panics when the disk is full")]);
    let new = format!("// a comment\n// another\n{OLD}");
    let outcome = rounds.play(Round {
        raised: vec![by("a", Severity::Warning, 11, "A full disk makes `save` panic: unwrap on fs::write")],
        old: OLD.into(),
        new,
        hunks: vec![hunk(1, 0, 1, 2)],
        ..Round::default()
    });
    let one = get(&outcome, 1);
    assert_eq!((one.mark, one.severity, one.touched), (Mark::Persistent, Severity::Warning, false));
    assert_eq!((outcome.delta.downgraded, outcome.delta.new), (1, 0));
}

/// `save` above `load`, word for word but for what `edit` does to it.
fn save_first(edit: (&str, &str)) -> Round {
    let cut = |text: &'static str, at: &str| text.split_at(text.find(at).unwrap_or_default());
    let ((head, rest), (_, save)) = (cut(OLD, "fn load"), cut(OLD, "fn save"));
    let load = cut(rest, "fn save").0.trim_end();
    let new = format!("{head}{}\n{load}\n", save.replace(edit.0, edit.1));
    Round { old: OLD.into(), new, hunks: vec![hunk(3, 0, 3, 4), hunk(7, 4, 11, 0)], ..Round::default() }
}

#[test]
fn code_that_only_moved_settles_nothing() {
    let raised = || vec![by("a", Severity::Suggestion, 9, "`save` could return a Result")];
    let (mut rounds, _) = opening(raised());
    let outcome = rounds.play(save_first(("", "")));
    let one = get(&outcome, 1);
    assert_eq!((&one.fate, one.claim.line, one.mark), (&Fate::Open, Some(4), Mark::Persistent));
    assert_eq!((outcome.delta.resolved, outcome.delta.not_reported), (0, 1));
    // Edited on the way it is another thing.
    let (mut rounds, _) = opening(raised());
    let outcome = rounds.play(save_first((".unwrap()", "?")));
    assert_eq!(get(&outcome, 1).fate, Fate::Fixed);
    // One line alone that went from one function to the other.
    let (mut rounds, _) = opening(raised());
    let line = "    fs::write(path, text).unwrap();\n";
    let new = OLD.replace(line, "").replace("    text\n", &format!("    text\n{line}"));
    let outcome = rounds.play(Round {
        old: OLD.into(),
        new,
        hunks: vec![hunk(6, 0, 6, 1), hunk(9, 1, 10, 0)],
        ..Round::default()
    });
    assert_eq!((&get(&outcome, 1).fate, get(&outcome, 1).claim.line), (&Fate::Open, Some(6)));
}

#[test]
fn an_open_must_fix_is_not_resolved_by_silence_even_when_its_code_changed() {
    let (mut rounds, _) = opening(vec![
        by("a", Severity::Blocker, 4, "`load` panics on a missing file"),
        by("a", Severity::Suggestion, 9, "`save` could return a Result"),
    ]);
    let new = OLD.replace(".unwrap();\n    text", "?;\n    text").replace("text).unwrap()", "text).ok()");
    let outcome = rounds.play(Round {
        old: OLD.into(),
        new,
        hunks: vec![hunk(4, 1, 4, 1), hunk(9, 1, 9, 1)],
        ..Round::default()
    });
    assert_eq!((&get(&outcome, 1).fate, get(&outcome, 1).touched), (&Fate::Open, true));
    assert_eq!(get(&outcome, 2).fate, Fate::Fixed, "a suggestion whose code changed is settled");
    assert_eq!((outcome.delta.unchanged, outcome.delta.resolved), (1, 1));
}

#[test]
fn a_suggestion_not_repeated_is_not_reported() {
    let (mut rounds, _) = opening(vec![by("a", Severity::Suggestion, 9, "`save` could return a Result")]);
    let outcome = rounds.play(Round { old: OLD.into(), new: OLD.into(), ..Round::default() });
    assert_eq!((outcome.delta.not_reported, outcome.delta.resolved), (1, 0));
    assert_eq!(get(&outcome, 1).fate, Fate::Open);
}

#[test]
fn reviewers_answer_by_id() {
    for (said, fate) in [
        (Said::Resolved, Fate::Fixed),
        (Said::NotAnIssue("the caller checks".into()), Fate::Refuted),
        (Said::StillThere, Fate::Open),
    ] {
        let (mut rounds, _) = opening(vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")]);
        let outcome = rounds.play(Round {
            said: vec![("a", 1, said.clone())],
            old: OLD.into(),
            new: OLD.into(),
            ..Round::default()
        });
        assert_eq!(get(&outcome, 1).fate, fate, "{said:?}");
        let (mut rounds, _) = opening(vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")]);
        let outcome = rounds.play(Round {
            said: vec![("b", 1, said)],
            old: OLD.into(),
            new: OLD.into(),
            ..Round::default()
        });
        assert_eq!(get(&outcome, 1).fate, Fate::Open, "another seat cannot settle it");
    }
}

#[test]
fn one_still_there_outweighs_and_a_check_answers_for_itself() {
    let same = "`load` panics on a missing file";
    let (mut rounds, outcome) =
        opening(vec![by("a", Severity::Blocker, 4, same), by("b", Severity::Blocker, 4, same)]);
    assert_eq!(get(&outcome, 1).by.len(), 2);
    let round = Round {
        said: vec![("a", 1, Said::Resolved), ("b", 1, Said::StillThere)],
        old: OLD.into(),
        new: OLD.into(),
        ..Round::default()
    };
    assert_eq!(get(&rounds.play(round), 1).fate, Fate::Open);

    let (mut rounds, _) = opening(vec![check(4, "unwrap used")]);
    let silent = rounds.play(Round { old: OLD.into(), new: OLD.into(), ..Round::default() });
    assert_eq!(get(&silent, 1).fate, Fate::Open, "the check did not run");
    let ran = rounds.play(Round { ran: vec!["lint"], old: OLD.into(), new: OLD.into(), ..Round::default() });
    assert_eq!(get(&ran, 1).fate, Fate::Fixed);
    let again = rounds.play(Round {
        raised: vec![check(4, "unwrap used")],
        ran: vec!["lint"],
        old: OLD.into(),
        new: OLD.into(),
        ..Round::default()
    });
    assert_eq!(
        (&get(&again, 1).fate, get(&again, 1).mark, again.delta.reopened),
        (&Fate::Open, Mark::Reopened, 1)
    );
}

#[test]
fn marks_of_what_is_new() {
    let (mut rounds, _) = opening(vec![]);
    let long = format!("{OLD}{}", "\nfn other() {\n    work();\n}\n".repeat(20));
    let new = long.replace("    text\n", "    let text = text.trim().to_owned();\n    text\n");
    let hunks = vec![hunk(5, 0, 5, 1)];
    let raised = vec![
        by("a", Severity::Warning, 5, "trimming loses the final newline"),
        by("a", Severity::Warning, 10, "writes without fsync"),
    ];
    let outcome = rounds.play(Round { raised, old: long, new: new.clone(), hunks, ..Round::default() });
    assert_eq!((get(&outcome, 1).mark, get(&outcome, 2).mark), (Mark::FixInduced, Mark::Late));
    assert_eq!((outcome.delta.fix_induced, outcome.delta.late), (1, 1));
    assert_eq!(get(&outcome, 2).fate, Fate::Open, "round 2 may still find what round 1 missed");

    let mut evidence = by("a", Severity::Blocker, 40, "reads any file the caller names");
    evidence.claim.evidence = "a test shows it".into();
    let raised =
        vec![evidence, by("a", Severity::Blocker, 70, "the function lacks a lock around the rename")];
    let outcome = rounds.play(Round { raised, old: new.clone(), new, ..Round::default() });
    assert_eq!(get(&outcome, 3).fate, Fate::Open, "a blocker with evidence");
    assert_eq!(get(&outcome, 4).fate, Fate::Advisory, "missed earlier");
}

#[test]
fn a_fix_that_puts_back_what_a_fix_took_out_is_contested() {
    let (mut rounds, _) = opening(vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")]);
    let fixed =
        OLD.replace("fs::read_to_string(path).unwrap()", "fs::read_to_string(path).unwrap_or_default()");
    let complaint = || by("a", Severity::Blocker, 4, "`load` hides a missing file behind an empty text");
    let outcome = rounds.play(Round {
        raised: vec![complaint()],
        said: vec![("a", 1, Said::Resolved)],
        old: OLD.into(),
        new: fixed.clone(),
        hunks: vec![hunk(4, 1, 4, 1)],
        ..Round::default()
    });
    assert!(outcome.tracked.iter().all(|t| !t.contested));
    let outcome = rounds.play(Round {
        raised: vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")],
        old: fixed,
        new: OLD.into(),
        hunks: vec![hunk(4, 1, 4, 1)],
        ..Round::default()
    });
    assert!(get(&outcome, 1).contested, "{outcome:#?}");
}

#[test]
fn a_waived_finding_stays_waived() {
    let (mut rounds, outcome) =
        opening(vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")]);
    let waived = Tracked { fate: Fate::Waived("a person".into()), ..outcome.tracked[0].clone() };
    rounds.ledger.track(&[waived], 1, true);
    let outcome = rounds.play(Round {
        raised: vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")],
        old: OLD.into(),
        new: OLD.into(),
        ..Round::default()
    });
    assert_eq!(get(&outcome, 1).fate, Fate::Waived("a person".into()));
    assert_eq!(outcome.delta.new + outcome.delta.reopened, 0);
    // Its own line is another one now: nobody waived that.
    let outcome = rounds.play(Round {
        raised: vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")],
        old: OLD.into(),
        new: OLD.replace("(path).unwrap()", "(path).expect(\"there\")"),
        hunks: vec![hunk(4, 1, 4, 1)],
        ..Round::default()
    });
    assert_eq!(get(&outcome, 1).fate, Fate::Open);
}

#[test]
fn a_waiver_speaks_of_what_was_waived_and_of_nothing_else() {
    const WORDS: &str = "`load` panics on a missing file";
    let person = || Fate::Waived("a person".into());
    let check = |first: Raised, then: Option<Raised>, hunks: Vec<Hunk>, expect: (Fate, Option<u32>)| {
        let (mut rounds, outcome) = opening(vec![first]);
        let waived = Tracked { fate: person(), ..outcome.tracked[0].clone() };
        rounds.ledger.track(&[waived], 1, true);
        let raised: Vec<Raised> = then.into_iter().collect();
        let said = format!("{raised:?} {hunks:?}");
        let new: String = if hunks.is_empty() { OLD.into() } else { format!("// new\n{OLD}") };
        let outcome = rounds.play(Round { raised, hunks, old: OLD.into(), new, ..Round::default() });
        let one = get(&outcome, 1);
        assert_eq!((one.fate.clone(), one.claim.line), expect, "{said}");
        // Tracked a second time, without a change against itself, it is no other.
        let again = rounds.play(Round { new: OLD.into(), old: OLD.into(), ..Round::default() });
        assert_eq!(get(&again, 1).fate, expect.0, "again: {said}");
    };
    let at = |severity, line| by("a", severity, line, WORDS);
    let blocker = || at(Severity::Blocker, 4);
    // Nobody says it again: it stays waived where its code is as it was, and goes where that went.
    check(blocker(), None, vec![], (person(), Some(4)));
    check(blocker(), None, vec![hunk(1, 0, 1, 1)], (person(), Some(5)));
    // Silence about other code is no waiver of it.
    check(blocker(), None, vec![hunk(4, 1, 4, 1)], (Fate::Open, Some(4)));
    // Neither worse nor elsewhere.
    check(at(Severity::Warning, 4), Some(blocker()), vec![], (Fate::Open, Some(4)));
    check(blocker(), Some(at(Severity::Warning, 4)), vec![], (person(), Some(4)));
    // Of a file as a whole, or of no file, only as long as that is as it was.
    let placeless = |file: Option<&str>| {
        let mut raised = blocker();
        (raised.claim.file, raised.claim.line) = (file.map(str::to_owned), None);
        raised
    };
    for file in [Some("src/io.rs"), None] {
        check(placeless(file), Some(placeless(file)), vec![], (person(), None));
        check(placeless(file), Some(placeless(file)), vec![hunk(9, 1, 9, 1)], (Fate::Open, None));
        check(placeless(file), None, vec![hunk(9, 1, 9, 1)], (Fate::Open, None));
    }
}

/// What became of what was raised, where something was waived before.
fn after_a_waiver(waived: Raised, raised: Option<Raised>, hunks: &[Hunk]) -> Tracked {
    let (mut rounds, outcome) = opening(vec![waived]);
    let person = Fate::Waived("a person".into());
    rounds.ledger.track(&[Tracked { fate: person, ..outcome.tracked[0].clone() }], 1, true);
    let (raised, hunks) = (raised.into_iter().collect(), hunks.to_vec());
    let outcome = rounds.play(Round { raised, hunks, old: OLD.into(), new: OLD.into(), ..Round::default() });
    let id = outcome.matches.first().map_or(1, |found| found.id().0);
    get(&outcome, id).clone()
}

#[test]
fn a_waiver_is_of_the_words_that_were_waived() {
    let reviewer = |text: &str| by("a", Severity::Blocker, 4, text);
    let tool = |text: &str| check(4, text);
    let ruled = |rule: &str, text: &str| {
        let mut raised = check(4, text);
        raised.claim.rule = Some(rule.to_owned());
        raised
    };
    let check = |first: Raised, then: Raised, waived: bool| {
        let (was, said) = (first.claim.claim.clone(), format!("{first:?} {then:?}"));
        let now = after_a_waiver(first, Some(then), &[]);
        assert_eq!(matches!(now.fate, Fate::Waived(_)), waived, "{said}: {now:?}");
        // What it covers stays what it was, however it is said.
        assert!(!waived || now.claim.claim == was, "{said}: {now:?}");
    };
    check(tool("unused variable: `secret`"), tool("unused variable: `secret`"), true);
    check(tool("unused variable: `secret`"), tool("unused  variable:\n`secret`"), true);
    check(tool("unused variable: `secret`"), tool("unused variable: `token`"), false);
    check(tool("unused variable pass in connect"), tool("pass in connect is leaked"), false);
    check(ruled("unused", "`text` is unused"), ruled("unused", "`text` is unused"), true);
    check(ruled("unused", "`text` is unused"), ruled("unused", "`path` is unused"), false);
    check(ruled("unused", "a value is odd"), ruled("leaks", "a value is odd"), false);
    check(
        reviewer("`load` panics on a missing file"),
        reviewer("where a file is missing `load` panics"),
        true,
    );
    check(reviewer("`load` panics on a missing file"), reviewer("`save` panics on a missing file"), false);
    check(
        reviewer("`load` panics on a missing file"),
        reviewer("`load` and `save` panic on a missing file"),
        false,
    );
    check(reviewer("`load` uses `x`"), reviewer("`load` uses `y`"), false);
    check(reviewer("`load` panics on a missing file"), reviewer("`load` leaks the handle"), false);
    check(reviewer("panics on a missing file"), reviewer("on a missing file, it panics"), true);
    check(reviewer("unused variable pass in connect"), reviewer("pass in connect is leaked"), false);
}

#[test]
fn a_waiver_is_of_the_lines_that_were_waived() {
    const WORDS: &str = "a value is odd";
    let at = |from: u32, to: u32| {
        let mut raised = check(from, WORDS);
        raised.claim.end = Some(to);
        raised
    };
    let check = |first: (u32, u32), then: Option<(u32, u32)>, hunks: &[Hunk], waived: bool| {
        let then = then.map(|(from, to)| at(from, to));
        let now = after_a_waiver(at(first.0, first.1), then, hunks);
        assert_eq!(matches!(now.fate, Fate::Waived(_)), waived, "{first:?} {hunks:?}: {now:?}");
    };
    // It is said of more lines now: of code that is as it was, or is not.
    check((2, 2), Some((2, 5)), &[], true);
    check((2, 2), Some((2, 5)), &[hunk(4, 1, 4, 1)], false);
    check((2, 2), Some((2, 5)), &[hunk(4, 0, 4, 1)], false);
    check((2, 2), Some((2, 5)), &[hunk(4, 1, 4, 0)], false);
    check((2, 2), Some((2, 3)), &[hunk(4, 1, 4, 1)], true);
    check((2, 5), Some((3, 4)), &[], true);
    // A line that was put between its lines is as new as one that was changed, said again or not.
    for then in [Some((2, 6)), Some((2, 3)), None] {
        check((2, 5), then, &[hunk(4, 0, 4, 1)], false);
    }
    // One before or behind them is none of them.
    check((2, 5), None, &[hunk(6, 0, 6, 1)], true);
    check((2, 5), Some((2, 5)), &[hunk(6, 1, 6, 0)], true);
    check((3, 5), Some((4, 6)), &[hunk(3, 0, 3, 1)], true);
    check((3, 5), Some((2, 4)), &[hunk(2, 1, 2, 0)], true);
}

#[test]
fn what_a_reviewer_calls_resolved_is_not_the_next_complaint_at_that_line() {
    let (mut rounds, _) = opening(vec![by("a", Severity::Blocker, 4, "`load` panics on a missing file")]);
    let new = OLD.replace("(path).unwrap()", "(path).unwrap_or_default()");
    let outcome = rounds.play(Round {
        raised: vec![by("a", Severity::Warning, 4, "an unreadable file now looks empty")],
        said: vec![("a", 1, Said::Resolved)],
        old: OLD.into(),
        new,
        hunks: vec![hunk(4, 1, 4, 1)],
        ..Round::default()
    });
    assert_eq!(get(&outcome, 1).fate, Fate::Fixed);
    assert_eq!((get(&outcome, 2).mark, &get(&outcome, 2).fate), (Mark::FixInduced, &Fate::Open));
}

/// The same, where nothing changed at that line: one fault under new words is the same finding.
#[test]
fn one_fault_under_new_words_where_nothing_changed_is_the_same_finding() {
    let words = [
        "`load` panics on a missing file",
        "callers cannot tell an absent path from a broken one",
        "aborts the process when there is nothing to read",
        "no error is handed back to whoever asked",
    ];
    let round = |n: usize, line: u32, hunks: &[Hunk]| Round {
        raised: vec![by("a", Severity::Blocker, line, words[n])],
        said: vec![("a", 1, Said::Resolved)],
        old: OLD.into(),
        new: OLD.into(),
        hunks: hunks.to_vec(),
        ..Round::default()
    };
    let (mut rounds, _) = opening(vec![by("a", Severity::Blocker, 4, words[0])]);
    // A change elsewhere, and a line more or less in the citation.
    for (n, line) in [(1, 4), (2, 5), (3, 3)] {
        let outcome = rounds.play(round(n, line, &[hunk(9, 1, 9, 1)]));
        assert_eq!(outcome.matches.iter().map(|m| m.id().0).collect::<Vec<_>>(), [1], "round {}", n + 1);
        let one = get(&outcome, 1);
        assert_eq!((&one.fate, one.mark, one.touched), (&Fate::Open, Mark::Persistent, false));
    }
    let ids = |round: Round| {
        let (mut rounds, _) = opening(vec![by("a", Severity::Blocker, 4, words[0])]);
        rounds.play(round).matches.iter().map(|m| m.id().0).collect::<Vec<_>>()
    };
    assert_eq!(ids(round(1, 4, &[hunk(4, 1, 4, 1)])), [2], "its line changed");
    assert_eq!(ids(round(1, 9, &[hunk(2, 0, 2, 1)])), [2], "another place");
    let refuted = Round { said: vec![("a", 1, Said::NotAnIssue("by design".into()))], ..round(1, 4, &[]) };
    assert_eq!(ids(refuted), [2], "not an issue is not resolved");
}

/// What was made advisory because it came late stays so when it is said again without evidence.
#[test]
fn who_insists_on_a_late_finding_proves_nothing() {
    let (mut rounds, _) = opening(vec![]);
    let say = |text: &str, evidence: &str, severity| {
        let mut late = by("a", severity, 9, text);
        late.claim.evidence = evidence.into();
        Round { raised: vec![late], old: OLD.into(), new: OLD.into(), ..Round::default() }
    };
    rounds.play(Round { old: OLD.into(), new: OLD.into(), ..Round::default() });
    let words = "the name `save` says nothing of what it writes";
    for severity in [Severity::Warning, Severity::Warning, Severity::Blocker] {
        let outcome = rounds.play(say(words, "", severity));
        assert_eq!(get(&outcome, 1).fate, Fate::Advisory, "{severity}");
    }
    let outcome = rounds.play(say(words, "a warning with evidence", Severity::Warning));
    assert_eq!(get(&outcome, 1).fate, Fate::Advisory);
    let outcome = rounds.play(say(words, "the test `keeps_what_was_there` fails", Severity::Blocker));
    assert_eq!(get(&outcome, 1).fate, Fate::Open);
}

/// A stretch that cured one finding is no attempt at its neighbour.
#[test]
fn what_a_fix_cured_beside_it_did_not_touch_a_finding() {
    let words = ["panics on a missing file", "keeps the whole file in memory", "writes without fsync"];
    let two = || {
        opening(vec![
            by("a", Severity::Blocker, 4, words[0]),
            by("a", Severity::Blocker, 5, words[1]),
            by("a", Severity::Blocker, 9, words[2]),
        ])
    };
    let play = |said: [Said; 3], hunks: &[Hunk]| {
        let (mut rounds, _) = two();
        let said = (1..).zip(said).map(|(id, said)| ("a", id, said)).collect();
        let outcome = rounds.play(Round {
            said,
            old: OLD.into(),
            new: OLD.into(),
            hunks: hunks.to_vec(),
            ..Round::default()
        });
        [1, 2, 3].map(|id| get(&outcome, id).touched)
    };
    use Said::{Resolved, StillThere};
    let at_4 = [hunk(4, 1, 4, 1)];
    assert_eq!(play([Resolved, StillThere, StillThere], &at_4), [true, false, false]);
    assert_eq!(play([StillThere, StillThere, StillThere], &at_4), [true, true, false]);
    // Its own lines too, where the same stretch cured another; not where a second stretch cured none.
    let both = [hunk(4, 2, 4, 2)];
    assert_eq!(play([Resolved, StillThere, StillThere], &both), [true, false, false]);
    let apart = [hunk(1, 1, 1, 1), hunk(9, 1, 9, 1)];
    assert_eq!(play([Resolved, StillThere, StillThere], &apart), [true, false, true]);
    // Without lines: the file, or all of the change.
    let whole = |file: Option<&str>, text: &str| {
        let mut claim = Claim::new(Severity::Blocker, text);
        claim.file = file.map(str::to_owned);
        Raised { source: Source::Reviewer(Reviewer::new("a")), claim }
    };
    for file in [Some("src/io.rs"), None] {
        for (first, touched) in [(Resolved, false), (StillThere, true)] {
            let (mut rounds, _) = opening(vec![whole(file, words[0]), whole(file, words[1])]);
            let said = vec![("a", 1, first), ("a", 2, StillThere)];
            let round =
                Round { said, old: OLD.into(), new: OLD.into(), hunks: at_4.to_vec(), ..Round::default() };
            assert_eq!(get(&rounds.play(round), 2).touched, touched, "{file:?}");
        }
    }
}

/// Three faults of one file without lines are not one place.
#[test]
fn a_whole_file_is_no_region() {
    let mut whole = by("a", Severity::Blocker, 4, "has no tests");
    whole.claim.line = None;
    let (_, outcome) = opening(vec![whole, by("a", Severity::Blocker, 4, "panics on a missing file")]);
    assert_eq!(get(&outcome, 1).region, None);
    assert_eq!(get(&outcome, 2).region.as_deref(), Some("src/io.rs:load"));
}

fn any_round() -> impl Strategy<Value = Vec<(u8, u8, u8, u8)>> {
    prop::collection::vec((0u8..3, 0u8..3, 1u8..11, 0u8..6), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Raised = sum of states; ids are given once; a reviewer's open must-fix never goes without a word.
    #[test]
    fn every_finding_is_accounted_for_over_random_rounds(rounds in prop::collection::vec((any_round(), prop::collection::btree_map(1u32..8, 0u8..3, 0..4)), 1..5)) {
        const TEXTS: [&str; 6] = ["panics on a missing file", "hides the error", "writes without fsync", "name is vague", "takes the lock twice", "leaks the handle"];
        let mut state = Rounds::new();
        for (raised, said) in rounds {
            let raised: Vec<Raised> = raised.into_iter().map(|(who, severity, line, text)| {
                let severity = [Severity::Suggestion, Severity::Warning, Severity::Blocker][severity as usize];
                let source = match who { 0 => Source::Reviewer(Reviewer::new("a")), 1 => Source::Reviewer(Reviewer::new("b")), _ => Source::Check(Check::new("lint")) };
                Raised { source, claim: Claim::new(severity, TEXTS[text as usize]).at("src/io.rs", Some(u32::from(line))) }
            }).collect();
            let said: Vec<_> = said.into_iter().map(|(id, what)| ("a", id, [Said::Resolved, Said::StillThere, Said::NotAnIssue("w".into())][what as usize].clone())).collect();
            let before = state.ledger.clone();
            let known: BTreeSet<FindingId> = before.iter().map(|(id, _)| id).collect();
            let next = state.next;
            let outcome = state.play(Round { raised, said: said.clone(), ran: vec!["lint"], old: OLD.into(), new: OLD.into(), hunks: vec![] });
            let ids: BTreeSet<FindingId> = outcome.matches.iter().map(|m| m.id()).collect();
            prop_assert_eq!(ids.len(), outcome.matches.len(), "one id per finding of a round");
            for id in ids.difference(&known) {
                prop_assert!(id.0 >= next, "a new id was never used");
            }
            prop_assert!(ids.iter().all(|id| state.ledger.get(*id).is_some()));
            prop_assert!(known.iter().all(|id| state.ledger.get(*id).is_some()));
            for (id, entry) in before.iter().filter(|(_, entry)| entry.is_open_must_fix()) {
                let now = state.ledger.get(id).unwrap();
                let reviewers = entry.by.iter().any(|source| matches!(source, Source::Reviewer(_)));
                let word = said.iter().any(|(_, said_id, what)| FindingId(*said_id) == id && *what != Said::StillThere);
                prop_assert!(!reviewers || now.fate == Fate::Open || word, "{id} went without a word: {:?}", now.fate);
            }
            let d = outcome.delta;
            let live = before.iter().filter(|(_, e)| matches!(e.fate, Fate::Open | Fate::Deferred | Fate::Advisory)).count() as u32;
            prop_assert_eq!(d.resolved + d.unchanged + d.upgraded + d.downgraded + d.not_reported, live);
        }
    }
}

/// One random round: who says what where, what seats answer, whether the code moved down by some lines.
type Dealt = (Vec<(u8, u8, u8, u8)>, BTreeMap<u32, u8>, u8);

fn dealt() -> impl Strategy<Value = Vec<Dealt>> {
    let answers = prop::collection::btree_map(1u32..8, 0u8..3, 0..4);
    prop::collection::vec((any_round(), answers, 0u8..4), 1..6)
}

fn round_of((raised, said, shift): Dealt, number: usize) -> Round {
    const TEXTS: [&str; 6] = [
        "panics on a missing file",
        "hides the error",
        "writes without fsync",
        "name is vague",
        "takes the lock twice",
        "leaks the handle",
    ];
    let raised = raised.into_iter().map(|(who, severity, line, text)| {
        let source = match who {
            0 => Source::Reviewer(Reviewer::new("a")),
            1 => Source::Reviewer(Reviewer::new("b")),
            _ => Source::Check(Check::new("lint")),
        };
        let severity = [Severity::Suggestion, Severity::Warning, Severity::Blocker][severity as usize];
        let mut claim = Claim::new(severity, TEXTS[text as usize]).at("src/io.rs", Some(u32::from(line)));
        (claim.confidence, claim.confidence_stated) = ([95, 60, 30][usize::from(line % 3)], true);
        Raised { source, claim }
    });
    let words = [Said::Resolved, Said::StillThere, Said::NotAnIssue("tested".into())];
    let said = said.into_iter().map(|(id, what)| ("a", id, words[what as usize].clone()));
    // The first round has nothing before it; later ones may put lines on top or change the fourth.
    let (new, hunks) = match shift {
        1 | 2 if number > 0 => ("// new\n".repeat(shift.into()) + OLD, vec![hunk(1, 0, 1, u32::from(shift))]),
        3 if number > 0 => (OLD.replace(".unwrap();\n    text", "?;\n    text"), vec![hunk(4, 1, 4, 1)]),
        _ => (OLD.to_owned(), vec![]),
    };
    Round { raised: raised.collect(), said: said.collect(), ran: vec!["lint"], old: OLD.into(), new, hunks }
}

/// So many findings in each state.
fn states(ledger: &Ledger) -> BTreeMap<&'static str, usize> {
    let mut count = BTreeMap::new();
    ledger.iter().for_each(|(_, entry)| *count.entry(entry.fate.word()).or_default() += 1);
    count
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The accounting law: every claim ever raised is in exactly one finding, every finding in exactly one state, and
    /// raised is the sum of the states, whoever raised what in which round.
    #[test]
    fn raised_is_the_sum_of_states(rounds in dealt()) {
        let mut state = Rounds::new();
        let mut given: BTreeSet<FindingId> = BTreeSet::new();
        for (number, dealt) in rounds.into_iter().enumerate() {
            let round = round_of(dealt, number);
            let panel = Panel { sat: ["a", "b"].iter().map(Reviewer::new).collect(), ..Panel::default() };
            let merged = triage(round.raised.clone(), &panel);
            prop_assert_eq!(merged.iter().map(|one| one.texts().count()).sum::<usize>(), round.raised.len());
            let outcome = state.play(round);
            prop_assert_eq!(outcome.matches.len(), merged.len());
            given.extend(outcome.matches.iter().map(|one| one.id()));
            prop_assert_eq!(state.ledger.iter().map(|(id, _)| id).collect::<BTreeSet<_>>(), given.clone());
            prop_assert_eq!(states(&state.ledger).values().sum::<usize>(), given.len());
        }
    }

    /// A crash loses what was not journaled, no more: a prefix of rounds replayed from nothing, and the rest played
    /// again, gives the same ids, the same states and the same deltas.
    #[test]
    fn a_crash_after_any_round_changes_nothing(rounds in dealt(), crash in 0usize..6) {
        let play = |state: &mut Rounds, from: usize, to: usize| -> Vec<Outcome> {
            (from..to).map(|number| state.play(round_of(rounds[number].clone(), number))).collect()
        };
        let mut whole = Rounds::new();
        let all = play(&mut whole, 0, rounds.len());
        let crash = crash.min(rounds.len());
        let mut again = Rounds::new();
        // What ran when it crashed was worked out and lost.
        let lost = play(&mut Rounds::new(), 0, crash);
        let mut kept = play(&mut again, 0, crash);
        prop_assert_eq!(&lost, &kept);
        kept.extend(play(&mut again, crash, rounds.len()));
        prop_assert_eq!(&all, &kept);
        prop_assert_eq!(states(&whole.ledger), states(&again.ledger));
    }
}

const SCRIPT: &str =
    "#!/bin/sh\n# count the lines of a file\nset -eu\n: \"${1:?no file}\"\n\nwc -l \"$1\" | tr -d ' '\n";

fn script(raised: Vec<Raised>, said: Vec<(&'static str, u32, Said)>) -> Round {
    Round { raised, said, old: SCRIPT.into(), new: SCRIPT.into(), ..Round::default() }
}

/// A seat that answers for a finding by its id and raises something else beside it means two things.
#[test]
fn what_a_reviewer_answers_by_id_is_not_what_it_raises_beside_it() {
    let first = by("a", Severity::Blocker, 6, "the pipe hides that wc failed");
    let other =
        by("a", Severity::Blocker, 4, "the refusal ends the calling shell when the script is sourced");
    let again = by("a", Severity::Blocker, 6, "the pipe still hides that wc failed");
    let start = || {
        let mut rounds = Rounds::new();
        rounds.play(script(vec![first.clone()], vec![]));
        rounds
    };
    let still = || vec![("a", 1, Said::StillThere)];
    let ids = |outcome: &Outcome| outcome.matches.iter().map(|m| m.id().0).collect::<Vec<_>>();
    assert_eq!(ids(&start().play(script(vec![other.clone()], still()))), [2]);
    assert_eq!(ids(&start().play(script(vec![again.clone()], still()))), [1], "the same, said twice");
    let mut named = other.clone();
    named.claim.same_as = Some(FindingId(1));
    named.claim.line = Some(6);
    assert_eq!(ids(&start().play(script(vec![named], still()))), [1], "its author says it is the same");
    let both = start().play(script(vec![other, again], still()));
    assert_eq!(both.matches.iter().filter(|m| m.id().0 == 1).count(), 1);
}

/// What was settled comes back only in words that are clearly its own.
#[test]
fn an_unrelated_claim_near_a_settled_one_reopens_nothing() {
    let mut rounds = Rounds::new();
    rounds.play(script(
        vec![by("a", Severity::Blocker, 4, "a call without a file name is not refused")],
        vec![],
    ));
    rounds.play(script(vec![], vec![("a", 1, Said::Resolved)]));
    let other = by("a", Severity::Blocker, 3, "the comment does not say what is counted");
    let outcome = rounds.play(script(vec![other], vec![]));
    assert_eq!(outcome.matches[0].id(), FindingId(2));
    assert_eq!(get(&outcome, 2).mark, Mark::Late);
    let back = by("a", Severity::Blocker, 4, "a call without the file name is again not refused");
    let outcome = rounds.play(script(vec![back], vec![]));
    assert_eq!((outcome.matches[0].id(), get(&outcome, 1).mark), (FindingId(1), Mark::Reopened));
}
