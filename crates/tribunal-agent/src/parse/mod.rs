//! What an agent's output means. Pure over bytes and bounded in memory; never fails on anything an agent wrote: what
//! cannot be read is an error or a drift note inside the outcome.

mod events;
mod lines;
mod report;
mod text;

use crate::error::AgentError;
use rustix::fs::{FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

pub use report::TOOLS;

const DRIFT_MAX: usize = 20;
// A launch that reports more than this is not read at all, rather than in part.
const REPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Which parser reads an agent's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// Tribunal's own JSON lines: start, message, final, error.
    Events,
    /// The whole output is the final message.
    Text,
}

impl Parser {
    /// Every parser there is.
    pub const ALL: [Self; 2] = [Self::Events, Self::Text];

    /// The name rows use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Text => "text",
        }
    }

    /// The parser of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parser| parser.name() == name)
    }
}

/// What one launch came to, by the evidence it left.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether the agent finished its answer: the final event is there.
    pub complete: bool,
    /// The final message, as the agent wrote it.
    pub final_text: Option<String>,
    /// The tool calls it reported, in order.
    pub reports: Vec<ToolCall>,
    /// What it, or its unreadable output, says went wrong.
    pub error: Option<String>,
    /// Tokens and cost by its own account.
    pub usage: Option<Usage>,
    /// Its session, for resuming.
    pub session: Option<String>,
    /// What the parser did not expect; warnings, never failures.
    pub drift: Vec<String>,
    /// How many more drift notes there were.
    pub drift_more: u64,
}

/// One reported tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name, one of [`TOOLS`].
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: serde_json::Map<String, serde_json::Value>,
}

/// Tokens and cost of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    #[serde(default)]
    pub input: u64,
    /// Tokens written.
    #[serde(default)]
    pub output: u64,
    /// Dollars, when the program tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Outcome {
    /// Whether this is an answer: complete, and nothing went wrong.
    pub fn is_answer(&self) -> bool {
        self.complete && self.error.is_none()
    }

    fn drift(&mut self, note: String) {
        if self.drift.len() < DRIFT_MAX {
            self.drift.push(note);
        } else {
            self.drift_more += 1;
        }
    }

    // The first error is the cause; later ones are its consequences.
    fn fail(&mut self, message: String) {
        self.error.get_or_insert(message);
    }
}

/// Reads output and report held in memory; `exit` is the exit code, when it is known and no signal ended the agent.
pub fn read(parser: Parser, stdout: &[u8], report: &[u8], exit: Option<i32>) -> Outcome {
    read_streams(parser, stdout, report, exit)
        .unwrap_or_else(|error| Outcome { error: Some(error.to_string()), ..Outcome::default() })
}

/// Reads output and report as streams, with bounded memory.
pub fn read_streams(
    parser: Parser,
    stdout: impl BufRead,
    report: impl BufRead,
    exit: Option<i32>,
) -> io::Result<Outcome> {
    let mut outcome = match parser {
        Parser::Events => events::read(stdout)?,
        Parser::Text => text::read(stdout, exit)?,
    };
    report::read(report, &mut outcome)?;
    Ok(outcome)
}

/// Reads the files a launch left; a missing one counts as empty, and one that is no plain file as an error of the agent.
pub fn read_files(
    parser: Parser,
    stdout: &Path,
    report: &Path,
    exit: Option<i32>,
) -> Result<Outcome, AgentError> {
    let (output, output_fault) = open(stdout)?;
    let (calls, calls_fault) = open(report)?;
    let too_long =
        calls.as_ref().and_then(|file| file.metadata().ok()).is_some_and(|m| m.len() > REPORT_BYTES_MAX);
    let calls: Box<dyn Read> = match calls {
        Some(file) if !too_long => Box::new(file.take(REPORT_BYTES_MAX)),
        _ => Box::new(io::empty()),
    };
    let output: Box<dyn Read> =
        output.map_or_else(|| Box::new(io::empty()) as Box<dyn Read>, |file| Box::new(file));
    let output = BufReader::with_capacity(256 * 1024, output);
    let mut outcome = read_streams(parser, output, BufReader::new(calls), exit)
        .map_err(|source| AgentError::io("read", stdout, source))?;
    for fault in [output_fault, calls_fault].into_iter().flatten() {
        outcome.fail(fault);
    }
    if too_long {
        outcome.fail(format!("the report is longer than {REPORT_BYTES_MAX} bytes"));
    }
    Ok(outcome)
}

/// Opens a plain file an agent could have replaced: no link is followed and no pipe is waited for.
fn open(path: &Path) -> Result<(Option<File>, Option<String>), AgentError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let not_plain = || Some(format!("{} is not a plain file", path.display()));
    let fail = |errno: rustix::io::Errno| AgentError::io("read", path, errno.into());
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => {
            let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd).map_err(fail)?.st_mode);
            match kind {
                FileType::RegularFile => Ok((Some(File::from(fd)), None)),
                _ => Ok((None, not_plain())),
            }
        }
        Err(rustix::io::Errno::NOENT) => Ok((None, None)),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => Ok((None, not_plain())),
        Err(errno) => Err(fail(errno)),
    }
}

#[cfg(test)]
mod tests;
