//! What a loop records. The journal keeps these events, and a loop is the fold of them.
//!
//! They are stored for as long as the run is. A variant or field may be added with a default, but none may be renamed
//! or change its meaning: old journals must fold to the same state.

use super::messages::{Checked, FixAssignment, Opened};
use super::question::{Decision, Outcome, Question};
use crate::cover::Shown;
use crate::effect::EffectId;
use crate::failure::Failure;
use crate::finding::{Answer, Reply};
use crate::ids::{FindingId, Reviewer, Revision, Time};
use crate::ledger::{Delta, Tracked};
use crate::panel::{Ruling, Unusable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a loop records, in the past tense.
///
/// Whatever is not in an event is forgotten after a crash, so an event carries everything that `apply` needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEvent {
    /// The loop began. This is always its first event.
    Opened(Box<Opened>),
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
    /// A builder's run ended without its task done.
    Iterated {
        /// The effect whose report this is.
        effect: EffectId,
        /// The revision that it left behind.
        revision: Revision,
    },
    /// A builder says that its task is done.
    Made {
        /// The effect whose report this is.
        effect: EffectId,
        /// The revision that it left behind.
        revision: Revision,
        /// What it says about open findings.
        replies: BTreeMap<FindingId, Reply>,
    },
    /// The work of several builders is one revision.
    Joined {
        /// The effect whose report this is.
        effect: EffectId,
        /// The revision that has the work of all of them.
        revision: Revision,
    },
    /// An attempt was lost; the step is tried again or given up.
    Failed {
        /// The effect whose report this is.
        effect: EffectId,
        /// What went wrong with it.
        failure: Failure,
    },
    /// A round begins: a new revision is judged, or new arguments about the last one.
    RoundBegan {
        /// The number of the round, from 1.
        round: u32,
        /// The revision that this round judges.
        revision: Revision,
    },
    /// A check ran, and passed or found something.
    Checked {
        /// The effect whose report this is.
        effect: EffectId,
        /// What the check found; nothing is a pass.
        checked: Checked,
    },
    /// A check did not run, and by the settings that stops nothing. It is not a pass.
    Unchecked {
        /// The effect whose report this is.
        effect: EffectId,
        /// Why it did not run.
        why: String,
    },
    /// The checks are done and the panel is asked.
    PanelAssembled {
        /// The reviewers that are asked; may be empty.
        reviewers: Vec<Reviewer>,
    },
    /// A reviewer's answer counts as its verdict.
    Answered {
        /// The effect whose report this is.
        effect: EffectId,
        /// What it said, in all its parts together.
        answer: Answer,
        /// What it was shown: all of it.
        shown: Shown,
        /// What this part of it said alone, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        // Boxed, because most answers have a single part and leave it empty.
        part: Option<Box<Answer>>,
    },
    /// One part of a large change was answered, and there are more.
    PartAnswered {
        /// The effect whose report this is.
        effect: EffectId,
        /// What it said about this part.
        answer: Answer,
        /// What it has been shown by now.
        shown: Shown,
    },
    /// No more parts may be asked, and not everything was shown: the reviewer has no verdict.
    NotCovered {
        /// The effect whose report this is.
        effect: EffectId,
        /// What it said about the last part.
        answer: Answer,
        /// How much of the change it was shown.
        shown: Shown,
    },
    /// Showing everything takes more parts than may be asked about: the reviewer is not asked and has no verdict.
    TooLarge {
        /// The effect whose report this is.
        effect: EffectId,
        /// What the reviewer was shown before: its share of the change.
        shown: Shown,
    },
    /// The final pass has nothing to show to a reviewer: its verdict of the same round stands.
    VerdictKept {
        /// The effect whose report this is.
        effect: EffectId,
        /// What it was shown, over all its rounds: all of it.
        shown: Shown,
    },
    /// A reviewer's answer does not count by itself.
    AskedAgain {
        /// The reviewer that is asked again.
        reviewer: Reviewer,
        /// Why its answer is not a verdict.
        why: Unusable,
        /// The answer that does not count, kept for people and for what it objected to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
    },
    /// Every reviewer has answered or is gone.
    PanelClosed,
    /// Findings were matched to the ledger.
    Tracked {
        /// All findings of this round, corrected.
        findings: Vec<Tracked>,
        /// What changed against the round before, in counts.
        delta: Delta,
    },
    /// A referred or contested finding was heard.
    Heard {
        /// The effect whose report this is.
        effect: EffectId,
        /// The finding that was heard.
        finding: FindingId,
        /// Whether the finding stands.
        upheld: bool,
        /// The reason that was given.
        reason: String,
    },
    /// What the checks and the reviewers of this round add up to.
    Ruled {
        /// The ruling, by the first line of the table that fits.
        ruling: Ruling,
    },
    /// A pass is confirmed: all checks, and what a reviewer has not been shown whole.
    Confirming,
    /// Reviewers find other old faults each round: these are asked for everything at once, in the same round.
    ExhaustiveOrdered {
        /// The reviewers that are asked for everything.
        reviewers: Vec<Reviewer>,
    },
    /// The change goes back to its builder, or to fixers.
    ReworkOrdered {
        /// Who fixes which findings, and who waits for whom.
        fixers: Vec<FixAssignment>,
    },
    /// A person is asked, because no rule can decide this.
    Asked(Question),
    /// A person answered the open question.
    Decided(Decision),
    /// The loop is over. No event follows.
    Ended {
        /// How the loop ended.
        outcome: Outcome,
        /// The revision that the end is about, where there is one.
        revision: Option<Revision>,
    },
}

impl LoopEvent {
    /// The effect whose report this is.
    ///
    /// An event that names one is refused by `apply` unless the loop wants that effect. A new event that answers an
    /// effect belongs in this list.
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

    /// The name of the event, as in the journal.
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
            LoopEvent::PanelAssembled { .. } => "panel_assembled",
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
