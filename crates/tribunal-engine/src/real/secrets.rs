//! What a review judges and nobody should see, or can: secrets in every change, in the names of its files, and whatever its
//! text is written in; and characters that a reader does not see. It asks nobody and starts nothing, so it is there in
//! every review.

use super::guard::{leaks, unseen};
use std::collections::BTreeMap;
use std::ffi::OsString;
use tribunal_core::finding::Claim;
use tribunal_git::{GitError, Oid, Repo};

/// The check of a review that looks for secrets and for hidden characters.
pub(crate) const SECRETS: &str = "secret-scan";

/// What a change brings that is a secret: blockers, each at its place. And warnings for what it hides from its readers.
pub(crate) fn found(
    repo: &Repo,
    environment: &BTreeMap<String, OsString>,
    base: &Oid,
    commit: &Oid,
) -> Result<Vec<Claim>, GitError> {
    let (mut secrets, mut hidden) = (Vec::new(), Vec::new());
    for path in repo.changed_paths(base, commit)? {
        secrets.extend(leaks(repo, environment, base, commit, &path)?);
        hidden.extend(unseen(repo, base, commit, &path)?);
    }
    let ruled = |rule: &'static str| {
        move |claim: Claim| Claim {
            rule: Some(rule.to_owned()),
            domain: Some("security".to_owned()),
            ..claim
        }
    };
    let hidden = hidden.into_iter().map(ruled("hidden-text"));
    Ok(secrets.into_iter().map(ruled("secret")).chain(hidden).collect())
}
