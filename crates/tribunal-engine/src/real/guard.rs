//! The gates around a task: what its change may touch, and what about it a person or a reviewer must know. Facts are
//! read from git; an agent's word counts for nothing here.

use super::check::failing;
use super::site::Site;
use std::collections::BTreeMap;
use tribunal_core::contract::{Breach, Contract, covers};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::ids::PlanId;
use tribunal_docs::integrity;
use tribunal_git::{GitError, GitPath, Oid};

/// Whether the change stays inside the plan's contract.
pub(crate) const CONTRACT: &str = "contract_compliance";
/// Whether the change weakens what judges it.
pub(crate) const INTEGRITY: &str = "test_integrity";
/// What configures Tribunal or an agent.
const CONFIGURATION: [&str; 15] = [
    "tribunal.toml",
    ".tribunal",
    "**/CLAUDE.md",
    "**/AGENTS.md",
    "**/GEMINI.md",
    "**/.mcp.json",
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".aider.conf.yml",
    ".cursor",
    ".cursorrules",
];
/// Bytes of diff read for one file's tests.
const DIFF_MAX: usize = 4 << 20;

/// What the gates of one task need, gathered from the docket.
pub(crate) struct Guard {
    pub(crate) contract: Contract,
    /// Files that other plans of the run hold, by pattern.
    pub(crate) held: BTreeMap<String, PlanId>,
    /// A change outside the contract is refused, not only told.
    pub(crate) strict: bool,
    /// The planning folder.
    pub(crate) planning: GitPath,
    /// The change is one commit on its parent, not everything the lane did.
    pub(crate) one_commit: bool,
}

impl Guard {
    /// What one gate finds about the change from `base` to `commit`.
    pub(crate) fn findings(
        &self,
        site: &Site,
        check: &str,
        base: &Oid,
        commit: &Oid,
    ) -> Result<Vec<Claim>, GitError> {
        let paths = site.repo.changed_paths(base, commit)?;
        let paths: Vec<GitPath> = paths.into_iter().filter(|path| !path.is_under(&self.planning)).collect();
        match check {
            CONTRACT => Ok(paths.iter().filter_map(|path| self.breach(&path.to_string())).collect()),
            _ => self.integrity(site, base, commit, &paths),
        }
    }

    fn breach(&self, path: &str) -> Option<Claim> {
        let holder = self.held.iter().find(|(pattern, _)| covers(pattern, path)).map(|(_, plan)| plan);
        let own = self.contract.allowed_paths.iter().any(|pattern| covers(pattern, path));
        let (severity, text) = match (self.contract.breach(path), holder) {
            (_, Some(plan)) if !own => {
                (Severity::Blocker, format!("{path} belongs to plan {plan}, which is not landed yet"))
            }
            (Some(Breach::NotAllowed), _) if !self.strict => {
                (Severity::Warning, format!("{path} {}", Breach::NotAllowed.words()))
            }
            (Some(breach), _) => (Severity::Blocker, format!("{path} {}", breach.words())),
            (None, _) => return None,
        };
        let mut claim = failing(severity, text).at(path, None);
        claim.rule = Some(CONTRACT.to_owned());
        claim.suggestion = "take the change to this file back, or say why the plan must claim it".to_owned();
        Some(claim)
    }

    fn integrity(
        &self,
        site: &Site,
        base: &Oid,
        commit: &Oid,
        paths: &[GitPath],
    ) -> Result<Vec<Claim>, GitError> {
        let mut claims = Vec::new();
        for path in paths {
            let name = path.to_string();
            if CONFIGURATION.iter().any(|pattern| covers(pattern, &name)) {
                let text = format!("{name} configures Tribunal or its agents: a change needs a person");
                claims.push(told(Severity::Blocker, &name, text, FixableBy::Manual));
                continue;
            }
            if integrity::is_gate(&name) {
                let text = format!("{name} configures CI or a lint, and changes what is judged");
                claims.push(told(Severity::Suggestion, &name, text, FixableBy::Dev));
            }
            if integrity::is_test(&name) {
                let diff = site.repo.diff_text(base, commit, std::slice::from_ref(path), DIFF_MAX)?;
                let text = String::from_utf8_lossy(&diff.bytes);
                let weaker = integrity::weakened(&text).into_iter();
                claims.extend(weaker.map(|what| {
                    told(Severity::Suggestion, &name, format!("{name}: {what}"), FixableBy::Dev)
                }));
            }
        }
        Ok(claims)
    }
}

fn told(severity: Severity, path: &str, text: String, fixable_by: FixableBy) -> Claim {
    let mut claim = failing(severity, text).at(path, None);
    claim.rule = Some(INTEGRITY.to_owned());
    claim.fixable_by = fixable_by;
    claim
}
