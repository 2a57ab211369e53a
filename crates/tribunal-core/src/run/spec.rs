//! Everything a run is told before it begins.

use crate::effect::FinishStep;
use crate::ids::{FindingId, PlanId, Revision};
use crate::ledger::Handed;
use crate::policy::Policy;
use serde::{Deserialize, Serialize};

/// One plan of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSpec {
    /// Its id.
    pub id: PlanId,
    /// Its wave, from 1.
    pub wave: u32,
    /// Plans of this run that must have landed first.
    pub depends_on: Vec<PlanId>,
    /// Plans of this run that hold files it claims: it begins when those have landed, or never will.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PlanId>,
    /// How many tasks it has; at least 1.
    pub tasks: u32,
    /// The document as the run found it: what the plan gate judges first.
    pub revision: Revision,
    /// Tasks already committed by an earlier run, and what they left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<TasksDone>,
}

/// Where an earlier run left a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksDone {
    /// How many tasks.
    pub tasks: u32,
    /// What they left.
    pub head: Revision,
}

/// What a refused plan means for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanGate {
    /// One refused plan stops the phase.
    All,
    /// The passed ones go on.
    Each,
}

/// How lanes land.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Land {
    /// A wave together, in plan order, when all of it is approved.
    Group,
    /// Each when it is approved.
    Each,
}

/// The policies of the loops a run opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policies {
    /// Plan gate.
    pub plan: Policy,
    /// A task.
    pub task: Policy,
    /// A repair after a refused landing.
    pub repair: Policy,
    /// A plan's delivery.
    pub qa: Policy,
    /// The phase review.
    pub phase: Policy,
}

/// Everything a run needs to know before it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The plans, in plan order.
    pub plans: Vec<PlanSpec>,
    /// The plan gate; `None` opens lanes at once.
    pub gate: Option<PlanGate>,
    /// How lanes land.
    pub land: Land,
    /// Whether deliveries are judged before they land.
    pub qa: bool,
    /// Whether the phase is reviewed at the end.
    pub review: bool,
    /// How a polish of what the review passed is judged; none where nothing is polished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polish: Option<Box<Policy>>,
    /// What exists already and is reviewed at once; nothing is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<Exists>,
    /// An artifact to be made and judged; where plans are built, what judges them all against it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<ChainSpec>>,
    /// When the user's branch has moved, the result is rebased onto it without asking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub land_again: bool,
    /// Iterations between checkpoints.
    pub checkpoint_every: Option<u32>,
    /// Repairs per lane after refused landings.
    pub landing_rounds: u32,
    /// Tries at one step.
    pub attempts_max: u32,
    /// How loops judge.
    pub policies: Policies,
    /// What is done at the end, in order.
    pub finish: Vec<FinishStep>,
    /// Deadline of a summary, checkpoint or finishing step, in milliseconds.
    pub step_timeout_ms: u64,
}

/// One artifact of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainSpec {
    /// What it is called: `spec`. It names its loop.
    pub name: String,
    /// How it is judged.
    pub policy: Policy,
    /// Spent rounds do not shut the gate: it goes on, not approved, with what is open on record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// Something that is there to be reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exists {
    /// What is judged.
    pub revision: Revision,
    /// Findings of an earlier review of it, under their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Handed>,
    /// The revision that the lines of those findings are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Revision>,
    /// The highest id that reviews of it gave before: none is given twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<FindingId>,
}
