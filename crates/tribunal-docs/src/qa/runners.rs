//! Output of test runners into [`TestReport`]: cargo, go, pytest, jest and vitest, TAP, JUnit XML, the runners of
//! `test_lines` and `summaries`, and any other summary line with counts.
//!
//! No test is ever invented, and the work is linear in what a runner printed, since a test may print any amount. Forms
//! that cannot be mistaken for others are tried first; a loose line with counts comes last.

use super::{Outcome, TestReport, summaries, test_lines};
use Outcome::{Failed, Passed, Skipped};

/// What the output of a runner says; `None` if it names no test and no count.
pub fn read_tests(text: &str) -> Option<TestReport> {
    let text = &plain(text);
    let readers = [
        junit,
        go_json,
        cargo,
        go_plain,
        pytest,
        test_lines::ctest,
        test_lines::meson,
        test_lines::bun,
        test_lines::deno,
        test_lines::unittest,
        test_lines::gradle,
        tap,
        script,
        summaries::summary,
    ];
    // The loose form last: any sentence with "2 passed" in it would fit.
    readers.iter().find_map(|reader| reader(text)).or_else(|| summary_line(text))
}

/// The text without colours: each escape sequence goes up to its letter.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| ('@'..='~').contains(&c)).map_or(after.len(), |end| end + 1);
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

/// A report of named tests, if there are any.
pub(super) fn some(runner: &str, tests: Vec<(String, Outcome)>) -> Option<TestReport> {
    (!tests.is_empty()).then(|| TestReport::of(runner, tests))
}

/// Reads `test a::b ... ok`, each under the binary that ran it.
fn cargo(text: &str) -> Option<TestReport> {
    let mut binary = String::new();
    let mut tests = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Running ").or_else(|| line.strip_prefix("Doc-tests ")) {
            binary = rest.split(" (").next().unwrap_or(rest).to_owned();
        } else if let Some((name, outcome)) = line.strip_prefix("test ").and_then(cargo_test) {
            // Two binaries may have tests of the same name.
            let name = if binary.is_empty() { name.to_owned() } else { format!("{binary} {name}") };
            tests.push((name, outcome));
        }
    }
    // Names are better than counts wherever they are printed.
    some("cargo", tests).or_else(|| cargo_counts(text))
}

/// Adds up the counts of all binaries: `cargo test --quiet` names no tests.
fn cargo_counts(text: &str) -> Option<TestReport> {
    let results = text.lines().filter(|line| line.trim_start().starts_with("test result: "));
    results.filter_map(counts).reduce(|all, one| {
        let (passed, failed, skipped) =
            (all.passed + one.passed, all.failed + one.failed, all.skipped + one.skipped);
        TestReport::counted("cargo", passed, failed, skipped)
    })
}

/// How runners say that they had no test to run, in lower case.
const NO_TEST: [&str; 17] = [
    "running 0 tests",
    "0 passed",
    "0 passing",
    "ran 0 tests",
    "no tests ran",
    "no tests to run",
    "no test files",
    "no tests found",
    "no test files found",
    "collected 0 items",
    "no tests executed",
    "no tests were found",
    "0 examples,",
    "0 runs,",
    "tests run: 0,",
    ":test no-source",
    "1..0",
];

/// Whether output says that a runner had no test to run. One test anywhere in it shows that it had.
pub fn ran_no_test(text: &str) -> bool {
    let text = &plain(text);
    // Go counts nothing; it names each package that it tested.
    let tested = |line: &str| line.starts_with("ok  \t") && !line.contains("[no tests to run]");
    let ran = |line: &str| tested(line) || counts(line).is_some_and(|report| report.executed() > 0);
    let says = |line: &str| {
        let line = line.to_ascii_lowercase();
        NO_TEST.iter().any(|sign| line.contains(sign))
    };
    text.lines().any(says)
        && !text.lines().any(ran)
        // A reader may know a test that no line with counts shows.
        && read_tests(text).is_none_or(|report| report.executed() == 0)
}

/// How programs say that something is not installed, or that they may not write or reach it, in lower case.
const MISSING: [&str; 10] = [
    "no module named",
    "cannot find module",
    "command not found",
    ": not found",
    "could not find gem",
    "cannot find package",
    "cannot load such file",
    "@inc (you may need to install",
    "read-only file system",
    "erofs: ",
];

