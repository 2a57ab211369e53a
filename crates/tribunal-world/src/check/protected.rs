//! Protected changes: files that steer agents, CI, hooks, editors and the like. A person decides about them: in a run
//! through the gates around a task, in a review through a check of its own that is always there.
//!
//! The paths are a table, plus the files that adapter rows name in `config_files`. A link in a protected place protects
//! what it leads to as well, or a change could edit the target instead.

use super::failing;
use crate::context::RunContext;
use crate::context::two_sides::TwoSides;
use std::collections::{BTreeMap, BTreeSet};
use tribunal_agent::protected::table;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::protected::ProtectedLinks;
use tribunal_docs::{changed_install_scripts, is_install_manifest as is_manifest};
use tribunal_git::{GitError, GitPath, Mode, Oid, Repo};

/// The check of a review that names protected changes.
pub(crate) const PROTECTED: &str = "protected-change";

/// The paths that steer agents, gathered once for all paths of a change.
pub(crate) struct Steering {
    /// Names of files and folders that adapter rows say they read, in lower case.
    names: BTreeSet<Vec<u8>>,
    /// What the links of the base lead to.
    links: ProtectedLinks,
}

impl Steering {
    /// Gathers them from the adapters of a run, and from the links of the commit that a change begins from.
    ///
    /// The links are those of the base: a link that the change makes in a protected place is a protected change itself.
    pub(crate) fn of(context: &RunContext, base: &Oid) -> Result<Steering, GitError> {
        let rows = context.adapters.names().filter_map(|name| context.adapters.get(name).ok());
        let names = rows.flat_map(|row| row.config_files.iter());
        let names = names.map(|name| lower(name.trim_end_matches('/').as_bytes())).collect();
        let mut steering = Steering { names, links: ProtectedLinks::default() };
        steering.links = protected_links(&context.repo, base, |name| {
            table().category(name).is_some() || steering.is_of_a_row(&GitPath::from(name))
        })?;
        Ok(steering)
    }

    /// What a changed path configures, if a person has to decide about it. `claimed` holds the paths that a plan names.
    pub(crate) fn configures(&self, path: &GitPath, claimed: &[String]) -> Option<&'static str> {
        if !stands(Defence::ProtectedChange) {
            return None;
        }
        let behind = self.links.name_of(&path.to_string()).map(|name| GitPath::from(name.as_str()));
        let by_link = || self.configures_itself(behind.as_ref()?, claimed);
        self.configures_itself(path, claimed).or_else(by_link)
    }

    fn configures_itself(&self, path: &GitPath, claimed: &[String]) -> Option<&'static str> {
        let (name, own) = (path.to_string(), "Tribunal or its agents");
        // Most paths are in no category, so they are matched against the table only once.
        if table().category(&name).is_none() {
            return self.is_of_a_row(path).then_some(own);
        }
        let listed = table().undecided(&name, claimed);
        let row = || self.steers_by_name(path).then_some(own);
        listed.map(|category| category.configures.as_str()).or_else(row)
    }

    fn is_of_a_row(&self, path: &GitPath) -> bool {
        // Any component may match, in any case: agents look for their files at every depth, and some file systems
        // ignore case.
        path.as_bytes().split(|byte| *byte == b'/').any(|part| self.names.contains(&lower(part)))
    }

    /// Whether an agent takes instructions or settings from a path, at any depth.
    pub(crate) fn steers_agents(&self, path: &GitPath) -> bool {
        let behind = || self.links.name_of(&path.to_string());
        self.steers_by_name(path)
            || behind().is_some_and(|name| self.steers_by_name(&GitPath::from(name.as_str())))
    }

    fn steers_by_name(&self, path: &GitPath) -> bool {
        self.is_of_a_row(path)
            || table().category(&path.to_string()).is_some_and(|category| category.name == "agents")
    }
}

/// The targets of those links of a commit that stand in a protected place.
fn protected_links(
    repo: &Repo,
    at: &Oid,
    is_protected: impl Fn(&str) -> bool,
) -> Result<ProtectedLinks, GitError> {
    let mut links = BTreeMap::new();
    for entry in repo.list_tree(at)?.into_iter().filter(|entry| entry.mode == Mode::Symlink) {
        if let Some(target) = repo.file_at(at, &entry.path)? {
            links.insert(entry.path.to_string(), String::from_utf8_lossy(&target).into_owned());
        }
    }
    Ok(ProtectedLinks::of(&links, is_protected))
}

fn lower(name: &[u8]) -> Vec<u8> {
    name.to_ascii_lowercase()
}

/// The finding about one protected path.
pub(crate) fn claim(path: &str, what: &str) -> Claim {
    let text = format!("{path} configures {what}: a change needs a person");
    let mut claim = failing(Severity::Blocker, text).at(path, None);
    claim.fixable_by = FixableBy::Manual;
    claim
}

/// The protected changes of a reviewed change. Each blocks until a person waives or accepts it.
pub(crate) fn runs_on_install(path: &GitPath, both: &TwoSides) -> Option<Claim> {
    if !stands(Defence::ProtectedChange) {
        return None;
    }
    let name = path.to_string();
    let changed = changed_install_scripts(&name, both.old.as_deref(), both.now.as_deref());
    (!changed.is_empty())
        .then(|| claim(&name, &format!("what every install of the project runs ({})", changed.join(", "))))
}
pub(crate) fn found(repo: &Repo, base: &Oid, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    if !stands(Defence::ProtectedChange) {
        return Ok(Vec::new());
    }
    let mut claims = Vec::new();
    let links = protected_links(repo, base, |name| table().category(name).is_some())?;
    // A review has no plan that could claim a path, so every protected one counts.
    for path in repo.changed_paths(base, commit)? {
        let name = path.to_string();
        let by_link = || table().category(&links.name_of(&name)?);
        let Some(category) = table().category(&name).or_else(by_link) else {
            let scripts =
                is_manifest(&name).then(|| TwoSides::read(repo, base, commit, &path)).transpose()?;
            claims.extend(scripts.and_then(|both| runs_on_install(&path, &both)).map(for_a_person));
            continue;
        };
        let mut claim = claim(&name, &category.configures);
        claim.rule = Some(category.name.clone());
        claim.evidence = category.reason.clone();
        claims.push(for_a_person(claim));
    }
    Ok(claims)
}

fn for_a_person(mut claim: Claim) -> Claim {
    claim.domain = Some("security".to_owned());
    claim.suggestion = "look at it yourself; `tribunal waive` takes it as it is".to_owned();
    claim
}
