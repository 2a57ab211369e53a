//! Letters to a run: what other processes ask of it or answer. They are durable before the run reads them.

use crate::editor::Remark;
use crate::waiver::Waiver;
use serde::{Deserialize, Serialize};
use tribunal_core::effect::EffectId;
use tribunal_core::held::HeldDecision;
use tribunal_core::ids::{PlanId, Time};
use tribunal_core::review_loop::Decision;
use tribunal_core::run::LaneDecision;
use tribunal_journal::Letter;

/// What a letter says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The answer to a loop's question.
    Decide {
        /// The question.
        effect: EffectId,
        /// The answer.
        decision: Decision,
    },
    /// The answer to a question about a lane.
    DecideLane {
        /// The question.
        effect: EffectId,
        /// The answer.
        decision: LaneDecision,
    },
    /// The answer to the question about a held result.
    DecideHeld {
        /// The question.
        effect: EffectId,
        /// The answer.
        decision: HeldDecision,
    },
    /// Call the run off.
    Cancel {
        /// Who.
        by: String,
    },
    /// Drop a plan.
    Drop {
        /// Which.
        plan: PlanId,
        /// Who.
        by: String,
    },
    /// What an editor agent says about a finding.
    Editor(Remark),
    /// A finding of a review is taken as it is.
    Waive(Waiver),
}

impl Body {
    /// The letter that says this.
    pub fn letter(&self, at: Time) -> Result<Letter, serde_json::Error> {
        let (kind, key) = match self {
            Body::Decide { effect, .. }
            | Body::DecideLane { effect, .. }
            | Body::DecideHeld { effect, .. } => ("decide", effect.to_string()),
            Body::Cancel { .. } => ("cancel", "cancel".to_owned()),
            Body::Drop { plan, .. } => ("drop", format!("drop {plan}")),
            Body::Editor(remark) => ("editor", remark.key()),
            Body::Waive(waiver) => ("waive", waiver.key()),
        };
        Ok(Letter { key, kind: kind.to_owned(), body: serde_json::to_string(self)?, at: at.0 })
    }

    /// Reads a letter.
    pub fn read(letter: &Letter) -> Result<Body, serde_json::Error> {
        serde_json::from_str(&letter.body)
    }
}
