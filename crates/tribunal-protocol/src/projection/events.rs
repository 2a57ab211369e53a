//! The journal's facts under the protocol's names.
//!
//! It is a pure fold: the same rows give the same events with the same ids, however often they are read. It must never
//! look at a clock, a file or anything but the rows, because the ids decide what is missing in the log.

use crate::Event;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tribunal_core::effect::{EffectId, Step};
use tribunal_core::finding::{Fate, FixableBy, Severity};
use tribunal_core::gate::GateResult;
use tribunal_core::ids::{LoopId, PlanId, Revision};
use tribunal_core::ledger::{Mark, Tracked};
use tribunal_core::panel::Ruling;
use tribunal_core::policy::Use;
use tribunal_core::review_loop::{Checked, FailureKind, LoopEvent, Outcome};
use tribunal_core::run::{Ending, RunEvent};
use tribunal_engine::run_state::{Fact, GateNote, LaunchNote, Note, RunNote};
use tribunal_engine::tokens::Tokens;
use tribunal_view::calendar::timestamp_with_ms;
use tribunal_view::plain;

/// How many reasons an event names, and how long each may be.
const ERRORS_MAX: usize = 20;
const CLAIM_MAX: usize = 300;

/// What is known about a loop so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// What the loop is for.
    pub of: Option<Use>,
    /// How many rounds it may take.
    pub max: u32,
    /// The current round.
    pub round: u32,
    /// Whether it was sent back at least once.
    pub reworked: bool,
    /// Its checks that failed in this round, and whether a builder can fix each.
    pub failed: BTreeMap<String, bool>,
    /// One entry per ruled round: verdict, findings, and blockers among them.
    pub cycles: Vec<(&'static str, usize, usize)>,
    /// One entry per review of a delivery that did not pass.
    pub deliveries: Vec<Delivered>,
    /// How it ended; none while it runs.
    pub outcome: Option<Outcome>,
    open: usize,
    high: usize,
    /// How many findings its builder cannot fix.
    stops: usize,
    /// The must-fix findings, in words.
    errors: Vec<String>,
    lost: String,
}

/// A review of a delivery that did not pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    /// The checks that failed.
    pub checks: Vec<String>,
    /// How many of them a builder can fix.
    pub dev: usize,
    /// How many findings stop the loop, because no builder can fix them.
    pub stops: usize,
}

/// Folds rows into events.
///
/// It needs the whole journal from its first row, because an event may need what an earlier row said.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    run: String,
    about: Option<RunNote>,
    early: Vec<Event>,
    pub(super) loops: BTreeMap<LoopId, Course>,
    pub(super) steps: Vec<String>,
    launched: u64,
    tokens: Tokens,
}

impl Names {
    /// A fold for the run of this id.
    pub(super) fn new(run: &str) -> Names {
        Names { run: run.to_owned(), ..Names::default() }
    }

    /// The events of one row, in order.
    ///
    /// The id of an event is its row and its place in the row. A reader that folds the same journal again gets the same
    /// ids, so nothing is written twice.
    pub(super) fn take(&mut self, seq: u64, at: u64, fact: &Fact) -> Vec<Event> {
        let said = match fact {
            Fact::Run(event) => self.of_run(event),
            Fact::Loop(id, event) => self.of_loop(id, event),
            Fact::Note(note) => self.of_note(note),
        };
        let events = said.into_iter().enumerate().map(|(n, (name, plan, data))| Event {
            ts: timestamp_with_ms(at),
            event_id: format!("{}:{seq}.{n}", self.run),
            correlation_id: String::new(),
            event: name.to_owned(),
            phase: String::new(),
            plan,
            data,
        });
        self.early.extend(events);
        // The phase is known only after the run's first note. Events before that are kept until then.
        let Some(about) = &self.about else { return Vec::new() };
        // The note comes in the first turn, after the run's first events.
        let mut told = std::mem::take(&mut self.early);
        for event in &mut told {
            event.correlation_id.clone_from(&about.correlation);
            event.phase.clone_from(&about.phase);
        }
        told
    }

    fn care(&self) -> Value {
        let about = self.about.as_ref();
        let word = |pick: fn(&RunNote) -> &String| about.map(pick).cloned().unwrap_or_default();
        json!({ "effort": word(|about| &about.effort), "autonomy": word(|about| &about.autonomy) })
    }

