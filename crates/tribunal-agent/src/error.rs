//! Failures on our side, one variant per reaction. Mistakes of an agent are never here: they are data in an
//! `Outcome`.
//!
//! A new variant is needed only where a caller reacts differently; otherwise a message in an existing one will do.

use std::path::PathBuf;

/// Why an agent could not be described, launched or read.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Adapter rows have faults, so the configuration has to change.
    #[error("{origin}: {}", problems.join("\n"))]
    Rows {
        /// The file or layer the rows came from.
        origin: String,
        /// One sentence per fault, each of which names the row and the key.
        problems: Vec<String>,
    },
    /// A roster or a setting names an adapter that no row describes.
    #[error(
        "there is no adapter `{name}`\nhint: known adapters are {known}; add one as a table `[adapters.{name}]`"
    )]
    NoAdapter {
        /// The name that was asked for.
        name: String,
        /// The names of the adapters there are.
        known: String,
    },
    /// This launch cannot be built from its row.
    #[error("adapter `{adapter}`: {problem}")]
    Launch {
        /// The name of the adapter.
        adapter: String,
        /// What is missing or too large, with a hint.
        problem: String,
    },
    /// A scenario of the scripted agent cannot be used.
    #[error("scenario {}: {problem}", path.display())]
    Scenario {
        /// The scenario file that was read.
        path: PathBuf,
        /// What is wrong, and where in the file.
        problem: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done, as a verb for the message.
        doing: &'static str,
        /// The file that was being read or written.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

impl AgentError {
    pub(crate) fn io(doing: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io { doing, path: path.to_path_buf(), source }
    }
}
