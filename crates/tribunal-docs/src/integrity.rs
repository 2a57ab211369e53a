//! Whether a change weakens what judges it: tests deleted or skipped, assertions taken out, configuration of CI and
//! lints. Must never decide: what it finds is shown to whoever reviews.

/// Whether a path looks like a test, in the ways of the common languages.
pub fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    let folder = lower
        .split('/')
        .rev()
        .skip(1)
        .any(|part| ["test", "tests", "__tests__", "spec", "specs"].contains(&part));
    let named =
        stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_tests") || stem == "tests";
    folder || named || name.contains(".test.") || name.contains(".spec.")
}

/// Whether a path configures CI or the hooks of git: what runs elsewhere, with other people's rights.
pub fn is_ci(path: &str) -> bool {
    const FOLDERS: [&str; 6] =
        [".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".husky/", ".githooks/"];
    const NAMES: [&str; 5] =
        [".gitlab-ci.yml", "azure-pipelines.yml", "jenkinsfile", ".travis.yml", ".pre-commit-config.yaml"];
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    FOLDERS.iter().any(|folder| lower.starts_with(folder)) || NAMES.contains(&name)
}

/// Whether a path configures a lint.
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

/// What a diff of a test file takes away: the file, tests, assertions; and what it skips.
pub fn weakened(diff: &str) -> Vec<String> {
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

fn is_skip(line: &str) -> bool {
    const MARKS: [&str; 12] = [
        concat!("#[", "ignore"),
        "@pytest.mark.skip",
        "@pytest.mark.xfail",
        "@unittest.skip",
        "pytest.skip(",
        "it.skip(",
        "test.skip(",
        "describe.skip(",
        "xit(",
        "xdescribe(",
        "t.Skip(",
        "@Disabled",
    ];
    MARKS.iter().any(|mark| line.contains(mark))
}

fn is_test_head(line: &str) -> bool {
    const HEADS: [&str; 8] =
        ["#[test]", "#[tokio::test", "def test_", "async def test_", "it(", "test(", "func Test", "@Test"];
    HEADS.iter().any(|head| line.starts_with(head))
}

fn is_assertion(line: &str) -> bool {
    const WORDS: [&str; 9] =
        ["assert", "expect(", "should(", ".should.", "require.", "t.Error", "t.Fatal", "ASSERT_", "EXPECT_"];
    WORDS.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for path in [
            "tests/a.rs",
            "src/a_test.go",
            "web/x.spec.ts",
            "pkg/test_x.py",
            "src/__tests__/b.js",
            "a/tests.rs",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/contest.rs", "latest.py", "src/attestation/x.rs", "testing.md"] {
            assert!(!is_test(path), "{path}");
        }
        for path in [".github/workflows/ci.yml", ".githooks/pre-push", "sub/Jenkinsfile"] {
            assert!(is_ci(path), "{path}");
        }
        for path in ["clippy.toml", "sub/.eslintrc.json"] {
            assert!(is_lint(path) && !is_ci(path), "{path}");
        }
        assert!(!is_ci("src/github/workflows/x.rs"));
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
