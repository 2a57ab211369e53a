//! The planning files' own commit: a few paths of the user's work tree, committed as they are, and pushed if asked.
//! What the user had staged elsewhere stays staged; no hook runs; a branch that moved meanwhile is left alone.

use crate::files::unique;
use crate::run::failed;
use crate::{GitError, GitPath, Oid, RefChange, RefsMoved, Repo, Sign, Signature};

/// What came of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is there.
    Done {
        /// Where it went.
        remote: String,
    },
    /// The branch has no upstream.
    NoUpstream,
    /// The remote said no, or could not be reached.
    Refused {
        /// Where it was to go.
        remote: String,
        /// Git's words.
        why: String,
    },
}

impl Repo {
    /// Commits these paths as they lie in the work tree, on the branch that is checked out, and nothing else. Nothing
    /// when they are as the branch has them.
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

    /// Pushes a branch to its upstream. The one call that may leave the machine.
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

    /// Where the branch's upstream was when somebody last looked; nothing without an upstream, or before anybody did.
    pub fn upstream_seen(&self, branch: &str) -> Result<Option<Oid>, GitError> {
        let Some((remote, merge)) = self.upstream(branch)? else { return Ok(None) };
        match merge.strip_prefix("refs/heads/") {
            Some(name) => self.ref_at(&format!("refs/remotes/{remote}/{name}")),
            None => Ok(None),
        }
    }

    /// The remote of a branch and the ref it is there.
    fn upstream(&self, branch: &str) -> Result<Option<(String, String)>, GitError> {
        let setting = |key: &str| -> Result<Option<String>, GitError> {
            let output = self.user().args(["config", "--get", &format!("branch.{branch}.{key}")]).run()?;
            let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Ok((output.code() == Some(0) && !value.is_empty()).then_some(value))
        };
        let upstream = setting("remote")?.zip(setting("merge")?);
        Ok(upstream.filter(|(remote, merge)| !remote.starts_with('-') && !merge.contains([':', '\n'])))
    }
}
