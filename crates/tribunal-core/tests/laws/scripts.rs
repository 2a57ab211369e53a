//! Two walks by hand, step by step, with what people read off the machines on the way: names, rounds, standings,
//! and what a new loop takes over.

use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, FinishStep, Step, Try};
use tribunal_core::finding::{Answer, Claim, Fate, Severity, Source, Verdict};
use tribunal_core::held::{Held, HeldChoice, HeldDecision};
use tribunal_core::ids::{Check, FindingId, LoopId, Of, PlanId, Reviewer, Revision, Time};
use tribunal_core::ledger::{CarriedFinding, Delta, Entry, Mark, Tracked};
use tribunal_core::machine::{Machine, settle, turn};
use tribunal_core::panel::CheckState;
use tribunal_core::policy::{Asked, AtTheCap, NoVerdict, Policy, Timeouts, Use};
use tribunal_core::review_loop::{
    Checked, Choice, Decision, Failure, FailureKind, Loop, LoopEvent, LoopIn, LoopReport, Offer, Opened,
    Opening, Outcome, Question, Why,
};
use tribunal_core::run::{
    ChainSpec, Ending, Job, Land, LaneChoice, LaneDecision, LaneOffer, PlanGate, PlanSpec, Policies, Refusal,
    Run, RunEvent, RunIn, RunReport, RunSpec, RunWant, Standing, Stuck, Subject, UNCHANGED, Was,
};
use tribunal_core::words::Remarks;

fn effect<M: Machine>(machine: &M, of: &str, step: &str) -> EffectId {
    let wanted = machine.wants();
    let fits = |id: &&EffectId| id.of.as_str() == of && id.step.to_string() == step;
    wanted.keys().find(fits).unwrap_or_else(|| panic!("{step} is not wanted: {:?}", wanted.keys())).clone()
}

fn say(live: &mut Loop, step: &str, report: LoopReport) -> EffectId {
    let of = live.id().to_string();
    let effect = effect(live, &of, step);
    if effect.step.is_one_shot() {
        turn(live, &LoopIn::Intend { effect: effect.clone(), at: Time(10) }).unwrap();
    }
    let events = turn(live, &LoopIn::Report { effect: effect.clone(), at: Time(11), report }).unwrap();
    assert!(!events.is_empty(), "{effect} was not heard");
    effect
}

fn made(n: u32) -> LoopReport {
    let revision = Revision::new(format!("r{n}"));
    LoopReport::Made { revision, done: true, replies: BTreeMap::new() }
}

fn answer(verdict: Verdict) -> LoopReport {
    let answer = Answer {
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
    };
    LoopReport::Judged { answer: Box::new(answer), shown: Shown::whole(1), put: Vec::new() }
}

fn finding(id: u32, severity: Severity) -> Tracked {
    Tracked {
        id: FindingId(id),
        by: BTreeSet::from([Source::Check(Check::new(if id == 3 { "types" } else { "lint" }))]),
        claim: Claim::new(severity, format!("c{id}")),
        says: Some(Source::Check(Check::new(if id == 3 { "types" } else { "lint" }))),
        words: Vec::new(),
        remarks: Remarks::default(),
        severity,
        fate: Fate::Open,
        referred: None,
        contested: false,
        mark: Mark::New,
        builders: true,
        touched: false,
        region: None,
        fixer: None,
    }
}

fn found(ids: &[u32]) -> LoopReport {
    let claim = |id: &u32| Claim::new(Severity::Blocker, format!("c{id}"));
    LoopReport::Checked(Checked { findings: ids.iter().map(claim).collect() })
}

fn tracked(findings: Vec<Tracked>) -> LoopReport {
    LoopReport::Tracked { findings, delta: Delta { new: 7, ..Delta::default() } }
}

fn opened(policy: Policy) -> Loop {
    let opening = Opening::Make { rounds: None, open: Vec::new() };
    Loop::open(&Opened { id: LoopId::new("loop"), policy, opening, at: Time(0) })
}

fn phase() -> Policy {
    Policy {
        reviewers: vec![Reviewer::new("alpha")],
        checks: vec![Check::new("lint"), Check::new("types")],
        timeouts: Timeouts { make_ms: 1000, judge_ms: 100 },
        recheck_failed_only: true,
        ..Policy::of(Use::Phase)
    }
}

#[test]
fn a_loop_as_people_read_it() {
    let mut live = opened(phase());
    assert_eq!((live.state_name(), live.round(), live.iterations()), ("making", 0, 0));
    assert!(live.review_round().is_none() && live.judged().is_empty() && live.revision().is_none());
    say(&mut live, "make:fixer", made(1));
    assert_eq!((live.state_name(), live.round(), live.rounds_max()), ("checking", 1, 3));
    say(&mut live, "check:lint", found(&[1]));
    assert_eq!(live.review_round().unwrap().checks[&Check::new("types")], CheckState::Asking(0));
    say(&mut live, "check:types", found(&[]));
    assert_eq!(live.state_name(), "judging");
    assert!(live.review_round().is_some());
    let asked = say(&mut live, "judge:alpha", answer(Verdict::Approve));
    assert_eq!(live.state_name(), "tracking");
    assert!(live.review_round().is_some());
    // The reviewer was heard: its deadline means nothing any more.
    let late = LoopIn::Report { effect: asked.wake(), at: Time(9_999), report: LoopReport::Due };
    assert_eq!(live.decide(&late), None);
    let light = finding(2, Severity::Suggestion);
    say(&mut live, "track", tracked(vec![finding(1, Severity::Blocker), light]));
    assert_eq!((live.state_name(), live.delta().new), ("making", 7));
    assert_eq!(live.carried().iter().map(|h| h.id).collect::<Vec<_>>(), [FindingId(1)]);
    // Only what failed runs again; then all of it once, in the same round.
    say(&mut live, "make:fixer", made(2));
    assert_eq!((live.round(), live.iterations(), live.is_confirming()), (2, 2, false));
    assert_eq!(live.review_round().unwrap().checks.len(), 1);
    say(&mut live, "check:lint", found(&[]));
    say(&mut live, "judge:alpha", answer(Verdict::Approve));
    let fixed = |id| Tracked { fate: Fate::Fixed, ..finding(id, Severity::Blocker) };
    say(&mut live, "track", tracked(vec![fixed(1)]));
    assert_eq!((live.state_name(), live.round(), live.is_confirming()), ("checking", 2, true));
    assert_eq!(live.review_round().unwrap().checks.len(), 2);
    say(&mut live, "check:lint", found(&[]));
    say(&mut live, "check:types", found(&[3]));
    say(&mut live, "judge:alpha", answer(Verdict::Approve));
    say(&mut live, "track", tracked(vec![finding(3, Severity::Blocker)]));
    assert_eq!((live.state_name(), live.is_confirming()), ("making", true));
    // A new round begins anew, and checks only what failed last.
    say(&mut live, "make:fixer", made(3));
    assert_eq!((live.round(), live.is_confirming()), (3, false));
    assert_eq!(live.judged(), ["r1", "r2", "r3"].map(Revision::new));
    say(&mut live, "check:types", found(&[3]));
    say(&mut live, "judge:alpha", answer(Verdict::Approve));
    say(&mut live, "track", tracked(vec![finding(3, Severity::Blocker)]));
    assert_eq!((live.state_name(), live.question().unwrap().why.clone()), ("waiting", Why::Exhausted));
    assert!(live.review_round().is_none() && live.outcome().is_none());
    // Two rounds more are two more than there were.
    let mut again = live.clone();
    let more = Decision { by: "ada".into(), choice: Choice::Again(2), note: String::new() };
    say(&mut again, "ask", LoopReport::Decided(more));
    assert_eq!((again.state_name(), again.round(), again.rounds_max()), ("making", 3, 5));
    // Findings that a new loop takes over: open or left, and must be fixed.
    let stop = Decision { by: "ada".into(), choice: Choice::Stop, note: String::new() };
    say(&mut live, "ask", LoopReport::Decided(stop));
    assert_eq!((live.state_name(), live.outcome()), ("ended", Some(&Outcome::Exhausted)));
    assert!(live.question().is_none());
    assert_eq!(live.carried().iter().map(|h| h.id).collect::<Vec<_>>(), [FindingId(3)]);
}

