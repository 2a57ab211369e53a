//! The files that a launch left. No link is followed and no pipe is waited for, because an agent could have put
//! anything in their place.
//!
//! A missing file is ordinary: an agent that crashed early left none. A file of the wrong kind is a fault of the agent
//! and ends up in the outcome, while a failure to read is ours and an error.

use super::problem::{Problem, ProblemKind};
use super::{Outcome, Reading, read_with};
use crate::adapter::Adapter;
use crate::error::AgentError;
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use tribunal_core::usage::SessionTotals;

// A launch that reports more than this is not read at all: reading it in part could drop a finding.
const REPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;
// Only its first and last lines matter, and both are short.
const STDERR_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a launch left, and the facts that are known about it.
///
/// The caller knows the exit code and the session's counters; the files alone do not say either.
#[derive(Debug, Clone, Copy)]
pub struct Left<'a> {
    /// The file with the program's standard output.
    pub stdout: &'a Path,
    /// The file with the program's standard error.
    pub stderr: &'a Path,
    /// The file with the reported tool calls.
    pub report: &'a Path,
    /// The exit code, if it is known and the process was not ended by a signal.
    pub exit: Option<i32>,
    /// The session's counters before this launch, if it resumed one. Otherwise the session would be counted twice.
    pub before: SessionTotals,
    /// Whether an answer by schema was asked for.
    pub structured: bool,
}

/// Reads what a launch of this program left.
///
/// A missing file counts as empty, and anything but a plain file as an error of the agent. Only a failure of the system
/// is an `Err`.
pub fn read_launch(adapter: &Adapter, left: &Left<'_>) -> Result<Outcome, AgentError> {
    let reading = Reading::of(adapter).resuming(left.before).wanting_structured(left.structured);
    read_all(reading, left)
}

fn read_all(reading: Reading, left: &Left<'_>) -> Result<Outcome, AgentError> {
    let (output, output_fault) = open(left.stdout)?;
    let (beside, beside_fault) = open(left.stderr)?;
    let (calls, calls_fault) = open(left.report)?;
    // Asked of the open file: the path may lead to another file by now.
    let too_long =
        calls.as_ref().and_then(|file| file.metadata().ok()).is_some_and(|m| m.len() > REPORT_BYTES_MAX);
    let calls = if too_long { None } else { calls };
    let outcome = read_with(
        reading,
        // Standard output has no bound here: the parsers read it in a stream with bounded memory.
        BufReader::with_capacity(256 * 1024, bounded(output, u64::MAX)),
        BufReader::new(bounded(beside, STDERR_BYTES_MAX)),
        BufReader::new(bounded(calls, REPORT_BYTES_MAX)),
        left.exit,
    );
    let mut outcome = outcome.map_err(|source| AgentError::io("read", left.stdout, source))?;
    let long = too_long.then(|| format!("the report is longer than {REPORT_BYTES_MAX} bytes"));
    for fault in [output_fault, beside_fault, calls_fault, long].into_iter().flatten() {
        outcome.fail(Problem::new(ProblemKind::Unreadable, fault));
    }
    Ok(outcome)
}

fn bounded(file: Option<File>, max: u64) -> Box<dyn Read> {
    match file {
        Some(file) => Box::new(file.take(max)),
        None => Box::new(io::empty()),
    }
}

/// Opens a plain file that an agent could have replaced; `None` for anything else, and if there is nothing.
///
/// Use it for every file in a folder that an agent can write to.
pub fn open_plain(path: &Path) -> Result<Option<File>, AgentError> {
    open(path).map(|(file, _)| file)
}

/// Opens a plain file that an agent could have replaced, without following a link or waiting for a pipe.
fn open(path: &Path) -> Result<(Option<File>, Option<String>), AgentError> {
    // NONBLOCK, because opening a pipe without a writer would wait for ever.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let not_plain = || Some(format!("{} is not a plain file", path.display()));
    let fail = |errno: rustix::io::Errno| AgentError::io("read", path, errno.into());
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => {
            // Checked on the open file: between a look at the path and its opening, the agent could exchange it.
            let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd).map_err(fail)?.st_mode);
            match kind {
                FileType::RegularFile => Ok((Some(File::from(fd)), None)),
                _ => Ok((None, not_plain())),
            }
        }
        Err(rustix::io::Errno::NOENT) => Ok((None, None)),
        // A link gives ELOOP and a socket gives ENXIO; both are the agent's doing.
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => Ok((None, not_plain())),
        Err(errno) => Err(fail(errno)),
    }
}
