//! Everything that exists because scripts of the protocol call it: its gates, contracts, leases, artifact registry and
//! event log, and the files that scripts read about a run.
//!
//! Facts are read here, from files, git, commands and clocks, and given to the pure decisions in core and docs. No run
//! needs this crate: what a run uses as well lies in the crates below it, and this one calls it there, so both give the
//! same answers. Nothing here reads an argument, prints, or follows a symbolic link out of the planning folder.

mod artifacts;
mod changed;
mod clock;
mod complete;
mod contract;
mod documents;
mod events;
mod execution_state;
mod leases;
mod messages;
pub mod projection;
mod qa;
mod rule;
mod state;
mod suite;

pub use artifacts::{Artifact, REGISTRY, kept, register, registered};
pub use clock::moment;
pub use complete::complete;
pub use contract::{ContractError, generate, hash_of, load, meant, token_state};
pub use documents::{Ground, PhaseDocuments, documents, plans_beside, summary_of};
pub use events::{Event, LOG, append, correlation};
pub use execution_state::update_execution_state;
pub use leases::{Leased, with_leases};
pub use messages::message_errors;
pub use qa::{Delivery, Judged, check_regression, commit_lint, diff, lint_of, requirements, summary_checks};
pub use rule::{Asked, Repair, repair, rule};
pub use state::Folder;
pub use suite::Baseline;
pub use tribunal_world::EXECUTION_STATE as STATE;

use std::path::{Path, PathBuf};

/// Why facts could not be gathered.
///
/// A gate with such an error did not run. It never passes because of one.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
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

impl ProtocolError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ProtocolError {
        let path = path.to_path_buf();
        move |source| ProtocolError::Io { doing, path, source }
    }
}
