//! What the world should be doing for a run: for each lane, and for the run itself.
//!
//! The engine may ask for one lane at a time (`wants_of`), because most events touch one. Together the parts must be
//! what `wants` says.

use super::messages::{RunWant, Subject};
use super::plan::{PlanRun, PlanState};
use super::spec::Land;
use super::state::{Reviewed, Run, Stage};
use crate::effect::{EffectId, Step, Try};
use crate::ids::{LoopId, Of};
use crate::review_loop::Opening;
use std::collections::BTreeMap;

impl Run {
    /// What is wanted under this id, if anything is.
    pub(super) fn want(&self, effect: &EffectId) -> Option<RunWant> {
        let Some(at) = self.at(effect.of.as_str()) else {
            return self.own_want().filter(|(id, _)| id == effect).map(|(_, want)| want);
        };
        // Whose turn it is to land matters to landings alone, and takes a look at every lane.
        let head = if effect.step == Step::Land { self.head_of_queue() } else { None };
        self.plan_wants(at, head).into_iter().find(|(id, _)| id == effect).map(|(_, w)| w)
    }

    /// The lanes, and the run itself.
    pub fn parts(&self) -> impl Iterator<Item = Of> {
        self.plans.iter().map(|plan| Of::new(plan.id.as_str())).chain(std::iter::once(Of::run()))
    }

    /// What the world should be doing for one lane, or for the run itself: together, what [`Machine::wants`] says.
    pub fn wants_of(&self, of: &Of) -> BTreeMap<EffectId, RunWant> {
        match self.at(of.as_str()) {
            Some(at) => self.lane_wants(at, self.head_of_queue()).into_iter().collect(),
            None if *of == Of::run() => self.own_wants().into_iter().collect(),
            None => BTreeMap::new(),
        }
    }

    /// The lane whose turn it is to land.
    pub fn lands_next(&self) -> Option<Of> {
        self.head_of_queue().map(|at| Of::new(self.plans[at].id.as_str()))
    }

    /// What the world should be doing for the run itself, with the deadline of what was launched.
    pub(super) fn own_wants(&self) -> Vec<(EffectId, RunWant)> {
        self.intents.with_wakes(self.own_want().into_iter().collect(), |at| RunWant::Wake { at })
    }

    /// What the world should be doing for one lane, with the deadlines of what was launched.
    pub(super) fn lane_wants(&self, at: usize, head: Option<usize>) -> Vec<(EffectId, RunWant)> {
        self.plans[at].intents.with_wakes(self.plan_wants(at, head), |at| RunWant::Wake { at })
    }

    /// The one effect of the run itself; a run does one thing at a time.
    fn own_want(&self) -> Option<(EffectId, RunWant)> {
        match &self.stage {
            Stage::Reviewing if self.spec.chain.is_some() => self.chain_want(),
            Stage::Reviewing => {
                let effect = self.effect(Step::Loop, Try::default());
                let id = LoopId::new(format!("phase.{}", self.entry));
                // Findings of an earlier review were settled before the result was rebased.
                let earlier = self.spec.exists.as_ref().filter(|_| self.ground.is_none());
                let (open, since) = earlier
                    .map_or_else(Default::default, |exists| (exists.open.clone(), exists.since.clone()));
                let opening = Opening::Judge { revision: self.tip.clone()?, open, since };
                Some((effect, RunWant::Loop { id, subject: Subject::Phase, opening }))
            }
            Stage::Polishing { .. } => {
                let effect = self.effect(Step::Loop, Try::default());
                let id = LoopId::new(format!("phase.polish.{}", self.entry));
                let opening = Opening::Make { rounds: None, open: Vec::new() };
                Some((effect, RunWant::Loop { id, subject: Subject::Polish, opening }))
            }
            Stage::Finishing { ending, step, fails, asked } => {
                // After the last step nothing is wanted: `settle` ends the run.
                let wanted = *self.finish_steps(*ending).get(*step)?;
                let effect = self.effect(Step::Finish(wanted), Try::nth(*fails));
                Some((effect, RunWant::Finish { step: wanted, ending: *ending, asked: *asked }))
            }
            Stage::Held { held, .. } => {
                Some((self.effect(Step::Ask, Try::default()), RunWant::AskHeld { held: held.clone() }))
            }
            Stage::Rebasing { fails, .. } => {
                Some((self.effect(Step::Rebase, Try::nth(*fails)), RunWant::Rebase))
            }
            Stage::Carrying { fails, .. } => {
                let Reviewed { from, tip, .. } = self.reviewed.clone()?;
                Some((self.effect(Step::Carry, Try::nth(*fails)), RunWant::Carry { from, tip }))
            }
            Stage::Gating | Stage::Building { .. } | Stage::Closing { .. } | Stage::Ended { .. } => None,
        }
    }

    /// The loop about an artifact: made first, or judged if it is what was built.
    fn chain_want(&self) -> Option<(EffectId, RunWant)> {
        let chain = self.spec.chain.as_ref()?;
        let id = LoopId::new(format!("chain.{}.{}", chain.name, self.entry));
        let opening = match &self.tip {
            // Something was built, so the artifact is the measure of it and not what is made.
            Some(tip) => Opening::Judge { revision: tip.clone(), open: Vec::new(), since: None },
            None => Opening::Make { rounds: None, open: Vec::new() },
        };
        let effect = self.effect(Step::Loop, Try::default());
        Some((effect, RunWant::Loop { id, subject: Subject::Chain, opening }))
    }

    /// What a plan wants in the stage that the run is in.
    fn plan_wants(&self, at: usize, head: Option<usize>) -> Vec<(EffectId, RunWant)> {
        let plan = &self.plans[at];
        match self.stage {
            // The one effect that outlives a cancel: it may have moved the run branch already.
            Stage::Closing { .. } if plan.is_landing() => plan.landing_want().into_iter().collect(),
            Stage::Gating if plan.state == PlanState::Gating => vec![plan.gate_want()],
            Stage::Building { .. } => {
                let mut wants = plan.wants();
                if head == Some(at) {
                    wants.extend(plan.landing_want());
                }
                wants
            }
            // In every other stage lanes rest, and what they had launched is stopped.
            _ => Vec::new(),
        }
    }

    /// The lane whose turn it is. Only one lane lands at a time, so that each lands on a branch whose head is known.
    ///
    /// A group lands in plan order when all of it is approved; otherwise the lane that has waited longest lands
    /// first.
    pub(super) fn head_of_queue(&self) -> Option<usize> {
        let queued = || self.plans.iter().enumerate().filter(|(_, plan)| plan.is_queued());
        // A landing that was launched is heard to its end, whatever joins the queue or opens meanwhile.
        if let Some((at, _)) = queued().find(|(_, plan)| plan.is_landing()) {
            return Some(at);
        }
        match self.spec.land {
            Land::Group => {
                // After a rebase plans of several waves are queued at once.
                let (at, head) = queued().min_by_key(|(at, plan)| (plan.wave, *at))?;
                let together = |plan: &PlanRun| plan.wave > head.wave || plan.is_queued() || plan.waits();
                self.plans.iter().all(together).then_some(at)
            }
            Land::Each => queued().min_by_key(|(_, plan)| plan.ticket()).map(|(at, _)| at),
        }
    }
}
