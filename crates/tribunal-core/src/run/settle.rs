//! What follows from a run's state alone, without any input.
//!
//! Each function returns one event, and the order of the calls is the order in which things happen in one turn. It
//! must come to an end after every turn.

use super::events::RunEvent;
use super::messages::Ending;
use super::plan::{PlanRun, PlanState};
use super::spec::{Land, PlanGate};
use super::state::Run;
use crate::effect::FinishStep;

impl Run {
    /// Decides the plan gate when every plan was judged.
    pub(super) fn settle_gating(&self) -> Option<RunEvent> {
        if self.is_gating() {
            return None;
        }
        let refused = |plan: &PlanRun| matches!(plan.state, PlanState::Refused(_));
        let ready = self.plans.iter().any(|plan| plan.state == PlanState::Ready);
        let shut = match self.spec.gate {
            Some(PlanGate::All) => self.plans.iter().any(refused),
            Some(PlanGate::Each) | None => false,
        };
        // Without a plan that passed there is nothing to build, even if the gate would open for each.
        Some(RunEvent::GateDecided { open: ready && !shut })
    }

    /// Whether a plan is still being judged.
    pub(super) fn is_gating(&self) -> bool {
        self.plans.iter().any(|plan| plan.state == PlanState::Gating)
    }

    /// What follows while plans are built: the first rule that fits.
    ///
    /// Drops come before lanes open, so that no lane begins on a dependency that will never land. The end comes last,
    /// when no other rule has anything left to do.
    pub(super) fn settle_building(&self, wave: u32) -> Option<RunEvent> {
        self.settle_dropped()
            .or_else(|| self.settle_lane_opened(wave))
            .or_else(|| self.settle_wave(wave))
            .or_else(|| self.settle_stranded(wave))
            .or_else(|| self.settle_checkpoint())
            .or_else(|| self.settle_asked())
            .or_else(|| self.settle_built())
    }

    /// Drops a plan whose dependency will never land.
    fn settle_dropped(&self) -> Option<RunEvent> {
        let lost = |i: &usize| matches!(self.plans[*i].state, PlanState::Dropped(_) | PlanState::Refused(_));
        // A plan that landed before the result was rebased waits in the queue for what it depends on.
        let waits =
            |plan: &&PlanRun| plan.state == PlanState::Ready || (plan.is_queued() && !plan.is_landing());
        self.plans.iter().filter(waits).find_map(|plan| {
            let lost = plan.needs.iter().find(|i| lost(i))?;
            let by = format!("its dependency {} will not land", self.plans[*lost].id);
            Some(RunEvent::PlanDropped { plan: plan.id.clone(), by })
        })
    }

    /// Opens the first lane that may begin.
    fn settle_lane_opened(&self, wave: u32) -> Option<RunEvent> {
        let ready = |plan: &&PlanRun| self.may_open(plan, wave);
        self.plans.iter().find(ready).map(|plan| RunEvent::LaneOpened { plan: plan.id.clone() })
    }

    /// Whether its wave is open, what it depends on has landed, and nobody holds a file that it claims.
    pub(super) fn may_open(&self, plan: &PlanRun, wave: u32) -> bool {
        let landed = |i: &usize| matches!(self.plans[*i].state, PlanState::Landed(_));
        // Over and not landed: a plan that was dropped holds its files no longer.
        let free = plan.after.iter().all(|i| self.plans[*i].is_over());
        plan.state == PlanState::Ready && plan.wave <= wave && plan.needs.iter().all(landed) && free
    }

    /// Opens the next wave when every plan of the earlier ones is over.
    fn settle_wave(&self, wave: u32) -> Option<RunEvent> {
        let next = self.plans.iter().map(|plan| plan.wave).filter(|w| *w > wave).min()?;
        self.is_over_before(next).then_some(RunEvent::WaveOpened { wave: next })
    }

