//! How events change a run. Each function returns `None` if the event cannot follow the state: then the journal is
//! corrupt, or we have a bug. What happens inside a lane is in `lane.rs`.
//!
//! As in a loop, an event is checked against the state and not against `settle`: old journals must fold under new
//! rules.

use super::events::RunEvent;
use super::messages::Ending;
use super::plan::PlanRun;
use super::question::{LaneChoice, LaneDecision};
use super::state::{REBASES_MAX, Reviewed, Run, Stage, first_wave};
use crate::effect::{EffectId, FinishStep, Step};
use crate::failure::Failure;
use crate::held::{Held, HeldChoice, HeldDecision};
use crate::ids::{PlanId, Revision};
use crate::machine::Machine;
use crate::review_loop::Outcome;

// What happens in one lane: the run says whether it may, the lane how.
impl Run {
    /// Moves one lane. A lane that joins the landing queue takes the next place in it.
    pub(super) fn apply_lane(&mut self, plan: &str, event: &RunEvent) -> Option<()> {
        let rules = self.lane_rules();
        let at = self.at(plan)?;
        let plan = &mut self.plans[at];
        let was_queued = plan.is_queued();
        plan.apply(event, rules)?;
        let joined = plan.is_queued() && !was_queued;
        // Counted here and not in the lane: only the run knows how many places were given out.
        self.tickets += u32::from(joined);
        Some(())
    }

    /// A lane begins, if its wave is open and everything it waits for is over.
    pub(super) fn apply_lane_opened(&mut self, plan: &PlanId, event: &RunEvent) -> Option<()> {
        let Stage::Building { wave } = self.stage else { return None };
        self.plan(plan).filter(|plan| self.may_open(plan, wave))?;
        self.apply_lane(plan.as_str(), event)
    }

    /// A stuck lane asks a person, if its turn has come.
    pub(super) fn apply_lane_asked(&mut self, plan: &PlanId, event: &RunEvent) -> Option<()> {
        self.plan(plan).filter(|plan| self.may_ask(plan))?;
        self.apply_lane(plan.as_str(), event)
    }

    /// A person decided about a stuck lane. A stop ends the whole run.
    pub(super) fn apply_lane_decided(
        &mut self,
        plan: &PlanId,
        decision: &LaneDecision,
        event: &RunEvent,
    ) -> Option<()> {
        self.apply_lane(plan.as_str(), event)?;
        if decision.choice == LaneChoice::Stop {
            self.enter(Stage::Closing { ending: Ending::Stopped });
        }
        Some(())
    }

    /// Checkpoints begin, if at least one of the lanes is due.
    pub(super) fn apply_checkpoint_due(&mut self, plans: &[PlanId], event: &RunEvent) -> Option<()> {
        let every = self.spec.checkpoint_every?;
        plans.iter().find(|id| self.plan(id).is_some_and(|plan| plan.is_due(every)))?;
        plans.iter().try_for_each(|plan| self.apply_lane(plan.as_str(), event))
    }

    /// A plan landed: the run branch has a new head.
    pub(super) fn apply_landed(&mut self, effect: &EffectId, tip: &Revision, event: &RunEvent) -> Option<()> {
        self.apply_lane(effect.of.as_str(), event)?;
        self.tip = Some(tip.clone());
        // The order is kept for a rebase, which lands everything in the same order again.
        self.landings.extend(self.at(effect.of.as_str()));
        Some(())
    }
}

// What happens to the run itself.
impl Run {
    /// The review of everything ended, or the polish after it. A polish changes the result, never how the run ends.
    pub(super) fn apply_own_loop_ended(
        &mut self,
        outcome: &Outcome,
        revision: Option<&Revision>,
    ) -> Option<()> {
        let good = outcome.is_good();
        let goes_on = *outcome == Outcome::Exhausted && self.goes_on();
        let next = match self.stage {
            Stage::Reviewing if goes_on => Stage::Closing { ending: Ending::Concerns },
            Stage::Reviewing => match if good { self.ending_by_landings() } else { Ending::Shut } {
                // Only a full pass is polished; a result that stays shut is not worth the launches.
                Ending::Passed if self.spec.polish.is_some() => Stage::Polishing { ending: Ending::Passed },
                ending => Stage::Closing { ending },
            },
            Stage::Polishing { ending } => Stage::Closing { ending },
            _ => return None,
        };
        // The polish follows the review, so both together begin where the review began.
        let from = match (&self.stage, &self.reviewed) {
            (Stage::Polishing { .. }, Some(reviewed)) => reviewed.from.clone(),
            _ => self.tip.clone(),
        };
        // If the last word on it is not a good one, what was built stays as its own panels approved it.
        if good || (goes_on && self.tip.is_none()) {
            // The fixers changed the result during the review, and that is what was approved.
            self.tip = revision.cloned().or_else(|| self.tip.take());
        }
        let (Stage::Polishing { ending } | Stage::Closing { ending }) = next else { return None };
        self.reviewed = self.tip.clone().map(|tip| Reviewed { from, tip, ending });
        self.enter(next);
        Some(())
    }

