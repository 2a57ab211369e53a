//! A stuck lane as a person sees it: where it stopped, what may be chosen, and what was decided.
//!
//! As with the questions of a loop, the offers are decided here, every face shows exactly these, and `decide` refuses
//! any other answer.

use crate::ids::Revision;
use crate::ledger::CarriedFinding;
use crate::review_loop::Outcome;
use serde::{Deserialize, Serialize};

/// What the loop of a lane is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// The n-th task, from 1.
    Task(u32),
    /// After a refused landing, over the lane's whole diff.
    Repair,
    /// The delivery: all tasks of the plan together.
    Qa,
}

/// Where a lane got stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Was {
    /// In a loop that did not end well.
    Loop(Job),
    /// Its SUMMARY could not be written.
    Summary,
    /// Landing: repairs are spent, or the landing itself could not be done (its outcome is `Failed`).
    Landing,
}

/// What a person can decide about a stuck lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneChoice {
    /// Work on it again, with so many rounds.
    Retry(u32),
    /// The person fixed it, and this revision is to be judged.
    Fixed(Revision),
    /// Do the same again: what stood in its way is not the lane's work.
    Reask,
    /// Take it as it is.
    Accept,
    /// Drop the plan and what depends on it.
    Drop,
    /// Stop the whole run, not only this lane.
    Stop,
}

/// The kind of a lane choice, for offering it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneOffer {
    /// Try it again with a new loop.
    Retry,
    /// The person fixed it themselves.
    Fixed,
    /// Try the same landing again.
    Reask,
    /// Accept the revision in their own name.
    Accept,
    /// Drop this plan and its dependents.
    Drop,
    /// Stop the whole run, not only this lane.
    Stop,
}

impl LaneChoice {
    /// Which offer it takes up.
    pub fn offer(&self) -> LaneOffer {
        match self {
            LaneChoice::Retry(_) => LaneOffer::Retry,
            LaneChoice::Fixed(_) => LaneOffer::Fixed,
            LaneChoice::Reask => LaneOffer::Reask,
            LaneChoice::Accept => LaneOffer::Accept,
            LaneChoice::Drop => LaneOffer::Drop,
            LaneChoice::Stop => LaneOffer::Stop,
        }
    }
}

/// A person's answer about a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneDecision {
    /// The person who decided.
    pub by: String,
    /// One of the choices that were offered.
    pub choice: LaneChoice,
    /// What the person wrote beside it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A stuck lane, as the person sees it.
///
/// It holds everything that a choice needs. The lane's loop is over by then, and the run keeps nothing else of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// The step at which it stopped.
    pub was: Was,
    /// How its loop ended, or `Failed`.
    pub outcome: Outcome,
    /// The newest revision of the lane; none where nothing was built.
    pub revision: Option<Revision>,
    /// The findings that a retry goes on with, under their ids.
    pub open: Vec<CarriedFinding>,
}

impl Stuck {
    /// Whether a landing was not refused but could not be done: a signature, a hook or a command failed to run.
    ///
    /// Nothing is known to be wrong with the work, so no builder is asked to repair it. Once the person has removed
    /// the obstacle, the same landing is tried again.
    pub fn landing_did_not_run(&self) -> bool {
        self.was == Was::Landing && self.outcome == Outcome::Failed
    }

    /// What the person may choose. Neither a refused landing nor work that was never made can be accepted.
    pub fn offers(&self) -> Vec<LaneOffer> {
        let again = if self.landing_did_not_run() { LaneOffer::Reask } else { LaneOffer::Retry };
        let mut offers = vec![again, LaneOffer::Fixed];
        // It does not merge, or a check is red on the merged tree: accepting would break the run branch for every
        // other lane.
        let refused = matches!(self.was, Was::Landing | Was::Loop(Job::Repair));
        if self.revision.is_some() && !refused {
            offers.push(LaneOffer::Accept);
        }
        offers.extend([LaneOffer::Drop, LaneOffer::Stop]);
        offers
    }

    /// Whether a choice was offered. Zero rounds would be a drop under another name.
    pub(super) fn takes(&self, choice: &LaneChoice) -> bool {
        self.offers().contains(&choice.offer()) && *choice != LaneChoice::Retry(0)
    }
}
