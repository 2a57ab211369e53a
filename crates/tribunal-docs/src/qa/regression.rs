//! What test runs say, and what got worse between two of them.
//!
//! A run in which no test ran is never compared: it would make every change look harmless. Where both runs name their
//! tests the names are compared, because counts alone hide a test that was swapped for another.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// How one test went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The test ran and passed.
    Passed,
    /// The test ran and failed.
    Failed,
    /// The test was not run.
    Skipped,
}

/// What one run of the tests said.
///
/// Runners that print only totals give counts without names. Both kinds can be compared, by names where both have them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    /// The form from which the report was read.
    pub runner: String,
    /// How many tests passed.
    pub passed: u64,
    /// How many tests failed.
    pub failed: u64,
    /// How many tests were not run.
    pub skipped: u64,
    /// Each test by name, where names were printed.
    pub tests: BTreeMap<String, Outcome>,
}

/// The name under which a command counts as failed that ended as a failure without naming a failed test.
const COMMAND: &str = "the command that runs the tests";

impl TestReport {
    /// The same report of a command that ended as a failure: if no test failed, something else did.
    pub fn ended_badly(mut self) -> TestReport {
        if self.failed == 0 {
            self.failed = 1;
            // Without names the count alone has to carry the failure.
            if !self.tests.is_empty() {
                self.tests.insert(COMMAND.to_owned(), Outcome::Failed);
            }
        }
        self
    }

    /// A report of named tests. The worst of two outcomes of one name counts.
    pub fn of(runner: &str, tests: impl IntoIterator<Item = (String, Outcome)>) -> TestReport {
        let mut named: BTreeMap<String, Outcome> = BTreeMap::new();
        for (name, outcome) in tests {
            let known = named.entry(untimed(&name).to_owned()).or_insert(outcome);
            // A test that was repeated and failed once has failed.
            if outcome == Outcome::Failed {
                *known = outcome;
            }
        }
        let count = |wanted| named.values().filter(|outcome| **outcome == wanted).count() as u64;
        TestReport {
            runner: runner.to_owned(),
            passed: count(Outcome::Passed),
            failed: count(Outcome::Failed),
            skipped: count(Outcome::Skipped),
            tests: named,
        }
    }

    /// A report of which only the counts are known.
    pub fn counted(runner: &str, passed: u64, failed: u64, skipped: u64) -> TestReport {
        TestReport { runner: runner.to_owned(), passed, failed, skipped, tests: BTreeMap::new() }
    }

    /// How many tests really ran.
    pub fn executed(&self) -> u64 {
        self.passed + self.failed
    }

    /// The names of tests that pass here and are not in an earlier report.
    pub fn new_since(&self, before: &TestReport) -> BTreeSet<String> {
        let is_new = |(name, outcome): &(&String, &Outcome)| {
            **outcome == Outcome::Passed && !before.tests.contains_key(*name)
        };
        self.tests.iter().filter(is_new).map(|(name, _)| name.clone()).collect()
    }

    /// Whether every test has its name, so that reports can be compared by names.
    fn is_named(&self) -> bool {
        self.tests.len() as u64 == self.executed() + self.skipped
    }
}

/// The ways in which tests can get worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegressionKind {
    /// A test that ran before is gone, or fewer run.
    FewerTests,
    /// A test fails that did not fail before.
    NewlyFailing,
    /// A test is skipped that ran before.
    NewlySkipped,
}

/// One thing that got worse.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Regression {
    /// In which way it got worse.
    pub kind: RegressionKind,
    /// The test, if it has a name.
    pub test: Option<String>,
    /// What happened, in words.
    pub detail: String,
}

/// What got worse from one run to a later one.
///
/// Tests that were renamed or moved look as if they were gone; [`super::without_renamed`] sorts those out with the
/// sources at hand.
pub fn regressions(before: &TestReport, now: &TestReport) -> Vec<Regression> {
    let mut found = match before.is_named() && now.is_named() {
        true => by_name(before, now),
        // If one side has no names, every test would look as if it were gone.
        false => by_count(before, now),
    };
    found.sort();
    found
}

fn by_name(before: &TestReport, now: &TestReport) -> Vec<Regression> {
    let mut found = Vec::new();
    let mut add = |kind, test: &String, detail: &str| {
        found.push(Regression { kind, test: Some(test.clone()), detail: detail.to_owned() });
    };
    let mut new: BTreeMap<&String, Outcome> = BTreeMap::new();
    new.extend(now.tests.iter().filter(|(test, _)| !before.tests.contains_key(*test)).map(|(t, o)| (t, *o)));
    for (test, outcome) in &before.tests {
        // A test named by its line is the same one when the line moved. One that need not panic any more asks for more
        // than before, so it counts as the same too.
        let bare = without_line(test);
        let calm = test.strip_suffix(" - should panic");
        let is = now.tests.get(test).copied().or_else(|| {
            let is_it =
                |name: &&&String| bare != test && without_line(name) == bare || calm == Some(name.as_str());
            let moved = new.keys().find(is_it).copied()?;
            new.remove(moved)
        });
        let is = is.or_else(|| of_cases(test, now));
        match (outcome, is) {
            // A skipped test that is gone had asked nothing.
            (Outcome::Passed | Outcome::Failed, None) => add(RegressionKind::FewerTests, test, "it is gone"),
            (Outcome::Passed | Outcome::Skipped, Some(Outcome::Failed)) => {
                add(RegressionKind::NewlyFailing, test, "it failed now and not before");
            }
            (Outcome::Passed | Outcome::Failed, Some(Outcome::Skipped)) => {
                add(RegressionKind::NewlySkipped, test, "it ran before and is skipped now");
            }
            _ => {}
        }
    }
    // Found last, when tests whose line moved are no longer among the new ones.
    for (test, _) in new.iter().filter(|(_, outcome)| **outcome == Outcome::Failed) {
        add(RegressionKind::NewlyFailing, test, "it is new and fails");
    }
    found
}

