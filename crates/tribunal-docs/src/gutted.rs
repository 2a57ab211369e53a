//! Tests that keep their names and check less: bodies without an assertion, assertions that are switched off or defined
//! anew, and lists of cases that got shorter.
//!
//! A runner counts such tests as it did before, so only the text shows it. Lines are read and not syntax trees, in the
//! same way for every language. Whatever is found here is a question to the reviewer and never a verdict.

use crate::integrity::{is_assertion, is_comment, is_test};
use std::collections::{BTreeMap, BTreeSet};

/// Folders of tests, and of what tests compare with.
const FOLDERS: [&str; 8] = ["test", "tests", "__tests__", "spec", "specs", "testdata", "fixtures", "t"];

/// The names in a file of tests whose body checked something before the change and checks nothing now.
///
/// Helpers count as tests do: a helper that all tests call is the cheapest place to take their assertions away. A body
/// that calls another name of its file checks what that one checks.
pub fn gutted(path: &str, before: &str, now: &str) -> Vec<String> {
    let (Some(was), Some(is)) = (tests_of(path, before), tests_of(path, now)) else { return Vec::new() };
    let (was, is) = (checks_by_name(was), checks_by_name(is));
    let lost = |(name, before): &(String, bool)| *before && is.get(name) == Some(&false);
    was.into_iter().filter(lost).map(|(name, _)| name).collect()
}

/// The part of a file that tests: all of a test file, and of a Rust source what follows its first `#[cfg(test)]`.
fn tests_of<'a>(path: &str, text: &'a str) -> Option<&'a str> {
    // `t/lib/Helper.pm` is not a test by its name, but only tests load it.
    let helper = [".pm", ".pl", ".sh", ".bash"].iter().any(|end| path.ends_with(end)) && below(path, &["t"]);
    if is_test(path) || helper {
        return Some(text);
    }
    let inline = path.ends_with(".rs").then(|| text.find("#[cfg(test)]"))?;
    inline.map(|at| &text[at..])
}

fn below(path: &str, folders: &[&str]) -> bool {
    path.to_ascii_lowercase().split('/').rev().skip(1).any(|part| folders.contains(&part))
}

/// Whether each test and function of a text checks something, itself or through another one of the same text.
fn checks_by_name(text: &str) -> BTreeMap<String, bool> {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut bodies: Vec<(String, Vec<&str>)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        // In some styles the brace has a line of its own.
        let brace = lines.get(at + 1).is_some_and(|next| next.trim() == "{");
        let Some((name, rest)) = head(line.trim(), brace) else { continue };
        let inside = lines[at + 1 + usize::from(brace)..]
            .iter()
            .take_while(|other| other.trim().is_empty() || depth(other) > depth(line));
        bodies.push((name, std::iter::once(rest).chain(inside.map(|line| line.trim())).collect()));
    }
    let direct = |(_, body): &&(String, Vec<&str>)| body.iter().any(|line| checks(line));
    let checking: BTreeSet<&str> = bodies.iter().filter(direct).map(|(name, _)| name.as_str()).collect();
    let mut all = BTreeMap::new();
    for (name, body) in &bodies {
        let calls = |line: &&&str| words(line).any(|word| word != name && checking.contains(word));
        let does = checking.contains(name.as_str()) || body.iter().any(|line| calls(&line));
        *all.entry(name.clone()).or_insert(false) |= does;
    }
    all
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The name of the test or function that a line begins, and the rest of the line behind the name.
fn head(line: &str, brace: bool) -> Option<(String, &str)> {
    if is_comment(line) {
        return None;
    }
    quoted(line).or_else(|| keyword(line)).or_else(|| assigned(line)).or_else(|| typed(line, brace))
}

/// `it("adds", () => {`, `@test "adds" {`, `subtest 'adds' => sub {`, `TEST(Calc, adds) {`.
fn quoted(line: &str) -> Option<(String, &str)> {
    const BEGINS: [&str; 11] = [
        "it",
        "test",
        "specify",
        "Deno.test",
        "t.Run",
        "b.Run",
        "subtest",
        "@test",
        "TEST_CASE",
        "scenario",
        "SECTION",
    ];
    if let Some(rest) = ["TEST(", "TEST_F(", "TEST_P("].iter().find_map(|begin| line.strip_prefix(begin)) {
        let (name, rest) = rest.split_once(')')?;
        return Some((name.to_owned(), rest));
    }
    let rest = BEGINS.iter().find_map(|begin| {
        let rest = line.strip_prefix(begin)?;
        rest.strip_prefix('(').or_else(|| rest.strip_prefix(' ')).map(str::trim_start)
    })?;
    let quote = rest.chars().next().filter(|c| "\"'`".contains(*c))?;
    let (name, rest) = rest[1..].split_once(quote)?;
    Some((name.to_owned(), rest))
}

