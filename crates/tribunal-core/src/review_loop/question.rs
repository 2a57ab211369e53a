//! What a loop asks a person, what the person may answer, and how a loop ends.
//!
//! Which answers are offered is decided here and nowhere else. Every face shows these offers, and `decide` refuses
//! any other.

use crate::converge::Pattern;
use crate::cover::NotShown;
use crate::ids::Revision;
use serde::{Deserialize, Serialize};

/// How a loop ended.
///
/// Only the first three are good: the work goes on to its next step. Everything else stops its lane or its run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Approved by its panel exactly as it stands.
    Passed,
    /// Approved, with warnings carried on.
    PassedWithWarnings,
    /// Accepted by a named person.
    Accepted(String),
    /// The rounds are spent and findings are open.
    Exhausted,
    /// The same findings, or a revision that was judged before: another round would change nothing.
    Stale,
    /// The builder never finished, or a person ended an escalation.
    Stuck,
    /// A step could not be done.
    Failed,
    /// Somebody cancelled it, or its run no longer wants it.
    Cancelled,
}

impl Outcome {
    /// Whether the work may go on: passed, with warnings, or accepted.
    pub fn is_good(&self) -> bool {
        matches!(self, Outcome::Passed | Outcome::PassedWithWarnings | Outcome::Accepted(_))
    }

    /// The name of the outcome as people read it.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::PassedWithWarnings => "passed with warnings",
            Outcome::Accepted(_) => "accepted",
            Outcome::Exhausted => "exhausted",
            Outcome::Stale => "stale",
            Outcome::Stuck => "stuck",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// Why a person is asked.
///
/// A machine asks where going on would approve what nobody vouches for, or would spend rounds that cannot help.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nobody can say whether it is good.
    NoQuorum,
    /// A check could not run.
    ChecksDidNotRun,
    /// The rounds are spent and findings are open.
    Exhausted,
    /// The same findings, or a revision that was judged before: another round would change nothing.
    Stale,
    /// More rounds will not fix it.
    Escalated(Pattern),
    /// It is good, and a person has the last word.
    Approval,
}

/// An open question to a person.
///
/// A question is an effect like any other, and the answer is its report. So the first answer wins, a later one is stale, and
/// the question survives a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Why the machine cannot decide it.
    pub why: Why,
    /// The revision in question; none where nothing was built.
    pub revision: Option<Revision>,
    /// Reviewers that have no verdict because they were not shown all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_shown: Vec<NotShown>,
}

/// What a person can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Run again with so many rounds.
    Again(u32),
    /// The person fixed it, and this revision is to be judged.
    Fixed(Revision),
    /// Run the missing checks or reviewers once more.
    Reask,
    /// Take it as it is.
    Accept,
    /// End the loop without an approval.
    Stop,
}

/// The kind of a choice, for offering it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// Run again with n rounds.
    Again,
    /// The person fixed it themselves.
    Fixed,
    /// Run what is missing once more.
    Reask,
    /// Accept the revision in their own name.
    Accept,
    /// End the loop without an approval.
    Stop,
}

impl Choice {
    /// Which offer it takes up.
    pub fn offer(&self) -> Offer {
        match self {
            Choice::Again(_) => Offer::Again,
            Choice::Fixed(_) => Offer::Fixed,
            Choice::Reask => Offer::Reask,
            Choice::Accept => Offer::Accept,
            Choice::Stop => Offer::Stop,
        }
    }
}

/// A person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The person who decided; an accepted revision carries this name.
    pub by: String,
    /// One of the choices that were offered.
    pub choice: Choice,
    /// What the person wrote beside it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Question {
    /// What the person may choose.
    pub fn offers(&self) -> Vec<Offer> {
        // More rounds are not offered if nobody could judge: the builder cannot help that.
        let mut offers = match self.why {
            Why::NoQuorum | Why::ChecksDidNotRun => vec![Offer::Reask, Offer::Fixed],
            Why::Exhausted | Why::Stale | Why::Escalated(_) | Why::Approval => {
                vec![Offer::Again, Offer::Fixed]
            }
        };
        // Without a revision nothing was built, and there is nothing to accept.
        if self.revision.is_some() {
            offers.push(Offer::Accept);
        }
        offers.push(Offer::Stop);
        offers
    }

    /// How the loop ends if the person says stop.
    pub fn outcome_of_stop(&self) -> Outcome {
        match self.why {
            Why::NoQuorum | Why::ChecksDidNotRun => Outcome::Failed,
            Why::Exhausted => Outcome::Exhausted,
            Why::Stale => Outcome::Stale,
            Why::Escalated(_) | Why::Approval => Outcome::Stuck,
        }
    }

    /// Whether a choice was offered. Zero more rounds would be a stop under another name.
    pub(super) fn takes(&self, choice: &Choice) -> bool {
        self.offers().contains(&choice.offer()) && *choice != Choice::Again(0)
    }
}
