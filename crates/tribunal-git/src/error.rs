//! Everything that can go wrong on our side. What an agent did wrong is never an error here: it is data in a
//! result. Every message names the directory or command it is about and ends with a way out where there is one.

use std::path::PathBuf;

/// The oldest git that has everything used here (`merge-tree --write-tree --merge-base`).
pub const GIT_NEEDED: (u32, u32) = (2, 40);

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no `git` on the path.
    #[error("git was not found on PATH\nhint: install git {}.{} or newer", GIT_NEEDED.0, GIT_NEEDED.1)]
    Missing,
    /// The git found is too old.
    #[error("git {found} is too old\nhint: install git {}.{} or newer", GIT_NEEDED.0, GIT_NEEDED.1)]
    TooOld {
        /// What `git version` said.
        found: String,
    },
    /// The directory is in no repository.
    #[error("{} is not in a git repository\nhint: run `git init` and commit, or change to your project", dir.display())]
    NotARepository {
        /// Where we looked.
        dir: PathBuf,
    },
    /// The repository has no work tree.
    #[error("{} is a bare repository\nhint: run from a clone or worktree that has files", dir.display())]
    Bare {
        /// Where we looked.
        dir: PathBuf,
    },
    /// HEAD has no commit yet.
    #[error("{} has no commit yet\nhint: commit something first: `git add -A && git commit`", dir.display())]
    NoCommits {
        /// The work tree.
        dir: PathBuf,
    },
    /// Objects may be missing and would have to come over the network.
    #[error("{} is a partial clone, which is not supported\nhint: run `git fetch --refetch --no-filter` and unset its remote's promisor and partialclonefilter settings, or clone in full", dir.display())]
    PartialClone {
        /// The work tree.
        dir: PathBuf,
    },
    /// Git refuses the repository because it belongs to someone else.
    #[error("git does not trust {}: it belongs to another user\nhint: git config --global --add safe.directory '{}'", dir.display(), dir.display())]
    NotTrusted {
        /// Where we looked.
        dir: PathBuf,
    },
    /// The directory is a lane's or seat's private repository, not the user's.
    #[error("{} is inside a tree that Tribunal made for an agent\nhint: run from your own repository", dir.display())]
    InsideLane {
        /// Where we looked.
        dir: PathBuf,
    },
    /// A git command did not end in time and was killed.
    #[error("`git {command}` did not end within {seconds} s and was killed")]
    Timeout {
        /// The subcommand with its arguments.
        command: String,
        /// The limit that was passed.
        seconds: u64,
    },
    /// A commit could not be signed as the user's git is configured.
    #[error(
        "the commit could not be signed: {detail}\nhint: sign one yourself (`git commit-tree -S HEAD^{{tree}} -m test`) to unlock the key or see what is wrong; `git.sign = \"never\"` in your own settings goes on without, and every report says so"
    )]
    Signing {
        /// Git's words.
        detail: String,
    },
    /// A git command wrote more than we are willing to hold.
    #[error("`git {command}` wrote more than {cap} bytes")]
    TooLarge {
        /// The subcommand with its arguments.
        command: String,
        /// The limit that was passed.
        cap: usize,
    },
    /// Another process holds a lock, or a crashed one left it behind.
    #[error(
        "{who} found a lock: {detail}\nhint: if no other git is running, delete the .lock file it names and try again"
    )]
    Locked {
        /// Who did: a command of git, or the fast-forward itself.
        who: String,
        /// Git's words.
        detail: String,
    },
    /// The named revision, object or file does not exist.
    #[error("git knows no {what}")]
    NoSuch {
        /// What was asked for.
        what: String,
    },
    /// A git command failed in a way nobody reacts to differently.
    #[error("`git {command}` failed ({code}): {detail}{}", way_out(detail))]
    Failed {
        /// The subcommand with its arguments.
        command: String,
        /// Its exit code, or the signal.
        code: String,
        /// Git's words, cut to a bearable length.
        detail: String,
    },
    /// Git answered something we do not understand, or we were asked something that makes no sense.
    #[error("{what}")]
    Odd {
        /// What was not understood.
        what: String,
    },
    /// A file of the user's work tree cannot be written, so nothing of it was.
    #[error(
        "{} cannot be written: {why}\nhint: nothing of the result is in your work tree; see that you may write there and that there is room, then run `tribunal land`", path.display()
    )]
    Unwritable {
        /// The file, from the root of the work tree.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The file system failed us.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Git says that it could not write, and often not why: mostly there is no room.
fn way_out(detail: &str) -> &'static str {
    let words = [
        "Unable to create",
        "unable to write",
        "could not write",
        "couldn't write",
        "failed to write",
        "write error",
        "No space left",
    ];
    match words.iter().any(|word| detail.contains(word)) {
        true => "\nhint: see that there is room on the disk, and that you may write there",
        false => "",
    }
}

impl GitError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> GitError {
        let path = path.into();
        move |source| GitError::Io { path, source }
    }

    pub(crate) fn odd(what: impl Into<String>) -> GitError {
        GitError::Odd { what: what.into() }
    }
}
