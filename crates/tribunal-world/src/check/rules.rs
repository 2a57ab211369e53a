//! The user's rules for commits other than hooks: identity, signatures and sign-off.
//!
//! Tribunal makes its commits by git plumbing, before anybody approved them. A commit is therefore signed when it
//! lands, and not earlier: the user's signature must not stand on anything that nobody approved.

use super::message;
use super::unattended;
use crate::context::{RunContext, now};
use crate::project::Project;
use crate::project::error::SetupError;
use crate::setup::one_of;
use tribunal_engine::settings::{GitSettings, Settings};
use tribunal_git::{GitError, Oid, RefChange, RefsMoved, Repo, Signature, Signing};

/// The author of Tribunal's commits: the one from the settings, else the user, else Tribunal.
pub(crate) fn identity(git: &GitSettings, repo: &Repo) -> Signature {
    let given = (!git.author_name.is_empty()).then(|| (git.author_name.clone(), git.author_email.clone()));
    let own = || repo.identity().ok().flatten();
    let (name, email) =
        given.or_else(own).unwrap_or_else(|| ("Tribunal".to_owned(), "tribunal@localhost".to_owned()));
    Signature::new(name, email, i64::try_from(now().0 / 1000).unwrap_or(0))
}

/// Whether the settings allow commits to be signed as the user's git is configured.
fn may_sign(git: &GitSettings) -> Result<bool, SetupError> {
    one_of("git.sign", &git.sign, "auto, never", &[("auto", true), ("never", false)])
}

/// Rejects a run if the user's rules for commits cannot be kept while nobody is there. The error names the key that
/// says otherwise.
///
/// A key that asks for a passphrase would otherwise stop the run at its first landing. `branch` is the one that the work
/// is for, if it is not the one checked out.
pub fn check(project: &Project, settings: &Settings, branch: Option<&str>) -> Result<(), SetupError> {
    if branch.is_none() {
        check_branch(project, &settings.git)?;
    }
    check_signing(project, settings)?;
    let head = project.repo().head()?.commit;
    let planning = project.planning_path();
    let tracked = project.repo().list_tree(&head)?.iter().any(|entry| entry.path.is_under(&planning));
    // If git tracks the planning documents, the run commits them under a message of its own, which the hooks must
    // accept.
    let own = tracked.then(|| "docs(01): plans and summaries of the run\n\nTribunal-Run: 01\n".to_owned());
    unattended::check_hooks(project, settings, branch, &own.into_iter().collect::<Vec<_>>())
}

/// The same for a review that fixes its findings.
pub(crate) fn check_of_fixes(project: &Project, settings: &Settings) -> Result<(), SetupError> {
    check_branch(project, &settings.git)?;
    check_signing(project, settings)?;
    let own = "fix(review): review round 1, 1 of 1 findings\n\nF-1 a finding\n\nTribunal-Run: 01\n";
    unattended::check_hooks(project, settings, None, &[own.to_owned()])
}

/// Rejects a run if its result would come to another branch than the settings allow.
///
/// A run lands on the branch that is checked out when it begins. A project that names its branch has to learn of it before
/// an agent is paid, not when the commits are on the wrong one.
fn check_branch(project: &Project, git: &GitSettings) -> Result<(), SetupError> {
    let here = project.repo().head()?.branch.unwrap_or_default();
    if git.branch.is_empty() || git.branch == here {
        return Ok(());
    }
    let [wanted, here] = [&git.branch, &here].map(|name| tribunal_view::plain::clipped(name, 80));
    Err(SetupError::Refused(format!(
        "work lands on {wanted:?} alone (git.branch), and {here:?} is checked out\n\
         hint: check out that branch, or pass --set git.branch=\"\"; nothing was changed"
    )))
}

fn check_signing(project: &Project, settings: &Settings) -> Result<(), SetupError> {
    if !may_sign(&settings.git)? {
        return Ok(());
    }
    let repo = project.repo();
    let Some(signing) = repo.signing()? else { return Ok(()) };
    repo.try_signing(&identity(&settings.git, repo)).map_err(|error| {
        let why = match &error {
            GitError::Signing { detail } => detail.clone(),
            other => other.to_string(),
        };
        SetupError::Signing { how: signing.to_string(), why }
    })
}

impl RunContext {
    /// How commits are signed, as the user's git is configured; none if they are not signed.
    pub(crate) fn signing(&self) -> Result<Option<Signing>, GitError> {
        if self.settings.git.sign == "never" { Ok(None) } else { self.repo.signing() }
    }

    /// The commits `base..head` as they may reach the user's branch: signed, if the user's git signs. No ref leads to
    /// them yet.
    pub(crate) fn signed(&self, base: &Oid, head: &Oid) -> Result<Oid, GitError> {
        match self.signing()? {
            Some(how) => self.repo.sign_line(base, head).map_err(|error| match error {
                // The error is read long after the run began, so it names the key and where it is set.
                GitError::Signing { detail } => {
                    GitError::Signing { detail: format!("{how} (git's user.signingkey): {detail}") }
                }
                other => other,
            }),
            None => Ok(head.clone()),
        }
    }

    /// The run branch with every commit since `base` signed, if the user's git signs. Commits that were made or rebased
    /// unsigned are signed now, and the branch follows.
    pub(crate) fn signed_result(&self, base: &Oid) -> Result<Oid, GitError> {
        let head = self.run_head()?;
        let signed = self.signed(base, &head)?;
        if signed == head {
            return Ok(head);
        }
        let change = RefChange::forward(self.name("head"), &head, &signed);
        match self.repo.refs_update(&[change], "tribunal: signed")? {
            RefsMoved::Done | RefsMoved::Already => Ok(signed),
            RefsMoved::Elsewhere { name, .. } => Err(GitError::Odd { what: format!("{name} has moved") }),
        }
    }

    /// A message that Tribunal writes itself, in the form that the user wants.
    pub(crate) fn own_message(&self, text: String) -> String {
        message::formed(&self.settings.git.message, &text)
    }

    /// A commit message with what the user's rules add to it.
    pub(crate) fn message(&self, text: String) -> String {
        if self.settings.git.signoff { message::signed_off(&text, &self.signature()) } else { text }
    }

    /// The trailers that say which of the user's rules were switched off.
    pub(crate) fn rules_left_out(&self) -> Vec<String> {
        // A configuration that cannot be read counts as one that signs: a trailer too many is better than one too few.
        let unsigned = self.settings.git.sign == "never" && !matches!(self.repo.signing(), Ok(None));
        let unhooked = match self.settings.git.hooks.as_str() {
            "skip" => self.repo.hooks().unwrap_or_default(),
            _ => Vec::new(),
        };
        let names: Vec<&str> = unhooked.iter().map(|hook| hook.name).collect();
        let unsigned = unsigned.then(|| "Tribunal-Not-Signed: git.sign is \"never\"".to_owned());
        let unhooked = (!names.is_empty()).then(|| format!("Tribunal-Hooks-Skipped: {}", names.join(", ")));
        unsigned.into_iter().chain(unhooked).collect()
    }
}
