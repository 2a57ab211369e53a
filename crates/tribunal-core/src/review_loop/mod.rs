//! The loop machine: one subject made by a maker and judged until it ends.
//!
//! Read [`Machine::decide`], [`Machine::settle`], [`Machine::apply`] and [`Machine::wants`] below first; each has a file of
//! its own for the details. The machine never asks which use it serves, and knows no clock.

mod apply;
mod crew;
mod decide;
mod events;
mod messages;
mod question;
mod settle;
mod state;
mod wants;

pub use crate::failure::{Failure, FailureKind};
pub use events::LoopEvent;
pub use messages::{Checked, LoopIn, LoopReport, LoopWant, Opened, Opening, Share};
pub use question::{Choice, Decision, Offer, Outcome, Question, Why};

use crate::converge::{Pass, RoundRecord};
use crate::cover::Look;
use crate::effect::{EffectId, Intents, Step, Try};
use crate::finding::Answer;
use crate::ids::{Check, LoopId, Of, Revision, Seat};
use crate::ledger::{Delta, Ledger};
use crate::machine::{Machine, OutOfOrder};
use crate::policy::Policy;
use crew::crew_for;
use state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Machine for Loop {
    type In = LoopIn;
    type Ev = LoopEvent;
    type Want = LoopWant;

    fn decide(&self, input: &LoopIn) -> Option<LoopEvent> {
        match input {
            LoopIn::Report { effect, at, report } => self.decide_report(effect, *at, report),
            LoopIn::Intend { effect, at } => self.decide_intend(effect, *at),
            LoopIn::Clear { effect } => {
                self.intents.has(effect).then(|| LoopEvent::Cleared { effect: effect.clone() })
            }
            LoopIn::Cancel => self.outcome().is_none().then(|| self.end(Outcome::Cancelled)),
        }
    }

    fn settle(&self) -> Option<LoopEvent> {
        match &self.state {
            State::Making { crew, join_fails, .. } => self.settle_making(crew, *join_fails),
            State::Made { revision, news } => Some(self.settle_made(revision, *news)),
            State::Checking { bench } => self.settle_checking(bench),
            State::Judging { bench } => bench.seats_done().then_some(LoopEvent::PanelClosed),
            State::Tracking { fails, .. } => {
                (*fails >= self.policy.attempts_max).then(|| self.end(Outcome::Failed))
            }
            State::Hearing { bench, cases } => self.settle_hearing(bench, cases),
            State::Ruled { bench, ruling } => Some(self.settle_ruled(bench, ruling)),
            State::Closing { outcome } => Some(self.end(outcome.clone())),
            State::Waiting { .. } | State::Ended { .. } => None,
        }
    }

    fn apply(&mut self, event: &LoopEvent) -> Result<(), OutOfOrder> {
        let met = self.state.name();
        let applied = match event {
            LoopEvent::Opened(_) => None,
            event if event.answers().is_some_and(|effect| !self.hears(effect)) => None,
            LoopEvent::Intended { effect, due } => {
                let wanted = effect.step.is_one_shot() && self.is_wanted(effect);
                (wanted && self.intents.add(effect.clone(), *due)).then_some(())
            }
            LoopEvent::Cleared { effect } => self.intents.clear(effect).then_some(()),
            LoopEvent::RoundBegan { round, revision } => self.apply_round_began(*round, revision),
            LoopEvent::Asked(question) => self.apply_asked(question),
            LoopEvent::Decided(decision) => self.apply_decided(decision),
            LoopEvent::Ended { outcome, .. } => self.apply_ended(outcome),
            event => match self.state {
                State::Making { .. } => self.apply_making(event),
                State::Checking { .. } => self.apply_checking(event),
                State::Judging { .. } => self.apply_judging(event),
                State::Tracking { .. } => self.apply_tracking(event),
                State::Hearing { .. } => self.apply_hearing(event),
                State::Ruled { .. } => self.apply_ruled(event),
                State::Made { .. } | State::Waiting { .. } | State::Closing { .. } | State::Ended { .. } => {
                    None
                }
            },
        };
        applied.ok_or_else(|| OutOfOrder { event: event.name().to_owned(), state: met.to_owned() })
    }

    fn wants(&self) -> BTreeMap<EffectId, LoopWant> {
        let mut wants: BTreeMap<EffectId, LoopWant> = match &self.state {
            State::Making { crew, join_fails, .. } => self.wants_making(crew, *join_fails),
            State::Checking { bench } => self.wants_checking(bench),
            State::Judging { bench } => self.wants_judging(bench),
            State::Tracking { bench, fails } => {
                let want = LoopWant::Track { revision: bench.revision.clone() };
                vec![(self.effect(Step::Track, Try::nth(*fails)), want)]
            }
            State::Hearing { bench, cases } => self.wants_hearing(bench, cases),
            State::Waiting { question } => {
                vec![(self.effect(Step::Ask, Try::default()), LoopWant::Ask(question.clone()))]
            }
            State::Made { .. } | State::Ruled { .. } | State::Closing { .. } | State::Ended { .. } => vec![],
        }
        .into_iter()
        .collect();
        for (effect, due) in self.intents.iter() {
            if let Some(at) = due {
                wants.insert(effect.wake(), LoopWant::Wake { at: *at });
            }
        }
        wants
    }
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    id: LoopId,
    // Shared, so that a change of state can read it without a copy.
    policy: Arc<Policy>,
    state: State,
    entry: u32,
    intents: Intents,
    round: u32,
    rounds_max: u32,
    iterations: u32,
    iterations_here: u32,
    ledger: Ledger,
    judged: Vec<Revision>,
    seen: Vec<Revision>,
    current: Option<Revision>,
    tracked: Option<Revision>,
    failed_checks: BTreeSet<Check>,
    /// Checks that did not run and stopped nothing, and why.
    unchecked: BTreeMap<Check, String>,
    series: Vec<RoundRecord>,
    pass: Option<Pass>,
    delta: Delta,
    confirming: bool,
    /// What each reviewer was shown in sittings that are over.
    looks: BTreeMap<Seat, Vec<Look>>,
    /// What each reviewer said in the last sitting that is over.
    stood: BTreeMap<Seat, Answer>,
}

