//! Commits a few paths of the user's work tree as they are, for planning documents, and pushes them if asked.
//!
//! Whatever the user had staged elsewhere stays staged, no hook runs, and a branch that moved in the meantime is left
//! alone.

use crate::files::unique;
use crate::run::failed;
use crate::{GitError, GitPath, Oid, RefChange, RefsMoved, Repo, Sign, Signature};

/// How a push went.
///
/// A remote that refuses is data and not an error: the commit is made, and the user is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has the branch now.
    Done {
        /// The remote it was pushed to.
        remote: String,
    },
    /// The branch has no upstream.
    NoUpstream,
    /// The remote refused, or could not be reached.
    Refused {
        /// The remote it should have been pushed to.
        remote: String,
        /// What git wrote to standard error.
        why: String,
    },
}

impl Repo {
    /// Commits these paths as they lie in the work tree, on the branch that is checked out, and nothing else. `None`
    /// when the branch has them already.
    ///
    /// The tree is built in an index of its own, so a commit never picks up what the user had staged for another one.
    pub fn commit_paths(
        &self,
        paths: &[GitPath],
        message: &str,
        who: &Signature,
        sign: Sign,
    ) -> Result<Option<Oid>, GitError> {
        let head = self.head()?;
        let Some(branch) = head.branch else {
            return Err(GitError::odd("HEAD is detached\nhint: check out a branch first"));
        };
        let known = self.entries(&head.commit, paths)?;
        // A path that is neither on the disk nor in the commit would make `git add` fail for all of them.
        let there = |path: &&GitPath| {
            path.is_inside()
                && (path.under(self.work_tree()).symlink_metadata().is_ok()
                    || known.iter().any(|entry| entry.path.is_under(path)))
        };
        let paths: Vec<&GitPath> = paths.iter().filter(there).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let index = self.inner.engine.join(unique("planning-index"));
        let tree = self.tree_of_paths(&index, &head.commit, &paths);
        let _ = std::fs::remove_file(&index);
        let tree = tree?;
        if tree == self.tree_of(&head.commit)? {
            return Ok(None);
        }
        let mut commit = self.commit(&tree, std::slice::from_ref(&head.commit), message, who, who)?;
        if sign == Sign::AsConfigured && self.signing()?.is_some() {
            commit = self.sign_line(&head.commit, &commit)?;
        }
        let change = RefChange::forward(format!("refs/heads/{branch}"), &head.commit, &commit);
        match self.refs_update(&[change], "tribunal: planning files")? {
            // Already there: a repeated call made the same commit, which is as good as having moved the branch.
            RefsMoved::Done | RefsMoved::Already => {}
            RefsMoved::Elsewhere { name, .. } => {
                return Err(GitError::odd(format!("{name} moved meanwhile\nhint: try again")));
            }
        }
        // The user's index learns of these paths alone; everything else in it stays staged as it was.
        let call = self.user().env("GIT_LITERAL_PATHSPECS", "1").args(["reset", "-q", "--"]);
        call.args(paths.iter().map(|path| path.os())).ok()?;
        Ok(Some(commit))
    }

    /// HEAD's tree with these paths as they lie in the work tree, made in an index of its own.
    fn tree_of_paths(
        &self,
        index: &std::path::Path,
        head: &Oid,
        paths: &[&GitPath],
    ) -> Result<Oid, GitError> {
        let call = || self.user().env("GIT_INDEX_FILE", index).env("GIT_LITERAL_PATHSPECS", "1");
        call().arg("read-tree").arg(head).ok()?;
        call().args(["add", "-A", "--"]).args(paths.iter().map(|path| path.os())).ok()?;
        Oid::from_bytes(&call().arg("write-tree").ok()?)
    }

    /// Pushes the branch that is checked out to its upstream.
    pub fn push_upstream(&self) -> Result<Pushed, GitError> {
        match self.head()?.branch {
            Some(branch) => self.push_branch(&branch),
            None => Ok(Pushed::NoUpstream),
        }
    }

    /// Pushes a branch to its upstream. This is the one call that may leave the machine.
    ///
    /// `neutral` forbids every transport, so it is allowed here again, for this call only. The user's agent for SSH
    /// keys is passed on, since nobody can be asked for a passphrase.
    pub fn push_branch(&self, branch: &str) -> Result<Pushed, GitError> {
        let Some((remote, merge)) = self.upstream(branch)? else { return Ok(Pushed::NoUpstream) };
        let mut call = self.user().config("protocol.allow=always");
        if let Some(agent) = std::env::var_os("SSH_AUTH_SOCK") {
            call = call.env("SSH_AUTH_SOCK", agent);
        }
        let call = call.args(["push", "-q", "--no-verify", "--end-of-options", &remote]);
        let output = call.arg(format!("refs/heads/{branch}:{merge}")).run()?;
        match output.code() {
            Some(0) => Ok(Pushed::Done { remote }),
            Some(_) => Ok(Pushed::Refused { remote, why: output.complaint() }),
            None => Err(failed("push", &output)),
        }
    }

    /// Where the branch's upstream was when somebody last fetched; `None` without an upstream, or before anybody did.
    pub fn upstream_seen(&self, branch: &str) -> Result<Option<Oid>, GitError> {
        let Some((remote, merge)) = self.upstream(branch)? else { return Ok(None) };
        match merge.strip_prefix("refs/heads/") {
            Some(name) => self.ref_at(&format!("refs/remotes/{remote}/{name}")),
            None => Ok(None),
        }
    }

    /// The remote of a branch and the ref that the branch is there.
    fn upstream(&self, branch: &str) -> Result<Option<(String, String)>, GitError> {
        let setting = |key: &str| -> Result<Option<String>, GitError> {
            let output = self.user().args(["config", "--get", &format!("branch.{branch}.{key}")]).run()?;
            let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Ok((output.code() == Some(0) && !value.is_empty()).then_some(value))
        };
        let upstream = setting("remote")?.zip(setting("merge")?);
        // Both come from a file and become arguments: neither may look like an option or a second refspec.
        Ok(upstream.filter(|(remote, merge)| !remote.starts_with('-') && !merge.contains([':', '\n'])))
    }
}
