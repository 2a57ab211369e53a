//! What a run records. The journal keeps these events, and a run is the fold of them.
//!
//! They are stored for as long as the run is. A variant or field may be added with a default, but none may be renamed
//! or change its meaning: old journals must fold to the same state.

use super::messages::{Ending, Refusal};
use super::question::{LaneChoice, LaneDecision, Stuck};
use super::spec::RunSpec;
use crate::effect::EffectId;
use crate::failure::Failure;
use crate::held::{Held, HeldDecision};
use crate::ids::{Of, PlanId, Revision, Time};
use crate::ledger::CarriedFinding;
use crate::review_loop::Outcome;
use serde::{Deserialize, Serialize};

/// What a run records, in the past tense.
///
/// The journal keeps these events, and the run is the fold of them. Events of a lane name its plan or an effect of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// The run began. This is always its first event.
    // Boxed, because it is far larger than every other event.
    Opened(Box<RunSpec>),
    /// An effect is about to be launched.
    Intended {
        /// The effect that is about to be launched.
        effect: EffectId,
        /// When it must have reported.
        due: Option<Time>,
    },
    /// An intended effect had not happened.
    Cleared {
        /// The effect that had not happened; its next launch has another id.
        effect: EffectId,
    },
    /// A loop that the run wanted has ended.
    LoopEnded {
        /// The effect whose report this is.
        effect: EffectId,
        /// How the loop ended.
        outcome: Outcome,
        /// The revision that it left behind.
        revision: Option<Revision>,
        /// Its open findings, where a stuck lane goes on with them.
        open: Vec<CarriedFinding>,
    },
    /// Every plan was judged, and the plan gate opens or stays shut.
    GateDecided {
        /// Whether anything is built.
        open: bool,
    },
    /// The plans of the next wave may begin.
    WaveOpened {
        /// The number of the wave, from 1.
        wave: u32,
    },
    /// The work on a plan begins.
    LaneOpened {
        /// The plan that it happened to.
        plan: PlanId,
    },
    /// A plan will not be built.
    PlanDropped {
        /// The plan that it happened to.
        plan: PlanId,
        /// Who, or what, dropped it.
        by: String,
    },
    /// The SUMMARY of a plan is written and valid.
    Summarised {
        /// The effect whose report this is.
        effect: EffectId,
        /// The lane's revision with it.
        revision: Revision,
    },
    /// A plan is on the run branch.
    Landed {
        /// The effect whose report this is.
        effect: EffectId,
        /// The revision that was approved, not the one that landing made of it.
        revision: Revision,
        /// The run branch's new head.
        tip: Revision,
    },
    /// A landing was refused, and the lane gets a repair or a question.
    LandingRefused {
        /// The effect whose report this is.
        effect: EffectId,
        /// Why it could not land.
        refusal: Refusal,
        /// The same as findings, for whoever repairs it.
        findings: Vec<CarriedFinding>,
    },
    /// A person is asked about a stuck lane.
    LaneAsked {
        /// The plan that it happened to.
        plan: PlanId,
        /// Where the lane stopped, and what may be chosen.
        stuck: Stuck,
    },
    /// A person decided about a stuck lane.
    LaneDecided {
        /// The plan that it happened to.
        plan: PlanId,
        /// What the person decided.
        decision: LaneDecision,
    },
    /// A lane's loop went on.
    Iterated {
        /// The plan that it happened to.
        plan: PlanId,
        /// Iterations of its loop so far.
        n: u32,
    },
    /// Lanes are judged on their progress.
    CheckpointDue {
        /// Every lane that gets a checkpoint now.
        plans: Vec<PlanId>,
    },
    /// A checkpoint was held, or given up.
    Checkpointed {
        /// The effect whose report this is.
        effect: EffectId,
        /// What the next prompt of the lane quotes; none where the checkpoint was given up.
        feedback: Option<String>,
    },
    /// An attempt was lost; the step is tried again or given up.
    Failed {
        /// The effect whose report this is.
        effect: EffectId,
        /// What went wrong with it.
        failure: Failure,
    },
    /// Everything that landed is reviewed together.
    ReviewOpened,
    /// It will end like this.
    Closing {
        /// How the run ends.
        ending: Ending,
    },
    /// Nothing runs any more, so the finishing steps begin.
    FinishOrdered,
    /// A finishing step is done.
    Finished {
        /// The effect whose report this is.
        effect: EffectId,
        /// What the step did, for people.
        note: String,
    },
    /// The user's branch cannot have the result now.
    Held {
        /// The finishing step that found out.
        effect: EffectId,
        /// What keeps the branch from having it.
        held: Held,
        /// Nobody is asked: the result is rebased onto the branch, because that was ordered beforehand.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        goes_on: bool,
    },
    /// The result is kept from the user's branch until a person orders it.
    Withheld,
    /// A person decided about a held result.
    HeldDecided(HeldDecision),
    /// The run branch begins at the user's branch again: what had landed is queued once more, or worked on again.
    Rebased {
        /// The effect whose report this is.
        effect: EffectId,
        /// Where the user's branch is.
        onto: Revision,
    },
    /// Everything is on the rebased run branch: what the review approved is carried over, if it can be.
    CarryOpened,
    /// What the review approved holds for the rebased result.
    Carried {
        /// The effect whose report this is.
        effect: EffectId,
        /// The head of the rebased run branch.
        tip: Revision,
    },
    /// What the review approved is not proven for the rebased result: it is reviewed again.
    JudgeAgain {
        /// The effect whose report this is.
        effect: EffectId,
        /// The head of the rebased run branch.
        revision: Revision,
    },
    /// The run is over. No event follows.
    Ended {
        /// How the run ends.
        ending: Ending,
    },
}

