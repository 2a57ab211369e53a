//! Requirements and other tasks that a task names.
//!
//! Only what the words state counts: a number after a known word, or an id of a known form. A guessed dependency would
//! change the order of work.

use std::collections::BTreeSet;

use super::Names;
use super::leading::{BareNumbers, take_id};

/// Words before the numbers of requirements, in the languages in which such documents are written.
const REQUIREMENT_WORDS: &[&str] = &[
    "requirements",
    "requirement",
    "reqs",
    "req",
    "validates",
    "validate",
    "satisfies",
    "covers",
    "implements",
    "要件",
    "要求",
    "需求",
    "验证",
    "驗證",
    "検証",
    "требования",
    "anforderungen",
    "requisitos",
    "exigences",
    "요구사항",
];

/// Prefixes of requirement ids that may stand anywhere.
const REQUIREMENT_PREFIXES: &[&str] = &["NFR-", "REQ-", "FR-", "SC-", "AC-"];

/// Words before the ids of tasks that must be finished first.
const DEPENDENCY_WORDS: &[&str] = &[
    "depends on",
    "depend on",
    "depends",
    "dependencies",
    "dependency",
    "blocked by",
    "after",
    "requires",
    "依赖",
    "依賴",
    "依存",
];

/// How many entries of one list are read. A longer one is not a list of references.
const LIST_MAX: usize = 100;

/// How many characters a remark in parentheses may have.
const REMARK_MAX: usize = 200;

/// Adds the requirements that a line names, in order, to those found before.
pub(super) fn add_requirements(line: &str, found: &mut Names) {
    let lower = line.to_ascii_lowercase();
    for (colon, mark) in line.match_indices([':', '：']) {
        let before = lower[..colon].trim_end_matches(['*', '_', ' ', '`']);
        let said = REQUIREMENT_WORDS.iter().any(|word| ends_with_word(before, word));
        if said {
            add_numbers(&line[colon + mark.len()..], found);
        }
    }
    // `FR-001` needs no word before it: nothing else looks like that.
    for prefix in REQUIREMENT_PREFIXES {
        for (at, _) in line.match_indices(prefix) {
            let free = !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            let number = number_length(&line[at + prefix.len()..]);
            if free && number > 0 {
                found.add(&line[at..at + prefix.len() + number]);
            }
        }
    }
}

/// Whether a text ends with a word, and not with a longer one.
fn ends_with_word(text: &str, word: &str) -> bool {
    let head = text.strip_suffix(word);
    // Scripts without blanks have no word boundaries to test.
    head.is_some_and(|head| !word.is_ascii() || !head.ends_with(|c: char| c.is_ascii_alphanumeric()))
}

/// The length of `1`, `1.2` or `12a`.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut at = digits(text);
    while at > 0 && text[at..].starts_with('.') && digits(&text[at + 1..]) > 0 {
        at += 1 + digits(&text[at + 1..]);
    }
    let letter = at > 0
        && text[at..].starts_with(|c: char| c.is_ascii_lowercase())
        && !text[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric());
    at + usize::from(letter)
}

/// Adds the numbers of a list, up to the first word that belongs to none. Remarks in parentheses are skipped.
fn add_numbers(list: &str, found: &mut Names) {
    let mut rest = list;
    for _ in 0..LIST_MAX {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '(' | '（'));
        let number = number_length(rest);
        // A longer number is not that of a requirement.
        if number > 0 && number <= 16 {
            found.add(&rest[..number]);
            rest = &rest[number..];
        } else if let Some(remark) = rest.strip_prefix(['(', '（']) {
            let mut chars = remark.char_indices().take(REMARK_MAX);
            let Some((end, _)) = chars.find(|(_, c)| matches!(c, ')' | '）')) else { return };
            rest = &remark[end..];
        } else if let Some(after) = after_filler(rest) {
            rest = after;
        } else {
            return;
        }
    }
}

/// The text that follows a word which may stand in a list of requirements.
fn after_filler(text: &str) -> Option<&str> {
    let words = [
        "requirements",
        "requirement",
        "reqs",
        "req",
        "and",
        "to",
        "要件",
        "需求",
        "要求",
        "和",
        "及",
        "と",
        "から",
    ];
    words.into_iter().find_map(|word| {
        let head = text.get(..word.len())?;
        head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
    })
}

