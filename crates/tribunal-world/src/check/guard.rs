//! The gates around a task: what its change may touch, and what about it a person or a reviewer must know. Facts are
//! read from git; an agent's word counts for nothing here.

use super::failing;
use super::protected;
use crate::site::Site;
use crate::site::base::Base;
use crate::site::meanwhile::Meanwhile;
use crate::site::two_sides::TwoSides;
use std::collections::BTreeMap;
use std::ffi::OsString;
pub(crate) use tribunal_core::checks::{CONTRACT, INTEGRITY};
use tribunal_core::contract::{Breaches, Contract, alike, covers, gathered};
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_core::ids::PlanId;
use tribunal_docs::hidden::{hidden, hidden_in};
use tribunal_docs::integrity;
use tribunal_docs::secret::{Secret, encoded, is_secret_name, readings, secrets, secrets_in};
use tribunal_git::{GitError, GitPath, Oid};

/// Bytes of diff read for one file's tests.
const DIFF_MAX: usize = 4 << 20;
/// Of very many files with the same matter, so many are listed beside the finding about them.
const OTHERS_NAMED: usize = 100;
/// Bytes of a value that can be told from ordinary words.
const OWN_MIN: usize = 12;

/// What the gates of one task need, gathered from the docket.
pub(crate) struct Guard {
    pub(crate) contract: Contract,
    /// What the user did on the branch since the plan was approved; nothing where no plan binds.
    pub(crate) meanwhile: Option<Meanwhile>,
    /// Files that other plans of the run hold, by pattern.
    pub(crate) held: BTreeMap<String, PlanId>,
    /// The planning folder.
    pub(crate) planning: GitPath,
    /// Where the change begins.
    pub(crate) base: Base,
    /// The commit that the run began with. Its links say which names lead to protected files: one that the run made since
    /// was a protected change itself.
    pub(crate) began: String,
}

impl Guard {
    /// Of what is mended after everything landed: it is bound by no plan's contract.
    pub(crate) fn of_all(planning: GitPath, began: &str) -> Guard {
        Guard {
            contract: Contract::default(),
            meanwhile: None,
            held: BTreeMap::new(),
            planning,
            base: Base::Landed,
            began: began.to_owned(),
        }
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
                let contract = self.contract_today(site)?;
                let (steers, claimed) = (self.steering(site)?, &contract.allowed_paths);
                let open = paths.iter().filter(|path| !decided || steers.configures(path, claimed).is_none());
                let open: Vec<String> = open.map(ToString::to_string).collect();
                let breaches =
                    open.into_iter().filter_map(|path| self.breach(&contract, &path).map(|why| (path, why)));
                Ok(gathered(breaches.collect()).iter().map(outside).collect())
            }
            _ => self.integrity(site, base, commit, &paths),
        }
    }

    fn steering(&self, site: &Site) -> Result<protected::Steering, GitError> {
        protected::Steering::of(site, &Oid::parse(&self.began)?)
    }

    /// The plan's contract, with the names that its files have on the user's branch by now.
    fn contract_today(&self, site: &Site) -> Result<Contract, GitError> {
        let mut contract = self.contract.clone();
        if let Some(meanwhile) = &self.meanwhile {
            let renamed = meanwhile.renamed(site)?;
            contract.follow_renames(renamed.iter().map(|(old, new)| (old.as_str(), new.as_str())));
        }
        Ok(contract)
    }

    /// What is wrong with a path that the change touches, if anything.
    fn breach(&self, contract: &Contract, path: &str) -> Option<String> {
        let holder = self.held.iter().find(|(pattern, _)| covers(pattern, path)).map(|(_, plan)| plan);
        let own = contract.allowed_paths.iter().any(|pattern| covers(pattern, path));
        // A plan that names no paths limits by what is forbidden alone.
        match (contract.breach(path).filter(|_| stands(Defence::Contract)), holder) {
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
        let (mut found, mut tests) = (Vec::new(), Vec::new());
        let steers = self.steering(site)?;
        for path in paths {
            if site.repo.is_stopped() {
                return Err(GitError::Odd { what: "stopped with the run".to_owned() });
            }
            let name = path.to_string();
            if let Some(what) = steers.configures(path, &self.contract.allowed_paths) {
                let claim = Claim { rule: Some(INTEGRITY.to_owned()), ..protected::claim(&name, what) };
                found.push(Noticed { words: what.to_owned(), claim });
                continue;
            }
            let both = TwoSides::read(&site.repo, base, commit, path)?;
            found.extend(leaks(&site.environment, path, &both));
            found.extend(unseen(path, &both));
            found.extend(protected::runs_on_install(path, &both).map(|claim| Noticed {
                words: "runs on an install".to_owned(),
                claim: Claim { rule: Some(INTEGRITY.to_owned()), ..claim },
            }));
            if integrity::is_lint(&name) {
                let text = format!("{name} configures a lint, and changes what is judged");
                let claim = told(Severity::Suggestion, &name, text, FixableBy::Dev);
                found.push(Noticed { words: "configures a lint".to_owned(), claim });
            }
            if integrity::is_test(&name) {
                match both {
                    TwoSides { old: Some(_), now: Some(_) } => tests.push(path.clone()),
                    both => found.extend(weakened(&name, &both.one_sided())),
                }
            }
        }
        let diffs = site.repo.diff_texts(base, commit, &tests, DIFF_MAX)?;
        for (path, diff) in tests.iter().zip(diffs) {
            found.extend(weakened(&path.to_string(), &String::from_utf8_lossy(&diff.bytes)));
        }
        found.extend(links_out(site, base, commit)?);
        Ok(together(found))
    }
}

