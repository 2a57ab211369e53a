//! What a loop records. The journal keeps these events, and a loop is the fold of them.

use super::messages::{Checked, Opened, Share};
use super::question::{Decision, Outcome, Question};
use crate::cover::Shown;
use crate::effect::EffectId;
use crate::failure::Failure;
use crate::finding::{Answer, Reply};
use crate::ids::{FindingId, Revision, Seat, Time};
use crate::ledger::{Delta, Tracked};
use crate::panel::{Ruling, Unusable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEvent {
    /// It began.
    Opened(Box<Opened>),
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
    /// A maker's run ended without its task done.
    Iterated {
        /// Which.
        effect: EffectId,
        /// What it left.
        revision: Revision,
    },
    /// A maker is done.
    Made {
        /// Which.
        effect: EffectId,
        /// What it left.
        revision: Revision,
        /// What it says about open findings.
        replies: BTreeMap<FindingId, Reply>,
    },
    /// Several makers' work is one revision.
    Joined {
        /// Which.
        effect: EffectId,
        /// The union.
        revision: Revision,
    },
    /// An attempt was lost.
    Failed {
        /// Which.
        effect: EffectId,
        /// Why.
        failure: Failure,
    },
    /// A revision is judged.
    RoundBegan {
        /// Which round.
        round: u32,
        /// What is judged.
        revision: Revision,
    },
    /// A check ran.
    Checked {
        /// Which.
        effect: EffectId,
        /// What it found.
        checked: Checked,
    },
    /// A check did not run, and by the settings that stops nothing. It is no pass.
    Unchecked {
        /// Which.
        effect: EffectId,
        /// Why it did not run.
        why: String,
    },
    /// The checks are done and the panel is seated.
    PanelSeated {
        /// Who sits; may be nobody.
        seats: Vec<Seat>,
    },
    /// A seat's answer counts.
    Answered {
        /// Which.
        effect: EffectId,
        /// What it said, in all its parts together.
        answer: Answer,
        /// What it was shown: all of it.
        shown: Shown,
        /// What this part of it said alone, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<Box<Answer>>,
    },
    /// One part of a large change was answered, and there are more.
    PartAnswered {
        /// Which.
        effect: EffectId,
        /// What it said of this part.
        answer: Answer,
        /// What it has been shown by now.
        shown: Shown,
    },
    /// No more parts may be asked, and not everything was shown: the seat has no verdict.
    NotCovered {
        /// Which.
        effect: EffectId,
        /// What it said of the last part.
        answer: Answer,
        /// What it was shown.
        shown: Shown,
    },
    /// To show everything takes more parts than may be asked about: the seat is not asked and has no verdict.
    TooLarge {
        /// Which.
        effect: EffectId,
        /// What it was shown before: the share.
        shown: Shown,
    },
    /// The final pass has nothing to show to a reviewer: its verdict of the same round stands.
    VerdictKept {
        /// Which.
        effect: EffectId,
        /// What it was shown, over all its rounds: all of it.
        shown: Shown,
    },
    /// A seat's answer alone does not count.
    AskedAgain {
        /// Which seat.
        seat: Seat,
        /// Why.
        why: Unusable,
        /// The answer, kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
    },
    /// Every seat has answered or is gone.
    PanelClosed,
    /// Findings were matched to the ledger.
    Tracked {
        /// All findings of this sitting, put right.
        findings: Vec<Tracked>,
        /// Against the round before.
        delta: Delta,
    },
    /// A hearing was held.
    Heard {
        /// Which.
        effect: EffectId,
        /// The finding.
        finding: FindingId,
        /// It stands.
        upheld: bool,
        /// Why.
        reason: String,
    },
    /// What the sitting adds up to.
    Ruled {
        /// That.
        ruling: Ruling,
    },
    /// A pass is confirmed: all checks, and what a reviewer has not been shown whole.
    Confirming,
    /// Reviewers find other old faults each round: these are asked for everything at once, in the same round.
    ExhaustiveOrdered {
        /// Who.
        seats: Vec<Seat>,
    },
    /// The maker gets it back.
    ReworkOrdered {
        /// Who mends what.
        crew: Vec<Share>,
    },
    /// A person is asked.
    Asked(Question),
    /// A person decided.
    Decided(Decision),
    /// It is over.
    Ended {
        /// How.
        outcome: Outcome,
        /// What it is about.
        revision: Option<Revision>,
    },
}

impl LoopEvent {
    /// The effect whose report this is.
    pub(super) fn answers(&self) -> Option<&EffectId> {
        match self {
            LoopEvent::Iterated { effect, .. }
            | LoopEvent::Made { effect, .. }
            | LoopEvent::Joined { effect, .. }
            | LoopEvent::Failed { effect, .. }
            | LoopEvent::Checked { effect, .. }
            | LoopEvent::Unchecked { effect, .. }
            | LoopEvent::Answered { effect, .. }
            | LoopEvent::PartAnswered { effect, .. }
            | LoopEvent::NotCovered { effect, .. }
            | LoopEvent::TooLarge { effect, .. }
            | LoopEvent::VerdictKept { effect, .. }
            | LoopEvent::Heard { effect, .. } => Some(effect),
            _ => None,
        }
    }

    /// The event's name, as in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            LoopEvent::Opened(_) => "opened",
            LoopEvent::Intended { .. } => "intended",
            LoopEvent::Cleared { .. } => "cleared",
            LoopEvent::Iterated { .. } => "iterated",
            LoopEvent::Made { .. } => "made",
            LoopEvent::Joined { .. } => "joined",
            LoopEvent::Failed { .. } => "failed",
            LoopEvent::RoundBegan { .. } => "round_began",
            LoopEvent::Checked { .. } => "checked",
            LoopEvent::Unchecked { .. } => "unchecked",
            LoopEvent::PanelSeated { .. } => "panel_seated",
            LoopEvent::Answered { .. } => "answered",
            LoopEvent::PartAnswered { .. } => "part_answered",
            LoopEvent::NotCovered { .. } => "not_covered",
            LoopEvent::TooLarge { .. } => "too_large",
            LoopEvent::VerdictKept { .. } => "verdict_kept",
            LoopEvent::AskedAgain { .. } => "asked_again",
            LoopEvent::PanelClosed => "panel_closed",
            LoopEvent::Tracked { .. } => "tracked",
            LoopEvent::Heard { .. } => "heard",
            LoopEvent::Ruled { .. } => "ruled",
            LoopEvent::Confirming => "confirming",
            LoopEvent::ExhaustiveOrdered { .. } => "exhaustive_ordered",
            LoopEvent::ReworkOrdered { .. } => "rework_ordered",
            LoopEvent::Asked(_) => "asked",
            LoopEvent::Decided(_) => "decided",
            LoopEvent::Ended { .. } => "ended",
        }
    }
}
