//! Recognises tests that have another name or another place and are still the same.
//!
//! A test whose name is gone may have been removed. It still exists where a new test has the same lines: its own, from
//! the one that names it to the end of its body, with the new name in the place of the old one. Subtests of Go are
//! followed by the text from which Go makes their names (`subtests`). Any other name that only a runner makes up, and that
//! stands in no line of a file, is not followed.

use super::regression::{Regression, RegressionKind};
use super::subtests;
use std::collections::BTreeSet;

/// A changed file, before and now.
pub struct ChangedText {
    /// The path of the file.
    pub path: String,
    /// The text before the change; empty if the file is new.
    pub before: String,
    /// The text after the change; empty if the file is gone.
    pub now: String,
}

/// The name of a test in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name<'a> {
    /// The file, if the runner names it.
    file: Option<&'a str>,
    /// The name of the test itself.
    own: &'a str,
    /// The case of a test that runs for several, such as `[0.5]`.
    case: &'a str,
}

impl<'a> Name<'a> {
    fn of(test: &'a str) -> Name<'a> {
        // `test_adds (calc.CalcTest.test_adds)`, as unittest prints it.
        let bare = match test.split_once(" (") {
            Some((name, place)) if place.ends_with(')') && !name.contains(' ') => name,
            _ => test,
        };
        let (bare, case) = match bare.find('[') {
            Some(at) if at > 0 && bare.ends_with(']') => bare.split_at(at),
            _ => (bare, ""),
        };
        let file = bare.split_once("::").map(|(file, _)| file).filter(|file| file.contains('.'));
        // A name in words, as Jest has them, may contain any of the separators below.
        let words = bare.contains(char::is_whitespace);
        let own = if words { bare } else { bare.rsplit("::").next().unwrap_or(bare) };
        // `CartTest > adds` and `shop.CartTest.adds`: the name behind that of a class.
        let is_class = |name: &str| {
            let last = name.rsplit('.').next().unwrap_or(name);
            last.starts_with(|c: char| c.is_ascii_uppercase())
                && last.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        let behind =
            |mark: &str| own.rsplit_once(mark).filter(|(class, _)| is_class(class)).map(|(_, own)| own);
        Name { file, own: behind(" > ").or_else(|| behind(".")).unwrap_or(own), case }
    }

    fn is_in(&self, path: &str) -> bool {
        self.file.is_none_or(|file| path == file || path.ends_with(&format!("/{file}")))
    }
}

/// Removes from what got worse the tests that still exist under another name or in another place.
///
/// `new` are names that passed now and did not exist before. Each stands for one removed test only, or a single new
/// test could excuse many.
pub fn without_renamed(
    worse: Vec<Regression>,
    new: &BTreeSet<String>,
    files: &[ChangedText],
) -> Vec<Regression> {
    let mut fresh: Vec<&String> = new.iter().collect();
    let mut is_there = |one: &Regression| {
        let Some(gone) = one.test.as_deref().filter(|_| one.kind == RegressionKind::FewerTests) else {
            return false;
        };
        // A new test that stands for one that is gone is used up.
        let is_it = |new: &&String| {
            is_same(&Name::of(gone), &Name::of(new), files) || subtests::is_same(gone, new, files)
        };
        let at = fresh.iter().position(is_it);
        at.map(|at| fresh.remove(at)).is_some()
    };
    worse.into_iter().filter(|one| !is_there(one)).collect()
}

/// Whether a new test has the lines of one that is gone.
fn is_same(gone: &Name<'_>, new: &Name<'_>, files: &[ChangedText]) -> bool {
    // Other parameters are another test, even with the same lines.
    if gone.case != new.case {
        return false;
    }
    let now = files.iter().filter(|file| new.is_in(&file.path)).flat_map(|file| bodies(&file.now, new.own));
    let now: Vec<Vec<String>> = now.collect();
    let was = files.iter().filter(|file| gone.is_in(&file.path));
    let mut was = was.flat_map(|file| bodies(&file.before, gone.own));
    was.any(|body| {
        let renamed: Vec<String> = body.iter().map(|line| with(line, gone.own, new.own)).collect();
        now.contains(&renamed)
    })
}

/// The lines of everything that has this name and a body: the line with the name, and all lines below it that are
/// indented deeper. A line of brackets alone ends it.
///
/// A line without a body only mentions the name, as a call or a comment does.
pub(super) fn bodies(text: &str, name: &str) -> Vec<Vec<String>> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, head) in lines.iter().enumerate().filter(|(_, line)| find_word(line, name).is_some()) {
        let inside = |line: &&&str| line.trim().is_empty() || depth(line) > depth(head);
        let body = lines[at + 1..].iter().take_while(inside).map(|line| line.trim());
        let mut body: Vec<String> = std::iter::once(head.trim())
            .chain(body)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        // A single line mentions the name and tests nothing.
        if body.len() > 1 {
            let end = lines[at + 1..].iter().find(|line| !inside(line)).map(|line| line.trim());
            let closes = |line: &&str| line.chars().all(|c| "})];,".contains(c));
            body.extend(end.filter(closes).map(str::to_owned));
            found.push(body);
        }
    }
    found
}

/// A line with one whole word, or words, replaced by another.
fn with(line: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = find_word(rest, old) {
        out.push_str(&rest[..at]);
        out.push_str(new);
        rest = &rest[at + old.len()..];
    }
    out.push_str(rest);
    out
}

