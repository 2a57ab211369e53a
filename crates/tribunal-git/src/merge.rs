//! Where two lines of commits part, how their files merge, and whose name goes on commits.
//!
//! It makes no commit and moves no ref. A merge is a tree object for the caller to judge, because a merged tree that
//! nobody approved must not reach a branch.

use crate::error::GitError;
use crate::open::{Repo, fields};
use crate::run::failed;
use crate::types::{GitPath, Oid};

/// The merged files of two commits.
///
/// A tree with conflicts is a result and not an error: the builder is shown the markers and resolves them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct United {
    /// The merged tree. Files that conflict are in it with conflict markers.
    pub tree: Oid,
    /// The files that conflict; empty for a clean merge.
    pub conflicts: Vec<GitPath>,
}

impl Repo {
    /// The newest commit that both contain, if there is one.
    ///
    /// Lanes and the run branch are without merges, so walking their commits usually answers without a process.
    pub fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, GitError> {
        if let Some(fork) = self.fork_of_lines(one, other) {
            return Ok(Some(fork));
        }
        let call = self.objects().arg("merge-base").args([one, other]);
        let name = call.name();
        let output = call.run()?;
        match output.code() {
            Some(0) => Oid::from_bytes(&output.stdout).map(Some),
            // Exit code 1 without output means two unrelated histories, which is an answer.
            Some(1) => Ok(None),
            _ => Err(failed(&name, &output)),
        }
    }

    /// Applies to `ours` what `theirs` changed since `base`, with conflict markers where the two disagree.
    pub fn unite(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<United, GitError> {
        let call = self.objects().args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        let call = call.arg(format!("--merge-base={base}")).args([ours, theirs]);
        let name = call.name();
        let output = call.run()?;
        // Exit code 1 means conflicts; anything above is a failure of git itself.
        if !matches!(output.code(), Some(0 | 1)) {
            return Err(failed(&name, &output));
        }
        let mut parts = fields(&output.stdout);
        let tree = parts.next().ok_or_else(|| GitError::odd("merge-tree named no tree"))?;
        // The list of conflicting files ends at an empty field; the fields after it are not paths.
        let conflicts = parts.take_while(|part| !part.is_empty()).map(GitPath::from).collect();
        Ok(United { tree: Oid::from_bytes(tree)?, conflicts })
    }

    /// The user's own name and address for commits, where both are set.
    ///
    /// Half an identity counts as none. The answer is read once for each `Repo`.
    pub fn identity(&self) -> Result<Option<(String, String)>, GitError> {
        // Two processes for an answer that does not change while a run lives.
        if let Some(known) = self.inner.identity.get() {
            return Ok(known.clone());
        }
        let read = |key: &str| -> Result<Option<String>, GitError> {
            let output = self.user().args(["config", "--get", key]).run()?;
            let value = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Ok((output.code() == Some(0) && !value.is_empty()).then_some(value))
        };
        let found = read("user.name")?.zip(read("user.email")?);
        Ok(self.inner.identity.get_or_init(|| found).clone())
    }
}
