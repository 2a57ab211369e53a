//! The protocol's gates with their facts: files, git, commands and clocks are read here and given to the pure decisions
//! in core and docs.
//!
//! A run calls these functions around its tasks; the protocol's commands are the same calls by name, so both give the
//! same answers. Nothing here decides, prints, or follows a symbolic link out of the planning folder.

mod artifacts;
mod changed;
mod clock;
mod command;
mod complete;
mod context;
mod contract;
mod documents;
mod events;
mod leases;
mod qa;
mod rule;
mod state;
mod suite;

pub use artifacts::{Artifact, REGISTRY, kept, register, registered, sha256};
pub use clock::{moment, unique_id};
pub(crate) use command::end_of;
pub use command::{Bounds, Finished, run_argv, run_line};
pub use complete::complete;
pub use context::{FAMILIES, tiers};
pub use contract::{ContractError, generate, hash_of, load, meant, token_state};
pub use documents::{Ground, PhaseDocuments, documents, plans_beside, read_plain, summary_of};
pub use events::{Event, LOG, STATE, append, correlation};
pub use leases::{Leased, with_leases};
pub use qa::{
    Delivery, Judged, base_of, check_regression, commit_lint, diff, known_commits, lint_of, requirements,
    summary_checks,
};
pub use rule::{Asked, Repair, repair, rule};
pub use state::Folder;
pub use suite::{
    Baseline, TestRun, commands_at, compared, has_tests, nothing_there, run_tests, test_command, test_run,
};

use std::path::{Path, PathBuf};

/// Why facts could not be gathered.
///
/// A gate with such an error did not run. It never passes because of one.
#[derive(Debug, thiserror::Error)]
pub enum GatesError {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done: a verb.
        doing: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A state file does not have the form that this program writes.
    #[error("{} is broken: {why}\nhint: {hint}", path.display())]
    Broken {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What the user can do.
        hint: &'static str,
    },
    /// A folder is a link, so whatever is written there would lie elsewhere.
    #[error(
        "{} is a symbolic link, and state is not kept behind one\nhint: put the folder itself there, or work where it lies",
        path.display()
    )]
    Linked {
        /// The path of the folder.
        path: PathBuf,
    },
    /// A name would lead out of its folder.
    #[error("{name:?} is no name for a file")]
    BadName {
        /// The name that was refused.
        name: String,
    },
    /// Git cannot do something.
    #[error(transparent)]
    Git(#[from] tribunal_git::GitError),
}

impl GatesError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> GatesError {
        let path = path.to_path_buf();
        move |source| GatesError::Io { doing, path, source }
    }
}
