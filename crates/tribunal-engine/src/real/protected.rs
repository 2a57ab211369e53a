//! Protected changes: files that steer agents, CI, hooks, editors and the like. A person decides about them, in a run by the
//! gates around a task, in a review by a check of its own that is always there. The paths are a table; it asks nobody and
//! starts nothing.

use super::check::failing;
use super::site::Site;
use std::collections::BTreeSet;
use tribunal_agent::protected::table;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_git::{GitError, GitPath, Oid, Repo};

/// The check of a review that names protected changes.
pub(crate) const PROTECTED: &str = "protected-change";

/// Which paths steer agents, gathered once for all paths of a change.
pub(crate) struct Steering {
    /// Names of files and folders that the rows of adapters say they read.
    names: BTreeSet<Vec<u8>>,
}

impl Steering {
    /// By the adapters of a run.
    pub(crate) fn of(site: &Site) -> Steering {
        let rows = site.adapters.names().filter_map(|name| site.adapters.get(name).ok());
        let names = rows.flat_map(|row| row.config_files.iter());
        Steering { names: names.map(|name| lower(name.trim_end_matches('/').as_bytes())).collect() }
    }

    /// What a changed path configures, where a person has to decide about it; `claimed` are the paths that a plan names.
    pub(crate) fn configures(&self, path: &GitPath, claimed: &[String]) -> Option<&'static str> {
        if !stands(Defence::ProtectedChange) {
            return None;
        }
        let (name, own) = (path.to_string(), "Tribunal or its agents");
        // Most paths are in no category, and are held against the table once.
        if table().category(&name).is_none() {
            return self.is_of_a_row(path).then_some(own);
        }
        let listed = table().undecided(&name, claimed);
        let row = || self.steers_agents(path).then_some(own);
        listed.map(|category| category.configures.as_str()).or_else(row)
    }

    fn is_of_a_row(&self, path: &GitPath) -> bool {
        path.as_bytes().split(|byte| *byte == b'/').any(|part| self.names.contains(&lower(part)))
    }

    /// Whether a path, at any depth, is one that an agent takes its instructions or settings from.
    pub(crate) fn steers_agents(&self, path: &GitPath) -> bool {
        self.is_of_a_row(path)
            || table().category(&path.to_string()).is_some_and(|category| category.name == "agents")
    }
}

fn lower(name: &[u8]) -> Vec<u8> {
    name.to_ascii_lowercase()
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
