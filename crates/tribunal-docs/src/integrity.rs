//! Whether a change weakens what judges it: tests that are deleted or skipped, assertions that are removed,
//! configuration of lints.
//!
//! It never decides anything; its findings are shown to the reviewer. It reads words and not syntax trees, so that it
//! works for every language, at the price of an occasional false alarm.

use crate::shell_checks::{calls_helpers, is_check};

/// Whether a path looks like a test, by the conventions of the common languages.
///
/// It errs on the side of yes. A false yes costs a reviewer a glance, a false no hides a weakened test.
pub fn is_test(path: &str) -> bool {
    const FOLDERS: [&str; 6] = ["test", "tests", "__tests__", "spec", "specs", "androidtest"];
    /// Perl and bats have an ending of their own for tests.
    const ENDS: [&str; 2] = [".t", ".bats"];
    let (lower, original) = (path.to_ascii_lowercase(), path.rsplit('/').next().unwrap_or(path));
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    let folder = lower.split('/').rev().skip(1).any(|part| FOLDERS.contains(&part));
    let named = stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        // `test.py` is a test; a folder or program called `test` need not be.
        || matches!(stem, "test" | "tests" if name.contains('.'));
    folder
        || named
        || name.contains(".test.")
        || name.contains(".spec.")
        || ENDS.iter().any(|end| name.len() > end.len() && name.ends_with(end))
        || is_test_class(original)
}

/// Whether a name is `UserTest.java`, `UserTests.cs`, `UserSpec.scala` or `TestUser.java`: in these languages a file is
/// named for its class.
fn is_test_class(name: &str) -> bool {
    const ENDS: [&str; 10] = ["java", "kt", "kts", "scala", "groovy", "cs", "fs", "vb", "php", "swift"];
    let Some((stem, end)) = name.rsplit_once('.') else { return false };
    // `Testimony.java` is not a test: an upper-case letter has to follow.
    let begins =
        stem.strip_prefix("Test").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    ENDS.contains(&end)
        && (begins
            || ["Test", "Tests", "Spec", "IT", "TestCase"]
                .iter()
                .any(|mark| stem.ends_with(mark) && stem != *mark))
}

/// Whether a path configures a lint.
///
/// A change to such a file can silence findings anywhere in the project.
pub fn is_lint(path: &str) -> bool {
    const NAMES: [&str; 17] = [
        "clippy.toml",
        ".clippy.toml",
        "rustfmt.toml",
        ".rustfmt.toml",
        "deny.toml",
        ".eslintrc",
        ".eslintrc.json",
        ".eslintrc.js",
        "eslint.config.js",
        "eslint.config.mjs",
        "ruff.toml",
        ".flake8",
        "mypy.ini",
        "pytest.ini",
        "tox.ini",
        ".golangci.yml",
        ".shellcheckrc",
    ];
    let lower = path.to_ascii_lowercase();
    NAMES.contains(&lower.rsplit('/').next().unwrap_or(&lower))
}

/// What a diff of a test file takes away (the file, tests, assertions) and what it skips.
///
/// Removed and added lines are counted against each other, so a test that was only moved or renamed is not reported.
pub fn weakened(diff: &str) -> Vec<String> {
    // The lines of a deleted file would only repeat this.
    if diff.lines().any(|line| line.starts_with("deleted file mode ")) {
        return vec!["the test file is deleted".to_owned()];
    }
    let lines = |sign: char| {
        let header = if sign == '+' { "+++ " } else { "--- " };
        diff.lines()
            .filter(move |line| line.starts_with(sign) && !line.starts_with(header))
            .map(|line| line[1..].trim())
    };
    let count = |sign: char, is: &dyn Fn(&str) -> bool| lines(sign).filter(|line| is(line)).count();
    // Added and removed lines cancel out, so a rename is not a loss.
    let fewer = |is: &dyn Fn(&str) -> bool| count('-', is).saturating_sub(count('+', is));
    let mut found = Vec::new();
    if count('+', &is_skip) > count('-', &is_skip) {
        found.push("a test is skipped that was not before".to_owned());
    }
    match fewer(&is_test_head) {
        0 => {}
        1 => found.push("a test is taken out".to_owned()),
        n => found.push(format!("{n} tests are taken out")),
    }
    match fewer(&is_assertion) {
        0 => {}
        1 => found.push("an assertion is taken out".to_owned()),
        n => found.push(format!("{n} assertions are taken out")),
    }
    found
}

