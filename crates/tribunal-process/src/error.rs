//! What can go wrong on our side of a launch.
//!
//! A misbehaving command is never an error: it is an `Exit`. So an `Err` of this crate always means that the launch
//! itself could not be started or supervised.

use std::io;
use std::path::{Path, PathBuf};

/// Why a launch could not be started or supervised: one variant per different reaction.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program does not exist.
    #[error("{program}: no such program{looked}\nhint: install it, or give its full path")]
    NotFound {
        /// The program that was asked for.
        program: String,
        /// Where it was looked for.
        looked: String,
    },
    /// The program exists but is not an executable file.
    #[error("{}: not an executable file\nhint: chmod +x it, or name the interpreter that runs it", program.display())]
    NotExecutable {
        /// The file that was found.
        program: PathBuf,
    },
    /// The working directory does not exist.
    #[error("{}: not a directory, so nothing can run there", dir.display())]
    NoDirectory {
        /// The directory that was asked for.
        dir: PathBuf,
    },
    /// A launch with this id is still alive under this supervisor.
    ///
    /// Ids name output directories, so two launches of one id would write into the same files.
    #[error("launch {id}: already running")]
    AlreadyRunning {
        /// The id that was given twice.
        id: String,
    },
    /// The supervisor has been shut down.
    #[error("launch {id}: refused, the supervisor is shut down")]
    Closed {
        /// The id of the launch that was refused.
        id: String,
    },
    /// The launch itself makes no sense, for example a NUL byte in an argument.
    #[error("launch {id}: {what}")]
    BadLaunch {
        /// The id of the launch that was refused.
        id: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A sandbox was asked for and none can be made here.
    ///
    /// The launch is refused rather than started without: the user may allow that by a setting, a driver may not.
    #[error(
        "launch {id}: it cannot be kept to its own files on this machine\nhint: permit user namespaces or install bubblewrap, or set agents.sandbox = \"off\""
    )]
    NoSandbox {
        /// The id of the launch that was refused.
        id: String,
    },
    /// A launch asked for no network, and that cannot be enforced here.
    #[error(
        "launch {id}: it cannot be kept from the network on this machine\nhint: permit network namespaces or install bubblewrap, or set checks.network = true"
    )]
    NoNetworkSandbox {
        /// The id of the launch that was refused.
        id: String,
    },
    /// /proc does not show this program, so nothing could be proven about any other process.
    #[error(
        "/proc belongs to another PID namespace or is not mounted\nhint: mount a fresh /proc where Tribunal runs"
    )]
    NoProc,
    /// The operating system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or program it was done to.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl ProcessError {
    /// For `map_err`: what was being done, and to which file or program.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { doing, path, source: source.into() }
    }
}
