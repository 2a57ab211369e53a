//! The pure rules by table: who sits, which answers count, what a sitting adds up to, when a loop stops, what the
//! ledger remembers, and which fixers wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::converge::{Next, Pattern, Round, RoundRecord, Stretch, next, read};
use tribunal_core::effect::{EffectId, FinishStep, Intents, Step, Try};
use tribunal_core::finding::{Answer, Claim, Fate, Reply, Said, Severity, Source, Verdict};
use tribunal_core::ids::{Check, FindingId, LoopId, Maker, Of, Revision, Seat, Time};
use tribunal_core::ledger::{Entry, Handed, Ledger, Mark, Tracked};
use tribunal_core::r#loop::{FailureKind, Loop, LoopEvent, LoopIn, LoopReport, LoopWant, Opened, Opening};
use tribunal_core::machine::{Machine, launches, turn};
use tribunal_core::panel::{
    Bench, CheckState, Ruling, SeatState, Unusable, after_failure, after_making, after_unusable,
    needs_rework, unusable,
};
use tribunal_core::policy::{Asked, NoVerdict, Policy, Use};

use Severity::{Blocker, Suggestion, Warning};
use Verdict::{Approve, Conditional, Reject};

fn seat(name: &str) -> Source {
    Source::Seat(Seat::new(name))
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
        referred: None,
        contested: false,
        mark: Mark::New,
        makers: true,
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
        intent_satisfied: None,
    }
}

fn policy() -> Policy {
    let seats = vec![Seat::new("alpha"), Seat::new("beta")];
    Policy { seats, checks: vec![Check::new("lint")], ..Policy::of(Use::Plan) }
}

fn strict() -> Policy {
    Policy { warnings_pass: false, ..policy() }
}

fn lenient() -> Policy {
    Policy { no_verdict: NoVerdict::ChecksOnly, ..policy() }
}

/// A bench: the check's worst, and what each seat said (`None` is gone).
fn bench(lint: Option<Severity>, seats: &[(&str, Option<Verdict>)]) -> Bench {
    let mut bench = Bench::convene(Revision::new("r1"), [Check::new("lint")]);
    let state = match lint {
        None => CheckState::Passed,
        Some(severity) => CheckState::Failed(vec![Claim::new(severity, "c9")]),
    };
    bench.checks.insert(Check::new("lint"), state);
    for (name, word) in seats {
        let state = match word {
            None => SeatState::Gone,
            Some(verdict) => SeatState::Answered(Try::default(), answer(*verdict)),
        };
        bench.seats.insert(Seat::new(name), state);
    }
    bench
}

fn must(ids: &[u32]) -> Vec<FindingId> {
    ids.iter().copied().map(FindingId).collect()
}

/// One row of the table: a sitting, what is open, and what it adds up to.
fn rules(name: &str, policy: &Policy, bench: &Bench, open: &[Tracked], expected: &Ruling) {
    assert_eq!(bench.rule(policy, &ledger(open)), *expected, "{name}");
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
    let alpha = |severity| of(seat("alpha"), severity);
    let one = |verdict| bench(None, &[a(verdict)]);
    rules("blocker", &policy(), &one(Reject), &alpha(Blocker), &rework);
    rules("blocker, approved", &policy(), &one(Approve), &alpha(Blocker), &rework);
    rules("warning, strict", &strict(), &one(Approve), &alpha(Warning), &rework);
    rules("warning, rejected", &policy(), &one(Reject), &alpha(Warning), &rework);
    rules("a check", &policy(), &bench(Some(Blocker), &[]), &of(check("lint"), Blocker), &rework);
    let lost = bench(None, &[a(Reject), GONE]);
    rules("outranks a lost seat", &policy(), &lost, &alpha(Blocker), &rework);
    let both = bench(None, &[a(Reject), b(Approve)]);
    let three = [tracked(2, &[seat("beta")], Warning), tracked(3, &[seat("beta")], Suggestion)];
    let all: Vec<Tracked> = alpha(Blocker).into_iter().chain(three).collect();
    rules("takes all open ones along", &policy(), &both, &all, &Ruling::Rework { must: must(&[1, 2]) });
}

