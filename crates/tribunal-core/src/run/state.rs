//! The stages of a run, what it remembers, and what others may read of it.
//!
//! The fields are open to this module alone, and only `apply` changes them. A new field must follow from events
//! alone: two folds of one journal have to be equal.

use super::messages::{Ending, Subject};
use super::plan::{LaneRules, PlanRun, PlanState, Standing};
use super::question::Job;
use super::spec::{Land, PlanSpec, RunSpec};
use crate::effect::{EffectId, FinishStep, Intents, Step, Try};
use crate::held::Held;
use crate::ids::{Of, PlanId, Revision, Time};
use crate::policy::Policy;
use serde::Serialize;
use std::collections::BTreeMap;

/// How often a result is rebased for one order to land it: the branch may move again while the rest is judged again.
///
/// A branch that moves faster than that is asked about, so that a run ends or waits in bounded time.
pub const REBASES_MAX: u32 = 3;

/// Who drops a lane that made nothing: the reason that people read.
pub const UNCHANGED: &str = "nothing was changed";

/// Plans, lanes and the way to the user's branch: the fold of the run's events.
///
/// It is changed by [`Machine::apply`](crate::machine::Machine::apply) alone, like a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub(super) spec: RunSpec,
    pub(super) stage: Stage,
    /// Grows with every change of stage, so that no effect id is used twice. Each lane has its own.
    pub(super) entry: u32,
    pub(super) intents: Intents,
    pub(super) plans: Vec<PlanRun>,
    pub(super) index: BTreeMap<PlanId, usize>,
    /// How many places in the landing queue were given out.
    pub(super) tickets: u32,
    /// The head of the run branch.
    pub(super) tip: Option<Revision>,
    /// Plans in the order in which they landed: rebased, they land in that order again.
    pub(super) landings: Vec<usize>,
    /// How often the result may still be rebased before a person is asked.
    pub(super) rebases: u32,
    /// A person ordered the result to land, and has not been asked again since: the order holds through a rebase.
    pub(super) ordered: bool,
    /// Where the user's branch was when the result was rebased last.
    pub(super) ground: Option<Revision>,
    pub(super) reviewed: Option<Reviewed>,
}

/// How far the run as a whole has come.
///
/// A rebase leads from the finish back to building: everything that had landed lands once more, on the branch as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Gating,
    Building {
        wave: u32,
    },
    Reviewing,
    Polishing {
        ending: Ending,
    },
    Closing {
        ending: Ending,
    },
    Finishing {
        ending: Ending,
        step: usize,
        fails: u32,
        asked: bool,
    },
    /// `whole`: the run branch has the whole result. While it is rebased it has not.
    Held {
        ending: Ending,
        held: Held,
        whole: bool,
    },
    /// `again`: the lane works on what it landed, for so many rounds, before it lands once more.
    Rebasing {
        ending: Ending,
        fails: u32,
        again: Option<u32>,
    },
    Carrying {
        ending: Ending,
        fails: u32,
    },
    Ended {
        ending: Ending,
    },
}

impl Stage {
    pub(super) fn kind(&self) -> RunStage {
        match self {
            Stage::Gating => RunStage::Gating,
            Stage::Building { .. } => RunStage::Building,
            Stage::Reviewing => RunStage::Reviewing,
            Stage::Polishing { .. } => RunStage::Polishing,
            Stage::Closing { .. } => RunStage::Closing,
            Stage::Finishing { .. } => RunStage::Finishing,
            Stage::Held { .. } => RunStage::Held,
            Stage::Rebasing { .. } => RunStage::Rebasing,
            Stage::Carrying { .. } => RunStage::Carrying,
            Stage::Ended { .. } => RunStage::Ended,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.kind().word()
    }
}

/// How far a run has come, without what its stage holds: what is shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStage {
    /// Plans are reviewed before any code.
    Gating,
    /// Plans are built.
    Building,
    /// The whole is reviewed.
    Reviewing,
    /// What passed is polished.
    Polishing,
    /// The ending is settled, and work that is not wanted any more is stopped.
    Closing,
    /// The result is brought to the user's branch.
    Finishing,
    /// The user's branch lacks the result, and a person is asked.
    Held,
    /// The run branch begins anew at the user's branch.
    Rebasing,
    /// The approval is compared with the rebased result.
    Carrying,
    /// It is over.
    Ended,
}

impl RunStage {
    /// The name of the stage as people read it.
    pub fn word(self) -> &'static str {
        match self {
            RunStage::Gating => "gating",
            RunStage::Building => "building",
            RunStage::Reviewing => "reviewing",
            RunStage::Polishing => "polishing",
            RunStage::Closing => "closing",
            RunStage::Finishing => "finishing",
            RunStage::Held => "held",
            RunStage::Rebasing => "rebasing",
            RunStage::Carrying => "carrying",
            RunStage::Ended => "ended",
        }
    }
}

