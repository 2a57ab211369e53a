//! Reads runners that are known by the line they end with: unittest, surefire, PHPUnit, minitest, RSpec and hspec,
//! ExUnit, Gradle, .NET, ScalaTest, XCTest, Dart, Zig, bun and prove.
//!
//! No number is ever taken for another: a label belongs to the number that its runner means. The order of the readers
//! matters, because some of these lines contain those of others.

use super::TestReport;

/// The summary of whichever runner it is.
pub(super) fn summary(text: &str) -> Option<TestReport> {
    let readers = [
        surefire, unittest, phpunit, minitest, rspec, dotnet, scalatest, xctest, dart, gradle, bun, prove,
        zig, exunit,
    ];
    readers.iter().find_map(|reader| reader(text))
}

/// A report of which all, failed and skipped are known; the rest passed.
fn of_all(runner: &str, all: u64, failed: u64, skipped: u64) -> TestReport {
    TestReport::counted(runner, all.saturating_sub(failed).saturating_sub(skipped), failed, skipped)
}

/// The number behind a label: `Failures: 1`, `failures=1`, `failed 1`; 0 if the label is absent.
fn behind(line: &str, label: &str) -> u64 {
    let Some(at) = line.find(label) else { return 0 };
    let rest = line[at + label.len()..].trim_start_matches([':', '=', ' ']);
    number(rest).unwrap_or(0)
}

/// The number before a word, as in `2 examples`; `None` if the word has no number.
fn before(line: &str, word: &str) -> Option<u64> {
    let words: Vec<&str> =
        line.split([' ', ',', '(', ')', '.', ';']).filter(|word| !word.is_empty()).collect();
    // `1 failure` and `2 failures` are one word.
    let is = |found: &str| found == word || found.strip_suffix('s') == Some(word);
    words.windows(2).find(|pair| is(pair[1])).and_then(|pair| pair[0].parse().ok())
}

fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

fn add(all: TestReport, one: TestReport) -> TestReport {
    let sum = |one: u64, other: u64| one.saturating_add(other);
    TestReport::counted(
        &all.runner,
        sum(all.passed, one.passed),
        sum(all.failed, one.failed),
        sum(all.skipped, one.skipped),
    )
}

/// Reads `Tests run: 2, Failures: 0, Errors: 0, Skipped: 0` of every module. The lines of single classes have a time.
fn surefire(text: &str) -> Option<TestReport> {
    let lines = || text.lines().filter(|line| line.contains("Tests run: ") && line.contains("Skipped: "));
    let read = |line: &str| {
        let failed = behind(line, "Failures") + behind(line, "Errors");
        of_all("surefire", behind(line, "Tests run"), failed, behind(line, "Skipped"))
    };
    // Totals and classes would count every test twice, so the classes count only without totals.
    let totals = lines().filter(|line| !line.contains("Time elapsed")).map(read).reduce(add);
    totals.or_else(|| lines().map(read).reduce(add))
}

/// Reads `Ran 3 tests in 0.001s`, followed by `OK` or `FAILED (failures=1, skipped=1)`.
pub(super) fn unittest(text: &str) -> Option<TestReport> {
    let mut found = None;
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let ran = line.strip_prefix("Ran ").filter(|rest| rest.contains(" test") && rest.contains(" in "));
        let Some(all) = ran.and_then(number) else { continue };
        let Some(end) = lines.by_ref().find(|line| !line.is_empty()) else { break };
        // Other programs print "Ran 3 tests" too, but do not go on like this.
        if !["OK", "FAILED", "NO TESTS RAN"].iter().any(|word| end.starts_with(word)) {
            continue;
        }
        // `failures` is a part of `expected failures`, so each count is read by its whole name.
        let count = |name: &str| {
            let parts = end.split(['(', ',', ')']).filter_map(|part| part.trim().split_once('='));
            parts.filter(|(key, _)| *key == name).filter_map(|(_, count)| number(count)).sum::<u64>()
        };
        let failed = count("failures") + count("errors") + count("unexpected successes");
        // A test that is expected to fail no longer asks anything.
        let skipped = count("skipped") + count("expected failures");
        let one = of_all("unittest", all, failed, skipped);
        found = Some(match found {
            Some(before) => add(before, one),
            None => one,
        });
    }
    found
}

