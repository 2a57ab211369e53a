//! What a command that should run tests came to, and what got worse between two such runs.
//!
//! A run in which no test was executed did not run: [`test_run`] and [`compared`] say so, for the protocol's command
//! and for a run alike.

use super::{Regression, RegressionKind, TestReport, regressions};
use tribunal_core::gate::CommandRun;

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
