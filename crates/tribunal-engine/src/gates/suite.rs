//! The project's tests: which command runs them, what it says, and what it said at the base commit. A run in which no
//! test was executed did not run.

use super::command::{Bounds, Room, run_argv};
use super::contract::seal_of;
use super::{GatesError, Ground};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tribunal_core::gate::CommandRun;
use tribunal_docs::qa::{TestReport, read_tests};
use tribunal_git::{Oid, Repo};

/// The key of a recorded baseline that holds its hash.
const SEAL: &str = "seal";

/// What a run of the tests gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestRun {
    /// They ran.
    Ran(TestReport),
    /// They did not, and why.
    DidNotRun(String),
}

/// What the tests said at a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The commit.
    pub commit: String,
    /// The command.
    pub command: Vec<String>,
    /// What it said.
    pub report: TestReport,
}

/// The command that runs the tests: the configured one, otherwise by what lies in the root.
pub fn test_command(ground: &Ground, configured: Option<&[String]>) -> Option<Vec<String>> {
    if let Some(argv) = configured.filter(|argv| !argv.is_empty()) {
        return Some(argv.to_vec());
    }
    detected_tests(&|path| ground.exists(path), &|path| ground.text(path))
}

/// The command that runs the tests of a project with these files in its root.
pub fn detected_tests(
    exists: &dyn Fn(&str) -> bool,
    text: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<String>> {
    let words = |text: &str| Some(text.split(' ').map(str::to_owned).collect::<Vec<_>>());
    let any = |names: &[&str]| names.iter().any(|name| exists(name));
    if exists("Cargo.toml") {
        return words("cargo test --no-fail-fast");
    }
    if exists("go.mod") {
        return words("go test -json ./...");
    }
    let package = text("package.json").unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    if package.pointer("/scripts/test").is_some_and(serde_json::Value::is_string) {
        return words("npm test --silent");
    }
    if any(&["pytest.ini", "pyproject.toml", "conftest.py", "setup.cfg", "tox.ini", "setup.py"]) {
        return words("python3 -m pytest -rA -q");
    }
    None
}

/// Runs the tests in a directory.
pub fn run_tests(ground: &Ground, dir: &Path, argv: &[String], bounds: &Bounds) -> TestRun {
    let shown = argv.join(" ");
    let done = run_argv(ground, dir, argv, bounds);
    if let CommandRun::DidNotRun(why) = &done.run {
        return TestRun::DidNotRun(format!("`{shown}`: {why}"));
    }
    let report = done.junit.as_deref().and_then(read_tests).or_else(|| read_tests(&done.output));
    match (report, done.run) {
        (Some(report), CommandRun::Failed(_)) if report.executed() > 0 => TestRun::Ran(report.ended_badly()),
        (Some(report), _) if report.executed() > 0 => TestRun::Ran(report),
        (_, CommandRun::Failed(how)) => TestRun::DidNotRun(format!("`{shown}` ran no test: {how}")),
        _ => TestRun::DidNotRun(format!("`{shown}` ran no test")),
    }
}

/// What the tests said at a commit: from the record, otherwise by running them there, and recording it.
pub(crate) fn baseline(
    ground: &Ground,
    phase: &str,
    base: &Oid,
    argv: &[String],
    bounds: &Bounds,
) -> Result<Result<Baseline, String>, GatesError> {
    let name = format!(".baseline/{}.json", super::contract::file_name(phase)?);
    let recorded = ground.state().read(&name)?.and_then(|bytes| believed(&bytes));
    if let Some(found) = recorded.filter(|found| found.commit == base.as_str() && found.command == argv) {
        return Ok(Ok(found));
    }
    let report = match tests_at(ground, base, argv, bounds)? {
        TestRun::Ran(report) => report,
        TestRun::DidNotRun(why) => return Ok(Err(format!("at {}: {why}", base.short()))),
    };
    let baseline = Baseline { commit: base.to_string(), command: argv.to_vec(), report };
    let mut sealed = serde_json::to_value(&baseline).unwrap_or_default();
    sealed[SEAL] = seal_of(&sealed, SEAL).into();
    let text = serde_json::to_vec_pretty(&sealed).unwrap_or_default();
    ground.state().write(&name, &text)?;
    Ok(Ok(baseline))
}

/// A record that nobody changed; any other is made anew.
fn believed(bytes: &[u8]) -> Option<Baseline> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let whole = value.get(SEAL)?.as_str()? == seal_of(&value, SEAL);
    whole.then(|| serde_json::from_value(value).ok())?
}

/// Runs the tests on a checkout of a commit that nobody else sees.
fn tests_at(ground: &Ground, commit: &Oid, argv: &[String], bounds: &Bounds) -> Result<TestRun, GatesError> {
    let room = Room::new().map_err(GatesError::io("make", &std::env::temp_dir()))?;
    let repo = Repo::open(ground.root())?;
    let tree = room.0.join("tree");
    repo.checkout(&tree, &room.0.join("index"), commit, "baseline")?;
    Ok(run_tests(ground, &tree, argv, bounds))
}
