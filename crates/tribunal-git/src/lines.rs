//! Walks lines of commits, commit by commit: where two lines part, and whether one contains a commit.
//!
//! Lanes and the run branch have no merges, so most questions about them need no process. Where a walk meets a merge,
//! the answer is `None` and the caller asks git.

use std::collections::BTreeSet;

use crate::{GitError, Oid, Repo};

/// How many commits are walked before git is asked instead.
const STEPS_MAX: usize = 512;

/// What comes before a commit on its line.
enum Before {
    /// The commit has exactly one parent.
    One(Oid),
    /// The commit has no parent: history begins here.
    Nothing,
    /// A merge, or a commit that could not be read here.
    Unclear,
}

impl Repo {
    fn before(&self, commit: &Oid) -> Before {
        match self.parents_of(commit).as_deref() {
            Ok([]) => Before::Nothing,
            Ok([parent]) => Before::One(parent.clone()),
            // A commit that cannot be read is left to git, which has the better error message.
            Ok(_) | Err(_) => Before::Unclear,
        }
    }

    /// The newest commit that two lines share; `None` when walking cannot tell.
    ///
    /// Both sides step in turn, because the fork is usually near both heads and one side alone might walk to the root
    /// first.
    pub(crate) fn fork_of_lines(&self, one: &Oid, other: &Oid) -> Option<Oid> {
        let mut walks = [(Some(one.clone()), BTreeSet::new()), (Some(other.clone()), BTreeSet::new())];
        for _ in 0..STEPS_MAX {
            for side in 0..2 {
                let (at, mut seen) = std::mem::take(&mut walks[side]);
                let Some(at) = at else {
                    walks[side] = (None, seen);
                    continue;
                };
                // Only the other side's commits count; a commit never meets itself on its own line.
                if walks[1 - side].1.contains(&at) {
                    return Some(at);
                }
                let next = match self.before(&at) {
                    Before::One(parent) => Some(parent),
                    Before::Nothing => None,
                    Before::Unclear => return None,
                };
                seen.insert(at);
                walks[side] = (next, seen);
            }
        }
        None
    }

    /// Whether a line contains a commit; `None` when walking cannot tell.
    pub(crate) fn line_contains(&self, head: &Oid, commit: &Oid) -> Option<bool> {
        let mut at = head.clone();
        for _ in 0..STEPS_MAX {
            if at == *commit {
                return Some(true);
            }
            at = match self.before(&at) {
                Before::One(parent) => parent,
                Before::Nothing => return Some(false),
                Before::Unclear => return None,
            };
        }
        None
    }

    /// The commits in `base..head`, oldest first, provided that they are a line.
    pub fn commits_between(&self, base: &Oid, head: &Oid) -> Result<Vec<Oid>, GitError> {
        Ok(self.line(base, head)?.into_iter().map(|(_, commit)| commit).collect())
    }
}
