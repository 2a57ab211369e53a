//! Why the user's branch does not have an approved result yet, and what a person can say about it. The run machine
//! decides what follows; how the reasons are worded is the view's business.

use serde::{Deserialize, Serialize};

/// What keeps an approved result from the user's branch.
///
/// A held run has passed: nothing of it is built again for this reason alone. It waits, because the branch and the files
/// in the worktree are the user's, and only the user knows when they may be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// The branch has other commits than it had when the run began: the result must be rebased first.
    Moved,
    /// The branch was deleted.
    Gone,
    /// Another worktree has the branch checked out: its folder.
    Elsewhere(String),
    /// The user is in the middle of something: `merge`, `rebase` and the like.
    Busy(String),
    /// These tracked files have changes that are not committed.
    Dirty(Vec<String>),
    /// Files that git does not track lie where the result has files.
    InTheWay(Vec<String>),
    /// These files pass through a filter of the user's, which Tribunal does not run.
    Filtered(Vec<String>),
    /// The result conflicts with the branch in these files, and no builder can solve it.
    Conflict(Vec<String>),
    /// Git could not do it: what it said.
    Failed(String),
}

impl Held {
    /// Whether rebasing the result onto the branch may help.
    pub fn needs_rebase(&self) -> bool {
        *self == Held::Moved
    }
}

/// What a person can say about a held result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldChoice {
    /// Bring it to the branch: rebase it where that is needed.
    Land,
    /// End the run without it; the result stays where it is.
    Stop,
}

/// A person's answer about a held result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDecision {
    /// Who.
    pub by: String,
    /// What.
    pub choice: HeldChoice,
    /// In their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}