/// How programs say that they reached nobody over the network, in lower case.
const UNREACHED: [&str; 18] = [
    "temporary failure in name resolution",
    "could not resolve host",
    "unknown host ",
    "getaddrinfo enotfound",
    "getaddrinfo eai_again",
    "name or service not known",
    "network is unreachable",
    "enetunreach",
    "dial tcp: lookup ",
    "unknownhostexception",
    "request to https://registry.npmjs.org",
    "err_pnpm_meta_fetch_fail",
    "you are in the offline mode",
    "failed to download from `https://",
    "failed to establish a new connection",
    "network connectivity is disabled",
    "offline mode (via `--offline`)",
    "offline mode (--offline)",
];

/// Whether output says that a command reached nobody over the network.
pub fn lacks_network(text: &str) -> bool {
    plain(text).lines().any(|line| {
        let line = line.to_ascii_lowercase();
        UNREACHED.iter().any(|sign| line.contains(sign))
    })
}

/// Whether output says that a command lacked something: a program, a package, a place to write, or the network.
///
/// A command that failed in this way has perhaps not tested anything, so its failure says nothing about the change.
pub fn is_missing(text: &str) -> bool {
    missing_line(text).is_some()
}

/// How languages say that a file of tests cannot be loaded, because a package that it names is not there, in lower case.
const NOT_LOADED: [&str; 5] = [
    "no module named",
    "cannot find module",
    "cannot find package",
    "cannot load such file",
    "@inc (you may need to install",
];

/// Whether a run really ran one of the tests that it counted.
///
/// A runner counts a file that it cannot load as a test that fails. Where nothing passed and a package is missing, all
/// that was counted may be such files, and then no test has started.
pub fn tests_started(text: &str, report: &TestReport) -> bool {
    let not_loaded = |line: &str| {
        let line = line.to_ascii_lowercase();
        NOT_LOADED.iter().any(|sign| line.contains(sign))
    };
    report.passed > 0 || report.failed > 0 && !plain(text).lines().any(not_loaded)
}

/// The line that says what a command lacked.
pub fn missing_line(text: &str) -> Option<String> {
    let says = |line: &&str| {
        let line = line.to_ascii_lowercase();
        MISSING.iter().chain(&UNREACHED).any(|sign| line.contains(sign))
    };
    plain(text).lines().find(says).map(|line| line.trim().to_owned())
}

fn cargo_test(rest: &str) -> Option<(&str, Outcome)> {
    let (name, word) = rest.rsplit_once(" ... ")?;
    let outcome = match word {
        "ok" => Passed,
        "FAILED" => Failed,
        word if word.starts_with("ignored") => Skipped,
        _ => return None,
    };
    // `adds - should panic` asks the opposite of `adds`, so it is another test.
    Some((name, outcome))
}

/// Reads lines of `go test -json` by their three fields.
fn go_json(text: &str) -> Option<TestReport> {
    let field = |line: &str, key: &str| {
        let from = line.find(&format!("\"{key}\":\""))? + key.len() + 4;
        Some(line[from..].split('"').next()?.to_owned())
    };
    let tests =
        text.lines().filter(|line| line.starts_with('{') && line.contains("\"Test\":")).filter_map(|line| {
            let outcome = match field(line, "Action")?.as_str() {
                "pass" => Passed,
                "fail" => Failed,
                "skip" => Skipped,
                _ => return None,
            };
            Some((format!("{}.{}", field(line, "Package")?, field(line, "Test")?), outcome))
        });
    some("go", tests.collect())
}

/// Reads `--- PASS: TestX (0.00s)`.
fn go_plain(text: &str) -> Option<TestReport> {
    let tests = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("--- ")?;
        let (word, name) = rest.split_once(": ")?;
        let outcome = match word {
            "PASS" => Passed,
            "FAIL" => Failed,
            "SKIP" => Skipped,
            _ => return None,
        };
        Some((name.split(" (").next().unwrap_or(name).to_owned(), outcome))
    });
    some("go", tests.collect())
}

