//! The project's tests before a phase and now, for `check-regression`: which command runs them, and what it reported
//! at the base commit.

use crate::contract::seal_of;
use crate::{Ground, ProtocolError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tribunal_docs::qa::{TestReport, TestRun, read_tests, test_run};
use tribunal_git::{Oid, Repo};
use tribunal_world::commands_at;
use tribunal_world::{Bounds, PrivateFolder, run_argv};

/// The key of a recorded baseline that holds its hash.
const SEAL: &str = "seal";

/// The tests at a commit, as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The commit they ran at.
    pub commit: String,
    /// The command that ran them.
    pub command: Vec<String>,
    /// What the command reported.
    pub report: TestReport,
}

/// The command that runs the tests: the configured one, else the one that the files of a commit name.
pub(crate) fn test_command(
    ground: &Ground,
    at: &Oid,
    configured: Option<&[String]>,
) -> Result<Option<Vec<String>>, ProtocolError> {
    if let Some(argv) = configured.filter(|argv| !argv.is_empty()) {
        return Ok(Some(argv.to_vec()));
    }
    let found = commands_at(&Repo::open(ground.root())?, at)?;
    Ok(found.test.map(|test| test.argv))
}

/// Runs the tests in a directory.
pub(crate) fn run_tests(dir: &Path, argv: &[String], bounds: &Bounds) -> TestRun {
    let done = run_argv(dir, argv, bounds);
    // A report file is exact; the output is only read where there is none.
    let report = done.junit.as_deref().and_then(read_tests).or_else(|| read_tests(&done.output));
    test_run(&argv.join(" "), &done.run, report)
}

/// The tests at a commit: from the record, else by running them there and recording the result.
///
/// The record is kept for each phase, because its base stays the same while every plan of the phase is compared with
/// it.
pub(crate) fn baseline(
    ground: &Ground,
    phase: &str,
    base: &Oid,
    argv: &[String],
    bounds: &Bounds,
) -> Result<Result<Baseline, String>, ProtocolError> {
    let name = format!(".baseline/{}.json", crate::contract::file_name(phase)?);
    let recorded = ground.state().read(&name)?.and_then(|bytes| believed(&bytes));
    // A record for another commit or another command does not count.
    if let Some(found) = recorded.filter(|found| found.commit == base.as_str() && found.command == argv) {
        return Ok(Ok(found));
    }
    let report = match tests_at(ground, base, argv, bounds)? {
        TestRun::Ran(report) | TestRun::Nothing(report, _) => report,
        TestRun::DidNotRun(why) | TestRun::Broke(why) | TestRun::Silent(why) => {
            return Ok(Err(format!("at {}: {why}", base.short())));
        }
    };
    let baseline = Baseline { commit: base.to_string(), command: argv.to_vec(), report };
    let mut sealed = serde_json::to_value(&baseline).unwrap_or_default();
    sealed[SEAL] = seal_of(&sealed, SEAL).into();
    let text = serde_json::to_vec_pretty(&sealed).unwrap_or_default();
    ground.state().write(&name, &text)?;
    Ok(Ok(baseline))
}

impl Baseline {
    /// The record as the test run that it was.
    pub(crate) fn as_run(&self) -> TestRun {
        match self.report.executed() {
            0 => {
                let shown = self.command.join(" ");
                TestRun::Nothing(self.report.clone(), format!("`{shown}` ran no test"))
            }
            _ => TestRun::Ran(self.report.clone()),
        }
    }
}

/// A record that nobody changed; any other is made anew.
fn believed(bytes: &[u8]) -> Option<Baseline> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    // An edited baseline could hide a regression.
    let whole = value.get(SEAL)?.as_str()? == seal_of(&value, SEAL);
    whole.then(|| serde_json::from_value(value).ok())?
}

/// Runs the tests on a checkout of a commit that nobody else sees.
fn tests_at(
    ground: &Ground,
    commit: &Oid,
    argv: &[String],
    bounds: &Bounds,
) -> Result<TestRun, ProtocolError> {
    let room = PrivateFolder::new().map_err(ProtocolError::io("make", &std::env::temp_dir()))?;
    let repo = Repo::open(ground.root())?;
    let tree = room.path().join("tree");
    repo.checkout(&tree, &room.path().join("index"), commit, "baseline")?;
    Ok(run_tests(&tree, argv, bounds))
}
