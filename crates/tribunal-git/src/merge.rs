//! Where two lines of commits part, what their files come to when united, and whose name goes on commits. Makes
//! no commit and moves no ref.

use crate::error::GitError;
use crate::open::{Repo, fields};
use crate::run::failed;
use crate::types::{GitPath, Oid};

/// The files of two commits, united.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct United {
    /// The tree; files that conflict are in it with markers.
    pub tree: Oid,
    /// The files that conflict; empty when all is well.
    pub conflicts: Vec<GitPath>,
}

impl Repo {
    /// The newest commit that both contain, if there is one.
    pub fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, GitError> {
        if let Some(fork) = self.fork_of_lines(one, other) {
            return Ok(Some(fork));
        }
        let call = self.objects().arg("merge-base").args([one, other]);
        let name = call.name();
        let output = call.run()?;
        match output.code() {
            Some(0) => Oid::from_bytes(&output.stdout).map(Some),
            Some(1) => Ok(None),
            _ => Err(failed(&name, &output)),
        }
    }

    /// What `theirs` did since `base`, done to `ours`, conflict markers and all.
    pub fn unite(&self, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<United, GitError> {
        let call = self.objects().args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        let call = call.arg(format!("--merge-base={base}")).args([ours, theirs]);
        let name = call.name();
        let output = call.run()?;
        if !matches!(output.code(), Some(0 | 1)) {
            return Err(failed(&name, &output));
        }
        let mut parts = fields(&output.stdout);
        let tree = parts.next().ok_or_else(|| GitError::odd("merge-tree named no tree"))?;
        let conflicts = parts.take_while(|part| !part.is_empty()).map(GitPath::from).collect();
        Ok(United { tree: Oid::from_bytes(tree)?, conflicts })
    }

    /// The user's own name and address for commits, where both are set.
    pub fn identity(&self) -> Result<Option<(String, String)>, GitError> {
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
