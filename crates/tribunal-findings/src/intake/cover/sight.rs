//! What was seen in a file, behind CHECKED: `a.txt has the line TWO`, `index.js exports sub`. The subject is a file, a place
//! or the change, and the verb only says what is there. What such a clause gives to somebody, takes away or limits is no
//! plain sight: a fault in plain words has the same form.

use super::lexicon::{BAD, DENIES, NONE, TURNS};
use super::{CODE, PLACE, clauses, level, partial, vouch, words_of};

/// Verbs that say what is there.
#[rustfmt::skip]
const THERE: &[&str] = &[
    "has", "have", "holds", "contains", "says", "adds", "defines", "declares", "exports", "imports", "lists", "names",
    "asserts", "covers", "tests", "prints", "returns", "gives", "changes", "replaces", "renames", "documents", "describes",
    "explains", "introduces", "implements",
];
/// What a file may be, after `is`.
const IS: &[&str] = &["new", "added", "renamed", "unchanged"];
/// The change itself.
const CHANGE: &[&str] = &["diff", "change", "commit", "patch", "hunk", "file", "line", "it"];
/// Words around the subject and in front of the verb.
const BESIDE: &[&str] =
    &["the", "this", "that", "new", "in", "at", "now", "also", "both", "first", "second", "third", "last"];

/// Whether a clause says what is there.
pub(super) fn sees(words: &[&str]) -> bool {
    let Some(verb) = verb(words) else { return false };
    let after = &words[verb + 1..];
    let against = |word: &&str| NONE.has(word) || DENIES.has(word) || TURNS.has(word) || BAD.has(word);
    !after.is_empty() && !words.iter().any(against) && !vouch::sets_apart(words) && !partial::tells(words)
}

/// Where the verb of such a clause stands: behind its subject.
fn verb(words: &[&str]) -> Option<usize> {
    let marked = |word: &str| word.chars().any(|c| c == CODE || c == PLACE);
    let subject = |word: &str| marked(word) || CHANGE.contains(&word);
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let front =
        words.iter().take_while(|word| subject(word) || BESIDE.contains(word) || number(word)).count();
    let verb = *words.get(front)?;
    let named = words[..front].iter().any(|word| subject(word));
    let is = matches!(verb, "is" | "are") && words.get(front + 1).is_some_and(|next| IS.contains(next));
    (named && (is || THERE.contains(&verb))).then_some(front)
}

/// Whether a sentence begins so.
pub(super) fn opens(sentence: &str) -> bool {
    clauses(&level(sentence)).next().is_some_and(|clause| sees(&words_of(clause)))
}

/// Whether a clause of a sentence says so.
pub(super) fn any(sentence: &str) -> bool {
    clauses(&level(sentence)).any(|clause| sees(&words_of(clause)))
}
