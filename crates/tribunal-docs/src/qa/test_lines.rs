//! Reads runners that print a line for each test: ctest, Meson, bun, Deno, unittest and Gradle.
//!
//! No test is ever invented. Where a runner's own summary counts other tests than the lines do, the summary is
//! believed: a test may print a line that looks like a result.

use super::runners::some;
use super::{Outcome, TestReport};
use Outcome::{Failed, Passed, Skipped};

/// Reads `1/2 Test #1: adds ....   Passed    0.01 sec`.
pub(super) fn ctest(text: &str) -> Option<TestReport> {
    let tests = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once(" Test ").filter(|(head, _)| head.trim_start().contains('/'))?;
        let (_, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
        let (name, rest) = rest.split_once(' ')?;
        let word = rest.trim_start_matches(['.', ' ', '*']);
        let outcome = match word {
            word if word.starts_with("Passed") => Passed,
            word if word.starts_with("Not Run (Disabled)") || word.starts_with("Skipped") => Skipped,
            // A test that could not be started was not skipped on purpose.
            word if ["Failed", "Not Run", "Timeout", "Exception"].iter().any(|bad| word.starts_with(bad)) => {
                Failed
            }
            _ => return None,
        };
        Some((name.to_owned(), outcome))
    });
    some("ctest", tests.collect())
}

/// Reads `1/2 suite / adds      OK              0.02s`.
pub(super) fn meson(text: &str) -> Option<TestReport> {
    // This line stands in every summary of Meson; the lines of tests alone are too common to go by.
    if !text.lines().any(|line| line.starts_with("Unexpected Pass:")) {
        return None;
    }
    let tests = text.lines().filter_map(|line| {
        let (number, rest) = line.trim_start().split_once(' ')?;
        let (at, of) = number.split_once('/')?;
        if !is_number(at) || !is_number(of) {
            return None;
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (place, outcome) = words.iter().enumerate().skip(1).find_map(|(n, word)| match *word {
            "OK" | "EXPECTEDFAIL" => Some((n, Passed)),
            "FAIL" | "ERROR" | "TIMEOUT" | "UNEXPECTEDPASS" | "INTERRUPT" => Some((n, Failed)),
            "SKIP" => Some((n, Skipped)),
            _ => None,
        })?;
        Some((words[..place].join(" "), outcome))
    });
    some("meson", tests.collect())
}

/// Reads `(pass) adds [0.07ms]`.
pub(super) fn bun(text: &str) -> Option<TestReport> {
    let mut file = "";
    let mut tests = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.contains(' ')) {
            file = name;
        }
        let Some((word, name)) = line.strip_prefix('(').and_then(|line| line.split_once(") ")) else {
            continue;
        };
        let outcome = match word {
            "pass" => Passed,
            "fail" => Failed,
            "skip" | "todo" => Skipped,
            _ => continue,
        };
        let name = name.rsplit_once(" [").map_or(name, |(name, _)| name);
        tests.push((format!("{file} {name}"), outcome));
    }
    some("bun", tests)
}

/// Reads `adds ... ok (550µs)` below `running 2 tests from ./calc_test.ts`.
pub(super) fn deno(text: &str) -> Option<TestReport> {
    let mut file = None;
    let mut tests = Vec::new();
    for line in text.lines() {
        let from = line.strip_prefix("running ").and_then(|line| line.split_once(" from "));
        if let Some((_, from)) = from {
            file = Some(from.trim());
            continue;
        }
        let Some(file) = file else { continue };
        let Some((name, word)) = line.rsplit_once(" ... ") else { continue };
        let outcome = match word.split([' ', '(']).next().unwrap_or_default() {
            "ok" => Passed,
            "FAILED" | "cancelled" => Failed,
            "ignored" => Skipped,
            _ => continue,
        };
        tests.push((format!("{file} {}", name.trim()), outcome));
    }
    some("deno", tests)
}

