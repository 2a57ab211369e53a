//! What must be true after every commit and at the end, and the memory that telling it needs. Everything here is
//! read from committed rows.

use super::gate::Gate;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_core::effect::{EffectId, Try};
use tribunal_core::finding::Fate;
use tribunal_core::ids::{LoopId, Of};
use tribunal_core::ledger::Mark;
use tribunal_core::machine::Machine;
use tribunal_core::policy::{Policy, Use};
use tribunal_core::review_loop::{Choice, LoopEvent, Outcome};
use tribunal_core::run::{Run, RunEvent, RunSpec};
use tribunal_engine::{Fact, RunState, Want};

/// What one loop has cost so far.
#[derive(Clone, Debug, Default)]
struct Count {
    reports: u64,
    agains: u64,
    fixed: u64,
    reasks: u64,
    decisions: u64,
    hands: u64,
}

/// The laws of one seed.
pub struct Laws {
    /// The first law.
    pub gate: Gate,
    /// The fold of every committed row.
    pub shadow: RunState,
    /// Rows folded so far.
    pub rows: u64,
    intended: BTreeSet<EffectId>,
    last_finding: u32,
    counts: BTreeMap<LoopId, Count>,
    landed: BTreeSet<Of>,
    lost: BTreeSet<EffectId>,
    proven: BTreeSet<EffectId>,
}

