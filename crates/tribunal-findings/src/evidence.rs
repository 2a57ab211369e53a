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
    let marks = Marks::of(records);
    let words = marks.put(&words.to_lowercase());
    // A full stop within a word, as in the name of a file, ends no sentence.
    let parts = words.split(". ").flat_map(|part| part.split([';', '\n', ',']));
    let sentences = parts.map(|part| part.trim().trim_end_matches('.'));
    for sentence in sentences.filter(|sentence| claims_success(sentence)) {
        for record in records.iter().filter(|record| !record.passed) {
            if names(sentence, &record.name.to_lowercase(), &marks) {
                let said = marks.take_out(sentence);
                return Some(format!("it says {said:?}, but {} failed when it was run", record.name));
            }
        }
    }
    None
}

/// Commands on record, each with one character that stands for it while sentences are told apart: what is in a command
/// ends no sentence, and says nothing of how it went.
struct Marks(Vec<(char, String)>);

/// The first of the characters that mean nothing to anybody.
const MARK: u32 = 0xF_0000;

impl Marks {
    fn of(records: &[Record]) -> Marks {
        let is_command = |name: &String| name.contains(|c: char| c.is_whitespace() || ";,".contains(c));
        let mut names: Vec<String> =
            records.iter().map(|record| record.name.to_lowercase()).filter(is_command).collect();
        // The longest first: a shorter one may be the beginning of it.
        names.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        names.dedup();
        Marks((MARK..).filter_map(char::from_u32).zip(names).collect())
    }

    fn put(&self, words: &str) -> String {
        // What is there already stands for nothing.
        let words: String = words.chars().filter(|c| u32::from(*c) < MARK).collect();
        self.0.iter().fold(words, |words, (mark, name)| {
            let (mut marked, mut from) = (String::with_capacity(words.len()), 0);
            // Counted as we go: hostile words are long.
            let (mut counted, mut in_code) = (0, false);
            for (at, _) in words.match_indices(name.as_str()) {
                in_code ^= words[counted..at].matches('`').count() % 2 == 1;
                counted = at;
                if stands_alone(&words, at, at + name.len(), in_code) {
                    marked.push_str(&words[from..at]);
                    marked.push(*mark);
                    from = at + name.len();
                }
            }
            marked.push_str(&words[from..]);
            marked
        })
    }

    fn take_out(&self, sentence: &str) -> String {
        self.0.iter().fold(sentence.to_owned(), |text, (mark, name)| text.replace(*mark, name))
    }

    /// Whether a sentence names this command; none if it is no command.
    fn named(&self, sentence: &str, name: &str) -> Option<bool> {
        self.0.iter().find(|(_, known)| known == name).map(|(mark, _)| sentence.contains(*mark))
    }
}

/// Whether the command that stands there is not a part of another one.
fn stands_alone(words: &str, from: usize, to: usize, in_code: bool) -> bool {
    let in_a_word = |c: char| c.is_alphanumeric() || "-_/=".contains(c);
    let (before, after) = (&words[..from], &words[to..]);
    if before.chars().next_back().is_some_and(|c| in_a_word(c) || c == '.') {
        return false;
    }
    // In quotes for code all up to their end is the command, or up to the next one.
    if in_code {
        return ["`", "&&", "||", "|", ";"].iter().any(|end| after.trim_start().starts_with(end));
    }
    let mut rest = after.chars();
    match rest.next() {
        None => true,
        Some(c) if in_a_word(c) => false,
        Some('.' | ',' | ';' | ':') => !rest.next().is_some_and(in_a_word),
        // An option that follows makes it another command; a dash alone does not.
        Some(c) if c.is_whitespace() => !(rest.next() == Some('-') && rest.next().is_some_and(in_a_word)),
        Some(_) => true,
    }
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
fn names(sentence: &str, name: &str, marks: &Marks) -> bool {
    let tests = ["test", "regression", "verification"].iter().any(|kind| name.contains(kind));
    let named = marks.named(sentence, name).unwrap_or_else(|| has_word(sentence, name));
    named || (tests && ["tests", "test suite"].iter().any(|word| has_word(sentence, word)))
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
    #[test]
    fn a_command_is_named_whole_or_not_at_all() {
        let check = |words: &str, runs: &[(&str, bool)], void: bool| {
            let record = |(name, passed): &(&str, bool)| Record { name: (*name).to_owned(), passed: *passed };
            let records: Vec<Record> = runs.iter().map(record).collect();
            let found = contradicted(words, &records);
            assert_eq!(found.is_some(), void, "{words}: {found:?}");
        };
        // A comma, a semicolon or a full stop in a command ends no sentence.
        let features = ("cargo check --features a,b", false);
        check("Ran it. cargo check --features a,b passes.", &[features], true);
        check("`cargo check --features a,b` is clean", &[features], true);
        check("Cargo check --features a,b: exit code 0; read the rest", &[features], true);
        check("cargo check --features a,b fails", &[features], false);
        check("cargo check --features a,b was looked at, the rest is clean", &[features], false);
        check("cd app; make all passes", &[("cd app; make all", false)], true);
        check("(cd app; make all) succeeds.", &[("cd app; make all", false)], true);
        check(". env/activate; make passes", &[(". env/activate; make", false)], true);
        check("sh bin/not broken, really.sh passes", &[("sh bin/not broken, really.sh", false)], true);
        // Another command is not this one, however it begins.
        check("cargo check --features a,b passes", &[("cargo check --features a", false)], false);
        check(
            "cargo check --features a,b passes",
            &[("cargo check --features a", false), ("cargo check --features a,b", true)],
            false,
        );
        check("cargo check --features a passes", &[features], false);
        check("sh bin/one.sh passes", &[("sh bin/one", false)], false);
        check("cargo check -p app passes", &[("cargo check", false)], false);
        check("`cargo check app` passes", &[("cargo check", false)], false);
        check("`cargo check && sh x` passes", &[("cargo check", false)], true);
        check("cargo check - all green", &[("cargo check", false)], true);
        check("cd app; make all-docs passes", &[("cd app; make all", false)], false);
        // One name on record twice: what failed once is not said to pass.
        check("make a,b passes", &[("make a,b", true), ("make a,b", false)], true);
    }

    #[test]
    fn what_is_said_is_told_as_it_was_said() {
        let records = [Record { name: "make a,b".to_owned(), passed: false }];
        let told = contradicted("Fine; make a,b passes.", &records).unwrap();
        assert_eq!(told, "it says \"make a,b passes\", but make a,b failed when it was run");
    }
}
