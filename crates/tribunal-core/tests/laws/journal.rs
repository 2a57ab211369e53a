//! The journal as text: every event is read back as it was written, and a journal with one event lost, doubled
//! or out of its place is refused, or its fold is one that the true journal has too.

use crate::book::Book;
use crate::loops;
use crate::rng::Rng;
use crate::runs;
use crate::walks::{loop_journal, run_journal};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::converge::{Pattern, Stretch};
use tribunal_core::cover::{NotShown, Shown};
use tribunal_core::effect::{EffectId, FinishStep, Step, Try};
use tribunal_core::evidence::{Lack, Matter, Refused};
use tribunal_core::finding::{
    Answer, Claim, Fate, FixableBy, Reply, Said, Severity, Source, UnreadPart, Verdict,
};
use tribunal_core::held::{Held, HeldChoice, HeldDecision};
use tribunal_core::ids::{Builder, Check, FindingId, LoopId, Of, PlanId, Reviewer, Revision, Time};
use tribunal_core::ledger::{CarriedFinding, Delta, Entry, Mark, Tracked};
use tribunal_core::machine::Machine;
use tribunal_core::panel::{Ruling, Unusable};
use tribunal_core::policy::{Policy, Use};
use tribunal_core::review_loop::{
    Checked, Choice, Decision, Failure, FailureKind, FixAssignment, LoopEvent, Opened, Opening, Outcome,
    Question, Why,
};
use tribunal_core::run::{Ending, Job, LaneChoice, LaneDecision, Refusal, RunEvent, Stuck, Was};
use tribunal_core::words::{Remarks, Words};

/// One way to damage a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    Lost,
    Doubled,
    Swapped,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fold {
    Refused,
    /// The fold is that of the true journal, or of a beginning of it.
    Same,
    /// Another state, in a journal where something was called off: what a cancel, a stop or a drop ends does not
    /// depend on what came before, so a lost event shows in nothing that follows.
    Hidden,
    /// Accepted, and another state.
    Other,
}

fn damaged(log: &[String], at: usize, damage: Damage) -> Vec<String> {
    let mut log = log.to_vec();
    match damage {
        Damage::Lost => drop(log.remove(at)),
        Damage::Doubled => log.insert(at, log[at].clone()),
        Damage::Swapped => log.swap(at, at + 1),
    }
    log
}

fn name(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    match &value {
        serde_json::Value::String(name) => name.clone(),
        value => value.as_object().unwrap().keys().next().unwrap().clone(),
    }
}

/// Damages a journal in every way, and counts what came of it by the event concerned.
fn damage<M: PartialEq>(
    log: &[String],
    fold: impl Fn(&[String]) -> Result<M, String>,
    counts: &mut BTreeMap<(Damage, Fold, String), u32>,
) {
    let prefixes: Vec<M> = (1..=log.len()).map(|n| fold(&log[..n]).unwrap()).collect();
    for at in 1..log.len() {
        for damage in [Damage::Lost, Damage::Doubled, Damage::Swapped] {
            if damage == Damage::Swapped && (at + 1 == log.len() || log[at] == log[at + 1]) {
                continue;
            }
            let came = match fold(&damaged(log, at, damage)) {
                Err(_) => Fold::Refused,
                Ok(folded) if prefixes.contains(&folded) => Fold::Same,
                Ok(_) if called_off(log) => Fold::Hidden,
                Ok(_) => Fold::Other,
            };
            *counts.entry((damage, came, name(&log[at]))).or_insert(0) += 1;
        }
    }
}

fn others(counts: &BTreeMap<(Damage, Fold, String), u32>) -> BTreeSet<String> {
    let other = counts.keys().filter(|(_, came, _)| *came == Fold::Other);
    other.map(|(damage, _, name)| format!("{damage:?} {name}")).collect()
}

fn report(counts: &BTreeMap<(Damage, Fold, String), u32>) {
    for came in [Fold::Refused, Fold::Same, Fold::Hidden, Fold::Other] {
        let all: u32 = counts.iter().filter(|((_, c, _), _)| *c == came).map(|(_, n)| n).sum();
        println!("{came:?}: {all}");
    }
    for ((damage, came, name), times) in counts.iter().filter(|((_, came, _), _)| *came == Fold::Other) {
        println!("{damage:?} {name}: {came:?} {times}");
    }
}

