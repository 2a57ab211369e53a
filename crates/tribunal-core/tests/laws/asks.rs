//! What a check cannot tell is put to the panel by id and closed by a named proof alone: a must-have nobody built does
//! not pass because nobody spoke of it.

use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Answer, Claim, Fate, Said, Severity, Source, Verdict};
use tribunal_core::ids::{Check, FindingId, LoopId, Reviewer, Revision, Time};
use tribunal_core::ledger::{Delta, Mark, Tracked};
use tribunal_core::machine::{Machine, settle, turn};
use tribunal_core::policy::{Policy, Use};
use tribunal_core::review_loop::{
    Checked, Failure, FailureKind, Loop, LoopIn, LoopReport, LoopWant, Opened, Opening, Outcome, Why,
};
use tribunal_core::words::Remarks;

const CHECK: &str = "validate-requirements";

/// A blocker of the check that is a question.
pub fn question(n: u32) -> Claim {
    let mut claim = Claim::new(Severity::Blocker, format!("nothing shows that this holds: {n}"));
    claim.rule = Some(format!("{CHECK}:{n}"));
    claim.asks = true;
    claim
}

/// The same with its id.
pub fn tracked(n: u32) -> Tracked {
    Tracked {
        id: FindingId(n),
        by: BTreeSet::from([Source::Check(Check::new(CHECK))]),
        claim: question(n),
        severity: Severity::Blocker,
        fate: Fate::Open,
        says: Some(Source::Check(Check::new(CHECK))),
        words: Vec::new(),
        remarks: Remarks::default(),
        referred: None,
        contested: false,
        mark: Mark::New,
        builders: true,
        touched: false,
        region: None,
        fixer: None,
    }
}

/// A delivery that is judged, with one check and these reviewers.
pub fn delivery(reviewers: &[&str]) -> Loop {
    let policy = Policy {
        reviewers: reviewers.iter().map(|name| Reviewer::new(*name)).collect(),
        checks: vec![Check::new(CHECK)],
        ..Policy::of(Use::Qa)
    };
    let opening = Opening::Judge { revision: Revision::new("r1"), open: Vec::new(), since: None };
    let mut live = Loop::open(&Opened { id: LoopId::new("loop"), policy, opening, at: Time(0) });
    settle(&mut live).unwrap();
    live
}

fn wanted(live: &Loop, is: impl Fn(&Step) -> bool) -> (EffectId, LoopWant) {
    let wants = live.wants();
    let found = wants.into_iter().find(|(id, want)| is(&id.step) && !matches!(want, LoopWant::Wake { .. }));
    found.unwrap_or_else(|| panic!("not wanted in {}", live.state_name()))
}

fn say(live: &mut Loop, is: impl Fn(&Step) -> bool, report: LoopReport) {
    let (effect, _) = wanted(live, is);
    if effect.step.is_one_shot() {
        turn(live, &LoopIn::Intend { effect: effect.clone(), at: Time(1) }).unwrap();
    }
    let events = turn(live, &LoopIn::Report { effect, at: Time(2), report }).unwrap();
    assert!(!events.is_empty());
}

fn checks(live: &mut Loop, asks: &[u32]) {
    let findings = asks.iter().map(|n| question(*n)).collect();
    say(live, |step| matches!(step, Step::Check(_)), LoopReport::Checked(Checked { findings }));
}

fn tracks(live: &mut Loop, findings: Vec<Tracked>) {
    let report = LoopReport::Tracked { findings, delta: Delta::default() };
    say(live, |step| matches!(step, Step::Track), report);
}

fn judges(live: &mut Loop, verdict: Verdict, said: &[(u32, Said)]) {
    let said = said.iter().map(|(id, said)| (FindingId(*id), said.clone())).collect();
    let answer = Box::new(Answer {
        verdict,
        fundamental: false,
        raised: Vec::new(),
        said,
        checked: "all of it".into(),
        intent: None,
        refused: None,
        intent_satisfied: None,
        unread: Vec::new(),
        settled: BTreeMap::new(),
        wordless: false,
    });
    let report = LoopReport::Judged { answer, shown: tribunal_core::cover::Shown::whole(1), put: Vec::new() };
    say(live, |step| matches!(step, Step::Judge(_)), report);
}