/// A round that was not made, or out of its number, is no event of this loop.
#[test]
fn forged_rounds_are_refused() {
    let opening = Opening::Judge { revision: Revision::new("r1"), open: Vec::new(), since: None };
    let opened = Opened { id: LoopId::new("loop"), policy: phase(), opening, at: Time(0) };
    let began = |round, revision: &str| LoopEvent::RoundBegan { round, revision: Revision::new(revision) };
    for (event, right) in [(began(1, "r1"), true), (began(2, "r1"), false), (began(1, "r2"), false)] {
        assert_eq!(Loop::open(&opened).apply(&event).is_ok(), right, "{event:?}");
    }
    assert!(Loop::open(&opened).apply(&LoopEvent::Opened(Box::new(opened.clone()))).is_err());
    // Nothing is intended that is not wanted, or needs no intent.
    let mut live = Loop::open(&opened);
    settle(&mut live).unwrap();
    let check = effect(&live, "loop", "check:lint");
    let judge = EffectId { step: Step::Judge(Reviewer::new("alpha")), ..check.clone() };
    for effect in [check, judge] {
        assert!(live.clone().apply(&LoopEvent::Intended { effect, due: None }).is_err());
    }
    let error = Loop::open(&opened).apply(&LoopEvent::PanelClosed).unwrap_err();
    assert_eq!(error.to_string(), "event panel_closed cannot follow state made");
}

#[test]
fn checks_that_did_not_run_are_asked_again() {
    let mut live = opened(Policy { reviewers: Vec::new(), ..phase() });
    say(&mut live, "make:fixer", made(1));
    let lost = || LoopReport::Failed(Failure::new(FailureKind::DidNotRun, ""));
    say(&mut live, "check:types", lost());
    say(&mut live, "check:types", lost());
    // The other check is heard first.
    assert_eq!(live.state_name(), "checking");
    assert_eq!(live.wants().len(), 1);
    say(&mut live, "check:lint", found(&[1]));
    assert_eq!(live.question().unwrap().why, Why::ChecksDidNotRun);
    let reask = Decision { by: "ada".into(), choice: Choice::Reask, note: String::new() };
    say(&mut live, "ask", LoopReport::Decided(reask));
    // Round 1 is whole, whatever failed before.
    assert_eq!((live.state_name(), live.round(), live.wants().len()), ("checking", 1, 2));
    say(&mut live, "check:lint", found(&[]));
    say(&mut live, "check:types", found(&[]));
    say(&mut live, "track", tracked(vec![]));
    assert_eq!(live.outcome(), Some(&Outcome::Passed));
}

/// Where a person would be asked, a loop that nobody attends ends, and what was said of it is gone with it.
#[test]
fn nobody_is_asked_where_nobody_attends() {
    let alone = |policy: Policy| opened(Policy { unattended: true, attempts_max: 1, ..policy });
    let failed = |text: &str| LoopReport::Failed(Failure::new(FailureKind::DidNotRun, text));
    let mut unrun = alone(phase());
    say(&mut unrun, "make:fixer", made(1));
    say(&mut unrun, "check:lint", failed("no linter"));
    say(&mut unrun, "check:types", found(&[]));
    assert_eq!((unrun.outcome(), unrun.question()), (Some(&Outcome::Failed), None));
    let mut lost = alone(Policy { checks: Vec::new(), ..phase() });
    say(&mut lost, "make:fixer", made(1));
    say(&mut lost, "judge:alpha", failed("lost"));
    say(&mut lost, "track", tracked(Vec::new()));
    assert_eq!((lost.outcome(), lost.question()), (Some(&Outcome::Failed), None));
    let mut spent = alone(Policy { rounds_max: 1, reviewers: Vec::new(), ..phase() });
    say(&mut spent, "make:fixer", made(1));
    say(&mut spent, "check:lint", found(&[1]));
    say(&mut spent, "check:types", found(&[]));
    say(&mut spent, "track", tracked(vec![finding(1, Severity::Blocker)]));
    assert_eq!((spent.outcome(), spent.question()), (Some(&Outcome::Exhausted), None));
    assert_eq!(spent.ledger().get(FindingId(1)).unwrap().fate, Fate::Discarded);
}

#[test]
fn deadlines_by_kind_of_work() {
    let mut live = opened(phase());
    let effect = effect(&live, "loop", "make:fixer");
    turn(&mut live, &LoopIn::Intend { effect: effect.clone(), at: Time(10) }).unwrap();
    assert_eq!(live.intents().due(&effect), Some(Some(Time(1010))));
    let wake = |at| LoopIn::Report { effect: effect.wake(), at, report: LoopReport::Due };
    assert!(live.decide(&wake(Time(1009))).is_none() && live.decide(&wake(Time(1010))).is_some());
}

#[test]
fn questions_offer() {
    let rows = [
        (Why::NoQuorum, Offer::Reask, Outcome::Failed),
        (Why::ChecksDidNotRun, Offer::Reask, Outcome::Failed),
        (Why::Exhausted, Offer::Again, Outcome::Exhausted),
        (Why::Stale, Offer::Again, Outcome::Stale),
        (Why::Escalated(tribunal_core::converge::Pattern::Fundamental), Offer::Again, Outcome::Stuck),
    ];
    for (why, first, stopped) in rows {
        let some = Question { why: why.clone(), revision: Some(Revision::new("r1")), not_shown: Vec::new() };
        assert_eq!(some.offers(), [first, Offer::Fixed, Offer::Accept, Offer::Stop]);
        let none = Question { why, revision: None, not_shown: Vec::new() };
        assert_eq!(none.offers(), [first, Offer::Fixed, Offer::Stop], "nothing made, nothing accepted");
        assert_eq!(none.outcome_of_stop(), stopped);
    }
}

/// The table of uses, row by row.
#[test]
fn rows_of_the_table() {
    use Asked::{Always, OnlyIfChecksFail, UnlessChecksReject};
    let rows = [
        (Use::Plan, "architect", UnlessChecksReject, true, 3, AtTheCap::End, false, NoVerdict::Escalate),
        (Use::Chain, "executor", UnlessChecksReject, true, 3, AtTheCap::End, false, NoVerdict::Escalate),
        (Use::Task, "dev", UnlessChecksReject, true, 4, AtTheCap::End, false, NoVerdict::Escalate),
        (Use::Qa, "dev", OnlyIfChecksFail, false, 4, AtTheCap::End, true, NoVerdict::ChecksOnly),
        (Use::Phase, "fixer", Always, false, 3, AtTheCap::Ask, true, NoVerdict::Escalate),
    ];
    for (of, builder, asked, warnings, rounds, cap, confirm, no_verdict) in rows {
        let row = Policy::of(of);
        assert_eq!(
            (row.of, row.builder.as_str(), row.asked, row.warnings_pass),
            (of, builder, asked, warnings)
        );
        assert_eq!((row.rounds_max, row.at_the_cap, row.confirm), (rounds, cap, confirm), "{of}");
        assert_eq!((row.no_verdict, row.attempts_max, row.stale_limit), (no_verdict, 2, 2), "{of}");
        assert_eq!(row.iterations_max, (of == Use::Task).then_some(10), "{of}");
        assert_eq!(row.recheck_failed_only, of == Use::Qa, "{of}");
        assert!(
            row.reviewers.is_empty() && row.checks.is_empty() && row.adjudicator.is_none() && !row.backup
        );
    }
}

