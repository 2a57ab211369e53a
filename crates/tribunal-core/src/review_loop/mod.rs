//! The loop machine: one subject that a builder makes and that checks and reviewers judge until it ends.
//!
//! Read [`Machine::decide`], [`Machine::settle`], [`Machine::apply`] and [`Machine::wants`] below first; each has a
//! file of its own for the details. The machine never asks which use it serves, and knows no clock.
//!
//! `docs/design/machines.md` has the table of transitions, which the tests compare with what random loops do. A new
//! transition has to be added there.

mod apply;
mod decide;
mod events;
mod fixers;
mod messages;
mod question;
mod settle;
mod state;
mod wants;

pub use crate::failure::{Failure, FailureKind};
pub use events::LoopEvent;
pub use messages::{Checked, FixAssignment, LoopIn, LoopReport, LoopWant, Opened, Opening};
pub use question::{Choice, Decision, Offer, Outcome, Question, Why};
pub use state::{Loop, LoopStage};

use crate::effect::{EffectId, Step, Try};
use crate::machine::{Machine, OutOfOrder};
use state::State;
use std::collections::BTreeMap;

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
            // Also while a person is asked: an open question must not keep a run alive that nobody wants.
            LoopIn::Cancel => self.outcome().is_none().then(|| self.end(Outcome::Cancelled)),
        }
    }

    fn settle(&self) -> Option<LoopEvent> {
        match &self.state {
            State::Making { fixers, join_fails, .. } => self.settle_making(fixers, *join_fails),
            State::Made { revision, news } => Some(self.settle_made(revision, *news)),
            State::Checking { review_round } => self.settle_checking(review_round),
            State::Judging { review_round } => {
                review_round.reviewers_done().then_some(LoopEvent::PanelClosed)
            }
            // Without tracking nothing can be ruled, and nobody else could take it over.
            State::Tracking { fails, .. } => {
                (*fails >= self.policy.attempts_max).then(|| self.end(Outcome::Failed))
            }
            State::Hearing { review_round, cases } => self.settle_hearing(review_round, cases),
            State::Ruled { review_round, ruling } => Some(self.settle_ruled(review_round, ruling)),
            State::Closing { outcome } => Some(self.end(outcome.clone())),
            State::Waiting { .. } | State::Ended { .. } => None,
        }
    }

    fn apply(&mut self, event: &LoopEvent) -> Result<(), OutOfOrder> {
        let met = self.state.name();
        let applied = match event {
            // `Loop::open` takes the first event. A second one means a corrupt journal.
            LoopEvent::Opened(_) => None,
            // First for all reports: an event about an effect that is not wanted can follow no state at all.
            event if event.answers().is_some_and(|effect| !self.hears(effect)) => None,
            LoopEvent::Intended { effect, due } => {
                let may = self.intents.may_add(effect) && self.is_wanted(effect);
                (may && self.intents.add(effect.clone(), *due)).then_some(())
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
        applied.ok_or_else(|| OutOfOrder::new(event.name(), met))
    }

    fn wants(&self) -> BTreeMap<EffectId, LoopWant> {
        let wants = match &self.state {
            State::Making { fixers, join_fails, .. } => self.wants_making(fixers, *join_fails),
            State::Checking { review_round } => self.wants_checking(review_round),
            State::Judging { review_round } => self.wants_judging(review_round),
            State::Tracking { review_round, fails } => {
                let want = LoopWant::Track { revision: review_round.revision.clone() };
                vec![(self.effect(Step::Track, Try::nth(*fails)), want)]
            }
            State::Hearing { review_round, cases } => self.wants_hearing(review_round, cases),
            State::Waiting { question } => {
                vec![(self.effect(Step::Ask, Try::default()), LoopWant::Ask(question.clone()))]
            }
            // `settle` leaves these in the same turn, so nothing can be wanted in them between two turns.
            State::Made { .. } | State::Ruled { .. } | State::Closing { .. } | State::Ended { .. } => vec![],
        };
        self.intents.with_wakes(wants, |at| LoopWant::Wake { at }).into_iter().collect()
    }
}
