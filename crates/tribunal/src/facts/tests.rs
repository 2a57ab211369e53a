//! A small journal, written and read back: what status, show and log make of it.

use super::*;
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, Step, Try};
use tribunal_core::finding::{Answer, Claim, Fate, Severity, Source, Verdict};
use tribunal_core::ids::{Of, Reviewer, Revision, Time};
use tribunal_core::ledger::{Delta, Mark, Tracked};
use tribunal_core::machine::{self, Machine};
use tribunal_core::policy::{Policy, Use};
use tribunal_core::review_loop::{LoopEvent, LoopIn, LoopReport, Opened, Opening};
use tribunal_core::run::{Land, PlanGate, PlanSpec, Policies, RunSpec};
use tribunal_core::words::Remarks;
use tribunal_engine::history::History;
use tribunal_engine::run_state::{LaunchNote, RunNote};
use tribunal_engine::{RunStateError, Stamped};
use tribunal_journal::{Head, Journal, NewRow, Reader, Turn};
use tribunal_view::log;
use tribunal_view::style::Style;

fn spec() -> RunSpec {
    let policies = Policies {
        plan: Policy { reviewers: vec![Reviewer::new("reviewer")], rounds_max: 1, ..Policy::of(Use::Plan) },
        task: Policy::of(Use::Task),
        repair: Policy::of(Use::Task),
        qa: Policy::of(Use::Qa),
        phase: Policy::of(Use::Phase),
    };
    let plan = |id: &str, wave| PlanSpec {
        id: PlanId::new(id),
        wave,
        depends_on: Vec::new(),
        after: Vec::new(),
        tasks: 1,
        revision: Revision::new("r0"),
        done: None,
    };
    RunSpec {
        plans: vec![plan("01-01", 1), plan("01-02", 2)],
        gate: Some(PlanGate::Each),
        land: Land::Group,
        qa: false,
        bare: false,
        hold: false,
        review: false,
        polish: None,
        exists: None,
        chain: None,
        land_again: false,
        checkpoint_every: None,
        landing_rounds: 2,
        attempts_max: 2,
        policies,
        finish: Vec::new(),
        step_timeout_ms: 1_000,
    }
}

fn about() -> Note {
    Note::Run(Box::new(RunNote {
        phase: "01".to_owned(),
        branch: "main".to_owned(),
        base: "b0".to_owned(),
        phase_path: ".planning/phases/01-first-steps".to_owned(),
        titles: [("01-01".into(), "Read \u{1b}[31mit".to_owned()), ("01-02".into(), "Print it".to_owned())]
            .into(),
        containment: "namespace".to_owned(),
        ..RunNote::default()
    }))
}

fn launch(effect: &EffectId) -> Note {
    Note::Launch(Box::new(LaunchNote {
        effect: effect.to_string(),
        role: "reviewer".to_owned(),
        agent: "scripted".to_owned(),
        ms: 1_500,
        tokens_in: 1_000,
        tokens_out: 50,
        cost_micros: 20_000,
        discovered: vec!["the README\nis short".to_owned(), "the README is short".to_owned()],
        ..LaunchNote::default()
    }))
}

/// A plan whose only round is rejected, so that the phase stops.
pub fn facts() -> Vec<Vec<Fact>> {
    let mut run = Run::open(&spec());
    let mut first = vec![Fact::Run(RunEvent::Opened(Box::new(spec())))];
    first.extend(machine::settle(&mut run).unwrap().into_iter().map(Fact::Run));
    first.push(Fact::Note(about()));
    let id = LoopId::new("01-01/plan.1");
    let opening = Opening::Judge { revision: Revision::new("r0"), open: Vec::new(), since: None };
    let opened = Opened { id: id.clone(), policy: spec().policies.plan, opening, at: Time(2_000) };
    let mut review_loop = Loop::open(&opened);
    let mut events = vec![LoopEvent::Opened(Box::new(opened))];
    events.extend(machine::settle(&mut review_loop).unwrap());
    let of_loop =
        |events: Vec<LoopEvent>| events.into_iter().map(|event| Fact::Loop(id.clone(), event)).collect();
    let mut turns: Vec<Vec<Fact>> = vec![first, of_loop(events)];

    let judge = review_loop.wants().into_keys().find(|effect| matches!(effect.step, Step::Judge(_))).unwrap();
    let intended =
        machine::turn(&mut review_loop, &LoopIn::Intend { effect: judge.clone(), at: Time(3_000) }).unwrap();
    turns.push(of_loop(intended));
    let claim = Claim::new(Severity::Blocker, "no task reads it").at("PLAN.md", Some(7));
    let answer = Answer {
        verdict: Verdict::Reject,
        fundamental: false,
        raised: vec![claim.clone()],
        said: BTreeMap::new(),
        checked: String::new(),
        intent: None,
        refused: None,
        intent_satisfied: None,
        unread: Vec::new(),
        settled: std::collections::BTreeMap::new(),
        wordless: false,
    };
    let report = LoopReport::Judged { answer: Box::new(answer), shown: Shown::whole(1), put: Vec::new() };
    let answered =
        machine::turn(&mut review_loop, &LoopIn::Report { effect: judge.clone(), at: Time(4_000), report });
    let mut answered: Vec<Fact> = of_loop(answered.unwrap());
    answered.insert(0, Fact::Note(launch(&judge)));
    turns.push(answered);
    let track = review_loop.wants().into_keys().find(|effect| effect.step == Step::Track).unwrap();
    let tracked = Tracked {
        id: FindingId(1),
        by: [Source::Reviewer(Reviewer::new("reviewer"))].into(),
        claim,
        severity: Severity::Blocker,
        fate: Fate::Open,
        says: Some(Source::Reviewer(Reviewer::new("reviewer"))),
        words: Vec::new(),
        remarks: Remarks::default(),
        referred: None,
        contested: false,
        mark: Mark::New,
        builders: true,
        touched: false,
        region: None,
        fixer: None,
    };
    let report = LoopReport::Tracked { findings: vec![tracked], delta: Delta { new: 1, ..Delta::default() } };
    let tracked =
        machine::turn(&mut review_loop, &LoopIn::Report { effect: track, at: Time(5_000), report }).unwrap();
    turns.push(of_loop(tracked));
    turns
}