#[test]
fn words() {
    use Outcome::{Accepted, Cancelled, Exhausted, Failed, Passed, PassedWithWarnings, Stale, Stuck};
    let rows = [
        (Passed, "passed", true),
        (PassedWithWarnings, "passed with warnings", true),
        (Accepted("ada".into()), "accepted", true),
        (Exhausted, "exhausted", false),
        (Stale, "stale", false),
        (Stuck, "stuck", false),
        (Failed, "failed", false),
        (Cancelled, "cancelled", false),
    ];
    for (outcome, word, good) in rows {
        assert_eq!((outcome.word(), outcome.is_good()), (word, good));
    }
    let endings = [Ending::Passed, Ending::Shut, Ending::Stopped, Ending::Cancelled].map(Ending::word);
    assert_eq!(endings, ["passed", "shut", "stopped", "cancelled"]);
}

fn plan(id: &str, wave: u32, needs: &[&str], tasks: u32) -> PlanSpec {
    PlanSpec {
        id: PlanId::new(id),
        wave,
        depends_on: needs.iter().map(PlanId::new).collect(),
        after: Vec::new(),
        tasks,
        revision: Revision::new("found"),
        done: None,
    }
}

fn spec(plans: Vec<PlanSpec>) -> RunSpec {
    RunSpec {
        plans,
        gate: Some(PlanGate::Each),
        land: Land::Group,
        qa: true,
        bare: false,
        hold: false,
        review: true,
        polish: None,
        exists: None,
        chain: None,
        land_again: false,
        checkpoint_every: Some(2),
        landing_rounds: 1,
        attempts_max: 2,
        policies: Policies {
            plan: Policy::of(Use::Plan),
            task: Policy::of(Use::Task),
            repair: Policy { rounds_max: 9, ..Policy::of(Use::Task) },
            qa: Policy::of(Use::Qa),
            phase: Policy::of(Use::Phase),
        },
        finish: vec![FinishStep::Boundary, FinishStep::Forward],
        step_timeout_ms: 50,
    }
}

fn run(spec: &RunSpec) -> Run {
    let mut run = Run::open(spec);
    settle(&mut run).unwrap();
    run
}

fn tell(run: &mut Run, of: &str, step: &str, report: RunReport) {
    let effect = effect(run, of, step);
    if effect.step.is_one_shot() {
        turn(run, &RunIn::Intend { effect: effect.clone(), at: Time(1) }).unwrap();
    }
    let events = turn(run, &RunIn::Report { effect: effect.clone(), at: Time(2), report }).unwrap();
    assert!(!events.is_empty(), "{effect} was not heard");
}

fn ended(outcome: Outcome, revision: &str) -> RunReport {
    RunReport::LoopEnded { outcome, revision: Some(Revision::new(revision)), open: Vec::new() }
}

fn good(revision: &str) -> RunReport {
    ended(Outcome::Passed, revision)
}

fn standing(run: &Run, id: &str) -> String {
    let plan = PlanId::new(id);
    run.standings().find(|(plan_id, _)| **plan_id == plan).map(|(_, at)| format!("{at:?}")).unwrap()
}

#[test]
fn a_run_as_people_read_it() {
    let mut run = run(&spec(vec![plan("01-01", 1, &[], 2), plan("01-02", 2, &["01-01"], 1)]));
    let first = PlanId::new("01-01");
    assert_eq!((run.stage_name(), run.wave(), run.closing()), ("gating", None, None));
    assert_eq!(standing(&run, "01-01"), "Gating");
    tell(&mut run, "01-01", "loop", good("p1"));
    assert_eq!(standing(&run, "01-01"), "Ready");
    tell(&mut run, "01-02", "loop", good("p2"));
    assert_eq!((run.stage_name(), run.wave(), run.spec().plans.len()), ("building", Some(1), 2));
    assert_eq!(standing(&run, "01-01"), format!("{:?}", Standing::Working(Job::Task(1))));
    // A checkpoint spans two tasks.
    let task = effect(&run, "01-01", "loop");
    turn(&mut run, &RunIn::Iterated { effect: task, n: 2 }).unwrap();
    let again = RunEvent::Iterated { plan: first.clone(), n: 2 };
    assert!(run.clone().apply(&again).is_err(), "an iteration counts once");
    tell(&mut run, "01-01", "loop", good("v1"));
    assert_eq!(run.lane_head(&first), Some(&Revision::new("v1")));
    tell(&mut run, "01-01", "checkpoint", RunReport::Checkpointed { feedback: "mind the tests".into() });
    assert_eq!(run.feedback(&first), Some("mind the tests"));
    // One that says nothing leaves what was said.
    let task = effect(&run, "01-01", "loop");
    turn(&mut run, &RunIn::Iterated { effect: task, n: 2 }).unwrap();
    tell(&mut run, "01-01", "checkpoint", RunReport::Due);
    assert_eq!(run.feedback(&first), Some("mind the tests"));
    tell(&mut run, "01-01", "loop", good("v2"));
    assert_eq!(standing(&run, "01-01"), "Summary");
    tell(&mut run, "01-01", "summary", RunReport::Summarised { revision: Revision::new("v3") });
    assert_eq!(standing(&run, "01-01"), format!("{:?}", Standing::Working(Job::Qa)));
    tell(&mut run, "01-01", "loop", good("v4"));
    assert_eq!((standing(&run, "01-01"), run.tip()), ("Queued".into(), None));
    tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t1") });
    assert_eq!(standing(&run, "01-01"), "Landed(v4)");
    assert_eq!((run.tip(), run.wave()), (Some(&Revision::new("t1")), Some(2)));
    tell(&mut run, "01-02", "loop", ended(Outcome::Stale, "w1"));
    assert!(standing(&run, "01-02").starts_with("Stuck("));
    let drop = LaneDecision { by: "ada".into(), choice: LaneChoice::Drop, note: String::new() };
    tell(&mut run, "01-02", "ask", RunReport::LaneDecided(drop));
    assert_eq!(standing(&run, "01-02"), "Dropped(\"ada\")");
    assert_eq!((run.stage_name(), run.wave()), ("reviewing", None));
    let RunWant::Loop { id, subject, .. } = &run.wants()[&effect(&run, "run", "loop")] else { panic!() };
    assert_eq!((id.as_str(), subject), ("phase.4", &Subject::Phase));
    assert!(run.wants_of(&Of::new("01-99")).is_empty(), "nobody's wants are not the run's");
    tell(&mut run, "run", "loop", good("t2"));
    // A plan was dropped: it did not all land. Only the planning files are committed.
    assert_eq!((run.stage_name(), run.closing(), run.ending()), ("finishing", Some(Ending::Shut), None));
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: "done".into() });
    assert_eq!((run.stage_name(), run.ending()), ("ended", Some(Ending::Shut)));
    assert_eq!(run.closing(), Some(Ending::Shut));
}

