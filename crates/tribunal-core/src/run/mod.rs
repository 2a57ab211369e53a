//! The run machine: plans, waves, lanes, the landing queue and the ending.
//!
//! Read [`Machine::decide`], [`Machine::settle`], [`Machine::apply`] and [`Machine::wants`] below first; each has a
//! file of its own for the details, and `lane.rs` has what happens to one plan. Loops are effects of the run: it
//! wants them, and is told how many runs they had and how they ended. It knows neither the text of findings nor a
//! clock.

mod apply;
mod decide;
mod events;
mod lane;
mod messages;
mod plan;
mod question;
mod settle;
mod spec;
mod state;
mod wants;

pub use events::RunEvent;
pub use messages::{Ending, Refusal, RunIn, RunReport, RunWant, Subject};
pub use plan::Standing;
pub use question::{Job, LaneChoice, LaneDecision, LaneOffer, Stuck, Was};
pub use spec::{ChainSpec, Exists, Land, PlanGate, PlanSpec, Policies, RunSpec, TasksDone};
pub use state::{REBASES_MAX, Run, RunStage, UNCHANGED};

use crate::effect::EffectId;
use crate::ids::Of;
use crate::machine::{Machine, OutOfOrder};
use state::Stage;
use std::collections::BTreeMap;

impl Machine for Run {
    type In = RunIn;
    type Ev = RunEvent;
    type Want = RunWant;

    fn decide(&self, input: &RunIn) -> Option<RunEvent> {
        match input {
            RunIn::Report { effect, at, report } => self.decide_report(effect, *at, report),
            RunIn::Intend { effect, at } => self.decide_intend(effect, *at),
            RunIn::Clear { effect } => {
                self.intents_of(effect).has(effect).then(|| RunEvent::Cleared { effect: effect.clone() })
            }
            RunIn::Iterated { effect, n } => self.decide_iterated(effect, *n),
            RunIn::Drop { plan, by } => self.decide_drop(plan, by),
            RunIn::Cancel => self.decide_cancel(),
        }
    }

    fn settle(&self) -> Option<RunEvent> {
        match self.stage {
            Stage::Gating => self.settle_gating(),
            Stage::Building { wave } => self.settle_building(wave),
            // A landing that was launched is still wanted, and the finish waits for its report.
            Stage::Closing { .. } => self.wants().is_empty().then_some(RunEvent::FinishOrdered),
            Stage::Finishing { ending, step, asked, .. } => self.settle_finishing(ending, step, asked),
            Stage::Reviewing
            | Stage::Polishing { .. }
            | Stage::Held { .. }
            | Stage::Rebasing { .. }
            | Stage::Carrying { .. }
            | Stage::Ended { .. } => None,
        }
    }

    fn apply(&mut self, event: &RunEvent) -> Result<(), OutOfOrder> {
        let met = self.stage.name();
        let applied = match event {
            RunEvent::Opened(_) => None,
            // First for all reports: an event about an effect that is not wanted can follow no state at all.
            event if event.answers().is_some_and(|effect| !self.hears(effect)) => None,
            // After the run has left building, no decision may bring a lane back to life.
            event if event.is_of_a_lane() && !self.is_live() => None,
            RunEvent::Intended { effect, due } => {
                let may = self.intents_of(effect).may_add(effect) && self.want(effect).is_some();
                (may && self.intents_mut(effect).add(effect.clone(), *due)).then_some(())
            }
            RunEvent::Cleared { effect } => self.intents_mut(effect).clear(effect).then_some(()),
            // The run's own loops: the review, the polish and the artifact of a chain.
            RunEvent::LoopEnded { effect, outcome, revision, .. } if effect.of == Of::run() => {
                self.apply_own_loop_ended(outcome, revision.as_ref())
            }
            RunEvent::Failed { effect, failure } if effect.of == Of::run() => {
                self.apply_own_failed(effect, failure)
            }
            RunEvent::LoopEnded { effect, .. }
            | RunEvent::Failed { effect, .. }
            | RunEvent::Summarised { effect, .. }
            | RunEvent::LandingRefused { effect, .. }
            | RunEvent::Checkpointed { effect, .. } => self.apply_lane(effect.of.as_str(), event),
            RunEvent::PlanDropped { plan, .. } | RunEvent::Iterated { plan, .. } => {
                self.apply_lane(plan.as_str(), event)
            }
            RunEvent::LaneOpened { plan } => self.apply_lane_opened(plan, event),
            RunEvent::LaneAsked { plan, .. } => self.apply_lane_asked(plan, event),
            RunEvent::LaneDecided { plan, decision } => self.apply_lane_decided(plan, decision, event),
            RunEvent::CheckpointDue { plans } => self.apply_checkpoint_due(plans, event),
            RunEvent::Landed { effect, tip, .. } => self.apply_landed(effect, tip, event),
            RunEvent::Held { held, .. } => self.apply_held(held),
            RunEvent::Withheld => self.apply_withheld(),
            RunEvent::HeldDecided(decision) => self.apply_held_decided(decision),
            RunEvent::Rebased { onto, .. } => self.apply_rebased(onto),
            RunEvent::Carried { tip, .. } => self.apply_carried(tip),
            RunEvent::JudgeAgain { revision, .. } => self.apply_judge_again(revision),
            RunEvent::GateDecided { .. }
            | RunEvent::CarryOpened
            | RunEvent::WaveOpened { .. }
            | RunEvent::ReviewOpened
            | RunEvent::Closing { .. }
            | RunEvent::FinishOrdered
            | RunEvent::Finished { .. }
            | RunEvent::Ended { .. } => self.apply_stage(event),
        };
        applied.ok_or_else(|| OutOfOrder::new(event.name(), met))
    }

    fn wants(&self) -> BTreeMap<EffectId, RunWant> {
        // Computed once for all lanes: it looks at every plan.
        let head = self.head_of_queue();
        let lanes = self.plans.iter().enumerate();
        lanes.flat_map(|(at, _)| self.lane_wants(at, head)).chain(self.own_wants()).collect()
    }
}
