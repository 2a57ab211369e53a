//! Secrets and invisible text in what a review judges: in changed files and their names, in commits and their messages,
//! and in the names of branches and tags. It needs no agent and no tool, so it is part of every review. Tribunal's own
//! documents are cleaned of secrets before they go to a branch.
//!
//! A secret is named by its kind and never shown. Where even naming the place would show it, as in a file's or a tag's
//! name, the finding has no place.

use super::failing;
use super::guard::{Noticed, all_secrets, leaks, together, unseen};
use crate::context::two_sides::TwoSides;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use tribunal_core::defence::{Defence, stands};
use tribunal_core::finding::{Claim, FixableBy, Severity};
use tribunal_docs::secret::{Secret, without};
use tribunal_git::{GitError, GitPath, Oid, Repo};

pub(crate) use tribunal_core::checks::SECRETS;
/// How many commits of a range are searched one by one, the newest first.
const COMMITS_MAX: usize = 500;

/// The variables that the run was given.
type Environment = BTreeMap<String, OsString>;

/// Finds the secrets that a change brings, as blockers at their places, and text that it hides from readers, as
/// warnings.
pub(crate) fn found(
    repo: &Repo,
    environment: &Environment,
    base: &Oid,
    commit: &Oid,
) -> Result<Vec<Claim>, GitError> {
    let (mut secrets, mut hidden) = (Vec::new(), Vec::new());
    for path in repo.changed_paths(base, commit)? {
        let both = TwoSides::read(repo, base, commit, &path)?;
        secrets.extend(leaks(environment, &path, &both));
        hidden.extend(unseen(&path, &both));
    }
    let passed = on_the_way(repo, environment, base, commit, &secrets)?;
    let secrets: Vec<Claim> = together(secrets).into_iter().chain(passed).collect();
    let ruled = |rule: &'static str| {
        move |claim: Claim| Claim {
            rule: Some(rule.to_owned()),
            domain: Some("security".to_owned()),
            ..claim
        }
    };
    let hidden = together(hidden).into_iter().map(ruled("hidden-text"));
    Ok(secrets.into_iter().map(ruled("secret")).chain(hidden).collect())
}

/// Secrets in the messages of the commits that lead to a change, and in what one commit added and a later one removed.
/// `known` holds what is there at the end.
///
/// Whoever has the branch has those commits, so a fix on top does not help: these findings are for a person.
fn on_the_way(
    repo: &Repo,
    environment: &Environment,
    base: &Oid,
    head: &Oid,
    known: &[Noticed],
) -> Result<Vec<Claim>, GitError> {
    if base == head || !stands(Defence::SecretHistory) {
        return Ok(Vec::new());
    }
    let commits = repo.subjects(base, head, COMMITS_MAX + 1)?;
    let mut claims = Vec::new();
    // The limit is stated, so that nobody takes the older commits for clean.
    if commits.len() > COMMITS_MAX {
        let text = format!("more than {COMMITS_MAX} commits: the older ones were not searched for secrets");
        claims.push(failing(Severity::Warning, text));
    }
    let known: HashSet<&str> = known.iter().map(|one| one.claim.claim.as_str()).collect();
    for (commit, _) in commits.iter().rev().take(COMMITS_MAX) {
        let (message, people) = (repo.message_of(commit)?, repo.people_of(commit)?);
        let parts = [("the message", message), ("the name or address of a person", people)];
        claims.extend(parts.iter().flat_map(|(what, bytes)| in_commit(environment, commit, what, bytes)));
        let brought = brought(repo, environment, commit)?;
        let gone = brought.into_iter().filter(|claim| !known.contains(claim.claim.as_str()));
        claims.extend(gone.map(|claim| Claim {
            claim: format!("in commit {}, though not in the end: {}", short(commit), claim.claim),
            fixable_by: FixableBy::Manual,
            // The file may no longer exist.
            file: None,
            line: None,
            suggestion: "make the branch anew without it, and have it replaced: it has been seen".to_owned(),
            ..claim
        }));
    }
    let oids: Vec<Oid> = commits.into_iter().map(|(commit, _)| commit).collect();
    claims.extend(in_names(environment, &repo.names_at(&oids)?));
    Ok(claims)
}

/// Secrets in the names of branches and tags. Reports print such names, so the finding does not say which one it is.
fn in_names(environment: &Environment, names: &[String]) -> Vec<Claim> {
    let mut said = BTreeSet::new();
    for name in names {
        let what = if name.starts_with("refs/tags/") { "tag" } else { "branch" };
        // A hyphen in a name is what a space is in a text: a secret may begin after any of them.
        let ends = name.match_indices('-').filter_map(|(at, _)| name.get(at + 1..));
        let text = ends.fold(name.clone(), |text, end| text + "\n" + end);
        let secrets = all_secrets(environment, text.as_bytes()).into_iter();
        said.extend(secrets.map(|secret| format!("the name of a {what} holds {}", secret.kind)));
    }
    let claim = |text: String| Claim {
        fixable_by: FixableBy::Manual,
        suggestion: "name it otherwise, and have the secret replaced: it has been seen".to_owned(),
        ..failing(Severity::Blocker, text)
    };
    said.into_iter().map(claim).collect()
}