fn called_off(log: &[String]) -> bool {
    let marks = ["\"cancelled\"", "\"choice\":\"stop\"", "\"choice\":\"drop\"", "\"plan_dropped\""];
    log.iter().any(|line| marks.iter().any(|mark| line.contains(mark)))
}

/// A damaged journal of a loop is refused or harmless.
#[test]
fn damaged_loops() {
    let mut counts = BTreeMap::new();
    for seed in 1..=60 {
        damage(&loop_journal(seed, &mut Book::default()), loops::fold, &mut counts);
    }
    report(&counts);
    assert_eq!(others(&counts), BTreeSet::new());
}

/// A damaged journal of a run is refused or harmless, but for two things that only the journal's own numbering
/// can tell: how many iterations a lane counted towards its next checkpoint, and which of two lanes came first
/// into the queue.
#[test]
fn damaged_runs() {
    let mut counts = BTreeMap::new();
    for seed in 1..=60 {
        damage(&run_journal(seed, &mut Book::default()), runs::fold, &mut counts);
    }
    report(&counts);
    let known = [
        "Lost iterated",
        "Lost checkpoint_due",
        "Swapped iterated",
        "Swapped summarised",
        "Swapped loop_ended",
        "Swapped lane_decided",
    ];
    let other: Vec<String> =
        others(&counts).into_iter().filter(|what| !known.contains(&what.as_str())).collect();
    assert!(other.is_empty(), "{other:#?}");
}

fn effect(step: Step) -> EffectId {
    let n = Try { part: 3, backup: true, fails: 2, again: true };
    EffectId { of: Of::new("01-02/task-1.3"), entry: 7, step, n, launch: 1 }
}

fn steps() -> Vec<Step> {
    vec![
        Step::Make(Builder::new("dev: \"quoted\"")),
        Step::Join,
        Step::Check(Check::new("lint")),
        Step::Judge(Reviewer::new("security")),
        Step::Track,
        Step::Hear(FindingId(12)),
        Step::Ask,
        Step::Summary,
        Step::Loop,
        Step::Checkpoint,
        Step::Land,
        Step::Rebase,
        Step::Carry,
        Step::Finish(FinishStep::Boundary),
        Step::Finish(FinishStep::Forward),
        Step::Finish(FinishStep::Push),
        Step::Wake(Box::new(Step::Judge(Reviewer::new("alpha")))),
    ]
}

fn claim() -> Claim {
    Claim {
        file: Some("src/a b.rs".into()),
        line: Some(1),
        end: Some(9),
        section: Some("Goal".into()),
        severity: Severity::Warning,
        confidence: 55,
        confidence_stated: true,
        claim: "c1 \u{1f980}".into(),
        details: "d\n".into(),
        suggestion: "s".into(),
        evidence: "e".into(),
        domain: Some("security".into()),
        rule: Some("E1".into()),
        kind: Some("dead-code".into()),
        fixable_by: FixableBy::Manual,
        asks: true,
        label: Some("B-1".into()),
        same_as: Some(FindingId(3)),
    }
}

fn fates() -> Vec<Fate> {
    vec![
        Fate::Open,
        Fate::Fixed,
        Fate::Refuted,
        Fate::Filtered,
        Fate::Deferred,
        Fate::Discarded,
        Fate::DuplicateOf(FindingId(1)),
        Fate::SupersededBy(FindingId(2)),
        Fate::Advisory,
        Fate::Carried,
        Fate::Waived("ada".into()),
        Fate::Unresolved,
    ]
}

fn tracked(fate: Fate) -> Tracked {
    Tracked {
        id: FindingId(4),
        by: BTreeSet::from([Source::Check(Check::new("lint")), Source::Reviewer(Reviewer::new("alpha"))]),
        claim: claim(),
        severity: Severity::Blocker,
        fate,
        says: Some(Source::Reviewer(Reviewer::new("alpha"))),
        words: vec![words()],
        remarks: remarks(),
        referred: Some(Reviewer::new("owner")),
        contested: true,
        mark: Mark::FixInduced,
        builders: false,
        touched: true,
        region: Some("a.rs/fn main".into()),
        fixer: Some(Builder::new("fixer")),
    }
}

