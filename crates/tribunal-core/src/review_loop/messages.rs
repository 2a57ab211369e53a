//! What goes into a loop and what it wants: openings, inputs, reports and wants.

use super::question::{Decision, Question};
use crate::cover::Shown;
use crate::effect::EffectId;
use crate::failure::Failure;
use crate::finding::{Answer, Claim, Reply};
use crate::ids::{Check, FindingId, LoopId, Maker, Revision, Seat, Time};
use crate::ledger::{Delta, Handed, Tracked};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a loop begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// With a maker.
    Make {
        /// Rounds at most, where a person gave another number than the policy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds: Option<u32>,
        /// Findings taken over under their ids.
        #[serde(default)]
        open: Vec<Handed>,
    },
    /// With the judging of something that exists.
    Judge {
        /// What is judged.
        revision: Revision,
        /// Findings taken over under their ids.
        #[serde(default)]
        open: Vec<Handed>,
        /// The revision that the lines of those findings are of, where it is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Revision>,
    },
}

/// The first event of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// Its name.
    pub id: LoopId,
    /// How it judges.
    pub policy: Policy,
    /// How it begins.
    pub opening: Opening,
    /// When.
    pub at: Time,
}

/// What one check answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// What it found; empty is a pass.
    pub findings: Vec<Claim>,
}

/// What an effect reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopReport {
    /// A maker ended.
    Made {
        /// What it left.
        revision: Revision,
        /// It says that its task is done.
        done: bool,
        /// What it says about open findings.
        replies: BTreeMap<FindingId, Reply>,
    },
    /// Several makers' work is one revision.
    Joined {
        /// The union.
        revision: Revision,
    },
    /// A check ran.
    Checked(Checked),
    /// A check did not run, and by the settings that stops nothing.
    Unchecked(String),
    /// A seat answered.
    Judged {
        /// What it said.
        answer: Box<Answer>,
        /// What it has been shown by now.
        shown: Shown,
        /// Findings that were put to this part of it.
        put: Vec<FindingId>,
    },
    /// Nobody was launched: of what the final pass would show, this reviewer has been shown every hunk before.
    AllShown(Shown),
    /// Nobody was launched: to show everything takes more parts than may be asked about. What was shown before.
    TooLarge(Shown),
    /// Findings were matched to the ledger.
    Tracked {
        /// All findings of this sitting.
        findings: Vec<Tracked>,
        /// Against the round before.
        delta: Delta,
    },
    /// A hearing was held.
    Heard {
        /// The finding stands.
        upheld: bool,
        /// Why.
        reason: String,
    },
    /// A person decided.
    Decided(Decision),
    /// The attempt is lost.
    Failed(Failure),
    /// A deadline came.
    Due,
}

/// What comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopIn {
    /// An effect reports.
    Report {
        /// Which.
        effect: EffectId,
        /// When.
        at: Time,
        /// What.
        report: LoopReport,
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
    /// It is no longer wanted.
    Cancel,
}

/// One maker's share of a rework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Who.
    pub maker: Maker,
    /// What to mend.
    pub findings: Vec<FindingId>,
    /// Starts when this earlier one is over: they share a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Maker>,
}

/// What the world should be doing for a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopWant {
    /// Make or revise.
    Make {
        /// Who.
        maker: Maker,
        /// What to mend; empty at first.
        findings: Vec<FindingId>,
        /// What the one it comes after left: it begins from there.
        onto: Option<Revision>,
    },
    /// Unite what these made.
    Join {
        /// Each one's revision, in order.
        parts: Vec<(Maker, Revision)>,
    },
    /// Run a check.
    Check {
        /// Which.
        check: Check,
        /// On what.
        revision: Revision,
    },
    /// Ask a seat.
    Judge {
        /// Which.
        seat: Seat,
        /// The backup is asked.
        backup: bool,
        /// On what.
        revision: Revision,
        /// Findings put to it by id.
        put: Vec<FindingId>,
        /// Its last answer was not usable.
        again: bool,
        /// Which part of it, from 0.
        part: u32,
    },
    /// Match findings to the ledger.
    Track {
        /// On what.
        revision: Revision,
    },
    /// Hear a finding.
    Hear {
        /// Which.
        finding: FindingId,
        /// Who hears it.
        seat: Seat,
        /// On what.
        revision: Revision,
    },
    /// Ask a person.
    Ask(Question),
    /// Come back.
    Wake {
        /// When.
        at: Time,
    },
}