/// Reads `OK (2 tests, 2 assertions)` and `Tests: 2, Assertions: 2, Failures: 1, Skipped: 1.`
fn phpunit(text: &str) -> Option<TestReport> {
    text.lines().rev().map(str::trim).find_map(|line| {
        if line.starts_with("OK (") && line.contains("assertion") {
            return before(line, "test").map(|all| of_all("phpunit", all, 0, 0));
        }
        (line.starts_with("Tests: ") && line.contains("Assertions: ")).then(|| {
            let failed = behind(line, "Failures") + behind(line, "Errors");
            let skipped = behind(line, "Skipped") + behind(line, "Incomplete");
            of_all("phpunit", behind(line, "Tests"), failed, skipped)
        })
    })
}

/// Reads `2 runs, 2 assertions, 1 failures, 0 errors, 1 skips` of every test program.
fn minitest(text: &str) -> Option<TestReport> {
    let lines = text.lines().filter(|line| line.contains(" runs, ") && line.contains(" assertions, "));
    let read = |line: &str| {
        let failed = before(line, "failure").unwrap_or(0) + before(line, "error").unwrap_or(0);
        Some(of_all("minitest", before(line, "run")?, failed, before(line, "skip").unwrap_or(0)))
    };
    lines.filter_map(read).reduce(add)
}

/// Reads `3 examples, 1 failure, 1 pending` of RSpec, and of hspec in Haskell.
fn rspec(text: &str) -> Option<TestReport> {
    let lines = text.lines().filter(|line| line.contains(" example") && line.contains(" failure"));
    let read = |line: &str| {
        let failed = before(line, "failure")?;
        Some(of_all("rspec", before(line, "example")?, failed, before(line, "pending").unwrap_or(0)))
    };
    lines.filter_map(read).reduce(add)
}

/// Reads `3 tests, 1 failure, 1 skipped`, with doctests and properties before it.
fn exunit(text: &str) -> Option<TestReport> {
    let lines = text.lines().map(str::trim).filter(|line| {
        line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" test") && line.contains(" failure")
    });
    let read = |line: &str| {
        let of = |word: &str| before(line, word).unwrap_or(0);
        // `before` cuts a plural s, which leaves `propertie` of `properties`.
        let all = before(line, "test")? + of("doctest") + of("property") + of("propertie");
        // Excluded tests are counted among all of them, as skipped ones are.
        Some(of_all("exunit", all, before(line, "failure")?, of("skipped") + of("excluded")))
    };
    lines.filter_map(read).reduce(add)
}

/// Reads `Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2` of every assembly, or the newer
/// summary.
fn dotnet(text: &str) -> Option<TestReport> {
    // The newer summary is of all assemblies; the older one stands once for each.
    let newer = text.lines().find(|line| line.trim_start().starts_with("Test summary: total: "));
    if let Some(line) = newer {
        return Some(of_all(
            "dotnet",
            behind(line, "total"),
            behind(line, "failed"),
            behind(line, "skipped"),
        ));
    }
    let lines = text
        .lines()
        .filter(|line| line.contains("! ") && line.contains("Passed: ") && line.contains("Total: "));
    let read = |line: &str| {
        TestReport::counted(
            "dotnet",
            behind(line, "Passed:"),
            behind(line, "Failed:"),
            behind(line, "Skipped:"),
        )
    };
    lines.map(read).reduce(add)
}

/// Reads `Tests: succeeded 2, failed 1, canceled 0, ignored 1, pending 0`, and what sbt itself says.
fn scalatest(text: &str) -> Option<TestReport> {
    let lines = text.lines().filter(|line| line.contains("Tests: succeeded "));
    let read = |line: &str| {
        let skipped = behind(line, "canceled") + behind(line, "ignored") + behind(line, "pending");
        TestReport::counted("scalatest", behind(line, "succeeded"), behind(line, "failed"), skipped)
    };
    let sbt = |line: &str| {
        let failed = behind(line, ", Failed") + behind(line, ", Errors");
        TestReport::counted("sbt", behind(line, ", Passed"), failed, behind(line, "Skipped"))
    };
    let totals = text.lines().filter(|line| line.contains(": Total ") && line.contains(", Errors "));
    lines.map(read).reduce(add).or_else(|| totals.map(sbt).reduce(add))
}