fn words() -> Words {
    Words { by: Source::Reviewer(Reviewer::new("beta")), claim: claim() }
}

fn remarks() -> Remarks {
    let related = BTreeSet::from([FindingId(4)]);
    let unowned = Some("security".into());
    Remarks { disagree: true, overlapping: true, unowned, related, why: "because".into() }
}

fn carried(fate: Fate) -> CarriedFinding {
    let entry = Entry {
        by: BTreeSet::from([Source::Reviewer(Reviewer::new("alpha"))]),
        claim: claim(),
        words: vec![words()],
        remarks: remarks(),
        severity: Severity::Suggestion,
        fate,
        first_round: 2,
        builders: false,
        region: Some("r".into()),
        fixer: Some(Builder::new("fixer")),
        reply: Some(Reply::CannotFix("no".into())),
        no_proof: Some("it names nothing".into()),
        survived_touched: 1,
        survived_untouched: 2,
        reopened: 3,
        ordered: true,
        referred: Some(Reviewer::new("owner")),
        contested: true,
        heard_referral: true,
        heard_contest: true,
        flipped: true,
    };
    CarriedFinding { id: FindingId(9), entry }
}

fn answer(verdict: Verdict) -> Answer {
    let said = [
        Said::Resolved,
        Said::StillThere,
        Said::NotAnIssue("why".into()),
        Said::Shown("a.rs:3".into()),
        Said::NoProof("why".into()),
    ];
    Answer {
        verdict,
        fundamental: true,
        raised: vec![claim(), Claim::new(Severity::Suggestion, "plain")],
        said: said.into_iter().zip(1..).map(|(word, id)| (FindingId(id), word)).collect(),
        checked: "all".into(),
        intent: Some("to ship".into()),
        refused: Some(Refused { lack: Lack::NothingSeen, matter: Matter::Plan, line: "read task 1".into() }),
        intent_satisfied: Some(false),
        unread: vec![UnreadPart { text: "| a | b |".into(), why: "a row of a table".into() }],
        settled: [(1, "only names".to_owned())].into(),
        wordless: verdict == Verdict::Approve,
    }
}

fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::Passed,
        Outcome::PassedWithWarnings,
        Outcome::Accepted("ada".into()),
        Outcome::Exhausted,
        Outcome::Stale,
        Outcome::Stuck,
        Outcome::Failed,
        Outcome::Cancelled,
    ]
}

fn failures() -> Vec<Failure> {
    [
        FailureKind::Crashed,
        FailureKind::TimedOut,
        FailureKind::Garbled,
        FailureKind::Empty,
        FailureKind::Quota,
        FailureKind::DidNotRun,
        FailureKind::Tampered,
        FailureKind::Unproven,
        FailureKind::NotDone,
        FailureKind::Unchanged,
        FailureKind::Truncated,
        FailureKind::RateLimited,
        FailureKind::Overloaded,
        FailureKind::Auth,
        FailureKind::TooLong,
        FailureKind::TurnCap,
        FailureKind::Stalled,
        FailureKind::PromptWait,
        FailureKind::Refused,
        FailureKind::Budget,
        FailureKind::Setup,
    ]
    .into_iter()
    .flat_map(|kind| [Failure::new(kind, ""), Failure::new(kind, "text")])
    .collect()
}

fn whys(id: FindingId) -> Vec<Why> {
    let stretch = Stretch { from: 1, to: 3, open_before: 2, open_after: 3, resolved: 4, broken: 5, late: 6 };
    vec![
        Why::NoQuorum,
        Why::ChecksDidNotRun,
        Why::Exhausted,
        Why::Stale,
        Why::Approval,
        Why::Escalated(Pattern::Contested(id)),
        Why::Escalated(Pattern::Fundamental),
        Why::Escalated(Pattern::NotTheBuilders(id)),
        Why::Escalated(Pattern::Region("r".into())),
        Why::Escalated(Pattern::SurvivedTouched(id)),
        Why::Escalated(Pattern::SurvivedUntouched(id)),
        Why::Escalated(Pattern::Turnover(stretch.clone())),
        Why::Escalated(Pattern::Churn(stretch.clone())),
        Why::Escalated(Pattern::SlowChurn(stretch.clone())),
        Why::Escalated(Pattern::Growth(stretch)),
    ]
}

