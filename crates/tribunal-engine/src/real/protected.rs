//! Protected changes: files that steer agents, CI, hooks, editors and the like. A person decides about them, in a run by the
//! gates around a task, in a review by a check of its own that is always there. The paths are a table; it asks nobody and
//! starts nothing.

use super::check::failing;
use super::site::Site;
use tribunal_agent::protected::table;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_git::{GitError, GitPath, Oid, Repo};

/// The check of a review that names protected changes.
pub(crate) const PROTECTED: &str = "protected-change";

/// What a changed path configures, where a person has to decide about it; `claimed` are the paths that a plan names.
pub(crate) fn configures(site: &Site, path: &GitPath, claimed: &[String]) -> Option<&'static str> {
    if !stands(Defence::ProtectedChange) {
        return None;
    }
    let listed = table().undecided(&path.to_string(), claimed);
    let row = || site.steers_agents(path).then_some("Tribunal or its agents");
    listed.map(|category| category.configures.as_str()).or_else(row)
}

/// The finding about one such path.
pub(crate) fn claim(path: &str, what: &str) -> Claim {
    let text = format!("{path} configures {what}: a change needs a person");
    let mut claim = failing(Severity::Blocker, text).at(path, None);
    claim.fixable_by = FixableBy::Manual;
    claim
}

/// What a reviewed change brings of them: blockers until a person waives or accepts them.
pub(crate) fn found(repo: &Repo, base: &Oid, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    if !stands(Defence::ProtectedChange) {
        return Ok(Vec::new());
    }
    let mut claims = Vec::new();
    for path in repo.changed_paths(base, commit)? {
        let name = path.to_string();
        let Some(category) = table().category(&name) else { continue };
        let mut claim = claim(&name, &category.configures);
        claim.rule = Some(category.name.clone());
        claim.domain = Some("security".to_owned());
        claim.evidence = category.reason.clone();
        claim.suggestion = "look at it yourself; `tribunal waive` takes it as it is".to_owned();
        claims.push(claim);
    }
    Ok(claims)
}