    fn of_note(&mut self, note: &Note) -> Vec<Said> {
        match note {
            Note::Run(about) => self.began(about),
            Note::Resumed => vec![say("phase_resumed", "", json!({}))],
            Note::Launch(launch) => self.ended_launch(launch),
            Note::Gate(gate) => vec![before_task(gate)],
            // The protocol has no names for these.
            Note::Promised { .. }
            | Note::Warning(_)
            | Note::Lost(_)
            | Note::Traced { .. }
            | Note::Editor(_)
            | Note::Ignored { .. }
            | Note::Left { .. }
            | Note::AlreadyThere { .. }
            | Note::Filtered(_)
            | Note::Judge(_)
            | Note::Command(_)
            | Note::OutOfScope(_)
            | Note::Assembled(_)
            | Note::Spent(_)
            | Note::Raised(_) => Vec::new(),
        }
    }

    fn began(&mut self, about: &RunNote) -> Vec<Said> {
        self.about = Some(about.clone());
        self.tokens = Tokens::new(&about.scores);
        let plans: Vec<String> = about.titles.keys().map(ToString::to_string).collect();
        let mut said = vec![say("phase_started", "", join(json!({ "plans": plans }), self.care()))];
        // Where the whole run is turbo, no plan is routed to it.
        let routed = about.turbo.iter().filter(|_| about.effort != "turbo");
        said.extend(routed.map(|plan| {
            let data = json!({ "route": "turbo", "instead_of": about.effort, "risk": "low" });
            say("smart_route", plan.as_str(), data)
        }));
        said
    }

    fn ended_launch(&mut self, launch: &LaunchNote) -> Vec<Said> {
        let of = launch.effect.split_once('/').map_or("", |(plan, _)| plan);
        let role = json!({ "role": launch.role, "agent": launch.agent, "effect": launch.effect });
        let tokens = launch.tokens_in + launch.tokens_out;
        let mut said = Vec::new();
        // A SUMMARY's launch is announced only here, because most summaries are written without an agent.
        if launch.effect.contains("/summary#") {
            self.launched += 1;
            let data = json!({ "role": launch.role, "effect": launch.effect });
            said.push(say("agent_spawn", of, data));
        }
        said.push(say("agent_shutdown", of, join(role.clone(), json!({ "ms": launch.ms }))));
        if tokens > 0 || launch.cost_micros > 0 {
            let spent = json!({
                "tokens": tokens,
                "tokens_in": launch.tokens_in,
                "tokens_out": launch.tokens_out,
                "cost_micros": launch.cost_micros,
            });
            said.push(say("token_usage", of, join(role, spent)));
        }
        said.extend(self.overran(of, launch));
        said
    }

    /// A prompt that was larger than its role's budget lowers what the plan has left. Nothing stops for it.
    fn overran(&mut self, plan: &str, launch: &LaunchNote) -> Vec<Said> {
        let told = self.tokens.told(&launch.role, &PlanId::new(plan), launch.tokens_told);
        let Some(over) = told else { return Vec::new() };
        let capped = json!({ "role": launch.role, "remaining": over.left });
        let over = json!({
            "role": launch.role,
            "effect": launch.effect,
            "tokens": launch.tokens_told,
            "budget": over.budget,
            "budget_source": "task",
        });
        vec![say("token_overage", plan, over), say("token_cap_escalated", plan, capped)]
    }

