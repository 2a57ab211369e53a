//! Whether a change makes its tests check less often: a test that returns early, swallows its failure, or is repeated
//! until it passes.
//!
//! Such a test is still there, still counted and still green. Like `integrity`, this reads words and not syntax trees;
//! its findings are shown to the reviewer.

/// What a diff of a test file does to the tests that it changes. The diff has context lines, which say where a test
/// begins.
pub fn unsteady(diff: &str) -> Vec<String> {
    // A file that is on one side only has no hunks: a new one weakens nothing that was there.
    let is_one_sided =
        |line: &str| line.starts_with("new file mode ") || line.starts_with("deleted file mode ");
    if !diff.lines().any(|line| line.starts_with("@@ ")) || diff.lines().any(is_one_sided) {
        return Vec::new();
    }
    let more = |is: fn(&str) -> bool| {
        let count = |sign| changed(diff, sign).filter(|line| is(line)).count();
        count('+') > count('-')
    };
    let mut found = Vec::new();
    if more(is_early_end) {
        found.push("a test may end early that did not before".to_owned());
    }
    if swallows(diff) {
        found.push("a failure in a test is caught that was not before".to_owned());
    }
    if more(is_retry) {
        found.push("a test is repeated until it passes".to_owned());
    }
    found
}

/// The lines that a diff adds or removes, without its headers.
fn changed(diff: &str, sign: char) -> impl Iterator<Item = &str> {
    let header = if sign == '+' { "+++ " } else { "--- " };
    diff.lines()
        .filter(move |line| line.starts_with(sign) && !line.starts_with(header))
        .map(|line| line[1..].trim())
        .filter(|line| !is_comment(line))
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || ["#", "//", "--", "/*", "* "].iter().any(|mark| line.starts_with(mark))
}

/// Whether a line ends a test without a result: a `return` without a value, alone or behind a condition.
fn is_early_end(line: &str) -> bool {
    let bare = line.trim_end_matches([';', '}', ' ']);
    let ends = |word: &str| {
        bare.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with([' ', ')', '{', ':']))
    };
    ends("return")
        || ends("return Ok(())")
        || ends("return 0")
        || ends("return nil")
        || ends("return undefined")
}

/// Whether a change brings a handler that takes a failure and says nothing.
///
/// One that expects a failure has the failure's assertion in it, so a handler with a body of its own does not count
/// here.
fn swallows(diff: &str) -> bool {
    let added: Vec<&str> = changed(diff, '+').collect();
    added.iter().enumerate().any(|(at, line)| {
        // `|| true` of a shell forgives the line that it stands in.
        if ["|| true", "|| :"].iter().any(|word| line.ends_with(word)) {
            return true;
        }
        let Some(rest) = handler(line) else { return false };
        let rest = rest.trim_matches(['{', ' ']);
        let next = added.get(at + 1).copied().unwrap_or_default();
        let silent = |body: &str| {
            body.is_empty()
                || body.starts_with('}')
                || matches!(body.trim_end_matches(';'), "pass" | "return" | "..." | "end")
        };
        if rest.is_empty() { silent(next) } else { silent(rest) }
    })
}

/// What stands behind the head of a handler in its line: `catch (e) {`, `except Exception:`, `rescue => e`.
fn handler(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['}', ' ']);
    if line == "except:" || line.starts_with("except ") || line.starts_with("except:") {
        return Some(line.split_once(':')?.1);
    }
    if line == "rescue" || line.starts_with("rescue ") {
        return Some("");
    }
    let rest = line.strip_prefix("catch")?.trim_start();
    // A promise's `.catch(` and a matcher such as `catchError` are calls.
    if rest.starts_with('{') {
        return Some(rest);
    }
    let (_, rest) = rest.strip_prefix('(')?.split_once(')')?;
    Some(rest)
}

fn is_retry(line: &str) -> bool {
    const MARKS: [&str; 14] = [
        "retry:",
        "retries:",
        "retryTimes(",
        ".retries(",
        "mark.flaky",
        "@flaky",
        "reruns=",
        "--reruns",
        "@RetryingTest",
        "@RepeatedIfExceptionsTest",
        "[Retry(",
        "[RetryFact",
        "flaky_test",
        "rspec-retry",
    ];
    MARKS.iter().any(|mark| line.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_checks_less_often_is_noticed() {
        let check = |lines: &str, expect: &[&str]| {
            let diff = format!("--- a/t\n+++ b/t\n@@ -1 +1 @@\n{lines}");
            assert_eq!(unsteady(&diff), expect, "{lines}");
        };
        let early = &["a test may end early that did not before"][..];
        check(" def test_a(self):\n+        if not os.environ.get(\"FULL\"):\n+            return\n", early);
        check("+  if (!process.env.SLOW) return;\n", early);
        check("+\tif testing.Short() { return }\n", early);
        check("+    if cfg!(x) { return Ok(()); }\n", early);
        let caught = &["a failure in a test is caught that was not before"][..];
        check("+  try {\n   assert.equal(a, 1);\n+  } catch {}\n", caught);
        check("+  } catch (e) {\n+  }\n", caught);
        check("+        except AssertionError:\n+            pass\n", caught);
        check("+  rescue => e\n+  end\n", caught);
        check("+[ \"$(./a)\" = 3 ] || true\n", caught);
        let again = &["a test is repeated until it passes"][..];
        check("-test('adds', () => {\n+test('adds', { retry: 5 }, () => {\n", again);
        check("+jest.retryTimes(3);\n", again);
        check("+@pytest.mark.flaky(reruns=5)\n", again);
    }

    #[test]
    fn ordinary_lines_are_no_such_thing() {
        let check = |lines: &str| {
            let diff = format!("--- a/t\n+++ b/t\n@@ -1 +1 @@\n{lines}");
            assert_eq!(unsteady(&diff), Vec::<String>::new(), "{lines}");
        };
        check("+    return add(1, 2)\n");
        check("-        return\n+            return\n");
        check("+  } catch (e) {\n+    expect(e.message).toBe('x');\n+  }\n");
        check("+        except ValueError as error:\n+            self.assertEqual(str(error), \"x\")\n");
        check("+    # if not slow: return\n");
        check("-  retry: 5,\n+  retry: 3,\n");
        check("+  promise.catch(done);\n");
        assert!(unsteady("new file mode 100644\n+++ b/t\n@@ -0,0 +1 @@\n+    return\n").is_empty());
        assert!(unsteady("+    return\n").is_empty());
        check("+ä\n");
    }
}