/// Whether a link at a path leads out of its tree.
///
/// It is decided from the text alone, because the link may not exist on this disk. A path that goes up and comes back
/// counts as leading out.
pub fn leads_out(path: &[u8], to: &[u8]) -> bool {
    let folders = path.iter().filter(|byte| **byte == b'/').count();
    let mut depth = i64::try_from(folders).unwrap_or(0);
    let out = |part: &[u8]| {
        match part {
            b".." => depth -= 1,
            b"." | b"" => {}
            _ => depth += 1,
        }
        depth < 0
    };
    to.starts_with(b"/") || to.split(|byte| *byte == b'/').any(out)
}

/// The number of tests in one file, read from its text alone.
///
/// Where a runner prints no counts, this is all there is to show that a test was removed or switched off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCount {
    /// Tests that would run.
    pub tests: u64,
    /// Tests that are marked to be skipped.
    pub skipped: u64,
}

impl std::ops::Add for SourceCount {
    type Output = SourceCount;

    fn add(self, other: SourceCount) -> SourceCount {
        SourceCount { tests: self.tests + other.tests, skipped: self.skipped + other.skipped }
    }
}

/// Counts the tests of one file.
///
/// A file without a word that begins a test counts as one test, or as many as it has assertions: a plain program that
/// ends with a status is a test too. Comments do not count, so a test that was commented out is gone.
pub fn count_in(text: &str) -> SourceCount {
    let lines = || text.lines().map(str::trim).filter(|line| !is_comment(line));
    let count = |is: fn(&str) -> bool| lines().filter(|line| is(line)).count() as u64;
    let (heads, skipped) = (count(is_test_head), count(is_skip));
    // Without a recognised test, the file as a whole is the test.
    let tests = match heads {
        0 => lines().filter(|line| is_assertion(line) || by_helper(text, line)).count().max(1) as u64,
        heads => heads,
    };
    SourceCount { tests, skipped }
}