    fn of_run(&mut self, event: &RunEvent) -> Vec<Said> {
        match event {
            RunEvent::Intended { effect, .. } => self.spawned(effect, None),
            RunEvent::LaneOpened { plan } => vec![say("plan_start", plan.as_str(), json!({}))],
            RunEvent::Summarised { effect, .. } => {
                vec![say("artifact_written", effect.of.as_str(), json!({ "artifact": "SUMMARY.md" }))]
            }
            RunEvent::Landed { effect, tip, .. } => {
                let data = json!({ "status": "complete", "tip": tip.as_str() });
                vec![say("plan_end", effect.of.as_str(), data)]
            }
            RunEvent::LandingRefused { effect, findings, .. } => {
                let data = json!({ "findings": findings.len() });
                vec![say("landing_refused", effect.of.as_str(), data)]
            }
            RunEvent::PlanDropped { plan, by } => {
                vec![say("plan_dropped", plan.as_str(), json!({ "by": by }))]
            }
            RunEvent::LaneAsked { plan, .. } => {
                let data = json!({ "owner": "person", "next_action": format!("tribunal decide {plan}") });
                vec![say("task_blocked", plan.as_str(), data)]
            }
            RunEvent::GateDecided { open } => {
                self.steps.push("review_gate".to_owned());
                let name = if *open { "review_gate_opened" } else { "review_gate_shut" };
                vec![say(name, "", json!({}))]
            }
            RunEvent::Checkpointed { effect, .. } => vec![say("checkpoint", effect.of.as_str(), json!({}))],
            RunEvent::Closing { ending } => {
                // Recorded for the execution state, in the protocol's names for the steps of a phase.
                self.steps.push("build".to_owned());
                vec![say("shutdown_sent", "", json!({ "targets": self.launched, "ending": ending.word() }))]
            }
            RunEvent::FinishOrdered => {
                self.steps.push("shutdown".to_owned());
                vec![say("shutdown_received", "", json!({ "approved": self.launched, "rejected": 0 }))]
            }
            RunEvent::Finished { effect, note } => {
                self.steps.push(step_word(&effect.step));
                vec![say("phase_step", "", json!({ "step": step_word(&effect.step), "note": note }))]
            }
            RunEvent::Ended { ending } => {
                let name = if *ending == Ending::Passed { "phase_completed" } else { "phase_stopped" };
                vec![say(name, "", join(json!({ "ending": ending.word() }), self.care()))]
            }
            _ => Vec::new(),
        }
    }

    fn spawned(&mut self, effect: &EffectId, of: Option<Use>) -> Vec<Said> {
        // A SUMMARY is usually written without an agent. If one was asked, its launch note says so.
        if !effect.step.is_agent() || effect.step == Step::Summary {
            return Vec::new();
        }
        self.launched += 1;
        let plan = plan_of(effect.of.as_str());
        let data = json!({ "role": role(&effect.step), "effect": effect.to_string() });
        let mut said = vec![say("agent_spawn", plan, data)];
        // The protocol has its own event for a fallback reviewer.
        if effect.n.backup && matches!(effect.step, Step::Judge(_)) {
            said.push(say(fallback(of), plan, json!({ "reason": "the backup is asked" })));
        }
        said
    }

    fn of_loop(&mut self, id: &LoopId, event: &LoopEvent) -> Vec<Said> {
        let plan = plan_of(id.as_str()).to_owned();
        let of = self.loops.get(id).and_then(|course| course.of);
        if let LoopEvent::Intended { effect, .. } = event {
            return self.spawned(effect, of);
        }
        let care = self.care();
        let course = self.loops.entry(id.clone()).or_default();
        let task = task_of(id);
        match event {
            LoopEvent::Opened(opened) => {
                course.of = Some(opened.policy.of);
                course.max = opened.policy.rounds_max;
                let started = task.map(|task| say("task_started", &plan, json!({ "task_id": task })));
                started.into_iter().collect()
            }
            LoopEvent::RoundBegan { round, .. } => {
                course.round = *round;
                // What failed in the round before is over.
                course.failed.clear();
                course.stops = 0;
                course.lost.clear();
                Vec::new()
            }
            LoopEvent::Made { .. } => {
                let done =
                    task.map(|task| say("task_completed_candidate", &plan, json!({ "task_id": task })));
                done.into_iter().collect()
            }
            LoopEvent::Checked { effect, checked } => {
                vec![course.checked(&plan, task, &step_word(&effect.step), checked)]
            }
            LoopEvent::Unchecked { effect, why } => {
                let gate = step_word(&effect.step);
                let data =
                    json!({ "gate": gate_name(&gate), "evidence": why, "task_id": task, "stopped": false });
                vec![say("gate_did_not_run", &plan, data)]
            }
            LoopEvent::Failed { effect, failure } => {
                if matches!(effect.step, Step::Judge(_)) {
                    course.lost.clone_from(&failure.text);
                }
                let stopped = matches!(effect.step, Step::Check(_)) && failure.kind == FailureKind::DidNotRun;
                let data = json!({ "gate": gate_name(&step_word(&effect.step)), "evidence": failure.text, "task_id": task });
                let said = stopped.then(|| say("gate_did_not_run", &plan, data));
                said.into_iter().collect()
            }
            LoopEvent::Tracked { findings, .. } => course.tracked(&plan, findings),
            LoopEvent::Ruled { ruling } => course.ruled(&plan, ruling),
            LoopEvent::ReworkOrdered { .. } => course.sent_back(&plan, task),
            LoopEvent::Asked(_) => course.stopped(&plan),
            LoopEvent::Ended { outcome, revision } => {
                course.ended(&plan, task, (outcome, revision.as_ref()), care)
            }
            _ => Vec::new(),
        }
    }
}

