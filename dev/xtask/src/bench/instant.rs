//! A world without git, agents or time: every effect is done at once, and every task needs two rounds. It writes journals
//! of any length in which everything happened as in a real run.

use std::collections::BTreeSet;
use tribunal_core::cover::Shown;
use tribunal_core::effect::{EffectId, FinishStep};
use tribunal_core::finding::{Answer, Claim, Fate, Reply, Said, Severity, Source, Verdict};
use tribunal_core::ids::{FindingId, LoopId, PlanId, Reviewer, Revision, Time};
use tribunal_core::ledger::{Delta, Mark, Tracked};
use tribunal_core::policy::{Policy, Situation, Staff, Use};
use tribunal_core::review_loop::{Checked, Loop, LoopReport, LoopWant};
use tribunal_core::run::{Land, PlanSpec, Policies, RunReport, RunSpec, RunWant, Subject};
use tribunal_core::words::Remarks;
use tribunal_engine::run_state::LaunchNote;
use tribunal_engine::{Arrival, Assignment, Note, Probe, Report, RunState, Want, World};

/// Does everything at once.
#[derive(Default)]
pub struct Instant {
    arrivals: Vec<Arrival>,
    clock: u64,
}

/// A run with so many plans and tasks, each judged by two reviewers.
pub fn spec(plans: usize, tasks: u32) -> RunSpec {
    let plan = |n: usize| PlanSpec {
        id: PlanId::new(format!("01-{n:04}")),
        wave: 1,
        depends_on: Vec::new(),
        after: Vec::new(),
        tasks,
        revision: Revision::new(format!("document-{n:016x}")),
        done: None,
    };
    let row = |of: Use| Policy {
        reviewers: ["correctness", "tests"].map(Reviewer::new).to_vec(),
        rounds_max: 4,
        ..Policy::of(of)
    };
    RunSpec {
        plans: (1..=plans).map(plan).collect(),
        gate: None,
        land: Land::Each,
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
        policies: Policies {
            plan: row(Use::Plan),
            task: row(Use::Task),
            repair: row(Use::Task),
            qa: row(Use::Qa),
            phase: row(Use::Phase),
        },
        finish: vec![FinishStep::Boundary, FinishStep::Forward],
        step_timeout_ms: 600_000,
    }
}

impl Instant {
    fn work(&self, want: &LoopWant, review_loop: &Loop) -> Option<LoopReport> {
        Some(match want {
            LoopWant::Make { findings, .. } => LoopReport::Made {
                revision: Revision::new(format!("{:024x}", self.clock)),
                done: true,
                replies: findings.iter().map(|id| (*id, Reply::Fixed)).collect(),
            },
            LoopWant::Judge { put, .. } => LoopReport::Judged {
                answer: Box::new(judged(review_loop, put)),
                shown: Shown::whole(1),
                put: put.clone(),
            },
            LoopWant::Check { .. } => LoopReport::Checked(Checked { findings: Vec::new() }),
            LoopWant::Track { .. } => tracked(review_loop),
            LoopWant::Join { .. } | LoopWant::Hear { .. } | LoopWant::Ask(_) | LoopWant::Wake { .. } => {
                return None;
            }
        })
    }

    fn step(&self, want: &RunWant) -> Option<RunReport> {
        Some(match want {
            RunWant::Summary { revision, .. } => RunReport::Summarised { revision: revision.clone() },
            RunWant::Land { .. } => RunReport::Landed { tip: Revision::new(format!("tip-{}", self.clock)) },
            RunWant::Finish { .. } => RunReport::Finished { note: "done".to_owned() },
            RunWant::Loop { .. }
            | RunWant::Checkpoint { .. }
            | RunWant::AskLane { .. }
            | RunWant::AskHeld { .. }
            | RunWant::Rebase
            | RunWant::Carry { .. }
            | RunWant::Wake { .. } => return None,
        })
    }
}

/// The first round finds three things, the second finds them fixed.
fn judged(review_loop: &Loop, put: &[FindingId]) -> Answer {
    let raised: Vec<Claim> =
        if review_loop.round() == 1 { (1..=3).map(|n| claim(review_loop, n)).collect() } else { Vec::new() };
    Answer {
        verdict: if raised.is_empty() { Verdict::Approve } else { Verdict::Reject },
        fundamental: false,
        raised,
        said: put.iter().map(|id| (*id, Said::Resolved)).collect(),
        checked: "read the change, ran the tests by hand and looked at every caller".to_owned(),
        intent: None,
        refused: None,
        intent_satisfied: None,
        unread: Vec::new(),
        settled: std::collections::BTreeMap::new(),
        wordless: false,
    }
}

