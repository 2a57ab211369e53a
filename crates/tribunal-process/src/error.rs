//! What can go wrong on our side of a launch. What a command does wrong is never an error: it is an `Exit`.

use std::io;
use std::path::{Path, PathBuf};

/// Why a launch could not be started or looked after: one variant per different reaction.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program does not exist.
    #[error("{program}: no such program{looked}\nhint: install it, or give its full path")]
    NotFound {
        /// What was asked for.
        program: String,
        /// Where it was looked for.
        looked: String,
    },
    /// The program exists but is not an executable file.
    #[error("{}: not an executable file\nhint: chmod +x it, or name the interpreter that runs it", program.display())]
    NotExecutable {
        /// The file found.
        program: PathBuf,
    },
    /// The working directory does not exist.
    #[error("{}: not a directory, so nothing can run there", dir.display())]
    NoDirectory {
        /// What was asked for.
        dir: PathBuf,
    },
    /// A launch of that id is still alive in this keeper.
    #[error("launch {id}: already running")]
    AlreadyRunning {
        /// The id given twice.
        id: String,
    },
    /// The keeper has been shut down.
    #[error("launch {id}: refused, the keeper is shut down")]
    Closed {
        /// The launch refused.
        id: String,
    },
    /// The launch itself makes no sense.
    #[error("launch {id}: {what}")]
    BadLaunch {
        /// The launch refused.
        id: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Walls were asked for where none can be raised.
    #[error(
        "launch {id}: it cannot be kept to its own files on this machine\nhint: permit user namespaces or install bubblewrap, or set agents.sandbox = \"off\""
    )]
    NoWalls {
        /// The launch refused.
        id: String,
    },
    /// No network was asked for where that cannot be enforced.
    #[error(
        "launch {id}: it cannot be kept from the network on this machine\nhint: permit network namespaces or install bubblewrap, or set checks.network = true"
    )]
    NoNetworkWall {
        /// The launch refused.
        id: String,
    },
    /// /proc does not show this program: nothing could be proven about any other.
    #[error(
        "/proc belongs to another PID namespace or is not mounted\nhint: mount a fresh /proc where Tribunal runs"
    )]
    NoProc,
    /// The operating system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file or program.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ProcessError {
    /// For `map_err`: what was being done, and to what.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { doing, path, source: source.into() }
    }
}