/// How a test went that now runs for several cases, such as `test_add[1-2]` for `test_add`.
///
/// It is there if one case passes. A case that fails is a new test, and is named by itself.
fn of_cases(test: &str, now: &TestReport) -> Option<Outcome> {
    let is_case =
        |name: &str| name.strip_prefix(test).is_some_and(|case| case.starts_with('[') && case.ends_with(']'));
    let cases = now.tests.iter().filter(|(name, _)| is_case(name)).map(|(_, outcome)| *outcome);
    cases.min()
}

/// `src/lib.rs - sum (line 12)` without its line; any other name as it is.
fn without_line(name: &str) -> &str {
    let bare = name.strip_suffix(')').and_then(|name| name.rsplit_once(" (line "));
    bare.filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit())).map_or(name, |(bare, _)| bare)
}

fn by_count(before: &TestReport, now: &TestReport) -> Vec<Regression> {
    let table = [
        (
            RegressionKind::FewerTests,
            now.executed() < before.executed(),
            before.executed(),
            now.executed(),
            "run",
        ),
        (RegressionKind::NewlyFailing, now.failed > before.failed, before.failed, now.failed, "fail"),
        (
            RegressionKind::NewlySkipped,
            now.skipped > before.skipped,
            before.skipped,
            now.skipped,
            "are skipped",
        ),
    ];
    let hit = table.into_iter().filter(|(_, hit, ..)| *hit);
    hit.map(|(kind, _, was, is, verb)| Regression {
        kind,
        test: None,
        detail: format!("{is} tests {verb}, {was} before"),
    })
    .collect()
}

/// The failures by lines that a runner without counts prints now and did not print before, such as `FAIL tests/b.sh`.
///
/// A command that was red already ends in the same way whatever else breaks, so only its output can tell.
pub fn newly_failing_lines(before: &str, now: &str) -> Vec<Regression> {
    let says = |line: &&str| {
        let mut words = line.split(|c: char| !c.is_alphanumeric());
        words.any(|word| matches!(word, "FAIL" | "FAILED" | "FAILURE"))
            || line.starts_with("not ok")
            || line.starts_with(['✗', '✘', '✕', '❌'])
    };
    let lines = |text: &str| -> BTreeSet<String> {
        text.lines().map(|line| untimed(line.trim())).filter(says).map(str::to_owned).collect()
    };
    // Times are cut off, or every line would be new in every run.
    let was = lines(before);
    let new = lines(now).into_iter().filter(|line| !was.contains(line));
    let told = |line| Regression {
        kind: RegressionKind::NewlyFailing,
        test: Some(line),
        detail: "it says so now and did not before".to_owned(),
    };
    new.map(told).collect()
}

