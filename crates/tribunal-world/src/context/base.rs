//! The base commit of a change, for gates and reviewers: the single source of truth.
//!
//! Whatever commits lie between the base and the change, and whoever made them, the whole difference is judged. A
//! second definition somewhere else could leave a commit out of both.

use super::RunContext;
use tribunal_core::ids::{PlanId, Revision};
use tribunal_core::run::{Job, Subject};
use tribunal_engine::run_state::RunState;
use tribunal_git::{GitError, Oid};

/// The commit that a subject's change is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The last approved revision of its lane.
    Approved(Revision),
    /// The commit where its lane left the run's branch: everything the lane did.
    Fork,
    /// The head of the run's branch, on which everything landed.
    Landed,
}

impl Base {
    /// The base for reviewers. A lane's first task begins where the lane does.
    pub(crate) fn of(subject: &Subject, run_state: &RunState) -> Base {
        match subject {
            Subject::Lane(plan, Job::Task(_)) => Base::approved(plan, run_state),
            Subject::Lane(_, Job::Repair | Job::Qa) | Subject::Plan(_) => Base::Fork,
            Subject::Phase | Subject::Polish | Subject::Chain => Base::Landed,
        }
    }

    /// The base for gates.
    ///
    /// The gates of a delivery look at what came after the tasks: everything before went through the gates already, or
    /// a person accepted it.
    pub(crate) fn of_gates(subject: &Subject, run_state: &RunState) -> Base {
        match subject {
            Subject::Lane(plan, Job::Qa) => Base::approved(plan, run_state),
            _ => Base::of(subject, run_state),
        }
    }

    fn approved(plan: &PlanId, run_state: &RunState) -> Base {
        let approved = run_state.run.as_ref().and_then(|run| run.lane_head(plan));
        // Before the first approval the lane begins where it left the run's branch.
        approved.cloned().map_or(Base::Fork, Base::Approved)
    }

    /// The base as a commit, for the change that ends at `commit`.
    pub(crate) fn commit(&self, context: &RunContext, commit: &Oid) -> Result<Oid, GitError> {
        match self {
            Base::Approved(revision) => context.commit_of(revision),
            Base::Fork => fork(context, commit),
            Base::Landed => context.run_head(),
        }
    }
}

/// The commit where a lane left the run's branch.
pub(crate) fn fork(context: &RunContext, commit: &Oid) -> Result<Oid, GitError> {
    let head = context.run_head()?;
    // Without a common commit everything that differs from the head counts as the change.
    Ok(context.repo.merge_base(commit, &head)?.unwrap_or(head))
}