/// What the last loop of the run itself approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reviewed {
    /// What the review began with, before its fixes; none where nothing had landed.
    pub(super) from: Option<Revision>,
    pub(super) tip: Revision,
    pub(super) ending: Ending,
}

impl Run {
    /// The machine after its first event.
    pub fn open(spec: &RunSpec) -> Run {
        let places = |ids: &[PlanId]| -> Vec<usize> {
            // An id that is not in this run names nothing to wait for.
            ids.iter().filter_map(|id| spec.plans.iter().position(|plan| plan.id == *id)).collect()
        };
        let gated = spec.gate.is_some();
        let begins = if gated { PlanState::Gating } else { PlanState::Ready };
        let lane = |plan: &PlanSpec| {
            PlanRun::new(plan, places(&plan.depends_on), places(&plan.after), begins.clone())
        };
        let plans: Vec<PlanRun> = spec.plans.iter().map(lane).collect();
        let stage = match &spec.exists {
            Some(_) => Stage::Reviewing,
            // An artifact is made inside its own loop, so such a run has nothing to build before.
            None if spec.chain.is_some() && spec.plans.is_empty() => Stage::Reviewing,
            None if gated => Stage::Gating,
            None => Stage::Building { wave: first_wave(spec) },
        };
        Run {
            spec: spec.clone(),
            stage,
            entry: 1,
            intents: Intents::default(),
            // Of two plans with one id the first counts: later inserts overwrite, hence the reversal.
            index: plans.iter().enumerate().rev().map(|(at, plan)| (plan.id.clone(), at)).collect(),
            plans,
            tickets: 0,
            tip: spec.exists.as_ref().map(|exists| exists.revision.clone()),
            landings: Vec::new(),
            // `land_again` is an order to land given beforehand, so it allows as many rebases as one.
            rebases: if spec.land_again { REBASES_MAX } else { 0 },
            ordered: false,
            ground: None,
            reviewed: None,
        }
    }

    /// The spec it was opened with.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }
    /// How far it has come.
    pub fn stage(&self) -> RunStage {
        self.stage.kind()
    }
    /// The name of its stage, for people.
    pub fn stage_name(&self) -> &'static str {
        self.stage.name()
    }
    /// The newest wave that may build; none while nothing is built.
    pub fn wave(&self) -> Option<u32> {
        match self.stage {
            Stage::Building { wave } => Some(wave),
            _ => None,
        }
    }
    /// How it ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        match self.stage {
            Stage::Ended { ending } => Some(ending),
            _ => None,
        }
    }
    /// How it is going to end, once that is settled.
    pub fn closing(&self) -> Option<Ending> {
        match self.stage {
            Stage::Closing { ending } | Stage::Finishing { ending, .. } | Stage::Ended { ending } => {
                Some(ending)
            }
            _ => None,
        }
    }
    /// The head of the run branch as of the last landing.
    pub fn tip(&self) -> Option<&Revision> {
        self.tip.as_ref()
    }
    /// What keeps the result from the user's branch, while a person is asked about it.
    pub fn held(&self) -> Option<&Held> {
        match &self.stage {
            Stage::Held { held, .. } => Some(held),
            _ => None,
        }
    }
    /// Whether the lane may work on a held result again: only if one lane made all of it, and nothing was made of it
    /// since.
    ///
    /// A result of several lanes would have to name the one that is meant.
    pub fn may_work_again(&self) -> bool {
        let one_lane = self.plans.len() == 1 && self.landings.len() == 1 && self.spec.bare;
        // Without a review, whose fixers may have changed what the lane made.
        matches!(self.stage, Stage::Held { .. }) && one_lane && !self.spec.review
    }
    /// Whether the run branch has the whole result, and only the user's branch lacks it.
    pub fn is_whole(&self) -> bool {
        matches!(self.stage, Stage::Held { whole: true, .. })
    }
    /// What the last loop of the run itself approved.
    pub fn reviewed_tip(&self) -> Option<&Revision> {
        self.reviewed.as_ref().map(|reviewed| &reviewed.tip)
    }
    /// Where the user's branch was when the result was rebased last; none if it never was.
    pub fn ground(&self) -> Option<&Revision> {
        self.ground.as_ref()
    }
    /// Where each plan stands, in plan order.
    pub fn standings(&self) -> impl Iterator<Item = (&PlanId, Standing<'_>)> {
        self.plans.iter().map(|plan| (&plan.id, plan.standing()))
    }
    /// The feedback of a lane's last checkpoint.
    pub fn feedback(&self, plan: &PlanId) -> Option<&str> {
        self.plan(plan)?.lane()?.feedback.as_deref()
    }
    /// The revision of the lane that was approved last, by a loop or a person: the change of its next task begins
    /// there.
    pub fn lane_head(&self, plan: &PlanId) -> Option<&Revision> {
        self.plan(plan)?.lane()?.head.as_ref()
    }
    /// Intended effects that have not reported.
    pub fn intents(&self) -> impl Iterator<Item = (&EffectId, &Option<Time>)> {
        self.plans.iter().flat_map(|plan| plan.intents.iter()).chain(self.intents.iter())
    }
    /// The policy for a loop about this subject.
    pub fn policy(&self, subject: &Subject) -> &Policy {
        match subject {
            Subject::Plan(_) => &self.spec.policies.plan,
            Subject::Lane(_, Job::Task(_)) => &self.spec.policies.task,
            Subject::Lane(_, Job::Repair) => &self.spec.policies.repair,
            Subject::Lane(_, Job::Qa) => &self.spec.policies.qa,
            Subject::Phase => &self.spec.policies.phase,
            // A run without a polish never wants such a loop. The fallback only keeps this total.
            Subject::Polish => self.spec.polish.as_deref().unwrap_or(&self.spec.policies.phase),
            Subject::Chain => {
                self.spec.chain.as_ref().map_or(&self.spec.policies.phase, |chain| &chain.policy)
            }
        }
    }
}