#[test]
fn forged_intents_of_a_run_are_refused() {
    let run = run(&RunSpec { gate: None, ..spec(vec![plan("01-01", 1, &[], 1)]) });
    let held = effect(&run, "01-01", "loop");
    let land = EffectId { step: Step::Land, ..held.clone() };
    for effect in [held, land] {
        assert!(run.clone().apply(&RunEvent::Intended { effect, due: None }).is_err());
    }
    assert!(run.clone().apply(&RunEvent::Opened(Box::new(run.spec().clone()))).is_err());
    // Nobody is heard who was not sent.
    let mut unsent = run.clone();
    tell(&mut unsent, "01-01", "loop", good("v1"));
    let summary = effect(&unsent, "01-01", "summary");
    let summarised = RunEvent::Summarised { effect: summary.clone(), revision: Revision::new("v2") };
    assert!(unsent.clone().apply(&summarised).is_err());
    assert!(unsent.apply(&RunEvent::Intended { effect: summary, due: None }).is_ok());
    assert!(unsent.apply(&summarised).is_ok());
    let error = run.clone().apply(&RunEvent::FinishOrdered).unwrap_err();
    assert_eq!(error.to_string(), "event finish_ordered cannot follow state building");
}

/// What was called off drops no plan and counts no iteration any more.
#[test]
fn forged_lane_events_after_a_cancel_are_refused() {
    let mut run = run(&RunSpec { gate: None, ..spec(vec![plan("01-01", 1, &[], 1)]) });
    let plan = PlanId::new("01-01");
    let events = [
        RunEvent::PlanDropped { plan: plan.clone(), by: "ada".into() },
        RunEvent::Iterated { plan: plan.clone(), n: 1 },
    ];
    for event in &events {
        assert!(run.clone().apply(event).is_ok(), "{event:?}");
    }
    turn(&mut run, &RunIn::Cancel).unwrap();
    for event in &events {
        assert!(run.clone().apply(event).is_err(), "{event:?}");
    }
}

/// What lands is heard before anything else happens to it: it is not dropped, and a run called off meanwhile does
/// not finish.
#[test]
fn a_landing_is_heard_first() {
    let base = spec(vec![plan("01-01", 1, &[], 1)]);
    let mut run = run(&RunSpec { gate: None, qa: false, checkpoint_every: None, ..base });
    tell(&mut run, "01-01", "loop", good("v1"));
    tell(&mut run, "01-01", "summary", RunReport::Summarised { revision: Revision::new("v2") });
    let land = effect(&run, "01-01", "land");
    turn(&mut run, &RunIn::Intend { effect: land.clone(), at: Time(1) }).unwrap();
    let dropped = RunEvent::PlanDropped { plan: PlanId::new("01-01"), by: "ada".into() };
    assert!(run.clone().apply(&dropped).is_err(), "what lands is not dropped");
    let (effect, revision) = (land.clone(), Revision::new("v9"));
    let other = RunEvent::Landed { effect, revision, tip: Revision::new("t") };
    assert!(run.clone().apply(&other).is_err(), "only what was approved lands");
    turn(&mut run, &RunIn::Cancel).unwrap();
    assert_eq!(run.stage_name(), "closing");
    assert!(run.clone().apply(&RunEvent::FinishOrdered).is_err());
    let report = RunReport::Landed { tip: Revision::new("t") };
    turn(&mut run, &RunIn::Report { effect: land, at: Time(2), report }).unwrap();
    assert_eq!(run.ending(), Some(Ending::Cancelled));
}

/// Who must be looked at again after an event: its lanes alone, or everybody.
#[test]
fn events_touch_their_lanes() {
    let id =
        |of: &str| EffectId { of: Of::new(of), entry: 1, step: Step::Land, n: Try::default(), launch: 0 };
    let (plan, revision) = (PlanId::new("01-02"), Revision::new("v"));
    let stuck = Stuck { was: Was::Landing, outcome: Outcome::Failed, revision: None, open: Vec::new() };
    let decided = |choice| LaneDecision { by: "ada".into(), choice, note: String::new() };
    let (decision, stop) = (decided(LaneChoice::Drop), decided(LaneChoice::Stop));
    // A stop ends the work of every lane.
    assert_eq!(RunEvent::LaneDecided { plan: plan.clone(), decision: stop }.touches(), None);
    let of_the_plan = [
        RunEvent::LaneOpened { plan: plan.clone() },
        RunEvent::PlanDropped { plan: plan.clone(), by: "ada".into() },
        RunEvent::LaneAsked { plan: plan.clone(), stuck },
        RunEvent::LaneDecided { plan: plan.clone(), decision },
        RunEvent::Iterated { plan: plan.clone(), n: 1 },
        RunEvent::CheckpointDue { plans: vec![plan] },
    ];
    let noted = |effect: EffectId| {
        [RunEvent::Intended { effect: effect.clone(), due: None }, RunEvent::Cleared { effect }]
    };
    let reports = |effect: EffectId| {
        let (outcome, failure) = (Outcome::Passed, Failure::new(FailureKind::Crashed, ""));
        let (refusal, revision) = (Refusal::Conflict, revision.clone());
        let tip = revision.clone();
        [
            RunEvent::LoopEnded { effect: effect.clone(), outcome, revision: None, open: Vec::new() },
            RunEvent::Summarised { effect: effect.clone(), revision: revision.clone() },
            RunEvent::Landed { effect: effect.clone(), revision, tip },
            RunEvent::LandingRefused { effect: effect.clone(), refusal, findings: Vec::new() },
            RunEvent::Checkpointed { effect: effect.clone(), feedback: None },
            RunEvent::Failed { effect, failure },
        ]
    };
    let lane = id("01-02");
    for event in of_the_plan.into_iter().chain(noted(lane.clone())).chain(reports(lane)) {
        assert_eq!(event.touches(), Some(vec![Of::new("01-02")]), "{event:?}");
    }
    let both = RunEvent::CheckpointDue { plans: vec![PlanId::new("01-02"), PlanId::new("01-01")] };
    assert_eq!(both.touches(), Some(vec![Of::new("01-02"), Of::new("01-01")]));
    let own = id(Of::run().as_str());
    for event in noted(own.clone()) {
        assert_eq!(event.touches(), Some(vec![Of::run()]), "{event:?}");
    }
    // What the run itself reports may end it, and a stage changes for all.
    let stages = [RunEvent::WaveOpened { wave: 2 }, RunEvent::ReviewOpened, RunEvent::FinishOrdered];
    for event in stages.into_iter().chain(reports(own)) {
        assert_eq!(event.touches(), None, "{event:?}");
    }
}

#[test]
fn loops_of_a_run_by_name_and_policy() {
    let mut run =
        run(&RunSpec { gate: None, checkpoint_every: None, ..spec(vec![plan("01-01", 1, &[], 1)]) });
    let label = |run: &Run| {
        let wants = run.wants();
        let RunWant::Loop { id, subject, .. } = &wants[&effect(run, "01-01", "loop")] else { panic!() };
        (id.to_string(), run.policy(subject).clone())
    };
    let rows = |run: &Run| run.spec().policies.clone();
    assert_eq!(label(&run), ("01-01/task-1.2".into(), rows(&run).task));
    tell(&mut run, "01-01", "loop", good("v1"));
    tell(&mut run, "01-01", "summary", RunReport::Summarised { revision: Revision::new("v2") });
    assert_eq!(label(&run), ("01-01/qa.4".into(), rows(&run).qa));
    tell(&mut run, "01-01", "loop", good("v3"));
    let refused = |refusal| RunReport::LandingRefused { refusal, findings: Vec::new() };
    tell(&mut run, "01-01", "land", refused(Refusal::Conflict));
    assert_eq!(label(&run), ("01-01/repair.6".into(), rows(&run).repair));
    assert_eq!(run.policy(&Subject::Plan(PlanId::new("01-01"))), &rows(&run).plan);
    assert_eq!(run.policy(&Subject::Phase), &rows(&run).phase);
    assert!(run.feedback(&PlanId::new("01-01")).is_none());
}

