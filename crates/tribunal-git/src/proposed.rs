//! Trees that nobody has committed yet: the content of the user's index, or a commit with a patch applied.
//!
//! Both are made in an index file of Tribunal's own. The user's index, work tree and refs are only read.

use crate::run::failed;
use crate::{GitError, GitPath, Oid, Repo};

impl Repo {
    /// The tree that the user's index stands for. The inner error says why it stands for none, such as a merge that is
    /// not finished.
    ///
    /// A copy of the index is asked, because git would write its cache into the original.
    pub fn staged_tree(&self) -> Result<Result<Oid, String>, GitError> {
        let index = self.inner.engine.join(crate::files::unique("index"));
        let own = self.inner.git_dir.join("index");
        match std::fs::copy(&own, &index) {
            Ok(_) => {}
            // A repository without an index has nothing staged: it stands for HEAD.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return self.tree_of(&self.head()?.commit).map(Ok);
            }
            Err(error) => return Err(GitError::io(&own)(error)),
        }
        let made = self.writing().env("GIT_INDEX_FILE", &index).arg("write-tree").run();
        let _ = std::fs::remove_file(&index);
        let output = made?;
        match output.status.success() {
            true => Oid::from_bytes(&output.stdout).map(Ok),
            false => Ok(Err(output.complaint())),
        }
    }

    /// Whether git has a path, or anything beneath it, in the user's index or in their commit.
    pub fn tracks(&self, path: &GitPath) -> Result<bool, GitError> {
        let call = self.user().env("GIT_LITERAL_PATHSPECS", "1");
        let call = call.args(["ls-files", "-z", "--cached", "--"]).arg(path.os());
        let staged = !call.ok()?.is_empty();
        Ok(staged || !self.entries(&self.head()?.commit, std::slice::from_ref(path))?.is_empty())
    }

    /// The tree that a patch makes of a commit's tree. The inner error says why the patch does not apply.
    pub fn patched_tree(&self, at: &Oid, patch: &[u8]) -> Result<Result<Oid, String>, GitError> {
        let index = self.inner.engine.join(crate::files::unique("index"));
        let call = || self.objects().env("GIT_INDEX_FILE", &index);
        let made = (|| {
            call().arg("read-tree").arg(at).ok()?;
            let applied = call().args(["apply", "--cached", "--whitespace=nowarn", "-"]);
            let output = applied.input(patch).run()?;
            match output.code() {
                Some(0) => Oid::from_bytes(&call().arg("write-tree").ok()?).map(Ok),
                // Git ends with 1 for a patch that does not fit and with 128 for one that it cannot read.
                Some(1 | 128) => Ok(Err(output.complaint())),
                _ => Err(failed("apply", &output)),
            }
        })();
        let _ = std::fs::remove_file(&index);
        made
    }
}
