//! The project's tests: which command runs them, what it says, and what it said at the base commit. A run in which no
//! test was executed did not run: [`test_run`] and [`compared`] say so for the protocol's command and for a run alike.

use super::command::{Bounds, Room, run_argv};
use super::contract::seal_of;
use super::{GatesError, Ground};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tribunal_core::gate::CommandRun;
use tribunal_docs::qa::{Regression, RegressionKind, TestReport, read_tests, regressions};
use tribunal_git::{Oid, Repo};

/// How pytest ends when it collected no test.
const NO_TESTS: &str = "exit code 5:";
/// The key of a recorded baseline that holds its hash.
const SEAL: &str = "seal";

/// What a run of the tests gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestRun {
    /// They ran.
    Ran(TestReport),
    /// Their runner ended well and says that there was none to run; the words for people beside it.
    Nothing(TestReport, String),
    /// The command failed before any test ran, and how.
    Broke(String),
    /// They did not run, and why.
    DidNotRun(String),
}

/// What a command that should run tests gave. A command that ends well without a word about tests did not run any: nobody
/// can tell it from one that does nothing.
pub fn test_run(shown: &str, run: &CommandRun, report: Option<TestReport>) -> TestRun {
    match (run, report) {
        (CommandRun::DidNotRun(why), _) => TestRun::DidNotRun(format!("`{shown}`: {why}")),
        (CommandRun::Failed(_), Some(report)) if report.executed() > 0 => TestRun::Ran(report.ended_badly()),
        (CommandRun::Passed, Some(report)) if report.executed() > 0 => TestRun::Ran(report),
        (CommandRun::Passed, Some(report)) => TestRun::Nothing(report, format!("`{shown}` ran no test")),
        // pytest's own word for a project without tests.
        (CommandRun::Failed(how), None) if shown.contains("pytest") && how.starts_with(NO_TESTS) => {
            TestRun::Nothing(TestReport::counted("pytest", 0, 0, 0), format!("`{shown}` ran no test"))
        }
        (CommandRun::Passed, None) => TestRun::DidNotRun(format!("`{shown}` ran no test")),
        (CommandRun::Failed(how), _) => TestRun::Broke(format!("`{shown}` ran no test: {how}")),
    }
}

/// What got worse between two runs of the tests; the error says why nobody knows. A command that worked before and now
/// fails before its first test got worse, whatever it printed.
pub fn compared(before: &TestRun, now: &TestRun) -> Result<Vec<Regression>, String> {
    match (before, now) {
        (TestRun::DidNotRun(why) | TestRun::Broke(why), _) => Err(format!("before the change: {why}")),
        (_, TestRun::DidNotRun(why)) => Err(format!("now: {why}")),
        (TestRun::Ran(before), TestRun::Broke(how)) if before.failed == 0 => {
            let detail = format!("{how}, and {} ran before", before.executed());
            Ok(vec![Regression { kind: RegressionKind::NewlyFailing, test: None, detail }])
        }
        (_, TestRun::Broke(how)) => Err(format!("now: {how}")),
        (TestRun::Nothing(..), TestRun::Nothing(_, why)) => Err(why.clone()),
        (
            TestRun::Ran(before) | TestRun::Nothing(before, _),
            TestRun::Ran(now) | TestRun::Nothing(now, _),
        ) => Ok(regressions(before, now)),
    }
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
    let done = run_argv(ground, dir, argv, bounds);
    let report = done.junit.as_deref().and_then(read_tests).or_else(|| read_tests(&done.output));
    test_run(&argv.join(" "), &done.run, report)
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
        TestRun::Ran(report) | TestRun::Nothing(report, _) => report,
        TestRun::DidNotRun(why) | TestRun::Broke(why) => {
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
    /// What it recorded, as the run of tests it was.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Backs "a check that did not run is not green" for tests: docs/concepts.md.
    #[test]
    fn what_ran_no_test_is_never_compared_as_green() {
        let ran = |passed, failed| TestRun::Ran(TestReport::counted("x", passed, failed, 0));
        let none = || TestRun::Nothing(TestReport::default(), "`t` ran no test".to_owned());
        let broke = || TestRun::Broke("`t` ran no test: exit code 1".to_owned());
        let lost = || TestRun::DidNotRun("`t`: not found".to_owned());
        for (before, now, expect) in [
            (ran(3, 0), ran(3, 0), Ok(0)),
            (ran(3, 0), ran(2, 0), Ok(1)),
            (ran(3, 0), none(), Ok(1)),
            (ran(3, 0), broke(), Ok(1)),
            (ran(2, 1), broke(), Err(())),
            (none(), ran(1, 0), Ok(0)),
            (none(), ran(0, 1), Ok(1)),
            (none(), none(), Err(())),
            (none(), broke(), Err(())),
            (broke(), ran(3, 0), Err(())),
            (broke(), broke(), Err(())),
            (lost(), ran(3, 0), Err(())),
            (ran(3, 0), lost(), Err(())),
            (lost(), lost(), Err(())),
        ] {
            let found = compared(&before, &now).map(|found| found.len()).map_err(|_| ());
            assert_eq!(found, expect, "{before:?} {now:?}");
        }
    }

    #[test]
    fn a_command_is_believed_only_with_its_report() {
        let some = || Some(TestReport::counted("x", 1, 0, 0));
        let failed = CommandRun::Failed("exit code 1".to_owned());
        let table = [
            (CommandRun::Passed, some(), "ran"),
            (CommandRun::Passed, Some(TestReport::default()), "nothing"),
            (CommandRun::Passed, None, "did not run"),
            (failed.clone(), some(), "ran"),
            (failed.clone(), Some(TestReport::default()), "broke"),
            (failed, None, "broke"),
            (CommandRun::DidNotRun("not found".to_owned()), some(), "did not run"),
        ];
        for (run, report, expect) in table {
            let word = match test_run("t", &run, report.clone()) {
                TestRun::Ran(_) => "ran",
                TestRun::Nothing(..) => "nothing",
                TestRun::Broke(_) => "broke",
                TestRun::DidNotRun(_) => "did not run",
            };
            assert_eq!(word, expect, "{run:?} {report:?}");
        }
    }
}
