//! The pure rules by table: who sits, which answers count, what a sitting adds up to, when a loop stops, what the
//! ledger remembers, and which fixers wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::converge::{Course, Next, Pass, Pattern, Round, RoundRecord, Stretch, next, rounds};
use tribunal_core::effect::{EffectId, FinishStep, Intents, Step, Try};
use tribunal_core::finding::{Answer, Claim, Fate, Reply, Said, Severity, Source, UnreadPart, Verdict};
use tribunal_core::ids::{Builder, Check, FindingId, LoopId, Of, Reviewer, Revision, Time};
use tribunal_core::ledger::{CarriedFinding, Entry, Ledger, Mark, Tracked};
use tribunal_core::machine::{Machine, launches, turn};
use tribunal_core::panel::{
    CheckState, ReviewRound, ReviewerState, Ruling, Unusable, after_failure, after_making, after_unusable,
    lost_objection, needs_rework, objection, unusable,
};
use tribunal_core::policy::{Asked, NoVerdict, Policy, Use};
use tribunal_core::review_loop::{
    Failure, FailureKind, Loop, LoopEvent, LoopIn, LoopReport, LoopWant, Opened, Opening,
};
use tribunal_core::words::Remarks;

use Severity::{Blocker, Suggestion, Warning};
use Verdict::{Approve, Conditional, Reject};

fn reviewer(name: &str) -> Source {
    Source::Reviewer(Reviewer::new(name))
}

fn check(name: &str) -> Source {
    Source::Check(Check::new(name))
}