    /// Whether an artifact goes on when its rounds are spent; not if a plan is missing.
    fn goes_on(&self) -> bool {
        self.spec.chain.as_ref().is_some_and(|chain| chain.goes_on)
            && self.ending_by_landings() == Ending::Passed
    }

    /// An attempt at a step on the way to the user's branch was lost.
    ///
    /// When the step is given up, the result is held: a run never ends good without the result on the branch.
    pub(super) fn apply_own_failed(&mut self, effect: &EffectId, failure: &Failure) -> Option<()> {
        let fails = effect.n.fails + 1;
        let spent = fails >= self.spec.attempts_max;
        let whole = matches!(self.stage, Stage::Finishing { .. });
        let held = |ending: Ending| Stage::Held { ending, held: Held::Failed(failure.text.clone()), whole };
        let next = match self.stage {
            Stage::Finishing { ending, .. } if spent && self.brings(&effect.step, ending) => held(ending),
            // Each step presumes the one before: when one is given up, so is the rest.
            Stage::Finishing { ending, asked, .. } if spent => {
                let step = self.finish_steps(ending).len();
                Stage::Finishing { ending, step, fails, asked }
            }
            Stage::Rebasing { ending, .. } | Stage::Carrying { ending, .. } if spent => held(ending),
            Stage::Finishing { ending, step, asked, .. } => Stage::Finishing { ending, step, fails, asked },
            Stage::Rebasing { ending, again, .. } => Stage::Rebasing { ending, fails, again },
            Stage::Carrying { ending, .. } => Stage::Carrying { ending, fails },
            _ => return None,
        };
        match next {
            Stage::Held { .. } => {
                // The person is asked anew, so the old order to land no longer holds.
                self.ordered = false;
                self.enter(next);
            }
            // The same stage with one more lost attempt. `enter` would change the entry and make the retry look like
            // new work.
            next => {
                self.stage = next;
                self.intents.close(effect);
            }
        }
        Some(())
    }

    /// Whether the user's branch cannot have the result without this step.
    fn brings(&self, step: &Step, ending: Ending) -> bool {
        let forwards = self.spec.finish.contains(&FinishStep::Forward);
        ending.is_good() && forwards && *step != Step::Finish(FinishStep::Push)
    }

    /// The branch cannot have the result now: it is rebased, or a person is asked.
    pub(super) fn apply_held(&mut self, held: &Held) -> Option<()> {
        let (Stage::Finishing { ending, .. }
        | Stage::Rebasing { ending, .. }
        | Stage::Carrying { ending, .. }) = self.stage
        else {
            return None;
        };
        // Only a good result is brought to the branch, so nothing else can be held.
        if !ending.is_good() {
            return None;
        }
        if self.rebases_for(held) {
            self.rebases -= 1;
            self.enter(Stage::Rebasing { ending, fails: 0, again: None });
        } else {
            let whole = matches!(self.stage, Stage::Finishing { .. });
            self.ordered = false;
            self.enter(Stage::Held { ending, held: held.clone(), whole });
        }
        Some(())
    }

    /// The result waits for a person's order before anything of it reaches the user's branch.
    pub(super) fn apply_withheld(&mut self) -> Option<()> {
        let Stage::Finishing { ending, step, asked, .. } = self.stage else { return None };
        self.withholds(ending, step, asked).then(|| {
            self.enter(Stage::Held { ending, held: Held::Ordered, whole: true });
        })
    }

    /// A person decided about a held result: bring it to the branch after all, work on it again, or end without it.
    pub(super) fn apply_held_decided(&mut self, decision: &HeldDecision) -> Option<()> {
        if !self.takes_held(decision.choice) {
            return None;
        }
        let Stage::Held { ending, whole, ref held } = self.stage else { return None };
        let again = !whole || held.was_undone();
        self.ordered = decision.choice == HeldChoice::Land;
        match decision.choice {
            // A result that was held half way is not whole: it is rebased once more, onto the branch as it is now. A
            // result that the branch took away again is brought once more on top of that.
            HeldChoice::Land if again => {
                // This rebase is the first of those that the order allows.
                self.rebases = REBASES_MAX - 1;
                self.enter(Stage::Rebasing { ending, fails: 0, again: None });
            }
            HeldChoice::Land => {
                self.rebases = REBASES_MAX;
                self.enter(Stage::Finishing { ending, step: 0, fails: 0, asked: true });
            }
            // The run branch begins anew, so that what the lane makes of it is still one change.
            HeldChoice::Again(rounds) => {
                self.enter(Stage::Rebasing { ending, fails: 0, again: Some(rounds) });
            }
            HeldChoice::Stop => self.enter(Stage::Closing { ending: Ending::Stopped }),
        }
        Some(())
    }

