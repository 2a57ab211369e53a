//! What is one finding: the same defect, never merely the same place. Checks and opinions never meet, in any order, and no
//! words are lost.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::finding::{Claim, Severity, Source};
use tribunal_core::ids::{Check, FindingId, Reviewer};
use tribunal_core::ledger::Ledger;
use tribunal_core::words::is_one_kind;
use tribunal_findings::track::{Change, Input, ToolWords};
use tribunal_findings::{Panel, Raised, track, triage};

fn by(source: Source, line: Option<u32>, text: &str) -> Raised {
    let mut claim = Claim::new(Severity::Blocker, text).at("PLAN.md", line);
    (claim.confidence, claim.confidence_stated) = (95, true);
    Raised { source, claim }
}

fn reviewer(name: &str, text: &str) -> Raised {
    by(Source::Reviewer(Reviewer::new(name)), Some(3), text)
}

fn check(text: &str) -> Raised {
    by(Source::Check(Check::new("structure")), Some(3), text)
}

/// Rounds over one tree; what each raised.
fn play(rounds: &[Vec<Raised>]) -> Ledger {
    let mut ledger = Ledger::default();
    for (n, raised) in rounds.iter().enumerate() {
        let triaged = triage(raised.clone(), &Panel::default());
        let next = ledger.iter().map(|(id, _)| id.0 + 1).max().unwrap_or(1);
        let outcome = track(&Input {
            round: n as u32 + 1,
            next_id: FindingId(next),
            ledger: &ledger,
            triaged: &triaged,
            said: &BTreeMap::new(),
            ran: &BTreeSet::new(),
            change: &Change::default(),
            fix: &Change::default(),
            removed: &[],
            read: &|_, _| None,
            architect: true,
            tools: &ToolWords::default(),
        });
        ledger.track(&outcome.tracked, n as u32 + 1, true);
    }
    ledger
}

#[test]
fn a_check_never_takes_a_reviewers_id() {
    for text in ["the rollback is missing", "no finding asked to drop: the rollback"] {
        let reviewer = vec![reviewer("reviewer", "the rollback is missing")];
        for rounds in [[reviewer.clone(), vec![check(text)]], [vec![check(text)], reviewer]] {
            let ledger = play(&rounds);
            assert_eq!(ledger.iter().count(), 2, "{text}: {ledger:#?}");
            assert!(ledger.iter().all(|(_, entry)| is_one_kind(entry.by.iter())));
        }
    }
}

#[test]
fn one_sentence_about_three_things_is_three_findings() {
    let of = |what: &str| vec![reviewer("reviewer", &format!("the plan says nothing about {what}"))];
    let ledger = play(&[of("rollback"), of("metrics"), of("permissions")]);
    let claims: Vec<&str> = ledger.iter().map(|(_, entry)| entry.claim.claim.as_str()).collect();
    assert_eq!(
        claims,
        [
            "the plan says nothing about rollback",
            "the plan says nothing about metrics",
            "the plan says nothing about permissions"
        ]
    );
}

#[test]
fn different_defects_of_one_line_stay_two_findings() {
    for (a, b) in [
        ("The password is logged in clear text", "The password is compared with == and not in constant time"),
        ("The error from the parser is swallowed", "The error message does not name the file"),
        ("The query is built by string concatenation", "The query runs once per row"),
        ("The file is never closed", "The whole file is read into memory"),
    ] {
        assert_eq!(play(&[vec![reviewer("a", a), reviewer("b", b)]]).iter().count(), 2, "{a} | {b}");
    }
}

#[test]
fn a_merged_finding_keeps_every_text() {
    let texts = ["The lock is missing: data race on the counter", "data race: the counter has no lock"];
    let ledger = play(&[vec![reviewer("a", texts[0]), reviewer("b", texts[1])]]);
    let (_, entry) = ledger.iter().next().unwrap();
    assert_eq!(ledger.iter().count(), 1, "{ledger:#?}");
    for (name, text) in ["a", "b"].iter().zip(texts) {
        assert_eq!(entry.words_of(&Reviewer::new(*name)).next().unwrap().claim, text);
    }
}

fn any_raised() -> impl Strategy<Value = Raised> {
    let text = prop::sample::select(vec![
        "the rollback is missing",
        "the rollback is not there",
        "the token is logged in clear text",
        "the token never expires",
        "data race on the counter",
    ]);
    (0..4usize, prop::option::of(1..6u32), text).prop_map(|(who, line, text)| {
        let source = match who {
            0 => Source::Check(Check::new("lint")),
            1 => Source::Check(Check::new("types")),
            n => Source::Reviewer(Reviewer::new(if n == 2 { "a" } else { "b" })),
        };
        by(source, line, text)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In whatever order: no check is merged with an opinion, every text stays with its author, and no finding's first
    /// words change.
    #[test]
    fn words_only_grow(rounds in prop::collection::vec(prop::collection::vec(any_raised(), 0..6), 1..4)) {
        let mut leads: BTreeMap<FindingId, String> = BTreeMap::new();
        for n in 1..=rounds.len() {
            let ledger = play(&rounds[..n]);
            for (id, entry) in ledger.iter() {
                prop_assert!(is_one_kind(entry.by.iter()));
                let lead = leads.entry(id).or_insert_with(|| entry.claim.claim.clone());
                prop_assert_eq!(lead, &entry.claim.claim);
            }
            for raised in rounds[..n].iter().flatten() {
                let kept = ledger.iter().any(|(_, entry)| entry.words().iter().any(|words| {
                    words.by == raised.source && words.claim.claim == raised.claim.claim
                }));
                prop_assert!(kept, "{:?} is lost", raised);
            }
        }
    }
}
