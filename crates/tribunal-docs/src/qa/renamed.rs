//! Tests that have another name or another place and are the same. A test whose name is gone may have been taken out; where
//! a test of the same own name is new elsewhere it was moved, and where the file is the old one with another name in it,
//! it was renamed. A new test with other lines is another test.

use super::regression::{Regression, RegressionKind};
use std::collections::BTreeSet;

/// A test's own name, without the file, module or class it is in.
pub(super) fn own_name(test: &str) -> &str {
    // `test_adds (calc.CalcTest.test_adds)`, as unittest says it.
    let bare = match test.split_once(" (") {
        Some((name, place)) if place.ends_with(')') && !name.contains(' ') => name,
        _ => test,
    };
    let last = bare.rsplit("::").next().unwrap_or(bare);
    let last = last.rsplit(" > ").next().unwrap_or(last);
    // `shop.CartTest.adds`; a title with words may contain a stop.
    let dotted = !last.contains(char::is_whitespace) && !last.ends_with('.');
    if dotted { last.rsplit('.').next().unwrap_or(last) } else { last }
}

/// Takes out of what got worse the tests that were only renamed. `new` are names that passed now and were not there before;
/// `files` are the texts of changed files, before and now.
pub fn without_renamed(
    worse: Vec<Regression>,
    new: &BTreeSet<String>,
    files: &[(String, String)],
) -> Vec<Regression> {
    let gone = |one: &&Regression| one.kind == RegressionKind::FewerTests;
    let names = worse.iter().filter(gone).filter_map(|one| one.test.as_deref()).map(own_name).collect();
    let mut fresh: BTreeSet<&str> = new.iter().map(|name| own_name(name)).collect();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for (before, now) in files {
        known.extend(renamed(before, now, &names, &mut fresh).into_iter().map(str::to_owned));
    }
    let is_known = |one: &Regression| one.test.as_deref().is_some_and(|test| known.contains(own_name(test)));
    worse.into_iter().filter(|one| one.kind != RegressionKind::FewerTests || !is_known(one)).collect()
}

/// Which tests of a file have another name in it now, where every other line is still there. Each new name is used once.
fn renamed<'a>(
    before: &str,
    now: &str,
    gone: &BTreeSet<&'a str>,
    fresh: &mut BTreeSet<&str>,
) -> Vec<&'a str> {
    let lines: BTreeSet<&str> = now.lines().collect();
    let mut pairs: Vec<(&'a str, String)> = Vec::new();
    for old in gone.iter().filter(|old| before.contains(**old)) {
        let named = before.lines().filter(|line| has_word(line, old) && !lines.contains(line));
        let is = |new: &&str| named.clone().any(|line| lines.contains(with(line, old, new).as_str()));
        if let Some(new) = fresh.iter().copied().find(is) {
            fresh.remove(new);
            pairs.push((old, new.to_owned()));
        }
    }
    let again = |line: &str| pairs.iter().fold(line.to_owned(), |line, (old, new)| with(&line, old, new));
    let mut rest = now.lines();
    let is_kept = before.lines().map(again).all(|line| rest.any(|other| other == line));
    pairs.into_iter().filter(|_| is_kept).map(|(old, _)| old).collect()
}

/// A line with one whole word, or words, in the place of another.
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

fn has_word(line: &str, word: &str) -> bool {
    find_word(line, word).is_some()
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
    fn own_names() {
        for (test, own) in [
            ("tests/test_a.py::TestSum::test_adds", "test_adds"),
            ("tests::adds", "adds"),
            ("test_adds (calc.CalcTest.test_adds)", "test_adds"),
            ("shop.CartTest.adds", "adds"),
            ("sum > adds two numbers", "adds two numbers"),
            ("adds 1.5 and 2", "adds 1.5 and 2"),
            ("adds - should panic", "adds - should panic"),
            ("TestAdd/zero", "TestAdd/zero"),
        ] {
            assert_eq!(own_name(test), own);
        }
    }

    fn left(gone: &[&str], new: &[&str], before: &str, now: &str) -> Vec<String> {
        let worse = gone.iter().map(|test| Regression {
            kind: RegressionKind::FewerTests,
            test: Some((*test).to_owned()),
            detail: "it is gone".to_owned(),
        });
        let new = new.iter().map(|name| (*name).to_owned()).collect();
        let left = without_renamed(worse.collect(), &new, &[(before.to_owned(), now.to_owned())]);
        left.into_iter().filter_map(|one| one.test).collect()
    }

    #[test]
    fn a_renamed_test_is_the_same_and_another_test_is_not() {
        let none: [&str; 0] = [];
        let before =
            "def test_one():\n    assert add(1, 2) == 3\n\ndef test_two():\n    assert add(2, 2) == 4\n";
        let check = |new: &[&str], now: &str, expect: &[&str]| {
            assert_eq!(left(&["t.py::test_one"], new, before, now), expect, "{now}");
        };
        let better = before.replace("test_one", "test_adds_small");
        check(&["t.py::test_adds_small"], &better, &none);
        check(
            &["t.py::test_adds_small", "t.py::test_three"],
            &format!("{better}\ndef test_three(): ...\n"),
            &none,
        );
        // Its check is another, or another test has its place.
        check(&["t.py::test_adds_small"], &better.replace("== 3", "!= 9"), &["t.py::test_one"]);
        check(
            &["t.py::test_three"],
            "def test_two():\n    assert add(2, 2) == 4\n\ndef test_three():\n    pass\n",
            &["t.py::test_one"],
        );
        check(&[], &better, &["t.py::test_one"]);
        let js = "test('adds', () => {\n  equal(add(1, 2), 3);\n});\n";
        assert_eq!(left(&["adds"], &["adds two numbers"], js, &js.replace("adds", "adds two numbers")), none);
        // Two that are gone are not one that is new.
        let one = better.replace("def test_two():\n    assert add(2, 2) == 4\n", "");
        let both = left(&["t.py::test_one", "t.py::test_two"], &["t.py::test_adds_small"], before, &one);
        assert_eq!(both, ["t.py::test_one", "t.py::test_two"]);
    }
}
