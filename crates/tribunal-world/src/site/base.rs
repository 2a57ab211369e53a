//! Where a change begins that gates and reviewers look at: the one place that says so. Whatever commits lie between,
//! whoever made them, nothing of the change is left out.

use super::Site;
use tribunal_core::ids::{PlanId, Revision};
use tribunal_core::run::{Job, Subject};
use tribunal_engine::docket::Docket;
use tribunal_git::{GitError, Oid};

/// What a subject's change is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// What was approved of its lane before it.
    Approved(Revision),
    /// Everything a lane did: where it left the run's branch.
    Fork,
    /// What everything landed on.
    Landed,
}

impl Base {
    /// That of a subject. A lane's first task begins where the lane does.
    pub(crate) fn of(subject: &Subject, docket: &Docket) -> Base {
        match subject {
            Subject::Lane(plan, Job::Task(_)) => Base::approved(plan, docket),
            Subject::Lane(_, Job::Repair | Job::Qa) | Subject::Plan(_) => Base::Fork,
            Subject::Phase | Subject::Polish | Subject::Chain => Base::Landed,
        }
    }

    /// That of the gates. A delivery's is what was delivered: all before it went through them, or a person took it.
    pub(crate) fn of_gates(subject: &Subject, docket: &Docket) -> Base {
        match subject {
            Subject::Lane(plan, Job::Qa) => Base::approved(plan, docket),
            _ => Base::of(subject, docket),
        }
    }

    fn approved(plan: &PlanId, docket: &Docket) -> Base {
        let approved = docket.run.as_ref().and_then(|run| run.lane_head(plan));
        approved.cloned().map_or(Base::Fork, Base::Approved)
    }

    /// As a commit, for the change that leads to this one.
    pub(crate) fn commit(&self, site: &Site, commit: &Oid) -> Result<Oid, GitError> {
        match self {
            Base::Approved(revision) => site.commit_of(revision),
            Base::Fork => fork(site, commit),
            Base::Landed => site.run_head(),
        }
    }
}

/// Where a lane's commit left the run's branch.
pub(crate) fn fork(site: &Site, commit: &Oid) -> Result<Oid, GitError> {
    let head = site.run_head()?;
    Ok(site.repo.merge_base(commit, &head)?.unwrap_or(head))
}
