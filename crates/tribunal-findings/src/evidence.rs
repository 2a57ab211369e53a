//! What a reviewer claims against what was recorded. A claim nobody recorded is a claim; one that a record contradicts
//! takes the verdict with it. Reads words of hostile authors: it only ever takes trust away.

use crate::text::clean;

/// What Tribunal itself ran, and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The check's name.
    pub name: String,
    /// It found nothing.
    pub passed: bool,
}

const GOOD: [&str; 9] = [
    "pass",
    "green",
    "clean",
    "succeed",
    "no errors",
    "no warnings",
    "no findings",
    "all good",
    "exit code 0",
];
const NOT: [&str; 9] =
    ["not ", "n't", "fail", "except", "red", "error:", "broken", "did not run", "never ran"];

/// The first claim that a record contradicts: something is said to pass that failed when it was run.
pub fn contradicted(words: &str, records: &[Record]) -> Option<String> {
    let (words, _) = clean(words);
    // A full stop within a word, as in the name of a file, ends no sentence.
    let parts = words.split(". ").flat_map(|part| part.split([';', '\n', ',']));
    let sentences = parts.map(|part| part.trim().trim_end_matches('.').to_lowercase());
    for sentence in sentences.filter(|sentence| claims_success(sentence)) {
        for record in records.iter().filter(|record| !record.passed) {
            if names(&sentence, &record.name.to_lowercase()) {
                return Some(format!("it says {sentence:?}, but {} failed when it was run", record.name));
            }
        }
    }
    None
}

fn claims_success(sentence: &str) -> bool {
    GOOD.iter().any(|word| sentence.contains(word)) && !NOT.iter().any(|word| has_word(sentence, word))
}

/// The words stand there, and not in the middle of another.
fn has_word(sentence: &str, word: &str) -> bool {
    sentence.match_indices(word).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        word == "n't" || !before.is_some_and(char::is_alphanumeric)
    })
}

/// Whether a sentence is about a check: by its name, or by what everybody calls tests.
fn names(sentence: &str, name: &str) -> bool {
    let tests = ["test", "regression", "verification"].iter().any(|kind| name.contains(kind));
    has_word(sentence, name) || (tests && ["tests", "test suite"].iter().any(|word| has_word(sentence, word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_held_against_the_record() {
        let records = |tests: bool, clippy: bool| {
            vec![
                Record { name: "unit-tests".to_owned(), passed: tests },
                Record { name: "clippy".to_owned(), passed: clippy },
            ]
        };
        let check = |words: &str, tests: bool, clippy: bool, void: bool| {
            assert_eq!(contradicted(words, &records(tests, clippy)).is_some(), void, "{words}");
        };
        check("Ran the tests: all pass.", false, true, true);
        check("Ran the tests: all pass.", true, false, false);
        check("Read every line, clippy is clean", true, false, true);
        check("clippy does not pass yet", true, false, false);
        check("The tests fail on the empty name", false, true, false);
        check("the unit-tests don't pass", false, true, false);
        check("Looked at the diff and its callers", false, false, false);
        check("I would expect this to pass", false, false, false);
        check("the latest numbers pass through", false, true, false);
        check("CLIPPY:\u{1b}[32m green\u{1b}[0m", true, false, true);
        check("", false, false, false);
        let script = [Record { name: "sh bin/one.sh".to_owned(), passed: false }];
        assert!(contradicted("Read it. sh bin/one.sh passes.", &script).is_some());
        assert!(contradicted("Read it. sh bin/one.sh fails. The rest is clean.", &script).is_none());
    }
}
