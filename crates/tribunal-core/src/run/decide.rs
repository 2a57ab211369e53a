//! What an input means to a run: one event, or nothing. Reports with a stale effect id are ignored.
//!
//! `decide` changes nothing and returns at most one event. Consequences, such as the next lane or the next wave, are
//! left to `settle`, so that a resumed run reaches them in the same way.

use super::events::RunEvent;
use super::messages::{Ending, RunReport, RunWant};
use super::state::{Run, Stage};
use crate::effect::{EffectId, Step};
use crate::failure::Failure;
use crate::held::{Held, HeldChoice};
use crate::ids::{Of, PlanId, Revision, Time};
use crate::ledger::CarriedFinding;
use crate::review_loop::Outcome;

impl Run {
    /// What a report means. A report of an effect that is not wanted, or was never launched, means nothing.
    pub(super) fn decide_report(&self, effect: &EffectId, at: Time, report: &RunReport) -> Option<RunEvent> {
        if let Some(guarded) = effect.guarded() {
            return self.decide_wake(&guarded, at, report);
        }
        let want = self.want(effect).filter(|_| self.intents_of(effect).is_launched(effect))?;
        let effect = effect.clone();
        match (want, report) {
            (RunWant::Loop { .. }, RunReport::LoopEnded { outcome, revision, open }) => {
                Some(loop_ended(effect, outcome, revision.as_ref(), open))
            }
            (RunWant::Summary { .. }, RunReport::Summarised { revision }) => {
                Some(RunEvent::Summarised { effect, revision: revision.clone() })
            }
            (RunWant::Land { revision, .. }, RunReport::Landed { tip }) => {
                Some(RunEvent::Landed { effect, revision, tip: tip.clone() })
            }
            (RunWant::Land { .. }, RunReport::LandingRefused { refusal, findings }) => {
                let (refusal, findings) = (refusal.clone(), findings.clone());
                Some(RunEvent::LandingRefused { effect, refusal, findings })
            }
            (RunWant::Checkpoint { .. }, RunReport::Checkpointed { feedback }) => {
                Some(RunEvent::Checkpointed { effect, feedback: Some(feedback.clone()) })
            }
            // A checkpoint only advises, so any other report gives it up. It must never stop a lane.
            (RunWant::Checkpoint { .. }, _) => Some(RunEvent::Checkpointed { effect, feedback: None }),
            (RunWant::AskLane { plan, stuck }, RunReport::LaneDecided(decision)) => {
                let taken = stuck.takes(&decision.choice);
                taken.then(|| RunEvent::LaneDecided { plan, decision: decision.clone() })
            }
            (RunWant::Finish { .. }, RunReport::Finished { note }) => {
                Some(RunEvent::Finished { effect, note: note.clone() })
            }
            // The event says whether the run rebases by itself, so that a reader need not know how many rebases are
            // left.
            (RunWant::Finish { ending, .. }, RunReport::Held(held)) if ending.is_good() => {
                Some(RunEvent::Held { effect, held: held.clone(), goes_on: self.rebases_for(held) })
            }
            (RunWant::Rebase | RunWant::Carry { .. }, RunReport::Held(held)) => {
                Some(RunEvent::Held { effect, held: held.clone(), goes_on: false })
            }
            (RunWant::AskHeld { .. }, RunReport::HeldDecided(decision)) => {
                self.takes_held(decision.choice).then(|| RunEvent::HeldDecided(decision.clone()))
            }
            (RunWant::Rebase, RunReport::Rebased { onto }) => {
                Some(RunEvent::Rebased { effect, onto: onto.clone() })
            }
            (RunWant::Carry { .. }, RunReport::Carried { tip }) => {
                Some(RunEvent::Carried { effect, tip: tip.clone() })
            }
            (RunWant::Carry { .. }, RunReport::JudgeAgain { revision }) => {
                Some(RunEvent::JudgeAgain { effect, revision: revision.clone() })
            }
            (
                RunWant::AskLane { .. }
                | RunWant::AskHeld { .. }
                | RunWant::Loop { .. }
                | RunWant::Wake { .. },
                _,
            ) => None,
            // After the questions and loops above: those have no attempts that could be lost.
            (_, RunReport::Failed(failure)) => Some(RunEvent::Failed { effect, failure: failure.clone() }),
            (_, _) => Some(RunEvent::Failed { effect, failure: Failure::off_topic() }),
        }
    }