// What the other files of the machine share.
impl Run {
    pub(super) fn at(&self, plan: &str) -> Option<usize> {
        self.index.get(plan).copied()
    }

    pub(super) fn plan(&self, id: &PlanId) -> Option<&PlanRun> {
        self.at(id.as_str()).map(|at| &self.plans[at])
    }

    pub(super) fn plan_of(&self, effect: &EffectId) -> Option<&PlanRun> {
        self.at(effect.of.as_str()).map(|at| &self.plans[at])
    }

    /// The id of an effect of the run itself.
    pub(super) fn effect(&self, step: Step, n: Try) -> EffectId {
        let launch = self.intents.launch(&step, n);
        EffectId { of: Of::run(), entry: self.entry, step, n, launch }
    }

    /// Changes the stage. When the run closes, only a landing that was launched is heard to its end: it may have
    /// happened.
    pub(super) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.entry += 1;
        self.intents.reset();
        if let Stage::Closing { .. } = self.stage {
            // Everything else that was launched is cancelled; a landing may have moved the branch already.
            self.plans.iter_mut().for_each(|plan| plan.intents.retain(|effect| effect.step == Step::Land));
        }
    }

    /// The intents of the lane or of the run itself, whichever this effect belongs to.
    pub(super) fn intents_of(&self, effect: &EffectId) -> &Intents {
        self.plan_of(effect).map_or(&self.intents, |plan| &plan.intents)
    }

    pub(super) fn intents_mut(&mut self, effect: &EffectId) -> &mut Intents {
        match self.at(effect.of.as_str()) {
            Some(at) => &mut self.plans[at].intents,
            None => &mut self.intents,
        }
    }

    /// What is done at the end: everything for a good one, only the record of it otherwise, nothing after a cancel.
    pub(super) fn finish_steps(&self, ending: Ending) -> &[FinishStep] {
        match ending {
            Ending::Passed | Ending::Concerns => &self.spec.finish,
            // If nothing was built, there is only the record of it to bring.
            Ending::Shut if self.spec.chain.is_some() && self.spec.plans.is_empty() => &self.spec.finish,
            Ending::Shut | Ending::Stopped => {
                // The boundary commit records what happened. Nothing of the result itself may reach the branch.
                let boundary = self.spec.finish.first() == Some(&FinishStep::Boundary);
                &self.spec.finish[..usize::from(boundary)]
            }
            Ending::Cancelled => &[],
        }
    }

    /// What its lanes have to know to move on.
    pub(super) fn lane_rules(&self) -> LaneRules {
        LaneRules {
            qa: self.spec.qa,
            bare: self.spec.bare,
            attempts_max: self.spec.attempts_max,
            landing_rounds: self.spec.landing_rounds,
            ticket: self.tickets.saturating_add(1),
        }
    }

    /// Whether a report of this effect counts: the effect is wanted, and was launched if it needs an intent.
    pub(super) fn hears(&self, effect: &EffectId) -> bool {
        self.intents_of(effect).is_launched(effect) && self.want(effect).is_some()
    }

    /// Whether lanes may move.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.stage, Stage::Gating | Stage::Building { .. })
    }

    /// Passed if all plans landed. Otherwise the gate stays shut.
    pub(super) fn ending_by_landings(&self) -> Ending {
        let all = self.plans.iter().all(|plan| matches!(plan.state, PlanState::Landed(_)));
        if all { Ending::Passed } else { Ending::Shut }
    }
}

/// The wave to begin with. Lanes that land one by one wait for dependencies alone, so all waves are open for them.
pub(super) fn first_wave(spec: &RunSpec) -> u32 {
    let waves = spec.plans.iter().map(|plan| plan.wave);
    match spec.land {
        Land::Group => waves.min().unwrap_or(1),
        Land::Each => waves.max().unwrap_or(1),
    }
}