/// Reads `PASSED a.py::t`, `a.py::t PASSED [ 50%]`, and the summary for what is only counted.
fn pytest(text: &str) -> Option<TestReport> {
    let outcome = |word: &str| match word {
        // An unexpected pass is a pass; the expected failure is the test that asks nothing.
        "PASSED" | "XPASS" => Some(Passed),
        "FAILED" | "ERROR" => Some(Failed),
        "SKIPPED" | "XFAIL" => Some(Skipped),
        _ => None,
    };
    let mut tests = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| line.contains("::")) {
        let mut words = line.split_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { continue };
        if let (Some(outcome), Some(name)) = (outcome(first), second.filter(|name| name.contains("::"))) {
            tests.push((name.to_owned(), outcome));
        } else if let Some(outcome) = second.and_then(outcome) {
            tests.push((first.to_owned(), outcome));
        }
    }
    let named = some("pytest", tests)?;
    match summary_line(text) {
        // Skipped tests have no name in the short report, and then only the counts are complete.
        Some(counted) if counted.skipped != named.skipped || counted.executed() != named.executed() => {
            Some(TestReport { runner: "pytest".to_owned(), tests: named.tests, ..counted })
        }
        _ => Some(named),
    }
}

/// Reads `ok 1 - name` and `not ok 2 - name # SKIP`.
fn tap(text: &str) -> Option<TestReport> {
    // `ok` begins many lines, so the stream has to say that it is TAP.
    let is_tap = text.lines().any(|line| line.starts_with("TAP version") || line.starts_with("1.."));
    let tests = text.lines().filter(|_| is_tap).filter_map(|line| {
        let (bad, rest) = match line.trim().strip_prefix("not ok ") {
            Some(rest) => (true, rest),
            None => (false, line.trim().strip_prefix("ok ")?),
        };
        let (name, remark) = rest.split_once(" # ").unwrap_or((rest, ""));
        let remark = remark.to_ascii_uppercase();
        let bare = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches([' ', '-']);
        // A test without a name has its number.
        let name = if bare.is_empty() { name } else { bare };
        let outcome = match (remark.starts_with("SKIP"), bad) {
            (true, _) => Skipped,
            (_, true) => Failed,
            (_, false) => Passed,
        };
        Some((name.to_owned(), outcome))
    });
    some("tap", tests.collect())
}

/// Reads `✓ name (5 ms)`, `✕ name` and `○ skipped name` of Jest and vitest.
fn script(text: &str) -> Option<TestReport> {
    let tests = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let mark = line.chars().next()?;
        let outcome = match mark {
            '✓' | '✔' => Passed,
            '✕' | '×' | '✗' => Failed,
            '○' | '↓' => Skipped,
            _ => return None,
        };
        let name = line[mark.len_utf8()..].trim().trim_start_matches("skipped ");
        let name =
            name.rsplit_once(" (").filter(|(_, end)| end.ends_with("s)")).map_or(name, |(name, _)| name);
        // Vitest prints a time without brackets.
        let name = match name.rsplit_once(' ') {
            Some((head, last)) if is_time(last) => head.trim_end(),
            _ => name,
        };
        (!name.is_empty()).then(|| (name.to_owned(), outcome))
    });
    let named = some("script", tests.collect())?;
    match counts_after(text, "Tests") {
        Some(counted) if counted.executed() != named.executed() || counted.skipped != named.skipped => {
            Some(TestReport { runner: "script".to_owned(), ..counted })
        }
        _ => Some(named),
    }
}

