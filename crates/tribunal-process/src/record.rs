//! What a launch leaves on disk beside its output: `process.json` (who runs, from its first moment) and `exit.json`
//! (how it ended).
//!
//! The files serve the next orchestrator when this one dies, so they are written whole or not at all. They are never
//! trusted further than the process table confirms.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::files::{Flush, replace};
use crate::proc::Key;

/// The record of the running launch, in its output directory.
pub(crate) const PROCESS_FILE: &str = "process.json";
/// The record of the launch's end, in its output directory.
pub(crate) const EXIT_FILE: &str = "exit.json";
/// Our own records are a few hundred bytes; a longer file is not ours.
const RECORD_MAX: u64 = 1 << 20;

/// How the command itself ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitHow {
    /// The command exited with this code.
    Code(i32),
    /// The command was ended by this signal.
    Signal(i32),
    /// The command never started, for this reason.
    NotStarted(String),
}

/// Who wanted the launch to end.
///
/// Kept apart from how it ended, because a command that is stopped may still exit with any code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It ended by itself, or somebody outside this program ended it.
    Itself,
    /// `stop` or `shutdown` was called before it ended.
    Stopped,
    /// It wrote more output than its limit.
    OutputLimit,
}

/// The end of a launch. When this is delivered, nothing of the launch is alive except `left`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The id of the launch that ended.
    pub id: String,
    /// How the command ended.
    pub how: ExitHow,
    /// Who wanted it to end.
    pub cause: Cause,
    /// Processes that had to be killed: what the command left behind, and the command itself if it did not stop in
    /// time.
    pub killed: usize,
    /// Processes that even SIGKILL did not end within ten seconds: stuck in the kernel, or not ours to signal.
    pub left: Vec<i32>,
    /// The size of its standard output.
    pub stdout_bytes: u64,
    /// The size of its standard error.
    pub stderr_bytes: u64,
}

/// How the launch with this output directory ended, if it is known.
pub fn exit_of(out_dir: &Path) -> Option<Exit> {
    read(&out_dir.join(EXIT_FILE))
}

/// Which wrapper stands around the command. It decides what may be believed about the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Namespace,
    Bubblewrap,
    Subreaper,
}

/// The contents of `process.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Running {
    pub id: String,
    /// Unknown between the intent and the start; only the marker finds the process then.
    pub pid: Option<i32>,
    pub start_time: Option<u64>,
    pub boot_id: String,
    pub marker: String,
    pub containment: Kind,
}

impl Running {
    pub fn root(&self) -> Option<Key> {
        Some(Key { pid: self.pid?, start: self.start_time? })
    }
}

/// Puts a record in place whole.
///
/// There is no fsync: a machine that loses power loses the processes too, and the boot id shows it.
pub(crate) fn write<T: Serialize>(path: &Path, record: &T) -> io::Result<()> {
    replace(path, &serde_json::to_vec(record)?, Some(0o600), Flush::No)
}

/// Creates a file that was not there before, not through a symlink.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(CWD, path, flags, Mode::from_raw_mode(0o600))?))
}

/// Reads a record; a missing, foreign or broken one counts as none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    // NONBLOCK: somebody may have put a FIFO there.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(openat(CWD, path, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    file.take(RECORD_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn exit(how: ExitHow) -> Exit {
        Exit {
            id: "x".into(),
            how,
            cause: Cause::Itself,
            killed: 0,
            left: Vec::new(),
            stdout_bytes: 1,
            stderr_bytes: 2,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        for how in [ExitHow::Code(3), ExitHow::Signal(9), ExitHow::NotStarted("why".into())] {
            write(&dir.path().join(EXIT_FILE), &exit(how.clone())).unwrap();
            assert_eq!(exit_of(dir.path()), Some(exit(how)));
        }
    }

    #[test]
    fn a_planted_symlink_is_neither_written_through_nor_read() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, record) = (dir.path().join("victim"), dir.path().join(EXIT_FILE));
        fs::write(&victim, serde_json::to_vec(&exit(ExitHow::Code(0))).unwrap()).unwrap();
        let before = fs::read(&victim).unwrap();
        std::os::unix::fs::symlink(&victim, &record).unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join("exit.json.new")).unwrap();
        assert_eq!(exit_of(dir.path()), None);
        write(&record, &exit(ExitHow::Code(5))).unwrap();
        assert_eq!(exit_of(dir.path()), Some(exit(ExitHow::Code(5))));
        assert_eq!(fs::read(&victim).unwrap(), before);
    }

    #[test]
    fn broken_records_are_none() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "{", "{}", "null", "[1]"] {
            fs::write(dir.path().join(EXIT_FILE), text).unwrap();
            assert_eq!(exit_of(dir.path()), None, "{text}");
        }
    }
}
