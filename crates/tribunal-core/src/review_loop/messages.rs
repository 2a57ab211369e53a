//! What goes into a loop and what it wants: openings, inputs, reports and wants.
//!
//! Openings are part of the journal; inputs and wants are not. A want holds only small keys, so that asking for all
//! wants after every turn stays cheap.

use super::question::{Decision, Question};
use crate::cover::Shown;
use crate::effect::EffectId;
use crate::failure::Failure;
use crate::finding::{Answer, Claim, Reply};
use crate::ids::{Builder, Check, FindingId, LoopId, Reviewer, Revision, Time};
use crate::ledger::{CarriedFinding, Delta, Tracked};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a loop begins: with somebody who builds, or with the review of something that exists.
///
/// A person's own fix, a rebased branch and the first round of QA begin with a review, because there is nothing to build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// Somebody builds first.
    Make {
        /// Rounds at most, where a person gave another number than the policy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rounds: Option<u32>,
        /// Findings taken over under their ids.
        #[serde(default)]
        open: Vec<CarriedFinding>,
    },
    /// Something that exists is reviewed first.
    Judge {
        /// The revision that is reviewed.
        revision: Revision,
        /// Findings taken over under their ids.
        #[serde(default)]
        open: Vec<CarriedFinding>,
        /// The revision that the lines of those findings are of, where it is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Revision>,
    },
}

/// The first event of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The name of the loop, in effect ids and in the journal.
    pub id: LoopId,
    /// Its rules: who reviews, how many rounds, what passes.
    ///
    /// They stand in the opening, so that a changed configuration cannot change the rules of a loop that is under way.
    pub policy: Policy,
    /// Whether somebody builds first.
    pub opening: Opening,
    /// The time at which it was opened.
    pub at: Time,
}

/// The result of one check that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// What it found; empty is a pass.
    pub findings: Vec<Claim>,
}

/// What an effect of a loop reports.
///
/// A report counts only under the id of an effect that the loop wants. A report with the right id and the wrong content is a
/// lost attempt, because nobody can tell what it would have said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopReport {
    /// A builder's run ended.
    Made {
        /// The revision that it left behind.
        revision: Revision,
        /// It says that its task is done.
        done: bool,
        /// What it says about open findings.
        replies: BTreeMap<FindingId, Reply>,
    },
    /// The work of several builders is one revision.
    Joined {
        /// The revision that has the work of all of them.
        revision: Revision,
    },
    /// A check ran, and passed or found something.
    Checked(Checked),
    /// A check did not run, and by the settings that stops nothing.
    Unchecked(String),
    /// A reviewer answered, about all of the change or a part of it.
    Judged {
        /// Its verdict and its findings.
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
        /// All findings of this round.
        findings: Vec<Tracked>,
        /// What changed against the round before, in counts.
        delta: Delta,
    },
    /// A referred or contested finding was heard.
    Heard {
        /// Whether the finding stands.
        upheld: bool,
        /// The reason that was given.
        reason: String,
    },
    /// A person answered the open question.
    Decided(Decision),
    /// The attempt is lost, and why.
    Failed(Failure),
    /// The time of a wake-up has come.
    Due,
}

/// What comes into a loop.
///
/// Inputs are not recorded: `decide` turns one into an event, or ignores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopIn {
    /// An effect reports, at its end or at its deadline.
    Report {
        /// The id of the effect.
        effect: EffectId,
        /// The time; the machine has no clock of its own.
        at: Time,
        /// The report itself.
        report: LoopReport,
    },
    /// The engine is about to launch an effect.
    ///
    /// It launches only if an `Intended` event comes out, so that every launch is in the journal before it happens.
    Intend {
        /// The id of the effect.
        effect: EffectId,
        /// The time; the machine has no clock of its own.
        at: Time,
    },
    /// An intended effect was proven not to have happened.
    Clear {
        /// The id of the effect.
        effect: EffectId,
    },
    /// The loop is no longer wanted.
    Cancel,
}

/// One builder's share of a rework.
///
/// It is part of the event that orders the rework, so that a resumed loop asks the same fixers for the same findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixAssignment {
    /// Who fixes these findings.
    pub builder: Builder,
    /// The findings that are its part.
    pub findings: Vec<FindingId>,
    /// Starts when this earlier one is over: they share a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Builder>,
}

/// What the world should be doing for a loop.
///
/// A want has small keys only. Prompts and diffs are made when it is launched, from what is true then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopWant {
    /// Build the subject, or fix findings in it.
    Make {
        /// Who builds or fixes.
        builder: Builder,
        /// What to fix; empty at first.
        findings: Vec<FindingId>,
        /// The revision to begin from, if it comes after another fixer.
        onto: Option<Revision>,
    },
    /// Unite what several fixers made into one revision.
    Join {
        /// The revision of each, in order.
        parts: Vec<(Builder, Revision)>,
    },
    /// Run one check on a revision.
    Check {
        /// The check to run.
        check: Check,
        /// The revision that it is about.
        revision: Revision,
    },
    /// Ask one reviewer for its verdict.
    Judge {
        /// The reviewer to ask.
        reviewer: Reviewer,
        /// The fallback reviewer is asked in its place.
        backup: bool,
        /// The revision that it is about.
        revision: Revision,
        /// Findings put to it by id.
        put: Vec<FindingId>,
        /// Whether its last answer was not usable.
        again: bool,
        /// Which part of the change, from 0.
        part: u32,
    },
    /// Match findings to the ledger.
    Track {
        /// The revision that it is about.
        revision: Revision,
    },
    /// Hear a referred or contested finding.
    Hear {
        /// The finding to hear.
        finding: FindingId,
        /// The reviewer that hears it.
        reviewer: Reviewer,
        /// The revision that it is about.
        revision: Revision,
    },
    /// Put a question to a person.
    Ask(Question),
    /// Report when a deadline has come.
    Wake {
        /// When the deadline is.
        at: Time,
    },
}
