//! Lines of commits, walked commit by commit: where two part, and whether one is part of another. Lanes and the run
//! branch have no merges, so most questions about them need no process; where there is a merge, git is asked.

use std::collections::BTreeSet;

use crate::{GitError, Oid, Repo};

/// How far is walked before git is asked.
const STEPS_MAX: usize = 512;

/// The commit before, on a line.
enum Before {
    /// The only parent.
    One(Oid),
    /// None: history begins here.
    Nothing,
    /// Not a line, or not to be read here.
    Unclear,
}

impl Repo {
    fn before(&self, commit: &Oid) -> Before {
        match self.parents_of(commit).as_deref() {
            Ok([]) => Before::Nothing,
            Ok([parent]) => Before::One(parent.clone()),
            Ok(_) | Err(_) => Before::Unclear,
        }
    }

    /// The newest commit two lines share; `None` when it takes more than walking to know.
    pub(crate) fn fork_of_lines(&self, one: &Oid, other: &Oid) -> Option<Oid> {
        let mut walks = [(Some(one.clone()), BTreeSet::new()), (Some(other.clone()), BTreeSet::new())];
        for _ in 0..STEPS_MAX {
            for side in 0..2 {
                let (at, mut seen) = std::mem::take(&mut walks[side]);
                let Some(at) = at else {
                    walks[side] = (None, seen);
                    continue;
                };
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

    /// Whether a line contains a commit; `None` when it takes more than walking to know.
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

    /// The commits in `base..head`, oldest first, where they are a line.
    pub fn commits_between(&self, base: &Oid, head: &Oid) -> Result<Vec<Oid>, GitError> {
        Ok(self.line(base, head)?.into_iter().map(|(_, commit)| commit).collect())
    }
}
