//! Finds the hooks that the user's git would run at a commit, and where they lie.
//!
//! Nothing here runs a hook. A caller that does has to put it into a sandbox first, because a hook in the work tree is
//! code that a change may bring.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

use crate::open::Config;
use crate::{GitError, GitPath, Repo};

/// The hooks of a commit, in the order in which git runs them.
const NAMES: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

/// A hook that the user's git would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The name of the hook: `pre-commit`, `prepare-commit-msg` or `commit-msg`.
    pub name: &'static str,
    /// The full path of the file.
    pub path: PathBuf,
    /// Its path in the work tree, if it lies there: such a hook is part of what people commit.
    pub in_tree: Option<GitPath>,
    /// The file names no interpreter, so it is a script for the shell.
    pub bare: bool,
}

impl Repo {
    /// The hooks that git would run at a commit of the user's, from `core.hooksPath` or the repository's own folder.
    ///
    /// Git skips a file that is not executable, and so does this: such a file is not a hook that anybody relies on.
    pub fn hooks(&self) -> Result<Vec<Hook>, GitError> {
        let config = Config::read(self.work_tree())?;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let folder = match config.get("core.hookspath").filter(|path| !path.is_empty()) {
            None => self.inner.common_dir.join("hooks"),
            Some(path) => match (path.strip_prefix(b"~/"), home) {
                (Some(rest), Some(home)) => home.join(std::ffi::OsStr::from_bytes(rest)),
                // Git takes a relative path from the root of the work tree.
                _ => self.work_tree().join(std::ffi::OsStr::from_bytes(path)),
            },
        };
        // By its text alone: links are not followed, because the configured place is what counts.
        let folder = lexical(&folder);
        let hook = |name: &'static str| {
            let path = folder.join(name);
            let runs = path.is_file() && access(&path, Access::EXEC_OK).is_ok();
            // A hook below `.git` lies in the work tree too, by its path; `is_inside` sorts that out.
            let in_tree = path.strip_prefix(self.work_tree()).ok();
            let in_tree =
                in_tree.map(|path| GitPath::new(path.as_os_str().as_bytes())).filter(GitPath::is_inside);
            runs.then(|| Hook { name, bare: is_bare(&path), in_tree, path })
        };
        Ok(NAMES.into_iter().filter_map(hook).collect())
    }
}

/// The path without `.` and `..`, so that it can be compared.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Whether the kernel would not know how to run the file: git hands it to the shell then.
fn is_bare(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start));
    read.is_ok() && !start.starts_with(b"#!") && start != *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_plain() {
        for (path, expect) in [("/a/./b/../c", "/a/c"), ("/a/b", "/a/b"), ("/../a", "/a")] {
            assert_eq!(lexical(Path::new(path)), Path::new(expect), "{path}");
        }
    }
}