/// A check under the protocol's name.
fn gate_name(step: &str) -> &str {
    match step.trim_start_matches("check:") {
        "verification" => "required_checks",
        name => name,
    }
}

/// The answer of a gate before a task, as an event.
fn before_task(note: &GateNote) -> Said {
    let event = match note.ruling.result {
        GateResult::Pass => "gate_passed",
        GateResult::Fail => "gate_failed",
        GateResult::DidNotRun => "gate_did_not_run",
    };
    let (plan, task) = (plan_of(note.of.as_str()), task_of(&note.of));
    let data =
        json!({ "gate": note.gate, "evidence": note.ruling.evidence, "task_id": task, "before": true });
    say(event, plan, data)
}

impl Course {
    fn checked(&mut self, plan: &str, task: Option<String>, gate: &str, checked: &Checked) -> Said {
        let gate = gate_name(gate);
        let Some(first) = checked.findings.first() else {
            return say("gate_passed", plan, json!({ "gate": gate, "task_id": task }));
        };
        // Mixed findings count as not fixable by the builder: somebody else has to act first.
        let dev = checked.findings.iter().all(|claim| claim.fixable_by == FixableBy::Dev);
        self.failed.insert(gate.to_owned(), dev);
        say("gate_failed", plan, json!({ "gate": gate, "task_id": task, "evidence": first.claim }))
    }

    fn tracked(&mut self, plan: &str, findings: &[Tracked]) -> Vec<Said> {
        let open = findings.iter().filter(|finding| finding.fate == Fate::Open);
        self.open = open.clone().count();
        self.high = open.clone().filter(|finding| finding.severity == Severity::Blocker).count();
        // Suggestions are not errors, and they do not send anything back.
        let must = |finding: &&Tracked| finding.severity != Severity::Suggestion;
        let errors = open.clone().filter(must).take(ERRORS_MAX);
        self.errors = errors.map(|finding| plain::clipped(&finding.claim.claim, CLAIM_MAX)).collect();
        self.stops = open.clone().filter(must).filter(|finding| !finding.builders).count();
        // A late finding lies on lines that an earlier round approved.
        let escaped = open.filter(must).filter(|finding| finding.mark == Mark::Late).count();
        let said = (escaped > 0).then(|| say("regression_escape", plan, json!({ "count": escaped })));
        said.into_iter().collect()
    }

    fn ruled(&mut self, plan: &str, ruling: &Ruling) -> Vec<Said> {
        let (verdict, alone) = match ruling {
            Ruling::Pass { checks_only } => ("approve", *checks_only),
            Ruling::PassWithWarnings { checks_only, .. } => ("conditional", *checks_only),
            Ruling::Rework { .. } => ("reject", false),
            Ruling::NoQuorum => ("none", false),
        };
        // Every ruled round is a cycle of the protocol, also one without a quorum.
        self.cycles.push((verdict, self.open, self.high));
        let mut said = Vec::new();
        if alone {
            said.push(say(fallback(self.of), plan, json!({ "cycle": self.round, "reason": self.lost })));
        }
        if self.of != Some(Use::Plan) {
            return said;
        }
        // The protocol's loop begins with the first rejection, and a first approval is no loop at all.
        if verdict == "reject" && !self.reworked {
            said.push(say("review_loop_start", plan, json!({ "max_cycles": self.max })));
        } else if self.reworked {
            let data = json!({ "cycle": self.round, "verdict": verdict, "high_count": self.high });
            said.push(say("review_loop_cycle", plan, data));
        }
        self.reworked |= verdict == "reject";
        said
    }

    fn sent_back(&mut self, plan: &str, task: Option<String>) -> Vec<Said> {
        if let (Some(Use::Task), Some(task)) = (self.of, task) {
            let data = json!({ "task_id": task, "cycle": self.round, "errors": self.errors });
            return vec![say("task_completion_rejected", plan, data)];
        }
        if self.of != Some(Use::Qa) {
            return Vec::new();
        }
        self.delivered(plan, 0)
    }