/// How much a script of tests checks: its test functions, otherwise the lines that can make it fail.
///
/// It is 0 where neither is recognised, as in a script that only starts others. A line that forgives a failure checks
/// nothing.
pub fn checks_in(text: &str) -> u64 {
    const BEGINS: [&str; 8] = ["[ ", "[[ ", "test ", "grep -q", "diff ", "cmp ", "if ! ", "! "];
    const FORGIVES: [&str; 4] = ["|| true", "|| :", "|| exit 0", "|| return 0"];
    let lines = || text.lines().map(str::trim).filter(|line| !is_comment(line) && !is_skip(line));
    let checks = |line: &&str| {
        is_assertion(line) || by_helper(text, line) || BEGINS.iter().any(|begin| line.starts_with(begin))
    };
    let forgives = |line: &&str| FORGIVES.iter().any(|word| line.contains(word));
    let count = match lines().filter(|line| is_test_head(line)).count() {
        0 => lines().filter(checks).filter(|line| !forgives(line)).count(),
        heads => heads,
    };
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Whether a line of a script checks something by a function that the script loads.
fn by_helper(text: &str, line: &str) -> bool {
    calls_helpers(text) && is_check(line)
}

pub(crate) fn is_comment(line: &str) -> bool {
    // `#[test]` is Rust, and `#ifdef` is C.
    let hash = line.starts_with('#')
        && !line.starts_with("#[")
        && !["#if", "#include", "#define", "#endif", "#else"].iter().any(|word| line.starts_with(word));
    line.is_empty()
        || hash
        || ["//", "--", "/*", "* ", "=begin", ";;"].iter().any(|mark| line.starts_with(mark))
}

fn is_skip(line: &str) -> bool {
    const MARKS: [&str; 34] = [
        // Split, so that this file does not contain the mark itself.
        concat!("#[", "ignore"),
        "@pytest.mark.skip",
        "@pytest.mark.xfail",
        "@unittest.expectedFailure",
        "@expectedFailure",
        "@unittest.skip",
        "@skip",
        "pytest.skip(",
        "self.skipTest(",
        "raise SkipTest",
        "it.skip(",
        "test.skip(",
        "describe.skip(",
        "it.todo(",
        "test.todo(",
        "skip: true",
        "ignore: true",
        "xit(",
        "xtest(",
        "xdescribe(",
        "t.Skip(",
        "t.SkipNow(",
        "@Disabled",
        "@Ignore",
        "@tag :skip",
        "markTestSkipped(",
        "markTestIncomplete(",
        "Skip = \"",
        "[Ignore",
        "GTEST_SKIP(",
        "DISABLED TRUE",
        "plan skip_all",
        "exit 77",
        "XCTSkip",
    ];
    // Words of Ruby, bats and shell stand alone; `exit 0` is a script that ends well before its tests.
    let word = line.split([' ', '(', ';']).next().unwrap_or_default();
    MARKS.iter().any(|mark| line.contains(mark))
        || matches!(word, "skip" | "xspecify" | "pending")
        || line == "exit 0"
}

fn is_test_head(line: &str) -> bool {
    const HEADS: [&str; 28] = [
        "#[test]",
        "#[tokio::test",
        "#[rstest",
        "def test_",
        "async def test_",
        "def test\"",
        "it(",
        "it.",
        "it \"",
        "it '",
        "specify ",
        "test(",
        "test.",
        "test \"",
        "test '",
        "Deno.test(",
        "func Test",
        "func test",
        "@Test",
        "@ParameterizedTest",
        "@test ",
        "[Fact",
        "[Theory",
        "[Test",
        "public function test",
        "TEST(",
        "TEST_F(",
        "TEST_CASE(",
    ];
    let function = || {
        // `test_x() {` of shell and C.
        let name = line.split('(').next().unwrap_or_default();
        let name = name.rsplit(' ').next().unwrap_or(name);
        line.ends_with('{')
            && (name.starts_with("test_") || name.starts_with("test"))
            && name.len() > 4
            // `test_dir=$(pwd) {` is an assignment.
            && !line.contains('=')
    };
    // `test_x();`: a program that calls its tests by hand loses one with its line.
    let called = || line.starts_with("test_") && line.contains('(') && line.ends_with(';');
    let added = || line.starts_with("add_test(") || line.starts_with("subtest ");
    HEADS.iter().any(|head| line.starts_with(head)) || function() || called() || added()
}

pub(crate) fn is_assertion(line: &str) -> bool {
    const WORDS: [&str; 22] = [
        "assert",
        "expect(",
        "should(",
        ".should.",
        "require.",
        "t.Error",
        "t.Fatal",
        "ASSERT_",
        "EXPECT_",
        "Assert.",
        "XCTAssert",
        "refute",
        "must_equal",
        "is(",
        "ok(",
        "is_deeply(",
        "|| exit",
        "|| fail",
        "|| die",
        "|| return 1",
        "check(",
        "CHECK(",
    ];
    WORDS.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_a_script_checks() {
        for (text, expect) in [
            ("set -e\n[ \"$(sh bin/a.sh)\" = 3 ] || exit 1\ngrep -q x out\n", 2),
            ("for t in t/*.sh; do sh $t; done\n", 0),
            ("grep -q x out || exit 0\ngrep -q x out || true\n# [ x ] || exit 1\n", 0),
            ("test_a() {\n  assert x\n  assert y\n}\n", 1),
            (
                "#!/bin/sh\n. tests/lib.sh\neq \"$(bin/hello)\" hello\neq \"$(bin/hello Ada)\" \"hello Ada\"\n",
                2,
            ),
        ] {
            assert_eq!(checks_in(text), expect, "{text}");
        }
    }

    #[test]
    fn paths() {
        for path in [
            "tests/a.rs",
            "src/a_test.go",
            "web/x.spec.ts",
            "pkg/test_x.py",
            "src/__tests__/b.js",
            "a/tests.rs",
            "t/basic.t",
            "spec/a_spec.rb",
            "src/UserTest.java",
            "Acme.Tests/UserTests.cs",
            "src/TestUser.java",
            "app/UserTest.php",
            "x/a.bats",
            "test.sh",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in [
            "src/contest.rs",
            "latest.py",
            "src/attestation/x.rs",
            "testing.md",
            "src/Contest.java",
            "Testament.java",
            "a.ts",
        ] {
            assert!(!is_test(path), "{path}");
        }
        for path in ["clippy.toml", "sub/.eslintrc.json"] {
            assert!(is_lint(path), "{path}");
        }
    }

    #[test]
    fn a_link_leads_out() {
        let check = |path: &str, to: &str, expect: bool| {
            assert_eq!(leads_out(path.as_bytes(), to.as_bytes()), expect, "{path} -> {to}");
        };
        check("a", "b", false);
        check("a", "../b", true);
        check("d/a", "../b", false);
        check("d/a", "../../b", true);
        check("d/a", "x/../../../b", true);
        check("d/a", "./../e//f", false);
        check("a", "/etc/passwd", true);
    }

    /// What is left to see it by where a runner counts nothing.
    #[test]
    fn a_file_of_tests_is_counted_by_its_text() {
        let check = |text: &str, tests: u64, skipped: u64| {
            assert_eq!(count_in(text), SourceCount { tests, skipped }, "{text}");
        };
        check(
            "#!/bin/sh\nset -e\n[ \"$(./add 1 2)\" = 3 ] || exit 1\n[ \"$(./add 2 2)\" = 4 ] || exit 1\n",
            2,
            0,
        );
        check(
            "#!/bin/sh\nset -e\n[ \"$(./add 1 2)\" = 3 ] || exit 1\n# [ \"$(./add 2 2)\" = 4 ] || exit 1\n",
            1,
            0,
        );
        check("#!/bin/sh\n. tests/lib.sh\neq 1 1\neq 2 2\n", 2, 0);
        check("is this one\nis this two\n", 1, 0);
        check("#!/bin/sh\nexit 0\n./a || exit 1\n", 1, 1);
        check("#!/bin/sh\n./run-everything\n", 1, 0);
        check("test_a() {\n  ./a\n}\ntest_b() {\n  ./b\n}\n", 2, 0);
        check("@test \"a\" {\n  skip\n  ./a\n}\n", 1, 1);
        check(concat!("#[test]\n#[", "ignore]\nfn a() {}\n// #[test]\n"), 1, 1);
        check("def test_a():\n    assert 1\n    assert 2\n", 1, 0);
        check("it 'adds' do\n  skip 'later'\nend\n", 1, 1);
        check("use Test::More;\nis(add(1, 2), 3);\nok(1);\n", 2, 0);
        check("", 1, 0);
    }

    #[test]
    fn what_is_taken_away() {
        let check = |diff: &str, expect: &[&str]| assert_eq!(weakened(diff), expect, "{diff}");
        check("--- a/t.rs\n+++ b/t.rs\n-    assert_eq!(a, 1);\n+    assert_eq!(a, 2);\n", &[]);
        check("--- a/t.rs\n+++ b/t.rs\n-    assert_eq!(a, 1);\n", &["an assertion is taken out"]);
        check(concat!("+#[", "ignore]\n #[test]\n"), &["a test is skipped that was not before"]);
        check(
            "-#[test]\n-fn a() {\n-    assert!(x);\n-    assert!(y);\n-}\n",
            &["a test is taken out", "2 assertions are taken out"],
        );
        check("deleted file mode 100644\n--- a/t\n+++ /dev/null\n-x\n", &["the test file is deleted"]);
        check("+def test_new():\n+    assert 1\n", &[]);
        check("-ä\n", &[]);
    }
}
