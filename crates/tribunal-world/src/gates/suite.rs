//! The project's tests: which command runs them, what it reports, and what it reported at the base commit.
//!
//! A run in which no test was executed did not run: [`test_run`] and [`compared`] say so, for the protocol's command
//! and for a run alike.

use super::command::{Bounds, Room, run_argv};
use super::contract::seal_of;
use super::{GatesError, Ground};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tribunal_core::gate::CommandRun;
use tribunal_docs::project_commands::{self, FoundCommands, ProjectFiles};
use tribunal_docs::qa::{Regression, RegressionKind, TestReport, read_tests, regressions};
use tribunal_git::{GitError, GitPath, Oid, Repo};

/// The key of a recorded baseline that holds its hash.
const SEAL: &str = "seal";

/// The result of running the tests.
///
/// Only the first two have counts that can be compared. None of the others may count as green.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestRun {
    /// Tests ran, with this report.
    Ran(TestReport),
    /// The runner ended well and reports that there was no test to run, with words for people.
    Nothing(TestReport, String),
    /// The command ended well and printed nothing about tests, with words for people.
    ///
    /// Nobody can tell it from a command that does nothing.
    Silent(String),
    /// The command failed before any test ran, with how it ended.
    Broke(String),
    /// The tests did not run, for this reason.
    DidNotRun(String),
}

/// The meaning of a command that should run tests.
pub fn test_run(shown: &str, run: &CommandRun, report: Option<TestReport>) -> TestRun {
    match (run, report) {
        (CommandRun::NoTest(_), report) => {
            TestRun::Nothing(report.unwrap_or_default(), format!("`{shown}` ran no test"))
        }
        (CommandRun::DidNotRun(why), _) => TestRun::DidNotRun(format!("`{shown}`: {why}")),
        // A runner can fail after its tests passed, for example in a teardown. That must not look green.
        (CommandRun::Failed(_), Some(report)) if report.executed() > 0 => TestRun::Ran(report.ended_badly()),
        (CommandRun::Passed, Some(report)) if report.executed() > 0 => TestRun::Ran(report),
        (CommandRun::Passed, Some(report)) => TestRun::Nothing(report, format!("`{shown}` ran no test")),
        (CommandRun::Passed, None) => {
            TestRun::Silent(format!("`{shown}` names and counts no test, so there are none to compare"))
        }
        (CommandRun::Failed(how), _) => TestRun::Broke(format!("`{shown}` ran no test: {how}")),
    }
}

/// What got worse between two runs of the tests. The error says why nobody knows.
///
/// A command that worked before and now fails before its first test got worse, whatever it printed.
pub fn compared(before: &TestRun, now: &TestRun) -> Result<Vec<Regression>, String> {
    match (before, now) {
        // A base without a result leaves nothing to compare with.
        (TestRun::DidNotRun(why) | TestRun::Broke(why) | TestRun::Silent(why), _) => {
            Err(format!("before the change: {why}"))
        }
        (_, TestRun::DidNotRun(why) | TestRun::Silent(why)) => Err(format!("now: {why}")),
        (TestRun::Ran(before), TestRun::Broke(how)) if before.failed == 0 => {
            let detail = format!("{how}, and {} ran before", before.executed());
            Ok(vec![Regression { kind: RegressionKind::NewlyFailing, test: None, detail }])
        }
        // The tests were red before, or there were none, so nobody can say that this is worse.
        (_, TestRun::Broke(how)) => Err(format!("now: {how}")),
        (TestRun::Nothing(..), TestRun::Nothing(_, why)) => Err(why.clone()),
        (
            TestRun::Ran(before) | TestRun::Nothing(before, _),
            TestRun::Ran(now) | TestRun::Nothing(now, _),
        ) => Ok(regressions(before, now)),
    }
}

/// Whether there was nothing to run, before the change and now.
///
/// `has_tests` says that files of either commit look like tests. Then a command that could not run them is a problem
/// and not an absence.
pub fn nothing_there(before: &TestRun, now: &TestRun, has_tests: bool) -> bool {
    let none = |run: &TestRun| match run {
        TestRun::Nothing(..) | TestRun::Silent(_) => true,
        TestRun::Broke(_) | TestRun::DidNotRun(_) => !has_tests,
        TestRun::Ran(_) => false,
    };
    none(before) && none(now)
}

