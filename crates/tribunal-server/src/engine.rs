//! One question to the engine behind a launch's socket: one line out, one line back, and never a wait without an end.
//!
//! Each question has a connection of its own. So the server that an agent started holds nothing that could go stale,
//! and the engine can end a launch without telling anybody here.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_agent::reporting::{Answer, Ask, SOCKET_FILE};

/// The longest wait for an answer. Checks may take long; a call that takes longer than this is lost.
const ANSWER_MAX: Duration = Duration::from_secs(3_600);
/// The largest answer in bytes, so that a broken peer cannot fill the memory.
const LINE_MAX: u64 = 16 << 20;

/// Reasons why a call got no answer from the engine, or the server could not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Nothing listens behind the socket any more.
    #[error(
        "{}: {source}\nhint: the launch it belongs to is over; end with the lines of your prompt instead",
        path.display()
    )]
    Nobody {
        /// The socket that was tried.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The answer broke off, or is not an answer.
    #[error("the engine's answer cannot be read: {0}")]
    Answer(String),
    /// The MCP server itself failed.
    #[error("the MCP server cannot run: {0}")]
    Server(String),
}

/// Asks the engine that serves the launch with this folder, and waits for the answer.
///
/// The folder is the right to speak: no other launch has it in its sandbox. The engine checks the calling process
/// besides, so nothing in the question says who asks.
pub fn ask(dir: &Path, ask: &Ask) -> Result<Answer, ServerError> {
    let nobody = |source| ServerError::Nobody { path: dir.join(SOCKET_FILE), source };
    let broken = |error: &dyn std::fmt::Display| ServerError::Answer(error.to_string());
    // Connect through the open folder: the path of a socket has a short limit, and a project's path may be long.
    let folder = File::open(dir).map_err(nobody)?;
    let mut stream =
        UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET_FILE}", folder.as_raw_fd())).map_err(nobody)?;
    // Set before the question is written, so that an engine that dies without an answer cannot leave the agent waiting
    // for ever.
    stream.set_read_timeout(Some(ANSWER_MAX)).map_err(nobody)?;
    let mut line = serde_json::to_vec(ask).map_err(|error| broken(&error))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(nobody)?;
    let mut text = String::new();
    // A cut line is not valid JSON, so an answer over the limit fails below instead of counting in part.
    BufReader::new(stream.take(LINE_MAX)).read_line(&mut text).map_err(nobody)?;
    serde_json::from_str(&text).map_err(|error| broken(&error))
}