/// Secrets that a commit has and none of its parents.
///
/// A merge only brings what is new against every parent; the rest came with one of them and is found there.
fn brought(repo: &Repo, environment: &Environment, commit: &Oid) -> Result<Vec<Claim>, GitError> {
    let mut brought: Option<Vec<Claim>> = None;
    for parent in repo.parents_of(commit)? {
        let mut claims = Vec::new();
        for path in repo.changed_paths(&parent, commit)? {
            let both = TwoSides::read(repo, &parent, commit, &path)?;
            claims.extend(leaks(environment, &path, &both).into_iter().map(|one| one.claim));
        }
        brought = Some(match brought {
            Some(before) => {
                // Compared by the text of the finding, which names the kind and the file but never the secret.
                let also: HashSet<&str> = claims.iter().map(|claim| claim.claim.as_str()).collect();
                before.into_iter().filter(|claim| also.contains(claim.claim.as_str())).collect()
            }
            None => claims,
        });
    }
    Ok(brought.unwrap_or_default())
}

/// Secrets in the parts of a commit other than its files.
fn in_commit(environment: &Environment, commit: &Oid, what: &str, bytes: &[u8]) -> Vec<Claim> {
    let claim = |secret: Secret| {
        let text = format!("{what} of commit {} holds {}", short(commit), secret.kind);
        let mut claim = failing(Severity::Blocker, text);
        claim.fixable_by = FixableBy::Manual;
        claim.suggestion =
            "make the commit anew without it, and have it replaced: it has been seen".to_owned();
        claim
    };
    all_secrets(environment, bytes).into_iter().map(claim).collect()
}

fn short(commit: &Oid) -> &str {
    commit.as_str().get(..12).unwrap_or_default()
}

/// Secrets that a document holds and did not hold before, as blockers of a rule.
pub(crate) fn in_document(
    environment: &Environment,
    path: &str,
    (before, now): (Option<&[u8]>, &[u8]),
    rule: &str,
) -> Vec<Claim> {
    let claim = |secret: Secret| {
        let text = format!("{path} holds {}: a secret does not belong in the repository", secret.kind);
        let mut claim = failing(Severity::Blocker, text).at(path, Some(secret.line));
        claim.rule = Some(rule.to_owned());
        claim.suggestion = "take it out, and have it replaced: it has been seen".to_owned();
        claim
    };
    added(environment, before, now).into_iter().map(claim).collect()
}

/// A document as it goes to a branch: without the secrets that it did not hold before.
///
/// Secrets that were there before stay. They are the user's, and on the branch already.
pub(crate) fn cleaned(environment: &Environment, before: Option<&[u8]>, bytes: Vec<u8>) -> Vec<u8> {
    let found = added(environment, before, &bytes);
    match (found.first(), std::str::from_utf8(&bytes)) {
        (None, _) => bytes,
        (Some(_), Ok(text)) => without(text, &found).into_bytes(),
        // In text that is not UTF-8 nobody knows where the secret begins and ends, so all of it goes.
        (Some(secret), Err(_)) => format!("[{} was here]\n", secret.kind).into_bytes(),
    }
}

/// The secrets in a text that were not in the earlier one.
fn added(environment: &Environment, before: Option<&[u8]>, now: &[u8]) -> Vec<Secret> {
    if !stands(Defence::SecretDocument) {
        return Vec::new();
    }
    let old = before.map(|bytes| all_secrets(environment, bytes)).unwrap_or_default();
    let found = all_secrets(environment, now).into_iter();
    found.filter(|secret| old.iter().all(|old| old.text != secret.text)).collect()
}

/// Secrets in the files of an artifact that a chain made.
pub(crate) fn in_files(
    repo: &Repo,
    environment: &Environment,
    (base, commit): (&Oid, &Oid),
    paths: &[String],
    rule: &str,
) -> Result<Vec<Claim>, GitError> {
    let mut claims = Vec::new();
    for name in paths {
        let path = GitPath::from(name.as_str());
        let (before, now) = (repo.file_at(base, &path)?, repo.file_at(commit, &path)?);
        let both = (before.as_deref(), now.as_deref().unwrap_or_default());
        claims.extend(in_document(environment, name, both, rule));
    }
    Ok(claims)
}