/// `def adds(self):`, `pub fn adds() {`, `func (s *Suite) TestAdds() {`, `sub adds {`.
fn keyword(line: &str) -> Option<(String, &str)> {
    const WORDS: [&str; 6] = ["def", "fn", "func", "function", "sub", "fun"];
    let mut rest = line;
    loop {
        let (word, behind) = rest.split_once(' ')?;
        rest = behind.trim_start();
        if WORDS.contains(&word) {
            break;
        }
        // Words such as `pub`, `async` and `pub(crate)` stand before it, and nothing else.
        if !word.chars().all(|c| c.is_ascii_alphabetic() || "()".contains(c)) {
            return None;
        }
    }
    // The receiver of a method of Go.
    let rest = if rest.starts_with('(') { rest.split_once(") ")?.1 } else { rest };
    named(rest)
}

/// `const adds = () => {`, `let adds = function () {`.
fn assigned(line: &str) -> Option<(String, &str)> {
    let rest =
        ["const ", "let ", "var ", "export const "].iter().find_map(|begin| line.strip_prefix(begin))?;
    let (name, rest) = rest.split_once(" = ")?;
    (rest.contains("=>") || rest.contains("function")).then(|| (name.trim().to_owned(), rest))
}

/// `static void adds(void) {`, `public void adds() throws X {`, and `adds() {` of a shell.
fn typed(line: &str, brace: bool) -> Option<(String, &str)> {
    const CONTROL: [&str; 16] = [
        "if", "for", "while", "switch", "catch", "else", "return", "do", "try", "match", "loop", "unless",
        "with", "}", "new", "until",
    ];
    let (before, rest) = line.split_once('(')?;
    let opens = line.contains('{') || (brace && line.ends_with(')'));
    let plain = |c: char| c.is_alphanumeric() || "_ *&<>[],:~".contains(c);
    let first = before.split(' ').next().unwrap_or_default();
    if !opens || line.ends_with(';') || CONTROL.contains(&first) || !before.chars().all(plain) {
        return None;
    }
    let name = before.rsplit([' ', '*', '&', ':']).next().filter(|name| !name.is_empty())?;
    // A call with a block (`describe("x", () => {`) has no type before its name, a function of a shell no arguments.
    let is_function = before.trim_end() != name || rest.starts_with(')');
    is_function.then(|| (name.to_owned(), rest))
}

fn named(rest: &str) -> Option<(String, &str)> {
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "_!?".contains(c))).unwrap_or(rest.len());
    (end > 0).then(|| (rest[..end].to_owned(), &rest[end..]))
}

/// Whether a line can make a test fail.
fn checks(line: &str) -> bool {
    const BEGINS: [&str; 8] = ["[ ", "[[ ", "test ", "grep -q", "diff ", "cmp ", "if ! ", "! "];
    const FAILS: [&str; 24] = [
        "abort(",
        "exit(1",
        "exit(EXIT_FAILURE",
        "exit 1",
        "panic(",
        "panic!(",
        "raise ",
        "raise(",
        "throw ",
        "die ",
        "die(",
        "croak",
        "confess",
        "return 1",
        "failures++",
        "failures +=",
        "failed++",
        "errors++",
        "fail(",
        "fail!(",
        "t.Fail",
        "like(",
        "verify(",
        "REQUIRE(",
    ];
    /// An assertion that holds whatever the code does.
    const EMPTY: [&str; 14] = [
        "assert True",
        "assert 1",
        "assert!(true",
        "assert(true",
        "assert(1)",
        "assert(True",
        "assertTrue(true",
        "assertTrue(True",
        "expect(true)",
        "assert.ok(true",
        "assertEquals(1, 1",
        "assertEqual(1, 1",
        "ok(1",
        "assert_eq!(1, 1",
    ];
    !is_comment(line)
        && !EMPTY.iter().any(|word| line.contains(word))
        && (is_assertion(line)
            || BEGINS.iter().any(|begin| line.starts_with(begin))
            || FAILS.iter().any(|word| line.contains(word)))
}

/// How a change takes the effect of assertions away without touching one: it switches them off, or defines one anew.
pub fn without_effect(path: &str, before: &str, now: &str) -> Vec<String> {
    const PROSE: [&str; 4] = [".md", ".rst", ".adoc", ".txt"];
    if PROSE.iter().any(|end| path.ends_with(end)) && !path.ends_with("CMakeLists.txt") {
        return Vec::new();
    }
    let old: BTreeSet<&str> = before.lines().map(str::trim).collect();
    let new = now.lines().map(str::trim).filter(|line| !old.contains(line) && !is_comment(line));
    let found: BTreeSet<String> = new
        .filter_map(|line| match (switches_off(line), defined_anew(line)) {
            (true, _) => Some("switches assertions off".to_owned()),
            (false, Some(name)) => Some(format!("defines `{name}` anew, which tests assert with")),
            (false, None) => None,
        })
        .collect();
    found.into_iter().collect()
}