/// Line 2: a seat is gone. Line 3: an open finding of the rework column that nobody present answered.
#[test]
fn ruling_lines_2_and_3() {
    let no = Ruling::NoQuorum;
    let lost = bench(None, &[a(Approve), GONE]);
    rules("gone, escalate", &policy(), &lost, &[], &no);
    rules("blocker of a lost seat", &lenient(), &lost, &of(seat("beta"), Blocker), &no);
    let one = bench(None, &[a(Approve)]);
    rules("blocker of nobody", &policy(), &one, &of(seat("gamma"), Blocker), &no);
    rules("blocker of a check that passes", &policy(), &one, &of(check("lint"), Blocker), &no);
    let hard = Policy { no_verdict: NoVerdict::ChecksOnly, ..strict() };
    rules("warning of a lost seat, strict", &hard, &bench(None, &[GONE]), &of(seat("beta"), Warning), &no);
}

/// Line 4: conditional, or a warning is open. Line 5: otherwise.
#[test]
fn ruling_lines_4_and_5() {
    let warned = |ids: &[u32], checks_only| Ruling::PassWithWarnings { carried: must(ids), checks_only };
    let pass = |checks_only| Ruling::Pass { checks_only };
    let one = bench(None, &[a(Approve)]);
    let lost = bench(None, &[a(Approve), GONE]);
    rules("conditional", &policy(), &bench(None, &[a(Conditional)]), &[], &warned(&[], false));
    let red = bench(Some(Warning), &[a(Approve)]);
    rules("warning", &policy(), &red, &of(check("lint"), Warning), &warned(&[1], false));
    rules("warning of a lost seat", &lenient(), &lost, &of(seat("beta"), Warning), &warned(&[1], true));
    let both = bench(None, &[a(Reject), b(Approve)]);
    rules("another's warning", &policy(), &both, &of(seat("beta"), Warning), &warned(&[1], false));
    rules("all approve", &policy(), &bench(None, &[a(Approve), b(Approve)]), &[], &pass(false));
    rules("suggestions remain", &strict(), &one, &of(seat("alpha"), Suggestion), &pass(false));
    rules("checks alone", &policy(), &bench(None, &[]), &[], &pass(false));
    rules("gone, checks only", &lenient(), &lost, &[], &pass(true));
    rules("all gone, checks stand", &lenient(), &bench(None, &[("alpha", None)]), &[], &pass(true));
}

