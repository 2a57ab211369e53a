//! Finds tests that a change switches off by defining another one of the same name.
//!
//! In Python, Ruby, Perl and shell the last definition of a name counts, and no runner says that there were two. The
//! count of the tests stays the same, so only the text of the file shows it.

use super::{Regression, RegressionKind};
use std::collections::BTreeMap;

/// How a language treats a second definition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    /// A second class of a name replaces the first one with all its tests.
    Python,
    /// A second class of a name adds to the first one, and only its methods replace others.
    Ruby,
    /// Functions of the whole file.
    Script,
}

/// The tests of a file that never run, because a change defines their name a second time.
///
/// A name that was defined as often before is not the change's doing.
pub fn shadowed(path: &str, before: &str, now: &str) -> Vec<Regression> {
    let language = match path.rsplit_once('.').map(|(_, end)| end) {
        Some("py") => Language::Python,
        Some("rb") => Language::Ruby,
        Some("sh" | "bash" | "t" | "pl" | "pm" | "js" | "cjs") => Language::Script,
        _ => return Vec::new(),
    };
    let was = definitions(language, before);
    let twice = definitions(language, now)
        .into_iter()
        .filter(|(key, count)| *count > 1 && *count > was.get(key).copied().unwrap_or_default());
    twice
        .map(|(name, _)| Regression {
            kind: RegressionKind::FewerTests,
            test: Some(name),
            detail: format!("{path} defines it a second time, so the first one never runs"),
        })
        .collect()
}

/// A block that the lines below it stand in.
struct Block {
    depth: usize,
    /// The name that its tests are known by; none where a definition is not one of the file's own.
    name: Option<String>,
    /// The name of a class, until it has a test.
    class: Option<String>,
}

/// How often each test, and each class with tests, is defined in one place.
fn definitions(language: Language, text: &str) -> BTreeMap<String, usize> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    let mut blocks: Vec<Block> = Vec::new();
    for line in code_lines(language, text) {
        let (bare, depth) = (line.trim(), line.len() - line.trim_start().len());
        // A bracket that closes a block, and a word that ends one, are no statements of their own.
        if bare.is_empty() || bare.starts_with(['#', ')', ']', '}', '@']) || bare == "end" {
            continue;
        }
        while blocks.last().is_some_and(|block| block.depth >= depth) {
            blocks.pop();
        }
        let place = match blocks.last() {
            Some(block) => block.name.clone(),
            None => Some(String::new()),
        };
        let (test, class) = (test_name(language, bare), class_name(language, bare));
        if let (Some(place), Some(test)) = (&place, test) {
            *found.entry(format!("{place}{test}")).or_default() += 1;
            // A class counts once it has a test: other classes of one name are no business of a runner.
            if let Some(class) = blocks.last_mut().and_then(|block| block.class.take()) {
                *found.entry(class).or_default() += 1;
            }
        }
        let name = match (place, class) {
            (Some(place), Some(class)) => {
                let own = format!("{place}{class}");
                let nth = classes.entry(own.clone()).or_default();
                *nth += usize::from(language == Language::Python);
                // Methods of a second Python class do not meet those of the first.
                let again = if *nth > 1 { format!("{own} ({nth}).") } else { format!("{own}.") };
                let class = (language == Language::Python).then_some(own);
                blocks.push(Block { depth, name: Some(again), class });
                continue;
            }
            _ => None,
        };
        blocks.push(Block { depth, name, class: None });
    }
    found
}

/// The lines without those of strings that go over several lines: a test may write a file of tests.
fn code_lines(language: Language, text: &str) -> Vec<&str> {
    let mut open: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let was_open = open.is_some();
        if language == Language::Python {
            let mut rest = line;
            loop {
                let next = match open {
                    Some(mark) => rest.find(mark).map(|at| (at, mark)),
                    None => ["\"\"\"", "'''"].iter().filter_map(|m| rest.find(m).map(|at| (at, *m))).min(),
                };
                let Some((at, mark)) = next else { break };
                open = if open.is_some() { None } else { Some(mark) };
                rest = &rest[at + 3..];
            }
        }
        if !was_open {
            lines.push(line);
        }
    }
    lines
}

