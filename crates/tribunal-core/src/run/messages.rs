//! What goes into a run and what it wants: inputs, reports and wants.

use super::question::{Job, LaneDecision, Stuck};
use crate::effect::{EffectId, FinishStep};
use crate::failure::Failure;
use crate::held::{Held, HeldDecision};
use crate::ids::{LoopId, PlanId, Revision, Time};
use crate::ledger::Handed;
use crate::review_loop::{Opening, Outcome};
use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Everything landed and passed.
    Passed,
    /// An artifact was not approved and goes on all the same, with what is open on record.
    Concerns,
    /// A gate stayed shut.
    Shut,
    /// A person stopped it.
    Stopped,
    /// Called off.
    Cancelled,
}

impl Ending {
    /// Whether the user's branch is to have the result.
    pub fn is_good(self) -> bool {
        matches!(self, Ending::Passed | Ending::Concerns)
    }

    /// The word people read.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It does not merge.
    Conflict,
    /// A check is red on the merged tree.
    RedCheck,
    /// The approval does not carry over to this rebased revision.
    JudgeAgain(Revision),
}

/// What an effect of the run reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunReport {
    /// A loop ended.
    LoopEnded {
        /// How.
        outcome: Outcome,
        /// What it left.
        revision: Option<Revision>,
        /// What is open.
        open: Vec<Handed>,
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
    /// It is not.
    LandingRefused {
        /// Why.
        refusal: Refusal,
        /// As findings.
        findings: Vec<Handed>,
    },
    /// A checkpoint was held.
    Checkpointed {
        /// For the next brief.
        feedback: String,
    },
    /// A person decided about a lane.
    LaneDecided(LaneDecision),
    /// A finishing step is done.
    Finished {
        /// What happened.
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
        /// The rebased result.
        tip: Revision,
    },
    /// What the review approved is not proven for the rebased result.
    JudgeAgain {
        /// The rebased result.
        revision: Revision,
    },
    /// The attempt is lost.
    Failed(Failure),
    /// A deadline came.
    Due,
}

/// What comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunIn {
    /// An effect reports.
    Report {
        /// Which.
        effect: EffectId,
        /// When.
        at: Time,
        /// What.
        report: RunReport,
    },
    /// The engine is about to launch it.
    Intend {
        /// Which.
        effect: EffectId,
        /// When.
        at: Time,
    },
    /// An intended effect was proven not to have happened.
    Clear {
        /// Which.
        effect: EffectId,
    },
    /// A lane's loop has had so many iterations.
    Iterated {
        /// The loop.
        effect: EffectId,
        /// How many.
        n: u32,
    },
    /// A person drops a plan.
    Drop {
        /// Which.
        plan: PlanId,
        /// Who.
        by: String,
    },
    /// Called off.
    Cancel,
}

/// What a loop of the run is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A plan before any code.
    Plan(PlanId),
    /// Work in a lane.
    Lane(PlanId, Job),
    /// Everything that landed.
    Phase,
    /// What the review passed, made better. It blocks nothing: what does not pass is dropped.
    Polish,
    /// An artifact of a chain, or what was built held against it.
    Chain,
}

/// What the world should be doing for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunWant {
    /// Hold a loop.
    Loop {
        /// Its name.
        id: LoopId,
        /// What it is about.
        subject: Subject,
        /// How it begins.
        opening: Opening,
    },
    /// Write a SUMMARY.
    Summary {
        /// Of which plan.
        plan: PlanId,
        /// Of what.
        revision: Revision,
    },
    /// Judge a lane's progress.
    Checkpoint {
        /// Which.
        plan: PlanId,
    },
    /// Land a plan.
    Land {
        /// Which.
        plan: PlanId,
        /// What was approved.
        revision: Revision,
    },
    /// Ask a person about a stuck lane.
    AskLane {
        /// Which.
        plan: PlanId,
        /// What about.
        stuck: Stuck,
    },
    /// One thing done at the end.
    Finish {
        /// Which.
        step: FinishStep,
        /// How the run ends.
        ending: Ending,
        /// A person asked for it since the run was held: then more is done to bring the result to the branch.
        asked: bool,
    },
    /// Ask a person about a held result.
    AskHeld {
        /// What holds it.
        held: Held,
    },
    /// Begin the run branch at the user's branch again.
    Rebase,
    /// Carry what the review approved over to the rebased run branch.
    Carry {
        /// What was reviewed first; the fixes of the review stand on it. None where nothing was landed before it.
        from: Option<Revision>,
        /// What the review approved.
        tip: Revision,
    },
    /// Come back.
    Wake {
        /// When.
        at: Time,
    },
}
