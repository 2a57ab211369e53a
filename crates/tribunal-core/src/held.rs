//! Why the user's branch does not have an approved result yet, and what a person can say about it.
//!
//! The run machine decides what follows, and the view words the reasons. Each reason is a variant with its data,
//! because some can be resolved by a rebase, some by waiting, and some only by the user.

use serde::{Deserialize, Serialize};

/// What keeps an approved result from the user's branch.
///
/// A held run has passed: nothing of it is built again for this reason alone. It waits, because the branch and the
/// files in the worktree are the user's, and only the user knows when they may be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// The branch has other commits than it had when the run began. The result must be rebased first.
    Moved,
    /// The branch was deleted meanwhile.
    Gone,
    /// Another worktree, at this path, has the branch checked out.
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
    /// The branch contains the result, and later commits took it away again in these files.
    Undone(Vec<String>),
    /// Git could not do it, and said this.
    Failed(String),
    /// Nothing is in the way: the user asked that it waits for an order.
    Ordered,
}

impl Held {
    /// Whether rebasing the result onto the branch may help.
    pub fn needs_rebase(&self) -> bool {
        // Every other reason lies in the worktree or with the user, and no rebase changes that.
        *self == Held::Moved
    }

    /// Whether the run looks at the branch again without being asked, because somebody brought the result there
    /// meanwhile.
    ///
    /// A result that was taken away again is looked at once, so that the question says so. It is never brought again
    /// without an order.
    pub fn looks_again(&self, now: &Arrival) -> bool {
        match now {
            Arrival::There(_) => true,
            Arrival::Undone(_) => !self.was_undone(),
        }
    }

    /// Whether the user took the result and undid it. Only a person who knows that may have it brought once more.
    pub fn was_undone(&self) -> bool {
        matches!(self, Held::Undone(_))
    }
}

/// How a file that the result changed stands on a branch that contains the result's commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOnBranch {
    /// As the result has it, maybe under another name.
    Kept,
    /// Changed since, with everything in it that the result did.
    ChangedAfter,
    /// Changed since in the very lines that the result changed.
    Rewritten,
    /// As it was before the result, or as a side of the history has it that never had the result.
    AsBefore,
    /// It lacks some of what the result did to it.
    Lacking,
}

/// Whether a branch that contains the result's commit has the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has the result; these files were changed after it.
    There(Vec<String>),
    /// It lacks the result, which was taken away again in these files.
    Undone(Vec<String>),
}

/// Whether a branch that contains the result's commit has the result: no later commit took it away, in any file.
///
/// A commit alone proves little. A merge that kept only the other side, a revert, or an older tree committed on top
/// all have it in their history. Somebody who edits the result's own lines builds on it; somebody who brings back
/// what was there before does not want it, or does not know, and is asked.
pub fn arrival(files: &[(String, FileOnBranch)]) -> Arrival {
    let named = |wanted: fn(FileOnBranch) -> bool| -> Vec<String> {
        files.iter().filter(|(_, file)| wanted(*file)).map(|(path, _)| path.clone()).collect()
    };
    // One file is enough: a result of which a part was taken away is not the result.
    let undone = named(|file| matches!(file, FileOnBranch::AsBefore | FileOnBranch::Lacking));
    match undone.is_empty() {
        true => {
            Arrival::There(named(|file| matches!(file, FileOnBranch::ChangedAfter | FileOnBranch::Rewritten)))
        }
        false => Arrival::Undone(undone),
    }
}

/// What a person can decide about a held result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldChoice {
    /// Bring it to the branch, rebasing it if needed.
    Land,
    /// Have the lane work on it again, for so many rounds; the note says what is wanted.
    Again(u32),
    /// End the run without it. The result stays where it is.
    Stop,
}

/// A person's answer about a held result.
///
/// The name is recorded with it, so that a reader of the journal knows who ordered what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDecision {
    /// The person who decided.
    pub by: String,
    /// What the person decided.
    pub choice: HeldChoice,
    /// What the person wrote about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was undone is said once, and not brought again by looking at it.
    #[test]
    fn an_undone_result_is_looked_at_once() {
        let (there, undone) = (Arrival::There(Vec::new()), Arrival::Undone(vec!["a".to_owned()]));
        assert!(Held::Moved.looks_again(&there) && Held::Undone(Vec::new()).looks_again(&there));
        assert!(Held::Moved.looks_again(&undone) && !Held::Undone(Vec::new()).looks_again(&undone));
    }

    /// One file that was taken away is enough; files that were only changed after are named and hold nothing up.
    #[test]
    fn a_branch_has_a_result_that_no_later_commit_took_away() {
        use FileOnBranch::{AsBefore, ChangedAfter, Kept, Lacking, Rewritten};
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let check = |files: &[FileOnBranch], expect: Arrival| {
            let files: Vec<_> =
                ["a", "b", "c"].map(str::to_owned).into_iter().zip(files.iter().copied()).collect();
            assert_eq!(arrival(&files), expect, "{files:?}");
        };
        check(&[], Arrival::There(names(&[])));
        check(&[Kept, Kept], Arrival::There(names(&[])));
        check(&[Kept, ChangedAfter, Rewritten], Arrival::There(names(&["b", "c"])));
        check(&[AsBefore], Arrival::Undone(names(&["a"])));
        check(&[Kept, Lacking, ChangedAfter], Arrival::Undone(names(&["b"])));
        check(&[AsBefore, Kept, Lacking], Arrival::Undone(names(&["a", "c"])));
    }
}