fn word(rest: &str) -> Option<&str> {
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

fn test_name(language: Language, line: &str) -> Option<&str> {
    let rest = match language {
        Language::Python => line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ")?,
        Language::Ruby => line.strip_prefix("def ")?,
        Language::Script => match line.strip_prefix("function ").or_else(|| line.strip_prefix("sub ")) {
            Some(rest) => rest,
            // `test_x() {` of a shell; `test_x()` alone is a call in other languages.
            None => line.split_once("()").filter(|(_, rest)| rest.trim_start().starts_with('{'))?.0,
        },
    };
    word(rest.trim_start()).filter(|name| name.starts_with("test"))
}

fn class_name(language: Language, line: &str) -> Option<&str> {
    let rest = line.strip_prefix("class ").or_else(|| {
        let module = line.strip_prefix("module ");
        module.filter(|_| language == Language::Ruby)
    });
    rest.filter(|_| language != Language::Script).and_then(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, before: &str, now: &str, expect: &[&str]) {
        let found = shadowed(path, before, now);
        let found: Vec<&str> = found.iter().filter_map(|one| one.test.as_deref()).collect();
        assert_eq!(found, expect, "{path}: {now}");
    }

    const CLASS: &str = "import unittest\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        \
         self.assertEqual(add(1, 2), 3)\n\n    def test_half(self):\n        self.assertEqual(half(4), 2)\n";

    #[test]
    fn a_second_test_of_a_name_switches_the_first_off() {
        let method = format!("{CLASS}\n    def test_add(self):\n        self.assertTrue(add)\n");
        check("tests/test_calc.py", CLASS, &method, &["TestCalc.test_add"]);
        let class =
            format!("{CLASS}\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        pass\n");
        check("tests/test_calc.py", CLASS, &class, &["TestCalc"]);
        let function = "def test_a():\n    assert a()\n";
        check("test_a.py", function, &format!("{function}\nasync def test_a():\n    pass\n"), &["test_a"]);
        let ruby = "class CalcTest < Minitest::Test\n  def test_a\n    assert a\n  end\nend\n";
        check("test/calc_test.rb", ruby, &format!("{ruby}{ruby}"), &["CalcTest.test_a"]);
        let shell = "test_a() {\n  ./a\n}\n";
        check("tests/a.sh", shell, &format!("{shell}test_a() {{\n  :\n}}\ntest_a\n"), &["test_a"]);
        let perl = "sub test_a {\n    ok(a());\n}\n";
        check("t/a.t", perl, &format!("{perl}sub test_a {{\n}}\n"), &["test_a"]);
    }

    #[test]
    fn other_tests_of_a_name_are_no_second_one() {
        let other = CLASS.replace("TestCalc", "TestOther");
        check("tests/test_calc.py", CLASS, &format!("{CLASS}\n\n{other}"), &[]);
        // It was so before.
        let twice = format!("{CLASS}\n\n{CLASS}");
        check(
            "tests/test_calc.py",
            &twice,
            &format!("{twice}\n    def test_new(self):\n        pass\n"),
            &[],
        );
        let either = "if old:\n    def test_a():\n        pass\nelse:\n    def test_a():\n        assert 1\n";
        check("test_a.py", "", either, &[]);
        let inside = "def test_a():\n    def test_x():\n        pass\n    def test_x():\n        pass\n";
        check("test_a.py", "", inside, &[]);
        let text = "def test_a():\n    write(\"\"\"\ndef test_a():\n    pass\n\"\"\")\n";
        check("test_a.py", "", text, &[]);
        let helpers =
            "class A:\n    def one(self):\n        pass\n\n\nclass A:\n    def one(self):\n        pass\n";
        check("test_a.py", "", helpers, &[]);
        check("tests/a.rs", "", "#[test]\nfn a() {}\n#[test]\nfn a() {}\n", &[]);
        // A long signature ends with a bracket at the left.
        let long = "class TestA:\n    def test_a(\n        self,\n    ):\n        pass\n\n    def test_b(self):\n        pass\n";
        check("test_a.py", "", long, &[]);
    }
}
