//! Secrets in what a review judges: in every change, in the names of its files, and whatever its text is written in. It
//! asks nobody and starts nothing, so it is there in every review.

use super::guard::leaks;
use std::collections::BTreeMap;
use std::ffi::OsString;
use tribunal_core::finding::Claim;
use tribunal_git::{GitError, Oid, Repo};

/// The check of a review that looks for secrets.
pub(crate) const SECRETS: &str = "secret-scan";

/// What a change brings that is a secret: blockers, each at its place.
pub(crate) fn found(
    repo: &Repo,
    environment: &BTreeMap<String, OsString>,
    base: &Oid,
    commit: &Oid,
) -> Result<Vec<Claim>, GitError> {
    let mut claims = Vec::new();
    for path in repo.changed_paths(base, commit)? {
        claims.extend(leaks(repo, environment, base, commit, &path)?);
    }
    claims.iter_mut().for_each(|claim| {
        claim.rule = Some("secret".to_owned());
        claim.domain = Some("security".to_owned());
    });
    Ok(claims)
}