/// Whether the files of a project say that it has tests, or may have some.
pub fn has_tests(argv: &[String], paths: &[String], text: &dyn Fn(&str) -> Option<String>) -> bool {
    // Rust keeps tests inside its sources, so no file name shows them.
    argv.first().is_some_and(|program| program == "cargo")
        || project_commands::has_tests(&ProjectFiles { paths, text })
}

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
pub fn test_command(
    ground: &Ground,
    at: &Oid,
    configured: Option<&[String]>,
) -> Result<Option<Vec<String>>, GatesError> {
    if let Some(argv) = configured.filter(|argv| !argv.is_empty()) {
        return Ok(Some(argv.to_vec()));
    }
    let found = commands_at(&Repo::open(ground.root())?, at)?;
    Ok(found.test.map(|test| test.argv))
}

/// The build and test commands that the files of a commit name.
///
/// They are never read from a worktree: a change must not choose what judges it.
pub fn commands_at(repo: &Repo, commit: &Oid) -> Result<FoundCommands, GitError> {
    let paths: Vec<String> = repo.list_tree(commit)?.iter().map(|one| one.path.to_string()).collect();
    let text = |path: &str| {
        let bytes = repo.file_at(commit, &GitPath::from(path)).ok()??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(project_commands::detect(&ProjectFiles { paths: &paths, text: &text }))
}

/// Runs the tests in a directory.
pub fn run_tests(ground: &Ground, dir: &Path, argv: &[String], bounds: &Bounds) -> TestRun {
    let done = run_argv(ground, dir, argv, bounds);
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
) -> Result<Result<Baseline, String>, GatesError> {
    let name = format!(".baseline/{}.json", super::contract::file_name(phase)?);
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
        let silent = || TestRun::Silent("`t` ran no test".to_owned());
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
            (ran(3, 0), silent(), Err(())),
            (silent(), ran(3, 0), Err(())),
            (silent(), silent(), Err(())),
        ] {
            let found = compared(&before, &now).map(|found| found.len()).map_err(|_| ());
            assert_eq!(found, expect, "{before:?} {now:?}");
        }
    }

    /// A project without tests is told from one whose tests cannot run.
    #[test]
    fn nothing_is_there_only_where_nothing_was_and_is() {
        let ran = || TestRun::Ran(TestReport::counted("x", 1, 0, 0));
        let none = || TestRun::Nothing(TestReport::default(), String::new());
        let silent = || TestRun::Silent(String::new());
        let broke = || TestRun::Broke(String::new());
        let lost = || TestRun::DidNotRun(String::new());
        for (before, now, has_tests, expect) in [
            (none(), none(), false, true),
            (none(), none(), true, true),
            (none(), silent(), false, true),
            (silent(), silent(), false, true),
            (broke(), broke(), false, true),
            (lost(), lost(), false, true),
            (broke(), broke(), true, false),
            (lost(), lost(), true, false),
            (none(), broke(), true, false),
            (broke(), none(), true, false),
            (ran(), none(), false, false),
            (ran(), broke(), false, false),
            (none(), ran(), false, false),
            (lost(), ran(), false, false),
        ] {
            assert_eq!(nothing_there(&before, &now, has_tests), expect, "{before:?} {now:?} {has_tests}");
        }
    }

    #[test]
    fn a_command_is_believed_only_with_its_report() {
        let some = || Some(TestReport::counted("x", 1, 0, 0));
        let failed = CommandRun::Failed("exit code 1".to_owned());
        let table = [
            (CommandRun::Passed, some(), "ran"),
            (CommandRun::Passed, Some(TestReport::default()), "nothing"),
            (CommandRun::Passed, None, "silent"),
            (failed.clone(), some(), "ran"),
            (failed.clone(), Some(TestReport::default()), "broke"),
            (failed, None, "broke"),
            (CommandRun::DidNotRun("not found".to_owned()), some(), "did not run"),
            (CommandRun::NoTest("it ran no test".to_owned()), None, "nothing"),
        ];
        for (run, report, expect) in table {
            let word = match test_run("t", &run, report.clone()) {
                TestRun::Ran(_) => "ran",
                TestRun::Nothing(..) => "nothing",
                TestRun::Silent(_) => "silent",
                TestRun::Broke(_) => "broke",
                TestRun::DidNotRun(_) => "did not run",
            };
            assert_eq!(word, expect, "{run:?} {report:?}");
        }
    }
}
