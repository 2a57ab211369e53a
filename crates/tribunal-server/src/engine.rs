//! One question to the engine behind a launch's socket: a line out, a line back. Never waits without an end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_agent::reporting::{Answer, Ask, SOCKET_FILE};

/// Checks may take long; a call that takes longer is lost.
const ANSWER_MAX: Duration = Duration::from_secs(3_600);
/// Bytes of an answer.
const LINE_MAX: u64 = 16 << 20;

/// Why the engine gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Nobody is behind the socket.
    #[error(
        "{}: {source}\nhint: the launch it belongs to is over; end with the lines of your prompt instead",
        path.display()
    )]
    Nobody {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The answer broke off or is none.
    #[error("the engine's answer cannot be read: {0}")]
    Answer(String),
    /// The server itself.
    #[error("the MCP server cannot run: {0}")]
    Server(String),
}

/// Asks the engine behind a launch's folder.
pub fn ask(dir: &Path, ask: &Ask) -> Result<Answer, ServerError> {
    let nobody = |source| ServerError::Nobody { path: dir.join(SOCKET_FILE), source };
    let broken = |error: &dyn std::fmt::Display| ServerError::Answer(error.to_string());
    // Through its folder: the path of a socket must be short, and a project's may be long.
    let folder = File::open(dir).map_err(nobody)?;
    let mut stream =
        UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET_FILE}", folder.as_raw_fd())).map_err(nobody)?;
    stream.set_read_timeout(Some(ANSWER_MAX)).map_err(nobody)?;
    let mut line = serde_json::to_vec(ask).map_err(|error| broken(&error))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(nobody)?;
    let mut text = String::new();
    BufReader::new(stream.take(LINE_MAX)).read_line(&mut text).map_err(nobody)?;
    serde_json::from_str(&text).map_err(|error| broken(&error))
}