    /// The run branch begins anew: everything that had landed is queued once more, in the order in which it landed.
    ///
    /// If a person asked for more work, its one lane does its last task again instead, from what it left.
    pub(super) fn apply_rebased(&mut self, onto: &Revision) -> Option<()> {
        let Stage::Rebasing { ending, again, .. } = self.stage else { return None };
        self.ground = Some(onto.clone());
        let landings = std::mem::take(&mut self.landings);
        // A review of something that exists has landed nothing; only its approval has to be carried over.
        if landings.is_empty() {
            self.enter(Stage::Carrying { ending, fails: 0 });
            return Some(());
        }
        for at in &landings {
            let rules = self.lane_rules();
            self.plans[*at].reopen(again, rules)?;
            self.tickets += u32::from(again.is_none());
        }
        // Nothing has landed on the new base yet.
        self.tip = None;
        // Every wave is open: all of its plans were built already.
        let wave = self.plans.iter().map(|plan| plan.wave).max().unwrap_or(1);
        self.enter(Stage::Building { wave });
        Some(())
    }

    /// The review's approval holds for the rebased result: nobody reviews it again.
    pub(super) fn apply_carried(&mut self, tip: &Revision) -> Option<()> {
        let Stage::Carrying { .. } = self.stage else { return None };
        let reviewed = self.reviewed.take()?;
        // A run without plans has nothing landed below its review, so the review begins at the user's branch.
        let from = if self.plans.is_empty() { self.ground.clone() } else { self.tip.clone() };
        self.tip = Some(tip.clone());
        self.enter(Stage::Closing { ending: reviewed.ending });
        self.reviewed = Some(Reviewed { from, tip: tip.clone(), ..reviewed });
        Some(())
    }

    /// The rebase changed what was approved, so the approval is void.
    pub(super) fn apply_judge_again(&mut self, revision: &Revision) -> Option<()> {
        let Stage::Carrying { .. } = self.stage else { return None };
        self.reviewed = None;
        self.tip = Some(revision.clone());
        self.enter(Stage::Reviewing);
        Some(())
    }

    /// The events that only move the run from stage to stage.
    pub(super) fn apply_stage(&mut self, event: &RunEvent) -> Option<()> {
        let built = self.plans.iter().all(PlanRun::is_over);
        let next = match (&self.stage, event) {
            (Stage::Gating, RunEvent::GateDecided { open }) if !self.is_gating() => match open {
                true => Stage::Building { wave: first_wave(&self.spec) },
                false => Stage::Closing { ending: Ending::Shut },
            },
            (Stage::Building { wave: now }, RunEvent::WaveOpened { wave })
                if wave > now && self.is_over_before(*wave) && self.plans.iter().any(|p| p.wave == *wave) =>
            {
                Stage::Building { wave: *wave }
            }
            (Stage::Building { .. }, RunEvent::ReviewOpened) if built => Stage::Reviewing,
            (Stage::Building { .. }, RunEvent::CarryOpened) if built && self.may_carry() => {
                Stage::Carrying { ending: self.reviewed.as_ref()?.ending, fails: 0 }
            }
            // From any stage that `decide_cancel` names. A run that is finishing is not cancelled: its steps may have
            // happened.
            (_, RunEvent::Closing { ending: Ending::Cancelled }) if self.decide_cancel().is_some() => {
                Stage::Closing { ending: Ending::Cancelled }
            }
            (Stage::Building { .. }, RunEvent::Closing { ending })
                if built && *ending == self.ending_by_landings() =>
            {
                Stage::Closing { ending: *ending }
            }
            // Not before a landing that was launched has reported, or it could move the run branch during the finish.
            (Stage::Closing { ending }, RunEvent::FinishOrdered) if self.wants().is_empty() => {
                Stage::Finishing { ending: *ending, step: 0, fails: 0, asked: self.ordered }
            }
            (Stage::Finishing { ending, step, asked, .. }, RunEvent::Finished { .. }) => {
                Stage::Finishing { ending: *ending, step: step + 1, fails: 0, asked: *asked }
            }
            (Stage::Finishing { ending, step, .. }, RunEvent::Ended { ending: said })
                if ending == said && *step >= self.finish_steps(*ending).len() =>
            {
                Stage::Ended { ending: *ending }
            }
            _ => return None,
        };
        self.enter(next);
        Some(())
    }
}