/// Reads `test_adds (test_calc.CalcTest.test_adds) ... ok`, or with the first line of its documentation before the
/// dots.
pub(super) fn unittest(text: &str) -> Option<TestReport> {
    let is_name = |line: &str| line.ends_with(')') && line.contains(" (");
    let mut before = "";
    let mut tests = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some((name, word)) = line.rsplit_once(" ... ") {
            let outcome = match word {
                "ok" => Some(Passed),
                "FAIL" | "ERROR" | "unexpected success" => Some(Failed),
                // A test that is expected to fail no longer asks anything.
                word if word.starts_with("skipped") || word == "expected failure" => Some(Skipped),
                _ => None,
            };
            // With documentation the name stands on the line before.
            let name = if is_name(name) { name } else { before };
            if let (Some(outcome), true) = (outcome, is_name(name)) {
                tests.push((name.to_owned(), outcome));
            }
        }
        before = line;
    }
    let counted = super::summaries::unittest(text)?;
    match some("unittest", tests) {
        Some(named) if named.executed() == counted.executed() && named.skipped == counted.skipped => {
            Some(named)
        }
        _ => Some(counted),
    }
}

/// Reads `CalcTest > adds PASSED`, if the project has Gradle print such lines.
pub(super) fn gradle(text: &str) -> Option<TestReport> {
    let tests = text.lines().filter_map(|line| {
        let (name, word) = line.trim().rsplit_once(' ')?;
        let outcome = match word {
            "PASSED" => Passed,
            "FAILED" => Failed,
            "SKIPPED" => Skipped,
            _ => return None,
        };
        // Gradle prints its own tasks with the same words.
        (name.contains(" > ") && !name.starts_with('>')).then(|| (name.to_owned(), outcome))
    });
    some("gradle", tests.collect())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::read_tests;

    /// Outputs of the real runners, cut to what matters; one test passed, one failed and one was skipped.
    #[test]
    fn every_line_of_a_test_is_read() {
        let ctest = "Test project /x/build\n    Start 1: adds\n1/3 Test #1: adds .............................   Passed    0.01 sec\n\
            2/3 Test #2: subtracts ........................***Failed    0.01 sec\n\
            3/3 Test #3: later ............................***Not Run (Disabled)   0.00 sec\n\n50% tests passed, 1 tests failed out of 2\n";
        let meson = "1/3 adds      OK              0.02s\n2/3 main / subtracts FAIL            0.01s   exit status 1\n\
            3/3 later SKIP            0.01s   exit status 77\n\nOk:                 1   \nExpected Fail:      0   \nFail:               1   \n\
            Unexpected Pass:    0   \nSkipped:            1   \nTimeout:            0   \n";
        let bun = "bun test v1.4.4 (38afee6c8)\n\ncalc.test.ts:\nerror: expect(received).toBe(expected)\n(fail) adds [12.36ms]\n\
            (pass) subtracts [0.21ms]\n(skip) later\n\n 1 pass\n 1 skip\n 1 fail\n 2 expect() calls\nRan 3 tests across 1 file. [68.00ms]\n";
        let deno = "\u{1b}[38;5;245mrunning 3 tests from ./calc_test.ts\u{1b}[0m\nadds ... \u{1b}[31mFAILED\u{1b}[0m (1ms)\n\
            subtracts ... ok (136µs)\nlater ... ignored (0ms)\n\nFAILED | 1 passed | 1 failed | 1 ignored (12ms)\n";
        let unittest = "test_adds (test_calc.CalcTest.test_adds) ... FAIL\ntest_b (test_calc.CalcTest.test_b)\nWhat it is for. ... ok\n\
            test_c (test_calc.CalcTest.test_c) ... skipped 'later'\n\n======\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n";
        let gradle = ":test\nCalcTest > adds PASSED\n\nCalcTest > subtracts FAILED\n    java.lang.AssertionError at CalcTest.java:14\n\n\
            CalcTest > later SKIPPED\n\n3 tests completed, 1 failed, 1 skipped\n> Task :test FAILED\n";
        for (text, runner) in [
            (ctest, "ctest"),
            (meson, "meson"),
            (bun, "bun"),
            (deno, "deno"),
            (unittest, "unittest"),
            (gradle, "gradle"),
        ] {
            let report = read_tests(text).unwrap();
            let found =
                (report.runner.as_str(), report.passed, report.failed, report.skipped, report.tests.len());
            assert_eq!(found, (runner, 1, 1, 1, 3), "{text}");
        }
    }

    #[test]
    fn what_a_test_prints_between_leaves_the_count() {
        let text = "test_a (t.T.test_a) ... hello\nok\n\nRan 1 test in 0.001s\n\nOK\n";
        let report = read_tests(text).unwrap();
        assert_eq!((report.executed(), report.tests.len()), (1, 0));
    }
}
