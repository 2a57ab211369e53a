//! Whether words name a proof of a must-have. A proof can be looked up: a place in what is delivered, a test that ran
//! and passed on it, or a command of the plan that was run on it and passed.
//!
//! Words alone are never a proof, nor is something that exists but is beside the point. A place must hold what the
//! must-have names by name. Where the must-have names nothing, the place must be part of the change and share its
//! words. A place in the change that does neither needs a test or command that passes beside it.

use super::{Outcome, TestReport};
use crate::integrity;
use crate::review::significant;
use std::collections::BTreeSet;

/// Where named proofs are looked up.
pub struct ProofFacts<'a> {
    /// The text of a file of the delivery; `None` if it is absent, or cannot be a proof.
    pub file: &'a dyn Fn(&str) -> Option<String>,
    /// Whether the delivery changed a file and, where a line is named, that line or one beside it.
    pub changed: &'a dyn Fn(&str, Option<usize>) -> bool,
    /// What the tests said, if they ran.
    pub tests: Option<&'a TestReport>,
    /// The commands that may be named.
    pub commands: &'a [String],
    /// Whether one of them passes on this delivery.
    pub passes: &'a dyn Fn(&str) -> bool,
}

/// A place that words name and that exists.
struct Place {
    shown: String,
    path: String,
    line: Option<usize>,
    text: String,
}