/// The same facts in a journal on disk.
fn journal(dir: &Path) {
    let head = Head { run_id: "r".to_owned(), product_version: "0".to_owned(), created_at: 1 };
    let mut journal = Journal::create(dir, &head).unwrap();
    for (second, facts) in (1..).zip(facts()) {
        let encoded: Vec<_> = facts.iter().map(|fact| fact.encode().unwrap()).collect();
        let rows: Vec<NewRow<'_>> =
            encoded.iter().map(|(of, kind, body)| NewRow { of, kind, body }).collect();
        journal.append(&[Turn { at: second * 1_000, rows: &rows }]).unwrap();
    }
}

#[test]
fn a_journal_is_read_for_people() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("r");
    journal(&run);
    let reader = Reader::open(&run).unwrap();
    let story = History::read(&reader).unwrap();
    let around = Around { id: "r".to_owned(), ..Around::default() };
    let view = run_view(&story.run_state, &story.chronicle, &around);
    insta::assert_snapshot!(serde_json::to_string_pretty(&view).unwrap());
    assert_eq!(story.run_state, RunState::read(&reader).unwrap());

    let mut lines = Vec::new();
    let read = reader.each(1, |row| {
        let fact = Fact::decode(&row)?;
        let event = event("r", row.seq, row.at, &fact);
        lines.extend(event.map(|event| log::line(&event, 1_000, Style::PLAIN)));
        Ok::<(), RunStateError>(())
    });
    read.unwrap();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Watching live and reading afterwards tell the same story.
#[test]
fn live_and_later_agree() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("r");
    journal(&run);
    let story = History::read(&Reader::open(&run).unwrap()).unwrap();
    let mut chronicle = Chronicle::default();
    for (second, facts) in (1..).zip(facts()) {
        let stamp = |fact| Stamped { seq: second, at: Time(second * 1_000), fact };
        chronicle.extend(&facts.into_iter().map(stamp).collect::<Vec<_>>());
    }
    let around = Around::default();
    let live = run_view(&story.run_state, &chronicle, &around);
    assert_eq!(live, run_view(&story.run_state, &story.chronicle, &around));
}

/// What a reviewer says again is not raised again: the words of a round agree with the findings there are.
#[test]
fn a_finding_is_raised_once() {
    let id = LoopId::new("01-01/task-1.1");
    let reviewer = Reviewer::new("reviewer");
    let claim = |text: &str| Claim::new(Severity::Blocker, text).at("a.rs", Some(1));
    let tracked = |n: u32, mark: Mark| Tracked {
        id: FindingId(n),
        by: [Source::Reviewer(reviewer.clone())].into(),
        claim: claim(&format!("fault {n}")),
        severity: Severity::Blocker,
        fate: Fate::Open,
        says: Some(Source::Reviewer(Reviewer::new("reviewer"))),
        words: Vec::new(),
        remarks: Remarks::default(),
        referred: None,
        contested: false,
        mark,
        builders: true,
        touched: false,
        region: None,
        fixer: None,
    };
    let mut chronicle = Chronicle::default();
    let mut round = |number: u32, raised: &[&str], findings: Vec<Tracked>| {
        let step = Step::Judge(reviewer.clone());
        let effect = EffectId { of: Of::new(id.as_str()), entry: number, step, n: Try::default(), launch: 1 };
        let answer = Answer {
            verdict: Verdict::Reject,
            fundamental: false,
            raised: raised.iter().map(|text| claim(text)).collect(),
            said: BTreeMap::new(),
            checked: String::new(),
            intent: None,
            refused: None,
            intent_satisfied: None,
            unread: Vec::new(),
            settled: std::collections::BTreeMap::new(),
            wordless: false,
        };
        for event in [
            LoopEvent::RoundBegan { round: number, revision: Revision::new("r") },
            LoopEvent::Answered { effect, answer, shown: Shown::whole(1), part: None },
            LoopEvent::Tracked { findings, delta: Delta::default() },
        ] {
            chronicle.take(1, &Fact::Loop(id.clone(), event));
        }
        chronicle.rounds[&id].last().unwrap().said.join("; ")
    };
    let (one, two) = (tracked(1, Mark::New), tracked(2, Mark::FixInduced));
    let again = tracked(1, Mark::Persistent);
    assert_eq!(round(1, &["fault 1", "fault 1"], vec![one]), "reviewer: reject, 1 raised");
    assert_eq!(round(2, &["fault 1"], vec![again.clone()]), "reviewer: reject, 0 raised, 1 again");
    assert_eq!(round(3, &["fault 1", "fault 2"], vec![again, two]), "reviewer: reject, 1 raised, 1 again");
}