/// The events of a loop that have one shape each.
fn single_loop_events(revision: &Revision, id: FindingId) -> Vec<LoopEvent> {
    vec![
        LoopEvent::Cleared { effect: effect(Step::Land) },
        LoopEvent::Iterated { effect: effect(Step::Join), revision: revision.clone() },
        LoopEvent::Made {
            effect: EffectId { n: Try::default(), launch: 0, ..effect(Step::Join) },
            revision: revision.clone(),
            replies: BTreeMap::from([
                (id, Reply::Fixed),
                (FindingId(2), Reply::Refuted("no".into())),
                (FindingId(3), Reply::Unseen("it did not run".into())),
            ]),
        },
        LoopEvent::Joined { effect: effect(Step::Join), revision: revision.clone() },
        LoopEvent::RoundBegan { round: 3, revision: revision.clone() },
        LoopEvent::Checked { effect: effect(Step::Join), checked: Checked { findings: vec![claim()] } },
        LoopEvent::Unchecked { effect: effect(Step::Join), why: "no such program".into() },
        LoopEvent::PanelAssembled { reviewers: vec![Reviewer::new("alpha")] },
        LoopEvent::PanelClosed,
        LoopEvent::Tracked {
            findings: fates().into_iter().map(tracked).collect(),
            delta: Delta {
                resolved: 1,
                new: 2,
                unchanged: 3,
                downgraded: 4,
                upgraded: 5,
                ..Delta::default()
            },
        },
        LoopEvent::Heard { effect: effect(Step::Hear(id)), finding: id, upheld: true, reason: "so".into() },
        LoopEvent::Confirming,
        LoopEvent::ReworkOrdered {
            fixers: vec![
                FixAssignment { builder: Builder::new("a"), findings: vec![id], after: None },
                FixAssignment {
                    builder: Builder::new("b"),
                    findings: vec![],
                    after: Some(Builder::new("a")),
                },
            ],
        },
    ]
}