fn put(live: &Loop) -> Vec<FindingId> {
    match wanted(live, |step| matches!(step, Step::Judge(_))).1 {
        LoopWant::Judge { put, .. } => put,
        want => panic!("{want:?}"),
    }
}

/// The check fails with these questions, which have their ids before the agent is asked.
fn asked(reviewers: &[&str], asks: &[u32]) -> Loop {
    let mut live = delivery(reviewers);
    checks(&mut live, asks);
    tracks(&mut live, asks.iter().map(|n| tracked(*n)).collect());
    live
}

fn shown() -> Said {
    Said::Shown("bin/one.sh:2".into())
}

/// The table: what the agent says of two questions, and whether the delivery passes.
#[test]
fn a_question_is_closed_by_a_named_proof_and_by_nothing_else() {
    let no = || Said::NotAnIssue("it is obvious".into());
    for (verdict, said, passes) in [
        (Verdict::Approve, vec![(1, shown()), (2, shown())], true),
        (Verdict::Approve, vec![(1, shown()), (2, Said::StillThere)], false),
        (Verdict::Approve, vec![(1, shown()), (2, Said::Resolved)], false),
        (Verdict::Approve, vec![(1, no()), (2, shown())], false),
        (
            Verdict::Approve,
            vec![(1, Said::NoProof("it is not part of the change".into())), (2, shown())],
            false,
        ),
        (Verdict::Approve, vec![(1, Said::Shown("  ".into())), (2, shown())], false),
        (Verdict::Reject, vec![(1, Said::StillThere), (2, Said::StillThere)], false),
    ] {
        let mut live = asked(&["qa"], &[1, 2]);
        assert_eq!(put(&live), [FindingId(1), FindingId(2)], "each by its id");
        judges(&mut live, verdict, &said);
        tracks(&mut live, vec![tracked(1), tracked(2)]);
        let expect = if passes { Some(Outcome::Passed) } else { None };
        assert_eq!(live.outcome().cloned(), expect, "{verdict} {said:?}");
        let open: Vec<FindingId> = live.ledger().open().map(|(id, _)| id).collect();
        let left: Vec<FindingId> = (1..=2)
            .filter(|n| said.iter().any(|(id, word)| id == n && *word != shown()))
            .map(FindingId)
            .collect();
        assert_eq!(open, left, "{said:?}");
        if !passes {
            assert_eq!(live.state_name(), "making", "what nobody showed goes to the builder");
        }
    }
}

/// Why a named proof was not taken is kept with the question: its builder and its reviewer are told.
#[test]
fn a_refused_proof_says_what_is_missing() {
    let mut live = asked(&["qa"], &[1]);
    judges(&mut live, Verdict::Approve, &[(1, Said::NoProof("README.md is not part of the change".into()))]);
    tracks(&mut live, vec![tracked(1)]);
    assert_eq!((live.state_name(), live.outcome()), ("making", None));
    let entry = live.ledger().get(FindingId(1)).unwrap();
    assert_eq!(entry.no_proof.as_deref(), Some("README.md is not part of the change"));
}

/// An approval that does not name it is asked again, then the checks' own word stands: it goes to the builder.
#[test]
fn an_approval_that_leaves_a_question_out_passes_nothing() {
    let mut live = asked(&["qa"], &[1]);
    judges(&mut live, Verdict::Approve, &[]);
    assert_eq!(live.state_name(), "judging");
    judges(&mut live, Verdict::Approve, &[]);
    tracks(&mut live, vec![tracked(1)]);
    assert_eq!((live.state_name(), live.outcome()), ("making", None));
}

/// A lost agent can only keep the gate shut.
#[test]
fn a_lost_agent_leaves_the_question_open() {
    let mut live = asked(&["qa"], &[1]);
    let lost = LoopReport::Failed(Failure::new(FailureKind::Quota, "no more"));
    say(&mut live, |step| matches!(step, Step::Judge(_)), lost);
    tracks(&mut live, vec![tracked(1)]);
    assert_eq!((live.state_name(), live.outcome()), ("making", None));
}

/// Where nobody sits who could show it, a person is asked.
#[test]
fn without_an_agent_a_question_is_a_persons() {
    let mut live = delivery(&[]);
    checks(&mut live, &[1]);
    tracks(&mut live, vec![tracked(1)]);
    assert_eq!(live.question().map(|asked| asked.why.clone()), Some(Why::NoQuorum));
}