    /// A delivery that did not pass. The protocol's loop begins with the first of them.
    fn delivered(&mut self, plan: &str, stops: usize) -> Vec<Said> {
        let dev = self.failed.values().filter(|dev| **dev).count();
        let count = self.failed.len();
        let mut said = Vec::new();
        if self.deliveries.is_empty() {
            // The protocol counts fixes, the policy review rounds: one fewer.
            let data = json!({ "max_cycles": self.max.saturating_sub(1), "failed_count": count });
            said.push(say("qa_loop_start", plan, data));
        }
        let stops = stops.max(count - dev);
        self.deliveries.push(Delivered { checks: self.failed.keys().cloned().collect(), dev, stops });
        let cycle = self.deliveries.len();
        let data = json!({ "cycle": cycle, "failed_count": count, "dev_fixable": dev, "hard_stop": stops });
        said.push(say("qa_loop_cycle", plan, data));
        said
    }

    /// Findings that no builder can fix go to a person, and nobody is sent back.
    fn stopped(&mut self, plan: &str) -> Vec<Said> {
        match std::mem::take(&mut self.stops) {
            stops @ 1.. if self.of == Some(Use::Qa) => self.delivered(plan, stops),
            _ => Vec::new(),
        }
    }

    fn ended(
        &mut self,
        plan: &str,
        task: Option<String>,
        (outcome, revision): (&Outcome, Option<&Revision>),
        care: Value,
    ) -> Vec<Said> {
        self.outcome = Some(outcome.clone());
        // A loop that ends badly without another round has not reported its last failure yet.
        let mut before = if outcome.is_good() { Vec::new() } else { self.stopped(plan) };
        let said = match (self.of, task) {
            (Some(Use::Plan), _) if self.reworked => {
                let data = json!({ "cycles_used": self.round, "final_verdict": final_verdict(outcome) });
                say("review_loop_end", plan, data)
            }
            (Some(Use::Qa), _) if !self.deliveries.is_empty() => {
                let stopped = self.deliveries.last().is_some_and(|last| last.stops > 0);
                let status = match outcome {
                    outcome if outcome.is_good() => "pass",
                    Outcome::Exhausted => "max_exceeded",
                    _ if stopped => "hard_stop",
                    _ => "failed",
                };
                let data = json!({ "cycles_used": self.deliveries.len(), "final_status": status });
                say("qa_loop_end", plan, data)
            }
            (Some(Use::Task), Some(task)) if outcome.is_good() => {
                let data = json!({ "task_id": task, "revision": revision.map(Revision::as_str) });
                say("task_completed_confirmed", plan, join(data, care))
            }
            (Some(Use::Task), Some(task)) => {
                let next = "tribunal inbox";
                let data = json!({ "task_id": task, "owner": "person", "reason": outcome.word(), "next_action": next });
                say("task_blocked", plan, data)
            }
            _ => return before,
        };
        before.push(said);
        before
    }
}

fn final_verdict(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "approve",
        Outcome::PassedWithWarnings => "conditional",
        Outcome::Accepted(_) => "accepted",
        _ => "reject",
    }
}

type Said = (&'static str, String, Map<String, Value>);

fn say(name: &'static str, plan: &str, data: Value) -> Said {
    let data = match data {
        // A key without a value is left out instead of being written as null.
        Value::Object(map) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    };
    (name, plan.to_owned(), data)
}

fn join(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            a.extend(b);
            Value::Object(a)
        }
        (a, _) => a,
    }
}

fn fallback(of: Option<Use>) -> &'static str {
    if of == Some(Use::Qa) { "qa_agent_fallback" } else { "review_agent_fallback" }
}

/// The plan of a loop or lane; empty for the phase's own.
fn plan_of(of: &str) -> &str {
    match of.split_once('/') {
        Some((plan, _)) => plan,
        None if of == tribunal_engine::run_state::RUN || of.starts_with("phase") => "",
        None => of,
    }
}

/// The name of the task that a loop is about: `01-02-T3`.
fn task_of(id: &LoopId) -> Option<String> {
    let (plan, rest) = id.as_str().split_once("/task-")?;
    let number = rest.split('.').next()?;
    Some(format!("{plan}-T{number}"))
}

fn role(step: &Step) -> String {
    match step {
        Step::Make(builder) => builder.to_string(),
        Step::Judge(reviewer) => reviewer.to_string(),
        Step::Hear(_) => "hearing".to_owned(),
        other => other.to_string(),
    }
}

fn step_word(step: &Step) -> String {
    match step {
        Step::Finish(step) => step.word().replace([' ', '-'], "_"),
        other => other.to_string(),
    }
}