#[expect(clippy::too_many_lines, reason = "a list: one entry for each kind of event")]
fn loop_events() -> Vec<LoopEvent> {
    let revision = Revision::new("r1");
    let id = FindingId(1);
    let mut all = single_loop_events(&revision, id);
    for opening in [
        Opening::Make { rounds: Some(2), open: vec![carried(Fate::Open)] },
        Opening::Make { rounds: None, open: vec![] },
        Opening::Judge {
            revision: revision.clone(),
            open: fates().into_iter().map(carried).collect(),
            since: None,
        },
    ] {
        for of in [Use::Plan, Use::Task, Use::Qa, Use::Phase, Use::Chain] {
            let (id, policy) = (LoopId::new("l"), Policy::of(of));
            let opened = Opened { id, policy, opening: opening.clone(), at: Time(5) };
            all.push(LoopEvent::Opened(Box::new(opened)));
        }
    }
    all.extend(steps().into_iter().map(|s| LoopEvent::Intended { effect: effect(s), due: Some(Time(9)) }));
    all.push(LoopEvent::Intended { effect: effect(Step::Land), due: None });
    all.extend(
        failures().into_iter().map(|failure| LoopEvent::Failed { effect: effect(Step::Join), failure }),
    );
    for verdict in [Verdict::Approve, Verdict::Conditional, Verdict::Reject] {
        let (effect, answer, shown) = (effect(Step::Join), answer(verdict), Shown::whole(3));
        let part = Some(Box::new(answer.clone()));
        all.push(LoopEvent::PartAnswered { effect: effect.clone(), answer: answer.clone(), shown });
        all.push(LoopEvent::NotCovered { effect: effect.clone(), answer: answer.clone(), shown });
        all.push(LoopEvent::VerdictKept { effect: effect.clone(), shown });
        all.push(LoopEvent::TooLarge { effect: effect.clone(), shown });
        all.push(LoopEvent::Answered { effect: effect.clone(), answer: answer.clone(), shown, part });
        all.push(LoopEvent::Answered { effect, answer, shown, part: None });
    }
    for why in [
        Unusable::Incomplete,
        Unusable::Bare,
        Unusable::Groundless,
        Unusable::Unread,
        Unusable::Flipped,
        Unusable::Unsettled,
        Unusable::Wordless,
    ] {
        let reviewer = Reviewer::new("alpha");
        all.push(LoopEvent::AskedAgain { reviewer: reviewer.clone(), why, answer: None });
        all.push(LoopEvent::AskedAgain { reviewer, why, answer: Some(answer(Verdict::Reject)) });
    }
    for ruling in [
        Ruling::Pass { checks_only: true },
        Ruling::PassWithWarnings { carried: vec![id], checks_only: false },
        Ruling::Rework { must: vec![id] },
        Ruling::NoQuorum,
    ] {
        all.push(LoopEvent::Ruled { ruling });
    }
    for why in whys(id) {
        all.push(LoopEvent::Asked(Question { why: why.clone(), revision: None, not_shown: Vec::new() }));
        let not_shown = vec![NotShown {
            reviewer: Reviewer::new("alpha"),
            shown: Shown { parts: 9, hunks: 2, of: 7, ..Shown::default() },
            limit: Some(3),
        }];
        all.push(LoopEvent::Asked(Question { why, revision: Some(revision.clone()), not_shown }));
    }
    for choice in
        [Choice::Again(2), Choice::Fixed(revision.clone()), Choice::Reask, Choice::Accept, Choice::Stop]
    {
        for note in ["", "because"] {
            let choice = choice.clone();
            all.push(LoopEvent::Decided(Decision { by: "ada".into(), choice, note: note.into() }));
        }
    }
    for outcome in outcomes() {
        all.push(LoopEvent::Ended { outcome: outcome.clone(), revision: None });
        all.push(LoopEvent::Ended { outcome, revision: Some(revision.clone()) });
    }
    all
}