fn claim(review_loop: &Loop, n: u32) -> Claim {
    let mut claim = Claim::new(
        Severity::Warning,
        format!("{}: the {n}. caller does not handle an error", review_loop.id()),
    );
    claim.file = Some(format!("src/module_{n}/service.rs"));
    claim.line = Some(40 * n);
    claim.end = Some(40 * n + 3);
    claim.details =
        "The error is dropped here, so that whoever called sees success where there was none.".to_owned();
    claim.suggestion = "Return the error with the path in its text.".to_owned();
    claim.confidence_stated = true;
    claim
}

fn tracked(review_loop: &Loop) -> LoopReport {
    let Some(review_round) = review_loop.review_round() else {
        return LoopReport::Tracked { findings: Vec::new(), delta: Delta::default() };
    };
    let by = |reviewer: &Reviewer| BTreeSet::from([Source::Reviewer(reviewer.clone())]);
    let raised = review_round.answers().flat_map(|(reviewer, answer)| {
        answer
            .raised
            .iter()
            .map(move |claim| row(FindingId(0), by(reviewer), claim.clone(), Fate::Open, Mark::New))
    });
    let fixed = review_loop
        .ledger()
        .open()
        .filter(|_| review_loop.round() > 1)
        .map(|(id, entry)| row(id, entry.by.clone(), entry.claim.clone(), Fate::Fixed, Mark::Persistent));
    let findings: Vec<Tracked> = raised.chain(fixed).collect();
    let resolved = findings.iter().filter(|tracked| tracked.fate == Fate::Fixed).count();
    let delta = Delta { resolved: u32::try_from(resolved).unwrap_or(0), ..Delta::default() };
    LoopReport::Tracked { findings, delta }
}

fn row(id: FindingId, by: BTreeSet<Source>, claim: Claim, fate: Fate, mark: Mark) -> Tracked {
    Tracked {
        id,
        says: by.first().cloned().filter(|_| mark == Mark::New),
        by,
        severity: claim.severity,
        claim,
        fate,
        words: Vec::new(),
        remarks: Remarks::default(),
        referred: None,
        contested: false,
        mark,
        builders: true,
        touched: mark == Mark::Persistent,
        region: None,
        fixer: None,
    }
}

fn note(effect: &EffectId, ms: u64) -> Note {
    Note::Launch(Box::new(LaunchNote {
        effect: effect.to_string(),
        role: "dev".to_owned(),
        agent: "scripted".to_owned(),
        ms,
        tokens_in: 5_200,
        tokens_out: 340,
        cost_micros: 31_000,
        summary: "the error is returned, and a test shows it".to_owned(),
        ..LaunchNote::default()
    }))
}

impl World for Instant {
    fn now(&mut self) -> Time {
        self.clock += 1;
        Time(1_700_000_000_000 + self.clock)
    }

    fn situation(&mut self, _subject: &Subject, _run_state: &RunState) -> Situation {
        Situation {
            switched_off: ["project-tests".to_owned()].into(),
            staff: Staff { everybody: true, ..Staff::default() },
            ..Situation::default()
        }
    }

    fn recover(&mut self, _run_state: &RunState) -> Vec<Note> {
        Vec::new()
    }

    fn probe(&mut self, _assignment: Assignment<'_>) -> Probe {
        Probe::NotDone
    }

    fn start(&mut self, assignment: Assignment<'_>) {
        self.clock += 1;
        let Assignment { effect, want, run_state } = assignment;
        let report = match want {
            Want::Loop(want) => {
                let review_loop = run_state.loops.get(&LoopId::new(effect.of.as_str()));
                review_loop.and_then(|review_loop| self.work(want, review_loop)).map(Report::Loop)
            }
            Want::Run(want) => self.step(want).map(Report::Run),
        };
        let notes = if effect.step.is_agent() { vec![note(effect, self.clock)] } else { Vec::new() };
        let effect = effect.clone();
        self.arrivals.extend(report.map(|report| Arrival::Report { effect, report, notes }));
    }

    fn stop(&mut self, _effect: &EffectId) {}

    fn next(&mut self, _until: Option<Time>) -> Vec<Arrival> {
        std::mem::take(&mut self.arrivals)
    }

    fn end_agents(&mut self) -> Vec<Note> {
        Vec::new()
    }

    fn shutdown(&mut self) {}
}
