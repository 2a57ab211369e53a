//! A file before and after a change, read once for all gates that look at it.

use tribunal_git::{GitError, GitPath, Oid, Repo};

/// A file of a change, read once for all that look at it.
pub(crate) struct TwoSides {
    /// As it was before, where it was there.
    pub(crate) old: Option<Vec<u8>>,
    /// As it is now, where it is there.
    pub(crate) now: Option<Vec<u8>>,
}

impl TwoSides {
    /// Reads the file on both sides of a change.
    pub(crate) fn read(repo: &Repo, base: &Oid, commit: &Oid, path: &GitPath) -> Result<TwoSides, GitError> {
        Ok(TwoSides { old: repo.file_at(base, path)?, now: repo.file_at(commit, path)? })
    }

    /// The difference of a file that is there on one side alone, as far as `integrity::weakened` reads one.
    pub(crate) fn one_sided(&self) -> String {
        match &self.now {
            None => "deleted file mode 100644\n".to_owned(),
            Some(now) => String::from_utf8_lossy(now)
                .lines()
                .fold(String::new(), |text, line| text + "+" + line + "\n"),
        }
    }
}
