//! Everything that can go wrong on our side, one variant for each different reaction of a caller.
//!
//! An agent's mistake is never an error here: it is data in a result. Every message names the directory or command it
//! is about, and ends with a `hint:` line where the user can do something.

use std::path::PathBuf;

/// The oldest git that has everything used here (`merge-tree --write-tree --merge-base`).
pub const GIT_NEEDED: (u32, u32) = (2, 40);

/// Why a git operation could not be done.
///
/// Add a variant only when some caller reacts to it differently; everything else is `Failed` or `Odd`. The messages
/// reach the user unchanged, so they have to make sense without the code at hand.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no `git` on the path.
    #[error("git was not found on PATH\nhint: install git {}.{} or newer", GIT_NEEDED.0, GIT_NEEDED.1)]
    Missing,
    /// The git found is too old.
    #[error("git {found} is too old\nhint: install git {}.{} or newer", GIT_NEEDED.0, GIT_NEEDED.1)]
    TooOld {
        /// The version, as `git version` printed it.
        found: String,
    },
    /// The directory is in no repository.
    #[error("{} is not in a git repository\nhint: run `git init` and commit, or change to your project", dir.display())]
    NotARepository {
        /// The directory from which the search began.
        dir: PathBuf,
    },
    /// The repository has no work tree, so there are no files to change.
    #[error("{} is a bare repository\nhint: run from a clone or worktree that has files", dir.display())]
    Bare {
        /// The directory from which the search began.
        dir: PathBuf,
    },
    /// HEAD has no commit yet.
    #[error("{} has no commit yet\nhint: commit something first: `git add -A && git commit`", dir.display())]
    NoCommits {
        /// The root of the user's work tree.
        dir: PathBuf,
    },
    /// Objects may be missing and would have to come over the network.
    #[error("{} is a partial clone, which is not supported\nhint: run `git fetch --refetch --no-filter` and unset its remote's promisor and partialclonefilter settings, or clone in full", dir.display())]
    PartialClone {
        /// The root of the user's work tree.
        dir: PathBuf,
    },
    /// Git refuses the repository because it belongs to someone else.
    #[error("git does not trust {}: it belongs to another user\nhint: git config --global --add safe.directory '{}'", dir.display(), dir.display())]
    NotTrusted {
        /// The directory from which the search began.
        dir: PathBuf,
    },
    /// The directory belongs to the private repository of an agent, not to the user's.
    #[error("{} is inside a tree that Tribunal made for an agent\nhint: run from your own repository", dir.display())]
    InsideLane {
        /// The directory from which the search began.
        dir: PathBuf,
    },
    /// A git command did not end in time and was killed.
    #[error("`git {command}` did not end within {seconds} s and was killed")]
    Timeout {
        /// The subcommand with its arguments.
        command: String,
        /// The deadline that was passed, in seconds.
        seconds: u64,
    },
    /// A commit could not be signed as the user's git is configured.
    #[error(
        "the commit could not be signed: {detail}\nhint: sign one yourself (`git commit-tree -S HEAD^{{tree}} -m test`) to unlock the key or see what is wrong; `git.sign = \"never\"` in your own settings goes on without, and every report says so"
    )]
    Signing {
        /// What git wrote to standard error.
        detail: String,
    },
    /// A git command wrote more than one answer may hold in memory.
    #[error("`git {command}` wrote more than {cap} bytes")]
    TooLarge {
        /// The subcommand with its arguments.
        command: String,
        /// The limit that was passed, in bytes.
        cap: usize,
    },
    /// Another process holds a lock, or a crashed one left it behind.
    #[error(
        "{who} found a lock: {detail}\nhint: if no other git is running, delete the .lock file it names and try again"
    )]
    Locked {
        /// Who met the lock: a git command, or the fast-forward itself.
        who: String,
        /// What git wrote about the lock.
        detail: String,
    },
    /// The named revision, object or file does not exist.
    #[error("git knows no {what}")]
    NoSuch {
        /// The revision, object or file that was asked for.
        what: String,
    },
    /// A git command failed in a way that no caller treats differently.
    #[error("`git {command}` failed ({code}): {detail}{}", way_out(detail))]
    Failed {
        /// The subcommand with its arguments.
        command: String,
        /// Its exit code, or the signal.
        code: String,
        /// What git wrote to standard error, cut to a readable length.
        detail: String,
    },
    /// Git answered something we do not understand, or we were asked something that makes no sense.
    #[error("{what}")]
    Odd {
        /// What was not understood, as a whole sentence.
        what: String,
    },
    /// A file of the user's work tree cannot be written, so none of the result was.
    #[error(
        "{} cannot be written: {why}\nhint: nothing of the result is in your work tree; see that you may write there and that there is room, then run `tribunal land`", path.display()
    )]
    Unwritable {
        /// The file, from the root of the work tree.
        path: PathBuf,
        /// What the operating system answered.
        why: String,
    },
    /// The file system failed us.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory that was being used.
        path: PathBuf,
        /// What the operating system answered.
        source: std::io::Error,
    },
}

/// A hint for a command that could not write: git often does not say why, and mostly the disk is full.
fn way_out(detail: &str) -> &'static str {
    // Git has no exit code for this, so its own words are matched. `LC_ALL=C` keeps them English.
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