/// The name of a test without the time that some runners print behind it: `parses (12ms)`, `parses 1.2 s`.
///
/// With the time in it every run would have other tests, and all earlier ones would be gone.
fn untimed(name: &str) -> &str {
    let bare = name.trim_end();
    let inner = bare.strip_suffix([')', ']']).unwrap_or(bare);
    let Some(number) = ["ms", "us", "\u{b5}s", "s"].iter().find_map(|unit| inner.strip_suffix(unit)) else {
        return name;
    };
    let before = number.trim_end().trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_number = before.len() < number.trim_end().len();
    let rest = before.strip_suffix(['(', '[']).unwrap_or(before);
    // `utf8s` ends in a digit and an s as well; a time stands apart.
    let apart = rest.len() < before.len() || rest.ends_with(char::is_whitespace);
    let rest = rest.trim_end();
    if is_number && apart && !rest.is_empty() { rest } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Failed, Passed, Skipped};

    fn named(tests: &[(&str, Outcome)]) -> TestReport {
        TestReport::of("x", tests.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)))
    }

    #[test]
    fn what_got_worse_is_named() {
        use RegressionKind::{FewerTests, NewlyFailing, NewlySkipped};
        let before = named(&[("a", Passed), ("b", Passed), ("c", Failed), ("d", Skipped)]);
        let check = |now: &[(&str, Outcome)], expect: &[(RegressionKind, &str)]| {
            let found = regressions(&before, &named(now));
            let found: Vec<_> = found.iter().map(|r| (r.kind, r.test.as_deref().unwrap())).collect();
            assert_eq!(found, expect, "{now:?}");
        };
        check(&[("a", Passed), ("b", Passed), ("c", Failed), ("d", Skipped)], &[]);
        check(&[("a", Passed), ("b", Passed), ("c", Passed), ("d", Passed)], &[]);
        check(&[("a", Passed), ("c", Failed)], &[(FewerTests, "b")]);
        check(
            &[("a", Failed), ("b", Skipped), ("c", Failed), ("x", Passed)],
            &[(NewlyFailing, "a"), (NewlySkipped, "b")],
        );
        check(&[("a", Passed), ("renamed", Passed), ("c", Failed)], &[(FewerTests, "b")]);
        check(
            &[("a", Passed), ("c", Failed), ("x", Passed), ("y", Passed), ("z", Passed)],
            &[(FewerTests, "b")],
        );
        check(&[("a", Passed), ("b", Passed), ("c", Failed), ("x", Failed)], &[(NewlyFailing, "x")]);
    }

    #[test]
    fn a_test_that_now_runs_for_cases_is_not_gone() {
        let before = named(&[("t.py::test_add", Passed), ("t.py::test_half[1]", Passed)]);
        let check = |now: &[(&str, Outcome)], expect: usize| {
            assert_eq!(regressions(&before, &named(now)).len(), expect, "{now:?}");
        };
        let half = ("t.py::test_half[1]", Passed);
        check(&[("t.py::test_add[1-2]", Passed), ("t.py::test_add[-1-1]", Passed), half], 0);
        check(&[("t.py::test_add[1-2]", Skipped), half], 1);
        check(&[("t.py::test_add[1-2]", Failed), half], 2);
        // Another function, and a case that is gone.
        check(&[("t.py::test_add_all[1-2]", Passed), half], 1);
        check(&[("t.py::test_add", Passed), ("t.py::test_half", Passed)], 1);
    }

    #[test]
    fn a_line_that_moved_is_no_other_test() {
        let before = named(&[("lib.rs - a (line 3)", Passed), ("lib.rs - a (line 9)", Passed)]);
        let moved = named(&[("lib.rs - a (line 4)", Passed), ("lib.rs - a (line 12)", Failed)]);
        let found = regressions(&before, &moved);
        assert_eq!(found.iter().map(|r| r.kind).collect::<Vec<_>>(), [RegressionKind::NewlyFailing]);
        let fewer = named(&[("lib.rs - a (line 4)", Passed), ("lib.rs - b (line 12)", Passed)]);
        assert_eq!(regressions(&before, &fewer).len(), 1);
    }

    #[test]
    fn a_test_that_is_made_to_panic_is_another_and_not_the_other_way() {
        let (calm, panics) = (named(&[("a", Passed)]), named(&[("a - should panic", Passed)]));
        assert_eq!(regressions(&calm, &panics).len(), 1);
        assert!(regressions(&panics, &calm).is_empty());
    }

    #[test]
    fn a_line_of_a_failure_that_is_new_is_one() {
        let found = |before: &str, now: &str| {
            let found = newly_failing_lines(before, now).into_iter().filter_map(|one| one.test);
            found.collect::<Vec<_>>()
        };
        let before = "ok a\nFAIL tests/b.sh 12ms\nmake: *** [test] Error 1\n";
        assert_eq!(found(before, "FAIL tests/a.sh\nFAIL tests/b.sh 7ms\n"), ["FAIL tests/a.sh"]);
        assert_eq!(found(before, before), Vec::<String>::new());
        assert_eq!(found(before, "ok a\nFAILURES are fine\nit failed over\n"), Vec::<String>::new());
        assert_eq!(found("not ok 1 - a\n", "not ok 1 - a\nnot ok 2 - b\n"), ["not ok 2 - b"]);
    }

    #[test]
    fn counts_alone_can_get_worse() {
        let before = TestReport::counted("x", 5, 1, 0);
        for (passed, failed, skipped, expect) in
            [(5, 1, 0, 0), (6, 1, 0, 0), (4, 1, 0, 1), (4, 2, 0, 1), (4, 1, 1, 2), (0, 0, 0, 1)]
        {
            let now = TestReport::counted("x", passed, failed, skipped);
            assert_eq!(regressions(&before, &now).len(), expect, "{passed} {failed} {skipped}");
        }
    }

    #[test]
    fn a_time_is_no_part_of_a_name() {
        for (written, name) in [
            ("parses (12ms)", "parses"),
            ("parses (1.2s)", "parses"),
            ("parses [3 ms]", "parses"),
            ("parses 12ms", "parses"),
            ("parses 0.4 s", "parses"),
            ("reads utf8s", "reads utf8s"),
            ("waits", "waits"),
            ("(5s)", "(5s)"),
            ("case 3", "case 3"),
        ] {
            assert_eq!(untimed(written), name);
        }
        let (before, now) = (named(&[("a (1ms)", Passed)]), named(&[("a (7ms)", Passed)]));
        assert!(regressions(&before, &now).is_empty());
        assert_eq!(regressions(&before, &named(&[("b (1ms)", Passed)])).len(), 1);
    }
}