fn is_time(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    word.ends_with('s') && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// The last line with counts: `1 failed, 2 passed in 0.1s`, `Tests: 2 passed, 3 total`.
fn summary_line(text: &str) -> Option<TestReport> {
    counts_after(text, "Tests").or_else(|| text.lines().rev().find_map(counts))
}

fn counts_after(text: &str, word: &str) -> Option<TestReport> {
    text.lines().rev().filter(|line| line.trim_start().starts_with(word)).find_map(counts)
}

/// The counts of one line; `None` without `passed` or `failed`.
fn counts(line: &str) -> Option<TestReport> {
    let words: Vec<&str> =
        line.split([' ', ',', '(', ')', '|', '=', ';']).filter(|w| !w.is_empty()).collect();
    let mut found: [Option<u64>; 3] = [None; 3];
    for pair in words.windows(2) {
        let Ok(number) = pair[0].parse::<u64>() else { continue };
        // A word with a colon is the label of the number behind it.
        let place = match pair[1].to_ascii_lowercase().trim_end_matches('.') {
            "passed" | "passing" => 0,
            "failed" | "failing" | "failures" | "errors" | "error" => 1,
            "skipped" | "ignored" | "pending" | "todo" | "xfailed" => 2,
            _ => continue,
        };
        found[place] = Some(found[place].unwrap_or(0).saturating_add(number));
    }
    let [passed, failed, skipped] = found;
    (passed.is_some() || failed.is_some()).then(|| {
        TestReport::counted("summary", passed.unwrap_or(0), failed.unwrap_or(0), skipped.unwrap_or(0))
    })
}

/// Reads `<testcase classname="x" name="y">` with `<failure`, `<error` or `<skipped` in it.
fn junit(text: &str) -> Option<TestReport> {
    if !text.contains("<testsuite") {
        return None;
    }
    let tests = text.split("<testcase").skip(1).filter_map(|case| {
        let head = case.split('>').next()?;
        // A case that closes itself has passed.
        let inner = if head.ends_with('/') { "" } else { case.split("</testcase>").next().unwrap_or("") };
        let name = attribute(head, "name")?;
        let class = attribute(head, "classname").filter(|class| !class.is_empty());
        let outcome =
            match (inner.contains("<failure") || inner.contains("<error"), inner.contains("<skipped")) {
                (true, _) => Failed,
                (_, true) => Skipped,
                _ => Passed,
            };
        Some((class.map_or(name.clone(), |class| format!("{class}.{name}")), outcome))
    });
    some("junit", tests.collect())
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let from = head.find(&format!(" {name}=\""))? + name.len() + 3;
    let raw = head[from..].split('"').next()?;
    // The ampersand comes last, or `&amp;lt;` would become a bracket.
    let plain = raw.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    Some(plain.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_says_when_something_is_not_installed() {
        for (text, expect) in [
            ("ModuleNotFoundError: No module named 'pytest'", true),
            ("Error: Cannot find module 'jest'", true),
            ("sh: 1: jest: not found", true),
            ("AssertionError: expected 3, got 4", false),
            ("", false),
        ] {
            assert_eq!(is_missing(text), expect, "{text}");
        }
    }

    /// A file that cannot be loaded is counted by its runner, and is no test that ran.
    #[test]
    fn a_test_that_cannot_be_loaded_did_not_start() {
        let unittest = "tests.test_calc (unittest.loader._FailedTest.tests.test_calc) ... ERROR\n\n\
            ModuleNotFoundError: No module named 'humanize'\n\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n";
        let pytest = "E   ModuleNotFoundError: No module named 'humanize'\n= 1 error in 0.1s =\n";
        let node =
            "TAP version 13\n# Error: Cannot find module 'left-pad'\nnot ok 1 - test/calc.test.js\n1..1\n";
        for text in [unittest, pytest, node] {
            let report = read_tests(text).unwrap_or_else(|| panic!("{text}"));
            assert!(!tests_started(text, &report), "{text}: {report:?}");
        }
        // Other tests ran, or the failure has nothing to do with packages.
        for text in [
            "ModuleNotFoundError: No module named 'x'\n= 1 failed, 1 passed in 0.1s =\n",
            "t.py::one FAILED\nE   assert 1 == 2\n= 1 failed in 0.1s =\n",
        ] {
            assert!(tests_started(text, &read_tests(text).unwrap()), "{text}");
        }
    }

    #[test]
    fn every_runner_is_read() {
        let cargo = "     Running unittests src/lib.rs (target/debug/deps/a-1)\n\nrunning 3 tests\ntest a::one ... ok\n\
            test two ... FAILED\ntest three ... ignored, slow\n\ntest result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured\n";
        let go = "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Time\":\"x\",\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\"}\n\
            {\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"TestB\"}\n{\"Action\":\"skip\",\"Package\":\"p\",\"Test\":\"TestC\"}\n";
        let plain_go = "=== RUN TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestB/x (0.00s)\n--- SKIP: TestC (0.00s)\n";
        let pytest = "t.py::one PASSED [ 33%]\nt.py::two FAILED [ 66%]\nt.py::three SKIPPED (why) [100%]\n= 1 failed, 1 passed, 1 skipped in 0.1s =\n";
        let short = "PASSED t.py::one\nSKIPPED [1] t.py:3: why\nFAILED t.py::two - boom\n== 1 failed, 1 passed, 1 skipped in 1s ==\n";
        let tap = "TAP version 13\nok 1 - one\nnot ok 2 - two\nok 3 - three # SKIP why\n1..3\n";
        let jest = "  \u{1b}[32m✓\u{1b}[39m one (3 ms)\n  ✕ two\n  ○ skipped three\n\nTests:       1 failed, 1 skipped, 1 passed, 3 total\n";
        let junit = "<?xml?><testsuites><testsuite><testcase classname=\"c\" name=\"a &amp; b\"/><testcase name=\"two\"><failure>x</failure></testcase>\
            <testcase name=\"three\"><skipped/></testcase></testsuite></testsuites>";
        let counted = "Tests:  1 failed | 1 passed | 1 skipped (3)";
        for (text, runner) in [
            (cargo, "cargo"),
            (go, "go"),
            (plain_go, "go"),
            (pytest, "pytest"),
            (short, "pytest"),
            (tap, "tap"),
            (jest, "script"),
            (junit, "junit"),
            (counted, "summary"),
        ] {
            let report = read_tests(text).unwrap();
            let found = (report.runner.as_str(), report.passed, report.failed, report.skipped);
            assert_eq!(found, (runner, 1, 1, 1), "{text}");
        }
        assert!(read_tests(junit).unwrap().tests.contains_key("c.a & b"));
        assert!(read_tests(cargo).unwrap().tests.contains_key("unittests src/lib.rs a::one"));
    }

    #[test]
    fn what_a_command_lacked_is_told_from_what_it_found() {
        for text in [
            "python3: No module named pytest",
            "sh: 1: jest: not found",
            "java.io.FileNotFoundException: /x/.gradle/x.lock (Read-only file system)",
            "Unknown host repo.example.org: Name or service not known",
            "npm error code EAI_AGAIN\nnpm error request failed, reason: getaddrinfo EAI_AGAIN",
        ] {
            assert!(is_missing(text), "{text}");
        }
        assert!(!is_missing("FAILED (failures=1)"));
    }

    #[test]
    fn words_are_no_tests() {
        for text in ["", "all tests pass", "error: could not compile", "checks_passed: yes", "ok 1 potatoes"]
        {
            assert_eq!(read_tests(text), None, "{text}");
        }
        let quiet = "running 3 tests\n...\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\n\n\
            running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n";
        assert_eq!(read_tests(quiet).unwrap().executed(), 3, "the last binary is not all of them");
        let none = read_tests("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored;").unwrap();
        assert_eq!(none.executed(), 0);
    }

    #[test]
    fn a_runner_that_ran_nothing_is_told_from_one_that_did() {
        let cargo =
            |n: u32| format!("running {n} tests\n\ntest result: ok. {n} passed; 0 failed; 0 ignored\n");
        for (text, none) in [
            (cargo(0), true),
            (cargo(10), false),
            (format!("{}{}", cargo(2), cargo(0)), false),
            ("= no tests ran in 0.01s =".to_owned(), true),
            ("collected 0 items / 1 error\n= 1 error in 0.1s =".to_owned(), false),
            ("Ran 0 tests in 0.000s\n\nOK".to_owned(), true),
            ("Ran 2 tests in 0.000s\n\nOK".to_owned(), false),
            ("?   \tx/y\t[no test files]".to_owned(), true),
            ("ok  \tx\t0.002s\n?   \tx/y\t[no test files]".to_owned(), false),
            ("ok  \tx\t0.002s [no tests to run]".to_owned(), true),
            ("No tests found, exiting with code 0".to_owned(), true),
            ("  0 passing (1ms)".to_owned(), true),
            ("  10 passing (1ms)".to_owned(), false),
            ("TAP version 13\n1..0".to_owned(), true),
            ("Found 0 errors.".to_owned(), false),
            ("0 errors, 0 warnings".to_owned(), false),
            ("All checks passed!".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(ran_no_test(&text), none, "{text}");
        }
    }
}