#[expect(clippy::too_many_lines, reason = "a list: one entry for each kind of event")]
fn run_events() -> Vec<RunEvent> {
    let revision = Revision::new("r1");
    let plan = PlanId::new("01-02");
    let land = effect(Step::Land);
    let mut all = vec![
        RunEvent::Opened(Box::new(crate::specs::spec(&mut Rng::new(3)))),
        RunEvent::Intended { effect: land.clone(), due: None },
        RunEvent::Cleared { effect: land.clone() },
        RunEvent::GateDecided { open: true },
        RunEvent::WaveOpened { wave: 2 },
        RunEvent::LaneOpened { plan: plan.clone() },
        RunEvent::PlanDropped { plan: plan.clone(), by: "ada".into() },
        RunEvent::Summarised { effect: land.clone(), revision: revision.clone() },
        RunEvent::Landed { effect: land.clone(), revision: revision.clone(), tip: Revision::new("t") },
        RunEvent::Iterated { plan: plan.clone(), n: 3 },
        RunEvent::CheckpointDue { plans: vec![plan.clone()] },
        RunEvent::Checkpointed { effect: land.clone(), feedback: None },
        RunEvent::Checkpointed { effect: land.clone(), feedback: Some("go on".into()) },
        RunEvent::ReviewOpened,
        RunEvent::FinishOrdered,
        RunEvent::Finished { effect: land.clone(), note: "done".into() },
        RunEvent::Rebased { effect: land.clone(), onto: revision.clone() },
        RunEvent::CarryOpened,
        RunEvent::Carried { effect: land.clone(), tip: revision.clone() },
        RunEvent::JudgeAgain { effect: land.clone(), revision: revision.clone() },
    ];
    let names = || vec!["a".to_owned(), "b c".to_owned()];
    for held in [
        Held::Moved,
        Held::Gone,
        Held::Elsewhere("there".into()),
        Held::Busy("merge".into()),
        Held::Dirty(names()),
        Held::InTheWay(names()),
        Held::Filtered(names()),
        Held::Conflict(names()),
        Held::Undone(names()),
        Held::Failed("no room".into()),
        Held::Ordered,
    ] {
        all.push(RunEvent::Held { effect: land.clone(), held, goes_on: false });
    }
    all.push(RunEvent::Held { effect: land.clone(), held: Held::Moved, goes_on: true });
    all.push(RunEvent::Withheld);
    for choice in [HeldChoice::Land, HeldChoice::Again(2), HeldChoice::Stop] {
        let decision = HeldDecision { by: "ada".into(), choice, note: "n".into() };
        all.push(RunEvent::HeldDecided(decision));
    }
    for outcome in outcomes() {
        let open = vec![carried(Fate::Unresolved)];
        all.push(RunEvent::LoopEnded { effect: land.clone(), outcome, revision: None, open });
    }
    for refusal in [Refusal::Conflict, Refusal::RedCheck, Refusal::JudgeAgain(revision.clone())] {
        let findings = vec![carried(Fate::Open)];
        all.push(RunEvent::LandingRefused { effect: land.clone(), refusal, findings });
    }
    for was in
        [Was::Loop(Job::Task(2)), Was::Loop(Job::Repair), Was::Loop(Job::Qa), Was::Summary, Was::Landing]
    {
        let (outcome, open) = (Outcome::Accepted("ada".into()), vec![carried(Fate::Open)]);
        let stuck = Stuck { was, outcome, revision: Some(revision.clone()), open };
        all.push(RunEvent::LaneAsked { plan: plan.clone(), stuck });
    }
    for choice in [
        LaneChoice::Retry(1),
        LaneChoice::Fixed(revision.clone()),
        LaneChoice::Reask,
        LaneChoice::Accept,
        LaneChoice::Drop,
        LaneChoice::Stop,
    ] {
        let decision = LaneDecision { by: "ada".into(), choice, note: "n".into() };
        all.push(RunEvent::LaneDecided { plan: plan.clone(), decision });
    }
    all.extend(failures().into_iter().map(|failure| RunEvent::Failed { effect: land.clone(), failure }));
    for ending in [Ending::Passed, Ending::Shut, Ending::Stopped, Ending::Cancelled] {
        all.extend([RunEvent::Closing { ending }, RunEvent::Ended { ending }]);
    }
    all
}

/// Written and read back, every event is the same, and each is an object or word that begins with its name.
#[test]
fn every_event_is_read_as_written() {
    for event in loop_events() {
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<LoopEvent>(&line).unwrap(), event, "{line}");
        assert_eq!(name(&line), event.name(), "{line}");
    }
    for event in run_events() {
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<RunEvent>(&line).unwrap(), event, "{line}");
        assert_eq!(name(&line), event.name(), "{line}");
    }
    let names = |all: &[&'static str]| all.iter().collect::<BTreeSet<_>>().len();
    assert_eq!(names(&loop_events().iter().map(LoopEvent::name).collect::<Vec<_>>()), 26);
    assert_eq!(names(&run_events().iter().map(RunEvent::name).collect::<Vec<_>>()), 29);
}