impl RunEvent {
    /// The effect whose report this is.
    ///
    /// An event that names one is refused by `apply` unless the run wants that effect. A new event that answers an
    /// effect belongs in this list.
    pub(super) fn answers(&self) -> Option<&EffectId> {
        match self {
            RunEvent::LoopEnded { effect, .. }
            | RunEvent::Summarised { effect, .. }
            | RunEvent::Landed { effect, .. }
            | RunEvent::LandingRefused { effect, .. }
            | RunEvent::Checkpointed { effect, .. }
            | RunEvent::Failed { effect, .. }
            | RunEvent::Held { effect, .. }
            | RunEvent::Rebased { effect, .. }
            | RunEvent::Carried { effect, .. }
            | RunEvent::JudgeAgain { effect, .. }
            | RunEvent::Finished { effect, .. } => Some(effect),
            _ => None,
        }
    }

    /// The lanes whose wants it may change (the run itself counts as one), besides the lane whose turn it is to land;
    /// `None` if it may be any.
    ///
    /// The engine asks only these for their wants after a turn: asking every lane after every event would cost far
    /// more in a run with many. The laws compare both.
    pub fn touches(&self) -> Option<Vec<Of>> {
        let lane = |plan: &PlanId| Of::new(plan.as_str());
        match self {
            RunEvent::Intended { effect, .. } | RunEvent::Cleared { effect } => Some(vec![effect.of.clone()]),
            // A stop ends the work of every lane.
            RunEvent::LaneDecided { decision, .. } if decision.choice == LaneChoice::Stop => None,
            RunEvent::LaneOpened { plan }
            | RunEvent::PlanDropped { plan, .. }
            | RunEvent::LaneAsked { plan, .. }
            | RunEvent::LaneDecided { plan, .. }
            | RunEvent::Iterated { plan, .. } => Some(vec![lane(plan)]),
            RunEvent::CheckpointDue { plans } => Some(plans.iter().map(lane).collect()),
            // Only for effects of a lane. One of the run itself may change the stage, and with it the wants of every
            // lane.
            RunEvent::LoopEnded { effect, .. }
            | RunEvent::Summarised { effect, .. }
            | RunEvent::Landed { effect, .. }
            | RunEvent::LandingRefused { effect, .. }
            | RunEvent::Checkpointed { effect, .. }
            | RunEvent::Failed { effect, .. }
                if effect.of != Of::run() =>
            {
                Some(vec![effect.of.clone()])
            }
            // Everything else may move the run to another stage.
            _ => None,
        }
    }

    /// Whether it moves a lane without being a report. That is possible only while plans are judged or built.
    pub(super) fn is_of_a_lane(&self) -> bool {
        matches!(
            self,
            // Reports about a lane are not listed: `answers` covers them.
            RunEvent::LaneOpened { .. }
                | RunEvent::PlanDropped { .. }
                | RunEvent::LaneAsked { .. }
                | RunEvent::LaneDecided { .. }
                | RunEvent::Iterated { .. }
                | RunEvent::CheckpointDue { .. }
        )
    }

    /// The name of the event, as in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            RunEvent::Opened(_) => "opened",
            RunEvent::Intended { .. } => "intended",
            RunEvent::Cleared { .. } => "cleared",
            RunEvent::LoopEnded { .. } => "loop_ended",
            RunEvent::GateDecided { .. } => "gate_decided",
            RunEvent::WaveOpened { .. } => "wave_opened",
            RunEvent::LaneOpened { .. } => "lane_opened",
            RunEvent::PlanDropped { .. } => "plan_dropped",
            RunEvent::Summarised { .. } => "summarised",
            RunEvent::Landed { .. } => "landed",
            RunEvent::LandingRefused { .. } => "landing_refused",
            RunEvent::LaneAsked { .. } => "lane_asked",
            RunEvent::LaneDecided { .. } => "lane_decided",
            RunEvent::Iterated { .. } => "iterated",
            RunEvent::CheckpointDue { .. } => "checkpoint_due",
            RunEvent::Checkpointed { .. } => "checkpointed",
            RunEvent::Failed { .. } => "failed",
            RunEvent::ReviewOpened => "review_opened",
            RunEvent::Closing { .. } => "closing",
            RunEvent::FinishOrdered => "finish_ordered",
            RunEvent::Finished { .. } => "finished",
            RunEvent::Held { .. } => "held",
            RunEvent::Withheld => "withheld",
            RunEvent::HeldDecided(_) => "held_decided",
            RunEvent::Rebased { .. } => "rebased",
            RunEvent::CarryOpened => "carry_opened",
            RunEvent::Carried { .. } => "carried",
            RunEvent::JudgeAgain { .. } => "judge_again",
            RunEvent::Ended { .. } => "ended",
        }
    }
}
