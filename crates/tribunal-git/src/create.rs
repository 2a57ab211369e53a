//! Creates repositories for projects that Tribunal makes itself, such as the demo's.
//!
//! It never touches a repository that exists already. The user's git settings have no say, so that the demo is the same
//! on every machine.

use std::path::Path;

use crate::error::GitError;
use crate::open::Repo;
use crate::run::Call;
use crate::types::Signature;

impl Repo {
    /// Makes a repository of the files in a directory, with one commit on the branch `main`.
    ///
    /// The author is also written to the repository's own configuration, so that later commits there work on a machine
    /// where git has no identity.
    pub fn create(dir: &Path, message: &str, who: &Signature) -> Result<Repo, GitError> {
        let git = dir.join(".git");
        // A `.git` that is a dangling link counts too: `git init` would write to wherever it leads.
        if git.symlink_metadata().is_ok() {
            let source = std::io::ErrorKind::AlreadyExists.into();
            return Err(GitError::Io { path: git, source });
        }
        let call = || {
            Call::new(dir)
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .config("core.hooksPath=/dev/null")
                .config("core.fsmonitor=false")
        };
        // An empty template, because the user's may bring hooks into the new repository.
        call().args(["init", "--quiet", "--template=", "--initial-branch=main"]).ok()?;
        let here = || call().env("GIT_DIR", &git).env("GIT_WORK_TREE", dir);
        for (key, value) in [("user.name", &who.name), ("user.email", &who.email)] {
            here().args(["config", key, value]).ok()?;
        }
        here().args(["add", "--all", "."]).ok()?;
        // Git itself commits here: nothing in this folder comes from an agent.
        here().args(["commit", "--quiet", "--no-verify", "--message", message]).ok()?;
        Repo::open(dir)
    }
}
