//! Whether words name a proof that is there: a file with its line, a test that passed, a command of the plan that ran.
//! Must never take words alone for a proof; whether the proof shows what it should is for whoever named it.

use super::{Outcome, TestReport};

/// What named proofs are looked up in.
pub struct ProofFacts<'a> {
    /// How many lines a file of the delivery has; nothing when it is not there, or is no proof.
    pub lines: &'a dyn Fn(&str) -> Option<usize>,
    /// What the tests said, where they ran.
    pub tests: Option<&'a TestReport>,
    /// Commands that were run on this delivery and passed.
    pub commands: &'a [String],
}

/// The first proof that words name and that is there.
pub fn named_proof(words: &str, facts: &ProofFacts<'_>) -> Option<String> {
    let command =
        facts.commands.iter().find(|command| !command.is_empty() && words.contains(command.as_str()));
    let command = command.map(|command| format!("`{command}` passed"));
    command.or_else(|| tokens(words).find_map(|token| file(token, facts).or_else(|| test(token, facts))))
}

/// Words as they may name something: without quotes, brackets and the end of a sentence.
fn tokens(words: &str) -> impl Iterator<Item = &str> {
    let around = |c: char| "`\"'()[]{}<>,;!?*".contains(c) || c == '.' || c == ':';
    words.split_whitespace().map(move |word| {
        let word = word.trim_end_matches(around);
        let word = word.trim_start_matches(|c: char| around(c) && c != '.');
        word.trim_start_matches("./")
    })
}

/// `src/a.rs`, `src/a.rs:12` or `src/a.rs:12-14`: the file is there, and has such a line.
fn file(token: &str, facts: &ProofFacts<'_>) -> Option<String> {
    if let Some(lines) = (facts.lines)(token) {
        return (lines > 0).then(|| token.to_owned());
    }
    let (path, place) = token.split_once(':')?;
    let last = place.split([':', '-', ',']).next().unwrap_or(place);
    let line: usize = last.trim_start_matches('L').parse().ok()?;
    let lines = (facts.lines)(path)?;
    (line > 0 && line <= lines).then(|| format!("{path}:{line}"))
}

/// A test of this name, whole or without its module, that passed.
fn test(token: &str, facts: &ProofFacts<'_>) -> Option<String> {
    let bare = |name: &str| name.rsplit([':', '/', '.', ' ']).next().unwrap_or(name).to_owned();
    // A bare word is no test's name: `works` stands in many sentences.
    let named = token.contains(['_', ':', '.']) || token.starts_with("Test");
    let tests = facts.tests.filter(|_| named && !token.is_empty())?;
    let passed = tests.tests.iter().filter(|(_, outcome)| **outcome == Outcome::Passed);
    let found = passed.map(|(name, _)| name).find(|name| *name == token || bare(name) == token)?;
    Some(format!("test {found} passes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_a_proof() {
        let lines = |path: &str| match path {
            "src/a.rs" => Some(20),
            "empty.rs" => Some(0),
            "Makefile" => Some(3),
            _ => None,
        };
        let outcomes = [("calc::adds_up", Outcome::Passed), ("calc::fails_now", Outcome::Failed)];
        let outcomes = outcomes.map(|(name, outcome)| (name.to_owned(), outcome));
        let tests = TestReport::of("cargo", outcomes);
        let commands = ["sh bin/one.sh".to_owned()];
        let facts = ProofFacts { lines: &lines, tests: Some(&tests), commands: &commands };
        for (words, expect) in [
            ("src/a.rs:12 does it", Some("src/a.rs:12")),
            ("see `src/a.rs:12-14`.", Some("src/a.rs:12")),
            ("it is in (./src/a.rs)", Some("src/a.rs")),
            ("Makefile shows it", Some("Makefile")),
            ("src/a.rs:21 does it", None),
            ("src/a.rs:0 does it", None),
            ("src/b.rs:1 does it", None),
            ("empty.rs", None),
            ("the test adds_up covers it", Some("test calc::adds_up passes")),
            ("calc::adds_up", Some("test calc::adds_up passes")),
            ("fails_now covers it", None),
            ("it plainly works", None),
            ("asked three people, they rejoice", None),
            ("`sh bin/one.sh` prints it", Some("`sh bin/one.sh` passed")),
            ("sh bin/two.sh prints it", None),
            ("", None),
        ] {
            assert_eq!(named_proof(words, &facts).as_deref(), expect, "{words}");
        }
    }
}