/// Reads `Executed 3 tests, with 1 test skipped and 1 failure (0 unexpected)`. The last such line is the total.
fn xctest(text: &str) -> Option<TestReport> {
    let line = text.lines().rev().find(|line| line.contains("Executed ") && line.contains(" unexpected)"))?;
    let skipped = line.split(" skipped").next().filter(|_| line.contains(" skipped")).and_then(|head| {
        let head = head.trim_end_matches(" tests").trim_end_matches(" test");
        head.rsplit(' ').next()?.parse().ok()
    });
    Some(of_all("xctest", behind(line, "Executed"), before(line, "failure")?, skipped.unwrap_or(0)))
}

/// Reads `00:01 +2 ~1 -1: Some tests failed.`
fn dart(text: &str) -> Option<TestReport> {
    let ends = ["All tests passed!", "Some tests failed.", "All tests skipped."];
    let line = text.lines().rev().find(|line| ends.iter().any(|end| line.trim_end().ends_with(end)))?;
    let of = |sign: char| {
        let word = line.split([' ', ':']).find_map(|word| word.strip_prefix(sign));
        word.and_then(number).unwrap_or(0)
    };
    line.contains('+').then(|| TestReport::counted("dart", of('+'), of('-'), of('~')))
}

/// Reads `3 tests completed, 1 failed, 1 skipped`, which Gradle prints if something failed.
fn gradle(text: &str) -> Option<TestReport> {
    let lines =
        text.lines().filter(|line| line.contains(" tests completed, ") || line.contains(" test completed, "));
    let read = |line: &str| {
        let all = line.trim().split(' ').next()?.parse().ok()?;
        Some(of_all("gradle", all, before(line, "failed")?, before(line, "skipped").unwrap_or(0)))
    };
    lines.filter_map(read).reduce(add)
}

/// Reads ` 2 pass`, ` 1 skip` and ` 0 fail`, each on its own line.
fn bun(text: &str) -> Option<TestReport> {
    let of = |word: &str| {
        let lines = text.lines().filter_map(|line| line.trim().strip_suffix(word));
        lines.filter_map(|line| line.trim().parse::<u64>().ok()).next_back()
    };
    // Without this line the words could be anybody's.
    let ran = text.lines().any(|line| line.starts_with("Ran ") && line.contains(" across "));
    let (passed, failed) = (of(" pass").filter(|_| ran)?, of(" fail")?);
    Some(TestReport::counted("bun", passed, failed, of(" skip").unwrap_or(0) + of(" todo").unwrap_or(0)))
}

/// Reads `Files=1, Tests=3,` and `Failed 1/3 subtests` for every program that failed.
fn prove(text: &str) -> Option<TestReport> {
    let line = text.lines().rev().find(|line| line.starts_with("Files=") && line.contains("Tests="))?;
    let failed = text.lines().filter_map(|line| number(line.trim().strip_prefix("Failed ")?.trim_start()));
    Some(of_all("prove", behind(line, "Tests"), failed.fold(0, u64::saturating_add), 0))
}

/// Reads `Build Summary: 3/3 steps succeeded; 2/3 tests passed; 1 failed`.
fn zig(text: &str) -> Option<TestReport> {
    let line = text
        .lines()
        .rev()
        .find(|line| line.starts_with("Build Summary: ") && line.contains(" tests passed"))?;
    let (head, rest) = line.split_once(" tests passed")?;
    let (passed, all) = head.rsplit(' ').next()?.split_once('/')?;
    let (passed, all): (u64, u64) = (passed.parse().ok()?, all.parse().ok()?);
    let skipped = before(rest, "skipped").unwrap_or(0);
    Some(TestReport::counted("zig", passed, all.saturating_sub(passed).saturating_sub(skipped), skipped))
}

#[cfg(test)]
mod tests {
    use super::super::{ran_no_test, read_tests};

