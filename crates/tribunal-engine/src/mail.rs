//! Messages to a run: requests and answers of other processes. They are durable before the run reads them.
//!
//! The mailbox is a table of the journal, so a message and the facts that follow from it are one transaction. A message
//! is therefore neither lost nor taken twice, wherever the run dies.

use crate::editor::Remark;
use crate::waiver::Waiver;
use serde::{Deserialize, Serialize};
use tribunal_core::effect::EffectId;
use tribunal_core::held::HeldDecision;
use tribunal_core::ids::{PlanId, Time};
use tribunal_core::review_loop::Decision;
use tribunal_core::run::LaneDecision;
use tribunal_journal::Message;

/// The content of a message.
///
/// Each variant becomes an input of a machine or a note. The engine reads a message once; a stale one, such as an
/// answer to a closed question, changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The answer to a loop's question.
    Decide {
        /// The effect of the question.
        effect: EffectId,
        /// The person's answer.
        decision: Decision,
    },
    /// The answer to a question about a lane.
    DecideLane {
        /// The effect of the question.
        effect: EffectId,
        /// The person's answer.
        decision: LaneDecision,
    },
    /// The answer to the question about a held result.
    DecideHeld {
        /// The effect of the question.
        effect: EffectId,
        /// The person's answer.
        decision: HeldDecision,
    },
    /// Cancel the whole run.
    Cancel {
        /// The person who cancels it.
        by: String,
    },
    /// Drop one plan, and those that depend on it.
    Drop {
        /// The plan to drop.
        plan: PlanId,
        /// The person who drops it.
        by: String,
    },
    /// A remark of an editor agent on a finding.
    Editor(Remark),
    /// A person accepts a finding of a review as it is.
    Waive(Waiver),
}

impl Body {
    /// The message with this content.
    ///
    /// Its key makes it unique in the mailbox: the first answer to a question stays, and a second one is dropped.
    pub fn message(&self, at: Time) -> Result<Message, serde_json::Error> {
        // The key of an answer is its question, of a drop its plan. A cancel needs no more than one.
        let (kind, key) = match self {
            Body::Decide { effect, .. }
            | Body::DecideLane { effect, .. }
            | Body::DecideHeld { effect, .. } => ("decide", effect.to_string()),
            Body::Cancel { .. } => ("cancel", "cancel".to_owned()),
            Body::Drop { plan, .. } => ("drop", format!("drop {plan}")),
            Body::Editor(remark) => ("editor", remark.key()),
            Body::Waive(waiver) => ("waive", waiver.key()),
        };
        Ok(Message { key, kind: kind.to_owned(), body: serde_json::to_string(self)?, at: at.0 })
    }

    /// Reads the content of a message.
    pub fn read(message: &Message) -> Result<Body, serde_json::Error> {
        serde_json::from_str(&message.body)
    }
}