fn switches_off(line: &str) -> bool {
    const WORDS: [&str; 11] = [
        "-DNDEBUG",
        "define NDEBUG",
        "b_ndebug=true",
        "PYTHONOPTIMIZE",
        "python -O",
        "python3 -O",
        "enableAssertions>false",
        "enableAssertions = false",
        "-disableassertions",
        "debug-assertions = false",
        "zend.assertions=-1",
    ];
    let cmake = || line.contains("definitions(") && words(line).any(|word| word == "NDEBUG");
    WORDS.iter().any(|word| line.contains(word)) || cmake()
}

/// The name of an assertion that a line defines.
fn defined_anew(line: &str) -> Option<String> {
    const PERL: [&str; 7] = ["ok", "is", "isnt", "like", "unlike", "is_deeply", "cmp_ok"];
    const RUST: [&str; 3] = ["assert", "assert_eq", "assert_ne"];
    const METHODS: [&str; 16] = [
        "assertEqual",
        "assertEquals",
        "assertTrue",
        "assertFalse",
        "assertIs",
        "assertIn",
        "assertRaises",
        "assertNotEqual",
        "assertAlmostEqual",
        "assertIsNone",
        "assertIsNotNone",
        "assertSame",
        "assertThat",
        "assertThrows",
        "assert_equal",
        "assert",
    ];
    let behind = |begin: &str| line.strip_prefix(begin).and_then(named).map(|(name, _)| name);
    let one_of = |begin: &str, names: &[&str]| behind(begin).filter(|name| names.contains(&name.as_str()));
    let c = |name: &String| {
        name == "assert" || name.starts_with("ASSERT_") || name.starts_with("EXPECT_") || name == "REQUIRE"
    };
    one_of("sub ", &PERL)
        .or_else(|| one_of("macro_rules! ", &RUST))
        .or_else(|| one_of("def ", &METHODS))
        .or_else(|| behind("#define ").filter(c))
        .or_else(|| overwritten(line))
}

/// `assert.equal = () => {}`, `TestCase.assertEqual = lambda *_: None`, `globalThis.expect = …`.
fn overwritten(line: &str) -> Option<String> {
    let (left, _) = line.split_once(" = ")?;
    let path = left.chars().all(|c| c.is_alphanumeric() || "_.".contains(c));
    let (owner, last) = left.rsplit_once('.')?;
    let first = owner.split('.').next().unwrap_or_default();
    let library = first == "assert"
        || (["global", "globalThis"].contains(&first) && ["assert", "expect"].contains(&last));
    // `self.assertion = 1` is a field.
    let method =
        last.strip_prefix("assert").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    (path && (library || method)).then(|| left.to_owned())
}