/// The tasks that a text says must be finished first, among the ids of its document.
pub(super) fn dependencies(text: &str, known: &BTreeSet<&str>) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let mut found = Names::default();
    for word in DEPENDENCY_WORDS {
        for (at, _) in lower.match_indices(word) {
            // `hereafter` is not the word `after`.
            let free = !word.is_ascii() || !lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
            let list = text[at + word.len()..].trim_start();
            // "after 3 attempts" names no task.
            let counts =
                matches!(*word, "after" | "requires") && list.starts_with(|c: char| c.is_ascii_digit());
            if free && (!counts || known_id(list, known).is_some_and(|(id, _)| id.contains('.'))) {
                add_ids(list, known, &mut found);
            }
        }
    }
    found.list
}

/// Adds the ids of a list that exist. `T008-T010` stands for those between as well.
fn add_ids(list: &str, known: &BTreeSet<&str>, found: &mut Names) {
    let mut rest = list;
    let mut last: Option<&str> = None;
    for _ in 0..LIST_MAX {
        let gap = rest.len() - rest.trim_start_matches(is_gap).len();
        let between = rest[..gap].trim();
        let range = !between.is_empty() && between.chars().all(|c| matches!(c, '-' | '–' | '—' | '~'));
        rest = skip_fillers(&rest[gap..]);
        // The first word that is not an id of the document ends the list.
        let Some((id, after)) = known_id(rest, known) else { return };
        if let Some(first) = last.filter(|first| range && first.starts_with('T') && *first < id) {
            // Ids of the same length compare as texts in the order of their numbers.
            let inside = known.range(first..id).filter(|one| one.len() == id.len());
            inside.take(LIST_MAX).for_each(|one| found.add(one));
        }
        found.add(id);
        (last, rest) = (Some(id), after);
    }
}

/// The id of the document with which a text starts.
fn known_id<'a>(text: &'a str, known: &BTreeSet<&str>) -> Option<(&'a str, &'a str)> {
    let written = take_id(text, BareNumbers::Ids).filter(|(id, _)| known.contains(id));
    written.or_else(|| {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
        let id = text[..end].trim_end_matches('.');
        known.contains(id).then(|| (id, &text[id.len()..]))
    })
}

fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            ',' | ':'
                | '*'
                | '_'
                | '`'
                | '&'
                | '+'
                | '-'
                | '–'
                | '—'
                | '~'
                | '/'
                | '：'
                | '、'
                | '，'
                | '['
                | ']'
        )
}

fn skip_fillers(text: &str) -> &str {
    let mut rest = text;
    while let Some(word) = ["tasks ", "task ", "and ", "all ", "both ", "completion of ", "on "]
        .into_iter()
        .find(|word| rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)))
    {
        rest = rest[word.len()..].trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn requirements_of_a_line() {
        let check = |line: &str, expect: &[&str]| {
            let mut found = super::Names::default();
            super::add_requirements(line, &mut found);
            assert_eq!(found.list, expect, "{line}");
        };
        check("- _Requirements: 1.1, 2.3_", &["1.1", "2.3"]);
        check("- **Validates: Requirements 3.1, 3.2**", &["3.1", "3.2"]);
        check("_要件: 1.1、1.4_", &["1.1", "1.4"]);
        check("_需求：2.1，2.2_", &["2.1", "2.2"]);
        check("Requirements: 1 (login), 2.5 and more", &["1", "2.5"]);
        check("keep FR-003 and SC-001 (NFR-2)", &["NFR-2", "FR-003", "SC-001"]);
        check("build: 79.8s, coverage: 99.67", &[]);
        check("", &[]);
    }

    #[test]
    fn dependencies_of_a_text() {
        let known = BTreeSet::from(["T007", "T008", "T009", "T010", "1.1", "1.3", "3"]);
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(super::dependencies(text, &known), expect, "{text}");
        };
        check("(depends on T007, T008)", &["T007", "T008"]);
        check("Depends on: tasks T008-T010.", &["T008", "T009", "T010"]);
        check("(depends on 1.1-1.3)", &["1.1", "1.3"]);
        check("Depends on: nothing", &[]);
        check("depends on T099", &[]);
        check("依赖：T007、T009", &["T007", "T009"]);
        check("_Depends on task 1.1_", &["1.1"]);
        check("after 1.1, never after 3 attempts", &["1.1"]);
        check("thereafter T007", &[]);
    }
}
