//! Everything a run is told before it begins.
//!
//! It is the run's first event and never changes, so a run that is resumed is judged by the rules that it began with.

use crate::effect::FinishStep;
use crate::ids::{FindingId, PlanId, Revision};
use crate::ledger::CarriedFinding;
use crate::policy::Policy;
use serde::{Deserialize, Serialize};

/// One plan of the run, as its documents say.
///
/// The wave, the dependencies and the claimed files are three different reasons to wait; `settle.rs` checks all of
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSpec {
    /// The id of the plan: `01-02`.
    pub id: PlanId,
    /// The wave in which it may begin, from 1.
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
    /// How many of its tasks are done.
    pub tasks: u32,
    /// The revision that they left behind.
    pub head: Revision,
}

/// What a refused plan means for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanGate {
    /// One refused plan stops the phase.
    All,
    /// The plans that passed go on.
    Each,
}

/// When the lanes of a run land.
///
/// Together is easier to follow for a person, because a wave is asked about as a whole. One by one is faster, because
/// no lane waits for its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Land {
    /// A wave together, in plan order, when all of it is approved.
    Group,
    /// Each lane by itself, as soon as it is approved.
    Each,
}

/// The policies of the loops that a run opens, by what a loop is about.
///
/// The run holds them from its beginning, so that every loop of it is judged by the rules that were in force then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policies {
    /// For a plan, before anything is built.
    pub plan: Policy,
    /// For one task of a plan.
    pub task: Policy,
    /// For a repair after a refused landing.
    pub repair: Policy,
    /// For the delivery of a plan, all tasks together.
    pub qa: Policy,
    /// For the review of everything that landed.
    pub phase: Policy,
}

/// Everything a run needs to know before it begins.
///
/// It is the content of the first event, so a run that is resumed has no need of the configuration or of the documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The plans, in plan order.
    pub plans: Vec<PlanSpec>,
    /// The plan gate; `None` opens lanes at once.
    pub gate: Option<PlanGate>,
    /// When lanes land: together or one by one.
    pub land: Land,
    /// Whether deliveries are judged before they land.
    pub qa: bool,
    /// Lanes have no SUMMARY: what their last task left goes to the delivery gate, or to the landing queue.
    ///
    /// A lane that made nothing at all is dropped, because there is nothing that a person could decide about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
    /// The result is not brought to the user's branch before a person orders it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Whether the phase is reviewed at the end.
    pub review: bool,
    /// How a polish of the reviewed result is judged; none if nothing is polished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polish: Option<Box<Policy>>,
    /// What exists already and is reviewed at once; nothing is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<Exists>,
    /// An artifact to be made and judged; if plans are built, what judges them all against it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<ChainSpec>>,
    /// When the user's branch has moved, the result is rebased onto it without asking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub land_again: bool,
    /// Runs of a lane's builder between two checkpoints; none if there are no checkpoints.
    pub checkpoint_every: Option<u32>,
    /// Repairs per lane after refused landings.
    pub landing_rounds: u32,
    /// Attempts at one step before it is given up.
    pub attempts_max: u32,
    /// The rules of the loops it opens.
    pub policies: Policies,
    /// What is done at the end, in order.
    pub finish: Vec<FinishStep>,
    /// Deadline of a summary, checkpoint or finishing step, in milliseconds.
    pub step_timeout_ms: u64,
}

/// One artifact of a chain.
///
/// An artifact is made and judged in one loop. If the run also builds plans, the same loop compares the result with
/// the artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainSpec {
    /// What it is called: `spec`. It names its loop.
    pub name: String,
    /// The rules of its loop.
    pub policy: Policy,
    /// Spent rounds do not shut the gate: the artifact goes on, not approved, with its open findings on record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// Something that is there to be reviewed.
///
/// A review of a change that exists is a run without plans: it begins at its review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exists {
    /// The revision that is reviewed.
    pub revision: Revision,
    /// Findings of an earlier review of it, under their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<CarriedFinding>,
    /// The revision that the lines of those findings are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Revision>,
    /// The highest id that reviews of it gave before, so that no id is given twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<FindingId>,
}