/// Ids in JSON: effects by value, finding ids as text and as keys.
#[test]
fn ids_in_json() {
    for step in steps() {
        for id in [effect(step.clone()), EffectId { n: Try::default(), launch: 0, ..effect(step.clone()) }] {
            let text = serde_json::to_string(&id).unwrap();
            assert_eq!(serde_json::from_str::<EffectId>(&text).unwrap(), id, "{text}");
        }
    }
    let first = EffectId { n: Try::default(), launch: 0, ..effect(Step::Track) };
    let text = serde_json::to_string(&first).unwrap();
    assert_eq!(text, r#"{"of":"01-02/task-1.3","entry":7,"step":"track"}"#);
    let said = BTreeMap::from([(FindingId(12), Said::Resolved)]);
    let text = serde_json::to_string(&said).unwrap();
    assert_eq!(text, r#"{"F-12":"resolved"}"#);
    assert_eq!(serde_json::from_str::<BTreeMap<FindingId, Said>>(&text).unwrap(), said);
    assert!(serde_json::from_str::<FindingId>("\"F-\"").is_err());
    for (text, expected) in
        [("F-12", Some(12)), ("f12", Some(12)), (" 12 ", Some(12)), ("F-", None), ("x1", None)]
    {
        assert_eq!(FindingId::parse(text), expected.map(FindingId), "{text}");
    }
}

/// Every event that follows from a loop's state alone, with every reason and outcome.
fn loop_consequences(round: u32, revision: &Revision) -> Vec<LoopEvent> {
    let id = FindingId(1);
    let mut all = vec![
        LoopEvent::RoundBegan { round: round + 1, revision: revision.clone() },
        LoopEvent::PanelAssembled { reviewers: Vec::new() },
        LoopEvent::PanelClosed,
        LoopEvent::Ruled { ruling: Ruling::Pass { checks_only: false } },
        LoopEvent::Confirming,
        LoopEvent::ReworkOrdered { fixers: Vec::new() },
    ];
    for reviewer in ["alpha", "beta", "gamma"] {
        let (reviewer, why) = (Reviewer::new(reviewer), Unusable::Groundless);
        all.push(LoopEvent::AskedAgain { reviewer, why, answer: None });
    }
    let pattern = Pattern::Contested(id);
    for why in [
        Why::NoQuorum,
        Why::ChecksDidNotRun,
        Why::Exhausted,
        Why::Stale,
        Why::Approval,
        Why::Escalated(pattern),
    ] {
        all.push(LoopEvent::Asked(Question { why, revision: None, not_shown: Vec::new() }));
    }
    let ends = outcomes().into_iter().filter(|outcome| *outcome != Outcome::Cancelled);
    all.extend(ends.map(|outcome| LoopEvent::Ended { outcome, revision: None }));
    all
}

/// What may stand where the machine itself says `next`: another rule may have been in force when it was written,
/// but not another state.
fn loop_may(next: &LoopEvent, forged: &LoopEvent, confirming: bool) -> bool {
    let name = forged.name();
    let escalates = |why: &Why| matches!(why, Why::Exhausted | Why::Stale | Why::Escalated(_));
    match (next, forged) {
        (LoopEvent::Confirming, LoopEvent::Ended { outcome, .. }) => outcome.is_good(),
        (LoopEvent::Confirming, LoopEvent::Asked(question)) => question.why == Why::Approval,
        (LoopEvent::Asked(is), LoopEvent::Confirming) => is.why == Why::Approval && !confirming,
        (LoopEvent::Ended { outcome, .. }, LoopEvent::Confirming) => {
            !confirming && matches!(outcome, Outcome::Passed | Outcome::PassedWithWarnings)
        }
        (LoopEvent::Ended { outcome: is, .. }, LoopEvent::Ended { outcome, .. }) => {
            let stops = [Outcome::Stale, Outcome::Exhausted];
            is == outcome || (stops.contains(is) && stops.contains(outcome))
        }
        (LoopEvent::Asked(is), LoopEvent::Asked(question)) => {
            is.why == question.why || (escalates(&is.why) && escalates(&question.why))
        }
        (LoopEvent::ExhaustiveOrdered { .. }, LoopEvent::ReworkOrdered { .. }) => true,
        (
            LoopEvent::ReworkOrdered { .. } | LoopEvent::ExhaustiveOrdered { .. },
            LoopEvent::Asked(question),
        ) => escalates(&question.why),
        (LoopEvent::Ended { outcome, .. }, LoopEvent::Asked(question)) => {
            matches!(outcome, Outcome::Stale | Outcome::Exhausted) && escalates(&question.why)
        }
        (
            LoopEvent::ReworkOrdered { .. } | LoopEvent::ExhaustiveOrdered { .. } | LoopEvent::Asked(_),
            LoopEvent::Ended { outcome, .. },
        ) => {
            matches!(outcome, Outcome::Stale | Outcome::Exhausted)
        }
        (LoopEvent::Asked(is), LoopEvent::ReworkOrdered { .. }) => escalates(&is.why),
        (
            LoopEvent::Ended { outcome, .. },
            LoopEvent::ReworkOrdered { .. } | LoopEvent::RoundBegan { .. },
        ) => {
            matches!(outcome, Outcome::Stale | Outcome::Exhausted)
        }
        (LoopEvent::Asked(is), LoopEvent::RoundBegan { .. }) => is.why == Why::Stale,
        (LoopEvent::RoundBegan { .. }, LoopEvent::Asked(question)) => question.why == Why::Stale,
        (LoopEvent::RoundBegan { .. }, LoopEvent::Ended { outcome, .. }) => *outcome == Outcome::Stale,
        // A reviewer without grounds may be asked again, or what it said be ruled on.
        (LoopEvent::AskedAgain { .. } | LoopEvent::Ruled { .. }, _) => {
            matches!(name, "asked_again" | "ruled")
        }
        (next, _) => next.name() == name,
    }
}

/// A machine at rest takes no consequence, and one on its way only one that can follow its state.
#[test]
fn forged_consequences_of_a_loop() {
    for seed in 1..=25 {
        let log = loop_journal(seed, &mut Book::default());
        let mut machine = loops::fold(&log[..1]).unwrap();
        for line in &log[1..] {
            let revision = machine.revision().cloned().unwrap_or_else(|| Revision::new("r0"));
            for forged in loop_consequences(machine.round(), &revision) {
                let accepted = machine.clone().apply(&forged).is_ok();
                let next = machine.settle();
                let may = next.as_ref().is_some_and(|next| loop_may(next, &forged, machine.is_confirming()));
                assert!(may || !accepted, "seed {seed}: {forged:?} where {next:?} follows");
            }
            machine.apply(&serde_json::from_str(line).unwrap()).unwrap();
        }
    }
}

/// The same for a run.
#[test]
fn forged_consequences_of_a_run() {
    for seed in 1..=25 {
        let log = run_journal(seed, &mut Book::default());
        let mut machine = runs::fold(&log[..1]).unwrap();
        for line in &log[1..] {
            let next = machine.settle();
            for forged in run_consequences(&machine) {
                let accepted = machine.clone().apply(&forged).is_ok();
                // In a run that builds, several things may follow at once, in any order.
                let name = |event: &RunEvent| match event {
                    RunEvent::LaneOpened { .. }
                    | RunEvent::WaveOpened { .. }
                    | RunEvent::LaneAsked { .. } => "builds",
                    RunEvent::CheckpointDue { .. } | RunEvent::PlanDropped { .. } => "builds",
                    RunEvent::ReviewOpened | RunEvent::CarryOpened | RunEvent::Closing { .. } => "built",
                    event => event.name(),
                };
                let may = next.as_ref().is_some_and(|next| {
                    // Where nothing of the last waves is to be built, opening them is a formality.
                    let formal = next.name() == "wave_opened" && name(&forged) == "built";
                    formal || name(next) == name(&forged)
                });
                assert!(may || !accepted, "seed {seed}: {forged:?} where {next:?} follows");
            }
            machine.apply(&serde_json::from_str(line).unwrap()).unwrap();
        }
    }
}

fn run_consequences(machine: &tribunal_core::run::Run) -> Vec<RunEvent> {
    let mut all = vec![RunEvent::ReviewOpened, RunEvent::CarryOpened, RunEvent::FinishOrdered];
    all.extend([true, false].map(|open| RunEvent::GateDecided { open }));
    all.extend((0..4).map(|wave| RunEvent::WaveOpened { wave }));
    all.extend([Ending::Passed, Ending::Shut, Ending::Stopped].map(|ending| RunEvent::Closing { ending }));
    all.extend(
        [Ending::Passed, Ending::Shut, Ending::Stopped, Ending::Cancelled]
            .map(|ending| RunEvent::Ended { ending }),
    );
    for spec in &machine.spec().plans {
        let plan = spec.id.clone();
        let stuck = Stuck { was: Was::Landing, outcome: Outcome::Failed, revision: None, open: Vec::new() };
        all.extend([
            RunEvent::LaneOpened { plan: plan.clone() },
            RunEvent::LaneAsked { plan: plan.clone(), stuck },
            RunEvent::CheckpointDue { plans: vec![plan] },
        ]);
    }
    all
}