    /// Whether a person may answer so about a held result.
    pub(super) fn takes_held(&self, choice: HeldChoice) -> bool {
        match choice {
            HeldChoice::Land | HeldChoice::Stop => true,
            HeldChoice::Again(rounds) => rounds > 0 && self.may_work_again(),
        }
    }

    /// An effect whose deadline passed lost its attempt. A late checkpoint is given up at once: it may only advise.
    fn decide_wake(&self, guarded: &EffectId, at: Time, report: &RunReport) -> Option<RunEvent> {
        if *report != RunReport::Due || !self.intents_of(guarded).is_overdue(guarded, at) {
            return None;
        }
        let effect = guarded.clone();
        Some(match guarded.step {
            Step::Checkpoint => RunEvent::Checkpointed { effect, feedback: None },
            _ => RunEvent::Failed { effect, failure: Failure::timed_out() },
        })
    }

    /// Whether the engine may launch this effect, and until when it has time.
    pub(super) fn decide_intend(&self, effect: &EffectId, at: Time) -> Option<RunEvent> {
        self.want(effect).filter(|_| self.intents_of(effect).may_add(effect))?;
        let due = effect.step.deadline(at, self.spec.step_timeout_ms);
        Some(RunEvent::Intended { effect: effect.clone(), due })
    }

    /// A loop of a lane has had more runs than the run knows of.
    pub(super) fn decide_iterated(&self, effect: &EffectId, n: u32) -> Option<RunEvent> {
        let wanted = matches!(self.want(effect), Some(RunWant::Loop { .. }));
        let plan = self.plan_of(effect).filter(|_| wanted)?;
        let known = plan.lane()?.iterated;
        // The number is a total, so a repeated or older report changes nothing.
        (n > known).then(|| RunEvent::Iterated { plan: plan.id.clone(), n })
    }

    /// A person drops a plan; not while it lands, because it may have landed.
    pub(super) fn decide_drop(&self, plan: &PlanId, by: &str) -> Option<RunEvent> {
        let live = self.is_live();
        let plan = self.plan(plan).filter(|plan| live && !plan.is_over() && !plan.is_landing())?;
        Some(RunEvent::PlanDropped { plan: plan.id.clone(), by: by.to_owned() })
    }

    /// Somebody cancels the run. A run that is already closing goes on to its end.
    pub(super) fn decide_cancel(&self) -> Option<RunEvent> {
        match self.stage {
            Stage::Gating
            | Stage::Building { .. }
            | Stage::Reviewing
            | Stage::Polishing { .. }
            | Stage::Held { .. }
            | Stage::Rebasing { .. }
            | Stage::Carrying { .. } => Some(RunEvent::Closing { ending: Ending::Cancelled }),
            Stage::Closing { .. } | Stage::Finishing { .. } | Stage::Ended { .. } => None,
        }
    }

    /// Whether a result that is held for this reason is rebased without a question.
    pub(super) fn rebases_for(&self, held: &Held) -> bool {
        matches!(self.stage, Stage::Finishing { .. }) && held.needs_rebase() && self.rebases > 0
    }
}

/// What the end of a loop means to the run.
fn loop_ended(
    effect: EffectId,
    outcome: &Outcome,
    revision: Option<&Revision>,
    open: &[CarriedFinding],
) -> RunEvent {
    // A good end without a revision has approved nothing.
    let hollow = outcome.is_good() && revision.is_none();
    let outcome = if hollow { Outcome::Failed } else { outcome.clone() };
    // Only a stuck lane continues with the open findings, and the loop's own events hold them. For a review with many
    // findings this copy would be the largest thing in the journal, written when everything is over.
    let goes_on = effect.of != Of::run() && !outcome.is_good();
    let open = if goes_on { open.to_vec() } else { Vec::new() };
    RunEvent::LoopEnded { effect, outcome, revision: revision.cloned(), open }
}