/// A law that a fact breaks.
pub type Breach = (&'static str, String);

impl Laws {
    /// The laws before anything happened.
    pub fn new(spec: &RunSpec) -> Laws {
        Laws {
            gate: Gate::new(spec),
            shadow: RunState::default(),
            rows: 0,
            intended: BTreeSet::new(),
            last_finding: 0,
            counts: BTreeMap::new(),
            landed: BTreeSet::new(),
            lost: BTreeSet::new(),
            proven: BTreeSet::new(),
        }
    }

    /// Everything wanted, by the rows.
    pub fn wants(&self) -> BTreeMap<EffectId, Want> {
        let live = self.shadow.loops.values().filter(|review_loop| review_loop.outcome().is_none());
        let loops = live.flat_map(Machine::wants).map(|(effect, want)| (effect, Want::Loop(want)));
        let run = self.shadow.run.iter().flat_map(Machine::wants);
        loops.chain(run.map(|(effect, want)| (effect, Want::Run(want)))).collect()
    }

    /// Whether somebody waits for this effect's report.
    pub fn is_live(&self, effect: &EffectId) -> bool {
        self.wants().contains_key(effect)
    }

    /// Whether this effect's intent is committed and open.
    pub fn is_intended(&self, effect: &EffectId) -> bool {
        let id = LoopId::new(effect.of.as_str());
        let of_loop = self.shadow.loops.get(&id).is_some_and(|review_loop| review_loop.intents().has(effect));
        of_loop || self.shadow.run.iter().flat_map(Run::intents).any(|(intended, _)| intended == effect)
    }

    /// Whether this effect follows on an attempt that was lost.
    pub fn follows_a_loss(&self, effect: &EffectId) -> bool {
        let before = effect.n.fails.checked_sub(1);
        let tried = |fails| EffectId { n: Try { fails, ..effect.n }, launch: 0, ..effect.clone() };
        before.is_some_and(|fails| self.lost.contains(&tried(fails)))
    }

    /// A probe proved that this effect is done.
    pub fn prove(&mut self, effect: &EffectId) {
        self.proven.insert(effect.clone());
    }

    /// Whether this effect does again what was proven done.
    pub fn repeats(&self, effect: &EffectId) -> bool {
        let before = effect.launch.checked_sub(1);
        before.is_some_and(|launch| self.proven.contains(&EffectId { launch, ..effect.clone() }))
    }

    /// The run is over.
    pub fn ended(&self) -> bool {
        self.shadow.run.as_ref().is_some_and(|run| run.ending().is_some())
    }

    /// Takes in one committed fact, after it was folded.
    pub fn take(&mut self, fact: &Fact) -> Vec<Breach> {
        let mut breaches = Vec::new();
        match fact {
            Fact::Run(event) => self.take_run(event, &mut breaches),
            Fact::Loop(id, event) => self.take_loop(id, event, &mut breaches),
            Fact::Note(_) => {}
        }
        breaches
    }

    fn take_run(&mut self, event: &RunEvent, breaches: &mut Vec<Breach>) {
        if let Err(text) = self.gate.take_run(event) {
            breaches.push(("I1 gate", text));
        }
        match event {
            RunEvent::Intended { effect, .. } => self.intend(effect, breaches),
            RunEvent::Landed { effect, .. } if !self.landed.insert(effect.of.clone()) => {
                breaches.push(("I7 once", format!("{} landed twice", effect.of.as_str())));
            }
            // Everything lands once more.
            RunEvent::Rebased { .. } => self.landed.clear(),
            RunEvent::LandingRefused { findings, .. } => {
                self.grow(findings.iter().map(|carried| (carried.id.0, true)), breaches);
            }
            _ => {}
        }
    }

    fn take_loop(&mut self, id: &LoopId, event: &LoopEvent, breaches: &mut Vec<Breach>) {
        if let Err(text) = self.gate.take_loop(id, event) {
            breaches.push(("I1 gate", format!("{id}: {text}")));
        }
        let count = self.counts.entry(id.clone()).or_default();
        count.reports += u64::from(is_report(event));
        match event {
            LoopEvent::Intended { effect, .. } => self.intend(effect, breaches),
            LoopEvent::Failed { effect, .. } => {
                self.lost.insert(EffectId { launch: 0, ..effect.clone() });
            }
            LoopEvent::ReworkOrdered { fixers } => count.hands = count.hands.max(fixers.len() as u64),
            LoopEvent::Decided(decision) => {
                count.decisions += 1;
                match decision.choice {
                    Choice::Again(n) => count.agains += u64::from(n),
                    Choice::Fixed(_) => count.fixed += 1,
                    Choice::Reask => count.reasks += 1,
                    Choice::Accept | Choice::Stop => {}
                }
            }
            LoopEvent::Tracked { findings, .. } => {
                let fresh = |mark: Mark| matches!(mark, Mark::New | Mark::FixInduced | Mark::Late);
                self.grow(findings.iter().map(|tracked| (tracked.id.0, fresh(tracked.mark))), breaches);
            }
            LoopEvent::Ended { outcome, .. } => self.check_end(id, outcome, breaches),
            _ => {}
        }
    }

    fn intend(&mut self, effect: &EffectId, breaches: &mut Vec<Breach>) {
        if !self.intended.insert(effect.clone()) {
            breaches.push(("intent", format!("{effect} was intended twice")));
        }
    }

    /// New ids follow each other; an old one may come again under the same name, and only then.
    fn grow(&mut self, ids: impl Iterator<Item = (u32, bool)>, breaches: &mut Vec<Breach>) {
        for (id, fresh) in ids {
            let next = self.last_finding + 1;
            if id == 0 || id > next || fresh != (id == next) {
                breaches.push(("I3 findings", format!("finding {id} after {}", self.last_finding)));
            }
            self.last_finding = self.last_finding.max(id);
        }
    }

    fn check_end(&mut self, id: &LoopId, outcome: &Outcome, breaches: &mut Vec<Breach>) {
        let Some(review_loop) = self.shadow.loops.get(id) else { return };
        if let Some((finding, _)) = review_loop.ledger().iter().find(|(_, entry)| entry.fate == Fate::Open) {
            breaches.push(("I3 findings", format!("{id} ended and {finding} is open")));
        }
        let carried = |fate: &Fate| *fate == Fate::Unresolved;
        let passed = matches!(outcome, Outcome::Passed | Outcome::PassedWithWarnings);
        if let Some((finding, _)) = review_loop.ledger().iter().find(|(_, e)| passed && carried(&e.fate)) {
            breaches.push(("I3 findings", format!("{id} passed and {finding} is unresolved")));
        }
        // Checks alone pass no review of what a run built. A person may.
        let policy = review_loop.policy();
        if passed && policy.of == Use::Phase && policy.approval && policy.reviewers.is_empty() {
            breaches.push(("nobody reviews", format!("{id} passed and nobody judged it")));
        }
        let count = self.counts.get(id).cloned().unwrap_or_default();
        let findings = review_loop.ledger().iter().count() as u64;
        let most = bound(review_loop.policy(), &count, findings, u64::from(review_loop.rounds_max()));
        if count.reports > most {
            let text = format!("{id} took {} reports, its bound is {most}", count.reports);
            breaches.push(("I8 bounded", text));
        }
    }

    /// After every turn nothing follows from the state, and every machine wants something or has ended.
    pub fn settled(&self, of: &BTreeSet<LoopId>) -> Vec<Breach> {
        let mut breaches = Vec::new();
        for review_loop in of.iter().filter_map(|id| self.shadow.loops.get(id)) {
            if let Some(event) = review_loop.settle() {
                breaches.push(("settled", format!("{} could still {}", review_loop.id(), event.name())));
            }
            if review_loop.outcome().is_none() && review_loop.wants().is_empty() {
                breaches.push(("settled", format!("{} wants nothing and has not ended", review_loop.id())));
            }
        }
        let alive = self.shadow.loops.values().find(|review_loop| review_loop.outcome().is_none());
        if let (true, Some(review_loop)) = (self.ended(), alive) {
            breaches.push(("absorbs", format!("the run ended and {} lives", review_loop.id())));
        }
        if let Some(run) = &self.shadow.run {
            if let Some(event) = run.settle() {
                breaches.push(("settled", format!("the run could still {}", event.name())));
            }
            if run.ending().is_none() && run.wants().is_empty() {
                breaches.push(("settled", "the run wants nothing and has not ended".to_owned()));
            }
        }
        breaches
    }
}

/// Facts that stand for one report each.
fn is_report(event: &LoopEvent) -> bool {
    match event {
        LoopEvent::Iterated { .. }
        | LoopEvent::Made { .. }
        | LoopEvent::Joined { .. }
        | LoopEvent::Failed { .. }
        | LoopEvent::Checked { .. }
        | LoopEvent::Unchecked { .. }
        | LoopEvent::Answered { .. }
        | LoopEvent::PartAnswered { .. }
        | LoopEvent::NotCovered { .. }
        | LoopEvent::VerdictKept { .. }
        | LoopEvent::Tracked { .. }
        | LoopEvent::Heard { .. }
        | LoopEvent::Decided(_) => true,
        LoopEvent::AskedAgain { answer, .. } => answer.is_some(),
        _ => false,
    }
}

/// Reports of a loop at most. R rounds, A attempts, S askers with backups, C sittings a round, K checks.
fn bound(policy: &Policy, count: &Count, findings: u64, rounds_max: u64) -> u64 {
    let attempts = u64::from(policy.attempts_max).max(1);
    let rounds = rounds_max + u64::from(policy.rounds_max) + count.agains + count.fixed;
    let reviewers =
        policy.reviewers.len() as u64 * (1 + u64::from(policy.backup)) * u64::from(policy.parts_max.max(1));
    let judged_rounds = rounds * (1 + u64::from(policy.confirm)) + count.reasks;
    let hands = count.hands.max(1);
    let makes = match policy.iterations_max {
        Some(most) => u64::from(most).max(1) * (1 + count.decisions) * hands + rounds * hands,
        None => (rounds + count.decisions + 1) * attempts * hands,
    };
    let joins = (rounds + count.decisions + 1) * attempts;
    let checks = policy.checks.len() as u64 * attempts;
    let judged_round = checks + reviewers * (attempts + 1) + (1 + 2 * reviewers) * attempts;
    let hearings = 2 * findings * attempts * (1 + count.decisions);
    makes + joins + judged_rounds * judged_round + hearings + count.decisions + 1
}

/// The word for where a step belongs, for the table.
pub fn use_word(id: &LoopId, policy: &Policy) -> &'static str {
    if id.as_str().contains("/repair.") { "repair" } else { policy.of.word() }
}