fn tracked(id: u32, by: &[Source], severity: Severity) -> Tracked {
    Tracked {
        id: FindingId(id),
        by: by.iter().cloned().collect(),
        claim: Claim::new(severity, format!("c{id}")).at(format!("f{id}"), Some(1)),
        severity,
        fate: Fate::Open,
        says: None,
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

fn ledger(findings: &[Tracked]) -> Ledger {
    let mut ledger = Ledger::default();
    ledger.track(findings, 1, true);
    ledger
}

fn answer(verdict: Verdict) -> Answer {
    Answer {
        verdict,
        fundamental: false,
        raised: Vec::new(),
        said: BTreeMap::new(),
        checked: "all".into(),
        intent: None,
        refused: None,
        intent_satisfied: None,
        unread: Vec::new(),
        settled: std::collections::BTreeMap::new(),
        wordless: false,
    }
}

fn policy() -> Policy {
    let reviewers = vec![Reviewer::new("alpha"), Reviewer::new("beta")];
    Policy { reviewers, checks: vec![Check::new("lint")], ..Policy::of(Use::Plan) }
}

fn strict() -> Policy {
    Policy { warnings_pass: false, ..policy() }
}

fn lenient() -> Policy {
    Policy { no_verdict: NoVerdict::ChecksOnly, ..policy() }
}

/// A bench: the check's worst, and what each reviewer said (`None` is gone).
fn review_round(lint: Option<Severity>, reviewers: &[(&str, Option<Verdict>)]) -> ReviewRound {
    let mut review_round = ReviewRound::assemble(Revision::new("r1"), [Check::new("lint")]);
    let state = match lint {
        None => CheckState::Passed,
        Some(severity) => CheckState::Failed(vec![Claim::new(severity, "c9")]),
    };
    review_round.checks.insert(Check::new("lint"), state);
    for (name, word) in reviewers {
        let state = match word {
            None => ReviewerState::Gone,
            Some(verdict) => ReviewerState::Answered(Try::default(), answer(*verdict)),
        };
        review_round.reviewers.insert(Reviewer::new(name), state);
    }
    review_round
}

fn must(ids: &[u32]) -> Vec<FindingId> {
    ids.iter().copied().map(FindingId).collect()
}

/// One row of the table: a sitting, what is open, and what it adds up to.
fn rules(name: &str, policy: &Policy, review_round: &ReviewRound, open: &[Tracked], expected: &Ruling) {
    assert_eq!(review_round.rule(policy, &ledger(open)), *expected, "{name}");
}

fn of(by: Source, severity: Severity) -> Vec<Tracked> {
    vec![tracked(1, &[by], severity)]
}

fn a(verdict: Verdict) -> (&'static str, Option<Verdict>) {
    ("alpha", Some(verdict))
}

fn b(verdict: Verdict) -> (&'static str, Option<Verdict>) {
    ("beta", Some(verdict))
}

const GONE: (&str, Option<Verdict>) = ("beta", None);

/// Line 1: somebody present stands behind an open finding of the rework column, or rejected over it.
#[test]
fn ruling_line_1() {
    let rework = Ruling::Rework { must: must(&[1]) };
    let alpha = |severity| of(reviewer("alpha"), severity);
    let one = |verdict| review_round(None, &[a(verdict)]);
    rules("blocker", &policy(), &one(Reject), &alpha(Blocker), &rework);
    rules("blocker, approved", &policy(), &one(Approve), &alpha(Blocker), &rework);
    rules("warning, strict", &strict(), &one(Approve), &alpha(Warning), &rework);
    rules("warning, rejected", &policy(), &one(Reject), &alpha(Warning), &rework);
    rules("a check", &policy(), &review_round(Some(Blocker), &[]), &of(check("lint"), Blocker), &rework);
    let lost = review_round(None, &[a(Reject), GONE]);
    rules("outranks a lost reviewer", &policy(), &lost, &alpha(Blocker), &rework);
    let both = review_round(None, &[a(Reject), b(Approve)]);
    let three = [tracked(2, &[reviewer("beta")], Warning), tracked(3, &[reviewer("beta")], Suggestion)];
    let all: Vec<Tracked> = alpha(Blocker).into_iter().chain(three).collect();
    rules("takes all open ones along", &policy(), &both, &all, &Ruling::Rework { must: must(&[1, 2]) });
}

/// Line 2: a reviewer is gone. Line 3: an open finding of the rework column that nobody present answered.
#[test]
fn ruling_lines_2_and_3() {
    let no = Ruling::NoQuorum;
    let lost = review_round(None, &[a(Approve), GONE]);
    rules("gone, escalate", &policy(), &lost, &[], &no);
    rules("blocker of a lost reviewer", &lenient(), &lost, &of(reviewer("beta"), Blocker), &no);
    let one = review_round(None, &[a(Approve)]);
    rules("blocker of nobody", &policy(), &one, &of(reviewer("gamma"), Blocker), &no);
    rules("blocker of a check that passes", &policy(), &one, &of(check("lint"), Blocker), &no);
    let hard = Policy { no_verdict: NoVerdict::ChecksOnly, ..strict() };
    rules(
        "warning of a lost reviewer, strict",
        &hard,
        &review_round(None, &[GONE]),
        &of(reviewer("beta"), Warning),
        &no,
    );
}

/// Line 4: conditional, or a warning is open. Line 5: otherwise.
#[test]
fn ruling_lines_4_and_5() {
    let warned = |ids: &[u32], checks_only| Ruling::PassWithWarnings { carried: must(ids), checks_only };
    let pass = |checks_only| Ruling::Pass { checks_only };
    let one = review_round(None, &[a(Approve)]);
    let lost = review_round(None, &[a(Approve), GONE]);
    rules("conditional", &policy(), &review_round(None, &[a(Conditional)]), &[], &warned(&[], false));
    let red = review_round(Some(Warning), &[a(Approve)]);
    rules("warning", &policy(), &red, &of(check("lint"), Warning), &warned(&[1], false));
    rules(
        "warning of a lost reviewer",
        &lenient(),
        &lost,
        &of(reviewer("beta"), Warning),
        &warned(&[1], true),
    );
    let both = review_round(None, &[a(Reject), b(Approve)]);
    rules("another's warning", &policy(), &both, &of(reviewer("beta"), Warning), &warned(&[1], false));
    rules("all approve", &policy(), &review_round(None, &[a(Approve), b(Approve)]), &[], &pass(false));
    rules("suggestions remain", &strict(), &one, &of(reviewer("alpha"), Suggestion), &pass(false));
    rules("checks alone", &policy(), &review_round(None, &[]), &[], &pass(false));
    rules("gone, checks only", &lenient(), &lost, &[], &pass(true));
    rules("all gone, checks stand", &lenient(), &review_round(None, &[("alpha", None)]), &[], &pass(true));
}

/// A check that cannot tell is answered by somebody who looked, or not at all.
#[test]
fn a_question_nobody_answers_passes_nothing() {
    let asked = |reviewers: &[(&'static str, Option<Verdict>)]| {
        let mut review_round = review_round(Some(Suggestion), reviewers);
        for state in review_round.checks.values_mut() {
            if let CheckState::Failed(claims) = state {
                claims.iter_mut().for_each(|claim| claim.asks = true);
            }
        }
        review_round
    };
    let open = of(check("lint"), Suggestion);
    for policy in [policy(), lenient(), strict()] {
        rules("nobody is there", &policy, &asked(&[]), &open, &Ruling::NoQuorum);
        rules("who was there is gone", &policy, &asked(&[("alpha", None)]), &open, &Ruling::NoQuorum);
        rules("somebody looked", &policy, &asked(&[a(Approve)]), &open, &Ruling::Pass { checks_only: false });
    }
}

#[test]
fn silence_is_no_quorum() {
    let empty = ReviewRound::assemble(Revision::new("r1"), []);
    assert_eq!(empty.rule(&policy(), &Ledger::default()), Ruling::NoQuorum);
    let mut gone = empty.clone();
    gone.reviewers.insert(Reviewer::new("alpha"), ReviewerState::Gone);
    assert_eq!(
        gone.rule(&lenient(), &Ledger::default()),
        Ruling::NoQuorum,
        "no check stands for a lost reviewer"
    );
    let mut unrun = empty.clone();
    unrun.checks.insert(Check::new("lint"), CheckState::DidNotRun);
    let none = Ruling::NoQuorum;
    rules("a check that did not run looked at nothing", &policy(), &unrun, &[], &none);
    rules("and settles nothing", &policy(), &unrun, &of(Source::Check(Check::new("lint")), Blocker), &none);
    let mut one = empty;
    one.reviewers.insert(Reviewer::new("alpha"), ReviewerState::Answered(Try::default(), answer(Approve)));
    assert_eq!(one.rule(&policy(), &Ledger::default()), Ruling::Pass { checks_only: false });
}

#[test]
fn work_that_misses_its_purpose_is_rejected() {
    let mut missed = review_round(None, &[]);
    let word = Answer { intent_satisfied: Some(false), ..answer(Approve) };
    missed.reviewers.insert(Reviewer::new("alpha"), ReviewerState::Answered(Try::default(), word));
    let own = ledger(&[tracked(1, &[reviewer("alpha")], Warning)]);
    assert_eq!(missed.rule(&policy(), &own), Ruling::Rework { must: must(&[1]) });
    assert!(missed.groundless(&policy(), &own).is_none());
    let reviewer = missed.groundless(&policy(), &Ledger::default()).map(|(reviewer, _)| reviewer.clone());
    assert_eq!(reviewer, Some(Reviewer::new("alpha")));
}

#[test]
fn rework_column() {
    let rows = [(Blocker, true, true), (Warning, false, true), (Suggestion, false, false)];
    for (severity, lax, hard) in rows {
        assert_eq!(needs_rework(&policy(), severity), lax, "{severity}");
        assert_eq!(needs_rework(&strict(), severity), hard, "{severity}");
    }
}

#[test]
fn who_sits() {
    let own = ledger(&[tracked(1, &[reviewer("beta")], Blocker)]);
    let none = Ledger::default();
    type Row<'a> = (Asked, Option<Severity>, &'a Ledger, &'a [&'a str]);
    let rows: [Row; 10] = [
        (Asked::Always, None, &none, &["alpha", "beta"]),
        (Asked::Always, Some(Blocker), &none, &["alpha", "beta"]),
        (Asked::UnlessChecksReject, None, &none, &["alpha", "beta"]),
        (Asked::UnlessChecksReject, Some(Warning), &none, &["alpha", "beta"]),
        (Asked::UnlessChecksReject, Some(Blocker), &none, &[]),
        (Asked::UnlessChecksReject, Some(Blocker), &own, &[]),
        (Asked::OnlyIfChecksFail, None, &none, &[]),
        (Asked::OnlyIfChecksFail, None, &own, &["beta"]),
        (Asked::OnlyIfChecksFail, Some(Suggestion), &none, &["alpha", "beta"]),
        (Asked::OnlyIfChecksFail, Some(Blocker), &own, &["alpha", "beta"]),
    ];
    for (asked, lint, ledger, expected) in rows {
        let mut review_round = review_round(lint, &[]);
        review_round.assemble_panel(&Policy { asked, ..policy() }, ledger);
        let reviewers: Vec<&str> = review_round.reviewers.keys().map(Reviewer::as_str).collect();
        assert_eq!(reviewers, expected, "{asked:?} {lint:?}");
        assert_eq!(review_round.reviewers_done(), expected.is_empty());
    }
}

#[test]
fn usable_answers() {
    let put = must(&[1, 2]);
    let said = |ids: &[u32]| Answer {
        said: ids.iter().map(|id| (FindingId(*id), Said::Resolved)).collect(),
        ..answer(Approve)
    };
    let bare = |verdict| Answer { checked: " ".into(), ..answer(verdict) };
    let raising = Answer { raised: vec![Claim::new(Suggestion, "c1")], ..bare(Approve) };
    assert_eq!(unusable(&said(&[1, 2]), &put, 2, None), None);
    assert_eq!(unusable(&said(&[1]), &put, 2, None), Some(Unusable::Incomplete));
    assert_eq!(unusable(&said(&[1, 3]), &put, 1, None), Some(Unusable::Incomplete));
    assert_eq!(unusable(&bare(Approve), &[], 1, None), Some(Unusable::Bare));
    assert_eq!(unusable(&bare(Approve), &[], 2, None), None, "later rounds verify by id");
    assert_eq!(unusable(&bare(Reject), &[], 1, None), None, "a reject is asked for its grounds later");
    assert_eq!(unusable(&raising, &[], 1, None), None);
    assert_eq!(unusable(&answer(Approve), &[], 1, None), None);
    let wordless = |verdict| Answer { wordless: true, ..answer(verdict) };
    assert_eq!(unusable(&wordless(Approve), &[], 1, None), Some(Unusable::Wordless));
    assert_eq!(unusable(&wordless(Conditional), &[], 2, None), Some(Unusable::Wordless));
    assert_eq!(unusable(&wordless(Reject), &[], 1, None), None, "what tightens counts without the word");
}

/// An answer that names something nobody read counts only as a reject with another ground.
#[test]
fn unread_parts_keep_an_answer_from_counting() {
    let part = || UnreadPart { text: "| leak | src/a.rs |".into(), why: "a row of a table".into() };
    let doubt = |verdict| Answer { unread: vec![part()], ..answer(verdict) };
    let with = |severity| Answer { raised: vec![Claim::new(severity, "c1")], ..doubt(Reject) };
    let still = Answer { said: [(FindingId(1), Said::StillThere)].into(), ..doubt(Reject) };
    let unserved = Answer { intent_satisfied: Some(false), ..doubt(Approve) };
    for (answer, expect) in [
        (doubt(Approve), Some(Unusable::Unread)),
        (doubt(Conditional), Some(Unusable::Unread)),
        (doubt(Reject), Some(Unusable::Unread)),
        (unserved, Some(Unusable::Unread)),
        (with(Suggestion), Some(Unusable::Unread)),
        (with(Warning), None),
        (with(Blocker), None),
        (still, None),
    ] {
        assert_eq!(unusable(&answer, &[], 1, None), expect, "{answer:?}");
    }
    // It says more than "bare" and "incomplete".
    let bare = Answer { checked: String::new(), ..doubt(Approve) };
    assert_eq!(unusable(&bare, &must(&[1]), 1, None), Some(Unusable::Unread));
}

/// What a discarded answer leaves to settle, and which answers settle it.
#[test]
fn a_milder_second_answer_is_none() {
    let parts =
        |n: u32| (0..n).map(|n| UnreadPart { text: format!("row {n}"), why: "a row".into() }).collect();
    let first = |verdict, n| Answer { unread: parts(n), ..answer(verdict) };
    let settled = |verdict, numbers: &[u32]| Answer {
        settled: numbers.iter().map(|n| (*n, "a list of names".into())).collect(),
        ..answer(verdict)
    };
    let labelled = Answer {
        raised: vec![Claim { label: Some("u-2".into()), ..Claim::new(Suggestion, "c2") }],
        ..settled(Approve, &[1])
    };
    let grounded = Answer { raised: vec![Claim::new(Blocker, "c1")], ..answer(Reject) };
    let (flip, left) = (Some(Unusable::Flipped), Some(Unusable::Unsettled));
    for (first, second, expect) in [
        (first(Reject, 1), settled(Approve, &[1]), flip),
        (first(Reject, 1), settled(Conditional, &[1]), flip),
        (first(Reject, 1), answer(Reject), None),
        (first(Conditional, 1), settled(Approve, &[1]), flip),
        (first(Conditional, 1), settled(Conditional, &[1]), None),
        (first(Conditional, 1), answer(Conditional), left),
        (first(Approve, 2), answer(Approve), left),
        (first(Approve, 2), settled(Approve, &[2]), left),
        (first(Approve, 2), settled(Approve, &[3]), left),
        (first(Approve, 2), settled(Approve, &[1, 2]), None),
        (first(Approve, 2), labelled, None),
        (first(Approve, 2), grounded.clone(), None),
        (grounded.clone(), answer(Approve), flip),
        // Who rejects has a reason: where none was read, it was lost.
        (answer(Reject), answer(Approve), flip),
        (answer(Conditional), answer(Approve), flip),
        (answer(Reject), answer(Reject), None),
        // What was read and comes to nothing may be taken back.
        (Answer { raised: vec![Claim::new(Suggestion, "c1")], ..answer(Reject) }, answer(Approve), None),
    ] {
        let owed = objection(&first);
        assert_eq!(unusable(&second, &[], 1, owed.as_ref()), expect, "{first:?}\nthen {second:?}");
    }
    let nameless = Failure { unread: parts(1), ..Failure::new(FailureKind::Garbled, "no verdict") };
    let owed = lost_objection(&nameless);
    assert_eq!(unusable(&answer(Approve), &[], 1, owed.as_ref()), flip);
    assert_eq!(unusable(&answer(Conditional), &[], 1, owed.as_ref()), None);
    assert_eq!(lost_objection(&Failure::new(FailureKind::Crashed, "")), None);
}

#[test]
fn reviewers_in_order() {
    let alone = Policy { attempts_max: 2, backup: false, ..policy() };
    let with = Policy { backup: true, ..alone.clone() };
    let t = |backup, fails, again| Try { part: 3, backup, fails, again };
    let first = t(false, 0, false);
    assert_eq!(after_failure(&alone, first, FailureKind::Crashed), Some(t(false, 1, false)));
    assert_eq!(after_failure(&alone, t(false, 1, false), FailureKind::Crashed), None);
    assert_eq!(after_failure(&with, t(false, 1, true), FailureKind::Crashed), Some(t(true, 0, false)));
    assert_eq!(after_failure(&with, t(true, 0, true), FailureKind::Crashed), Some(t(true, 1, true)));
    assert_eq!(after_failure(&with, t(true, 1, false), FailureKind::Crashed), None);
    let hopeless = |kind| {
        assert_eq!(
            after_failure(&with, first, kind),
            Some(t(true, 0, false)),
            "{kind:?}: the backup at once"
        );
        assert_eq!(after_failure(&with, t(true, 0, false), kind), None, "{kind:?}");
        assert_eq!(after_failure(&alone, first, kind), None, "{kind:?}");
    };
    use FailureKind as K;
    [K::Auth, K::Quota, K::TooLong, K::Budget, K::Setup].into_iter().for_each(hopeless);
    assert_eq!(after_unusable(&alone, first, Unusable::Bare), Some(t(false, 0, true)));
    assert_eq!(after_unusable(&alone, t(false, 1, true), Unusable::Unread), None);
    assert_eq!(after_unusable(&with, t(false, 1, true), Unusable::Groundless), Some(t(true, 0, false)));
    assert_eq!(after_unusable(&with, t(true, 0, false), Unusable::Unread), Some(t(true, 0, true)));
    assert_eq!(after_unusable(&with, t(true, 0, true), Unusable::Bare), None);
    for why in [Unusable::Flipped, Unusable::Unsettled] {
        let next = after_unusable(&with, t(false, 1, false), why);
        assert_eq!(next, Some(t(true, 0, false)), "{why:?}: the fallback at once");
        assert_eq!(after_unusable(&alone, first, why), None, "{why:?}");
    }
}

#[test]
fn builders_in_order() {
    let alone = Policy { attempts_max: 2, iterations_max: None, builder_backup: false, ..policy() };
    let with = Policy { builder_backup: true, ..alone.clone() };
    let t = |backup, fails| Try { part: 0, backup, fails, again: false };
    let check = |policy: &Policy, n: Try, kind: FailureKind, expect: Option<Try>| {
        assert_eq!(after_making(policy, n, kind), expect, "{n:?} {kind:?} {}", policy.builder_backup);
    };
    use FailureKind::{Auth, Crashed, GateShut};
    // What is shut for one builder is shut for all: nobody is asked again.
    let patient = Policy { iterations_max: Some(10), ..with.clone() };
    for policy in [&alone, &with, &patient] {
        check(policy, t(false, 0), GateShut, None);
    }
    check(&alone, t(false, 0), Crashed, Some(t(false, 1)));
    check(&alone, t(false, 1), Crashed, None);
    check(&alone, t(false, 0), Auth, None);
    check(&with, t(false, 0), Crashed, Some(t(false, 1)));
    check(&with, t(false, 1), Crashed, Some(t(true, 0)));
    check(&with, t(false, 0), Auth, Some(t(true, 0)));
    check(&with, t(true, 0), Crashed, Some(t(true, 1)));
    check(&with, t(true, 1), Crashed, None);
    check(&with, t(true, 0), Auth, None);
    // Where every run is an iteration, none is an attempt that could be lost.
    let iterates = Policy { iterations_max: Some(9), ..alone };
    check(&iterates, t(false, 5), Crashed, Some(t(false, 6)));
    check(&iterates, t(false, 5), Auth, None);
}

#[test]
fn groundless_words() {
    let own = ledger(&[tracked(1, &[reviewer("alpha")], Warning)]);
    let light = ledger(&[tracked(1, &[reviewer("alpha")], Suggestion)]);
    let other = ledger(&[tracked(1, &[reviewer("beta")], Blocker)]);
    let none = Ledger::default();
    let rows: [(Policy, Verdict, &Ledger, bool); 8] = [
        (policy(), Reject, &none, true),
        (policy(), Reject, &own, false),
        (policy(), Reject, &light, true),
        (policy(), Reject, &other, true),
        (policy(), Conditional, &none, false),
        (strict(), Conditional, &none, true),
        (strict(), Conditional, &own, false),
        (strict(), Approve, &none, false),
    ];
    for (policy, verdict, ledger, expected) in rows {
        let review_round = review_round(None, &[("alpha", Some(verdict))]);
        assert_eq!(review_round.groundless(&policy, ledger).is_some(), expected, "{verdict:?}");
    }
}

#[test]
fn tracking_is_put_right() {
    let fated = |fate, t: Tracked| Tracked { fate, ..t };
    let lint = |id| Tracked { claim: Claim::new(Blocker, "c9"), ..tracked(id, &[check("lint")], Blocker) };
    let none = Ledger::default();
    let red = review_round(Some(Blocker), &[]);
    // A check that fails says so again: its finding is open.
    let right = red.correct(&policy(), &none, &[fated(Fate::Fixed, lint(9))]).unwrap();
    assert_eq!(right[0].fate, Fate::Open);
    // By rule and file, where the words differ.
    let ruled = |file: &str, rule: &str| {
        let claim = Claim { rule: Some(rule.into()), ..Claim::new(Blocker, "worded anew") };
        claim.at(file, Some(1))
    };
    let mut by_rule = review_round(None, &[]);
    by_rule.checks.insert(Check::new("lint"), CheckState::Failed(vec![ruled("a", "E1")]));
    let fixed = |claim: Claim| Tracked { claim, ..fated(Fate::Fixed, tracked(1, &[check("lint")], Blocker)) };
    let older = |mut claim: Claim| {
        claim.claim = "worded before".into();
        fixed(claim)
    };
    let fate = |t: Tracked| {
        let held = Tracked { claim: ruled("z", "E9"), ..tracked(2, &[check("lint")], Blocker) };
        by_rule.correct(&policy(), &none, &[t, held]).unwrap()[0].fate.clone()
    };
    assert_eq!(fate(older(ruled("a", "E1"))), Fate::Open);
    assert_eq!(fate(older(ruled("b", "E1"))), Fate::Fixed);
    assert_eq!(fate(older(ruled("a", "E2"))), Fate::Fixed);
    assert_eq!(fate(older(Claim { rule: None, ..ruled("a", "E1") })), Fate::Fixed);
    // Every claim needs one open finding, not every finding of its kind.
    let open = |id: u32| Tracked { claim: ruled("a", "E1"), ..tracked(id, &[check("lint")], Blocker) };
    let fates = |findings: &[Tracked]| {
        let right = by_rule.correct(&policy(), &none, findings).unwrap();
        right.into_iter().map(|one| one.fate).collect::<Vec<_>>()
    };
    assert_eq!(fates(&[older(ruled("a", "E1")), open(2)]), [Fate::Fixed, Fate::Open]);
    assert_eq!(fates(&[older(ruled("a", "E1")), fixed(ruled("a", "E1"))]), [Fate::Fixed, Fate::Open]);
    by_rule.checks.insert(Check::new("lint"), CheckState::Failed(vec![ruled("a", "E1"), ruled("a", "E1")]));
    let right = by_rule.correct(&policy(), &none, &[older(ruled("a", "E1")), open(2)]).unwrap();
    assert!(right.iter().all(|one| one.fate == Fate::Open));
    // A failing check left without its finding, or with a lesser one, is no report.
    assert!(red.correct(&policy(), &none, &[]).is_none());
    assert!(red.correct(&policy(), &none, &[tracked(1, &[check("types")], Blocker)]).is_none());
    assert!(red.correct(&policy(), &none, &[tracked(1, &[check("lint")], Warning)]).is_none());
    assert!(red.correct(&policy(), &none, &[lint(9)]).is_some());
    assert!(red.correct(&policy(), &ledger(&[lint(9)]), &[]).is_some(), "an entry not named stays");
    let closed = fated(Fate::Fixed, Tracked { claim: Claim::new(Blocker, "other"), ..lint(9) });
    assert!(red.correct(&policy(), &ledger(&[lint(9)]), &[closed]).is_none());
    // What causes no rework may go unnamed.
    assert!(review_round(Some(Warning), &[]).correct(&policy(), &none, &[]).is_some());
    assert!(review_round(Some(Warning), &[]).correct(&strict(), &none, &[]).is_none());
    assert!(review_round(None, &[]).correct(&policy(), &none, &[]).is_some());
}

#[test]
fn authors_are_believed() {
    let mut judged_round = review_round(None, &[]);
    let said = BTreeMap::from([(FindingId(1), Said::StillThere), (FindingId(2), Said::Resolved)]);
    let word = Answer { said, ..answer(Reject) };
    judged_round.reviewers.insert(Reviewer::new("alpha"), ReviewerState::Answered(Try::default(), word));
    let fixed = |id, by| Tracked { fate: Fate::Fixed, ..tracked(id, &[reviewer(by)], Blocker) };
    let early = |fate| Tracked { fate, ..tracked(4, &[reviewer("alpha")], Blocker) };
    let report = [
        fixed(1, "alpha"),
        fixed(2, "alpha"),
        fixed(1, "beta"),
        early(Fate::Carried),
        early(Fate::Waived("x".into())),
        early(Fate::Unresolved),
        early(Fate::Deferred),
    ];
    let right = judged_round.correct(&policy(), &Ledger::default(), &report).unwrap();
    let fates: Vec<&str> = right.iter().map(|t| t.fate.word()).collect();
    assert_eq!(fates, ["open", "fixed", "fixed", "open", "open", "open", "deferred"]);
}

#[test]
fn what_was_waived_before_stays_waived_and_answers_for_its_check() {
    let waived = |who: &str| Fate::Waived(who.into());
    let t = Tracked { fate: waived("ann"), ..tracked(9, &[check("lint")], Blocker) };
    let entry = ledger(std::slice::from_ref(&t)).get(FindingId(9)).unwrap().clone();
    let before = Ledger::opened_with(&[CarriedFinding { id: FindingId(9), entry }]);
    assert_eq!(before.get(FindingId(9)).unwrap().fate, waived("ann"));
    let red = review_round(Some(Blocker), &[]);
    let fates = |report: &[Tracked]| -> Option<Vec<Fate>> {
        Some(red.correct(&policy(), &before, report)?.into_iter().map(|t| t.fate).collect())
    };
    assert_eq!(fates(std::slice::from_ref(&t)), Some(vec![waived("ann")]));
    assert_eq!(fates(&[]), Some(Vec::new()), "it stands for its check, named or not");
    // Nobody else is made to have waived it, and nothing else is waived with it.
    assert_eq!(fates(&[Tracked { fate: waived("bob"), ..t.clone() }]), Some(vec![Fate::Open]));
    let other = Tracked { id: FindingId(3), ..t.clone() };
    assert_eq!(fates(&[other]), Some(vec![Fate::Open]));
}

#[test]
fn benches_say_where_they_stand() {
    let mut asking = ReviewRound::assemble(Revision::new("r1"), [Check::new("lint")]);
    assert!(!asking.checks_done() && asking.reviewers_done() && asking.is_complete());
    asking.reviewers.insert(Reviewer::new("alpha"), ReviewerState::Asking(Try::default()));
    assert!(!asking.reviewers_done());
    assert!(review_round(None, &[]).checks_done());
    assert!(!review_round(None, &[("alpha", None)]).is_complete());
    assert!(review_round(None, &[("alpha", Some(Reject))]).is_complete());
    assert!(review_round(Some(Blocker), &[]).checks_reject(&policy()));
    assert!(!review_round(Some(Warning), &[]).checks_reject(&policy()));
    assert!(review_round(Some(Warning), &[]).checks_reject(&strict()));
    let mut deep = review_round(None, &[("alpha", Some(Reject))]);
    assert!(!deep.is_fundamental());
    let word = Answer { fundamental: true, ..answer(Reject) };
    deep.reviewers.insert(Reviewer::new("beta"), ReviewerState::Answered(Try::default(), word));
    assert!(deep.is_fundamental());
    let entry = |by: Source| ledger(&[tracked(1, &[by], Blocker)]).get(FindingId(1)).unwrap().clone();
    assert!(review_round(Some(Blocker), &[]).failing_check_holds(&entry(check("lint"))));
    assert!(!review_round(None, &[]).failing_check_holds(&entry(check("lint"))));
    assert!(!review_round(Some(Blocker), &[]).failing_check_holds(&entry(reviewer("lint"))));
    let worst = CheckState::Failed(vec![
        Claim::new(Warning, "a"),
        Claim::new(Blocker, "b"),
        Claim::new(Suggestion, "c"),
    ]);
    assert_eq!(worst.worst(), Some(Blocker));
}

fn record(round: u32, ids: &[u32]) -> RoundRecord {
    let must = ids.iter().map(|id| (FindingId(*id), Mark::New)).collect();
    RoundRecord { round, must, left: BTreeMap::new(), complete: true, fundamental: false }
}

fn says(policy: &Policy, ledger: &Ledger, series: &[RoundRecord], round: u32) -> Next {
    next(&Course { policy, ledger, series, pass: None, round, rounds_max: 9 })
}

#[test]
fn going_on_or_not() {
    let open = |change: &dyn Fn(&mut Tracked)| {
        let mut t = tracked(1, &[reviewer("alpha")], Blocker);
        change(&mut t);
        ledger(&[t])
    };
    let plain = open(&|_| {});
    let same = [record(1, &[1]), record(2, &[1]), record(3, &[1])];
    let mut gone = same.clone();
    gone[1].complete = false;
    let moved = [record(1, &[1]), record(2, &[1, 2]), record(3, &[1])];
    let mut deep = moved.clone();
    deep[0].fundamental = true;
    let once = deep.clone();
    deep[2].fundamental = true;
    let foreign = open(&|t| t.builders = false);
    let contested = |by: Source, adjudicated| {
        let mut ledger = Ledger::default();
        ledger.track(&[Tracked { contested: true, ..tracked(1, &[by], Blocker) }], 1, adjudicated);
        ledger
    };
    let id = FindingId(1);
    let stop = |pattern| Next::Escalate(pattern);
    let rows: Vec<(&str, &Ledger, &[RoundRecord], u32, Next)> = vec![
        ("go on", &plain, &moved, 3, Next::GoOn),
        ("cap", &plain, &moved, 9, Next::Cap),
        ("beyond the cap", &plain, &moved, 10, Next::Cap),
        ("same set in three rounds", &plain, &same, 9, Next::Stale),
        ("a round without a full panel", &plain, &gone, 3, Next::GoOn),
        ("two rounds are not three", &plain, &same[..2], 3, Next::GoOn),
        ("fundamental twice", &plain, &deep, 3, stop(Pattern::Fundamental)),
        ("fundamental once", &plain, &once, 3, Next::GoOn),
        ("not the builder's", &foreign, &moved, 3, stop(Pattern::NotTheBuilders(id))),
        ("not the builder's, at the cap", &foreign, &moved, 9, stop(Pattern::NotTheBuilders(id))),
    ];
    let policy = policy();
    for (name, ledger, series, round, expected) in rows {
        assert_eq!(says(&policy, ledger, series, round), expected, "{name}");
    }
    let check_one = |ledger: &Ledger, expected: Next| assert_eq!(says(&policy, ledger, &moved, 3), expected);
    check_one(&contested(reviewer("alpha"), true), Next::GoOn);
    check_one(&contested(reviewer("alpha"), false), stop(Pattern::Contested(id)));
    check_one(&contested(check("lint"), true), stop(Pattern::Contested(id)));
}

/// Finding 1 in a ledger after these fixes: touched or not.
fn fixed_at(fixes: &[bool]) -> Ledger {
    let mut ledger = ledger(&[tracked(1, &[reviewer("alpha")], Blocker)]);
    for (round, touched) in (2..).zip(fixes) {
        ledger.order(&[FindingId(1)]);
        ledger.track(
            &[Tracked { touched: *touched, ..tracked(1, &[reviewer("alpha")], Blocker) }],
            round,
            true,
        );
    }
    ledger
}

/// Touched twice and not cured escalates in every loop; left twice only where the loop is not healthy.
#[test]
fn survivors() {
    // The last round resolved one and broke none, or resolved nothing.
    let healthy = [record(1, &[1, 2, 3]), record(2, &[1, 2]), record(3, &[1])];
    let idle = [record(1, &[1, 2]), record(2, &[1, 2, 3]), record(3, &[1, 2, 3])];
    let (touched, left) = (Pattern::SurvivedTouched(FindingId(1)), Pattern::SurvivedUntouched(FindingId(1)));
    let rows: &[(&[bool], Option<&Pattern>, Option<&Pattern>)] = &[
        (&[true], None, None),
        (&[false], None, None),
        (&[true, true], Some(&touched), Some(&touched)),
        (&[false, false], None, Some(&left)),
        (&[true, false], None, Some(&touched)),
        (&[false, true], None, Some(&touched)),
        (&[true, false, true], Some(&touched), Some(&touched)),
    ];
    let expect = |pattern: Option<&Pattern>| pattern.map_or(Next::GoOn, |p| Next::Escalate(p.clone()));
    for (fixes, calm, stuck) in rows {
        assert_eq!(says(&policy(), &fixed_at(fixes), &healthy, 3), expect(*calm), "{fixes:?}, healthy");
        assert_eq!(says(&policy(), &fixed_at(fixes), &idle, 3), expect(*stuck), "{fixes:?}, idle");
    }
    // Before the cap.
    assert_eq!(says(&policy(), &fixed_at(&[true, true]), &healthy, 9), expect(Some(&touched)));
    // One that breaks half of what it resolves is not healthy.
    let mut breaks = [record(1, &[1, 2, 3, 4]), record(2, &[1, 2, 3]), record(3, &[1, 5])];
    breaks[2].must.insert(FindingId(5), Mark::FixInduced);
    assert_eq!(says(&policy(), &fixed_at(&[false, false]), &breaks, 3), expect(Some(&left)));
}

/// What the rework named first and then left again escalates; where one of them was done the others wait.
#[test]
fn left_again_although_named_first() {
    let ledger = fixed_at(&[false, false, false]);
    let with = |must: &[u32], left: &[(u32, u32)], round| RoundRecord {
        left: left.iter().map(|(id, times)| (FindingId(*id), *times)).collect(),
        ..record(round, must)
    };
    let series = |named: &[(u32, u32)], now: &[(u32, u32)]| {
        [record(2, &[1, 2, 5, 6]), with(&[1, 2, 5], named, 3), with(&[1, 2], now, 4)]
    };
    let left = |id| Next::Escalate(Pattern::SurvivedUntouched(FindingId(id)));
    let rows = [
        (series(&[(1, 2)], &[(1, 3)]), left(1)),
        (series(&[(1, 2), (2, 2)], &[(1, 3), (2, 3)]), left(1)),
        // One of them was done, or touched.
        (series(&[(1, 2), (5, 2)], &[(1, 3)]), Next::GoOn),
        (series(&[(1, 2), (2, 2)], &[(1, 3), (2, 2)]), Next::GoOn),
        // Named now, not before.
        (series(&[], &[(1, 2)]), Next::GoOn),
        (series(&[(2, 2)], &[(1, 3), (2, 3)]), left(2)),
    ];
    for (series, expected) in rows {
        assert_eq!(says(&policy(), &ledger, &series, 4), expected, "{series:?}");
    }
    let calm = |times: u32| fixed_at(&vec![false; times as usize]).get(FindingId(1)).unwrap().left_twice();
    assert_eq!([1, 2, 3].map(calm), [None, Some(2), Some(3)]);
    let mut fixed = fixed_at(&[false, false]);
    fixed.track(&[Tracked { fate: Fate::Fixed, ..tracked(1, &[], Blocker) }], 9, true);
    assert_eq!(fixed.get(FindingId(1)).unwrap().left_twice(), None);
}

/// The findings of one round.
type Marks<'a> = &'a [(u32, Mark)];

/// Rounds by their findings, each a row of `(id, mark)`; a finding's region is its id over ten. Everything is alpha's
/// blocker; from 90 on it is a check's.
fn marked(rows: &[Marks]) -> (Ledger, Vec<RoundRecord>) {
    let mut ledger = Ledger::default();
    let mut series = Vec::new();
    for (round, row) in (1..).zip(rows) {
        for (id, _) in *row {
            let by = if *id >= 90 { check("lint") } else { reviewer("alpha") };
            let region = Some(format!("region {}", id / 10));
            ledger.track(&[Tracked { region, ..tracked(*id, &[by], Blocker) }], round, true);
        }
        let must = row.iter().map(|(id, mark)| (FindingId(*id), *mark)).collect();
        series.push(RoundRecord { must, ..record(round, &[]) });
    }
    (ledger, series)
}

fn after(rows: &[Marks], pass: Option<Pass>) -> Next {
    let (ledger, series) = marked(rows);
    let round = u32::try_from(series.len()).unwrap();
    let policy = policy();
    next(&Course { policy: &policy, ledger: &ledger, series: &series, pass, round, rounds_max: 9 })
}

use Mark::{FixInduced as F, Late as L, New as N, Persistent as P, Reopened as R};

#[test]
fn rounds_are_counted_from_their_findings() {
    let (ledger, series) = marked(&[
        &[(1, N), (2, N), (3, N)],
        &[(1, P), (11, F), (12, L), (92, L)],
        &[(1, P), (2, R), (3, R), (21, N), (13, L)],
    ]);
    let counted = rounds(&ledger, &series);
    let row = |r: &Round| (r.open, r.resolved, r.reopened, r.fix_induced, r.late, r.missed, r.broken());
    let expected = [(3, 0, 0, 0, 0, 0, 0), (4, 2, 0, 1, 2, 1, 1), (5, 3, 2, 0, 1, 1, 2)];
    assert_eq!(counted.iter().map(row).collect::<Vec<_>>(), expected);
    assert_eq!(counted.iter().map(|r| r.round).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(counted[2].complete && !counted[2].unchanged && !counted[2].fundamental);
    assert_eq!(counted[2].back, ["region 0", "region 0"]);
}

/// Must-fix that does not shrink while at least half of what was resolved is broken or back.
#[test]
fn churn() {
    let five: &[(u32, Mark)] = &[(1, N), (2, N), (3, N), (4, N), (5, N)];
    // Two fixed and one broken each time: half, and nothing shrank.
    let half: &[(u32, Mark)] = &[(3, P), (4, P), (5, P), (11, F), (31, N)];
    let sum = |open_after, resolved, broken, late| Stretch {
        from: 1,
        to: 3,
        open_before: 5,
        open_after,
        resolved,
        broken,
        late,
    };
    let stop = |sum| Next::Escalate(Pattern::Churn(sum));
    let rows: [(&[(u32, Mark)], Next); 5] = [
        (&[(5, P), (11, P), (31, P), (12, F), (32, N)], stop(sum(5, 4, 2, 0))),
        (&[(11, P), (31, P), (12, F), (32, N), (33, N)], Next::GoOn),
        (&[(5, P), (11, P), (31, P), (12, F)], Next::GoOn),
        // What was there all along and seen late is no lack of progress.
        (&[(5, P), (11, P), (31, P), (12, F), (32, L)], Next::GoOn),
        (&[(5, P), (11, P), (31, P), (12, F), (32, L), (33, N)], stop(sum(6, 4, 2, 1))),
    ];
    for (third, expected) in rows {
        assert_eq!(after(&[five, half, third], None), expected, "{third:?}");
    }
}

/// It shrinks, but four fixes each broke a third, and together half of what they fixed.
#[test]
fn slow_churn() {
    let nine: Vec<(u32, Mark)> = (1..10).map(|id| (id, N)).collect();
    let round = |from: u32, broken: u32| -> Vec<(u32, Mark)> {
        let carried = (from..10).map(|id| (id, P));
        carried.chain((broken > 0).then_some((10 * from, F))).collect()
    };
    // Fixed over four fixes: two of the nine each time but the last, and what was broken before.
    let says = |last_from: u32, third: u32| {
        let rows = [nine.clone(), round(2, 1), round(3, 1), round(4, third), round(last_from, 1)];
        let rows: Vec<&[(u32, Mark)]> = rows.iter().map(Vec::as_slice).collect();
        after(&rows, None)
    };
    let sum = |open_after, resolved| Stretch {
        from: 1,
        to: 5,
        open_before: 9,
        open_after,
        resolved,
        broken: 4,
        late: 0,
    };
    assert_eq!(says(5, 1), Next::Escalate(Pattern::SlowChurn(sum(6, 7))));
    assert_eq!(says(6, 1), Next::Escalate(Pattern::SlowChurn(sum(5, 8))));
    assert_eq!(says(7, 1), Next::GoOn, "less than half");
    assert_eq!(says(5, 0), Next::GoOn, "a fix that broke nothing");
}

/// More open after each of two fixes, and nothing of it is marked as theirs.
#[test]
fn growth() {
    let two: &[(u32, Mark)] = &[(1, N), (2, N)];
    let sum = Stretch { from: 1, to: 3, open_before: 2, open_after: 6, resolved: 2, broken: 0, late: 0 };
    let four: &[(u32, Mark)] = &[(2, P), (11, N), (21, N), (31, N)];
    let six: &[(u32, Mark)] = &[(11, P), (21, P), (31, P), (41, N), (51, N), (61, N)];
    assert_eq!(after(&[two, four], None), Next::GoOn);
    assert_eq!(after(&[two, four, six], None), Next::Escalate(Pattern::Growth(sum)));
    let same: &[(u32, Mark)] = &[(11, P), (21, P), (31, P), (41, N)];
    assert_eq!(after(&[two, four, same], None), Next::GoOn);
    let late: &[(u32, Mark)] = &[(11, P), (21, P), (31, P), (41, N), (51, L)];
    assert_eq!(after(&[two, four, late], None), Next::GoOn);
}

/// Three times, counted over all findings of the region.
#[test]
fn a_region_that_comes_back_a_third_time() {
    let stop = Next::Escalate(Pattern::Region("region 1".into()));
    // Each round leaves the others, so that nothing is fixed twice over.
    let rows: [(&[Marks], Next); 5] = [
        // The same one, and another one in the same place.
        (
            &[&[(11, N), (1, N)], &[(11, R), (1, P)], &[(12, R), (1, P)], &[(13, R), (1, P), (2, N)]],
            stop.clone(),
        ),
        (&[&[(11, N), (1, N)], &[(11, R), (12, R), (13, R), (1, P)]], stop.clone()),
        // Gone, and something else is there.
        (
            &[
                &[(11, N), (1, N)],
                &[(1, P), (2, N)],
                &[(12, F), (1, P), (2, P)],
                &[(1, P), (2, P), (3, N)],
                &[(13, N), (1, P), (2, P), (3, P)],
                &[(1, P), (2, P), (3, P)],
                &[(14, F), (1, P), (2, P), (3, P)],
            ],
            stop.clone(),
        ),
        // Untouched and seen late is no return, and neither is what stayed.
        (
            &[
                &[(11, N), (1, N)],
                &[(1, P), (2, N)],
                &[(12, F), (1, P), (2, P)],
                &[(1, P), (2, P), (3, N)],
                &[(13, L), (1, P), (2, P), (3, P)],
                &[(1, P), (2, P), (3, P)],
                &[(14, N), (1, P), (2, P), (3, P)],
                &[(14, P), (15, N), (1, P), (2, P)],
            ],
            Next::GoOn,
        ),
        // Each round fixes more than twice what it breaks: that is never stopped for its regions.
        (
            &[
                &[(11, N), (1, N), (2, N), (3, N), (4, N), (5, N), (6, N), (7, N), (8, N)],
                &[(11, R), (4, P), (5, P), (6, P), (7, P), (8, P)],
                &[(12, R), (6, P), (7, P), (8, P)],
                &[(13, R), (8, P)],
            ],
            Next::GoOn,
        ),
    ];
    for (rows, expected) in rows {
        assert_eq!(after(rows, None), expected, "{rows:?}");
    }
}

/// Reviewers that find other old faults each round: one exhaustive pass, then a person.
#[test]
fn turnover() {
    let [first, second, third, fourth] = [
        [(1, N), (2, N), (3, N)],
        [(11, L), (12, L), (13, L)],
        [(21, L), (22, L), (23, L)],
        [(31, L), (32, L), (33, L)],
    ];
    assert_eq!(after(&[&first, &second], None), Next::GoOn, "one round is not two");
    assert_eq!(after(&[&first, &second, &third], None), Next::Exhaust);
    // Half of what was resolved is enough, less is not; a check that shows its next errors does not count.
    let six: Vec<(u32, Mark)> = (1..7).map(|id| (id, N)).collect();
    let with = |late: u32, by_check: bool| {
        let from = if by_check { 90 } else { 11 };
        let one: Vec<(u32, Mark)> = (3..7)
            .map(|id| (id, P))
            .chain((0..late).map(|n| (from + n, L)))
            .chain([(41, N), (42, N)])
            .collect();
        let two: Vec<(u32, Mark)> = (5..7)
            .map(|id| (id, P))
            .chain((0..late).map(|n| (from + n, P)))
            .chain([(41, P), (42, P), (71, L)])
            .collect();
        after(&[&six, &one, &two], None)
    };
    assert_eq!(with(1, false), Next::Exhaust);
    assert_eq!(with(0, false), Next::GoOn);
    assert_eq!(with(1, true), Next::GoOn);
    // It shrinks.
    assert_eq!(after(&[&first, &second, &third[..2]], None), Next::GoOn);
    // At the cap nobody could fix what the pass finds.
    let (ledger, series) = marked(&[&first, &second, &third]);
    let policy = policy();
    let at = |rounds_max| {
        next(&Course { policy: &policy, ledger: &ledger, series: &series, pass: None, round: 3, rounds_max })
    };
    assert_eq!((at(3), at(4)), (Next::Cap, Next::Exhaust));
    let pass = Some(Pass { round: 3, open: 3 });
    assert_eq!(after(&[&first, &second, &third], pass), Next::GoOn, "one pass in a series");
    let sum = Stretch { from: 3, to: 4, open_before: 3, open_after: 3, resolved: 3, broken: 0, late: 3 };
    assert_eq!(after(&[&first, &second, &third, &fourth], pass), Next::Escalate(Pattern::Turnover(sum)));
    // Less is open than before the pass: it ends by itself.
    assert_eq!(after(&[&first, &second, &third, &fourth[..2]], pass), Next::GoOn);
    // But not if it goes on like that.
    let fifth = [(41, L), (42, L)];
    let sum = Stretch { from: 3, to: 5, open_before: 3, open_after: 2, resolved: 5, broken: 0, late: 4 };
    let went_on = after(&[&first, &second, &third, &fourth[..2], &fifth], pass);
    assert_eq!(went_on, Next::Escalate(Pattern::Turnover(sum)));
    assert_eq!(after(&[&first, &second, &third, &fourth[..2], &fifth[..1]], pass), Next::GoOn);
    // Old warnings, old findings of a check, and new blockers that are not late are no such pattern.
    let fresh = [(41, N), (42, N), (43, N)];
    assert_eq!(after(&[&first, &second, &third, &fresh], pass), Next::GoOn);
    let lint = [(91, L), (92, L), (93, L)];
    assert_eq!(after(&[&first, &second, &third, &lint], pass), Next::GoOn);
    let (mut ledger, series) = marked(&[&first, &second, &third, &fourth]);
    for id in [31, 32, 33] {
        ledger.track(&[tracked(id, &[reviewer("alpha")], Warning)], 4, true);
    }
    let course = Course { policy: &policy, ledger: &ledger, series: &series, pass, round: 4, rounds_max: 9 };
    assert_eq!(next(&course), Next::GoOn);
}

/// Who holds the pass, and what becomes of the answers.
#[test]
fn an_exhaustive_pass_adds_to_what_was_said() {
    let late = BTreeSet::from([FindingId(1), FindingId(2), FindingId(3)]);
    let of = |names: [&str; 3]| {
        ledger(&[1, 2, 3].map(|id| tracked(id, &[reviewer(names[id as usize - 1])], Blocker)))
    };
    let mut judged_round = review_round(None, &[a(Reject), b(Approve)]);
    let fallback = Policy { backup: true, ..policy() };
    let who = |policy: &Policy, ledger: &Ledger| -> Vec<String> {
        let reviewers = judged_round.exhaustive_reviewers(policy, &late, ledger);
        reviewers.iter().map(ToString::to_string).collect()
    };
    assert_eq!(who(&policy(), &of(["beta"; 3])), ["alpha", "beta"]);
    assert_eq!(who(&fallback, &of(["alpha", "beta", "beta"])), ["beta"]);
    assert_eq!(who(&fallback, &of(["alpha", "alpha", "beta"])), ["alpha"]);
    assert_eq!(who(&fallback, &Ledger::default()), ["alpha"], "the first, where they are even");
    assert!(review_round(None, &[GONE]).exhaustive_reviewers(&fallback, &late, &of(["beta"; 3])).is_empty());
    let beta = Reviewer::new("beta");
    judged_round.exhaust(&fallback, std::slice::from_ref(&beta));
    let first = Try { backup: true, ..Try::default() };
    assert_eq!(judged_round.reviewers[&beta], ReviewerState::Asking(first));
    assert_eq!(judged_round.kept.len(), 1);
    let mut lost = judged_round.clone();
    let more = Answer {
        raised: vec![Claim::new(Blocker, "another")],
        fundamental: true,
        said: BTreeMap::from([(FindingId(1), Said::Resolved)]),
        ..answer(Reject)
    };
    judged_round.reviewers.insert(beta.clone(), ReviewerState::Answered(first, more.clone()));
    judged_round.end_pass();
    let added = Answer { said: BTreeMap::new(), ..more };
    assert_eq!(judged_round.reviewers[&beta], ReviewerState::Answered(Try::default(), added));
    assert!(judged_round.kept.is_empty());
    // Who gave no answer keeps the one before.
    lost.reviewers.insert(beta.clone(), ReviewerState::Gone);
    lost.end_pass();
    assert_eq!(lost.reviewers[&beta], ReviewerState::Answered(Try::default(), answer(Approve)));
    let mut same = review_round(None, &[a(Approve)]);
    same.exhaust(&policy(), &[Reviewer::new("alpha")]);
    assert_eq!(same.reviewers[&Reviewer::new("alpha")], ReviewerState::Asking(Try::default()));
}

#[test]
fn contests_and_reopenings_count_once_a_round() {
    let again =
        Tracked { contested: true, mark: Mark::Reopened, ..tracked(1, &[reviewer("alpha")], Blocker) };
    let id = FindingId(1);
    let mut ledger = Ledger::default();
    ledger.track(std::slice::from_ref(&again), 1, true);
    assert!(ledger.get(id).unwrap().contested);
    ledger.heard(id, Some(true));
    // The round is tracked once more, after a reviewer was asked again: nothing new happened.
    ledger.track(std::slice::from_ref(&again), 1, true);
    let entry = ledger.get(id).unwrap();
    assert_eq!((entry.reopened, entry.contested, entry.flipped), (1, false, false));
    let calm = Tracked { contested: false, mark: Mark::Persistent, ..again.clone() };
    ledger.track(std::slice::from_ref(&calm), 1, true);
    let marks = [1, 2].map(|round| ledger.mark(id, round));
    assert_eq!(marks, [Mark::Reopened, Mark::Persistent]);
    ledger.track(&[Tracked { mark: Mark::Late, ..tracked(2, &[reviewer("alpha")], Blocker) }], 1, true);
    let marks = [1, 2].map(|round| ledger.mark(FindingId(2), round));
    assert_eq!(marks, [Mark::Late, Mark::Persistent], "a round that did not track it says nothing new");
    ledger.track(std::slice::from_ref(&again), 2, true);
    let entry = ledger.get(id).unwrap();
    assert_eq!((entry.reopened, entry.contested, entry.flipped), (2, true, true));
    ledger.new_series();
    let entry = ledger.get(id).unwrap();
    let counts = (entry.reopened, entry.contested, entry.flipped, entry.heard_contest, entry.survived());
    assert_eq!(counts, (0, false, false, false, 0));
}

#[test]
fn the_ledger_remembers() {
    let id = FindingId(1);
    let mut all =
        ledger(&[tracked(1, &[reviewer("alpha")], Blocker), tracked(2, &[check("lint")], Suggestion)]);
    assert_eq!(all.get(id).unwrap().first_round, 1);
    assert_eq!(all.put_to(&Reviewer::new("alpha")), [id]);
    assert!(all.put_to(&Reviewer::new("lint")).is_empty());
    assert_eq!(all.open().count(), 1);
    // A later report adds holders, and keeps what it does not name.
    let region = Some("f/fn".to_owned());
    let fixer = Some(Builder::new("fix"));
    let owner = Some(Reviewer::new("owner"));
    let first = Tracked {
        region: region.clone(),
        fixer: fixer.clone(),
        referred: owner.clone(),
        ..tracked(1, &[check("lint")], Warning)
    };
    all.track(&[first], 2, true);
    all.track(&[Tracked { builders: false, ..tracked(1, &[], Warning) }], 3, true);
    let entry = all.get(id).unwrap();
    assert_eq!(entry.by, BTreeSet::from([reviewer("alpha"), check("lint")]));
    assert_eq!((&entry.region, &entry.fixer, &entry.referred), (&region, &fixer, &owner));
    assert_eq!((entry.first_round, entry.severity, entry.builders), (1, Warning, false));
    // Hearings.
    all.heard(id, None);
    let entry = all.get(id).unwrap();
    assert!(entry.heard_referral && !entry.heard_contest && entry.fate == Fate::Open);
    all.heard(id, Some(false));
    assert_eq!(all.get(id).unwrap().fate, Fate::Refuted);
    assert!(!all.get(id).unwrap().heard_contest);
    // A finding fixed after it was ordered survived nothing.
    all.order(&[id]);
    all.track(&[Tracked { fate: Fate::Fixed, ..tracked(1, &[], Warning) }], 4, true);
    all.track(&[tracked(1, &[], Warning)], 5, true);
    assert_eq!(all.get(id).unwrap().survived(), 0);
    // The end.
    all.close(&Fate::Carried);
    let fates: Vec<&str> = all.iter().map(|(_, entry)| entry.fate.word()).collect();
    assert_eq!(fates, ["carried", "advisory"]);
    assert!(!all.get(id).unwrap().is_open_must_fix());
}

#[test]
fn replies_that_are_news() {
    let mut all =
        ledger(&[tracked(1, &[reviewer("alpha")], Blocker), tracked(2, &[reviewer("alpha")], Suggestion)]);
    let say = |id, reply: Reply| BTreeMap::from([(FindingId(id), reply)]);
    let no = |why: &str| Reply::Refuted(why.into());
    assert!(all.is_news(&say(1, no("because"))));
    assert!(all.is_news(&say(1, Reply::CannotFix("because".into()))));
    assert!(!all.is_news(&say(1, Reply::Fixed)), "a fix shows in the revision");
    assert!(!all.is_news(&say(1, no("  "))), "no reason");
    assert!(!all.is_news(&say(2, no("because"))), "not a must-fix");
    assert!(!all.is_news(&say(3, no("because"))), "not a finding");
    assert!(!all.is_news(&BTreeMap::new()));
    all.reply(&say(1, no("because")));
    assert!(!all.is_news(&say(1, no("because"))), "said before");
    assert!(all.is_news(&say(1, no("another"))));
}

#[test]
fn carried_findings_count_from_zero() {
    let mut old = Ledger::default();
    let t = Tracked { contested: true, mark: Mark::Reopened, ..tracked(7, &[reviewer("alpha")], Blocker) };
    old.track(&[t], 3, false);
    old.order(&[FindingId(7)]);
    old.close(&Fate::Unresolved);
    let entry = old.get(FindingId(7)).unwrap().clone();
    assert!(entry.flipped && entry.ordered && entry.reopened == 1);
    let new = Ledger::opened_with(&[CarriedFinding { id: FindingId(7), entry }]);
    let entry = new.get(FindingId(7)).unwrap();
    assert_eq!(entry.fate, Fate::Open);
    assert!(!entry.flipped && !entry.ordered && !entry.contested);
    assert_eq!((entry.reopened, entry.first_round), (0, 0));
}

fn entry(id: u32, file: Option<&str>, fixer: Option<&str>) -> CarriedFinding {
    let mut t = tracked(id, &[reviewer("alpha")], Blocker);
    t.claim.file = file.map(str::to_owned);
    t.fixer = fixer.map(Builder::new);
    let entry: Entry = ledger(&[t]).get(FindingId(id)).unwrap().clone();
    CarriedFinding { id: FindingId(id), entry }
}

fn builders(live: &Loop) -> Vec<String> {
    let wants = live.wants();
    let made = wants.values().filter_map(|want| match want {
        LoopWant::Make { builder, findings, .. } => Some(format!("{builder} {findings:?}")),
        _ => None,
    });
    made.collect()
}

fn opened(policy: Policy, open: Vec<CarriedFinding>) -> Loop {
    let opening = Opening::Make { rounds: None, open };
    Loop::open(&Opened { id: LoopId::new("loop"), policy, opening, at: Time(0) })
}

fn made(live: &mut Loop, builder: &str) -> Vec<LoopEvent> {
    let step = Step::Make(Builder::new(builder));
    let effect = live.wants().into_keys().find(|effect| effect.step == step).unwrap();
    turn(live, &LoopIn::Intend { effect: effect.clone(), at: Time(1) }).unwrap();
    let revision = Revision::new(format!("by {builder}"));
    let report = LoopReport::Made { revision, done: true, replies: BTreeMap::new() };
    turn(live, &LoopIn::Report { effect, at: Time(2), report }).unwrap()
}

#[test]
fn fixers_that_share_a_file_wait() {
    let open = vec![
        entry(1, Some("x"), Some("a")),
        entry(2, Some("y"), Some("b")),
        // c shares a file with both: all three go one after the other.
        entry(3, Some("x"), Some("c")),
        entry(4, Some("y"), Some("c")),
        entry(5, Some("z"), Some("d")),
        entry(6, Some("v"), Some("e")),
        entry(7, Some("w"), None),
    ];
    let mut live = opened(policy(), open);
    assert_eq!(builders(&live), ["a [F-1]", "architect [F-7]", "d [F-5]", "e [F-6]"]);
    made(&mut live, "d");
    assert_eq!(builders(&live), ["a [F-1]", "architect [F-7]", "e [F-6]"]);
    made(&mut live, "a");
    assert_eq!(builders(&live), ["architect [F-7]", "b [F-2]", "e [F-6]"]);
    made(&mut live, "b");
    assert_eq!(builders(&live), ["architect [F-7]", "c [F-3, F-4]", "e [F-6]"]);
    for builder in ["architect", "c", "e"] {
        made(&mut live, builder);
    }
    let wants = live.wants();
    let [(effect, LoopWant::Join { parts })] = wants.iter().collect::<Vec<_>>()[..] else {
        panic!("{wants:?}")
    };
    let order: Vec<&str> = parts.iter().map(|(builder, _)| builder.as_str()).collect();
    assert_eq!(order, ["a", "architect", "b", "c", "d", "e"]);
    let report = LoopReport::Joined { revision: Revision::new("all") };
    let events = turn(&mut live, &LoopIn::Report { effect: effect.clone(), at: Time(3), report }).unwrap();
    assert_eq!(events.iter().map(LoopEvent::name).collect::<Vec<_>>(), ["joined", "round_began"]);
}

#[test]
fn a_fixer_of_a_finding_without_a_place_works_alone() {
    let open =
        vec![entry(1, Some("x"), Some("a")), entry(2, None, Some("b")), entry(3, Some("y"), Some("c"))];
    let mut live = opened(policy(), open);
    assert_eq!(builders(&live), ["a [F-1]"]);
    assert_eq!(live.fixers_count(), 3);
    made(&mut live, "a");
    assert_eq!(builders(&live), ["b [F-2]"]);
    let onto = |live: &Loop| {
        live.wants().into_values().find_map(|want| match want {
            LoopWant::Make { onto, .. } => onto,
            _ => None,
        })
    };
    assert_eq!(onto(&live), Some(Revision::new("by a")), "it begins from what the one before left");
    made(&mut live, "b");
    assert_eq!(onto(&live), Some(Revision::new("by b")));
}

#[test]
fn one_builder_without_findings() {
    let mut live = opened(policy(), Vec::new());
    assert_eq!(builders(&live), ["architect []"]);
    assert_eq!(live.fixers_count(), 1);
    let events = made(&mut live, "architect");
    assert_eq!(live.fixers_count(), 0, "nobody works on what is judged");
    assert_eq!(events.iter().map(LoopEvent::name).collect::<Vec<_>>(), ["made", "round_began"]);
    assert_eq!((live.round(), live.rounds_max(), live.iterations()), (1, 3, 1));
    assert_eq!(live.revision(), Some(&Revision::new("by architect")));
}

#[test]
fn effects_by_name() {
    let id = |step: Step| EffectId { of: Of::new("01-02"), entry: 7, step, n: Try::default(), launch: 0 };
    let reviewer = Step::Judge(Reviewer::new("security"));
    assert_eq!(id(reviewer.clone()).to_string(), "01-02/e7/judge:security#1");
    let n = Try { part: 0, backup: true, fails: 1, again: true };
    assert_eq!(
        EffectId { n, launch: 2, ..id(reviewer.clone()) }.to_string(),
        "01-02/e7/judge:security#b2a+2"
    );
    let third = EffectId { n: Try { part: 2, ..Try::default() }, ..id(reviewer.clone()) };
    assert_eq!(third.to_string(), "01-02/e7/judge:security#1p3");
    assert_eq!(id(reviewer.clone()).wake().to_string(), "01-02/e7/wake:judge:security#1");
    assert_eq!(id(reviewer.clone()).wake().guarded(), Some(id(reviewer.clone())));
    assert_eq!(id(reviewer.clone()).guarded(), None);
    assert_eq!(id(reviewer.clone()).relaunched().launch, 1);
    let finish = Step::Finish(FinishStep::Boundary);
    let rows = [
        (Step::Make(Builder::new("m")), true, true),
        (reviewer, true, true),
        (Step::Hear(FindingId(1)), true, true),
        (Step::Checkpoint, true, true),
        (Step::Summary, true, true),
        (Step::Land, true, false),
        (finish, true, false),
        (Step::Join, false, false),
        (Step::Check(Check::new("c")), false, false),
        (Step::Track, false, false),
        (Step::Ask, false, false),
        (Step::Loop, false, false),
        (Step::Wake(Box::new(Step::Land)), false, false),
    ];
    for (step, one_shot, agent) in rows {
        assert_eq!((step.is_one_shot(), step.is_agent()), (one_shot, agent), "{step}");
    }
}

#[test]
fn intents_open_and_close_once() {
    let id = EffectId { of: Of::run(), entry: 1, step: Step::Land, n: Try::nth(1), launch: 0 };
    let mut intents = Intents::default();
    assert!(intents.add(id.clone(), Some(Time(5))) && !intents.add(id.clone(), None));
    assert!(intents.has(&id));
    assert!(intents.clear(&id) && !intents.clear(&id) && !intents.has(&id));
    assert_eq!(intents.launch(&Step::Land, Try::nth(1)), 1);
    assert_eq!(intents.launch(&Step::Land, Try::nth(2)), 0);
    assert!(intents.add(id.relaunched(), Some(Time(6))));
    assert_eq!(intents.due(&id.relaunched()), Some(Some(Time(6))));
    intents.retain(|effect| effect.step != Step::Land);
    assert_eq!(intents.iter().count(), 0);
    intents.add(id.clone(), None);
    assert!(intents.close(&id) && !intents.close(&id));
    intents.reset();
    assert_eq!(intents.launch(&Step::Land, Try::nth(1)), 0);
}

#[test]
fn width_takes_the_first() {
    let id = |entry| EffectId { of: Of::run(), entry, step: Step::Ask, n: Try::default(), launch: 0 };
    let waiting = [id(1), id(2), id(3)];
    assert_eq!(launches(&waiting, 0, 2), waiting[..2]);
    assert_eq!(launches(&waiting, 1, 2), waiting[..1]);
    assert!(launches(&waiting, 2, 2).is_empty());
    assert!(launches(&waiting, 3, 2).is_empty());
    assert_eq!(launches(&waiting, 0, 9), waiting);
}

/// Each fate with what may be asked of it: open, settled, needs a person, stands, live.
#[test]
fn what_a_fate_means() {
    let of = |fate: &Fate| {
        [fate.is_open(), fate.is_settled(), fate.needs_person(), fate.stands(), fate.is_live()].map(u8::from)
    };
    for (fate, expect) in [
        (Fate::Open, [1, 0, 1, 1, 1]),
        (Fate::Unresolved, [1, 0, 1, 1, 0]),
        (Fate::Carried, [0, 0, 1, 1, 0]),
        (Fate::Advisory, [0, 0, 0, 1, 1]),
        (Fate::Deferred, [0, 0, 0, 0, 1]),
        (Fate::Filtered, [0, 0, 0, 0, 0]),
        (Fate::Discarded, [0, 0, 0, 0, 0]),
        (Fate::Fixed, [0, 1, 0, 0, 0]),
        (Fate::Refuted, [0, 1, 0, 0, 0]),
        (Fate::Waived("ann".to_owned()), [0, 1, 0, 0, 0]),
        (Fate::DuplicateOf(FindingId(1)), [0, 1, 0, 0, 0]),
        (Fate::SupersededBy(FindingId(1)), [0, 1, 0, 0, 0]),
    ] {
        assert_eq!(of(&fate), expect, "{fate}");
        assert!(!(fate.is_open() && fate.is_settled()), "{fate} is one of both at most");
        assert_eq!(fate.is_gone(), matches!(fate, Fate::Fixed | Fate::Refuted), "{fate}");
        assert_eq!(fate.to_string(), fate.word());
    }
}