/// One thing that was seen in one file.
pub(crate) struct Noticed {
    /// What is the matter, in words that are the same for every file with the same matter.
    words: String,
    /// The finding about it.
    pub(crate) claim: Claim,
}

/// Findings of what was noticed: the same matter in very many files is one.
pub(crate) fn together(found: Vec<Noticed>) -> Vec<Claim> {
    let found = found.into_iter().map(|one| (one.words, one.claim)).collect();
    let one = |(_, claims): (String, Vec<Claim>)| {
        let more = claims.len().saturating_sub(1);
        let others: Vec<&str> = claims.iter().skip(1).filter_map(|claim| claim.file.as_deref()).collect();
        let others = others.into_iter().take(OTHERS_NAMED).collect::<Vec<_>>().join("\n");
        let mut claim = claims.into_iter().next()?;
        if more > 0 {
            claim.claim = format!("{}; and {more} more files like it", claim.claim);
            claim.details = others;
        }
        Some(claim)
    };
    alike(found).into_iter().filter_map(one).collect()
}

/// What a diff of a test file takes away.
fn weakened(name: &str, diff: &str) -> Vec<Noticed> {
    let one = |what: String| {
        let claim = told(Severity::Suggestion, name, format!("{name}: {what}"), FixableBy::Dev);
        Noticed { words: what, claim }
    };
    integrity::weakened(diff).into_iter().map(one).collect()
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
pub(crate) fn leaks(
    environment: &BTreeMap<String, OsString>,
    path: &GitPath,
    TwoSides { old, now }: &TwoSides,
) -> Vec<Noticed> {
    let Some(now) = now.as_ref().filter(|_| stands(Defence::Secrets)) else { return Vec::new() };
    let found = all_secrets(environment, now);
    let name = path.to_string();
    let mut leaked: Vec<Noticed> = Vec::new();
    // Whoever names the file shows it, so only its folder is named.
    if old.is_none()
        && let Some(secret) = secrets(&name).first()
    {
        let folder = name.rsplit_once('/').map_or("the top folder", |(folder, _)| folder);
        let text =
            format!("the name of a file in {folder} holds {}: a secret does not belong there", secret.kind);
        let mut claim = told(Severity::Blocker, &name, text, FixableBy::Dev);
        claim.file = None;
        leaked.push(Noticed { words: format!("its name holds {}", secret.kind), claim });
    }
    if found.is_empty() {
        return leaked;
    }
    let before = old.as_ref().map(|bytes| all_secrets(environment, bytes)).unwrap_or_default();
    let new = found.into_iter().filter(|secret| !before.iter().any(|old| old.text == secret.text));
    leaked.extend(new.map(|secret| {
        let text = format!("{name} holds {}: a secret does not belong in the repository", secret.kind);
        let mut claim = told(Severity::Blocker, &name, text, FixableBy::Dev);
        claim.line = Some(secret.line);
        claim.suggestion = "take it out, and have it replaced: it has been seen".to_owned();
        Noticed { words: format!("holds {}", secret.kind), claim }
    }));
    leaked
}

/// Characters that a file has now and did not have before, and that nobody who reads it sees. They can make code read
/// otherwise than it runs.
pub(crate) fn unseen(path: &GitPath, TwoSides { old, now }: &TwoSides) -> Vec<Noticed> {
    let Some(now) = now.as_ref().filter(|_| stands(Defence::Escapes)) else { return Vec::new() };
    let name = path.to_string();
    let mut found = Vec::new();
    let mut notice = |words: &str, text: String, line: Option<u32>| {
        let mut claim = told(Severity::Warning, &name, text, FixableBy::Dev);
        claim.line = line;
        claim.suggestion = "write them as escapes of the language, or take them out".to_owned();
        found.push(Noticed { words: words.to_owned(), claim });
    };
    let control = path.as_bytes().iter().any(u8::is_ascii_control);
    if old.is_none() && (control || !hidden_in(path.as_bytes(), false).is_empty()) {
        let text = format!("the name of {name} holds characters that cannot be seen");
        notice("its name holds characters that cannot be seen", text, None);
    }
    if let Some(hidden) = hidden(old.as_deref().unwrap_or_default(), now) {
        let lines = if hidden.lines == 1 { "1 line".to_owned() } else { format!("{} lines", hidden.lines) };
        let text = format!("{name} holds characters that cannot be seen, on {lines}: {}", hidden.numbers());
        notice("holds characters that cannot be seen", text, Some(hidden.line));
    }
    found
}

/// Links that lead out of the repository.
fn links_out(site: &Site, base: &Oid, commit: &Oid) -> Result<Vec<Noticed>, GitError> {
    if !stands(Defence::Links) {
        return Ok(Vec::new());
    }
    let links = site.repo.changed_links(base, commit)?;
    let out = links.into_iter().filter(|(path, to)| integrity::leads_out(path.as_bytes(), to));
    Ok(out
        .map(|(path, _)| {
            let text = format!("{path} is a link that leads out of the repository");
            let claim = told(Severity::Blocker, &path.to_string(), text, FixableBy::Dev);
            Noticed { words: "is a link that leads out".to_owned(), claim }
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
            Some(Secret { line, last: line, kind: format!("the value of {name}"), text: (*value).to_owned() })
        }));
        for hidden in encoded(&text) {
            let held = own.iter().filter(|(_, value)| hidden.text.contains(value));
            found.extend(held.map(|(name, value)| Secret {
                line: hidden.line,
                last: hidden.last,
                kind: format!("the value of {name}{}", hidden.how),
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