    /// Whether every plan before this wave is over.
    pub(super) fn is_over_before(&self, wave: u32) -> bool {
        self.plans.iter().all(|plan| plan.wave >= wave || plan.is_over())
    }

    /// Drops a plan that waits while nothing is built: its dependencies go round, or come later, so it would wait for
    /// ever.
    fn settle_stranded(&self, wave: u32) -> Option<RunEvent> {
        // As long as one lane works, it may still land what the others wait for.
        if self.plans.iter().any(|plan| plan.lane().is_some()) {
            return None;
        }
        let stranded = |plan: &&PlanRun| plan.state == PlanState::Ready && plan.wave <= wave;
        let by = "what it waits for can never land".to_owned();
        self.plans.iter().find(stranded).map(|plan| RunEvent::PlanDropped { plan: plan.id.clone(), by })
    }

    /// Begins checkpoints: when one lane is due, every lane at its tasks that has none gets one.
    fn settle_checkpoint(&self) -> Option<RunEvent> {
        let every = self.spec.checkpoint_every?;
        let free =
            |plan: &&PlanRun| plan.lane().is_some_and(|lane| lane.is_at_tasks() && lane.checkpoint.is_none());
        let free: Vec<&PlanRun> = self.plans.iter().filter(free).collect();
        free.iter()
            .any(|plan| plan.is_due(every))
            .then(|| RunEvent::CheckpointDue { plans: free.iter().map(|plan| plan.id.clone()).collect() })
    }

    /// Asks a person about the first stuck lane that may ask.
    fn settle_asked(&self) -> Option<RunEvent> {
        self.plans.iter().find_map(|plan| {
            let stuck = plan.unasked().filter(|_| self.may_ask(plan))?;
            Some(RunEvent::LaneAsked { plan: plan.id.clone(), stuck: stuck.clone() })
        })
    }

    /// Whether a stuck lane may ask. In a group it waits until its siblings rest, so that the person sees the whole
    /// wave at once.
    pub(super) fn may_ask(&self, plan: &PlanRun) -> bool {
        match self.spec.land {
            Land::Each => true,
            Land::Group => self.plans.iter().all(|other| other.wave != plan.wave || other.rests()),
        }
    }

    /// When every plan is over: the review, the carrying over of an earlier one, or the end.
    fn settle_built(&self) -> Option<RunEvent> {
        if !self.plans.iter().all(PlanRun::is_over) {
            return None;
        }
        if self.is_reviewed_next() {
            return Some(if self.may_carry() { RunEvent::CarryOpened } else { RunEvent::ReviewOpened });
        }
        Some(RunEvent::Closing { ending: self.ending_by_landings() })
    }

    /// Whether the review of everything that landed comes next.
    fn is_reviewed_next(&self) -> bool {
        let landed = |plan: &PlanRun| matches!(plan.state, PlanState::Landed(_));
        self.spec.review && self.tip.is_some() && self.plans.iter().any(landed)
    }

    /// Whether an earlier approval may hold for the rebased result; not if a plan of it is missing now.
    pub(super) fn may_carry(&self) -> bool {
        self.reviewed.is_some() && self.ending_by_landings() == Ending::Passed
    }

    /// Ends the run when all finishing steps are done, or withholds the result.
    pub(super) fn settle_finishing(&self, ending: Ending, step: usize, asked: bool) -> Option<RunEvent> {
        if self.withholds(ending, step, asked) {
            return Some(RunEvent::Withheld);
        }
        (step >= self.finish_steps(ending).len()).then_some(RunEvent::Ended { ending })
    }

    /// Whether the result waits for an order before anything of it reaches the user's branch.
    pub(super) fn withholds(&self, ending: Ending, step: usize, asked: bool) -> bool {
        let forwards = self.finish_steps(ending).contains(&FinishStep::Forward);
        // Only before the first step: afterwards part of it may have happened.
        self.spec.hold && !asked && step == 0 && ending.is_good() && forwards
    }
}
