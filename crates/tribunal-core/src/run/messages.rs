//! What goes into a run and what it wants: inputs, reports and wants.
//!
//! They mirror those of a loop. A loop is one of the wants, and its end one of the reports: the two machines never
//! call each other.

use super::question::{Job, LaneDecision, Stuck};
use crate::effect::{EffectId, FinishStep};
use crate::failure::Failure;
use crate::held::{Held, HeldDecision};
use crate::ids::{LoopId, PlanId, Revision, Time};
use crate::ledger::CarriedFinding;
use crate::review_loop::{Opening, Outcome};
use serde::{Deserialize, Serialize};

/// How a run ended.
///
/// A run never ends good while the user's branch lacks its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every plan landed, and the review passed.
    Passed,
    /// An artifact was not approved and goes on all the same, with what is open on record.
    Concerns,
    /// Something was not approved.
    Shut,
    /// A person stopped it by answering a question.
    Stopped,
    /// Somebody cancelled it from outside.
    Cancelled,
}

impl Ending {
    /// Whether the user's branch is to have the result.
    pub fn is_good(self) -> bool {
        matches!(self, Ending::Passed | Ending::Concerns)
    }

    /// The name of the ending as people read it.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Passed => "passed",
            Ending::Concerns => "concerns",
            Ending::Shut => "shut",
            Ending::Stopped => "stopped",
            Ending::Cancelled => "cancelled",
        }
    }
}

/// Why a landing was refused.
///
/// Each has another repair: a conflict and a red check go to a builder, an approval that does not carry over goes to
/// reviewers first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It does not merge with what landed before it.
    Conflict,
    /// A check is red on the merged tree.
    RedCheck,
    /// The approval does not carry over to this rebased revision.
    JudgeAgain(Revision),
}

/// What an effect of a run reports.
///
/// As in a loop, a report counts only under the id of an effect that the run wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunReport {
    /// A loop that the run wanted has ended.
    LoopEnded {
        /// How the loop ended.
        outcome: Outcome,
        /// The revision that it left behind.
        revision: Option<Revision>,
        /// The findings that are still open.
        open: Vec<CarriedFinding>,
    },
    /// The SUMMARY is written and valid.
    Summarised {
        /// The lane's revision with it.
        revision: Revision,
    },
    /// The plan is on the run branch.
    Landed {
        /// The run branch's new head.
        tip: Revision,
    },
    /// The plan could not be put on the run branch.
    LandingRefused {
        /// Why it could not land.
        refusal: Refusal,
        /// The same as findings, for whoever repairs it.
        findings: Vec<CarriedFinding>,
    },
    /// A checkpoint judged the progress of a lane.
    Checkpointed {
        /// What the next prompt of the lane quotes.
        feedback: String,
    },
    /// A person decided about a lane.
    LaneDecided(LaneDecision),
    /// A finishing step is done.
    Finished {
        /// What the step did, for people.
        note: String,
    },
    /// The user's branch cannot have the result now.
    Held(Held),
    /// A person decided about a held result.
    HeldDecided(HeldDecision),
    /// The run branch begins at the user's branch again, and nothing has landed on it.
    Rebased {
        /// Where the user's branch is.
        onto: Revision,
    },
    /// What the review approved holds for the rebased result.
    Carried {
        /// The head of the rebased run branch.
        tip: Revision,
    },
    /// What the review approved is not proven for the rebased result.
    JudgeAgain {
        /// The head of the rebased run branch.
        revision: Revision,
    },
    /// The attempt is lost, and why.
    Failed(Failure),
    /// The time of a wake-up has come.
    Due,
}

/// What comes into a run.
///
/// Inputs are not recorded: `decide` turns one into an event, or ignores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunIn {
    /// An effect reports, at its end or at its deadline.
    Report {
        /// The id of the effect.
        effect: EffectId,
        /// The time; the machine has no clock of its own.
        at: Time,
        /// The report itself.
        report: RunReport,
    },
    /// The engine is about to launch this effect.
    Intend {
        /// The id of the effect.
        effect: EffectId,
        /// The time of the launch, from which its deadline counts.
        at: Time,
    },
    /// An intended effect was proven not to have happened.
    Clear {
        /// The id of the effect.
        effect: EffectId,
    },
    /// A lane's loop has had so many iterations.
    Iterated {
        /// The effect that holds the loop.
        effect: EffectId,
        /// The number of runs so far, not the difference: repeating it changes nothing.
        n: u32,
    },
    /// A person drops a plan.
    Drop {
        /// The plan to drop.
        plan: PlanId,
        /// The person who drops it.
        by: String,
    },
    /// Somebody cancels the run.
    Cancel,
}

/// What a loop of the run is about.
///
/// It chooses the policy and names the loop; the loop machine itself never asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A plan before any code.
    Plan(PlanId),
    /// Work in the lane of a plan: a task, a repair or the delivery.
    Lane(PlanId, Job),
    /// Everything that landed, reviewed together.
    Phase,
    /// What the review passed, made better. It blocks nothing: what does not pass is dropped.
    Polish,
    /// An artifact of a chain, or what was built held against it.
    Chain,
}

/// What the world should be doing for a run.
///
/// Loops are wanted like any other effect. The engine opens those that are wanted and missing, and cancels those that live and
/// are not wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunWant {
    /// Hold a loop until it ends.
    Loop {
        /// The name of the loop, never used before.
        id: LoopId,
        /// What the loop is about.
        subject: Subject,
        /// Whether somebody builds first.
        opening: Opening,
    },
    /// Write the SUMMARY of a plan.
    Summary {
        /// The plan that was built.
        plan: PlanId,
        /// The revision that it sums up.
        revision: Revision,
    },
    /// Judge the progress of a lane between its tasks.
    Checkpoint {
        /// The plan that it is about.
        plan: PlanId,
    },
    /// Put a plan on the run branch.
    Land {
        /// The plan that it is about.
        plan: PlanId,
        /// The revision that was approved.
        revision: Revision,
    },
    /// Ask a person about a stuck lane.
    AskLane {
        /// The plan that it is about.
        plan: PlanId,
        /// Where the lane stopped, and what may be chosen.
        stuck: Stuck,
    },
    /// One thing done at the end.
    Finish {
        /// The finishing step to do.
        step: FinishStep,
        /// How the run is going to end.
        ending: Ending,
        /// A person asked for it since the run was held: then more is done to bring the result to the branch.
        asked: bool,
    },
    /// Ask a person about a held result.
    AskHeld {
        /// What keeps the branch from having it.
        held: Held,
    },
    /// Begin the run branch at the user's branch again.
    Rebase,
    /// Carry what the review approved over to the rebased run branch.
    Carry {
        /// What was reviewed first; the fixes of the review stand on it. None where nothing was landed before it.
        from: Option<Revision>,
        /// The revision that the review approved.
        tip: Revision,
    },
    /// Report when a deadline has come.
    Wake {
        /// When the deadline is.
        at: Time,
    },
}