/// The proof that words name for a must-have. The error says what is missing.
///
/// The strongest single proof wins: a place that is to the point, then a passing test whose name is. Otherwise a place
/// in the change and something that passes have to come together.
pub fn named_proof(must_have: &str, words: &str, facts: &ProofFacts<'_>) -> Result<String, String> {
    let mut missing = Vec::new();
    let mut in_change = None;
    // A file that a command names is not a place that anybody looked at.
    let commands = facts.commands.iter().filter(|command| !command.is_empty());
    let bare = commands.fold(words.to_owned(), |words, command| words.replace(command.as_str(), " "));
    for place in places(&bare, facts, &mut missing) {
        let changed = (facts.changed)(&place.path, place.line);
        match about(must_have, &place, changed, facts) {
            Ok(()) => return Ok(place.shown),
            Err(why) => missing.push(format!("{} {why}", place.shown)),
        }
        // Kept for later: with a test that passes, a place in the change is enough.
        if changed && in_change.is_none() {
            in_change = Some(place.shown);
        }
    }
    let mut passing = None;
    for name in tests(&bare, facts, &mut missing) {
        // The name of the test says what it is about, so nothing else has to.
        if shares(must_have, &name) {
            return Ok(format!("test {name} passes"));
        }
        passing = passing.or_else(|| Some(format!("test {name} passes")));
    }
    let passing = passing.or_else(|| command(words, facts, &mut missing));
    match (in_change, passing) {
        (Some(place), Some(passing)) => return Ok(format!("{place}, and {passing}")),
        (Some(_), None) => {
            missing.push("no test or command of the plan that passes is named with it".to_owned())
        }
        (None, Some(passing)) => {
            missing.push(format!("{passing}, and no place in the change is named with it"))
        }
        (None, None) if missing.is_empty() => {
            missing.push("it names no place in the change, no test and no command".to_owned());
        }
        (None, None) => {}
    }
    Err(missing.join("; "))
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

/// Reads `src/a.rs`, `src/a.rs:12`, `src/a.rs#L12` or `src/a.rs:12-14`, provided that the file exists and has such a
/// line.
fn places(words: &str, facts: &ProofFacts<'_>, missing: &mut Vec<String>) -> Vec<Place> {
    let mut found = Vec::new();
    for token in tokens(words).filter(|token| !token.is_empty()) {
        // The whole word first: a file name may contain a colon.
        if let Some(text) = (facts.file)(token) {
            match text.trim().is_empty() {
                true => missing.push(format!("{token} is empty")),
                false => {
                    found.push(Place { shown: token.to_owned(), path: token.to_owned(), line: None, text })
                }
            }
            continue;
        }
        let Some((path, place)) = token.split_once([':', '#']) else { continue };
        let first = place.split([':', '-', ',']).next().unwrap_or(place).trim_start_matches('L');
        let Ok(line) = first.parse::<usize>() else { continue };
        match (facts.file)(path) {
            None => missing.push(format!("{path} is not in what is delivered")),
            Some(text) if line == 0 || line > text.lines().count() => {
                missing.push(format!("{path} has no line {line}"));
            }
            Some(text) => {
                let shown = format!("{path}:{line}");
                found.push(Place { shown, path: path.to_owned(), line: Some(line), text });
            }
        }
    }
    found
}

/// Whether a place shows a must-have by itself.
///
/// Outside the change only something that the must-have names by name can be shown. A file of tests shows nothing where
/// no test ran.
fn about(must_have: &str, place: &Place, changed: bool, facts: &ProofFacts<'_>) -> Result<(), String> {
    let names = names(must_have);
    let (text, path) = (place.text.to_lowercase(), place.path.to_lowercase());
    let has = |name: &String| text.contains(&name.to_lowercase()) || path.ends_with(&name.to_lowercase());
    let absent: Vec<&str> = names.iter().filter(|name| !has(name)).map(String::as_str).collect();
    if integrity::is_test(&place.path) && facts.tests.is_none() {
        return Err("is a test, and no test ran".to_owned());
    }
    // One file rarely has all of them: the caller of a thing and its definition are two files.
    if absent.len() * 2 >= names.len() && !names.is_empty() {
        return Err(format!("does not have `{}`", absent.join("`, `")));
    }
    match (changed, names.is_empty()) {
        (true, false) | (false, false) => Ok(()),
        (true, true) if shares(must_have, &format!("{} {}", place.path, place.text)) => Ok(()),
        (true, true) => Err("is in the change and has none of the words of the must-have".to_owned()),
        (false, true) => Err("is not part of the change".to_owned()),
    }
}

/// What a must-have names by name: words in quotes, paths and identifiers.
fn names(must_have: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for quote in ['`', '"'] {
        // Every second piece between quotes is the quoted one.
        let quoted = must_have.split(quote).skip(1).step_by(2);
        names.extend(quoted.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned));
    }
    let is_name = |c: char| c.is_alphanumeric() || "_-./:@".contains(c);
    for word in must_have.split(|c: char| !is_name(c)) {
        let word = word.trim_matches(['.', ':', '-', '/', '@']);
        let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let mut pairs = word.chars().zip(word.chars().skip(1));
        let camel = pairs.any(|(a, b)| ends(a) && b.is_ascii_uppercase());
        let path = word.contains('/')
            || word.rsplit_once('.').is_some_and(|(stem, end)| {
                stem.len() > 1 && (1..=4).contains(&end.len()) && end.chars().all(|c| c.is_ascii_lowercase())
            });
        if word.contains('_') || word.contains("::") || camel || path {
            names.insert(word.to_owned());
        }
    }
    names
}

/// Whether a text shares at least half of the words of a must-have, and never fewer than two where it has two.
fn shares(must_have: &str, text: &str) -> bool {
    let mut wanted: BTreeSet<String> = significant(must_have).collect();
    // A must-have of short words only would otherwise have nothing to share.
    if wanted.len() < 2 {
        wanted = short_words(must_have).collect();
    }
    let spaced = apart(text);
    let has: BTreeSet<String> = significant(&spaced).chain(short_words(&spaced)).collect();
    let shared = wanted.intersection(&has).count();
    !wanted.is_empty() && shared >= wanted.len().div_ceil(2).max(2.min(wanted.len()))
}

/// Words of three letters and more, as they are.
fn short_words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| {
        word.chars().count() >= 3 && !["the", "and", "are", "can", "for", "with"].contains(&word.as_str())
    })
}