/// A plain reject with a failed check open has that check's finding as its ground: nobody is asked again.
#[test]
fn a_plain_reject_rests_on_the_failed_check() {
    let mut live = delivery(&["qa"]);
    let mut claim = Claim::new(Severity::Blocker, "the SUMMARY is not there");
    claim.rule = Some("x".into());
    let report = LoopReport::Checked(Checked { findings: vec![claim.clone()] });
    say(&mut live, |step| matches!(step, Step::Check(_)), report);
    judges(&mut live, Verdict::Reject, &[]);
    tracks(&mut live, vec![Tracked { claim, ..tracked(1) }]);
    assert_eq!(live.state_name(), "making");
}

/// A proof is of the revision it was named on. It is not asked for twice there, and again after the next one.
#[test]
fn a_proof_holds_for_its_revision() {
    let mut live = asked(&["qa"], &[1, 2]);
    judges(&mut live, Verdict::Approve, &[(1, shown()), (2, Said::StillThere)]);
    tracks(&mut live, vec![tracked(1), tracked(2)]);
    let made = LoopReport::Made { revision: Revision::new("r2"), done: true, replies: BTreeMap::new() };
    say(&mut live, |step| matches!(step, Step::Make(_)), made);
    checks(&mut live, &[1, 2]);
    tracks(&mut live, vec![tracked(1), tracked(2)]);
    assert_eq!(put(&live), [FindingId(1), FindingId(2)], "the code has changed since");
    judges(&mut live, Verdict::Approve, &[(1, shown()), (2, shown())]);
    tracks(&mut live, vec![tracked(1), tracked(2)]);
    assert!(live.is_confirming());
    // The full sitting asks nobody again about the same revision.
    checks(&mut live, &[1, 2]);
    tracks(&mut live, vec![tracked(1), tracked(2)]);
    assert_eq!(live.outcome(), Some(&Outcome::Passed));
    assert_eq!(live.ledger().proof(FindingId(1)), Some("bin/one.sh:2"));
}

/// A task's work, about which a check asks with a warning: such warnings pass.
fn task() -> Loop {
    let policy = Policy {
        reviewers: vec![Reviewer::new("reviewer")],
        checks: vec![Check::new(CHECK)],
        ..Policy::of(Use::Task)
    };
    let opening = Opening::Judge { revision: Revision::new("r1"), open: Vec::new(), since: None };
    let mut live = Loop::open(&Opened { id: LoopId::new("loop"), policy, opening, at: Time(0) });
    settle(&mut live).unwrap();
    let findings = vec![Claim { severity: Severity::Warning, ..question(1) }];
    say(&mut live, |step| matches!(step, Step::Check(_)), LoopReport::Checked(Checked { findings }));
    tracks(&mut live, vec![doubt()]);
    live
}

fn doubt() -> Tracked {
    let claim = Claim { severity: Severity::Warning, ..question(1) };
    Tracked { claim, severity: Severity::Warning, ..tracked(1) }
}

/// The table: where warnings pass, the reviewer's word on what the check asks decides, and it has to say one.
#[test]
fn a_question_of_a_check_is_the_reviewers_where_warnings_pass() {
    for (verdict, said, state) in [
        (Verdict::Approve, Some(shown()), "ended"),
        (Verdict::Approve, Some(Said::Resolved), "ended"),
        (Verdict::Approve, Some(Said::StillThere), "making"),
        // A reject needs no other ground than the question.
        (Verdict::Reject, Some(Said::StillThere), "making"),
        (Verdict::Approve, None, "judging"),
    ] {
        let mut live = task();
        assert_eq!(put(&live), [FindingId(1)], "it has its id before anybody is asked");
        judges(&mut live, verdict, &said.iter().map(|said| (1, said.clone())).collect::<Vec<_>>());
        if said.is_some() {
            tracks(&mut live, vec![doubt()]);
        }
        assert_eq!(live.state_name(), state, "{verdict} {said:?}");
        let fate = &live.ledger().get(FindingId(1)).unwrap().fate;
        assert_eq!(*fate == Fate::Refuted, said == Some(shown()), "only a reason closes it: {said:?}");
    }
}
