//! What can go wrong on our side, one variant per reaction. What an agent does wrong is never here: it is data.

use std::path::PathBuf;

/// Why an agent could not be described, launched or read.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Adapter rows are wrong: the configuration has to change.
    #[error("{origin}: {}", problems.join("\n"))]
    Rows {
        /// The file or layer the rows came from.
        origin: String,
        /// One sentence per fault, each naming row and key.
        problems: Vec<String>,
    },
    /// A roster names an adapter that no row describes.
    #[error(
        "there is no adapter `{name}`\nhint: known adapters are {known}; add one as a table `[adapters.{name}]`"
    )]
    NoAdapter {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// This launch cannot be built from its row.
    #[error("adapter `{adapter}`: {problem}")]
    Launch {
        /// The adapter's name.
        adapter: String,
        /// What is missing or too large, with a hint.
        problem: String,
    },
    /// A scenario of the scripted agent cannot be used.
    #[error("scenario {}: {problem}", path.display())]
    Scenario {
        /// The scenario file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl AgentError {
    pub(crate) fn io(doing: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io { doing, path: path.to_path_buf(), source }
    }
}