/// How many lines fewer a list of cases has that tests read, such as `tests/cases.txt`.
pub fn fewer_cases(path: &str, before: &str, now: &str) -> usize {
    const ENDS: [&str; 7] = [".txt", ".csv", ".tsv", ".list", ".dat", ".jsonl", ".in"];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let lists = ENDS.iter().any(|end| name.ends_with(end)) && below(path, &FOLDERS);
    if !lists || name.starts_with("requirements") || name == "cmakelists.txt" {
        return 0;
    }
    let lines =
        |text: &str| text.lines().filter(|line| !line.trim().is_empty() && !is_comment(line.trim())).count();
    lines(before).saturating_sub(lines(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_lost_its_last_assertion_is_named() {
        let check = |path: &str, before: &str, now: &str, expect: &[&str]| {
            assert_eq!(gutted(path, before, now), expect, "{now}");
        };
        let rust = "fn add() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n    #[test]\n    fn subs() {\n        assert_eq!(sub(1, 2), 3);\n    }\n}\n";
        let less = rust.replace("assert_eq!(add(1, 2), 3);", "let _ = add(1, 2);");
        check("src/lib.rs", rust, &less, &["adds"]);
        check("tests/it.rs", rust, &less, &["adds"]);
        check("src/lib.rs", rust, &rust.replace("assert_eq!(add(1, 2), 3)", "assert!(true)"), &["adds"]);
        // A test more with as many assertions does not make up for it.
        let swapped = less.replace(
            "    #[test]\n    fn subs",
            "    #[test]\n    fn more() {\n        assert!(x);\n    }\n    #[test]\n    fn subs",
        );
        check("src/lib.rs", rust, &swapped, &["adds"]);
        // Code that is no test may lose its assertions, and a test may be gone, which others see.
        check("src/lib.rs", "fn a() {\n    assert!(x);\n}\n", "fn a() {\n}\n", &[]);
        check("src/lib.rs", rust, &rust.replace("fn adds", "fn adds_small"), &[]);
        let moved = less.replace("let _ = add(1, 2);", "check_sum(1, 2);").replace(
            "mod tests {",
            "mod tests {\n    fn check_sum(a: u32, b: u32) {\n        assert_eq!(add(a, b), 3);\n    }",
        );
        check("src/lib.rs", rust, &moved, &[]);
    }

    #[test]
    fn every_language_names_its_bodies() {
        for (path, before, lost) in [
            (
                "tests/test_a.py",
                "def test_adds(self):\n    self.assertEqual(add(1, 2), 3)\n",
                "self.assertEqual(add(1, 2), 3)",
            ),
            (
                "a_test.go",
                "func TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
                "t.Error(\"no\")",
            ),
            (
                "a.test.js",
                "test('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n",
                "expect(add(1, 2)).toBe(3);",
            ),
            (
                "tests/helper.h",
                "static inline void same(int a, int b) {\n    if (a != b) abort();\n}\n",
                "if (a != b) abort();",
            ),
            ("tests/helper.c", "void same(int a, int b)\n{\n    assert(a == b);\n}\n", "assert(a == b);"),
            ("t/lib/Helper.pm", "sub same {\n    my ($a, $b) = @_;\n    is($a, $b);\n}\n", "is($a, $b);"),
            ("t/lib/Helper.pm", "sub same { is($_[0], $_[1]) }\n", "is($_[0], $_[1])"),
            (
                "src/AddTest.java",
                "    @Test\n    public void adds() throws Exception {\n        assertEquals(3, add(1, 2));\n    }\n",
                "assertEquals(3, add(1, 2));",
            ),
            (
                "test/a.bats",
                "@test \"adds\" {\n  run add 1 2\n  [ \"$output\" = 3 ]\n}\n",
                "[ \"$output\" = 3 ]",
            ),
            (
                "t/helper.sh",
                "same() {\n  [ \"$1\" = \"$2\" ] || exit 1\n}\n",
                "[ \"$1\" = \"$2\" ] || exit 1",
            ),
            (
                "spec/a_spec.rb",
                "it 'adds' do\n  expect(add(1, 2)).to eq(3)\nend\n",
                "expect(add(1, 2)).to eq(3)",
            ),
            (
                "tests/calc.cpp",
                "TEST(Calc, adds) {\n  EXPECT_EQ(3, add(1, 2));\n}\n",
                "EXPECT_EQ(3, add(1, 2));",
            ),
        ] {
            assert_eq!(gutted(path, before, &before.replace(lost, "1")).len(), 1, "{before}");
            assert_eq!(gutted(path, before, before), Vec::<String>::new(), "{before}");
        }
    }

    #[test]
    fn assertions_without_effect() {
        let check = |path: &str, line: &str, expect: usize| {
            assert_eq!(without_effect(path, "", line).len(), expect, "{line}");
            assert_eq!(without_effect(path, line, line).len(), 0, "{line}");
        };
        for line in [
            "CFLAGS += -O2 -DNDEBUG",
            "#define NDEBUG",
            "target_compile_definitions(calc PRIVATE NDEBUG)",
            "\tpython3 -O -m pytest",
            "debug-assertions = false",
            "#define assert(x) ((void)0)",
            "#define EXPECT_EQ(a, b)",
            "macro_rules! assert_eq {",
            "sub is { 1 }",
            "    def assertEqual(self, a, b):",
            "unittest.TestCase.assertEqual = lambda *_: None",
            "assert.equal = () => {};",
            "globalThis.expect = stub;",
        ] {
            check("tests/x", line, 1);
        }
        for line in [
            "#ifdef NDEBUG",
            "#undef NDEBUG",
            "// define NDEBUG for a release",
            "def assert_total(cart):",
            "assert_response = client.get()",
            "result = self.assertRaises(ValueError)",
            "sub island { 1 }",
            "self.assertion = 1",
            "macro_rules! assert_near {",
        ] {
            check("tests/x", line, 0);
        }
        check("README.md", "build with -DNDEBUG", 0);
        check("CMakeLists.txt", "add_definitions(-DNDEBUG)", 1);
    }

    #[test]
    fn a_list_of_cases_that_is_shorter() {
        let check = |path: &str, expect: usize| {
            assert_eq!(fewer_cases(path, "1 2 3\n2 2 4\n\n0 0 0\n", "1 2 3\n"), expect, "{path}");
        };
        check("tests/cases.txt", 2);
        check("pkg/testdata/sums.csv", 2);
        check("src/cases.txt", 0);
        check("tests/requirements.txt", 0);
        check("tests/a.json", 0);
        assert_eq!(fewer_cases("tests/cases.txt", "1 2 3\n", "1 2 4\n2 2 4\n"), 0);
    }
}
