//! The gates around a task: what its change may touch, and what about it a person or a reviewer must know. Facts are
//! read from git; an agent's word counts for nothing here.

use super::base::Base;
use super::check::failing;
use super::protected;
use super::site::Site;
use std::collections::BTreeMap;
use std::ffi::OsString;
use tribunal_core::contract::{Breaches, Contract, covers, gathered};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::ids::PlanId;
use tribunal_docs::hidden::{hidden, hidden_in};
use tribunal_docs::integrity;
use tribunal_docs::secret::{IN_BASE64, Secret, encoded, is_secret_name, readings, secrets, secrets_in};
use tribunal_git::{GitError, GitPath, Oid, Repo};

/// Whether the change stays inside the plan's contract.
pub(crate) const CONTRACT: &str = "contract_compliance";
/// Whether the change weakens what judges it.
pub(crate) const INTEGRITY: &str = "test_integrity";
/// Bytes of diff read for one file's tests.
const DIFF_MAX: usize = 4 << 20;
/// Bytes of a value that can be told from ordinary words.
const OWN_MIN: usize = 12;

/// What the gates of one task need, gathered from the docket.
pub(crate) struct Guard {
    pub(crate) contract: Contract,
    /// Files that other plans of the run hold, by pattern.
    pub(crate) held: BTreeMap<String, PlanId>,
    /// The planning folder.
    pub(crate) planning: GitPath,
    /// Where the change begins.
    pub(crate) base: Base,
}

impl Guard {
    /// Of what is mended after everything landed: it is bound by no plan's contract.
    pub(crate) fn of_all(planning: GitPath) -> Guard {
        Guard { contract: Contract::default(), held: BTreeMap::new(), planning, base: Base::Landed }
    }

    /// What one gate finds about the whole change that leads to a commit.
    pub(crate) fn findings(&self, site: &Site, check: &str, commit: &Oid) -> Result<Vec<Claim>, GitError> {
        let base = &self.base.commit(site, commit)?;
        let paths = site.repo.changed_paths(base, commit)?;
        let paths: Vec<GitPath> = paths.into_iter().filter(|path| !path.is_under(&self.planning)).collect();
        match check {
            // What a person decides about in any case is put to them once.
            CONTRACT => {
                let decided = !site.settings.gates.off.iter().any(|off| off == INTEGRITY);
                let open = paths.iter().filter(|path| !decided || self.protected(site, path).is_none());
                let open: Vec<String> = open.map(ToString::to_string).collect();
                let breaches = open.into_iter().filter_map(|path| self.breach(&path).map(|why| (path, why)));
                Ok(gathered(breaches.collect()).iter().map(outside).collect())
            }
            _ => self.integrity(site, base, commit, &paths),
        }
    }

    /// What is wrong with a path that the change touches, if anything.
    fn breach(&self, path: &str) -> Option<String> {
        let holder = self.held.iter().find(|(pattern, _)| covers(pattern, path)).map(|(_, plan)| plan);
        let own = self.contract.allowed_paths.iter().any(|pattern| covers(pattern, path));
        // A plan that names no paths limits by what is forbidden alone.
        match (self.contract.breach(path).filter(|_| stands(Defence::Contract)), holder) {
            (_, Some(plan)) if !own => Some(format!("belongs to plan {plan}, which is not landed yet")),
            (Some(breach), _) => Some(breach.words().to_owned()),
            (None, _) => None,
        }
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
            if site.repo.is_stopped() {
                return Err(GitError::Odd { what: "stopped with the run".to_owned() });
            }
            let name = path.to_string();
            if let Some(what) = self.protected(site, path) {
                claims.push(Claim { rule: Some(INTEGRITY.to_owned()), ..protected::claim(&name, what) });
                continue;
            }
            claims.extend(leaked(site, base, commit, path)?);
            claims.extend(unseen(&site.repo, base, commit, path)?);
            if integrity::is_lint(&name) {
                let text = format!("{name} configures a lint, and changes what is judged");
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
        claims.extend(links_out(site, base, commit)?);
        Ok(claims)
    }

    /// What a path steers that no agent may change by itself. What agents do not read is a plan's to change when the plan
    /// names it.
    fn protected(&self, site: &Site, path: &GitPath) -> Option<&'static str> {
        protected::configures(site, path, &self.contract.allowed_paths)
    }
}

/// The finding about files outside the contract.
fn outside(breaches: &Breaches) -> Claim {
    let place = breaches.named.first().map_or("", String::as_str);
    let mut claim = failing(Severity::Blocker, breaches.sentence()).at(place, None);
    claim.rule = Some(CONTRACT.to_owned());
    claim.suggestion = match breaches.count {
        1 => "take the change to this file back, or say why the plan must claim it",
        _ => "take these files away, have git ignore them where they do not belong to the project, or say why the plan must claim them",
    }
    .to_owned();
    claim
}

/// Secrets that a file holds now and did not before; they are named by their kind, never shown.
fn leaked(site: &Site, base: &Oid, commit: &Oid, path: &GitPath) -> Result<Vec<Claim>, GitError> {
    leaks(&site.repo, &site.environment, base, commit, path)
}