#[test]
fn refused_plans_by_gate() {
    for (gate, refused, stage) in [
        (PlanGate::All, &["01-01"][..], "finishing"),
        (PlanGate::Each, &["01-01"][..], "building"),
        (PlanGate::Each, &["01-01", "01-02"][..], "finishing"),
        (PlanGate::All, &[][..], "building"),
    ] {
        let plans = vec![plan("01-01", 1, &[], 1), plan("01-02", 1, &[], 1)];
        let mut run = run(&RunSpec { gate: Some(gate), ..spec(plans) });
        for id in ["01-01", "01-02"] {
            let outcome = if refused.contains(&id) { Outcome::Exhausted } else { Outcome::Passed };
            tell(&mut run, id, "loop", ended(outcome, "p"));
        }
        assert_eq!(run.stage_name(), stage, "{gate:?} {refused:?}");
        if !refused.is_empty() {
            assert_eq!(standing(&run, "01-01"), "Refused(Exhausted)");
        }
    }
}

#[test]
fn a_gate_where_every_plan_was_dropped_is_shut() {
    let mut run = run(&spec(vec![plan("01-01", 1, &[], 1)]));
    turn(&mut run, &RunIn::Drop { plan: PlanId::new("01-01"), by: "ada".into() }).unwrap();
    assert_eq!(run.closing(), Some(Ending::Shut));
}

#[test]
fn stuck_lanes_offer() {
    use LaneOffer::{Accept, Drop, Fixed, Reask, Retry, Stop};
    let all = [Retry, Fixed, Accept, Drop, Stop];
    let rest = [Retry, Fixed, Drop, Stop];
    let rows: [(Was, Outcome, &[LaneOffer]); 5] = [
        (Was::Loop(Job::Task(1)), Outcome::Failed, &all),
        (Was::Loop(Job::Qa), Outcome::Failed, &all),
        (Was::Summary, Outcome::Failed, &all),
        (Was::Loop(Job::Repair), Outcome::Failed, &rest),
        (Was::Landing, Outcome::Exhausted, &rest),
    ];
    for (was, outcome, offers) in rows {
        let stuck = |revision| Stuck { was, outcome: outcome.clone(), revision, open: Vec::new() };
        assert_eq!(stuck(Some(Revision::new("v"))).offers(), offers, "{was:?}");
        assert_eq!(stuck(None).offers(), rest, "{was:?}: nothing made, nothing accepted");
    }
    let revision = Some(Revision::new("v"));
    let not_run = Stuck { was: Was::Landing, outcome: Outcome::Failed, revision, open: Vec::new() };
    assert_eq!(not_run.offers(), [Reask, Fixed, Drop, Stop], "no builder repairs what is not broken");
}

/// A landing that could not be done is tried again as it is: no loop opens, whoever stands behind it lands after it.
#[test]
fn a_landing_that_did_not_run_is_tried_again() {
    let base = spec(vec![plan("01-01", 1, &[], 1)]);
    let mut run = run(&RunSpec { gate: None, qa: false, checkpoint_every: None, ..base });
    let not_run = || RunReport::Failed(Failure::new(FailureKind::DidNotRun, "no key"));
    tell(&mut run, "01-01", "loop", good("v1"));
    tell(&mut run, "01-01", "summary", summarised());
    for _ in 0..2 {
        tell(&mut run, "01-01", "land", not_run());
        tell(&mut run, "01-01", "land", not_run());
        assert!(standing(&run, "01-01").starts_with("Stuck("), "{}", standing(&run, "01-01"));
        tell(&mut run, "01-01", "ask", decided(LaneChoice::Reask));
        assert_eq!(standing(&run, "01-01"), "Queued");
    }
    tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t") });
    assert!(standing(&run, "01-01").starts_with("Landed("), "{}", standing(&run, "01-01"));
}

/// Does everything that is left to do: which steps were they?
fn finished(run: &mut Run) -> String {
    let mut steps = Vec::new();
    while let Some(id) = run.wants().into_keys().next() {
        steps.push(id.step.to_string());
        tell(run, "run", &id.step.to_string(), RunReport::Finished { note: String::new() });
    }
    steps.join(" ")
}

#[test]
fn only_a_pass_moves_the_users_branch() {
    let finish = |first: FinishStep, outcome: Outcome| {
        let base = spec(vec![plan("01-01", 1, &[], 1)]);
        let steps = vec![first, FinishStep::Push];
        let spec = RunSpec { gate: None, qa: false, checkpoint_every: None, finish: steps, ..base };
        let mut run = run(&spec);
        tell(&mut run, "01-01", "loop", good("v1"));
        tell(&mut run, "01-01", "summary", RunReport::Summarised { revision: Revision::new("v2") });
        tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t") });
        tell(&mut run, "run", "loop", ended(outcome, "t"));
        finished(&mut run)
    };
    assert_eq!(finish(FinishStep::Boundary, Outcome::Passed), "finish:Boundary finish:Push");
    assert_eq!(finish(FinishStep::Boundary, Outcome::Stale), "finish:Boundary");
    assert_eq!(finish(FinishStep::Forward, Outcome::Passed), "finish:Forward finish:Push");
    assert_eq!(finish(FinishStep::Forward, Outcome::Stale), "");
}

#[test]
fn a_finishing_step_given_up_holds_the_result() {
    let base = spec(vec![plan("01-01", 1, &[], 1)]);
    let mut run = run(&RunSpec { gate: None, qa: false, review: false, checkpoint_every: None, ..base });
    tell(&mut run, "01-01", "loop", good("v1"));
    tell(&mut run, "01-01", "summary", RunReport::Summarised { revision: Revision::new("v2") });
    tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t") });
    let failed = || RunReport::Failed(Failure::new(FailureKind::Crashed, ""));
    tell(&mut run, "run", "finish:Boundary", failed());
    assert_eq!(run.stage_name(), "finishing");
    assert_eq!(effect(&run, "run", "finish:Boundary").n.fails, 1);
    tell(&mut run, "run", "finish:Boundary", failed());
    assert_eq!(run.ending(), None, "a run never ends good without its result on the branch");
    assert_eq!(run.held(), Some(&Held::Failed(String::new())));
}

#[test]
fn plans_that_no_wave_can_meet_are_dropped() {
    // One needs itself, one a later wave; the run must not hang on them.
    let plans =
        vec![plan("01-01", 1, &["01-01"], 1), plan("01-02", 1, &["01-03"], 1), plan("01-03", 2, &[], 1)];
    for land in [Land::Group, Land::Each] {
        let run = run(&RunSpec { gate: None, land, ..spec(plans.clone()) });
        assert_eq!(standing(&run, "01-03"), format!("{:?}", Standing::Working(Job::Task(1))), "{land:?}");
        let waits = land == Land::Each;
        assert_eq!(standing(&run, "01-02") == "Ready", waits, "{land:?}: {}", standing(&run, "01-02"));
    }
}

#[test]
fn a_sibling_that_waits_for_a_stuck_lane_does_not_hold_its_question() {
    let plans = vec![plan("01-01", 1, &[], 1), plan("01-02", 1, &["01-01"], 1)];
    let mut run = run(&RunSpec { gate: None, qa: false, ..spec(plans) });
    tell(&mut run, "01-01", "loop", ended(Outcome::Stale, "v1"));
    assert_eq!(effect(&run, "01-01", "ask").step, Step::Ask);
    let accept = LaneDecision { by: "ada".into(), choice: LaneChoice::Accept, note: String::new() };
    tell(&mut run, "01-01", "ask", RunReport::LaneDecided(accept));
    tell(&mut run, "01-01", "summary", RunReport::Summarised { revision: Revision::new("v2") });
    tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t") });
    assert_eq!(standing(&run, "01-02"), format!("{:?}", Standing::Working(Job::Task(1))));
}