/// A check that cannot tell is answered by somebody who looked, or not at all.
#[test]
fn a_question_nobody_answers_passes_nothing() {
    let asked = |seats: &[(&'static str, Option<Verdict>)]| {
        let mut bench = bench(Some(Suggestion), seats);
        for state in bench.checks.values_mut() {
            if let CheckState::Failed(claims) = state {
                claims.iter_mut().for_each(|claim| claim.asks = true);
            }
        }
        bench
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
    let empty = Bench::convene(Revision::new("r1"), []);
    assert_eq!(empty.rule(&policy(), &Ledger::default()), Ruling::NoQuorum);
    let mut gone = empty.clone();
    gone.seats.insert(Seat::new("alpha"), SeatState::Gone);
    assert_eq!(
        gone.rule(&lenient(), &Ledger::default()),
        Ruling::NoQuorum,
        "no check stands for a lost seat"
    );
    let mut one = empty;
    one.seats.insert(Seat::new("alpha"), SeatState::Answered(Try::default(), answer(Approve)));
    assert_eq!(one.rule(&policy(), &Ledger::default()), Ruling::Pass { checks_only: false });
}

#[test]
fn work_that_misses_its_purpose_is_rejected() {
    let mut missed = bench(None, &[]);
    let word = Answer { intent_satisfied: Some(false), ..answer(Approve) };
    missed.seats.insert(Seat::new("alpha"), SeatState::Answered(Try::default(), word));
    let own = ledger(&[tracked(1, &[seat("alpha")], Warning)]);
    assert_eq!(missed.rule(&policy(), &own), Ruling::Rework { must: must(&[1]) });
    assert!(missed.groundless(&policy(), &own).is_none());
    let seat = missed.groundless(&policy(), &Ledger::default()).map(|(seat, _)| seat.clone());
    assert_eq!(seat, Some(Seat::new("alpha")));
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
    let own = ledger(&[tracked(1, &[seat("beta")], Blocker)]);
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
        let mut bench = bench(lint, &[]);
        bench.seat_panel(&Policy { asked, ..policy() }, ledger);
        let seats: Vec<&str> = bench.seats.keys().map(Seat::as_str).collect();
        assert_eq!(seats, expected, "{asked:?} {lint:?}");
        assert_eq!(bench.seats_done(), expected.is_empty());
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
    assert_eq!(unusable(&said(&[1, 2]), &put, 2), None);
    assert_eq!(unusable(&said(&[1]), &put, 2), Some(Unusable::Incomplete));
    assert_eq!(unusable(&said(&[1, 3]), &put, 1), Some(Unusable::Incomplete));
    assert_eq!(unusable(&bare(Approve), &[], 1), Some(Unusable::Bare));
    assert_eq!(unusable(&bare(Approve), &[], 2), None, "later rounds verify by id");
    assert_eq!(unusable(&bare(Reject), &[], 1), None, "a reject is asked for its grounds later");
    assert_eq!(unusable(&raising, &[], 1), None);
    assert_eq!(unusable(&answer(Approve), &[], 1), None);
}

#[test]
fn askers_in_order() {
    let alone = Policy { attempts_max: 2, backup: false, ..policy() };
    let with = Policy { backup: true, ..alone.clone() };
    let t = |backup, fails, again| Try { backup, fails, again };
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
    assert_eq!(after_unusable(&alone, first), Some(t(false, 0, true)));
    assert_eq!(after_unusable(&alone, t(false, 1, true)), None);
    assert_eq!(after_unusable(&with, t(false, 1, true)), Some(t(true, 0, false)));
    assert_eq!(after_unusable(&with, t(true, 0, false)), Some(t(true, 0, true)));
    assert_eq!(after_unusable(&with, t(true, 0, true)), None);
}

#[test]
fn makers_in_order() {
    let alone = Policy { attempts_max: 2, iterations_max: None, maker_backup: false, ..policy() };
    let with = Policy { maker_backup: true, ..alone.clone() };
    let t = |backup, fails| Try { backup, fails, again: false };
    let check = |policy: &Policy, n: Try, kind: FailureKind, expect: Option<Try>| {
        assert_eq!(after_making(policy, n, kind), expect, "{n:?} {kind:?} {}", policy.maker_backup);
    };
    use FailureKind::{Auth, Crashed};
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
    let own = ledger(&[tracked(1, &[seat("alpha")], Warning)]);
    let light = ledger(&[tracked(1, &[seat("alpha")], Suggestion)]);
    let other = ledger(&[tracked(1, &[seat("beta")], Blocker)]);
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
        let bench = bench(None, &[("alpha", Some(verdict))]);
        assert_eq!(bench.groundless(&policy, ledger).is_some(), expected, "{verdict:?}");
    }
}

#[test]
fn tracking_is_put_right() {
    let fated = |fate, t: Tracked| Tracked { fate, ..t };
    let lint = |id| Tracked { claim: Claim::new(Blocker, "c9"), ..tracked(id, &[check("lint")], Blocker) };
    let none = Ledger::default();
    let red = bench(Some(Blocker), &[]);
    // A check that fails says so again: its finding is open.
    let right = red.correct(&policy(), &none, &[fated(Fate::Fixed, lint(9))]).unwrap();
    assert_eq!(right[0].fate, Fate::Open);
    // By rule and file, where the words differ.
    let ruled = |file: &str, rule: &str| {
        let claim = Claim { rule: Some(rule.into()), ..Claim::new(Blocker, "worded anew") };
        claim.at(file, Some(1))
    };
    let mut by_rule = bench(None, &[]);
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
    assert!(bench(Some(Warning), &[]).correct(&policy(), &none, &[]).is_some());
    assert!(bench(Some(Warning), &[]).correct(&strict(), &none, &[]).is_none());
    assert!(bench(None, &[]).correct(&policy(), &none, &[]).is_some());
}

#[test]
fn authors_are_believed() {
    let mut sitting = bench(None, &[]);
    let said = BTreeMap::from([(FindingId(1), Said::StillThere), (FindingId(2), Said::Resolved)]);
    let word = Answer { said, ..answer(Reject) };
    sitting.seats.insert(Seat::new("alpha"), SeatState::Answered(Try::default(), word));
    let fixed = |id, by| Tracked { fate: Fate::Fixed, ..tracked(id, &[seat(by)], Blocker) };
    let early = |fate| Tracked { fate, ..tracked(4, &[seat("alpha")], Blocker) };
    let report = [
        fixed(1, "alpha"),
        fixed(2, "alpha"),
        fixed(1, "beta"),
        early(Fate::Carried),
        early(Fate::Waived("x".into())),
        early(Fate::Unresolved),
        early(Fate::Deferred),
    ];
    let right = sitting.correct(&policy(), &Ledger::default(), &report).unwrap();
    let fates: Vec<&str> = right.iter().map(|t| t.fate.word()).collect();
    assert_eq!(fates, ["open", "fixed", "fixed", "open", "open", "open", "deferred"]);
}

#[test]
fn what_was_waived_before_stays_waived_and_answers_for_its_check() {
    let waived = |who: &str| Fate::Waived(who.into());
    let t = Tracked { fate: waived("ann"), ..tracked(9, &[check("lint")], Blocker) };
    let entry = ledger(std::slice::from_ref(&t)).get(FindingId(9)).unwrap().clone();
    let before = Ledger::opened_with(&[Handed { id: FindingId(9), entry }]);
    assert_eq!(before.get(FindingId(9)).unwrap().fate, waived("ann"));
    let red = bench(Some(Blocker), &[]);
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
    let mut asking = Bench::convene(Revision::new("r1"), [Check::new("lint")]);
    assert!(!asking.checks_done() && asking.seats_done() && asking.is_complete());
    asking.seats.insert(Seat::new("alpha"), SeatState::Asking(Try::default()));
    assert!(!asking.seats_done());
    assert!(bench(None, &[]).checks_done());
    assert!(!bench(None, &[("alpha", None)]).is_complete());
    assert!(bench(None, &[("alpha", Some(Reject))]).is_complete());
    assert!(bench(Some(Blocker), &[]).checks_reject(&policy()));
    assert!(!bench(Some(Warning), &[]).checks_reject(&policy()));
    assert!(bench(Some(Warning), &[]).checks_reject(&strict()));
    let mut deep = bench(None, &[("alpha", Some(Reject))]);
    assert!(!deep.is_fundamental());
    let word = Answer { fundamental: true, ..answer(Reject) };
    deep.seats.insert(Seat::new("beta"), SeatState::Answered(Try::default(), word));
    assert!(deep.is_fundamental());
    let entry = |by: Source| ledger(&[tracked(1, &[by], Blocker)]).get(FindingId(1)).unwrap().clone();
    assert!(bench(Some(Blocker), &[]).failing_check_holds(&entry(check("lint"))));
    assert!(!bench(None, &[]).failing_check_holds(&entry(check("lint"))));
    assert!(!bench(Some(Blocker), &[]).failing_check_holds(&entry(seat("lint"))));
    let worst = CheckState::Failed(vec![
        Claim::new(Warning, "a"),
        Claim::new(Blocker, "b"),
        Claim::new(Suggestion, "c"),
    ]);
    assert_eq!(worst.worst(), Some(Blocker));
}

fn record(round: u32, ids: &[u32]) -> RoundRecord {
    let must = ids.iter().map(|id| (FindingId(*id), Mark::New)).collect();
    RoundRecord { round, must, complete: true, fundamental: false }
}

#[test]
fn going_on_or_not() {
    let open = |change: &dyn Fn(&mut Tracked)| {
        let mut t = tracked(1, &[seat("alpha")], Blocker);
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
    let foreign = open(&|t| t.makers = false);
    let survived = |times: u32, touched: bool| {
        let mut ledger = plain.clone();
        for round in 0..times {
            ledger.order(&[FindingId(1)]);
            ledger.track(&[Tracked { touched, ..tracked(1, &[seat("alpha")], Blocker) }], round + 2, true);
        }
        ledger
    };
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
        ("not the maker's", &foreign, &moved, 3, stop(Pattern::NotTheMakers(id))),
        ("not the maker's, at the cap", &foreign, &moved, 9, stop(Pattern::NotTheMakers(id))),
    ];
    let policy = policy();
    for (name, ledger, series, round, expected) in rows {
        assert_eq!(next(&policy, ledger, series, round, 9), expected, "{name}");
    }
    let check_one =
        |ledger: &Ledger, expected: Next| assert_eq!(next(&policy, ledger, &moved, 3, 9), expected);
    check_one(&survived(1, true), Next::GoOn);
    check_one(&survived(2, true), stop(Pattern::SurvivedTouched(id)));
    check_one(&survived(2, false), stop(Pattern::SurvivedUntouched(id)));
    check_one(&contested(seat("alpha"), true), Next::GoOn);
    check_one(&contested(seat("alpha"), false), stop(Pattern::Contested(id)));
    check_one(&contested(check("lint"), true), stop(Pattern::Contested(id)));
}

/// One round: `open resolved reopened fix_induced late`.
fn counted(rows: &[[u32; 5]]) -> Vec<Round> {
    let round = |(n, [open, resolved, reopened, fix_induced, late]): (u32, &[u32; 5])| Round {
        round: n,
        open: *open,
        resolved: *resolved,
        reopened: *reopened,
        fix_induced: *fix_induced,
        late: *late,
        complete: true,
        ..Round::default()
    };
    (1..).zip(rows).map(round).collect()
}

#[test]
fn a_series_by_its_counts() {
    let name = |rounds: &[Round]| match read(rounds, 2) {
        Next::GoOn => "go on",
        Next::Hear => "hear",
        Next::Stale => "stale",
        Next::Cap => "cap",
        Next::Escalate(Pattern::Fundamental) => "fundamental",
        Next::Escalate(Pattern::Reversed(1, 3)) => "reversed",
        Next::Escalate(Pattern::Region(_)) => "region",
        Next::Escalate(Pattern::Idle(_)) => "idle",
        Next::Escalate(Pattern::Churn(_)) => "churn",
        Next::Escalate(Pattern::SlowChurn(_)) => "slow churn",
        Next::Escalate(_) => "another pattern",
    };
    let rows: &[(&[[u32; 5]], &str)] = &[
        (&[], "go on"),
        (&[[5, 0, 0, 0, 0]], "go on"),
        (&[[5, 0, 0, 0, 0], [5, 0, 0, 0, 0]], "go on"),
        (&[[5, 0, 0, 0, 0], [5, 0, 0, 0, 0], [5, 0, 0, 0, 0]], "idle"),
        (&[[0, 0, 0, 0, 0], [5, 0, 0, 0, 0], [5, 0, 0, 0, 0]], "go on"),
        (&[[5, 0, 0, 0, 0], [5, 0, 0, 0, 0], [4, 1, 0, 0, 0]], "go on"),
        (&[[5, 0, 0, 0, 0], [4, 1, 0, 0, 0], [0, 0, 0, 0, 0]], "go on"),
        // Two fixes mended four and broke two: half, and nothing shrank.
        (&[[5, 0, 0, 0, 0], [5, 2, 0, 1, 0], [5, 2, 1, 0, 0]], "churn"),
        (&[[5, 0, 0, 0, 0], [5, 2, 0, 1, 0], [5, 3, 1, 0, 0]], "go on"),
        (&[[5, 0, 0, 0, 0], [5, 2, 0, 1, 0], [4, 2, 1, 0, 0]], "go on"),
        (&[[5, 0, 0, 0, 0], [5, 2, 0, 0, 0], [5, 2, 0, 0, 0]], "go on"),
        // What was there all along and seen late is no lack of progress.
        (&[[5, 0, 0, 0, 0], [5, 2, 0, 1, 0], [5, 2, 1, 0, 1]], "go on"),
        (&[[5, 0, 0, 0, 0], [5, 2, 0, 1, 0], [6, 2, 1, 0, 1]], "churn"),
        // Four fixes, each breaking at least a third, together half.
        (
            &[[9, 0, 0, 0, 0], [8, 2, 1, 0, 0], [7, 2, 1, 0, 0], [6, 2, 1, 0, 0], [5, 2, 1, 0, 0]],
            "slow churn",
        ),
        (&[[9, 0, 0, 0, 0], [8, 2, 1, 0, 0], [7, 2, 1, 0, 0], [6, 2, 1, 0, 0], [5, 3, 1, 0, 0]], "go on"),
        (&[[9, 0, 0, 0, 0], [8, 2, 3, 0, 0], [7, 4, 1, 0, 0], [6, 2, 1, 0, 0], [5, 2, 1, 0, 0]], "go on"),
        (&[[9, 0, 0, 0, 0], [8, 2, 3, 0, 0], [7, 2, 0, 0, 0], [6, 2, 1, 0, 0], [5, 2, 1, 0, 0]], "go on"),
        (&[[9, 0, 0, 0, 0], [8, 2, 1, 0, 0], [7, 2, 1, 0, 0], [7, 0, 0, 0, 0], [6, 2, 1, 0, 0]], "go on"),
        (&[[8, 2, 1, 0, 0], [7, 2, 1, 0, 0], [6, 2, 1, 0, 0], [5, 2, 1, 0, 0]], "go on"),
    ];
    for (row, expected) in rows {
        assert_eq!(name(&counted(row)), *expected, "{row:?}");
    }
    let fair = counted(&[[9, 0, 0, 0, 0], [8, 1, 0, 0, 0], [7, 1, 0, 0, 0]]);
    let with = |change: &dyn Fn(&mut [Round])| {
        let mut rounds = fair.clone();
        change(&mut rounds);
        name(&rounds)
    };
    assert_eq!(with(&|_| {}), "go on");
    assert_eq!(with(&|rounds| rounds[2].repeats = Some(1)), "stale");
    assert_eq!(with(&|rounds| rounds[1].repeats = Some(1)), "go on");
    assert_eq!(with(&|rounds| rounds[2].reversal = true), "hear");
    assert_eq!(with(&|rounds| rounds[1].reversal = true), "go on");
    assert_eq!(with(&|rounds| (rounds[0].reversal, rounds[2].reversal) = (true, true)), "reversed");
    assert_eq!(with(&|rounds| (rounds[0].fundamental, rounds[1].fundamental) = (true, true)), "fundamental");
    let still = |rounds: &mut [Round]| rounds[1..].iter_mut().for_each(|round| round.unchanged = true);
    assert_eq!(with(&still), "stale");
    let idle = counted(&[[5, 0, 0, 0, 0], [5, 0, 0, 0, 0], [5, 0, 0, 0, 0]]);
    let gone = |at: usize, still: bool| {
        let mut rounds = idle.clone();
        rounds[at].complete = false;
        rounds.iter_mut().for_each(|round| round.unchanged = still);
        name(&rounds)
    };
    assert_eq!((gone(0, true), gone(1, true)), ("idle", "go on"), "a round with a seat gone is not counted");
    assert_eq!((gone(0, false), gone(2, false)), ("idle", "go on"));
}

#[test]
fn what_a_stretch_came_to() {
    let rounds = counted(&[[9, 7, 7, 7, 7], [3, 2, 0, 1, 0], [4, 1, 1, 0, 0], [6, 2, 1, 3, 0]]);
    let stretch = Stretch { from: 2, to: 4, open_before: 3, open_after: 6, resolved: 3, broken: 5 };
    assert_eq!(read(&rounds, 2), Next::Escalate(Pattern::Churn(stretch)));
}

#[test]
fn a_region_that_comes_back_a_third_time() {
    let back = |times: [usize; 3], resolved: u32| {
        let mut rounds = counted(&[
            [9, 0, 0, 0, 0],
            [8, resolved, 1, 0, 0],
            [7, resolved, 1, 0, 0],
            [6, resolved, 1, 0, 0],
        ]);
        for (round, times) in rounds[1..].iter_mut().zip(times) {
            round.back = vec!["a.rs:load".to_owned(); times];
        }
        matches!(read(&rounds, 2), Next::Escalate(Pattern::Region(name)) if name == "a.rs:load")
    };
    assert!(back([1, 1, 1], 2));
    assert!(back([3, 0, 0], 2));
    assert!(!back([1, 0, 1], 2));
    // Each round mends more than twice what it breaks: that is never stopped for its regions.
    assert!(!back([1, 1, 1], 3));
}

#[test]
fn the_series_is_counted_from_its_findings() {
    let mut ledger = Ledger::default();
    let place = |id: u32| Tracked { region: Some("f/fn".into()), ..tracked(id, &[seat("alpha")], Blocker) };
    ledger.track(&[place(1), place(2), place(3), place(4)], 1, true);
    let marked = |round: u32, must: &[(u32, Mark)]| {
        let must = must.iter().map(|(id, mark)| (FindingId(*id), *mark)).collect();
        RoundRecord { round, must, complete: true, fundamental: false }
    };
    use Mark::{FixInduced, Late, New, Persistent, Reopened};
    let first = marked(1, &[(1, New), (2, New)]);
    let says = |series: &[RoundRecord]| next(&policy(), &ledger, series, 3, 9);
    let churn = [
        first.clone(),
        marked(2, &[(2, Persistent), (3, FixInduced)]),
        marked(3, &[(3, Persistent), (4, FixInduced)]),
    ];
    let stretch = Stretch { from: 1, to: 3, open_before: 2, open_after: 2, resolved: 2, broken: 2 };
    assert_eq!(says(&churn), Next::Escalate(Pattern::Churn(stretch)));
    let late = [
        first.clone(),
        marked(2, &[(2, Persistent), (3, Late)]),
        marked(3, &[(3, Persistent), (4, FixInduced)]),
    ];
    assert_eq!(says(&late), Next::GoOn);
    let back = [first.clone(), marked(2, &[(1, Reopened), (2, Reopened)]), marked(3, &[(3, Reopened)])];
    assert_eq!(says(&back), Next::Escalate(Pattern::Region("f/fn".into())));
    let slow = [
        marked(1, &[(1, New), (2, New), (3, New), (4, New), (5, New), (6, New)]),
        marked(2, &[(1, New), (2, New), (3, New), (4, New), (7, FixInduced)]),
        marked(3, &[(1, New), (2, New), (3, New), (8, FixInduced)]),
        marked(4, &[(1, New), (2, New), (9, FixInduced)]),
        marked(5, &[(1, New), (10, FixInduced)]),
    ];
    let stretch = Stretch { from: 1, to: 5, open_before: 6, open_after: 2, resolved: 8, broken: 4 };
    assert_eq!(says(&slow), Next::Escalate(Pattern::SlowChurn(stretch)));
}

#[test]
fn contests_and_reopenings_count_once_a_round() {
    let again = Tracked { contested: true, mark: Mark::Reopened, ..tracked(1, &[seat("alpha")], Blocker) };
    let id = FindingId(1);
    let mut ledger = Ledger::default();
    ledger.track(std::slice::from_ref(&again), 1, true);
    assert!(ledger.get(id).unwrap().contested);
    ledger.heard(id, Some(true));
    // The round is tracked once more, after a seat was asked again: nothing new happened.
    ledger.track(std::slice::from_ref(&again), 1, true);
    let entry = ledger.get(id).unwrap();
    assert_eq!((entry.reopened, entry.contested, entry.flipped), (1, false, false));
    let calm = Tracked { contested: false, mark: Mark::Persistent, ..again.clone() };
    ledger.track(std::slice::from_ref(&calm), 1, true);
    let marks = [1, 2].map(|round| ledger.mark(id, round));
    assert_eq!(marks, [Mark::Reopened, Mark::Persistent]);
    ledger.track(&[Tracked { mark: Mark::Late, ..tracked(2, &[seat("alpha")], Blocker) }], 1, true);
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
    let mut all = ledger(&[tracked(1, &[seat("alpha")], Blocker), tracked(2, &[check("lint")], Suggestion)]);
    assert_eq!(all.get(id).unwrap().first_round, 1);
    assert_eq!(all.put_to(&Seat::new("alpha")), [id]);
    assert!(all.put_to(&Seat::new("lint")).is_empty());
    assert_eq!(all.open().count(), 1);
    // A later report adds holders, and keeps what it does not name.
    let region = Some("f/fn".to_owned());
    let fixer = Some(Maker::new("fix"));
    let owner = Some(Seat::new("owner"));
    let first = Tracked {
        region: region.clone(),
        fixer: fixer.clone(),
        referred: owner.clone(),
        ..tracked(1, &[check("lint")], Warning)
    };
    all.track(&[first], 2, true);
    all.track(&[Tracked { makers: false, ..tracked(1, &[], Warning) }], 3, true);
    let entry = all.get(id).unwrap();
    assert_eq!(entry.by, BTreeSet::from([seat("alpha"), check("lint")]));
    assert_eq!((&entry.region, &entry.fixer, &entry.referred), (&region, &fixer, &owner));
    assert_eq!((entry.first_round, entry.severity, entry.makers), (1, Warning, false));
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
    let mut all = ledger(&[tracked(1, &[seat("alpha")], Blocker), tracked(2, &[seat("alpha")], Suggestion)]);
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
fn handed_findings_count_from_zero() {
    let mut old = Ledger::default();
    let t = Tracked { contested: true, mark: Mark::Reopened, ..tracked(7, &[seat("alpha")], Blocker) };
    old.track(&[t], 3, false);
    old.order(&[FindingId(7)]);
    old.close(&Fate::Unresolved);
    let entry = old.get(FindingId(7)).unwrap().clone();
    assert!(entry.flipped && entry.ordered && entry.reopened == 1);
    let new = Ledger::opened_with(&[Handed { id: FindingId(7), entry }]);
    let entry = new.get(FindingId(7)).unwrap();
    assert_eq!(entry.fate, Fate::Open);
    assert!(!entry.flipped && !entry.ordered && !entry.contested);
    assert_eq!((entry.reopened, entry.first_round), (0, 0));
}

fn entry(id: u32, file: Option<&str>, fixer: Option<&str>) -> Handed {
    let mut t = tracked(id, &[seat("alpha")], Blocker);
    t.claim.file = file.map(str::to_owned);
    t.fixer = fixer.map(Maker::new);
    let entry: Entry = ledger(&[t]).get(FindingId(id)).unwrap().clone();
    Handed { id: FindingId(id), entry }
}

fn makers(live: &Loop) -> Vec<String> {
    let wants = live.wants();
    let made = wants.values().filter_map(|want| match want {
        LoopWant::Make { maker, findings, .. } => Some(format!("{maker} {findings:?}")),
        _ => None,
    });
    made.collect()
}

fn opened(policy: Policy, open: Vec<Handed>) -> Loop {
    let opening = Opening::Make { rounds: None, open };
    Loop::open(&Opened { id: LoopId::new("loop"), policy, opening, at: Time(0) })
}

fn made(live: &mut Loop, maker: &str) -> Vec<LoopEvent> {
    let step = Step::Make(Maker::new(maker));
    let effect = live.wants().into_keys().find(|effect| effect.step == step).unwrap();
    turn(live, &LoopIn::Intend { effect: effect.clone(), at: Time(1) }).unwrap();
    let revision = Revision::new(format!("by {maker}"));
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
    assert_eq!(makers(&live), ["a [F-1]", "architect [F-7]", "d [F-5]", "e [F-6]"]);
    made(&mut live, "d");
    assert_eq!(makers(&live), ["a [F-1]", "architect [F-7]", "e [F-6]"]);
    made(&mut live, "a");
    assert_eq!(makers(&live), ["architect [F-7]", "b [F-2]", "e [F-6]"]);
    made(&mut live, "b");
    assert_eq!(makers(&live), ["architect [F-7]", "c [F-3, F-4]", "e [F-6]"]);
    for maker in ["architect", "c", "e"] {
        made(&mut live, maker);
    }
    let wants = live.wants();
    let [(effect, LoopWant::Join { parts })] = wants.iter().collect::<Vec<_>>()[..] else {
        panic!("{wants:?}")
    };
    let order: Vec<&str> = parts.iter().map(|(maker, _)| maker.as_str()).collect();
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
    assert_eq!(makers(&live), ["a [F-1]"]);
    assert_eq!(live.crew_size(), 3);
    made(&mut live, "a");
    assert_eq!(makers(&live), ["b [F-2]"]);
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
fn one_maker_without_findings() {
    let mut live = opened(policy(), Vec::new());
    assert_eq!(makers(&live), ["architect []"]);
    assert_eq!(live.crew_size(), 1);
    let events = made(&mut live, "architect");
    assert_eq!(live.crew_size(), 0, "nobody works on what is judged");
    assert_eq!(events.iter().map(LoopEvent::name).collect::<Vec<_>>(), ["made", "round_began"]);
    assert_eq!((live.round(), live.rounds_max(), live.iterations()), (1, 3, 1));
    assert_eq!(live.revision(), Some(&Revision::new("by architect")));
}

#[test]
fn effects_by_name() {
    let id = |step: Step| EffectId { of: Of::new("01-02"), entry: 7, step, n: Try::default(), launch: 0 };
    let seat = Step::Judge(Seat::new("security"));
    assert_eq!(id(seat.clone()).to_string(), "01-02/e7/judge:security#1");
    let n = Try { backup: true, fails: 1, again: true };
    assert_eq!(EffectId { n, launch: 2, ..id(seat.clone()) }.to_string(), "01-02/e7/judge:security#b2a+2");
    assert_eq!(id(seat.clone()).wake().to_string(), "01-02/e7/wake:judge:security#1");
    assert_eq!(id(seat.clone()).wake().guarded(), Some(id(seat.clone())));
    assert_eq!(id(seat.clone()).guarded(), None);
    assert_eq!(id(seat.clone()).relaunched().launch, 1);
    let finish = Step::Finish(FinishStep::Boundary);
    let rows = [
        (Step::Make(Maker::new("m")), true, true),
        (seat, true, true),
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