/// What [`leaked`] finds, wherever it is asked from.
pub(crate) fn leaks(
    repo: &Repo,
    environment: &BTreeMap<String, OsString>,
    base: &Oid,
    commit: &Oid,
    path: &GitPath,
) -> Result<Vec<Claim>, GitError> {
    let Some(now) = repo.file_at(commit, path)?.filter(|_| stands(Defence::Secrets)) else {
        return Ok(Vec::new());
    };
    let found = all_secrets(environment, &now);
    let name = path.to_string();
    let old = repo.file_at(base, path)?;
    let mut claims: Vec<Claim> = Vec::new();
    // Whoever names the file shows it, so only its folder is named.
    if old.is_none()
        && let Some(secret) = secrets(&name).first()
    {
        let folder = name.rsplit_once('/').map_or("the top folder", |(folder, _)| folder);
        let text =
            format!("the name of a file in {folder} holds {}: a secret does not belong there", secret.kind);
        let mut claim = told(Severity::Blocker, &name, text, FixableBy::Dev);
        claim.file = None;
        claims.push(claim);
    }
    if found.is_empty() {
        return Ok(claims);
    }
    let before = old.map(|bytes| all_secrets(environment, &bytes)).unwrap_or_default();
    let new = found.into_iter().filter(|secret| !before.iter().any(|old| old.text == secret.text));
    claims.extend(new.map(|secret| {
        let text = format!("{name} holds {}: a secret does not belong in the repository", secret.kind);
        let mut claim = told(Severity::Blocker, &name, text, FixableBy::Dev);
        claim.line = Some(secret.line);
        claim.suggestion = "take it out, and have it replaced: it has been seen".to_owned();
        claim
    }));
    Ok(claims)
}

/// Characters that a file has now and did not have before, and that nobody who reads it sees. They can make code read
/// otherwise than it runs.
pub(crate) fn unseen(repo: &Repo, base: &Oid, commit: &Oid, path: &GitPath) -> Result<Vec<Claim>, GitError> {
    let Some(now) = repo.file_at(commit, path)?.filter(|_| stands(Defence::Escapes)) else {
        return Ok(Vec::new());
    };
    let (name, old) = (path.to_string(), repo.file_at(base, path)?);
    let mut found = Vec::new();
    let control = path.as_bytes().iter().any(u8::is_ascii_control);
    if old.is_none() && (control || !hidden_in(path.as_bytes(), false).is_empty()) {
        let text = format!("the name of {name} holds characters that cannot be seen");
        found.push(told(Severity::Warning, &name, text, FixableBy::Dev));
    }
    if let Some(hidden) = hidden(&old.unwrap_or_default(), &now) {
        let lines = if hidden.lines == 1 { "1 line".to_owned() } else { format!("{} lines", hidden.lines) };
        let text = format!("{name} holds characters that cannot be seen, on {lines}: {}", hidden.numbers());
        let mut claim = told(Severity::Warning, &name, text, FixableBy::Dev);
        claim.line = Some(hidden.line);
        found.push(claim);
    }
    found.iter_mut().for_each(|claim| {
        claim.suggestion = "write them as escapes of the language, or take them out".to_owned();
    });
    Ok(found)
}

/// Links that lead out of the repository.
fn links_out(site: &Site, base: &Oid, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    if !stands(Defence::Links) {
        return Ok(Vec::new());
    }
    let links = site.repo.changed_links(base, commit)?;
    let out = links.into_iter().filter(|(path, to)| integrity::leads_out(path.as_bytes(), to));
    Ok(out
        .map(|(path, _)| {
            let text = format!("{path} is a link that leads out of the repository");
            told(Severity::Blocker, &path.to_string(), text, FixableBy::Dev)
        })
        .collect())
}

/// Secrets in a file: by their form, and those this run was given.
pub(crate) fn all_secrets(environment: &BTreeMap<String, OsString>, bytes: &[u8]) -> Vec<Secret> {
    let mut found = secrets_in(bytes);
    let own = environment.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str()?)));
    let own: Vec<(&str, &str)> =
        own.filter(|(name, value)| is_secret_name(name) && value.len() >= OWN_MIN).collect();
    for text in readings(bytes) {
        found.extend(own.iter().filter_map(|(name, value)| {
            let at = text.find(value)?;
            let line = u32::try_from(text[..at].matches('\n').count() + 1).unwrap_or(u32::MAX);
            Some(Secret { line, kind: format!("the value of {name}"), text: (*value).to_owned() })
        }));
        for hidden in encoded(&text) {
            let held = own.iter().filter(|(_, value)| hidden.text.contains(value));
            found.extend(held.map(|(name, value)| Secret {
                line: hidden.line,
                kind: format!("the value of {name}{IN_BASE64}"),
                text: (*value).to_owned(),
            }));
        }
    }
    found
}

fn told(severity: Severity, path: &str, text: String, fixable_by: FixableBy) -> Claim {
    let mut claim = failing(severity, text).at(path, None);
    claim.rule = Some(INTEGRITY.to_owned());
    claim.fixable_by = fixable_by;
    claim
}