#[test]
fn a_plan_waits_for_those_that_hold_its_files_and_no_longer() {
    let second = PlanSpec { after: vec![PlanId::new("01-01")], ..plan("01-02", 1, &[], 1) };
    let plans = vec![plan("01-01", 1, &[], 1), second];
    for land in [Land::Group, Land::Each] {
        let mut run = run(&RunSpec { gate: None, qa: false, land, ..spec(plans.clone()) });
        assert_eq!(standing(&run, "01-02"), "Ready");
        let drop = RunIn::Drop { plan: PlanId::new("01-01"), by: "ada".into() };
        turn(&mut run, &drop).unwrap();
        // What will never land holds nothing; a dependency would have taken it along.
        assert_eq!(standing(&run, "01-02"), format!("{:?}", Standing::Working(Job::Task(1))), "{land:?}");
    }
}

fn decided(choice: LaneChoice) -> RunReport {
    RunReport::LaneDecided(LaneDecision { by: "ada".into(), choice, note: String::new() })
}

fn summarised() -> RunReport {
    RunReport::Summarised { revision: Revision::new("v2") }
}

#[test]
fn an_accepted_summary_is_judged_where_deliveries_are() {
    for (qa, expected) in [(true, "Working(Qa)"), (false, "Queued")] {
        let mut run = run(&RunSpec { gate: None, qa, ..spec(vec![plan("01-01", 1, &[], 1)]) });
        tell(&mut run, "01-01", "loop", good("v1"));
        for _ in 0..2 {
            tell(&mut run, "01-01", "summary", RunReport::Failed(Failure::new(FailureKind::Crashed, "")));
        }
        tell(&mut run, "01-01", "ask", decided(LaneChoice::Accept));
        assert_eq!(standing(&run, "01-01"), expected);
    }
}

#[test]
fn an_accepted_lane_takes_its_place_in_the_queue() {
    let plans = vec![plan("01-01", 1, &[], 1), plan("01-02", 1, &[], 1)];
    let mut run = run(&RunSpec { gate: None, land: Land::Each, checkpoint_every: None, ..spec(plans) });
    for id in ["01-02", "01-01"] {
        tell(&mut run, id, "loop", good("v1"));
        tell(&mut run, id, "summary", summarised());
    }
    tell(&mut run, "01-02", "loop", ended(Outcome::Stale, "v3"));
    tell(&mut run, "01-02", "ask", decided(LaneChoice::Accept));
    tell(&mut run, "01-01", "loop", good("v3"));
    assert_eq!(run.lands_next(), Some(Of::new("01-02")), "first come, first landed");
}

#[test]
fn a_repair_tried_again_is_one_more() {
    let base = spec(vec![plan("01-01", 1, &[], 1)]);
    let mut run = run(&RunSpec { gate: None, qa: false, checkpoint_every: None, ..base });
    let refused = || RunReport::LandingRefused { refusal: Refusal::Conflict, findings: Vec::new() };
    tell(&mut run, "01-01", "loop", good("v1"));
    tell(&mut run, "01-01", "summary", summarised());
    tell(&mut run, "01-01", "land", refused());
    tell(&mut run, "01-01", "loop", ended(Outcome::Stale, "v3"));
    tell(&mut run, "01-01", "ask", decided(LaneChoice::Retry(1)));
    for expected in ["Working(Repair)", "Stuck("] {
        tell(&mut run, "01-01", "loop", good("v4"));
        tell(&mut run, "01-01", "summary", summarised());
        tell(&mut run, "01-01", "land", refused());
        assert!(standing(&run, "01-01").starts_with(expected), "{}", standing(&run, "01-01"));
    }
}

#[test]
fn a_run_can_review_what_exists() {
    let revision = Revision::new("r1");
    let exists =
        tribunal_core::run::Exists { revision: revision.clone(), open: Vec::new(), since: None, last: None };
    let entry = Entry::new(Claim::new(Severity::Blocker, "c"), BTreeSet::new(), 1);
    for (outcome, ending) in [(Outcome::Passed, Ending::Passed), (Outcome::Exhausted, Ending::Shut)] {
        let spec = RunSpec { exists: Some(exists.clone()), finish: Vec::new(), ..spec(Vec::new()) };
        let mut run = Run::open(&spec);
        assert_eq!(run.stage_name(), "reviewing");
        let wants = run.wants();
        let (effect, want) = wants.iter().next().expect("a loop");
        let judges = Opening::Judge { revision: revision.clone(), open: Vec::new(), since: None };
        assert!(matches!(want, RunWant::Loop { subject: Subject::Phase, opening, .. } if *opening == judges));
        let fixed = Revision::new("r2");
        let report = RunReport::LoopEnded {
            outcome: outcome.clone(),
            revision: Some(fixed.clone()),
            open: vec![CarriedFinding { id: FindingId(1), entry: entry.clone() }],
        };
        let input = RunIn::Report { effect: effect.clone(), at: Time(1), report };
        let events = turn(&mut run, &input).expect("it applies");
        let twice = |event: &RunEvent| matches!(event, RunEvent::LoopEnded { open, .. } if !open.is_empty());
        assert!(!events.iter().any(twice), "what a review leaves open is in the journal once");
        assert_eq!(run.ending(), Some(ending));
        let tip = if outcome.is_good() { &fixed } else { &revision };
        assert_eq!(run.tip(), Some(tip), "what was approved is what there is to take");
    }
}

#[test]
fn a_polish_changes_what_is_taken_and_never_how_it_ends() {
    let exists = tribunal_core::run::Exists {
        revision: Revision::new("r1"),
        open: Vec::new(),
        since: None,
        last: None,
    };
    let polish = Some(Box::new(Policy { unattended: true, ..Policy::of(Use::Phase) }));
    let begun = || {
        run(&RunSpec {
            exists: Some(exists.clone()),
            polish: polish.clone(),
            finish: Vec::new(),
            ..spec(Vec::new())
        })
    };
    for (outcome, tip) in [(Outcome::Passed, "r3"), (Outcome::Exhausted, "r2"), (Outcome::Failed, "r2")] {
        let mut run = begun();
        tell(&mut run, "run", "loop", ended(Outcome::Passed, "r2"));
        assert_eq!((run.stage_name(), run.ending()), ("polishing", None));
        let RunWant::Loop { id, subject, opening } = &run.wants()[&effect(&run, "run", "loop")] else {
            panic!()
        };
        assert_eq!((id.as_str(), subject), ("phase.polish.2", &Subject::Polish));
        assert!(matches!(opening, Opening::Make { .. }));
        assert!(run.policy(subject).unattended);
        tell(&mut run, "run", "loop", ended(outcome.clone(), "r3"));
        assert_eq!(
            (run.ending(), run.tip()),
            (Some(Ending::Passed), Some(&Revision::new(tip))),
            "{outcome:?}"
        );
    }
    let mut shut = begun();
    tell(&mut shut, "run", "loop", ended(Outcome::Exhausted, "r2"));
    assert_eq!(shut.ending(), Some(Ending::Shut), "what did not pass is not polished");
    let mut off = begun();
    tell(&mut off, "run", "loop", ended(Outcome::Passed, "r2"));
    turn(&mut off, &RunIn::Cancel).unwrap();
    assert_eq!(off.ending(), Some(Ending::Cancelled));
}

