//! What to do about a fast-forward that stopped half-way: finish it, put it back, or leave everything alone.
//!
//! It knows the branch and each file only by what they were compared with; the caller compares them and carries out
//! the decision. So every combination can be tested without a repository, and no file of the user's is ever written
//! that is neither the old nor the new one.

/// Where the user's branch is when an interrupted fast-forward is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchFound {
    /// Still where it was, and checked out.
    Old,
    /// At the result of the run.
    New,
    /// Neither, or no longer checked out: the user has moved on.
    Elsewhere,
}

/// The state of a file when an interrupted fast-forward is found. A missing file is compared like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFound {
    /// The content from before the fast-forward.
    Old,
    /// The content of the run's result.
    New,
    /// Neither of them: the user has changed it.
    Neither,
}

/// How an interrupted fast-forward is settled, for all its files alike.
///
/// Never per file: a worktree with half of a result in it would be worse than either state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// The files follow the branch, which has the result.
    Finish,
    /// The files go back to what they were, like the branch.
    PutBack,
    /// Nothing is written at all.
    LeaveAlone,
}

/// What is done about one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAct {
    /// It is as it should be.
    Keep,
    /// Write what it was before.
    WriteOld,
    /// Write what the result has.
    WriteNew,
    /// It is the user's: report it and never write it.
    Name,
}

/// The one rule: files follow the branch. The branch moves last, so if it has not moved, nobody was told of a result.
pub fn settle(branch: BranchFound) -> Settle {
    match branch {
        BranchFound::New => Settle::Finish,
        BranchFound::Old => Settle::PutBack,
        BranchFound::Elsewhere => Settle::LeaveAlone,
    }
}

impl Settle {
    /// What this decision means for a file.
    pub fn act(self, file: FileFound) -> FileAct {
        match (self, file) {
            // First: the user has moved on, so nothing is written, and no file is reported either.
            (Settle::LeaveAlone, _) => FileAct::Keep,
            // Before the arms that write: a file that the user changed is never overwritten, whichever way it goes.
            (_, FileFound::Neither) => FileAct::Name,
            (Settle::Finish, FileFound::New) | (Settle::PutBack, FileFound::Old) => FileAct::Keep,
            (Settle::Finish, FileFound::Old) => FileAct::WriteNew,
            (Settle::PutBack, FileFound::New) => FileAct::WriteOld,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_follow_the_branch() {
        use FileAct::{Keep, Name, WriteNew, WriteOld};
        let files = [FileFound::Old, FileFound::New, FileFound::Neither];
        for (branch, expect) in [
            (BranchFound::Old, [Keep, WriteOld, Name]),
            (BranchFound::New, [WriteNew, Keep, Name]),
            (BranchFound::Elsewhere, [Keep, Keep, Keep]),
        ] {
            assert_eq!(files.map(|file| settle(branch).act(file)), expect, "{branch:?}");
        }
    }

    /// Settling twice is settling once, and what is the user's is never written.
    #[test]
    fn settled_files_stay() {
        for branch in [BranchFound::Old, BranchFound::New, BranchFound::Elsewhere] {
            for file in [FileFound::Old, FileFound::New, FileFound::Neither] {
                let way = settle(branch);
                let after = match way.act(file) {
                    FileAct::Keep | FileAct::Name => file,
                    FileAct::WriteOld => FileFound::Old,
                    FileAct::WriteNew => FileFound::New,
                };
                assert!(matches!(way.act(after), FileAct::Keep | FileAct::Name));
                assert!(file != FileFound::Neither || after == FileFound::Neither);
            }
        }
    }
}