/// Code with the words of its names apart: `sendLoginLink` and `send_login_link` say the same.
fn apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut before = ' ';
    for c in text.chars() {
        if c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            out.push(' ');
        }
        out.push(if c == '_' { ' ' } else { c });
        before = c;
    }
    out
}

/// The tests of these names, whole or without their module, that passed.
fn tests(words: &str, facts: &ProofFacts<'_>, missing: &mut Vec<String>) -> Vec<String> {
    let bare = |name: &str| name.rsplit([':', '/', '.', ' ']).next().unwrap_or(name).to_owned();
    let mut found = Vec::new();
    // A bare word is not the name of a test: `works` stands in many sentences.
    let named = |token: &&str| token.contains(['_', ':']) || token.starts_with("Test");
    for token in tokens(words).filter(named) {
        let known = facts.tests.into_iter().flat_map(|report| &report.tests);
        let mut known = known.filter(|(name, _)| *name == token || bare(name) == token).peekable();
        let is_test = token.starts_with("test_") || token.starts_with("Test") || known.peek().is_some();
        match known.find(|(_, outcome)| **outcome == Outcome::Passed) {
            Some((name, _)) => found.push(name.clone()),
            None if is_test => missing.push(format!("test {token} did not run and pass on this tree")),
            None => {}
        }
    }
    found
}