/// An artifact is made and judged; it is brought when it is good, or when its rounds are spent and it may go on.
#[test]
fn an_artifact_goes_on_only_where_its_policy_says_so() {
    let check = |goes_on: bool, outcome: Outcome, ending: Ending, tip: Option<&str>| {
        let policy = Policy { rounds_max: 7, ..Policy::of(Use::Chain) };
        let chain = Some(Box::new(ChainSpec { name: "spec".into(), policy, goes_on }));
        let mut run = run(&RunSpec { chain, finish: Vec::new(), ..spec(Vec::new()) });
        assert_eq!(run.stage_name(), "reviewing");
        let RunWant::Loop { id, subject, opening } = &run.wants()[&effect(&run, "run", "loop")] else {
            panic!()
        };
        assert_eq!((id.as_str(), subject), ("chain.spec.1", &Subject::Chain));
        assert_eq!(*opening, Opening::Make { rounds: None, open: Vec::new() });
        assert_eq!(run.policy(subject).rounds_max, 7);
        tell(&mut run, "run", "loop", ended(outcome.clone(), "r1"));
        let tip = tip.map(Revision::new);
        assert_eq!((run.ending(), run.tip()), (Some(ending), tip.as_ref()), "{goes_on} {outcome:?}");
    };
    for goes_on in [false, true] {
        check(goes_on, Outcome::Passed, Ending::Passed, Some("r1"));
        check(goes_on, Outcome::Stale, Ending::Shut, None);
        check(goes_on, Outcome::Failed, Ending::Shut, None);
    }
    check(false, Outcome::Exhausted, Ending::Shut, None);
    check(true, Outcome::Exhausted, Ending::Concerns, Some("r1"));
}

/// What was built stays as its own panels approved it; only what was made for its own sake is brought unapproved, and
/// where nothing was built, so is the record of it.
#[test]
fn what_is_brought_when_an_artifact_is_not_approved() {
    let steps = vec![FinishStep::Boundary, FinishStep::Push];
    let chain =
        |goes_on| Some(Box::new(ChainSpec { name: "code".into(), policy: Policy::of(Use::Chain), goes_on }));
    let built = |goes_on: bool, outcome: Outcome| {
        let base =
            RunSpec { gate: None, qa: false, checkpoint_every: None, ..spec(vec![plan("01-01", 1, &[], 1)]) };
        let mut run = run(&RunSpec { chain: chain(goes_on), finish: steps.clone(), ..base });
        tell(&mut run, "01-01", "loop", good("v1"));
        tell(&mut run, "01-01", "summary", summarised());
        tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t") });
        tell(&mut run, "run", "loop", ended(outcome, "fixed"));
        let steps = finished(&mut run);
        (run.ending().unwrap(), run.tip().unwrap().to_string(), steps)
    };
    let all = "finish:Boundary finish:Push";
    assert_eq!(built(true, Outcome::Exhausted), (Ending::Concerns, "t".into(), all.into()));
    assert_eq!(built(false, Outcome::Exhausted), (Ending::Shut, "t".into(), "finish:Boundary".into()));
    assert_eq!(built(true, Outcome::Passed), (Ending::Passed, "fixed".into(), all.into()));
    let made = |spec: RunSpec| {
        let mut run = run(&RunSpec { finish: steps.clone(), ..spec });
        tell(&mut run, "run", "loop", ended(Outcome::Stale, "r2"));
        finished(&mut run)
    };
    assert_eq!(made(RunSpec { chain: chain(false), ..spec(Vec::new()) }), all);
    let exists = tribunal_core::run::Exists {
        revision: Revision::new("r1"),
        open: Vec::new(),
        since: None,
        last: None,
    };
    assert_eq!(made(RunSpec { exists: Some(exists), ..spec(Vec::new()) }), "finish:Boundary");
}

fn land() -> RunReport {
    RunReport::HeldDecided(HeldDecision { by: "ada".into(), choice: HeldChoice::Land, note: String::new() })
}

/// A run of these plans, each landed, up to the fast-forward.
fn at_the_forward(spec: &RunSpec) -> Run {
    let mut run = run(spec);
    for plan in &spec.plans {
        let id = plan.id.as_str();
        tell(&mut run, id, "loop", good("v1"));
        tell(
            &mut run,
            id,
            "summary",
            RunReport::Summarised { revision: Revision::new(format!("{id} done")) },
        );
    }
    for plan in &spec.plans {
        tell(&mut run, plan.id.as_str(), "land", RunReport::Landed { tip: Revision::new("t") });
    }
    if spec.review {
        tell(&mut run, "run", "loop", ended(Outcome::Passed, "fixed"));
    }
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: String::new() });
    run
}

/// A branch that moved: everything that landed lands again in its order, and nothing is built or reviewed again.
#[test]
fn a_moved_branch_is_landed_on_without_building_anything_again() {
    let plans = vec![plan("01-01", 1, &[], 1), plan("01-02", 1, &[], 1)];
    let spec = RunSpec { gate: None, qa: false, checkpoint_every: None, ..spec(plans) };
    let mut run = at_the_forward(&spec);
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Moved));
    assert_eq!((run.held(), run.ending()), (Some(&Held::Moved), None));
    tell(&mut run, "run", "ask", land());
    // The branch may be back where it was: that is tried first.
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: String::new() });
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Moved));
    tell(&mut run, "run", "rebase", RunReport::Rebased { onto: Revision::new("user's") });
    assert_eq!(run.ground(), Some(&Revision::new("user's")));
    for id in ["01-01", "01-02"] {
        let want = run.wants().into_values().next().unwrap();
        let revision = Revision::new(format!("{id} done"));
        assert_eq!(want, RunWant::Land { plan: PlanId::new(id), revision });
        tell(&mut run, id, "land", RunReport::Landed { tip: Revision::new("t2") });
    }
    let want = run.wants().into_values().next().unwrap();
    let (from, tip) = (Some(Revision::new("t")), Revision::new("fixed"));
    assert_eq!(want, RunWant::Carry { from, tip });
    tell(&mut run, "run", "carry", RunReport::Carried { tip: Revision::new("fixed on t2") });
    assert_eq!(finished(&mut run), "finish:Boundary finish:Forward");
    assert_eq!(run.ending(), Some(Ending::Passed));
}

/// What the review approved and is not proven for the rebased result is reviewed again.
#[test]
fn a_review_that_does_not_carry_over_is_held_again() {
    let spec = RunSpec {
        gate: None,
        qa: false,
        checkpoint_every: None,
        land_again: true,
        ..spec(vec![plan("01-01", 1, &[], 1)])
    };
    let mut run = at_the_forward(&spec);
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Moved));
    tell(&mut run, "run", "rebase", RunReport::Rebased { onto: Revision::new("user's") });
    tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t2") });
    tell(&mut run, "run", "carry", RunReport::JudgeAgain { revision: Revision::new("r") });
    let opening = Opening::Judge { revision: Revision::new("r"), open: Vec::new(), since: None };
    let wants = run.wants();
    assert!(matches!(wants.values().next(), Some(RunWant::Loop { opening: is, .. }) if *is == opening));
    tell(&mut run, "run", "loop", ended(Outcome::Stale, "r"));
    assert_eq!(finished(&mut run), "finish:Boundary");
    assert_eq!(run.ending(), Some(Ending::Shut), "a result that is not approved any more does not land");
}

/// An order to land holds through the rebase it needs, up to the next question.
#[test]
fn an_order_to_land_outlives_the_rebase() {
    let base = RunSpec {
        gate: None,
        qa: false,
        review: false,
        checkpoint_every: None,
        ..spec(vec![plan("01-01", 1, &[], 1)])
    };
    let mut run = run(&base);
    tell(&mut run, "01-01", "loop", good("v1"));
    tell(&mut run, "01-01", "summary", summarised());
    tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t") });
    let asked = |run: &Run| {
        let asked = |want: &RunWant| matches!(want, RunWant::Finish { asked: true, .. });
        run.wants().values().any(asked)
    };
    assert!(!asked(&run), "nobody ordered anything yet");
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: String::new() });
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Moved));
    tell(&mut run, "run", "ask", land());
    assert!(asked(&run));
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: String::new() });
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Moved));
    tell(&mut run, "run", "rebase", RunReport::Rebased { onto: Revision::new("user's") });
    tell(&mut run, "01-01", "land", RunReport::Landed { tip: Revision::new("t2") });
    assert!(asked(&run), "it is the same order");
}

