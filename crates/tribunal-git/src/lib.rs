//! Trees, diffs and landing: the only crate that runs git.
//!
//! An agent works in a private repository that borrows the user's objects. Tribunal takes the files of that repository
//! and nothing else, makes every commit by plumbing, and moves refs by compare-and-swap. Only [`Repo::fast_forward`],
//! [`Repo::settle_forward`] and [`Repo::commit_paths`] write the user's work tree, index or branches.
//!
//! Nothing here runs a program that an agent could have named: no hook, no filter except LFS, no external diff, no text
//! conversion, no merge driver and no file system monitor. Build every new call from one of the constructors in `open`
//! (`engine`, `objects`, `refs`, `writing`, `user`), because they are what keeps this promise.

mod archive;
mod arrival;
mod create;
mod diff;
mod error;
mod files;
pub mod fingerprint;
mod forward;
mod history;
mod hold;
mod hooks;
mod index;
mod lines;
mod listing;
mod merge;
mod objects;
mod open;
mod planning;
mod proposed;
mod public_config;
mod refs;
mod replay;
mod run;
mod sessions;
mod sign;
mod snapshot;
mod trash;
mod tree;
mod trees;
mod types;
mod worktree_pool;

pub use archive::Archive;
pub use arrival::Arrived;
pub use diff::{Change, ChangeKind, DiffText};
pub use error::{GIT_NEEDED, GitError};
pub use forward::{Bring, Forward, ForwardProbe, Refusal, Settled, forward_command};
pub use history::{Commit, Touched};
pub use hooks::Hook;
pub use merge::United;
pub use objects::Entry;
pub use open::{Repo, check_version, git_version};
pub use planning::Pushed;
pub use public_config::public_config;
pub use refs::{Expect, Head, RefChange, RefsMoved};
pub use replay::Rebased;
pub use sign::{Sign, Signing};
pub use snapshot::Snapshot;
pub use trash::Trash;
pub use tree::{Captured, Problem, Tree};
pub use types::{GitPath, Mode, Oid, Signature};
pub use worktree_pool::WorktreePool;