/// A command that words name, if it passes.
fn command(words: &str, facts: &ProofFacts<'_>, missing: &mut Vec<String>) -> Option<String> {
    let named =
        facts.commands.iter().filter(|command| !command.is_empty() && words.contains(command.as_str()));
    for command in named {
        if (facts.passes)(command) {
            return Some(format!("`{command}` passed"));
        }
        missing.push(format!("`{command}` does not pass on this tree"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: &str =
        "pub fn send_login_link(user: &User) {\n    mail(user.address(), link_for(user));\n}\n";

    fn look(must_have: &str, words: &str) -> Result<String, String> {
        let file = |path: &str| match path {
            "src/login.rs" => Some(LOGIN.to_owned()),
            "src/a.rs" => Some("fn one() {}\n".repeat(20)),
            "README.md" => Some("users log in with a link, see frob_level and `--loud`\n".to_owned()),
            "tests/login.rs" => Some("fn users_log_in_with_a_link() {}\n".to_owned()),
            "empty.rs" => Some(String::new()),
            "Makefile" => Some("all:\n\techo hello\n".to_owned()),
            _ => None,
        };
        // The delivery added src/login.rs and its test, and lines 10 to 14 of src/a.rs.
        let changed = |path: &str, line: Option<usize>| match path {
            "src/login.rs" | "tests/login.rs" | "empty.rs" => true,
            "src/a.rs" => line.is_none_or(|line| (10..=14).contains(&line)),
            _ => false,
        };
        let outcomes = [
            ("login::users_log_in_with_a_link", Outcome::Passed),
            ("calc::adds_up", Outcome::Passed),
            ("calc::fails_now", Outcome::Failed),
        ];
        let tests = TestReport::of("cargo", outcomes.map(|(name, outcome)| (name.to_owned(), outcome)));
        let commands = ["sh bin/one.sh".to_owned(), "sh bin/red.sh".to_owned(), "sh src/a.rs".to_owned()];
        let passes = |command: &str| command != "sh bin/red.sh";
        named_proof(
            must_have,
            words,
            &ProofFacts {
                file: &file,
                changed: &changed,
                tests: Some(&tests),
                commands: &commands,
                passes: &passes,
            },
        )
    }

    /// Ordinary must-haves are closed by what an honest reviewer names.
    #[test]
    fn what_is_there_and_to_the_point_is_a_proof() {
        for (must_have, words, expect) in [
            ("users can log in with a link", "src/login.rs:1 sends it", "src/login.rs:1"),
            ("users can log in with a link", "it is in (./src/login.rs).", "src/login.rs"),
            ("users can log in with a link", "see `src/login.rs#L2`", "src/login.rs:2"),
            (
                "users can log in with a link",
                "the test users_log_in_with_a_link covers it",
                "test login::users_log_in_with_a_link passes",
            ),
            (
                "users can log in with a link",
                "src/a.rs:12 does it, and calc::adds_up runs it",
                "src/a.rs:12, and test calc::adds_up passes",
            ),
            (
                "somebody is greeted",
                "src/a.rs:10-12 does it; `sh bin/one.sh` prints it",
                "src/a.rs:10, and `sh bin/one.sh` passed",
            ),
            ("`frob_level` is documented", "README.md:1 says it", "README.md:1"),
            ("send_login_link is public", "src/login.rs:1", "src/login.rs:1"),
            ("src/login.rs calls link_for of src/links.rs", "src/login.rs:2", "src/login.rs:2"),
            ("a LINK is mailed, e.g. to a user", "src/login.rs:2", "src/login.rs:2"),
            (
                "sendLoginLink",
                "calc::adds_up and src/login.rs:1",
                "src/login.rs:1, and test calc::adds_up passes",
            ),
        ] {
            assert_eq!(look(must_have, words).as_deref(), Ok(expect), "{must_have}: {words}");
        }
    }

    /// What is not there, did not run, or is beside the point proves nothing, and the refusal says what is missing.
    #[test]
    fn what_is_beside_the_point_is_no_proof() {
        let flux = "quantum flux is frobnicated by the daemon";
        for (must_have, words, says) in [
            (flux, "src/login.rs:1 shows it", "none of the words"),
            (flux, "src/a.rs:12 does it", "none of the words"),
            (flux, "src/a.rs:2 does it", "not part of the change"),
            (flux, "the test adds_up covers it", "no place in the change"),
            (flux, "`sh bin/one.sh` prints it", "no place in the change"),
            (flux, "`sh src/a.rs` prints it", "no place in the change"),
            (flux, "src/a.rs:12 and `sh bin/red.sh`", "`sh bin/red.sh` does not pass"),
            (flux, "src/a.rs:12 and calc::fails_now", "calc::fails_now did not run and pass"),
            (flux, "src/a.rs:12 and test_that_is_not_there", "did not run and pass"),
            (flux, "src/a.rs:2 and `sh bin/one.sh`", "no place in the change"),
            (flux, "README.md shows it", "not part of the change"),
            (flux, "empty.rs", "is empty"),
            (flux, "src/a.rs:21 does it", "has no line 21"),
            (flux, "src/a.rs:0 does it", "has no line 0"),
            (flux, "src/b.rs:1 does it", "is not in what is delivered"),
            (flux, "it plainly works", "names no place"),
            (flux, "asked three people, they rejoice", "names no place"),
            (flux, "", "names no place"),
            ("users can log in with a link", "README.md:1 says so", "not part of the change"),
            ("`quantum_flux` is public", "src/login.rs:1", "does not have `quantum_flux`"),
            ("bin/two.sh prints two", "src/login.rs:1", "does not have `bin/two.sh`"),
            ("link_for and `unlink_for` are there", "src/login.rs:2", "does not have `unlink_for`"),
            ("sh bin/two.sh prints it", "sh bin/two.sh prints it", "names no place"),
        ] {
            let refused = look(must_have, words).expect_err(words);
            assert!(refused.contains(says), "{must_have}: {words}: {refused}");
        }
    }

    /// A file of tests that nobody ran shows nothing, however its words sound.
    #[test]
    fn a_test_that_nobody_ran_is_no_proof() {
        let file = |_: &str| Some("fn users_log_in_with_a_link() {}\n".to_owned());
        let (changed, passes) = (|_: &str, _: Option<usize>| true, |_: &str| false);
        let facts =
            ProofFacts { file: &file, changed: &changed, tests: None, commands: &[], passes: &passes };
        let refused = named_proof("users log in with a link", "tests/login.rs:1", &facts).unwrap_err();
        assert!(refused.contains("no test ran"), "{refused}");
    }
}