    /// Of each runner, what it prints where one test of three failed and one was skipped.
    #[test]
    fn every_summary_is_read() {
        let surefire = "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.3 s <<< FAILURE! - in CalcTest\n\
            [INFO] Results:\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n[INFO] BUILD FAILURE\n";
        let table = [
            (surefire, "surefire"),
            ("..F\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n", "unittest"),
            ("FAILURES!\nTests: 3, Assertions: 2, Failures: 1, Skipped: 1.\n", "phpunit"),
            ("3 runs, 2 assertions, 1 failures, 0 errors, 1 skips\n", "minitest"),
            ("Finished in 0.04 seconds\n3 examples, 1 failure, 1 pending\n\nFailed examples:\n", "rspec"),
            ("Finished in 0.04 seconds\n3 tests, 1 failure, 1 skipped\n", "exunit"),
            ("1 doctest, 2 tests, 1 failure, 1 excluded\n", "exunit"),
            (
                "Failed!  - Failed:     1, Passed:     1, Skipped:     1, Total:     3, Duration: 9 ms - a.dll (net8.0)\n",
                "dotnet",
            ),
            ("Test summary: total: 3, failed: 1, succeeded: 1, skipped: 1, duration: 1.2s\n", "dotnet"),
            ("[info] Tests: succeeded 1, failed 1, canceled 0, ignored 1, pending 0\n", "scalatest"),
            ("[error] Failed: Total 2, Failed 1, Errors 0, Passed 1, Skipped 1\n", "sbt"),
            (
                "\t Executed 3 tests, with 1 test skipped and 1 failure (0 unexpected) in 0.1 (0.1) seconds\n",
                "xctest",
            ),
            ("00:01 +1 ~1 -1: Some tests failed.\n", "dart"),
            ("3 tests completed, 1 failed, 1 skipped\n", "gradle"),
            ("\n 1 pass\n 1 skip\n 1 fail\n 2 expect() calls\nRan 3 tests across 1 file. [68.00ms]\n", "bun"),
            ("Build Summary: 3/5 steps succeeded; 1 failed; 1/3 tests passed; 1 skipped; 1 failed\n", "zig"),
        ];
        for (text, runner) in table {
            let report = read_tests(text).unwrap();
            let found = (report.runner.as_str(), report.passed, report.failed, report.skipped);
            assert_eq!(found, (runner, 1, 1, 1), "{text}");
            assert!(!ran_no_test(text), "{text}");
        }
    }

    #[test]
    fn every_summary_of_what_went_well_is_read() {
        for (text, runner) in [
            ("[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n", "surefire"),
            ("..\nRan 2 tests in 0.001s\n\nOK\n", "unittest"),
            ("OK (2 tests, 2 assertions)\n", "phpunit"),
            ("2 runs, 2 assertions, 0 failures, 0 errors, 0 skips\n", "minitest"),
            ("2 examples, 0 failures\n", "rspec"),
            ("2 tests, 0 failures\n", "exunit"),
            (
                "Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2, Duration: 9 ms - a.dll\n",
                "dotnet",
            ),
            ("Executed 2 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds\n", "xctest"),
            ("00:01 +2: All tests passed!\n", "dart"),
            ("All tests successful.\nFiles=1, Tests=2,  0 wallclock secs\nResult: PASS\n", "prove"),
            ("Build Summary: 3/3 steps succeeded; 2/2 tests passed\n", "zig"),
            (
                "Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n\nTests run: 1, Failures: 0, Errors: 0, Skipped: 0\n",
                "surefire",
            ),
        ] {
            let report = read_tests(text).unwrap();
            let found = (report.runner.as_str(), report.passed, report.failed, report.skipped);
            assert_eq!(found, (runner, 2, 0, 0), "{text}");
            assert!(!ran_no_test(text), "{text}");
        }
    }

    #[test]
    fn a_runner_without_a_test_says_so() {
        for text in [
            "No tests executed!\n",
            "0 examples, 0 failures\n",
            "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n",
            "No tests were found!!!\n",
            "There are no tests to run\n",
            "> Task :test NO-SOURCE\n",
            "[INFO] No tests to run.\n",
            "Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n",
            "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n",
        ] {
            assert!(ran_no_test(text), "{text}");
        }
    }
}