impl Loop {
    /// The machine after its first event.
    pub fn open(opened: &Opened) -> Loop {
        let policy = Arc::new(opened.policy.clone());
        let (ledger, rounds, revision, since) = match &opened.opening {
            Opening::Make { rounds, open } => (Ledger::opened_with(open), *rounds, None, None),
            Opening::Judge { revision, open, since } => {
                (Ledger::opened_with(open), None, Some(revision.clone()), since.clone())
            }
        };
        let state = match &revision {
            Some(revision) => State::Made { revision: revision.clone(), news: false },
            None => State::Making { crew: crew_for(&policy, &ledger), join_fails: 0, news: false },
        };
        Loop {
            id: opened.id.clone(),
            rounds_max: rounds.unwrap_or(policy.rounds_max),
            policy,
            state,
            entry: 1,
            intents: Intents::default(),
            round: 0,
            iterations: 0,
            iterations_here: 0,
            ledger,
            judged: Vec::new(),
            seen: Vec::new(),
            current: None,
            tracked: since,
            failed_checks: BTreeSet::new(),
            unchecked: BTreeMap::new(),
            series: Vec::new(),
            pass: None,
            delta: Delta::default(),
            confirming: false,
            looks: BTreeMap::new(),
            stood: BTreeMap::new(),
        }
    }

    fn effect(&self, step: Step, n: Try) -> EffectId {
        let launch = self.intents.launch(&step, n);
        EffectId { of: Of::new(self.id.as_str()), entry: self.entry, step, n, launch }
    }

    fn timeout_ms(&self, step: &Step) -> u64 {
        match step {
            Step::Make(_) => self.policy.timeouts.make_ms,
            _ => self.policy.timeouts.judge_ms,
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.entry += 1;
        self.intents.reset();
    }

    fn is_launched(&self, effect: &EffectId) -> bool {
        !effect.step.is_one_shot() || self.intents.has(effect)
    }

    /// It runs and is wanted, so what it reports counts.
    fn hears(&self, effect: &EffectId) -> bool {
        self.is_launched(effect) && self.is_wanted(effect)
    }
}
