//! What a run records. The journal keeps these events, and a run is the fold of them.

use super::messages::{Ending, Refusal};
use super::question::{LaneChoice, LaneDecision, Stuck};
use super::spec::RunSpec;
use crate::effect::EffectId;
use crate::failure::Failure;
use crate::held::{Held, HeldDecision};
use crate::ids::{Of, PlanId, Revision, Time};
use crate::ledger::Handed;
use crate::review_loop::Outcome;
use serde::{Deserialize, Serialize};

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// It began.
    Opened(Box<RunSpec>),
    /// An effect is about to be launched.
    Intended {
        /// Which.
        effect: EffectId,
        /// When it must have reported.
        due: Option<Time>,
    },
    /// An intended effect had not happened.
    Cleared {
        /// Which.
        effect: EffectId,
    },
    /// A loop ended.
    LoopEnded {
        /// Which.
        effect: EffectId,
        /// How.
        outcome: Outcome,
        /// What it left.
        revision: Option<Revision>,
        /// What is open.
        open: Vec<Handed>,
    },
    /// All plans are judged.
    GateDecided {
        /// Building begins.
        open: bool,
    },
    /// A wave may build.
    WaveOpened {
        /// Which.
        wave: u32,
    },
    /// A plan's lane begins.
    LaneOpened {
        /// Which.
        plan: PlanId,
    },
    /// A plan will not be built.
    PlanDropped {
        /// Which.
        plan: PlanId,
        /// Who, or what, dropped it.
        by: String,
    },
    /// A SUMMARY is written.
    Summarised {
        /// Which.
        effect: EffectId,
        /// The lane's revision with it.
        revision: Revision,
    },
    /// A plan is on the run branch.
    Landed {
        /// Which.
        effect: EffectId,
        /// What was approved.
        revision: Revision,
        /// The run branch's new head.
        tip: Revision,
    },
    /// A landing was refused.
    LandingRefused {
        /// Which.
        effect: EffectId,
        /// Why.
        refusal: Refusal,
        /// As findings.
        findings: Vec<Handed>,
    },
    /// A person is asked about a stuck lane.
    LaneAsked {
        /// Which.
        plan: PlanId,
        /// What about.
        stuck: Stuck,
    },
    /// A person decided about it.
    LaneDecided {
        /// Which.
        plan: PlanId,
        /// What.
        decision: LaneDecision,
    },
    /// A lane's loop went on.
    Iterated {
        /// Which.
        plan: PlanId,
        /// Iterations of its loop so far.
        n: u32,
    },
    /// Lanes are judged on their progress.
    CheckpointDue {
        /// Which.
        plans: Vec<PlanId>,
    },
    /// A checkpoint was held, or given up.
    Checkpointed {
        /// Which.
        effect: EffectId,
        /// For the next brief.
        feedback: Option<String>,
    },
    /// An attempt was lost.
    Failed {
        /// Which.
        effect: EffectId,
        /// Why.
        failure: Failure,
    },
    /// The phase review begins.
    ReviewOpened,
    /// It will end like this.
    Closing {
        /// How.
        ending: Ending,
    },
    /// Nothing runs any more.
    FinishOrdered,
    /// A finishing step is done.
    Finished {
        /// Which.
        effect: EffectId,
        /// What happened.
        note: String,
    },
    /// The user's branch cannot have the result now.
    Held {
        /// Which step found out.
        effect: EffectId,
        /// Why.
        held: Held,
        /// Nobody is asked: the result is rebased onto the branch, because that was ordered beforehand.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        goes_on: bool,
    },
    /// A person decided about a held result.
    HeldDecided(HeldDecision),
    /// The run branch begins at the user's branch again: what had landed is queued once more.
    Rebased {
        /// Which.
        effect: EffectId,
        /// Where the user's branch is.
        onto: Revision,
    },
    /// Everything is on the rebased run branch: what the review approved is carried over, if it can be.
    CarryOpened,
    /// What the review approved holds for the rebased result.
    Carried {
        /// Which.
        effect: EffectId,
        /// The rebased result.
        tip: Revision,
    },
    /// What the review approved is not proven for the rebased result: it is reviewed again.
    JudgeAgain {
        /// Which.
        effect: EffectId,
        /// The rebased result.
        revision: Revision,
    },
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
    },
}

impl RunEvent {
    /// The effect whose report this is.
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

    /// The lanes whose wants it may change (the run itself is one of them), besides the lane whose turn it is to land;
    /// `None` when it may be any.
    pub fn touches(&self) -> Option<Vec<Of>> {
        let lane = |plan: &PlanId| Of::new(plan.as_str());
        match self {
            RunEvent::Intended { effect, .. } | RunEvent::Cleared { effect } => Some(vec![effect.of.clone()]),
            // It ends the work of every lane.
            RunEvent::LaneDecided { decision, .. } if decision.choice == LaneChoice::Stop => None,
            RunEvent::LaneOpened { plan }
            | RunEvent::PlanDropped { plan, .. }
            | RunEvent::LaneAsked { plan, .. }
            | RunEvent::LaneDecided { plan, .. }
            | RunEvent::Iterated { plan, .. } => Some(vec![lane(plan)]),
            RunEvent::CheckpointDue { plans } => Some(plans.iter().map(lane).collect()),
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
            _ => None,
        }
    }

    /// It moves a lane without being a report: only while plans are judged or built.
    pub(super) fn is_of_a_lane(&self) -> bool {
        matches!(
            self,
            RunEvent::LaneOpened { .. }
                | RunEvent::PlanDropped { .. }
                | RunEvent::LaneAsked { .. }
                | RunEvent::LaneDecided { .. }
                | RunEvent::Iterated { .. }
                | RunEvent::CheckpointDue { .. }
        )
    }

    /// The event's name, as in the journal.
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
            RunEvent::HeldDecided(_) => "held_decided",
            RunEvent::Rebased { .. } => "rebased",
            RunEvent::CarryOpened => "carry_opened",
            RunEvent::Carried { .. } => "carried",
            RunEvent::JudgeAgain { .. } => "judge_again",
            RunEvent::Ended { .. } => "ended",
        }
    }
}