/// What the user took away again is brought only on a new order, and then on top of what the branch has.
#[test]
fn a_result_that_was_undone_is_rebased_only_when_asked() {
    let base = spec(vec![plan("01-01", 1, &[], 1)]);
    let mut run =
        at_the_forward(&RunSpec { gate: None, qa: false, checkpoint_every: None, land_again: true, ..base });
    let undone = Held::Undone(vec!["a".into()]);
    tell(&mut run, "run", "finish:Forward", RunReport::Held(undone.clone()));
    assert_eq!(run.held(), Some(&undone), "the order given beforehand is not for this");
    tell(&mut run, "run", "ask", land());
    assert_eq!(run.stage_name(), "rebasing");
}

/// A run without plans: its result is carried over as a whole.
#[test]
fn a_review_whose_branch_moved_carries_its_fixes_over() {
    let exists = tribunal_core::run::Exists {
        revision: Revision::new("r1"),
        open: Vec::new(),
        since: None,
        last: None,
    };
    let mut run = run(&RunSpec { exists: Some(exists), ..spec(Vec::new()) });
    tell(&mut run, "run", "loop", ended(Outcome::Passed, "fixed"));
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: String::new() });
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Dirty(vec!["a".into()])));
    tell(&mut run, "run", "ask", land());
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: String::new() });
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Moved));
    tell(&mut run, "run", "rebase", RunReport::Rebased { onto: Revision::new("user's") });
    let want = run.wants().into_values().next().unwrap();
    assert_eq!(want, RunWant::Carry { from: Some(Revision::new("r1")), tip: Revision::new("fixed") });
    tell(&mut run, "run", "carry", RunReport::Held(Held::Conflict(vec!["a".into()])));
    assert_eq!(run.held(), Some(&Held::Conflict(vec!["a".into()])));
    assert!(!run.is_whole(), "the run branch has nothing of the result now");
    // Asked for again it is rebased again: what is there is not the result.
    tell(&mut run, "run", "ask", land());
    tell(&mut run, "run", "rebase", RunReport::Rebased { onto: Revision::new("user's again") });
    let want = run.wants().into_values().next().unwrap();
    assert_eq!(want, RunWant::Carry { from: Some(Revision::new("r1")), tip: Revision::new("fixed") });
    tell(&mut run, "run", "carry", RunReport::Held(Held::Conflict(vec!["a".into()])));
    let stop = HeldDecision { by: "ada".into(), choice: HeldChoice::Stop, note: String::new() };
    tell(&mut run, "run", "ask", RunReport::HeldDecided(stop));
    finished(&mut run);
    assert_eq!(run.ending(), Some(Ending::Stopped));
}

/// A plan whose dependency is dropped while everything lands again is dropped too: it was built on it.
#[test]
fn what_depends_on_a_plan_that_does_not_land_again_is_dropped() {
    let plans = vec![plan("01-01", 1, &[], 1), plan("01-02", 2, &["01-01"], 1)];
    let spec = RunSpec {
        gate: None,
        qa: false,
        review: false,
        checkpoint_every: None,
        land_again: true,
        ..spec(plans)
    };
    let mut run = run(&spec);
    for id in ["01-01", "01-02"] {
        tell(&mut run, id, "loop", good("v1"));
        tell(&mut run, id, "summary", summarised());
        tell(&mut run, id, "land", RunReport::Landed { tip: Revision::new("t") });
    }
    tell(&mut run, "run", "finish:Boundary", RunReport::Finished { note: String::new() });
    tell(&mut run, "run", "finish:Forward", RunReport::Held(Held::Moved));
    tell(&mut run, "run", "rebase", RunReport::Rebased { onto: Revision::new("user's") });
    turn(&mut run, &RunIn::Drop { plan: PlanId::new("01-01"), by: "ada".into() }).unwrap();
    assert!(standing(&run, "01-02").contains("Dropped"), "{}", standing(&run, "01-02"));
    finished(&mut run);
    assert_eq!(run.ending(), Some(Ending::Shut));
}

/// A lane without a SUMMARY lands what its last task left, and a person who said so is asked before the branch has it.
#[test]
fn a_bare_lane_lands_its_task_and_waits_for_the_order() {
    let base = spec(vec![plan("do", 1, &[], 1)]);
    let finish = vec![FinishStep::Forward];
    let base =
        RunSpec { gate: None, qa: false, review: false, checkpoint_every: None, bare: true, finish, ..base };
    let mut run = run(&RunSpec { hold: true, ..base.clone() });
    tell(&mut run, "do", "loop", good("v1"));
    let want = run.wants().into_values().next().unwrap();
    assert_eq!(want, RunWant::Land { plan: PlanId::new("do"), revision: Revision::new("v1") });
    tell(&mut run, "do", "land", RunReport::Landed { tip: Revision::new("t") });
    assert_eq!(run.held(), Some(&Held::Ordered));
    assert!(run.may_work_again() && run.is_whole());
    let again =
        |choice| RunReport::HeldDecided(HeldDecision { by: "ada".into(), choice, note: "more".into() });
    let none = RunIn::Report {
        effect: effect(&run, "run", "ask"),
        at: Time(2),
        report: again(HeldChoice::Again(0)),
    };
    assert!(turn(&mut run, &none).unwrap().is_empty(), "no rounds are none");
    tell(&mut run, "run", "ask", again(HeldChoice::Again(2)));
    tell(&mut run, "run", "rebase", RunReport::Rebased { onto: Revision::new("user's") });
    // The whole change is made and judged again: nothing of it counts as approved.
    assert_eq!(run.lane_head(&PlanId::new("do")), None);
    let opening = Opening::Make { rounds: Some(2), open: Vec::new() };
    let want = run.wants().into_values().next().unwrap();
    assert!(matches!(want, RunWant::Loop { opening: is, .. } if is == opening));
    tell(&mut run, "do", "loop", good("v2"));
    tell(&mut run, "do", "land", RunReport::Landed { tip: Revision::new("t2") });
    assert_eq!(run.held(), Some(&Held::Ordered), "another version waits for another order");
    tell(&mut run, "run", "ask", land());
    assert_eq!(finished(&mut run), "finish:Forward");
    assert_eq!(run.ending(), Some(Ending::Passed));
}

/// A lane that made nothing has nothing to decide about: the run ends, and not good.
#[test]
fn a_bare_lane_that_made_nothing_is_dropped() {
    for (bare, ending) in [(true, Some(Ending::Shut)), (false, None)] {
        let base = spec(vec![plan("do", 1, &[], 1)]);
        let base = RunSpec { gate: None, qa: false, review: false, checkpoint_every: None, ..base };
        let mut run = run(&RunSpec { bare, finish: Vec::new(), ..base });
        let report = RunReport::LoopEnded { outcome: Outcome::Stale, revision: None, open: Vec::new() };
        tell(&mut run, "do", "loop", report);
        assert_eq!(run.ending(), ending, "bare: {bare}");
        let by = run.standings().next().map(|(_, standing)| format!("{standing:?}")).unwrap();
        assert_eq!(by == format!("Dropped({UNCHANGED:?})"), bare, "{by}");
    }
}