fn find_word(line: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: usize| {
        !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part) && !word.is_empty()
    };
    line.match_indices(word).map(|(at, _)| at).find(|at| whole(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        for (test, file, own, case) in [
            ("tests/test_a.py::TestSum::test_adds", Some("tests/test_a.py"), "test_adds", ""),
            ("tests/test_a.py::test_half[0.5]", Some("tests/test_a.py"), "test_half", "[0.5]"),
            ("a.py::test_x[b::c]", Some("a.py"), "test_x", "[b::c]"),
            ("tests::adds", None, "adds", ""),
            ("test_adds (calc.CalcTest.test_adds)", None, "test_adds", ""),
            ("shop.CartTest.adds", None, "adds", ""),
            ("CartTest > adds two", None, "adds two", ""),
            ("numbers may be > 0", None, "numbers may be > 0", ""),
            ("adds 1.5 and 2", None, "adds 1.5 and 2", ""),
            ("a.sh", None, "a.sh", ""),
            ("adds - should panic", None, "adds - should panic", ""),
            ("TestAdd/zero", None, "TestAdd/zero", ""),
        ] {
            assert_eq!(Name::of(test), Name { file, own, case }, "{test}");
        }
    }

    fn left(gone: &[&str], new: &[&str], files: &[(&str, &str, &str)]) -> Vec<String> {
        let worse = gone.iter().map(|test| Regression {
            kind: RegressionKind::FewerTests,
            test: Some((*test).to_owned()),
            detail: "it is gone".to_owned(),
        });
        let new = new.iter().map(|name| (*name).to_owned()).collect();
        let file = |(path, before, now): &(&str, &str, &str)| ChangedText {
            path: (*path).to_owned(),
            before: (*before).to_owned(),
            now: (*now).to_owned(),
        };
        let left = without_renamed(worse.collect(), &new, &files.iter().map(file).collect::<Vec<_>>());
        left.into_iter().filter_map(|one| one.test).collect()
    }

    const BEFORE: &str =
        "def test_one():\n    assert add(1, 2) == 3\n\ndef test_two():\n    assert add(2, 2) == 4\n";

    #[test]
    fn a_renamed_test_is_the_same_and_another_test_is_not() {
        let check = |new: &[&str], now: &str, expect: &[&str]| {
            assert_eq!(left(&["t.py::test_one"], new, &[("t.py", BEFORE, now)]), expect, "{now}");
        };
        let better = BEFORE.replace("test_one", "test_adds_small");
        check(&["t.py::test_adds_small"], &better, &[]);
        check(
            &["t.py::test_three", "t.py::test_adds_small"],
            &format!("{better}\ndef test_three(): ...\n"),
            &[],
        );
        // Its check is another, or another test has its place.
        check(&["t.py::test_adds_small"], &better.replace("== 3", "!= 9"), &["t.py::test_one"]);
        check(&["t.py::test_three"], "def test_three():\n    pass\n", &["t.py::test_one"]);
        check(&[], &better, &["t.py::test_one"]);
        let js = "test('adds', () => {\n  equal(add(1, 2), 3);\n});\n";
        let titled = js.replace("adds", "adds two numbers");
        assert!(left(&["adds"], &["adds two numbers"], &[("t.js", js, &titled)]).is_empty());
        // Two that are gone are not one that is new.
        let one = better.replace("def test_two():\n    assert add(2, 2) == 4\n", "");
        let both = left(
            &["t.py::test_one", "t.py::test_two"],
            &["t.py::test_adds_small"],
            &[("t.py", BEFORE, &one)],
        );
        assert_eq!(both, ["t.py::test_two"]);
    }

    #[test]
    fn a_moved_test_is_the_same_where_its_lines_are() {
        let moved = |body: &str| {
            let now = format!(
                "mod tests {{\n    use super::*;\n\n    #[test]\n    fn adds() {{\n        {body}\n    }}\n}}\n"
            );
            let before = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n";
            left(&["adds"], &["tests::adds"], &[("tests/it.rs", before, ""), ("src/lib.rs", "", &now)])
        };
        assert!(moved("assert_eq!(add(1, 2), 3);").is_empty());
        assert_eq!(moved("assert!(true);"), ["adds"]);
    }

    #[test]
    fn what_only_names_a_test_proves_nothing() {
        let notes = ("NOTES.md", "Run test_one first.\n", "Run test_y first.\n");
        let gutted = ("t.py", BEFORE, "def test_y():\n    assert add(1, 2)\n");
        assert_eq!(left(&["t.py::test_one"], &["t.py::test_y"], &[notes, gutted]), ["t.py::test_one"]);
        // Another file's test of the same name is another test.
        let renamed = ("a.py", BEFORE, &*BEFORE.replace("test_one", "test_y"));
        let taken = ("b.py", "def test_one():\n    assert sub(1, 2) == 3\n", "");
        let both = left(&["a.py::test_one", "b.py::test_one"], &["a.py::test_y"], &[renamed, taken]);
        assert_eq!(both, ["b.py::test_one"]);
        // Another case of a test is another test.
        let half = "def test_half(n):\n    assert add(0, n) == n\n";
        let cases = left(&["t.py::test_half[0.5]"], &["t.py::test_half[2.5]"], &[("t.py", half, half)]);
        assert_eq!(cases, ["t.py::test_half[0.5]"]);
    }
}
