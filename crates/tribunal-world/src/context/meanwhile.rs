//! What the user did on their branch between the beginning of a run and the commit that the result was rebased onto last.
//!
//! A plan is approved against the first of the two. Files that the user renamed, or brought to the branch by hand, since
//! then are no fault of the change, and no agent could fix them.

use super::RunContext;
use std::collections::BTreeSet;
use tribunal_engine::run_state::RunState;
use tribunal_git::{GitError, GitPath, Oid};

/// The user's own commits since a run began.
pub(crate) struct Meanwhile {
    began: String,
    ground: String,
}

impl Meanwhile {
    pub(crate) fn of(run_state: &RunState) -> Meanwhile {
        Meanwhile { began: run_state.about.base.clone(), ground: run_state.base().to_owned() }
    }

    /// Both ends, where the branch moved at all.
    fn ends(&self) -> Result<Option<(Oid, Oid)>, GitError> {
        if self.began == self.ground {
            return Ok(None);
        }
        Ok(Some((Oid::parse(&self.began)?, Oid::parse(&self.ground)?)))
    }

    /// Files that were renamed, by their old and their new name.
    pub(crate) fn renamed(&self, context: &RunContext) -> Result<Vec<(String, String)>, GitError> {
        let Some((began, ground)) = self.ends()? else { return Ok(Vec::new()) };
        let changes = context.repo.changes(&began, &ground)?.into_iter();
        Ok(changes
            .filter_map(|change| Some((change.old_path?.to_string(), change.path.to_string())))
            .collect())
    }

    /// Files that changed there, and that a commit has just as the tasks left them.
    pub(crate) fn brought(
        &self,
        context: &RunContext,
        made: &Oid,
        commit: &Oid,
    ) -> Result<Vec<String>, GitError> {
        let Some((began, ground)) = self.ends()? else { return Ok(Vec::new()) };
        let other: BTreeSet<GitPath> = context.repo.changed_paths(made, commit)?.into_iter().collect();
        let changed = context.repo.changed_paths(&began, &ground)?.into_iter();
        Ok(changed.filter(|path| !other.contains(path)).map(|path| path.to_string()).collect())
    }
}
