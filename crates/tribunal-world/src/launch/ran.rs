//! The record of what an agent had run on the revision it reviews. It is written from the moment the agent asks, beside
//! the launch's folder, where an agent in a sandbox cannot write.
//!
//! A run that has not ended never counts as passed, and a record that cannot be read is never overwritten: an approval
//! may rest on the record, so every doubt speaks against it.

use crate::check::Command;
use crate::context::lock;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tribunal_core::finding::Claim;
use tribunal_engine::run_state::Ran;
use tribunal_process::Flush;

/// The record of one launch.
pub(crate) struct OnRecord {
    file: PathBuf,
    commands: Vec<String>,
    runs: Mutex<Runs>,
}

#[derive(Default)]
struct Runs {
    /// How many runs were asked for and have not ended.
    open: u32,
    /// The last run that ended was complete.
    ended: bool,
    failed: BTreeSet<String>,
    /// The agent voted while a run was open.
    early: bool,
}

impl OnRecord {
    /// The record of a launch that may ask for these commands.
    pub(crate) fn new(out_dir: &Path, commands: &[Command]) -> OnRecord {
        let commands = commands.iter().map(|command| command.shown.clone()).collect();
        OnRecord { file: file(out_dir), commands, runs: Mutex::default() }
    }

    /// Records that the agent asks for a run. From now on it has to wait for the result.
    pub(crate) fn asked(&self) -> Result<(), String> {
        self.change(|runs| runs.open += 1)
    }

    /// Records that the agent votes.
    pub(crate) fn voted(&self) -> Result<(), String> {
        if lock(&self.runs).open == 0 {
            return Ok(());
        }
        self.change(|runs| runs.early |= runs.open > 0)
    }

    /// Records the end of a run with its findings; none if it did not run.
    pub(crate) fn ended(&self, claims: Option<&[Claim]>) -> Result<(), String> {
        self.change(|runs| {
            runs.open = runs.open.saturating_sub(1);
            runs.ended = claims.is_some();
            // Failures are only added: a command that is repeated until it passes has not passed.
            runs.failed.extend(claims.into_iter().flatten().filter_map(|claim| claim.rule.clone()));
        })
    }

    fn change(&self, how: impl FnOnce(&mut Runs)) -> Result<(), String> {
        let mut runs = lock(&self.runs);
        how(&mut runs);
        // A record that exists but cannot be read stays, and counts against whoever relies on it.
        if read(&self.file).is_none() {
            return Ok(());
        }
        let one = |command: &String| Ran {
            command: command.clone(),
            passed: runs.ended && !runs.failed.contains(command),
            // An open run counts as early until it has ended, so that a crash in between cannot make it look finished.
            early: runs.early || runs.open > 0,
        };
        let all: Vec<Ran> = self.commands.iter().map(one).collect();
        let text = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
        // A crash leaves the old record or the new one.
        tribunal_process::replace(&self.file, &text, None, Flush::No)
            .map_err(|error| format!("{}: {error}", self.file.display()))
    }
}

/// What was run for a launch. A record that cannot be read counts against whoever relies on it.
pub(crate) fn of_launch(out_dir: &Path) -> Vec<Ran> {
    let unread =
        || vec![Ran { command: "tests and checks run for it".to_owned(), passed: false, early: false }];
    read(&file(out_dir)).unwrap_or_else(unread)
}

fn file(out_dir: &Path) -> PathBuf {
    let name = out_dir.file_name().unwrap_or_default().to_string_lossy();
    out_dir.with_file_name(format!("{name}.ran"))
}

/// Reads the record: empty if there is no file, `None` if it cannot be read.
fn read(file: &Path) -> Option<Vec<Ran>> {
    match std::fs::read(file) {
        Ok(text) => serde_json::from_slice(&text).ok(),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Vec::new()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tribunal_core::finding::Severity;

    fn command(shown: &str) -> Command {
        Command { shown: shown.to_owned(), ..Command::default() }
    }

    fn failing(command: &str) -> Claim {
        Claim { rule: Some(command.to_owned()), ..Claim::new(Severity::Blocker, "it failed") }
    }

    struct Launch {
        _folder: tempfile::TempDir,
        dir: PathBuf,
        record: OnRecord,
    }

    impl Launch {
        fn new() -> Launch {
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path().join("one");
            let record = OnRecord::new(&dir, &[command("a"), command("b")]);
            Launch { _folder: folder, dir, record }
        }

        /// Of `a` and `b`: whether they passed, and whether they had not ended.
        #[track_caller]
        fn check(&self, a: (bool, bool), b: (bool, bool)) {
            let now = of_launch(&self.dir);
            let now: Vec<_> = now.iter().map(|ran| (ran.command.as_str(), (ran.passed, ran.early))).collect();
            assert_eq!(now, [("a", a), ("b", b)]);
        }
    }

    #[test]
    fn what_is_asked_for_is_on_record_before_it_ends() {
        let launch = Launch::new();
        assert!(of_launch(&launch.dir).is_empty());
        launch.record.asked().unwrap();
        launch.check((false, true), (false, true));
        launch.record.ended(Some(&[failing("b")])).unwrap();
        launch.check((true, false), (false, false));
        // Asked for until it passes.
        launch.record.asked().unwrap();
        launch.record.ended(Some(&[])).unwrap();
        launch.record.voted().unwrap();
        launch.check((true, false), (false, false));
    }

    #[test]
    fn what_did_not_run_did_not_pass_and_may_be_asked_for_again() {
        let launch = Launch::new();
        launch.record.asked().unwrap();
        launch.record.ended(None).unwrap();
        launch.check((false, false), (false, false));
        launch.record.asked().unwrap();
        launch.record.ended(Some(&[])).unwrap();
        launch.check((true, false), (true, false));
        // What came of the first of them is not known either when a later one did not run.
        launch.record.asked().unwrap();
        launch.record.ended(None).unwrap();
        launch.check((false, false), (false, false));
    }

    #[test]
    fn who_votes_without_waiting_stays_early() {
        let launch = Launch::new();
        launch.record.asked().unwrap();
        launch.record.asked().unwrap();
        launch.record.ended(Some(&[])).unwrap();
        launch.record.voted().unwrap();
        launch.record.ended(Some(&[])).unwrap();
        launch.check((true, true), (true, true));
    }

    #[test]
    fn a_record_that_cannot_be_read_is_never_written_over() {
        for text in ["", "[{\"command\":\"a\",\"pas", "{}"] {
            let launch = Launch::new();
            launch.record.asked().unwrap();
            launch.record.ended(Some(&[failing("a")])).unwrap();
            std::fs::write(file(&launch.dir), text).unwrap();
            launch.record.asked().unwrap();
            launch.record.ended(Some(&[])).unwrap();
            launch.record.voted().unwrap();
            assert_eq!(std::fs::read_to_string(file(&launch.dir)).unwrap(), text);
            assert!(of_launch(&launch.dir).iter().all(|ran| !ran.passed), "{text:?}");
        }
    }
}
